"""Devices: refusals and their messages, limits, results."""

import itertools
import json

import numpy as np
import pytest

from base.errors import RunError, UserError
from hw.config import HardwareConfig, preset
from sim.errors import SimulationError
from sim.memory import ArrayMemory
from sw.compile.kernels.split import SPLITS
from sw.device import Device, as_plan
from sw.compile.buffers import Buffers
from sw.vm.reference import ReferenceMachine
from tb.sw.graphs import random_graph


GRAPH = random_graph(50, 200, 1).weighted(99)
CONFIG = HardwareConfig(warps=2, threads=4, memory_bytes=1 << 18)


def never():
    raise AssertionError("the machine is made although the run is refused")


@pytest.mark.parametrize("arguments, message", [
    (dict(algorithm="sort"), "no algorithm 'sort'; there are bc, bfs, cc, gcn, kcore"),
    (dict(schedule="fair"), "no schedule 'fair'; there are cm, compact, em, etwc, "
                            "graphpeg, scu, scu-enhanced, scu-stream, strict, tile, twc, twce, vm, "
                            "vwc, weaver, wm"),
    (dict(format="bsr"), "no format 'bsr'; there are coo, cr2, csr, dia, ell, g-shards, tigr"),
    (dict(direction="up"), "algorithm 'pagerank' has no direction 'up'; it has pull, push"),
    (dict(split="fair"), "split is 'fair', must be static or counter"),
    (dict(source=3), "algorithm 'pagerank' has no parameter 'source'; it has iterations, damping, "
                     "tolerance"),
    (dict(damping=1.0), "this is 1, must be at least 0 and below 1"),
    (dict(tolerance=float("inf")), "tolerance is inf, must be a number"),
    (dict(algorithm="bfs", source=50), r"source is 50, must be from 0 to 49 \(a vertex\)"),
    (dict(algorithm="bfs", source=-1), r"source is -1, must be from 0 to 49 \(a vertex\)"),
    (dict(max_cycles=0), "max_cycles is 0, must be at least 1"),
])
def test_refused_before_anything_runs(arguments, message):
    device = Device(CONFIG, never)
    with pytest.raises(UserError, match=message):
        device.run(arguments.pop("algorithm", "pagerank"), GRAPH, **arguments)


def test_no_weaver():
    without = CONFIG.replace(gather="none")
    with pytest.raises(UserError, match="schedule 'weaver' needs a Weaver or EGHW, which "
                                        "configuration 'custom\\*' does not have"):
        Device(without, never).run("bfs", GRAPH, schedule="weaver")
    with pytest.raises(UserError, match="needs a Weaver"):
        as_plan("bfs", schedule="weaver").check(without)
    with Device.functional(without) as device:
        assert device.run("bfs", GRAPH, schedule="vm").verified


@pytest.mark.parametrize("schedule", ["vm", "em", "weaver"])
def test_does_not_fit(schedule):
    small = CONFIG.replace(memory_bytes=1 << 16)
    large = random_graph(5_000, 40_000, 1)
    with pytest.raises(UserError, match="graph \\(5000 vertices, 40000 edges\\) does not fit in "
                                        "device memory: [0-9]+ bytes needed, memory_bytes is "
                                        "65536"):
        Device(small, never).run("bfs", large, schedule=schedule)


def test_the_program_fits_in_the_smallest_preset():
    for name in ("tiny", "fpga", "default"):
        for algorithm in ("pagerank", "bfs", "sssp", "cc"):
            for schedule in ("vm", "em", "weaver"):
                for direction, split in itertools.product(("pull", "push"), SPLITS):
                    task = Device(preset(name), never).plan(
                        algorithm, GRAPH, schedule=schedule, direction=direction, split=split)
                    assert 0 < task.program.size <= preset(name).imem_bytes


def test_a_program_that_does_not_fit():
    small = HardwareConfig(warps=1, threads=4, imem_bytes=1 << 10)
    with pytest.raises(UserError, match="program of pagerank schedule=vm format=cr2 direction=pull "
                                        "takes [0-9]+ bytes, imem_bytes is 1024"):
        Device(small, never).run("pagerank", GRAPH, schedule="vm", format="cr2")


def test_limit_keeps_the_counters():
    with Device.functional(CONFIG) as device:
        with pytest.raises(RunError) as caught:
            device.run("pagerank", GRAPH, max_cycles=500)
        assert caught.value.counters["instructions"] >= 500
        assert device.run("pagerank", GRAPH).verified


