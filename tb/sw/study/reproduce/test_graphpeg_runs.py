"""Real runs of the figures of GraphPEG: plans that the stand-ins and the unit can run, an exchange
between two cores, and the phases under the unit."""

import dataclasses

import pytest

from hw.config import preset
from sim.dram import DramConfig
from sw.study import reproduce
from sw.graph.load import load
from sw.study.reproduce.graphpeg.runs import ALGORITHMS, GUNROCK, stand_ins, units
from sw.study.reproduce.setting import GraphChoice, Setting
from sw.device import Device


_KARATE = GraphChoice("karate", "karate", undirected=False)
PAPER = reproduce.find("graphpeg")


def _setting(*graphs):
    """The smallest hardware, which is built in a minute."""
    return Setting(preset("tiny"), DramConfig(), simulated=(), wide=(), stored=(), brief=graphs)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_plans_run(algorithm):
    """No way of Gunrock's stand-in, and no direction of the unit, is refused: nothing is compared
    with a rival that cannot run."""
    graph, setting = load("karate", weights=9), _setting(_KARATE)
    cases = [*stand_ins(setting, _KARATE, algorithm)[GUNROCK].values(),
             *units(setting, _KARATE, algorithm)["graphpeg"].values()]
    for case in cases:
        assert Device.functional(case.system.config).run(case.plan, graph).verified


def test_a_run_exchanges_edges():
    """Two cores with own lists, and all edges on one core at the start. The record has the counters
    of the exchange."""
    setting = _setting(GraphChoice("rmat", "rmat:scale=8,degree=16,seed=1"))
    case = next(case for case in PAPER.find("exchange").cases(setting)
                if case.system.config.exchange_interval == 64 and case.plan.frontier == "lists")
    assert case.system.config.cores == 2
    record = case.run(setting.config, setting.dram)
    assert record["verified"], record
    counters = record["counters"]
    assert counters["exchange_looks"] > 0 and counters["exchange_difference"] > 0
    assert counters["exchange_edges"] >= counters["exchange_entries"] > 0


def test_a_run_counts_phases():
    """The phases of a real run under the unit add up to the cycles of all warps."""
    setting = _setting(_KARATE)
    case = next(case for case in PAPER.find("balance").cases(setting)
                if case.column == "graphpeg")
    case = dataclasses.replace(case, graph="karate")
    record = case.run(setting.config, setting.dram)
    assert record["verified"] and sum(record["phases"][:-1]) == record["phases"][-1] > 0
