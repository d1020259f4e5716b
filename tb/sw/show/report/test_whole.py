"""Pages whole, from results that are told: each text, number, plot, point and command of a page.

The results are no run's: every number is another, so that each place says which one it shows.
"""

import dataclasses
import json
import pathlib

import pytest

from hw.config import preset
from hw.isa import PHASES
from hw.registers import COUNTERS
from sim.dram import DramConfig
from sw import __version__
from sw.show.report import inputs, papers, runs, sweeps, synthesis, timeline, trade, tuning
from sw.show.report.build import build, pages_of
from sw.show.report.plots import Page
from sw.show.report.results import runs_of
from sw.study.benchmarks.batch import Case
from sw.study.reproduce.study import Study
from sw.study.sweep import sweep
from tb import expected
from tb.executors import InThisProcess
from tb.sw.show.report import test_synthesis, test_timeline, test_tuning
from tb.sw.study.reproduce import test_outcomes
from tb.told import number, ran


EXPECTED = pathlib.Path(__file__).parent / "pages.txt"


def _check(name, *pages, brief=False):
    expected.check(EXPECTED, name, "\n".join(
        line for page in pages for line in _text(page, brief)))


def _text(page, brief):
    yield f"{page.kind}: {page.title}"
    yield page.lead
    yield from (f"{name}: {value}" for name, value in page.facts)
    yield from (f"note: {note}" for note in page.notes)
    if page.command:
        yield f"$ {page.command}"
    for block in page.blocks:
        yield f"[{block.title}] {block.finding}{' (opened)' * block.opened}"
        for name, drawn in block.variants.items():
            traces = ", ".join(str(trace.get("name")) for trace in drawn["data"])
            points = [dataclasses.asdict(mark) for marks in drawn["points"] if marks
                      for mark in marks if mark]
            yield (f"plot {name}: {traces}; {len(points)} points: "
                   f"{expected.digest([drawn['data'], drawn['layout'], points])}")
        if block.columns:
            yield " | ".join(block.columns)
        rows = [[*cells, "" if point is None else expected.digest(dataclasses.asdict(point))]
                for cells, point in block.rows]
        yield from (f"{len(rows)} rows: {expected.digest(rows)}",) if brief else map(" | ".join,
                                                                                     rows)
        if block.note:
            yield f"({block.note})"


# Runs

_STEPS = {"gather": "cores", "apply": "cores", "compact frontier": "scu"}


def _counters(words, few=False):
    found = {name: number(f"{words} {name}", high=2000) for name in COUNTERS
             if not few or number(f"{words} {name}", 0, 3)}
    return found | {"cycles": number(f"{words} cycles", 50_000, 90_000)}


def _result(plan, schedule, **more):
    words = f"{plan} {schedule} {more.get('configuration')}"
    sets = [[name, number(f"{words} set {place}", 30_000, 40_000)]
            for place, name in enumerate(("gather", "apply", "gather"))]
    cycles, launches = (number(f"{words} {name}") for name in ("whole", "launches"))
    return {
        "algorithm": "bfs", "plan": plan, "schedule": schedule, "cycles": 100 * cycles,
        "launch_cycles": launches, "total_cycles": 100 * cycles + launches, "orders": 3,
        "supersteps": 4, "parameters": {"source": 3}, "verified": True, "all_phases": False,
        "model": "the interpreter of its text", "checked": "by the edges", "reached": 31,
        "notes": [f"a note of {schedule}"], "counters": _counters(words) | {
            "more": 7, "scu_operations": 5 * (schedule == "scu")},
        "phases": [[[number(f"{words} {core} {warp} {phase}", 10, 99) for phase in PHASES] + [400]
                    for warp in range(2)] for core in range(2)],
        "set_cycles": sets, "set_counters": [_counters(f"{words} {place}", few=True)
                                             for place in range(3)],
        "steps": {name: _counters(f"{words} {name}") | {"unit": unit, "launches": place + 1}
                  for place, (name, unit) in enumerate(_STEPS.items())}} | more


