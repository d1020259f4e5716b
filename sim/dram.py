"""The simple model of the DRAM that stands behind a memory port of the GPU in simulation. The other
models are devices with banks and rows (:mod:`sim.dram_device`).

Each port has such a DRAM, a channel of its own: all figures are of one port, and the ports do not
slow each other down. A channel is a pipe with a queue in front. Time is counted in core cycles. A
DRAM cycle takes `ratio` core cycles, so a faster core sees a DRAM that is slower in every respect:

* The memory holds at most `queue` requests: a read from its acceptance until its response is
  taken, a write until its transfer is over. While it is full, ``mem_req_ready`` is low.
* Requests are served in the order of acceptance. One accepted in cycle `c` starts in cycle
  `c + 1`, or when the data bus is free. It occupies the bus for :meth:`DramConfig.occupancy`
  cycles, by the sectors that have a byte of the request's mask. A line that is not divided moves
  whole, also for a masked write.
* The response of a read that started in cycle `s` is ready in cycle
  ``s + max(latency * ratio, occupancy)``, or behind the previous response. At most one response
  is taken per cycle. So a read accepted by an idle memory in cycle `c` is answered in cycle
  ``c + 1 + latency * ratio``.
* A read sees every write accepted before it and none accepted after it.

By Little's law the queue bounds the bandwidth: at most `queue` lines in every
``1 + latency * ratio`` cycles.

**Slow region.** With `slow_bytes_per_cycle` above 0 the memory has two regions, like a GPU that
reads the memory of its host. All lines from the first slow line on are slow, the lines before are
fast. The host sets the first slow line (:meth:`sim.native.NativeMachine.place_slow`); until then
no line is slow. Each region has a queue, a bus and a latency of its own. The rules above hold for
each region by itself: those of the slow region with `slow_queue`, `slow_bytes_per_cycle` and
`slow_latency`, counted in the same DRAM cycles. The regions share the port in these ways:

* ``mem_req_ready`` is low while either queue is full, because the port accepts a request before
  its line is known. So at most one request is accepted in a cycle, and requests of both regions
  are accepted in the order of the port.
* Responses of one region come in the order of acceptance. Responses of different regions may come
  in any order; their tags tell them apart.
* At most one response is taken per cycle. A response on offer stays until it is taken. If no
  response is on offer and both regions have one that is ready, the memory offers the response that
  has been ready longer, and of two that became ready in the same cycle the fast one.
* A read sees every write accepted before it and none accepted after it, in both regions.
"""

import dataclasses
from collections.abc import Iterable
from typing import Self

from hw.config import ConfigError, HardwareConfig


__all__ = ["RANGES", "DramConfig"]


#: field: (smallest, largest)
RANGES = {
    "latency": (1, 10_000),
    "bytes_per_cycle": (1, 1024),
    "ratio": (1, 16),
    "queue": (1, 1024),
    "slow_bytes_per_cycle": (0, 1024),
    "slow_latency": (1, 10_000),
    "slow_queue": (1, 1024),
}

