"""Expansion of a frontier by the cores: all edges of its vertices, without gaps.

A warp takes as many vertices as it has lanes. A prefix sum over their degrees says where each one's
edges come to lie, and one atomic addition reserves the room for all of them (Merrill, Garland,
Grimshaw, ACM TOPC 2015, 5). Then each lane copies the first few edges of its own vertex, whose
loads are under way together; what is left of longer rows all lanes copy side by side, a lane an
edge. A lane finds the row of its edge by the prefix sums, from the row of its last one on, so that
within a long row there is nothing to be found.
"""

from hw.isa import Csr
from sw.compaction.base import (COUNTS, EDGES, GIVEN, INDEXES, VALUES, Control, State)
from sw.kernels.assembler import Condition
from sw.kernels.split import split


__all__ = ["OVERREAD", "Expansion", "need_rows", "rows"]


#: First edges of a row that its lane may copy: one more than the mean degree, but at most these.
_OWN = 4

#: Words behind the last edge that may be read.
OVERREAD = _OWN

#: Of the operand of ``shfl.idx``: no segments, no lane clamped.
_ANY_LANE = 63 << 6


def need_rows(k):
    """Prologue of a kernel that calls :func:`rows`."""
    k.need(k.task.algorithm.array, "offsets")
    k.task.algorithm.need_given(k)


