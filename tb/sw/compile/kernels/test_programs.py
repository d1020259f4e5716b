"""Every algorithm, direction and schedule on the instruction-set simulator, against golden."""

import functools
import itertools
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from base.errors import RunError, UserError
from hw.config import HardwareConfig
from sw.compile import algorithms, schedules
from sw.golden.machine import FunctionalMachine
from sw.golden.results.pagerank import pagerank_float
from sw.graph import Graph
from sw.compile.kernels.split import SPLITS
from sw.device import Device
from tb.sw.graphs import graphs, random_graph
from tb.sw.searches import fits


SHAPES = [(1, 1), (2, 4), (4, 1), (1, 32), (8, 16)]
ALGORITHMS = {"pagerank": {"iterations": 3}, "bfs": {"source": 0}, "sssp": {"source": 0},
              "cc": {}, "gcn": {"dimension": 3, "columns": 20, "density": 0.2}}
SCHEDULES = ("vm", "em", "vwc", "weaver", "wm", "cm", "strict")

#: Schedules that ``tb/sw/compile/compaction`` tests.
BY_COMPACTION = ("compact", "scu", "scu-enhanced", "scu-stream")

#: Schedules that ``tb/sw/compile/schedules/test_twc.py`` tests.
BY_SIZE = ("etwc", "twc", "twce")

#: Schedules that ``tb/sw/compile/schedules/test_tile.py`` tests.
BY_TILES = ("tile",)

#: Schedules that need another unit than the Weaver, with tests of their own in
#: ``tb/sw/compile/schedules``.
BY_UNIT = ("graphpeg",)
COMBINATIONS = list(itertools.product(ALGORITHMS, ("pull", "push"), SCHEDULES))


def config(warps, threads, **changes):
    return HardwareConfig(warps=warps, threads=threads, memory_bytes=1 << 20, l1_bytes=1 << 12,
                          l2_bytes=1 << 14, l2_ways=4).replace(**changes)


def star(leaves, inward):
    hub, rim = np.zeros(leaves, int), np.arange(1, leaves + 1)
    return Graph(leaves + 1, *((rim, hub) if inward else (hub, rim)), name="star").undirected()


def path(length):
    return Graph(length, np.arange(length - 1), np.arange(1, length), name="path")


GRAPHS = {
    "random": random_graph(90, 400, 1),
    "sparse": random_graph(150, 100, 2),
    "dense": random_graph(20, 500, 3),
    "star": star(70, inward=False),
    "path": path(40),
    "loops": Graph(5, [0, 0, 0, 1, 1, 4], [0, 1, 1, 1, 2, 4], name="loops"),
    "single": Graph(1, [], [], name="single"),
    "no arcs": Graph(33, [], [], name="no arcs"),
    # A search from 0 pushes, pulls and pushes again.
    "spindle": Graph(23, [0] * 20 + list(range(1, 21)) + [21, 21], list(range(1, 21)) + [21] * 20
                     + [0, 22], name="spindle"),
    "one row": Graph(140, np.full(300, 139), np.arange(300) % 140, name="one row"),
    "one column": Graph(140, np.arange(300) % 140, np.full(300, 139), name="one column"),
}


@functools.lru_cache(maxsize=64)
def with_weights(graph):
    """The graph with weights: one for all tests, so that they share its golden results."""
    return graph.weighted(40, 7)


def check(hardware, algorithm, graph, schedule, direction, seed=None, model=False, **options):
    """A verified result, of the functional simulator or of the golden model of the machine."""
    device = Device(hardware, lambda: FunctionalMachine(hardware, seed=seed),
                    max_cycles=5_000_000) if model else \
        Device.functional(hardware, seed=seed, max_cycles=5_000_000)
    with device:
        result = device.run(algorithm, with_weights(graph), schedule=schedule,
                            direction=direction, **options)
    assert result.verified
    return result


