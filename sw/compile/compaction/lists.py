"""The edge list, and going through it in blocks.

An element is two words: in :data:`EDGES` the neighbour, in :data:`VALUES` the word beside it, which
is what the algorithm sends or the edge's source (:class:`~sw.compile.algorithm.SentWord`). Each
layout has a few words that tell where its list ends, or the pieces of its list.

A block is a few *windows* of one element per lane. The loads of a block are under way together.
Blocks are even work, so the warps take them in turn.
"""

from sw.compile.asm.assembler import Condition


__all__ = ["EDGES", "VALUES", "Blocks", "block_size", "ends", "fill", "noted_bits", "own",
           "reserve", "reserve_bits"]


#: The neighbour of each edge, and the word beside it.
EDGES, VALUES = "edge_frontier", "value_frontier"

#: Elements behind the end of a list that kernels may read: the largest block of a warp.
_OVER = 256


def own(task, name) -> str:
    """The name of the buffer that a task calls ``name``: each operator of a program has lists of
    its own."""
    return task.layouts[0].array(name)


def ends(layout) -> str:
    """The buffer of the words that tell where a layout's list ends."""
    return layout.array("edge_ends")


def noted_bits(task) -> tuple:
    """The buffers of bits, a bit for each element, that say which neighbours a kernel has added to
    the frontier."""
    return task.frontier.bits if task.schedule.notes and task.frontier is not None else ()


def reserve(task, pieces=1):
    """Reserve the lists, which the layouts use one after the other. Each piece of a list begins
    with a block."""
    words = max(layout.edges for layout in task.layouts) + pieces * _OVER
    for name in (EDGES, VALUES):
        task.buffers.reserve(own(task, name), words)
    for layout in task.layouts:
        task.buffers.reserve(ends(layout), 3 if pieces > 1 else 2)


def reserve_bits(task):
    """Reserve the bits."""
    for name in noted_bits(task):
        task.buffers.reserve(own(task, name), task.buffers.words(own(task, EDGES)) // 32 + 1)


def fill(task):
    """Fill the lists with the padding vertex, so that blocks behind the end of a list can be
    loaded."""
    algorithm, shift = task.algorithm, task.schedule.neighbor_shift(task)
    for name, array, places in ((EDGES, algorithm.neighbor_array(task), shift),
                                (VALUES, algorithm.base_array(task), 0)):
        _, padding = task.vertices.addresses(array, 0)
        task.buffers.fill(own(task, name), rest=padding >> places)


def block_size(task, windows, bits=()):
    """Elements of a block; the parameters are those of :class:`Blocks`."""
    lanes = task.config.threads
    count = max(1, -(-8 // (lanes * windows))) if bits else 1
    return lanes * windows * count


class Blocks:
    """The blocks of the edge list, in a kernel.

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
        a.li(first, k.address(own(k.task, EDGES)))
        a.add(self.here, self.here, first)
        a.add(end, end, first)
        if bits:
            a.andi(index, index, -self._size)
            a.srli(index, index, 3)
            for name, pointer in zip(bits, self.bits):
                k.scaled(pointer, index, own(k.task, name), width=1)

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
            a.add(beside, self.here, k.distance(own(k.task, EDGES), own(k.task, array)))
        for word, place in zip(words, group):
            a.lw(word, beside, place)
        return words
