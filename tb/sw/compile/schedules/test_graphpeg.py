"""The schedule of GraphPEG: pops of edges, lists of vertices, and a pass that filters vertices.

=====================  ===========================================================================
feature                tests
=====================  ===========================================================================
results                ``test_results``, ``test_programs_of_the_language``
lists of the unit      ``test_lists_are_the_default``, ``test_dealt_lists``,
                       ``test_frontiers``, ``test_hybrids``
no vertex twice        ``test_each_vertex_gives_its_edges_once``, ``test_a_list_has_a_vertex_once``
slices of vertices     ``test_slices``, ``test_slices_share_the_edges_of_the_direction``
fused loops            ``test_fusion``
edges that are dropped ``test_results``, ``test_edges_are_dropped``
refused                ``test_formats_without_plain_rows``, ``test_refused``,
                       ``test_other_schedules_on_the_unit``
=====================  ===========================================================================
"""

import itertools

import numpy as np
import pytest

from base.errors import UserError
from hw.operations import GatherSetting
from sw.golden.gather.graphpeg import GraphpegModel
from sw.graph import Graph
from sw.compile.kernels.gathering import CoreSlices
from sw.device import Device
from tb.sw.compile.kernels.test_programs import ALGORITHMS, GRAPHS, check, config
from tb.sw.compile.schedules.test_weaver import draw
from tb.sw.compile.sides import only_side
from tb.sw.searches import bfs


SCHEDULES = ("graphpeg", "graphpeg:works=1", "graphpeg:works=3")

#: Programs of the language that no form of loops takes, with parameters.
PROGRAMS = {"kcore": {}, "mis": {}, "label_propagation": {}, "bc": {"source": 0}}


def hardware(*shape, **changes):
    return config(*(shape or (4, 8)), gather="graphpeg", **{"imem_bytes": 1 << 15} | changes)


def plan(algorithm, graph="random", device=None, **choices):
    device = device or Device.functional(hardware(cores=2))
    given = ALGORITHMS[algorithm] | {"schedule": "graphpeg"} | choices
    return device.plan(algorithm, GRAPHS[graph].weighted(40, 7), **given)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(20)
def test_results(algorithm, direction, schedule):
    """Bit-identical to the reference, warps in random order, orders that are drawn."""
    rng = draw("graphpeg", algorithm, direction, schedule)
    formats = ["csr"] if algorithm == "gcn" else ["csr", "csr:reorder=rcm"]
    for name in ("one row", "one column", "single", *rng.sample(list(GRAPHS), 3)):
        shape = rng.choice([(2, 4), (4, 8), (4, 1), (8, 2), (1, 32)])
        fields = {"cores": rng.choice([1, 2, 3, 6]), "graphpeg_filter": rng.choice([False, True])}
        check(hardware(*shape, **fields), algorithm, GRAPHS[name], schedule,
              direction, seed=rng.randrange(1 << 20), warps=rng.choice([None, 1]),
              format=rng.choice(formats), **ALGORITHMS[algorithm])


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_the_language(program, direction):
    check(hardware(cores=2, graphpeg_filter=True), program,
          GRAPHS["random"].undirected().simplify(), "graphpeg", direction, seed=5,
          **PROGRAMS[program])


@pytest.mark.parametrize("algorithm, direction, test", [
    ("bfs", "push", "depth == a number"), ("bfs", "pull", None),
    ("sssp", "push", "distance > distance of the base vertex + weight"), ("sssp", "pull", None),
    ("cc", "push", "label != label of the base vertex"),
    ("cc", "pull", "label != label of the base vertex"), ("pagerank", "pull", None)],
    ids=lambda value: value if value in ("push", "pull", *ALGORITHMS) else "")
def test_edges_are_dropped(monkeypatch, algorithm, direction, test):
    """The unit tests the edges of an operator that has a test of their neighbours, and drops some;
    a run says which, or what is missing."""
    tested, counts = [], GraphpegModel._counts_by

    def count(self, *args):
        tested.append(counts(self, *args))
        return tested[-1]
    monkeypatch.setattr(GraphpegModel, "_counts_by", count)
    result = check(hardware(graphpeg_filter=True), algorithm, GRAPHS["random"], "graphpeg",
                   direction, seed=7, model=True, **ALGORITHMS[algorithm])
    found, = (each for each in result.lowered.decisions if "drops" in each.what)
    assert found.taken == (test is not None)
    if test is None:
        assert "comparison" in found.fact and not tested
    else:
        assert found.fact == test and {*tested} == {False, True}


