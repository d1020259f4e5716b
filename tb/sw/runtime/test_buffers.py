"""Kernels touch no word of global memory outside the arrays that were reserved for them."""

import itertools

import pytest

from hw.config import HardwareConfig
from sw.golden import lane_memory
from sw.runtime import Device
from sw.runtime.buffers import Buffers
from tb.sw.graphs import random_graph


#: Bytes behind every array that no kernel may touch.
GAP = 4096

ALGORITHMS = {"pagerank": {"iterations": 1}, "bfs": {"source": 0}, "sssp": {"source": 0}}


@pytest.fixture
def touched(monkeypatch):
    """Gaps lie behind all arrays. Returns the set of words that kernels touch."""
    words = set()
    reserve, global_indices = Buffers.reserve, lane_memory._Addressing.global_indices

    def with_gap(self, *args):
        reserve(self, *args)
        self._next += GAP

    def watched(self):
        found = global_indices(self)
        words.update((found << self.size >> 2).tolist())
        return found

    monkeypatch.setattr(Buffers, "reserve", with_gap)
    monkeypatch.setattr(lane_memory._Addressing, "global_indices", watched)
    return words


def reserved(buffers):
    """The words of all arrays, with the same numbering."""
    return {word for each in buffers._buffers.values()
            for word in range(each.address - 0x8000_0000 >> 2,
                              (each.address - 0x8000_0000 >> 2) + each.words)}


@pytest.mark.parametrize("schedule, format", [
    ("vm", "csr"), ("vwc", "csr"), ("em", "csr"), ("weaver", "csr"), ("weaver", "ell"),
    ("weaver", "tigr:k=2"), ("weaver", "cr2:cluster_bits=4"), ("em", "coo"), ("compact", "csr")])
def test_nothing_outside_the_arrays_is_touched(touched, schedule, format):
    config = HardwareConfig(warps=2, threads=4, memory_bytes=1 << 20, l1_bytes=1 << 12)
    # On short rows, a lane of ``compact`` reads more words than the row has.
    graph = random_graph(70, 100 if schedule == "compact" else 400, 1).weighted(40, 7)
    with Device.functional(config, max_cycles=5_000_000) as device:
        for (algorithm, options), direction in itertools.product(
                ALGORITHMS.items(), ["push"] + ["pull"] * (schedule != "compact")):
            asked = {"schedule": schedule, "format": format, "direction": direction, **options}
            touched.clear()
            assert device.run(algorithm, graph, **asked).verified
            inside = reserved(device.plan(algorithm, graph, **asked).buffers)
            outside = [hex(0x8000_0000 + 4 * word) for word in sorted(touched - inside)]
            assert touched and not outside, f"{algorithm} {direction} touches {outside}"


@pytest.mark.parametrize("schedule", ["vm", "vwc", "wm", "em", "strict", "weaver"])
@pytest.mark.parametrize("buckets", [1, 9, 200])
def test_lookups_touch_their_arrays_only(touched, schedule, buckets):
    config = HardwareConfig(warps=2, threads=4, memory_bytes=1 << 20, l1_bytes=1 << 12)
    with Device.functional(config) as device:
        for keys, count in ((range(70), False), ([*range(35), *range(35)], True)):
            table = device.hash_table(keys, keys, buckets)
            touched.clear()
            assert table.lookup(range(50), schedule=schedule, count=count).verified
            inside = reserved(table.plan(range(50), schedule=schedule, count=count).buffers)
            outside = [hex(0x8000_0000 + 4 * word) for word in sorted(touched - inside)]
            assert touched and not outside, f"{schedule} touches {outside}"
