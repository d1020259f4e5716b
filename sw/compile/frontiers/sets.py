"""The sets of a program as frontiers: lists in a pool, with stamps.

A program may have several sets at a time, which its host names, moves and forgets. Each lies in a
*storage* of the pool until nobody names it any more. A storage has a list, of the vertices'
addresses in the program's anchor, in no order and without duplicates, and a stamp for each vertex.
It has two *blocks*, which it uses in turn, one for each set that is made in it:

======  ==========================================================================================
END     address behind the last entry; the kernel that makes the set adds entries by this word
START   address of the list
NUMBER  1 more than in the storage's other block when the set was made. A vertex of the set has this
        number as its stamp, and no vertex has a larger one.
STAMPS  distance from the anchor to the storage's stamps
======  ==========================================================================================

The kernel that makes a set writes its NUMBER, and sets END of the other block to START, which the
next set of the storage will find. The host chooses the blocks of a launch by fields of its
argument (:class:`Fields`), the last bit of which is that of the superstep's number. So there is no
work of the host in memory, and no kernel reads a word that it writes.

Edge operators read a set as a list (``queue``), or test each vertex by its stamp (``counter``).
"""

import dataclasses
from typing import Any

import numpy as np

from base.errors import UserError
from sw.compile.frontiers.frontier import Frontier, Input
from sw.compile.frontiers.queue import Queue
from sw.compile.kernels.distribution import Scan


__all__ = ["ALL", "EMPTY", "Fields", "Made", "Pool", "SetInput", "Superstep", "choose"]


#: The block of the set of all vertices, and of the set without vertices.
ALL, EMPTY = 0, 2

_END, _START, _NUMBER, _STAMPS = range(4)

#: Words of a block, and the logarithm of its bytes.
_WORDS, _SHIFT = 4, 4

#: Most blocks of a kernel's fields.
_COUNTS = 4

#: The blocks begin at a multiple of these bytes, which one instruction loads.
_PAGE = 4096


