# amaranth: UnusedElaboratable=no
"""Delays that keep the throughput.

====================  ============================================================================
delay line            line: each item after exactly so many cycles, in any pattern of cycles
aging queue           queue: the order, the latency, an item a cycle; items that are refused age
wrong parameters      test_refused
reset                 in both, in mid-flight: nothing comes out
====================  ============================================================================
"""

import collections
import random

import cocotb
import pytest

from hw.delays import DelayLine, AgingQueue
from tb import runner
from tb.clocking import integer, reset, start, tick


@cocotb.test()
async def line(dut):
    """At any load, an item comes out after so many cycles, and at no other time."""
    await start(dut)
    cycles, rng = runner.parameters()["cycles"], random.Random(1)
    for load in (1.0, 0.5, 0.05):
        under_way = collections.deque([None] * cycles)
        for _ in range(4 * cycles + 20):
            item = rng.getrandbits(8) if rng.random() < load else None
            dut.i_valid.value, dut.i.value = int(item is not None), item or 0
            under_way.append(item)
            came = under_way.popleft()
            assert integer(dut.o_valid) == (came is not None)
            assert came is None or integer(dut.o) == came
            await tick(dut)
        dut.i_valid.value = 0
        await reset(dut)
        for _ in range(cycles + 2):
            assert integer(dut.o_valid) == 0
            await tick(dut)


@cocotb.test()
async def queue(dut):
    """Items come out in order. An item is on offer ``latency + 1`` cycles after it entered, or as
    soon as the items before it are gone, whatever their number."""
    await start(dut)
    latency, depth, rng = *runner.parameters().values(), random.Random(1)
    for enters, takes in ((1.0, 1.0), (0.3, 1.0), (1.0, 0.3), (0.5, 0.5), (1.0, 0.0)):
        waiting, taken = collections.deque(), 0
        cycles = 4 * latency + 60
        for cycle in range(cycles):
            offered = bool(waiting) and waiting[0][0] < cycle - latency
            assert integer(dut.level) == len(waiting)
            assert integer(dut.r_rdy) == offered
            assert not offered or integer(dut.r_data) == waiting[0][1]
            room = integer(dut.w_rdy)
            assert room or len(waiting) >= depth
            item = rng.getrandbits(8) if rng.random() < enters else None
            reads = int(rng.random() < takes)
            dut.w_en.value, dut.w_data.value = int(item is not None), item or 0
            dut.r_en.value = reads
            if offered and reads:
                waiting.popleft()
                taken += 1
            if item is not None and room:
                waiting.append((cycle, item))
            await tick(dut)
        if enters == takes == 1.0:
            assert taken == cycles - latency - 1
        dut.w_en.value = 0
        await reset(dut)
        for _ in range(latency + 3):
            assert integer(dut.r_rdy) == integer(dut.level) == 0
            await tick(dut)


@pytest.mark.parametrize("cycles", [2, 3, 24])
def test_line(simulator, cycles):
    runner.run_bench(DelayLine(8, cycles), "delay_line", __name__, simulator=simulator,
                     parameters={"cycles": cycles}, tests=["line"])


@pytest.mark.parametrize("latency", [1, 2, 25])
def test_queue(simulator, latency):
    unit = AgingQueue(width=8, depth=6, latency=latency)
    runner.run_bench(unit, "aging_queue", __name__, simulator=simulator,
                     parameters={"latency": latency, "depth": unit.depth}, tests=["queue"])


@pytest.mark.parametrize("make, text", [
    (lambda: DelayLine(8, 1), "a delay line of 1 cycles: must be at least 2"),
    (lambda: AgingQueue(width=8, depth=4, latency=0), "an aging queue of 0 cycles: must be at"),
])
def test_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()
