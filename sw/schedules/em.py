"""Edge mapping: a lane an edge, whatever its vertices.

All edges are gone through in the order of their base vertices, a block of consecutive edges a warp
at a time. The work is even and every load of the graph coalesced; but each edge's base vertex has
to be loaded as well, and edges whose base vertex is not in the frontier are gone through all the
same.
"""

import itertools

from sw.kernels.assembler import Condition
from sw.kernels.kernel import Edge, Vertex
from sw.kernels.split import split
from sw.schedules.base import Schedule


__all__ = ["EdgeMapping"]


_UNROLL = 4


class EdgeMapping(Schedule):
    """Blocks of :data:`_UNROLL` edges a lane, ``threads`` apart, whose loads are under way
    together."""
    name = "em"
    needs = "edges"

    def edge_block(self, task):
        return _UNROLL * task.config.threads

    def init_global(self, k):
        a, task = k.a, k.task
        block = self.edge_block(task)
        edges = task.round_up(max(1, task.graph.num_edges), block)
        self._location = a.reg("location")
        with a.scope("index") as (index,):
            k.lane_index(index, per_warp=block)
            k.scaled(self._location, index, "neighbors")
        self._end = k.constant(k.address("neighbors") + 4 * edges, "edges_end")
        self._split = split(k, block)
        self._split.start()

    def get_next_edge(self, k):
        k.phase(3)
        condition = Condition("ltu", self._location, self._end)
        with k.a.while_uniform(condition, "edges") as loop:
            if k.task.algorithm.filters(k.task):
                self._filtered(k, loop)
            else:
                self._all(k)

    def _all(self, k):
        a, task = k.a, k.task
        with a.scope(*(f"base{i}" for i in range(_UNROLL))) as bases:
            neighbors = a.regs(*(f"neighbor{i}" for i in range(_UNROLL)))
            weights = self._weights(k, _UNROLL)
            k.edge_phase(3)
            task.format.get_edge(k, self._location, neighbors, weights)
            k.edge_phase(2)
            task.format.search_vid(k, self._location, bases)
            self._split.take(self._location)
            k.edge_phase(4)
            edges = self._edges(task, bases, neighbors, weights)
            some = a.reg("counts") if task.algorithm.selective(task) else None
            together = self.at_once(_UNROLL)
            for first in range(0, _UNROLL, together):
                batch = edges[first:first + together]
                with a.scope():
                    for edge, data in zip(batch, task.algorithm.gather(k, batch)):
                        self._sum(k, edge, data, some)

    @staticmethod
    def _sum(k, edge, data, predicate):
        """Take an edge's data in; with a predicate's register, only where the edge counts."""
        algorithm = k.task.algorithm
        if predicate is None:
            algorithm.sum(k, edge, data, None)
            return
        after = k.a.label("edge_next")
        algorithm.accepts(k, data, predicate)
        k.narrow(predicate, after)
        algorithm.sum(k, edge, data, predicate)
        k.widen()
        k.a.place(after)

    def _filtered(self, k, loop):
        """The neighbour is loaded only where the base vertex is in the frontier."""
        a, task, algorithm = k.a, k.task, k.task.algorithm
        with a.scope("here", "any") as (here, some):
            bases = a.regs(*(f"base{i}" for i in range(_UNROLL)))
            words = a.regs(*(f"word{i}" for i in range(_UNROLL)))
            k.edge_phase(2)
            task.format.search_vid(k, self._location, bases)
            a.mv(here, self._location)
            self._split.take(self._location)
            edges = self._edges(task, bases, words)
            for edge, word in zip(edges, words):
                algorithm.filter_data(k, edge.base, word)
            for edge, word in zip(edges, words):
                algorithm.filter(k, edge.base, word, word)
            a.or_(some, words[0], words[1])
            for word in words[2:]:
                a.or_(some, some, word)
            k.narrow(some, loop.next)
            for index, (edge, word) in enumerate(zip(edges, words)):
                after = a.label("edge_next")
                k.narrow(word, after)
                self._one(k, edge.base.reg, here, index, word, after)
                k.widen()
                a.place(after)

    def _one(self, k, base, here, index, predicate, after):
        a, task, algorithm = k.a, k.task, k.task.algorithm
        with a.scope("neighbor", "where") as (neighbor, where):
            a.addi(where, here, 4 * task.config.threads * index)
            k.edge_phase(3)
            weights = self._weights(k, 1)
            task.format.get_edge(k, where, [neighbor], weights)
            k.edge_phase(4)
            edge, = self._edges(task, [base], [neighbor], weights)
            data, = algorithm.gather(k, [edge])
            algorithm.accepts(k, data, predicate)
            k.narrow(predicate, after)
            algorithm.sum(k, edge, data, predicate)

    @staticmethod
    def _weights(k, count):
        if not k.task.algorithm.weighted:
            return ()
        return k.a.regs(*(f"weight{i}" for i in range(count)))

    @staticmethod
    def _edges(task, bases, neighbors, weights=()):
        base_array = task.algorithm.base_array(task)
        neighbor_array = task.algorithm.neighbor_array(task)
        return [Edge(Vertex(base, base_array), Vertex(neighbor, neighbor_array), weight)
                for base, neighbor, weight in itertools.zip_longest(bases, neighbors, weights)]
