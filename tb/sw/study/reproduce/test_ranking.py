"""The ranking of schedules against a GPU: agreement, records, counterparts, and figures."""

import dataclasses
import json
import math
import pathlib

import pytest

from base.errors import UserError
from hw.config import preset
from sim.dram import DramConfig
from sw.graph.load import load
from sw.study import reproduce
from sw.study.benchmarks.ranking import ALGORITHMS, WAYS, Way
from sw.study.reproduce.measure import OnHost
from sw.study.reproduce.ranking import recorded
from sw.study.reproduce.ranking.agreement import agreement
from sw.study.reproduce.ranking.figures import Operators
from sw.study.reproduce.setting import GraphChoice, Setting
from tb import expected
from tb.sw.study.reproduce import test_outcomes
from tb.sw.study.reproduce.figures import comparisons_of, from_records, stands_a_failure_of_all
from tb.told import number


TEXTS = pathlib.Path(__file__).parent / "ranking.txt"

PAPER = reproduce.find("ranking")
CHOICES = (GraphChoice("rmat", "rmat:scale=4,degree=4,seed=1", undirected=False),
           GraphChoice("road", "road:side=4,seed=1", undirected=False, counts=False))


def _record(graph, algorithm, way, seconds, **fields):
    return {"key": f"{graph} {algorithm} {way}", "device": "GPU", "driver": "1", "nvcc": "2",
            "date": "2026-01-01", "multiprocessors": 100, "clock": 10**9, "graph": graph,
            "algorithm": algorithm, "schedule": way.schedule, "direction": way.direction,
            "arcs": 10**6, "operators": 10, "kernels": 20, "transfers": 10,
            "quantile": 0.5, "parameters": {"iterations": 10} if algorithm == "pagerank" else {},
            "seconds": [2 * seconds, seconds], **fields}


