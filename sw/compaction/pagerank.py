"""PageRank by compaction (Segura et al., algorithm 3).

All vertices are in every frontier. A superstep expands all edges, with the source's share of the
rank beside each end. The contraction adds up the shares by atomic additions. The kernel ``apply``
makes ranks of the sums (dampening). All is in fixed point, as in :mod:`sw.algorithms.pagerank`, so
every order of the additions gives the same result.

Nothing can be filtered, because every edge counts, and the paper groups nothing either (4.6). So
the enhanced unit does the same work as the plain unit.
"""

from sw.algorithms.fixed_point import inverse_degrees
from sw.algorithms.pagerank import PageRank
from sw.compaction.base import EDGES, VALUES, ByCompaction
from sw.compaction.blocks import load_both
from sw.kernels.vertices import each_vertex


__all__ = ["CompactPageRank"]


class CompactPageRank(ByCompaction, PageRank):
    """``iterations`` supersteps, or until the ranks change by less than ``tolerance`` in all; see
    :class:`sw.algorithms.pagerank.PageRank`."""
    array = "sum"
    everywhere = True

    # Memory

    def reserve_vertices(self, task):
        for name in ("sum", "rank", "inverse"):
            task.buffers.reserve(name, task.vertex_words)

    def init_vertex_value(self, task):
        task.buffers.fill("inverse", task.to_device(inverse_degrees(self.graph)))
        task.buffers.fill("rank", rest=self.fixed.one)
        self.fill(task)

    # Kernels

    def own_kernels(self, task):
        return {"apply": self._dampen}

    def given(self, k, vertex, into):
        a = k.a
        inverse = a.reg("inverse")
        a.add(inverse, vertex, k.distance("sum", "inverse"))
        a.lw(inverse, inverse)
        a.add(into, vertex, k.distance("sum", "rank"))
        a.lw(into, into)
        a.mulhu(into, into, inverse)

    def need_contract(self, k, state):
        return []

    def contract(self, k, sink, block, group):
        ends, shares = load_both(k, block, group, EDGES, VALUES)
        for end, share in zip(ends, shares):
            k.a.amoadd_w(k.a.zero, share, end)

    def _dampen(self, k):
        a = k.a
        damping = k.constant(self.fixed.damping, "damping")
        base = k.constant(self.fixed.base, "base_rank")
        with each_vertex(k, "sum", "rank") as pointers:
            word = a.reg("word")
            a.lw(word, pointers["sum"])
            a.sw(a.zero, pointers["sum"])
            pointers.advance("sum")
            a.mulhu(word, word, damping)
            a.add(word, word, base)
            a.sw(word, pointers["rank"])

    # Host

    def targets(self, superstep):
        return []

    def sweep(self, session, superstep):
        self.engine.expand(session, superstep, self.graph.num_vertices)
        self.engine.contract(session, superstep)
        session.launch("apply")
