"""Inputs that a pass makes before each superstep, of a set or of the vertices' words.

========  ==========================  =============================================================
input     made of                     by the pass
========  ==========================  =============================================================
queue     a map                       ``list``: a lane takes a word of the map and counts its
                                      vertices. The warp adds up its lanes' counts, and makes room
                                      for all their vertices by one atomic addition.
map       a list                      ``map``: a lane takes an entry and puts it into the map.
map       a map of the other form     ``map``: a lane takes the vertices of one word of bits.
rqueue    the words of all vertices   ``unfound``: a lane takes some consecutive vertices. The
                                      reverse queue has the vertices that a pull still has to
                                      visit.
========  ==========================  =============================================================

A list has one array, and a map made of a list has two. The pass and the superstep's kernels find
in two words of memory where to read and to add. In the word NOW the pass leaves what it has used.
The superstep's kernels read that word, make ready what the next pass will use, and leave this in
the word NEXT. No kernel writes a word that it reads, so the order of the warps does not matter. The
host may launch supersteps of another plan in between.
"""

import numpy as np

from sw.compile.asm.assembler import Condition
from sw.compile.kernels.distribution import Scan
from sw.compile.frontiers.frontier import QUEUE, REVERSE, Input
from sw.compile.frontiers.maps import FORMS, clear
from sw.compile.kernels.kernel import Vertex, log2
from sw.compile.kernels.passes import Pass


__all__ = ["List", "Map", "ReverseQueue"]


#: Words of bytes beside a word of bits.
_BYTES_OF_BITS = 8

#: Consecutive vertices of a lane in a turn of the pass ``unfound``.
_AT_ONCE = 4


