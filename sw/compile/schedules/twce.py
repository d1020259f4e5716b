"""Thread, warp, CTA within a core: rows by their size, in queues in local memory (GRAssembler,
2.1.2; GraphIt's TWCE).

The lanes of a core, or of a group of its warps, take a row each. Large and middle rows go to queues
in local memory. After a barrier all warps share each large row, and each warp takes middle rows in
turn. A lane keeps a small row for itself, or takes one from a third queue. All of this is one
kernel.
"""

from hw.isa import Csr
from sw.compile.asm.assembler import Condition
from sw.compile.kernels.bins import BINS, CORE, LANE, WARP, Claim, CoreBins
from sw.compile.kernels.kernel import Vertex, log2
from sw.compile.options import Choice, Integer
from sw.compile.kernels.rows import Rows
from sw.compile.kernels.scope import GROUP
from sw.compile.kernels.walk import UNROLL
from sw.compile.schedules.twc import RowsBySize, classes


__all__ = ["CoreQueues", "ThreadWarpCtaOfCore"]


class CoreQueues(RowsBySize):
    """The common part of the schedules with queues in local memory."""
    OPTIONS = {
        "small": Choice(("own", "queue"), "own", "whether a lane keeps its small row, or small "
                        "rows go through a queue too, so that neighbouring lanes have some"),
        "group": GROUP, "unroll": UNROLL}

    @property
    def _bins(self):
        return (LANE, WARP, CORE) if self.options["small"] == "queue" else (WARP, CORE)

    def reserve(self, task):
        super().reserve(task)
        CoreBins.reserve(task, self._bins)

    def append(self, k, queues, has, row, tails):
        """Append the lane's row to the queues. ``row`` is vertex, location of the first edge, and
        number of places. Afterwards ``row`` is what the lane keeps, an empty row if nothing;
        ``has`` says whether it keeps a row. ``tails`` is for :meth:`Claim.claim`.

        Parameters
        ----------
        queues : _Rounds
        """
        raise NotImplementedError

    def emit(self, k):
        walks = {which: self._walk_of(k, which, beside=True) for which in BINS}
        _Rounds(k, self, walks, self._bins).emit()

    def go_on(self, k):
        k.task.scope.barrier(k)


