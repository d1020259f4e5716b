"""The figure of results is drawn from recorded results, and these are true."""

import dataclasses
import json

import pytest

from sw.show.figures import results
from sw.show.figures.blocks import BLOCKS
from sw.show.figures.pictures import RECORDS, ROOT
from sw.show.figures.timing import TIMING


RECORD = ROOT / "docs" / "figures" / "results.json"


def _row(case):
    return case.graph, case.plan.text, case.system.name


def test_the_record_has_all_runs():
    """All that the planner does not refuse; no bar is without a run."""
    record = json.loads(RECORD.read_text())
    rows = [(row["graph"], row["plan"], row["hardware"]) for row in record["rows"]]
    assert rows == [row for row in map(_row, results.cases()) if row in rows]
    ran = {(row["algorithm"], row["graph"], row["schedule"], row["hardware"])
           for row in record["rows"]}
    for algorithm in results.ALGORITHMS:
        for graph in results.GRAPHS.values():
            for name, pairs in results.columns().items():
                assert any((algorithm, graph, schedule, config.name) in ran
                           for schedule, config in pairs), (algorithm, graph, name)
    assert record["command"] == "./graphloom docs --record" and record["preset"] == "baseline"
    assert len(record["commit"]) == 40


def test_graphs_are_generated():
    """No file is needed to repeat the runs."""
    for graph in results.GRAPHS.values():
        assert "seed=" in graph


def test_the_figure_is_drawn_from_the_record():
    text = RECORD.read_text()
    record = json.loads(text)
    drawn = results.draw(text)
    assert drawn == (RECORD.parent / "results.svg").read_text()
    for row in record["rows"]:
        if row["schedule"] == "weaver":
            row["cycles"] *= 2
    assert results.draw(json.dumps(record)) != drawn
    for word in (*results.GRAPHS, *list(results.columns())[1:]):
        assert f">{word}<" in drawn, word


def test_a_recorded_run_gives_the_same_cycles():
    """The shortest one. Run `./graphloom docs --record` after a change on purpose."""
    row = min(json.loads(RECORD.read_text())["rows"], key=lambda row: row["cycles"])
    case, = (case for case in results.cases()
             if _row(case) == (row["graph"], row["plan"], row["hardware"]))
    again = json.loads(results.measure(ROOT, chosen=[case]))
    assert again["rows"] == [row]


def test_a_run_that_fails():
    case = results.cases()[0]
    case = dataclasses.replace(case, graph="missing.el")
    with pytest.raises(RuntimeError, match="missing.el"):
        results.measure(ROOT, chosen=[case])


def test_every_file_is_a_picture_or_a_record():
    """CI's ``docs --check`` draws all pictures and compares them."""
    made = {*BLOCKS, *(f"{name}.svg" for name in TIMING), "c-lanes.svg", "results.svg", *RECORDS}
    assert {path.name for path in RECORD.parent.iterdir()} == made
