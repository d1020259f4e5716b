"""The counters of events.

==============  ==============================================================
counts          against_model: random events of several widths, also none and
                all, beyond 32 bits; both halves read at once and after the
                promised time; zeroed at any time; one memory and two
==============  ==============================================================
"""

import random

import cocotb
import pytest
from amaranth.lib import data

from hw.counters import TURNS, Counters
from tb import runner
from tb.clocking import integer, start, tick


WIDTHS = {2: (1, 31), 3: (2, 1, 1), 20: (1,) * 18 + (4, 6), 29: (1,) * 28 + (6,)}


@cocotb.test()
async def against_model(dut):
    await start(dut)
    widths = WIDTHS[runner.parameters()["number"]]
    rng = random.Random(cocotb.RANDOM_SEED)
    number = len(widths)
    latency = min(number, TURNS) + 2
    totals = [[0] * number]             # after each cycle's events, since the last clear
    cleared = 0                         # index of the first cycle that counts
    for cycle in range(6000):
        density = (0.0, 0.5, 1.0)[cycle // 200 % 3]
        events = [rng.choice((rng.getrandbits(width), (1 << width) - 1))
                  if rng.random() < density else 0 for width in widths]
        bits, place = 0, 0
        for event, width in zip(events, widths):
            bits, place = bits | event << place, place + width
        dut.events.value = bits
        clear = rng.random() < 0.002
        dut.clear.value = clear
        index = rng.randrange(2 * number + 4)
        dut.read.value, dut.index.value = 1, index
        totals.append([total + event for total, event in zip(totals[-1], events)])
        await tick(dut)
        if clear:
            # Events of the cycle before are on their way, and are not counted either.
            totals = [[0] * number] * (len(totals) - 1) + [events]
            cleared = len(totals) - 1
        got = integer(dut.value)
        which, half = divmod(index, 2)
        if which >= number:
            assert got == 0
            continue
        # Reads include at least the events from before the latency, and at most all events.
        least, most = totals[max(0, len(totals) - 1 - latency)][which], totals[-1][which]
        if half:
            assert least >> 32 <= got <= most >> 32, (cycle, which)
        elif least >> 32 == most >> 32:
            assert least <= most >> 32 << 32 | got <= most, (cycle, which)
    dut.events.value = dut.clear.value = 0
    await tick(dut, latency - 1)
    for which in range(number):
        found = 0
        for half in range(2):
            dut.index.value = 2 * which + half
            await tick(dut)
            found |= integer(dut.value) << 32 * half
        assert found == totals[-1][which]
    assert cleared and max(totals[-1]) > (1 << 32 if 31 in widths else 100)


@pytest.mark.parametrize("number", WIDTHS)
@pytest.mark.sample(2)
def test_counters(simulator, number):
    layout = data.StructLayout({f"event_{i}": width for i, width in enumerate(WIDTHS[number])})
    runner.run_bench(Counters(layout), "counters", __name__, simulator=simulator,
                     parameters={"number": number})
