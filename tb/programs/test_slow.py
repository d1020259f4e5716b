"""Whole programs whose edges lie in the slow region of the DRAM.

====================  ==========================================================
results, cycles       test_programs
bytes of the region   test_programs
place of the region   test_tables_are_fast, test_tasks_of_other_devices
record of a run       test_record
====================  ==========================================================
"""

import json

import numpy as np
import pytest

from hw.config import HardwareConfig
from sim.dram import DramConfig
from sw.cli.main import main
from sw.operators.hashing import HashTable
from sw.device import Device
from tb.sw.graphs import random_graph


TINY = HardwareConfig(warps=2, threads=4, l1_bytes=1 << 10, l2_bytes=1 << 12, memory_bytes=1 << 20)
GRAPH = random_graph(150, 1200, 3)
REGION = DramConfig(slow_bytes_per_cycle=2, slow_latency=200)


@pytest.mark.parametrize("plan", [
    "bfs(source=0) schedule=vm direction=push", "bfs(source=0) schedule=em direction=push",
    "pagerank(iterations=2) schedule=wm", "pagerank(iterations=2) schedule=em format=g-shards"])
@pytest.mark.sample(2)
def test_programs(plan):
    results = []
    for dram in (DramConfig(), REGION):
        with Device.simulate(TINY, dram=dram) as device:
            results.append(device.run(plan, GRAPH))
    fast, slow = results
    assert slow.verified and slow.checksum == fast.checksum
    assert slow.supersteps == fast.supersteps and slow.cycles > fast.cycles
    assert "slow_bytes_read" not in fast.counters
    edges = 4 * GRAPH.num_edges
    if "pagerank" in plan:      # two sweeps, and the L2 has not room for all edges
        assert slow.counters["slow_bytes_read"] > 1.5 * edges
    assert edges // 2 < slow.counters["slow_bytes_read"] < slow.counters["dram_bytes_read"]
    assert (slow.counters["slow_bytes_written"] > 0) == ("g-shards" in plan)
    # The bus of the slow region carries 2 bytes a cycle.
    assert slow.cycles >= slow.counters["slow_bytes_read"] / 2


def test_tables_are_fast():
    """The place of one task's edges does not slow down the next task, which has none."""
    keys = np.arange(5000, dtype=np.uint32)      # behind the first slow line of the graph's task
    cycles = []
    for dram in (DramConfig(), REGION):
        with Device.simulate(TINY, dram=dram) as device:
            device.run("bfs", GRAPH, source=0, schedule="vm")
            result = HashTable(device, keys, keys).lookup(keys[::100], schedule="vm")
            cycles.append(result.cycles)
    assert result.counters["slow_bytes_read"] == 0
    assert cycles[0] == cycles[1]


def test_tasks_of_other_devices():
    """A task that was planned without a slow region has no slow arrays, and the reverse."""
    plan = {"plan": "bfs", "graph": GRAPH, "source": 0, "schedule": "vm"}
    with Device.simulate(TINY) as plain, Device.simulate(TINY, dram=REGION) as device:
        cycles = plain.run(**plan).cycles
        crossed = device.run_task(plain.plan(**plan))
        assert crossed.cycles == cycles and crossed.counters["slow_bytes_read"] == 0
        assert plain.run_task(device.plan(**plan)).verified


def test_record(tmp_path, capsys):
    found = {}
    for slow in ([], ["--dram", "slow_bytes_per_cycle=2", "--dram", "slow_latency=200"]):
        record = tmp_path / f"{len(slow)}.json"
        assert main(["run", "bfs", "karate", "--preset", "tiny", "--schedule", "vm", *slow,
                     "--json", str(record)]) == 0
        assert ("slow memory" in capsys.readouterr().out) == bool(slow)
        found[len(slow)] = json.loads(record.read_text())
    fast, slow = found.values()
    assert fast["dram"]["slow_bytes_per_cycle"] == 0
    assert [slow["dram"][f"slow_{name}"] for name in ("bytes_per_cycle", "latency", "queue")] == [
        2, 200, 64]
    assert "slow_bytes_read" not in fast["results"][0]["counters"]
    assert slow["results"][0]["counters"]["slow_bytes_read"] > 0
    assert slow["results"][0]["checksum"] == fast["results"][0]["checksum"]