class _List(Input):
    """The common part of lists: an array, the addresses behind its last entry for two supersteps,
    and which of both counts."""
    listed = True

    _ENDS, _NEXT, _NOW = 0, 8, 12           # bytes in the array of the four words
    _array: str

    def reserve(self, task):
        task.buffers.reserve(self._array, self.most_entries(task))
        task.buffers.reserve(f"{self._array}_ends", 4)

    def fill(self, task):
        """Fill the buffers. Words behind the entries hold vertices that may be loaded."""
        buffers = task.buffers
        padding = (buffers.address(task.algorithm.base_array(task)) + 4 * task.graph.num_vertices)
        buffers.fill(self._array, rest=padding)
        start = buffers.address(self._array)
        buffers.fill(f"{self._array}_ends", [start, start, 0, 0])

    # Host

    def entry_count(self, session, argument) -> int:
        words = session.read(f"{self._array}_ends")
        return int(words[words[self._NOW // 4] // 4] - self.first_entry(session, argument)) // 4

    def first_entry(self, session, argument) -> int:
        return session.task.buffers.address(self._array)

    # Kernels

    def prepare(self, k):
        """Prologue of a kernel of the superstep."""
        a = k.a
        self.start, self.end = a.regs("start", "queue_end")
        ends, now, other = a.regs("ends", "now", "other")
        a.li(ends, k.address(f"{self._array}_ends"))
        a.lw(now, ends, self._NOW)
        a.xori(other, now, 4)
        a.sw(other, ends, self._NEXT)           # of all warps the same
        a.add(now, now, ends)
        a.lw(self.end, now, self._ENDS)
        a.add(other, other, ends)
        a.li(self.start, k.address(self._array))
        a.sw(self.start, other, self._ENDS)     # of all warps the same

    def _begin(self, k):
        """Prologue of the pass: a register with the address of the word that counts the entries."""
        a = k.a
        ends, tail = a.regs("ends", "tail")
        a.li(ends, k.address(f"{self._array}_ends"))
        a.lw(tail, ends, self._NEXT)
        a.sw(tail, ends, self._NOW)             # of all warps the same
        a.add(tail, tail, ends)
        return tail

    @staticmethod
    def _room(k, scan, tail, count):
        """Make room for ``count`` entries of each lane: a new register with the address of the
        lane's first. All lanes are active."""
        a = k.a
        entry, total, first = a.regs("entry", "total", "first")
        scan.sums(entry, count)
        scan.last(total, entry)
        a.sub(entry, entry, count)
        a.slli(entry, entry, 2)
        a.slli(total, total, 2)
        k.claim(first, total, tail)
        a.add(entry, entry, first)
        return entry


class List(_List):
    """The vertices of a map, those of a word behind each other and ascending.

    Parameters
    ----------
    made_of : SetMap
    """
    name = QUEUE
    _array = "listed"

    def __init__(self, made_of):
        self._made_of = made_of

    def passes(self, task):
        return [Pass("list", self._make, gathers=False)]

    def _make(self, k):
        a, task, form = k.a, k.task, self._made_of.form
        tail, scan = self._begin(k), Scan(k)
        pointer, end, vertex = a.regs("pointer", "map_end", "vertex")
        word, some, member = a.regs("word", "some", "member")
        self._made_of.first_word(k, pointer)
        k.step(end, 4 * form.words(task), pointer)
        k.lane_index(vertex)
        k.shifted(word, vertex, 2)
        a.add(pointer, pointer, word)
        k.shifted(vertex, vertex, log2(4 * form.vertices))
        a.add(vertex, vertex, k.constant(form.aligned(task)))
        k.phase(1)
        with a.while_uniform(Condition("ltu", pointer, end), "words"):
            none, top = a.label("none"), a.label("vertices")
            a.lw(word, pointer)
            a.snez(some, word)
            a.vote_any(some, some)
            a.beqz(some, none)
            entry = self._room(k, scan, tail, self._ones(k, word, form.bits))
            a.place(top)
            lowest, present = a.regs("lowest", "present")
            a.neg(lowest, word)
            a.and_(lowest, lowest, word)
            a.xor(word, word, lowest)
            a.snez(present, lowest)
            a.addi(lowest, lowest, -1)
            below = self._ones(k, lowest)
            k.shifted(member, below, 2 - log2(form.bits))
            a.add(member, member, vertex)
            with k.only(present):
                a.sw(member, entry)
                a.addi(entry, entry, 4)
            a.snez(some, word)
            a.vote_any(some, some)
            a.bnez(some, top)
            a.place(none)
            k.step(pointer, 4 * task.lanes)
            k.step(vertex, 4 * form.vertices * task.lanes)

    @staticmethod
    def _ones(k, word, apart=1):
        """A new register with the number of ones in ``word``, which are at every place or ``apart``
        places apart: sums of neighbouring fields, until the fields are bytes, and the sum of the
        bytes."""
        a = k.a
        count, other = a.regs("count", "other")
        a.mv(count, word)
        for bits, mask in ((1, 0x5555_5555), (2, 0x3333_3333), (4, 0x0F0F_0F0F)):
            if bits < apart:
                continue
            a.srli(other, count, bits)
            a.and_(other, other, k.constant(mask))
            a.and_(count, count, k.constant(mask))
            a.add(count, count, other)
        a.mul(count, count, k.constant(0x0101_0101))
        a.srli(count, count, 24)
        return count


class ReverseQueue(_List):
    """The vertices that a pull still has to visit, as its operator says.

    Parameters
    ----------
    tests : Input or None
        The operator's input set, by which its edges are tested.
    base : str
        The array in whose addresses vertices are listed.
    """
    name = REVERSE

    def __init__(self, tests, base):
        self._tests, self._array = tests, f"{base}_unfound"
        self.by_words = tests is not None and tests.by_words

    def reserve(self, task):
        if self._array not in task.buffers:         # operators share lists
            super().reserve(task)

    def prepare(self, k):
        super().prepare(k)
        if self._tests is not None:
            self._tests.prepare(k)

    def member_data(self, k, vertex, into):
        self._tests.member_data(k, vertex, into)

    def member(self, k, vertex, data, into):
        self._tests.member(k, vertex, data, into)

    def passes(self, task):
        return [Pass("unfound", self._make, gathers=False)]

    def _make(self, k):
        a, task, algorithm = k.a, k.task, k.algorithm
        tail, scan = self._begin(k), Scan(k)
        array = algorithm.base_array(task)
        algorithm.open_pending(k)
        vertex, *others = members = [
            Vertex(a.reg(f"vertex{index}"), array) for index in range(_AT_ONCE)]
        k.lane_index(vertex.reg)
        k.scaled(vertex.reg, vertex.reg, array, 4 * _AT_ONCE)
        end = k.constant(k.address(array) + 4 * task.graph.num_vertices, "end")
        k.phase(1)
        with a.while_uniform(Condition("ltu", vertex.reg, end), "vertices"):
            none = a.label("none")
            count, some = a.regs("count", "some")
            waiting = a.regs(*(f"waits{index}" for index in range(_AT_ONCE)))
            for index, member in enumerate(others, 1):
                k.step(member.reg, 4 * index, vertex.reg)
            for member, waits in zip(members, waiting):
                algorithm.pending_data(k, member, waits)
            for member, waits in zip(members, waiting):
                algorithm.pending(k, member, waits, waits)
            a.add(count, *waiting[:2])
            for waits in waiting[2:]:
                a.add(count, count, waits)
            a.snez(some, count)
            a.vote_any(some, some)
            a.beqz(some, none)
            entry = self._room(k, scan, tail, count)
            for member, waits in zip(members, waiting):
                with k.only(waits):
                    a.sw(member.reg, entry)
                    a.addi(entry, entry, 4)
            a.place(none)
            k.step(vertex.reg, 4 * _AT_ONCE * task.lanes)


class Map(Input):
    """A map of a list's vertices, or of the vertices of a map in the other form.

    Made of a map, each of its words is written anew. Made of a list, it must be clear before the
    pass. So there are two maps, and the superstep's kernels clear the map that they do not read.

    Parameters
    ----------
    name : str
        ``"bitmap"`` or ``"bytemap"``.
    made_of : SetList or SetMap
    """
    _MAPS = "made_map", "other_made_map"
    _WHICH, _NEXT, _NOW = "which_map", 0, 4

    def __init__(self, name, made_of):
        self.name, self._form, self._made_of = name, FORMS[name], made_of

    def reserve(self, task):
        words = self._form.words(task)
        if not self._made_of.listed:
            words = max(words, self._units(task) * (1 if self._makes_bits else _BYTES_OF_BITS))
        task.buffers.reserve(self._MAPS[0], words)
        if self._made_of.listed:
            task.buffers.reserve(self._MAPS[1], words)
            task.buffers.reserve(self._WHICH, 2)

    @property
    def _makes_bits(self) -> bool:
        """Whether bits are made, and not bytes."""
        return self.name == "bitmap"

    def _units(self, task) -> int:
        """Words of bits that the pass of a map goes through: as many as the other map
        has, and a part of a word counts."""
        words = self._made_of.form.words(task)
        return -(-words // _BYTES_OF_BITS) if self._makes_bits else words

    def fill(self, task):
        """Fill the buffers."""
        if self._made_of.listed:
            task.buffers.fill(self._WHICH, self._places(task)[[0, 0]])

    def _places(self, task):
        """The addresses of the maps, less the first place."""
        addresses = [task.buffers.address(name) for name in self._MAPS[:1 + self._made_of.listed]]
        return np.array([address - self._form.first(task) & 0xFFFF_FFFF for address in addresses],
                        np.uint32)

    def passes(self, task):
        return [Pass("map", self._of_list if self._made_of.listed else self._of_map,
                     gathers=False)]

    # Kernels

    def prepare(self, k):
        """Prologue of a kernel of the superstep."""
        a, places = k.a, [int(place) for place in self._places(k.task)]
        self._read = a.reg("map_read")
        if not self._made_of.listed:
            a.li(self._read, places[0])
            return
        which, other = a.regs("which", "other")
        a.li(which, k.address(self._WHICH))
        a.lw(self._read, which, self._NOW)
        a.li(other, sum(places) & 0xFFFF_FFFF)
        a.sub(other, other, self._read)
        a.sw(other, which, self._NEXT)          # of all warps the same
        if k.clears:
            first = a.reg("first")
            a.li(first, self._form.first(k.task))
            a.add(other, other, first)
            clear(k, other, self._form.words(k.task))

    def member_data(self, k, vertex, into):
        self._form.data(k, vertex, self._read, into)

    def member(self, k, vertex, data, into):
        self._form.member(k, vertex, data, into)

    def _of_list(self, k):
        a, task = k.a, k.task
        which, start, index = a.regs("which", "map_start", "index")
        entry, end, inside = a.regs("entry", "end", "inside")
        vertex = Vertex(a.reg("vertex"), task.algorithm.base_array(task))
        a.li(which, k.address(self._WHICH))
        a.lw(start, which, self._NEXT)
        a.sw(start, which, self._NOW)           # of all warps the same
        self._made_of.entries(k, entry, end)
        k.lane_index(index)
        a.slli(index, index, 2)
        a.add(entry, entry, index)
        k.phase(1)
        with a.while_uniform(Condition("ltu", entry, end), "entries"):
            a.lw(vertex.reg, entry)
            a.sltu(inside, entry, end)
            with k.only(inside):
                self._form.put(k, vertex, start)
            k.step(entry, 4 * task.lanes)

    def _of_map(self, k):
        """A lane has a word of bits in a turn, and the words of bytes of the same vertices. It may
        read some words behind the map of bytes, for vertices that do not exist."""
        a, task, to_bits = k.a, k.task, self._makes_bits
        units = self._units(task)
        source, target, end = a.regs("source", "target", "map_end")
        index = a.reg("index")
        bits, bytes_ = (target, source) if to_bits else (source, target)
        self._made_of.first_word(k, source)
        a.li(target, k.address(self._MAPS[0]))
        k.step(end, 4 * units, bits)
        k.lane_index(index)
        a.slli(index, index, 2)
        a.add(bits, bits, index)
        k.shifted(index, index, log2(_BYTES_OF_BITS))
        a.add(bytes_, bytes_, index)
        inside = a.reg("inside")
        k.phase(1)
        with a.while_uniform(Condition("ltu", bits, end), "words"):
            a.sltu(inside, bits, end)
            with k.only(inside):
                (self._to_bits if to_bits else self._to_bytes)(k, source, target)
            k.step(bits, 4 * task.lanes)
            k.step(bytes_, 4 * _BYTES_OF_BITS * task.lanes)

    @staticmethod
    def _to_bits(k, source, target):
        a = k.a
        words = a.regs(*(f"word{index}" for index in range(_BYTES_OF_BITS)))
        gathers = k.constant(0x1020_4080)       # bytes of 0 or 1, to the upper four bits
        for index, word in enumerate(words):
            a.lw(word, source, 4 * index)
        for index, word in enumerate(words):
            a.mul(word, word, gathers)
            a.srli(word, word, 28)
            k.shifted(word, word, 4 * index)
            if index:
                a.or_(words[0], words[0], word)
        a.sw(words[0], target)

    @staticmethod
    def _to_bytes(k, source, target):
        a = k.a
        word, part = a.regs("word", "part")
        spreads, ones = k.constant(0x0020_4081), k.constant(0x0101_0101)
        a.lw(word, source)
        for index in range(_BYTES_OF_BITS):
            a.andi(part, word, 15)
            a.mul(part, part, spreads)
            a.and_(part, part, ones)
            a.sw(part, target, 4 * index)
            a.srli(word, word, 4)
