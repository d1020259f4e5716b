"""The model of an SDRAM: its contents, and its checks of the data sheet's rules.

The model must report every broken rule and nothing else. Each rule of time is tried twice: exactly
kept, and broken by one cycle.
"""

import random

import pytest

from hw.sdram.pins import ALL_BANKS, Command
from hw.sdram.timing import CHIPS, SLOWEST, SdramCycles
from tb.hw.sdram.model import BrokenRule, SdramModel


MHZ = 100
CYCLES = SdramCycles(SLOWEST, MHZ)
TIMING = SLOWEST.replace(power_up=100)

#: Bursts of 8 in order, latency 2.
MODE = 0x23

STOP = 0b100


class Chip:
    """A chip, and commands to it."""
    def __init__(self, *, ready=True, **options):
        self.model = SdramModel(TIMING, frequency=MHZ, **options)
        if ready:
            self.power_up()

    def cycle(self, code=0, **pins):
        bits = Command(code).value if code != STOP else STOP
        return self.model.cycle(**{"clk_en": 1, "cs": 1, "ras": bits & 1, "cas": bits >> 1 & 1,
                                   "we": bits >> 2, **pins})

    def idle(self, cycles):
        return [self.cycle() for _ in range(cycles)]

    def power_up(self, *, first=10, banks=ALL_BANKS, refreshes=8, mode=MODE):
        self.idle(first)
        self.after(Command.PRECHARGE, CYCLES.rp, a=banks)
        for _ in range(refreshes):
            self.after(Command.REFRESH, CYCLES.rfc)
        self.after(Command.LOAD_MODE, CYCLES.mrd, a=mode)

    def after(self, code, cycles, **pins):
        """A command, and the cycles until the next command."""
        self.cycle(code, **pins)
        self.idle(cycles - 1)

    def write(self, words, **pins):
        """Write a burst. A word is its data, or None if the word is masked."""
        for beat, word in enumerate(words):
            data = {"dq_o": word or 0, "dq_oe": 1, "dqm": 3 * (word is None)}
            self.cycle(*[Command.WRITE] * (beat == 0), **data, **(pins if beat == 0 else {}))

    def read(self, latency=2, *, after=1, **pins):
        """Read a burst, and wait ``after`` cycles after its last beat."""
        self.cycle(Command.READ, **pins)
        return self.idle(latency + 7 + after)[latency - 1:latency + 7]


def test_keeps_what_is_written():
    chip = Chip()
    rng = random.Random(1)
    words = {}
    for bank in range(4):
        chip.after(Command.ACTIVATE, CYCLES.rcd, ba=bank, a=1000 + bank)
        for column in (0, 8, 504):
            words[bank, column] = [rng.getrandbits(16) for _ in range(8)]
            chip.write(words[bank, column], ba=bank, a=column)
    for (bank, column), right in words.items():
        assert chip.read(ba=bank, a=column) == right
        place = 2 * (((1000 + bank) * 4 + bank) * 512 + column)
        assert list(chip.model.memory[place:place + 16].view("<u2")) == right


def test_order_of_a_burst_and_masks():
    chip = Chip()
    chip.after(Command.ACTIVATE, CYCLES.rcd)
    chip.write(range(8))
    assert chip.read(a=5) == [5, 6, 7, 0, 1, 2, 3, 4]
    chip.write([None, 0x1111, *[None] * 6])
    assert chip.read() == [0, 0x1111, 2, 3, 4, 5, 6, 7]
    # A masked byte; and a mask two cycles ahead of the read data.
    chip.cycle(Command.WRITE, dq_o=0x2222, dq_oe=1, dqm=1)
    for _ in range(7):
        chip.cycle(dqm=3)
    assert chip.read() == [0x2200, 0x1111, 2, 3, 4, 5, 6, 7]
    chip.cycle(Command.READ)
    got = [chip.cycle(dqm=3 * (n == 2)) for n in range(9)][1:]
    assert got[:3] + got[4:] == [0x2200, 0x1111, 2, 4, 5, 6, 7] and got[3] != 3


