"""Tests of ``graphloom prove``: its output and its exit codes."""

import pathlib
import re
import types

import pytest

from checks.campaign.mutants import curated
from checks.formal.prove import unavailable
from checks.formal.registry import PROPERTIES, UNITS
from sw.cli.main import main


needs_tools = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Use a cache folder of the test's own: counterexamples are left there."""
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path))


def test_list(capsys):
    assert main(["prove", "--list"]) == 0
    text = capsys.readouterr().out
    for entry in PROPERTIES:
        assert entry.unit in text and entry.name in text
    assert "induction" in text and "bounded to 12 cycles" in text and "--full" in text


def test_list_of_one_unit(capsys):
    assert main(["prove", "--list", "barrier"]) == 0
    text = capsys.readouterr().out
    assert "barrier" in text and "scoreboard" not in text


def test_unknown_unit(capsys):
    assert main(["prove", "barrier", "toaster"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "'toaster'" in captured.err and ", ".join(UNITS) in captured.err
    assert len(captured.err.splitlines()) == 1


def test_missing_tools(capsys, monkeypatch):
    monkeypatch.setattr("checks.formal.prove.unavailable", lambda: "not installed: z3")
    assert main(["prove", "stages"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "not installed: z3" in captured.err and len(captured.err.splitlines()) == 1


@needs_tools
def test_proof(capsys, tmp_path):
    assert main(["prove", "stages"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"stages +streams keep +induction +register of 8 bits +proved +\d+\.\d", text)
    assert re.search(r"stages +streams offer +structure", text)
    assert re.search(r"buffer of 8 bits +proved", text)
    assert re.search(r"buffer of 8 bits +proved", text)
    assert re.search(r"stages +streams keep +covers in 5 cycles +buffer of 8 bits +2 reached", text)
    assert "All 6 proofs hold; all 6 covers are reached" in text
    assert list((tmp_path / "proofs").iterdir()) == []


@needs_tools
def test_refuted(capsys, monkeypatch):
    """A barrier that waits for one warp too many: the promise fails, and the waves are kept."""
    fault = curated.CuratedFault("late", "hw/core/barrier.py", "Barriers",
                                 "arrivals >= self.count", "arrivals > self.count")
    wrong = types.ModuleType("wrong")
    exec(fault.mutant().after, wrong.__dict__)
    monkeypatch.setattr("checks.formal.barrier.Barriers", wrong.Barriers)
    assert main(["prove", "barrier"]) == 1
    text = capsys.readouterr().out
    assert re.search(r"barrier +release +induction +2 warps, 1 barrier +REFUTED", text)
    assert "2 of 3 proofs and covers FAILED" in text
    found = re.findall(r"fails in a run from reset: .*barrier\.py:\d+.*; waves: (\S+\.vcd)", text)
    assert len(found) == 2
    for path in found:
        assert pathlib.Path(path).stat().st_size > 0


@needs_tools
def test_timeout(capsys, tmp_path):
    assert main(["prove", "mshrs", "--timeout", "1"]) == 2
    assert "no answer after 1 s" in capsys.readouterr().err
    assert list((tmp_path / "proofs").iterdir()) == []
