"""A binary floating-point format of IEEE 754, and what the parts of a unit tell each other."""

import dataclasses

from amaranth.hdl import Cat, Const
from amaranth.lib import data


__all__ = ["FLAGS", "SINGLE", "FloatFormat", "packed"]


#: Exception flags, in the order of their bits in FFLAGS: inexact, underflow, overflow, division by
#: zero, invalid.
FLAGS = data.StructLayout(dict.fromkeys(("inexact", "underflow", "overflow", "by_zero", "invalid"),
                                        1))


@dataclasses.dataclass(frozen=True)
class FloatFormat:
    """Sizes of a format. An integer that is converted has as many bits as a float."""
    exponent: int  #: Bits of the exponent.
    fraction: int  #: Bits of the significand without the one that is not stored.

    def __post_init__(self):
        if self.exponent < 3 or self.fraction < self.exponent - 1:
            raise ValueError(f"format of {self.exponent} exponent bits and {self.fraction} "
                             "fraction bits: must have at least 3, and at most one more than "
                             "fraction bits")

    @property
    def width(self) -> int:
        """Bits of a float."""
        return 1 + self.exponent + self.fraction

    @property
    def precision(self) -> int:
        """Bits of a significand."""
        return 1 + self.fraction

    @property
    def bias(self) -> int:
        """The exponent field of 1.0."""
        return (1 << self.exponent - 1) - 1

    @property
    def special(self) -> int:
        """The exponent field of infinities and NaNs: all ones."""
        return (1 << self.exponent) - 1

    @property
    def canonical(self) -> int:
        """The NaN that every operation gives."""
        return self.special << self.fraction | 1 << self.fraction - 1

    @property
    def window(self) -> int:
        """Bits in which a product and an addend are added. Both begin at the top, unless they move
        to the right.

        A product is whole, and there is a bit by which it is rounded and one for all that lies
        lower, also if a subnormal factor leaves ``precision`` bits of it, and the addend takes the
        highest of these away.
        """
        return 2 * self.precision + 3

    @property
    def shifts(self) -> int:
        """Bits of a distance in the window."""
        return self.window.bit_length()


#: Single precision, the format of the instructions.
SINGLE = FloatFormat(8, 23)


def packed(form: FloatFormat, sign, exponent, fraction):
    """A float of its fields. Integers become constants of the field's width."""
    if isinstance(exponent, int):
        exponent = Const(exponent, form.exponent)
    if isinstance(fraction, int):
        fraction = Const(fraction, form.fraction)
    return Cat(fraction[:form.fraction], exponent[:form.exponent], sign)
