"""Whole algorithms on the RTL, compared with the golden model (``Device.run`` does).

Every schedule and direction of every algorithm, on the extreme shapes that can be built.
"""

import numpy as np
import pytest

from checks.campaign.machines import CONFIGS
from sw.compile import algorithms
from sw.compile.kernels.reductions import ATOMICS
from sw.graph import Graph
from tb.programs.algorithms import OPTIONS, run
from tb.sw.graphs import random_graph


GRAPHS = {
    "random": random_graph(40, 160, 5).weighted(9),
    # A hub, a chain, vertices without edges, a loop and parallel arcs.
    "odd": Graph(30, [0] * 20 + [20, 21, 22, 23, 24, 24, 25, 26, 26],
                 [*range(1, 21), 21, 22, 23, 24, 24, 25, 26, 0, 0]).weighted(1 << 20),
    "alone": Graph(1, [], [], []),
}
RUNS = [(algorithm, direction, schedule) for algorithm in algorithms.names()
        for direction in algorithms.find(algorithm).directions
        for schedule in ("vm", "em", "vwc", "weaver")]


@pytest.mark.parametrize("name", ("tiny", "one", "scalar", "wide", "large"))
@pytest.mark.parametrize("algorithm, direction, schedule", RUNS)
@pytest.mark.sample(10)
def test_algorithms(name, algorithm, direction, schedule):
    for graph in GRAPHS.values():
        run(name, graph, algorithm, schedule, direction=direction)


@pytest.mark.parametrize("algorithm, direction, schedule",
                         [case for case in RUNS if case[2] != "weaver"])
@pytest.mark.sample(8)
def test_without_a_weaver(algorithm, direction, schedule):
    run("bare", GRAPHS["random"], algorithm, schedule, direction=direction)


@pytest.mark.parametrize("name", ("one", "scalar", "large"))
@pytest.mark.parametrize("algorithm, direction, schedule", RUNS)
@pytest.mark.sample(20)
def test_work_from_a_counter(name, algorithm, direction, schedule):
    run(name, GRAPHS["odd"], algorithm, schedule, direction=direction, split="counter")


#: Every schedule in software that is compared on a GPU.
_SOFTWARE = ("vm", "wm", "cm", "strict", "twc", "etwc", "em")


@pytest.mark.parametrize("name", ("tiny", "pair"))
@pytest.mark.parametrize("direction", ("push", "pull"))
@pytest.mark.parametrize("schedule", _SOFTWARE)
@pytest.mark.sample(14)
def test_atomics_that_return_the_old_word(name, schedule, direction):
    """The words are the same, whether lanes wait for old words or not, and test the words before or
    not. A usual run takes each schedule and direction on one of the two machines."""
    for algorithm in ("bfs", "pagerank", "sssp", "cc"):
        assert len({run(name, GRAPHS["odd"], algorithm, schedule, direction=direction,
                        atomics=atomics).checksum for atomics in ATOMICS}) == 1


def test_a_lane_waits_for_the_old_word():
    """Lanes that push to one vertex are combined, unless they want the old word."""
    hub = Graph(64, range(1, 64), [0] * 63)
    plain, waits, tests = (run("wide", hub, "pagerank", "em", direction="push", atomics=atomics)
                           for atomics in ATOMICS)
    assert waits.counters["atomics"] > 2 * plain.counters["atomics"]
    assert waits.cycles > plain.cycles
    assert (tests.cycles, tests.counters) == (waits.cycles, waits.counters)      # sums


def test_a_lane_tests_a_word_before_its_atomic():
    """The labels of eight vertices race for those of 24 others: most change nothing any more."""
    graph = Graph(32, [vertex for vertex in range(8) for _ in range(24)], [*range(8, 32)] * 8)
    waits, tests = (run("tiny", graph, "cc", "em", direction="push", atomics=atomics).counters
                    for atomics in ("return", "test"))
    assert 24 < 2 * tests["atomic_lanes"] < waits["atomic_lanes"]


@pytest.mark.parametrize("format", ("coo", "tigr:k=3", "block-coo:block=16", "ell:width=2", "dia",
                                    "cr2:cluster_bits=4"))
@pytest.mark.parametrize("algorithm, direction, schedule", RUNS)
@pytest.mark.sample(20)
def test_formats(format, algorithm, direction, schedule):
    run("tiny", GRAPHS["random"], algorithm, schedule, direction=direction, format=format)


@pytest.mark.parametrize("algorithm, direction, schedule", [case for case in RUNS
                                                            if case[2] == "em"])
def test_shards(algorithm, direction, schedule):
    run("tiny", GRAPHS["random"], algorithm, schedule, direction=direction,
        format="g-shards:shard=16")


@pytest.mark.parametrize("name", ("pair", "trio"))
@pytest.mark.parametrize("algorithm, direction, schedule", [
    *((algorithm, "push", schedule) for algorithm in ("bfs", "sssp")
      for schedule in ("vm", "em", "vwc:width=2", "weaver")),
    ("bfs", "auto", "vm"), ("bfs", "auto", "weaver")])
@pytest.mark.sample(6)
def test_lists_of_records_on_several_cores(name, algorithm, direction, schedule):
    run(name, GRAPHS["random"], algorithm, schedule, direction=direction,
        format="cr2:cluster_bits=4", split="counter")


@pytest.mark.parametrize("name", ("tiny", "pair"))
@pytest.mark.parametrize("schedule", ("vm", "em", "vwc", "weaver"))
def test_directions_that_change(name, schedule):
    result = run(name, GRAPHS["odd"], "bfs", schedule, direction="auto")
    assert set(result.parameters["directions"]) == {"pull", "push"}


@pytest.mark.parametrize("algorithm, direction, schedule", RUNS)
@pytest.mark.sample(10)
def test_all_phases(algorithm, direction, schedule):
    """With all phases marked, every phase of a schedule takes time. Otherwise all work on edges
    counts as edge access."""
    few, all_ = (run("tiny", GRAPHS["random"], algorithm, schedule, direction=direction,
                     phases=phases) for phases in (False, True))
    assert few.checksum == all_.checksum and not few.all_phases and all_.all_phases
    assert all_.counters["instructions"] > few.counters["instructions"]
    for result, with_edges in ((few, {3}), (all_, {2, 3, 4})):
        taken = result.phases[..., :-1].sum(axis=(0, 1))
        expected = {0} | with_edges
        if schedule == "weaver":
            expected |= {1}
        if algorithm in ("pagerank", "cc", "gcn"):
            expected |= {5}
        assert set(np.flatnonzero(taken)) == expected
        assert np.array_equal(result.phases[..., :-1].sum(axis=-1), result.phases[..., -1])


@pytest.mark.parametrize("schedule", ("vm", "em", "weaver"))
def test_slow_memory(schedule):
    """A narrow memory with a short queue."""
    graph = random_graph(60, 300, 8).weighted(200)
    for algorithm in OPTIONS:
        quick = run("tiny", graph, algorithm, schedule)
        slow = run("tiny", graph, algorithm, schedule,
                   memory={"latency": 3, "queue": 2, "bytes_per_cycle": 4})
        assert quick.checksum == slow.checksum


@pytest.mark.parametrize("algorithm", OPTIONS)
@pytest.mark.sample(1)
def test_results_are_the_same_on_every_shape(algorithm):
    graph = random_graph(50, 250, 9).weighted(200)
    outputs = [run(name, graph, algorithm, "vm").outputs for name in CONFIGS]
    for other in outputs[1:]:
        for array, values in outputs[0].items():
            assert np.array_equal(values, other[array])
