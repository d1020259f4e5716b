"""``graphloom list``."""

import contextlib
import json
import math
import shlex

import pytest

from base.errors import UserError
from base.installation import ROOT
from hw.config import preset
from sw.compile import algorithms, formats, schedules
from sw.cli import options
from sw.cli.main import main
from sw.graph.load import load
from sw.compile.frontiers import FRONTIERS
from sw.compile.lower.algorithm import ProgramAlgorithm
from sw.device import Device
from sw.lang import programs
from sw.study import combinations
from tb.cli.test_errors import refused
from tb.executors import InThisProcess


def test_everything(capsys):
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    for name in (*algorithms.names(), *schedules.names(), *formats.image_names(), *FRONTIERS):
        assert f"  {name} " in text
    for words in ("Vertex mapping: a lane a vertex", "Compressed sparse rows", ":k=8",
                  "parameters: source", "combinations of algorithm x format x block x schedule"):
        assert words in text
    count = math.prod(len(values()) for values in combinations.AXES.values())
    assert f"frontier: {count}; `graphloom list combinations` says which work" in text


@pytest.mark.parametrize("what, there, elsewhere", [
    ("algorithms", "pagerank", "weaver"), ("schedules", "weaver", "pagerank"),
    ("formats", ":cluster_bits=16", "pagerank"), ("frontiers", "bytemap", "cluster_bits")])
def test_one_part(capsys, what, there, elsewhere):
    assert main(["list", what]) == 0
    text = capsys.readouterr().out
    assert there in text and elsewhere not in text


def _combinations(tmp_path, *arguments):
    path = tmp_path / "combinations.json"
    assert main(["list", "combinations", *arguments, "--json", str(path)]) == 0
    return json.loads(path.read_text())


def test_combinations(capsys, tmp_path):
    some = {"format": ["csr", "g-shards"], "schedule": ["vm", "em", "weaver", "scu"],
            "frontier": ["own", "queue"]}
    found = _combinations(tmp_path, *(word for axis, values in some.items() for value in values
                                      for word in ("--only", f"{axis}={value}")))
    every = found["combinations"]
    listed = combinations.AXES["algorithm"]()
    assert {*programs.names(), "gcn"} == {*listed}
    assert found["count"] == len(every) == len(listed) * 2 * 2 * 4 * 3 * 2
    working = [each for each in every if each["works"]]
    assert found["working"] == len(working)
    text = capsys.readouterr().out
    assert f"{len(every)}, of which {len(working)} work" in text
    assert text.count(" works\n") == len(working)
    for algorithm in listed:
        those = [each for each in every if each["algorithm"] == algorithm]
        assert f"{algorithm}: {sum(each['works'] for each in those)} of {len(those)}\n" in text
    assert "4,480 = 7 schedules x 5 formats x 2 CTA sizes x 2 blocking x 4 frontiers" in text
    # CSR works with everything that the default hardware has.
    csr = [each for each in every if each["format"] == "csr" and each["block"] == "none"
           and each["schedule"] in ("vm", "em", "weaver") and each["direction"] != "auto"
           and each["frontier"] is None]
    assert len(csr) == len(listed) * 3 * 2 and all(each["works"] for each in csr)
    assert all((each["reason"] is None) == each["works"] for each in every)
    assert text.rstrip().endswith(f"{len(every)} combinations: {len(working)} work, "
                                  f"{len(every) - len(working)} are refused, 0 faults")
    assert found["refusals"] == len(every) - len(working) and found["faults"] == 0


