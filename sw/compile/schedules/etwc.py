"""Edge-based thread, warp, CTA: the edges of a row in three parts (Universal Graph Framework, 5.2.2
and algorithm 1).

The lanes of a core, or of a group of its warps, take a row each. As many edges of the row as all of
these lanes take in full
turns are one part, as many of the rest as a warp takes in full turns another, and a lane takes the
remaining edges. So no lane is idle in the first two stages. Parts of a row wait in queues in local
memory. As a vertex's edges are in several hands, vertices that collect need atomics.
"""

from sw.compile.kernels.bins import CORE, FIELD, LANE, WARP
from sw.compile.options import Choice
from sw.compile.schedules.twce import CoreQueues, store


__all__ = ["EdgeThreadWarpCta"]


class EdgeThreadWarpCta(CoreQueues):
    """Each row is in up to three queues."""
    name = "etwc"
    whole_rows = False
    OPTIONS = {
        "stages": Choice(("lane-warp-core", "lane-warp", "lane-core"), "lane-warp-core",
                         "the stages, by the lanes that share a part of a row"),
    } | CoreQueues.OPTIONS

    def _turn(self, task, which):
        """Edges that the lanes of a stage take in a turn; 0 if there is no such stage."""
        word = {WARP: "warp", CORE: "core"}[which]
        if word not in self.options["stages"].split("-"):
            return 0
        return task.config.threads * (task.scope.warps if which == CORE else 1)

    def _edges(self, task):
        return {LANE: task.config.threads / 2, WARP: task.config.threads,
                CORE: 2 * task.config.threads * task.scope.warps}

    def append(self, k, queues, has, row, tails):
        a, step = k.a, k.layout.step
        vertex, begin, size = row
        mask, counts, some, one = a.regs("mask", "counts", "some", "one")
        skip = a.label("none_queued")
        k.masked(size, has, mask)
        parts, rest, start = [], size, begin
        for which in (CORE, WARP):
            turn = self._turn(k.task, which) * step
            if not turn:
                continue
            part, less, after = a.regs("part", "rest", "part_end")
            if turn & turn - 1:
                k.divided(part, rest, turn)
                k.times(part, part, turn)
            else:
                a.and_(part, rest, k.constant(-turn, "whole_turns"))
            a.sub(less, rest, part)
            a.add(after, start, part)
            parts.append((which, (vertex, start, part)))
            rest, start = less, after
        if LANE in queues.bins:
            parts.append((LANE, (vertex, start, rest)))
        a.mv(counts, a.zero)
        for which, (_, _, part) in parts:
            a.snez(one, part)
            k.shifted(one, one, which * FIELD)
            a.or_(counts, counts, one)
        a.snez(one, counts)
        a.vote_any(some, one)
        a.beqz(some, skip)
        sums, old = queues.claim.claim(counts, tails)
        for which, part in parts:
            has_part = a.reg("has_part")
            a.snez(has_part, part[2])
            store(k, queues.claim.place(sums, old, which, which * FIELD), has_part, part)
        a.place(skip)
        a.mv(begin, start)
        a.mv(size, rest)
        a.snez(has, size)
