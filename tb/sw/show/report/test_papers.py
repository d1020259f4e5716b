"""Pages of reproductions: figures with their plots, the paper's numbers, and all runs.

======================  ========================================================
figures                 test_figure: of a study; test_values: failed, undefined
runs                    test_runs, test_long_names_are_broken, test_other_sources,
                        test_runs_of_the_figures_sources
======================  ========================================================
"""

import dataclasses
import json
import math

import pytest

from hw.config import preset
from sim.dram import DramConfig
from sw.study.benchmarks.batch import Batch, Case
from sw.study.benchmarks.records import RecordsFile
from sw.study.reproduce.measure import Stored
from sw.study.reproduce.outcome import Comparison, Outcome, Plot, Table
from sw.study.reproduce.paper import Figure, Paper
from sw.study.reproduce.setting import GraphChoice, Setting
from sw.study.reproduce.study import Study
from sw.show.report import build, inputs, papers
from sw.device import Plan
from tb.executors import InThisProcess
from tb.sw.show.report.shown import block, series


_KARATE = GraphChoice("karate", "karate", undirected=False)


class _Shown(Figure):
    """A figure with every kind of value."""
    name, title, source, method = "fig7", "times", "section 7", "Counted here."

    def cases(self, setting):
        return [Stored("karate", False, "csr")]

    def outcome(self, setting, results):
        return Outcome(
            (Table("Times", ("graph", "x"), (("karate", "1.50x"),)),),
            (Plot("times", "speed of x", ("karate", "road"), {"a": (1.5, None), "b": (math.nan, 2)},
                  reference=1.0, paper={"the paper's mean": 1.25}),),
            (Comparison("mean", "1.25x", "1.50x"),), notes=("Road is small.",))


class _Seventh(Paper):
    paper, title, source = "seventh", "The seventh paper", "its place"
    figures = (_Shown(),)


@pytest.fixture
def study(tmp_path):
    setting = Setting(preset("tiny"), DramConfig(), simulated=(_KARATE,), wide=(),
                      stored=(_KARATE,), repeat=1)
    study = Study(_Seventh, _Seventh.figures, setting, tmp_path,
                  lambda figure: f"make {figure.name}", tmp_path / "runs.jsonl")
    study.run(InThisProcess(), *[lambda *_: None] * 3)
    return tmp_path


def test_figure(study):
    value = json.loads((study / "fig7.json").read_text())
    page = papers.page([value], [], "results")
    assert page.title == "The seventh paper" and page.command == "make fig7"
    assert page.facts == (("figures", "1"), ("graphs", "0"))
    shown = block(page, "fig7: times")
    assert shown.finding == "Mean: the paper 1.25x, here 1.50x."
    assert shown.note == "Counted here."
    drawn = shown.variants[""]
    assert series(drawn, "y") == {"a": [1.5, None], "b": [None, 2]}
    assert drawn["data"][0]["x"] == ["karate", "road"]
    assert [(shape["y0"], shape["line"]["dash"]) for shape in drawn["layout"]["shapes"]] == [
        (1.0, "solid"), (1.25, "dash")]
    assert drawn["layout"]["annotations"][0]["text"] == "the paper's mean: 1.25"
    assert [row[0] for row in shown.rows] == [("karate", "1.5", "-"), ("road", "failed", "2")]
    assert block(page, "fig7, table: Times").rows == ((("karate", "1.50x"), None),)
    assert block(page, "fig7, the paper and this").finding == "Road is small."
    assert all(point.command == "make fig7" for marks in drawn["points"] for point in marks)


def test_values(study):
    """The file of a figure tells a failed value from an undefined one."""
    value = json.loads((study / "fig7.json").read_text())
    assert value["plots"][0]["series"] == {"a": [1.5, "failed"], "b": [None, 2]}
    del value["plots"]                          # a file of an older version has tables only
    value["failures"] = {"no luck": [{}]}
    page = papers.page([value], [], "results")
    assert [each.title for each in page.blocks] == ["fig7: times", "fig7, the paper and this"]
    assert page.notes == ("fig7: 1 runs failed: no luck",)


def test_runs(tmp_path):
    path, config, dram = tmp_path / "runs.jsonl", preset("tiny"), DramConfig()
    cases = [Case("karate", False, Plan("bfs", schedule=name)) for name in ("vm", "em")]
    batch = Batch(cases, config, dram, path, "abc")
    batch.run(InThisProcess(), lambda *_: None)
    RecordsFile(path).keep("abc " + Stored("karate", False, "csr").key(config, dram),
                           {"case": dataclasses.asdict(Stored("karate", False, "csr")), "bytes": 9})
    records, others = papers.records_of(list(RecordsFile(path).read()))
    assert others == 0 and len(records) == 3
    page = papers.page([], records, "runs.jsonl", ["A remark."])
    shown, = page.blocks
    cycles = {case.plan.schedule: batch.records[case]["cycles"] for case in cases}
    drawn = shown.variants[""]
    assert series(drawn, "y") == {name: [value] for name, value in cycles.items()}
    assert series(drawn, "x") == {name: ["karate"] for name in cycles}
    assert page.notes == ("A remark.",) and page.facts == (("runs", "2"), ("graphs", "1"))
    point = drawn["points"][1][0]
    assert point.command.startswith("./graphloom run karate --plan ")
    assert point.command.endswith("--preset tiny") and "2 warps x 4 lanes" in point.configuration
    assert shown.finding.startswith(f"2 runs took {min(cycles.values()):,} to "
                                    f"{max(cycles.values()):,} cycles")


def test_long_names_are_broken():
    """Names of graphs stand below the plot, where only the short ones fit on a line."""
    names = {"a,b": "a,b", "star:n=4,k=9": "star:n=4,k=9", "data/a,b.el": "a,b.el",
             "rmat:scale=12,degree=8": "rmat:scale=12,<br>degree=8"}
    page = papers.page([], [({"case": {"graph": name}, "cycles": 7}, None, None)
                            for name in names], "runs.jsonl")
    shown, = page.blocks
    assert series(shown.variants[""], "x") == {"no schedule": list(names.values())}
    assert [row[0][1] for row in shown.rows] == ["a,b", "star:n=4,k=9", "a,b.el",
                                                 "rmat:scale=12,degree=8"]


def test_runs_of_the_figures_sources(study):
    """Beside figures, the runs of their sources count; runs alone are those of the last line."""
    figure = json.loads((study / "fig7.json").read_text())
    name = figure["versions"]["sources"]
    file = RecordsFile(study / "runs.jsonl")
    for sources, cycles in ((name, 5), ("other", 7)):
        file.keep(f"{sources} [{cycles}]", {"case": {"graph": "g"}, "cycles": cycles})
    for paths, cycles, others in (([study], 5, 1), ([study / "runs.jsonl"], 7, 2)):
        (_, page), = build.pages_of(inputs.find(list(map(str, paths))))
        assert series(block(page, "All runs").variants[""], "y") == {"no schedule": [cycles]}
        note, = page.notes
        assert note.endswith(f": {others} line{'s' * (others > 1)} of other sources left out.")


def test_other_sources():
    lines = [("old [1]", {"case": {"graph": "g"}, "cycles": 1}),
             ("new [1]", {"case": {"graph": "g"}, "cycles": 2}),
             ("new [2]", {"case": {"graph": "h"}, "cycles": 3})]
    records, others = papers.records_of(lines)
    assert [record["cycles"] for record, *_ in records] == [2, 3] and others == 1
    records, others = papers.records_of(lines, "old")
    assert [record["cycles"] for record, *_ in records] == [1] and others == 2
