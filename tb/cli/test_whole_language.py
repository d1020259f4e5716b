"""The whole output of commands about programs of the language on the machines beside the device,
and of lists, as test_whole. Times are told."""

import functools
import importlib
import pathlib

import pytest

from base.installation import ROOT
from sw.cli.main import main
from sw.study.tune import schedules as tuned
from sw.vm import machines, reference
from tb.told import number


EXPECTED = pathlib.Path(__file__).parent / "outputs_language.txt"

GRAPH = "rmat:scale=6,degree=4,seed=2"


@pytest.fixture
def shows(shows):
    """As in conftest, with the file of the texts."""
    return functools.partial(shows, EXPECTED)


@pytest.fixture
def by_the_interpreter(monkeypatch):
    """Every machine is the interpreter."""
    def run_on(name, program, graph, **given):
        asked.append(name)
        return reference.run(program, graph, **given)
    asked = []
    monkeypatch.setattr(machines, "run_on", run_on)
    return asked


def test_run(shows, clock, by_the_interpreter):
    shows("run bfs", "run", "bfs", GRAPH, "--source", "hub", "--vm", "cpu", "--json", "bfs.json",
          "--apply", "s0:s1=pull")
    shows("run pagerank", "run", "pagerank", GRAPH, "--vm", "cpu", "--no-verify", "--iterations",
          "2", "--json", "pagerank.json")
    assert by_the_interpreter == ["cpu"] * 4            # the first run builds the machine
    shows("run on the interpreter", "run", "bfs", "karate", "--source", "33", "--vm", "reference",
          "--json", "reference.json")
    assert by_the_interpreter == ["cpu"] * 4 + ["reference"]
    shows("run from nowhere", "run", "bfs", "rmat:scale=9,degree=1,seed=1", "--source", "6",
          "--vm", "cpu")
    shows("run without schedules", "run", "--plan", "sssp(delta=3) schedule=em", GRAPH, "--vm",
          "cpu")


def test_a_wrong_result(shows, monkeypatch, clock, by_the_interpreter):
    from sw.compile import algorithms
    monkeypatch.setattr(algorithms.find("bfs"), "fault_of", lambda *arguments: "no luck")
    shows("a wrong result", "run", "bfs", "karate", "--vm", "cpu")
    shows("a wrong result that nobody checks", "run", "bfs", "karate", "--vm", "cpu",
          "--no-verify")


class _Times:
    """As of PairedTimes: told. One trial in four fails, one is stopped."""
    unit = "ns"

    def __init__(self, program, graph, given, rounds):
        self.base, self.rounds = 1_000_000, rounds
        self.result = reference.run(program, graph, **given)

    def measure(self, trial):
        found = number(trial.candidate.plan.text)
        if found % 4 == 1:
            return {"status": "failed", "error": "no luck"}
        if found % 4 == 2 and trial.limit is not None:
            return {"status": "stopped", "cycles": trial.limit}
        return {"status": "done", "cycles": 1000 * found}

    def compare(self, plan, pairs):
        return 0.4, [0.3 + place / 50 for place in range(pairs)]


@pytest.mark.parametrize("strategy", ["random", "coordinate"])
def test_tune(shows, monkeypatch, strategy):
    monkeypatch.setattr(tuned, "PairedTimes", _Times)
    shows(f"tune by {strategy}", "tune", "sssp", GRAPH, "--weights", "9", "--source", "hub",
          "--vm", "cpu", "--strategy", strategy, "--trials", "19", "--rounds", "2", "--json",
          "tune.json")


# Lists and texts

PROGRAMS = ("bfs", "cc", "pagerank", "sssp")


@pytest.fixture
def few(monkeypatch):
    """Some programs, schedules and formats are all that there are. Modules that bind the names are
    imported before, with all of them."""
    for name in ("sw.study.combinations", "sw.study.tune.space", "sw.study.benchmarks.schedules"):
        importlib.import_module(name)
    for module, function, names in (
            ("sw.lang.programs", "names", PROGRAMS), ("sw.compile.algorithms", "names",
                                                      (*PROGRAMS, "gcn")),
            ("sw.compile.schedules", "names", ("vm", "weaver")),
            ("sw.compile.formats", "image_names", ("csr", "cr2", "tigr"))):
        monkeypatch.setattr(f"{module}.{function}", lambda names=names: names)


def test_list(shows, few):
    shows("list", "list", "--json", "all.json")
    for part in ("algorithms", "formats"):
        shows(f"list {part}", "list", part, "--json", f"{part}.json")


@pytest.mark.parametrize("words", [
    ["--all-axes"], ["--run"], ["--preset", "tiny"], ["--only", "format=csr"],
    ["combinations", "--functional"], ["combinations", "--sample", "3"],
    ["combinations", "--jobs", "1"], ["combinations", "--results", "r.jsonl"],
    ["combinations", "--run", "--seed", "3"], ["nothing"], ["combinations", "--only", "format"],
    ["combinations", "--only", "place=x"], ["combinations", "--only", "frontier=x"],
    ["formats", "--functional"], ["--results", "r.jsonl"]])
def test_lists_refused(shows, few, words):
    shows(f"list {' '.join(words)}", "list", *words)


def test_lang(shows, monkeypatch, few):
    monkeypatch.setattr("sw.lang.passes.PASSES", {"one": None, "another": None})
    shows("lang list", "lang", "list")


def test_lang_show(shows, tmp_path):
    own = (ROOT / "sw" / "lang" / "programs" / "cc.py").read_text()
    (tmp_path / "own.py").write_text(own + own.replace("def cc(", "def dd("))
    shows("lang show", "lang", "show", "bfs", "--after", "text", "--schedule", "s0=fusion")
    shows("lang show of a name", "lang", "show", "own.py", "--name", "dd", "--after", "text")
    shows("lang show without a name", "lang", "show", "own.py")


# Units of the user

def test_new_unit(shows, capsys, tmp_path):
    """The folder has the files of the example, in the names of the unit, and programs can run."""
    (tmp_path / "made").mkdir()
    assert main(["new", "unit", "two_of_us", "--directory", "made"]) == 0
    assert capsys.readouterr().out == (
        "made/two_of_us: the unit is made/two_of_us/unit.py; made/two_of_us/check checks it\n")
    folder, example = tmp_path / "made" / "two_of_us", ROOT / "examples" / "unit"
    names = sorted(path.name for path in example.iterdir() if path.is_file())
    assert sorted(path.name for path in folder.iterdir()) == names
    for name in names:
        text = (example / name).read_text()
        wanted = text.replace("my_unit", "two_of_us").replace("MyUnit", "TwoOfUs").replace(
            "@PROGRAM@", str(ROOT / "graphloom"))
        assert (folder / name).read_text() == wanted
        assert (folder / name).stat().st_mode & 0o777 == (
            0o755 if text.startswith("#!") else 0o644)
    assert folder.stat().st_mode & 0o777 == 0o755
    for name in ("fsm", "none", "scu", "two_of_us", "1a", "class", "aB"):
        shows(f"new unit {name}", "new", "unit", name, "--directory", "made")
