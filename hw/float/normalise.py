"""Shifts the highest bit of a sum to the top."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.float.format import FloatFormat


__all__ = ["Normalise", "unnormalised_layout"]


def unnormalised_layout(form: FloatFormat, bits):
    """A number under way to its place.

    Its value is ``value``, and one unit of the last place more if ``borrow``, and something below
    that if ``rest``. The bits that are shifted in are those of ``borrow``, so that the unit stays
    one of the last place. ``room`` is how far the number may still move; with ``is_free`` there is
    room for all steps that are left.
    """
    return data.StructLayout({
        "value": bits, "borrow": 1, "rest": 1, "room": form.shifts, "is_free": 1})


class Normalise(wiring.Component):
    """Some steps of a shift to the left, each of half as many places as the one before it.
    Combinational.

    A step is taken if the bits that it would shift out are all 0, and if there is room. So zeros
    need not be counted, and numbers below the smallest normal one stay where they are. Bits that
    no step left can bring into the significand or the two bits below are not kept: they only
    change ``rest``.

    Members
    -------
    before : In(unnormalised_layout)
    after : Out(unnormalised_layout)
    shift : Out(format.shifts)
        The steps that were taken.
    is_empty : Out(1)
        The bits that the first step would shift out are 0.
    """
    def __init__(self, form: FloatFormat, levels, bits):
        self._form, self._levels = form, levels
        kept = [bits]
        for level in levels:
            kept.append(min(kept[-1], form.precision + 1 + (1 << level)))
        self._kept = kept[1:]
        super().__init__({"before": In(unnormalised_layout(form, bits)),
                          "after": Out(unnormalised_layout(form, kept[-1])),
                          "shift": Out(form.shifts), "is_empty": Out(1)})

    @property
    def bits(self):
        """Bits of the value afterwards."""
        return self._kept[-1]

    def elaborate(self, platform):
        m = Module()
        before, after = self.before, self.after
        value, rest, is_free, borrow = before.value, before.rest, before.is_free, before.borrow
        for level, kept in zip(self._levels, self._kept):
            by, room = 1 << level, before.room[level]
            taken, empty = self.shift[level], Signal(name=f"empty_{level}")
            m.d.comb += empty.eq(~value[-by:].any())
            if level == self._levels[0]:
                m.d.comb += self.is_empty.eq(empty)
            shifted = Signal(kept, name=f"shifted_{level}")
            differs, free = Signal(name=f"rest_{level}"), Signal(name=f"is_free_{level}")
            dropped = len(value) - kept
            moved = Cat(borrow.replicate(by), value)[:len(value)]
            m.d.comb += [
                taken.eq(empty & (is_free | room)),
                free.eq(is_free | room & ~taken),
                shifted.eq(Mux(taken, moved[dropped:], value[dropped:])),
                # What is dropped has all been shifted in if the step is taken.
                differs.eq(rest | ~taken & (value[:dropped]
                                            ^ borrow.replicate(dropped)).any()),
            ]
            value, rest, is_free = shifted, differs, free
        m.d.comb += [after.value.eq(value), after.borrow.eq(borrow), after.rest.eq(rest),
                     after.room.eq(before.room), after.is_free.eq(is_free)]
        return m
