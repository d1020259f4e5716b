"""Thread, warp, CTA: rows by their size, in queues of global memory (GRAssembler, 2.1.2;
Merrill et al., PPoPP 2012).

A first kernel puts each row of the frontier into one of three queues in global memory. Then one
kernel, or a kernel for each queue, goes through the rows: all lanes of a core, or of a group of its
warps, share a large row, a warp shares a middle one, and a lane has a small one for itself (thread,
warp and CTA are lane, warp and core here). So neighbouring lanes have rows of like sizes. Where all
vertices take part in every superstep, the queues of the first superstep serve all supersteps.
"""

from sw.compile.kernels.bins import CORE, FIELD, LANE, WARP, BinRows, Claim, DeviceBins, store_entry
from sw.compile.options import Choice, Integer, Switch
from sw.compile.kernels.passes import Pass
from sw.compile.kernels.rows import Rows
from sw.compile.kernels.scope import GROUP
from sw.compile.kernels.walk import UNROLL, Walk
from sw.compile.schedules.schedule import Schedule


__all__ = ["RowsBySize", "ThreadWarpCta", "classes"]


def classes(k, size, limits):
    """For the lane's row of ``size`` places: the number of ``limits`` that are not above it, and
    this number times :data:`~sw.compile.kernels.bins.FIELD`, in new registers."""
    a = k.a
    which, shift = a.regs("bin", "bin_field")
    a.sltu(which, k.constant(limits[0] - 1, "below_warp"), size)
    a.sltu(shift, k.constant(limits[1] - 1, "below_core"), size)
    a.add(which, which, shift)
    a.slli(shift, which, FIELD.bit_length() - 1)
    return which, shift


class RowsBySize(Schedule):
    """The common part of the schedules with a queue of rows for a lane, a warp and a core each."""
    owns_base = shares_base = True

    def check_config(self, config):
        if config.threads < 4:
            raise self.refuse("needs warps of at least 4 lanes, one for each queue that it "
                              f"fills; configuration {config.name!r} has threads = "
                              f"{config.threads}")
        limits = [self.options[name] for name in ("warp", "core") if name in self.options]
        if limits != sorted(limits):
            raise self.refuse(f"has core = {limits[1]}, which must not be below warp = "
                              f"{limits[0]}")

    def reserve(self, task):
        Walk.reserve(task)

    def _edges(self, task):
        """Edges of a row on average, by bin; None for those of a vertex."""
        return {LANE: None, WARP: self.options["warp"], CORE: self.options["core"]}

    def _limits(self, k):
        """The sizes of rows from which on a warp and a core share them, in places."""
        return [self.options[name] * k.layout.step for name in ("warp", "core")]

    def _walk_of(self, k, which, beside=False):
        """A walk along the rows of a bin."""
        return Walk(k, 1 if which == LANE else k.config.threads,
                    k.task.scope.warps if which == CORE else 1, self._edges(k.task)[which], beside)


class ThreadWarpCta(RowsBySize):
    """Three queues in global memory, and two or four kernels."""
    name = "twc"
    compared = True
    OPTIONS = {
        "warp": Integer(1, 1 << 16, 16, "edges from which on a warp shares a row"),
        "core": Integer(1, 1 << 16, 512, "edges from which on all warps of a group share a row"),
        "group": GROUP,
        "once": Switch(True, "whether the queues of the first superstep serve all supersteps, "
                             "where all vertices take part in each"),
        "kernels": Choice(("three", "one"), "one", "whether each queue has a kernel of its own, or "
                          "one kernel goes through all; with split=counter always three"),
        "unroll": UNROLL}

    def reserve(self, task):
        super().reserve(task)
        for layout in task.layouts:
            DeviceBins(layout).reserve()

    def build(self, task):
        for layout in task.layouts:
            DeviceBins(layout).build()

    def idle(self, task):
        found = {}
        if self.options["once"] and not self._keeps(task):
            found["once"] = "a frontier says which rows a superstep has"
        if self.options["kernels"] == "one" and task.split != "static":
            found["kernels"] = f"with split={task.split} each queue has a kernel of its own"
        return found

    def _keeps(self, task):
        """Whether the queues are the same in all supersteps."""
        return (self.options["once"] and not task.queued and not task.algorithm.filters(task)
                and not any(layout.active for layout in task.layouts))

    def passes(self, task):
        classify = Pass("classify", self._classify, self._keeps(task), gathers=False)
        if self.options["kernels"] == "one" and task.split == "static":
            return [classify, Pass("work", lambda k: self._work(k, CORE, WARP, LANE))]
        return [classify, *(Pass(name, lambda k, which=which: self._work(k, which))
                            for name, which in (("core", CORE), ("warp", WARP), ("lane", LANE)))]

    def _classify(self, k):
        a, bins = k.a, DeviceBins(k.layout)
        claim, rows = Claim(k), Rows(k)
        tails, has, size = a.regs("tails", "has", "size")
        bins.append(k, tails, self._keeps(k.task))
        rows.start()
        k.phase(1)
        top, bottom = a.label("round"), a.label("round_end")
        vertex, begin, end, counts = a.regs("row_vertex", "row_begin", "row_end", "counts")
        a.place(top)
        a.mv(vertex, rows.vertex.reg)
        a.mv(begin, rows.begin)
        a.mv(end, rows.end)
        a.sub(size, end, begin)
        if k.algorithm.private(k.task):
            a.li(has, 1)                # a vertex without edges has to be finished, too
        else:
            a.snez(has, size)
        if rows.conditional:
            present = a.reg("present")
            rows.test(present)
            a.and_(has, has, present)
        rows.advance()
        if rows.filtered:
            some = a.reg("some")
            a.vote_any(some, has)
            a.beqz(some, bottom)
        which, shift = classes(k, size, self._limits(k))
        a.sll(counts, has, shift)
        entry = claim.place(*claim.claim(counts, tails), which, shift)
        with k.only(has):
            store_entry(k, entry, bins.distance, vertex, begin, end)
        a.place(bottom)
        a.branch(rows.more(), top)

    def _work(self, k, *which):
        """Go through the queues of some bins, one after the other."""
        bins = DeviceBins(k.layout)
        ends = bins.read(k, self._keeps(k.task), turns=CORE in which)
        for each in which:
            walk = self._walk_of(k, each)
            lanes = {LANE: 1, WARP: k.config.threads, CORE: None}[each]
            rows = BinRows(k, bins, each, ends, lanes)
            done = k.a.label("bin_done")
            rows.start(done)
            walk.rounds(rows)
            k.a.place(done)
