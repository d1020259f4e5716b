"""The pile of far vertices, with their costs, and the kernel that sifts it.

An entry is *live* as long as its cost is its vertex's distance. The costs that a vertex gets become
smaller and smaller, so a vertex has at most one live entry, and no two of its entries are the same.
When no near vertex is left, the threshold moves and the pile is sifted. Live entries below the
threshold become near, other live entries stay, and all others are dropped. The threshold moves by
delta from its last value. If that gave no near vertex, the threshold moves by delta from the least
cost in the pile, which is known then. So at most two moves lead to a near vertex.

The pile has room for an entry of every vertex and every edge. Where the host does not know how many
edges a superstep has expanded, there is room for twice every edge. If a superstep might add more
than fits, the pile is sifted first with the threshold unchanged. Then a vertex has one entry at
most.

Epochs lie between sifts. Epoch j has a block of words in ``control``, number j mod 4:

=========  ======================================================================================
MARK       how far the pile reaches
THRESHOLD  costs below it are near
LEAST      the least cost in the pile when the epoch began
=========  ======================================================================================

Cores sift from one pile into the other, because each core stores kept entries at once. The unit
compacts in place. The argument of a launch has the superstep's number. Its upper bits have the
number of the epoch, and tell whether the threshold moves, and from which value.
"""

import enum

from hw.isa import Csr
from sw.compaction.base import FRONTIER, OVER, Control, State, Target
from sw.compaction.blocks import Blocks, load_both


__all__ = ["FAR", "FAR_COSTS", "SUPERSTEP_BITS", "Pile"]


#: The pile, and the costs beside its entries; and the buffers into which cores sift.
FAR, FAR_COSTS = "far", "far_costs"
_OTHER_FAR, _OTHER_COSTS = "other_far", "other_far_costs"

#: Bits of a launch's argument: those of the superstep's number; then two bits of the epoch's
#: number; whether the threshold moves from the least cost; whether the threshold does not move.
SUPERSTEP_BITS = 28
_FROM_LEAST, _KEEP = 1 << 30, 1 << 31

_EPOCHS = 4


class _Epoch(enum.IntEnum):
    """Words of an epoch's block, in bytes."""
    MARK = 0
    THRESHOLD = 4
    LEAST = 8


_BLOCK = 16


