# amaranth: UnusedElaboratable=no
"""Tests of a bank of the Filtering/Grouping Unit against the golden model: bits, places, the table.

Most of these tests also run on all banks together (:mod:`tb.hw.scu.test_filter_banks`).
"""

import cocotb
import pytest

from hw.config import HardwareConfig
from hw.scu.filter_group import FilterGroup
from hw.scu.registers import EMPTY, ScuOutput, entry_bytes, group_limit, hash_set
from tb import runner
from tb.clocking import tick
from tb.hw.scu.tables import Bench, Table


UNIQUE, BEST, GROUP = ScuOutput.FILTER_UNIQUE, ScuOutput.FILTER_BEST, ScuOutput.GROUP

#: Fields of the configuration, slots, depth of the queue, and elements of a random operation. Few
#: slots make an operation slow, so it has fewer elements.
SHAPES = {
    "16 bytes": ({"threads": 1}, 32, 64, 150),
    "32 bytes": ({"threads": 8}, 32, 1152, 150),
    "64 bytes": ({"threads": 16}, 4, 3, 100),
    "128 bytes": ({"threads": 32}, 2, 16, 40),
}


def _values(bench, count):
    """Random elements, with many or few different values, near each other or not."""
    rng = bench.rng
    span = rng.choice([1, 4, 40, 40, 400, 1 << 32])
    base = rng.choice([0, 0, rng.getrandbits(32), EMPTY - 10])
    values = [base + rng.randrange(span) & EMPTY for _ in range(count)]
    for place in range(count):
        if rng.random() < 0.02:
            values[place] = EMPTY
    return values


def _rates(bench):
    """Set other rates and latencies for the next operation."""
    rng, memory = bench.rng, bench.memory
    bench.source.idle = rng.choice([0.0, 0.0, 0.3, 0.8])
    bench.sink.stall = rng.choice([0.0, 0.0, 0.3, 0.8])
    memory.stall = rng.choice([0.0, 0.0, 0.3, 0.8])
    memory.source.idle = rng.choice([0.0, 0.0, 0.5])
    memory.latency = rng.choice([(1, 1), (1, 20), (50, 50), (1, 200)])


async def _random_operation(bench, output, most):
    rng = bench.rng
    _rates(bench)
    values = _values(bench, rng.choice([0, 1, rng.randrange(most), most]))
    few = rng.choice([2, 100, 1 << 32])
    costs = [rng.randrange(few) for _ in values]
    reference = rng.choice([None, None, rng.choice(values or [0])])
    table = bench.random_table(output)
    for turn in range(rng.choice([1, 1, 3])):
        # The table holds random entries, or the entries of the turn before.
        if turn == 0:
            bench.fill(output, table, lambda: rng.choice(
                [EMPTY, rng.getrandbits(32), rng.choice(values or [0])]))
        await bench.run(output, table, values, costs, reference=reference,
                        clear=rng.random() < 0.3)


@cocotb.test()
@cocotb.parametrize(output=[UNIQUE, BEST, GROUP])
async def against_golden(dut, output):
    """Random operations back to back, all outputs, at all rates."""
    bench = await Bench.start(dut)
    for _ in range(runner.turns(6)):
        await _random_operation(bench, output, runner.parameters()["most"])


@cocotb.test()
async def in_turn(dut):
    """Outputs change from one operation to the next; the same table takes other shapes."""
    bench = await Bench.start(dut)
    for _ in range(runner.turns(6)):
        await _random_operation(bench, bench.rng.choice([UNIQUE, BEST, GROUP]), 40)


@cocotb.test()
async def nothing(dut):
    """An operation without elements empties the table if told to, and else leaves it as it was."""
    bench = await Bench.start(dut)
    for output in (UNIQUE, BEST, GROUP):
        table = bench.random_table(output)
        bench.fill(output, table, lambda: 7)
        await bench.run(output, table, [])
        bench.fill(output, table, lambda: 7)
        await bench.run(output, table, [], clear=True)
        await bench.run(output, table, [5, 6, 7], reference=5)


