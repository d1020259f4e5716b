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
        if self.exponent < 3 or not 2 <= self.fraction < self.width - 2:
            raise ValueError(f"format of {self.exponent} exponent bits and {self.fraction} "
                             "fraction bits: must have at least 3 and 2")

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
        """Bits of the sum of a product and an addend. From the top: an addend's significand, two
        bits that stay free, a product, two bits, and one for all that lies lower.

        The free bits keep a product that is far smaller than the addend from the bit that decides
        how the addend is rounded. The two bits below hold what is rounded when a subnormal factor
        leaves a product of ``precision`` bits.
        """
        return 3 * self.precision + 5


#: Single precision, the format of the instructions.
SINGLE = FloatFormat(8, 23)


def packed(form: FloatFormat, sign, exponent, fraction):
    """A float of its fields. Integers become constants of the field's width."""
    if isinstance(exponent, int):
        exponent = Const(exponent, form.exponent)
    if isinstance(fraction, int):
        fraction = Const(fraction, form.fraction)
    return Cat(fraction[:form.fraction], exponent[:form.exponent], sign)