def test_lists_are_the_default():
    """Searches that push go by the unit's lists on one core, and where cores exchange edges. On
    several cores without, they go by a queue. Others go by a range, filtered if vertices are."""
    one = Device.functional(hardware())
    for algorithm in ("bfs", "sssp"):
        assert plan(algorithm, direction="push", device=one).plan.frontier == "lists"
        assert plan(algorithm, direction="push").plan.frontier == "queue"
        assert plan(algorithm, direction="push", device=Device.functional(
            hardware(cores=2, exchange_interval=64))).plan.frontier == "lists"
    assert "filtered" not in plan("bfs", direction="push").buffers
    assert plan("bfs", direction="pull").plan.frontier == "counter"
    assert "filtered" in plan("bfs", direction="pull").buffers
    assert only_side(plan("cc")).frontier.name == "counter"
    assert "filtered" not in plan("cc").buffers
    assert "filtered" not in plan("pagerank").buffers
    assert plan("sssp", direction="push", delta="auto").plan.frontier == "queue"


@pytest.mark.parametrize("cores", [2, 3, 6])
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_dealt_lists(algorithm, cores):
    """Shares that begin and end within lists, cores without one, and lists without vertices."""
    for name in ("random", "star", "one row", "path"):
        for lists in ("own", "dealt"):
            check(hardware(2, 4, cores=cores), algorithm, GRAPHS[name], f"graphpeg:lists={lists}",
                  "push", seed=7, frontier="lists", **ALGORITHMS[algorithm])


@pytest.mark.parametrize("frontier", ["queue", "bitmap", "bytemap", "counter", "queue/bitmap",
                                      "bitmap/queue", "bytemap/bitmap"])
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_frontiers(algorithm, frontier):
    """Lists of others are divided among the cores, and a pass filters by maps."""
    check(hardware(2, 4, cores=2), algorithm, GRAPHS["random"], "graphpeg", "push", seed=2,
          frontier=frontier, **ALGORITHMS[algorithm])


@pytest.mark.parametrize("pull", ["frontier=counter", "frontier=rqueue"])
def test_hybrids(pull):
    """A pull adds to the unit's lists, which the next push reads."""
    text = ("bfs schedule=graphpeg direction=push frontier=lists | bfs schedule=graphpeg "
            f"direction=pull {pull} when frontier>=0.1")
    device = Device.functional(hardware(2, 4, cores=2), seed=1)
    result = device.run(text, GRAPHS["spindle"], source=0)
    assert result.verified and {"push", "pull"} <= {*result.parameters["directions"]}
    assert device.plan(text, GRAPHS["spindle"], source=0).plan.first.frontier == "lists"


@pytest.mark.parametrize("schedule, frontier", [
    ("graphpeg", "queue"), ("graphpeg", "bitmap"), ("graphpeg:lists=own", "lists"),
    ("graphpeg:lists=dealt", "lists")])
def test_each_vertex_gives_its_edges_once(monkeypatch, schedule, frontier):
    """A search hands out the edges of each vertex that it reaches, and no other edge. It ends when
    a superstep adds no vertex."""
    loads, load = [], GraphpegModel._load

    def count(self, edge):
        loads.append(edge)
        return load(self, edge)
    monkeypatch.setattr(GraphpegModel, "_load", count)
    graph = GRAPHS["random"]
    result = check(hardware(2, 4, cores=3), "bfs", graph, schedule, "push", seed=7,
                   model=True, frontier=frontier, source=5)
    depth, _ = bfs(graph, 5)
    assert result.supersteps == depth.max() + 1
    assert len(loads) == len({*loads}) == graph.out_degrees[depth >= 0].sum()


def test_a_list_has_a_vertex_once(monkeypatch):
    """A vertex whose distance falls several times in a superstep is pushed once."""
    pushed, closed, push, settings = [], [], GraphpegModel.push, GraphpegModel.set

    def note(self, vertices):
        pushed.extend(vertices.tolist())
        push(self, vertices)

    def close(self, number, value):
        if number == GatherSetting.CLOSE:
            assert len(pushed) == len({*pushed})
            closed.append(len(pushed))
            pushed.clear()
        settings(self, number, value)
    monkeypatch.setattr(GraphpegModel, "push", note)
    monkeypatch.setattr(GraphpegModel, "set", close)
    result = check(hardware(2, 4), "sssp", GRAPHS["dense"], "graphpeg", "push", seed=7,
                   model=True, frontier="lists", source=0)
    assert result.supersteps > 2 and closed and not pushed


