"""The configuration of the DRAM that stands behind the GPU's memory port in simulation.

The DRAM is a pipe with a queue in front. Time is counted in core cycles. A DRAM cycle takes `ratio`
core cycles, so a faster core sees a DRAM that is slower in every respect:

* The memory holds at most `queue` requests: a read from its acceptance until its response is
  taken, a write until its transfer is over. While it is full, ``mem_req_ready`` is low.
* Requests are served in the order of acceptance. One accepted in cycle `c` starts in cycle
  `c + 1`, or when the data bus is free. It occupies the bus for :meth:`DramConfig.occupancy`
  cycles, a masked write like a whole line.
* The response of a read that started in cycle `s` is ready in cycle
  ``s + max(latency * ratio, occupancy)``, or behind the previous response. At most one response
  is taken per cycle. So a read accepted by an idle memory in cycle `c` is answered in cycle
  ``c + 1 + latency * ratio``.
* A read sees every write accepted before it and none accepted after it.

By Little's law the queue bounds the bandwidth: at most `queue` lines in every
``1 + latency * ratio`` cycles.
"""

import dataclasses
from collections.abc import Iterable

from hw import numbers
from hw.config import ConfigError


__all__ = ["DramConfig"]


#: field: (smallest, largest)
_RANGES = {
    "latency": (1, 10_000),
    "bytes_per_cycle": (1, 1024),
    "ratio": (1, 16),
    "queue": (1, 1024),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DramConfig:
    """How fast the simulated DRAM is.

    Parameters
    ----------
    latency : int
        DRAM cycles from the start of a read to its data: core cycles at a ratio of 1.
    bytes_per_cycle : int
        Bytes that the data bus carries in a DRAM cycle.
    ratio : int
        Core cycles in a DRAM cycle, 1 to 16: how many times faster the core's clock is.
    queue : int
        Number of requests that the memory holds.

    Raises
    ------
    ConfigError
        If a value is not legal; the error names the field, its value and the legal range.
    """
    latency: int = 100
    bytes_per_cycle: int = 32
    ratio: int = 1
    queue: int = 64

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise ConfigError(f"DramConfig: {name} = {value!r}: must be an integer from "
                                  f"{low} to {high}")

    @classmethod
    def parse(cls, assignments: Iterable[str] = ()) -> "DramConfig":
        """The default with ``FIELD=VALUE`` texts applied, each field once, as a command line gives
        them. Raises ConfigError."""
        changes: dict[str, int] = {}
        for text in assignments:
            name, equals, value = (part.strip(" ") for part in text.partition("="))
            if not equals:
                raise ConfigError(f"DRAM option {text!r} is not FIELD=VALUE")
            if name not in _RANGES:
                raise ConfigError(f"DramConfig has no field {name!r}; it has "
                                  f"{', '.join(_RANGES)}")
            if name in changes:
                raise ConfigError(f"DramConfig: {name} is set twice")
            number = numbers.integer(value)
            if number is None:
                low, high = _RANGES[name]
                raise ConfigError(f"DramConfig: {name} = {value!r}: must be an integer from "
                                  f"{low} to {high}")
            changes[name] = number
        return cls(**changes)

    def occupancy(self, line_bytes: int) -> int:
        """Core cycles one line occupies the data bus, rounded up."""
        return -(-line_bytes * self.ratio // self.bytes_per_cycle)

    @property
    def latency_cycles(self) -> int:
        """Core cycles from the start of a read to its data."""
        return self.latency * self.ratio
