"""The compiled simulator against Verilator's: the same cycles, counters, memory and errors."""

import hashlib
import re

import pytest

from base.errors import RunError
from hw.config import ConfigError, preset
from hw.isa import encode
from sim import compiled
from sim.dram import DramConfig
from sim.dram_device import DramDevice
from sim.errors import SimulationError
from sim.native import NativeMachine
from sw.cli.main import main
from sw.graph.load import load
from sw.device import Device


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
    ({"l2_banks": 2, "memory_ports": 2}, "cc", "em", {}),
], ids=lambda value: value if isinstance(value, str) else None)
@pytest.mark.sample(1)
def test_runs_are_equal(monkeypatch, fields, algorithm, schedule, options):
    for dram in (DramConfig(latency=37, bytes_per_cycle=4),
                 DramDevice.of("hbm2", channels=2, ratio="3/2")):
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


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.sample(1)
def test_a_failed_assertion(monkeypatch, tmp_path, cores):
    """A model whose assertions fail as soon as they are evaluated, in the GPU or in its cores. The
    message has the text of the first one."""
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path))       # no other test gets this simulator
    write, texts = compiled.write_model, []

    def wrong(work, name, *arguments, **options):
        write(work, name, *arguments, **options)
        if name == ("gpu" if cores == 1 else "core"):
            for path in work.glob(f"{name}*.cpp"):
                text = path.read_text()
                texts.extend(re.findall(r'\bfailed\("(.*?)"\);', text))
                path.write_text(re.sub(r"(s\.failed\d+) = [^;]*;", r"\1 = 1;", text))

    monkeypatch.setattr(compiled, "write_model", wrong)
    config = preset("tiny").replace(cores=cores, warps=1, threads=1, gather="none", divider="none")
    with pytest.raises(SimulationError) as caught:
        with NativeMachine(config, threads=cores) as machine:
            machine.load_program([encode("tmc", rs1=0)])
            machine.launch(0, 0)
    assert caught.value.kind == "assertion"
    cycle, _, text = str(caught.value).partition(": ")
    assert re.fullmatch(r"in cycle \d+", cycle)
    assert text in {" ".join(each.split()) for each in texts}


def test_an_unknown_simulator_is_refused(monkeypatch):
    monkeypatch.setenv("GRAPHLOOM_SIMULATOR", "icarus")
    with pytest.raises(ConfigError, match="unknown simulator 'icarus'; must be compiled or "
                                          "verilator"):
        compiled.verilator_is_wanted()


def test_optimization_changes_no_cycle(monkeypatch):
    work = _run(preset("tiny"), DramConfig(), "bfs", "twc", source=0)
    results, libraries = [], []
    for level in ("0", "2"):
        monkeypatch.setenv("GRAPHLOOM_OPTIMIZE", level)
        libraries.append(compiled.library(preset("tiny")))
        results.append(work())
    assert libraries[0] != libraries[1] and results[0] == results[1]
    monkeypatch.delenv("GRAPHLOOM_OPTIMIZE")
    assert compiled.library(preset("tiny")) == libraries[1]


def test_an_unknown_level_of_optimization_is_refused(monkeypatch, capsys):
    monkeypatch.setenv("GRAPHLOOM_OPTIMIZE", "3")
    assert main(["run", "bfs", "karate", "--preset", "tiny"]) == 2
    assert "GRAPHLOOM_OPTIMIZE: unknown level '3'; must be 0, 1 or 2" in capsys.readouterr().err
