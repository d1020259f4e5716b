"""The figures of GraphPEG: what is compared with what, and figures from known records."""

import pytest

from hw.config import LEGAL, preset
from hw.isa import PHASES
from sim.dram import DramConfig
from sw.study import reproduce
from sw.study.reproduce.graphpeg import published
from sw.study.reproduce.graphpeg.runs import (GUNROCK, SEP_GRAPH, STAND_INS, UNITS_SHOWN, run,
                                              stand_ins, units)
from sw.study.reproduce.setting import GraphChoice, Setting
from sw.compile.plan import Hybrid
from tb.sw.study.reproduce.figures import comparisons_of, from_records, stands_a_failure_of_all


_GRAPHS = (GraphChoice("one", "karate", undirected=False),
           GraphChoice("two", "uniform:vertices=9,edges=20"))
SETTING = Setting(preset("baseline"), DramConfig(), simulated=(), wide=(), stored=(), brief=_GRAPHS)
PAPER = reproduce.find("graphpeg")


def _outcome(name, record):
    return from_records(PAPER.find(name), SETTING, record)


@pytest.mark.parametrize("figure", PAPER.figures, ids=lambda figure: figure.name)
@pytest.mark.sample(2)
def test_every_figure_stands_a_failure_of_all(figure):
    stands_a_failure_of_all(figure, SETTING)


def test_the_papers_numbers():
    assert published.OVER == {"Gunrock": (2.8, 7.3), "SEP-Graph": (2.5, 7.0)}
    assert published.THRESHOLD == preset("baseline").exchange_threshold


def test_stand_ins():
    """Gunrock pushes with a queue. SEP-Graph also has other frontiers, and other directions."""
    found = stand_ins(SETTING, _GRAPHS[0], "bfs")
    assert len(found[GUNROCK]) == len(STAND_INS)
    for case in found[GUNROCK].values():
        assert (case.plan.direction, case.plan.frontier) == ("push", "queue")
    ways = found[SEP_GRAPH]
    assert ways["twc push bitmap"].plan.frontier == "bitmap"
    assert ways["twc pull"].plan.direction == "pull"
    hybrid = ways["cm auto"].plan
    assert {hybrid.first.direction, hybrid.second.direction} == {"push", "pull"}
    assert set(found[GUNROCK].values()) <= set(found[SEP_GRAPH].values())
    assert not any("auto" in way for way in stand_ins(SETTING, _GRAPHS[0], "cc")[SEP_GRAPH])
    for case in stand_ins(SETTING, _GRAPHS[0], "pagerank")[GUNROCK].values():
        assert case.plan.frontier is None and dict(case.plan.parameters) == {"iterations": 1}


def test_units():
    """All have the same core but for the unit."""
    found = units(SETTING, _GRAPHS[1], "bfs")
    assert list(found) == list(UNITS_SHOWN) and list(found)[-1] == "graphpeg"
    for name, ways in found.items():
        config = ways["push"].system.config
        assert (config.l1_banks, config.l2_banks, config.atomic_words) == (4, 4, "line")
        assert config.gather == UNITS_SHOWN[name]
        assert ways["push"].plan.schedule == ("graphpeg" if name == "graphpeg" else "weaver")
    small = Setting(preset("tiny"), DramConfig(), simulated=(), wide=(), stored=(), brief=_GRAPHS)
    config = run(small, _GRAPHS[0], "sssp", "vm", direction="push").system.config
    assert (config.l1_banks, config.gather) == (2, "fsm")


def test_throughput():
    """The fastest way counts, and a way that the planner refuses does not."""
    def record(case):
        if isinstance(case.plan, Hybrid) or case.plan.frontier == "bytemap":
            return {"refused": "no"}
        cycles = {"graphpeg": 100, "weaver": 150}.get(case.plan.schedule, 400)
        if case.plan.direction == "pull":
            cycles = cycles // 2 if case.plan.schedule in STAND_INS else 10 * cycles
        return {"cycles": cycles, "counters": {
            "instructions": 7, "memory_instructions": 5, "l1_accesses": 3, "weaver_waits": 2}}

    outcome = _outcome("speed", record)
    compared = comparisons_of(outcome)
    assert compared["over Gunrock: mean"] == ("2.80x", "4.00x")
    assert compared["over SEP-Graph: at most"] == ("7.00x", "2.00x")
    assert compared["over eghw: mean"] == ("-", "1.50x")
    assert outcome.data["bfs"]["one"]["SEP-Graph"] == {"way": "cm pull", "cycles": 200}
    assert outcome.tables[-1].rows[0] == ("bfs: instructions", "7", "7")


def test_balance():
    def record(case):
        shares = {"registration": 10, "work ID": 20, "edge access": 60, "apply": 10}
        if case.plan.schedule == "cm" and "vertices=1024," in case.graph:
            shares = {"edge access": 100}
        return {"phases": [shares.get(phase, 0) for phase in PHASES]}

    outcome = _outcome("balance", record)
    assert comparisons_of(outcome)["cm: least to largest mean degree"] == (
        "falls", "30.0 % to 0.0 %")
    assert outcome.tables[0].rows[0] == ("mean degree 2", *["30.0 %"] * 5)


def test_exchange():
    """The exchange is compared with no exchange, a queue, the Weaver and software."""
    def record(case):
        config = case.system.config
        cycles = 1000 if config.exchange_interval == 0 else 250
        if case.plan.schedule in ("vm", "em", "strict"):
            assert case.plan.split == "counter"
            cycles = 2000 // config.cores
        return {"cycles": cycles, "counters": {
            "exchange_looks": 10, "exchange_difference": 1234, "exchange_entries": 4,
            "exchange_edges": 99}}

    outcome = _outcome("exchange", record)
    compared = comparisons_of(outcome)
    assert compared["bfs, 6 cores: exchange (own lists, 64/128) over own lists"][1] == "4.00x"
    assert compared["sssp, 4 cores: exchange (own lists, 64/128) over software"][1] == "2.00x"
    assert outcome.tables[-1].rows[0][1:] == ("123.4", "10", "4", "99")


def test_threshold():
    best = _outcome("threshold", lambda case: {
        "cycles": 500 if case.system.config.exchange_threshold == 256 else 700})
    assert comparisons_of(best)["best threshold with an interval of 256"] == ("512", "256")


def test_sizes():
    outcome = _outcome("sizes", lambda case: {
        "cycles": 6400 // case.system.config.alwt_entries})
    assert comparisons_of(outcome)["bfs: cycles with alwt_entries = 4 over 64"] == ("-", "16.00x")
    assert len(outcome.tables[0].columns) == 1 + len(LEGAL["alwt_entries"].values)


def test_area():
    def record(case):
        fields = case.config
        lut4 = 1000 + (fields.gather != "none") * 100 + fields.exchanges * 50
        return {"lut4": lut4, "ff": 10, "block_ram": 1, "dsp": 1}

    compared = comparisons_of(_outcome("area", record))
    assert compared["graphpeg, 64 entries: LUT4 added"] == ("-", "10.0 %")
    assert compared["graphpeg, 64 entries, exchange: LUT4 added"] == ("-", "15.0 %")