#: The fields that say nothing without a slow region.
_OF_REGION = ("slow_latency", "slow_queue")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DramConfig:
    """How fast the simulated DRAM behind each memory port is.

    Raises
    ------
    ConfigError
        If a value is not legal; the error names the field, its value and the legal range. Also if
        `slow_latency` or `slow_queue` is changed without a slow region.
    """
    #: DRAM cycles from the start of a read to its data: core cycles at a ratio of 1.
    latency: int = 100
    bytes_per_cycle: int = 32  #: Bytes that the data bus carries in a DRAM cycle.
    #: Core cycles in a DRAM cycle, 1 to 16: how many times faster the core's clock is.
    ratio: int = 1
    queue: int = 64  #: Number of requests that the memory holds.
    #: Bytes that the bus of the slow region carries in a DRAM cycle; 0 for no slow region. With a
    #: slow region, the edges of a graph lie there.
    slow_bytes_per_cycle: int = 0
    slow_latency: int = 600  #: As `latency`, of the slow region.
    slow_queue: int = 64  #: As `queue`, of the slow region.

    def __post_init__(self) -> None:
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise ConfigError(f"DramConfig: {name} = {value!r}: must be an integer from "
                                  f"{low} to {high}")
        for field in dataclasses.fields(self):
            if field.name in _OF_REGION and getattr(self, field.name) != field.default:
                self._check_region(field.name)

    def _check_region(self, name: str) -> None:
        """Refuse a field of the slow region where there is none."""
        if not self.has_slow:
            raise ConfigError(f"DramConfig: {name} = {getattr(self, name)}: there is no slow "
                              "region; set slow_bytes_per_cycle from 1 to "
                              f"{RANGES['slow_bytes_per_cycle'][1]} as well")

    def check_given(self, names: Iterable[str]) -> None:
        """Raises ConfigError for a field that was given, even with the default's value, and says
        nothing without a slow region."""
        for name in _OF_REGION:
            if name in names:
                self._check_region(name)

    @property
    def assignments(self) -> list[str]:
        """All fields as ``FIELD=VALUE``, which :func:`sim.memories.parse_memory` accepts."""
        return [f"{name}={value}" for name, value in dataclasses.asdict(self).items()
                if self.has_slow or name not in _OF_REGION]

    @property
    def changes(self) -> list[str]:
        """The fields that are not the default's, as ``FIELD=VALUE``."""
        return [f"{name}={value}" for name, value in dataclasses.asdict(self).items()
                if value != getattr(DramConfig(), name)]

    @property
    def has_slow(self) -> bool:
        """Whether there is a slow region."""
        return self.slow_bytes_per_cycle > 0

    def occupancy(self, size: int) -> int:
        """Core cycles that so many bytes of a line occupy the data bus, rounded up."""
        return -(-size * self.ratio // self.bytes_per_cycle)

    def slow_occupancy(self, size: int) -> int:
        """Core cycles that so many bytes occupy the bus of the slow region, rounded up."""
        return -(-size * self.ratio // self.slow_bytes_per_cycle)

    def with_slow(self, bytes_per_cycle: int, latency: int) -> Self:
        """This memory with a slow region."""
        return dataclasses.replace(self, slow_bytes_per_cycle=bytes_per_cycle, slow_latency=latency)

    def wider(self, times: int) -> Self:
        """This memory with so many times the bandwidth, and of the requests under way, as far as
        they go."""
        return dataclasses.replace(self, **{
            name: min(times * getattr(self, name), RANGES[name][1])
            for name in ("bytes_per_cycle", "queue")})

    def peak_bytes(self, config: HardwareConfig) -> float:
        """The most bytes that all memory ports together move in a core cycle."""
        return (config.memory_ports * config.line_bytes
                / self.occupancy(config.line_bytes))

    def with_peak(self, config: HardwareConfig, bytes_per_cycle: float) -> Self:
        """This memory with buses that carry about so many bytes in a core cycle at all ports.
        Raises ConfigError for more than a bus can have."""
        each = max(1, round(bytes_per_cycle * self.ratio / config.memory_ports))
        return dataclasses.replace(self, bytes_per_cycle=each)

    def line_cycles(self, config: HardwareConfig) -> float:
        """Cycles in which the memory ports together move a line at best. Each has a bus, takes one
        request a cycle, and its memory holds some requests at a time."""
        return max(self.occupancy(config.line_bytes), 1,
                   (1 + self.latency_cycles) / self.queue) / config.memory_ports

    @property
    def latency_cycles(self) -> int:
        """Core cycles from the start of a read to its data."""
        return self.latency * self.ratio

    @property
    def slow_latency_cycles(self) -> int:
        """Core cycles from the start of a read of the slow region to its data."""
        return self.slow_latency * self.ratio