def rows(k, vertex, begin, end, value=None):
    """Load where a vertex's edges begin and end; ``value`` = what it gives along them.

    ``vertex`` is the address of its word; it may be ``value``.
    """
    a = k.a
    with a.scope("row") as (row,):
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
        graph = k.task.graph
        mean = -(-graph.num_edges // graph.num_vertices) + 1
        # Where most rows are longer than a warp has lanes, all lanes copy all of them.
        self._own = min(_OWN, mean) if 2 * mean <= self._lanes else 0

    def emit(self):
        """Emit it."""
        k, a, algorithm = self._k, self._k.a, self._algorithm
        k.phase(2)
        self._prologue()
        top, done, empty = a.label("rows"), a.label("rows_end"), a.label("rows_next")
        a.branch(~self._more(), done)
        a.place(top)
        with a.scope("begin", "count", "value") as (begin, count, value):
            self._load(begin, count, value)
            with a.scope("inside") as (inside,):
                a.sltu(inside, self._entry, self._end)
                a.neg(inside, inside)
                a.and_(count, count, inside)
            self._split.take(self._entry)
            self._copy(begin, count, value, empty)
        a.place(empty)
        a.branch(self._more(), top)
        a.place(done)

    def _load(self, begin, count, value):
        """Where the edges of the lane's vertex begin, how many bytes they take, and what it gives
        along them."""
        k, a, algorithm = self._k, self._k.a, self._algorithm
        replicates = algorithm.replicates
        if self._prepared:
            for into, name in ((begin, INDEXES), (count, COUNTS), (value, replicates or GIVEN)):
                with a.scope("place") as (place,):
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

    def _need_load(self):
        k, engine = self._k, self._engine
        if self._prepared:
            k.need(engine.frontier, INDEXES, COUNTS, self._algorithm.replicates or GIVEN)
        else:
            need_rows(k)

    def _more(self):
        return Condition("ltu", self._entry, self._end)         # as lane 0 says

    def _prologue(self):
        k, a = self._k, self._k.a
        self._entry, self._end = k.lasting("entry"), k.lasting("entry_end")
        self._tail, self._lane = k.lasting("tail"), k.lasting("lane")
        self._below = [k.lasting(f"above_{step}") for step in self._steps()]
        with a.scope():
            state = State(k)
            self._engine.frontier_end(k, state, self._end)
            a.addi(self._tail, state.here, Control.EDGES)
            self._engine.leave_frontier(k, state)
        with a.scope("index") as (index,):
            k.lane_index(index)
            k.scaled(self._entry, index, self._engine.frontier)
        a.csrr(self._lane, Csr.THREAD_ID)
        for step, mask in zip(self._steps(), self._below):
            a.slti(mask, self._lane, step)
            a.addi(mask, mask, -1)
        a.slli(self._lane, self._lane, 2)
        self._need_load()
        k.need(EDGES, VALUES)
        if self._algorithm.weighted:
            k.need("neighbors", "weights")
        k.need_step(4 * self._lanes)
        self._split = split(k, 4 * self._lanes)
        self._split.start()
        k.seal()
        k.phase(3)

    def _steps(self):
        return [1 << bit for bit in range(self._lanes.bit_length() - 1)]

    def _scan(self, into, source):
        """``into`` = sum of ``source`` over this lane and those below."""
        a = self._k.a
        a.mv(into, source)
        with a.scope("other") as (other,):
            for step, mask in zip(self._steps(), self._below):
                a.li(other, step)
                a.shfl_up(other, into, other)
                a.and_(other, other, mask)
                a.add(into, into, other)

    def _last(self, into, source):
        """``into`` = what the last lane has."""
        a = self._k.a
        a.li(into, self._lanes - 1 | _ANY_LANE)
        a.shfl_idx(into, source, into)

    def _copy(self, begin, count, value, empty):
        """Copy the edges of the lanes' rows; to ``empty`` if there are none."""
        k, a = self._k, self._k.a
        with a.scope("place") as (place,):
            with a.scope("total", "sums") as (total, sums):
                self._scan(sums, count)
                self._last(total, sums)
                a.beqz(total, empty)
                a.li(place, 1)
                a.tmc(place)
                a.amoadd_w(place, total, self._tail)
                k.widen()
                a.shfl_idx(place, place, a.zero)
                a.add(place, place, sums)
                a.sub(place, place, count)
            if self._own:
                self._copy_own(begin, count, value, place)
                self._skip_own(begin, count, place, empty)
            self._copy_together(begin, count, value, place)

    def _beside(self, into, source, name, other):
        with self._k.a.scope():
            self._k.a.add(into, source, self._k.distance(name, other))

    def _copy_own(self, begin, count, value, place):
        """Each lane the first edges of its row."""
        k, a = self._k, self._k.a
        numbers = range(self._own)
        after = a.label("own_end")
        weighted = self._algorithm.weighted
        with a.scope("beside", "left") as (beside, left):
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
        """What is left of longer rows; to ``empty`` if there are none."""
        a, size = self._k.a, 4 * self._own
        with a.scope("longer", "some") as (longer, some):
            a.slti(longer, count, size + 1)
            a.xori(longer, longer, 1)
            a.vote_any(some, longer)
            a.beqz(some, empty)
            a.neg(longer, longer)
            a.addi(count, count, -size)
            a.and_(count, count, longer)
        a.addi(begin, begin, size)
        a.addi(place, place, size)

    def _copy_together(self, begin, count, value, place):
        """All lanes side by side: the edge number ``where`` of all that are left is in the first
        row whose sum is larger."""
        k, a = self._k, self._k.a
        top, find, found, done = (a.label(name) for name in
                                  ("together", "find", "found", "together_end"))
        names = "sums", "total", "where", "row", "sum", "inside"
        with a.scope(*names) as (sums, total, where, row, bound, inside):
            self._scan(sums, count)
            self._last(total, sums)
            # How far a row is from the place of its first edge, in the graph and in the list.
            a.sub(count, sums, count)
            a.sub(begin, begin, count)
            a.sub(place, place, count)
            a.mv(where, self._lane)
            a.li(row, _ANY_LANE)
            source, target, word = a.regs("source", "target", "word")
            self._of_row(row, sums, bound)
            self._of_row(row, begin, source)
            self._of_row(row, place, target)
            self._of_row(row, value, word)
            a.place(top)
            a.sltu(inside, where, total)
            k.narrow(inside, done)
            with a.scope("here") as (here,):
                a.sltu(here, where, bound)
                a.vote_all(here, here)
                a.bnez(here, found)
                a.place(find)
                a.sltu(here, where, bound)
                a.xori(here, here, 1)
                a.add(row, row, here)
                self._of_row(row, sums, bound)
                a.sltu(here, where, bound)
                a.vote_all(here, here)
                a.beqz(here, find)
            self._of_row(row, begin, source)
            self._of_row(row, place, target)
            self._of_row(row, value, word)
            a.place(found)
            self._copy_edge(where, source, target, word)
            k.step(where, 4 * self._lanes)
            a.j(top)
            a.place(done)

    def _of_row(self, row, values, into):
        self._k.a.shfl_idx(into, values, row)

    def _copy_edge(self, where, source, target, word):
        k, a = self._k, self._k.a
        with a.scope("from", "to", "end") as (origin, to, end):
            a.add(origin, source, where)
            a.lw(end, origin)
            if self._algorithm.weighted:
                self._beside(origin, origin, "neighbors", "weights")
                a.lw(origin, origin)
                self._algorithm.along(k, word, origin, origin)
                word = origin
            a.add(to, target, where)
            a.sw(end, to)
            self._beside(to, to, EDGES, VALUES)
            a.sw(word, to)
