"""The parameters of a run: what is given, and what a program takes where nothing is."""

import operator
from fractions import Fraction
from typing import Any

import numpy as np

from base.errors import UserError
from sw.lang import graph_ir as ir
from sw.lang.types import INFINITY, WORD, Type


__all__ = ["arguments", "moved"]


def arguments(program, given, graph) -> dict[str, Any]:
    """The values of a program's parameters.

    A vertex for which nothing is given is one at which a search can start: from the text's default
    on, the first vertex with an arc to another one. Parameters with different defaults have
    different vertices. The default stays if there is no such vertex.

    Parameters
    ----------
    program : GraphProgram
    given : dict of str to number
    graph : Graph

    Raises
    ------
    UserError
        If a parameter is missing, unknown, of another type or out of range.
    """
    known = {argument.name: argument for argument in program.arguments}
    for name in given.keys() - known.keys():
        raise UserError(f"program {program.name!r} has no parameter {name!r}; it has "
                        f"{', '.join(known) or 'none'}")
    given = _starts(program, given, graph) | given
    found = {}
    for name, argument in known.items():
        value = given.get(name, argument.default)
        if value is None:
            raise UserError(f"program {program.name!r} needs its parameter {name!r}")
        found[name] = _argument(program, argument, value, graph.num_vertices)
    return found


def moved(program, given, values) -> list[str]:
    """A line for each vertex that is not the text's default, though nothing is given.

    Parameters
    ----------
    program : GraphProgram
    given : dict of str to number
    values : dict of str to number
        The result of :func:`arguments` for them.
    """
    return [f"{argument.name} is vertex {values[argument.name]}, where none is given: the first "
            f"from {argument.default} on that has arcs to other vertices"
            + " and is not taken" * (len(_vertices(program)) > 1)
            for argument in _vertices(program)
            if argument.name not in given and values[argument.name] != argument.default]


def _vertices(program):
    """The parameters that are vertices and have a default."""
    return [argument for argument in program.arguments
            if argument.type is Type.VERTEX and argument.default is not None]


def _starts(program, given, graph):
    """The vertices for which nothing is given, by the names of their parameters."""
    operators = [node for node in ir.walk(*program.body) if isinstance(node, ir.EdgeSetIterator)]
    against = bool(operators) and all(node.transposed for node in operators)
    taken = {given[argument.name] for argument in _vertices(program) if argument.name in given}
    by_default: dict[int, int] = {}
    for argument in _vertices(program):
        if argument.name in given:
            continue
        default = argument.default
        if default not in by_default:
            able = graph.entered if against else graph.left
            for vertex in np.flatnonzero(able[default:]) + default:
                if int(vertex) not in taken:
                    by_default[default] = int(vertex)
                    break
            else:
                by_default[default] = default
        taken.add(by_default[default])
    return {argument.name: by_default[argument.default] for argument in _vertices(program)
            if argument.name not in given}


def _argument(program, argument, value, num_vertices):
    what = f"program {program.name!r}: {argument.name} is {value!r}"
    if argument.type is Type.DECIMAL:
        try:
            return Fraction(value if isinstance(value, Fraction) else str(value))
        except (ValueError, ZeroDivisionError):
            raise UserError(f"{what}, must be a number") from None
    try:
        value = operator.index(value)
    except TypeError:
        raise UserError(f"{what}, must be a whole number") from None
    least, most = {Type.VERTEX: (0, num_vertices - 1), Type.UINT: (0, WORD - 1),
                   Type.BOOL: (0, 1)}.get(argument.type, (value, value))
    if not least <= value <= most:
        where = " (a vertex)" * (argument.type is Type.VERTEX)
        raise UserError(f"{what}, must be from {least} to {most}{where}")
    return INFINITY if argument.type is Type.UINT and value == INFINITY else value
