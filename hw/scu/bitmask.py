"""The Bitmask Constructor: compares elements with a reference, and packs bits into words."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .beats import beat_layout
from .registers import ScuCompare


__all__ = ["BitPacker", "Comparator"]


class Comparator(wiring.Component):
    """Compares the elements of a beat. Combinational.

    Members
    -------
    compare : In(3)
        A :class:`~hw.scu.registers.ScuCompare`.
    signed : In(1)
        Whether the words are compared as signed numbers.
    reference : In(32)
        The word to compare with.
    elements : In(32).array(width)
        The words to compare.
    holds : Out(width)
        A bit for each element: whether "element COMPARE reference" holds.
    """
    def __init__(self, width):
        self._width = width
        super().__init__({
            "compare": In(3), "signed": In(1), "reference": In(32),
            "elements": In(32).array(width), "holds": Out(width),
        })

    def elaborate(self, platform):
        m = Module()
        # Flipping the sign bits turns a signed comparison into an unsigned one.
        flip = Signal(32)
        m.d.comb += flip.eq(Mux(self.signed, 1 << 31, 0))
        for k in range(self._width):
            equal, less = Signal(name=f"equal_{k}"), Signal(name=f"less_{k}")
            m.d.comb += [
                equal.eq(self.elements[k] == self.reference),
                less.eq((self.elements[k] ^ flip) < (self.reference ^ flip)),
            ]
            with m.Switch(self.compare):
                for compare, holds in ((ScuCompare.EQ, equal), (ScuCompare.NE, ~equal),
                                       (ScuCompare.LT, less), (ScuCompare.GE, ~less),
                                       (ScuCompare.LE, less | equal),
                                       (ScuCompare.GT, ~less & ~equal)):
                    with m.Case(compare):
                        m.d.comb += self.holds[k].eq(holds)
        return m


class BitPacker(wiring.Component):
    """Packs bits into words. The first bit becomes the lowest.

    Latency: one cycle. Throughput: a beat a cycle.

    Parameters
    ----------
    width : int
        Bits of a beat, a divisor of 32.

    Members
    -------
    i : In(stream(beat_layout(1)))
        Beats whose valid bits come first. The beats before the last are all full, or have one
        bit each.
    o : Out(stream(beat_layout(32, 1)))
        Words. The bits behind the last bit are 0. The end comes with the last word, or alone.
    """
    def __init__(self, width):
        self._width = width
        super().__init__({
            "i": In(stream.Signature(beat_layout(1, width))),
            "o": Out(stream.Signature(beat_layout(32, 1))),
        })

    def elaborate(self, platform):
        m = Module()
        width = self._width
        i, o = self.i.payload, self.o.payload
        held = Signal(32)
        position = Signal(6)            # number of bits held
        bits = Signal(width)
        word = Signal(32)
        behind = Signal(6)
        m.d.comb += [
            bits.eq(Cat(i.elements[k] & i.valid[k] for k in range(width))),
            word.eq(held | bits << position[:5]),
            behind.eq(position + sum(i.valid[k] for k in range(width))),
            self.i.ready.eq(~self.o.valid | self.o.ready),
        ]
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(0)
            with m.If(self.i.valid):
                m.d.sync += [held.eq(word), position.eq(behind)]
                with m.If(behind[5] | i.end):
                    m.d.sync += [
                        self.o.valid.eq(1), o.elements[0].eq(word), o.valid.eq(behind != 0),
                        o.end.eq(i.end), held.eq(0), position.eq(0),
                    ]
        return m
