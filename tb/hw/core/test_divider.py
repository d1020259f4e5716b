# amaranth: UnusedElaboratable=no
"""The divider against Python's integers.

====================  ==========================================================
quotients, rests      corner_operands, random_operands: each lane has its own
result waits          random_operands: an untaken result stays
latency, throughput   timing: the cycles that the unit promises
reset                 reset_in_flight
====================  ==========================================================
"""

import itertools

import cocotb
import pytest

from hw.config import HardwareConfig
from hw.core.divider import Divider
from hw.operations import DivOp
from tb import runner
from tb.clocking import integer, reset, tick
from tb.hw.core.bench_serial import SerialBench
from tb.streams import unpack


WORD = 0xFFFF_FFFF
CORNERS = [0, 1, 2, 3, 10, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF]


def divided(op, a, b):
    """The result that RISC-V specifies, with magnitude and sign computed apart."""
    if op in (DivOp.DIVU, DivOp.REMU):
        quotient, rest = divmod(a, b) if b else (WORD, a)
    else:
        a, b = (value - (1 << 32) if value >> 31 else value for value in (a, b))
        quotient, rest = divmod(abs(a), abs(b)) if b else (1, abs(a))
        quotient = -quotient if (a < 0) != (b < 0) or not b else quotient
        rest = -rest if a < 0 else rest
    return (quotient if op in (DivOp.DIV, DivOp.DIVU) else rest) & WORD


class Bench(SerialBench):
    """A divider of integers. All its outputs come from registers, so the bench may read them after
    each edge."""

    def operand(self):
        rng = self.rng
        return rng.choice([rng.getrandbits(32), rng.getrandbits(rng.randrange(1, 32)),
                           rng.choice(CORNERS)])

    async def give(self, op, pairs):
        """Start a division, with a pair of operands for each lane. Takes one cycle.

        Returns the expected results.
        """
        dut, rng, config = self.dut, self.rng, self.config
        assert not integer(dut.busy)
        warp, rd = rng.randrange(config.warps), rng.randrange(1, 32)
        mask = rng.randrange(1, 1 << config.threads)
        dut.start.value, dut.op.value = 1, op.value
        dut.warp.value, dut.rd.value, dut.mask.value = warp, rd, mask
        for place, port in enumerate((dut.a, dut.b)):
            port.value = sum(pair[place] << 32 * lane for lane, pair in enumerate(pairs))
        await tick(dut)
        dut.start.value = 0
        # The operands have no effect after the start.
        dut.op.value = rng.randrange(4)
        dut.a.value, dut.b.value = (rng.getrandbits(32 * config.threads) for _ in range(2))
        return warp, rd, mask, [divided(op, *pair) for pair in pairs]

    def compare(self, right):
        """Compare the result on offer."""
        got = unpack(self.layout, integer(self.dut.result__payload))
        lanes = [got.data[lane] for lane in range(self.config.threads)]
        assert (got.warp, got.rd, got.mask, lanes) == right

    async def take(self, right, wait=0):
        """Wait until the result is on offer, leave it for a while, and take it.

        Returns the number of cycles until the result was on offer.
        """
        dut = self.dut
        for cycles in range(1, 100):
            assert integer(dut.busy)
            if integer(dut.result__valid):
                break
            await tick(dut)
        for _ in range(wait):
            self.compare(right)
            await tick(dut)
            assert dut.busy.value                  # until the result is taken
        self.compare(right)
        dut.result__ready.value = 1
        await tick(dut)
        dut.result__ready.value = 0
        assert not integer(dut.result__valid) and not integer(dut.busy)
        return cycles

    async def divide(self, op, pairs, wait=0):
        return await self.take(await self.give(op, pairs), wait)


@cocotb.test()
async def corner_operands(dut):
    bench = await Bench.start(dut)
    pairs = list(itertools.product(CORNERS, CORNERS))
    lanes = bench.config.threads
    for op in DivOp:
        bench.rng.shuffle(pairs)
        for begin in range(0, len(pairs), lanes):
            group = pairs[begin:begin + lanes]
            await bench.divide(op, group + pairs[:lanes - len(group)])


@cocotb.test()
async def random_operands(dut):
    bench = await Bench.start(dut)
    rng = bench.rng
    for _ in range(60):
        pairs = [(bench.operand(), bench.operand()) for _ in range(bench.config.threads)]
        await bench.divide(rng.choice(list(DivOp)), pairs, wait=rng.choice([0, 0, 1, 40]))


@cocotb.test()
async def timing(dut):
    """The result takes 33 cycles for any operands. The next division may start in the cycle after
    the result was taken."""
    bench = await Bench.start(dut)
    for op, pair in itertools.product(DivOp, [(0, 0), (1, 1), (WORD, 1), (1 << 31, WORD)]):
        assert await bench.divide(op, [pair] * bench.config.threads) == 33
    dut.result__ready.value = 1
    offers = []
    for cycle in range(4 * 34):
        dut.start.value = int(not dut.busy.value)
        if integer(dut.result__valid):
            offers.append(cycle)
        await tick(dut)
    assert offers == [33 + 34 * i for i in range(4)]


@cocotb.test()
async def reset_in_flight(dut):
    bench = await Bench.start(dut)
    for delay in (0, 1, 15, 31, 32, 33, 40):
        await bench.give(DivOp.DIV, [(7, 3)] * bench.config.threads)
        await tick(dut, delay)
        await reset(dut)
        assert not integer(dut.busy) and not integer(dut.result__valid)
        await tick(dut)
        assert await bench.divide(DivOp.DIVU, [(99, 10)] * bench.config.threads) == 33


@pytest.mark.parametrize("threads", [1, 4])
def test_divider(simulator, threads):
    parameters = {"threads": threads, "warps": 4}
    runner.run_bench(Divider(HardwareConfig(**parameters)), "divider", __name__,
                     simulator=simulator, parameters=parameters)


def test_the_model_is_risc_v_s():
    least = 0x8000_0000
    assert [divided(op, 7, 0) for op in DivOp] == [WORD, WORD, 7, 7]
    assert [divided(op, least, WORD) for op in DivOp] == [least, 0, 0, least]
    assert [divided(DivOp.DIV, -7 & WORD, 2), divided(DivOp.REM, -7 & WORD, 2)] == [
        -3 & WORD, -1 & WORD]


def test_init_wrong_config():
    with pytest.raises((TypeError, AttributeError)):
        Divider({"threads": 4})
