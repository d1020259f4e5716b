# amaranth: UnusedElaboratable=no
"""Votes and shuffles against Python.

====================  ==========================================================
votes                 votes: every combination of lanes and votes (small shapes)
shuffles              shuffles: segments as programs use them; random operands,
                      different in each lane
inactive lanes        both: inactive lanes have no vote, and their values are read
no operation          idle
====================  ==========================================================
"""

import itertools
import random

import cocotb
import pytest
from cocotb.triggers import Timer

from hw.config import HardwareConfig
from hw.core.crosslane import CrossLane
from hw.operations import CrossOp
from tb import runner
from tb.clocking import integer


VOTES = (CrossOp.ALL, CrossOp.ANY, CrossOp.UNI, CrossOp.BALLOT)
SHUFFLES = (CrossOp.UP, CrossOp.DOWN, CrossOp.BFLY, CrossOp.IDX)


def voted(op, votes):
    """The result of a vote; ``votes`` maps the active lanes to 0 or 1."""
    match op:
        case CrossOp.ALL: return int(all(votes.values()))
        case CrossOp.ANY: return int(any(votes.values()))
        case CrossOp.UNI: return int(len(set(votes.values())) == 1)
        case CrossOp.BALLOT: return sum(vote << lane for lane, vote in votes.items())


def source(op, threads, lane, operand):
    """The lane that a lane reads, by the rule for one lane of Vortex 2.x."""
    b, c, segment = operand & 63, operand >> 6 & 63, operand >> 12 & 63
    lowest, highest = lane & segment, lane & segment | c & ~segment
    wanted = {CrossOp.UP: lane - b, CrossOp.DOWN: lane + b, CrossOp.BFLY: lane ^ b,
              CrossOp.IDX: lowest | b & ~segment}[op]
    inside = wanted >= lowest if op is CrossOp.UP else wanted <= highest
    return wanted if inside and wanted < threads else lane


class Bench:
    """Gives a unit operations and compares."""

    def __init__(self, dut):
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.threads = runner.parameters()["threads"]
        self.long = runner.parameters()["pipeline"] == "long"
        self.full = (1 << self.threads) - 1

    async def result(self, op, mask, a, b, enable=1):
        """The result in all lanes."""
        dut = self.dut
        dut.enable.value, dut.op.value, dut.mask.value = enable, op.value, mask
        for port, values in ((dut.a, a), (dut.b, b)):
            port.value = sum(value << 32 * lane for lane, value in enumerate(values))
        if self.long:
            dut.clk.value = 0
            await Timer(1, "ns")
            dut.clk.value = 1
        await Timer(1, "ns")
        got = integer(dut.result)
        return [got >> 32 * lane & 0xFFFF_FFFF for lane in range(self.threads)]

    def words(self):
        return [self.rng.getrandbits(32) for _ in range(self.threads)]

    async def shuffle(self, op, operands):
        """Compare a shuffle, with any lanes active. All lanes are read, and all get a result."""
        a = self.words()
        got = await self.result(op, self.rng.randrange(1, self.full + 1), a, operands)
        want = [a[source(op, self.threads, lane, operands[lane])] for lane in range(self.threads)]
        assert got == want, (op, operands)


@cocotb.test()
async def votes(dut):
    bench = Bench(dut)
    rng, threads = bench.rng, bench.threads
    cases = list(itertools.product(range(1, bench.full + 1), range(bench.full + 1))) \
        if threads <= 4 else \
        [(rng.randrange(1, bench.full + 1), rng.choice([0, bench.full, rng.getrandbits(threads)]))
         for _ in range(500)]
    for (mask, ballot), op in itertools.product(cases, VOTES):
        # Only bit 0 counts.
        a = [rng.getrandbits(31) << 1 | ballot >> lane & 1 for lane in range(threads)]
        active = {lane: ballot >> lane & 1 for lane in range(threads) if mask >> lane & 1}
        got = await bench.result(op, mask, a, bench.words())
        assert got == [voted(op, active)] * threads, (op, mask, ballot)


@cocotb.test()
async def shuffles(dut):
    bench = Bench(dut)
    rng, threads = bench.rng, bench.threads
    for op in SHUFFLES:
        # Segments of a power of two of lanes, as CUDA's shuffles have them.
        for width in (1 << bits for bits in range(6)):
            for b in {0, 1, 2, width - 1, width, threads - 1, threads, 63}:
                clamp = 0 if op is CrossOp.UP else width - 1
                operand = b | clamp << 6 | (~(width - 1) & 63) << 12
                await bench.shuffle(op, [operand] * threads)
        for _ in range(300):
            await bench.shuffle(op, bench.words())
            few = [rng.randrange(threads + 1) | rng.choice([0, 1, 3, 31, 63]) << 6
                   | rng.choice([0, 1, 0x38, 63]) << 12 for _ in range(threads)]
            await bench.shuffle(op, few)


@cocotb.test()
async def idle(dut):
    bench = Bench(dut)
    for op in CrossOp:
        got = await bench.result(op, bench.full, bench.words(), bench.words(), enable=0)
        assert not any(got)


@pytest.mark.parametrize("threads, pipeline", [(1, "short"), (4, "short"), (32, "short"),
                                               (8, "long")])
@pytest.mark.sample(2)
def test_crosslane(simulator, threads, pipeline):
    parameters = {"threads": threads, "pipeline": pipeline}
    runner.run_bench(CrossLane(HardwareConfig(**parameters)), "crosslane", __name__,
                     simulator=simulator, parameters=parameters)


def test_the_model_of_shuffles():
    """Examples by hand: segments of four lanes of eight."""
    segments = 0x3C << 12
    assert [source(CrossOp.UP, 8, lane, 1 | segments) for lane in range(8)] == [
        0, 0, 1, 2, 4, 4, 5, 6]
    assert [source(CrossOp.DOWN, 8, lane, 1 | 3 << 6 | segments) for lane in range(8)] == [
        1, 2, 3, 3, 5, 6, 7, 7]
    assert [source(CrossOp.BFLY, 8, lane, 3 | 3 << 6 | segments) for lane in range(8)] == [
        3, 2, 1, 0, 7, 6, 5, 4]
    assert [source(CrossOp.IDX, 8, lane, 2 | 3 << 6 | segments) for lane in range(8)] == [
        2, 2, 2, 2, 6, 6, 6, 6]


def test_init_wrong_config():
    with pytest.raises((TypeError, AttributeError)):
        CrossLane({"threads": 4})