@pytest.mark.parametrize("latency, io_delay", [(2, 0), (3, 0), (2, 2), (3, 3)])
def test_latency(latency, io_delay):
    chip = Chip(ready=False, io_delay=io_delay)
    chip.power_up(mode=latency << 4 | 3)
    chip.after(Command.ACTIVATE, CYCLES.rcd)
    chip.write(range(1, 9))
    assert chip.read(latency + io_delay) == list(range(1, 9))


def _open(chip, bank=0):
    chip.cycle(Command.ACTIVATE, ba=bank)


def _written(chip):
    chip.after(Command.ACTIVATE, CYCLES.ras)
    chip.write(range(8))


def _closed(chip):
    chip.after(Command.ACTIVATE, CYCLES.rc)
    chip.cycle(Command.PRECHARGE)


def _all_but_rc(chip):
    chip.after(Command.ACTIVATE, CYCLES.ras)
    chip.cycle(Command.PRECHARGE)
    chip.idle(CYCLES.rc - CYCLES.ras - 1 - 1)


#: Rules of time: the preparation, the command that must wait and its pins, the cycles to wait, and
#: the complaint. The cycles are counted from the last command of the preparation.
TIMES = {
    "rcd": (_open, Command.READ, {}, CYCLES.rcd, "READ 20 ns after ACTIVATE of the bank"),
    "rcd of a write": (_open, Command.WRITE, {"dq_oe": 1}, CYCLES.rcd,
                       "WRITE 20 ns after ACTIVATE of the bank"),
    "ras": (_open, Command.PRECHARGE, {}, CYCLES.ras, "PRECHARGE 40 ns after ACTIVATE"),
    "rrd": (_open, Command.ACTIVATE, {"ba": 1}, CYCLES.rrd, "ACTIVATE 10 ns after ACTIVATE of an"),
    "wr": (_written, Command.PRECHARGE, {}, CYCLES.wr, "PRECHARGE 10 ns after the last data"),
    "rp": (_closed, Command.ACTIVATE, {}, CYCLES.rp, "ACTIVATE 20 ns after PRECHARGE"),
    "rp of a refresh": (_closed, Command.REFRESH, {}, CYCLES.rp, "REFRESH 20 ns after PRECHARGE"),
    "rp of the mode": (_closed, Command.LOAD_MODE, {"a": MODE}, CYCLES.rp,
                       "LOAD MODE 20 ns after PRECHARGE"),
    "rfc": (lambda chip: chip.cycle(Command.REFRESH), Command.ACTIVATE, {}, CYCLES.rfc,
            "ACTIVATE 60 ns after REFRESH"),
    "mrd": (lambda chip: chip.cycle(Command.LOAD_MODE, a=MODE), Command.ACTIVATE, {}, CYCLES.mrd,
            "ACTIVATE 10 ns after LOAD MODE"),
}


@pytest.mark.parametrize("name", TIMES)
def test_time(name):
    before, code, pins, cycles, complaint = TIMES[name]
    for early in (0, 1):
        chip = Chip()
        before(chip)
        chip.idle(cycles - 1 - early)
        if not early:
            chip.cycle(code, **pins)
            continue
        with pytest.raises(BrokenRule, match=complaint):
            chip.cycle(code, **pins)


def test_time_between_activates_of_a_bank():
    """tRC, with a chip whose tRC is longer than tRAS and tRP together."""
    timing = TIMING.replace(rc=90)
    for early in (0, 1):
        chip = Chip()
        chip.model = SdramModel(timing, frequency=MHZ)
        chip.power_up()
        chip.after(Command.ACTIVATE, CYCLES.ras)
        chip.after(Command.PRECHARGE, 9 - CYCLES.ras - early)
        if not early:
            chip.cycle(Command.ACTIVATE)
            continue
        with pytest.raises(BrokenRule, match="ACTIVATE 80 ns after ACTIVATE of the bank: at least"):
            chip.cycle(Command.ACTIVATE)


