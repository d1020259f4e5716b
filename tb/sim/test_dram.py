"""The DRAM model, in exact cycles, behind the traffic generator.

====================  ==========================================================
latency               test_latency, test_latency_scales_with_ratio
bandwidth             test_bandwidth, test_writes_take_the_bus
queue                 test_queue_bounds_bandwidth, test_queue_of_writes
order                 test_order_of_responses, test_read_sees_earlier_write_only
masks                 test_masked_write
sectors               test_sectors_take_the_bus, test_sectors_of_a_device
back-pressure         test_slow_reader
repeatability         test_repeatable
configuration         test_wrong_parameter, test_parse
limits                test_limits
====================  ==========================================================
"""

import dataclasses

import numpy as np
import pytest

from hw.config import ConfigError, HardwareConfig
from sim.dram import DramConfig
from sim.memories import parse_memory
from sim.native import NativeMachine
from tb.sim.traffic import PROBES, Op, pattern, program, traffic_verilog


CONFIG = HardwareConfig(threads=16, l2_mshrs=16, memory_bytes=1 << 20)      # 64-byte lines
WIDE = CONFIG.replace(l2_mshrs=64)
BASE = 0x8000_0000 // CONFIG.line_bytes


def machine_of(config=CONFIG, **dram):
    return NativeMachine(config, DramConfig(**dram), verilog=(traffic_verilog(config),))


def run(machine, *operations):
    """Run a program and return the observations."""
    machine.load_program(program((Op.SEEK, BASE), *operations, (Op.END, 0)))
    machine.launch(0, 0)
    counters = machine.counters()
    return {probe: counters[name] for probe, name in PROBES.items()}


@pytest.mark.parametrize("latency", [1, 2, 7, 100])
def test_latency(latency):
    with machine_of(latency=latency, bytes_per_cycle=64) as machine:
        seen = run(machine, (Op.READ, 1))
        assert seen["first_response"] - seen["first_request"] == 1 + latency


@pytest.mark.parametrize("ratio", [1, 3, 16])
def test_latency_scales_with_ratio(ratio):
    with machine_of(latency=10, ratio=ratio) as machine:
        seen = run(machine, (Op.READ, 1))
        assert seen["first_response"] - seen["first_request"] == 1 + 10 * ratio


@pytest.mark.parametrize("bytes_per_cycle, ratio, cycles", [
    (64, 1, 1), (128, 1, 1), (32, 1, 2), (8, 1, 8), (24, 1, 3), (64, 4, 4), (128, 4, 2),
    (32, 6, 12), (3, 1, 22),
])
def test_bandwidth(bytes_per_cycle, ratio, cycles):
    with machine_of(WIDE, latency=5, bytes_per_cycle=bytes_per_cycle, ratio=ratio) as machine:
        seen = run(machine, (Op.READ, 200))
        # The first response may wait for a transfer longer than the latency.
        first = 1 + max(5 * ratio, cycles)
        assert seen["first_response"] - seen["first_request"] == first
        assert seen["last_response"] - seen["first_response"] == 199 * cycles


def test_writes_take_the_bus():
    with machine_of(WIDE, latency=3, bytes_per_cycle=16, queue=256) as machine:
        seen = run(machine, (Op.MASK, 1), (Op.WRITE, 100), (Op.READ, 1))
        # 100 writes of 4 cycles each, then the latency of the read, at least as long as its
        # transfer.
        assert seen["first_response"] - seen["first_request"] == 1 + 100 * 4 + 4
        counters = machine.counters()
        assert counters["dram_bytes_written"] == 6400 and counters["dram_bytes_read"] == 64
        machine.clear_counters()
        counters = machine.counters()
        assert counters["dram_bytes_written"] == 0 and counters["dram_bytes_read"] == 0


#: Lines of 64 bytes in four sectors.
SECTORS = WIDE.replace(sector_bytes=16)


