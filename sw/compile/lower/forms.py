"""The class of a program on the device: that of the first form that it has."""

from __future__ import annotations

import functools
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.passes import analysed, as_written
from sw.lang.schedule import labelled
from sw.lang.types import Type
from sw.compile.algorithm import VertexName
from sw.compile.lower.algorithm import ProgramAlgorithm
from sw.compile.lower.dependence import index_of
from sw.compile.lower.fuse import EDGES
from sw.compile.lower.loops.frontier_loop import FrontierLoop
from sw.compile.lower.run import ProgramRun


__all__ = ["FORMS", "algorithm_of"]


#: Forms of programs. The first is of one loop; the last is of any program.
FORMS = (FrontierLoop, ProgramAlgorithm)

#: Types of parameters: as of :attr:`~sw.compile.algorithm.Algorithm.options`.
_OPTIONS = {Type.UINT: (int,), Type.WHOLE: (int,), Type.BOOL: (int,), Type.DECIMAL: (float,),
            Type.VERTEX: (VertexName, "hub")}


def algorithm_of(program: ir.GraphProgram, check: Any = None) -> type[ProgramRun]:
    """The algorithm of a program: a class, whose instances are runs.

    Parameters
    ----------
    program : GraphProgram
    check : sw.golden.results.ResultCheck, optional
        The check of its results, if the program is a known algorithm.
    """
    text, program = as_written(program), analysed(program)
    options = {argument.name: _OPTIONS[argument.type] for argument in program.arguments}
    kind, form = next((kind, form) for kind in FORMS
                      if (form := kind.form_of(program)) is not None)
    bases: tuple[Any, ...] = (kind,)
    from_sets = any(isinstance(node, ir.EdgeSetIterator) and node.input_vset != ir.ALL
                    for node in ir.instructions(program.body))
    return type(program.name, bases, {
        "__doc__": program.summary, "name": program.name, "text": text, "program": program,
        "form": form,
        "check": check, "MODEL": "the interpreter of its text" + (
            "" if check else ", which is its only check"),
        "weighted": program.weighted, "options": options, **_operators(program),
        "switches": kind is ProgramAlgorithm and from_sets,
        "stays": "its loop reads words while they change (fact early), and has one plan for that"
                 if from_sets else
                 "a plan is chosen by the size of a set, and its operators of edges go out from "
                 "all vertices, not `from_` a set",
        "vertex_outputs": tuple(name for name in program.outputs
                                if program.vector(name).type is Type.VERTEX),
        **kind.attributes(program, form, options)})


def _operators(program):
    """The attributes of an algorithm about the operators of edges."""
    names = {node.position: f"{EDGES}{number}" for number, node in enumerate(
        node for node in ir.instructions(program.body) if isinstance(node, ir.EdgeSetIterator))}
    labels = {label: tuple(names[part.position] for part in ir.instructions((node,))
                           if part.position in names and isinstance(part, ir.EdgeSetIterator))
              for label, node in labelled(program).items()}
    collects = bool(names) and all(map(
        functools.partial(_collects, program), ir.instructions(program.body)))
    return {"operator_names": tuple(names.values()),
            **({"directions": ("pull", "push")} if collects else {}),
            "labels": {label: found for label, found in labels.items() if found}}


def _collects(program, node):
    """Whether an instruction, if it is an operator of edges, only brings words of all edges to
    their destinations. A program of such operators pulls by its own choice."""
    if not isinstance(node, ir.EdgeSetIterator):
        return True
    function = program.function(node.apply_f)
    return node.input_vset == ir.ALL and node.to_filter is None and node.tracking is None and all(
        isinstance(part, ir.Let) or (isinstance(part, ir.Reduce)
                                     and index_of(function, part.index) == 1)
        for part in function.body)
