"""Campaigns: every case is run once, kept at once, and found again."""

import json

import pytest

from base.errors import UserError
from hw.config import preset
from sim.dram import DramConfig
from sw.study.benchmarks.batch import Batch
from sw.study.benchmarks.executors import Processes
from sw.study.benchmarks.schedules import grid, means, totals
from sw.cli.main import main


TINY = preset("tiny")


def _cases(graphs=("karate",), schedules=("vm", "weaver")):
    return _grid(graphs, schedules).cases


def _grid(graphs=("karate",), schedules=("vm", "weaver")):
    return grid({"graph": [(graph, False) for graph in graphs], "algorithm": ["pagerank"],
                 "direction": ["pull"], "schedule": schedules}, 1)


def _run(batch):
    reported = []
    batch.run(Processes(1), lambda case, record, done, total: reported.append((case, done, total)))
    return reported


def test_cases_are_the_product():
    found = grid({"graph": [("a", False), ("b", True)], "algorithm": ["pagerank", "bfs"],
                  "direction": ["pull", "push"], "schedule": ["vm", "em", "weaver"]}, 3).cases
    assert len(found) == len(set(found)) == 2 * 2 * 2 * 3
    assert {case.undirected for case in found if case.graph == "b"} == {True}
    assert {dict(case.plan.parameters).get("iterations") for case in found} == {None, 3}


def test_runs_are_kept_and_not_done_again(tmp_path):
    path = tmp_path / "figures.jsonl"
    first = Batch(_cases(), TINY, DramConfig(), path)
    assert [done for _, done, _ in _run(first)] == [1, 2]
    assert all(record["verified"] and record["cycles"] > 0 for record in first.records.values())
    again = Batch(_cases(), TINY, DramConfig(), path)
    assert again.records == first.records
    assert _run(again) == []
    # Another memory is another run.
    assert not Batch(_cases(), TINY, DramConfig(latency=50), path).records


def test_a_line_cut_off_is_done_again(tmp_path):
    path = tmp_path / "figures.jsonl"
    first = Batch(_cases(), TINY, DramConfig(), path)
    _run(first)
    path.write_text(path.read_text()[:-20])
    again = Batch(_cases(), TINY, DramConfig(), path)
    assert len(again.records) == 1
    _run(again)
    assert Batch(_cases(), TINY, DramConfig(), path).records == first.records


def test_a_failure_loses_no_other_run(tmp_path):
    path = tmp_path / "figures.jsonl"
    batch = Batch(_cases(["no-such-graph.el", "karate"], ["vm"]), TINY, DramConfig(), path)
    _run(batch)
    failed, done = batch.records.values()
    assert "no-such-graph.el" in failed["error"]
    assert done["verified"]
    # A failure is tried again.
    assert len(Batch(batch.cases, TINY, DramConfig(), path).records) == 1


@pytest.mark.parametrize("text", ["what is this\n", json.dumps([1]) + "\n", "{}\n"])
def test_a_foreign_file_is_refused(tmp_path, text):
    path = tmp_path / "figures.jsonl"
    path.write_text(text)
    with pytest.raises(UserError, match="line 1 is not a record of a run"):
        Batch(_cases(), TINY, DramConfig(), path)
    assert path.read_text() == text


def test_speedups():
    vm, weaver = _cases()
    records = {vm: {"cycles": 300, "orders": 4}, weaver: {"cycles": 100, "orders": 2}}
    for failed, cost, ratio in ((False, 0, 3.0), (False, 50, 2.5), (True, 0, None)):
        known = totals(_grid().found(records | {weaver: {"error": "x"}} if failed else records),
                       cost)
        over = known.at(schedule="vm") / known.at(schedule="weaver")
        assert list(over) == [ratio]
        assert list(means(over)) == (["all nanx"] if failed else [
            f"pagerank pull {ratio:.2f}x", f"each algorithm in its own direction {ratio:.2f}x",
            f"all {ratio:.2f}x"])


def test_a_direction_that_a_schedule_does_not_have_is_no_failure(capsys):
    assert main(["bench", "schedules", "karate", "--algorithms", "pagerank", "--preset", "tiny",
                 "--schedules", "compact,weaver", "--jobs", "1", "--launch-cycles", "1000"]) == 0
    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines() if line.startswith("karate")]
    assert [row[:4] for row in rows[:1]] == [["karate", "pagerank", "pull", "-"]]
    assert rows[1][3] != "-"
    assert "compact" in printed.err and "direction pull" in printed.err
    # Totals and speedups have tables of their own, which agree with that of cycles.
    (compact, weaver), totals = ([int(cycles.replace(",", "")) for cycles in row[3:5]]
                                 for row in (rows[1], rows[3]))
    assert totals == [compact + 3000, weaver + 2000]        # launches of one sweep
    assert rows[5][3] == f"{totals[0] / totals[1]:.2f}x"
