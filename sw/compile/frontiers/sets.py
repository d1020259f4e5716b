"""The sets of a program in a pool, from which kernels read them, and to which they add.

A program may have several sets at a time, which its host names, moves and forgets. Each lies in a
*storage* of the pool until nobody names it any more. A storage has what the plan asks for:

======  ==========================================================================================
list    the vertices' addresses in the program's anchor, in no order
notes   for each vertex, the address of the entry that counts, if the list may have duplicates
stamps  a word for each vertex; one for all storages where stamps are numbers of launches
maps    two of them, with a bit or a byte for each vertex (:mod:`.maps`)
======  ==========================================================================================

It has two *blocks*, which it uses in turn, one for each set that is made in it:

======  ==========================================================================================
END     address behind the last entry; the kernel that makes the set adds entries by this word.
        Without a list it only counts them.
START   address of the list
NUMBER  the stamp of the set's vertices. No vertex has a larger one, unless it is in the next set of
        the storage.
STAMPS  distance from the anchor to the storage's stamps
MAP     place of the block's map
COUNT   number of entries behind END, which the Stream Compaction Unit has added
NOTES   distance from the anchor to the storage's notes
======  ==========================================================================================

The kernel that makes a set prepares the other block for the next set of the storage: it sets END to
START and NUMBER to 1 more than the set's, and clears the map. The host chooses the blocks of a
launch by fields of its argument (:class:`Fields`), the last bit of which is that of the superstep's
number. So there is no work of the host in memory, and no kernel reads a word that it writes. In a
program of one launch, the fields are words of a record in local memory (:class:`Record`), and the
warp that is the host prepares the other block.

A kernel goes through a set's list (:class:`SetList`), or through all vertices and tests each by the
map (:class:`SetMap`) or by its stamp (:class:`StampTest`). The units of the cores may keep the
lists (:mod:`.unit_lists`).
"""

import dataclasses
import enum
from typing import Any

import numpy as np

from sw.compile.frontiers.frontier import QUEUE, VALUES, Input
from sw.compile.frontiers.maps import FORMS, clear
from sw.compile.frontiers.unit_lists import OwnList, UnitLists
from sw.compile.kernels import gathering
from sw.compile.kernels.distribution import Scan


__all__ = ["ALL", "EMPTY", "Fields", "Made", "Pool", "Record", "SetList", "SetMap", "StampTest",
           "lead"]


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


