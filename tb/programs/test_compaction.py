"""Algorithms by stream compaction on the RTL, compared with the golden model (``Device.run`` does).
"""

import numpy as np
import pytest

from checks.campaign.machines import SCUS
from hw.registers import cycles_of
from tb.programs.algorithms import run
from tb.programs.test_algorithms import GRAPHS
from tb.sw.graphs import random_graph


ALGORITHMS = ("bfs", "cc", "pagerank", "sssp")


@pytest.mark.parametrize("name", ("tiny", "one", "scalar", "wide", "large", "bare", "pair", "trio"))
@pytest.mark.parametrize("schedule", ("compact", "compact:fused=no"))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(8)
def test_algorithms(name, schedule, algorithm):
    for number, graph in enumerate(GRAPHS.values()):
        result = run(name, graph, algorithm, schedule, split=("static", "counter")[number % 2])
        cycles = [step.get("cycles", 0) for step in result.steps.values()]
        assert sum(cycles) == result.cycles and (name == "bare" or min(cycles) > 0)


@pytest.mark.parametrize("name", SCUS)
@pytest.mark.parametrize("schedule", ("scu", "scu-enhanced", "scu-enhanced:grouping=no:sets=1",
                                      "scu-stream", "scu-stream:pieces=3"))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(4)
def test_algorithms_on_the_unit(name, schedule, algorithm):
    if algorithm not in ("bfs", "sssp"):
        schedule = schedule.removesuffix(":sets=1")     # the unit filters nothing
    for number, graph in enumerate(GRAPHS.values()):
        result = run(name, graph, algorithm, schedule, split=("static", "counter")[number % 2])
        steps = result.steps.values()
        assert sum(map(cycles_of, steps)) == result.cycles
        assert {step["unit"] for step in steps if step["scu_cycles"]} <= {"scu", "both"}
        assert all((step["unit"] == "both") == (step["scu_beside"] > 0) for step in steps)
        assert result.counters["scu_operations"] == sum(
            step["launches"] for step in steps if step["unit"] != "cores")
        assert not result.counters["scu_lookups"] or schedule != "scu"


@pytest.mark.parametrize("name", ("tiny", "wide", "pair"))
@pytest.mark.parametrize("schedule", ("compact", "compact:fused=no"))
@pytest.mark.sample(3)
def test_far_vertices(name, schedule):
    """Several moves of the threshold, and paths whose lengths do not fit in 32 bits."""
    graph = random_graph(60, 240, 8).weighted(1 << 27)
    for delta in (1 << 20, 1 << 24):
        result = run(name, graph, "sssp", schedule, delta=delta)
        assert result.steps["advance_queue"]["launches"] > 1


def test_slow_memory():
    graph = random_graph(60, 300, 8).weighted(200)
    for algorithm in ALGORITHMS:
        quick = run("tiny", graph, algorithm, "compact")
        slow = run("tiny", graph, algorithm, "compact",
                   memory={"latency": 3, "queue": 2, "bytes_per_cycle": 4})
        assert quick.checksum == slow.checksum


def test_results_are_those_of_other_schedules():
    graph = random_graph(50, 250, 9).weighted(200)
    for algorithm in ALGORITHMS:
        one, other = (run("large", graph, algorithm, schedule).outputs
                      for schedule in ("compact", "weaver"))
        for array, values in one.items():
            assert np.array_equal(values, other[array])
