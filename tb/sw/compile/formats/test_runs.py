"""Blocks and orderings on the instruction-set simulator, against golden.

======================  ========================================================
every format            test_blocks_and_orderings
pulling                 test_pulling_where_rows_do_not_ascend,
                        test_pulling_from_diagonals_alone,
                        test_the_smallest_neighbour_may_be_on_a_later_diagonal
compaction              test_compaction_of_reordered_vertices
room behind the rows    test_kernels_read_rows_behind_the_last
lines read once         test_loads_of_edges_have_hints
refused                 test_refused, test_a_queue_needs_whole_rows
======================  ========================================================
"""

import itertools

import numpy as np
import pytest

from base.errors import UserError
from sw.compile import formats
from sw.graph import Graph, generate
from sw.graph.order import ORDERS
from sw.compile.kernels.split import SPLITS
from sw.device import Device
from tb.sw.compile.kernels.test_programs import ALGORITHMS, GRAPHS, SCHEDULES, check, config
from tb.sw.compile.sides import only_side


#: Vertices without edges, self-loops and parallel arcs are in it.
SKEWED = generate("powerlaw:vertices=70,edges=300,exponent=2,seed=4")

HUB = int(np.argmax(SKEWED.out_degrees))


@pytest.mark.parametrize("schedule", ["vm", "em"])
def test_kernels_read_rows_behind_the_last(schedule):
    """Flags of diagonals have room for all rounds that begin, so that lanes of rows behind the last
    read no other array. Kernels by edges need less."""
    with Device.functional(config(4, 8)) as device:
        task = device.plan("pagerank", SKEWED, schedule=schedule, format="dia", direction="push")
    side = only_side(task)
    layout = side.layouts[0]
    flags = 4 * task.buffers.words(layout.array("neighbors"))
    assert flags >= layout.width * layout.rows
    assert (flags >= layout.width * (layout.rows + side.rows_over)) == (schedule == "vm")


@pytest.mark.parametrize("schedule, hints", [
    ("em", {"base", "neighbor", "weight"}), ("wm", {"neighbor", "weight"}),
    ("weaver", {"neighbor", "weight"}), ("vwc:width=4", {"neighbor", "weight"}),
    # A lane that goes through a row alone comes back to the line.
    ("vm", set()), ("vwc:width=2", set())])
def test_loads_of_edges_have_hints(schedule, hints):
    """A warp that takes a line of an edge's words at once is done with the line."""
    def hinted(hardware):
        with Device.functional(hardware) as device:
            task = device.plan("sssp", SKEWED.weighted(9), schedule=schedule, direction="push")
        return {line.split()[1].rstrip("0123456789,") for line in task.program.lines
                if ".nt " in line}

    assert not hinted(config(4, 4))
    assert hinted(config(4, 4).replace(load_hints=True)) == hints


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("format", ["coo", "csr", "dia", "ell:width=2", "tigr:k=3",
                                    "g-shards:shard=16", "cr2:cluster_bits=4:warp_bits=2"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(28)
def test_blocks_and_orderings(algorithm, format, order):
    """Every format and algorithm with blocks, where there may be blocks, in each ordering."""
    options = dict(ALGORITHMS[algorithm])
    if "source" in options:
        options["source"] = HUB
    text = f"{format}:reorder={order}"
    if formats.find_image(format.partition(":")[0]).UNBLOCKED is None:
        text += ":block=16"
    hardware = config(2, 4, cores=2)
    if algorithm == "gcn":
        hardware = hardware.replace(imem_bytes=1 << 15)         # two graphs, two kernels
        if order != "none":
            with pytest.raises(UserError, match="orders the vertices of each graph"):
                check(hardware, algorithm, SKEWED, "em", "pull", format=text, **options)
            return
    for index, (schedule, direction) in enumerate(itertools.product(
            ["em"] if "shard" in format else SCHEDULES, ("pull", "push"))):
        check(hardware, algorithm, SKEWED, schedule, direction, seed=index,
              split=SPLITS[index % 2], format=text, **options)


@pytest.mark.parametrize("order", ["louvain", "rcm"])
@pytest.mark.parametrize("format", ["csr", "coo", "dia:diagonals=3"])
@pytest.mark.parametrize("direction", ["pull", "auto"])
def test_pulling_where_rows_do_not_ascend(format, order, direction):
    """A lane with all edges of its vertex, whose sources do not ascend by the graph's numbers, must
    take the smallest as the parent."""
    for schedule in ("vm", "vwc"):
        check(config(2, 4, cores=2), "bfs", SKEWED, schedule, direction, seed=1,
              format=f"{format}:reorder={order}", source=HUB)


def test_pulling_from_diagonals_alone():
    """Diagonals +1, -1, +2 hold all edges, so a lane has all edges of its vertex."""
    ends = [(v + step, v) for v in range(12) for step in (1, -1, 2) if 0 <= v + step < 12]
    check(config(2, 4), "bfs", Graph(12, *zip(*ends)), "vm", "pull", format="dia:diagonals=3",
          source=5)


def test_the_smallest_neighbour_may_be_on_a_later_diagonal():
    """Vertex 2 has the parents 3, on the first diagonal, and 1."""
    graph = Graph(6, [0, 0, 1, 3, 5], [1, 3, 2, 2, 4])
    check(config(2, 4), "bfs", graph, "vm", "pull", format="dia:diagonals=3:choose=full", source=0)


@pytest.mark.parametrize("order", ["louvain", "rcm"])
@pytest.mark.parametrize("schedule", ["compact", "compact:fused=no", "scu", "scu-enhanced"])
@pytest.mark.parametrize("algorithm", ["pagerank", "bfs", "sssp"])
def test_compaction_of_reordered_vertices(algorithm, schedule, order):
    if (algorithm, schedule) == ("bfs", "scu-enhanced"):
        return                                       # test_refused
    options = dict(ALGORITHMS[algorithm])
    if "source" in options:
        options["source"] = HUB
    check(config(2, 4, scu=4), algorithm, SKEWED, schedule, "push", seed=3,
          format=f"csr:reorder={order}", **options)


@pytest.mark.parametrize("schedule, text, message", [
    ("compact", "g-shards", "format g-shards has no getNeighbor"),
    ("scu-enhanced", "dia", "copies stored neighbours, which must be a word each"),
    ("vm", "cr2:block=8", "format cr2 has no option 'block': its clusters are blocks already"),
])
def test_refused(schedule, text, message):
    with pytest.raises(UserError, match=message):
        check(config(2, 4, scu=4), "bfs", GRAPHS["path"], schedule, "push", format=text)


def test_a_queue_needs_whole_rows():
    with pytest.raises(UserError, match="'csr:block=16' has no list that leads from a vertex to"):
        check(config(2, 4), "bfs", GRAPHS["path"], "vm", "push", format="csr:block=16",
              frontier="queue")
    assert check(config(2, 4), "bfs", GRAPHS["path"], "vm", "push", format="csr:reorder=rcm",
                 frontier="queue").frontier == "queue"
