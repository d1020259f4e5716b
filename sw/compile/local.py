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
        self._next = 0                      # bytes that are taken
        self._places = {}                   # by name: address, bytes of a warp's words

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
        size = 4 * words * {"core": 1, "warp": self._warps}[per]
        self._next += -self._next % (4 * align)
        self._places[name] = MemoryMap.LOCAL + self._next, size
        self._next += size
        if self._next > self._config.local_bytes:
            taken = ", ".join(f"{place} {size}" for place, (_, size) in self._places.items())
            raise UserError(f"local memory is full: {self._next} bytes needed ({taken}), "
                            f"local_bytes is {self._config.local_bytes} in configuration "
                            f"{self._config.name!r}")
        return self._places[name][0]

    def __contains__(self, name):
        return name in self._places

    def address(self, name) -> int:
        """The address of a place's first word."""
        return self._places[name][0]

    def release(self, name):
        """Give the place that was reserved last back."""
        address, size = self._places.pop(name)
        self._next -= size
        assert address == MemoryMap.LOCAL + self._next, f"{name!r} was not reserved last"
