"""The quick part of the tests (tb/quick.py), and tests that do not run as a whole (tb/sampling.py).

====================  ============================================================================
selection             test_the_first_case_of_some_functions, test_slow_functions_are_left_out
the whole suite       test_every_room_and_every_file, test_slow_functions_are_there
the command           test_the_command, test_bytecode
samples               test_a_sample, test_some_cases_run
turns of benches      test_turns, test_who_does_all_turns
minutes               test_what_takes_minutes
====================  ============================================================================
"""

import ast
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

from base.installation import ROOT
from sim import cache
from sw.cli.main import main
from tb import quick, runner, sampling, seeds


@functools.cache
def _functions():
    """{file: its test functions, in their order}."""
    found = {}
    for path in sorted((ROOT / "tb").rglob("test_*.py")):
        names = []
        for node in ast.parse(path.read_text()).body:
            inside = node.body if isinstance(node, ast.ClassDef) else [node]
            names += [each.name for each in inside if isinstance(each, ast.FunctionDef)
                      and each.name.startswith("test_")]
        if names:
            found[path.relative_to(ROOT).as_posix()] = names
    return found


def test_the_first_case_of_some_functions(monkeypatch):
    tests = [f"tb/a.py::test_{name}{case}" for name in "abcdefg" for case in ("[1]", "[2]")]
    tests += [f"tb/hw/d.py::test_{name}" for name in "xyz"]
    tests += ["tb/b.py::test_only", "tb/c.py::Several::test_one", "tb/c.py::Several::test_two"]
    assert quick.chosen(tests) == {
        "tb/hw/d.py::test_x", "tb/a.py::test_a[1]", "tb/a.py::test_d[1]", "tb/a.py::test_g[1]",
        "tb/b.py::test_only", "tb/c.py::Several::test_one", "tb/c.py::Several::test_two"}


def test_slow_functions_are_left_out(monkeypatch):
    monkeypatch.setattr(quick, "SLOW", {"tb/a.py": ("test_slow",), "tb/b.py": ("test_one",)})
    assert quick.chosen(["tb/a.py::test_slow[1]", "tb/a.py::test_slow[2]", "tb/a.py::test_one",
                         "tb/b.py::test_one"]) == {"tb/a.py::test_one"}


def test_every_room_and_every_file():
    """A file is missing only if all of its functions are slow, and no folder is."""
    tests = [f"{file}::{name}" for file, names in _functions().items() for name in names]
    chosen = {test.partition("::")[0] for test in quick.chosen(tests)}
    slow = {file for file, names in _functions().items()
            if set(names) == set(quick.SLOW.get(file, ()))}
    assert chosen == _functions().keys() - slow
    rooms = {pathlib.PurePath(file).parent for file in _functions()}
    assert {pathlib.PurePath(file).parent for file in chosen} == rooms and len(rooms) >= 35


@pytest.mark.parametrize("file", sorted(quick.SLOW))
def test_slow_functions_are_there(file):
    names = quick.SLOW[file]
    assert set(names) <= set(_functions()[file]) and len(names) == len(set(names))


def test_the_command(capfd):
    """The command leaves cases out, and says how many."""
    assert main(["test", "--quick", "tb/base/test_printable.py", "-n", "0"]) == 0
    printed = capfd.readouterr().out
    assert " passed, " in printed and " deselected" in printed
    assert printed.endswith("All tests of the quick part passed\n")


@pytest.mark.parametrize("arguments, there", [
    (("tb/synth/test_gates.py",), False),
    (("--full", "tb/synth/test_gates.py"), True),
    (("tb/synth/test_gates.py::test_scu",), True),
])
def test_what_takes_minutes(capfd, arguments, there):
    """It runs with --full, and if it is named."""
    assert main(["test", *arguments, "--collect-only", "-n", "0"]) == 0
    assert ("test_gates.py::test_scu" in capfd.readouterr().out) == there


@pytest.mark.parametrize("count", [1, 3, 7, 20])
def test_a_sample(monkeypatch, count):
    """One case of each group of neighbours; other seeds draw others, the same seed the same."""
    cases = [f"tb/a.py::test_x[{number}]" for number in range(20)]
    found = sampling.sampled("tb/a.py::test_x", cases, count)
    assert len(found) == count and found == sampling.sampled("tb/a.py::test_x", cases, count)
    places = sorted(map(cases.index, found))
    assert all(20 * group // count <= place < 20 * (group + 1) // count
               for group, place in enumerate(places))
    drawn = set()
    for seed in range(200):
        monkeypatch.setenv(seeds.VARIABLE, str(seed))
        drawn |= sampling.sampled("tb/a.py::test_x", cases, count)
    assert drawn == set(cases)


