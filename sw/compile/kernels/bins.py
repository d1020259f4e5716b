"""Rows by size: the bins of rows for a lane, for a warp and for a core.

Schedules that divide rows by their number of edges (SparseWeaver, table 4.1: TWC and TWCE) put each
row into the queue of one of three bins. An entry is three words, in three arrays: the base vertex,
the location of the first edge, and the location behind the last. The queues are in global memory
(:class:`DeviceBins`) or in local memory, for each group of a core's warps
(:mod:`sw.compile.kernels.scope`).

A warp appends the rows of its lanes by one scan over the lanes, and by one atomic instruction, in
which a lane for each queue moves the queue's end (:class:`Claim`).
"""

from hw.isa import Csr
from sw.compile.asm.assembler import Condition
from sw.compile.kernels.distribution import Scan
from sw.compile.kernels.kernel import ANY_LANE, Vertex, log2
from sw.compile.kernels.split import split


__all__ = ["BINS", "LANE", "WARP", "CORE", "FIELD", "BinRows", "Claim", "CoreBins", "DeviceBins",
           "store_entry"]


#: The bins.
BINS = range(3)
LANE, WARP, CORE = BINS

#: Bits of a bin's count within a word: a count is at most 32.
FIELD = 8

#: Location in entries that are not used.
_UNUSED = 1 << 30


class Claim:
    """Places at the ends of up to four queues for the lanes of a warp, one queue a bin.

    Parameters
    ----------
    k : Kernel
        In the prologue, with all lanes. A warp has a lane for each bin.
    entry_bytes : int
        Bytes from an entry to the next.
    """

    def __init__(self, k, entry_bytes=4):
        self._k, self._bytes, self._scan = k, entry_bytes, Scan(k)

    def claim(self, counts, tails, bins=None):
        """Claim a place for each entry that the lanes have.

        Parameters
        ----------
        counts : GeneralRegister
            1 in the field of each bin for which the lane has an entry.
        tails : GeneralRegister
            In the lane of each bin, the address of the word with the end of its queue.
        bins : int, optional
            Number of bins; :data:`BINS` if not given.

        Returns
        -------
        GeneralRegister, GeneralRegister
            How many entries lower lanes have, by field; and in the lane of a bin, the end of its
            queue before.
        """
        k, a = self._k, self._k.a
        sums, shift, total, old = a.regs("sums", "shift", "total", "old")
        self._scan.sums(sums, counts)
        self._scan.last(total, sums)
        a.sub(sums, sums, counts)
        a.csrr(shift, Csr.THREAD_ID)
        a.slli(shift, shift, log2(FIELD))
        a.srl(total, total, shift)
        a.andi(total, total, (1 << FIELD) - 1)
        k.times(total, total, self._bytes)
        a.tmc(k.constant((1 << (bins or len(BINS))) - 1, "lanes_of_bins"))
        a.amoadd_w(old, total, tails)
        k.widen()
        return sums, old

    def place(self, sums, old, which, shift):
        """The address of the lane's entry in the queue of a bin, in a new register.

        ``which`` is a register with the bin, and ``shift`` one with the bin times :data:`FIELD`; or
        both are numbers.
        """
        k, a = self._k, self._k.a
        place, start = a.regs("entry", "start")
        if isinstance(which, int):
            k.broadcast(start, old, which)
            k.shifted(place, sums, -shift)
        else:
            a.or_(start, which, k.constant(ANY_LANE, "any_lane"))
            a.shfl_idx(start, old, start)
            a.srl(place, sums, shift)
        a.andi(place, place, (1 << FIELD) - 1)
        k.times(place, place, self._bytes)
        a.add(place, place, start)
        return place