def test_a_program_of_a_file(capsys, tmp_path):
    """A program of one's own, on graphs that are made as it needs them."""
    path = tmp_path / "own.py"
    text = (ROOT / "sw" / "lang" / "programs" / "kcore.py").read_text()
    path.write_text(text.replace("def kcore(", "def peel("))
    found = _combinations(tmp_path, "--only", f"algorithm={path}", "--only", "format=csr", "--only",
                          "schedule=em")
    names = {each["algorithm"] for each in found["combinations"]}
    assert names == {str(path)} and found["working"] == 2 * 3 * 8
    found = _runs(tmp_path, "--functional", "--jobs", "1", "--only", f"algorithm={path}", "--only",
                  "format=csr", "--only", "schedule=em", "--only", "direction=push", "--only",
                  "block=none", "--only", "frontier=bitmap/queue")
    assert len(found["runs"]) == 3 and found["failed"] == found["refused"] == 0
    capsys.readouterr()
    assert "none.py" in refused(capsys, "list", "combinations", "--only",
                                f"algorithm={tmp_path / 'none.py'}")


def test_faults_are_no_refusals(tmp_path, monkeypatch, capsys):
    """What planning raises that is no refusal is listed, counted apart and an error of the command.
    """
    some = ["--only", "algorithm=cc", "--only", "format=csr", "--only", "schedule=vm", "--only",
            "block=none", "--only", "frontier=own"]
    monkeypatch.setattr(ProgramAlgorithm, "reserve", lambda self, task: self.nothing)
    path = tmp_path / "faults.json"
    assert main(["list", "combinations", *some, "--json", str(path)]) == 1
    found = json.loads(path.read_text())
    assert (found["working"], found["refusals"], found["faults"]) == (0, 1, 2)
    assert "AttributeError" in found["combinations"][0]["fault"]
    assert "FAULT cc csr none vm push own: AttributeError" in capsys.readouterr().out


def test_a_combination_is_what_a_run_says(tmp_path):
    """On hardware without a Weaver, the listed reason is the reason that a run gives."""
    found = _combinations(tmp_path, "--set", "gather=none", "--only", "schedule=weaver", "--only",
                          "frontier=own")
    each = next(each for each in found["combinations"]
                if each["schedule"] == "weaver" and each["format"] == "csr")
    device = Device.functional(preset("baseline").replace(gather="none"))
    with pytest.raises(UserError) as error:
        device.run(each["algorithm"], load("karate", weights=3), schedule="weaver",
                   direction=each["direction"])
    assert each["reason"].partition(",")[0] == str(error.value).partition(",")[0]
    assert not any(each["works"] for each in found["combinations"] if each["schedule"] == "weaver")


def _runs(tmp_path, *arguments, code=0):
    path = tmp_path / "runs.json"
    assert main(["list", "combinations", "--run", *arguments, "--json", str(path)]) == code
    return json.loads(path.read_text())


def test_run_is_all_that_is_listed(capsys, tmp_path):
    """All working combinations of one schedule run, each on every graph."""
    some = ["--only", "schedule=vm", "--only", "algorithm=bfs", "--only", "format=csr",
            "--only", "format=coo"]
    listed = _combinations(tmp_path, *some)
    found = _runs(tmp_path, "--functional", "--jobs", "2", *some)
    assert found["count"] == listed["count"] == 2 * 2 * 3 * (len(combinations.AXES["frontier"]())) \
        and found["failed"] == 0
    axes = list(combinations.AXES)
    ran = [tuple(run[axis] for axis in axes) for run in found["runs"]]
    working = [tuple(each[axis] for axis in axes) for each in listed["combinations"]
               if each["works"]]
    assert ran == [each for each in working for _ in combinations.GRAPHS]
    assert all(run["verified"] for run in found["runs"])
    # A graph has one result, whatever the combination.
    assert len({(run["graph"], run["checksum"]) for run in found["runs"]}) == 3
    text = capsys.readouterr().out
    assert (f"{3 * len(working)} runs on the functional simulator of default: {len(working)} "
            f"combinations on 3 graphs (skewed, road, odd); {3 * len(working)} bit-identical to "
            "golden, 0 failed") in text


