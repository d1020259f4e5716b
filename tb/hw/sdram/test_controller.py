# amaranth: UnusedElaboratable=no
"""The SDRAM controller, with a chip that complains of every breach of its data sheet.

=============================  ==============================================================
wrong arguments                test_wrong_arguments
reads, writes, masks, order    random_traffic: comparison with a memory, at all speeds
back-pressure                  random_traffic; refresh_under_load: answers that are not taken
refresh                        refresh_under_load; the chip complains in every test
power-up                       every test; test_mutants: too short
latency, throughput            promises_of_time; measured_rates, as docs/sdram.md has them
reset                          reset_in_mid_flight
rules of the chip              test_mutants, test_mutants_of_latency; test_model
=============================  ==============================================================
"""

import cocotb
import pytest

from hw.config import ConfigError, HardwareConfig, preset
from hw.memory.port import memory_request_layout
from hw.sdram.controller import SdramController
from tb import runner
from tb.clocking import integer, reset, tick
from tb.hw.sdram.bench_controller import SHAPES, TIMING, ControllerBench, controller


#: Bytes a cycle at 50 MHz, in lines of 32 bytes; as in docs/sdram.md.
RATES = {"reads in order": 1.95, "writes in order": 1.94, "reads anywhere": 1.83,
         "writes anywhere": 1.8, "both anywhere": 1.77}


def _random_requests(bench, count):
    """Random requests to few rows of each bank, and few lines of each row, so that many collide."""
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
    """Many refreshes during streams of one direction, random lines, idle times, and answers that
    are not taken."""
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
        # Writes under way may or may not have been performed.
        bench.memory[:] = 0
        bench.forget()
    _random_requests(bench, 30)
    await bench.settle()


async def _quiet(bench):
    """Wait until the cycle after a refresh, so that the next refresh is far away."""
    pins = bench.dut.pins__ras, bench.dut.pins__cas, bench.dut.pins__we
    while [integer(pin) for pin in pins] != [1, 1, 0]:
        await tick(bench.dut)
    await tick(bench.dut, 20)


async def _latency(bench, *lines):
    """Latency of a lone read of the last line, after reads of the other lines."""
    await _quiet(bench)
    for line in lines:
        bench.read(line)
        await bench.settle(still=20)
    return bench.answered[-1] - bench.accepted[-1]


async def _cycles_of_a_line(bench, request, line):
    """Cycles of a line among many requests ``request(n)(line(n))``, without a refresh."""
    await _quiet(bench)
    first = len(bench.accepted)
    for n in range(10 if bench.line_bytes < 64 else 5):
        request(n)(line(n))
    await bench.settle()
    taken = bench.accepted[first + 2:]
    cycles, lines = taken[-1] - taken[0], len(taken) - 1
    assert cycles + 100 < bench.unit.interval
    return cycles / lines


@cocotb.test()
async def promises_of_time(dut):
    bench = await ControllerBench.start(dut)
    await tick(dut, bench.unit.cycles.power_up + 20 * bench.unit.cycles.rfc)
    shape, place = runner.parameters(), bench.place
    cycles, beats, latency = bench.unit.cycles, bench.line_bytes // 2, shape["cas_latency"]
    opens = max(1, cycles.rcd - 1)
    hit = beats + latency + shape["io_delay"] + 6
    assert await _latency(bench, place(1, 2, 3)) == hit + opens
    assert await _latency(bench, place(1, 2, 3), place(1, 2, 4)) == hit
    assert await _latency(bench, place(1, 2, 3), place(2, 2, 3)) == hit + opens + cycles.rp - 1

    def reads(n):
        return bench.read

    def writes(n):
        return bench.write

    def both(n):
        return bench.write if n % 2 else bench.read

    def other_banks(n):
        return place(n, n % 4, n % 8)

    def other_rows(n):
        return place(n, 0, 0)
    row = cycles.rp + opens + 1
    for request, line, right in (
            (reads, int, beats), (writes, int, beats), (reads, other_banks, beats),
            (writes, other_banks, beats), (reads, other_rows, beats + row),
            (writes, other_rows, beats + row + cycles.wr - 1),
            (both, int, beats + (latency + 1) / 2)):
        got = await _cycles_of_a_line(bench, request, line)
        assert abs(got - right) <= 0.5, f"{got} cycles a line, not {right}"


