# amaranth: UnusedElaboratable=no
"""Conversion of nanoseconds to cycles, and refusals of the controller's blocks."""

import pytest
from amaranth.lib import data

from hw.config import ConfigError
from hw.sdram.answers import Answers
from hw.sdram.banks import Banks
from hw.sdram.timing import SLOWEST, SdramCycles, SdramTiming
from hw.sdram.transfer import Transfer


@pytest.mark.parametrize("nanoseconds, frequency, cycles", [
    (20, 50, 1), (20.001, 50, 2), (21, 50, 2), (15, 100, 2), (60, 100, 6), (60, 66.667, 5),
    (12.5, 80, 1), (66, 62.5, 5), (1, 40, 1)])
def test_rounded_up(nanoseconds, frequency, cycles):
    assert SdramCycles(SLOWEST.replace(rfc=nanoseconds), frequency).rfc == cycles


@pytest.mark.parametrize("frequency, cycles", [(40, 312), (50, 390), (100, 781)])
def test_refresh_is_rounded_down(frequency, cycles):
    assert SdramCycles(SLOWEST, frequency).refresh == cycles


def test_the_longer_counts():
    """The longer time counts if a time is given in ns and in cycles."""
    assert SdramCycles(SLOWEST, 40).wr == SLOWEST.wr_cycles == 2
    assert SdramCycles(SLOWEST.replace(wr=30), 100).wr == 3


def test_slowest():
    """The timing of all chips together is no chip's own."""
    assert SLOWEST == SdramTiming(name="slowest", rcd=21, rp=21, ras=44, rc=66, rrd=15, rfc=66,
                                  wr=15, mrd=15, hold=1.0, output_hold=2.5)
    assert SLOWEST.refresh == 64e6 / 8192


@pytest.mark.parametrize("frequency", [39.9, 100.1])
def test_wrong_frequency(frequency):
    with pytest.raises(ConfigError, match=f"SDRAM clock of {frequency} MHz: must be 40 to 100"):
        SdramCycles(SLOWEST, frequency)


@pytest.mark.parametrize("delay", [0, 8])
def test_wrong_delay(delay):
    with pytest.raises(ValueError, match=f"delay is {delay}, must be 1 to 7 cycles"):
        Answers(data.StructLayout({"tag": 1, "data": 128}), delay)


def test_wrong_line():
    with pytest.raises(ValueError, match="line_bytes is 24, must be a multiple of 16"):
        Transfer(24, 2)


def test_wrong_open_time():
    with pytest.raises(ValueError, match="must stay open for 30 cycles"):
        Banks(SdramCycles(SLOWEST.replace(ras=300), 100))
