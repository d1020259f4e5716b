"""The sets of a program in a pool, from which kernels read them, and to which they add.

A program may have several sets at a time, which its host names, moves and forgets. Each lies in a
*storage* of the pool until nobody names it any more. A storage has what the plan asks for:

======  ==========================================================================================
list    the vertices' addresses in the program's anchor, in no order
notes   for each vertex, the address of the entry that counts, if the list may have duplicates
stamps  a word for each vertex
maps    two of them, with a bit or a byte for each vertex (:mod:`.maps`)
======  ==========================================================================================

It has two *blocks*, which it uses in turn, one for each set that is made in it:

======  ==========================================================================================
END     address behind the last entry; the kernel that makes the set adds entries by this word.
        Without a list it only counts them.
START   address of the list
NUMBER  1 more than in the storage's other block when the set was made. A vertex of the set has this
        number as its stamp, and no vertex has a larger one.
STAMPS  distance from the anchor to the storage's stamps
MAP     place of the block's map
COUNT   number of entries behind END, which the Stream Compaction Unit has added
NOTES   distance from the anchor to the storage's notes
======  ==========================================================================================

The kernel that makes a set writes its NUMBER. It sets END of the other block to START, and clears
the map of the other block, which the next set of the storage will find. The host chooses the blocks
of a launch by fields of its argument (:class:`Fields`), the last bit of which is that of the
superstep's number. So there is no work of the host in memory, and no kernel reads a word that it
writes.

A kernel goes through a set's list (:class:`SetList`), or through all vertices and tests each by the
map (:class:`SetMap`) or by its stamp (:class:`StampTest`).
"""

import dataclasses
from typing import Any

import numpy as np

from sw.compile.frontiers.frontier import Input
from sw.compile.frontiers.maps import FORMS, clear
from sw.compile.kernels.distribution import Scan


__all__ = ["ALL", "EMPTY", "Fields", "Made", "Pool", "SetList", "SetMap", "StampTest"]


#: The block of the set of all vertices, and of the set without vertices.
ALL, EMPTY = 0, 2

_END, _START, _NUMBER, _STAMPS, _MAP, _COUNT, _NOTES = range(7)

#: Words of a block, and the logarithm of its bytes.
_WORDS, _SHIFT = 8, 5

#: Most blocks of a kernel's fields.
_COUNTS = 4

#: The blocks begin at a multiple of these bytes, which one instruction loads.
_PAGE = 4096

#: The largest number that is an operand of an instruction.
_LARGEST = (1 << 11) - 1


@dataclasses.dataclass(frozen=True)
class Fields:
    """The fields of a launch's argument: the last bit of the superstep's number, what a pile has
    (:mod:`.pile`), blocks, and a number of the host plus one in all bits above, which is 0 for
    numbers that have no room."""
    pool: "Pool"
    blocks: int  #: Number of blocks.

    @property
    def most(self) -> int:
        """The largest number that the field of the number holds."""
        return (1 << 32 - self._place(self.blocks)) - 2

    def _place(self, index):
        return _SHIFT + index * self.pool.bits

    def word(self, superstep, blocks, number=None) -> int:
        """The argument; without a number if it has no room."""
        word = superstep & 1 | (0 if number is None else number + 1) << self._place(self.blocks)
        for index, block in enumerate(blocks):
            word |= block << self._place(index)
        return word

    def block_of(self, argument, index) -> int:
        """The block in an argument."""
        return argument >> self._place(index) & (1 << self.pool.bits) - 1

    def block(self, k, index):
        """A register with the address of a block."""
        a, into, source = k.a, k.a.reg("block"), k.given
        if index:
            k.shifted(into, source, _SHIFT - self._place(index))
            source = into
        mask = (1 << self.pool.bits) - 1 << _SHIFT
        if mask > _LARGEST:
            a.and_(into, source, k.constant(mask, "block_mask"))
        else:
            a.andi(into, source, mask)
        a.add(into, into, k.constant(k.address(self.pool.BLOCKS), "blocks"))
        return into

    def of_distance(self, k, into, index, distance):
        """``into`` = the field of a block at a distance (:meth:`Pool.distance`)."""
        k.shifted(into, distance, self._place(index) - _SHIFT)

    def of_number(self, k, into, number):
        """``into`` = the field of a number, in a register that holds it plus one, or 0."""
        k.shifted(into, number, self._place(self.blocks))

    def number(self, k, into):
        """``into`` = the number of the host plus one, or 0 if it has no room."""
        k.a.srli(into, k.given, self._place(self.blocks))


