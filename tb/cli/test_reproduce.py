"""``graphloom reproduce``."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from sw.study import reproduce
from sw.study.benchmarks.batch import Batch
from sw.study.benchmarks.measurement import Measurement
from sw.cli.main import main
from sw.cli.tests import ROOT
from sw.study.reproduce import plot, setting
from sw.study.reproduce.setting import GraphChoice


_KARATE = (GraphChoice("karate", "karate", undirected=False),)

_HEADER = "file\tdirected\tweighted\tedges\n"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Draw figures on karate alone."""
    for name in ("simulated", "wide", "brief", "stored"):
        monkeypatch.setitem(setting._GENERATED, name, (_KARATE, _KARATE))


def _error(capsys, *arguments):
    assert main(["reproduce", *arguments]) == 2
    text = capsys.readouterr().err
    assert text.startswith("graphloom: error: ") and text.count("\n") == 1
    return text


def test_list(capsys):
    assert main(["reproduce", "cr2", "--list"]) == 0
    text = capsys.readouterr().out
    for words in ("Yonsei", "fig2.9", "table3.1", "table3.5", "fig3.8", "fig3.9", "fig3.10",
                  "fig3.11", "sec3.5.5", "section 3.5.2"):
        assert words in text


@pytest.mark.parametrize("arguments, name", [([], "baseline"), (["--large"], "paper"),
                                             (["--large", "--preset", "tiny"], "tiny")])
def test_the_hardware_of_large_runs(tmp_path, arguments, name):
    """SparseWeaver's large runs have the paper's hardware, unless the user names another."""
    assert main(["reproduce", "sparseweaver", "fig4.2a", *arguments, "--output",
                 str(tmp_path)]) == 0
    record = json.loads((tmp_path / "fig4.2a.json").read_text())
    assert record["configuration"]["name"] == name
    assert record["command"].endswith(" ".join(["fig4.2a", *arguments]))


def test_figures(capsys, tmp_path):
    folder = tmp_path / "made" / "here"
    command = ["reproduce", "cr2", "fig3.8", "fig3.10", "--repeat", "3", "--preset", "tiny",
               "--output", str(folder)]
    assert main(command) == 0
    shown = capsys.readouterr()
    for words in ("fig3.8: memory by storage format", "expand list's share",
                  "./graphloom reproduce cr2 fig3.10 --repeat 3 --preset tiny",
                  "The paper and this", "0.88x", "11.8 %", "karate", f"figures are in {folder}"):
        assert words in shown.out
    # Figure 3.10 has the cases of figure 3.8.
    assert "2/4" in shown.err and "4/4" in shown.err and "5/" not in shown.err
    assert {path.name for path in folder.iterdir()} == {"runs.jsonl", *(
        name + suffix for name in ("fig3.8", "fig3.10")
        for suffix in (".json", ".md", ".png", ".svg"))}
    # Nothing is measured again.
    before = (folder / "runs.jsonl").read_bytes()
    assert main(command) == 0
    assert "4 of 4 runs are in the file" in capsys.readouterr().err
    assert (folder / "runs.jsonl").read_bytes() == before


def test_runs(capsys, tmp_path):
    """Simulated runs are verified. The exit code says whether a run failed."""
    code = main(["reproduce", "cr2", "fig2.9", "--preset", "tiny", "--jobs", "2", "--results",
                 str(tmp_path / "elsewhere.jsonl"), "--output", str(tmp_path)])
    found = json.loads((tmp_path / "fig2.9.json").read_text())
    assert code == (1 if found["failures"] else 0)
    runs = {(record["case"]["algorithm"], record["case"]["format"]): record
            for record in found["records"]}
    assert len(runs) == 10 == len((tmp_path / "elsewhere.jsonl").read_text().splitlines())
    for algorithm in ("pagerank", "cc"):
        coo, block = (runs[algorithm, text] for text in ("coo", "coo:block=1024"))
        assert coo["verified"] and block["verified"]
        assert coo["checksum"] == block["checksum"]
        best = found["data"][algorithm]["karate"]
        assert best["COO"] == {"format": "coo", "cycles": coo["cycles"]}
    assert "cycles" in capsys.readouterr().err


def test_a_figure_on_a_system_of_its_own(capsys, tmp_path):
    assert main(["reproduce", "scu", "--list"]) == 0
    assert "ISCA 2019" in capsys.readouterr().out
    assert main(["reproduce", "scu", "fig12", "--preset", "tiny", "--jobs", "1", "--output",
                 str(tmp_path)]) == 0
    assert "small, SSSP: improvement by grouping" in capsys.readouterr().out
    found = json.loads((tmp_path / "fig12.json").read_text())
    assert len(found["records"]) == 2
    for record in found["records"]:
        assert record["verified"] and record["case"]["system"]["config"]["scu"] == 1
    accesses = found["data"]["graphs"]["karate"]["accesses"]
    steps = {record["case"]["schedule"]: record["steps"]["edges0_contract"]
             for record in found["records"]}
    assert accesses == {
        name: steps[schedule]["l1_accesses"] / steps[schedule]["memory_instructions"]
        for name, schedule in (("filtered", "scu-enhanced:grouping=no"),
                               ("grouped", "scu-enhanced"))}


