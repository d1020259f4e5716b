"""The figures of SparseWeaver: the paper's numbers as the paper states them, and ours from known
records."""

import dataclasses
import math

import numpy as np
import pytest

from hw.config import preset
from hw.isa import PHASES
from hw.stalls import STALLS
from sim.dram import DramConfig
from sw.study import reproduce
from sw.graph.load import load
from sw.study.reproduce.area import CoreArea
from sw.study.reproduce.measure import WarpIterations
from sw.study.reproduce.setting import GraphChoice, Setting, choices
from sw.study.reproduce.sparseweaver import published
from sw.study.reproduce.sparseweaver.runs import PLAIN, SOFTWARE, run
from tb.sw.study.reproduce.figures import comparisons_of, from_records, stands_a_failure_of_all


_GRAPHS = (GraphChoice("one", "karate", undirected=False),
           GraphChoice("two", "uniform:vertices=9,edges=20"))
SETTING = Setting(preset("baseline"), DramConfig(), simulated=(), wide=(), stored=_GRAPHS,
                  brief=_GRAPHS, skewed=_GRAPHS)
PAPER = reproduce.find("sparseweaver")


def _contender(case):
    return case.column


def _outcome(name, record):
    figure = PAPER.find(name)
    return from_records(figure, SETTING, record)


@pytest.mark.parametrize("figure", PAPER.figures, ids=lambda figure: figure.name)
@pytest.mark.sample(2)
def test_every_figure_stands_a_failure_of_all(figure):
    stands_a_failure_of_all(figure, SETTING)


def test_the_papers_numbers():
    """Its mean over vm is that of the four algorithms, within rounding."""
    each = [value for (over, algorithm), value in published.SPEEDUPS.items()
            if over == "vm" and algorithm]
    assert math.prod(each) ** (1 / 4) == pytest.approx(published.SPEEDUPS["vm", None], abs=0.01)
    assert PAPER.large == "paper" and preset("paper").cores == 6


def test_runs():
    """Software runs on the core that has the paper's Weaver; weights only where they count."""
    case = run(SETTING, _GRAPHS[1], "sssp", "em", "push", l2_bytes=0, l2_banks=1)
    assert (case.system.config.gather, case.system.config.l2_bytes, case.weights) == ("fsm", 0, 64)
    assert case.undirected and dict(case.plan.parameters)["source"] == "hub"
    case = run(SETTING, _GRAPHS[0], "pagerank", "weaver (stream)", "push", phases=True,
               dram=DramConfig(ratio=3))
    assert case.system.config.gather == "stream" and case.system.dram.ratio == 3
    assert case.plan.schedule == "weaver" and case.plan.direction == "push" and case.plan.phases
    assert dict(case.plan.parameters) == {"iterations": 1} and case.weights is None


@pytest.mark.parametrize("text", ["karate", "uniform:vertices=70,edges=400",
                                  "powerlaw:vertices=64,edges=500", "uniform:vertices=1,edges=0"])
def test_turns_of_warps(text):
    """Each lane is followed, arc by arc."""
    graph = load(text)
    found = WarpIterations(text, False, 8).run(None, None)["iterations"]
    turns = {"vm": 0, "wm": 0}
    degrees = graph.in_degrees.tolist()
    for first in range(0, len(degrees), 8):
        left = degrees[first:first + 8]
        while any(left):
            turns["vm"] += 1
            left = [max(0, value - 1) for value in left]
        arcs = sum(degrees[first:first + 8])
        while arcs > 0:
            turns["wm"] += 1
            arcs -= 8
    assert found == turns | {"em": len(range(0, sum(degrees), 8))}


def test_iterations():
    # A record that was kept in a file has its keys in order.
    turns = {"karate": {"em": 10, "vm": 40, "wm": 12},
             _GRAPHS[1].graph: {"em": 3, "vm": 9, "wm": 9}}
    outcome = _outcome("fig4.2a", lambda case: {"iterations": turns[case.graph]})
    assert comparisons_of(outcome) == {
        "vm over em: least and most of the graphs": ("4.00x and 11.00x", "3.00x and 4.00x")}
    assert outcome.tables[0].rows[0] == ("one", "40", "12", "10", "3.33x", "4.00x")