def _written(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


@pytest.fixture
def setting(tmp_path):
    path = _written(tmp_path / "gpu.jsonl", [
        _record(graph, algorithm, way, (1 + number) * 1e-3,
                lane_instructions=2 * 10**7, dram_bytes=10**7, l2_atomics=5 * 10**6)
        for graph in ("rmat:scale=8,seed=1", "rmat:scale=8,seed=2", "road:side=9", "karate")
        for algorithm in ALGORITHMS for number, way in enumerate(WAYS)])
    return Setting(preset("baseline"), DramConfig(), simulated=(), wide=(), stored=(),
                   ranked=CHOICES, gpu=path)


def test_agreement():
    """By hand: ranks 1 2 3 4 against 2 1 4 3 have differences of one each, so
    1 - 6 * 4 / (4 * 15)."""
    here, there = dict(zip("abcd", (10, 20, 30, 40))), dict(zip("abcde", (2, 1, 8, 4, 1)))
    found = agreement(here, there)
    assert found.ways == 4 and found.spearman == pytest.approx(0.6)
    assert found.regret == 2 and not found.significant
    logs = [math.log(value) for value in (2, 1, 8, 4)]
    x = [math.log(value) for value in (10, 20, 30, 40)]
    mean, other = sum(x) / 4, sum(logs) / 4
    assert found.pearson == pytest.approx(
        sum((a - mean) * (b - other) for a, b in zip(x, logs))
        / math.sqrt(sum((a - mean) ** 2 for a in x) * sum((b - other) ** 2 for b in logs)))
    same = agreement(dict(enumerate(range(1, 8))), dict(enumerate(range(2, 9))))
    assert same.spearman == pytest.approx(1) and same.significant and same.regret == 1
    few = agreement({"a": 1, "b": 2, "c": None}, {"a": 1, "b": 2, "c": 3})
    assert few.ways == 2 and math.isnan(few.spearman) and not few.significant


def test_counterparts(setting):
    """The seed of the nearest hub, no graph twice, and none where there is no generator."""
    found = recorded.pairs(recorded.read(setting.gpu), CHOICES, range(1, 41))
    assert [pair.graph for pair in found] == ["rmat:scale=8,seed=1", "rmat:scale=8,seed=2",
                                              "road:side=9"]
    assert len({pair.here.graph for pair in found}) == 3

    def distance(text):
        graph = load(text)
        return abs(graph.hub / graph.num_vertices - 0.5)
    first, second = (distance(pair.here.graph) for pair in found[:2])
    others = [distance(f"rmat:scale=4,degree=4,seed={seed}") for seed in range(1, 41)]
    assert [first, second] == sorted(others)[:2]
    later = recorded.pairs(recorded.read(setting.gpu), CHOICES, range(41, 43))
    assert {pair.here.graph for pair in later[:2]} == {
        f"rmat:scale=4,degree=4,seed={seed}" for seed in (41, 42)}
    with pytest.raises(UserError, match="1 seeds are too few"):
        recorded.pairs(recorded.read(setting.gpu), CHOICES, range(41, 42))


def test_files(setting):
    """A graph of a file is compared with itself, if it has the same arcs."""
    def files(**fields):
        choice = GraphChoice("karate", "some/folder/karate", **fields)
        return [(pair.graph, pair.here.graph, pair.here.counts, pair.label) for pair in
                recorded.pairs(recorded.read(setting.gpu), (choice,), setting.seeds)]
    assert files(undirected=False) == [("karate", "some/folder/karate", False, "karate")]
    assert files(undirected=True) == []


def test_records_are_refused(tmp_path):
    good = _record("rmat:scale=8", "bfs", WAYS[0], 1.0)
    path = tmp_path / "gpu.jsonl"
    with pytest.raises(UserError, match="no such file"):
        recorded.read(tmp_path / "none.jsonl")
    for records, message in (
            ([], "no records"),
            ([good, {**good, "kernels": "three"}], "record 2 has no 'kernels'"),
            ([{**good, "schedule": "weaver"}], "schedule 'weaver' must be one of vm"),
            ([{**good, "seconds": []}], "at least one time"),
            ([good, {**good, "device": "other"}], "record 2 is of other, others of GPU")):
        with pytest.raises(UserError, match=message):
            recorded.read(_written(path, records))


def _told(cycles):
    """Records in which a way takes these cycles."""
    def record(case):
        if isinstance(case, OnHost):
            return {"operators": 5}
        schedule, direction = case.plan.schedule.partition(":")[0], case.plan.direction
        return {"cycles": cycles(WAYS.index(Way(schedule, direction))), "arcs": 1000,
                "reached": 7 if case.plan.algorithm == "bfs" else None,
                "counters": {"lanes": 4000, "dram_reads": 100, "dram_writes": 25,
                             "atomics": 500 * (schedule == "em")}}
    return record


def test_a_machine_like_the_gpu(setting):
    outcome = from_records(PAPER.find("correlation"), setting, _told(lambda place: 10 + place))
    found = comparisons_of(outcome)
    assert found["Spearman, mean of graphs that count"] == ("1.00", "1.00")
    assert found["regret, mean of graphs that count"] == ("1.00", "1.00")
    assert len(outcome.tables[0].rows) == 12 and all(
        row[2] == "14" and row[3] == "1.00*" for row in outcome.tables[0].rows)


def test_a_machine_unlike_the_gpu(setting):
    outcome = from_records(PAPER.find("correlation"), setting, _told(lambda place: 100 - place))
    assert comparisons_of(outcome)["Spearman, mean of graphs that count"][1] == "-1.00"
    assert comparisons_of(outcome)["regret, mean of graphs that count"][1] == "14.00"


def test_launches_are_charged(setting):
    """30 activities in 10 operators are 15 in 5. Each is 1 ms / 30 there, at 1 GHz. A core here
    has 1000 / 5 arcs in an operator, a multiprocessor there 10^6 / 100 / 10."""
    outcome = from_records(PAPER.find("bfs"), setting, _told(lambda place: 1000))
    table = outcome.tables[0]
    assert [row[1] for row in table.rows] == ["1.00x"] * 14     # the same in all ways
    charged = 15 * (1e-3 / 30) * 1e9 * (1000 / 5) / (1e6 / 100 / 10)
    several = from_records(PAPER.find("bfs"), setting, _told(lambda place: 1000 + 1000 * place))
    first = (1000 + charged)
    assert several.tables[0].rows[1][2] == f"{(2000 + charged) / first:.2f}x"


def test_what_searches_reach(setting):
    for name, cell in (("bfs", "7"), ("pagerank", "-")):
        table = from_records(PAPER.find(name), setting, _told(lambda place: 1000)).tables[0]
        assert {row[-1] for row in table.rows} == {cell}
        assert {row[4] for row in table.rows} == {"1,000"}
        assert {row[6:8] for row in table.rows} == {("5", "10")}


def test_work(setting):
    """4 instructions an arc here and 20 there, a tenth of it in a sweep of PageRank; 125 lines of
    64 bytes for 1000 arcs, and 10 bytes an arc; 500 atomics under ``em``, and 5 an arc."""
    outcome = from_records(PAPER.find("work"), setting, _told(lambda place: 1000))
    rows = {row[1:3]: row[3:] for row in outcome.tables[0].rows}
    common = ("4.00", "20.00", "0.20x", "8.00", "10.00", "0.80x")
    assert rows["bfs", "em pull"] == (*common, "0.50", "5.00", "0.10x")
    assert rows["bfs", "vm pull"] == (*common, "0.00", "5.00", "-")
    assert rows["pagerank", "em push"] == ("4.00", "2.00", "2.00x", "8.00", "1.00", "8.00x",
                                           "0.50", "0.50", "1.00x")


@pytest.mark.parametrize("figure", PAPER.figures, ids=lambda figure: figure.name)
def test_every_figure_stands_a_failure_of_all(figure, setting):
    stands_a_failure_of_all(figure, setting)


def test_operators():
    """The beginning, and an operator of edges and one of vertices in each of the supersteps."""
    record = Operators("karate", False, "bfs").run(None, None)
    more = Operators("road:side=9,seed=1", False, "bfs").run(None, None)
    assert record["arcs"] == 156 and 3 < record["operators"] < more["operators"]


def test_the_recorded_gpu():
    """The project's own record has every way of every algorithm on each graph."""
    gpu = recorded.read(recorded.FILE)
    assert 1e-6 < gpu.activity < 1e-4
    for algorithms in gpu.records.values():
        assert all(set(ways) == set(WAYS) for ways in algorithms.values())


@pytest.mark.parametrize("figure", PAPER.figures, ids=lambda figure: figure.name)
def test_whole(figure, tmp_path):
    """Every figure, whole, from records that are told: each number says which run it is of. The
    GPU lacks some ways, and some runs here have failed."""
    path = _written(tmp_path / "gpu.jsonl", [
        _record(graph, algorithm, way, number(f"{graph} {algorithm} {way}") * 1e-6,
                **{name: number(f"{graph} {algorithm} {way} {name}") for name in (
                    "operators", "kernels", "transfers", "arcs")},
                **{name: 10**6 * number(f"{graph} {algorithm} {way} {name}") for name in (
                    "lane_instructions", "dram_bytes", "l2_atomics")} if place % 4 else {})
        for graph in ("rmat:scale=8,seed=1", "road:side=9", "karate") for algorithm in ALGORITHMS
        for place, way in enumerate(WAYS) if (graph, algorithm, place) != ("karate", "cc", 3)])
    setting = dataclasses.replace(
        test_outcomes.SETTING, gpu=path,
        ranked=(*CHOICES, GraphChoice("karate", "some/folder/karate", undirected=False)))

    def shown(record):
        return [line.replace(path, "FILE") for line in test_outcomes.text(figure, record, setting)]
    failed = "\n".join(shown(test_outcomes.with_failures))
    expected.check(TEXTS, figure.name, "\n".join([
        *shown(test_outcomes.told), f"with failures: {failed.count('failed')} cells, "
        f"{expected.digest(failed)}"]))