@cocotb.test()
async def empty_is_no_element(dut):
    """0xFFFFFFFF is kept each time, not looked up and never stored."""
    bench = await Bench.start(dut)
    for output in (UNIQUE, BEST):
        table = Table(0x8000_0000, 2, 0)
        await bench.run(output, table, [EMPTY] * 5, [5, 4, 3, 2, 1], clear=True)
        assert bench.counts["looked_up"] == bench.counts["fetched"] == 0
        await bench.run(output, table, [3, EMPTY, 3, EMPTY], [5, 5, 5, 5])


@cocotb.test()
async def unsigned_costs(dut):
    """Costs compare as unsigned, an equal cost is not better, and each best cost is stored."""
    bench = await Bench.start(dut)
    costs = [EMPTY, EMPTY, 0x8000_0000, 0x7FFF_FFFF, 0x8000_0000, 1, 1, 0, 0, EMPTY]
    await bench.run(BEST, bench.random_table(BEST), [9] * len(costs), costs, clear=True)
    await bench.run(BEST, Table(0x8000_0000, 3, 0), [9] * len(costs), costs[::-1], clear=True)


@cocotb.test()
async def several_times_in_a_set(dut):
    """If a set has several entries of an element, the first counts. Another shape of the table may
    leave such entries."""
    bench = await Bench.start(dut)
    entries = bench.line_bytes // 8
    table = Table(0x8000_0000, 0, entries.bit_length() - 1)
    words = [word for entry in range(entries) for word in (9, 100 + (entry * 7 + 3) % entries)]
    left = iter(words)
    bench.fill(BEST, table, lambda: next(left))
    await bench.run(BEST, table, [9] * 5, [120, 103, 103, 101, 50])


