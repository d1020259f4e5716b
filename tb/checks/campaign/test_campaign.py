"""The campaign: a few of its configurations, and its detection of faults.

==================  ==========================================================================
the RTL             test_configurations: through the command, which also keeps the records
detected faults     test_differences, test_a_defect_of_the_host, test_a_build_that_fails,
                    test_a_process_that_dies
repetition          test_commands, test_commands_of_runs
the command         test_list; tb/cli/test_errors.py tests its refusals
==================  ==========================================================================

``./graphloom campaign`` runs all configurations.
"""

import dataclasses
import json
import os
import shlex
import types

import pytest

from checks.campaign import lockstep
from checks.campaign import checks, work
from checks.campaign.checks import Check
from checks.campaign.covering import Point, covering
from checks.campaign.machines import CONFIGS, machine
from hw.config import HardwareConfig
from sim.errors import BuildError
from sw.compile import algorithms, schedules
from sw.study.benchmarks.executors import Processes
from sw.cli import options
from sw.cli.main import main
from sw.compile.kernels.split import SPLITS
from tb.executors import InThisProcess


#: Points that are quick to build and differ from the builds of other tests: an L2 of two lines
#: without counters; eight banks without a trace port.
POINTS = (2, 14)

#: Runs of algorithms by schedule, if all are allowed.
RUNS = {schedule: len(SPLITS) * sum(len(schedules.make(schedule).directions(algorithms.find(name)))
                                    for name in algorithms.names())
        for schedule in schedules.names()}

#: Runs of GCN under each schedule by stream compaction, whose lists have no room for its weights.
NO_ROOM = len(SPLITS)

#: Schedules of which each is refused, runs or fails for a reason of its own.
FEW = ("compact", "etwc", "graphpeg", "scu", "twce", "vm", "weaver")


def plain_runs(names):
    """Number of the runs of schedules without an SCU and without GraphPEG, but for those of GCN
    under `compact`."""
    return sum(RUNS[schedule] for schedule in names
               if not schedules.make(schedule).needs_scu
               and not schedules.make(schedule).needs_unit) - NO_ROOM


@pytest.fixture(params=[FEW, pytest.param(tuple(RUNS), marks=pytest.mark.full)],
                ids=["few", "all"])
def checked(request, monkeypatch):
    """The schedules that checks run; if they are few, on a graph of a quarter of the vertices."""
    if request.param != tuple(RUNS):
        monkeypatch.setattr(checks, "graph_of", lambda config: "rmat:scale=4,degree=8,seed=1")
    monkeypatch.setattr(checks, "schedules",
                        types.SimpleNamespace(names=lambda: request.param, make=schedules.make))
    return request.param


def test_configurations(capsys, monkeypatch, tmp_path, checked):
    points = POINTS
    if checked == FEW:                  # they are chosen in this process only
        monkeypatch.setattr(options, "executor", lambda *_, **__: InThisProcess())
        points = POINTS[:1]
    path, results = tmp_path / "campaign.json", tmp_path / "campaign.jsonl"
    command = ["campaign", *(f"--only={number}" for number in points), "--instructions", "3000",
               "--seed", "1", "--results", str(results), "--json", str(path)]
    assert main(command) == 0, capsys.readouterr().out
    captured = capsys.readouterr()
    assert f"{len(points)} of {len(points)} configurations passed" in captured.out
    found = json.loads(path.read_text())
    assert [record["number"] for record in found["configurations"]] == list(points)
    for record in found["configurations"]:
        assert not record["failures"]
        # Two lanes; 2048 bytes for the program, which GCN does not fit in under eight plans; 4096
        # bytes for the program and three walks of owned rows. Neither has GraphPEG.
        words = {2: ("needs a Stream Compaction Unit", "needs warps of at least 4 lanes",
                     "has no room for weights", "imem_bytes is 2048", "needs GraphPEG"),
                 14: ("imem_bytes is 4096", "has no room for weights",
                      "needs GraphPEG")}[record["number"]]
        assert all(any(word in refused["reason"] for word in words)
                   for refused in record["refused"])
        assert len(record["runs"]) + len(record["refused"]) == sum(map(RUNS.get, checked))
        without_room = sum(RUNS[name] for name in ("twc", "twce", "etwc") if name in checked)
        assert len(record["runs"]) == {
            2: plain_runs(checked) - without_room - 8 * (checked != FEW),
            14: sum(RUNS.values()) - RUNS["graphpeg"] - 4 - 4 * NO_ROOM}[record["number"]]
        assert all(run["verified"] for run in record["runs"])
        instructions = record["lockstep_instructions"], record["compared_instructions"]
        assert sum(instructions) >= 3000 and min(instructions) == 0
        assert (instructions[0] > 0) == (record["number"] == 2)
        assert record["programs"] > 5
    assert found["covered"]["cores"] == [1]
    if points == POINTS:
        assert found["covered"]["trace"] == [False, True]
        assert found["covered"]["l2_bytes"] == [32, 131072]

    # Points that passed are not checked again, unless options differ.
    assert main(command) == 0
    captured = capsys.readouterr()
    assert f"{len(points)} of {len(points)} runs are in the file" in captured.err
    again = json.loads(path.read_text())
    assert again["configurations"] == found["configurations"]
    those = [point for point in covering() if point.number in points]
    assert not work.Work(those, instructions=3001, seed=1, path=results).records
    assert len(work.Work(those, instructions=3000, seed=1, path=results).records) == len(points)


def check(config, **settings):
    """A record of the campaign's checks of any configuration."""
    return Check(3, config, **({"instructions": 300} | settings)).run()


