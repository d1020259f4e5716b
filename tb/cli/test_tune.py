"""``graphloom tune``, ``run --schedule tuned`` and ``bench tune``, on the smallest preset."""

import itertools
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

from sw.cli.main import main
from sw.cli.tests import ROOT
from sw.study.tune.results import ResultsFile, identity
from sw.study.tune.schedules import PairedTimes
from tb.cli.test_errors import refused


GRAPH = "rmat:scale=5,degree=4,seed=1"

SMALL = ["--preset", "tiny"]

#: Few candidates, on the instruction-set simulator.
FEW = [*SMALL, "--functional", "--options", "schedule", *(word for only in (
    "format=csr", "schedule=em", "schedule=vm", "schedule=weaver", "split=static", "warps=own",
    "frontier=own") for word in ("--only", only))]

#: Those of one schedule.
ONLY_EM = [word for index, word in enumerate(FEW) if not {"schedule=vm", "schedule=weaver"}
           & set(FEW[index:index + 1 + (word == "--only")])]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Results are written to the current folder by default."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _tuned(*arguments):
    """Run ``tune``, and return what it writes to --json."""
    assert main(["tune", *arguments, "--json", "out.json"]) == 0
    with open("out.json") as file:
        return json.load(file)


def _lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def test_all_strategies_find_the_best(capsys):
    """Exhaustive search finds the best, whatever stops early, and no strategy finds better."""
    whole = _tuned("bfs", GRAPH, *FEW, "--strategy", "exhaustive", "--no-stop", "--jobs", "1")
    capsys.readouterr()
    cycles = {trial["plan"]: trial["cycles"] for trial in whole["trials"]}
    assert all(trial["status"] == "done" for trial in whole["trials"]) and whole["stopped"] == 0
    assert cycles[whole["best"]] == min(cycles.values())
    assert whole["simulated"] == sum(cycles.values())
    for strategy in ("exhaustive", "tpe", "random", "coordinate"):
        found = _tuned("bfs", GRAPH, *FEW, "--strategy", strategy, "--results",
                       f"{strategy}.jsonl", "--trials", "12", "--jobs", "1")
        text = capsys.readouterr().out
        assert len(found["trials"]) == 12 or strategy == "coordinate"
        assert found["trials"][0]["plan"] == "bfs direction=push"           # the default plan
        fewest = cycles["bfs direction=push"]
        for trial in found["trials"]:
            full = cycles.get(trial["plan"])
            if full is None:
                # Another plan of the same digest stands in the table.
                if trial["status"] == "done":
                    fewest = min(fewest, trial["cycles"])
                continue
            assert (trial["status"], trial["cycles"]) == (("done", full) if full <= fewest
                                                          else ("stopped", fewest))
            fewest = min(fewest, full)
        assert f"{len(found['trials'])} trials, 0 of them in {strategy}.jsonl before" in text
        assert found["command"] in " ".join(text.split())


def test_what_is_shown_of_one_plan(capsys, folder):
    """No worth of an axis without a second plan; what a run notes is told."""
    (folder / "short.el").write_text("0 1\n1 2\n")
    found = _tuned("bfs", "short.el", *FEW, "--source", "2", "--trials", "1", "--jobs", "1")
    text = " ".join(capsys.readouterr().out.split())
    assert found["worth"] == [] and "axis" not in text
    assert len(found["notes"]) == 1 and f"note: {found['notes'][0]}" in text


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.sample(1)
def test_the_same_command_goes_on(capsys, jobs):
    command = ["bfs", GRAPH, *FEW, "--jobs", jobs, "--trials"]
    _tuned(*command, "5")
    first = _lines("results/tuned.jsonl")
    assert first[0]["arguments"] == [GRAPH]
    whole = _tuned(*command, "10")
    lines = _lines("results/tuned.jsonl")
    assert lines[:6] == first and len(lines) == 11
    assert "10 trials, 5 of them in results/tuned.jsonl before" in capsys.readouterr().out
    again = _tuned(*command, "10")
    assert _lines("results/tuned.jsonl") == lines and again["best"] == whole["best"]
    if jobs == "1":
        # Interrupted or not, one process makes the same file.
        assert _tuned(*command, "10", "--results", "whole.jsonl") == whole
        assert _lines("whole.jsonl") == lines