class CoreBins:
    """The queues of a round's rows in the local memory of a group. An entry is three words.

    In a round each lane of the group appends a row at most, or a part of a row for each bin; then
    there is a barrier, and the warps go through the entries. The warps append to one of two sets of
    queues by one of four blocks of words, in turn. While a warp appends, it makes the next block
    ready. So one barrier a round is enough.

    Parameters
    ----------
    k : Kernel
        In the prologue, with all lanes.
    bins : tuple of int
        The bins that have queues.
    """
    _BLOCKS, _SETS = 4, 2
    ENTRY_BYTES = 12

    def __init__(self, k, bins):
        a = k.a
        self._k, self._bins, local = k, bins, k.task.local
        self._first, self._tails = local.address("bin_entries"), local.address("bin_tails")
        self._block, self._half = a.regs("block", "half")       # of this round
        self._own_tail, self._own_start = a.regs("own_tail", "own_start")
        lane = a.reg("lane")
        a.csrr(lane, Csr.THREAD_ID)
        k.scaled(self._own_tail, lane, self._tails)
        # A lane without a bin has a word that nobody reads.
        a.addi(lane, lane, -bins[0])
        k.times(lane, lane, self._capacity(k.task))
        a.li(self._own_start, self._first)
        a.add(self._own_start, self._own_start, lane)
        k.task.scope.move(k, self._own_tail, self._tail_words(k.task))
        k.task.scope.move(k, self._own_start, self._entry_words(k.task, bins))
        a.li(self._block, self._BLOCKS * self._block_bytes)
        a.mv(self._half, a.zero)
        self._ready()

    @property
    def _block_bytes(self):
        return 4 * self._k.config.threads

    @classmethod
    def _capacity(cls, task):
        """Bytes of a queue: an entry for each lane of the group."""
        return cls.ENTRY_BYTES * task.scope.warps * task.config.threads

    @property
    def _set_bytes(self):
        return len(self._bins) * self._capacity(self._k.task)

    @classmethod
    def reserve(cls, task, bins):
        """Reserve local memory. Raises UserError, with sizes, if there is too little."""
        task.scope.reserve(task.local, "bin_tails", cls._tail_words(task))
        task.scope.reserve(task.local, "bin_entries", cls._entry_words(task, bins))

    @classmethod
    def _tail_words(cls, task):
        return cls._BLOCKS * task.config.threads

    @classmethod
    def _entry_words(cls, task, bins):
        return cls._SETS * len(bins) * cls._capacity(task) // 4

    def _ready(self):
        """Go on to the next block and the next set, and empty its queues."""
        k, a = self._k, self._k.a
        tail, start = a.regs("tail", "start")
        size = self._block_bytes
        a.addi(self._block, self._block, size)
        a.andi(self._block, self._block, self._BLOCKS * size - 1)
        a.sub(self._half, k.constant(self._set_bytes, "set_bytes"), self._half)
        a.add(tail, self._own_tail, self._block)
        a.add(start, self._own_start, self._half)
        a.sw(start, tail)

    def begin(self):
        """A round of appending begins. Returns the address for :meth:`Claim.claim`."""
        a = self._k.a
        tail = a.reg("tail")
        a.add(tail, self._own_tail, self._block)
        self._ready()
        return tail

    def ends(self, which):
        """Behind the barrier: registers with the first entry of a bin and the end of its queue."""
        k, a = self._k, self._k.a
        first, end = a.regs("first_entry", "entries_end")
        # The block and the set are those of the next round by now.
        size = self._block_bytes
        a.addi(end, self._block, (self._BLOCKS - 1) * size)
        a.andi(end, end, self._BLOCKS * size - 1)
        a.add(end, end, k.constant(self._tails, "bin_tails"))
        k.task.scope.move(k, end, self._tail_words(k.task))
        a.lw(end, end, 4 * which)
        a.li(first, self._first + self._bins.index(which) * self._capacity(k.task)
             + self._set_bytes)
        a.sub(first, first, self._half)
        k.task.scope.move(k, first, self._entry_words(k.task, self._bins))
        return first, end


def store_entry(k, entry, distance, vertex, begin, end):
    """Store the words of an entry. ``distance`` is that of the three arrays, in bytes."""
    a = k.a
    a.sw(vertex, entry)
    for word in (begin, end):
        if distance < 1024:
            a.sw(word, entry, distance if word is begin else 2 * distance)
            continue
        a.add(entry, entry, k.constant(distance, "to_next_word"))
        a.sw(word, entry)


