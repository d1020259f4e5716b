"""Lays out the two parts of a sum: the one with the larger exponent, and the other below it."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.float.format import FloatFormat


__all__ = ["Align"]


class Align(wiring.Component):
    """Shifts the addend or the product to the right in a window. Combinational.

    The one with the larger exponent keeps its place, so one shifter does, and the window is little
    wider than a product. A part that moves so far that it cannot reach the bits that are rounded
    counts only as not zero.

    Members
    -------
    product : In(2 * format.precision)
    addend : In(format.width)
    moves_addend : In(1)
        The addend moves, by ``distance`` and one place. Otherwise the product moves.
    has_product : In(1)
        The product is not 0.
    distance : In(format.shifts)
    inverts : In(1)
        Invert the part that moves.
    fixed, moved : Out(format.window)
        Bit 0 of ``moved`` also stands for all that leaves the window.
    """
    def __init__(self, form: FloatFormat):
        self._form = form
        super().__init__({
            "product": In(2 * form.precision), "addend": In(form.width),
            "moves_addend": In(1), "has_product": In(1), "distance": In(form.shifts),
            "inverts": In(1), "fixed": Out(form.window), "moved": Out(form.window),
        })

    def elaborate(self, platform):
        m = Module()
        form = self._form
        window = form.window
        product = Cat(Const(0, window - 2 * form.precision), self.product)
        addend = Cat(Const(0, window - form.width), self.addend)
        m.d.comb += self.fixed.eq(Mux(self.moves_addend, product, addend))
        # The farthest step leaves nothing of a product to be rounded.
        by = 1 << form.shifts - 1
        far = self.distance[-1]
        value, lost = Signal(window), Signal()
        m.d.comb += [
            value.eq(Mux(self.moves_addend, Mux(far, addend >> by + 1, addend >> 1),
                         Mux(far, 0, product))),
            lost.eq(far & Mux(self.moves_addend, addend[:by + 1].any(), self.has_product)),
        ]
        for level in reversed(range(form.shifts - 1)):
            by, shifts = 1 << level, self.distance[level]
            shifted, loses = Signal(window, name=f"shifted_{level}"), Signal(name=f"lost_{level}")
            m.d.comb += [shifted.eq(Mux(shifts, value >> by, value)),
                         loses.eq(lost | shifts & value[:by].any())]
            value, lost = shifted, loses
        m.d.comb += self.moved.eq(Cat(value[0] | lost, value[1:])
                                  ^ self.inverts.replicate(window))
        return m