def test_interrupted(folder):
    """Ctrl-C keeps every trial that has ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sw.cli", "tune", "sssp", "rmat:scale=6,degree=4,seed=1,weights=9",
         *FEW, "--trials", "100000", "--strategy", "random", "--jobs", "1",
         "--no-stop"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)})
    path = folder / "results/tuned.jsonl"
    deadline = time.monotonic() + 300
    while (not path.exists() or path.read_bytes().count(b"\n") < 4) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130 and out == ""
    said = re.search(r"note: (\d+) trials are in results/tuned.jsonl; the same command goes on",
                     err)
    assert int(said[1]) == len(_lines(path)) - 1 >= 3


def test_interrupted_before_a_line_is_written(monkeypatch, capsys):
    """The note counts the trials of the file, and no other."""
    keep, calls = ResultsFile.keep, []

    def interrupted(self, *arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        keep(self, *arguments)
    monkeypatch.setattr(ResultsFile, "keep", interrupted)
    assert main(["tune", "bfs", GRAPH, *FEW, "--trials", "9", "--strategy", "random", "--jobs",
                 "1"]) == 130
    assert "note: 2 trials are in results/tuned.jsonl" in capsys.readouterr().err
    assert len(_lines("results/tuned.jsonl")) == 3


def test_run_takes_the_tuned_plan(capsys):
    found = _tuned("bfs", GRAPH, *SMALL, "--trials", "4", "--strategy", "coordinate", "--only",
                   "direction=auto", "--only", "format=csr", "--only", "schedule=vm",
                   "--only", "warps=1")
    best = min(trial["cycles"] for trial in found["trials"] if trial["status"] == "done")
    assert main(["run", "bfs", GRAPH, *SMALL, "--schedule", "tuned", "--json", "run.json"]) == 0
    with open("run.json") as file:
        result, = json.load(file)["results"]
    assert result["total_cycles"] == best
    assert "run --plan 'bfs schedule=vm direction=push warps=1 | bfs sch" in found["command"]
    # The source is of this run, the graph may come from a file, and old sources are told.
    assert main(["graph", "convert", GRAPH, "graph.npz"]) == 0
    old = found["study"] | {"sources": "f" * 64}
    text = pathlib.Path("results/tuned.jsonl").read_text().replace(found["study"]["sources"],
                                                                   old["sources"])
    with open("old.jsonl", "w") as file:
        file.write(text.replace(identity(found["study"]), identity(old)))
    capsys.readouterr()
    assert main(["run", "bfs", "graph.npz", *SMALL, "--schedule", "tuned", "--tuned", "old.jsonl",
                 "--source", "5", "--json", "run.json"]) == 0
    assert "old.jsonl: was measured with other sources" in capsys.readouterr().err
    with open("run.json") as file:
        result, = json.load(file)["results"]
    assert result["parameters"]["source"] == 5 and result["verified"]


def test_from_the_nearest_graph():
    """The best plan of the nearest graph is the first trial."""
    _tuned("bfs", GRAPH, *FEW, "--strategy", "exhaustive")
    near = _lines("results/tuned.jsonl")
    _tuned("bfs", "road:side=8,seed=1", *ONLY_EM, "--trials", "1")
    best = min((line for line in near[1:] if line["status"] == "done"),
               key=lambda line: line["cycles"])
    found = _tuned("bfs", "rmat:scale=5,degree=4,seed=2", *FEW, "--from", "results/tuned.jsonl",
                   "--results", "new.jsonl", "--trials", "2", "--jobs", "1")
    assert found["trials"][0]["plan"] == best["key"].partition(" ")[2]
    found = _tuned("bfs", "road:side=7,seed=1", *ONLY_EM, "--from", "results/tuned.jsonl",
                   "--results", "new.jsonl", "--trials", "1")
    assert "schedule=em" in found["trials"][0]["plan"]


def test_compare_strategies(capsys):
    command = ["bench", "tune", GRAPH, *FEW, "--algorithms", "bfs", "--strategies",
               "random,exhaustive", "--seeds", "3", "--results", "tables.jsonl", "--json",
               "out.json"]
    assert main(command) == 0
    with open("out.json") as file:
        row, = json.load(file)["rows"]
    lines = _lines("tables.jsonl")[1:]
    cycles = [line["cycles"] for line in lines]
    assert row["candidates"] == len(cycles) and row["fewest"] == min(cycles)
    assert row["worst"] == max(cycles) / min(cycles)
    assert row["within"] == sum(each <= 1.05 * min(cycles) for each in cycles)
    assert row["strategies"]["exhaustive"]["reached"] == 3
    text = capsys.readouterr().out
    assert "random trials" in text
    assert main(command) == 0
    assert capsys.readouterr().out == text and _lines("tables.jsonl")[1:] == lines


@pytest.mark.parametrize("arguments, words", [
    (["--trials", "0"], ["--trials 0", "at least 1"]),
    (["--strategy", "luck"], ["luck", "tpe, random, exhaustive, coordinate"]),
    (["--only", "format"], ["--only format", "AXIS=VALUE"]),
    (["--only", "format=zip"], ["format=zip", "csr"]),
    (["--only", "colour=red"], ["colour", "no such axis", "schedule"]),
    (["--options", "all"], ["--options all", "schedule, format"]),
    (["--from", "missing.jsonl"], ["missing.jsonl", "no such file"]),
    (["--delta", "3"], ["delta", "bfs"]),
    (["--source", "99"], ["99"]),
    (["--results", "no/such/folder.jsonl"], ["no/such"]),
    (["--json", "out.txt"], [".json"]),
    (["--json", "same.json", "--results", "same.json"], ["same.json"]),
    (["--jobs", "0"], ["--jobs 0"]),
    (["--only", "schedule=scu"], ["no candidate works", "needs a Stream Compaction Unit"]),
])
def test_bad_input(capsys, folder, arguments, words):
    line = refused(capsys, "tune", "bfs", GRAPH, *SMALL, "--functional", *arguments)
    assert all(word in line for word in words), line
    assert not list(folder.glob("*.json*")) and not list(folder.glob("results/*"))


def test_bad_graphs(capsys):
    assert "weights" in refused(capsys, "tune", "sssp", GRAPH, *SMALL, "--functional")
    line = refused(capsys, "tune", "bfs", "rmat:scale=12,degree=8,seed=1", *SMALL, "--set",
                   "memory_bytes=65536", "--functional")
    assert "no candidate works" in line and "does not fit" in line


def test_bad_results(capsys, folder):
    """Records that are damaged, or of other sources, are left as they are."""
    _tuned("bfs", GRAPH, *FEW, "--trials", "2", "--jobs", "1")
    capsys.readouterr()
    path = folder / "results/tuned.jsonl"
    good = path.read_text()
    for text, words in ((good + "rubbish\n", "line 4 is not a record of a run"),
                        (good.replace('"status"', '"state"'), "record 2 is not of graphloom tune"),
                        (good.replace('"version": 2', '"version": 1'), "has version 1")):
        path.write_text(text)
        for command in (["tune", "bfs", GRAPH, *FEW],
                        ["tune", "bfs", GRAPH, *FEW, "--results", "new.jsonl", "--from", str(path)],
                        ["run", "bfs", GRAPH, *SMALL, "--schedule", "tuned"]):
            assert words in refused(capsys, *command)
        assert path.read_text() == text


@pytest.mark.parametrize("arguments, words", [
    (["--schedule", "tuned"], ["no file", "results", "tune bfs"]),
    (["--schedule", "tuned", "--tuned", "missing.jsonl"], ["missing.jsonl"]),
    (["--tuned", "missing.jsonl"], ["--tuned missing.jsonl", "--schedule tuned"]),
    (["--schedule", "tuned", "--format", "csr"], ["--format is a part of the plan"]),
    (["--schedule", "tuned", "--no-dedup"], ["--dedup is a part of the plan"]),
])
def test_bad_runs(capsys, arguments, words):
    line = refused(capsys, "run", "bfs", GRAPH, *SMALL, *arguments)
    assert all(word in line for word in words), line


def test_no_tuned_plan(capsys):
    _tuned("bfs", GRAPH, *FEW, "--trials", "1")
    capsys.readouterr()
    for command, words in ((["run", "cc", GRAPH, *SMALL], "no tuned plan for cc"),
                           (["run", "bfs", "karate", *SMALL], "no tuned plan for bfs on karate"),
                           (["run", "bfs", GRAPH], "no tuned plan for this hardware (default)")):
        assert words in refused(capsys, *command, "--schedule", "tuned")


# The CPU

@pytest.mark.parametrize("strategy", ["coordinate", "random"])
def test_schedules_on_the_cpu(capsys, folder, strategy):
    """The command that is printed runs the best schedules, with the interpreter's words."""
    assert main(["tune", "sssp", GRAPH, "--weights", "9", "--source", "hub", "--vm", "cpu",
                 "--strategy", strategy, "--trials", "6", "--rounds", "2", "--json", "t.json"]) == 0
    text = capsys.readouterr().out
    record = json.loads((folder / "t.json").read_text())
    assert record["unit"] == "ns" and record["failed"] == 0 and len(record["pairs"]) == 10
    assert 2 <= len(record["trials"]) <= 6 and record["command"] in text
    assert "6 trials" in text or strategy == "coordinate"
    words = record["command"].split()
    assert words[1:3] == ["run", "--plan"] and "--weights 9" in record["command"]
    assert main(shlex.split(record["command"])[1:]) == 0
    assert "bit-identical to the interpreter of its text" in capsys.readouterr().out


