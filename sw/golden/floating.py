"""Floating-point arithmetic on integers: every result is computed exactly, and rounded once.

A number is an integer times a power of two, so no operation here loses anything before
:meth:`Arithmetic.rounded`. Flags are the bits of the CSR FFLAGS.
"""

import math
from typing import NamedTuple

from hw.float.format import SINGLE, FloatFormat
from hw.operations import FloatDivOp, FloatOp, RoundingMode


__all__ = ["BY_ZERO", "INEXACT", "INVALID", "OVERFLOW", "UNDERFLOW", "Arithmetic"]


INEXACT, UNDERFLOW, OVERFLOW, BY_ZERO, INVALID = 1, 2, 4, 8, 16


class _Number(NamedTuple):
    """``(-1) ** sign * magnitude * 2 ** power``, or an infinity or a NaN."""
    sign: int
    magnitude: int = 0
    power: int = 0
    infinite: bool = False
    nan: bool = False
    signals: bool = False


class Arithmetic:
    """Operations on the words of a format. Each gives a word and the flags that it raises.

    Parameters
    ----------
    form : FloatFormat
    """

    def __init__(self, form: FloatFormat = SINGLE):
        self.form = form
        self._sign = 1 << form.width - 1
        self._infinity = form.special << form.fraction

    def perform(self, op, mode, a, b=0, c=0, *, kind=0, unsigned=False) -> tuple[int, int]:
        """An operation of the hardware. ``kind`` is the instruction's funct3, where it is no
        rounding mode; ``unsigned``: the integer of a conversion has no sign."""
        match op:
            case FloatOp.MADD | FloatOp.MSUB | FloatOp.NMSUB | FloatOp.NMADD:
                return self.fused(a ^ self._sign * (op in (FloatOp.NMSUB, FloatOp.NMADD)), b,
                                  c ^ self._sign * (op in (FloatOp.MSUB, FloatOp.NMADD)), mode)
            case FloatOp.ADD | FloatOp.SUB:
                return self.add(a, b ^ self._sign * (op is FloatOp.SUB), mode)
            case FloatOp.MUL:
                return self.multiply(a, b, mode)
            case FloatDivOp.DIV:
                return self.divide(a, b, mode)
            case FloatDivOp.SQRT:
                return self.root(a, mode)
            case FloatOp.TO_INT:
                return self.to_integer(a, mode, unsigned)
            case FloatOp.FROM_INT:
                return self.from_integer(a, mode, unsigned)
            case FloatOp.SIGN:
                sign = (b, ~b, a ^ b)[kind] & self._sign
                return a & ~self._sign | sign, 0
            case FloatOp.SELECT:
                return self.select(a, b, bool(kind))
            case FloatOp.COMPARE:
                return self.compare(a, b, kind)
            case _:
                return self.classify(a), 0

    def add(self, a, b, mode):
        x, y = self._number(a), self._number(b)
        if x.nan or y.nan or (x.infinite and y.infinite and x.sign != y.sign):
            return self._not_a_number(x, y, invalid=not (x.nan or y.nan))
        if x.infinite or y.infinite:
            return self._infinite((x if x.infinite else y).sign), 0
        return self._sum(x, y, mode)

    def multiply(self, a, b, mode):
        x, y = self._number(a), self._number(b)
        product = self._product(x, y)
        if product is None:
            return self._not_a_number(x, y, invalid=not (x.nan or y.nan))
        if product.infinite:
            return self._infinite(product.sign), 0
        return self.rounded(product.sign, product.magnitude, product.power, mode)

    def fused(self, a, b, c, mode):
        """a times b, plus c."""
        x, y, z = self._number(a), self._number(b), self._number(c)
        product = self._product(x, y)
        if product is None:
            # Infinity times zero is invalid even if c is a quiet NaN.
            return self._not_a_number(x, y, z, invalid=not (x.nan or y.nan))
        if z.nan or (product.infinite and z.infinite and product.sign != z.sign):
            return self._not_a_number(x, y, z, invalid=not z.nan)
        if product.infinite or z.infinite:
            return self._infinite((product if product.infinite else z).sign), 0
        return self._sum(product, z, mode)

    def divide(self, a, b, mode):
        x, y = self._number(a), self._number(b)
        sign = x.sign ^ y.sign
        if x.nan or y.nan or (x.infinite and y.infinite):
            return self._not_a_number(x, y, invalid=not (x.nan or y.nan))
        if x.infinite:
            return self._infinite(sign), 0
        if y.infinite:
            return sign * self._sign, 0
        if not y.magnitude:
            if not x.magnitude:
                return self._not_a_number(invalid=True)
            return self._infinite(sign), BY_ZERO
        # So many more bits that what is left only says whether the quotient is exact.
        more = 2 * self.form.width + y.magnitude.bit_length()
        quotient, rest = divmod(x.magnitude << more, y.magnitude)
        return self.rounded(sign, quotient << 1 | (rest != 0), x.power - y.power - more - 1, mode)

    def root(self, a, mode):
        x = self._number(a)
        if x.nan or (x.sign and (x.magnitude or x.infinite)):
            return self._not_a_number(x, invalid=not x.nan)
        if x.infinite or not x.magnitude:
            return a, 0
        more = 4 * self.form.width + (x.power & 1)
        root = math.isqrt(x.magnitude << more)
        inexact = root * root != x.magnitude << more
        return self.rounded(0, root << 1 | inexact, (x.power - more) // 2 - 1, mode)

    def to_integer(self, a, mode, unsigned):
        x, width = self._number(a), self.form.width
        least, most = (0, (1 << width) - 1) if unsigned else (-1 << width - 1,
                                                              (1 << width - 1) - 1)
        if x.nan or x.infinite:
            return (most if x.nan or not x.sign else least) & (1 << width) - 1, INVALID
        magnitude, inexact = self._shifted(x.sign, x.magnitude, x.power, mode)
        value = -magnitude if x.sign else magnitude
        if not least <= value <= most:
            return (least if x.sign else most) & (1 << width) - 1, INVALID
        return value & (1 << width) - 1, INEXACT * inexact

    def from_integer(self, a, mode, unsigned):
        negative = not unsigned and a >> self.form.width - 1
        magnitude = (1 << self.form.width) - a if negative else a
        return self.rounded(int(negative), magnitude, 0, mode)

    def select(self, a, b, largest):
        """The minimum or maximum, of which one operand may be a NaN. -0 is less than +0."""
        x, y = self._number(a), self._number(b)
        flags = INVALID * (x.signals or y.signals)
        if x.nan or y.nan:
            return (self.form.canonical if x.nan and y.nan else b if x.nan else a), flags
        return (max if largest else min)((a, b), key=self._order), flags

    def compare(self, a, b, kind):
        """Whether a is at most b (``kind`` 0), less than b (1), or equal to b (2)."""
        x, y = self._number(a), self._number(b)
        if x.nan or y.nan:
            return 0, INVALID * (x.signals or y.signals or kind != 2)
        zeros = not (x.magnitude or y.magnitude or x.infinite or y.infinite)
        equal = zeros or a == b
        less = not zeros and self._order(a) < self._order(b)
        return int((equal or less, less, equal)[kind]), 0

    def classify(self, a):
        """A bit for the class of a, from minus infinity to plus infinity, then NaNs."""
        x = self._number(a)
        if x.nan:
            return 1 << (8 if x.signals else 9)
        if x.infinite:
            place = 0
        elif not x.magnitude:
            place = 3
        else:
            place = 1 if x.magnitude >> self.form.fraction else 2
        return 1 << (place if x.sign else 7 - place)

    def rounded(self, sign, magnitude, power, mode):
        """The float nearest to a number in a rounding mode, and the flags."""
        form = self.form
        if not magnitude:
            return sign * self._sign, 0
        lowest = 1 - form.bias - form.fraction          # power of the last bit of the least number
        def at(last):
            return self._shifted(sign, magnitude, power - last, mode)
        unbounded = power + magnitude.bit_length() - form.precision
        last = max(unbounded, lowest)
        significand, inexact = at(last)
        if significand >> form.precision:
            significand, last = significand >> 1, last + 1
        exponent = last - lowest + 1 if significand >> form.fraction else 0
        if exponent >= form.special:
            return self._too_large(sign, mode), OVERFLOW | INEXACT
        flags = INEXACT * inexact
        if inexact and unbounded < lowest:
            # Tiny: below the least normal number also with all bits of a significand.
            full, _ = at(unbounded)
            tiny = unbounded + (full >> form.precision) < lowest
            flags |= UNDERFLOW * tiny
        fraction = significand & (1 << form.fraction) - 1
        return sign * self._sign | exponent << form.fraction | fraction, flags

    def _too_large(self, sign, mode):
        to_zero = mode is RoundingMode.ZERO or mode is (
            RoundingMode.UP if sign else RoundingMode.DOWN)
        return self._infinite(sign) - to_zero

    def _shifted(self, sign, magnitude, power, mode):
        """``magnitude * 2 ** power`` rounded to an integer, and whether it was none."""
        if power >= 0:
            return magnitude << power, False
        whole = magnitude >> -power
        rest, half = magnitude - (whole << -power), 1 << -power - 1
        up = {RoundingMode.ZERO: False, RoundingMode.DOWN: rest and sign,
              RoundingMode.UP: rest and not sign, RoundingMode.AWAY: rest >= half,
              RoundingMode.NEAREST: rest + (whole & 1) > half}[mode]
        return whole + bool(up), rest != 0

    def _sum(self, x, y, mode):
        power = min(x.power, y.power)
        first, second = (number.magnitude << number.power - power for number in (x, y))
        total = (-first if x.sign else first) + (-second if y.sign else second)
        if total:
            return self.rounded(int(total < 0), abs(total), power, mode)
        sign = x.sign if x.sign == y.sign else int(mode is RoundingMode.DOWN)
        return sign * self._sign, 0

    def _product(self, x, y):
        """The exact product, or None if it is no number."""
        sign = x.sign ^ y.sign
        if x.nan or y.nan:
            return None
        if x.infinite or y.infinite:
            zero = not (x.infinite or x.magnitude) or not (y.infinite or y.magnitude)
            return None if zero else _Number(sign, infinite=True)
        return _Number(sign, x.magnitude * y.magnitude, x.power + y.power)

    def _number(self, word):
        form = self.form
        sign, exponent = word >> form.width - 1, word >> form.fraction & form.special
        fraction = word & (1 << form.fraction) - 1
        if exponent == form.special:
            quiet = fraction >> form.fraction - 1
            return _Number(sign, infinite=not fraction, nan=fraction != 0,
                           signals=fraction != 0 and not quiet)
        if exponent:
            fraction |= 1 << form.fraction
        return _Number(sign, fraction, max(exponent, 1) - form.bias - form.fraction)

    def _order(self, word):
        """A key that is ordered as the numbers, with -0 below +0."""
        return ~(word & self._sign - 1) if word & self._sign else word

    def _infinite(self, sign):
        return sign * self._sign | self._infinity

    def _not_a_number(self, *numbers, invalid):
        return self.form.canonical, INVALID * (invalid or any(one.signals for one in numbers))
