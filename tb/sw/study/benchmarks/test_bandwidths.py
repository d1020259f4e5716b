"""``bench bandwidths``: its runs, memories and roofs, and the command."""

import dataclasses

import pytest

from base.errors import UserError
from hw.config import ConfigError, preset
from sim.dram import DramConfig
from sim.memories import dram_of
from sw.cli.main import main
from sw.study.benchmarks.bandwidths import BEST, Roof, grid, memory_at, roof
from sw.study.benchmarks.system import System


GPU = preset("gpu")


@pytest.mark.parametrize("lane_bytes, each, of_four", [
    (2, 128, 512), (0.5, 32, 128), (0.2, 13, 51), (0.001, 1, 1)])
def test_memories(lane_bytes, each, of_four):
    """256 lanes and four ports; the rest of the memory stays. A DRAM cycle of four core cycles
    moves four times as much."""
    assert memory_at(GPU, DramConfig(latency=7), lane_bytes) == DramConfig(
        latency=7, bytes_per_cycle=each)
    assert memory_at(GPU, DramConfig(ratio=4), lane_bytes).bytes_per_cycle == of_four


@pytest.mark.parametrize("lane_bytes, channels, ratio", [
    (2, 16, 2), (0.5, 4, 2), (0.16, 1, "25/16"), (0.2, 1, "5/4"), (0.05, 1, 5)])
def test_devices(lane_bytes, channels, ratio):
    """A channel of a port moves 16 bytes in a memory cycle, so 0.25 bytes a lane."""
    own = dram_of({}, GPU)
    found = memory_at(GPU, own, lane_bytes)
    assert found == dataclasses.replace(own, channels=channels, ratio=ratio)
    assert found.peak_bytes(GPU) == pytest.approx(256 * lane_bytes)


def test_bad_memories():
    for memory in (DramConfig(), dram_of({}, GPU)):
        with pytest.raises(UserError, match="4 memory ports move at most 2 bytes"):
            memory_at(GPU, memory, 2.1)
    with pytest.raises(ConfigError, match="ratio = '250': must be"):
        memory_at(GPU, dram_of({"model": "hbm2"}), 0.001)


def _grid(*units):
    axes = {"graph": [("karate", False)], "algorithm": ("bfs", "cc"), "schedule": ("em", "vm")}
    return grid(axes, (1.0, 0.5), units, System(preset("tiny"), DramConfig()), 1, 255)


def test_the_runs():
    """Software has all schedules and directions; each unit has its own hardware, and both have
    the memory of the bandwidth."""
    found = _grid("stream", "scu")
    assert [len(ways) for ways in found.places.values()] == [4, 2, 2] * 4
    for (lane_bytes, _, column, _), ways in found.places.items():
        for (schedule, direction), case in ways.items():
            system = case.system
            assert system.dram.bytes_per_cycle == round(4 * lane_bytes)
            assert case.plan.direction == direction and case.plan.schedule == schedule
            assert system.config.scu == (4 if column == "scu" else 0)
            assert system.config.gather == ("stream" if "stream" in column else "fsm")


def test_roofs():
    """1,000 arcs; memory moves 4 bytes a cycle."""
    case = next(iter(_grid().places[1.0, "bfs", BEST, ("karate", False)].values()))
    counters = {"dram_bytes_read": 6000, "dram_bytes_written": 2000, "instructions": 5000}
    found = roof({case: {"cycles": 8000, "arcs": 1000, "counters": counters}}, case)
    assert found == Roof(arcs=0.125, memory=0.5, issue=0.2)
    assert found.binding == "issue" and found.attained == pytest.approx(0.625)
    assert Roof(0.1, 0.1, 0.2).binding == "memory"
    assert roof({case: {"error": "why"}}, case) is None


def test_the_command(capsys, tmp_path):
    words = ["bench", "bandwidths", "karate", "--preset", "tiny", "--units", "fsm", "--schedules",
             "vm", "--algorithms", "pagerank", "--lane-bytes", "1,0.25", "--jobs", "1",
             "--results", str(tmp_path / "runs.jsonl")]
    assert main(words) == 0
    first = capsys.readouterr()
    assert "8/8" in first.err and "weaver (fsm)" in first.out and "% of" in first.out
    assert main(words) == 0 and capsys.readouterr().out == first.out


@pytest.mark.parametrize("given, message", [
    (["--lane-bytes", "1,x"], "'x' must be a number above 0"), (["--lane-bytes", "0"], "above 0"),
    (["--lane-bytes", "1,1.0"], "given twice"), (["--units", "gpu"], "--units"),
    (["--set", "counters=false"], "needs the counters")])
def test_bad_input(capsys, given, message):
    assert main(["bench", "bandwidths", "karate", *given]) == 2
    assert message in capsys.readouterr().err
