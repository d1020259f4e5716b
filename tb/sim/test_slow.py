"""The slow region of the DRAM, in exact cycles, behind the traffic generator.

====================  ==========================================================
latency               test_latency
bandwidth             test_bandwidth
own bus               test_regions_do_not_wait_for_each_other
place                 test_first_slow_line, test_place_of_no_line, test_place_stays
queue                 test_queue_bounds_bandwidth, test_full_queue_closes_the_port
order                 test_longer_ready_goes_first, test_read_sees_earlier_write_only
back-pressure         test_random
all rules             test_random
counters              test_counters
no region             test_without_slow_lines
configuration         test_wrong_parameter, test_parse
====================  ==========================================================
"""

import random

import numpy as np
import pytest

from hw.config import ConfigError, HardwareConfig
from hw.memory.port import memory_tag_bits
from sim.board_simulator import BoardSimulator
from sim.dram import DramConfig
from sim.memories import parse_memory
from sim.native import NativeMachine
from tb.sim.dram_model import DramModel, expected
from tb.sim.traffic import PROBES, Op, pattern, program, traffic_verilog


CONFIG = HardwareConfig(threads=16, l2_mshrs=64, memory_bytes=1 << 20)      # 64-byte lines
LINE = CONFIG.line_bytes
BASE = 0x8000_0000 // LINE
SLOW = BASE + 64
TAGS = 2 ** memory_tag_bits(CONFIG)

#: A line takes 1 cycle on the bus, and 4 cycles on that of the slow region.
DRAM = {"latency": 5, "bytes_per_cycle": 64, "slow_bytes_per_cycle": 16, "slow_latency": 50}


