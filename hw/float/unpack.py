"""Takes a float apart."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.float.format import FloatFormat


__all__ = ["Unpack", "unpacked_layout"]


def unpacked_layout(form: FloatFormat):
    """A float in parts. The value of a number is ``significand`` times 2 to the power of
    ``exponent - bias - fraction``. The exponent of a subnormal number and of zero is 1.

    ``is_special``: an infinity or a NaN. ``signals``: a signalling NaN.
    """
    return data.StructLayout({
        "sign": 1, "exponent": form.exponent, "significand": form.precision,
        "is_zero": 1, "is_subnormal": 1, "is_special": 1, "is_infinite": 1, "is_nan": 1,
        "signals": 1,
    })


class Unpack(wiring.Component):
    """Takes a float apart. Combinational.

    Members
    -------
    word : In(format.width)
    parts : Out(unpacked_layout)
    """
    def __init__(self, form: FloatFormat):
        self._form = form
        super().__init__({"word": In(form.width), "parts": Out(unpacked_layout(form))})

    def elaborate(self, platform):
        m = Module()
        form, parts = self._form, self.parts
        fraction = self.word[:form.fraction]
        exponent = self.word[form.fraction:-1]
        is_small = exponent == 0
        m.d.comb += [
            parts.sign.eq(self.word[-1]), parts.exponent.eq(Mux(is_small, 1, exponent)),
            parts.significand.eq(Cat(fraction, ~is_small)),
            parts.is_zero.eq(is_small & (fraction == 0)),
            parts.is_subnormal.eq(is_small & (fraction != 0)),
            parts.is_special.eq(exponent == form.special),
            parts.is_infinite.eq(parts.is_special & (fraction == 0)),
            parts.is_nan.eq(parts.is_special & (fraction != 0)),
            parts.signals.eq(parts.is_nan & ~fraction[-1]),
        ]
        return m
