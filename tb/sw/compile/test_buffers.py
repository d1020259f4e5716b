"""Kernels touch no word of global memory outside the arrays that were reserved for them; and arrays
of edges lie behind all others where they are to lie in slow memory."""

import itertools

import numpy as np
import pytest

from base.errors import UserError
from hw.config import HardwareConfig
from sim.memory import ArrayMemory
from sw.golden import lane_memory
from sw.golden.machine import FunctionalMachine
from sw.operators.hashing import HashTable
from sw.device import Device, as_plan
from sw.compile.buffers import Buffers
from sw.compile.planning import make
from tb.sw.graphs import random_graph


#: Bytes behind every array that no kernel may touch.
GAP = 4096

ALGORITHMS = {"pagerank": {"iterations": 1}, "bfs": {"source": 0}, "sssp": {"source": 0}}


@pytest.fixture
def touched(monkeypatch):
    """Gaps lie behind all arrays. Returns the set of words that kernels touch."""
    words = set()
    place, global_indices = Buffers._place, lane_memory._Addressing.global_indices

    def with_gap(self, buffer):
        place(self, buffer)
        self._next += GAP

    def noted(self):
        found = global_indices(self)
        words.update((found << self.size >> 2).tolist())
        return found

    monkeypatch.setattr(Buffers, "_place", with_gap)
    monkeypatch.setattr(lane_memory._Addressing, "global_indices", noted)
    return words


def watched(config):
    """A device whose accesses can be seen: the reference simulator."""
    return Device(config, lambda: FunctionalMachine(config), max_cycles=5_000_000)


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
    with watched(config) as device:
        for (algorithm, options), direction in itertools.product(
                ALGORITHMS.items(), ["push"] + ["pull"] * (schedule != "compact")):
            asked = {"schedule": schedule, "format": format, "direction": direction, **options}
            touched.clear()
            assert device.run(algorithm, graph, **asked).verified
            inside = reserved(device.plan(algorithm, graph, **asked).buffers)
            outside = [hex(0x8000_0000 + 4 * word) for word in sorted(touched - inside)
                       if word < config.memory_bytes >> 2]       # others are in local memory
            assert touched and not outside, f"{algorithm} {direction} touches {outside}"


@pytest.mark.parametrize("schedule", ["vm", "vwc", "wm", "em", "strict", "weaver"])
@pytest.mark.parametrize("buckets", [1, 9, 200])
def test_lookups_touch_their_arrays_only(touched, schedule, buckets):
    config = HardwareConfig(warps=2, threads=4, memory_bytes=1 << 20, l1_bytes=1 << 12)
    with watched(config) as device:
        for keys, count in ((range(70), False), ([*range(35), *range(35)], True)):
            table = HashTable(device, keys, keys, buckets)
            touched.clear()
            assert table.lookup(range(50), schedule=schedule, count=count).verified
            inside = reserved(table.plan(range(50), schedule=schedule, count=count).buffers)
            outside = [hex(0x8000_0000 + 4 * word) for word in sorted(touched - inside)]
            assert touched and not outside, f"{schedule} touches {outside}"


CONFIG = HardwareConfig(warps=2, threads=4, memory_bytes=1 << 20, l1_bytes=1 << 12)


def test_edges_come_last():
    for slow, order in ((False, "abcd"), (True, "acbd")):
        buffers = Buffers(CONFIG, slow_edges=slow)
        buffers.reserve("a", 3)
        buffers.reserve("b", 9, edges=True)
        buffers.reserve("c", 5)
        buffers.reserve("d", 2, 128, edges=True)
        buffers.place_edges()
        assert "".join(sorted("abcd", key=buffers.address)) == order
        assert buffers.slow_address == (buffers.address("b") if slow else None)
        assert buffers.address("b") % CONFIG.line_bytes == 0 and buffers.address("d") % 128 == 0
        assert buffers.size == buffers.address("d") + 256 - 0x8000_0000
        buffers.fill("b", [7], rest=8)
        memory = ArrayMemory()
        memory.memory = np.zeros(1 << 12, np.uint8)
        buffers.upload(memory)
        assert buffers.read(memory, "b").tolist() == [7] + 8 * [8]


def test_edges_have_no_place_too_early():
    buffers = Buffers(CONFIG, slow_edges=True)
    buffers.reserve("edges", 4, edges=True)
    with pytest.raises(ValueError, match="buffer 'edges' has no place yet"):
        buffers.address("edges")
    buffers.place_edges()
    with pytest.raises(ValueError, match="buffer 'late' would lie behind the edges"):
        buffers.reserve("late", 1)
    without = Buffers(CONFIG, slow_edges=True)
    without.reserve("vertices", 4)
    without.place_edges()
    assert without.slow_address is None
    large = Buffers(CONFIG, slow_edges=True)
    large.reserve("edges", 1 << 18, edges=True)
    large.reserve("vertices", 1)
    large.place_edges()
    with pytest.raises(UserError, match="does not fit in device memory: 1048592 bytes needed"):
        large.check("the graph")


#: Schedule, format, and the arrays with an item for each edge; "*" stands for any layout.
SLOW = [
    ("vm", "csr", {"neighbors", "weights"}), ("em", "csr", {"bases", "neighbors", "weights"}),
    ("em", "coo", {"bases", "neighbors", "weights"}), ("weaver", "csr", {"neighbors", "weights"}),
    ("twc", "csr", {"neighbors", "weights"}), ("compact", "csr", {"neighbors", "weights"}),
    ("vm", "tigr:k=2", {"neighbors", "weights"}),
    ("vm", "ell:width=3:rest=csr", {"neighbors", "weights", "neighbors_1", "weights_1"}),
    ("em", "g-shards", {"bases", "neighbors", "weights", "src_values"}),
    ("vm", "dia:diagonals=2",
     {"neighbors", "values", "neighbors_1", "weights_1"}),
]


@pytest.mark.parametrize("schedule, format, slow", SLOW)
def test_arrays_of_edges(schedule, format, slow):
    graph = random_graph(70, 400, 1).weighted(40, 7)
    plan = as_plan("sssp", source=0, schedule=schedule, format=format, direction="push")
    task = make(CONFIG, plan, graph, slow_edges=True)
    buffers = task.buffers
    assert {name for name in buffers._buffers
            if buffers.address(name) >= buffers.slow_address} == slow
    with Device.functional(CONFIG, max_cycles=5_000_000) as device:
        assert device.run_task(task).verified


@pytest.mark.parametrize("schedule", ["vm", "weaver"])
def test_arrays_of_records(schedule):
    """CR2 has arrays of edges in every layout."""
    graph = random_graph(70, 400, 1).weighted(40, 7)
    for direction in ("pull", "push"):
        plan = as_plan("sssp", source=0, schedule=schedule, format="cr2:cluster_bits=4",
                       direction=direction)
        task = make(CONFIG, plan, graph, slow_edges=True)
        slow = {name.rpartition("_")[0] or name for name in task.buffers._buffers
                if task.buffers.address(name) >= task.buffers.slow_address}
        assert slow == {"neighbors", "weights"}
        with Device.functional(CONFIG, max_cycles=5_000_000) as device:
            assert device.run_task(task).verified