class Pile:
    """The pile.

    Parameters
    ----------
    algorithm : CompactSssp
    task : Task

    Attributes
    ----------
    WORDS : int
        Number of words of ``control`` that the pile takes.
    capacity : int
        Number of entries for which the pile has room.
    """
    WORDS = _EPOCHS * _BLOCK // 4

    def __init__(self, algorithm, task):
        self._algorithm, self._engine, self._task = algorithm, algorithm.engine, task
        edges = task.graph.num_edges
        self.capacity = task.graph.num_vertices + (
            edges if self._engine.counts_edges else 2 * edges)

    # Memory

    def reserve(self):
        """Reserve the buffers."""
        names = (FAR, FAR_COSTS)
        if not self._engine.in_place:
            # The distance from a pile to the array of its costs is the same for both piles.
            names = (FAR, _OTHER_FAR, FAR_COSTS, _OTHER_COSTS)
        for name in names:
            self._task.buffers.reserve(name, self.capacity + OVER)

    def fill(self):
        """Fill the buffers with padding."""
        _, padding = self._task.vertex_addresses(self._algorithm.array, 0)
        for name in dict.fromkeys(self._name(epoch) for epoch in range(2)):
            self._task.buffers.fill(name, rest=padding >> self._engine.shift)

    def control(self, threshold) -> list:
        """First contents of the blocks; ``threshold`` is the first epoch's."""
        return [word for epoch in range(_EPOCHS) for word in (
            self._engine.mark(self._start(epoch), 0), threshold, 0xFFFF_FFFF, 0)]

    def _name(self, epoch):
        return FAR if self._engine.in_place or epoch % 2 == 0 else _OTHER_FAR

    def _start(self, epoch):
        return self._task.buffers.address(self._name(epoch))

    # Kernels

    def kernels(self) -> dict:
        """The pile's kernels: by name, the functions that emit them."""
        kernels = {"sift": self._sift}
        if self._engine.apart:
            kernels["compact_far"] = self._compact
        return kernels

    def epoch(self, k):
        """In the prologue: the address of the epoch's block, in a new register."""
        a, epoch = k.a, k.a.reg("epoch")
        a.csrr(epoch, Csr.MSCRATCH)
        a.srli(epoch, epoch, SUPERSTEP_BITS)
        a.andi(epoch, epoch, _EPOCHS - 1)
        k.scaled(epoch, epoch, k.address("control") + Control.OWN, _BLOCK)
        return epoch

    def threshold(self, k, epoch, into):
        """``into`` = the epoch's threshold."""
        k.a.lw(into, epoch, _Epoch.THRESHOLD)

    def _following(self, k, epoch, distance, into):
        """In the prologue: ``into`` = address of the block ``distance`` epochs on."""
        a, blocks = k.a, k.address("control") + Control.OWN
        start = a.reg("blocks")
        a.li(start, blocks)
        a.sub(into, epoch, start)
        a.addi(into, into, distance * _BLOCK)
        a.andi(into, into, _EPOCHS * _BLOCK - 1)
        a.add(into, into, start)

    def _first(self, k, into):
        """In the prologue: ``into`` = address of the pile's first entry."""
        a = k.a
        a.li(into, self._start(0))
        if not self._engine.in_place:
            parity, other = a.regs("parity", "other")
            a.csrr(parity, Csr.MSCRATCH)
            a.slli(parity, parity, 31 - SUPERSTEP_BITS)
            a.srai(parity, parity, 31)
            a.li(other, self._start(1) - self._start(0))
            a.and_(other, other, parity)
            a.add(into, into, other)

    def _begin(self, k, bits):
        """In the prologue: returns the end of the pile, its blocks, the address of the epoch's
        block, and the addresses of the marks for near and for far entries. The last is the next
        epoch's block."""
        end, following = map(k.a.reg, ("pile_end", "next_epoch"))
        state, epoch = State(k), self.epoch(k)
        self._engine.end(k, FAR, epoch, _Epoch.MARK, end)
        start = k.a.reg("pile")
        self._first(k, start)
        blocks = Blocks(k, start, end, bits)
        self._following(k, epoch, 1, following)
        return end, blocks, epoch, [state.here, following]

    def _compact(self, k):
        """Emit the kernel that makes lists of the kept entries of the pile."""
        _, blocks, _, tails = self._begin(k, self._engine.bits)
        self._engine.compaction(k, blocks, (FAR, FAR_COSTS), tails)

    def _sift(self, k):
        """Emit the kernel that finds the live entries, and whether they are near or far."""
        a, sink = k.a, self._engine.sink()
        end, blocks, epoch, tails = self._begin(k, sink.bits)
        _, following = tails
        threshold, least = k.a.reg("threshold"), k.a.reg("least")
        self._move(k, epoch, following, threshold)
        sink.prepare(k, tails)
        a.mv(least, k.full)
        k.phase(5)

        def least_of_all():
            a.addi(following, following, _Epoch.LEAST)
            a.amominu_w(a.zero, least, following)

        with blocks.each(least_of_all) as block:
            sink.begin(k, block)
            for group in range(len(block.groups)):
                self._group(k, sink, block, group, end, threshold, least)
            sink.finish(k, block)

    def _move(self, k, epoch, following, threshold):
        """``threshold`` = the next epoch's threshold. Also make the block of the epoch after the
        next ready."""
        a = k.a
        flags, least, after = a.regs("flags", "least", "after")
        a.csrr(flags, Csr.MSCRATCH)
        a.lw(threshold, epoch, _Epoch.THRESHOLD)
        a.lw(least, epoch, _Epoch.LEAST)
        # The pile that is read now will be filled again from its beginning on.
        self._following(k, epoch, 2, after)
        first = a.reg("first")
        self._first(k, first)
        a.sw(first, after, _Epoch.MARK)
        a.sw(k.full, after, _Epoch.LEAST)
        a.slli(after, flags, 1)
        a.srai(after, after, 31)
        a.xor(least, least, threshold)
        a.and_(least, least, after)
        a.xor(threshold, threshold, least)
        a.srai(flags, flags, 31)
        a.mv(after, threshold)
        self._algorithm.new_threshold(k, after, threshold)
        # Keep the old threshold if it must not move.
        a.xor(after, after, threshold)
        a.and_(after, after, flags)
        a.xor(threshold, threshold, after)
        a.sw(threshold, following, _Epoch.THRESHOLD)

    def _group(self, k, sink, block, group, end, threshold, least):
        a, places = k.a, block.groups[group]
        entries, costs = load_both(k, block, group, FAR, FAR_COSTS)
        distances = a.regs(*(f"distance{window}" for window in range(len(places))))
        for entry, distance in zip(entries, distances):
            self._engine.vertex(k, entry)
            a.lw(distance, entry)
        for window, place in enumerate(places):
            entry, cost, near = entries[window], costs[window], distances[window]
            after_near, after_far = a.label("near_end"), a.label("far_end")
            far, smaller = a.regs("far", "smaller")
            a.sub(far, cost, near)
            a.seqz(far, far)
            a.addi(near, block.here, place)
            a.sltu(near, near, end)             # in the last block not all have an entry
            a.and_(far, far, near)
            a.sltu(near, cost, threshold)
            a.and_(near, near, far)
            a.xor(far, far, near)
            # least = the smaller of both, of far entries
            a.sltu(smaller, cost, least)
            a.and_(smaller, smaller, far)
            a.neg(smaller, smaller)
            change = a.reg("change")
            a.xor(change, cost, least)
            a.and_(change, change, smaller)
            a.xor(least, least, change)
            for number, chosen, after, words in ((0, near, after_near, [entry]),
                                                 (1, far, after_far, [entry, cost])):
                if not sink.bits:
                    sink.keep(k, number, chosen, after, words)
                    k.widen()
                    a.place(after)
                sink.note(k, block, group, window, number, chosen)

    # Host

    def begin(self):
        """A run begins."""
        self._number = self._length = 0

    @property
    def flags(self) -> int:
        """The epoch, for a launch's argument."""
        return self._number % _EPOCHS << SUPERSTEP_BITS

    def target(self) -> Target:
        """The list to which far entries are added."""
        return Target(self._name(self._number), self._mark(self._number), self._length)

    @staticmethod
    def _mark(epoch):
        return Control.OWN + epoch % _EPOCHS * _BLOCK + _Epoch.MARK

    def add(self, entries):
        """Note that ``entries`` entries have been added."""
        self._length += entries

    def make_room(self, session, superstep):
        """Before a contraction: make room in the pile for all entries that it may add."""
        if self._length + self._engine.edges > self.capacity:
            self._launch(session, superstep, _KEEP)

    def advance(self, session, superstep) -> int:
        """Move the threshold until a superstep has work. Returns its number of vertices; 0 if the
        pile is empty before that."""
        flags = 0
        while self._length:
            near = self._launch(session, superstep, flags)
            if near:
                return near
            flags = _FROM_LEAST
        return 0

    def _launch(self, session, superstep, flags):
        """Sift. Returns the number of near vertices."""
        parity = Control.FRONTIER + 4 * (superstep % 2)
        near, self._length = self._engine.select(
            session, "sift", superstep, self.flags | flags, (FAR, FAR_COSTS), self._length,
            [Target(FRONTIER, parity), Target(self._name(self._number + 1),
                                              self._mark(self._number + 1))])
        self._number += 1
        return near
