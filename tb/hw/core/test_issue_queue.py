# amaranth: UnusedElaboratable=no
"""The queue in front of a unit: order, room and throughput, with the unit ready at any time.

====================  ==========================================================
order, nothing lost   random
room                  fills_up, keeps_pace
reset                 each test begins with a reset; the second half of random
====================  ==========================================================
"""

import collections

import cocotb
import pytest
from amaranth.lib import data
from cocotb.triggers import ReadOnly

from hw.config import HardwareConfig
from hw.core.issue_queue import QUEUE, IssueQueue
from tb import runner
from tb.clocking import integer, reset, start, tick
from tb.hw.core.bench_unit import generator


BITS = 16


class Pipeline:
    """Picks instructions, brings them to the queue, and plays the unit behind the queue.

    Attributes
    ----------
    picks : int
        Number of instructions picked so far. Each instruction carries its number, from 0.
    waiting : collections.deque
        Instructions that have not left the queue.
    """
    def __init__(self, dut):
        self.dut, self.long = dut, runner.parameters()["pipeline"] == "long"
        self.forget()

    def forget(self):
        self.picks, self.waiting = 0, collections.deque()
        self.stages = [None] * (3 if self.long else 1)
        self.known = 0                       # whether there was room in the cycle before

    async def cycle(self, *, picks, ready):
        """One cycle. Returns whether an instruction was picked, and whether one left."""
        dut = self.dut
        entering = self.stages[-1]
        dut.picked.value = int(self.stages[0] is not None)
        dut.enter.value = int(entering is not None)
        dut.instruction.value = entering or 0
        dut.o__ready.value = int(ready)
        await ReadOnly()
        room = integer(dut.room)
        may, self.known = (self.known if self.long else room), room
        leaves = integer(dut.o__valid) and ready
        if integer(dut.o__valid):
            assert integer(dut.o__payload) == self.waiting[0] & (1 << BITS) - 1
        if leaves:
            self.waiting.popleft()
        if entering is not None:
            self.waiting.append(entering)
        pick = bool(may) and picks
        self.stages = [self.picks if pick else None, *self.stages[:-1]]
        self.picks += pick
        await tick(dut)
        return pick, leaves

    @property
    def under_way(self):
        return len(self.waiting) + sum(stage is not None for stage in self.stages)


@cocotb.test()
async def random(dut):
    await start(dut)
    pipeline, rng = Pipeline(dut), generator()
    for run in range(2):
        left = 0
        for _ in range(12):
            often, ready = rng.choice((0.2, 0.7, 1.0)), rng.choice((0.1, 0.5, 0.9))
            for _ in range(60):
                _, leaves = await pipeline.cycle(picks=rng.random() < often,
                                                 ready=rng.random() < ready)
                left += leaves
        while pipeline.under_way:
            _, leaves = await pipeline.cycle(picks=False, ready=True)
            left += leaves
        assert left == pipeline.picks > 100
        if run == 0:                         # full, and gone with the reset
            for _ in range(20):
                await pipeline.cycle(picks=True, ready=False)
            dut.enter.value = dut.picked.value = 0
            await reset(dut)
            pipeline.forget()


@cocotb.test()
async def fills_up(dut):
    """All places are used before there is no room, and a free place is used again. The long
    pipeline keeps two places for instructions picked before the lack of room is known."""
    await start(dut)
    pipeline = Pipeline(dut)
    for _ in range(20):
        await pipeline.cycle(picks=True, ready=False)
    depth = QUEUE[runner.parameters()["pipeline"]]
    least = depth - 2 if pipeline.long else depth
    assert least <= pipeline.under_way <= depth
    for _ in range(10):
        await pipeline.cycle(picks=True, ready=True)
        for _ in range(6):
            await pipeline.cycle(picks=True, ready=False)
        assert least <= pipeline.under_way <= depth


@cocotb.test()
async def keeps_pace(dut):
    """An instruction passes each cycle, if the unit takes one each cycle."""
    await start(dut)
    pipeline = Pipeline(dut)
    for _ in range(5):
        await pipeline.cycle(picks=True, ready=True)
    for _ in range(50):
        assert await pipeline.cycle(picks=True, ready=True) == (True, True)


@pytest.mark.parametrize("pipeline", ["short", "long"])
def test_issue_queue(simulator, pipeline):
    runner.run_bench(IssueQueue(HardwareConfig(pipeline=pipeline),
                                data.StructLayout({"number": BITS})),
                     "issue_queue", __name__, simulator=simulator,
                     parameters={"pipeline": pipeline})
