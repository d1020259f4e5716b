"""Core mapping: the warps of a core, or of a group of them, share the edges of as many vertices as
they have lanes (cooperative thread arrays in GSwitch; SparseWeaver, table 4.1).

In each round every lane registers a vertex. Each warp leaves its rows, with their
prefix sums, in local memory. Behind a barrier every warp adds up the sizes of all warps' rows, and
takes an equal part of the edges. A second barrier keeps the rows until the last warp has done its
part.
"""

import dataclasses

from hw.isa import Csr
from sw.compile.kernels.distribution import (FIND, UNROLL, Scan, Share, Slices, SliceTable, part,
                                             register, sums_of_rows)
from sw.compile.kernels.row_search import search
from sw.compile.kernels.rows import Rows
from sw.compile.kernels.scope import GROUP
from sw.compile.schedules.schedule import Schedule


__all__ = ["CoreMapping"]


#: Edges of a long row that a lane works on at once. More would put registers into local memory.
_UNROLL = 1

#: The place in local memory for the rows of all warps.
_TABLE = "registered_rows"


def _groups(task):
    """``(groups, warps)``: lanes that add up the sizes of the warps' rows, a power of two, and
    warps of each such lane."""
    groups = 1
    while groups < min(task.scope.warps, task.config.threads):
        groups *= 2
    return groups, -(-task.scope.warps // groups)


def _slices(task):
    """Slices of the core's table. A group has as many as warps; the warps of a whole core may be a
    few less than their slices."""
    groups, warps = _groups(task)
    return groups * warps * task.scope.groups


class CoreMapping(Schedule):
    """Rounds of one vertex for each lane of the scope."""
    name = "cm"
    shares_rows = True
    OPTIONS = {"find": FIND, "group": GROUP, "unroll": dataclasses.replace(
        UNROLL, default=_UNROLL, doc="edges of a long row that a lane works on at once")}

    def reserve(self, task):
        task.local.share(_TABLE, SliceTable.words(task, _slices(task), padded=True))

    def emit(self, k):
        _Rounds(k, self.options["find"], self.at_once(k.task, _UNROLL)).emit()

    def go_on(self, k):
        k.task.scope.barrier(k)


class _Rounds:
    """The kernel: rounds in which the warps of a scope share the rows of all their lanes."""

    def __init__(self, k, find, unroll):
        task = k.task
        self._k, (self._groups, self._warps) = k, _groups(task)
        self._rows = Rows(k, together=True)
        self._rows.start()
        self._scan = Scan(k, keep=False)
        self._totals = Scan(k, self._groups, keep=False)
        self._table = SliceTable(k, task.local.address(_TABLE), _slices(task), padded=True)
        self._shared = Slices(k, self._table, Share(k, find, unroll))
        self._own, warp = k.a.regs("own_rows", "warp")
        k.a.csrr(warp, Csr.WARP_ID)
        self._table.pointer(self._own, warp)
        for number in range(task.warps, _slices(task)):         # slices of no warp
            k.a.sw(k.full, k.constant(self._last_word(number)))

    def _last_word(self, number):
        """The address of the last place of a slice."""
        task = self._k.task
        return (task.local.address(_TABLE) + self._table.slice_bytes * number
                + 4 * (task.config.threads - 1))

    def emit(self):
        """Emit the loop."""
        k, a, rows, scope = self._k, self._k.a, self._rows, self._k.task.scope
        top, done, empty = a.label("round"), a.label("gather_done"), a.label("round_end")
        a.place(top)
        k.phase(1)
        answer = rows.ask()
        begin, size, base = register(k, rows)
        lasts, starts, _ = sums_of_rows(k, self._scan, begin, size)
        self._table.store(self._own, lasts, starts, base.reg)
        rows.offer(answer)
        scope.barrier(k)
        rows.advance()
        sizes, sums = self._add_up()
        total, warp, low, high = a.regs("total", "warp", "low", "high")
        self._totals.last(total, sums)
        scope.warp(k, warp)
        part(k, total, warp, scope.warps, low, high)
        a.bge(low, high, empty)
        pointer = a.reg("pointer")
        self._first_slice(sizes, sums, pointer, low, high)
        k.phase(3)
        self._shared.go(pointer, low, high, base.array)
        a.place(empty)
        a.branch(~rows.more(), done)
        scope.barrier(k)
        a.j(top)
        a.place(done)

    def _add_up(self):
        """The size of each group of warps, and the prefix sums, a group a lane."""
        k, a, groups, warps = self._k, self._k.a, self._groups, self._warps
        place, size, sizes, sums = a.regs("place", "size", "sizes", "sums")
        a.csrr(place, Csr.THREAD_ID)
        a.andi(place, place, groups - 1)
        k.times(place, place, warps * self._table.slice_bytes)
        k.task.scope.move(k, place, k.task.scope.warps * self._table.slice_bytes // 4)
        a.add(place, place, k.constant(self._last_word(0), "last_places"))
        a.lw(sizes, place)
        for warp in range(1, warps):
            k.step(place, self._table.slice_bytes)
            a.lw(size, place)
            a.add(sizes, sizes, size)
        a.addi(sizes, sizes, warps)                 # from last places to sizes
        self._totals.sums(sums, sizes)
        return sizes, sums

    def _first_slice(self, sizes, sums, pointer, low, high):
        """``pointer`` = the first slice of the group that has the place ``low``; ``low`` and
        ``high`` then count from the group's first place."""
        k, a, groups, warps = self._k, self._k.a, self._groups, self._warps
        a.sub(sizes, sums, sizes)                   # places before the group
        a.addi(sums, sums, -1)
        group, before = search(k, groups, sums, low), a.reg("before")
        a.shfl_idx(before, sizes, group)
        a.sub(low, low, before)
        a.sub(high, high, before)
        a.andi(group, group, groups - 1)
        k.times(group, group, warps)
        if k.task.scope.groups > 1:
            first = a.reg("first_warp")
            k.task.scope.first_warp(k, first)
            a.add(group, group, first)
        self._table.pointer(pointer, group)
