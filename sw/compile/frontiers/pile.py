"""The pile of the far vertices of a queue with a delta (Davidson et al., IPDPS 2014).

Vertices are ordered by a key, the distance in shortest paths. A vertex whose key is below a
threshold is near, and goes into a set of the pool (:mod:`.sets`). Other vertices are set aside in
the far pile. When a superstep has left no near vertex, the threshold moves, and
:meth:`Pile.advance` goes through the pile. Entries that are now below the threshold make the next
set, and others stay in the pile. An entry whose key is below the old threshold is stale, because
its vertex has become near since the entry was added. Stale entries are dropped.

There are two piles. Epoch j, from one move of the threshold to the next, adds to pile j mod 2. The
move at its end copies the remaining entries to the other pile. The epoch has these words, number j
mod 4 of a ring:

=========  ======================================================================================
END        address behind the last entry of the pile
THRESHOLD  keys below it are near
START      address of the pile's first entry
LEAST      the least key in the pile when the epoch began
COUNT      number of entries behind END, which the Stream Compaction Unit has added
=========  ======================================================================================

A far vertex has the stamp 1, and a near vertex a larger stamp: 2 more than the number of the last
superstep that has added it. The number is in the argument of the launch. When it has no room there,
all larger stamps become 2, and the next superstep has the number 1. Keys only become smaller, so a
vertex that has been near never becomes far. A far vertex stays in the pile until it is near. So no
vertex is in the pile twice, and the pile has room for each vertex.

The threshold moves from its last value by the delta. If this gives no near vertex, it moves again,
now from the least key in the pile, which is known then. So at most two moves lead to a near vertex,
however far apart the keys are.
"""

import enum

import numpy as np

from sw.compile.asm.assembler import Condition
from sw.compile.frontiers.pool import Fields
from sw.compile.frontiers.sets import Made
from sw.compile.kernels.kernel import Vertex
from sw.compile.kernels.vertices import each_vertex


__all__ = ["PILE_KERNELS", "NearSet", "Pile"]


#: Kernels of a pile: the threshold moves, it moves again behind a move that has found no near
#: vertex, and there is room for the numbers of supersteps again.
PILE_KERNELS = ("advance", "leap", "restamp")


class _Epoch(enum.IntEnum):
    """Places of an epoch's words in the ring, in words from those of its END. The words that
    kernels of edges need lie together."""
    END = 0
    THRESHOLD = 1
    START = 8
    LEAST = 9
    COUNT = 16


#: The ring: the number of epochs, and words from one to the next.
_EPOCHS, _STRIDE = 4, 2

#: Words of the ring, and the bytes of which its address is a multiple, so that one instruction
#: loads it.
_WORDS, _PAGE = 24, 4096

#: The place of the epoch's words, in bytes, in the argument of a launch: among the bits that no
#: field has.
_EPOCH = (_EPOCHS - 1) * 4 * _STRIDE

#: The stamp of a far vertex.
_FAR = 1


