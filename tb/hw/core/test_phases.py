# amaranth: UnusedElaboratable=no
"""Tests of the counters of phases against a model."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge

from hw.config import HardwareConfig
from hw.core.phases import PhaseCounters
from hw.isa import PHASES
from hw.registers import WARP_COUNTS
from tb import runner
from tb.clocking import integer, start


SHAPES = {"1": {"warps": 1}, "8": {"warps": 8}, "32": {"warps": 32}}


class Bench:
    """Drives launches, changes of phases and ends as a core does."""

    def __init__(self, dut):
        self.dut = dut
        self.warps = HardwareConfig(**runner.parameters()).warps
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.counts = [[0] * WARP_COUNTS for _ in range(self.warps)]

    async def run(self, cycles, busy):
        """A launch in which warps change phases at random, and end one by one."""
        dut, rng = self.dut, self.rng
        await FallingEdge(dut.clk)
        dut.launch.value = 1
        await FallingEdge(dut.clk)
        dut.launch.value = 0
        phase, since = [0] * self.warps, [0] * self.warps
        left, last = set(range(self.warps)), {}
        now = -1
        while left:
            now += 1
            dut.now.value = now
            dut.leaves.value = dut.ends.value = 0
            ready = [warp for warp in sorted(left) if last.get(warp) != now - 1]
            if ready and (rng.random() < busy or now >= cycles):
                warp = rng.choice(ready)
                ends = now >= cycles or rng.random() < 0.02
                dut.leaves.value, dut.ends.value = 1, int(ends)
                dut.warp.value, dut.phase.value = warp, phase[warp]
                counts = self.counts[warp]
                counts[min(phase[warp], len(PHASES) - 1)] += now - since[warp]
                last[warp], since[warp], phase[warp] = now, now, rng.randrange(8)
                if ends:
                    counts[-1] += now
                    left.remove(warp)
            await FallingEdge(dut.clk)
        dut.leaves.value = 0
        await FallingEdge(dut.clk)

    async def check(self):
        """Read all counters and compare."""
        dut = self.dut
        for warp, counts in enumerate(self.counts):
            for place, count in enumerate(counts):
                words = []
                for half in range(2):
                    dut.read.value = 1
                    dut.index.value = 2 * (warp * WARP_COUNTS + place) + half
                    await FallingEdge(dut.clk)
                    dut.read.value = 0
                    words.append(integer(dut.value))
                assert words[0] | words[1] << 32 == count, (warp, place)
            assert sum(counts[:-1]) == counts[-1]

    async def clear(self):
        """Zero all counters."""
        self.dut.clear.value = 1
        await FallingEdge(self.dut.clk)
        self.dut.clear.value = 0
        self.counts = [[0] * WARP_COUNTS for _ in range(self.warps)]


@cocotb.test()
async def against_model(dut):
    """Several launches add up, until the counters are cleared."""
    await start(dut)
    bench = Bench(dut)
    await bench.check()
    for cycles, busy in ((50, 1.0), (200, 0.3), (5, 0.5)):
        await bench.run(cycles, busy)
        await bench.check()
    await bench.clear()
    await bench.check()
    await bench.run(100, 0.5)
    await bench.check()


@cocotb.test()
async def long_times(dut):
    """Both halves of a counter count."""
    await start(dut)
    bench = Bench(dut)
    dut.launch.value = 1
    await FallingEdge(dut.clk)
    dut.launch.value, dut.leaves.value, dut.ends.value = 0, 1, 1
    dut.warp.value = dut.phase.value = 0
    dut.now.value = 0x12_3456_789A
    await FallingEdge(dut.clk)
    dut.leaves.value = 0
    await FallingEdge(dut.clk)
    bench.counts[0][0] = bench.counts[0][-1] = 0x12_3456_789A
    await bench.check()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(2)
def test_phase_counters(simulator, shape):
    fields = SHAPES[shape]
    runner.run_bench(PhaseCounters(HardwareConfig(**fields)), "phases", __name__,
                     simulator=simulator, parameters=fields)
