"""``graphloom diff``: one pair, several, a sweep, and what is refused.

======================  ========================================================
output                  test_one, test_many
bad input               test_refused
======================  ========================================================
"""

import contextlib
import json
import shutil

import pytest

from sw.cli.main import main
from tb.cli.test_errors import refused


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with a run, a comparison and a sweep."""
    folder = tmp_path_factory.mktemp("runs")
    words = ["bfs", "karate", "--preset", "tiny", "--json"]
    with contextlib.chdir(folder):
        assert main(["run", *words, "a.json", "--schedule", "vm"]) == 0
        assert main(["compare", *words, "b.json", "--schedules", "vm,em", "--dram",
                     "latency=300"]) == 0
        assert main(["sweep", "--graph", "karate", "--algorithm", "bfs", "--schedules", "vm,em",
                     "--preset", "tiny", "-o", "c"]) == 0
    return folder


@pytest.fixture
def made(runs, tmp_path, monkeypatch):
    """A copy of these runs, where the test works."""
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one(made, capsys):
    capsys.readouterr()
    assert main(["diff", "a.json", "b.json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["dram.latency: 100 -> 300", "only in b.json: bfs em on karate"]
    before, after = (json.loads((made / name).read_text())["results"][0]["total_cycles"]
                     for name in ("a.json", "b.json"))
    assert f"{before:,} -> {after:,} total cycles, {after / before:.2f}x" in lines
    assert max(map(len, lines)) <= 80
    assert main(["diff", "a.json", "b.json", "--json", "out.json"]) == 0
    value = json.loads((made / "out.json").read_text())
    assert value["pairs"][0]["differs"] == {"dram.latency": [100, 300]}
    assert value["pairs"][0]["changes"]["total_cycles"]["second"] == after
    assert value["alone"] == [[], ["bfs em on karate"]]


def test_many(made, capsys):
    capsys.readouterr()
    assert main(["diff", "c", "b.json", "--json", "out.json"]) == 0
    captured = capsys.readouterr().out
    assert "dram.latency: 100 -> 300\n" in captured and "bfs em on karate" in captured
    assert "counter, after over before" in captured
    assert len(json.loads((made / "out.json").read_text())["pairs"]) == 2
    assert main(["diff", "a.json", "c"]) == 0
    assert "figures are the same" in capsys.readouterr().out


def test_refused(made, capsys):
    assert "nix.json: cannot be read" in refused(capsys, "diff", "a.json", "nix.json")
    assert "is an input as well" in refused(capsys, "diff", "a.json", "b.json", "--json", "a.json")
    assert main(["run", "cc", "karate", "--preset", "tiny", "--json", "d.json"]) == 0
    capsys.readouterr()
    assert "a.json, d.json: the files have no runs that compare" in refused(
        capsys, "diff", "a.json", "d.json")
