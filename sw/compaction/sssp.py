"""Single-source shortest paths by compaction (Segura et al., algorithms 2 and 5).

Beside the end of each edge of the frontier stands its cost, the length of the path over it. The
contraction takes it into the end's distance by atomic minimum. An end whose distance became smaller
is *near* if the cost is below a threshold, and in the next frontier; else it is *far*, and goes
with its cost into the pile (:mod:`sw.compaction.pile`). Distances are only ever replaced by smaller
ones, so no order gives another result, only another number of supersteps.

A near end is in the frontier once. Several lanes may improve it in a superstep; the lane that
stamps it first keeps it. Elements behind the end of the edge frontier improve nothing. Each has
been contracted before with the same cost, or is a padding vertex at distance 0.

Filtering by best cost drops an element only if the table holds its vertex with a cost as low. The
element with that cost was kept, now or in an earlier superstep, and reaches a contraction. By the
end of this superstep the vertex's distance is as low, so the dropped element would improve nothing.
So the table need not be emptied between supersteps. An element is *grouped* with others whose
distances lie in one line.

The unit adds without a check, so it refuses graphs in which a path might be longer than 32 bits
hold. The cores treat such a length as no path.
"""

import itertools

import numpy as np

from hw.isa import Csr
from sw.algorithms.sssp import UNREACHED, Sssp
from sw.compaction.base import EDGES, FRONTIER, VALUES, ByCompaction
from sw.compaction.blocks import Output, any_of, load_both
from sw.compaction.pile import FAR, FAR_COSTS, SUPERSTEP_BITS, Pile
from sw.kernels.kernel import Vertex


__all__ = ["CompactSssp"]


class CompactSssp(ByCompaction, Sssp):
    """From ``source``; see :class:`sw.algorithms.sssp.Sssp`. ``delta`` is ``"auto"`` if it is not
    given."""
    array = "distance"
    replicates = None
    kept = (Output("near_bits", (FRONTIER,)), Output("far_bits", (FAR, FAR_COSTS)))
    own_words = Pile.WORDS
    table_share = 0.75
    groups = True

    def __init__(self, graph, source=0, delta=None):
        super().__init__(graph, source, "auto" if delta is None else delta)

    # Memory

    def reserve_vertices(self, task):
        if self._may_pass and not self.engine.saturates:
            raise task.schedule.refuse(
                "adds costs on the unit, which does not notice if a sum passes 32 bits; with "
                f"weights up to {int(self.graph.weights.max())} the sum of a path in "
                f"{self.graph.name} may")
        for name in ("distance", "stamp"):
            task.buffers.reserve(name, task.vertex_words)
        self.pile = Pile(self, task)
        self.pile.reserve()

    def longest_list(self):
        return self.pile.capacity

    def init_vertex_value(self, task):
        distance = np.full(self.graph.num_vertices, UNREACHED, dtype=np.uint32)
        source = task.vertex(self._source)
        distance[source] = 0
        task.buffers.fill("distance", distance, 0)
        self.pile.fill()
        self.fill(task, source)

    def own_control(self, task):
        return self.pile.control(self._delta)

    # Kernels

    def own_kernels(self, task):
        return self.pile.kernels()

    def need_given(self, k):
        pass

    def given(self, k, vertex, into):
        k.a.lw(into, vertex)

    def along(self, k, value, weight, into):
        a = k.a
        a.add(into, weight, value)
        if self._may_pass:
            passed = a.reg("passed")
            # A length that overflows 32 bits becomes all ones: no path.
            a.sltu(passed, into, value)
            a.neg(passed, passed)
            a.or_(into, into, passed)

    def tails(self, k, state):
        return [state.there, self.pile.epoch(k)]

    def need_contract(self, k, state):
        a = k.a
        self._stamp, self._threshold = k.a.reg("stamp"), k.a.reg("threshold")
        a.csrr(self._stamp, Csr.MSCRATCH)
        a.slli(self._stamp, self._stamp, 32 - SUPERSTEP_BITS)
        a.srli(self._stamp, self._stamp, 32 - SUPERSTEP_BITS)
        a.addi(self._stamp, self._stamp, 1)
        tails = self.tails(k, state)
        self.pile.threshold(k, tails[1], self._threshold)
        return tails

    def contract(self, k, sink, block, group):
        a = k.a
        none, done = a.label("none_shorter"), a.label("group_end")
        ends, costs = load_both(k, block, group, EDGES, VALUES)
        befores, chosen = (a.regs(*(f"{name}{window}" for window in range(len(ends))))
                           for name in ("before", "chosen"))
        for end, before in zip(ends, befores):
            self.engine.vertex(k, end)
            a.lw(before, end)
        for cost, before, predicate in zip(costs, befores, chosen):
            a.sltu(predicate, cost, before)
        k.narrow(any_of(k, chosen), none)
        for window, words in enumerate(zip(ends, costs, befores, chosen)):
            self._window(k, sink, block, group, window, *words)
        if sink.bits:
            a.j(done)
        a.place(none)
        sink.nothing(k, block, group)
        a.place(done)

    def _window(self, k, sink, block, group, window, end, cost, near, chosen):
        a = k.a
        known, after_near, after_far = (a.label(name) for name in ("known", "near_end", "far_end"))
        k.narrow(chosen, known)
        a.amominu_w(near, cost, end)
        a.sltu(chosen, cost, near)
        k.widen()
        a.place(known)
        a.sltu(near, cost, self._threshold)
        a.and_(near, near, chosen)
        a.xor(chosen, chosen, near)
        k.narrow(near, after_near)
        place = a.reg("stamp_place")
        a.amomaxu_w(near, self._stamp, k.pointer(Vertex(end, "distance"), "stamp", place))
        a.sltu(near, near, self._stamp)
        sink.keep(k, 0, near, after_near, [end])
        k.widen()
        a.place(after_near)
        sink.note(k, block, group, window, 0, near)
        if not sink.bits:
            sink.keep(k, 1, chosen, after_far, [end, cost])
            k.widen()
            a.place(after_far)
        sink.note(k, block, group, window, 1, chosen)

    # Host

    def targets(self, superstep):
        return [*super().targets(superstep), self.pile.target()]

    def drive(self, session):
        pile, engine, count = self.pile, self.engine, 1
        pile.begin()
        for superstep in itertools.count():
            engine.expand(session, superstep, count, pile.flags)
            pile.make_room(session, superstep)
            count, far = engine.contract(session, superstep, pile.flags)
            pile.add(far)
            if not count:
                count = pile.advance(session, superstep + 1)
            if not count:
                return superstep + 1
