# amaranth: UnusedElaboratable=no
"""Tests of the Filtering/Grouping Unit with its banks.

====================================  ==============================================================
all outputs against the golden model  against_golden, in_turn of tb.hw.scu.test_filter_group
special elements, sets and costs      the directed tests of tb.hw.scu.test_filter_group
banks                                 fewer_lines_than_banks, one_bank
lines under way                       lines_under_way
order of the elements                 every test: answers carry their elements
throughput                            elements_a_cycle
reset                                 reset_in_flight of tb.hw.scu.test_filter_group
====================================  ==============================================================
"""

import cocotb
import pytest

from hw.config import HardwareConfig
from hw.scu.filter_banks import FilterBanks
from hw.scu.registers import ScuOutput, entry_bytes, hash_set
from tb import runner
from tb.hw.scu.tables import Bench, Table


UNIQUE, BEST, GROUP = ScuOutput.FILTER_UNIQUE, ScuOutput.FILTER_BEST, ScuOutput.GROUP

#: Fields of the configuration, width, and elements of a random operation.
SHAPES = {
    "16 bytes, width 1": ({"threads": 1}, 1, 100),
    "16 bytes": ({"threads": 1}, 4, 150),
    "64 bytes": ({"threads": 16}, 4, 100),
    "128 bytes": ({"threads": 32}, 4, 40),
}


@cocotb.test()
async def fewer_lines_than_banks(dut):
    """A table of one or two lines leaves banks without a line. Emptying writes only its lines."""
    bench = await Bench.start(dut)
    for output in (UNIQUE, BEST):
        per_line = bench.line_bytes // entry_bytes(output, bench.line_bytes)
        for lines in (1, 4) if runner.brief() else (1, 2, 4, 8):
            for ways in {1, per_line}:
                sets_bits = (lines * per_line // ways).bit_length() - 1
                values = [bench.rng.randrange(50) for _ in range(60)]
                costs = [bench.rng.randrange(9) for _ in values]
                table = Table(0x8000_0000 + 3 * bench.line_bytes, sets_bits,
                              ways.bit_length() - 1)
                bench.fill(output, table, lambda: bench.rng.randrange(50))
                await bench.run(output, table, values, costs, clear=True)
                await bench.run(output, table, values[::-1], costs)


@cocotb.test()
async def one_bank(dut):
    """Slow banks do not disturb the order: some elements have one bank, whose lines are missing."""
    bench = await Bench.start(dut)
    bench.memory.latency = (50, 50)
    line = bench.line_bytes
    for output in (UNIQUE, BEST):
        per_line = line // entry_bytes(output, line)
        lines = 64
        in_one = [value for value in range(lines * per_line * 8)
                  if hash_set(value, lines * per_line) // per_line % 4 == 0]
        values = [bench.rng.choice(in_one) if bench.rng.random() < 0.7 else bench.rng.randrange(9)
                  for _ in range(150)]
        await bench.run(output, Table(0x8000_0000, (lines * per_line).bit_length() - 1, 0), values,
                        clear=True)


@cocotb.test()
async def lines_under_way(dut):
    """Elements of all banks whose lines are missing, and a slow memory: no more lines are under way
    than the port has slots. The memory of the bench checks it."""
    bench = await Bench.start(dut)
    bench.memory.latency = (300, 300)
    sets = 256 * (bench.line_bytes // entry_bytes(UNIQUE, bench.line_bytes))
    values = [bench.rng.getrandbits(32) for _ in range(100)]
    await bench.run(UNIQUE, Table(0x8000_0000, sets.bit_length() - 1, 0), values, clear=True)


@cocotb.test()
async def elements_a_cycle(dut):
    """A beat a cycle if its elements have different banks. With four banks, random elements come at
    2.5 a cycle. One bank takes an element a cycle."""
    bench = await Bench.start(dut)
    bench.memory.latency, bench.memory.in_order = (8, 8), True
    width, count = bench.width, 300 if runner.brief() else 2000
    for output in (UNIQUE, BEST):
        per_line = bench.line_bytes // entry_bytes(output, bench.line_bytes)
        lines = 16
        sets = lines * per_line
        table = Table(0x8000_0000, sets.bit_length() - 1, 0)
        by_bank = [[value for value in range(sets)
                    if hash_set(value, sets) // per_line % width == bank] for bank in range(width)]
        turns = [by_bank[k % width][k // width % len(by_bank[0])] for k in range(count)]
        one = [by_bank[0][k % len(by_bank[0])] for k in range(count)]
        mixed = [bench.rng.randrange(sets) for _ in range(count)]
        for name, values, rate in (("in turn", turns, width), ("random", mixed, 2.5),
                                   ("in one bank", one, 1)):
            cycles = await bench.run(output, table, values)
            dut._log.info(f"MEASURED {output.name}, {name}: {count / cycles:.2f} a cycle")
            assert cycles <= count / min(rate, width) + 4 * lines + 80, (name, cycles)


def _run(shape, simulator, tests):
    fields, width, most = SHAPES[shape]
    # The smallest buffers: a table of some lines does not fit.
    fields = fields | {"scu": width, "scu_hash_bytes": 2048}
    runner.run_bench(FilterBanks(HardwareConfig(**fields), width), "filter_banks",
                     f"{__name__},tb.hw.scu.test_filter_group",
                     simulator=simulator, seed=1, tests=tests,
                     parameters={"config": fields, "width": width, "most": most})


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(1)
def test_random(simulator, shape):
    _run(shape, simulator, ["against_golden", "in_turn"])


@pytest.mark.parametrize("shape", ["64 bytes", "16 bytes"])
def test_banks(simulator, shape):
    _run(shape, simulator, ["nothing", "empty_is_no_element", "unsigned_costs",
                            "several_times_in_a_set", "one_set", "reset_in_flight",
                            "fewer_lines_than_banks", "one_bank", "lines_under_way",
                            "elements_a_cycle"])
