"""Programs on hardware whose lines have sectors, in both pipelines.

==================  ============================================================
results, bytes      test_fewer_bytes
units, SCU          the campaign's configurations ``pair`` and ``twins``
bus, device         test_dram.py
refusals            tb/hw/test_config.py
==================  ============================================================
"""

import functools

import pytest

from hw.config import preset
from sim.dram import DramConfig
from sw.device import Device
from sw.graph.load import load


#: Lines of 32 bytes, and caches that hold a part of the graph.
CONFIG = preset("tiny").replace(threads=8, local_bytes=1 << 12, l2_bytes=1 << 10, l2_ways=2,
                                l2_mshrs=16, l1_mshrs=16, load_queue=16)
DRAM = DramConfig(bytes_per_cycle=1, latency=10)    # the bus is what binds


@functools.cache
def _counters(algorithm, sector_bytes, pipeline):
    config = CONFIG.replace(sector_bytes=sector_bytes, pipeline=pipeline)
    graph = load("rmat:scale=7,degree=8,seed=2" + ",weights=9" * (algorithm == "sssp"))
    with Device.simulate(config, dram=DRAM) as device:
        return device.run(algorithm, graph, schedule="vm", direction="push").counters


@pytest.mark.parametrize("pipeline", ["short", "long"])
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
@pytest.mark.sample(2)
def test_fewer_bytes(algorithm, pipeline):
    """The outputs are right, fewer bytes move, and a program that waits for the bus is faster."""
    whole, parts = (_counters(algorithm, size, pipeline) for size in (0, 8))
    for name in ("dram_bytes_read", "dram_bytes_written"):
        assert parts[name] < 0.95 * whole[name], name
    assert parts["cycles"] < whole["cycles"]
    assert whole["l1_fetches"] < parts["l1_fetches"] < 4 * whole["l1_fetches"]
    assert whole["dram_bytes_read"] == 32 * whole["dram_reads"]
    assert 8 * parts["dram_reads"] < parts["dram_bytes_read"] < 32 * parts["dram_reads"]
