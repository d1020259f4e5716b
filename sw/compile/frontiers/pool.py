"""The memory of a program's sets: a pool of storages, and the blocks that tell what is in them.

A program may have several sets at a time, which its host names, moves and forgets. Each lies in a
*storage* of the pool until nobody names it any more. A storage has what the plan asks for:

======  ==========================================================================================
list    the vertices' addresses in the program's anchor, in no order
notes   for each vertex, the address of the entry that counts, if the list may have duplicates
stamps  a word for each vertex; one for all storages where stamps are numbers of launches
maps    two of them, with a bit or a byte for each vertex (:mod:`.maps`)
======  ==========================================================================================

It has two *blocks* (:class:`BlockWord`), which it uses in turn, one for each set that is made in
it.

The kernel that makes a set prepares the other block for the next set of the storage: it sets END to
START and NUMBER to 1 more than the set's, and clears the map. The host chooses the blocks of a
launch by fields of its argument (:class:`Fields`), the last bit of which is that of the superstep's
number. So there is no work of the host in memory, and no kernel reads a word that it writes. In a
program of one launch, the fields are words of a record in local memory (:class:`Record`), and the
warp that is the host prepares the other block.
"""

import dataclasses
import enum

import numpy as np

from sw.compile.frontiers.maps import FORMS
from sw.compile.frontiers.unit_lists import UnitLists


__all__ = ["ALL", "EMPTY", "BlockWord", "Fields", "Pool", "Record", "lead"]


#: The block of the set of all vertices, and of the set without vertices.
ALL, EMPTY = 0, 2

#: Words of a block, and the logarithm of its bytes.
_WORDS, _SHIFT = 8, 5

#: Most blocks of a kernel's fields.
_COUNTS = 4

#: The blocks begin at a multiple of these bytes, which one instruction loads.
_PAGE = 4096

#: The largest number that is an operand of an instruction.
_LARGEST = (1 << 11) - 1


class BlockWord(enum.IntEnum):
    """The words of a block."""
    #: Address behind the last entry; the kernel that makes the set adds entries by this word.
    #: Without a list it only counts them.
    END = 0
    START = 1  #: Address of the list.
    #: The stamp of the set's vertices. No vertex has a larger one, unless it is in the next set of
    #: the storage.
    NUMBER = 2
    STAMPS = 3  #: Distance from the anchor to the storage's stamps.
    MAP = 4  #: Place of the block's map.
    COUNT = 5  #: Number of entries behind END, which the Stream Compaction Unit has added.
    NOTES = 6  #: Distance from the anchor to the storage's notes.


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
                words_of[BlockWord.START] = words_of[BlockWord.END] = (
                    buffers.address(self._LISTS) + 4 * self._room(task) * storage)
            words_of[BlockWord.NUMBER] = 1 + block % 2
            words_of[BlockWord.STAMPS] = (buffers.address(self.STAMPS) + 4 * words * storage
                                          - first) % (1 << 32)
            if self.noted:
                words_of[BlockWord.NOTES] = (buffers.address(self._ALL_NOTES) + 4 * words * storage
                                             - first) % (1 << 32)
        members = {block: np.sort(np.fromiter(map(task.vertices.number, vertices), np.int64,
                                              len(vertices)))
                   for block, vertices in {ALL: range(count), EMPTY: (), **sets}.items()}
        if self.chained:
            stamps[0, members[first_block]] = 1
        for block, numbers in members.items():
            if not self.by_launch:
                stamps[block // 2, numbers] = 1
            blocks[block, BlockWord.END] += 4 * len(numbers)
            blocks[block, BlockWord.NUMBER], blocks[block ^ 1, BlockWord.NUMBER] = 1, 2
        self._before = np.zeros(_COUNTS, np.uint32)
        if self.noted:
            notes = np.zeros((self.storages, words), np.uint32)
            for block, numbers in members.items():
                places = 4 * np.arange(len(numbers))
                notes[block // 2, numbers] = blocks[block, BlockWord.START] + places
            buffers.fill(self._ALL_NOTES, notes.reshape(-1))
        if self.form is not None:
            maps = np.zeros((2 * self.storages, self.form.words(task)), np.uint32)
            for block, numbers in members.items():
                maps[block] = self.form.image(self.form.aligned(task), first + 4 * numbers,
                                              maps.shape[1])
            places = buffers.address(self._MAPS) - self.form.first(task) + 4 * np.arange(
                len(maps), dtype=np.int64) * maps.shape[1]
            blocks[:, BlockWord.MAP] = places % (1 << 32)
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
        return (words[BlockWord.END] - words[BlockWord.START]) // 4 + words[BlockWord.COUNT]

    def target(self, session, block) -> tuple:
        """Of the set in a block: the address behind the list's last entry, the address of the word
        for the unit's count, and this count."""
        words, word = self._words(session, block), _WORDS * block + BlockWord.COUNT
        return (words[BlockWord.END] + 4 * words[BlockWord.COUNT],
                session.task.buffers.address(self.BLOCKS) + 4 * word, words[BlockWord.COUNT])

    def first_entry(self, session, block) -> int:
        """The address of the first entry of the set in a block."""
        return self._words(session, block)[BlockWord.START]

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
        k.a.lw(into, address, 4 * BlockWord.END)
        k.a.lw(start, address, 4 * BlockWord.START)
        k.a.sub(into, into, start)
        if exact:
            k.a.srli(into, into, 2)


def lead(k, pool, block, storage=None):
    """In one warp at least, before the next superstep: prepare the other block of a set that is
    made, as of :class:`Made`. ``block`` is a register with the address of the set's block,
    ``storage`` the number of its storage, if that is known."""
    a = k.a
    other, start, number = a.regs("other_block", "list", "next_number")
    a.xori(other, block, pool.BLOCK)
    if pool.ends and storage is None:
        a.lw(start, block, 4 * BlockWord.START)
    if pool.stamped:
        a.lw(number, block, 4 * BlockWord.NUMBER)
    if pool.ends:
        if storage is not None:
            start = k.constant(pool.start(k, storage))
        a.sw(start, other, 4 * BlockWord.END)
    if pool.counts:
        a.sw(a.zero, other, 4 * BlockWord.COUNT)
    if pool.stamped:
        a.addi(number, number, 1)
        a.sw(number, other, 4 * BlockWord.NUMBER)