@cocotb.test()
async def measured_rates(dut):
    """Bytes a cycle over a long time with refreshes are no fewer than docs/sdram.md says."""
    bench = await ControllerBench.start(dut)
    rng, lines, rates = bench.rng, 400, {}

    def anywhere():
        return rng.randrange(len(bench.memory))
    for name, request in {
            "reads in order": bench.read,
            "writes in order": bench.write,
            "reads anywhere": lambda n: bench.read(anywhere()),
            "writes anywhere": lambda n: bench.write(anywhere()),
            "both anywhere": lambda n: rng.choice([bench.read, bench.write])(anywhere())}.items():
        first = len(bench.accepted)
        for n in range(lines):
            request(n)
        await bench.settle()
        taken = bench.accepted[first + 2:]
        rates[name] = (len(taken) - 1) * bench.line_bytes / (taken[-1] - taken[0])
    dut._log.info("%s", {name: round(rate, 3) for name, rate in rates.items()})
    for name, rate in RATES.items():
        assert rates[name] >= rate, name


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(2)
def test_controller(simulator, shape):
    arguments = SHAPES[shape]
    runner.run_bench(controller(**arguments), "sdram", __name__, simulator=simulator,
                     parameters=arguments, seed=3,
                     tests=["random_traffic", "refresh_under_load", "reset_in_mid_flight",
                            "promises_of_time"])


def test_rates(simulator):
    arguments = SHAPES["32 bytes, 50 MHz"]
    runner.run_bench(controller(**arguments), "sdram", __name__, simulator=simulator,
                     parameters=arguments, seed=1, tests=["measured_rates"])


@pytest.mark.parametrize("field, mutant, complaint", [
    ("rcd", 1, "READ .* after ACTIVATE of the bank"),
    ("rp", 1, "after PRECHARGE"),
    ("rfc", 20, "after REFRESH"),
    ("wr", 5, "after the last data written"),
    ("refresh", 9000, "since the last REFRESH"),
    ("power_up", 500, "after power-up"),
])
@pytest.mark.sample(2)
def test_mutants(field, mutant, complaint):
    """The chip catches a controller that has one wrong time."""
    arguments = {**SHAPES["128 bytes, 100 MHz"], "threads": 8}
    unit = controller(**arguments, timing=TIMING.replace(**{field: mutant, "wr_cycles": 1}))
    with pytest.raises(runner.BenchFailed, match=complaint):
        runner.run_bench(unit, "sdram", __name__, simulator="verilator", parameters=arguments,
                         seed=1, tests=["random_traffic", "refresh_under_load"])


@pytest.mark.parametrize("io_delay", [1, 3])
@pytest.mark.sample(1)
def test_mutants_of_latency(io_delay):
    """A controller that expects its data in another cycle gets wrong data."""
    arguments = SHAPES["32 bytes, 80 MHz"]
    with pytest.raises(runner.BenchFailed, match="assert"):
        runner.run_bench(controller(**{**arguments, "io_delay": io_delay}), "sdram", __name__,
                         simulator="verilator", parameters=arguments, seed=1,
                         tests=["random_traffic"])


@pytest.mark.parametrize("changes, message", [
    ({"frequency": 39}, "SDRAM clock of 39 MHz: must be 40 to 100 MHz"),
    ({"frequency": 101}, "SDRAM clock of 101 MHz: must be 40 to 100 MHz"),
    ({"cas_latency": 1}, "cas_latency = 1: must be 2 or 3"),
    ({"io_delay": 4}, "io_delay = 4: must be 0 to 3"),
])
def test_wrong_arguments(changes, message):
    with pytest.raises(ConfigError, match=message):
        SdramController(preset("fpga"), **{"frequency": 50, **changes})


def test_wrong_memory():
    with pytest.raises(ConfigError,
                       match="memory_bytes = 67108864: the SDRAM holds at most 33554432"):
        SdramController(HardwareConfig(memory_bytes=1 << 26), frequency=50)


def test_tags():
    """By default the tag has the width of the GPU's tag."""
    config = preset("fpga")
    for bits, width in ((None, memory_request_layout(config)["tag"].width), (7, 7)):
        unit = SdramController(config, frequency=50, tag_bits=bits)
        assert unit.request.payload.shape()["tag"].width == width
        assert unit.response.payload.shape()["tag"].width == width
