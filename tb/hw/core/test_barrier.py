"""Barriers against a model of the warps that wait at each barrier.

====================  ==========================================================
release, count        directed, against_model
numbers               directed: the last barrier, and a number without a barrier
deadlock              directed, against_model
launch                directed, against_model
shapes                1 warp, 1 barrier; 4 and 32 warps
====================  ==========================================================
"""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.config import HardwareConfig
from hw.core.barrier import Barriers
from tb import runner
from tb.clocking import integer, start, tick


class Model:
    """The warps that wait at each barrier."""
    def __init__(self, warps, barriers):
        self.warps, self.waiters = warps, [set() for _ in range(barriers)]

    @property
    def waiting(self):
        return set().union(*self.waiters)

    def arrive(self, warp, number, count):
        """The warps released."""
        here = self.waiters[number]
        here.add(warp)
        if len(here) < count:
            return set()
        released = set(here)
        here.clear()
        return released


def mask(warps):
    return sum(1 << warp for warp in warps)


class Bench:
    """Drives the barriers a cycle at a time and compares every output."""
    def __init__(self, dut):
        self.dut = dut
        config = HardwareConfig(**runner.parameters())
        self.warps, self.barriers = config.warps, config.barriers
        self.launch()

    def launch(self):
        self.model = Model(self.warps, self.barriers)
        self.active = set(range(self.warps))

    @property
    def free(self):
        """Warps that could arrive."""
        return sorted(self.active - self.model.waiting)

    async def cycle(self, arrival=None, launch=False):
        """One cycle, with at most one arrival as (warp, number, count)."""
        dut, model = self.dut, self.model
        waiting = set(model.waiting)
        first = min(waiting, default=0)
        at = next((n for n, here in enumerate(model.waiters) if first in here), 0)
        warp, number, count = arrival or (0, 0, 0)
        dut.arrive.value, dut.warp.value = int(arrival is not None), warp
        dut.number.value, dut.count.value = number, count
        dut.active.value, dut.launch.value = mask(self.active), int(launch)
        invalid = arrival is not None and number >= self.barriers
        released = set()
        if arrival is not None and not invalid:
            released = model.arrive(warp, number, count)
        await ReadOnly()
        assert integer(dut.released) == mask(released)
        assert integer(dut.waiting) == mask(waiting)
        assert integer(dut.invalid) == int(invalid)
        deadlock = bool(self.active) and self.active <= waiting
        assert integer(dut.deadlock) == int(deadlock)
        if deadlock:
            assert (integer(dut.deadlock_warp), integer(dut.deadlock_number)) == (first, at)
        if launch:
            self.launch()
        await tick(dut)
        dut.arrive.value = dut.launch.value = 0
        return released


@cocotb.test()
async def directed(dut):
    await start(dut)
    bench = Bench(dut)
    last, everyone = bench.barriers - 1, set(range(bench.warps))
    for number in {0, last}:
        for warp in range(bench.warps - 1):
            assert not await bench.cycle((warp, number, bench.warps))
        assert await bench.cycle((bench.warps - 1, number, bench.warps)) == everyone
    # No warp has to wait at a barrier for 0 or 1 warps.
    for count in (0, 1):
        assert await bench.cycle((0, 0, count)) == {0}
    assert not await bench.cycle((0, bench.barriers, 1))
    # A count of more warps than there are: a deadlock once all wait, until a launch.
    for warp in reversed(range(bench.warps)):
        assert not await bench.cycle((warp, last, bench.warps + 1))
    await bench.cycle()
    await bench.cycle(launch=True)
    # Warps that have ended do not count for a deadlock.
    for warp in range(1, bench.warps):
        await bench.cycle((warp, last, bench.warps))
    bench.active.discard(0)
    await bench.cycle()


@cocotb.test()
async def against_model(dut):
    await start(dut)
    bench = Bench(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    releases = deadlocks = 0
    for _ in range(3000):
        arrival = None
        if bench.free and rng.random() < 0.8:
            number = rng.randrange(bench.barriers) if rng.random() < 0.95 else bench.barriers
            arrival = rng.choice(bench.free), number, rng.randrange(bench.warps + 2)
        elif bench.free and rng.random() < 0.1:
            bench.active.discard(rng.choice(bench.free))
        releases += bool(await bench.cycle(arrival))
        if not bench.free:
            deadlocks += 1
            await bench.cycle()
            await bench.cycle(launch=True)
    assert releases and deadlocks


@pytest.mark.parametrize("warps, barriers", [(1, 1), (4, 2), (32, 4)])
@pytest.mark.sample(2)
def test_barriers(simulator, warps, barriers):
    parameters = {"warps": warps, "barriers": barriers, "threads": 1}
    runner.run_bench(Barriers(HardwareConfig(**parameters)), "barriers", __name__,
                     simulator=simulator, parameters=parameters)
