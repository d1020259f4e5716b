"""Timing of 16-bit SDRAMs of 32 MiB from their data sheets, in nanoseconds and in cycles.

A chip has four banks of 8192 rows. A row is 512 columns of two bytes. Data sheets give most times
in nanoseconds, to be rounded up to clock cycles. Some times are given in cycles, and some in both
units; then the longer time counts.
"""

import dataclasses

from hw.config import ConfigError


__all__ = ["BANKS", "BURST", "BYTES", "CHIPS", "COLUMNS", "ROWS", "SLOWEST", "SdramCycles",
           "SdramTiming"]


BANKS, ROWS, COLUMNS = 4, 8192, 512

#: Bytes of a chip.
BYTES = 2 * COLUMNS * ROWS * BANKS

#: Columns that a READ or WRITE transfers: the burst length that the mode register is set to.
BURST = 8


@dataclasses.dataclass(frozen=True, kw_only=True)
class SdramTiming:
    """Timing of a chip, from its data sheet."""
    name: str  #: Name of the chip.
    #: ACTIVATE to column command; PRECHARGE to ACTIVATE; ACTIVATE to PRECHARGE; ACTIVATE to
    #: ACTIVATE of the same bank; ACTIVATE to ACTIVATE of another bank. All times are in ns.
    rcd: float
    rp: float  #: See `rcd`.
    ras: float  #: See `rcd`.
    rc: float  #: See `rcd`.
    rrd: float  #: See `rcd`.
    rfc: float  #: REFRESH to the next command.
    wr: float  #: Last data written to PRECHARGE. At least ``wr_cycles`` cycles.
    mrd: float  #: LOAD MODE to the next command. At least ``mrd_cycles`` cycles.
    #: From one REFRESH to the next, at most: 64 ms divided by 8192 rows.
    refresh: float = 64e6 / ROWS
    #: From a stable clock to the first command, at least. A simulation may shorten this time.
    power_up: float = 200e3
    wr_cycles: int = 2  #: Least number of cycles at any clock frequency.
    mrd_cycles: int = 2  #: Least number of cycles at any clock frequency.
    rrd_cycles: int = 2  #: Least number of cycles at any clock frequency.
    setup: float = 1.5  #: Set-up and hold time of all inputs around the edge of the chip's clock.
    hold: float = 1.0  #: Set-up and hold time of all inputs around the edge of the chip's clock.
    #: From a clock edge to the data of this edge; from a clock edge to the end of the data before.
    access: float = 6.0
    output_hold: float = 2.5  #: See `access`.

    def replace(self, **changes) -> "SdramTiming":
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)


#: Chips of common boards by name, in the speed grades that are sold most.
CHIPS = {
    timing.name: timing for timing in (
        SdramTiming(name="IS42S16160G-7", rcd=15, rp=15, ras=37, rc=60, rrd=14, rfc=60, wr=14,
                    mrd=14),
        SdramTiming(name="W9825G6KH-6", rcd=15, rp=15, ras=42, rc=60, rrd=12, rfc=60, wr=12,
                    mrd=12, hold=0.8, output_hold=3.0),
        SdramTiming(name="AS4C16M16SA-7", rcd=21, rp=21, ras=42, rc=63, rrd=14, rfc=63, wr=14,
                    mrd=14, hold=0.8),
        SdramTiming(name="MT48LC16M16A2-75", rcd=20, rp=20, ras=44, rc=66, rrd=15, rfc=66, wr=15,
                    mrd=15, hold=0.8, output_hold=2.7),
    )
}


def _slowest(chips):
    """A timing that satisfies all chips: the maximum of each time, but the minimum of ``refresh``
    and ``output_hold``."""
    least = ("refresh", "output_hold")
    times = {
        field.name: (min if field.name in least else max)(
            getattr(chip, field.name) for chip in chips)
        for field in dataclasses.fields(SdramTiming) if field.name != "name"}
    return SdramTiming(name="slowest", **times)


#: A timing that is slow enough for every chip of :data:`CHIPS`.
SLOWEST = _slowest(CHIPS.values())


class SdramCycles:
    """Timing of a chip in cycles of a clock.

    Parameters
    ----------
    timing : SdramTiming
    frequency : float
        Frequency of the clock in MHz, 40 to 100.

    Attributes
    ----------
    rcd, rp, ras, rc, rrd, rfc, wr, mrd, power_up : int
        Least numbers of cycles.
    refresh : int
        Greatest number of cycles.

    Raises
    ------
    ConfigError
        The frequency is out of range.
    """
    def __init__(self, timing, frequency):
        if not 40 <= frequency <= 100:
            raise ConfigError(f"SDRAM clock of {frequency:g} MHz: must be 40 to 100 MHz")
        for name in ("rcd", "rp", "ras", "rc", "rrd", "rfc", "wr", "mrd", "power_up"):
            # Integers in units of 1 ps and 1 kHz: rounding never adds a cycle to an exact number.
            product = round(getattr(timing, name) * 1000) * round(frequency * 1000)
            least = getattr(timing, f"{name}_cycles", 1)
            setattr(self, name, max(least, -(-product // 10**9)))
        self.refresh = round(timing.refresh * 1000) * round(frequency * 1000) // 10**9
