"""A queue of the near vertices, and a pile of the far vertices (Davidson et al., IPDPS 2014).

Vertices are ordered by a key, the distance in shortest paths. A vertex whose key is below a
threshold is near and goes into the queue. Other vertices are set aside in the far pile. When a
superstep has left no near vertex, the threshold moves, and :meth:`NearFar.advance` goes through the
pile. Entries that are now below the threshold go into the queue, and others stay in the pile. An
entry whose key is below the old threshold is stale, because its vertex has become near since the
entry was added. Stale entries are dropped.

There are two piles. Epoch j, from one move of the threshold to the next, adds to pile j mod 2. The
move at its end copies the remaining entries to the other pile. The epoch has a block of words,
number j mod 4 of a ring:

=========  ======================================================================================
END        address behind the last entry of the pile
THRESHOLD  keys below it are near
START      address of the pile's first entry
LEAST      the least key in the pile when the epoch began
BEGAN      the number of the epoch's first superstep
NEXT       address of the next epoch's block
AFTER      address of the block after the next, whose pile the next move fills
COUNT      number of entries behind END, as in a queue's block
=========  ======================================================================================

A far vertex has the stamp 1, and a near vertex a larger stamp. Keys only become smaller, so a
vertex that has been near never becomes far. A far vertex stays in the pile until it is near. So no
vertex is in the pile twice, and the pile has room for each vertex.

The threshold moves from its last value, by the algorithm's rule. If this gives no near vertex, it
moves again, now from the least key in the pile, which is known then. So at most two moves lead to a
near vertex, however far apart the keys are.
"""

import enum

import numpy as np

from hw.isa import Csr
from sw.compile.asm.assembler import Condition
from sw.compile.frontiers.frontier import Ring, members
from sw.compile.frontiers.queue import ListRing, Queue
from sw.compile.kernels.kernel import Vertex, log2


__all__ = ["NearFar"]


class _Epoch(enum.IntEnum):
    """Words of an epoch's block."""
    END = 0
    THRESHOLD = 1
    START = 2
    LEAST = 3
    BEGAN = 4
    NEXT = 5
    AFTER = 6
    COUNT = 7


_EPOCHS = 4
_PILES = "far", "other_far"


