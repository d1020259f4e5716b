"""Fetch: PCs, instruction memory, arbitration.

====================  ==========================================================
order of a warp       against_model: each word once, in order, from its PC
latency, throughput   directed: a word a cycle; for one warp, a word in two cycles, or three
fairness              against_model: no warp waits for more than all others
redirect, pc          against_model
end of memory         directed: fetched_outside
launch                directed, against_model: at any time
====================  ==========================================================
"""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.config import HardwareConfig
from hw.core.fetch import Fetch
from tb import runner
from tb.clocking import integer, start, tick


class Bench:
    """Plays the scheduler, and keeps the PC of every warp."""
    def __init__(self, dut):
        self.dut = dut
        self.config = HardwareConfig(**runner.parameters())
        self.warps, self.words = self.config.warps, self.config.imem_bytes // 4
        self.pcs = [0] * self.warps        # word addresses
        self.memory = [0] * self.words
        # Warps whose words are on their way, the next one first; None for a cycle without a warp.
        self.stages = 2 if self.config.long else 1
        self.coming = [None] * self.stages
        self.starved = [0] * self.warps
        self.last = self.warps - 1         # the warp that was picked last

    def _pick(self, may_fetch):
        """The warp that is picked, or None: the next one that may fetch and has no word on its
        way."""
        wanting = set(may_fetch) - {coming[0] for coming in self.coming if coming is not None}
        picked = min(wanting, key=lambda warp: (warp - self.last - 1) % self.warps, default=None)
        for warp in range(self.warps):
            waits = warp in wanting and warp != picked
            self.starved[warp] = self.starved[warp] + 1 if waits else 0
            assert self.starved[warp] < self.warps, f"warp {warp} is starved"
        if picked is not None:
            self.last = picked
        return picked

    async def load(self, words):
        for index, word in enumerate(words):
            self.dut.write.value, self.dut.write_address.value = 1, index
            self.dut.write_data.value = self.memory[index] = word
            await tick(self.dut)
        self.dut.write.value = 0

    async def launch(self, entry):
        """Set every warp to a word address, while all want to fetch, as after an error."""
        self.dut.launch.value, self.dut.entry.value = 1, 4 * entry
        self.dut.may_fetch.value = (1 << self.warps) - 1
        self._pick(range(self.warps))
        await tick(self.dut)
        self.dut.launch.value = self.dut.may_fetch.value = 0
        self.pcs = [entry] * self.warps
        self.coming, self.starved = [None] * self.stages, [0] * self.warps
        assert integer(self.dut.fetched) == 0
        await tick(self.dut)

    async def cycle(self, may_fetch, redirect=None):
        """One cycle; returns the warp that was picked in it, or None.

        ``may_fetch`` is an iterable of warps. The word shows which warp the arbiter picked. The
        bench compares that warp with its own choice: the next that wants after the last one picked.
        """
        dut = self.dut
        may_fetch = set(may_fetch)
        dut.may_fetch.value = sum(1 << warp for warp in may_fetch)
        dut.redirect.value = int(redirect is not None)
        if redirect is not None:
            dut.redirect_warp.value, dut.redirect_pc.value = redirect[0], 4 * redirect[1]
        picked = self._pick(may_fetch)
        await tick(dut)
        dut.may_fetch.value = dut.redirect.value = 0
        self.coming = [*self.coming[1:], None if picked is None else (picked, self.pcs[picked])]
        if picked is not None:
            self.pcs[picked] += 1
        if redirect is not None:
            self.pcs[redirect[0]] = redirect[1]
        assert integer(dut.fetched) == int(self.coming[0] is not None)
        if self.coming[0] is not None:
            warp, pc = self.coming[0]
            assert integer(dut.fetched_warp) == warp
            assert integer(dut.fetched_by) == 1 << warp
            outside = pc >= self.words
            assert integer(dut.fetched_outside) == int(outside)
            if not outside:
                assert integer(dut.fetched_pc) == 4 * pc
                # test_decode checks the other fields of the word.
                assert integer(dut.fetched_word) & 0xFFFF_FFFF == self.memory[pc]
        return picked

    @property
    def under_way(self):
        """Warps whose words are on their way."""
        return {coming[0] for coming in self.coming if coming is not None}


@cocotb.test()
async def directed(dut):
    await start(dut)
    bench = Bench(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    await bench.load([rng.getrandbits(32) for _ in range(bench.words)])
    everyone = range(bench.warps)

    # All warps: a word a cycle, if there are enough warps. One warp: a word in two or three cycles.
    await bench.launch(0)
    got = [await bench.cycle(everyone) for _ in range(8 * bench.warps)]
    if bench.warps > bench.stages:
        assert sorted(got) == sorted(list(everyone) * 8)
    await bench.launch(3)
    got = [await bench.cycle([0]) for _ in range(10 * (bench.stages + 1))]
    assert got == [0, *[None] * bench.stages] * 10

    # Past the end.
    await bench.launch(bench.words - 2)
    outside = 0
    for _ in range(3 * bench.warps * (bench.stages + 1)):
        inside = [warp for warp in everyone if bench.pcs[warp] <= bench.words]
        warp = await bench.cycle(inside)
        outside += warp is not None and bench.pcs[warp] == bench.words + 1
    assert outside == bench.warps

    # A PC can be read while others fetch.
    await bench.launch(5)
    await bench.cycle(everyone)
    for warp in everyone:
        dut.pc_of.value = warp
        await ReadOnly()
        assert integer(dut.pc) == 4 * bench.pcs[warp]
        await tick(dut)


@cocotb.test()
async def against_model(dut):
    await start(dut)
    bench = Bench(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    await bench.load([rng.getrandbits(32) for _ in range(bench.words)])
    await bench.launch(0)
    wanting = set()
    for _ in range(3000):
        if rng.random() < 0.01:
            await bench.launch(rng.randrange(bench.words))
        for warp in range(bench.warps):
            if rng.random() < 0.3:
                wanting ^= {warp}
        redirect = None
        still = [warp for warp in range(bench.warps)
                 if warp not in wanting and warp not in bench.under_way]
        wanting -= {warp for warp in wanting if bench.pcs[warp] >= bench.words}
        ended = [warp for warp in still if bench.pcs[warp] >= bench.words]
        if ended or (still and rng.random() < 0.2):
            redirect = rng.choice(ended or still), rng.randrange(bench.words)
        await bench.cycle(wanting, redirect)


@pytest.mark.parametrize("warps, pipeline", [(1, "short"), (2, "short"), (8, "short"),
                                             (2, "long"), (8, "long")])
@pytest.mark.sample(2)
def test_fetch(simulator, warps, pipeline):
    parameters = {"warps": warps, "threads": 1, "imem_bytes": 1 << 10, "pipeline": pipeline}
    runner.run_bench(Fetch(HardwareConfig(**parameters)), "fetch", __name__, simulator=simulator,
                     parameters=parameters)
