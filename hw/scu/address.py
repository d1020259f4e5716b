"""The Address Generator: from the vectors of an operation to the words it reads.

The generator has two steps. The Selector goes through the inputs, a beat a cycle. The Selector
keeps the inputs that the bitmask selects and whose count is not 0, each as a first word and a
count. The Expander makes ``count`` elements of each input. A packer follows each step, so that gaps
in a bitmask and short rows do not leave the later blocks half empty.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import and_or

from .beats import Packer, beat_layout
from .registers import ScuOperation


__all__ = ["AddressGenerator", "CostGenerator", "entry_layout", "selection_ports"]


def entry_layout(bits=30):
    """A selected input: its first word, numbered from SOURCE on, and its number of elements."""
    return data.StructLayout({"word": bits, "count": 32})


def selection_ports(width):
    """Members that describe the inputs of an operation."""
    words = stream.Signature(data.ArrayLayout(32, width))
    return {
        "start": In(1), "operation": In(3), "length": In(32), "masked": In(1),
        "bits": In(stream.Signature(width)), "indexes": In(words), "counts": In(words),
    }


class Selector(wiring.Component):
    """Goes through the inputs and keeps the inputs that give elements.

    Latency: none. Throughput: a beat of inputs a cycle.

    Parameters
    ----------
    width : int
        Inputs of a beat.
    bits : int
        Bits of a word's number.

    Members
    -------
    start : In(1)
        Begin with the first of ``length`` inputs.
    operation : In(3)
        A :class:`~hw.scu.registers.ScuOperation`. Holds until the last beat is taken.
    length : In(32)
        Number of inputs, read with ``start``.
    masked : In(1)
        Whether there is a bitmask. Holds until the last beat is taken.
    bits, indexes, counts : In(stream)
        A bit or a word for each input, in beats. A stream is taken only if the operation uses it.
    o : Out(stream(beat_layout(entry_layout)))
        Beats with gaps.
    """
    def __init__(self, width, bits=30):
        self._width = width
        super().__init__({
            **selection_ports(width),
            "o": Out(stream.Signature(beat_layout(entry_layout(bits), width))),
        })

    def elaborate(self, platform):
        m = Module()
        width = self._width
        index = Signal(32)
        left = Signal(32)
        going = Signal()
        indexed = Signal()
        counted = Signal()
        m.d.comb += [
            indexed.eq((self.operation == ScuOperation.ACCESS)
                       | (self.operation == ScuOperation.ACCESS_EXPANSION)),
            counted.eq((self.operation == ScuOperation.REPLICATION)
                       | (self.operation == ScuOperation.ACCESS_EXPANSION)),
        ]
        some = Signal()
        m.d.comb += some.eq(left != 0)
        present = Signal()
        m.d.comb += present.eq((self.bits.valid | ~self.masked)
                               & (self.indexes.valid | ~indexed) & (self.counts.valid | ~counted))
        o = self.o.payload
        taken = Signal()
        m.d.comb += [
            self.o.valid.eq(going & (present | ~some)),
            o.end.eq(left <= width),
            taken.eq(self.o.valid & self.o.ready & some),
            self.bits.ready.eq(taken & self.masked),
            self.indexes.ready.eq(taken & indexed),
            self.counts.ready.eq(taken & counted),
        ]
        for k in range(width):
            count = self.counts.payload[k]
            m.d.comb += [
                o.elements[k].word.eq(Mux(indexed, self.indexes.payload[k], index + k)),
                o.elements[k].count.eq(Mux(counted, count, 1)),
                o.valid[k].eq((left > k) & (self.bits.payload[k] | ~self.masked)
                              & ((count != 0) | ~counted)),
            ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [index.eq(index + width), left.eq(left - width), going.eq(~o.end)]
        with m.If(self.start):
            m.d.sync += [index.eq(0), left.eq(self.length), going.eq(1)]
        return m


class Expander(wiring.Component):
    """Makes ``count`` elements of each entry.

    Latency: one cycle. Throughput: ``width`` elements a cycle, or the rest of a beat of entries.

    Parameters
    ----------
    width : int
        Elements of a beat.
    bits : int
        Bits of a word's number.

    Members
    -------
    advance : In(1)
        Whether an entry's elements are consecutive words. If not, each element is the first word.
    i : In(stream(beat_layout(entry_layout)))
        Packed beats; no count is 0.
    o : Out(stream(beat_layout(bits)))
        Numbers of words. The valid elements of a beat come first.
    """
    def __init__(self, width, bits=30):
        self._width, self._bits = width, bits
        super().__init__({
            "advance": In(1),
            "i": In(stream.Signature(beat_layout(entry_layout(bits), width))),
            "o": Out(stream.Signature(beat_layout(bits, width))),
        })

    def elaborate(self, platform):
        m = Module()
        width = self._width
        held = Signal(beat_layout(entry_layout(self._bits), width))
        busy = Signal()
        o = self.o.payload
        # The elements of this cycle from first[e] to below first[e + 1] belong to entry e.
        first = [Signal(range(width + 1), name=f"first_{e}") for e in range(width + 1)]
        gives = [Signal(range(width + 1), name=f"gives_{e}") for e in range(width)]
        empties = Signal(width)
        for e in range(width):
            count = held.elements[e].count
            room = Signal(range(width + 1), name=f"room_{e}")
            m.d.comb += [
                room.eq(width - first[e]),
                gives[e].eq(Mux(~held.valid[e], 0, Mux(count < room, count, room))),
                first[e + 1].eq(first[e] + gives[e]),
                empties[e].eq(~held.valid[e] | (count == gives[e])),
            ]
        bases = [(held.elements[e].word - Mux(self.advance, first[e], 0))[:self._bits]
                 for e in range(width)]
        for k in range(width):
            owner = Cat((first[e] <= k) & (first[e + 1] > k) for e in range(width))
            m.d.comb += o.elements[k].eq(and_or(owner, bases) + Mux(self.advance, k, 0))
            m.d.comb += o.valid[k].eq(first[width] > k)
        done = Signal()
        room = Signal()
        m.d.comb += [
            done.eq(empties.all()),
            self.o.valid.eq(busy), o.end.eq(held.end & done),
            room.eq(~busy | (self.o.ready & done)),
            self.i.ready.eq(room),
        ]
        with m.If(self.o.ready):
            for e in range(width):
                m.d.sync += [
                    held.elements[e].count.eq(held.elements[e].count - gives[e]),
                    held.valid[e].eq(~empties[e]),
                ]
                with m.If(self.advance):
                    m.d.sync += held.elements[e].word.eq(held.elements[e].word + gives[e])
        with m.If(room):
            m.d.sync += [busy.eq(self.i.valid), held.eq(self.i.payload)]
        return m


class AddressGenerator(wiring.Component):
    """Makes the numbers of the words that an operation reads.

    Latency: three cycles. Throughput: ``width`` inputs and ``width`` elements a cycle.

    Parameters
    ----------
    width : int
        Elements of a beat.
    bits : int
        Bits of a word's number.

    Members
    -------
    start, operation, length, masked, bits, indexes, counts
        As for :class:`Selector`.
    o : Out(stream(beat_layout(bits)))
        Packed beats of words, numbered from SOURCE on.
    """
    def __init__(self, width, bits=30):
        self._width, self._bits = width, bits
        super().__init__({
            **selection_ports(width), "o": Out(stream.Signature(beat_layout(bits, width))),
        })

    def _advances(self):
        """Whether the elements of an input are consecutive words."""
        return self.operation == ScuOperation.ACCESS_EXPANSION

    def elaborate(self, platform):
        m = Module()
        bits = self._bits
        m.submodules.selector = selector = Selector(self._width, bits)
        m.submodules.entries = entries = Packer(entry_layout(bits), self._width)
        m.submodules.expander = expander = Expander(self._width, bits)
        m.submodules.elements = elements = Packer(bits, self._width)
        for name in ("start", "operation", "length", "masked"):
            m.d.comb += getattr(selector, name).eq(getattr(self, name))
        for name in ("bits", "indexes", "counts"):
            connect(m, flipped(getattr(self, name)), getattr(selector, name))
        m.d.comb += expander.advance.eq(self._advances())
        connect(m, selector.o, entries.i)
        connect(m, entries.o, expander.i)
        connect(m, expander.o, elements.i)
        connect(m, elements.o, flipped(self.o))
        return m


class CostGenerator(AddressGenerator):
    """Makes the first part of the cost of each element of STREAM: the word of its input.

    An :class:`AddressGenerator` of operation ACCESS_EXPANSION that takes the inputs' words as
    ``indexes``, and repeats each word instead of counting on from it. The beats are as long as
    those of the generator of the addresses.
    """
    def __init__(self, width):
        super().__init__(width, bits=32)

    def _advances(self):
        return 0
