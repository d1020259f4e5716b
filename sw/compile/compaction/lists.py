"""The edge frontier, and going through it in blocks.

An element is two words: in :data:`EDGES` the neighbour, in :data:`VALUES` the word that arrives
over the edge. If the algorithm sends no words (:attr:`~sw.compile.algorithm.Algorithm.sends`),
the second word is the edge's base. Each layout has two words that tell where its list ends:
superstep s uses word s mod 2.

The unit may make a list in pieces, with three such words (:mod:`sw.compile.compaction.unit`).

A block is a few *windows* of one element per lane. The loads of a block are under way together.
Blocks are even work, so the warps take them in turn.
"""

from hw.isa import Csr
from sw.compile.asm.assembler import Condition


__all__ = ["EDGES", "VALUES", "Bits", "Blocks", "end_word", "ends", "fill", "reserve"]


#: The neighbour of each edge, and the word beside it.
EDGES, VALUES = "edge_frontier", "value_frontier"

#: Elements behind the end of a list that kernels may read: the largest block of a warp.
_OVER = 256


def ends(layout) -> str:
    """The buffer of the words that tell where a layout's list ends."""
    return layout.array("edge_ends")


def reserve(task, pieces=1):
    """Reserve the lists, which the layouts use one after the other. Each piece of a list begins
    with a block."""
    words = max(layout.edges for layout in task.layouts) + pieces * _OVER
    for name in (EDGES, VALUES):
        task.buffers.reserve(name, words)
    for layout in task.layouts:
        task.buffers.reserve(ends(layout), 3 if pieces > 1 else 2)


def fill(task):
    """Fill the lists: neighbours are the padding vertex, so that blocks behind the end of a list
    can be loaded."""
    algorithm = task.algorithm
    _, padding = task.vertices.addresses(algorithm.neighbor_array(task), 0)
    task.buffers.fill(EDGES, rest=padding >> task.schedule.neighbor_shift(task))


def end_word(k, into, layout=None):
    """In the prologue: ``into`` = address of the word that tells where the list of this superstep
    ends, for the kernel's layout or another. The address of the next superstep's word differs in
    bit 2."""
    a = k.a
    if k.task.frontier is not None:
        k.task.frontier.parity(k, into, 2)
    else:
        k.argument(into)
        a.andi(into, into, 1)
        a.slli(into, into, 2)
    first = a.reg("first")
    a.li(first, k.address(ends(layout or k.layout)))
    a.add(into, into, first)


