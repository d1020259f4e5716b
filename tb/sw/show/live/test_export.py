"""The static site and the command.

====================  =========================================================
runs                  test_prepared, test_commands, test_units, test_an_export
folders               test_a_folder_of_others, test_again, test_a_run_that_fails
command               test_errors
====================  =========================================================
"""

import gzip
import json
import shlex

import pytest

from base.errors import RunError, UserError
from sim import wasm
from sw.study.benchmarks.budgets import load_budgets
from sw.cli.main import main
from sw.show.live import export as exporting, request
from sw.show.live.export import export, prepared
from sw.show.live.request import RunRequest


RUNS = [("one", RunRequest("bfs", "karate", schedule="vm")),
        ("two", RunRequest("bfs", "karate", schedule="weaver"))]


@pytest.fixture(autouse=True)
def built(monkeypatch, tmp_path):
    """A simulator that is there at once."""
    path = tmp_path / "key" / "gpu.wasm.gz"
    path.parent.mkdir()
    path.write_bytes(b"module")
    monkeypatch.setattr(request.wasm, "module", lambda config, report: wasm.Module(path, []))


def test_prepared():
    """All budget cases of tiny, and some of default."""
    names = [name for name, _ in prepared()]
    assert {budget.name for budget in load_budgets() if budget.preset == "tiny"} <= {*names}
    assert sum(name.startswith("default/") for name in names) == len(exporting._DEFAULT)


@pytest.mark.parametrize("given, plan", [
    (RunRequest("bfs", "karate", schedule="em", direction="pull", source="hub"),
     "bfs(source=hub) schedule=em direction=pull"),
    (RunRequest("pagerank", "karate", iterations=3), "pagerank(iterations=3)"),
    (RunRequest("sssp", "karate", format="ell"), "sssp format=ell")])
def test_commands(capsys, tmp_path, given, plan):
    """The command line of a run is a command that plans the same run."""
    assert given.plan.text == plan
    words = shlex.split(given.command)[1:]
    file = tmp_path / "run.json"
    assert main([*words, "--json", str(file)]) == 0
    written = json.loads(file.read_text())
    made, _ = given.record()
    ran, = written["results"]
    assert made["result"]["cycles"] == ran["cycles"]
    assert made["result"]["counters"] == ran["counters"]
    assert made["result"]["checksum"] == ran["checksum"]
    assert written["configuration"]["gather"] == made["hardware"]["unit"]


def test_units():
    """The unit is that of the user, or the one that the schedule needs."""
    given = RunRequest("bfs", "karate", gather="scan")
    assert given.config.gather == "scan" and given.command.endswith("--set gather=scan")
    assert RunRequest("bfs", "karate", schedule="graphpeg").config.gather == "graphpeg"
    assert RunRequest("bfs", "karate", schedule="scu").config.scu


def test_an_export(tmp_path):
    told = []
    sizes = export(tmp_path / "site", told.append, RUNS)
    assert told[0] == "one (1 of 2)" and "two (2 of 2)" in told
    listed = json.loads((tmp_path / "site" / "cases.json").read_text())
    assert listed["mode"] == "static"
    assert [case["name"] for case in listed["cases"]] == ["one", "two"]
    for case in listed["cases"]:
        made = json.loads(gzip.decompress((tmp_path / "site" / case["file"]).read_bytes()))
        assert (tmp_path / "site" / made["simulator"]).read_bytes() == b"module"
    assert sizes["index.html"] > 1000 and len(sizes) == len([
        path for path in (tmp_path / "site").rglob("*") if path.is_file()])


def test_again(tmp_path):
    """An earlier export is replaced, and the same runs give the same files."""
    site = tmp_path / "site"
    site.mkdir()
    export(site, runs=RUNS)
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    (site / "runs" / "old.json.gz").write_text("")
    export(site, runs=RUNS)
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key", "site"]


def test_a_folder_of_others(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "work.txt").write_text("mine")
    with pytest.raises(UserError, match="other files"):
        export(tmp_path / "mine", runs=RUNS)
    with pytest.raises(UserError, match="it is no folder"):
        export(tmp_path / "mine" / "work.txt", runs=RUNS)
    with pytest.raises(UserError, match="there is no folder"):
        export(tmp_path / "nothing" / "site", runs=RUNS)
    assert (tmp_path / "mine" / "work.txt").read_text() == "mine"


def test_a_run_that_fails(tmp_path, monkeypatch):
    """The folder stays as it was, and nothing is left beside it."""
    site = tmp_path / "site"
    export(site, runs=RUNS[:1])
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}

    def fails(self, report=None, progress=None):
        raise RunError("stopped", {})
    monkeypatch.setattr(RunRequest, "record", fails)
    with pytest.raises(RunError):
        export(site, runs=RUNS)
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key", "site"]


@pytest.mark.parametrize("arguments, words", [
    (["nothing"], "nothing"),
    (["karate", "--port", "70000"], "--port 70000: must be a whole number from 0 to 65535"),
    (["karate", "--export", "x"], "--export writes prepared runs: leave out GRAPH karate"),
    (["--export", "/nothing/x"], "there is no folder /nothing"),
    (["--export", "x", "--port", "1"], "leave out --port 1"),
    (["rmat:scale=15,degree=16,seed=1"], "arcs are too many for the page; it takes at most"),
    (["--host", "203.0.113.1"], "cannot be served on 203.0.113.1")])
def test_errors(capsys, arguments, words):
    assert main(["live", *arguments]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and words in said.err and said.out == ""