def test_there_is_nothing_that_is_not_tested():
    assert algorithms.names() == sorted(ALGORITHMS)
    assert schedules.names() == sorted(SCHEDULES + BY_COMPACTION + BY_SIZE + BY_TILES + BY_UNIT)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "{}x{}".format(*shape))
@pytest.mark.parametrize("algorithm, direction, schedule", COMBINATIONS)
@pytest.mark.sample(30)
def test_all_graphs(shape, algorithm, direction, schedule):
    if schedule == "vwc" and shape[1] == 1:
        pytest.skip("a warp of one lane has no virtual warps")
    results = [check(config(*shape), algorithm, graph, schedule, direction, seed=1,
                     **ALGORITHMS[algorithm]) for graph in GRAPHS.values()]
    assert all(result.counters["instructions"] for result in results)


@pytest.mark.parametrize("algorithm, direction, schedule", COMBINATIONS)
@given(graph=graphs(), seed=st.integers(0, 1 << 20), data=st.data())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.sample(30)
def test_random_graphs_and_interleavings(algorithm, direction, schedule, graph, seed, data):
    options = dict(ALGORITHMS[algorithm])
    if "source" in options:
        options["source"] = data.draw(st.integers(0, graph.num_vertices - 1))
    shape = data.draw(st.sampled_from([(2, 4), (1, 2), (4, 8)] + [(4, 1)] * (schedule != "vwc")))
    hardware = config(*shape, cores=data.draw(st.integers(1, 3)))
    if algorithm == "sssp":
        assume(fits(graph.weighted(40, 7), options["source"]))
    check(hardware, algorithm, graph, schedule, direction, seed=seed,
          split=data.draw(st.sampled_from(SPLITS)), **options)


@pytest.mark.parametrize("format", ["coo", "tigr", "tigr:k=1", "block-coo:block=7", "ell:width=3",
                                    "ell:width=4:rest=csr", "dia", "dia:diagonals=3:choose=full",
                                    "cr2", "cr2:cluster_bits=3", "cr2:cluster_bits=8:warp_bits=2",
                                    "cr2:cluster_bits=5:expand=no:bases=global",
                                    "cr2:cluster_bits=4:reorder=louvain"])
@pytest.mark.parametrize("algorithm, direction, schedule", COMBINATIONS)
@pytest.mark.sample(75)
def test_formats(format, algorithm, direction, schedule):
    names = ("star", "loops", "single", "no arcs", "one row", "one column", "sparse")
    other = names[zlib.crc32(f"{format} {algorithm} {schedule}".encode()) % len(names)]
    if algorithm == "gcn" and "reorder" in format:
        with pytest.raises(UserError, match="orders the vertices of each graph in its own way"):
            check(config(2, 4), algorithm, GRAPHS["random"], schedule, direction, format=format)
        return
    hardware = config(2, 4, cores=2, imem_bytes=1 << (15 if algorithm == "gcn" else 14))
    for name, split in zip(("random", other), SPLITS):
        check(hardware, algorithm, GRAPHS[name], schedule, direction, seed=2,
              split=split, format=format, **ALGORITHMS[algorithm])


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_shards(algorithm, direction):
    for name in ("random", "star", "loops", "single", "no arcs", "one row", "one column"):
        for split in SPLITS:
            check(config(2, 4, cores=2), algorithm, GRAPHS[name], "em", direction, seed=2,
                  split=split, format="g-shards:shard=16", **ALGORITHMS[algorithm])


