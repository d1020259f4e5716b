"""Rounds a number to a float or to an integer."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.float.format import FLAGS, FloatFormat, packed
from hw.operations import RoundingMode


__all__ = ["Rounder", "exact_layout"]


def exact_layout(form: FloatFormat):
    """A number before it is rounded.

    ``value`` has the highest bit at the top: below 2.0 with ``exponent`` in the format's bias, or
    an integer of ``format.width`` bits with ``to_integer``; the last bit also stands for all that
    lies lower. A number below 1.0 has exponent 1. ``is_outside``: the integer has more bits.
    ``unsigned``: the integer's type.
    """
    return data.StructLayout({
        "mode": RoundingMode, "sign": 1, "exponent": form.exponent + 2,
        "value": form.width + 2, "to_integer": 1, "unsigned": 1, "is_outside": 1,
    })


class Rounder(wiring.Component):
    """Rounds a number. Combinational.

    Members
    -------
    exact : In(exact_layout)
    result : Out(format.width)
    flags : Out(FLAGS)
        Underflow is found after rounding, as RISC-V wants it. An integer that is too large gives
        the nearest integer of its type, and is invalid.
    """
    def __init__(self, form: FloatFormat):
        self._form = form
        super().__init__({"exact": In(exact_layout(form)), "result": Out(form.width),
                          "flags": Out(FLAGS)})

    def elaborate(self, platform):
        m = Module()
        form, exact, flags = self._form, self.exact, self.flags
        value, sign = exact.value, exact.sign
        precision = form.precision

        def up(odd, half, rest):
            """Whether a magnitude is rounded up."""
            mode = exact.mode
            away = Mux(sign, mode == RoundingMode.DOWN, mode == RoundingMode.UP)
            nearest = half & ((mode == RoundingMode.AWAY) | rest | odd)
            directed = Cat(mode == one for one in (RoundingMode.ZERO, RoundingMode.DOWN,
                                                   RoundingMode.UP)).any()
            return Mux(directed, away & (half | rest), nearest)

        significand = value[-precision:]
        half, rest = Signal(), Signal()
        half_float, rest_float = value[-precision - 1], value[:-precision - 1].any()
        m.d.comb += [half.eq(Mux(exact.to_integer, value[1], half_float)),
                     rest.eq(Mux(exact.to_integer, value[0], rest_float))]
        is_normal = significand[-1]
        field = Signal(form.exponent + 2)
        base, magnitude = Signal(form.width), Signal(form.width + 1)
        increments, negative = Signal(), Signal()
        m.d.comb += [
            field.eq(Mux(is_normal, exact.exponent, 0)),
            base.eq(Mux(exact.to_integer, value[2:], Cat(significand[:-1], field))),
            increments.eq(up(base[0], half, rest)),
            negative.eq(exact.to_integer & sign),
            # Minus the sum of x and 1 is the complement of x; minus x is that and 1.
            magnitude.eq((base ^ negative.replicate(form.width)) + (increments ^ negative)),
        ]
        inexact = half | rest
        # To be tiny is to be below the smallest normal number when rounded with as many bits as a
        # normal number has: a bit lower than a subnormal one is.
        reaches = significand[:-1].all() & half_float & up(
            Const(1), value[-precision - 2], value[:-precision - 2].any())
        overflows = Signal()
        m.d.comb += overflows.eq(
            (field >= form.special) | (magnitude[form.fraction:form.width - 1].all()))
        to_infinity = Signal()
        m.d.comb += to_infinity.eq(up(Const(1), Const(1), Const(1)))
        largest = packed(form, sign, form.special - 1, (1 << form.fraction) - 1)
        infinity = packed(form, sign, form.special, 0)

        high = value[-1]
        outside = Signal()
        nothing = ~base.any() & ~increments
        m.d.comb += outside.eq(exact.is_outside | Mux(
            exact.unsigned, sign & ~nothing,
            Mux(sign, high & base[:-1].any(), high)))
        limit = Mux(exact.unsigned, (~sign).replicate(form.width),
                    Cat((~sign).replicate(form.width - 1), sign))
        with m.If(exact.to_integer):
            m.d.comb += [
                self.result.eq(Mux(outside, limit, magnitude)),
                flags.invalid.eq(outside), flags.inexact.eq(inexact & ~outside),
            ]
        with m.Else():
            m.d.comb += [
                self.result.eq(Mux(overflows, Mux(to_infinity, infinity, largest),
                                   Cat(magnitude[:form.width - 1], sign))),
                flags.overflow.eq(overflows), flags.inexact.eq(inexact | overflows),
                flags.underflow.eq(~is_normal & inexact & ~reaches),
            ]
        return m
