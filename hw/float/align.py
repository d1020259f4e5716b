"""Shifts the addend of a sum to the place that its exponent gives."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.float.format import FloatFormat


__all__ = ["Align"]


class Align(wiring.Component):
    """Shifts an addend to the right in a window. Combinational.

    Members
    -------
    value : In(format.width)
        The addend, at the top of the window.
    distance : In(range(format.window + 1))
    aligned : Out(format.window)
        Bit 0 is also set if a bit that is set leaves the window.
    """
    def __init__(self, form: FloatFormat):
        self._form = form
        super().__init__({"value": In(form.width), "distance": In(range(form.window + 1)),
                          "aligned": Out(form.window)})

    def elaborate(self, platform):
        m = Module()
        window = self._form.window
        value = Cat(Const(0, window - self._form.width), self.value)
        lost = Const(0, 1)
        # From the largest distance on, few bits of the value are set, and few can be lost.
        for level in reversed(range(len(self.distance))):
            by, shifts = 1 << level, self.distance[level]
            shifted, loses = Signal(window, name=f"shifted_{level}"), Signal(name=f"lost_{level}")
            m.d.comb += [shifted.eq(Mux(shifts, value >> by, value)),
                         loses.eq(lost | shifts & value[:by].any())]
            value, lost = shifted, loses
        m.d.comb += self.aligned.eq(Cat(value[0] | lost, value[1:]))
        return m
