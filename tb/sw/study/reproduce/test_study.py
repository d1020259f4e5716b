"""A study: every case runs once, a complete figure has its files, and failures are kept apart."""

import json

import pytest

from base.errors import UserError
from hw.config import preset
from sim.dram import DramConfig
from sw.study.benchmarks.batch import Case
from sw.study.benchmarks.executors import Processes
from sw.study.benchmarks.grid import Grid
from sw.study.reproduce.measure import BuildTime, Stored
from sw.study.reproduce.outcome import Comparison, Outcome, Plot, by_columns, number, ratio
from sw.study.reproduce.paper import Figure, Paper
from sw.study.reproduce.setting import GraphChoice, Setting
from sw.study.reproduce.study import Study
from sw.device import Plan


_KARATE = GraphChoice("karate", "karate", undirected=False)
SETTING = Setting(preset("tiny"), DramConfig(), simulated=(_KARATE,), wide=(), stored=(_KARATE,),
                  repeat=1)


class _Bytes(Figure):
    """Bytes of karate in some formats."""
    title, source, method = "bytes", "nowhere", "Counted."

    def __init__(self, name, *formats):
        self.name, self._formats = name, formats

    def grid(self, setting):
        return Grid({"format": self._formats}, lambda text: Stored("karate", False, text))

    def results(self, setting, found):
        values = found.value("bytes")
        return Outcome(
            (by_columns("Bytes", ("format", self._formats), ("bytes", values.cells(number))),),
            (Plot("bytes", "bytes", self._formats, {"karate": tuple(values)}),),
            (Comparison("bytes", "1", number(next(iter(values)))),), {"bytes": list(values)})


class _Paper(Paper):
    paper, title, source = "paper", "A paper", "its place"
    figures = (_Bytes("fig1", "csr", "coo"), _Bytes("fig2", "coo", "tigr"))


def _study(folder, figures=_Paper.figures):
    return Study(_Paper, figures, SETTING, folder, lambda figure: f"make {figure.name}",
                 folder / "runs.jsonl")


def _run(study, jobs=1, stop_after=None):
    ended, written = [], []

    def end(case, record):
        ended.append(case)
        if len(ended) == stop_after:
            raise KeyboardInterrupt

    study.run(Processes(jobs), lambda case: None, end,
              lambda figure, *rest: written.append((figure, *rest)))
    return ended, written


def _files(folder):
    return {path.name for path in folder.iterdir()}


def test_figures_have_their_files(tmp_path):
    study = _study(tmp_path)
    assert len(study.cases) == 3 and not study.simulates  # coo is in both figures, and runs once
    ended, written = _run(study, jobs=2)
    assert sorted(ended, key=str) == sorted(study.cases, key=str)
    assert {figure.name for figure, _, failures in written if not failures} == {"fig1", "fig2"}
    assert _files(tmp_path) == {"runs.jsonl", *(
        f"{name}{suffix}" for name in ("fig1", "fig2")
        for suffix in (".json", ".md", ".png", ".svg"))}
    found = json.loads((tmp_path / "fig1.json").read_text())
    assert found["command"] == "make fig1" and found["configuration"]["name"] == "tiny"
    assert found["data"] == {"bytes": [764, 1388]}
    assert [record["bytes"] for record in found["records"]] == [764, 1388]
    assert found["versions"]["numpy"] and len(found["versions"]["sources"]) == 64
    text = (tmp_path / "fig1.md").read_text()
    for words in ("# fig1: bytes", "    make fig1", "| csr | 764 |", "The paper and this"):
        assert words in text
    assert "Failed" not in text


def test_an_interrupted_study_goes_on(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        _run(_study(tmp_path), stop_after=1)
    assert _files(tmp_path) == {"runs.jsonl"}
    study = _study(tmp_path)
    assert len(study.records) == 1
    ended, written = _run(study)
    assert len(ended) == 2 and len(written) == 2
    first = (tmp_path / "fig1.json").read_bytes()
    ended, written = _run(_study(tmp_path))
    assert not ended and len(written) == 2
    assert (tmp_path / "fig1.json").read_bytes() == first


def test_a_figure_is_written_when_it_is_complete(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        _run(_study(tmp_path), stop_after=3)
    assert "fig1.md" in _files(tmp_path) and "fig2.md" not in _files(tmp_path)


def test_other_sources_are_other_runs(tmp_path, monkeypatch):
    _run(_study(tmp_path))
    from sw.study.reproduce import study
    versions = study._versions() | {"sources": "other"}
    monkeypatch.setattr(study, "_versions", lambda: versions)
    assert not _study(tmp_path).records


def test_a_failure_is_kept_apart(tmp_path):
    figures = (_Bytes("fig1", "csr", "cr2:cluster_bits=99"), _Bytes("fig2", "coo"))
    _, written = _run(_study(tmp_path, figures))
    by_name = {figure.name: failures for figure, _, failures in written}
    (reason, cases), = by_name["fig1"].items()
    assert "cluster_bits is '99'" in reason and "1 to 16" in reason and len(cases) == 1
    assert not by_name["fig2"]
    text = (tmp_path / "fig1.md").read_text()
    assert "| cr2:cluster_bits=99 | failed |" in text and reason in text
    found = json.loads((tmp_path / "fig1.json").read_text())
    assert list(found["failures"]) == [reason] and found["data"]["bytes"] == [764, None]
    # A failed case is tried again.
    ended, _ = _run(_study(tmp_path, figures))
    assert [case.format for case in ended] == ["cr2:cluster_bits=99"]


class _Cycles(Figure):
    """Cycles of a run and of an impossible run, and build times."""
    name, title, source, method = "fig3", "cycles", "nowhere", "Run."
    good = Case("karate", False, Plan("bfs", {"source": "hub"}, "vm"))
    bad = Case("karate", False, Plan("bfs", schedule="vm", warps=32))
    time = BuildTime("karate", False, ("csr", "coo"), 3)

    def grid(self, setting):
        return Grid({"what": ("time", "runs")}, lambda what: self.time if what == "time" else {
            "good": self.good, "bad": self.bad})

    def results(self, setting, found):
        way, cycles = found.best().at(what="runs")
        seconds = found.value("seconds").at(what="time")
        return Outcome((by_columns("Cycles", ("way", [way]), ("cycles", [number(cycles)])),), (),
                       (), {"cycles": cycles, "undefined": ratio(1, 0),
                            "of_bad": found.records.cycles(self.bad),
                            "builds": {text: len(values) for text, values in seconds.items()}})


def test_runs_and_times(tmp_path):
    """Cycles come from verified runs. Wall times are measured after all runs, alone."""
    study = _study(tmp_path, [_Cycles()])
    assert study.simulates
    order, running = [], set()

    def begun(case):
        running.add(case)
        assert case != _Cycles.time or running == {case}

    def ended(case, record):
        running.discard(case)
        order.append(case)

    study.run(Processes(2), begun, ended, lambda figure, *rest: None)
    assert order[-1] == _Cycles.time
    record = study.records[_Cycles.good]
    assert record["verified"] and record["cycles"] == record["counters"]["cycles"] > 0
    found = json.loads((tmp_path / "fig3.json").read_text())
    assert found["data"] == {"cycles": record["cycles"], "undefined": None, "of_bad": None,
                             "builds": {"csr": 3, "coo": 3}}
    assert not (tmp_path / "fig3.png").exists()        # the figure has no plot


def test_a_paper_finds_its_figures():
    assert _Paper.find("fig2") is _Paper.figures[1]
    with pytest.raises(UserError, match="paper has no figure 'fig9' here; it has fig1, fig2"):
        _Paper.find("fig9")
