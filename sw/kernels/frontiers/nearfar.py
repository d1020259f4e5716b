"""A queue of the near vertices, and a pile of the far ones (Davidson et al., IPDPS 2014).

Vertices are ordered by a key, the distance in shortest paths. One whose key is below a threshold is
near and goes into the queue; the others are set aside in the far pile. When a superstep has left no
near vertex, the threshold moves: :meth:`NearFar.advance` goes through the pile, and what is now
below the threshold comes into the queue, what is not stays in the pile. An entry whose vertex has
got a key below the old threshold since it was added is stale, as that has made it a near one: it is
dropped.

There are two piles: epoch j, from one move of the threshold to the next, adds to pile j mod 2, and
the move at its end takes the rest over to the other. The epoch has a block of words, number j
mod 4 of a ring:

=========  ======================================================================================
END        address behind the last entry of the pile
THRESHOLD  keys below it are near
MARK       the far vertices' stamp: 1 more than the number of the superstep that moved the threshold
START      address of the pile's first entry
LEAST      the least key in the pile when the epoch began
NEXT       address of the next epoch's block
AFTER      that of the one after, which is made ready for its pile to be filled
=========  ======================================================================================

A vertex is in the pile at most once, as far vertices are stamped too: who is near in this epoch has
a larger stamp than MARK, and cannot become far any more. So the pile has room for every vertex.

The threshold moves from where it was, by the algorithm's rule. If no near vertex comes of that, it
moves again, and now from the least key in the pile, which is known: so at most two moves lead to
a near vertex, however far apart the keys are.
"""

import enum

from hw.isa import Csr
from sw.kernels.assembler import Condition
from sw.kernels.frontiers.base import Ring
from sw.kernels.frontiers.queue import Queue
from sw.kernels.kernel import Vertex


__all__ = ["NearFar"]


class _Epoch(enum.IntEnum):
    """Words of an epoch's block."""
    END = 0
    THRESHOLD = 1
    MARK = 2
    START = 3
    LEAST = 4
    NEXT = 5
    AFTER = 6


_PILES = "far", "other_far"

#: The word of a superstep's argument block, behind the queue's, with its epoch's block.
_EPOCH = 5


