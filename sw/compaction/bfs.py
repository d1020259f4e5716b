"""Breadth-first search by compaction (Segura et al., algorithms 1 and 4).

Superstep L expands the vertices of depth L. The value beside the end of an edge is the edge's
source, a candidate for the parent. The contraction keeps ends that had not been found before.

Why every order gives the same result
-------------------------------------
Depths of L and less were written before the contraction, in which no depth changes but from -1 to
L + 1. So the end of an edge whose depth, as an unsigned number, is above L has not been found
before this superstep. Only such vertices get a parent, by atomic minimum over all edges that lead
to them from the frontier. Several lanes may see such a vertex unreached. The lane whose atomic
minimum of the depth returns "unreached" keeps the vertex. So a frontier has a vertex once, and its
edges are never more than the graph has.

Elements behind the end of the edge frontier change nothing. Each has been contracted before, or is
a padding vertex, whose depth of 0 counts as found.

Filtering by best cost
----------------------
An element is the end of an edge, and its cost is the edge's source. The unit drops an element only
if the table holds its vertex with a cost as low. Then the vertex was kept with such a source. If
that was in this superstep, a parent as small reaches the contraction. If it was in an earlier
superstep, the vertex has been found. So the table need not be emptied between supersteps, and also
drops ends that were found long ago.
"""

import itertools

import numpy as np

from hw.isa import Csr
from sw.algorithms.bfs import Bfs
from sw.compaction.base import EDGES, FRONTIER, VALUES, ByCompaction
from sw.compaction.blocks import Output, any_of
from sw.kernels.kernel import Vertex


__all__ = ["CompactBfs"]


class CompactBfs(ByCompaction, Bfs):
    """From ``source``; see :class:`sw.algorithms.bfs.Bfs`."""
    array = "depth"
    replicates = FRONTIER
    kept = (Output("found_bits", (FRONTIER,)),)
    table_share = 0.5

    # Memory

    def reserve_vertices(self, task):
        if self.engine.filters and task.new_ids is not None:
            raise task.schedule.refuse(
                "keeps the smallest source by its number on the device, and a reordered vertex "
                "has another number there than in the graph")
        for name in ("depth", "parent"):
            task.buffers.reserve(name, task.vertex_words)

    def init_vertex_value(self, task):
        depth = np.full(self.graph.num_vertices, -1, dtype=np.int32)
        parent = depth.copy()
        source = task.vertex(self._source)
        depth[source], parent[source] = 0, self._source
        task.buffers.fill("depth", depth, rest=0)
        task.buffers.fill("parent", parent, rest=-1)
        self.fill(task, source)

    # Kernels

    def tails(self, k, state):
        return [state.there]

    def need_contract(self, k, state):
        self._level, self._following = k.a.reg("level"), k.a.reg("following")
        k.a.csrr(self._level, Csr.MSCRATCH)
        k.a.addi(self._following, self._level, 1)
        return self.tails(k, state)

    def _origin(self, k):
        """The difference of an element and the number of its vertex."""
        return -(k.address("depth") >> self.engine.shift)

    def contract(self, k, sink, block, group):
        a, places = k.a, block.groups[group]
        none, done = a.label("none_found"), a.label("group_end")
        vertices, depths, chosen = (a.regs(*(f"{name}{window}" for window in
                                             range(len(places))))
                                    for name in ("end", "depth", "chosen"))
        for vertex, place in zip(vertices, places):
            a.lw(vertex, block.here, place)
        for vertex, depth in zip(vertices, depths):
            self.engine.vertex(k, vertex)
            a.lw(depth, vertex)
        for depth, predicate in zip(depths, chosen):
            a.sltu(predicate, self._level, depth)
        some = any_of(k, chosen)
        k.narrow(some, none)
        sources = a.regs(*(f"source{window}" for window in range(len(places))))
        beside = a.reg("beside")
        a.add(beside, block.here, k.distance(EDGES, VALUES))
        for source, place in zip(sources, places):
            a.lw(source, beside, place)
        for window in range(len(places)):
            self._window(k, sink, vertices[window], depths[window], sources[window],
                         chosen[window])
        for window, predicate in enumerate(chosen):
            sink.note(k, block, group, window, 0, predicate)
        if sink.bits:
            a.j(done)
        a.place(none)
        sink.nothing(k, block, group)
        a.place(done)

    def _window(self, k, sink, vertex, depth, source, chosen):
        a, after = k.a, k.a.label("found_end")
        k.narrow(chosen, after)
        if k.task.new_ids is None:
            a.add(source, source, k.constant(self._origin(k)))
            k.shifted(source, source, self.engine.shift - 2)
        else:
            self.engine.vertex(k, source)
            k.original(Vertex(source, "depth"), source)
        parent = a.reg("parent")
        a.amominu_w(a.zero, source, k.pointer(Vertex(vertex, "depth"), "parent", parent))
        a.addi(chosen, depth, 1)
        a.seqz(chosen, chosen)
        k.narrow(chosen, after)
        a.amominu_w(chosen, self._following, vertex)
        a.addi(chosen, chosen, 1)
        a.seqz(chosen, chosen)
        sink.keep(k, 0, chosen, after, [vertex])
        k.widen()
        a.place(after)

    # Host

    def drive(self, session):
        count = 1
        for level in itertools.count():
            self.engine.expand(session, level, count)
            count, = self.engine.contract(session, level)
            if not count:
                return level + 1
