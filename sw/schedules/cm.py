"""Core mapping: the warps of a core share the edges of as many vertices as the core has lanes
(cooperative thread arrays in GSwitch; SparseWeaver, table 4.1).

In each round every lane of the core registers a vertex. Each warp leaves its rows, with their
prefix sums, in local memory, and beside them the sum of all its degrees. Behind a barrier every
warp adds up these sums, and takes an equal part of all edges. A second barrier keeps the rows until
the last warp has done its part.
"""

from hw.isa import Csr
from sw.kernels.distribution import (FIND, UNROLL, Scan, Share, Slices, Table, broadcast, part,
                                     register, search, sums_of_rows)
from sw.kernels.kernel import log2
from sw.kernels.rows import Rows
from sw.schedules.base import Schedule


__all__ = ["CoreMapping"]


#: Edges of a long row that a lane works on at once.
_UNROLL = 2

_BARRIER = 0

#: The places in local memory: the rows of all warps, and the sums of their degrees.
_TABLE, _TOTALS = "registered_rows", "registered_totals"


class CoreMapping(Schedule):
    """Rounds of one vertex for each lane of the core."""
    name = "cm"
    OPTIONS = {"find": FIND, "unroll": UNROLL}

    def check_config(self, config):
        self._threads = config.threads

    @property
    def lanes_apart(self):
        return self._threads

    def reserve(self, task):
        if _TABLE not in task.local:                # there may be two directions
            task.local.reserve(_TABLE, Table.words(task, task.config.warps))
            task.local.reserve(_TOTALS, task.config.warps)

    def init_global(self, k):
        config = k.task.config
        self._warps, self._barrier = k.constant(config.warps, "warps"), k.constant(_BARRIER)
        #: Lanes that add up the sums of the warps, and warps of each of these lanes.
        self._adders = min(config.warps, config.threads)
        self._group = config.warps // self._adders
        self._rows = Rows(k, together=True)
        self._rows.start()
        self._scan, self._scan_totals = Scan(k), Scan(k, self._adders)
        self._table = Table(k, k.task.local.address(_TABLE), config.warps)
        self._slices = Slices(k, self._table,
                              Share(k, self.options["find"], self.at_once(_UNROLL)))
        a, totals = k.a, k.task.local.address(_TOTALS)
        self._warp, self._own, self._total, self._totals = a.regs("warp", "own_rows", "own_total",
                                                                  "totals")
        a.csrr(self._warp, Csr.WARP_ID)
        self._table.pointer(self._own, self._warp)
        k.scaled(self._total, self._warp, totals)
        a.csrr(self._totals, Csr.THREAD_ID)
        a.andi(self._totals, self._totals, self._adders - 1)
        k.scaled(self._totals, self._totals, totals, 4 * self._group)

    def go_on(self, k):
        k.a.bar(self._barrier, self._warps)

    def get_next_edge(self, k):
        a, rows = k.a, self._rows
        top, done, empty = a.label("round"), a.label("gather_done"), a.label("round_end")
        a.place(top)
        k.phase(1)
        answer = rows.ask()
        begin, size, base = register(k, rows)
        lasts, starts, _ = sums_of_rows(k, self._scan, begin, size)
        self._table.store(self._own, lasts, starts, base.reg)
        a.sw(lasts, self._total)                    # of the highest lane
        rows.offer(answer)
        a.bar(self._barrier, self._warps)
        rows.advance()
        low, high = self._part(k, empty)
        k.phase(3)
        pointer = a.reg("pointer")
        self._first_slice(k, pointer, low, high)
        self._slices.go(pointer, low, high, base.array)
        a.place(empty)
        a.branch(~rows.more(), done)
        a.bar(self._barrier, self._warps)
        a.j(top)
        a.place(done)

    def _part(self, k, empty):
        """The warp's part of all places, in registers; to ``empty`` if there is none."""
        a = k.a
        self._sizes, self._sums = a.regs("sizes", "sums")
        a.lw(self._sizes, self._totals)
        for warp in range(1, self._group):
            size = a.reg("size")
            a.lw(size, self._totals, 4 * warp)
            a.add(self._sizes, self._sizes, size)
        a.addi(self._sizes, self._sizes, self._group)       # from last places to sizes
        self._scan_totals.sums(self._sums, self._sizes)
        total, low, high = a.regs("total", "low", "high")
        self._scan_totals.last(total, self._sums)
        part(k, total, self._warp, k.task.config.warps, low, high)
        a.bge(low, high, empty)
        return low, high

    def _first_slice(self, k, pointer, low, high):
        """``pointer`` = the slice that has the place ``low``, or an earlier one; ``low`` and
        ``high`` then count from the slice's first place."""
        a = k.a
        a.sub(self._sizes, self._sums, self._sizes)         # places before the group
        a.addi(self._sums, self._sums, -1)
        group, before = search(k, self._adders, self._sums, low), a.reg("before")
        a.shfl_idx(before, self._sizes, group)
        a.sub(low, low, before)
        a.sub(high, high, before)
        a.andi(group, group, self._adders - 1)
        k.shifted(group, group, log2(self._group))
        self._table.pointer(pointer, group)