@dataclasses.dataclass(frozen=True)
class Fields:
    """The fields of a launch's argument: the last bit of the superstep's number, blocks, and a
    number of the host plus one in all bits above, which is 0 for numbers that have no room."""
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

    def block(self, k, index):
        """A register with the address of a block."""
        a, into, source = k.a, k.a.reg("block"), k.given
        if index:
            k.shifted(into, source, _SHIFT - self._place(index))
            source = into
        a.andi(into, source, (1 << self.pool.bits) - 1 << _SHIFT)
        a.add(into, into, k.constant(k.address(self.pool.BLOCKS), "blocks"))
        return into

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
    marks : bool
        Whether each vertex of a set has its stamp, by which the set is read.
    lists : bool
        Whether there are lists. If not, vertices are only counted.
    counts : bool
        Whether vertices are counted in words of the kernel, by the sets' places in its fields, and
        not by END.
    stamped : bool
        Whether any kernel gives stamps. If not, sets have no NUMBER.
    """
    marks, lists, counts, stamped = False, True, False, True
    BLOCKS, COUNTS, _LISTS, _STAMPS = "set_blocks", "set_counts", "set_lists", "set_stamps"

    def __init__(self, storages, anchor):
        self.storages, self.anchor = storages, anchor
        self.bits = (2 * storages - 1).bit_length()

    def reserve(self, task, words):
        """Reserve the buffers; ``words`` are the words of a vertex array."""
        buffers = task.buffers
        buffers.reserve(self.BLOCKS, -(-self.storages * (2 << _SHIFT) // _PAGE), width=_PAGE)
        buffers.reserve(self.COUNTS, _COUNTS)
        buffers.reserve(self._LISTS, self.storages * words)
        buffers.reserve(self._STAMPS, self.storages * words)

    def fill(self, task, sets):
        """Fill the buffers; ``sets`` has the vertices, by the graph's numbers, of the blocks that
        sets begin in."""
        buffers, count = task.buffers, task.graph.num_vertices
        words = buffers.words(self._LISTS) // self.storages
        first = buffers.address(self.anchor)
        blocks = np.zeros((2 * self.storages, _WORDS), np.uint32)
        lists = np.full((self.storages, words), first + 4 * count & 0xFFFF_FFFF, np.uint32)
        stamps = np.zeros((self.storages, words), np.uint32)
        for block, words_of in enumerate(blocks):
            storage = block // 2
            words_of[_START] = words_of[_END] = buffers.address(self._LISTS) + 4 * words * storage
            words_of[_STAMPS] = (buffers.address(self._STAMPS) + 4 * words * storage
                                 - first) % (1 << 32)
        for block, vertices in {ALL: range(count), **sets}.items():
            numbers = np.fromiter(map(task.vertices.number, vertices), np.uint32, len(vertices))
            lists[block // 2, :len(numbers)] = first + 4 * np.sort(numbers)
            stamps[block // 2, numbers] = 1
            blocks[block, _END] += 4 * len(numbers)
            blocks[block, _NUMBER] = 1
        self._counted = np.zeros(_COUNTS, np.uint32)
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
        before, self._counted = self._counted, session.read(self.COUNTS)
        return ((self._counted - before) // 4).tolist()

    def size(self, session, block) -> int:
        """The number of vertices of the set in a block."""
        end, start, *_ = session.read(self.BLOCKS, (block + 1) * _WORDS)[-_WORDS:].tolist()
        return (end - start) // 4


class SetInput:
    """A set that a kernel reads, as its registers.

    Parameters
    ----------
    k : Kernel
        In the prologue.
    fields : Fields
    index : int
        The set's block in the fields.
    """

    def __init__(self, k, fields, index):
        self._block = fields.block(k, index)
        self._k = k

    def list(self):
        """Registers with the addresses of the list's first entry and behind its last."""
        start, end = self._k.a.regs("start", "queue_end")
        self._k.a.lw(start, self._block, 4 * _START)
        self._k.a.lw(end, self._block, 4 * _END)
        return start, end

    def stamp(self):
        """Registers with the distance from the anchor to the stamps, and with the set's number."""
        stamps, number = self._k.a.regs("stamps", "set_number")
        self._k.a.lw(stamps, self._block, 4 * _STAMPS)
        self._k.a.lw(number, self._block, 4 * _NUMBER)
        return stamps, number


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
        Whether lanes may add the same vertex, of which the stamps tell the first.

    Attributes
    ----------
    stamps, number : GeneralRegister
        The distance from the anchor to the stamps, and the stamp of a vertex of the set.
    """
    number: Any = None
    _tail: Any = None

    def __init__(self, k, fields, index, several=False):
        a, self._k, pool = k.a, k, fields.pool
        self._scan: Any = None
        self._count = self.stamps = None
        if not pool.lists:
            self._count = a.reg("added")
            a.mv(self._count, a.zero)
        self._word = k.address(pool.COUNTS) + 4 * index if pool.counts else None
        if self._word is not None and not several and not pool.marks:
            return
        block = self._tail = fields.block(k, index)         # END is its first word
        other, start = a.regs("other_block", "list")
        a.xori(other, block, 4 * _WORDS)
        if self._word is None:
            a.lw(start, block, 4 * _START)
        if pool.stamped:
            self.number = a.reg("set_number")
            a.lw(self.number, other, 4 * _NUMBER)
        if several or pool.marks:
            self.stamps = a.reg("stamps")
            a.lw(self.stamps, block, 4 * _STAMPS)
        if self._word is None:
            a.sw(start, other, 4 * _END)                # of all warps the same, as the next
        if pool.stamped:
            a.addi(self.number, self.number, 1)
            a.sw(self.number, block, 4 * _NUMBER)

    def claim(self, vertex, into):
        """``into`` = 1 in the lane that is the first to give its vertex a stamp, else 0."""
        a, stamp = self._k.a, self._k.a.reg("stamp")
        a.add(stamp, vertex, self.stamps)
        a.amomaxu_w(stamp, self.number, stamp)
        a.sltu(into, stamp, self.number)

    def append(self, vertex):
        """Each active lane adds its vertex, which no other lane adds."""
        if self._count is not None:
            self._k.a.addi(self._count, self._count, 4)
            return
        a, entry = self._k.a, self._k.a.reg("entry")
        a.amoadd_w(entry, self._k.constant(4, "entry_bytes"), self._tail)
        a.sw(vertex, entry)

    def mark(self, vertex):
        """Each active lane's vertex gets its stamp, if vertices have stamps."""
        if self.stamps is not None:
            a, stamp = self._k.a, self._k.a.reg("stamp")
            a.add(stamp, vertex, self.stamps)
            a.sw(self.number, stamp)

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
        """In the prologue, before :meth:`append_chosen`."""
        self._scan = scan

    def append_chosen(self, vertex, chosen):
        """The lanes in which ``chosen`` is 1, and not 0, add their vertices, which no other lane
        adds; all together by one atomic addition of the warp. All lanes are active, here and
        afterwards."""
        k, a = self._k, self._k.a
        if self._count is not None:
            with k.only(chosen, "chosen"):
                self.mark(vertex)
                self.append(vertex)
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
            a.sw(vertex, entry)
            self.mark(vertex)
        a.place(none)


class _SetList(Input):
    """The list of the operator's input set."""
    name = Queue.name
    listed = True

    def __init__(self, fields):
        self._fields = fields

    def fill(self, task):
        """The pool is filled by the program."""

    def prepare(self, k):
        self.start, self.end = SetInput(k, self._fields, 0).list()