class _Rounds:
    """The kernel: rounds of one row for each lane of the scope.

    Attributes
    ----------
    claim : Claim
        For entries of the queues.
    bins : tuple of int
        Those that have a queue.
    """

    def __init__(self, k, schedule, walks, bins):
        self._k, self._schedule, self._walks, self.bins = k, schedule, walks, bins
        self._rows = Rows(k, together=True)
        self._rows.start()
        self.claim = Claim(k, CoreBins.ENTRY_BYTES)
        self._queues = CoreBins(k, bins)
        self.wait()

    def wait(self):
        """Wait until all warps of the scope are here."""
        self._k.task.scope.barrier(self._k)

    def emit(self):
        """Emit the loop."""
        k, a, rows = self._k, self._k.a, self._rows
        top, done = a.label("round"), a.label("gather_done")
        has, vertex, begin, size = a.regs("has", "row_vertex", "row_begin", "size")
        a.place(top)
        answer = rows.ask()
        k.phase(1)
        a.mv(vertex, rows.vertex.reg)
        a.mv(begin, rows.begin)
        a.sub(size, rows.end, rows.begin)
        if rows.conditional:
            rows.test(has)
        else:
            a.li(has, 1)
        tails = self._queues.begin()
        if not rows.waits:
            rows.advance()
        self._schedule.append(k, self, has, (vertex, begin, size), tails)
        rows.offer(answer)
        self.wait()
        if rows.waits:
            rows.advance()
        k.phase(3)
        if LANE in self.bins:
            self._small()
        else:
            self._own(has, vertex, begin, size)
        self._shared(CORE)
        self._shared(WARP)
        a.branch(~rows.more(), done)
        if rows.waits:
            self.wait()                 # all warps have read the answer
        a.j(top)
        a.place(done)

    def _own(self, has, vertex, begin, size):
        """Each lane goes through the row that it keeps."""
        a = self._k.a
        none, some = a.label("small_done"), a.reg("some")
        a.vote_any(some, has)
        a.beqz(some, none)
        self._walk(LANE, has, vertex, begin, size)
        a.place(none)

    def _walk(self, which, has, vertex, begin, size):
        """Walk along rows; a lane that has none is given the padding vertex."""
        k, a, algorithm = self._k, self._k.a, self._k.algorithm
        end = a.reg("row_end")
        a.add(end, begin, size)
        if has is not None:
            padding = k.constant(k.address(algorithm.base_array(k.task))
                                 + 4 * k.task.graph.num_vertices, "padding")
            mask = a.reg("mask")
            a.neg(mask, has)
            k.select(vertex, mask, vertex, padding)
        walk = self._walks[which]
        walk.row(walk.take(Vertex(vertex, algorithm.base_array(k.task)), begin, end))

    def _small(self):
        """Each lane takes a small row from the queue, if there are enough."""
        k, a, config = self._k, self._k.a, self._k.config
        none = a.label("small_done")
        entry, has = a.regs("entry", "has_small")
        first, end = self._queues.ends(LANE)
        vertex, begin, size = a.regs("small_vertex", "small_begin", "small_size")
        k.task.scope.warp(k, entry)
        k.shifted(entry, entry, log2(config.threads))
        lane = a.reg("lane")
        a.csrr(lane, Csr.THREAD_ID)
        a.add(entry, entry, lane)
        k.times(entry, entry, CoreBins.ENTRY_BYTES)
        a.add(entry, entry, first)
        a.bgeu(entry, end, none)        # lane 0 has the warp's first entry
        a.sltu(has, entry, end)
        for word, register in enumerate((vertex, begin, size)):
            a.lw(register, entry, 4 * word)
        mask = a.reg("mask")
        k.masked(size, has, mask)
        a.addi(mask, has, -1)
        a.or_(begin, begin, mask)       # a walk subtracts from locations, so that is large
        self._walk(LANE, has, vertex, begin, size)
        a.place(none)

    def _shared(self, which):
        """Go through the rows of a queue: all warps through all rows, or each warp in turn."""
        k, a, warps = self._k, self._k.a, self._k.task.scope.warps
        entry, end = self._queues.ends(which)
        vertex, begin, size = a.regs("shared_vertex", "shared_begin", "shared_size")
        step = CoreBins.ENTRY_BYTES
        if which == WARP and warps > 1:
            warp = a.reg("warp")
            k.task.scope.warp(k, warp)
            k.times(warp, warp, step)
            a.add(entry, entry, warp)
            step *= warps
        with a.while_uniform(Condition("ltu", entry, end), "shared"):
            for word, register in enumerate((vertex, begin, size)):
                a.lw(register, entry, 4 * word)
            k.step(entry, step)
            self._walk(which, None, vertex, begin, size)


def store(k, entry, has, row):
    """Store the lane's row as an entry, in the lanes of ``has``."""
    with k.only(has):
        for word, register in enumerate(row):
            k.a.sw(register, entry, 4 * word)


class ThreadWarpCtaOfCore(CoreQueues):
    """Each row is in one queue."""
    name = "twce"
    OPTIONS = {
        "warp": Integer(1, 1 << 16, 32, "edges from which on a warp shares a row"),
        "core": Integer(1, 1 << 16, 512, "edges from which on all warps of a group share a row"),
    } | CoreQueues.OPTIONS

    def append(self, k, queues, has, row, tails):
        a, (_, _, size) = k.a, row
        queued, some, skip = a.reg("queued"), a.reg("some"), a.label("none_queued")
        counts, mask = a.regs("counts", "mask")
        limits, kept = self._limits(k), queued      # rows for lanes are queued or kept
        if LANE in queues.bins:
            a.mv(queued, has)
        else:
            a.sltu(queued, k.constant(limits[0] - 1, "below_warp"), size)
            a.and_(queued, queued, has)
            a.sub(has, has, queued)
            kept = has
        if not k.algorithm.private(k.task):
            a.snez(mask, size)
            a.and_(kept, kept, mask)
        a.vote_any(some, queued)
        a.beqz(some, skip)
        which, shift = classes(k, size, limits)
        a.sll(counts, queued, shift)
        store(k, queues.claim.place(*queues.claim.claim(counts, tails), which, shift), queued, row)
        a.place(skip)
        k.masked(size, has, mask)
