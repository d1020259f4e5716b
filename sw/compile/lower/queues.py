"""Queues whose vertices may be taken in any order: all at once, or near vertices first."""

import dataclasses

import numpy as np

from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known
from sw.lang.flow import flow_of
from sw.lang.types import WORD
from sw.lang.uses import assigned
from sw.vm.host import host_value
from sw.compile.lower.dependence import behind_beginning


__all__ = ["added_once", "choose_delta", "delta_argument", "first_are_finite", "has_pile",
           "takes_all", "without_infinite_deltas"]


#: A delta is this many times the mean weight divided by the mean degree.
_DELTA_FACTOR = 32


def without_infinite_deltas(program, values, graph):
    """A program as it is run with these parameters: a queue whose delta is infinity has none, if
    all of its vertices are ready at once, or may be."""
    def changed(node):
        if isinstance(node, ir.NewQueue) and node.delta is not None \
                and host_value(node.delta, values, graph) == WORD - 1 \
                and (takes_all(program, node) or _is_ready(program, node)):
            return dataclasses.replace(node, delta=None)
        return node

    body = ir.same(program.body, tuple(map(changed, program.body)))
    return program if body is program.body else dataclasses.replace(program, body=body)


def takes_all(program, queue) -> bool:
    """Whether a queue's vertices come from one operator, and may be ready at any time."""
    operator = _operator(program, queue)
    return operator is not None and known(operator, facts.Early) is not None \
        and (known(operator, facts.Superset) is not None or first_are_finite(program, queue))


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
