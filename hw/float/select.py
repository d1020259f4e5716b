"""The operations that compute no new number: signs, minimum and maximum, comparisons, classes."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.float.format import FloatFormat
from hw.float.unpack import unpacked_layout
from hw.operations import FloatOp


__all__ = ["FloatSelect"]


class FloatSelect(wiring.Component):
    """Results of SIGN, SELECT, COMPARE and CLASS. Combinational.

    Members
    -------
    op : In(FloatOp)
    kind : In(3)
        The instruction's funct3: of SIGN 0 takes the sign of b, 1 its opposite, 2 the exclusive or;
        of SELECT 0 is the minimum and 1 the maximum; of COMPARE 0 is at most, 1 less, 2 equal.
    a, b : In(format.width)
    a_parts, b_parts : In(unpacked_layout)
    result : Out(format.width)
    invalid : Out(1)
        A NaN that signals, or an ordering of a NaN.
    """
    def __init__(self, form: FloatFormat):
        self._form = form
        super().__init__({
            "op": In(FloatOp), "kind": In(3), "a": In(form.width), "b": In(form.width),
            "a_parts": In(unpacked_layout(form)), "b_parts": In(unpacked_layout(form)),
            "result": Out(form.width), "invalid": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        form, a, b, kind = self._form, self.a_parts, self.b_parts, self.kind
        less, equal, unordered, signals = (Signal(name=name) for name in
                                           ("less", "equal", "unordered", "signals"))
        # -0 is less than +0 for the minimum and the maximum, and equals it in comparisons.
        smaller = self.a[:-1] < self.b[:-1]
        same = self.a[:-1] == self.b[:-1]
        zeros = a.is_zero & b.is_zero
        m.d.comb += [
            less.eq(Mux(a.sign ^ b.sign, a.sign, Mux(a.sign, ~smaller & ~same, smaller))),
            equal.eq(same & (a.sign == b.sign) | zeros),
            unordered.eq(a.is_nan | b.is_nan), signals.eq(a.signals | b.signals),
        ]
        takes_a = Signal()
        sign = Signal()
        number = ~(a.is_zero | a.is_subnormal | a.is_special)
        classes = Cat(
            a.sign & a.is_infinite, a.sign & number, a.sign & a.is_subnormal, a.sign & a.is_zero,
            ~a.sign & a.is_zero, ~a.sign & a.is_subnormal, ~a.sign & number,
            ~a.sign & a.is_infinite, a.signals, a.is_nan & ~a.signals)
        with m.Switch(self.op):
            with m.Case(FloatOp.SIGN):
                m.d.comb += [
                    sign.eq(Mux(kind[1], a.sign ^ b.sign, b.sign ^ kind[0])),
                    self.result.eq(Cat(self.a[:-1], sign)),
                ]
            with m.Case(FloatOp.SELECT):
                m.d.comb += [
                    takes_a.eq(b.is_nan | ~a.is_nan & (less ^ kind[0])),
                    self.invalid.eq(signals),
                    self.result.eq(Mux(a.is_nan & b.is_nan, Const(form.canonical, form.width),
                                       Mux(takes_a, self.a, self.b))),
                ]
            with m.Case(FloatOp.COMPARE):
                m.d.comb += [
                    self.invalid.eq(Mux(kind[1], signals, unordered)),
                    self.result.eq(~unordered & Mux(kind[1], equal, Mux(
                        kind[0], less & ~equal, less | equal))),
                ]
            with m.Default():
                m.d.comb += self.result.eq(classes)
        return m
