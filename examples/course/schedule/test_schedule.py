"""The check of the exercise docs/course/schedule.md: the schedule ``warp``.

=====================  =============================================================
found by itself        test_it_is_found, test_list_combinations
results                test_results, test_one_lane, on the instruction-set simulator;
                       test_on_the_rtl
who takes the edges    test_all_lanes_share_a_row
=====================  =============================================================

A run compares its results with the golden model, and raises an error if one bit differs.
"""

import numpy as np
import pytest

from base.errors import UserError
from hw.config import preset
from sw.compile import schedules
from sw.graph import Graph
from sw.graph.load import load
from sw.device import Device
from sw.study.combinations import combinations


CONFIG = preset("tiny")
NAME = "warp"

#: Hardware by name.
SHAPES = {"tiny": CONFIG,
          "eight lanes": CONFIG.replace(threads=8, warps=4, imem_bytes=1 << 14),
          "two cores": CONFIG.replace(cores=2, imem_bytes=1 << 14)}

GRAPHS = ("karate", "rmat:scale=6,degree=9,seed=4,weights=9", "road:side=7,seed=2,longest=9",
          "powerlaw:vertices=60,edges=120,exponent=2,seed=1,weights=9")

#: Algorithms, directions and parameters.
RUNS = [("bfs", "push", {"source": 3}), ("bfs", "pull", {"source": 3}),
        ("pagerank", "push", {"iterations": 3}), ("pagerank", "pull", {"iterations": 3}),
        ("sssp", "push", {"source": 3}), ("cc", "pull", {})]


def test_it_is_found():
    assert NAME in schedules.names(), "no file of sw/compile/schedules has a class named 'warp'"


@pytest.mark.parametrize("algorithm", ["bfs", "pagerank"])
def test_list_combinations(algorithm):
    """Both directions work with every frontier that vertex mapping works with."""
    def working(schedule):
        only = {"algorithm": [algorithm], "format": ["csr", "tigr"], "block": ["none"],
                "schedule": [schedule]}
        return [tuple(value for axis, value in each.choice.items() if axis != "schedule")
                for each in combinations(CONFIG, only) if each.reason is None]
    assert working(NAME) == working("vm")


@pytest.mark.parametrize("algorithm, direction, parameters", RUNS)
@pytest.mark.parametrize("shape", SHAPES)
def test_results(shape, algorithm, direction, parameters):
    with Device.functional(SHAPES[shape], max_cycles=3_000_000) as device:
        for name, format in zip(GRAPHS, ("csr", "csr", "tigr:k=3", "ell:width=2")):
            graph = load(name)
            if algorithm == "sssp" and graph.weights is None:
                graph = graph.weighted(9)
            device.run(algorithm, graph, schedule=NAME, direction=direction, format=format,
                       **parameters)


def test_one_lane():
    """A warp of one lane works, or is refused with a reason."""
    config = CONFIG.replace(threads=1)
    with Device.functional(config, max_cycles=3_000_000) as device:
        try:
            device.run("bfs", load("karate"), schedule=NAME)
        except UserError as error:
            assert NAME in str(error)


def star(leaves):
    """A vertex with an arc to every other one."""
    return Graph(leaves + 1, np.zeros(leaves, np.uint32), np.arange(1, leaves + 1), name="star")


def test_all_lanes_share_a_row():
    """Three lanes of four wait while one goes through the hub under vm. Under this schedule a warp
    goes through the hub with all lanes, and its loads of the row are coalesced."""
    with Device.simulate(CONFIG) as device:
        own, other = (device.run("bfs", star(256), schedule=schedule, source=0)
                      for schedule in (NAME, "vm"))
    on, less = (result.counters["lanes"] / result.counters["instructions"]
                for result in (own, other))
    assert on > 3.5 and less < 2, f"{on:.2f} lanes of 4 are on, {less:.2f} under vm"
    assert own.cycles < 0.8 * other.cycles


@pytest.mark.parametrize("algorithm, direction, parameters", RUNS[:4])
def test_on_the_rtl(algorithm, direction, parameters):
    with Device.simulate(CONFIG) as device:
        device.run(algorithm, load("karate"), schedule=NAME, direction=direction, **parameters)
