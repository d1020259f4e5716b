"""Frontiers with a bit or a byte for every vertex, which says whether the vertex is in them.

There are three maps. Superstep s tests the vertices by map s mod 3, adds to the next map, and
clears the map after that. So no superstep writes the map that it reads, whatever the order of warps
and cores. A launch finds in memory all that the last launch has stored.

A vertex's place in the map follows from the address of its word in the algorithm's base array. The
address without its last bits is, up to a constant, the place of the byte, or of the word with the
bit. So the vertex's number is never computed.

A *form* is a way to write a map, with bits or with bytes. The maps that a pass makes of another
frontier (:mod:`.made`) have the same forms.
"""

from typing import Any

import numpy as np

from sw.compile.asm.assembler import Condition
from sw.compile.frontiers.frontier import PULLING, CountedFrontier, Ring, members
from sw.compile.kernels.kernel import round_up


__all__ = ["FORMS", "Bitmap", "Bytemap", "Form", "clear"]


#: Words of a map that a lane clears without a loop.
_UNROLL = 4

#: The first word of a map is of an address that is a multiple of this, so that a word of bits has
#: the vertices of eight words of bytes.
_ALIGNED = 128


def _word(k, vertex, into):
    """The address of the vertex's word in the base array."""
    return k.pointer(vertex, k.algorithm.base_array(k.task), into)


def clear(k, pointer, words):
    """Clear a map of ``words`` words at ``pointer``, each lane its part. ``words`` is a multiple of
    the lanes."""
    a, task = k.a, k.task
    turns, step = words // task.lanes, 4 * task.lanes
    index, end = a.regs("index", "end")
    k.lane_index(index)
    a.slli(index, index, 2)
    a.add(pointer, pointer, index)
    if turns <= _UNROLL:
        for turn in range(turns):
            if turn:
                k.step(pointer, step)
            a.sw(a.zero, pointer)
        return
    a.li(end, turns * step)
    a.add(end, end, pointer)
    with a.while_uniform(Condition("ltu", pointer, end), "clear"):
        a.sw(a.zero, pointer)
        k.step(pointer, step)