def block_size(task, windows, bits=()):
    """Elements of a block, whose parameters are those of :class:`Blocks`."""
    lanes = task.config.threads
    count = max(1, -(-8 // (lanes * windows))) if bits else 1
    return lanes * windows * count


class Blocks:
    """The blocks of the edge frontier, in a kernel.

    Make it as early in the prologue as possible: warps without a block leave there.

    Parameters
    ----------
    k : Kernel
    end : GeneralRegister
        Bytes of the list; becomes the address behind the last element.
    done : Label
        The place of warps without a block.
    windows : int
        Windows whose loads are under way together, a *group*.
    bits : sequence of str
        Buffers of bits that the kernel goes through beside the list. With them, a block has whole
        bytes of bits.
    start : GeneralRegister, optional
        Number of elements before the first one. The blocks begin with the first whole block behind
        them; the register is changed. Left out, 0.

    Attributes
    ----------
    here : GeneralRegister
        Address of the lane's element in the first window.
    bits : list of GeneralRegister
        Address of the block's bits in each buffer.
    groups : list of list of int
        Windows, as offsets from ``here``, by groups.
    """

    def __init__(self, k, end, done, windows, bits=(), start=None):
        a, config = k.a, k.config
        lanes = config.threads
        self._k, self._end, self._size = k, end, block_size(k.task, windows, bits)
        self.groups = [[4 * lanes * (group * windows + window) for window in range(windows)]
                       for group in range(self._size // (lanes * windows))]
        self._stride = self._size * k.task.warps * config.cores
        index = a.reg("index")
        self.here, *self.bits = map(a.reg, ("element", *bits))
        k.lane_index(index, per_warp=self._size)
        if start is not None:
            a.addi(start, start, self._size - 1)
            a.andi(start, start, -self._size)
            a.add(index, index, start)
        a.slli(self.here, index, 2)
        a.branch(~self._more, done)
        first = a.reg("first")
        a.li(first, k.address(EDGES))
        a.add(self.here, self.here, first)
        a.add(end, end, first)
        if bits:
            a.andi(index, index, -self._size)
            a.srli(index, index, 3)
            for name, pointer in zip(bits, self.bits):
                k.scaled(pointer, index, name, width=1)

    @property
    def _more(self):
        return Condition("ltu", self.here, self._end)       # lane 0 has the block's first element

    def registers(self, group, name) -> list:
        """A new register for each window of a group."""
        return self._k.a.regs(*(f"{name}{window}" for window in range(len(group))))

    def each(self, body):
        """Emit ``body(end)`` for the blocks that the list fills, with ``end`` None, and once more
        for the block in which the list ends, with the register of the address. All lanes are
        active before and after it."""
        k, a = self._k, self._k.a
        whole = a.reg("whole_end")
        a.addi(whole, self._end, -4 * (self._size - 1))
        with a.while_uniform(Condition("ltu", self.here, whole), "blocks"):
            body(None)
            k.step(self.here, 4 * self._stride)
            for pointer in self.bits:
                k.step(pointer, self._stride // 8)
        with a.if_uniform(self._more, "last_block"):
            body(self._end)

    def load(self, group, array, words):
        """Load a group's words of a list into a register for each window. Returns the registers."""
        k, a = self._k, self._k.a
        beside = self.here
        if array != EDGES:
            beside = a.reg("beside")
            a.add(beside, self.here, k.distance(EDGES, array))
        for word, place in zip(words, group):
            a.lw(word, beside, place)
        return words


class Bits:
    """Bits for the elements of the edge frontier, in several buffers: whether the element's
    neighbour is kept, for a later compaction.

    A lane notes in a register that it keeps the element of the present window. A vote makes bits of
    these registers, and words of bits are stored as they are full.

    Parameters
    ----------
    k : Kernel
    blocks : Blocks
        Blocks with the same buffers.
    """

    def __init__(self, k, blocks):
        self._k, self._blocks = k, blocks
        self._lanes = k.config.threads
        self._bits = self._lanes * sum(map(len, blocks.groups))

    def begin(self):
        """A block begins; all lanes are active."""
        self._words = self._k.a.regs(*(f"bits{number}" for number, _ in enumerate(
            self._blocks.bits)))
        self._kept = []

    def choices(self):
        """All lanes: if there are several buffers, a register for each says that the lane does not
        keep its element of the next window. :meth:`keep` may change it."""
        if len(self._words) == 1:
            return
        self._kept = self._k.a.regs(*(f"kept{number}" for number, _ in enumerate(self._words)))
        for register in self._kept:
            self._k.a.mv(register, self._k.a.zero)

    def keep(self, number, chosen):
        """The active lanes keep their elements in a buffer if the last bit of ``chosen`` is 1."""
        self._k.a.andi(self._kept[number], chosen, 1)

    def keep_chosen(self, chosen):
        """For a single buffer: the lanes in which ``chosen`` is not 0 keep their elements, whether
        or not they are active."""
        self._kept = [chosen]

    def window(self, place, some=True):
        """All lanes: the window at an offset is done. Without ``some``, no lane has kept anything
        in it."""
        a, place = self._k.a, place // 4
        some = some and bool(self._kept)        # the algorithm may never add
        for number, (word, pointer) in enumerate(zip(self._words, self._blocks.bits)):
            if some and place % 32 == 0:
                a.vote_ballot(word, self._kept[number])
            elif some:
                ballot = a.reg("ballot")
                a.vote_ballot(ballot, self._kept[number])
                self._k.shifted(ballot, ballot, place % 32)
                a.or_(word, word, ballot)
            elif place % 32 == 0:
                a.mv(word, a.zero)
            if (place + self._lanes) % 32 == 0:
                a.sw(word, pointer, place // 32 * 4)
            elif place + self._lanes == self._bits:
                {1: a.sb, 2: a.sh}[self._bits // 8](word, pointer)

    def load(self, group, into):
        """Load, for each window of a group, whether the lane's element is kept; ``into`` are lists
        of registers, one for each buffer."""
        a = self._k.a
        size = min(4, self._bits // 8)
        lane, word = a.regs("lane", "word")
        a.csrr(lane, Csr.THREAD_ID)
        for registers, pointer in zip(into, self._blocks.bits):
            for register, place in zip(registers, group):
                first = place // 4
                self._k.load(word, pointer, size, first // 32 * 4)
                a.addi(register, lane, first % 32)
                a.srl(register, word, register)
                a.andi(register, register, 1)
