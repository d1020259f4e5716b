"""Warp mapping: the lanes of a warp share the edges of as many vertices (GSwitch; SparseWeaver,
table 4.1).

In each round every lane registers a vertex. Prefix sums over the vertices' degrees, by shuffles,
give each edge a place, and the lanes then take the edges in the order of the places. So no lane is
idle but in the last window of a round, and the loads of the edges are coalesced. Warps do not share
work: a warp with a large vertex takes longer than the others.
"""

from sw.compile.kernels.distribution import (FIND, UNROLL, Scan, Share, at_once, register,
                                             sums_of_rows)
from sw.compile.kernels.rows import Rows
from sw.compile.schedules.schedule import Schedule


__all__ = ["WarpMapping"]


class WarpMapping(Schedule):
    """Rounds of one vertex a lane."""
    name = "wm"
    compared = True
    shares_rows = True
    OPTIONS = {"find": FIND, "unroll": UNROLL}

    def emit(self, k):
        a, rows = k.a, Rows(k)
        rows.start()
        scan = Scan(k)
        share = Share(k, self.options["find"], self.at_once(k.task, at_once(k.task)))
        top, empty = a.label("round"), a.label("round_end")
        a.place(top)
        k.phase(1)
        begin, size, base = register(k, rows)
        lasts, starts, total = sums_of_rows(k, scan, begin, size)
        rows.advance()
        k.phase(3)
        a.beqz(total, empty)
        share.slice(lasts, starts, base, a.zero, total)
        a.place(empty)
        a.branch(rows.more(), top)