def test_refresh_in_time():
    chip = Chip()
    allowed = int(SLOWEST.refresh) * MHZ // 1000
    chip.cycle(Command.REFRESH)
    chip.idle(allowed - 1)
    chip.cycle(Command.REFRESH)
    chip.idle(allowed)
    with pytest.raises(BrokenRule, match="since the last REFRESH"):
        chip.cycle()


@pytest.mark.parametrize("options, complaint", [
    ({"first": 9}, "PRECHARGE 90 ns after power-up"),
    ({"banks": 0}, "the first command is PRECHARGE, not"),
    ({"refreshes": 7}, "ACTIVATE before 8 REFRESH"),
    ({"mode": 0x33 | 4}, "LOAD MODE of 0x37"),
    ({"mode": 0x13}, "LOAD MODE of 0x13"),
    ({"mode": 0x2B}, "LOAD MODE of 0x2b"),
])
def test_power_up(options, complaint):
    chip = Chip(ready=False)
    with pytest.raises(BrokenRule, match=complaint):
        chip.power_up(**options)
        chip.cycle(Command.ACTIVATE)


def _burst(code):
    def before(chip):
        chip.after(Command.ACTIVATE, CYCLES.ras)
        chip.cycle(code, dq_oe=1)
        for _ in range(6):
            chip.cycle(dq_oe=code == Command.WRITE)
    return before


def _read(cycles):
    def before(chip):
        chip.after(Command.ACTIVATE, CYCLES.ras)
        chip.read(after=cycles)
    return before


@pytest.mark.parametrize("before, code, pins, complaint", [
    (_closed, Command.READ, {}, "READ of bank 0, which is closed"),
    (_open, Command.WRITE, {"ba": 1}, "WRITE of bank 1, which is closed"),
    (_open, Command.ACTIVATE, {}, "ACTIVATE of bank 0, which is open"),
    (_open, Command.REFRESH, {}, "REFRESH while a bank is open"),
    (_open, Command.LOAD_MODE, {"a": MODE}, "LOAD MODE while a bank is open"),
    (_open, Command.READ, {"a": 512}, "READ of column 512"),
    (_open, Command.READ, {"a": ALL_BANKS}, "READ of column 1024"),
    (_burst(Command.READ), Command.READ, {}, "READ cuts a burst short"),
    (_burst(Command.WRITE), Command.PRECHARGE, {}, "PRECHARGE cuts a burst short"),
    (_open, STOP, {}, "BURST TERMINATE"),
    (_open, Command.NOP, {"clk_en": 0}, "the clock enable fell"),
    (_read(0), Command.NOP, {"dq_oe": 1}, "less than two cycles apart"),
    (_burst(Command.WRITE), Command.NOP, {"dq_oe": 0}, "data are written that nobody drives"),
])
def test_breach(before, code, pins, complaint):
    chip = Chip()
    before(chip)
    with pytest.raises(BrokenRule, match=complaint):
        chip.cycle(code, **pins)


def test_pins_a_cycle_apart():
    chip = Chip()
    _read(1)(chip)
    chip.write(range(8))


def test_outside_the_memory():
    chip = Chip(size=1 << 22)
    chip.after(Command.ACTIVATE, CYCLES.rcd, a=1 << 10)
    with pytest.raises(BrokenRule, match="byte 0x400000 is outside the memory"):
        chip.cycle(Command.READ)


def test_the_first_breach_stays():
    chip = Chip()
    with pytest.raises(BrokenRule) as first:
        chip.cycle(Command.READ)
    with pytest.raises(BrokenRule) as second:
        chip.cycle(Command.REFRESH, clk_en=0)
    assert str(first.value) == str(second.value)


@pytest.mark.parametrize("name", CHIPS)
def test_the_slowest_is_slow_enough_for(name):
    chip = CHIPS[name]
    for field in ("rcd", "rp", "ras", "rc", "rrd", "rfc", "wr", "mrd", "setup", "hold", "access"):
        assert getattr(SLOWEST, field) >= getattr(chip, field)
    assert SLOWEST.refresh <= chip.refresh and SLOWEST.output_hold <= chip.output_hold
