"""Local memory: named places in the scratchpad of each core."""

from base.errors import UserError
from hw.isa import MemoryMap


__all__ = ["LocalAllocator"]


class LocalAllocator:
    """A bump allocator over the words of local memory. All cores have the same places.

    Parameters
    ----------
    config : HardwareConfig
    warps : int
        Warps of a core that take part.
    """

    def __init__(self, config, warps):
        self._config, self._warps = config, warps
        self._places = {}                   # by name, in order: bytes, and those of the alignment

    def reserve(self, name, words, per="core", align=1):
        """Make room for words that all warps of a core share, or that each warp has for itself.

        Parameters
        ----------
        name : str
            The name of the place, for :meth:`address`.
        words : int
            Number of 32-bit words, of the core or of each warp.
        per : str
            ``"core"`` or ``"warp"``. The words of warp w begin ``4 * words * w`` bytes behind the
            words of warp 0.
        align : int
            The address is a multiple of so many words, a power of two.

        Returns
        -------
        int
            The address of the first word.

        Raises
        ------
        UserError
            Local memory is full; the message has the sizes of all places.
        """
        if name in self._places:
            raise ValueError(f"two places of local memory are named {name!r}")
        self.share(name, words, per, align)
        return self.address(name)

    def share(self, name, words, per="core", align=1):
        """As :meth:`reserve`, for kernels that do not run at the same time: each may ask for the
        place, which then has room for the most words. So its address, and those of places behind
        it, are known when all have asked."""
        size = 4 * words * {"core": 1, "warp": self._warps}[per]
        before, aligned = self._places.get(name, (0, 4 * align))
        self._places[name] = max(size, before), max(4 * align, aligned)
        if self.size > self._config.local_bytes:
            taken = ", ".join(f"{place} {size}" for place, (size, _) in self._places.items())
            raise UserError(f"local memory is full: {self.size} bytes needed ({taken}), "
                            f"local_bytes is {self._config.local_bytes} in configuration "
                            f"{self._config.name!r}")

    @property
    def size(self) -> int:
        """Bytes of local memory that all places take."""
        return max((start + size for start, size in self._layout().values()), default=0)

    def _layout(self):
        """The offset and the bytes of each place."""
        found, end = {}, 0
        for name, (size, aligned) in self._places.items():
            start = end + -end % aligned
            found[name] = start, size
            end = start + size
        return found

    def __contains__(self, name):
        return name in self._places

    def address(self, name) -> int:
        """The address of a place's first word."""
        return MemoryMap.LOCAL + self._layout()[name][0]

    def release(self, name):
        """Give the place that was reserved last back."""
        assert name == [*self._places][-1], f"{name!r} was not reserved last"
        del self._places[name]
