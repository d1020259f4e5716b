"""The exercises of the course: their checks, their solutions, and every number of their pages.

=====================  =============================================================
the checks             test_unsolved: the tree does not pass them; test_solved: a
                       copy with the solution does; test_faults: a solution with a
                       fault does not; test_no_answer_is_told
solutions              test_patches_apply; test_a_patch_that_does_not_apply;
                       test_files: a copy has the files that git tracks
pages                  test_numbers: each number comes from a run; test_pages
the command            test_list, test_the_command, test_refused
=====================  =============================================================

A copy whose hardware differs costs a build of ten seconds of processor time.
"""

import functools
import json
import re
import shutil
import subprocess
import sys

import pytest

from base.errors import UserError
from base.installation import ROOT
from hw.config import preset
from sw.cli.main import main
from checks.course import EXERCISES, checks, copies, find
from checks.course.answers import judge
from sw.graph.load import load
from sw.device import Device
from tb.cli.test_errors import refused


NAMES = [exercise.name for exercise in EXERCISES]

each = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def solved():
    """Gives the copy of the tree with the solution of an exercise, made once."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed; it applies the solutions")
    made, open_copies = {}, []

    def give(name):
        if name not in made:
            context = checks.solved(find(name), ROOT)
            made[name] = context.__enter__()
            open_copies.append(context)
        return made[name]
    yield give
    for context in open_copies:
        context.__exit__(None, None, None)


@each
@pytest.mark.sample(3)
def test_unsolved(name, capfd):
    """The tree is where students begin: the check fails, and says so in words of a test."""
    assert checks.verdict(find(name), ROOT, ["-x"]) == 1
    assert "1 failed" in capfd.readouterr().out


@pytest.mark.parametrize("given, said", [([1, None], "no answer yet"), ([1, 2], "[1, 2] is wrong"),
                                         (None, "no answer yet")])
def test_no_answer_is_told(given, said):
    with pytest.raises(pytest.fail.Exception) as failure:
        judge("waits", {"waits": given}, [[1105, 735]], "Look at memory.")
    assert str(failure.value) == f"waits: {said}. Look at memory." and not failure.value.pytrace
    judge("waits", {"waits": [1105, 735]}, [[1105, 735]], "")


@each
@pytest.mark.sample(1)
def test_solved(name, solved, capfd):
    code = checks.verdict(find(name), solved(name))
    assert code == 0, capfd.readouterr().out


#: For each exercise a file of the solution, a text in it, and a fault in its place; then the tests
#: of the check that are run.
FAULTS = {
    "a-wrong-answer": ("trace", "examples/course/trace/answers.json", '"cycle": 437',
                       '"cycle": 441', "test_answer"),
    "an-end-counts": ("counter", "hw/core/divergence.py", "~self.overflow & after.any()",
                      "~self.overflow", "test_by_hand"),
    "the-model-counts-others": ("counter", "sw/golden/simulator.py",
                                " and not mask & ~warp.mask", "", "test_the_model_agrees"),
    "all-lanes-are-written": ("instruction", "sw/golden/semantics.py",
                              "_MOVE((32 - lengths).astype(np.uint32), result, where=warp.where)",
                              "_MOVE((32 - lengths).astype(np.uint32), result)", "test_lockstep"),
    "lanes-do-not-merge": ("schedule", "sw/compile/schedules/warp.py",
                           "Walk(k, width)", "Walk(k, 1)", "test_results"),
    "most-recently-used": ("cache", "hw/memory/replacement.py", "~order_read.data[bit] if way",
                           "order_read.data[bit] if way", "test_least_recently_used"),
    "an-edge-a-cycle": ("unit", "hw/gather/pair/unit.py", "two = (degree > 1)",
                        "two = (degree > 99)", "test_two_edges_a_cycle"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.sample(2)
def test_faults(fault, solved, capfd):
    name, file, old, new, tests = FAULTS[fault]
    path = solved(name) / file
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    try:
        assert checks.verdict(find(name), solved(name), ["-x", "-k", tests]) == 1
    finally:
        path.write_text(text)
    assert "1 failed" in capfd.readouterr().out


# Solutions

@each
def test_patches_apply(name, solved):
    """A patch changes what it should: the files that it names, and none of the check."""
    folder, exercise = solved(name), find(name)
    changed = re.findall(r"(?m)^\+\+\+ b/(.*)$", (ROOT / exercise.patch).read_text())
    assert changed and str(exercise.check) not in changed
    for file in changed:
        before = ROOT / file
        assert not before.exists() or before.read_bytes() != (folder / file).read_bytes(), file
    assert (folder / exercise.check).read_bytes() == (ROOT / exercise.check).read_bytes()


def test_a_patch_that_does_not_apply(tmp_path):
    """The line names the place, and the folder stays as it was."""
    exercise = find("cache")
    file = tmp_path / "hw/memory/replacement.py"
    file.parent.mkdir(parents=True)
    file.write_text("other\n")
    with pytest.raises(UserError, match="solution.patch does not apply to this tree: .*try a"):
        copies.apply(ROOT / exercise.patch, tmp_path)
    assert file.read_text() == "other\n"


def test_files(tmp_path):
    """A repository gives the files that git tracks; a tree without history, all but tools'."""
    for name in ("a.py", "hw/b.py", ".venv/c.py", "hw/__pycache__/b.pyc", "hw/old.pyc", ".ci/run",
                 "new.py", "node_modules/d.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert [str(name) for name in copies.files(tmp_path)] == ["a.py", "hw/b.py", "new.py"]

    def git(*words):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    git("init")
    git("add", "a.py", "hw/b.py", ".ci/run")
    (tmp_path / "a.py").write_text("changed")
    assert [str(name) for name in copies.files(tmp_path)] == [".ci/run", "a.py", "hw/b.py"]
    (tmp_path / "hw/b.py").unlink()
    copies.copy(tmp_path, tmp_path / "copy")
    assert sorted(str(path.relative_to(tmp_path / "copy")) for path in
                  (tmp_path / "copy").rglob("*") if path.is_file()) == [".ci/run", "a.py"]
    assert (tmp_path / "copy/a.py").read_text() == "changed"


# Numbers of the pages

#: Runs a list of (algorithm, graph, schedule, parameters) on the hardware tiny with some fields
#: changed, and prints for each the cycles and the counters.
_RUN = """
import json, sys
from hw.config import preset
from sw.graph.load import load
from sw.device import Device
fields, runs = json.loads(sys.argv[1])
with Device.simulate(preset("tiny").replace(**fields)) as device:
    print(json.dumps([device.run(algorithm, load(graph), schedule=schedule, **parameters).counters
                      for algorithm, graph, schedule, parameters in runs]))
"""


@functools.cache
def _counters(folder, text):
    done = subprocess.run([sys.executable, "-c", _RUN, text], cwd=folder, text=True,
                          env=checks.environment(folder), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def measured(folder, runs, **fields):
    """The counters of runs in a tree."""
    return _counters(folder, json.dumps([fields, runs]))


def rows(text):
    """The rows of the tables of a page, as lists of cells without marks of code."""
    return [[cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
            for line in text.splitlines() if line.strip().startswith("|")]


def known_of_trace(solved):
    config = preset("tiny").replace(trace=True)
    counters, = measured(ROOT, [("bfs", "karate", "vm", {})], trace=True)
    answers = json.loads((solved("trace") / "examples/course/trace/answers.json").read_text())
    assert round(counters["lanes"] / counters["instructions"], 1) == 2.4
    assert round(100 * counters["stall_memory"] / counters["cycles"], 1) == 70.6
    from sw.device.trace.recorder import Recorder
    recorder = Recorder(config, (0, 20_000))
    with Device.simulate(config, recorder=recorder) as device:
        graph = load("karate")
        device.run("bfs", graph, schedule="vm")
    assert len(recorder.launches()) == 4 and (graph.src == 0).sum() == 16
    lengths = [len(recorder.instructions(0, 0, warp)) for warp in (0, 1)]
    waits = [found["latency"] for found in map(recorder.describe, recorder.instructions(0, 0, 0))
             if found["text"].startswith("lw") and found["latency"] > 50]
    assert 115 <= sorted(waits)[len(waits) // 2] <= 125         # "about 120 cycles"
    return {counters["cycles"], counters["instructions"], *lengths, 120, 20_000,
            *answers["instructions"], *answers["memory_wait"], answers["lanes"],
            answers["parts"]["cycle"], answers["reunites"]["cycle"],
            *answers["longest_wait"].values()}


def known_of_counter(solved):
    page = [row for row in rows((ROOT / "docs/course/counter.md").read_text())
            if row[1] in ("vm", "em", "weaver")]
    counters = measured(solved("counter"), [("bfs", row[0], row[1], {}) for row in page],
                        trace=True)
    assert len(page) == 5
    for row, found in zip(page, counters):
        assert row[2:] == [f"{found[name]:,}" for name in ("cycles", "instructions",
                                                           "divergences")], row
    return {found[name] for found in counters for name in ("cycles", "instructions",
                                                           "divergences")}


def known_of_schedule(solved):
    page = [row for row in rows((ROOT / "docs/course/schedule.md").read_text())
            if row[1] in ("bfs", "pagerank")]
    parameters = {"bfs": {"source": 3}, "pagerank": {"iterations": 2}}
    names = ("vm", "warp", "vwc:width=4")
    counters = measured(solved("schedule"), [(row[1], row[0], schedule, parameters[row[1]])
                                             for row in page for schedule in names])
    assert len(page) == 4
    known = set()
    for row, vm, warp, virtual in zip(page, counters[0::3], counters[1::3], counters[2::3]):
        assert warp["cycles"] == virtual["cycles"]
        assert row[2:] == [f"{vm['cycles']:,}", f"{warp['cycles']:,}",
                           *(f"{found['lanes'] / found['instructions']:.2f}"
                             for found in (vm, warp))], row
        known |= {found[name] for found in (vm, warp) for name in ("cycles", "instructions")}
    return known


def known_of_cache(solved):
    parts = {"pagerank rmat": ("pagerank", "rmat:scale=8,degree=8,seed=1", "weaver",
                               {"iterations": 2}),
             "pagerank road": ("pagerank", "road:side=16,seed=1", "vm", {"iterations": 2}),
             "bfs karate": ("bfs", "karate", "vm", {})}
    runs = list(parts.values())
    page, solution = (rows((ROOT / name).read_text()) for name in (
        "docs/course/cache.md", "examples/course/cache/solution.md"))
    names = ("cycles", "l1_loads", "l1_load_hits", "dram_reads", "stall_memory")
    known = set()
    for ways in (1, 2, 4):
        before = measured(ROOT, runs[:1] if ways < 4 else runs, l1_ways=ways)
        assert [str(ways), *(f"{before[0][name]:,}" for name in names)] in page
        known |= {before[0][name] for name in names}
    after = measured(solved("cache"), runs, l1_ways=4)
    for name, old, new in zip(parts, before, after):
        assert [name, *(f"{value:,}" for value in (
            old["cycles"], new["cycles"], old["l1_load_hits"], new["l1_load_hits"]))] in solution
        assert any(row[-1] == f"{old['cycles']:,}" and row[0].split()[0] == name.split()[0]
                   for row in page)
    first, then = before[0], after[0]
    assert [first[name] for name in ("instructions", "l1_loads")] == [
        then[name] for name in ("instructions", "l1_loads")]
    return known | {120} | {found[name] for found in (*before, *after) for name in names} | {
        abs(first[name] - then[name]) for name in names}


KNOWN = {"trace": known_of_trace, "counter": known_of_counter,
         "instruction": lambda solved: set(), "schedule": known_of_schedule,
         "cache": known_of_cache, "unit": lambda solved: set()}


def numbers(text):
    """The numbers of three digits or more in the sentences and tables of a page, also in those that
    are indented as parts of a list. Code is left out."""
    prose = re.sub(r"(?ms)^ *```.*?^ *```$|`[^`]*`", "", text)
    return {int(found.replace(",", "")) for found in re.findall(r"\b\d[\d,]*\d\b", prose)
            if len(found.replace(",", "")) >= 3}


def test_numbers_of_a_page():
    assert numbers("1. A 1,234\n\n    b 567 `999`, 99\n\n    ```sh\n    888\n    ```\n\n"
                   "| 3.25 | 100 |") == {1234, 567, 100}


@each
@pytest.mark.sample(1)
def test_numbers(name, solved):
    exercise = find(name)
    known = KNOWN[name](solved)
    for path in (exercise.page, exercise.folder / "solution.md"):
        unknown = numbers((ROOT / path).read_text()) - known
        assert not unknown, f"{path}: no run gives {sorted(unknown)}"


def test_pages():
    """The index has every exercise with its command; every page leads to its solution."""
    index = (ROOT / "docs/course/index.md").read_text()
    assert not numbers(index)
    for exercise in EXERCISES:
        text = (ROOT / exercise.page).read_text()
        command = f"./graphloom course check {exercise.name}"
        assert f"]({exercise.name}.md)" in index and command in index and command in text
        for heading in ("Steps", "Check", "Think about it", "Hints"):
            assert f"\n## {heading}\n" in text, f"{exercise.page} has no section {heading!r}"
        assert "**Goal.**" in text and "**Read first.**" in text
        assert str(exercise.folder) in text
        assert f"course/{exercise.name}.md" in (ROOT / "mkdocs.yml").read_text()


# The command

def test_list(capsys):
    assert main(["course", "list"]) == 0
    printed = capsys.readouterr().out
    for exercise in EXERCISES:
        assert exercise.name in printed and str(exercise.page) in printed
        assert (ROOT / exercise.page).exists()


def test_the_command(capfd, monkeypatch):
    """The exit code and the last line say whether the exercise is solved."""
    for code, left, line in ((0, 0, "cache: solved"), (1, 1, "cache: not yet"),
                             (2, 1, "cache: not yet")):
        monkeypatch.setattr(checks, "verdict", lambda *_, code=code: code)
        assert main(["course", "check", "cache"]) == left
        assert capfd.readouterr().out.splitlines()[-1].startswith(line)


@pytest.mark.parametrize("words, message", [
    (["check", "nothing"], "no exercise is called 'nothing'; there are trace, counter, "),
    (["check"], "NAME"), (["chek"], "chek"),
    (["check", "cache", "--solutions"], "--solutions")])
def test_refused(capsys, words, message):
    assert message in refused(capsys, "course", *words)


def test_a_solution_that_does_not_fit(capsys, monkeypatch):
    monkeypatch.setattr(copies, "copy", lambda root, folder: None)
    line = refused(capsys, "course", "check", "cache", "--solution")
    assert "solution.patch does not apply to this tree" in line and "No such file" in line


def test_no_git(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="needs git, which is not installed"):
        copies.apply(ROOT / find("cache").patch, tmp_path)
