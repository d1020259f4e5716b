"""Expansion of a frontier by the cores: all edges of its vertices, without gaps.

A warp takes as many vertices as it has lanes. A prefix sum over their degrees gives the place of
each vertex's edges, and one atomic addition reserves the room for all of them (Merrill, Garland,
Grimshaw, ACM TOPC 2015, 5). All lanes copy the edges side by side, one edge per lane. A lane finds
the row of its edge by the prefix sums, starting from the row of its last edge. So within a long row
there is no search. If nearly all rows are short, each lane first copies the first edges of its own
row, whose loads are under way together. All lanes then copy the rest of longer rows side by side.
"""

import numpy as np

from hw.isa import Csr
from sw.compaction.base import (COUNTS, EDGES, GIVEN, INDEXES, VALUES, Control, State)
from sw.kernels.assembler import Condition
from sw.kernels.split import split


__all__ = ["OVERREAD", "Expansion", "rows"]


#: Largest number of first edges of a row that the row's own lane copies.
_OWN = 6

#: Part of the vertices with edges whose whole rows a lane should copy alone. If such rows may be
#: longer than :data:`_OWN`, all lanes copy all rows together.
_MOST = 0.99

#: Words behind the last edge that may be read.
OVERREAD = _OWN

#: Upper bits of the operand of ``shfl.idx``: no segments, no lane clamped.
_ANY_LANE = 63 << 6


def _own_edges(graph):
    """The number of edges that each lane copies of its own row."""
    degrees = graph.out_degrees[graph.out_degrees > 0]
    most = int(np.quantile(degrees, _MOST)) if len(degrees) else 0
    return most if most <= _OWN else 0


def rows(k, vertex, begin, end, value=None):
    """Load where a vertex's edges begin and end; ``value`` = the value that it sends along them.

    ``vertex`` is the address of its word; it may be ``value``.
    """
    a = k.a
    row = a.reg("row")
    a.add(row, vertex, k.distance(k.task.algorithm.array, "offsets"))
    a.lw(begin, row, 0)
    a.lw(end, row, 4)
    if value is not None:
        k.task.algorithm.given(k, vertex, value)