class NearFar(Queue):
    """The queue of near vertices, and the piles. Always deduplicated.

    The argument of a launch is the address of the queue's block, with the epoch in its last bits.

    Parameters
    ----------
    threshold : int
        The first threshold: keys below it are near.
    """

    BITS = ("frontier_bits", "far_bits")

    def __init__(self, threshold):
        super().__init__(deduplicate=True, once=False, tested=True)
        self._first, self._moves = threshold, 0
        self._epochs = ListRing("epochs", _Epoch.END, _Epoch.START, _Epoch.COUNT)

    # Memory

    def reserve(self, task):
        super().reserve(task)
        self._epochs.reserve(task)
        for name in _PILES:
            task.buffers.reserve(name, task.vertex_words)

    def init(self, task, vertices, keys=None):
        """As of :class:`~sw.compile.frontiers.frontier.Frontier`. A vertex whose key is all ones is
        left out: it is below no threshold, and would never become near."""
        vertices = members(task, vertices)
        if keys is None:
            keys = np.zeros(len(vertices), np.uint32)
        some = keys != 0xFFFF_FFFF
        super().init(task, vertices[some], keys[some])

    def _fill(self, task, listed, keys):
        near = keys < self._first
        super()._fill(task, listed[near], keys)
        self._moves = 0
        buffers, far = task.buffers, listed[~near]
        base = buffers.address(task.algorithm.base_array(task))
        for name, own in zip(_PILES, (far, far[:0])):
            buffers.fill(name, (base + 4 * own).astype(np.uint32),
                         base + 4 * task.graph.num_vertices)
        starts = [buffers.address(name) for name in _PILES]
        self._epochs.fill(task, lambda place: {
            _Epoch.END: starts[place % 2] + (0 if place else 4 * len(far)),
            _Epoch.START: starts[place % 2],
            _Epoch.THRESHOLD: self._first,
            _Epoch.LEAST: 0xFFFF_FFFF,
            _Epoch.NEXT: self._epochs.address(task, place + 1),
            _Epoch.AFTER: self._epochs.address(task, place + 2)})

    def argument(self, task, number):
        return super().argument(task, number) + self._moves % _EPOCHS

    # Kernels

    def _argument_block(self, k, into):
        k.a.csrr(into, Csr.MSCRATCH)
        k.a.andi(into, into, -_EPOCHS)

    def _epoch_block(self, k):
        """The address of the epoch's block, in a new register."""
        a, epoch = k.a, k.a.reg("epoch")
        epochs = a.reg("epochs")
        a.csrr(epoch, Csr.MSCRATCH)
        a.andi(epoch, epoch, _EPOCHS - 1)
        a.slli(epoch, epoch, log2(4 * Ring.WORDS))
        a.li(epochs, self._epochs.address(k.task, 0))
        a.add(epoch, epoch, epochs)
        return epoch

    def prepare(self, k):
        super().prepare(k)
        if k.gathers:
            self._epoch = self._epoch_block(k)      # whose first word is END

    def add(self, k, vertex, predicate, otherwise, key=None):
        """The lanes of near and of far vertices run the same code, with different stamps and tails.
        The threshold is loaded each time, because no register is free to keep it."""
        a = k.a
        near, value = a.regs("near", "stamp_value")
        a.lw(near, self._epoch, 4 * _Epoch.THRESHOLD)
        a.addi(value, self.number, 1)
        a.sltu(near, key, near)
        k.masked(value, near)
        a.addi(value, value, 1)
        self._stamp(k, vertex, predicate, otherwise, value)
        if self._bits is not None:
            self._bits.keep(0, near)
            a.addi(near, near, 1)
            self._bits.keep(1, near)
            return
        k.select(near, near, self._tail, self._epoch)
        self._append(k, vertex, near)

    def take(self, k, number, vertex):
        self._append(k, vertex, (self._tail, self._epoch)[number])

    def advance(self, k, move):
        """The kernel that moves the threshold and goes through the pile. It is launched before the
        superstep whose queue it fills, with the argument of that superstep.

        ``move(old, into)`` emits the rule: ``into`` = the threshold that follows ``old``. The new
        threshold must be larger than the old, or 2**32 - 1, below which all keys are.
        """
        a, task = k.a, k.task
        epoch = self._epoch_block(k)
        names = "queue_tail", "entry", "pile_end", "old", "threshold", "following", "least"
        tail, entry, end, old, threshold, following, least = map(k.a.reg, names)
        number, began, after = a.regs("number", "began", "after")
        self._argument_block(k, tail)           # whose first word is END
        a.lw(number, tail, 4 * self._NUMBER)
        for register, word in ((entry, _Epoch.START), (end, _Epoch.END),
                               (old, _Epoch.THRESHOLD), (least, _Epoch.LEAST),
                               (began, _Epoch.BEGAN), (following, _Epoch.NEXT),
                               (after, _Epoch.AFTER)):
            a.lw(register, epoch, 4 * word)
        self._counted(k, epoch, end, _Epoch.COUNT)
        a.sw(entry, after, 4 * _Epoch.END)          # of all warps the same, as all of these
        if self.counts_entries:
            a.sw(a.zero, after, 4 * _Epoch.COUNT)
        a.sw(k.full, after, 4 * _Epoch.LEAST)
        a.sw(number, following, 4 * _Epoch.BEGAN)
        # If the epoch has had no superstep, the pile has got no entry since it began.
        a.sub(began, began, number)
        a.seqz(began, began)
        a.neg(began, began)
        k.select(least, began, least, old)
        move(least, threshold)
        a.sw(threshold, following, 4 * _Epoch.THRESHOLD)
        a.mv(least, k.full)
        index = a.reg("index")
        k.lane_index(index)
        a.slli(index, index, 2)
        a.add(entry, entry, index)
        k.phase(5)
        with a.while_uniform(Condition("ltu", entry, end), "pile"):
            self._sift(k, entry, end, old, threshold, tail, following, least)
            k.step(entry, 4 * task.lanes)
        a.addi(following, following, 4 * _Epoch.LEAST)
        a.amominu_w(a.zero, least, following)

    def _sift(self, k, entry, end, old, threshold, tail, following, least):
        """An entry of each lane: to the queue, to the next pile, or dropped."""
        a = k.a
        reg, key, near, far, other = a.regs("vertex", "key", "near", "far", "other")
        vertex = Vertex(reg, k.algorithm.base_array(k.task))
        a.lw(reg, entry)
        a.lw(key, reg)
        a.sltu(other, key, old)                 # stale
        a.sltu(near, key, threshold)            # or stale, too
        a.xori(far, near, 1)
        a.sub(near, near, other)
        a.sltu(other, entry, end)               # in the last round not all lanes have an entry
        a.and_(near, near, other)
        a.and_(far, far, other)
        with k.only(near, "pile_near"):
            self._append(k, vertex, tail)
        with k.only(far, "pile_far"):
            self._append(k, vertex, following)
            k.minimum(least, key, least)

    # Host

    def moved(self):
        """:meth:`advance` has been launched: the next epoch begins."""
        self._moves += 1

    def far(self, session) -> int:
        """How many entries the pile has."""
        return self._epochs.entries(session, self._moves)

    def targets(self, session, argument):
        return [*super().targets(session, argument),
                self._epochs.target(session, self._moves)]
