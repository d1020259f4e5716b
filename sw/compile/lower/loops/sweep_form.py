"""The form of :mod:`.sweep`: its parts, and how a program is recognized."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.passes.chain import may_chain, stored_for_sure
from sw.lang.types import Type
from sw.compile.lower.loops.one_loop import BEGINNING, at_parameter, loads


__all__ = ["SweepForm", "form_of", "loads_of", "outside_loads"]


@dataclasses.dataclass(frozen=True)
class SweepForm:
    """The parts of a program."""
    edges: ir.EdgeSetIterator
    function: ir.Function  #: The function of the operator.
    guard: Any  #: expression or None. The condition of the reduction.
    reduce: ir.Reduce
    before: tuple[str, ...]  #: Functions of vertices before and after the operator.
    after: tuple[str, ...]  #: Functions of vertices before and after the operator.
    totals: tuple  #: tuple of VertexSum
    component: str | None  #: The vector of labels (:mod:`sw.lang.passes.components`).

    @functools.cached_property
    def loads(self):
        """The loads at the ends of an edge, each once."""
        parts = [self.reduce.value, self.reduce.index]
        if self.guard is not None:
            parts.insert(0, self.guard)
        return list(dict.fromkeys(load for part in parts for load in loads(part)))

    @functools.cached_property
    def word(self):
        """The vector that is read at the source; None if there are more, or none."""
        found = {load.vector for load in self.loads if at_parameter(self.function, load.index, 0)}
        return found.pop() if len(found) == 1 else None

    @property
    def flags(self):
        """The vector of flags, or None."""
        return self.edges.tracking

    @property
    def sends(self):
        """Whether the work on an edge needs only the word of its source, and takes no weight, which
        would be added to it."""
        load = next((load for load in self.loads if load.vector == self.word), None)
        nodes = [self.reduce.value, self.reduce.index, *([] if self.guard is None
                                                         else [self.guard])]
        return load is not None and not self.function.weighted and not any(
            isinstance(node, ir.Degree) for node in ir.walk(*nodes)) and not any(
            at_parameter(self.function, part, 0)
            for node in nodes for part in outside_loads(node))


def outside_loads(node):
    """The nodes of an expression that are not in an index of a load."""
    yield node
    if not isinstance(node, ir.VectorLoad):
        for part in node.parts():
            yield from outside_loads(part)


def form_of(program):
    """The parts of a program of this form; None for any other program."""
    *before, loop = program.body or (None,)
    if not isinstance(loop, ir.WhileLoop | ir.ForLoop) \
            or not all(isinstance(node, BEGINNING) for node in before):
        return None
    component = loop.metadata.get("component_vector")
    edges = [node for node in loop.body if isinstance(node, ir.EdgeSetIterator)]
    if len(edges) != 1 or not _plain_host(loop, edges[0].output_vset):
        return None
    place = loop.body.index(edges[0])
    names: list[tuple] = []
    for part in (loop.body[:place], loop.body[place + 1:]):
        applied = [node for node in part if isinstance(node, ir.VertexSetIterator)]
        if any(node.input_vset != ir.ALL or set(node.metadata["start_copies"]) - {component}
               for node in applied):
            return None
        names.append(tuple(node.apply_f for node in applied))
    last = max(number for number, node in enumerate(loop.body)
               if isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator))
    totals = [node for node in ir.walk(loop) if isinstance(node, ir.VertexSum)]
    if totals != [node for node in ir.walk(*loop.body[last + 1:])
                  if isinstance(node, ir.VertexSum)]:
        return None                     # a sum of words in the midst of a round
    form = _edge_form(program, edges[0], names[0], names[1], tuple(totals), component)
    return form if form is not None and _fits(program, loop, form) else None


def _plain_host(loop, changed):
    """Whether the host does nothing in the loop but to compute numbers, and asks of a set only
    whether the operator has changed any vertex."""
    condition = getattr(loop, "condition", None)
    asks = isinstance(condition, ir.SetSize) and condition.name == changed
    for node in ir.instructions(loop.body):
        if not isinstance(node, ir.Assign | ir.HostBranch | ir.EdgeSetIterator
                          | ir.VertexSetIterator):
            return False
        if isinstance(node, ir.HostBranch) and not all(
                isinstance(part, ir.Assign) for part in (*node.then, *node.otherwise)):
            return False
    others = [*loop.body] if asks or condition is None else [*loop.body, condition]
    return (asks or changed is None) and not any(
        isinstance(part, ir.SetSize) or getattr(part, "type", None) is Type.VERTEXSET
        for part in ir.walk(*others))


def _edge_form(program, edges, before, after, totals, component):
    """The form by the operator's function, or None."""
    function = program.function(edges.apply_f)
    if edges.input_vset != ir.ALL or edges.to_filter is not None or edges.transposed \
            or set(edges.metadata["start_copies"]) - {component}:
        return None
    body, guard = function.body, None
    if len(body) == 1 and isinstance(body[0], ir.Branch) and not body[0].otherwise:
        guard, body = body[0].condition, body[0].then
    reduce, *flags = body or (None,)
    if not isinstance(reduce, ir.Reduce):
        return None
    if edges.tracking is None:
        right = not flags
    else:
        right = len(flags) == 1 and _is_flag(program, function, edges, flags[0],
                                             before, after)
    if not right or (component is None and not at_parameter(function, reduce.index, 1)):
        return None
    return SweepForm(edges, function, guard, reduce, before, after, totals, component)