def test_the_best_software():
    """The better direction counts, and a run that the planner refuses does not."""
    def record(case):
        if case.plan.schedule == "wm":
            return {"refused": "no"}
        cycles = {PLAIN: 900, "vm": 600, "em": 300}.get(case.plan.schedule, 800)
        return {"cycles": cycles * (2 if case.plan.direction == "push" else 1)}

    compared = comparisons_of(_outcome("fig4.3", record))
    assert compared["the best schedule in software over vm, at most"] == ("2.80x", "2.00x")
    assert compared[f"the best schedule in software over {PLAIN}, at most"] == ("2.80x", "3.00x")


def test_stalls():
    def record(case):
        counters = {f"stall_{name}": 0 for name in STALLS} | {
            "cycles": 200, "instructions": 100, "stall_memory": 30, "stall_barrier": 20}
        return {"cycles": 200, "counters": counters}

    outcome = _outcome("fig4.4", record)
    row = next(row for row in outcome.tables[0].rows if row[0] == "cm")
    assert row[1] == "15.0 %" and row[-2:] == ("25.0 %", "2.00")
    assert outcome.data["cm"]["cycles"] == 400


def test_speedups():
    cycles = dict.fromkeys(SOFTWARE, 500) | {
        PLAIN: 800, "vm": 600, "em": 400, "weaver (fsm)": 200, "weaver (scan)": 160,
        "weaver (stream)": 100}

    def record(case):
        return {"cycles": cycles[_contender(case)]}

    outcome = _outcome("fig4.10", record)
    compared = comparisons_of(outcome)
    assert compared[f"BFS: weaver (fsm) over {PLAIN}"] == ("2.73x", "4.00x")
    assert compared["BFS: weaver (fsm) over vm"] == ("2.73x", "3.00x")
    assert compared["all four: weaver (stream) over em"] == ("2.63x", "4.00x")
    assert compared["all four: weaver (stream) over best"] == ("-", "4.00x")
    assert outcome.data["cc"]["one"]["best"] == 400
    outcome = _outcome("table4.5", record)
    assert comparisons_of(outcome)[f"weaver (stream) over {PLAIN}: least and most"] == (
        "1.83x and 5.32x", "8.00x and 8.00x")
    assert outcome.tables[0].rows[0][:4] == ("one", "800", "400", "2.00x")


def test_skewness():
    def record(case):
        if isinstance(case, WarpIterations):
            return {"iterations": {"vm": 60 if case.undirected else 20, "wm": 10, "em": 10}}
        many = case.undirected
        return {"cycles": {PLAIN: 100, "em": 50 if many else 100}.get(_contender(case), 80)}

    compared = comparisons_of(_outcome("fig4.11", record))
    assert compared["turns of vm over em, fewest to most vertices"] == ("rises", "2.00x to 6.00x")
    assert compared[f"em over {PLAIN}, fewest to most vertices"] == ("rises", "1.00x to 2.00x")
    found = choices(True)["skewed"]
    assert [graph.label for graph in found] == ["10,000", "12,000", "16,000", "20,000", "40,000",
                                               "80,000"]
    arcs = {load(graph.graph, undirected=graph.undirected).num_edges
            for graph in choices(False)["skewed"]}
    assert max(arcs) < 1.25 * min(arcs)


