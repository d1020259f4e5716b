"""Going through a list in blocks, and the sinks of the kept elements.

A block is a few *windows* of one element per lane. The loads of a block are under way together.
Blocks are even work, so the warps take them in turn.

A sink takes the kept elements. :class:`Append` compacts at once: lanes that keep an element store
it at the end of its list, by an atomic addition. :class:`Bits` leaves a bit for each element, by a
vote per window, for a later compaction.
"""

import contextlib
import dataclasses

from sw.kernels.assembler import Condition


__all__ = ["Append", "Bits", "Block", "Blocks", "Output", "any_of", "load_bits",
           "load_both", "marked"]


#: Windows whose loads are under way together, if there are registers for them.
_WINDOWS = 4


@dataclasses.dataclass(frozen=True)
class Output:
    """The elements that are kept for one reason.

    Parameters
    ----------
    bits : str
        Buffer of the bits that mark the kept elements.
    lists : tuple of str
        The lists that the elements are added to: elements, then the values beside the elements.
    """
    bits: str
    lists: tuple


@dataclasses.dataclass(frozen=True)
class Block:
    """A block in a kernel.

    Parameters
    ----------
    here : Register
        Address of the lane's element in the first window.
    bits : list of Register
        Address of the block's bits in each bit vector.
    groups : list of list of int
        Windows, as offsets from ``here``, in groups whose loads are under way together.
    """
    here: object
    bits: list
    groups: list


