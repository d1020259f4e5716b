"""Numbers that users write as text: one grammar for every option, field and parameter.

A whole number is decimal digits, or ``0x`` and hexadecimal digits. A negative number begins with
``-``. A real number is decimal digits with at most one point and at most one exponent. Only the
ASCII digits are allowed. Spaces, underscores, a plus sign, ``inf`` and ``nan`` are not part of a
number.
"""

import math
import re


__all__ = ["integer", "real"]


#: Characters of the longest accepted number. The largest legal value has 20 digits.
_LONGEST = 40

_DECIMAL = re.compile(r"-?[0-9]+")
_HEXADECIMAL = re.compile(r"-?0[xX][0-9a-fA-F]+")
_REAL = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def integer(text: str) -> int | None:
    """The whole number that ``text`` spells, as an int; None if the text is not one."""
    if len(text) > _LONGEST:
        return None
    if _DECIMAL.fullmatch(text):
        return int(text)
    return int(text, 16) if _HEXADECIMAL.fullmatch(text) else None


def real(text: str) -> float | None:
    """The real number that ``text`` spells, as a finite float; None if the text is not one."""
    if len(text) > _LONGEST or not _REAL.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None
