"""Quotients and square roots of floats, two bits a cycle."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.float.format import FLAGS, SINGLE, FloatFormat, packed
from hw.float.round import Rounder
from hw.float.unpack import Unpack
from hw.operations import RoundingMode


__all__ = ["FloatDivideLane"]


class FloatDivideLane(wiring.Component):
    """Divides or takes a root by restoring digits. All steps come from outside, since the
    dividers of a warp go together:

    1. ``load`` takes the operands.
    2. ``normalise`` moves the highest bit of a subnormal operand to the top, a place a cycle, as
       long as ``is_low``.
    3. ``begin``, and then ``steps`` cycles of ``step``, compute two bits of the result each.
    4. ``settle`` moves the result to its place, a bit a cycle, as long as ``is_unsettled``: up to
       the top if it is below 1.0, or down if it is subnormal.

    Then the result stays.

    Members
    -------
    load, normalise, begin, step, settle : In(1)
    root : In(1)
        Take the root of a, and do not divide.
    mode : In(RoundingMode)
    a, b : In(format.width)
        Dividend and divisor.
    is_low, is_unsettled : Out(1)
    is_ready : Out(1)
        The result needs no digits: it is there as soon as the operands have been loaded.
    result : Out(format.width)
    flags : Out(FLAGS)

    Attributes
    ----------
    steps : int
    """
    def __init__(self, form: FloatFormat = SINGLE):
        self._form = form
        # The bits of a significand, one to round by, and one more if the highest is 0.
        self.steps = -(-(form.precision + 2) // 2)
        super().__init__({
            **{name: In(1) for name in ("load", "normalise", "begin", "step", "settle")},
            "root": In(1), "mode": In(RoundingMode),
            "a": In(form.width), "b": In(form.width),
            "is_low": Out(1), "is_unsettled": Out(1), "is_ready": Out(1),
            "result": Out(form.width), "flags": Out(FLAGS),
        })

    def elaborate(self, platform):
        m = Module()
        form, precision = self._form, self._form.precision

        def signal(shape, name):
            return Signal(shape, name=name, reset_less=True)
        roots, sign = signal(1, "roots"), signal(1, "sign")
        mode = signal(RoundingMode, "mode_of_result")
        # Exponent of the square; of a division, already that of the quotient's highest bit.
        exponent = signal(signed(form.exponent + 3), "exponent")
        # ``first`` holds the dividend or square, and then the bits of it that are still to come.
        first, divisor = signal(precision + 2, "first"), signal(precision, "divisor")
        rest, digits = signal(precision + 3, "rest"), signal(2 * self.steps, "quotient")
        lost = signal(1, "lost")
        is_ready, ready, ready_flags = (signal(1, "is_ready"), signal(form.width, "ready"),
                                        signal(FLAGS, "ready_flags"))
        self._load(m, roots, sign, mode, exponent, first, divisor, is_ready, ready, ready_flags)

        low, divisor_low = ~first[precision - 1], ~roots & ~divisor[-1]
        m.d.comb += self.is_low.eq(~is_ready & (low | divisor_low))
        with m.If(self.normalise):
            m.d.sync += exponent.eq(exponent - low + divisor_low)
            with m.If(low):
                m.d.sync += first.eq(first << 1)
            with m.If(divisor_low):
                m.d.sync += divisor.eq(divisor << 1)
        with m.If(self.begin):
            # The square is between 1 and 4, at the top, so that its exponent is even.
            odd = exponent[0]
            m.d.sync += [digits.eq(0), lost.eq(0)]
            with m.If(roots):
                m.d.sync += [
                    rest.eq(0), exponent.eq((exponent + (form.bias - 1) + odd) >> 1),
                    first.eq(Mux(odd, first << 1, first << 2)),
                ]
            with m.Else():
                m.d.sync += [rest.eq(first[1:precision]), first.eq(first[0] << precision + 1)]

        next_rest, next_digits = rest, digits
        for place, two in enumerate((first[-2:], first[-4:-2])):
            minuend, subtrahend, difference = (
                Signal(precision + 5 + extra, name=f"{name}_{place}")
                for name, extra in (("minuend", 0), ("subtrahend", 0), ("difference", 1)))
            fits = ~difference[-1]
            m.d.comb += [
                minuend.eq(Mux(roots, Cat(two, next_rest),
                               Cat(first[-1 - place], next_rest))),
                subtrahend.eq(Mux(roots, Cat(Const(1, 2), next_digits), divisor)),
                difference.eq(minuend - subtrahend),
            ]
            next_rest = Mux(fits, difference, minuend)[:len(rest)]
            next_digits = Cat(fits, next_digits)[:len(digits)]
        with m.If(self.step):
            m.d.sync += [rest.eq(next_rest), digits.eq(next_digits), first.eq(first << 4)]

        is_high = exponent > 1
        m.d.comb += self.is_unsettled.eq(~is_ready & (exponent != 1)
                                         & ~(is_high & digits[-1]))
        with m.If(self.settle & self.is_unsettled):
            with m.If(is_high):
                m.d.sync += [exponent.eq(exponent - 1), digits.eq(digits << 1)]
            with m.Else():
                m.d.sync += [
                    # Where only lost bits are left, the place does not matter.
                    exponent.eq(Mux(digits == 0, 1, exponent + 1)),
                    digits.eq(digits >> 1), lost.eq(lost | digits[0]),
                ]

        m.submodules.round = rounder = Rounder(form)
        exact = rounder.exact
        m.d.comb += [
            exact.mode.eq(mode), exact.sign.eq(sign), exact.exponent.eq(exponent - 1),
            Cat(exact.quarter, exact.half, exact.significand).eq(digits[-precision - 2:]),
            exact.rest.eq(lost | (rest != 0) | digits[:-precision - 2].any()),
            exact.is_ready.eq(is_ready), exact.ready.eq(ready),
            exact.invalid.eq(ready_flags.invalid), exact.by_zero.eq(ready_flags.by_zero),
            self.result.eq(rounder.result), self.flags.eq(rounder.flags),
            self.is_ready.eq(is_ready),
        ]
        return m

    def _load(self, m, roots, sign, mode, exponent, first, divisor, is_ready, ready, ready_flags):
        """The operands, and the results that need no digits."""
        form = self._form
        parts = []
        for name in "ab":
            m.submodules[f"unpack_{name}"] = unpack = Unpack(form)
            m.d.comb += unpack.word.eq(getattr(self, name))
            parts.append(unpack.parts)
        a, b = parts
        is_root = self.root
        negative, invalid, nan, infinite, by_zero = (
            Signal(name=name) for name in ("negative", "invalid", "nan", "infinite", "by_zero"))
        m.d.comb += [
            negative.eq(a.sign ^ (~is_root & b.sign)),
            by_zero.eq(~is_root & b.is_zero & ~a.is_zero & ~a.is_special),
            invalid.eq(a.signals | Mux(
                is_root, a.sign & ~a.is_zero & ~a.is_nan,
                b.signals | a.is_infinite & b.is_infinite | a.is_zero & b.is_zero)),
            nan.eq(invalid | a.is_nan | ~is_root & b.is_nan),
            infinite.eq(a.is_infinite | by_zero),
        ]
        with m.If(self.load):
            m.d.sync += [
                roots.eq(is_root), sign.eq(negative), mode.eq(self.mode),
                exponent.eq(Mux(is_root, a.exponent, a.exponent - b.exponent + form.bias)),
                first.eq(a.significand), divisor.eq(b.significand),
                is_ready.eq(nan | infinite | a.is_zero | ~is_root & b.is_special),
                ready.eq(Mux(nan, form.canonical, Mux(
                    infinite, packed(form, negative, form.special, 0),
                    packed(form, negative, 0, 0)))),
                ready_flags.eq(0), ready_flags.invalid.eq(invalid), ready_flags.by_zero.eq(by_zero),
            ]