def test_further_axes(capsys, tmp_path):
    """The further axes are there if they are asked for. The sample runs, and its commands repeat
    its runs."""
    some = ["--only", "algorithm=sssp", "--only", "format=csr", "--only", "schedule=cm",
            "--only", "block=none", "--only", "direction=push"]
    few, all_ = (_combinations(tmp_path, *some, *more) for more in ([], ["--all-axes"]))
    assert all_["count"] == 3 * 2 * 2 * few["count"] and all_["working"] > 2 * few["working"]
    found = _runs(tmp_path, *some, "--all-axes", "--functional", "--sample", "5", "--jobs", "1")
    assert found["failed"] == found["refused"] == 0 and len(found["runs"]) == 15
    assert all(run["verified"] for run in found["runs"])
    assert any(run["warps"] == "1" and "warps=1" in run["plan"] for run in found["runs"])
    command = shlex.split(found["runs"][0]["command"])
    assert "warps=" in found["runs"][0]["command"]
    assert main(command[1:]) == 0
    assert "1 combinations on 3 graphs" in capsys.readouterr().out


def test_a_program_that_does_not_fit_is_no_failure(capsys, tmp_path):
    """Planning makes no program, so running finds what is too large."""
    some = ["--preset", "tiny", "--set", "imem_bytes=1024", "--only", "algorithm=sssp", "--only",
            "format=cr2", "--only", "schedule=vm", "--only", "direction=push", "--only",
            "frontier=own", "--only", "block=none", "--functional"]
    found = _runs(tmp_path, *some)
    assert found["refused"] == 3 and found["failed"] == 0
    assert all("imem_bytes is 1024" in run["refused"] for run in found["runs"])
    assert "0 failed, 3 whose program does not fit" in capsys.readouterr().out


def test_a_sample_on_the_rtl(capsys, tmp_path):
    """A second run continues where the first ended. Another seed draws other combinations. Runs on
    the other simulator count as other runs."""
    arguments = ["--preset", "tiny", "--only", "algorithm=cc", "--only", "format=csr", "--sample",
                 "2", "--jobs", "1", "--results", str(tmp_path / "runs.jsonl")]
    first = _runs(tmp_path, *arguments)
    assert len(first["runs"]) == 6 and first["seed"] == 1
    assert all(run["verified"] and run["cycles"] > 0 for run in first["runs"])
    shown = capsys.readouterr()
    assert "6 runs on the RTL of tiny: 2 combinations on 3 graphs" in shown.out
    assert _runs(tmp_path, *arguments) == first
    shown = capsys.readouterr()
    assert "(6 runs were there)" in shown.out and "6 of 6 runs are in the file" in shown.err
    assert _runs(tmp_path, *arguments, "--seed", "2")["runs"] != first["runs"]
    _runs(tmp_path, *arguments, "--functional")
    assert "runs were there" not in capsys.readouterr().out.rpartition("6 runs on")[2]


@pytest.mark.parametrize("functional", (False, True))
def test_a_failure_is_told_with_its_command(monkeypatch, capsys, tmp_path, functional):
    """With an impossible limit of cycles all runs fail, and no record counts as a success."""
    monkeypatch.setattr(options, "executor", lambda *_, **__: InThisProcess())
    monkeypatch.setattr("sw.study.benchmarks.combinations._LIMIT", 50)
    arguments = ["--preset", "tiny", "--only", "algorithm=bfs", "--only", "format=tigr", "--only",
                 "block=none", "--only", "schedule=weaver", "--only", "direction=push", "--only",
                 "frontier=own",
                 "--results", str(tmp_path / "runs.jsonl"), *["--functional"] * functional]
    found = _runs(tmp_path, *arguments, code=1)
    assert found["failed"] == len(found["runs"]) == 3
    assert all("not finished after 50" in run["error"] for run in found["runs"])
    text = capsys.readouterr().out
    assert "FAILED bfs tigr none weaver push own on road: not finished after 50" in text
    assert "0 bit-identical to golden, 3 failed" in text
    monkeypatch.undo()
    # The printed commands repeat the failed runs, which now pass.
    commands = [line.removeprefix("  repeat: ./graphloom ") for line in text.splitlines()
                if line.startswith("  repeat: ./graphloom ")]
    assert len(commands) == 3 and commands[0].endswith("--preset tiny")
    assert (" format=tigr:k=3 " in commands[0]) is not functional
    assert main(shlex.split(commands[0])) == 0
    assert _runs(tmp_path, *arguments)["failed"] == 0


