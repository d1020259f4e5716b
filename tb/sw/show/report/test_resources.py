"""Shares of resources, what binds, and rooflines, from counters whose figures follow by hand.

======================  ========================================================
shares                  test_shares, test_scu, test_slow_memory, test_memory_ports, test_sectors,
                        test_a_board
DRAM's rate             test_line_cycles: bus, port, queue
binding                 test_binding
slots                   test_issue_slots: of a real run, all cycles of all cores
======================  ========================================================
"""

import pytest

from hw.config import HardwareConfig, preset
from sim.dram import DramConfig
from sw.show.report.resources import binding, issue_slots, levels, resources
from sw.show.report.results import runs_of


#: 16 lanes: lines of 64 bytes.
CONFIG = HardwareConfig(cores=2, warps=2, threads=16, l2_banks=2)

COUNTERS = {"cycles": 1000, "instructions": 500, "lanes": 4000, "l1_accesses": 400,
            "local_accesses": 100, "l2_accesses": 600, "dram_reads": 150, "dram_writes": 50,
            "stall_memory": 900, "stall_execute": 400, "stall_idle": 200}


DRAM = DramConfig()


def _shares(counters, config=CONFIG, dram=DRAM):
    return {each.name: each.share for each in resources(counters, config, dram)}


def test_shares():
    # A line takes the bus of 32 bytes for two cycles.
    assert _shares(COUNTERS) == pytest.approx({
        "issue slots": 500 / 2000, "L1": 400 / 2000, "local memory": 100 / 2000,
        "L2": 600 / 2000, "DRAM": 200 / 500})


def test_scu():
    counters = COUNTERS | {"scu_cycles": 400, "scu_beside": 100, "scu_elements": 800}
    found = _shares(counters, CONFIG.replace(scu=4))
    assert found["SCU"] == pytest.approx(800 / 1600)
    assert found["L2"] == pytest.approx(600 / 2600) and found["DRAM"] == pytest.approx(200 / 650)
    assert found["issue slots"] == pytest.approx(500 / 2000)
    alone = {"scu_cycles": 100, "l2_accesses": 50, "dram_reads": 10}
    assert _shares(alone, CONFIG.replace(scu=1)) == pytest.approx(
        {"L2": 50 / 200, "DRAM": 10 / 50, "SCU": 0})


def test_slow_memory():
    dram = DramConfig(slow_bytes_per_cycle=8)
    found = _shares(COUNTERS | {"slow_bytes_read": 64 * 50, "slow_bytes_written": 0}, dram=dram)
    assert found["DRAM"] == pytest.approx(150 / 500)
    assert found["slow memory"] == pytest.approx(50 / 125)


def test_memory_ports():
    """Each port has a DRAM, so several move so many times the lines."""
    config = CONFIG.replace(memory_ports=2)
    assert DRAM.line_cycles(config) == DRAM.line_cycles(CONFIG) / 2
    assert _shares(COUNTERS, config)["DRAM"] == pytest.approx(_shares(COUNTERS)["DRAM"] / 2)
    slow = DramConfig(slow_bytes_per_cycle=8)
    counters = COUNTERS | {"slow_bytes_read": 64 * 50, "slow_bytes_written": 0}
    assert _shares(counters, config, slow)["slow memory"] == pytest.approx(25 / 125)


def test_sectors():
    """Parts of lines take parts of the room: 200 accesses that move 16 of 64 bytes each."""
    config = CONFIG.replace(sector_bytes=16)
    counters = COUNTERS | {"dram_bytes_read": 150 * 16, "dram_bytes_written": 50 * 16}
    assert _shares(counters, config)["DRAM"] == pytest.approx(50 / 500)


def test_a_board():
    assert "DRAM" not in _shares(COUNTERS, dram=None) and set(levels(CONFIG)) == {"L1", "L2"}


@pytest.mark.parametrize("dram, cycles", [
    (DramConfig(), 2),                                      # the bus
    (DramConfig(bytes_per_cycle=1024), 101 / 64),           # the queue: 64 in flight
    (DramConfig(bytes_per_cycle=1024, latency=3), 1),       # the port
    (DramConfig(ratio=4), 8),
    (DramConfig(queue=1), 101),
])
def test_line_cycles(dram, cycles):
    assert dram.line_cycles(CONFIG) == pytest.approx(cycles)


def test_binding():
    def told(**changes):
        counters = COUNTERS | changes
        return binding(resources(counters, CONFIG, DramConfig()), counters, CONFIG)

    assert told() == ("no resource is near its limit; the busiest is DRAM with 40 %. Latency "
                      "binds: 45 % of the issue slots wait for memory")
    assert told(dram_reads=350) == "DRAM binds: 80 % of its room is used"
    assert told(l2_accesses=1900) == "L2 binds: 95 % of its room is used"
    assert told(stall_memory=100, stall_fetch=1000).endswith("45 % of the issue slots wait for "
                                                             "instructions")


def test_issue_slots(made):
    for value in (made.compare, made.run):
        for run in runs_of(value):
            slots = issue_slots(run.counters, run.config)
            assert sum(slots.values()) == run.counters["cycles"] * run.config.cores
            assert min(slots.values()) >= 0 and slots["memory"] > slots["issued"] > 0
    assert preset("tiny").cores == 1
