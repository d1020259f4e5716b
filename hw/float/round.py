"""Rounds a number to a float or to an integer, and chooses between it and a ready result."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.float.format import FLAGS, FloatFormat
from hw.operations import RoundingMode


__all__ = ["Rounder", "exact_layout"]


def exact_layout(form: FloatFormat):
    """A number before it is rounded, and what else the result may be.

    A float has ``significand``, and below it the bits ``half`` and ``quarter``, and ``rest`` if
    anything lies lower. ``borrow``: it is larger by one unit of all ones there, see
    :class:`hw.float.normalise.Normalise`. ``exponent`` is the field of the exponent, less 1 if the
    highest bit of the significand is set. ``is_zero``: the number is 0, whatever the exponent.

    With ``to_integer`` the number is ``integer``, below which there are ``integer_half`` and
    ``integer_rest``. ``is_outside``: the integer has more bits; ``is_fraction``: the number is
    below 1; ``unsigned``: the integer's type.

    ``is_ready``: the result is ``ready``, and ``invalid`` and ``by_zero`` its only flags.
    ``compares``: it is what ``kind`` says of the number's sign, see
    :func:`hw.float.prepare.known_layout`.
    """
    return data.StructLayout({
        "mode": RoundingMode, "sign": 1, "exponent": form.exponent + 1,
        "significand": form.precision, "half": 1, "quarter": 1, "rest": 1, "borrow": 1,
        "is_zero": 1,
        "to_integer": 1, "unsigned": 1, "is_outside": 1, "is_fraction": 1,
        "integer": form.width, "integer_half": 1, "integer_rest": 1,
        "compares": 1, "kind": 2,
        "is_ready": 1, "invalid": 1, "by_zero": 1, "ready": form.width,
    })


class Rounder(wiring.Component):
    """Rounds a number: first finds whether its magnitude goes up, and then adds. Combinational.

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
        self._add(m, self._decide(m))
        return m

    def _decided_layout(self):
        """``base`` becomes the magnitude, with 1 if ``carries_in``. ``nothing`` and ``high``: the
        integer is 0, or has its highest bit set. ``goes_infinite``: a float that is too large does.
        The others are those of :func:`exact_layout`."""
        form = self._form
        return data.StructLayout({
            "base": form.width, "carries_in": 1, "is_normal": 1, "sign": 1,
            "nothing": 1, "high": 1, "goes_infinite": 1, "inexact": 1, "underflows": 1, "holds": 1,
            **{name: exact_layout(form)[name].shape for name in (
                "to_integer", "unsigned", "is_outside", "is_zero", "compares", "is_ready",
                "invalid", "by_zero", "ready")}})

    def _decide(self, m):
        """The number that is added to, and whether it goes up."""
        form, exact = self._form, self.exact
        decided = Signal(self._decided_layout(), name="decided")
        sign, significand, to_integer = exact.sign, exact.significand, exact.to_integer
        ties_even, ties_away, away = (Signal(name=name)
                                      for name in ("ties_even", "ties_away", "away"))
        m.d.comb += [
            ties_away.eq(exact.mode == RoundingMode.AWAY),
            away.eq(Mux(sign, exact.mode == RoundingMode.DOWN, exact.mode == RoundingMode.UP)),
            ties_even.eq(~Cat(exact.mode == one for one in (
                RoundingMode.AWAY, RoundingMode.ZERO, RoundingMode.DOWN, RoundingMode.UP)).any()),
        ]

        def up(odd, half, rest):
            """Whether a magnitude is rounded up."""
            return half & (ties_away | ties_even & (rest | odd)) | away & (half | rest)

        # What is borrowed reaches the significand if all below it is ones.
        quarter, half = Signal(), Signal()
        to_quarter, to_half, to_significand = (Signal(name=name) for name in (
            "to_quarter", "to_half", "to_significand"))
        m.d.comb += [
            to_quarter.eq(exact.borrow & ~exact.rest), quarter.eq(exact.quarter ^ to_quarter),
            to_half.eq(exact.quarter & to_quarter), half.eq(exact.half ^ to_half),
            to_significand.eq(exact.half & to_half),
        ]
        half_here, rest_here, increments = (Signal(name=name) for name in (
            "half_here", "rest_here", "increments"))
        negates = to_integer & sign
        # To be tiny is to be below the smallest normal number when rounded with as many bits as a
        # normal number has: a bit lower than a subnormal one is.
        reaches = significand[:-1].all() & half & up(Const(1), quarter, exact.rest)
        m.d.comb += [
            half_here.eq(Mux(to_integer, exact.integer_half, half)),
            rest_here.eq(Mux(to_integer, exact.integer_rest, quarter | exact.rest)),
            increments.eq(to_significand | up(Mux(to_integer, exact.integer[0], significand[0]),
                                              half_here, rest_here)),
            *(getattr(decided, name).eq(getattr(exact, name))
              for name in decided.shape().members if name in exact.shape().members),
            # Minus the sum of x and 1 is the complement of x; minus x is that and 1.
            decided.base.eq(Mux(to_integer, exact.integer ^ negates.replicate(form.width),
                                Cat(significand[:-1], exact.exponent))),
            decided.carries_in.eq(increments ^ negates),
            decided.is_normal.eq(significand[-1] & ~to_integer),
            decided.nothing.eq(exact.is_fraction & ~increments),
            decided.high.eq(exact.integer[-1]),
            # To round up what lies far above half goes to infinity.
            decided.goes_infinite.eq(ties_even | ties_away | away),
            decided.inexact.eq(half_here | rest_here),
            decided.underflows.eq(~to_integer & ~significand[-1] & decided.inexact & ~reaches),
            decided.holds.eq(Mux(exact.kind[1], exact.is_zero, Mux(
                exact.is_zero, ~exact.kind[0], sign))),
        ]
        return decided

    def _add(self, m, decided):
        """The magnitude, and what takes its place."""
        form, flags = self._form, self.flags
        sign, positive, to_integer = decided.sign, ~decided.sign, decided.to_integer
        magnitude = Signal(form.width)
        upper = Cat(Const(1, 1), Const(0, form.fraction), decided.is_normal)
        m.d.comb += magnitude.eq((Cat(decided.carries_in, decided.base) + upper)[1:])
        overflows, outside, replaced = (Signal(name=name)
                                        for name in ("overflows", "outside", "replaced"))
        computes = ~(decided.is_ready | decided.compares)
        m.d.comb += [
            overflows.eq(~to_integer & ~decided.is_zero
                         & (magnitude[-1] | magnitude[form.fraction:-1].all())),
            outside.eq(to_integer & (decided.is_outside | Mux(
                decided.unsigned, sign & ~decided.nothing,
                decided.high & ~(sign & magnitude[-1])))),
            replaced.eq(~decided.is_ready & (
                outside | overflows | ~to_integer & (decided.compares | decided.is_zero))),
        ]
        # Where a result is neither the magnitude nor ready, its fields are zeros or ones.
        fraction, exponent, last, top = (Signal(name=name)
                                         for name in ("fraction", "exponent", "last", "top"))
        with m.If(to_integer):
            m.d.comb += [fraction.eq(positive), exponent.eq(positive), last.eq(positive),
                         top.eq(Mux(decided.unsigned, positive, sign))]
        with m.Elif(decided.compares | decided.is_zero):
            m.d.comb += top.eq(sign & ~decided.compares)
        with m.Else():
            m.d.comb += [fraction.eq(~decided.goes_infinite), exponent.eq(1),
                         last.eq(decided.goes_infinite), top.eq(sign)]
        number = Cat(magnitude[:-1], Mux(to_integer, magnitude[-1], sign))
        pieces = []
        for low, above, constant in (
                (0, 1, Mux(decided.compares, decided.holds, fraction)),
                (1, form.fraction, fraction), (form.fraction, form.fraction + 1, last),
                (form.fraction + 1, form.width - 1, exponent), (form.width - 1, form.width, top)):
            which = Signal(name=f"which_{low}")
            m.d.comb += which.eq(Mux(replaced, constant, decided.is_ready))
            pieces.append(Mux(replaced, which.replicate(above - low), Mux(
                which, decided.ready[low:above], number[low:above])))
        m.d.comb += [
            self.result.eq(Cat(pieces)),
            flags.invalid.eq(Mux(decided.is_ready, decided.invalid, outside)),
            flags.by_zero.eq(decided.is_ready & decided.by_zero),
            flags.overflow.eq(computes & overflows),
            flags.underflow.eq(computes & decided.underflows),
            flags.inexact.eq(computes & (overflows | decided.inexact & ~outside)),
        ]