def test_differences(monkeypatch, checked):
    """RTL of a wrong size: the edges detect it, and the other checks go on."""
    config = CONFIGS["tiny"].replace(name="other", local_bytes=1 << 9, memory_bytes=1 << 21,
                                     barriers=2, imem_bytes=1 << 12)
    monkeypatch.setattr(checks, "NativeMachine", lambda config: machine("tiny"))
    monkeypatch.setattr(machine("tiny"), "close", lambda: None)
    monkeypatch.setattr(lockstep, "machine", lambda config, dram: machine("tiny"))
    record = check(config)
    wrong = {failure["what"] for failure in record["failures"]}
    assert wrong == {"edges: the last of everything", "edges: a word behind global memory",
                     "edges: a word behind local memory", "edges: a barrier behind the last",
                     "edges: an instruction behind the last", "random program of seed 1"}
    # Where registers or sums lie in local memory, queues do not fit there too; and some programs do
    # not fit in instruction memory.
    full = [refused["run"].split()[2] for refused in record["refused"]
            if any(why in refused["reason"] for why in ("local memory is full", "imem_bytes is"))]
    assert {"etwc", "twce"} <= set(full) and len(record["runs"]) == plain_runs(checked) - len(full)
    for failure in record["failures"]:
        assert "--only 3 " in failure["reproduce"]


@pytest.mark.parametrize("checked", [("compact", "etwc", "vm"), pytest.param(
    tuple(RUNS), marks=pytest.mark.full)], indirect=True, ids=["three", "all"])
def test_a_defect_of_the_host(monkeypatch, checked):
    """It ends its own check, its traceback is kept, and the other checks go on."""
    def fail(*arguments, **settings):
        return 1 // 0
    monkeypatch.setattr(checks, "NativeMachine", lambda config: machine("tiny"))
    monkeypatch.setattr(machine("tiny"), "close", lambda: None)
    monkeypatch.setattr(checks, "fitting_case", fail)
    monkeypatch.setattr(lockstep, "machine", lambda config, dram: machine("tiny"))
    record = check(CONFIGS["tiny"])
    failure, = record["failures"]
    assert failure["what"] == "random program of seed 1"
    assert "return 1 // 0" in failure["message"]
    assert len(record["runs"]) == plain_runs(checked)


def test_a_build_that_fails(monkeypatch):
    def fail(config):
        raise BuildError("compiling fast0.cpp failed")
    monkeypatch.setattr(checks, "NativeMachine", fail)
    record = check(CONFIGS["tiny"])
    assert [failure["message"] for failure in record["failures"]] == ["compiling fast0.cpp failed"]
    assert record["build_seconds"] is None and not record["runs"]


class Deadly(Point):
    """A point that ends the process that receives it."""

    def __reduce__(self):
        return os._exit, (3,)


@pytest.mark.full
def test_a_process_that_dies(tmp_path):
    """The other points are checked, and the next run tries the point again."""
    point = covering()[1]
    deadly = Deadly(1, HardwareConfig(name="deadly"), ())
    path = tmp_path / "records.jsonl"
    campaign = work.Work([deadly, point], instructions=1, seed=1, path=path)
    reported = []
    campaign.run(Processes(1), lambda point, record: reported.append(record),
                 lambda point, text: None)
    assert [failure["message"] for failure in reported[0]["failures"]] == [
        "its process ended with exit code 3"]
    assert reported[1]["name"] == point.config.name and not reported[1]["failures"]
    again = work.Work([deadly, point], instructions=1, seed=1, path=path)
    assert set(again.records) == {point.number}


@pytest.mark.parametrize("number", [1, 4, 11, 16])
def test_commands(number):
    """The command that repeats a failure makes the same hardware."""
    config = covering()[number - 1].config
    record = Check(number, config, instructions=1)
    if config.cores == 1:
        words = shlex.split(record._lockstep_command(5))
        sets = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
        made = lockstep.shape(words[words.index("--shape") + 1], sets)
        assert dataclasses.replace(made, name=config.name) == config
        assert words[:2] == ["./graphloom", "lockstep"] and words[words.index("--seed") + 1] == "5"
    assert f"--only {number} " in record._again()


@pytest.mark.parametrize("checked", [("compact", "etwc", "vm", "weaver"), pytest.param(
    tuple(RUNS), marks=pytest.mark.full)], indirect=True, ids=["four", "all"])
def test_commands_of_runs(monkeypatch, tmp_path, checked):
    """The command ``run`` repeats a failed run, with the same memory."""
    config = CONFIGS["bare"]
    monkeypatch.setattr(checks, "check_cores", lambda *arguments: 1 // 0)
    monkeypatch.setattr(lockstep, "machine", lambda config, dram: machine("bare"))
    made = Check(1, config, instructions=1)
    made._algorithms()
    failures = made.record["failures"]
    # Without a Weaver and an SCU.
    assert len(made.record["refused"]) == (sum(map(RUNS.get, checked)) - plain_runs(checked)
                                           + RUNS["weaver"])
    assert len(failures) == plain_runs(checked) - RUNS["weaver"]
    assert all("ZeroDivisionError" in failure["message"] for failure in failures)
    words = shlex.split(failures[0]["reproduce"])
    assert words[0] == "./graphloom" and "gather=none" in words
    path = tmp_path / "run.json"
    assert main([*words[1:], "--json", str(path)]) == 0
    found = json.loads(path.read_text())
    assert HardwareConfig(**(found["configuration"] | {"name": "bare"})) == config
    assert found["dram"] == dataclasses.asdict(machine("bare").dram)


def test_list(capsys):
    assert main(["campaign", "--list", "--only", "7"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "cores=2" in text and "cores 2," in text and "imem_bytes 65536," in text
