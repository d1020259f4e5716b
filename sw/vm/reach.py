"""The vertices that a search reaches, by the words that are as they were at the start.

The words that say so are those of returned vectors that begin as ``infinity`` or ``none`` at every
vertex. If no vector does, and the program starts at a vertex, they are those of all vectors that
begin with one number at every vertex: a vertex without any path has none, and no label.
"""

from typing import Any

import numpy as np

from sw.lang import graph_ir as ir
from sw.lang.types import WORD, Type
from sw.vm.evaluate import fixed_word


__all__ = ["notes", "reached", "starts"]


#: A search of less than this part of the vertices says little about others.
_FEW = 0.01


def starts(program, values) -> dict[str, int]:
    """The parameters that are vertices, by name. ``values`` are those of the run."""
    return {argument.name: int(values[argument.name]) for argument in program.arguments
            if argument.type is Type.VERTEX}


def _marks(program) -> dict[str, Any]:
    """The numbers that an unreached vertex has, by the names of returned vectors."""
    start = {name: vector.initial for name in program.outputs
             if isinstance((vector := program.vector(name)).initial, ir.Literal)}
    none = {name: node for name, node in start.items()
            if node.value == WORD - 1 and node.type in (Type.UINT, Type.VERTEX)}
    from_vertex = any(argument.type is Type.VERTEX for argument in program.arguments)
    return none or (start if from_vertex else {})


def reached(program, outputs, bits) -> int | None:
    """The number of vertices that a run has reached; None if the program is no search.

    Parameters
    ----------
    program : GraphProgram
    outputs : dict of str to array
        The results.
    bits : int
        Fraction bits of fixed point.
    """
    marks = _marks(program)
    if not marks:
        return None
    found: Any = False
    for name, node in marks.items():
        fixed = node.type is Type.FIXED
        word = fixed_word(node.value, bits) if fixed else int(node.value)
        found = found | (outputs[name].view(np.uint32) != word)
    return int(np.count_nonzero(found))


def notes(program, values, count, graph) -> list[str]:
    """A line if a search has reached less than 1 % of the vertices, or none but its start.

    Parameters
    ----------
    program : GraphProgram
    values : dict of str to number
        The parameters of the run.
    count : int or None
        As :func:`reached` gives it.
    graph : Graph
    """
    begun = starts(program, values)
    size = graph.num_vertices
    if count is None or size == 1 or (count >= _FEW * size and count > max(1, len(begun))):
        return []
    share = "under 1 %" if count < _FEW * size else "no other"
    where = " from " + " and ".join(f"{name} {vertex}" for name, vertex in begun.items())
    return [f"{program.name} on {graph.name} reaches {count:,} of {size:,} vertices"
            f"{where * bool(begun)}, {share}: its cost says little about searches of this graph"]