class Record(enum.IntEnum):
    """The bytes of the words of a record, by which a section of a program of one launch gets what
    a kernel gets by its argument, and all warps where they go
    (:mod:`sw.compile.lower.host_kernel`)."""
    SUPERSTEP = 0  #: A number whose last bit is that of the superstep's.
    NUMBER = 4  #: The number of the host.
    SECTION = 8  #: The address of the section.
    LATER = 12  #: Likewise, if only the host knows it.
    ASK = 16  #: The address of two words that differ if all warps may go to SECTION.
    BLOCKS = 20  #: The address of the first block.

    @classmethod
    def size(cls) -> int:
        """Bytes of a record, a power of two."""
        return 32


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

    def block(self, k, index, argument=None):
        """A register with the address of a block; ``argument`` is one with the argument, outside of
        the prologue."""
        a, into = k.a, k.a.reg("block")
        if a.record is not None:
            a.lw(into, a.argument, Record.BLOCKS + 4 * index)
            return into
        source = argument or k.given
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

    def lead(self, k, index):
        """Outside of the prologue: as of :func:`lead`, of a block."""
        argument = k.a.reg("argument")
        k.argument(argument)
        lead(k, self.pool, self.block(k, index, argument))

    def storage(self, k, into, index):
        """``into`` = the number of a block's storage."""
        k.a.srli(into, k.given, self._place(index) + 1)
        k.a.andi(into, into, (1 << self.pool.bits - 1) - 1)

    def launch(self, k, into):
        """``into`` = the number of the launch, above 0, by which lanes claim vertices."""
        if k.a.record is None:
            self.number(k, into)
        else:
            k.a.lw(into, k.a.argument, Record.SUPERSTEP)
            k.a.addi(into, into, 1)

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
    unit : UnitLists or None
        The lists, if the units of the cores keep them.
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
        Whether any kernel gives stamps that are a set's NUMBER. If not, sets have none.
    by_launch : bool
        Whether stamps are numbers of launches, which are in the argument in place of one of the
        host, or of supersteps in a program of one launch. All sets have the same stamps, which only
        tell the first lane that adds a vertex in a launch, unless sets are chained.
    chained : bool
        Whether stamps are numbers of launches, and yet sets are read by them: one operator makes
        each set from the last, and members may wait. A member has the number of the launch that
        reads it. So a vertex that a lane adds is in the next set, and in the last no more.
    counts : bool
        Whether the Stream Compaction Unit adds to lists.
    """
    lists, marks, form, counted, unit = True, False, None, False, None
    stamped, counts, noted, by_launch, chained = True, False, False, False, False
    BLOCK = 1 << _SHIFT  #: Bytes of a block; the storage's other one differs by this bit.
    BLOCKS, COUNTS, _LISTS, _ALL_NOTES = "set_blocks", "set_counts", "set_lists", "set_notes"
    STAMPS, _MAPS = "set_stamps", "set_maps"

    def __init__(self, storages, anchor):
        self.storages, self.anchor = storages, anchor
        self.bits = (2 * storages - 1).bit_length()

    def keep(self, lists, marks, form, several=False, by_unit=False):
        """Settle what a storage has: ``form`` is the name of the maps' form, or None; ``several``
        says that a list may have a vertex several times, ``by_unit`` that units keep the lists."""
        self.lists, self.noted, self.marks = lists, lists and several, marks
        self.unit = UnitLists(self.storages) if by_unit else None
        self.form = FORMS[form] if form else None

    @property
    def ends(self) -> bool:
        """Whether END tells how many vertices a set has."""
        return not self.counted and self.unit is None

    @property
    def leads(self) -> bool:
        """Whether words of the next set of a storage are prepared when a set is made."""
        return self.ends or self.stamped

    def kernels_lead(self, k) -> bool:
        """Whether the kernel that makes a set prepares them."""
        return self.leads and k.a.record is None

    @property
    def claims_bits(self) -> bool:
        """Whether a vertex's bit tells the first lane that adds it, so that no stamp has to."""
        return self.form is not None and self.form.bits == 1

    def read(self, fields, index):
        """A set as a kernel of vertices reads it, an Input."""
        if self.unit is not None:
            return OwnList(fields, index)
        return SetList(fields, index) if self.lists else SetMap(fields, index)

    def reserve(self, task, words):
        """Reserve the buffers; ``words`` are the words of a vertex array."""
        buffers = task.buffers
        buffers.reserve(self.BLOCKS, -(-self.storages * (2 << _SHIFT) // _PAGE), width=_PAGE)
        buffers.reserve(self.COUNTS, _COUNTS)
        if self.unit is not None:
            self.unit.reserve(task)
        else:
            buffers.reserve(self._LISTS, self.storages * self.entries(task, words))
        if self.noted:
            buffers.reserve(self._ALL_NOTES, self.storages * words)
        buffers.reserve(self.STAMPS, words if self.by_launch else self.storages * words)
        if self.form is not None:
            buffers.reserve(self._MAPS, 2 * self.storages * self.form.words(task))

    def entries(self, task, words) -> int:
        """Words of a list: every edge may add a vertex if there may be duplicates."""
        return max(words, task.graph.num_edges + 1 + task.rows_over) if self.noted else words

    def start(self, k, storage) -> int:
        """The address of the list of a storage."""
        return k.address(self._LISTS) + 4 * self._room(k.task) * storage

    def fill(self, task, sets, first_block=EMPTY):
        """Fill the buffers; ``sets`` has the vertices, by the graph's numbers, of the blocks that
        sets begin in, and ``first_block`` is that of the first of chained sets."""
        buffers, count = task.buffers, task.graph.num_vertices
        words = buffers.words(self.STAMPS) // (1 if self.by_launch else self.storages)
        first = buffers.address(self.anchor)
        blocks = np.zeros((2 * self.storages, _WORDS), np.uint32)
        stamps = np.zeros((1 if self.by_launch else self.storages, words), np.uint32)
        for block, words_of in enumerate(blocks):
            storage = block // 2
            if self.unit is None:
                words_of[_START] = words_of[_END] = (
                    buffers.address(self._LISTS) + 4 * self._room(task) * storage)
            words_of[_NUMBER] = 1 + block % 2
            words_of[_STAMPS] = (buffers.address(self.STAMPS) + 4 * words * storage
                                 - first) % (1 << 32)
            if self.noted:
                words_of[_NOTES] = (buffers.address(self._ALL_NOTES) + 4 * words * storage
                                    - first) % (1 << 32)
        members = {block: np.sort(np.fromiter(map(task.vertices.number, vertices), np.int64,
                                              len(vertices)))
                   for block, vertices in {ALL: range(count), EMPTY: (), **sets}.items()}
        if self.chained:
            stamps[0, members[first_block]] = 1
        for block, numbers in members.items():
            if not self.by_launch:
                stamps[block // 2, numbers] = 1
            blocks[block, _END] += 4 * len(numbers)
            blocks[block, _NUMBER], blocks[block ^ 1, _NUMBER] = 1, 2
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
        buffers.fill(self.STAMPS, stamps.reshape(-1))
        members = {block // 2: numbers for block, numbers in members.items()}
        if self.unit is not None:
            self.unit.fill(task, members, self.anchor)
            return
        lists = np.full((self.storages, self._room(task)), first + 4 * count & 0xFFFF_FFFF,
                        np.uint32)
        for storage, numbers in members.items():
            lists[storage, :len(numbers)] = first + 4 * numbers
        buffers.fill(self._LISTS, lists.reshape(-1))

    def _room(self, task):
        """Words of a list."""
        return task.buffers.words(self._LISTS) // self.storages

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
        if self.unit is not None:
            return self.unit.size(session, block // 2)
        words = self._words(session, block)
        return (words[_END] - words[_START]) // 4 + words[_COUNT]

    def target(self, session, block) -> tuple:
        """Of the set in a block: the address behind the list's last entry, the address of the word
        for the unit's count, and this count."""
        words, word = self._words(session, block), _WORDS * block + _COUNT
        return (words[_END] + 4 * words[_COUNT],
                session.task.buffers.address(self.BLOCKS) + 4 * word, words[_COUNT])

    def first_entry(self, session, block) -> int:
        """The address of the first entry of the set in a block."""
        return self._words(session, block)[_START]

    def _words(self, session, block):
        return session.read(self.BLOCKS, (block + 1) * _WORDS)[-_WORDS:].tolist()

    # On the device

    def address(self, k, block) -> int:
        """The address of a block."""
        return k.address(self.BLOCKS) + (block << _SHIFT)

    def stamps(self, k):
        """A register with the distance from the anchor to the stamps of numbers of launches."""
        # Registers are few where edges are, and it is not to be made anew at each of them.
        return k.constant(k.address(self.STAMPS) - k.address(self.anchor), "stamps", kept=True)

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

    def _load(self, k, words):
        """The registers get words of the block; ``words`` has a word for each."""
        block = self._fields.block(k, self._index)
        for register, word in words.items():
            k.a.lw(register, block, 4 * word)


class SetList(_Set):
    """A set as its list."""
    name = QUEUE
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
        """In the prologue, or in a pass before: ``start`` and ``end`` = the addresses of the first
        entry and behind the last; ``more`` has further words, by their registers."""
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

    def walk(self, k, entry) -> int:
        """``entry`` = the address of the lane's first entry; gives the bytes to its next."""
        k.lane_index(entry)
        k.a.slli(entry, entry, 2)
        k.a.add(entry, entry, self.start)
        return 4 * k.task.lanes

    def entry_count(self, session, argument) -> int:
        return self._fields.pool.size(session, self._fields.block_of(argument, self._index))

    def first_entry(self, session, argument) -> int:
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
    """A set by its vertices' stamps.

    Parameters
    ----------
    fields, index
        As of each set.
    later : bool
        Of chained sets: whether the vertices that the kernel adds are taken for members, too. Else
        a member that it adds waits for the next launch.
    """
    name = VALUES

    def __init__(self, fields, index=0, later=False):
        super().__init__(fields, index)
        self._later = later and fields.pool.chained

    def prepare(self, k):
        self._number = k.a.reg("set_number")
        if self._fields.pool.chained:
            self._stamps = self._fields.pool.stamps(k)
            self._fields.launch(k, self._number)
            return
        self._stamps = k.a.reg("stamps")
        self._load(k, {self._stamps: _STAMPS, self._number: _NUMBER})

    def member_data(self, k, vertex, into):
        k.a.add(into, vertex.reg, self._stamps)
        k.a.lw(into, into)

    def member(self, k, vertex, data, into):
        if self._later:
            k.a.sltu(into, data, self._number)
            k.a.xori(into, into, 1)
        else:
            k.a.sub(into, data, self._number)
            k.a.seqz(into, into)


def lead(k, pool, block, storage=None):
    """In one warp at least, before the next superstep: prepare the other block of a set that is
    made, as of :class:`Made`. ``block`` is a register with the address of the set's block,
    ``storage`` the number of its storage, if that is known."""
    a = k.a
    other, start, number = a.regs("other_block", "list", "next_number")
    a.xori(other, block, pool.BLOCK)
    if pool.ends and storage is None:
        a.lw(start, block, 4 * _START)
    if pool.stamped:
        a.lw(number, block, 4 * _NUMBER)
    if pool.ends:
        if storage is not None:
            start = k.constant(pool.start(k, storage))
        a.sw(start, other, 4 * _END)
    if pool.counts:
        a.sw(a.zero, other, 4 * _COUNT)
    if pool.stamped:
        a.addi(number, number, 1)
        a.sw(number, other, 4 * _NUMBER)


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
    """

    def __init__(self, k, fields, index, several=False):
        a, pool, self._k, self._pool = k.a, fields.pool, k, fields.pool
        self._scan: Any = None
        self._count = self._tail = self._block = self._number = self._stamps = None
        if not pool.lists:
            self._count = a.reg("added")
            a.mv(self._count, a.zero)
        self._word = k.address(pool.COUNTS) + 4 * index if pool.counted else None
        self._fields, self._index = fields, index
        stamps = pool.marks or (several and not pool.claims_bits)
        if stamps and pool.by_launch:
            self._number, self._stamps, stamps = a.reg("launch"), pool.stamps(k), False
            fields.launch(k, self._number)
            if pool.chained:
                a.addi(self._number, self._number, 1)
        if not pool.ends and not stamps and pool.form is None:
            return
        block = self._tail = fields.block(k, index)         # END is its first word
        if pool.lists:
            self._block = block             # lanes add by it, so it stays in its register
        if stamps:
            self._number, self._stamps = a.regs("set_number", "stamps")
            a.lw(self._number, block, 4 * _NUMBER)
            a.lw(self._stamps, block, 4 * _STAMPS)
        if pool.noted:
            self._notes = a.reg("notes")
            a.lw(self._notes, block, 4 * _NOTES)
        if pool.form is not None:
            self._open_map(block)

    def open(self):
        """In the first warp of each core, if units keep lists: vertices may be added behind this.
        """
        self._pool.unit.open(self._k, self._fields, self._index)

    def _open_map(self, block):
        k, a, form = self._k, self._k.a, self._pool.form
        self._map = a.reg("map_add")
        a.lw(self._map, block, 4 * _MAP)
        if k.clears:
            cleared = a.reg("clear")
            a.xori(cleared, block, self._pool.BLOCK)
            a.lw(cleared, cleared, 4 * _MAP)
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
        if self._pool.claims_bits:
            pointer, bit = a.regs("pointer", "bit")
            self._pool.form.bit(k, vertex, bit)
            self._pool.form.pointer(k, vertex, self._map, pointer)
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
        if self._pool.unit is not None:
            a.push_vert(vertex.reg)
            return
        if self._count is not None:
            a.addi(self._count, self._count, 4)
            return
        entry = a.reg("entry")
        a.amoadd_w(entry, k.constant(4, "entry_bytes"), self._tail)
        self._store(vertex, entry)

    def _store(self, vertex, entry):
        a = self._k.a
        a.sw(vertex.reg, entry)
        if self._pool.noted:
            note = a.reg("note")
            a.add(note, vertex.reg, self._notes)
            a.sw(entry, note)

    def keep(self, bits, chosen):
        """The lanes in which ``chosen`` is not 0, active or not, note their vertices, which have
        been marked, in :class:`~sw.compile.compaction.contraction.Bits`."""
        bits.keep_chosen(chosen)

    def marks(self, claimed) -> bool:
        """Whether :meth:`mark` does anything."""
        pool = self._pool
        return (pool.marks and not claimed) or (
            pool.form is not None and not (claimed and pool.claims_bits))

    def mark(self, vertex, claimed=False):
        """Each active lane's vertex gets its stamp, and is put into the map."""
        pool = self._pool
        if pool.marks and not claimed:
            self._k.a.sw(self._number, self._stamp_of(vertex))
        if pool.form is not None and not (claimed and pool.claims_bits):
            pool.form.put(self._k, vertex, self._map)

    def finish(self):
        """At the end of the kernel, in all lanes. The last warp of each core prepares the other
        block, if the kernel leads."""
        if self._k.clears and self._pool.kernels_lead(self._k):
            with self._k.last_warp():
                if self._block is None:
                    self._fields.lead(self._k, self._index)
                else:
                    lead(self._k, self._pool, self._block)
        if self._pool.unit is not None:
            gathering.close_list(self._k)
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
        if self._count is not None or self._pool.unit is not None:
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
