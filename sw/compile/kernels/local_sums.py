"""Words that the vertices of a core collect in local memory, by local atomics.

The schedule's first warps, the registrars, go through rows of vertices, a row of ``threads``
vertices a round. Each vertex has a slot in local memory while its edges are worked on. A *part* is
as many rounds as there are slots for. At the end of a part all warps take the words out of the
slots, finish the vertices, and leave the slots as they were.
"""

from hw.isa import Csr
from sw.compile.kernels.kernel import Vertex, round_up


__all__ = ["LocalSums"]


#: The place in local memory.
_SLOTS = "sums"


class LocalSums:
    """The slots of a task's kernels.

    Parameters
    ----------
    task : Task
        Its algorithm has an :attr:`~sw.compile.algorithm.Operator.identity`. Its work is split
        statically.
    registrars : int
        Warps of a core that go through rows, from warp 0 on; a divisor of the warps that take part.

    Attributes
    ----------
    fits : bool
        Whether half of local memory has room for a part.
    parts : int
        Number of parts.
    clears : bool
        Whether the end of a part leaves the slots as they were: only tests do without.
    """
    clears = True

    def __init__(self, task, registrars):
        config = task.config
        self._task, self._row = task, 4 * config.threads
        self._round = self._row * registrars                    # bytes of a core's slots
        rounds = round_up(task.graph.num_vertices, config.threads * registrars * config.cores)
        rounds //= config.threads * registrars * config.cores
        # All warps take part at the end, each in as many rows.
        together = task.warps // registrars
        most = config.local_bytes // 2 // self._round // together * together
        rounds = max(1, rounds)
        self._rounds = min(most, round_up(rounds, together))
        self.fits = most > 0
        self.parts = -(-rounds // self._rounds) if self.fits else 0
        self._registrars = registrars

    def reserve(self):
        """Reserve the slots. Raises UserError if local memory is full."""
        self._task.local.reserve(_SLOTS, self._rounds * self._round // 4)

    def start(self, k):
        """In the prologue of all warps: make the slots ready. A barrier has to follow."""
        a, task, cores = k.a, k.task, k.config.cores
        self._first, self._vertex = a.reg("first_slot"), a.reg("collector")
        self._end = k.constant(self._slots + self._rounds * self._round, "slots_end")
        warp, lane, index, core = a.regs("warp", "lane", "index", "core")
        a.csrr(warp, Csr.WARP_ID)
        a.csrr(lane, Csr.THREAD_ID)
        a.slli(lane, lane, 2)
        k.times(index, warp, self._row)
        a.add(self._first, index, k.constant(self._slots, "slots"))
        a.add(self._first, self._first, lane)
        if cores > 1:
            # Rounds of the cores take turns.
            k.divided(index, warp, self._registrars)
            k.times(index, index, self._round * (cores - 1))
            a.csrr(core, Csr.CORE_ID)
            k.times(core, core, self._round)
            a.add(index, index, core)
            k.times(core, warp, self._row)
            a.add(index, index, core)
        a.add(index, index, lane)
        self._array = task.algorithm.base_array(task)
        a.add(self._vertex, index, k.constant(k.address(self._array)))
        slot = a.reg("slot")
        a.mv(slot, self._first)
        top = a.label("clear_slots")
        a.place(top)
        a.sw(k.constant(task.algorithm.identity), slot)
        k.step(slot, self._row * task.warps)
        a.bltu(slot, self._end, top)

    @property
    def _slots(self):
        return self._task.local.address(_SLOTS)

    def first(self, k, slot):
        """``slot`` = the slot of a registrar's first vertex of a part."""
        k.a.mv(slot, self._first)

    def next(self, k, slot):
        """Move ``slot`` to the next round."""
        k.step(slot, self._round)

    def full(self, k, slot, label):
        """Go to ``label`` if the part has no more rounds."""
        k.a.bgeu(slot, self._end, label)

    def finish(self, k):
        """Finish the vertices of a part. All warps are here, and all words have been collected."""
        a, algorithm, task = k.a, k.algorithm, k.task
        slot, word = a.regs("slot", "collected")
        top, out = a.label("collect"), a.label("collect_end")
        end = k.constant(k.address(self._array) + 4 * task.graph.num_vertices, "vertices_end")
        a.mv(slot, self._first)
        a.place(top)
        if self.parts > 1:
            a.bgeu(self._vertex, end, out)      # the last part may be shorter
        base = Vertex(self._vertex, self._array)
        a.lw(word, slot)
        algorithm.begin(k, base)
        if self.clears:
            a.sw(k.constant(algorithm.identity), slot)
        name, = k.private.words
        k.private.take(name, word)
        algorithm.finish(k, base)
        k.step(slot, self._row * task.warps)
        k.step(self._vertex, self._row * task.warps * task.config.cores)
        a.bltu(slot, self._end, top)
        a.place(out)