def machine_of(place=SLOW, **dram):
    machine = NativeMachine(CONFIG, DramConfig(**DRAM | dram), verilog=(traffic_verilog(CONFIG),))
    machine.memory.view(np.uint32)[:] = np.arange(machine.memory.size // 4)
    if machine.dram.has_slow:
        machine.place_slow(place and LINE * place)
    return machine


def run(machine, *operations):
    """Run a program and return the observations."""
    machine.load_program(program(*operations, (Op.END, 0)))
    machine.launch(0, 0)
    counters = machine.counters()
    return {probe: counters[name] for probe, name in PROBES.items()}


def word(line):
    """The first word of a line that was not written."""
    return (line - BASE) * LINE // 4


@pytest.mark.parametrize("latency, ratio", [(1, 4), (7, 1), (600, 1), (50, 3)])
def test_latency(latency, ratio):
    with machine_of(slow_latency=latency, ratio=ratio) as machine:
        seen = run(machine, (Op.SEEK, SLOW), (Op.READ, 1))
        # A line takes 4 * ratio cycles, which may be longer than the latency.
        assert seen["first_response"] - seen["first_request"] == 1 + ratio * max(latency, 4)


@pytest.mark.parametrize("bytes_per_cycle, ratio, cycles", [
    (1, 1, 64), (4, 1, 16), (24, 1, 3), (64, 1, 1), (128, 1, 1), (32, 6, 12)])
def test_bandwidth(bytes_per_cycle, ratio, cycles):
    with machine_of(slow_bytes_per_cycle=bytes_per_cycle, ratio=ratio) as machine:
        seen = run(machine, (Op.SEEK, SLOW), (Op.READ, 50))
        assert seen["last_response"] - seen["first_response"] == 49 * cycles


def test_regions_do_not_wait_for_each_other():
    with machine_of() as machine:
        # Cycles from the first request on: 4 slow requests in cycles 0 to 3, which take the bus
        # until cycle 17 and are answered in cycles 51, 55, 59, 63. The fast request follows in
        # cycle 6, is answered in cycle 12, and is the first response.
        seen = run(machine, (Op.SEEK, SLOW), (Op.READ, 4), (Op.SEEK, BASE), (Op.READ, 1))
        first = seen["first_request"]
        assert seen["last_request"] - first == 6
        assert seen["first_response"] - first == 12
        assert seen["last_response"] - first == 63
        checksum = word(BASE)
        for line in range(SLOW, SLOW + 4):
            checksum = 3 * checksum + word(line)
        assert seen["checksum"] == checksum


@pytest.mark.parametrize("line, latency", [(SLOW - 1, 5), (SLOW, 50), (SLOW + 1, 50)])
def test_first_slow_line(line, latency):
    with machine_of() as machine:
        seen = run(machine, (Op.SEEK, line), (Op.READ, 1))
        assert seen["first_response"] - seen["first_request"] == 1 + latency


def test_place_of_no_line():
    with machine_of() as machine:
        machine.place_slow(None)
        seen = run(machine, (Op.SEEK, SLOW), (Op.READ, 1))
        assert seen["first_response"] - seen["first_request"] == 6
        with pytest.raises(ValueError, match="cannot begin at 0x80001010: a line has 64 bytes"):
            machine.place_slow(0x8000_1010)
    with machine_of(slow_bytes_per_cycle=0, slow_latency=600) as machine:
        with pytest.raises(ConfigError, match="slow_bytes_per_cycle = 0: there is no slow region"):
            machine.place_slow(LINE * SLOW)


def test_place_stays():
    """The place outlives a GPU that is replaced."""
    with machine_of() as machine:
        for _ in range(2):
            seen = run(machine, (Op.SEEK, SLOW), (Op.READ, 1))
            assert seen["first_response"] - seen["first_request"] == 51
            machine.power_on()


def test_queue_bounds_bandwidth():
    with machine_of(slow_queue=4) as machine:
        seen = run(machine, (Op.SEEK, SLOW), (Op.READ, 40))
        # The responses of 4 requests come 4 cycles apart. Each frees a place in the cycle after it
        # was taken, and the request that takes the place starts one cycle later.
        assert seen["last_response"] - seen["first_request"] == 9 * 52 + 51 + 3 * 4


def test_full_queue_closes_the_port():
    with machine_of(slow_queue=1) as machine:
        seen = run(machine, (Op.SEEK, SLOW), (Op.READ, 1), (Op.SEEK, BASE), (Op.READ, 1))
        # The fast request waits until the slow response has been taken in cycle 51.
        assert seen["last_request"] - seen["first_request"] == 52
    with machine_of(queue=1, latency=50, slow_latency=5) as machine:
        seen = run(machine, (Op.SEEK, BASE), (Op.READ, 1), (Op.SEEK, SLOW), (Op.READ, 1))
        assert seen["last_request"] - seen["first_request"] == 52


@pytest.mark.parametrize("latency, slow_first", [(22, True), (23, False), (24, False)])
def test_longer_ready_goes_first(latency, slow_first):
    """The fast read is accepted 3 cycles after the slow one: both are ready in one cycle if the
    slow latency is longer by 3."""
    with machine_of(latency=20, slow_latency=latency) as machine:
        seen = run(machine, (Op.SEEK, SLOW), (Op.READ, 1), (Op.SEEK, BASE), (Op.READ, 1))
        order = [SLOW, BASE] if slow_first else [BASE, SLOW]
        assert seen["checksum"] == 3 * word(order[0]) + word(order[1])
        assert seen["last_response"] - seen["first_response"] == 1


@pytest.mark.parametrize("line", [SLOW - 1, SLOW])
def test_read_sees_earlier_write_only(line):
    with machine_of(latency=60) as machine:
        seen = run(machine, (Op.SEEK, line), (Op.READ, 1), (Op.SEEK, line), (Op.WRITE, 1),
                   (Op.SEEK, line), (Op.READ, 1))
        assert seen["last_request"] < seen["first_response"]
        assert seen["checksum"] == 3 * word(line) + pattern(line, 0)


def test_counters():
    with machine_of() as machine:
        run(machine, (Op.SEEK, SLOW - 3), (Op.READ, 8), (Op.WRITE, 2), (Op.SEEK, SLOW - 7),
            (Op.WRITE, 8))
        counters = machine.counters()
        assert counters["dram_bytes_read"] == 8 * LINE
        assert counters["dram_bytes_written"] == 10 * LINE
        assert counters["slow_bytes_read"] == 5 * LINE
        assert counters["slow_bytes_written"] == 3 * LINE
        machine.clear_counters()
        counters = machine.counters()
        assert counters["slow_bytes_read"] == 0 and counters["slow_bytes_written"] == 0
    with machine_of(slow_bytes_per_cycle=0, slow_latency=600) as machine:
        assert "slow_bytes_read" not in machine.counters()


def _operations(rng):
    """A random program. No more reads are between two DRAINs than there are tags, because answers
    in any order would leave the generator's next tag in use."""
    found, reads = [(Op.STALL, rng.choice((0, 0, 1, 3, 9)))], 0
    while len(found) < 55:
        length, op = rng.randint(1, 12), rng.choice((Op.READ, Op.READ, Op.WRITE))
        reads += length if op is Op.READ else 0
        if reads > TAGS:
            found.append((Op.DRAIN, 0))
            reads = length
        found += [(Op.SEEK, rng.choice((BASE, SLOW - 6, SLOW)) + rng.randint(0, 6)), (op, length)]
        if rng.random() < 0.2:
            found.append((Op.WAIT, rng.randint(1, 40)))
    return found


def _random_dram(rng):
    fast = {"latency": rng.choice((1, 4, 30)), "bytes_per_cycle": rng.choice((16, 24, 64)),
            "queue": rng.choice((1, 3, 16, 64)), "ratio": rng.choice((1, 1, 3))}
    return fast | {"slow_latency": rng.choice((1, 9, 80)), "slow_queue": rng.choice((1, 2, 7, 64)),
                   "slow_bytes_per_cycle": rng.choice((3, 16, 100))}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sample(8)
def test_random(seed):
    rng = random.Random(seed)
    dram, operations = _random_dram(rng), _operations(rng)
    with machine_of(**dram) as machine:
        words = {line: word(line) for line in range(BASE, BASE + 200)}
        model = DramModel(machine.dram, LINE, words, SLOW)
        assert run(machine, *operations) == expected(model, operations, TAGS)
        first = machine.memory.view(np.uint32)[::LINE // 4]
        assert first[:200].tolist() == list(words.values())
        counters = machine.counters()
        for counter, write in (("slow_bytes_read", False), ("slow_bytes_written", True)):
            assert counters[counter] == LINE * sum(
                request.slow and request.write == write for request in model.requests)


@pytest.mark.parametrize("seed", range(5))
def test_without_slow_lines(seed):
    """A region in which no line lies changes nothing, and neither does no region."""
    rng = random.Random(seed)
    dram, operations = _random_dram(rng), _operations(rng)
    plain = {name: value for name, value in dram.items() if not name.startswith("slow")}
    observations = []
    for each in (dram, plain | {"slow_bytes_per_cycle": 0, "slow_latency": 600}):
        with machine_of(place=None, **each) as machine:
            observations.append(run(machine, *operations))
    words = {line: word(line) for line in range(BASE, BASE + 200)}
    model = DramModel(DramConfig(**plain), LINE, words)
    assert observations == 2 * [expected(model, operations, TAGS)]


@pytest.mark.parametrize("field, value, legal", [
    ("slow_bytes_per_cycle", -1, "0 to 1024"), ("slow_bytes_per_cycle", 1025, "0 to 1024"),
    ("slow_latency", 0, "1 to 10000"), ("slow_queue", 1.5, "1 to 1024")])
def test_wrong_parameter(field, value, legal):
    with pytest.raises(ConfigError, match=f"{field} = {value!r}.*from {legal}"):
        DramConfig(**{"slow_bytes_per_cycle": 4, field: value})


def test_parse():
    found = parse_memory(["slow_bytes_per_cycle=4", "slow_queue=64"])
    assert found == DramConfig(slow_bytes_per_cycle=4) and found.has_slow
    assert not parse_memory(["slow_bytes_per_cycle=0"]).has_slow
    missing = "slow_(latency|queue) = .*: there is no slow region; set slow_bytes_per_cycle from 1"
    for given in (["slow_latency=300"], ["slow_queue=64"],
                  ["slow_latency=600", "slow_bytes_per_cycle=0"]):
        with pytest.raises(ConfigError, match=missing):
            parse_memory(given)
    with pytest.raises(ConfigError, match=missing):
        DramConfig(slow_queue=8)
    with pytest.raises(ConfigError, match="slow_bytes_per_cycle = 4: a board has no slow region"):
        BoardSimulator(CONFIG, dram=DramConfig(slow_bytes_per_cycle=4))
