# amaranth: UnusedElaboratable=no
"""The floating-point units of a warp against Berkeley SoftFloat.

=====================  ==========================================================
words and flags        operands: each lane has its own, and only active lanes
                       raise flags
result waits           operands: an untaken result of the divider stays
latency, throughput    timing, back_to_back
reset                  reset_in_flight
=====================  ==========================================================
"""

import random

import cocotb
import numpy as np
import pytest

from checks.campaign.floats import drawn, operand_count, softfloat, special_pairs
from hw.config import HardwareConfig
from hw.float.divider import FloatDivider
from hw.float.unit import FloatUnit, float_latency
from hw.operations import FloatDivOp, FloatOp, RoundingMode
from tb import runner
from tb.clocking import integer, reset, start, tick
from tb.hw.core.bench_serial import SerialBench
from tb.streams import unpack


ONE, TWO, THREE = 0x3F80_0000, 0x4000_0000, 0x4040_0000


def word(values):
    """The lanes' words as one."""
    return sum(int(value) << 32 * lane for lane, value in enumerate(values))


class Batches:
    """Operands for all lanes of a warp that have an operation and a mode in common."""

    def __init__(self, rng, lanes, serial):
        self._lanes, self._rng = lanes, rng
        rows = np.concatenate([drawn(np.random.default_rng(rng.getrandbits(32)), 20_000),
                               special_pairs()])
        self._rows = rows[rows["serial"] == serial]

    def batch(self):
        """Rows of operands, and the words and flags that SoftFloat gives."""
        rows = self._rows[np.array(self._rng.sample(range(len(self._rows)), self._lanes))]
        for name in ("op", "kind", "unsigned", "mode"):
            rows[name] = rows[0][name]
        return rows, softfloat(rows)


class DividerBench(SerialBench):
    """A divider of floats."""

    async def give(self, op, mode, a, b, mask=None):
        """Start a division. Takes one cycle. Returns warp, register and mask."""
        dut, rng, config = self.dut, self.rng, self.config
        assert not integer(dut.busy)
        where = (rng.randrange(config.warps), rng.randrange(32),
                 rng.randrange(1, 1 << config.threads) if mask is None else mask)
        dut.warp.value, dut.rd.value, dut.mask.value = where
        dut.start.value, dut.root.value, dut.mode.value = 1, op is FloatDivOp.SQRT, mode
        dut.a.value, dut.b.value = word(a), word(b)
        await tick(dut)
        # The operands have no effect after the start.
        dut.start.value, dut.root.value = 0, rng.randrange(2)
        dut.a.value, dut.b.value = (rng.getrandbits(32 * config.threads) for _ in range(2))
        return where

    async def take(self, where, words, flags, wait=0):
        """Wait until the result is on offer, leave it for a while, and take it. Returns the cycles
        until the result was on offer."""
        dut, cycles = self.dut, 1
        while not integer(dut.result__valid):
            assert integer(dut.busy)
            await tick(dut)
            cycles += 1
            assert cycles < 3000
        lanes = [lane for lane in range(self.config.threads) if where[2] >> lane & 1]
        raised = 0
        for lane in lanes:
            raised |= int(flags[lane])
        for left in reversed(range(wait + 1)):
            got = unpack(self.layout, integer(dut.result__payload))
            assert (got.warp, got.rd, got.mask) == where
            assert [got.data[lane] for lane in lanes] == [int(words[lane]) for lane in lanes]
            assert integer(dut.flags) == raised and integer(dut.busy)
            dut.result__ready.value = int(not left)
            await tick(dut)
        dut.result__ready.value = 0
        assert not integer(dut.result__valid) and not integer(dut.busy)
        return cycles


