"""Planted faults: the table fits the sources, and tests notice faults but no harmless change.

========================  ========================================================
table                     test_each_place_is_there_once, test_what_notices_is_there,
                          test_there_are_enough
places                    test_layout_does_not_matter, test_statements, test_place_is_wrong,
                          test_file_is_missing, test_cpp
runs                      test_sample, test_harmless, test_what_counts_as_killed,
                          test_tests_without_an_end
proofs                    tb/formal/test_mutants.py
the command               test_sample, test_list, test_errors
========================  ========================================================
"""

import ast
import dataclasses
import functools
import json
import re

import pytest

from campaign.mutants import run
from campaign.mutants.mutant import ROOT, Mutant, MutantError
from campaign.mutants.table import MUTANTS
from formal import registry
from sw.cli.main import main
from tb.executors import InThisProcess


#: Quick mutants of several folders.
SAMPLE = ("golden-bfs-begins-at-depth-1", "coo-swaps-bases-and-neighbors",
          "a-register-offers-when-it-is-taken")


def test_there_are_enough():
    assert len(MUTANTS) >= 120
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", mutant.name) for mutant in MUTANTS)
    folders = {mutant.room for mutant in MUTANTS}
    assert folders >= {"hw/core", "hw/memory", "hw/gather", "hw/scu", "hw/link", "hw/sdram",
                       "sw/kernels", "sw/schedules", "sw/formats", "sw/compaction",
                       "sw/golden", "sw/lang", "sw/vm"}


@pytest.mark.parametrize("file", sorted({mutant.file for mutant in MUTANTS}))
def test_each_place_is_there_once(file):
    text = (ROOT / file).read_text()
    for mutant in MUTANTS:
        if mutant.file == file:
            assert mutant.patched(text) != text


def test_cpp():
    """In C++ a place is a piece of text, in any layout, and must be there once."""
    def planted(old, new, text, **more):
        return Mutant("x", "sim/functional/model/scu.h", more.pop("place", ""), old, new,
                      ("tb/x.py::test_x",), **more).patched(text)

    text = "if (a <\n    b) run(); // a < b"
    assert planted("(a < b)", "(b)", text) == "if (b) run(); // a < b"
    assert planted("a < b", "c", text, occurrence=2).endswith("// c")
    for old, new, more in (("a < b", "c", {}), ("b > a", "c", {}), ("run();", "run();", {}),
                           ("run();", ";", {"place": "main"}), ("a < b", "c", {"occurrence": 3})):
        with pytest.raises(MutantError):
            planted(old, new, text, **more)


