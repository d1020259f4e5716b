"""The host's part of a program as a graph of steps.

Loops become branches: a :class:`HostStep` has the steps that may follow it, and names what it reads
and writes. A ForLoop counts in a variable of its own, a Dequeue is several steps. Expressions are
those of the program.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from sw.compile.lower.flow import live_before, reachable
from sw.lang import graph_ir as ir
from sw.lang.types import Type
from sw.lang.uses import set_names


__all__ = ["HostStep", "steps", "threshold"]


@dataclasses.dataclass(eq=False)
class HostStep:
    """A step of the host.

    ===========  ===================================================================
    ``assign``   a number; ``node`` is an Assign
    ``move``     a set gets another name, the new one first
    ``op``       an operator that is no sum; the set that it makes gets the name
    ``join``     a set joins a queue
    ``store``    an ElementStore
    ``include``  a NewVertexSet, or the set of a NewQueue
    ``split``    the vertices of a queue below its threshold, and the others
    ``further``  the threshold of a queue moves until a vertex is below
    ``branch``   to the first of two steps if the condition ``node`` holds
    ``end``      of the program
    ===========  ===================================================================
    """
    kind: str
    node: Any = None
    names: tuple[str, ...] = ()  #: Names of sets; ``""`` is that of the set without vertices.
    after: tuple[HostStep, ...] = ()
    live: frozenset[str] = frozenset()  #: Sets that are read from here on.

    @property
    def values(self) -> list:
        """The expressions of the host that it evaluates."""
        match self.kind:
            case "assign":
                return [self.node.value]
            case "branch":
                return [self.node]
            case "store":
                return [self.node.index, self.node.value]
            case "include":
                return list(self.node.vertices)
        return []


def threshold(queue) -> str:
    """The name of the host's variable with the threshold of a queue."""
    return f"threshold of {queue}"


def steps(program, functions) -> HostStep:
    """The first step of a program; ``functions(node)`` gives those that an operator calls."""
    first = _Steps(program).block(program.body, HostStep("end"))
    _find_live(first, functions)
    return first


class _Steps:
    """Makes the steps of a program, from the last to the first."""

    def __init__(self, program):
        self._queues = {node.name: node for node in ir.instructions(program.body)
                        if isinstance(node, ir.NewQueue)}

    def block(self, body, after) -> HostStep:
        """The first step of a block, before the step ``after``."""
        for node in reversed(body):
            after = self._instruction(node, after)
        return after

    def _instruction(self, node, after):
        match node:
            case ir.Assign(value=ir.HostName(name=source, type=Type.VERTEXSET)):
                return HostStep("move", node, (node.name, source), (after,))
            case ir.Assign():
                return HostStep("assign", node, (), (after,))
            case ir.ElementStore():
                return HostStep("store", node, (), (after,))
            case ir.NewVertexSet():
                return HostStep("include", node, (node.name,), (after,))
            case ir.NewQueue():
                if node.delta is not None:
                    after = _assign(threshold(node.name), node.delta, node.position, after)
                return HostStep("include", node, (node.name,), (after,))
            case ir.Dequeue():
                return self._dequeue(node, after)
            case ir.WhileLoop():
                top = HostStep("branch", node.condition)
                top.after = self.block(node.body, top), after
                return top
            case ir.ForLoop():
                return self._counted(node, after)
            case ir.HostBranch():
                return HostStep("branch", node.condition, (), (
                    self.block(node.then, after), self.block(node.otherwise, after)))
        made = getattr(node, "output_vset", None)
        if made in self._queues:
            made = f"changed of {made}"
            after = HostStep("join", node, (node.output_vset, made), (after,))
        return HostStep("op", node, (made,) if made else (), (after,))

    def _counted(self, node, after):
        here: dict[str, Any] = {"position": node.position}
        name, last = (f"{what} of line {node.position.line}.{node.position.column}"
                      for what in ("round", "rounds"))
        number, end = (ir.HostName(name=each, type=Type.WHOLE, **here) for each in (name, last))
        top = HostStep("branch", ir.Binary(operation="<", left=number, right=end, type=Type.BOOL,
                                       **here))
        one = ir.Literal(value=1, type=Type.WHOLE, **here)
        body = _assign(name, ir.Binary(operation="+", left=number, right=one, type=Type.WHOLE,
                                       **here), node.position, self.block(node.body, top))
        top.after = _assign(node.name, number, node.position, body), after
        zero = ir.Literal(value=0, type=Type.WHOLE, **here)
        return _assign(last, node.count, node.position,
                       _assign(name, zero, node.position, top))

    def _dequeue(self, node, after):
        queue, ready = node.queue, node.output_vset
        empty = HostStep("move", node, (queue, ""), (after,))
        every = HostStep("move", node, (ready, queue), (empty,))
        if self._queues[queue].delta is None:
            return every
        here = {"position": node.position}
        again = HostStep("further", node, (queue,), (
            HostStep("split", node, (ready, queue), (after,)),))
        some = HostStep("branch", ir.SetSize(name=ready, **here), (), (after, again))
        split = HostStep("split", node, (ready, queue), (some,))
        return HostStep("branch", ir.SetSize(name=queue, **here), (), (split, every))


def _assign(name, value, position, after):
    return HostStep("assign", ir.Assign(name=name, value=value, position=position), (), (after,))


def _sets(step, functions):
    """The sets that a step reads, and those that it writes."""
    read, written = set_names(*step.values), set()
    operators = [step.node] if step.kind == "op" else [
        part for part in ir.walk(*step.values) if isinstance(part, ir.VertexSum)]
    read |= set_names(*(part.value for node in operators for function in functions(node)
                        for part in ir.walk(*function.body) if isinstance(part, ir.Uniform)))
    match step.kind:
        case "op":
            read.add(step.node.input_vset)
            written.update(step.names)
        case "join":
            read.update(step.names)
        case "further":
            read.update(step.names)
        case "move":
            written.add(step.names[0])
            read.add(step.names[1])
        case "include":
            written.update(step.names)
        case "split":
            read.add(step.names[1])
            written.add(step.names[0])
    return read - {""}, written


def _find_live(first, functions):
    """Give each step its ``live``."""
    found = reachable(first)
    live = live_before(found, lambda step: _sets(step, functions))
    for step in found:
        step.live = live[id(step)]