class Expansion:
    """The kernel.

    Parameters
    ----------
    k : Kernel
    engine : sw.compaction.engine.Engine
    prepared : bool
        Whether the vertices have been looked up before.
    """

    def __init__(self, k, engine, prepared):
        self._k, self._engine, self._prepared = k, engine, prepared
        self._task, self._algorithm = k.task, k.task.algorithm
        self._lanes = k.task.config.threads
        self._own = _own_edges(k.task.graph)

    def emit(self):
        """Emit the kernel."""
        a = self._k.a
        top, done, empty = a.label("rows"), a.label("rows_end"), a.label("rows_next")
        self._prologue(done)
        a.place(top)
        begin, count, value = a.regs("begin", "count", "value")
        self._load(begin, count, value)
        inside = a.reg("inside")
        a.sltu(inside, self._entry, self._end)
        a.neg(inside, inside)
        a.and_(count, count, inside)
        self._split.take(self._entry)
        self._copy(begin, count, value, empty)
        a.place(empty)
        a.branch(self._more(), top)
        a.place(done)

    def _load(self, begin, count, value):
        """Load where the edges of the lane's vertex begin, how many bytes they take, and the value
        that the vertex sends along them."""
        k, a, algorithm = self._k, self._k.a, self._algorithm
        replicates = algorithm.replicates
        if self._prepared:
            for into, name in ((begin, INDEXES), (count, COUNTS), (value, replicates or GIVEN)):
                place = a.reg("place")
                if name != self._engine.frontier:
                    a.add(place, self._entry, k.distance(self._engine.frontier, name))
                    a.lw(into, place)
                else:
                    a.lw(into, self._entry)
            return
        if algorithm.everywhere:
            a.mv(value, self._entry)
        else:
            a.lw(value, self._entry)
        rows(k, value, begin, count, None if replicates else value)
        a.sub(count, count, begin)

    def _more(self):
        return Condition("ltu", self._entry, self._end)         # as lane 0 says

    def _prologue(self, done):
        """Warps that have no vertex go on to ``done``."""
        k, a = self._k, self._k.a
        self._entry, self._end = k.a.reg("entry"), k.a.reg("entry_end")
        self._tail, self._lane = k.a.reg("tail"), k.a.reg("lane")
        state = State(k)
        self._engine.frontier_end(k, state, self._end)
        a.addi(self._tail, state.here, Control.EDGES)
        self._engine.leave_frontier(k, state)
        index = a.reg("index")
        k.lane_index(index)
        k.scaled(self._entry, index, self._engine.frontier)
        a.branch(~self._more(), done)
        a.csrr(self._lane, Csr.THREAD_ID)
        a.slli(self._lane, self._lane, 2)
        self._masks = {step: k.a.reg(f"from_{step}") for step in self._steps()}
        for step, mask in self._masks.items():
            self._lanes_from(step, mask)
        self._split = split(k, 4 * self._lanes)
        self._split.start()
        k.phase(3)

    def _steps(self):
        return [1 << bit for bit in range(self._lanes.bit_length() - 1)]

    def _lanes_from(self, lane, into):
        """``into`` = all ones in lanes from number ``lane`` on, else 0."""
        self._k.a.slti(into, self._lane, 4 * lane)
        self._k.a.addi(into, into, -1)

    def _scan(self, into, source):
        """``into`` = sum of ``source`` over this lane and those below."""
        a = self._k.a
        a.mv(into, source)
        for step in self._steps():
            other = a.reg("other")
            a.li(other, step)
            a.shfl_up(other, into, other)
            mask = self._masks.get(step)
            if mask is None:
                mask = a.reg("mask")
                self._lanes_from(step, mask)
            a.and_(other, other, mask)
            a.add(into, into, other)

    def _last(self, into, source):
        """``into`` = the last lane's ``source``."""
        a = self._k.a
        a.li(into, self._lanes - 1 | _ANY_LANE)
        a.shfl_idx(into, source, into)

    def _copy(self, begin, count, value, empty):
        """Copy the edges of the lanes' rows; to ``empty`` if there are none."""
        a = self._k.a
        sums, last, where = a.regs("sums", "last", "where")
        self._scan(sums, count)
        self._last(last, sums)
        a.beqz(last, empty)
        room = a.reg("room")
        self._reserve(room, last)
        a.add(sums, sums, room)
        a.add(last, last, room)
        if not self._own:
            # From here on an edge is known by its place in the list.
            a.add(where, room, self._lane)
        if not self._own:
            self._copy_together(begin, count, value, sums, where, last)
            return
        a.sub(sums, sums, count)
        self._copy_own(begin, count, value, sums)
        self._skip_own(begin, count, sums, empty)
        a.mv(where, self._lane)
        left = a.reg("left")
        self._scan(left, count)
        self._last(last, left)
        self._copy_together(begin, count, value, left, where, last, place=sums)

    def _reserve(self, room, size):
        """Reserve ``size`` bytes at the end of the list; ``room`` = their address."""
        a = self._k.a
        a.li(room, 1)
        a.tmc(room)
        a.amoadd_w(room, size, self._tail)
        self._k.widen()
        a.shfl_idx(room, room, a.zero)

    def _beside(self, into, source, name, other):
        self._k.a.add(into, source, self._k.distance(name, other))

    def _copy_own(self, begin, count, value, place):
        """Each lane copies the first edges of its row."""
        k, a = self._k, self._k.a
        numbers = range(self._own)
        after = a.label("own_end")
        weighted = self._algorithm.weighted
        beside, left = a.regs("beside", "left")
        ends = a.regs(*(f"end{number}" for number in numbers))
        values = [value for _ in numbers]
        for number, end in zip(numbers, ends):
            a.lw(end, begin, 4 * number)
        if weighted:
            values = a.regs(*(f"weight{number}" for number in numbers))
            self._beside(beside, begin, "neighbors", "weights")
            for number, weight in zip(numbers, values):
                a.lw(weight, beside, 4 * number)
            for weight in values:
                self._algorithm.along(k, value, weight, weight)
        self._beside(beside, place, EDGES, VALUES)
        for number, end, word in zip(numbers, ends, values):
            a.slti(left, count, 4 * number + 1)
            a.xori(left, left, 1)
            k.narrow(left, after)
            a.sw(end, place, 4 * number)
            a.sw(word, beside, 4 * number)
        k.widen()
        a.place(after)

    def _skip_own(self, begin, count, place, empty):
        """Skip to the rest of longer rows; go to ``empty`` if there are none."""
        a, size = self._k.a, 4 * self._own
        longer, some = a.regs("longer", "some")
        a.slti(longer, count, size + 1)
        a.xori(longer, longer, 1)
        a.vote_any(some, longer)
        a.beqz(some, empty)
        a.neg(longer, longer)
        a.addi(count, count, -size)
        a.and_(count, count, longer)
        a.addi(begin, begin, size)
        a.addi(place, place, size)

    def _copy_together(self, begin, count, value, sums, where, end, place=None):
        """All lanes copy side by side. An edge ``where`` is in the first row whose sum is larger.

        ``where`` is the lane's first edge, and ``end`` is behind the last edge. An edge's ``where``
        is also its place in the list, unless ``place`` gives the place of each row's first edge.
        ``begin``, ``count`` and ``place`` are changed.
        """
        k, a = self._k, self._k.a
        top, find, found, done = (a.label(name) for name in
                                  ("together", "find", "found", "together_end"))
        # The distances of a row's edges from ``where``, in the graph and in the list.
        a.sub(count, sums, count)
        a.sub(begin, begin, count)
        if place is not None:
            a.sub(place, place, count)
        bound = count
        row, inside, source, word, within = a.regs("row", "inside", "source", "word", "within")
        target = None if place is None else a.reg("target")

        def take_row():
            a.shfl_idx(source, begin, row)
            a.shfl_idx(word, value, row)
            if place is not None:
                a.shfl_idx(target, place, row)

        a.li(row, _ANY_LANE)
        a.shfl_idx(bound, sums, row)
        take_row()
        a.sltu(inside, where, end)
        k.narrow(inside, done)
        a.place(top)
        everywhere = a.reg("all")
        a.sltu(within, where, bound)
        a.vote_all(everywhere, within)
        a.bnez(everywhere, found)
        a.place(find)
        a.xori(within, within, 1)
        a.add(row, row, within)
        a.shfl_idx(bound, sums, row)
        a.sltu(within, where, bound)
        a.vote_all(everywhere, within)
        a.beqz(everywhere, find)
        take_row()
        a.place(found)
        self._copy_edge(where, source, target, word)
        a.addi(where, where, 4 * self._lanes)
        a.sltu(inside, where, end)
        a.pred(inside, k.full)
        a.bnez(inside, top)
        a.place(done)

    def _copy_edge(self, where, source, target, word):
        k, a = self._k, self._k.a
        origin, end = a.regs("from", "end")
        a.add(origin, source, where)
        a.lw(end, origin)
        to = where
        if target is not None:
            to = a.reg("to")
            a.add(to, target, where)
        beside = to if target is not None else origin
        if self._algorithm.weighted:
            self._beside(origin, origin, "neighbors", "weights")
            a.lw(origin, origin)
            self._algorithm.along(k, word, origin, origin)
            word = origin
            beside = to if target is not None else a.reg("beside")
        a.sw(end, to)
        self._beside(beside, to, EDGES, VALUES)
        a.sw(word, beside)
