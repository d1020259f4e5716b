"""The memory of machines whose memory is an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hw.isa import MemoryMap

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["ArrayMemory"]


class ArrayMemory:
    """Access to the memory of a machine whose :attr:`memory` is an array of uint8. Byte 0 of the
    array is address 0x8000_0000.

    Addresses are those of the device, multiples of 4; words are numpy arrays of uint32.
    """

    memory: NDArray[np.uint8]

    def write_memory(self, address: int, words: NDArray[np.uint32]) -> None:
        """Write words; the caches do not notice."""
        self._words(address, len(words))[:] = words

    def fill_memory(self, address: int, count: int, value: int) -> None:
        """Write a word ``count`` times."""
        self._words(address, count)[:] = value

    def read_memory(self, address: int, count: int) -> NDArray[np.uint32]:
        """A copy of ``count`` words, as they are in memory."""
        return self._words(address, count).copy()

    def _words(self, address: int, count: int) -> NDArray[np.uint32]:
        start = address - MemoryMap.GLOBAL
        return self.memory[start:start + 4 * count].view(np.uint32)