def _compared(*results, **more):
    config = preset("baseline").replace(cores=2, gather="fsm", scu=4)
    results = results or (
        _result("bfs schedule=vm", "vm"), _result("bfs", "weaver"),
        _result("bfs", "weaver", configuration={"gather": "stream", "scu": 0}),
        _result("bfs schedule=scu", "scu"))
    return {"configuration": dataclasses.asdict(config),
            "dram": dataclasses.asdict(DramConfig(latency=70, ratio=2)),
            "graph": {"spec": "rmat:scale=5,degree=4", "vertices": 32, "arcs": 128, "seed": 7,
                      "undirected": True, "weights": None, "columns": None, "first": None,
                      "input_format": None, "no_weights": False, "relabel": False,
                      "simplify": False, "weight_scale": None},
            "results": list(results), "wall_seconds": 1.0, **more}


def test_comparison():
    value = _compared(skipped={"em": "there is no room"}, failure={
        "schedule": "em", "plan": "bfs schedule=em", "error": "no luck", "counters": {}})
    _check("comparison", runs.page(value, "compare.json"))


@pytest.mark.parametrize("name, changes", [
    ("run", {"all_phases": True}),
    ("run without parts", {"phases": [], "set_cycles": [], "set_counters": [], "steps": {},
                           "verified": False, "reached": None, "notes": [], "orders": 0}),
    ("run of an older version", {"model": None, "checked": None}),
    ("idle run", {"counters": {"cycles": 1000}, "phases": [[[0] * len(PHASES) + [0]]],
                  "set_counters": [{}] * 3})])
def test_run(name, changes):
    _check(name, runs.page(_compared(_result("bfs", "weaver", **changes)), "run.json"), brief=True)


def test_a_board():
    board = {"port": "/dev/ttyUSB0", "baud": 1_000_000}
    _check("board", runs.page(_compared(board=board), "board.json"), brief=True)
    value = _compared() | {"results": [], "failure": {
        "schedule": "em", "plan": "bfs schedule=em", "error": "no luck", "counters": {}}}
    _check("no run", runs.page(value, "run.json"))


# Studies

@pytest.fixture
def told(monkeypatch):
    """Runs of cases are told: those of one schedule fail, and some have notes."""
    def run(self, config, dram):
        if self.plan.schedule == "wm" or (self.plan.schedule == "twc"
                                          and "karate" in self.graph):
            return {"case": self.record(),
                    {"wm": "error"}.get(self.plan.schedule, "refused"): "no luck"}
        record = ran(self, config, dram, notes=["a note"] * (self.plan.schedule == "em"))
        cost = number(str(self.record()), 100, 999)
        return record | {"launch_cycles": cost, "total_cycles": record["cycles"] + cost}
    monkeypatch.setattr(Case, "run", run)
    monkeypatch.setattr("sw.study.benchmarks.batch.Batch.run", _run)


def _run(self, executor, report, begun=lambda case: None):
    for done, case in enumerate([case for case in self.cases if case not in self.records]):
        record = {"case": case.record()} | case.run(self.config, self.dram)
        self.records[case] = self._file.keep(self._key(case), record)
        report(case, record, done, len(self.cases))


def _sources(path):
    return inputs.find([str(path)])


def test_a_sweep(told, tmp_path):
    sweep(["karate", "rmat:scale=4,degree=2"], ["bfs", "sssp"], ["vm", "em", "wm", "twc"],
          {"preset": "tiny", "l1_bytes": [512, 2048]}, 2, output=tmp_path / "caches",
          workers=InThisProcess(), plan={"direction": ["push", "pull"]})
    source, = _sources(tmp_path / "caches")
    _check("sweep", sweeps.page(source.value, "made/caches/runs.jsonl"))
    rows = (tmp_path / "caches" / "runs.csv").read_text()
    expected.check(EXPECTED, "sweep's table", f"{rows.partition(chr(10))[0]}\n"
                   f"{expected.digest(rows.splitlines())}")
    sweep(["karate"], "bfs", "vm", output=tmp_path / "one", workers=InThisProcess())
    source, = _sources(tmp_path / "one")
    _check("sweep of a run", sweeps.page(source.value, "runs.jsonl"))


