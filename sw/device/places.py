"""Places in global memory by the names of a program's symbols: to read, compare, dump and fill."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from base.errors import UserError
from base import numbers
from hw.isa import MemoryMap

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from hw.config import HardwareConfig
    from sw.device.elf import Executable


__all__ = ["Place", "find", "value_of"]


#: Types of elements by their names on the command line.
_TYPES = {f"{sign}{8 * size}": np.dtype(f"<{sign}{size}") for size in (1, 2, 4, 8) for sign in "ui"}


@dataclasses.dataclass(frozen=True)
class Place:
    """Elements of one type that follow one another."""
    name: str  #: The user's name for them.
    address: int
    count: int
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Bytes."""
        return self.count * self.dtype.itemsize

    def view(self, memory: NDArray[np.uint8]) -> NDArray[Any]:
        """The elements, in an array of bytes that begins at 0x8000_0000."""
        start = self.address - MemoryMap.GLOBAL
        return memory[start:start + self.size].view(self.dtype)

    def values(self, memory: NDArray[np.uint8]) -> list[int]:
        """The elements as a list of int."""
        return self.view(memory).tolist()

    def text(self, value: int) -> str:
        """An element as decimal number, unsigned and signed where they differ, and in hex."""
        bits = 8 * self.dtype.itemsize
        unsigned = value % (1 << bits)
        forms = [f"0x{unsigned:0{bits // 4}x}"]
        if value < 0:
            forms.insert(0, str(unsigned))
        elif unsigned >> bits - 1:
            forms.insert(0, str(unsigned - (1 << bits)))
        return f"{value} ({', '.join(forms)})"


def find(executable: Executable, text: str, config: HardwareConfig,
         words: bool = False) -> Place:
    """The place that ``SYMBOL[:COUNT][:TYPE]`` names.

    SYMBOL is a name or an address. TYPE is u8, i8, u16 … i64. Without TYPE, a symbol of 8 bytes is
    one element if there is no COUNT. All other elements are words if the symbol's size and address
    are multiples of 4, else halves or bytes. COUNT is a number, or the symbol at the end. Without
    COUNT, the place is the whole symbol, or one element if the symbol has no size. With ``words``,
    COUNT always counts words.

    Raises
    ------
    UserError
        There is no such symbol, or the symbol has fewer elements.
    """
    name, *parts = text.split(":")
    name = name.strip()
    kind = parts.pop() if parts and parts[-1] in _TYPES else None
    if len(parts) > 1:
        raise UserError(f"{text!r}: must be SYMBOL, SYMBOL:COUNT or SYMBOL:COUNT:TYPE, where TYPE "
                        f"is one of {', '.join(_TYPES)}")
    if name[:1].isdigit():
        address, size = value_of(name, "an address"), 0
    else:
        symbol = executable.symbol(name)
        address, size = symbol.address, symbol.size
    if kind:
        item = _TYPES[kind].itemsize
    elif size == 8 and address % 8 == 0 and not parts:
        item = 8
    elif words and parts:
        item = 4
    else:
        item = next(item for item in (4, 2, 1) if size % item == 0 and address % item == 0)
    count = max(1, size // item)
    if parts:
        count = _count(executable, text, parts[0], address, item)
    end = MemoryMap.GLOBAL + config.memory_bytes
    if size and count * item > size:
        raise UserError(f"{text}: {count} elements of {item} bytes; {executable.name} says that "
                        f"{name} has {size} bytes (TYPE can be one of {', '.join(_TYPES)})")
    if address % item or not MemoryMap.GLOBAL <= address or address + count * item > end:
        raise UserError(f"{text}: {count} elements of {item} bytes at 0x{address:08x} must be "
                        f"aligned and in global memory (0x{MemoryMap.GLOBAL:08x} to "
                        f"0x{end - 1:08x})")
    return Place(name, address, count, _TYPES[kind or f"u{8 * item}"])


def value_of(text: str, what: str) -> int:
    """The number that ``text`` spells (:mod:`base.numbers`). Raises UserError that names `what`."""
    value = numbers.integer(text)
    if value is None:
        raise UserError(f"{text!r}: must be {what}, a decimal number or one with 0x")
    return value


def _count(executable: Executable, text: str, count: str, address: int, item: int) -> int:
    if count[:1].isdigit():
        number = value_of(count, "a number of elements")
    else:
        length = executable.symbol(count).address - address
        if length % item:
            raise UserError(f"{text}: {count} is {length} bytes behind, must be a multiple of "
                            f"{item}")
        number = length // item
    if number < 1:
        raise UserError(f"{text}: {number} elements, must be at least 1")
    return number