@pytest.mark.parametrize("parts, sectors", [(0b0001, 1), (0b1001, 2), (0b1110, 3), (0b1111, 4)])
def test_sectors_take_the_bus(parts, sectors):
    """Reads and writes take the bus for as many sectors as have a byte of the mask. A line that is
    not divided moves whole."""
    for config, cycles in ((SECTORS, sectors), (WIDE, 4)):
        with machine_of(config, latency=10, bytes_per_cycle=16) as machine:
            seen = run(machine, (Op.PARTS, parts), (Op.MASK, 4), (Op.READ, 100), (Op.WRITE, 50))
            assert seen["last_response"] - seen["first_response"] == 99 * cycles
            counters = machine.counters()
            assert counters["dram_bytes_read"] == 100 * 16 * cycles
            assert counters["dram_bytes_written"] == 50 * 16 * cycles


def test_sectors_round_up():
    """Three sectors of 16 bytes take two cycles of a bus of 32 bytes."""
    with machine_of(SECTORS, latency=10, bytes_per_cycle=32) as machine:
        seen = run(machine, (Op.PARTS, 0b0111), (Op.READ, 100))
        assert seen["last_response"] - seen["first_response"] == 99 * 2


@pytest.mark.parametrize("parts, accesses", [(0b0001, 1), (0b0110, 2), (0b1100, 1), (0b1111, 2)])
def test_sectors_of_a_device(parts, accesses):
    """A device performs the accesses of 32 bytes that have a byte of the request's sectors."""
    for config, count in ((SECTORS, accesses), (WIDE, 2)):
        with NativeMachine(config, parse_memory(["model=hbm2"]),
                           verilog=(traffic_verilog(config),)) as machine:
            seen = run(machine, (Op.PARTS, parts), (Op.READ, 40), (Op.WRITE, 20), (Op.READ, 1))
            assert seen["reads"] == 41
            counters = machine.counters()
            assert counters["dram_column_reads"] == 41 * count
            assert counters["dram_bytes_read"] == (
                41 * 16 * (parts.bit_count() if config is SECTORS else 4))


@pytest.mark.parametrize("queue", [1, 4, 16])
def test_queue_bounds_bandwidth(queue):
    with machine_of(WIDE, latency=50, bytes_per_cycle=64, queue=queue) as machine:
        seen = run(machine, (Op.READ, 10 * queue))
        # A place becomes free in the cycle after the response was taken.
        period = 1 + 50 + 1
        assert seen["last_response"] - seen["first_request"] == 9 * period + 51 + queue - 1


def test_tags_bound_bandwidth():
    with machine_of(latency=50, bytes_per_cycle=64) as machine:
        seen = run(machine, (Op.READ, 160))
        assert seen["last_response"] - seen["first_request"] == 9 * 52 + 51 + 15


def test_queue_of_writes():
    with machine_of(latency=100, bytes_per_cycle=8, queue=4) as machine:
        seen = run(machine, (Op.WRITE, 5))
        # The first write is over after 8 cycles on the bus; the fifth is accepted then.
        assert seen["last_request"] - seen["first_request"] == 1 + 8


