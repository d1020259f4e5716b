"""Finds the place of a sum's highest bit, and shifts the sum there."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2


__all__ = ["LeadingZeros", "normalised"]


class LeadingZeros(wiring.Component):
    """Counts the zeros above the highest bit that is set. Combinational.

    Members
    -------
    value : In(width)
    count : Out(range(2 ** ceil_log2(width)))
        All ones or more than ``width`` if no bit is set.
    """
    def __init__(self, width):
        super().__init__({"value": In(width), "count": Out(ceil_log2(width))})

    def elaborate(self, platform):
        m = Module()
        bits = len(self.count)
        value = Cat(Const(0, (1 << bits) - len(self.value)), self.value)
        # (whether a group of bits is empty, its count), the highest group first
        groups = [(~bit, Const(0, 0)) for bit in reversed(list(value))]
        for level in range(bits):
            merged = []
            for place, ((empty, count), (other_empty, other)) in enumerate(
                    zip(groups[::2], groups[1::2])):
                empties, counted = (Signal(name=f"empty_{level}_{place}"),
                                    Signal(level + 1, name=f"count_{level}_{place}"))
                m.d.comb += [empties.eq(empty & other_empty),
                             counted.eq(Cat(Mux(empty, other, count)[:level], empty))]
                merged.append((empties, counted))
            groups = merged
        m.d.comb += self.count.eq(groups[0][1])
        return m


def normalised(zeros, exponent):
    """How far a sum is shifted to the left: by its leading zeros, but not below exponent 1, where
    subnormal numbers are. ``exponent`` is that of the window's highest bit."""
    room = (exponent - 1)[:len(exponent)]
    return Mux(zeros > room, room, zeros)[:len(zeros)]