def _grouped(task, bits):
    """Windows of a block, by groups, as bytes from the first window. With ``bits``, a block has
    whole bytes of bits."""
    lanes = task.config.threads
    together = task.schedule.at_once(_WINDOWS)
    count = max(1, -(-8 // (lanes * together))) if bits else 1
    return [[4 * lanes * (group * together + window) for window in range(together)]
            for group in range(count)]


class Blocks:
    """The blocks of a list, in a kernel.

    Make it as early in the prologue as possible: warps without a block end there.

    Parameters
    ----------
    k : Kernel
    start : int or Register
        Address of the list.
    end : Register
        Address behind its last element; the last block may go beyond.
    bits : sequence of str
        Buffers of bits that the kernel goes through beside the list.
    """

    def __init__(self, k, start, end, bits=()):
        a, config = k.a, k.task.config
        self._k, self._bits, self._end = k, bits, end
        self._groups = _grouped(k.task, bool(bits))
        self._size = config.threads * sum(map(len, self._groups))
        self._stride = self._size * k.task.warps * config.cores
        self._here, *self._pointers = map(k.a.reg, ("element", *bits))
        self._done = a.label("no_block")
        index = a.reg("index")
        k.lane_index(index, per_warp=self._size)
        if isinstance(start, int):
            k.scaled(self._here, index, start)
        else:
            a.slli(self._here, index, 2)
            a.add(self._here, self._here, start)
        a.branch(~self._more, self._done)
        a.andi(index, index, -self._size)
        a.srli(index, index, 3)
        for name, pointer in zip(bits, self._pointers):
            k.scaled(pointer, index, name, width=1)

    @property
    def _more(self):
        return Condition("ltu", self._here, self._end)      # lane 0 has the block's first element

    def _steps(self):
        return [(self._here, 4 * self._stride),
                *((pointer, self._stride // 8) for pointer in self._pointers)]

    @contextlib.contextmanager
    def each(self, after=None):
        """The body for each block. ``after()`` emits the last work of warps that have had a block.
        """
        k, a = self._k, self._k.a
        top = a.place("block")
        yield Block(self._here, self._pointers, self._groups)
        for register, distance in self._steps():
            k.step(register, distance)
        a.branch(self._more, top)
        if after is not None:
            after()
        a.place(self._done)


class Append:
    """Compaction by the lanes that keep an element.

    Parameters
    ----------
    outputs : sequence of Output
    """
    bits = ()

    def __init__(self, outputs):
        self._outputs = outputs

    def prepare(self, k, tails):
        """Prologue; ``tails`` are registers with the address of the word of each output that tells
        where its list ends."""
        self._tails = tails
        self._word = k.constant(4, "word")

    def keep(self, k, number, chosen, otherwise, words):
        """The active lanes in which ``chosen`` is 1 keep their element in output ``number``, as
        ``words``. Go to ``otherwise`` if there are no such lanes."""
        a, lists = k.a, self._outputs[number].lists
        k.narrow(chosen, otherwise)
        place = a.reg("place")
        a.amoadd_w(place, self._word, self._tails[number])
        a.sw(words[0], place)
        for word, name, other in zip(words[1:], lists, lists[1:]):
            a.add(place, place, k.distance(name, other))
            a.sw(word, place)

    def note(self, k, block, group, window, number, chosen):
        """All lanes: ``chosen`` says whether a window's element is kept."""

    def begin(self, k, block):
        """A block begins."""

    def nothing(self, k, block, group):
        """No element of a group is kept."""

    def finish(self, k, block):
        """A block has been gone through."""


class Bits:
    """A bit vector for each output.

    If a group of windows has whole words of bits, the words are stored at once. Otherwise a
    register collects the block's bits.
    """

    def __init__(self, outputs):
        self.bits = tuple(output.bits for output in outputs)

    def prepare(self, k, tails):
        """Prologue."""

    def keep(self, k, number, chosen, otherwise, words):
        """Emit nothing: the bits mark the kept elements."""

    def begin(self, k, block):
        """A block begins."""
        self._lanes = k.task.config.threads
        self._whole = self._lanes * len(block.groups[0]) >= 32
        self._words = k.a.regs(*(f"bits_{name}" for name in self.bits))
        if not self._whole:
            for word in self._words:
                k.a.mv(word, k.a.zero)

    def note(self, k, block, group, window, number, chosen):
        """All lanes: ``chosen`` says whether a window's element is kept."""
        a, word = k.a, self._words[number]
        place = block.groups[group][window] // 4
        if self._whole and place % 32 == 0:
            a.vote_ballot(word, chosen)
        else:
            ballot = a.reg("ballot")
            a.vote_ballot(ballot, chosen)
            k.shifted(ballot, ballot, place % 32)
            a.or_(word, word, ballot)
        if self._whole and (place + self._lanes) % 32 == 0:
            a.sw(word, block.bits[number], place // 32 * 4)

    def nothing(self, k, block, group):
        """No element of a group is kept."""
        if self._whole:
            first, size = block.groups[group][0] // 4, self._lanes * len(block.groups[group])
            for pointer in block.bits:
                for place in range(first, first + size, 32):
                    k.a.sw(k.a.zero, pointer, place // 32 * 4)

    def finish(self, k, block):
        """A block has been gone through."""
        if self.bits and not self._whole:
            size = self._lanes * sum(map(len, block.groups))
            store = {1: k.a.sb, 2: k.a.sh, 4: k.a.sw}[size // 8]
            for word, pointer in zip(self._words, block.bits):
                store(word, pointer)


def load_both(k, block, group, list_, other):
    """Load a group's elements of a list and the values beside them. Returns two lists of new
    registers, with one register for each window."""
    a, places = k.a, block.groups[group]
    elements, values = (a.regs(*(f"{name}{window}" for window in range(len(places))))
                        for name in ("element", "value"))
    beside = a.reg("beside")
    a.add(beside, block.here, k.distance(list_, other))
    for element, value, place in zip(elements, values, places):
        a.lw(element, block.here, place)
        a.lw(value, beside, place)
    return elements, values


def any_of(k, predicates):
    """A register that is not 0 where any of the predicates is not 0. It is new if there are several
    predicates."""
    if len(predicates) == 1:
        return predicates[0]
    some = k.a.reg("some")
    k.a.or_(some, predicates[0], predicates[1])
    for predicate in predicates[2:]:
        k.a.or_(some, some, predicate)
    return some


def load_bits(k, block, group, bits):
    """The bits that :class:`Bits` has left for a group of windows, as words in new registers, equal
    in all lanes."""
    a, lanes = k.a, k.task.config.threads
    size = lanes * sum(map(len, block.groups))
    first, count = block.groups[group][0] // 4, lanes * len(block.groups[group])
    words = a.regs(*(f"bits{number}" for number in range(-(-count // 32))))
    for number, word in enumerate(words):
        k.load(word, bits, min(4, size // 8), (first // 32 + number) * 4)
    if count < size:
        # Other groups have the rest of the word.
        k.shifted(word, word, 32 - first % 32 - count)
        k.shifted(word, word, count - 32)
        k.shifted(word, word, first % 32)
    return words


def marked(k, place, words, lane, into):
    """``into`` = the bit of the lane's element, from the words that :func:`load_bits` gave for its
    group. The element's window begins at bit ``place`` of the first word."""
    a = k.a
    a.addi(into, lane, place % 32)
    a.srl(into, words[place // 32], into)
    a.andi(into, into, 1)
