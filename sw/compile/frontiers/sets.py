"""The sets of a program in a pool (:mod:`.pool`), from which kernels read them, and to which they
add.

A kernel goes through a set's list (:class:`SetList`), or through all vertices and tests each by the
map (:class:`SetMap`) or by its stamp (:class:`StampTest`). The units of the cores may keep the
lists (:mod:`.unit_lists`).
"""

from typing import Any

from sw.compile.frontiers.frontier import QUEUE, VALUES, Input
from sw.compile.frontiers.maps import clear
from sw.compile.frontiers.pool import BlockWord, lead
from sw.compile.frontiers.unit_lists import OwnList
from sw.compile.kernels import gathering
from sw.compile.kernels.distribution import Scan


__all__ = ["Made", "SetList", "SetMap", "StampTest", "read"]


def read(fields, index):
    """A set as a kernel of vertices reads it, an Input; ``index`` is its block in the fields."""
    pool = fields.pool
    if pool.unit is not None:
        return OwnList(fields, index)
    return SetList(fields, index) if pool.lists else SetMap(fields, index)


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
            more[self._notes] = BlockWord.NOTES
        self.entries(k, self.start, self.end, more)

    def entries(self, k, start, end, more=()):
        """In the prologue, or in a pass before: ``start`` and ``end`` = the addresses of the first
        entry and behind the last; ``more`` has further words, by their registers."""
        words = {start: BlockWord.START, end: BlockWord.END, **dict(more)}
        if not self._fields.pool.counts:
            self._load(k, words)
            return
        count = k.a.reg("count")
        self._load(k, {**words, count: BlockWord.COUNT})
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
        self._load(k, {self._read: BlockWord.MAP})

    def first_word(self, k, into):
        """In a pass before a superstep: ``into`` = address of the map."""
        self._load(k, {into: BlockWord.MAP})
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
    cores : int
        That run the kernel.
    """
    name = VALUES

    def __init__(self, fields, index=0, later=False, cores=1):
        super().__init__(fields, index)
        self._later = later and fields.pool.chained
        self.fresh = self._later and cores > 1

    def prepare(self, k):
        self._number = k.a.reg("set_number")
        if self._fields.pool.chained:
            self._stamps = self._fields.pool.stamps(k)
            self._fields.launch(k, self._number)
            return
        self._stamps = k.a.reg("stamps")
        self._load(k, {self._stamps: BlockWord.STAMPS, self._number: BlockWord.NUMBER})

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
            a.lw(self._number, block, 4 * BlockWord.NUMBER)
            a.lw(self._stamps, block, 4 * BlockWord.STAMPS)
        if pool.noted:
            self._notes = a.reg("notes")
            a.lw(self._notes, block, 4 * BlockWord.NOTES)
        if pool.form is not None:
            self._open_map(block)

    def open(self):
        """In the first warp of each core, if units keep lists: vertices may be added behind this.
        """
        self._pool.unit.open(self._k, self._fields, self._index)

    def _open_map(self, block):
        k, a, form = self._k, self._k.a, self._pool.form
        self._map = a.reg("map_add")
        a.lw(self._map, block, 4 * BlockWord.MAP)
        if k.clears:
            cleared = a.reg("clear")
            a.xori(cleared, block, self._pool.BLOCK)
            a.lw(cleared, cleared, 4 * BlockWord.MAP)
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
