"""A DRAM device behind a memory port: channels, banks, rows, and the times of a standard.

`DramDevice.of("hbm2")` is a device with its controller; :data:`PARTS` says which part each one is.
Times are memory cycles (CK) unless it says otherwise. A memory cycle takes `ratio` core cycles. The
rules:

* **Port.** A request is accepted if none waits at the port. It is split into accesses of
  `access_bytes`; several lines of one access are one access. Each memory cycle offers the accesses
  of the request that waits, in order, until a channel refuses one. A read is answered when its last
  access is complete, in any order with other reads. It sees every write accepted before it and none
  accepted after it. One answer is taken per core cycle.
* **Address.** `mapping` names the fields of an access's number from the lowest bit on. With `hash`
  the lowest bits of the row are XORed into group, bank and channel, in this order.
* **Queues** of each channel. Reads wait in a read queue, writes in a write buffer, of `read_queue`
  and `write_queue` entries. Behind them each bank has a queue of `bank_queue` entries.
* **Moves.** At the end of a cycle one entry moves: the oldest of the chosen queue whose bank queue
  has room. The chosen queue is the write buffer while it drains, else the read queue. Draining
  starts when the buffer is full, or has more than `keep_writes` entries while all bank queues are
  empty, and lasts for as many writes as the buffer held then.
* **Commands.** One per cycle; with `two_commands` also a second one, if one is a column command and
  the other is not. Banks have their turn in round robin. A closed bank is opened for its oldest
  entry. In an open bank the oldest entry of the open row that is ready goes first. But the row is
  closed if the oldest entry is of another row, and no entry is of the open row or it had
  `hit_limit` column commands. With `close_page` every column command closes its row.
* **Times** from a command to the earliest next one:

  * activate: in the bank, activate tRAS + tRP, read tRCDRD, write tRCDWR, precharge tRAS; in the
    group tRRD_L, in others tRRD_S. At most 4 activates in any tFAW, and 32 in any t32AW.
  * read: read max(burst, tCCD_L) in the group, max(burst, tCCD_S) in others; any write CL + burst
    + tRTRS - CWL; own precharge tRTP.
  * write: write as read to read; read CWL + burst + tWTR_L in the group, tWTR_S in others; own
    precharge CWL + burst + tWR.
  * precharge: own activate and a refresh tRP; any other precharge tPPD.
  * refresh: activate tRFC.
  * with `close_page` the same, but a read's own activate comes after burst + tRTP + tRP.

  With one group the short times hold.
* **Refresh** of all banks is due in every multiple of tREFI. From then on no other command is
  issued. Open banks are closed one per cycle, and when tRP is over, the refresh is issued.
* **Data** of a read is complete CL + burst after its column command. `answer_delay` core cycles
  later, to the nearest memory cycle, it has passed the controller and the way to the port. This way
  has room for all reads.
* **Merging**, with `merge`. A read of an access for which a read waits is answered with it, and
  takes no entry. A read of an access with a waiting write is answered in the next cycle, and a
  write of it is absorbed. While draining, a write for whose access a read waits ends the draining,
  and the read queue is chosen for a cycle.

Left out: ranks, refresh of single banks, power-down, training and errors.
"""

import dataclasses
import fractions
import math
import re
from typing import Any, Self

from hw.config import ConfigError, HardwareConfig

from .dram_parts import PARTS
from .interface import DeviceParameters


__all__ = ["POWERS", "RANGES", "DramDevice"]


_TIME = (1, 100_000)

#: field: (smallest, largest)
RANGES = {
    "channels": (1, 64), "groups": (1, 16), "banks": (1, 64),
    "row_bytes": (64, 1 << 16), "access_bytes": (16, 256), "burst": (1, 64),
    **dict.fromkeys(("CL", "CWL", "tRCDRD", "tRCDWR", "tRP", "tRAS", "tRRD_S", "tRRD_L", "tCCD_S",
                     "tCCD_L", "tRTP", "tWR", "tWTR_S", "tWTR_L", "tRFC"), _TIME),
    **dict.fromkeys(("tFAW", "t32AW", "tRTRS", "tPPD", "tREFI"), (0, 100_000)),
    "hash": (0, 1), "close_page": (0, 1), "merge": (0, 1), "two_commands": (0, 1),
    "read_queue": (1, 1024), "write_queue": (1, 1024), "bank_queue": (1, 256),
    "hit_limit": (1, 1024), "keep_writes": (0, 1024), "answer_delay": (0, 10_000),
}