def test_frequencies():
    """Speedups are over the plain loop at a ratio of 1."""
    def record(case):
        share = 2 if "weaver" in _contender(case) else 1
        return {"cycles": 100 * case.system.dram.ratio // share}

    outcome = _outcome("fig4.12", record)
    compared = comparisons_of(outcome)
    assert compared["em: cycles at ratio 6, of those at 1"] == ("rises", "6.00x")
    assert compared[f"weaver (stream) over {PLAIN}, at ratio 1 and 6"][1] == "2.00x to 2.00x"
    assert outcome.plots[0].series["em"] == pytest.approx((1, 1/2, 1/3, 1/4, 1/5, 1/6))


def test_caches():
    def record(case):
        size = case.system.config.l2_bytes
        return {"cycles": 400 if size == 0 else 100 if size == 1 << 17 else 80}

    compared = comparisons_of(_outcome("fig4.13", record))
    assert compared["em: an L2, over none"] == ("significant", "4.00x")
    assert compared["em: four times the L2, over the L2"][1] == "1.25x"
    figure = PAPER.find("fig4.14")
    sizes = {(case.system.config.l1_bytes >> 10, case.system.config.l2_bytes >> 10)
             for case in figure.cases(SETTING)}
    assert sizes == {(16, 32), (16, 64), (16, 128), (16, 256), (16, 512), (16, 1024), (32, 128),
                     (64, 128)}
    # The base comes first: speedups are over it.
    outcome = _outcome("fig4.14", record)
    assert outcome.plots[0].groups[0] == "16, 128 KiB" and outcome.plots[0].series["vm"][0] == 1
    assert comparisons_of(outcome)["vm: the best caches over the worst"] == ("minimal", "1.25x")
    large = dataclasses.replace(SETTING, config=preset("paper"))
    assert all(case.system.config.l2_bytes <= 1 << 23 for case in figure.cases(large))


def test_late_tables():
    """Cycles are those at latency 0 and more; software has no tables, and runs once."""
    def record(case):
        config = case.system.config
        slow = {"fsm": 4, "scan": 1, "stream": 0}[config.gather]
        counters = {"weaver_waits": 100, "stall_weaver": config.table_latency, "stall_barrier": 0}
        cycles = 800 if case.plan.schedule != "weaver" else 400 + slow * config.table_latency
        return {"cycles": cycles, "counters": counters | {"cycles": cycles}}

    figure = PAPER.find("fig4.15")
    cases = set(figure.cases(SETTING))
    assert len(cases) == len(_GRAPHS) * (1 + 3 * 6)
    assert {case.system.config.table_latency for case in cases
            if case.plan.schedule != "weaver"} == {0}
    outcome = _outcome("fig4.15", record)
    compared = comparisons_of(outcome)
    assert compared["weaver (fsm): cycles at a latency of 160, of those at 0"] == ("stable",
                                                                                   "2.60x")
    assert compared["weaver (scan): cycles at a latency of 40, of those at 0"][1] == "1.10x"
    assert compared["weaver (stream): cycles at a latency of 160, of those at 0"][1] == "1.00x"
    assert ("160", "weaver (fsm)", "9.6 %", "15.4 %", "0.0 %") in outcome.tables[1].rows


def test_the_area():
    def record(case):
        assert isinstance(case, CoreArea) and case.config.threads == 8
        more = {"none": 0, "fsm": 3, "scan": 9, "stream": 5}[case.config.gather]
        return {"lut4": 100 + more, "ff": 1000, "block_ram": 4, "dsp": 8}

    outcome = _outcome("table4.4", record)
    assert comparisons_of(outcome)["weaver (fsm): LUT4 added"] == ("3.0 %", "3.0 %")
    assert comparisons_of(outcome)["weaver (stream): block RAM added"] == ("0.0 %", "0.0 %")
    [none, *_] = PAPER.find("table4.4").cases(SETTING)
    assert none.key(None, None) == none.key(preset("tiny"), DramConfig())


def test_phases():
    def record(case):
        cycles = dict.fromkeys(PHASES, 10) | {"apply": 1000}
        if case.plan.direction == "push" and case.graph == "karate":
            cycles["registration"] = 12
        return {"phases": [*cycles.values(), sum(cycles.values())]}

    outcome = _outcome("fig4.17", record)
    assert comparisons_of(outcome)["weaver (fsm): registration, push against pull, at most"] == (
        "below 1.0 %", "20.0 %")
    rows = {row[0]: row[1:] for row in outcome.tables[0].rows}
    assert rows["two, weaver (stream), pull"] == ("50", *["20.0 %"] * 5)


def test_edge_generation():
    """The loads under way are the configuration's; means are over the Weaver of the paper."""
    def record(case):
        config = case.system.config
        assert case.plan.direction == "pull"
        more = 160 // config.eghw_requests if config.gather == "eghw" else 0
        return {"phases": [10, 10, 10 + more, 10, 10, 1000, 1050 + more]}

    outcome = _outcome("fig4.18", record)
    compared = comparisons_of(outcome)
    assert compared["eghw, 1 load: cycles over those of weaver (fsm)"] == ("3.64x", "4.20x")
    assert compared["eghw, 16 loads: cycles over those of weaver (fsm)"] == ("", "1.20x")
    rows = {row[0]: row[1:] for row in outcome.tables[0].rows}
    assert rows["two, eghw, 1 load"] == ("210", "4.8 %", "4.8 %", "81.0 %", "4.8 %", "4.8 %")
    assert {row[0]: row[-1] for row in outcome.tables[1].rows}["weaver (stream)"] == "1.00x"


def test_a_run_counts_phases():
    """The record of a real run: all warps' cycles by phase, and all their cycles."""
    setting = dataclasses.replace(SETTING, config=preset("tiny"), brief=_GRAPHS[:1])
    case = PAPER.find("fig4.17").cases(setting)[0]
    record = case.run(setting.config, setting.dram)
    assert record["verified"] and len(record["phases"]) == len(PHASES) + 1
    assert np.sum(record["phases"][:-1]) == record["phases"][-1] > 0
    assert all(record["phases"][:-1])


def test_convolution():
    """Kernels of a set count together; each contender has its better direction; the paper's number
    stands beside computed coefficients, over the paper's rival."""
    def record(case):
        given, plan = dict(case.plan.parameters), case.plan
        cycles = {"vm:parallel=weights": 1200, "em": 800, "weaver": 600}.get(plan.schedule, 2000)
        cycles *= 2 if given["coefficients"] == "computed" and plan.schedule != "weaver" else 1
        cycles *= 3 if given.get("together") == "no" else 1
        cycles += 100 if plan.direction == "push" else 0
        counters = {"instructions": cycles // 2, "l1_accesses": 50, "atomics": 7}
        names = ("init", "spmm", "graphsum_classify", "graphsum")
        return {"cycles": cycles, "steps": {
            name: counters | {"cycles": cycles // 4} for name in names}}

    outcome = _outcome("fig4.19", record)
    compared = comparisons_of(outcome)
    rival = "vm:parallel=weights"
    assert compared[f"computed: weaver (fsm) over {rival}, all"] == ("6.15x", "4.00x")
    assert compared[f"stored: weaver (fsm) over {rival}, all"] == ("-", "2.00x")
    assert compared[f"stored: weaver (stream) over {rival}, GraphSum"] == ("-", "2.00x")
    assert compared["stored: weaver (fsm) over best, all"] == ("-", "1.33x")
    assert compared["computed: weaver (fsm), a lane an edge over best, all"] == ("-", "0.89x")
    found = outcome.data["stored"]["one"]
    assert found["best"]["name"] == "em" and found["em"]["graphsum"]["cycles"] == 400
    assert found["em"]["all"]["direction"] == "pull"
    rows = {row[0]: row for row in outcome.tables[0].rows}
    assert rows["em"] == ("em", "200", "200", "400", "800", "pull")
    assert set(rows) > {"weaver (fsm)", "weaver (scan)", "weaver (stream)", "twc"}


def test_convolution_takes_the_features_beside_a_graph(tmp_path):
    figure, path = PAPER.find("fig4.19"), tmp_path / "net.el"
    case, *_ = figure.cases(dataclasses.replace(SETTING, brief=(GraphChoice("net", str(path)),)))
    assert dict(case.plan.parameters)["columns"] == 1024
    (tmp_path / "net_features.npz").write_bytes(b"")
    case, *_ = figure.cases(dataclasses.replace(SETTING, brief=(GraphChoice("net", str(path)),)))
    assert dict(case.plan.parameters)["features"] == str(tmp_path / "net_features.npz")