@cocotb.test()
async def operands(dut):
    bench = await DividerBench.start(dut)
    batches = Batches(bench.rng, bench.config.threads, 1)
    for _ in range(24):
        rows, right = batches.batch()
        where = await bench.give(FloatDivOp(int(rows[0]["op"])), int(rows[0]["mode"]), rows["a"],
                                 rows["b"])
        await bench.take(where, right[:, 0], right[:, 1], wait=bench.rng.choice([0, 0, 1, 40]))


@cocotb.test()
async def timing(dut):
    """16 cycles for each active lane of the eight that have most, or 2; and 1 more."""
    bench = await DividerBench.start(dut)
    lanes = bench.config.threads
    nearest = RoundingMode.NEAREST.value
    for mask in {1, (1 << lanes) - 1, 1 << lanes - 1}:
        where = await bench.give(FloatDivOp.DIV, nearest, [THREE] * lanes, [TWO] * lanes, mask)
        turns = max((mask & 0xFF).bit_count(), (mask >> 8).bit_count())
        assert await bench.take(where, [0x3FC0_0000] * lanes, [0] * lanes) == 16 * turns + 2
    where = await bench.give(FloatDivOp.SQRT, nearest, [0] * lanes, [0] * lanes, 1)
    assert await bench.take(where, [0] * lanes, [0] * lanes) == 4


@cocotb.test()
async def reset_in_flight(dut):
    bench = await DividerBench.start(dut)
    lanes = bench.config.threads
    for delay in (0, 1, 2, 9, 16, 30):
        await bench.give(FloatDivOp.DIV, 0, [ONE] * lanes, [THREE] * lanes)
        await tick(dut, delay)
        await reset(dut)
        assert not integer(dut.busy) and not integer(dut.result__valid)
        await tick(dut)
        where = await bench.give(FloatDivOp.DIV, 0, [THREE] * lanes, [TWO] * lanes, 1)
        await bench.take(where, [0x3FC0_0000] * lanes, [0] * lanes)


@pytest.mark.parametrize("threads", [2, 16])
def test_divider(simulator, threads):
    parameters = {"threads": threads, "warps": 4, "float": "full"}
    runner.run_bench(FloatDivider(HardwareConfig(**parameters)), "float_divider", __name__,
                     simulator=simulator, parameters=parameters,
                     tests=["operands", "timing", "reset_in_flight"])


@cocotb.test()
async def back_to_back(dut):
    """Instructions as close as they may be, and with gaps: each has its results after the latency
    that the unit promises."""
    config = HardwareConfig(**runner.parameters())
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    batches = Batches(rng, config.threads, 0)
    latency, due, room = float_latency(config), {}, 0
    for cycle in range(300):
        enters = cycle >= room and rng.random() < 0.8
        dut.enter.value = int(enters)
        if enters:
            rows, right = batches.batch()
            for name in ("op", "kind", "unsigned", "mode"):
                getattr(dut, "is_" * (name == "unsigned") + name).value = int(rows[0][name])
            last = "abc"[operand_count(FloatOp(int(rows[0]["op"]))) - 1]
            dut.a.value, dut.b.value = word(rows["a"]), word(rows["b"])
            dut.c.value = word(rows[last])
            due[cycle + latency] = right
            room = cycle + 1 + (config.float == "half")
        else:
            for name in "abc":
                getattr(dut, name).value = rng.getrandbits(32 * config.threads)
        await tick(dut)
        if cycle + 1 in due:
            right = due.pop(cycle + 1)
            assert integer(dut.result) == word(right[:, 0])
            flags = integer(dut.flags)
            assert [flags >> 5 * lane & 31 for lane in range(config.threads)] == list(right[:, 1])


@pytest.mark.parametrize("kind, pipeline", [("full", "short"), ("half", "long")])
def test_unit(simulator, kind, pipeline):
    parameters = {"threads": 2, "warps": 2, "float": kind, "pipeline": pipeline}
    runner.run_bench(FloatUnit(HardwareConfig(**parameters)), "float_unit", __name__,
                     simulator=simulator, parameters=parameters, tests=["back_to_back"])