@pytest.mark.parametrize("paper, name", [("sparseweaver", "fig4.3"), ("scu", "fig12")])
def test_a_figure(paper, name, monkeypatch, tmp_path):
    """The file of a figure, its text and its page. One run failed, and a line is of others."""
    from sw.study import reproduce
    figure = reproduce.find(paper).find(name)

    def run(study, executor, report, begun=lambda case: None):
        for place, case in enumerate(study.cases):
            record = {"case": case.record(), "error": "no luck"} if place == 5 else ran(
                case, study.config, study.dram)
            study.records[case] = study._file.keep(study._key(case), record)
            report(case, record, place, len(study.cases))
    monkeypatch.setattr("sw.study.benchmarks.batch.Batch.run", run)
    monkeypatch.setattr("sw.study.reproduce.study._versions", lambda: {"sources": "abc"})
    monkeypatch.setattr("sw.study.reproduce.study.draw", lambda *_: {}, raising=False)
    study = Study(reproduce.find(paper), [figure], test_outcomes.SETTING, tmp_path,
                  lambda figure: f"make {figure.name}", tmp_path / "runs.jsonl")
    study.run(InThisProcess(), *[lambda *_: None] * 3)
    lines = (tmp_path / "runs.jsonl").read_text()
    (tmp_path / "runs.jsonl").write_text(lines.splitlines()[0].replace("abc ", "def ") + "\n"
                                         + lines)
    found = inputs.find([str(tmp_path)])
    value = json.loads((tmp_path / f"{name}.json").read_text())
    value["failures"] = {reason: [case["graph"] for case in cases]     # without fields of plans
                         for reason, cases in value["failures"].items()}
    expected.check(EXPECTED, f"{name}, text", (tmp_path / f"{name}.md").read_text())
    expected.check(EXPECTED, f"{name}, fields", "\n".join(
        f"{field}: {expected.digest(each)}" for field, each in value.items()))
    (_, page), = pages_of(found)
    page = dataclasses.replace(page, notes=[note.replace(str(tmp_path), "FOLDER")
                                            for note in page.notes])
    _check(name, page, papers.page([value, value], [], "results", ["more"]))


# The rest

def test_syntheses():
    board = test_synthesis.UNIT | {"unit": "board", "board": {
        "memory": "sdram", "frequency": 50.0, "baud": 1_000_000, "seed": 2}}
    _check("syntheses", synthesis.unit_page(test_synthesis.UNIT, "synth.json"),
           synthesis.unit_page(board, "board.json"),
           synthesis.overhead_page(test_synthesis.OVERHEAD, "overhead.json"))


def test_searches():
    value = test_tuning._value()
    _check("searches", tuning.page(value, "tune.json"),
           tuning.page(value | {"worth": [], "refused": {}, "failed": 0}, "tune.json"))


def test_timelines():
    events = [*test_timeline.EVENTS, ("launch", "apply", 0, 20, 3)]
    _check("timelines", timeline.page(test_timeline._value(events, warps=2), "t.json"),
           timeline.page(test_timeline._value(
               [*events, ("instruction", "lw", 2, 4000, 9)], warps=2), "t.json"))


def test_the_report(tmp_path):
    """The first page, and the files of a report."""
    (tmp_path / "in").mkdir()
    values = [_compared() | {"sources": name} for name in ("one", "two")]
    values[1]["graph"] = values[0]["graph"] | {"undirected": False}
    del values[1]["results"][1]
    for value in values:
        (tmp_path / "in" / f"{value['sources']}.json").write_text(json.dumps(value))
    _check("area", Page("", "", (), (trade.block(
        [run for value in values for run in runs_of(value)], test_synthesis.OVERHEAD),)))
    (tmp_path / "in" / "overhead.json").write_text(json.dumps(test_synthesis.OVERHEAD))
    build([str(tmp_path / "in")], str(tmp_path / "report"))
    texts = {path.name: path.read_text().replace(str(tmp_path), "FOLDER").replace(
        __version__, "VERSION") for path in sorted((tmp_path / "report").iterdir())
        if path.suffix in (".html", ".json")}
    expected.check(EXPECTED, "files", "\n".join(
        f"{name}: {expected.digest(text)}" for name, text in texts.items()))