def test_each_shape_runs_on_one_simulator(monkeypatch):
    shapes = [[f"verilator-{shape}", f"icarus-{shape}"] for shape in range(5)]
    firsts = set()
    for seed in range(8):
        monkeypatch.setenv("GRAPHLOOM_SEED", str(seed))
        found = sampling.one_simulator_each("tb/a.py::test_x", shapes)
        assert {case.partition("-")[2] for case in found} == set("01234")
        assert len([case for case in found if case.startswith("icarus")]) in (2, 3)
        firsts.add("verilator-0" in found)
    assert firsts == {True, False}


@pytest.mark.parametrize("name, counts", [
    ("Verilator", [(1, 1), (2, 1), (15, 8)]), ("Icarus Verilog", [(1, 1), (4, 1), (15, 4)])])
def test_turns(monkeypatch, name, counts):
    """A usual run does half of the turns, and a quarter on Icarus, where benches are brief, but at
    least one."""
    monkeypatch.setattr("cocotb.SIM_NAME", name, raising=False)
    for whole in (True, False):
        monkeypatch.setenv("GRAPHLOOM_BENCH", json.dumps({"whole": whole}))
        assert [runner.turns(count) for count, _ in counts] == [
            count if whole else few for count, few in counts]
        assert runner.brief() == (name == "Icarus Verilog" and not whole)


@pytest.mark.parametrize("arguments, whole", [
    ([], False), (["--full"], True), (["test_it.py::test_a"], True),
    (["test_it.py::test_a[1]"], True), (["test_it.py"], False), (["./test_it.py::test_a"], True),
    (["{}/test_it.py::test_a"], True), (["{}/test_it.py"], False),
    (["-n", "2", "./test_it.py::test_a"], True)])
def test_who_does_all_turns(tmp_path, arguments, whole):
    """Tests that are named, and all with --full, which have all examples of Hypothesis, too."""
    file = tmp_path / "test_it.py"
    file.write_text(f"""
import hypothesis
import pytest
from tb import runner

given = []

@pytest.mark.parametrize("number", [0, 1])
@hypothesis.settings(max_examples=15)
@hypothesis.given(value=hypothesis.strategies.integers())
def test_a(number, value):
    given.append(number)
    assert runner.whole is {whole}

def teardown_module():
    assert all(given.count(number) == {15 if whole else 8} for number in set(given))
""")
    arguments = [argument.format(tmp_path) for argument in arguments]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tb.conftest", "--rootdir", ".", *arguments],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE,
        text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_bytecode(monkeypatch, tmp_path):
    """If it may not lie beside the sources, it is kept, but not that of copies."""
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path))
    place = cache.kept("toolchain", "bytecode")
    old = place / tempfile.gettempdir().lstrip("/") / "copy"
    for folder in (old, place / "project"):
        folder.mkdir(parents=True)
    started = []

    class Pytest:
        def __init__(self, command, env, **options):
            started.append(env)

        def wait(self):
            return 0
    monkeypatch.setattr("sw.cli.tests.subprocess.Popen", Pytest)
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    for value in ("1", ""):
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", value)
        assert main(["test"]) == 0
    kept, usual = started
    assert "PYTHONDONTWRITEBYTECODE" not in kept and "PYTHONPYCACHEPREFIX" not in usual
    assert kept["PYTHONPYCACHEPREFIX"] == str(place)
    assert not old.exists() and (place / "project").exists()


def test_a_part_and_the_whole(capsys):
    assert main(["test", "--quick", "--full"]) == 2
    assert "give one of them" in capsys.readouterr().err


def test_some_cases_run(capfd):
    """All of them with --full, or if their function or a case is named."""
    function = "tb/programs/test_scu.py::test_operations"
    counts = []
    for arguments in (["tb/programs/test_scu.py"], ["--full", "tb/programs/test_scu.py"],
                      [function], [f"{function}[narrow-near]"]):
        assert main(["test", *arguments, "--collect-only", "-n", "0"]) == 0
        counts.append(capfd.readouterr().out.count(f"{function}["))
    assert counts == [2, 12, 12, 1]