def _is_flag(program, function, edges, node, before, after):
    """Whether a statement sets a flag, which is cleared for each vertex in each round, also before
    the first, and not used otherwise."""
    vector = edges.tracking
    here = {"position": node.position}
    wanted = ir.Reduce(operation="or", vector=vector,
                       index=ir.Local(name=function.parameters[1], type=Type.VERTEX, **here),
                       value=ir.Literal(value=1, type=Type.BOOL, **here), **here)
    return (node == wanted and _clears(program, before, after, vector)
            and vector not in program.outputs
            and not any(isinstance(part, ir.VectorLoad) and part.vector == vector
                        for part in ir.walk(*program.functions)))


def _clears(program, before, after, vector):
    """Whether the only store into a vector of flags, by functions of vertices, clears all flags.
    If that is after the edges, the flags must begin cleared."""
    functions = [program.function(name) for name in (*before, *after)]
    stores = [part for function in functions for part in ir.walk(*function.body)
              if isinstance(part, ir.VectorStore) and part.vector == vector]
    sure = [stored_for_sure(function).get(vector) for function in functions]
    clears = [isinstance(value, ir.Literal) and value.value == 0 for value in sure]
    initial = program.vector(vector).initial
    begins_cleared = isinstance(initial, ir.Literal) and initial.value == 0 and not any(
        isinstance(node, ir.ElementStore) and node.vector == vector
        for node in ir.instructions(program.body))
    return len(stores) == 1 and any(clears[:None if begins_cleared else len(before)])


def _fits(program, loop, form):
    """Whether the rest of a program lets its form be used."""
    functions = [program.function(name) for name in (*form.before, *form.after)]
    words = {argument.name for argument in program.arguments} - {
        node.name for node in ir.instructions(program.body)
        if isinstance(node, ir.Assign | ir.ForLoop)}
    uniforms = [part for function in (*functions, form.function) for part in
                ir.walk(*function.body) if isinstance(part, ir.Uniform)]
    for node in uniforms:
        if any((isinstance(part, ir.HostName) and part.name not in words)
               or isinstance(part, ir.VertexSum | ir.SetSize) for part in ir.walk(node.value)):
            return False
        if node.type is Type.VERTEX and form.component:
            return False
    numbered = [load for function in functions for load in loads_of(function)
                if not isinstance(load.index, ir.Local)]
    stored = {vector for name in form.before for vector in program.function(name).writes()}
    return (may_chain([program.function(name) for name in (*form.after, *form.before)])
            and form.word is not None and (not numbered or form.component is not None)
            and all(isinstance(load.index, ir.Local) for load in form.loads)
            and all(node.input_vset == ir.ALL for node in form.totals)
            and (not form.totals or not stored & set(program.outputs))
            and all(vector.type is not Type.VERTEX or vector.name == form.component
                    for vector in program.vectors))


def loads_of(function):
    """The VectorLoads of a function."""
    return [part for part in ir.walk(*function.body) if isinstance(part, ir.VectorLoad)]