#: Fields that are powers of two.
POWERS = ("channels", "groups", "banks", "row_bytes", "access_bytes")

#: Legal numbers of channels.
_CHANNELS = tuple(2**bit for bit in range(7))

#: Each time that holds in a group, and the one of other groups.
_LONG = {"tRRD_L": "tRRD_S", "tCCD_L": "tCCD_S", "tWTR_L": "tWTR_S"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DramDevice:
    """A DRAM device with its controller.

    Raises
    ------
    ConfigError
        If a value is not legal, or if times contradict each other; the error names the field, its
        value and what would be right.
    """
    model: str  #: Name of the device: ddr4, lpddr4, gddr6 or hbm2.
    #: Core cycles in a memory cycle, a whole number or a fraction such as 3/4: from 1/16 to 16.
    ratio: int | str = 1
    channels: int = 1  #: Channels, each with its own banks, queues and data bus.
    groups: int  #: Bank groups of a channel.
    banks: int  #: Banks of a group; at most 64 in a channel.
    row_bytes: int  #: Bytes of a row of a channel.
    access_bytes: int  #: Bytes that a column command moves.
    burst: int  #: Memory cycles that these bytes take on the data bus.
    CL: int  #: Column command of a read to the first data.
    CWL: int  #: Column command of a write to the first data.
    tRCDRD: int  #: Activate to read.
    tRCDWR: int  #: Activate to write.
    tRP: int  #: Precharge to activate.
    tRAS: int  #: Activate to precharge.
    tRRD_S: int  #: Activate to activate in another group.
    tRRD_L: int  #: Activate to activate in the group.
    tFAW: int  #: Window that has at most four activates; 0 for none.
    t32AW: int  #: Window that has at most 32 activates; 0 for none.
    tCCD_S: int  #: Column command to column command in another group.
    tCCD_L: int  #: Column command to column command in the group.
    tRTP: int  #: Read to precharge.
    tWR: int  #: Last data of a write to precharge.
    tWTR_S: int  #: Last data of a write to a read in another group.
    tWTR_L: int  #: Last data of a write to a read in the group.
    tRTRS: int  #: Cycles in which the data bus changes from reads to writes.
    tPPD: int  #: Precharge to precharge; 0 for none.
    tRFC: int  #: Refresh to activate.
    tREFI: int  #: Time from one refresh of all banks to the next; 0 for no refresh.
    #: Fields of an address from the lowest bit on: group, bank, channel and column, then row. A
    #: part of the column is written with its bits: column2-channel-column-group-bank-row.
    mapping: str
    hash: int = 1  #: 1 to XOR the lowest bits of the row into group, bank and channel.
    close_page: int = 0  #: 1 to close a row with every column command.
    merge: int = 1  #: 1 to answer reads of what is on its way together.
    two_commands: int  #: 1 for a row and a column command in a cycle.
    read_queue: int = 32  #: Entries of a channel's read queue.
    write_queue: int = 32  #: Entries of a channel's write buffer.
    bank_queue: int = 8  #: Entries of a bank's queue.
    hit_limit: int = 4  #: Column commands after which a row is closed for an older entry.
    keep_writes: int = 8  #: Writes that may stay in the buffer of an idle channel.
    answer_delay: int = 0  #: Core cycles that answers take from the device to the port.

    def __post_init__(self) -> None:
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                self._refuse(name, f"must be an integer from {low} to {high}")
            if name in POWERS and value & (value - 1):
                self._refuse(name, f"must be a power of two from {low} to {high}")
        if not isinstance(self.model, str) or self.model not in PARTS:
            self._refuse("model", f"must be one of {', '.join(PARTS)}")
        object.__setattr__(self, "ratio", self._checked_ratio())
        self._check_times()
        _places(self)

    def _refuse(self, name: str, why: str) -> None:
        raise ConfigError(f"DramDevice: {name} = {getattr(self, name)!r}: {why}")

    def _checked_ratio(self) -> int | str:
        """The ratio, reduced."""
        match = re.fullmatch(r"(\d{1,4})(?:/(\d{1,4}))?", str(self.ratio))
        if match is None or (match[2] is not None and not int(match[2])) or not (
                fractions.Fraction(1, 16) <= fractions.Fraction(match[0]) <= 16):
            raise ConfigError(f"DramDevice: ratio = {self.ratio!r}: must be a whole number or a "
                              "fraction such as 3/4, from 1/16 to 16")
        value = fractions.Fraction(match[0])
        return value.numerator if value.denominator == 1 else str(value)

    def _check_times(self) -> None:
        for long, short in _LONG.items():
            if getattr(self, short) > getattr(self, long):
                self._refuse(short, f"commands to other groups cannot wait longer than those to "
                             f"the group; must be at most {long} = {getattr(self, long)}")
        for name in ("tRCDRD", "tRCDWR"):
            if self.tRAS < getattr(self, name):
                self._refuse("tRAS", "a row would close before it can be used; must be at least "
                             f"{name} = {getattr(self, name)}")
        least = self.CWL + 1 - self.CL - self.burst
        if self.tRTRS < least:
            self._refuse("tRTRS", "the data of a write would come before that of a read before it; "
                         f"must be at least {least}, for CWL = {self.CWL}, CL = {self.CL} and "
                         f"burst = {self.burst}")
        if self.tFAW and self.tFAW < self.tRRD_S:
            self._refuse("tFAW", "a window of four activates cannot be shorter than the time "
                         f"between two; must be 0 or at least tRRD_S = {self.tRRD_S}")
        if self.t32AW and self.t32AW < self.tFAW:
            self._refuse("t32AW", "a window of 32 activates cannot be shorter than one of four; "
                         f"must be 0 or at least tFAW = {self.tFAW}")
        busy = self.tRAS + self.CWL + self.burst + self.tWR + self.tRP + self.tRFC
        if self.tREFI and self.tREFI <= busy:
            self._refuse("tREFI", "refreshes would leave no time for accesses; must be 0 or more "
                         f"than {busy}, which is tRAS + CWL + burst + tWR + tRP + tRFC")
        if self.groups * self.banks > 64:
            self._refuse("banks", f"a channel has at most 64; must be at most {64 // self.groups} "
                         f"for groups = {self.groups}")
        if self.row_bytes < self.access_bytes:
            self._refuse("row_bytes", f"must be at least access_bytes = {self.access_bytes}")

    @classmethod
    def of(cls, model: str, **changes: Any) -> Self:
        """A device by its name, with other values in some fields. Raises ConfigError."""
        names = [field.name for field in dataclasses.fields(cls)]
        for name in changes:
            if name not in names:
                raise ConfigError(f"DramDevice has no field {name!r}; it has {', '.join(names)}")
        if model not in PARTS:
            raise ConfigError(f"DramDevice: model = {model!r}: must be one of {', '.join(PARTS)}")
        return cls(**{"model": model, **PARTS[model], **changes})

    @property
    def changes(self) -> list[str]:
        """The model and the fields that differ from its own, as ``FIELD=VALUE``."""
        usual = dataclasses.asdict(DramDevice.of(self.model))
        return [f"{name}={value}" for name, value in dataclasses.asdict(self).items()
                if name == "model" or value != usual[name]]

    @property
    def assignments(self) -> list[str]:
        """:attr:`changes`, which :func:`sim.memories.parse_memory` accepts."""
        return self.changes

    def with_slow(self, bytes_per_cycle: int, latency: int) -> Self:
        """Raises ConfigError: a device has no slow region."""
        raise ConfigError(f"DramDevice: model = {self.model!r}: a device has no slow region for "
                          f"{bytes_per_cycle} bytes a cycle after {latency}; must be simple")

    def wider(self, times: int) -> Self:
        """This memory with so many times the channels. Raises ConfigError for more than 64."""
        return dataclasses.replace(self, channels=times * self.channels)

    @property
    def has_slow(self) -> bool:
        """Whether there is a slow region: never."""
        return False

    @property
    def clock(self) -> fractions.Fraction:
        """Core cycles in a memory cycle."""
        return fractions.Fraction(self.ratio)

    def peak_bytes(self, config: HardwareConfig) -> float:
        """The most bytes of lines that the memory ports together move in a core cycle: what the
        data buses carry, or a line a cycle at each port."""
        bus = self.channels * self._channel_bytes(config) / self.clock
        return config.memory_ports * float(min(bus, config.line_bytes))

    def _channel_bytes(self, config: HardwareConfig) -> fractions.Fraction:
        """The most bytes of lines that a channel moves in a memory cycle."""
        return fractions.Fraction(min(self.access_bytes, config.line_bytes),
                                  max(self.burst, self.tCCD_S))

    def with_peak(self, config: HardwareConfig, bytes_per_cycle: float) -> Self:
        """This device with the channels and the clock that move about so many bytes of lines in a
        core cycle at all ports. Of all powers of two, the number of channels leaves the clock
        nearest to its own. Raises ConfigError for a clock that is not legal."""
        port = fractions.Fraction(bytes_per_cycle) / config.memory_ports
        ratio, channels = min(
            ((count * self._channel_bytes(config) / port, count) for count in _CHANNELS),
            key=lambda each: abs(math.log(each[0] / self.clock)))
        return dataclasses.replace(self, channels=channels, ratio=str(ratio.limit_denominator(100)))

    def line_cycles(self, config: HardwareConfig) -> float:
        """Core cycles in which the memory moves a line at best."""
        return config.line_bytes / self.peak_bytes(config)

    def activate_cycles(self, config: HardwareConfig) -> float:
        """Core cycles in which the memory opens a row at best: the least that the windows, the time
        between two activates and the number of banks allow, in all channels together."""
        cycles = max(self.tRRD_S, self.tFAW / 4, self.t32AW / 32,
                     (self.tRAS + self.tRP) / (self.groups * self.banks))
        return float(cycles * self.clock) / (self.channels * config.memory_ports)

    def parameters(self, config: HardwareConfig) -> DeviceParameters:
        """The structure of the harness, for a memory port of a GPU. A line's number at the port is
        without the bits that choose the port."""
        places = _places(self)
        names = [name for name, *_ in DeviceParameters._fields_]
        return DeviceParameters(**{
            **{name: value for name, value in dataclasses.asdict(self).items() if name in names},
            "answer_delay": round(self.answer_delay / self.clock),
            **{f"{name}_at": place for name, (place, _) in places.items() if name != "column"},
            **{f"{name}_bits": places[name][1] for name in ("channel", "group", "bank")},
            "port_at": _bits(config.port_banks), "port_bits": _bits(config.memory_ports),
            "above": self.clock.numerator, "below": self.clock.denominator})


def _places(device: DramDevice) -> dict[str, tuple[int, int]]:
    """{field of an access's number: (lowest bit, bits)}, by the mapping of a device. Raises
    ConfigError."""
    bits = {"group": _bits(device.groups), "bank": _bits(device.banks),
            "channel": _bits(device.channels),
            "column": _bits(device.row_bytes // device.access_bytes), "row": 0}
    found: dict[str, tuple[int, int]] = {}
    at, left = 0, bits["column"]
    words = str(device.mapping).split("-")
    for word in words:
        part = re.fullmatch(r"column([1-9]\d?)", word)
        if part is not None:
            size = int(part[1])
            left -= size
        elif word in bits and word not in found:
            size = left if word == "column" else bits[word]
            found[word] = at, size
        else:
            break
        at += size
    if found.keys() != bits.keys() or words[-1] != "row" or left < 0:
        raise ConfigError(
            f"DramDevice: mapping = {device.mapping!r}: must have column, group, bank and channel "
            "once, joined by '-', and row last; parts of the column as column2, with at most "
            f"{bits['column']} bits in all")
    return found


def _bits(count: int) -> int:
    return int(math.log2(count))
