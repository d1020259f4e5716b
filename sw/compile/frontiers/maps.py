"""Maps: a bit or a byte for every vertex, which says whether the vertex is in a set.

A vertex's place in the map follows from the address of its word in the algorithm's base array. The
address without its last bits is, up to a constant, the place of the byte, or of the word with the
bit. So the vertex's number is never computed.

A *form* is a way to write a map, with bits or with bytes. The maps of a pool's sets (:mod:`.sets`),
and those that a pass makes (:mod:`.made`), have the same forms.
"""

import numpy as np

from sw.compile.asm.assembler import Condition
from sw.compile.kernels.kernel import round_up


__all__ = ["FORMS", "Form", "clear"]


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