class NearFar(Queue):
    """The queue of near vertices, and the piles. Always deduplicated.

    Parameters
    ----------
    threshold : int
        Keys below it are near at first.
    """

    def __init__(self, threshold):
        super().__init__(deduplicate=True, once=False, tested=True)
        self._first = threshold
        self._epochs = Ring(4, "epochs")

    # Memory

    def reserve(self, task):
        super().reserve(task)
        self._epochs.reserve(task)
        for name in _PILES:
            task.buffers.reserve(name, task.vertex_words)

    def init(self, task, vertex):
        super().init(task, vertex)
        buffers = task.buffers
        padding = (buffers.address(task.algorithm.base_array(task))
                   + 4 * task.graph.num_vertices)
        for name in _PILES:
            buffers.fill(name, rest=padding)
        starts = [buffers.address(name) for name in _PILES]
        self._epochs.fill(task, lambda place: {
            _Epoch.END: starts[place % 2],
            _Epoch.START: starts[place % 2],
            _Epoch.THRESHOLD: self._first,
            _Epoch.MARK: 1,
            _Epoch.LEAST: self._first if place == 0 else 0xFFFF_FFFF,
            _Epoch.NEXT: self._epochs.address(task, place + 1),
            _Epoch.AFTER: self._epochs.address(task, place + 2)})

    def _block(self, task, place):
        return super()._block(task, place) | {_EPOCH: self._epochs.address(task, 0)}

    # Kernels

    def _load_epoch(self, k):
        """The address of the epoch's block, in a new register."""
        epoch = k.lasting("epoch")
        k.a.csrr(epoch, Csr.MSCRATCH)
        k.a.lw(epoch, epoch, 4 * _EPOCH)
        return epoch

    def prepare(self, k):
        """Prologue of a kernel that adds vertices by their keys. What is chosen between, near and
        far, is kept as the far one's and what the two differ by."""
        super().prepare(k)
        a = k.a
        self._far_tail = self._load_epoch(k)        # whose first word is END
        self._threshold, self._mark = k.lasting("threshold"), k.lasting("far_mark")
        self._marks, self._tails = k.lasting("marks"), k.lasting("tails")
        a.lw(self._threshold, self._far_tail, 4 * _Epoch.THRESHOLD)
        a.lw(self._mark, self._far_tail, 4 * _Epoch.MARK)
        a.sw(self._far_tail, self._tail, 4 * _EPOCH)
        a.addi(self._marks, self.number, 2)
        a.xor(self._marks, self._marks, self._mark)
        a.xor(self._tails, self._tail, self._far_tail)
        a.free(self._tail)

    def add(self, k, vertex, predicate, otherwise, key=None):
        a = k.a
        with a.scope("near", "mark") as (near, mark):
            a.sltu(near, key, self._threshold)
            a.neg(near, near)
            a.and_(mark, near, self._marks)
            a.xor(mark, mark, self._mark)
            self._stamp(k, vertex, predicate, otherwise, mark)
            a.and_(near, near, self._tails)
            a.xor(near, near, self._far_tail)
            self._append(k, vertex, near)

    def advance(self, k, move):
        """The kernel that moves the threshold and goes through the pile, a superstep of its own.

        ``move(old, into)`` is to emit the rule: ``into`` = the threshold that follows ``old``. It
        must be larger, or 2**32 - 1, below which all keys are.
        """
        a, task = k.a, k.task
        super().prepare(k)
        epoch = self._load_epoch(k)
        names = ("entry", "pile_end", "old_threshold", "threshold", "next_epoch", "near_mark",
                 "least")
        entry, end, old, threshold, following, mark, least = map(k.lasting, names)
        with a.scope("after", "exact") as (after, exact):
            for register, word in ((entry, _Epoch.START), (end, _Epoch.END),
                                   (old, _Epoch.THRESHOLD), (mark, _Epoch.MARK),
                                   (least, _Epoch.LEAST), (following, _Epoch.NEXT),
                                   (after, _Epoch.AFTER)):
                a.lw(register, epoch, 4 * word)
            a.sw(entry, after, 4 * _Epoch.END)          # of all warps the same, as all of these
            a.sw(k.full, after, 4 * _Epoch.LEAST)
            a.sw(following, self._tail, 4 * _EPOCH)
            # Nothing has been added in this epoch if the last superstep began it.
            a.sub(exact, self.number, mark)
            a.seqz(exact, exact)
            a.neg(exact, exact)
            a.xor(least, least, old)
            a.and_(least, least, exact)
            a.xor(least, least, old)
            move(least, threshold)
            a.addi(mark, self.number, 1)
            a.sw(threshold, following, 4 * _Epoch.THRESHOLD)
            a.sw(mark, following, 4 * _Epoch.MARK)
        a.mv(least, k.full)
        with a.scope("index") as (index,):
            k.lane_index(index)
            a.slli(index, index, 2)
            a.add(entry, entry, index)
        k.need_step(4 * task.lanes)
        k.seal()
        k.phase(5)
        with a.while_uniform(Condition("ltu", entry, end), "pile"):
            self._sift(k, entry, end, old, threshold, following, mark, least)
            k.step(entry, 4 * task.lanes)
        a.addi(following, following, 4 * _Epoch.LEAST)
        a.amominu_w(a.zero, least, following)

    def _sift(self, k, entry, end, old, threshold, following, mark, least):
        """An entry of each lane: to the queue, to the next pile, or dropped."""
        a, base_array = k.a, k.task.algorithm.base_array(k.task)
        with a.scope("vertex", "key", "near", "far", "stamp") as (vertex, key, near, far, stamp):
            a.lw(vertex, entry)
            a.lw(key, vertex)
            a.sltu(far, entry, end)
            a.sltu(near, key, threshold)
            a.sltu(stamp, key, old)
            a.sub(stamp, near, stamp)               # near now, and not before
            a.xori(near, near, 1)
            a.and_(near, near, far)                 # the others that are entries
            a.and_(far, far, stamp)
            near, far = far, near
            for chosen, tail, kept in ((near, self._tail, False), (far, following, True)):
                after = a.label("pile_next")
                k.narrow(chosen, after)
                pointer = k.pointer(Vertex(vertex, base_array), "stamp", stamp)
                a.addi(chosen, mark, 0 if kept else 1)
                a.sw(chosen, pointer)
                self._append(k, Vertex(vertex, base_array), tail)
                if kept:
                    # least = the smaller of both
                    a.sltu(stamp, key, least)
                    a.neg(stamp, stamp)
                    a.xor(key, key, least)
                    a.and_(key, key, stamp)
                    a.xor(least, least, key)
                k.widen()
                a.place(after)

    # Host

    def far(self, session, moves) -> int:
        """How many entries the pile has, after so many moves of the threshold."""
        block = self._epochs.read(session, moves)
        return (int(block[_Epoch.END]) - int(block[_Epoch.START])) // 4