class Form:
    """A way to write a map.

    Attributes
    ----------
    name : str
        The name of the frontier with this form.
    bits : int
        Bits of a vertex.
    """
    name: str
    bits: int

    @property
    def vertices(self) -> int:
        """Vertices of a word."""
        return 32 // self.bits

    def place(self, word) -> int:
        """The place in the map, in bytes, of the vertex whose word is at an address; for a form
        with bits, that of the word with the bit."""
        raise NotImplementedError

    @staticmethod
    def aligned(task) -> int:
        """The address for which the first vertex of a map stands, at or before the base array."""
        return task.buffers.address(task.algorithm.base_array(task)) & -_ALIGNED

    def first(self, task) -> int:
        """The place of a map's first word."""
        return self.place(self.aligned(task))

    def words(self, task) -> int:
        """Number of words of a map, so that all lanes clear equally many."""
        base = task.buffers.address(task.algorithm.base_array(task))
        last = self.place(base + 4 * task.vertex_words)
        return round_up((last - self.first(task)) // 4 + 2, task.lanes)

    def image(self, start, members, words):
        """The words of a map of the vertices with these addresses, whose first is ``start``."""
        raise NotImplementedError

    def pointer(self, k, vertex, start, into):
        """``into`` = address of the vertex's byte, or word, in the map at ``start``, which is the
        address less :meth:`first`."""
        raise NotImplementedError

    def data(self, k, vertex, start, into):
        """Load what :meth:`member` needs."""
        raise NotImplementedError

    def member(self, k, vertex, data, into):
        """``into`` = 1 if the vertex is in the map, else 0; ``into`` may be ``data``."""
        raise NotImplementedError

    def put(self, k, vertex, start):
        """Put the vertex into the map at ``start``."""
        raise NotImplementedError

    def bit(self, k, vertex, into):
        """``into`` = the vertex's bit in its word; of a form with bits."""
        raise NotImplementedError


class _Bits(Form):
    """A bit for each vertex."""
    name, bits = "bitmap", 1

    def place(self, word):
        return word >> 7 << 2

    def image(self, start, members, words):
        image = np.zeros(words, np.uint32)
        index = (members - start) >> 7
        np.bitwise_or.at(image, index, np.uint32(1) << (members >> 2 & 31).astype(np.uint32))
        return image

    def pointer(self, k, vertex, start, into):
        a = k.a
        a.srli(into, _word(k, vertex, into), 7)
        a.slli(into, into, 2)
        a.add(into, into, start)

    def data(self, k, vertex, start, into):
        self.pointer(k, vertex, start, into)
        k.a.lw(into, into)

    def member(self, k, vertex, data, into):
        a = k.a
        place = a.reg("place")
        a.srli(place, _word(k, vertex, place), 2)
        a.srl(into, data, place)
        a.andi(into, into, 1)

    def bit(self, k, vertex, into):
        """``into`` = the vertex's bit, in its place in the word."""
        k.a.srli(into, _word(k, vertex, into), 2)
        k.a.sll(into, k.constant(1, "one"), into)

    def put(self, k, vertex, start):
        pointer, bit = k.a.regs("pointer", "bit")
        self.bit(k, vertex, bit)
        self.pointer(k, vertex, start, pointer)
        k.a.amoor_w(k.a.zero, bit, pointer)


class _Bytes(Form):
    """A byte for each vertex."""
    name, bits = "bytemap", 8

    def place(self, word):
        return word >> 2

    def image(self, start, members, words):
        image = np.zeros(4 * words, np.uint8)
        image[(members - start) >> 2] = 1
        return image.view("<u4")

    def pointer(self, k, vertex, start, into):
        k.a.srli(into, _word(k, vertex, into), 2)
        k.a.add(into, into, start)

    def data(self, k, vertex, start, into):
        self.pointer(k, vertex, start, into)
        k.a.lbu(into, into)

    def member(self, k, vertex, data, into):
        if into is not data:
            k.a.mv(into, data)

    def put(self, k, vertex, start):
        pointer = k.a.reg("pointer")
        self.pointer(k, vertex, start, pointer)
        k.a.sb(k.constant(1, "one"), pointer)


#: The forms, by name.
FORMS = {form.name: form for form in (_Bits(), _Bytes())}


class _Map(CountedFrontier):
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

    Attributes
    ----------
    form : Form
    """
    _NUMBER, _READ, _ADD, _CLEAR, _NEXT = range(5)
    _MAPS = "map_0", "map_1", "map_2"

    form: Any

    def __init__(self, deduplicate, once, tested):
        super().__init__(deduplicate, once, tested)
        self._ring = Ring(3, "map_ring")

    @classmethod
    def lacks(cls, task):
        if task.direction == "pull":
            return PULLING
        return None

    def reserve(self, task):
        super().reserve(task)
        self._ring.reserve(task)
        for name in self._MAPS:
            task.buffers.reserve(name, self.form.words(task))

    def init(self, task, vertices, keys=None):
        super().init(task, vertices, keys)
        buffers, form = task.buffers, self.form
        base = buffers.address(task.algorithm.base_array(task))
        buffers.fill(self._MAPS[0], form.image(
            form.aligned(task), base + 4 * members(task, vertices), form.words(task)))
        first = form.first(task)

        def address(place):
            return buffers.address(self._MAPS[place % 3])

        self._ring.fill(task, lambda place: {
            self._READ: address(place) - first & 0xFFFF_FFFF,
            self._ADD: address(place + 1) - first & 0xFFFF_FFFF,
            self._CLEAR: address(place + 2),
            self._NEXT: self.argument(task, place + 1)})

    def argument(self, task, number):
        return self._ring.address(task, number)

    def number_of(self, session, argument):
        return int(self._ring.read(session, self._ring.place(session.task, argument))[self._NUMBER])

    # Kernels

    def number_at(self, k, argument, into):
        k.a.lw(into, argument, 4 * self._NUMBER)

    def _advance(self, k, argument):
        k.a.lw(argument, argument, 4 * self._NEXT)

    def parity(self, k, into, place=0):
        k.argument(into)
        k.a.lw(into, into, 4 * self._NUMBER)
        k.a.andi(into, into, 1)
        k.shifted(into, into, place)

    def first_word(self, k, into):
        """In a pass before a superstep: ``into`` = address of the superstep's map."""
        first = k.a.reg("first")
        k.argument(into)
        k.a.lw(into, into, 4 * self._READ)
        k.a.li(first, self.form.first(k.task))
        k.a.add(into, into, first)

    def _read_argument(self, k):
        a = k.a
        self._read, self._add = k.a.reg("map_read"), k.a.reg("map_add")
        block, cleared, following = a.regs("block", "clear", "next")
        k.argument(block)
        for register, word in ((cleared, self._CLEAR), (self.number, self._NUMBER),
                               (following, self._NEXT), (self._read, self._READ),
                               (self._add, self._ADD)):
            if register is not self._read or k.task.input is self:
                a.lw(register, block, 4 * word)
        if k.clears:
            clear(k, cleared, self.form.words(k.task))
        if k.leads:
            a.addi(cleared, self.number, 1)
            a.sw(cleared, following, 4 * self._NUMBER)  # of all warps the same

    def member_data(self, k, vertex, into):
        self.form.data(k, vertex, self._read, into)

    def member(self, k, vertex, data, into):
        self.form.member(k, vertex, data, into)


class Bitmap(_Map):
    """A bit for each vertex, set by an atomic OR.

    In a deduplicated frontier, the old word that the atomic returns tells whether a vertex counts.
    """
    name, form = "bitmap", _Bits()

    def __init__(self, deduplicate, once, tested):
        super().__init__(deduplicate, True, tested)
        self._unique = deduplicate and not once

    def add(self, k, vertex, predicate, otherwise, key=None):
        a = k.a
        if not self._unique:
            self.form.put(k, vertex, self._add)
            a.addi(self._count, self._count, 1)
            return
        pointer, bit = a.regs("pointer", "bit")
        self.form.bit(k, vertex, bit)
        self.form.pointer(k, vertex, self._add, pointer)
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
    name, form = "bytemap", _Bytes()

    def add(self, k, vertex, predicate, otherwise, key=None):
        self._stamp(k, vertex, predicate, otherwise)
        self.form.put(k, vertex, self._add)
        k.a.addi(self._count, self._count, 1)