class Pile:
    """The far vertices of a queue.

    Parameters
    ----------
    queue : str
        The queue's name.
    anchor : str
        The vertex array in whose addresses vertices are known.
    keys : str
        The vertex array of the keys.
    delta : int
        By what the threshold moves; it is the first threshold, too.

    Attributes
    ----------
    queue : str
    """

    def __init__(self, queue, anchor, keys, delta):
        self.queue, self._anchor, self._keys, self._delta = queue, anchor, keys, delta
        self._names = f"far_{queue}", f"other_far_{queue}"
        self._stamps, self._ring = f"stamps_{queue}", f"epochs_{queue}"
        self._moves = self._number = 0

    # Memory

    def reserve(self, task, words):
        """Reserve the buffers; ``words`` are the words of a vertex array."""
        task.buffers.reserve(self._ring, 1, width=_PAGE)
        for name in (*self._names, self._stamps):
            task.buffers.reserve(name, words)

    def fill(self, task, vertices, keys) -> list:
        """Fill the buffers. Returns those of the queue's first vertices that are near.

        Parameters
        ----------
        task : Task
        vertices : list of int
            By the graph's numbers.
        keys : uint32 array
            By the graph's numbers. None of the vertices has a key of all ones, which is below no
            threshold.
        """
        near = [each for each in vertices if keys[each] < self._delta]
        far = np.array([task.vertices.number(each) for each in vertices
                        if keys[each] >= self._delta], np.int64)
        self._moves, self._number, buffers = 0, 0, task.buffers
        base = buffers.address(self._anchor)
        for name, own in zip(self._names, (far, far[:0])):
            buffers.fill(name, (base + 4 * own).astype(np.uint32),
                         base + 4 * task.graph.num_vertices)
        stamps = np.zeros(task.graph.num_vertices, np.uint32)
        stamps[far] = _FAR
        buffers.fill(self._stamps, stamps)
        words = np.zeros(_WORDS, np.uint32)
        for epoch in range(_EPOCHS):
            start, place = buffers.address(self._names[epoch % 2]), epoch * _STRIDE
            words[place + _Epoch.START] = start
            words[place + _Epoch.END] = start + (0 if epoch else 4 * len(far))
            words[place + _Epoch.LEAST] = 0xFFFF_FFFF
        words[_Epoch.THRESHOLD] = self._delta
        buffers.fill(self._ring, words)
        return near

    # Host

    @property
    def _place(self):
        """The place of the epoch's words."""
        return self._moves % _EPOCHS * _STRIDE

    def full(self, most) -> bool:
        """Whether the number of the next superstep would be larger than ``most``: then
        :meth:`restamp` must be launched, and the number is 1."""
        if self._number <= most:
            return False
        self._number = 1
        return True

    def superstep(self) -> tuple[int, int]:
        """The bits of the argument of the next superstep, and its number."""
        self._number += 1
        return 4 * self._place, self._number - 1

    def move(self) -> int:
        """The bits of the argument of :meth:`advance`, with which the next epoch begins."""
        self._moves += 1
        return 4 * ((self._moves - 1) % _EPOCHS * _STRIDE)

    def size(self, session) -> int:
        """How many entries the pile has."""
        words = self._words(session)
        return (words[_Epoch.END] - words[_Epoch.START]) // 4 + words[_Epoch.COUNT]

    def target(self, session) -> tuple:
        """As of :meth:`~sw.compile.frontiers.pool.Pool.target`, of the far vertices."""
        words, place = self._words(session), self._place + _Epoch.COUNT
        return (words[_Epoch.END] + 4 * words[_Epoch.COUNT],
                session.task.buffers.address(self._ring) + 4 * place, words[_Epoch.COUNT])

    def _words(self, session):
        """The words of the ring from those of the epoch on."""
        return session.read(self._ring, _WORDS)[self._place:].tolist()

    # Kernels

    def epoch(self, k, following=False):
        """A new register with the address of the words of the epoch, or of the next. END is the
        first."""
        a, epoch, place = k.a, k.a.reg("epoch"), k.given
        if following:
            a.addi(epoch, place, 4 * _STRIDE)
            place = epoch
        a.andi(epoch, place, _EPOCH)
        a.add(epoch, epoch, k.constant(k.address(self._ring), "epochs"))
        return epoch

    @staticmethod
    def threshold(k, epoch):
        """A new register with the threshold of an epoch."""
        threshold = k.a.reg("threshold")
        k.a.lw(threshold, epoch, 4 * _Epoch.THRESHOLD)
        return threshold

    def stamp(self, k, vertex, into):
        """``into`` = the address of a vertex's stamp."""
        return k.pointer(vertex, self._stamps, into)

    def load_key(self, k, vertex):
        """A new register with the key of a vertex."""
        key = k.a.reg("key")
        k.a.lw(key, k.pointer(vertex, self._keys, key))
        return key

    def emit(self, k, kind, pool):
        """Emit one of :data:`PILE_KERNELS`."""
        if kind == "restamp":
            self.restamp(k)
        else:
            self.advance(k, pool, again=kind == "leap")

    def advance(self, k, pool, again):
        """The kernel that moves the threshold and goes through the pile. The vertices that become
        near are the set of its only field. ``again`` tells that the last move has found no near
        vertex."""
        a, task, made = k.a, k.task, Made(k, Fields(pool, 1), 0)
        epoch, following, after = self.epoch(k), self.epoch(k, True), a.reg("after")
        a.xori(after, epoch, 4 * _STRIDE * _EPOCHS // 2)    # the epoch after the next
        entry, end, old, threshold = a.regs("entry", "pile_end", "old", "threshold")
        for register, word in ((entry, _Epoch.START), (end, _Epoch.END), (old, _Epoch.THRESHOLD)):
            a.lw(register, epoch, 4 * word)
        if again:
            a.lw(threshold, epoch, 4 * _Epoch.LEAST)
        if pool.counts:
            count = a.reg("count")
            a.lw(count, epoch, 4 * _Epoch.COUNT)
            a.slli(count, count, 2)
            a.add(end, end, count)
            a.sw(a.zero, after, 4 * _Epoch.COUNT)
        a.sw(entry, after, 4 * _Epoch.END)          # of all warps the same, as all of these
        a.sw(k.full, after, 4 * _Epoch.LEAST)
        self._move(k, threshold if again else old, threshold)
        a.sw(threshold, following, 4 * _Epoch.THRESHOLD)
        least, index = a.regs("least", "index")
        a.mv(least, k.full)
        k.lane_index(index)
        a.slli(index, index, 2)
        a.add(entry, entry, index)
        k.phase(5)
        with a.while_uniform(Condition("ltu", entry, end), "pile"):
            self._sift(k, made, (entry, end), (old, threshold), following, least)
            k.step(entry, 4 * task.lanes)
        a.addi(following, following, 4 * _Epoch.LEAST)
        a.amominu_w(a.zero, least, following)
        made.finish()

    def restamp(self, k):
        """The kernel that makes room for the numbers of supersteps: all stamps but those of far
        vertices become 2."""
        a = k.a
        with each_vertex(k, self._stamps) as pointers:
            stamp = a.reg("stamp")
            a.lw(stamp, pointers[self._stamps])
            k.minimum(stamp, stamp, k.constant(_FAR + 1, "near_stamp"))
            a.sw(stamp, pointers[self._stamps])

    def _move(self, k, old, threshold):
        """``threshold`` = the delta more than ``old``. Beyond 32 bits it is the largest number,
        below which all keys are."""
        a, passed = k.a, k.a.reg("passed")
        delta = k.constant(self._delta, "delta")
        a.add(threshold, old, delta)
        a.sltu(passed, threshold, delta)
        a.neg(passed, passed)
        a.or_(threshold, threshold, passed)

    def _sift(self, k, made, list_, thresholds, following, least):
        """An entry of each lane: to the set, to the next pile, or dropped."""
        a, (entry, end), (old, threshold) = k.a, list_, thresholds
        reg, near, far, other = a.regs("vertex", "near", "far", "other")
        vertex = Vertex(reg, self._anchor)
        a.lw(reg, entry)
        key = self.load_key(k, vertex)
        a.sltu(other, key, old)                 # stale
        a.sltu(near, key, threshold)            # or stale, too
        a.xori(far, near, 1)
        a.sub(near, near, other)
        a.sltu(other, entry, end)               # in the last round not all lanes have an entry
        a.and_(near, near, other)
        a.and_(far, far, other)
        with k.only(near, "pile_near"):
            made.add(vertex)
        with k.only(far, "pile_far"):
            a.amoadd_w(other, k.constant(4, "entry_bytes"), following)
            a.sw(reg, other)
            k.minimum(least, key, least)


class NearSet(Made):
    """The set of the near vertices that a kernel makes, and the pile beside it. The lanes of near
    and of far vertices run the same code.

    Parameters
    ----------
    k, fields, index
        As of :class:`~sw.compile.frontiers.sets.Made`.
    pile : Pile
    """

    def __init__(self, k, fields, index, pile):
        # All loads are under way before the first store waits for one.
        self._pile, self._far = pile, pile.epoch(k)
        self._threshold, self._superstep = pile.threshold(k, self._far), k.a.reg("superstep")
        super().__init__(k, fields, index)
        fields.number(k, self._superstep)
        self._near, self._other = k.a.regs("near", "other_tail")
        k.a.xor(self._other, self._tail, self._far)
        self._block = None                  # lanes add by the other register

    def claim(self, vertex, into, key=None):
        """As of Made. ``key`` is a register with the vertex's key, or None."""
        k, a, near = self._k, self._k.a, self._near
        key = key or self._pile.load_key(k, vertex)
        a.sltu(near, key, self._threshold)
        a.neg(near, near)
        stamp, value = a.regs("stamp", "stamp_value")
        a.and_(value, near, self._superstep)
        a.addi(value, value, _FAR)
        stamp = self._pile.stamp(k, vertex, stamp)
        a.amomaxu_w(into, value, stamp)
        a.sltu(into, into, value)

    def marks(self, claimed):
        return self._pool.marks

    def mark(self, vertex, claimed=False):
        """As of Made; far vertices are not in the set."""
        if self._pool.marks:
            with self._k.a.if_(self._near):
                super().mark(vertex)

    def keep(self, bits, chosen):
        """As of Made, in one of two buffers."""
        self._k.a.and_(self._near, self._near, chosen)
        bits.keep(0, self._near)
        self._k.a.sub(self._near, chosen, self._near)
        bits.keep(1, self._near)

    def append(self, vertex, number=None):
        """As of Made: to the set or to the pile, as the claim says, or by 0 and 1."""
        k, a = self._k, self._k.a
        if number is None:
            tail = a.reg("list_tail")
            a.and_(tail, self._near, self._other)
            a.xor(tail, tail, self._far)
        else:
            tail = (self._tail, self._far)[number]
        entry = a.reg("entry")
        a.amoadd_w(entry, k.constant(4, "entry_bytes"), tail)
        a.sw(vertex.reg, entry)