class Pool:
    """The memory of a program's sets.

    Parameters
    ----------
    storages : int
        With those of the set of all vertices, and of the set without vertices.
    anchor : str
        The vertex array in whose addresses vertices are known.

    Attributes
    ----------
    lists : bool
        Whether there are lists. If not, vertices are only counted.
    noted : bool
        Whether there are notes.
    marks : bool
        Whether each vertex of a set has its stamp, by which the set is read.
    form : sw.compile.frontiers.maps.Form or None
        The form of the maps, if there are maps.
    counted : bool
        Whether vertices are counted in words of the kernel, by the sets' places in its fields, and
        not by END.
    stamped : bool
        Whether any kernel gives stamps. If not, sets have no NUMBER.
    counts : bool
        Whether the Stream Compaction Unit adds to lists.
    """
    lists, marks, form, counted = True, False, None, False
    stamped, counts, noted = True, False, False
    BLOCKS, COUNTS, _LISTS, _ALL_NOTES = "set_blocks", "set_counts", "set_lists", "set_notes"
    _STAMPS, _MAPS = "set_stamps", "set_maps"

    def __init__(self, storages, anchor):
        self.storages, self.anchor = storages, anchor
        self.bits = (2 * storages - 1).bit_length()

    def keep(self, lists, marks, form, several=False):
        """Settle what a storage has: ``form`` is the name of the maps' form, or None; ``several``
        says that a list may have a vertex several times."""
        self.lists, self.noted, self.marks = lists, lists and several, marks
        self.form = FORMS[form] if form else None

    @property
    def claims_bits(self) -> bool:
        """Whether a vertex's bit tells the first lane that adds it, so that no stamp has to."""
        return self.form is not None and self.form.bits == 1

    def read(self, fields, index):
        """A set as a kernel of vertices reads it, an Input."""
        return SetList(fields, index) if self.lists else SetMap(fields, index)

    def reserve(self, task, words):
        """Reserve the buffers; ``words`` are the words of a vertex array."""
        buffers = task.buffers
        buffers.reserve(self.BLOCKS, -(-self.storages * (2 << _SHIFT) // _PAGE), width=_PAGE)
        buffers.reserve(self.COUNTS, _COUNTS)
        buffers.reserve(self._LISTS, self.storages * self.entries(task, words))
        if self.noted:
            buffers.reserve(self._ALL_NOTES, self.storages * words)
        buffers.reserve(self._STAMPS, self.storages * words)
        if self.form is not None:
            buffers.reserve(self._MAPS, 2 * self.storages * self.form.words(task))

    def entries(self, task, words) -> int:
        """Words of a list: every edge may add a vertex if there may be duplicates."""
        return max(words, task.graph.num_edges + 1 + task.rows_over) if self.noted else words

    def fill(self, task, sets):
        """Fill the buffers; ``sets`` has the vertices, by the graph's numbers, of the blocks that
        sets begin in."""
        buffers, count = task.buffers, task.graph.num_vertices
        room, words = (buffers.words(name) // self.storages
                       for name in (self._LISTS, self._STAMPS))
        first = buffers.address(self.anchor)
        blocks = np.zeros((2 * self.storages, _WORDS), np.uint32)
        lists = np.full((self.storages, room), first + 4 * count & 0xFFFF_FFFF, np.uint32)
        stamps = np.zeros((self.storages, words), np.uint32)
        for block, words_of in enumerate(blocks):
            storage = block // 2
            words_of[_START] = words_of[_END] = buffers.address(self._LISTS) + 4 * room * storage
            words_of[_STAMPS] = (buffers.address(self._STAMPS) + 4 * words * storage
                                 - first) % (1 << 32)
            if self.noted:
                words_of[_NOTES] = (buffers.address(self._ALL_NOTES) + 4 * words * storage
                                    - first) % (1 << 32)
        members = {block: np.sort(np.fromiter(map(task.vertices.number, vertices), np.int64,
                                              len(vertices)))
                   for block, vertices in {ALL: range(count), EMPTY: (), **sets}.items()}
        for block, numbers in members.items():
            lists[block // 2, :len(numbers)] = first + 4 * numbers
            stamps[block // 2, numbers] = 1
            blocks[block, _END] += 4 * len(numbers)
            blocks[block, _NUMBER] = 1
        self._before = np.zeros(_COUNTS, np.uint32)
        if self.noted:
            notes = np.zeros((self.storages, words), np.uint32)
            for block, numbers in members.items():
                notes[block // 2, numbers] = blocks[block, _START] + 4 * np.arange(len(numbers))
            buffers.fill(self._ALL_NOTES, notes.reshape(-1))
        if self.form is not None:
            maps = np.zeros((2 * self.storages, self.form.words(task)), np.uint32)
            for block, numbers in members.items():
                maps[block] = self.form.image(self.form.aligned(task), first + 4 * numbers,
                                              maps.shape[1])
            places = buffers.address(self._MAPS) - self.form.first(task) + 4 * np.arange(
                len(maps), dtype=np.int64) * maps.shape[1]
            blocks[:, _MAP] = places % (1 << 32)
            buffers.fill(self._MAPS, maps.reshape(-1))
        buffers.fill(self.BLOCKS, blocks.reshape(-1))
        buffers.fill(self.COUNTS)
        buffers.fill(self._LISTS, lists.reshape(-1))
        buffers.fill(self._STAMPS, stamps.reshape(-1))

    def argument(self, *sets) -> int:
        """The argument of a kernel that has fields for these sets only."""
        return Fields(self, len(sets)).word(0, [each.block for each in sets])

    def added(self, session) -> list:
        """The numbers of vertices that a kernel has added to the sets of its fields, if they are
        counted. Call this once after each kernel that makes a set."""
        before, self._before = self._before, session.read(self.COUNTS)
        return ((self._before - before) // 4).tolist()

    def size(self, session, block) -> int:
        """The number of vertices of the set in a block."""
        words = self._words(session, block)
        return (words[_END] - words[_START]) // 4 + words[_COUNT]

    def target(self, session, block) -> tuple:
        """As of :class:`~sw.compile.frontiers.queue.ListRing`, of the set in a block."""
        words, word = self._words(session, block), _WORDS * block + _COUNT
        return (words[_END] + 4 * words[_COUNT],
                session.task.buffers.address(self.BLOCKS) + 4 * word, words[_COUNT])

    def first_entry(self, session, block) -> int:
        """The address of the first entry of the set in a block."""
        return self._words(session, block)[_START]

    def _words(self, session, block):
        return session.read(self.BLOCKS, (block + 1) * _WORDS)[-_WORDS:].tolist()

    # On the device: blocks by their distances from the first, in bytes.

    @staticmethod
    def distance(block) -> int:
        """The distance of a block."""
        return block << _SHIFT

    def address(self, k, distance):
        """A new register with the address of the block at a distance."""
        into = k.a.reg("block")
        k.a.add(into, distance, k.constant(k.address(self.BLOCKS), "blocks"))
        return into

    @staticmethod
    def load_size(k, address, into, exact=True):
        """``into`` = the number of vertices of the set in the block at an address, or that number
        times a constant."""
        start = k.a.reg("start")
        k.a.lw(into, address, 4 * _END)
        k.a.lw(start, address, 4 * _START)
        k.a.sub(into, into, start)
        if exact:
            k.a.srli(into, into, 2)


class _Set(Input):
    """A set of the pool that a kernel reads.

    Parameters
    ----------
    fields : Fields
    index : int, optional
        The set's block in the fields.
    """

    def __init__(self, fields, index=0):
        self._fields, self._index = fields, index

    def fill(self, task):
        """The pool is filled by the program."""

    def _load(self, k, words):
        """The registers get words of the block; ``words`` has a word for each."""
        block = self._fields.block(k, self._index)
        for register, word in words.items():
            k.a.lw(register, block, 4 * word)


class SetList(_Set):
    """A set as its list."""
    name = "queue"
    listed = still = True

    @property
    def noted(self):
        return self._fields.pool.noted

    def most_entries(self, task):
        return self._fields.pool.entries(task, task.vertex_words)

    def prepare(self, k):
        self.start, self.end = k.a.regs("start", "queue_end")
        more = {}
        if self.noted:
            self._notes = k.a.reg("notes")
            more[self._notes] = _NOTES
        self.entries(k, self.start, self.end, more)

    def entries(self, k, start, end, more=()):
        """As of :class:`~sw.compile.frontiers.queue.Queue`; ``more`` has further words, by their
        registers."""
        words = {start: _START, end: _END, **dict(more)}
        if not self._fields.pool.counts:
            self._load(k, words)
            return
        count = k.a.reg("count")
        self._load(k, {**words, count: _COUNT})
        k.a.slli(count, count, 2)
        k.a.add(end, end, count)

    def note_data(self, k, vertex, into):
        k.a.add(into, vertex.reg, self._notes)
        k.a.lw(into, into)

    def entry_count(self, session, argument) -> int:
        """As of :class:`~sw.compile.frontiers.queue.Queue`."""
        return self._fields.pool.size(session, self._fields.block_of(argument, self._index))

    def first_entry(self, session, argument) -> int:
        """As of :class:`~sw.compile.frontiers.queue.Queue`."""
        return self._fields.pool.first_entry(session,
                                             self._fields.block_of(argument, self._index))


class SetMap(_Set):
    """A set as its map.

    Attributes
    ----------
    form : Form
    """

    @property
    def form(self):
        return self._fields.pool.form

    @property
    def name(self):
        return self.form.name

    def prepare(self, k):
        self._read = k.a.reg("map_read")
        self._load(k, {self._read: _MAP})

    def first_word(self, k, into):
        """In a pass before a superstep: ``into`` = address of the map."""
        self._load(k, {into: _MAP})
        k.a.add(into, into, k.constant(self.form.first(k.task), "map_first"))

    def member_data(self, k, vertex, into):
        self.form.data(k, vertex, self._read, into)

    def member(self, k, vertex, data, into):
        self.form.member(k, vertex, data, into)


class StampTest(_Set):
    """A set by its vertices' stamps."""
    name = "counter"

    def prepare(self, k):
        self._stamps, self._number = k.a.regs("stamps", "set_number")
        self._load(k, {self._stamps: _STAMPS, self._number: _NUMBER})

    def member_data(self, k, vertex, into):
        k.a.add(into, vertex.reg, self._stamps)
        k.a.lw(into, into)

    def member(self, k, vertex, data, into):
        k.a.sub(into, data, self._number)
        k.a.seqz(into, into)


class Made:
    """A set that a kernel makes, as its registers.

    Parameters
    ----------
    k : Kernel
        In the prologue.
    fields : Fields
    index : int
        The set's block in the fields.
    several : bool
        Whether lanes may add the same vertex, so that one of them must :meth:`claim` it.

    Attributes
    ----------
    pool : Pool
    """

    def __init__(self, k, fields, index, several=False):
        a, pool, self._k, self.pool = k.a, fields.pool, k, fields.pool
        self._scan: Any = None
        self._count = self._tail = None
        if not pool.lists:
            self._count = a.reg("added")
            a.mv(self._count, a.zero)
        self._word = k.address(pool.COUNTS) + 4 * index if pool.counted else None
        stamps = pool.marks or (several and not pool.claims_bits)
        if self._word is not None and not stamps and pool.form is None:
            return
        block = self._tail = fields.block(k, index)         # END is its first word
        other, start = a.regs("other_block", "list")
        a.xori(other, block, 4 * _WORDS)
        if self._word is None:
            a.lw(start, block, 4 * _START)
        self._number = a.reg("set_number") if pool.stamped else None
        if self._number is not None:
            a.lw(self._number, other, 4 * _NUMBER)
        self._stamps = a.reg("stamps") if stamps else None
        if self._stamps is not None:
            a.lw(self._stamps, block, 4 * _STAMPS)
        if pool.noted:
            self._notes = a.reg("notes")
            a.lw(self._notes, block, 4 * _NOTES)
        if self._word is None:
            a.sw(start, other, 4 * _END)                # of all warps the same, as the next
        if pool.counts:
            a.sw(a.zero, other, 4 * _COUNT)
        if self._number is not None:
            a.addi(self._number, self._number, 1)
            a.sw(self._number, block, 4 * _NUMBER)
        if pool.form is not None:
            self._open_map(block, other)

    def _open_map(self, block, other):
        k, a, form = self._k, self._k.a, self.pool.form
        self._map = a.reg("map_add")
        a.lw(self._map, block, 4 * _MAP)
        if k.clears:
            cleared = a.reg("clear")
            a.lw(cleared, other, 4 * _MAP)
            a.add(cleared, cleared, k.constant(form.first(k.task), "map_first"))
            clear(k, cleared, form.words(k.task))

    def _stamp_of(self, vertex):
        """A new register with the address of a vertex's stamp."""
        stamp = self._k.a.reg("stamp")
        self._k.a.add(stamp, vertex.reg, self._stamps)
        return stamp

    def claim(self, vertex, into, key=None):
        """``into`` = 1 in the lane that is the first to claim its vertex, which it must then add,
        else 0. ``key`` is for a set beside a pile (:mod:`.pile`)."""
        k, a = self._k, self._k.a
        if self.pool.claims_bits:
            pointer, bit = a.regs("pointer", "bit")
            self.pool.form.bit(k, vertex, bit)
            self.pool.form.pointer(k, vertex, self._map, pointer)
            a.amoor_w(pointer, bit, pointer)
            a.and_(into, bit, pointer)
            a.seqz(into, into)
            return
        stamp = self._stamp_of(vertex)
        a.amomaxu_w(stamp, self._number, stamp)
        a.sltu(into, stamp, self._number)

    def add(self, vertex, claimed=False):
        """Each active lane adds its vertex, which no other lane adds; ``claimed`` tells whether it
        has claimed it."""
        self.mark(vertex, claimed)
        self.append(vertex)

    def append(self, vertex, number=None):
        """Each active lane adds its vertex, which has been marked; ``number`` is for a set beside a
        pile."""
        k, a = self._k, self._k.a
        if self._count is not None:
            a.addi(self._count, self._count, 4)
            return
        entry = a.reg("entry")
        a.amoadd_w(entry, k.constant(4, "entry_bytes"), self._tail)
        self._store(vertex, entry)

    def _store(self, vertex, entry):
        a = self._k.a
        a.sw(vertex.reg, entry)
        if self.pool.noted:
            note = a.reg("note")
            a.add(note, vertex.reg, self._notes)
            a.sw(entry, note)

    def keep(self, bits, chosen):
        """The lanes in which ``chosen`` is not 0, active or not, note their vertices, which have
        been marked, in :class:`~sw.compile.compaction.contraction.Bits`."""
        bits.keep_chosen(chosen)

    def mark(self, vertex, claimed=False):
        """Each active lane's vertex gets its stamp, and is put into the map."""
        pool = self.pool
        if pool.marks and not claimed:
            self._k.a.sw(self._number, self._stamp_of(vertex))
        if pool.form is not None and not (claimed and pool.claims_bits):
            pool.form.put(self._k, vertex, self._map)

    def finish(self):
        """At the end of the kernel, in all lanes."""
        if self._count is None:
            return
        a, place = self._k.a, self._tail
        if self._word is not None:
            place = a.reg("place")
            a.li(place, self._word)
        a.amoadd_w(a.zero, self._count, place)

    def prepare(self, scan: Scan):
        """In the prologue, before :meth:`add_chosen`."""
        self._scan = scan

    def add_chosen(self, vertex, chosen):
        """The lanes in which ``chosen`` is 1, and not 0, add their vertices, which no other lane
        adds; all together by one atomic addition of the warp. All lanes are active, here and
        afterwards."""
        k, a = self._k, self._k.a
        if self._count is not None:
            with k.only(chosen, "chosen"):
                self.add(vertex)
            return
        none = a.label("none_chosen")
        some, entry, total, first = a.regs("some", "entry", "total", "first")
        a.vote_any(some, chosen)
        a.beqz(some, none)
        self._scan.sums(entry, chosen)
        self._scan.last(total, entry)
        a.sub(entry, entry, chosen)
        a.slli(entry, entry, 2)
        a.slli(total, total, 2)
        k.claim(first, total, self._tail)
        a.add(entry, entry, first)
        with k.only(chosen, "chosen"):
            self._store(vertex, entry)
            self.mark(vertex)
        a.place(none)