@cocotb.test()
async def one_set(dut):
    """All elements are in one set: a full set loses its entries in turn, and groups likewise."""
    bench = await Bench.start(dut)
    line, most = bench.line_bytes, runner.parameters()["most"]
    for output in (UNIQUE, BEST, GROUP):
        ways_bits = (line // entry_bytes(output, line)).bit_length() - 1
        for ways in {0, ways_bits}:
            values = [bench.rng.randrange(3 << ways) * line // 4 for _ in range(most)]
            await bench.run(output, Table(0x8000_0000 + line, 0, ways), values, clear=True)


@cocotb.test()
async def reset_in_flight(dut):
    """After a reset at any time, the unit works like new."""
    bench = await Bench.start(dut)
    for output in (UNIQUE, GROUP, BEST):
        for cycles in (3, 30, 200):
            _rates(bench)
            await bench.begin(output, bench.random_table(output), _values(bench, 100))
            await tick(dut, cycles)
            await bench.reset()
            bench.source.idle = bench.sink.stall = 0.0
            await bench.run(output, bench.random_table(output), _values(bench, 20), clear=True)


def _quick(bench, latency=8):
    """Make everything ready in every cycle; answers come after ``latency`` cycles, in order."""
    bench.memory.latency = (latency, latency)
    bench.memory.in_order = True


@cocotb.test()
async def lines_there(dut):
    """An element a cycle if the lines are held: kept, found, replaced, with a better cost."""
    bench = await Bench.start(dut)
    _quick(bench)
    count = 300 if runner.brief() else 1000
    for output in (UNIQUE, BEST):
        slots = runner.parameters()["slots"]
        per_line = bench.line_bytes // entry_bytes(output, bench.line_bytes)
        sets_bits = (slots * per_line).bit_length() - 1
        for values in ([k % (slots * per_line) for k in range(count)],
                       [k % 3 for k in range(count)], [5] * count,
                       [k << 20 for k in range(count)]):
            cycles = await bench.run(output, Table(0x8000_0000, sets_bits, 0), values,
                                     [count - k for k in range(count)])
            dut._log.info(f"MEASURED {output.name} lines there: {cycles / count:.3f}")
            # Each line costs a read, an answer that cannot wait, and a write-back, once.
            assert cycles <= count + 3 * slots + 60


@cocotb.test()
async def groups_there(dut):
    """An element and a place in the same cycle, if the lines are held."""
    bench = await Bench.start(dut)
    _quick(bench)
    slots, line = runner.parameters()["slots"], bench.line_bytes
    words = line // 4
    halves = line // entry_bytes(GROUP, line)
    table = Table(0x8000_0000, (slots * halves).bit_length() - 1, 0)
    count = 256 * group_limit(line)
    same = [k // group_limit(line) * words for k in range(count)]
    cycles = await bench.run(GROUP, table, same)
    dut._log.info(f"MEASURED GROUP full: {cycles / count:.3f}")
    assert cycles <= count + 7 * slots * halves + 60
    apart = [k * words for k in range(count)]
    cycles = await bench.run(GROUP, table, apart)
    dut._log.info(f"MEASURED GROUP displaced: {cycles / count:.3f}")
    assert cycles <= count + 7 * slots * halves + 60


@cocotb.test()
async def lines_not_there(dut):
    """Two cycles an element if each has a line read and another written back."""
    bench = await Bench.start(dut)
    _quick(bench)
    count, slots = 200 if runner.brief() else 600, runner.parameters()["slots"]
    lines = 4 * slots
    for output in (UNIQUE, BEST, GROUP):
        unit = bench.line_bytes // 4 if output == GROUP else 1
        per_line = bench.line_bytes // entry_bytes(output, bench.line_bytes)
        sets = lines * per_line
        # Elements whose lines come one after the other.
        values = []
        while len(values) < count:
            value = bench.rng.getrandbits(24)
            if hash_set(value, sets) // per_line == len(values) % lines:
                values.append(value * unit)
        cycles = await bench.run(output, Table(0x8000_0000, sets.bit_length() - 1, 0), values,
                                 clear=True)
        dut._log.info(f"MEASURED {output.name} lines not there: {(cycles - lines) / count:.3f}")
        assert bench.counts["fetched"] >= count
        # A group left at the end takes a request and a place.
        at_end = 2 * sets if output == GROUP else 0
        assert cycles <= 2 * count + lines + slots + at_end + 60
        # The same elements, with a second element after each whose line is held.
        mixed = [value for pair in zip(values, [values[0]] * count) for value in pair]
        cycles = await bench.run(output, Table(0x8000_0000, sets.bit_length() - 1, 0), mixed,
                                 clear=True)
        dut._log.info(f"MEASURED {output.name} half there: {(cycles - lines) / 2 / count:.3f}")
        assert bench.counts["fetched"] >= count - count // lines - 1
        # A displaced group waits for the places of a full group.
        waits = count if output == GROUP else 0
        assert cycles <= 3 * count + lines + slots + at_end + waits + 60


@cocotb.test()
async def walk(dut):
    """The walk takes a cycle for each entry of an empty table; emptying takes a cycle a line."""
    bench = await Bench.start(dut)
    _quick(bench)
    sets_bits = 9
    table = Table(0x8000_0000, sets_bits, 0)
    halves = bench.line_bytes // entry_bytes(GROUP, bench.line_bytes)
    cycles = await bench.run(GROUP, table, [])
    dut._log.info(f"MEASURED walk: {cycles / (1 << sets_bits):.3f}")
    if runner.parameters()["slots"] >= 16:
        assert cycles <= (1 << sets_bits) + (1 << sets_bits) // halves + 60


def _run(shape, simulator, tests):
    fields, slots, depth, most = SHAPES[shape]
    config = HardwareConfig(**fields)
    runner.run_bench(FilterGroup(config, slots=slots, depth=depth), "filter_group", __name__,
                     simulator=simulator, seed=1, tests=tests,
                     parameters={"config": fields, "slots": slots, "most": most})


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(2)
def test_random(simulator, shape):
    _run(shape, simulator, ["against_golden", "in_turn"])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(1)
def test_directed(simulator, shape):
    _run(shape, simulator, ["nothing", "empty_is_no_element", "unsigned_costs",
                            "several_times_in_a_set", "one_set", "reset_in_flight"])


@pytest.mark.parametrize("shape", ["16 bytes", "32 bytes"])
@pytest.mark.sample(1)
def test_throughput(simulator, shape):
    _run(shape, simulator, ["lines_there", "groups_there", "lines_not_there", "walk"])


@pytest.mark.parametrize("wrong", [{"slots": 1}, {"slots": 12}, {"slots": 256}, {"depth": 2},
                                   {"depth": 0}])
def test_init_wrong(wrong):
    (name, value), = wrong.items()
    with pytest.raises(ValueError, match=f"FilterGroup: {name} = {value}: must be"):
        FilterGroup(HardwareConfig(), **{"slots": 16, "depth": 16} | wrong)