class DeviceBins:
    """The queues of a layout's rows, or of parts of them, in global memory, one for each bin.

    The buffer ``bin_control`` has two blocks of ends, a word for each bin, and two words that say
    which block is in use. The kernel that appends reads the append word and writes the read word.
    The first kernel that reads goes by the read word; it empties the other block and writes the
    append word. So no kernel changes a word that it reads, and the host writes none.

    Parameters
    ----------
    layout : sw.compile.formats.storage_format.Layout
    more : tuple of int, optional
        For each bin, the entries for which there is room besides one for each row. None for each of
        :data:`BINS` if not given.
    """
    _ARRAYS = "bin_vertices", "bin_firsts", "bin_lasts"

    def __init__(self, layout, more=None):
        self._layout, self._task = layout, layout.task
        self._more = more or (0,) * len(BINS)
        self._block = 4 << (len(self._more) - 1).bit_length()         # bytes of a block
        self._append_word, self._read_word = (self._block // 2 + word for word in range(2))

    @property
    def _entries(self):
        """Entries of all queues."""
        return self._first_entry(len(self._more))

    def _first_entry(self, which):
        """Number of the first entry of a bin."""
        return which * (self._layout.rows + self._task.rows_over) + sum(self._more[:which])

    def reserve(self):
        """Reserve the buffers."""
        buffers, array = self._task.buffers, self._layout.array
        for name in self._ARRAYS:
            buffers.reserve(array(name), self._entries)
        buffers.reserve(array("bin_control"), self._read_word + 1)

    def build(self):
        """Fill the buffers: empty queues, and the padding vertex in unused entries. The locations
        of unused entries are large, because a walk subtracts from them."""
        task, array = self._task, self._layout.array
        base = task.buffers.address(task.algorithm.base_array(task))
        task.buffers.fill(array(self._ARRAYS[0]), rest=base + 4 * task.graph.num_vertices)
        for name in self._ARRAYS[1:]:
            task.buffers.fill(array(name), rest=_UNUSED)
        block = [*map(self.start, range(len(self._more)))]
        block += [0] * (self._block // 4 - len(block))
        task.buffers.fill(array("bin_control"), block + block + [0, 0])

    def start(self, which) -> int:
        """Address of the first entry of a bin."""
        first = self._task.buffers.address(self._layout.array(self._ARRAYS[0]))
        return first + 4 * self._first_entry(which)

    @property
    def distance(self) -> int:
        """Bytes from a word of an entry to the next word."""
        first, second = (self._task.buffers.address(self._layout.array(name))
                         for name in self._ARRAYS[:2])
        return second - first

    @property
    def control(self) -> int:
        """Address of the first block of ends."""
        return self._task.buffers.address(self._layout.array("bin_control"))

    def append(self, k, into, keeps):
        """In the prologue of the kernel that appends: ``into`` = address of the word with the end
        of the lane's bin. With ``keeps``, the block in use is always the first."""
        a, block = k.a, k.a.reg("block_in_use")
        a.csrr(into, Csr.THREAD_ID)
        k.scaled(into, into, self.control)
        if not keeps:
            control = a.reg("bin_control")
            a.li(control, self.control)
            a.lw(block, control, 4 * self._append_word)
            a.sw(block, control, 4 * self._read_word)   # of all warps the same
            a.add(into, into, block)

    def read(self, k, keeps, turns):
        """In the prologue of a kernel that reads: a register with the address of the ends. With
        ``turns``, it is the first such kernel."""
        a = k.a
        ends = a.reg("bin_ends")
        a.li(ends, self.control)
        if keeps:
            return ends
        block = a.reg("block_in_use")
        a.lw(block, ends, 4 * self._read_word)
        if turns:
            other, word = a.regs("other_block", "word")
            a.xori(other, block, self._block)
            a.sw(other, ends, 4 * self._append_word)    # of all warps the same, as all of these
            a.add(other, other, ends)
            for which in range(len(self._more)):
                a.li(word, self.start(which))
                a.sw(word, other, 4 * which)
        a.add(ends, ends, block)
        return ends


class BinRows:
    """The rows of a bin, round after round; each is loaded a round ahead (like
    :class:`~sw.compile.kernels.rows.Rows`).

    Parameters
    ----------
    k : Kernel
    bins : DeviceBins
    which : int
        The bin.
    ends : GeneralRegister
        From :meth:`DeviceBins.read`.
    lanes : int or None
        Neighbouring lanes of a warp that share an entry; None if all lanes of a scope do.
    """
    filtered = False

    def __init__(self, k, bins, which, ends, lanes):
        self._k, self._bins, self._which, self._ends, self._lanes = k, bins, which, ends, lanes
        entries = k.config.threads // lanes if lanes else 1
        self.conditional = entries > 1
        self._split = split(k, 4 * entries, together=lanes is None)
        self.vertex = Vertex(k.a.reg("vertex"), k.algorithm.base_array(k.task))
        self.begin, self.end = k.a.regs("begin", "end")

    def start(self, done):
        """Start the loads of the first round. All lanes are active. A warp without rows goes to
        ``done``."""
        k, a, bins = self._k, self._k.a, self._bins
        self._pointer, self._last = a.regs("bin_entry", "bin_end")
        length, start = a.regs("bin_length", "bin_start")
        a.lw(self._last, self._ends, 4 * self._which)
        a.li(start, bins.start(self._which))
        a.sub(length, self._last, start)
        if self._lanes is None:
            k.task.scope.taker(k, self._pointer)
        else:
            k.lane_index(self._pointer)
            k.shifted(self._pointer, self._pointer, -log2(self._lanes))
        a.slli(self._pointer, self._pointer, 2)
        a.add(self._pointer, self._pointer, start)
        self._split.start(length)
        a.branch(~self._split.more(), done)
        self._load()

    def test(self, into):
        """``into`` = 1 if the lane has a row, else 0."""
        self._k.a.sltu(into, self._pointer, self._last)

    def advance(self):
        """Go on to the next round. All lanes are active."""
        k = self._k
        if self._split.waits:
            k.task.scope.barrier(k)         # all warps have read the last answer
            self._split.offer(self._split.ask())
            k.task.scope.barrier(k)
        self._split.go_on()
        self._split.take(self._pointer)
        self._load()

    def more(self) -> Condition:
        """After :meth:`advance`: whether there is a next round."""
        return self._split.more()

    def _load(self):
        a, distance = self._k.a, self._k.constant(self._bins.distance, "to_next_word")
        word = a.reg("word")
        a.lw(self.vertex.reg, self._pointer)
        a.add(word, self._pointer, distance)
        a.lw(self.begin, word)
        a.add(word, word, distance)
        a.lw(self.end, word)