def test_the_limit_is_for_all_launches():
    """A run of just so many instructions ends; with less, whichever launch is under way."""
    with Device.functional(CONFIG) as device:
        result = device.run("bfs", GRAPH, schedule="vm")
        assert result.launches > 3
        whole = result.counters["instructions"]
        last = device.run("bfs", GRAPH, schedule="vm", max_cycles=whole + 1000)
        assert last.counters == result.counters
        for limit in (whole - 1, whole // 2):
            with pytest.raises(RunError, match=f"not finished after {limit} ") as caught:
                device.run("bfs", GRAPH, schedule="vm", max_cycles=limit)
            assert limit <= caught.value.counters["instructions"] <= whole


def test_the_limit_ends_a_run_of_many_supersteps(monkeypatch):
    """The work before a run is bounded."""
    sweeps = []

    def counted(*arguments):
        sweeps.append(1)
        return edges(*arguments)

    edges = ReferenceMachine.edges
    monkeypatch.setattr(ReferenceMachine, "edges", counted)
    with Device.functional(CONFIG) as device:
        with pytest.raises(RunError, match="not finished after"):
            device.run("pagerank", GRAPH, iterations=1 << 31, max_cycles=1000)
    assert len(sweeps) < 2000


class _Broken(ArrayMemory):
    """A machine whose launches fail."""
    def __init__(self, kind):
        self.memory, self._kind = np.zeros(CONFIG.memory_bytes, np.uint8), kind

    def load_program(self, words): pass
    def power_on(self): pass
    def flush(self, invalidate=False): pass
    def clear_counters(self): pass
    def close(self): pass

    def counters(self):
        return {"cycles": 0, "instructions": 0}

    def core_counters(self):
        return [self.counters()]

    def phase_cycles(self):
        return np.zeros((0, 0, 0), np.uint64)

    def launch(self, entry, argument, *, max_cycles=None, progress=None):
        if self._kind is not None:
            raise SimulationError(self._kind, "it broke", {"cycles": 7})


@pytest.mark.parametrize("kind, message", [
    ("device", "kernel 'edges0_vertices_settle': it broke"),
    ("assertion", "kernel 'edges0_vertices_settle': it broke"),
    ("limit", "not finished after 9 cycles: the cycle limit was reached"),
])
def test_errors_of_the_machine(kind, message):
    with pytest.raises(RunError, match=message) as caught:
        Device(CONFIG, lambda: _Broken(kind)).run("bfs", GRAPH, max_cycles=9)
    assert caught.value.counters == {"cycles": 7}


def test_wrong_results_are_an_error():
    with pytest.raises(RunError, match="differs from the golden model at .* must be"):
        Device(CONFIG, lambda: _Broken(None)).run("pagerank", GRAPH, iterations=1)
    result = Device(CONFIG, lambda: _Broken(None)).run("pagerank", GRAPH, verify=False)
    assert not result.verified


def test_result_is_the_same_twice_and_json():
    with Device.functional(CONFIG) as device:
        first, second = (device.run("bfs", GRAPH, source=3) for _ in range(2))
    assert first.to_json() == second.to_json()
    record = json.loads(json.dumps(first.to_json()))
    assert record["checksum"] == first.checksum and len(record["checksum"]) == 64
    assert record["config"]["warps"] == 2 and record["parameters"] == {"source": 3}
    assert record["direction"] == "push" and record["supersteps"] == first.launches
    assert "outputs" not in record


def test_cycles_of_each_set():
    """A search launches a set in each superstep, and PageRank two; together they are all cycles."""
    with Device.functional(CONFIG) as device:
        for algorithm in ("bfs", "pagerank", "sssp"):
            graph = GRAPH if algorithm != "sssp" else GRAPH.weighted(9)
            result = device.run(algorithm, graph)
            names = [name for name, _ in result.set_cycles]
            assert sum(its for _, its in result.set_cycles) == result.counters["instructions"]
            assert len(names) == result.supersteps * (1 + (algorithm == "pagerank"))
            # The counters of the sets add up to those of the run.
            for counter, value in result.counters.items():
                assert value == sum(each.get(counter, 0) for each in result.set_counters), counter
        fused = device.run("bfs", GRAPH, fusion=True)
        assert fused.set_cycles == fused.set_counters == []


def test_buffers():
    buffers = Buffers(CONFIG)
    buffers.reserve("a", 3)
    buffers.reserve("b", 9)
    assert buffers.address("a") == 0x80000000 and buffers.address("b") == 0x80000010
    assert buffers.size == 16 + 48
    buffers.fill("a", np.array([1, -2], np.int32), rest=-1)
    machine = ArrayMemory()
    machine.memory = np.full(64, 7, np.uint8)
    buffers.upload(machine)
    assert buffers.read(machine, "a", dtype=np.int32).tolist() == [1, -2, -1]
    assert buffers.read(machine, "b", 2).tolist() == [0, 0]
    assert buffers.read(machine, "b").tolist() == [0] * 9
    with pytest.raises(ValueError, match="4 values for buffer 'a' of 3 words"):
        buffers.fill("a", [1, 2, 3, 4])
    with pytest.raises(ValueError, match="two buffers are named 'a'"):
        buffers.reserve("a", 1)
