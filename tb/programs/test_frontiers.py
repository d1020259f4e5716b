"""Every frontier on the RTL, with one core and with several, compared with the golden model.

A frontier's data for the next superstep must be in memory when that superstep begins, whatever a
core has in its L1. Also, several cores store into the same words of a map.
"""

import itertools

import pytest

from sw.graph import Graph
from sw.compile.frontiers import FRONTIERS, pairs
from sw.compile.kernels.split import SPLITS
from tb.programs.algorithms import run
from tb.sw.graphs import random_graph


GRAPHS = {
    "random": random_graph(40, 160, 5).weighted(9),
    "wide": random_graph(150, 700, 2).weighted(255),
    # A hub, a chain, vertices without edges, a loop, parallel arcs, and arcs of weight 0.
    "odd": Graph(30, [0] * 20 + [20, 21, 22, 23, 24, 24, 25, 26, 26],
                 [*range(1, 21), 21, 22, 23, 24, 24, 25, 26, 0, 0], [0, 7] * 14 + [1 << 30]),
}
KINDS = [name for name in FRONTIERS if name not in ("rqueue", "lists")]
RUNS = [(schedule, frontier) for schedule in ("vm", "em", "weaver") for frontier in KINDS
        if schedule != "em" or frontier != "queue"]


@pytest.mark.parametrize("name", ("tiny", "scalar", "large", "pair", "trio"))
@pytest.mark.parametrize("algorithm", ("bfs", "sssp"))
@pytest.mark.parametrize("schedule, frontier", RUNS)
@pytest.mark.sample(5)
def test_frontiers(name, algorithm, schedule, frontier):
    for graph in GRAPHS.values():
        checksums = {run(name, graph, algorithm, schedule, frontier=frontier,
                         deduplicate=deduplicate, split=split).checksum
                     for deduplicate, split in zip((True, False), SPLITS)}
        assert len(checksums) == 1


@pytest.mark.parametrize("name", ("one", "wide"))
@pytest.mark.parametrize("frontier", [name for name in pairs()
                                      if name not in ("rqueue", "lists")])
@pytest.mark.sample(10)
def test_corner_shapes(name, frontier):
    """Shapes with one lane in all, and with a warp of 32 lanes."""
    for schedule in ("vm", "weaver"):
        for deduplicate in (True, False):
            run(name, GRAPHS["odd"], "sssp", schedule, frontier=frontier, deduplicate=deduplicate)


@pytest.mark.parametrize("name", ("tiny", "pair"))
@pytest.mark.parametrize("algorithm", ("bfs", "sssp"))
@pytest.mark.parametrize("pair", [name for name in pairs() if "/" in name])
@pytest.mark.sample(4)
def test_pairs(name, algorithm, pair):
    """A core's L1 must not hold what a pass has made anew."""
    for graph in GRAPHS.values():
        for schedule in ("vm", "weaver", "strict"):
            run(name, graph, algorithm, schedule, frontier=pair)


@pytest.mark.parametrize("name", ("tiny", "large", "pair", "trio"))
@pytest.mark.parametrize("frontier", ("rqueue", "rqueue/bitmap"))
@pytest.mark.sample(1)
def test_reverse_queues(name, frontier):
    """Where the direction changes, and pulls alone on the graph of special cases."""
    for graph in GRAPHS.values():
        for schedule, split in itertools.product(("vm", "weaver"), SPLITS):
            run(name, graph, "bfs", schedule, direction="auto", frontier=frontier, split=split)
            if graph is GRAPHS["odd"]:
                run(name, graph, "bfs", schedule, direction="pull", frontier="rqueue", split=split)


@pytest.mark.parametrize("name", ("tiny", "one", "large", "pair", "trio"))
@pytest.mark.parametrize("schedule", ("vm", "weaver"))
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.sample(1)
def test_near_and_far(name, schedule, split):
    for graph in GRAPHS.values():
        plain = run(name, graph, "sssp", schedule, split=split)
        for delta in (1, 30, "auto", (1 << 32) - 1):
            result = run(name, graph, "sssp", schedule, split=split, delta=delta)
            assert result.checksum == plain.checksum


@pytest.mark.parametrize("name", ("tiny", "pair"))
@pytest.mark.parametrize("algorithm, direction", [("bfs", "pull"), ("sssp", "pull"), ("cc", "push"),
                                                  ("cc", "pull")])
@pytest.mark.sample(4)
def test_deduplicated_where_all_vertices_take_part(name, algorithm, direction):
    for schedule in ("vm", "em", "weaver"):
        run(name, GRAPHS["wide"], algorithm, schedule, direction=direction, deduplicate=True)