def test_slices():
    """The slices have all vertices, begin at whole rows of lanes, and share the work evenly."""
    rng = np.random.default_rng(3)
    graph = Graph(1000, np.sort(rng.zipf(1.6, 9000) % 1000), rng.integers(0, 1000, 9000))
    device = Device.functional(hardware(4, 8, cores=6))
    task = device.plan("pagerank", graph, schedule="graphpeg", direction="push", iterations=1)
    side = only_side(task)
    bounds = CoreSlices(side, side.layouts[0]).bounds()
    assert len(bounds) == 7 and bounds[0] == 0 and bounds[-1] == 1000
    assert (np.diff(bounds) >= 0).all() and not (bounds[:-1] % 8).any()
    work = [int(graph.out_degrees[low:high].sum()) + high - low
            for low, high in itertools.pairwise(bounds)]
    largest = int(graph.out_degrees.max())
    assert max(work) <= 10_000 / 6 + largest + 8 * 2 + max(
        int(graph.out_degrees[low:low + 8].sum()) for low in range(0, 1000, 8))


@pytest.mark.parametrize("direction", ["pull", "push"])
def test_slices_share_the_edges_of_the_direction(direction):
    """Edges that leave 100 of 1000 vertices are shared when pushing, those that arrive when
    pulling."""
    rng = np.random.default_rng(3)
    ends = np.repeat(np.arange(100), 90), rng.integers(0, 1000, 9000)
    graph = Graph(1000, *(ends if direction == "push" else ends[::-1]))
    device = Device.functional(hardware(4, 8, cores=6))
    task = device.plan("pagerank", graph, schedule="graphpeg", direction=direction, iterations=1)
    side = only_side(task)
    bounds = CoreSlices(side, side.layouts[0]).bounds()
    # A slice has at most a row of lanes more than its share.
    work = np.diff([int((ends[0] < bound).sum()) + bound for bound in bounds])
    assert work.sum() == 10_000 and work.max() <= 10_000 / 6 + 9 * 91


def test_fusion():
    """One launch starts the unit once for each superstep."""
    for algorithm, choices in (("pagerank", {}), ("cc", {}),
                               ("bfs", {"direction": "push", "frontier": "queue"})):
        check(hardware(2, 4, cores=2), algorithm, GRAPHS["random"], "graphpeg",
              choices.pop("direction", "push"), seed=3, fusion=True,
              **ALGORITHMS[algorithm] | choices)


@pytest.mark.parametrize("format", ["csr:block=16", "tigr:k=3", "ell", "dia", "cr2",
                                    "block-coo:block=16"])
def test_formats_without_plain_rows(format):
    with pytest.raises(UserError, match="schedule 'graphpeg' reads rows of vertices by their "
                                        "offsets, which format .* 'csr'"):
        plan("pagerank", format=format)


@pytest.mark.parametrize("algorithm, choices, message", [
    ("pagerank", {"split": "counter"}, "the work cannot have split=counter; split=static can"),
    ("bfs", {"direction": "push", "frontier": "lists", "fusion": True},
     "complete when a launch ends, and fusion=yes goes on in the same launch; fusion=no"),
    ("bfs", {"direction": "pull", "fusion": True}, "fusion=yes cannot have them"),
    ("bfs", {"direction": "push", "frontier": "queue", "deduplicate": False},
     "a list that has each vertex once; deduplicate=yes gives one"),
    ("bfs", {"direction": "push", "frontier": "lists", "deduplicate": False},
     "is deduplicated in any case: a list has room for each vertex once"),
    ("bfs", {"direction": "push", "frontier": "lists/bitmap"},
     "the lists are for the unit that keeps them"),
    ("bfs", {"direction": "pull", "frontier": "lists"}, "cannot have frontier 'lists'"),
    ("sssp", {"direction": "push", "frontier": "lists", "delta": "auto"},
     "cannot have frontier 'lists': near and far vertices are in a queue and a pile"),
    ("bfs", {"direction": "push", "schedule": "vm", "frontier": "lists"},
     "cannot have frontier 'lists': schedule 'vm' cannot take vertices from lists that the units "
     "of the cores keep; graphpeg can; it"),
    ("pagerank", {"schedule": "graphpeg:works=5"}, "works"),
    ("pagerank", {"schedule": "graphpeg:lists=all"}, "lists"),
])
def test_refused(algorithm, choices, message):
    with pytest.raises(UserError, match=message):
        plan(algorithm, **choices)


def test_other_schedules_on_the_unit():
    """The Weaver's schedule needs another unit, and GraphPEG's needs this one."""
    with pytest.raises(UserError, match=r"'weaver' needs a Weaver or EGHW, which configuration .* "
                                        r"does not have \(gather = 'graphpeg'\)"):
        plan("pagerank", schedule="weaver")
    with pytest.raises(UserError, match=r"'graphpeg' needs GraphPEG, which configuration .* does "
                                        r"not have \(gather = 'fsm'\); gather = 'graphpeg' has it"):
        plan("pagerank", device=Device.functional(config(4, 8)))
    assert plan("pagerank", schedule="vm").plan.schedule == "vm"