@functools.cache
def _functions(file):
    tree = ast.parse((ROOT / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_notices_is_there(mutant):
    assert bool(mutant.tests) != bool(mutant.proof)
    for test in mutant.tests:
        file, *names = test.partition("[")[0].split("::")
        assert len(names) <= 1 and set(names) <= _functions(file), test
    if mutant.proof is not None:
        [found] = [one for entry, one in registry.proofs([mutant.proof.unit], full=True)
                   if (entry.name, one.shape) == (mutant.proof.name, mutant.proof.shape)]
        assert (found.mode == "structure") == (mutant.proof.depth == 0)


TEXT = """
class Unit:
    def elaborate(self):
        self.total = (self.a +
                      self.b)          # the sum
        if self.total > 3:
            self.total = 3
"""


def planted(**fields):
    return Mutant(**{"name": "planted", "file": "unit.py", "place": "Unit.elaborate",
                     "old": "self.a + self.b", "new": "self.a - self.b", **fields})


@pytest.mark.parametrize("text", [
    TEXT, TEXT.replace("self.a +\n                      self.b", "self.a+self.b"),
    TEXT.replace("        self.total = (", "        one = 1\n\n        self.total = (")])
def test_layout_does_not_matter(text):
    assert "self.total = self.a - self.b\n" in planted().patched(text)


def test_statements():
    text = planted(old="self.total = 3", new="x = 1; self.total = x").patched(TEXT)
    assert text.endswith("            x = 1\n            self.total = x\n")
    assert "if self.total > 4:" in planted(old="3", new="4", occurrence=1).patched(TEXT)


@pytest.mark.parametrize("fields, message", [
    ({"place": "Unit.reset"}, "'reset' of 'Unit.reset' occurs 0 times"),
    ({"old": "self.c"}, "'self.c' occurs 0 times in Unit.elaborate"),
    ({"old": "3"}, "'3' occurs 2 times in Unit.elaborate"),
    ({"old": "3", "occurrence": 3}, "so there is no occurrence 3"),
    ({"new": "(self.a) + self.b"}, "old and new are the same"),
    ({"old": "self.a; self.b"}, "must be two expressions, or a statement and statements"),
])
def test_place_is_wrong(fields, message):
    with pytest.raises(MutantError, match=re.escape(message)) as caught:
        planted(**fields).patched(TEXT)
    assert str(caught.value).startswith("mutant planted: unit.py: ")


def test_file_is_missing():
    with pytest.raises(MutantError, match="cannot be read"):
        planted(file="hw/none.py").patched()


def test_sample(capsys, tmp_path, monkeypatch):
    """The command kills some mutants, and does not repeat runs that its file has."""
    before = {mutant.file: (ROOT / mutant.file).read_bytes() for mutant in MUTANTS}
    results = tmp_path / "results.jsonl"
    command = ["mutants", *SAMPLE, "--results", str(results), "--jobs", "2"]
    assert main(command) == 0
    assert "3 of 3 mutants killed (100.0 %): 2 failed, 1 refuted" in capsys.readouterr().out
    assert len(results.read_text().splitlines()) == 6      # each with the fault and without
    monkeypatch.setattr(run, "_one", None)
    file = tmp_path / "all.json"
    assert main([*command, "--json", str(file)]) == 0
    assert "3 of 3 were run before" in capsys.readouterr().err
    assert [one["outcome"] for one in json.loads(file.read_text())["mutants"]] == [
        "failed", "failed", "refuted"]
    assert {name: (ROOT / name).read_bytes() for name in before} == before


def test_harmless(capsys, monkeypatch):
    """A harmless mutant survives. This is a failure unless the table expects it.

    A module that cannot be imported, and tests that fail without a fault, are reported as such.
    """
    [real] = [mutant for mutant in MUTANTS if mutant.name == SAMPLE[0]]
    text = ast.parse((ROOT / real.file).read_text()).body[0].value.value
    harmless = dataclasses.replace(real, name="harmless", place="", old=repr(text),
                                   new=repr(text + " "))
    mutants = (harmless,
               dataclasses.replace(harmless, name="allowed", survives="equivalent: a docstring"),
               dataclasses.replace(harmless, name="broken", new="1 / 0"),
               dataclasses.replace(harmless, name="unfair", tests=("tb/none.py::test",)))
    monkeypatch.setattr("campaign.mutants.table.MUTANTS", mutants)
    assert main(["mutants", "--jobs", "2"]) == 1
    text = capsys.readouterr().out
    assert "harmless SURVIVES (passed): sw/golden/bfs.py" in text
    assert "allowed survives: equivalent: a docstring" in text
    assert "without a fault: tb/none.py::test: error" in text
    assert ("1 of 3 mutants killed (33.3 %): 1 cannot be imported; 1 not run") in text


@pytest.mark.parametrize("code, results, outcome", [
    (0, "", "skipped"),
    (0, "<testcase/>", "passed"),
    (0, "<testcase/><testcase><skipped/></testcase>", "skipped"),
    (1, '<testcase><failure message="assert 1 == 2"/></testcase>', "failed"),
    (1, '<testcase><failure message="tb.build.BuildError: exit code 1"/></testcase>',
     "does not build"),
    (2, '<testcase><error message="collection failure"/></testcase>', "cannot be imported"),
    (4, "", "error"),
    (-11, "", "error"),
])
def test_what_counts_as_killed(tmp_path, code, results, outcome):
    (tmp_path / "output.txt").write_text("")
    (tmp_path / "results.xml").write_text(f"<testsuite>{results}</testsuite>")
    assert run._judge(planted(tests=("test",)), code, tmp_path)[0] == outcome


def test_tests_without_an_end(monkeypatch, tmp_path):
    """Endless tests are stopped, which kills the mutant. Nothing of the run remains."""
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path))
    [mutant] = [mutant for mutant in MUTANTS if mutant.name == SAMPLE[0]]
    commands = iter([["true"], ["sleep", "600"]])
    monkeypatch.setattr(run, "_command", lambda mutant, folder: next(commands))
    monkeypatch.setattr(run, "_reports", lambda folder: (1, 0, []))
    work = run.MutantWork([mutant], timeout=1)
    work.run(InThisProcess(), lambda mutant, record: None)
    assert work.records[mutant.name]["outcome"] == "timeout"
    assert list((tmp_path / "mutants").iterdir()) == []


def test_list(capsys):
    assert main(["mutants", "--list"]) == 0
    text = capsys.readouterr().out
    assert f"{len(MUTANTS)} mutants" in text and "Divider.elaborate" in text
    assert main(["mutants", "--list", "--only", "hw/scu", "--sample", "3", "--seed", "2"]) == 0
    assert "3 mutants" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, message", [
    (["none"], "there is no mutant 'none'"),
    (["--only", "hw/none"], "--only hw/none: no mutant matches"),
    (["--seed", "1"], "--seed applies to --sample only"),
    (["--results", "/"], "cannot be written"),
])
def test_errors(capsys, arguments, message):
    assert main(["mutants", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("graphloom: error: ") and message in error and error.count("\n") == 1