def test_a_graph_that_cannot_be_read_loses_no_other(capsys, tmp_path):
    (tmp_path / "good.el").write_text("0 1\n1 2\n")
    (tmp_path / "bad.el").write_text("0 1\nwhat is this\n")
    (tmp_path / "MANIFEST.tsv").write_text(
        _HEADER + "good.el\tno\tno\t2\nbad.el\tyes\tno\t2\n")
    assert main(["reproduce", "cr2", "fig3.8", "--folder", str(tmp_path), "--output",
                 str(tmp_path / "out")]) == 1
    text = capsys.readouterr().out
    assert "bad.el" in text and "line 2" in text and "Failed" in text
    found = json.loads((tmp_path / "out" / "fig3.8.json").read_text())
    assert found["data"]["of_csr"]["tigr"]["bad"] is None
    assert found["data"]["of_csr"]["tigr"]["good"] > 0
    assert f"--folder {tmp_path}" in found["command"]


def test_large_graphs_of_a_folder_are_not_simulated(tmp_path):
    from sw.study.benchmarks.folder import listed
    (tmp_path / "MANIFEST.tsv").write_text(
        _HEADER + "small.el.gz\tno\tno\t10\nlarge.el\tyes\tno\t1000\ncopy.mtx\tyes\tno\t10\n"
        "small.weights.wel\tno\tsynthetic\t10\n")
    assert [(each.name, each.undirected) for each in listed(tmp_path)] == [("small", True),
                                                                           ("large", False)]
    assert [each.name for each in listed(tmp_path, 100)] == ["small"]


def test_errors(capsys, tmp_path):
    assert "no paper 'cr3'; there are cr2, graphpeg, grassembler, " in _error(capsys, "cr3")
    assert "no figure 'fig9' here; it has fig2.9" in _error(capsys, "cr2", "fig9")
    assert "give --folder" in _error(capsys, "cr2", "--largest", "5")
    assert "MANIFEST.tsv: not a list" in _error(capsys, "cr2", "--folder", str(tmp_path))
    (tmp_path / "MANIFEST.tsv").write_text(_HEADER + "a.el\tno\tno\t10\n")
    assert "no graph of at most 5 edges" in _error(capsys, "cr2", "--folder", str(tmp_path),
                                                   "--largest", "5")
    taken = tmp_path / "file"
    taken.write_text("")
    assert "cannot be made" in _error(capsys, "cr2", "--output", str(taken))
    assert "there is no folder" in _error(capsys, "cr2", "--output", str(tmp_path / "out"),
                                          "--results", str(tmp_path / "none" / "r.jsonl"))
    taken.write_text("what is this\n")
    assert "line 1 is not a record of a run" in _error(
        capsys, "cr2", "fig3.8", "--output", str(tmp_path / "out"), "--results", str(taken))
    assert "threads" in _error(capsys, "cr2", "--set", "threads=3")
    for seeds in ("5", "9-8", "a-b", "-1-3"):
        assert f"--seeds {seeds}: must be" in _error(capsys, "ranking", f"--seeds={seeds}")
    assert not (tmp_path / "out").exists()


def test_an_interruption_keeps_what_is_done(tmp_path):
    """After Ctrl-C: exit code 130, one line, no half-written figure. The next run continues."""
    command = [sys.executable, "-m", "sw.cli", "reproduce", "cr2", "fig3.10", "--jobs", "1",
               "--output", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
                               start_new_session=True)
    records = tmp_path / "runs.jsonl"
    end = time.monotonic() + 60
    while not (records.exists() and records.read_bytes().count(b"\n")):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "graphloom: interrupted" in error and "Traceback" not in error
    assert {path.name for path in tmp_path.iterdir()} == {"runs.jsonl"}
    assert all(json.loads(line) for line in records.read_text().splitlines())


@pytest.mark.parametrize("paper", reproduce.names())
def test_every_paper_starts_whole(monkeypatch, capsys, tmp_path, paper):
    """Without a figure, a command plans all cases of the paper. Each fulfils the interface of
    measurements, and each figure is written, even if no case succeeds."""
    started = []

    def fail(batch, executor, report, begun):
        for case in batch.cases:
            assert isinstance(case, Measurement) and len({case, case}) == 1
            assert json.loads(case.key(batch.config, batch.dram))
            assert not (case.simulates and case.timed) and case.hardware(batch.config)
            begun(case)
            started.append(case)
            record = {"case": case.record(), "error": f"{case.describe()}: not run"}
            batch.records[case] = json.loads(json.dumps(record))
            report(case, record, len(started), len(batch.cases))

    monkeypatch.setattr(Batch, "run", fail)
    monkeypatch.setattr(plot, "draw", lambda plots, title: {})     # drawn elsewhere; slow
    for name in vars(setting):
        if name.startswith("_") and isinstance(getattr(setting, name), tuple):
            monkeypatch.setattr(setting, name, _KARATE)
    assert main(["reproduce", paper, "--preset", "tiny", "--jobs", "1", "--output",
                 str(tmp_path)]) == 1
    figures = reproduce.find(paper).figures
    assert {path.stem for path in tmp_path.glob("*.json")} == {figure.name for figure in figures}
    assert len(started) >= len(figures) / 2 and "not run" in capsys.readouterr().out
