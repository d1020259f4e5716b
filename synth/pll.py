# pyright: reportAttributeAccessIssue=false
# Amaranth makes the ports of a component when the component is constructed.
"""The PLL of an ECP5: dividers for a frequency and a phase, and the instance."""

import dataclasses
import math

from amaranth.hdl import Const, Instance, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from base.errors import UserError


__all__ = ["Dividers", "Pll", "dividers"]


#: Ranges of the phase detector and of the oscillator, in MHz, and the greatest divider.
_DETECTOR, _OSCILLATOR, _GREATEST = (3.125, 400.0), (400.0, 800.0), 128

#: Relative error of a frequency that is written with 6 digits.
_CLOSE = 1e-5

#: The middle of the oscillator's range, in MHz, which is preferred.
_MIDDLE = 600.0


@dataclasses.dataclass(frozen=True)
class Dividers:
    """The settings of a PLL."""
    reference: float  #: Frequency of the PLL's input, in MHz.
    #: The PLL makes ``frequency / feedback`` equal to ``reference / input``. The oscillator runs
    #: ``output`` times as fast as the output.
    input: int
    feedback: int  #: See `input`.
    output: int  #: See `input`.

    @property
    def frequency(self) -> float:
        """MHz of the output."""
        return self.reference * self.feedback / self.input

    @property
    def oscillator(self) -> float:
        """MHz of the oscillator."""
        return self.frequency * self.output

    @property
    def step(self) -> float:
        """The unit in which an output can be delayed, in ns: an eighth of the oscillator's period.
        """
        return 125 / self.oscillator


def _all(reference):
    for input in range(1, int(reference / _DETECTOR[0]) + 1):
        for feedback in range(1, _GREATEST + 1):
            frequency = reference * feedback / input
            for output in range(1, _GREATEST // 2 + 1):
                if _OSCILLATOR[0] <= frequency * output <= _OSCILLATOR[1]:
                    yield Dividers(reference, input, feedback, output)


def dividers(frequency, reference=25.0) -> Dividers:
    """The dividers that give a frequency in MHz, to the precision of 6 digits.

    Raises UserError, naming the nearest frequencies there are, if no dividers do.
    """
    if not math.isfinite(frequency):
        raise UserError(f"a clock of {frequency:g} MHz cannot be made: it must be a number")
    found = list(_all(reference))
    exact = [each for each in found if abs(each.frequency - frequency) < _CLOSE * frequency]
    if exact:
        return min(exact, key=lambda each: (each.input, abs(each.oscillator - _MIDDLE)))
    known = {each.frequency for each in found}
    below = max((each for each in known if each < frequency), default=None)
    above = min((each for each in known if each > frequency), default=None)
    near = " and ".join(f"{each:.6g}" for each in (below, above) if each is not None)
    raise UserError(f"a clock of {frequency:g} MHz cannot be made of {reference:g} MHz; the "
                    f"nearest frequencies are {near} MHz")


class Pll(wiring.Component):
    """A PLL with two outputs of one frequency. The second output may be delayed.

    The first output goes back to the phase detector from the end of the clock tree. So it rises
    there when the input rises.

    Parameters
    ----------
    dividers : Dividers
    delay : int
        Delay of the second output, in units of :attr:`Dividers.step`; less than a period.

    Members
    -------
    i : In(1)
        The input clock.
    o : Out(1)
    delayed : Out(1)
    locked : Out(1)
        The outputs have their frequency. Not synchronous to any clock.
    """
    def __init__(self, dividers: Dividers, delay=0):
        if not 0 <= delay < 8 * dividers.output:
            raise ValueError(f"delay is {delay!r}, must be 0 to {8 * dividers.output - 1}")
        self._dividers, self._delay = dividers, delay
        super().__init__({"i": In(1), "o": Out(1), "delayed": Out(1), "locked": Out(1)})

    def elaborate(self, platform):
        m = Module()
        setting = self._dividers
        periods, eighths = divmod(self._delay, 8)
        m.submodules.pll = Instance(
            "EHXPLLL",
            a_FREQUENCY_PIN_CLKI=f"{setting.reference:g}",
            a_FREQUENCY_PIN_CLKOP=f"{setting.frequency:g}",
            a_FREQUENCY_PIN_CLKOS=f"{setting.frequency:g}",
            a_ICP_CURRENT="12", a_LPF_RESISTOR="8", a_MFG_ENABLE_FILTEROPAMP="1",
            a_MFG_GMCREF_SEL="2",
            p_PLLRST_ENA="DISABLED", p_INTFB_WAKE="DISABLED", p_STDBY_ENABLE="DISABLED",
            p_DPHASE_SOURCE="DISABLED", p_FEEDBK_PATH="CLKOP",
            p_OUTDIVIDER_MUXA="DIVA", p_OUTDIVIDER_MUXB="DIVB",
            p_OUTDIVIDER_MUXC="DIVC", p_OUTDIVIDER_MUXD="DIVD",
            p_CLKI_DIV=setting.input, p_CLKFB_DIV=setting.feedback,
            p_CLKOP_ENABLE="ENABLED", p_CLKOP_DIV=setting.output,
            p_CLKOP_CPHASE=setting.output - 1, p_CLKOP_FPHASE=0,
            p_CLKOS_ENABLE="ENABLED", p_CLKOS_DIV=setting.output,
            p_CLKOS_CPHASE=setting.output - 1 + periods, p_CLKOS_FPHASE=eighths,
            i_CLKI=self.i, i_CLKFB=self.o, o_CLKOP=self.o, o_CLKOS=self.delayed,
            o_LOCK=self.locked,
            i_RST=Const(0, 1), i_STDBY=Const(0, 1), i_ENCLKOP=Const(0, 1),
            i_ENCLKOS=Const(0, 1), i_PLLWAKESYNC=Const(0, 1),
            i_PHASESEL0=Const(0, 1), i_PHASESEL1=Const(0, 1), i_PHASEDIR=Const(1, 1),
            i_PHASESTEP=Const(1, 1), i_PHASELOADREG=Const(1, 1),
        )
        return m
