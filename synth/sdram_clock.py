"""The phase of an SDRAM's clock, and the cycle in which read data are registered.

All pins except the clock change shortly after the rising edge of the system clock, and read data
are registered at a rising edge. The chip's clock is the system clock, delayed by the PLL. With a
period T and a delay d, in ns, four conditions must hold:

* the chip sees the command: d is at least its setup time,
* and not the next one: T - d is at least its hold time;
* data arrive before they are registered, k cycles after the command: (CL - 1) T + d, the chip's
  access time, and the way out and in, take at most k T;
* and stay so long: CL T + d, the hold time of its outputs, and the way, take at least k T.

At low frequencies k is CL. At higher ones the way is so long that k is CL + 1, and d a large part
of the period. The delay is the one with the largest margin among all that the PLL can make.
"""

import dataclasses

from base.errors import UserError
from hw.sdram.timing import SdramTiming
from synth.pll import Dividers


__all__ = ["SdramClock", "sdram_clock"]


#: Shortest and longest delay from a clock edge to a pin, and from a pin to its register, setup
#: included, in ns; the largest skew of two pins; and the hold time of a register. The values are on
#: the safe side of the ECP5's data sheet for speed grade 6.
_OUT, _IN, _SKEW, _HOLD = (1.5, 5.0), (0.0, 2.0), 1.0, 0.5


@dataclasses.dataclass(frozen=True)
class SdramClock:
    """The settings of the clock."""
    delay: int  #: Delay of the chip's clock, in units of the PLL's :attr:`Dividers.step`.
    late: int  #: Cycles after the CAS latency in which data are registered: 0 or 1.
    margin: float  #: Slack of the tightest of the four conditions, in ns.


def _margin(period: float, delay: float, late: int, timing: SdramTiming) -> float:
    """The least that is left of the four conditions; k is CL + late, so CL drops out."""
    return min(
        delay - timing.setup - _SKEW,
        period - delay - timing.hold - _SKEW,
        (1 + late) * period - delay - timing.access - _OUT[1] - _IN[1],
        delay + timing.output_hold + _OUT[0] + _IN[0] - late * period - _HOLD,
    )


def sdram_clock(dividers: Dividers, timing: SdramTiming) -> SdramClock:
    """The clock of an SDRAM. Raises UserError if there is none at this frequency."""
    period = 1000 / dividers.frequency
    best = max((SdramClock(delay, late, _margin(period, delay * dividers.step, late, timing))
                for delay in range(8 * dividers.output) for late in (0, 1)),
               key=lambda clock: clock.margin)
    if best.margin < 0:
        raise UserError(f"the SDRAM's data cannot be registered safely at {dividers.frequency:g} "
                        f"MHz: {-best.margin:.2f} ns are missing; try another frequency")
    return best
