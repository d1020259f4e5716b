"""Queues whose vertices may be taken in any order: all at once, or near vertices first."""

import dataclasses

import numpy as np

from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known
from sw.lang.types import WORD
from sw.vm.host import host_value
from sw.compile.lower.dependence import behind_beginning


__all__ = ["choose_delta", "delta_argument", "has_pile", "takes_all", "without_infinite_deltas"]


#: A delta is this many times the mean weight divided by the mean degree.
_DELTA_FACTOR = 32


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


def has_pile(program, queue) -> bool:
    """Whether the far vertices of a queue with a delta can lie in a pile
    (:mod:`sw.compile.frontiers.pile`): the queue begins with the program, the host only asks
    whether it is empty, and its words only become smaller from then on."""
    behind = behind_beginning(program)
    nodes = list(ir.instructions(behind))
    used = [part for part in ir.walk(*behind)
            if isinstance(part, ir.SetSize | ir.HostName) and part.name == queue.name]
    asked = [node.condition for node in nodes if isinstance(node, ir.WhileLoop)]
    changes = [part for function in program.functions for part in ir.walk(*function.body)
               if isinstance(part, ir.Reduce | ir.VectorStore) and part.vector == queue.vector]
    return (takes_all(program, queue) and queue.delta is not None
            and not any(isinstance(node, ir.NewQueue) and node.name == queue.name
                        for node in nodes)
            and not any(getattr(node, "input_vset", None) == queue.name for node in nodes)
            and all(any(part is each for each in asked) for part in used)
            and all(isinstance(part, ir.Reduce) and part.operation == "min" for part in changes)
            and not any(isinstance(node, ir.ElementStore) and node.vector == queue.vector
                        for node in nodes))


def delta_argument(program) -> str | None:
    """The parameter that is the delta of the program's queues whose vertices may be taken in any
    order, or None: it changes only the cost of a run."""
    queues = [node for node in ir.instructions(program.body) if isinstance(node, ir.NewQueue)]
    names = {queue.delta.name if isinstance(queue.delta, ir.HostName)
             and takes_all(program, queue) else None for queue in queues}
    return names.pop() if len(names) == 1 else None


def choose_delta(graph) -> int:
    """A delta for a graph with weights: 32 times the mean weight divided by the mean degree. This
    is Davidson et al.'s rule, in which the factor is the number of lanes of a warp."""
    if not graph.num_edges or graph.weights is None:
        return 1
    mean = float(graph.weights.mean(dtype=np.float64))
    degree = graph.num_edges / graph.num_vertices
    return int(min(max(1, round(_DELTA_FACTOR * mean / degree)), WORD - 1))
