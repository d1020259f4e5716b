"""Queues whose vertices are all ready at once."""

import dataclasses

from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known
from sw.lang.types import WORD
from sw.vm.host import host_value


__all__ = ["takes_all", "without_infinite_deltas"]


def without_infinite_deltas(program, values, graph):
    """A program as it is run with these parameters: a queue whose delta is infinity has none, if
    all of its vertices may be ready at once."""
    def changed(node):
        if isinstance(node, ir.NewQueue) and node.delta is not None and takes_all(program, node) \
                and host_value(node.delta, values, graph) == WORD - 1:
            return dataclasses.replace(node, delta=None)
        return node

    return dataclasses.replace(program, body=tuple(map(changed, program.body)))


def takes_all(program, queue) -> bool:
    """Whether a queue's vertices come from one operator, and may be ready at any time."""
    operators = [node for node in ir.instructions(program.body)
                 if isinstance(node, ir.EdgeSetIterator) and node.output_vset == queue.name]
    return len(operators) == 1 and operators[0].tracking == queue.vector \
        and known(operators[0], facts.Superset) is not None