def test_order_of_responses():
    with machine_of(latency=20) as machine:
        machine.memory.view(np.uint32)[:] = np.arange(machine.memory.size // 4)
        seen = run(machine, (Op.READ, 50))
        checksum = 0
        for line in range(50):
            checksum = (checksum * 3 + 16 * line) % 2 ** 64
        assert seen["checksum"] == checksum


def test_read_sees_earlier_write_only():
    with machine_of(latency=100) as machine:
        # The read of the old value is answered long after the write is accepted.
        seen = run(machine, (Op.READ, 1), (Op.SEEK, BASE), (Op.WRITE, 1), (Op.SEEK, BASE),
                   (Op.READ, 1))
        assert seen["last_request"] < seen["first_response"]
        assert seen["checksum"] == pattern(BASE, 0)


@pytest.mark.parametrize("threads", [1, 16, 32])
def test_masked_write(threads):
    config = CONFIG.replace(threads=threads)
    base, size = 0x8000_0000 // config.line_bytes, config.line_bytes
    with machine_of(config) as machine:
        machine.memory[:] = 0x55
        machine.load_program(program((Op.SEEK, base), (Op.MASK, 0xF421), (Op.WRITE, 3),
                                     (Op.MASK, 0xFFFF), (Op.WRITE, 1), (Op.MASK, 0),
                                     (Op.WRITE, 1), (Op.END, 0)))
        machine.launch(0, 0)
        words = [[pattern(base + line, word) for word in range(size // 4)] for line in range(5)]
        want = np.array(words, "<u4").view(np.uint8)
        mask = np.array([0xF421 >> byte & 1 for byte in range(16)], bool)
        want[:3] = np.where(np.tile(mask, size // 16), want[:3], 0x55)
        want[4] = 0x55
        assert (machine.memory[:5 * size].reshape(5, size) == want).all()
        assert (machine.memory[5 * size:] == 0x55).all()


def test_slow_reader():
    with machine_of(latency=10, bytes_per_cycle=64) as machine:
        machine.memory.view(np.uint32)[:] = np.arange(machine.memory.size // 4)
        seen = run(machine, (Op.STALL, 4), (Op.READ, 40))
        assert seen["last_response"] - seen["first_response"] == 39 * 5
        checksum = 0
        for line in range(40):
            checksum = (checksum * 3 + 16 * line) % 2 ** 64
        assert seen["checksum"] == checksum


def test_repeatable():
    operations = [(Op.UPDATE, 20), (Op.STALL, 2), (Op.READ, 99), (Op.WRITE, 77), (Op.READ, 3)]
    results = []
    for _ in range(2):
        with machine_of(latency=13, bytes_per_cycle=24, ratio=3, queue=7) as machine:
            machine.memory[:] = 1
            results += [run(machine, *operations), run(machine, *operations)]
            counters = machine.counters()
            results.append((counters["cycles"], machine.memory.tobytes()))
    assert results[:3] == results[3:]


@pytest.mark.parametrize("field, value, legal", [
    ("latency", 0, "1 to 10000"), ("latency", 1.5, "1 to 10000"), ("ratio", 17, "1 to 16"),
    ("bytes_per_cycle", -4, "1 to 1024"), ("queue", True, "1 to 1024"),
])
def test_wrong_parameter(field, value, legal):
    with pytest.raises(ConfigError, match=f"{field} = {value!r}.*from {legal}"):
        DramConfig(**{field: value})


def test_parse():
    assert parse_memory() == DramConfig()
    assert parse_memory(["latency=0x10", " queue = 3"]) == DramConfig(latency=16, queue=3)
    for config in (DramConfig(ratio=3), DramConfig(slow_bytes_per_cycle=2, slow_queue=5)):
        assert parse_memory(config.assignments) == config
    with pytest.raises(ConfigError, match="'latency' is not FIELD=VALUE"):
        parse_memory(["latency"])
    with pytest.raises(ConfigError, match="no field 'speed'; it has model, latency, bytes"):
        parse_memory(["speed=3"])
    with pytest.raises(ConfigError, match="ratio = 'fast': must be an integer from 1 to 16"):
        parse_memory(["ratio=fast"])


def test_limits():
    """What the memory can do at best, by hand: two ports, lines of 64 bytes."""
    config = HardwareConfig(threads=16, l2_banks=2, memory_ports=2)
    memory = DramConfig(latency=30, bytes_per_cycle=24, ratio=2, queue=20)
    assert (memory.occupancy(64), memory.latency_cycles) == (6, 60)
    assert memory.peak_bytes(config) == 2 * 64 / 6
    assert memory.line_cycles(config) == 6 / 2
    assert dataclasses.replace(memory, queue=5).line_cycles(config) == 61 / 5 / 2
    fast = DramConfig(latency=1, bytes_per_cycle=1024)
    assert fast.line_cycles(config) == 1 / 2
    assert memory.wider(3) == dataclasses.replace(memory, bytes_per_cycle=72, queue=60)
    assert memory.wider(50) == dataclasses.replace(memory, bytes_per_cycle=1024, queue=1000)
    slow = memory.with_slow(5, 40)
    assert slow.has_slow and not memory.has_slow
    assert (slow.slow_occupancy(64), slow.slow_latency_cycles) == (26, 80)
    assert slow.changes == ["latency=30", "bytes_per_cycle=24", "ratio=2", "queue=20",
                            "slow_bytes_per_cycle=5", "slow_latency=40"]
    assert memory.assignments == ["latency=30", "bytes_per_cycle=24", "ratio=2", "queue=20",
                                  "slow_bytes_per_cycle=0"]
    assert slow.assignments[-2:] == ["slow_latency=40", "slow_queue=64"]
