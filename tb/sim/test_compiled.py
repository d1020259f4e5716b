"""The compiled simulator against Verilator's: the same cycles, counters, memory and errors."""

import hashlib

import pytest

from hw.config import ConfigError, preset
from sim import compiled
from sim.dram import DramConfig
from sw.cli.main import main
from sw.errors import RunError
from sw.graph.load import load
from sw.runtime import Device


def _both(monkeypatch, work):
    """The values that a function returns with each simulator."""
    results = []
    for name in ("compiled", "verilator"):
        monkeypatch.setenv("GRAPHLOOM_SIMULATOR", name)
        results.append(work())
    return results


def _run(config, dram, algorithm, schedule, **options):
    def work():
        with Device.simulate(config, dram=dram) as device:
            result = device.run(algorithm, load("rmat:scale=6,degree=6,seed=2"),
                                schedule=schedule, **options)
            machine = device.machine
            memory = hashlib.sha256(machine.memory.tobytes()).hexdigest()
            return result.cycles, result.checksum, result.counters, memory
    return work


@pytest.mark.parametrize("fields, algorithm, schedule, options", [
    ({}, "bfs", "twc", {"source": 0}),
    ({}, "pagerank", "weaver", {"iterations": 2}),
    ({"cores": 2}, "pagerank", "vwc", {"iterations": 1, "split": "counter"}),
    ({"gather": "graphpeg"}, "cc", "graphpeg", {}),
    ({"scu": 1}, "bfs", "scu", {"source": 0}),
], ids=lambda value: value if isinstance(value, str) else None)
@pytest.mark.sample(2)
def test_runs_are_equal(monkeypatch, fields, algorithm, schedule, options):
    dram = DramConfig(latency=37, bytes_per_cycle=4)
    mine, other = _both(monkeypatch, _run(preset("tiny").replace(**fields), dram, algorithm,
                                          schedule, **options))
    assert mine == other


@pytest.mark.parametrize("cores", ["1", "2"])
@pytest.mark.sample(1)
def test_traces_are_equal(monkeypatch, tmp_path, cores):
    def work():
        path = tmp_path / "trace.txt"
        assert main(["run", "bfs", "karate", "--preset", "tiny", "--set", f"cores={cores}",
                     "--trace", str(path)]) == 0
        text = path.read_text()
        path.unlink()
        return text
    mine, other = _both(monkeypatch, work)
    assert mine == other and mine.count("\n") > 100


def test_a_limit_ends_both_in_the_same_cycle(monkeypatch):
    def work():
        with Device.simulate(preset("tiny")) as device:
            with pytest.raises(RunError) as caught:
                device.run("bfs", load("karate"), schedule="vm", source=0, max_cycles=500)
            again = device.run("bfs", load("karate"), schedule="vm", source=0)
            return str(caught.value), caught.value.counters, again.cycles, again.counters
    mine, other = _both(monkeypatch, work)
    assert mine == other


def test_an_unknown_simulator_is_refused(monkeypatch):
    monkeypatch.setenv("GRAPHLOOM_SIMULATOR", "icarus")
    with pytest.raises(ConfigError, match="unknown simulator 'icarus'; must be compiled or "
                                          "verilator"):
        compiled.verilator_is_wanted()
