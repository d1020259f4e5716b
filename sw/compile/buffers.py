"""Buffers: named arrays of words in the device's global memory."""

import dataclasses

import numpy as np

from base.errors import UserError
from hw.isa import MemoryMap
from sw.compile.local import LocalAllocator


__all__ = ["Buffers"]


@dataclasses.dataclass
class _Buffer:
    address: int | None
    words: int
    width: int
    values: np.ndarray | None = None
    fill: int = 0


class Buffers:
    """A bump allocator: every array starts on a line of its own, one after the other.

    :meth:`reserve` fixes the sizes first. So addresses are known, and a request that is too large
    is refused before anything is built. :meth:`fill` gives the contents later, and :meth:`upload`
    brings them to the device.

    Parameters
    ----------
    config : HardwareConfig
        Gives the length of a line and the size of the memory.
    warps : int, optional
        Warps of a core that take part; all if left out.
    slow_edges : bool
        Whether arrays with an item for each edge lie behind all others, in slow memory
        (:mod:`sim.dram`). Such arrays have addresses only after :meth:`place_edges`.

    Attributes
    ----------
    local : LocalAllocator
        The places in local memory.
    slow_address : int or None
        First address of the arrays of edges after :meth:`place_edges`, where a line begins; all
        addresses from there on are theirs. None if there are none, or if they lie among the others.
    """

    def __init__(self, config, warps=None, slow_edges=False):
        self._line = config.line_bytes
        self._limit = config.memory_bytes
        self._next = 0
        self._buffers = {}
        self._slow_edges, self._waiting = slow_edges, []
        self.slow_address: int | None = None
        self.local = LocalAllocator(config, warps or config.warps)

    @property
    def size(self) -> int:
        """Bytes reserved so far."""
        return self._next

    def reserve(self, name, items, width=4, edges=False):
        """Make room for an array of 32-bit words, or of items of ``width`` bytes each, a power of
        two. Items of several words do not lie across lines if a line has room for one. ``edges``
        says that the array has an item for each edge."""
        words = -(-int(items) * width // 4)
        if name in self._buffers:
            raise ValueError(f"two buffers are named {name!r}")
        if self.slow_address is not None:
            raise ValueError(f"buffer {name!r} would lie behind the edges, in slow memory")
        buffer = self._buffers[name] = _Buffer(None, words, width)
        if edges and self._slow_edges:
            self._waiting.append(buffer)
        else:
            self._place(buffer)

    def _place(self, buffer):
        self._next += -self._next % buffer.width
        buffer.address = MemoryMap.GLOBAL + self._next
        self._next += -(-4 * buffer.words // self._line) * self._line

    def place_edges(self):
        """Place the arrays of edges behind all others, if they are to lie in slow memory. Nothing
        can be reserved afterwards."""
        waiting, self._waiting = self._waiting, []
        for buffer in waiting:
            self._place(buffer)
        if waiting:
            self.slow_address = waiting[0].address

    def check(self, what):
        """Raise UserError if the reserved arrays do not fit in the device's memory."""
        if self._next > self._limit:
            raise UserError(f"{what} does not fit in device memory: {self._next} bytes needed, "
                            f"memory_bytes is {self._limit}")

    def __contains__(self, name):
        return name in self._buffers

    @property
    def names(self) -> list[str]:
        """Names of the arrays, in the order in which they were reserved."""
        return list(self._buffers)

    def address(self, name) -> int:
        """Address of the array's first word."""
        address = self._buffers[name].address
        if address is None:
            raise ValueError(f"buffer {name!r} has no place yet")
        return address

    def words(self, name) -> int:
        """Length of an array."""
        return self._buffers[name].words

    def width(self, name) -> int:
        """Bytes of an array's item: the distance of two vertices in a vertex array."""
        return self._buffers[name].width

    def fill(self, name, values=None, rest=0):
        """Give an array its first contents: ``values``, then ``rest`` in every word left. Values
        of 8 or 16 bits lie one behind the other, and zeros fill the last word of them."""
        buffer = self._buffers[name]
        buffer.fill = rest & 0xFFFF_FFFF
        if values is not None:
            values = values if isinstance(values, np.ndarray) else np.array(values, np.uint32)
            if values.itemsize < 4:
                values = np.append(values, np.zeros(-values.nbytes % 4 // values.itemsize,
                                                    values.dtype))
            buffer.values = np.ascontiguousarray(values).view(np.uint32)
            if len(buffer.values) > buffer.words:
                raise ValueError(f"{len(buffer.values)} values for buffer {name!r} of "
                                 f"{buffer.words} words")

    def upload(self, machine):
        """Write the first contents of all arrays into the memory of a machine."""
        for buffer in self._buffers.values():
            given = 0 if buffer.values is None else len(buffer.values)
            if given:
                machine.write_memory(buffer.address, buffer.values)
            if given < buffer.words:
                machine.fill_memory(buffer.address + 4 * given, buffer.words - given, buffer.fill)

    def read(self, machine, name, count=None, dtype=np.uint32):
        """A copy of an array's first ``count`` words as the memory of a machine holds them."""
        buffer = self._buffers[name]
        words = buffer.words if count is None else min(count, buffer.words)
        return machine.read_memory(buffer.address, words).view(dtype)
