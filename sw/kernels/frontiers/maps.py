"""Frontiers with a bit or a byte for every vertex, which says whether the vertex is in them.

There are three maps. Superstep s tests the vertices by map s mod 3, adds to the next map, and
clears the map after that. So no superstep writes the map that it reads, whatever the order of warps
and cores. A launch finds in memory all that the last launch has stored.

A vertex's place in the map follows from the address of its word in the algorithm's base array. The
address without its last bits is, up to a constant, the place of the byte, or of the word with the
bit. So the vertex's number is never computed.
"""

import numpy as np

from hw.isa import Csr
from sw.kernels.assembler import Condition
from sw.kernels.frontiers.base import PULLING, Counted, Ring


__all__ = ["Bitmap", "Bytemap"]


#: Words of a map that a lane clears without a loop.
_UNROLL = 4


class _Map(Counted):
    """The common part of both kinds of maps.

    The argument block is number s mod 3 of a ring of three, of these words:

    ======  ==================================================
    NUMBER  the superstep's number; the last superstep writes it
    READ    place of the frontier's map
    ADD     place of the next frontier's map
    CLEAR   address of the map after that
    NEXT    address of the next block
    ======  ==================================================

    A place in a map is counted from address 0. The sum of READ or ADD and a place is an address.
    """
    _NUMBER, _READ, _ADD, _CLEAR, _NEXT = range(5)
    _MAPS = "map_0", "map_1", "map_2"

    def __init__(self, deduplicate, once, tested):
        super().__init__(deduplicate, once, tested)
        self._ring = Ring(3, "map_ring")

    @classmethod
    def lacks(cls, task):
        if task.direction == "pull":
            return PULLING
        return None

    def _place(self, word) -> int:
        """The place in the map, in bytes, of the vertex whose word is at an address."""
        raise NotImplementedError

    def _words(self, task):
        """Number of words of a map, so that all lanes clear equally many."""
        base = task.buffers.address(task.algorithm.base_array(task))
        last = self._place(base + 4 * task.vertex_words)
        return task.round_up((last - self._place(base)) // 4 + 2, task.lanes)

    def reserve(self, task):
        super().reserve(task)
        self._ring.reserve(task)
        for name in self._MAPS:
            task.buffers.reserve(name, self._words(task))

    def init(self, task, vertex):
        super().init(task, vertex)
        buffers, count = task.buffers, task.graph.num_vertices
        base = buffers.address(task.algorithm.base_array(task))
        vertices = np.arange(count) if vertex is None else np.array([vertex])
        buffers.fill(self._MAPS[0], self._image(base, base + 4 * vertices, self._words(task)))
        first = self._place(base) & ~3

        def address(place):
            return buffers.address(self._MAPS[place % 3])

        self._ring.fill(task, lambda place: {
            self._READ: address(place) - first & 0xFFFF_FFFF,
            self._ADD: address(place + 1) - first & 0xFFFF_FFFF,
            self._CLEAR: address(place + 2),
            self._NEXT: self.argument(task, place + 1)})

    def _image(self, base, members, words):
        """The words of a map of the vertices with these addresses."""
        raise NotImplementedError

    def argument(self, task, number):
        return self._ring.address(task, number)

    def number_of(self, session, argument):
        return int(self._ring.read(session, self._ring.place(session.task, argument))[self._NUMBER])

    # Kernels

    def parity(self, k, into, place=0):
        k.a.csrr(into, Csr.MSCRATCH)
        k.a.lw(into, into, 4 * self._NUMBER)
        k.a.andi(into, into, 1)
        k.shifted(into, into, place)

    def _read_argument(self, k):
        a = k.a
        self._read, self._add = k.a.reg("map_read"), k.a.reg("map_add")
        block, clear, following = a.regs("block", "clear", "next")
        a.csrr(block, Csr.MSCRATCH)
        for register, word in ((clear, self._CLEAR), (self.number, self._NUMBER),
                               (following, self._NEXT), (self._read, self._READ),
                               (self._add, self._ADD)):
            a.lw(register, block, 4 * word)
        if k.first and k.leads:
            self._clear(k, clear)
        if k.leads:
            a.addi(clear, self.number, 1)
            a.sw(clear, following, 4 * self._NUMBER)    # of all warps the same
        self._one = k.constant(1, "one")

    def _clear(self, k, pointer):
        """Clear the map at ``pointer``, each lane its part."""
        a, task = k.a, k.task
        turns, step = self._words(task) // task.lanes, 4 * task.lanes
        index, end = a.regs("index", "end")
        k.lane_index(index)
        a.slli(index, index, 2)
        a.add(pointer, pointer, index)
        if turns <= _UNROLL:
            for turn in range(turns):
                if turn:
                    self._on(k, pointer, step, index)
                a.sw(a.zero, pointer)
            return
        a.li(end, turns * step)
        a.add(end, end, pointer)
        with a.while_uniform(Condition("ltu", pointer, end), "clear"):
            a.sw(a.zero, pointer)
            self._on(k, pointer, step, index)

    @staticmethod
    def _on(k, pointer, step, scratch):
        if step < 2048:
            k.a.addi(pointer, pointer, step)
        else:
            k.a.li(scratch, step)
            k.a.add(pointer, pointer, scratch)

    def _pointer(self, k, vertex, start, into):
        """``into`` = address of the vertex's byte, or word, in the map at ``start``."""
        raise NotImplementedError

    @staticmethod
    def _word(k, vertex, into):
        """The address of the vertex's word in the base array."""
        return k.pointer(vertex, k.task.algorithm.base_array(k.task), into)


class Bitmap(_Map):
    """A bit for each vertex, set by an atomic OR.

    In a deduplicated frontier, the old word that the atomic returns tells whether a vertex counts.
    """
    name = "bitmap"

    def __init__(self, deduplicate, once, tested):
        super().__init__(deduplicate, True, tested)
        self._unique = deduplicate and not once

    def _place(self, word):
        return word >> 7 << 2

    def _image(self, base, members, words):
        image = np.zeros(words, np.uint32)
        index = (members >> 7) - (base >> 7)
        np.bitwise_or.at(image, index, np.uint32(1) << (members >> 2 & 31).astype(np.uint32))
        return image

    def _pointer(self, k, vertex, start, into):
        a = k.a
        a.srli(into, self._word(k, vertex, into), 7)
        a.slli(into, into, 2)
        a.add(into, into, start)

    def member_data(self, k, vertex, into):
        self._pointer(k, vertex, self._read, into)
        k.a.lw(into, into)

    def member(self, k, vertex, data, into):
        a = k.a
        place = a.reg("place")
        a.srli(place, self._word(k, vertex, place), 2)
        a.srl(into, data, place)
        a.andi(into, into, 1)

    def add(self, k, vertex, predicate, otherwise, key=None):
        a = k.a
        pointer, bit = a.regs("pointer", "bit")
        a.srli(bit, self._word(k, vertex, bit), 2)
        a.sll(bit, self._one, bit)
        self._pointer(k, vertex, self._add, pointer)
        if not self._unique:
            a.amoor_w(a.zero, bit, pointer)
            a.addi(self._count, self._count, 1)
            return
        a.amoor_w(pointer, bit, pointer)
        a.and_(bit, bit, pointer)
        a.seqz(bit, bit)
        a.add(self._count, self._count, bit)


class Bytemap(_Map):
    """A byte for each vertex, 1 if the vertex is in the frontier.

    Cores that store bytes of one word do not disturb each other, because only the stored bytes go
    to the shared level. A store does not return the old byte, so a deduplicated frontier has stamps
    too.
    """
    name = "bytemap"

    def _place(self, word):
        return word >> 2

    def _image(self, base, members, words):
        image = np.zeros(4 * words, np.uint8)
        image[(members >> 2) - (base >> 2 & ~3)] = 1
        return image.view("<u4")

    def _pointer(self, k, vertex, start, into):
        k.a.srli(into, self._word(k, vertex, into), 2)
        k.a.add(into, into, start)

    def member_data(self, k, vertex, into):
        self._pointer(k, vertex, self._read, into)
        k.a.lbu(into, into)

    def member(self, k, vertex, data, into):
        if into is not data:
            k.a.mv(into, data)

    def add(self, k, vertex, predicate, otherwise, key=None):
        a = k.a
        self._stamp(k, vertex, predicate, otherwise)
        pointer = a.reg("pointer")
        self._pointer(k, vertex, self._add, pointer)
        a.sb(self._one, pointer)
        a.addi(self._count, self._count, 1)