class StampTest(Input):
    """The operator's input set, whose vertices are known by their stamps."""
    name = "counter"

    def __init__(self, fields):
        self._fields = fields

    def fill(self, task):
        """The pool is filled by the program."""

    def prepare(self, k):
        self._stamps, self._number = SetInput(k, self._fields, 0).stamp()

    def member_data(self, k, vertex, into):
        k.a.add(into, vertex.reg, self._stamps)
        k.a.lw(into, into)

    def member(self, k, vertex, data, into):
        k.a.sub(into, data, self._number)
        k.a.seqz(into, into)


class WordTest(Input):
    """The operator's input set, whose vertices are known by their words.

    Parameters
    ----------
    operator : sw.compile.lower.operators.EdgeOperator
        Has :meth:`member_data` and :meth:`member`, too.
    """
    name = StampTest.name

    def __init__(self, operator):
        self.member_data, self.member = operator.member_data, operator.member

    def fill(self, task):
        """The pool is filled by the program."""

    def prepare(self, k):
        """The operator has prepared what it needs."""


class Superstep(Frontier):
    """What an edge operator leaves: the set of the vertices that it adds, if it has one.

    Parameters
    ----------
    fields : Fields
    index : int or None
        The set's block in the fields; None if the operator makes no set.
    once : bool
        Whether the operator adds no vertex twice.

    Attributes
    ----------
    number : GeneralRegister
        A word whose last bit is that of the superstep's number.
    all_made : list of Made
        In a kernel: all sets that it makes.
    """
    name = Queue.name

    def __init__(self, fields, index, once):
        super().__init__(True, once, True)
        self._fields, self._index = fields, index

    def prepare(self, k):
        self.number = k.given
        self.all_made = []

    def make(self, k):
        """In the prologue, behind the loads of the input: begin the result."""
        if self._index is not None:
            self._made = Made(k, self._fields, self._index, self._stamped)
            self.all_made.append(self._made)

    def finish(self, k):
        for made in self.all_made:
            made.finish()

    def parity(self, k, into, place=0):
        k.a.andi(into, k.given, 1)
        k.shifted(into, into, place)

    def number_of(self, session, argument):
        return argument & 1

    def claim(self, vertex, into):
        """``into`` = 1 in the lane that is the first to add its vertex, which gets its stamp."""
        self._made.claim(vertex.reg, into)

    def add_new(self, vertex):
        """Add the active lanes' vertices, which no other lane adds."""
        if self._fields.pool.marks:
            self._made.mark(vertex.reg)
        self._made.append(vertex.reg)


def choose(sides) -> list:
    """The frontier and the input, each or None, of each side of a task, whose algorithms are the
    operators of edges of one program. Raises UserError if the plan asks for another kind of
    frontier."""
    if not any(side.algorithm.has_sets for side in sides):
        _check_nothing(sides[0])
    several = sum(side.algorithm.reads(side) for side in sides) > 1
    kinds = [_kind(side, several) for side in sides]
    readers = [(side.algorithm, kind) for side, kind in zip(sides, kinds)
               if side.algorithm.reads(side)]
    sides[0].algorithm.settle(
        any(kind is _SetList for _, kind in readers),
        any(kind is StampTest and not operator.known_by_words for operator, kind in readers),
        sides)
    return [_chosen(side, kind) for side, kind in zip(sides, kinds)]


def _check_nothing(side):
    plan = side.plan
    for what, value in (("frontier", plan.frontier), ("deduplication", plan.deduplicate)):
        if value is not None:
            raise UserError(f"{side.algorithm.name} has no choice of {what}: its operators of "
                            "edges go through all vertices, and none has a result")


def _kind(side, several):
    """The class of a side's input; ``several`` tells whether others read sets, too."""
    operator, plan = side.algorithm, side.plan
    # A split by a counter knows the addresses of lists before they are made, and a format that
    # makes lists of the frontier's rows has room for those of one operator.
    listed = (side.direction == "push" and side.split == "static"
              and Queue.lacks_list(side) is None
              and not (several and side.format.image.virtual))
    kinds: dict[str, Any] = {Queue.name: _SetList} if listed else {}
    kinds[StampTest.name] = StampTest
    asked = plan.frontier or next(iter(kinds))
    if asked not in kinds:
        raise UserError(f"{operator.name} {side.direction} cannot have frontier {asked!r}: the "
                        "sets of a program are lists whose vertices have stamps, which its "
                        f"operators read here as {' or '.join(kinds)}")
    if plan.deduplicate is False:
        raise UserError(f"{operator.name} is deduplicated in any case: the sets of a program have "
                        "each vertex once")
    return kinds[asked]


def _chosen(side, kind):
    operator = side.algorithm
    fields, read = operator.fields, None
    if operator.reads(side):
        read = WordTest(operator) if kind is StampTest and operator.known_by_words \
            else kind(fields)
    if read is None and not operator.makes_set:
        return None, None
    index = int(operator.reads_set) if operator.makes_set else None
    return Superstep(fields, index, not operator.claims(side)), read
