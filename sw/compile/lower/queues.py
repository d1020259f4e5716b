"""Queues whose vertices are all ready at once."""

import dataclasses

from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known
from sw.lang.flow import flow_of
from sw.lang.types import WORD
from sw.lang.uses import assigned
from sw.vm.host import host_value


__all__ = ["added_once", "first_are_finite", "takes_all", "without_infinite_deltas"]


def without_infinite_deltas(program, values, graph):
    """A program as it is run with these parameters: a queue whose delta is infinity has none, if
    all of its vertices are ready at once, or may be."""
    def changed(node):
        if isinstance(node, ir.NewQueue) and node.delta is not None \
                and host_value(node.delta, values, graph) == WORD - 1 \
                and (takes_all(program, node) or _is_ready(program, node)):
            return dataclasses.replace(node, delta=None)
        return node

    return dataclasses.replace(program, body=tuple(map(changed, program.body)))


def takes_all(program, queue) -> bool:
    """Whether a queue's vertices come from one operator, and may be ready at any time."""
    operator = _operator(program, queue)
    return operator is not None and known(operator, facts.Early) is not None \
        and (known(operator, facts.Superset) is not None or first_are_finite(program, queue))


def added_once(program, queue) -> bool:
    """Whether one operator adds to a queue what its words change."""
    return _operator(program, queue) is not None


def first_are_finite(program, queue) -> bool:
    """Whether the words of a queue's first vertices are surely below infinity. If they are not, the
    queue keeps these vertices until it has no others, whatever its delta is."""
    loop = next((node for node in program.body if isinstance(node, ir.WhileLoop)
                 and queue.name in assigned(node)), None)
    entry = flow_of(program).entries.get(id(loop))
    first = entry and entry.sets.get(queue.name)
    words = entry and entry.words.get(queue.vector)
    if not first or not words or first.vertices is None:
        return False
    stored = dict(words.stored)
    return all(stored.get(vertex) not in (None, WORD - 1) for vertex in first.vertices)


def _is_ready(program, queue):
    """Whether the words of a queue's vertices are always below infinity: those of its first are,
    and an operator that lowers them adds the others."""
    operator = _operator(program, queue)
    changes = [part for function in program.functions for part in ir.walk(*function.body)
               if isinstance(part, ir.Reduce | ir.VectorStore) and part.vector == queue.vector]
    return (operator is not None and first_are_finite(program, queue)
            and all(isinstance(part, ir.Reduce) and part.operation == "min" for part in changes))


def _operator(program, queue):
    """The only operator that adds to a queue, by the queue's words; else None."""
    found = [node for node in ir.instructions(program.body)
             if isinstance(node, ir.EdgeSetIterator) and node.output_vset == queue.name]
    return found[0] if len(found) == 1 and found[0].tracking == queue.vector else None