@pytest.mark.parametrize("format", ["csr", "ell:width=2", "dia", "tigr:k=3", "block-coo:block=16",
                                    "g-shards", "cr2:cluster_bits=3",
                                    "cr2:cluster_bits=4:reorder=louvain"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.sample(6)
def test_directions_that_change(schedule, format):
    if format == "g-shards" and schedule != "em":
        pytest.skip("no rows")
    pulled = set()
    for name in ("random", "star", "path", "spindle"):
        for frontier, split in ((None, "static"), (None, "counter"), ("counter", "counter")):
            hardware = config(2, 4, cores=2, imem_bytes=1 << 16)
            result = check(hardware, "bfs", GRAPHS[name], schedule, "auto", seed=2, format=format,
                           frontier=frontier, split=split, source=0)
            assert result.direction == "auto"
            pulled.add(len(set(result.parameters["directions"])) == 2)
    assert pulled == {False, True}


@pytest.mark.parametrize("lead", [0, 1, 2])
def test_lists_of_records_after_pulling(lead):
    """When pushing follows pulling, the lists hold the frontier's records and no earlier ones,
    whatever the superstep. ``lead`` vertices in a row lead to the spindle."""
    whole = GRAPHS["spindle"]
    kept = whole.dst != 22                      # its superstep 2 is the last
    row = range(22, 22 + lead)
    graph = Graph(22 + lead, [*whole.src[kept], *row], [*whole.dst[kept], *[0, *row][:lead]])
    hardware = config(2, 4)
    with Device.functional(hardware) as device:
        asked = {"schedule": "vm", "direction": "auto", "format": "cr2:cluster_bits=3",
                 "source": row[-1] if row else 0}
        result = device.run("bfs", graph, **asked)
        assert result.parameters["directions"] == [*["push"] * lead, "push", "pull", "push"]
        task = device.plan("bfs", graph, **asked)
        last = 2 + lead
        side = task.sides["push_edges0"]
        ends = task.buffers.read(device.machine, "active_ends").reshape(2, -1)[last % 2]
        listed = {(layout.part, layout.k): int(ends[layout.end_index] - layout.first_row(None)) // 4
                  for layout in side.layouts}
    frontier = np.flatnonzero(result.outputs["depth"] == last)
    expected = dict.fromkeys(listed, 0)
    for layout in side.layouts:
        bases = side.format.image.global_bases(layout.part, layout.k)
        expected[layout.part, layout.k] = int(np.isin(bases, frontier).sum())
    assert listed == expected


@pytest.mark.parametrize("algorithm", ["pagerank", "cc"])
def test_directions_that_do_not_change(algorithm):
    with pytest.raises(UserError, match=f"{algorithm!r} cannot change its direction"):
        check(config(2, 4), algorithm, GRAPHS["path"], "vm", "auto", **ALGORITHMS[algorithm])


@pytest.mark.parametrize("format", ["csr", "coo", "tigr:k=2", "block-coo:block=16", "ell", "dia",
                                    "cr2:cluster_bits=4"])
def test_every_format_gives_the_same(format):
    for algorithm, options in ALGORITHMS.items():
        result = check(config(2, 4), algorithm, GRAPHS["dense"], "weaver", "push", format=format,
                       **options)
        assert result.checksum == check(config(2, 4), algorithm, GRAPHS["dense"], "vm", "push",
                                        **options).checksum


@pytest.mark.parametrize("format, message", [
    ("bsr", "no format 'bsr'; there are coo, cr2, csr, dia, ell, g-shards, tigr"),
    ("g-shards", "format g-shards has no getNeighbor: the edges of a vertex are scattered"),
    ("cr2:cluster_bits=17", "format cr2: cluster_bits is '17', must be an integer from 1 to 16"),
    ("csr:block=0", "format csr: block is '0', must be an integer from 1 to"),
    ("tigr:k=0", "format tigr: k is '0', must be an integer from 1 to 65536"),
    ("coo:offsets=no", "format coo has no getNeighbor: it was built with offsets=no"),
])
def test_refused_formats(format, message):
    with pytest.raises(UserError, match=message):
        check(config(2, 4), "bfs", GRAPHS["path"], "vm", "push", format=format)


@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_widths_of_virtual_warps(width, algorithm, direction):
    for name in ("random", "star", "loops", "one row", "one column"):
        check(config(2, 8), algorithm, GRAPHS[name], f"vwc:width={width}", direction, seed=3,
              **ALGORITHMS[algorithm])


@pytest.mark.parametrize("schedule, message", [
    ("vwc:width=3", "width is '3', must be a power of two from 2 to 32"),
    ("vwc:width=8", "has virtual warps of 8 lanes, which must not be more than the 4 lanes"),
    ("vwc:width=64", "schedule vwc: width is '64', must be a power of two from 2 to 32"),
    ("vm:width=8", "schedule vm has no option 'width', it has unroll"),
    ("zm", "no schedule 'zm'; there are cm, compact, em, etwc, graphpeg, scu, scu-enhanced"),
])
def test_refused_schedules(schedule, message):
    with pytest.raises(UserError, match=message):
        check(config(2, 4), "bfs", GRAPHS["path"], schedule, "push")


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("entries", [4, 8, 12])
def test_weaver_with_a_smaller_table(entries, algorithm, direction, seed):
    check(config(4, 4, weaver_entries=entries), algorithm, GRAPHS["random"], "weaver", direction,
          seed=seed, **ALGORITHMS[algorithm])


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_pagerank_iterations(schedule, iterations):
    for direction in ("pull", "push"):
        result = check(config(2, 4), "pagerank", GRAPHS["random"], schedule, direction,
                       iterations=iterations, damping=0.5)
        assert result.supersteps == iterations


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_pagerank_stops_at_the_tolerance(schedule):
    for direction in ("pull", "push"):
        result = check(config(2, 4), "pagerank", GRAPHS["random"], schedule, direction,
                       iterations=50, tolerance=1e-3)
        # The last sweep is the first one whose changes of ranks add up to less than the tolerance.
        before, last, after = (pagerank_float(GRAPHS["random"], result.supersteps - back)
                               for back in (2, 1, 0))
        assert np.abs(last - before).sum() >= 1e-3 > np.abs(after - last).sum()


@pytest.mark.parametrize("direction", ["pull", "push"])
def test_schedules_agree(direction):
    for algorithm, options in ALGORITHMS.items():
        checksums = {check(config(2, 4), algorithm, GRAPHS["random"], schedule, direction,
                           **options).checksum for schedule in SCHEDULES}
        assert len(checksums) == 1


def test_unreached_vertices():
    result = check(config(2, 4), "bfs", GRAPHS["path"], "weaver", "push", source=30)
    for name in ("depth", "parent"):
        assert result.outputs[name].dtype == np.uint32
        assert (result.outputs[name][:30] == (1 << 32) - 1).all()
    assert result.outputs["depth"][30:].tolist() == list(range(10))
    assert result.outputs["parent"][30] == 30


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lengths_that_do_not_fit_are_no_paths(schedule, direction):
    """Some detours are longer than 32 bits can hold, while every distance fits."""
    most = (1 << 32) - 2
    graph = Graph(5, [0, 0, 1, 1, 3, 3, 2, 2], [1, 2, 2, 3, 1, 2, 3, 4],
                  [most, 5, most, most, 9, most, 7, 6])
    result = check(config(2, 4), "sssp", graph, schedule, direction, seed=3, source=0)
    assert result.outputs["distance"].tolist() == [0, 21, 5, 12, 11]


def test_refused_by_sssp():
    device = Device.functional(config(2, 4))
    with pytest.raises(UserError, match="takes the weights of edges, and path has none; "
                                        "--weights N gives"):
        device.run("sssp", GRAPHS["path"])
    far = Graph(3, [0, 1], [1, 2], [1 << 31, 1 << 31], name="far")
    with pytest.raises((RunError, UserError), match="vertex 2|distance.2."):
        device.run("sssp", far)                                 # no length that fits


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_components_of_a_long_path_are_found_by_shortcuts(schedule):
    """The numbers of a path's vertices fall and rise again: far fewer supersteps than vertices."""
    order = np.concatenate([np.arange(199, -1, -2), np.arange(0, 200, 2)])
    graph = Graph(200, order[:-1], order[1:], name="zigzag")
    result = check(config(2, 4), "cc", graph, schedule, "push")
    assert (result.outputs["label"] == 0).all() and result.supersteps <= 12
