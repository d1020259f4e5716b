"""A bad serial line: bytes that are changed, lost or repeated on their way."""

import random

from hw.config import ConfigError


__all__ = ["Noise"]


class Noise:
    """Random faults that a line applies to bytes.

    Parameters
    ----------
    corrupt, lose, repeat : float
        Probabilities that a byte arrives as another one, not at all, or twice.
    seed : int
        The same seed gives the same faults.

    Attributes
    ----------
    corrupted, lost, repeated : int
        Number of bytes with each fault.

    Raises
    ------
    ConfigError
        If `corrupt`, `lose` and `repeat` are not probabilities with a sum below 1.
    """

    def __init__(self, *, corrupt: float = 0.0, lose: float = 0.0, repeat: float = 0.0,
                 seed: int = 1) -> None:
        if min(corrupt, lose, repeat) < 0 or corrupt + lose + repeat >= 1:
            raise ConfigError(f"noise on the line: corrupt {corrupt}, lose {lose}, repeat "
                              f"{repeat}: must be probabilities that are less than 1 in sum")
        self._limits = corrupt, corrupt + lose, corrupt + lose + repeat
        self._random = random.Random(seed)
        self.corrupted = self.lost = self.repeated = 0

    def __call__(self, data: bytes) -> bytes:
        """The bytes that arrive when these bytes are sent."""
        if not self._limits[-1]:
            return bytes(data)
        arrived = bytearray()
        corrupt, lose, repeat = self._limits
        for byte in data:
            chance = self._random.random()
            if chance < corrupt:
                self.corrupted += 1
                arrived.append(byte ^ self._random.randrange(1, 256))
            elif chance < lose:
                self.lost += 1
            else:
                arrived.append(byte)
                if chance < repeat:
                    self.repeated += 1
                    arrived.append(byte)
        return bytes(arrived)