@pytest.mark.parametrize("good, words", [(1, "2 trials, 0 stopped after two pairs of runs, 1 fai"),
                                         (0, "no trial ran to its end")])
def test_failures_on_the_cpu(monkeypatch, capsys, good, words):
    """A trial that fails is told, and the exit code says so, whatever the other trials do."""
    found = itertools.chain([{"status": "done", "cycles": 7}] * good,
                            itertools.repeat({"status": "failed", "error": "no luck"}))
    monkeypatch.setattr(PairedTimes, "measure", lambda self, trial: next(found))
    assert main(["tune", "bfs", GRAPH, "--vm", "cpu", "--strategy", "coordinate", "--trials", "2",
                 "--rounds", "1"]) == 1
    printed = capsys.readouterr()
    assert words in printed.out and printed.err.count("FAILED") == 2 - good
    assert "no luck" in printed.err


@pytest.mark.parametrize("arguments, message", [
    (["--vm", "gpu"], "--vm gpu: must be rtl or cpu"),
    (["--vm", "cpu", "--preset", "tiny"], "--preset: only for the device"),
    (["--vm", "cpu", "--functional"], "--functional: only for the device"),
    (["--vm", "cpu", "--set", "warps=2"], "--set: only for the device"),
    (["--vm", "cpu", "--only", "schedule=vm"], "--only schedule: there is no such axis"),
    (["--rounds", "3"], "--rounds: only with --vm cpu")])
def test_refused_on_the_cpu(capsys, arguments, message):
    assert message in refused(capsys, "tune", "bfs", GRAPH, *arguments)


def test_a_program_on_the_device(folder):
    """A file with a program is tuned as an algorithm is."""
    text = (ROOT / "sw" / "lang" / "programs" / "kcore.py").read_text()
    (folder / "mine.py").write_text(text.replace("sw.lang.names", "graphloom"))
    assert main(["tune", "mine.py", GRAPH, "--undirected", "--simplify", *FEW, "--trials", "3",
                 "--jobs", "1", "--strategy", "random", "--json", "t.json"]) == 0
    record = json.loads((folder / "t.json").read_text())
    assert record["best"].startswith("mine.py") and len(record["trials"]) == 3