class _Device(contextlib.nullcontext):
    """A device that notes when its machine is asked for, which builds a simulator."""

    def __init__(self, kind, config, built):
        super().__init__(self)
        self._note = built.append, (kind, config.name)

    @property
    def machine(self):
        append, words = self._note
        append(words)


class _Interrupted(InThisProcess):
    """The user interrupts when the first run would begin."""

    def slots(self, fresh):
        raise KeyboardInterrupt


@pytest.mark.parametrize("kind, words", [("simulate", []), ("functional", ["--functional"])])
def test_the_simulator_of_the_runs_is_built_before_them(monkeypatch, kind, words):
    built, plan = [], Device.functional
    monkeypatch.setattr(options, "executor", lambda *_, **__: _Interrupted())
    monkeypatch.setattr(Device, "simulate", lambda config, report:
                        _Device("simulate", config, built))
    # Plans are made without a report, and build nothing.
    monkeypatch.setattr(Device, "functional", lambda config, report=None:
                        _Device("functional", config, built) if report else plan(config))
    assert main(["list", "combinations", "--run", "--preset", "tiny", "--only", "algorithm=bfs",
                 "--only", "format=csr", "--only", "schedule=vm", *words]) == 130
    assert built == [(kind, "tiny")]


def test_a_further_axis(monkeypatch):
    only = {"algorithm": ["bfs", "cc"], "schedule": ["vm", "em"]}
    before = list(combinations.combinations(preset("tiny"), only))
    monkeypatch.setitem(combinations.AXES, "split", lambda: ["static", "counter", "no such"])
    after = list(combinations.combinations(preset("tiny"), only))
    assert len(after) == 3 * len(before)
    assert {each.choice["split"] for each in after if each.reason is None} == {"static", "counter"}


def test_errors(capsys, tmp_path):
    for arguments, words in ((["words"], "there is no list of 'words'; there are algorithms"),
                             (["--json", "list.txt"], "must end in .json"),
                             (["combinations", "--set", "threads=3"], "threads"),
                             (["--set", "threads=8"], "give list combinations"),
                             (["formats", "--preset", "tiny"], "give list combinations"),
                             (["--run"], "give list combinations --run"),
                             (["formats", "--only", "format=csr"], "give list combinations"),
                             (["combinations", "--only", "format"], "must be AXIS=VALUE"),
                             (["formats", "--all-axes"], "give list combinations --all-axes"),
                             (["combinations", "--only", "lanes=3"],
                              "there are the axes algorithm"),
                             (["combinations", "--only", "format=csx"], "no format 'csx'; there "),
                             (["combinations", "--only", "frontier=tree"], "there are own, "),
                             (["combinations", "--sample", "3"], "give --run as well"),
                             (["combinations", "--run", "--seed", "3"], "give --sample as well"),
                             (["combinations", "--run", "--functional", "--only", "format=g-shards",
                               "--only", "schedule=vm"], "nothing can be run"),
                             (["combinations", "--run", "--functional", "--only", "format=csr",
                               "--only", "algorithm=pagerank", "--sample", "99"],
                              "only 46 combinations work here"),
                             (["combinations", "--run", "--results", "none/r.jsonl"],
                              "there is no folder none")):
        assert main(["list", *arguments]) == 2
        text = capsys.readouterr().err
        assert words in text and text.count("\n") == 1
