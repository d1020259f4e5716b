"""Frontiers on the instruction-set simulator: every kind, deduplicated or not.

=================  ===============================================================================
feature            tests
=================  ===============================================================================
results            ``test_all_graphs``, ``test_formats``, ``test_random_graphs_and_interleavings``
pairs              ``test_pairs``, ``test_random_pairs``, ``test_a_list_has_each_vertex_once``,
                   ``test_a_made_map_is_left_clear``, ``test_pairs_of_every_size``
reverse queues     ``test_reverse_queues``, ``test_a_reverse_queue_has_what_is_not_found``
the count          ``test_each_vertex_is_counted_once``,
                   ``test_what_is_added_twice_is_counted_twice``
maps               ``test_a_map_is_left_clear``, ``test_maps_that_take_several_turns_to_clear``
duplicates         ``test_a_queue_has_room_for_an_entry_of_every_edge``,
                   ``test_duplicates_do_not_multiply``
refusals           ``test_refused``, ``test_who_can_is_named``
=================  ===============================================================================
"""

import itertools
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from base.errors import UserError
from sw.graph import Graph
from sw.compile import planning, schedules
from sw.compile.frontiers import pairs
from sw.compile.kernels.split import SPLITS
from sw.compile.lower.machine import RtlMachine
from sw.compile.plan import Plan
from sw.device import Device
from tb.sw.graphs import graphs, random_graph
from tb.sw.compile.kernels.test_programs import GRAPHS, check, config
from tb.sw.searches import fits


def frontiers(algorithm, direction, schedule):
    """The frontiers that must be available."""
    if algorithm == "cc" or (algorithm, direction) == ("sssp", "pull"):
        return ["counter"]
    queue = ["queue"] if direction == "push" and schedule != "em" else []
    return [*queue, "bitmap", "bytemap", "counter"]


COMBINATIONS = [(algorithm, direction, schedule, frontier)
                for algorithm, direction, schedule in itertools.product(
                    ("bfs", "sssp", "cc"), ("push", "pull"), ("vm", "em", "weaver"))
                for frontier in frontiers(algorithm, direction, schedule)]


class Recorder:
    """Records what the host hears of sets in a run.

    Attributes
    ----------
    task : Task
        Task of the last run.
    sizes : list of int
        The size of each set whose size it asked, in this order.
    """

    def __init__(self, device):
        self._device = device

    def run(self, algorithm, graph, **options):
        self.sizes, plan, size = [], self._device.plan, RtlMachine.size

        def planned(*arguments, **named):
            self.task = plan(*arguments, **named)
            return self.task

        def asked(machine, vset):
            before = len(self.sizes)
            found = size(machine, vset)
            if machine._session is not None:    # else it only finds the first words
                self.sizes[before:] = [found]   # a queue with a pile asks for that of its near set
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self._device, "plan", planned)
            patch.setattr(RtlMachine, "size", asked)
            result = self._device.run(algorithm, graph, **options)
        assert result.verified
        return result

    def words(self, name):
        """The contents of a buffer after the last run."""
        return self.task.buffers.read(self._device.machine, name)


@pytest.mark.parametrize("algorithm, direction, schedule, frontier", COMBINATIONS)
@pytest.mark.sample(17)
def test_all_graphs(algorithm, direction, schedule, frontier):
    for deduplicate in (True, False):
        for seed, (name, graph) in enumerate(GRAPHS.items()):
            result = check(config(2, 4, cores=1 + seed % 2), algorithm, graph, schedule, direction,
                           seed=seed, frontier=frontier, deduplicate=deduplicate)
            record = result.to_json()
            assert (record["frontier"], record["deduplicated"]) == (frontier, deduplicate), name


@pytest.mark.parametrize("format", ["coo", "tigr:k=3", "block-coo:block=16"])
@pytest.mark.parametrize("algorithm, direction, schedule, frontier",
                         [case for case in COMBINATIONS if case[1] == "push"])
@pytest.mark.sample(38)
def test_formats(format, algorithm, direction, schedule, frontier):
    """Formats with several rows a vertex have no queue."""
    if frontier == "queue" and format != "coo":
        return
    for deduplicate in (True, False):
        for name in ("random", "loops", "one row", "one column"):
            check(config(2, 4, cores=2), algorithm, GRAPHS[name], schedule, direction, seed=2,
                  frontier=frontier, deduplicate=deduplicate, format=format)


@pytest.mark.parametrize("algorithm, direction, schedule, frontier",
                         [case for case in COMBINATIONS if case[0] != "cc"])
@given(graph=graphs(), seed=st.integers(0, 1 << 20), data=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.sample(14)
def test_random_graphs_and_interleavings(algorithm, direction, schedule, frontier, graph, seed,
                                         data):
    source = data.draw(st.integers(0, graph.num_vertices - 1))
    options = {"source": source}
    graph = graph.weighted(40, 7)
    if algorithm == "sssp":
        assume(fits(graph, source))
        if frontier == "queue":
            options["delta"] = data.draw(st.none() | st.sampled_from((1, 13, 40, 1000, "auto"))
                                         | st.integers(1, (1 << 32) - 1))
    if options.get("delta") is None:
        options["deduplicate"] = data.draw(st.booleans())
    shape = data.draw(st.sampled_from([(2, 4), (4, 1), (1, 2), (4, 8)]))
    hardware = config(*shape, cores=data.draw(st.integers(1, 3)))
    check(hardware, algorithm, graph, schedule, direction, seed=seed, frontier=frontier,
          split=data.draw(st.sampled_from(SPLITS)), **options)


@pytest.mark.parametrize("schedule", ["vm", "em", "weaver"])
def test_each_vertex_is_counted_once(schedule):
    """With deduplication, a superstep of a search adds each vertex of the next depth once."""
    for direction in ("push", "pull"):
        for frontier in frontiers("bfs", direction, schedule):
            for name in ("random", "star", "dense", "path", "loops"):
                with Device.functional(config(2, 4, cores=2), seed=5) as device:
                    recorder = Recorder(device)
                    depth = recorder.run("bfs", GRAPHS[name], schedule=schedule,
                                         direction=direction, frontier=frontier,
                                         deduplicate=True).outputs["depth"]
                counts = np.bincount(depth[depth + 1 > 1], minlength=1)[1:]
                assert recorder.sizes == [1, *counts, 0], (direction, frontier, name)


def test_a_virtual_warp_counts_its_vertex_once():
    """Eight vertices have three arcs each from one vertex. All lanes of a virtual warp know the
    least distance."""
    graph = Graph(9, np.zeros(24, int), np.repeat(np.arange(1, 9), 3), np.arange(1, 25),
                  name="fan")
    with Device.functional(config(2, 4)) as device:
        recorder = Recorder(device)
        recorder.run("sssp", graph, schedule="vwc:width=4", direction="pull")
    assert recorder.sizes == [1, 8, 0]


PAIRS = [name for name in pairs() if "/" in name]
PAIRED = [(algorithm, schedule, pair)
          for algorithm, schedule, pair in itertools.product(
              ("bfs", "sssp"), ("vm", "vwc:width=2", "wm", "cm", "strict", "em", "weaver"), PAIRS)
          if schedule != "em" or not pair.startswith("queue")]


@pytest.mark.parametrize("algorithm, schedule, pair", PAIRED,
                         ids=["-".join(case) for case in PAIRED])
@pytest.mark.sample(40)
def test_pairs(algorithm, schedule, pair):
    """Every pair with every way to go through rows or edges, and both splits."""
    for seed, (name, split, deduplicate) in enumerate((
            ("random", "static", False), ("star", "counter", True), ("loops", "static", True),
            ("one column", "counter", False))):
        result = check(config(2, 4, cores=1 + seed % 2), algorithm, GRAPHS[name], schedule, "push",
                       seed=seed, frontier=pair, deduplicate=deduplicate, split=split)
        assert (result.frontier, result.deduplicated) == (pair, deduplicate), name
        passes = result.launches - result.supersteps * (3 if schedule == "strict" else 1)
        assert passes == result.supersteps, name


@pytest.mark.parametrize("pair", PAIRS)
@given(graph=graphs(), seed=st.integers(0, 1 << 20), data=st.data())
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_pairs(pair, graph, seed, data):
    """Other formats too: a queue needs one that leads from a vertex to its rows."""
    formats = ("csr", "cr2:cluster_bits=4") if pair.startswith("queue") else ("csr", "tigr:k=3")
    shape = data.draw(st.sampled_from([(2, 4), (4, 1), (1, 2), (4, 32)]))
    check(config(*shape, cores=data.draw(st.integers(1, 3))), data.draw(
        st.sampled_from(("bfs", "sssp"))), graph.weighted(40, 7),
        data.draw(st.sampled_from(("vm", "weaver", "strict"))), "push", seed=seed, frontier=pair,
        deduplicate=data.draw(st.booleans()), split=data.draw(st.sampled_from(SPLITS)),
        format=data.draw(st.sampled_from(formats)))


@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_of_every_size(pair):
    """The last vertex is in the first, the last or the only word of a map, and a vertex of every
    word is in a frontier whose vertices lead on, on one lane and on many."""
    for vertices in (1, 31, 33, 129, 700):
        upper = np.arange((vertices + 1) // 2, vertices)
        graph = Graph(vertices, np.append(np.zeros_like(upper), upper),
                      np.append(upper, upper - upper[:1] + 1), np.arange(1, 2 * len(upper) + 1),
                      name="two fans")
        for *shape, cores in ((1, 1, 1), (2, 4, 2), (4, 32, 2)):
            check(config(*shape, cores=cores), "sssp", graph, "vm", "push", frontier=pair)


@pytest.mark.parametrize("pair", ["queue/bitmap", "queue/bytemap"])
def test_a_list_has_each_vertex_once(pair):
    """The list of the last superstep has the last vertices added, each once, also where the map
    was given a vertex several times."""
    for shape in ((1, 1), (2, 4), (4, 32)):
        with Device.functional(config(*shape, cores=2), seed=4) as device:
            recorder = Recorder(device)
            result = recorder.run("bfs", bipartite(40), schedule="vm", frontier=pair,
                                  deduplicate=False)
            ends, entries = recorder.words("listed_ends"), recorder.words("listed")
        start = recorder.task.buffers.address("listed")
        last = np.flatnonzero(result.outputs["depth"] == result.supersteps - 1)
        depth = recorder.task.buffers.address("vector_depth")
        assert sorted((entries[:len(last)] - depth) // 4) == sorted(last)
        assert sorted(ends[:2]) == [start, start + 4 * len(last)]


@pytest.mark.parametrize("name", ["bitmap", "bytemap"])
def test_a_made_map_is_left_clear(name):
    """Of the two maps that a pass makes, one has the last superstep's vertices."""
    for schedule in ("vm", "strict"):
        with Device.functional(config(2, 4, cores=2), seed=3) as device:
            recorder = Recorder(device)
            recorder.run("sssp", GRAPHS["random"].weighted(40, 7), schedule=schedule,
                         frontier=f"{name}/queue")
            maps = [recorder.words(array) for array in ("made_map", "other_made_map")]
        assert sorted(bool(each.any()) for each in maps) == [False, True]


REVERSED = [(schedule, hybrid) for schedule in ("vm", "vwc:width=2", "wm", "cm", "strict", "weaver")
            for hybrid in (None, "rqueue", "queue/bitmap", "bytemap/queue", "bitmap/bytemap")]


@pytest.mark.parametrize("schedule, pushed", REVERSED)
@pytest.mark.sample(10)
def test_reverse_queues(schedule, pushed):
    """For a search that only pulls, and for hybrids that change to and fro between the plans."""
    plans = ["bfs direction=pull frontier=rqueue"]
    if pushed is not None:
        output = pushed.partition("/")[2]
        pulled = f"rqueue/{output}" if output else "rqueue"
        plans = [f"bfs frontier={pushed} | bfs direction=pull frontier={pulled} when frontier>=0.1",
                 f"bfs direction=pull frontier={pulled} | bfs frontier={pushed} when frontier>=0.1"]
    for seed, (plan, name, split) in enumerate(itertools.product(
            plans, ("random", "path", "loops"), SPLITS)):
        hardware = config(2, 4, cores=1 + seed % 2)
        with Device.functional(hardware, seed=seed) as device:
            result = device.run(plan, GRAPHS[name], schedule=schedule, split=split)
        assert result.verified
        ways = result.parameters.get("directions", ["pull"] * result.supersteps)
        pulls = list(ways).count("pull")
        made = [step["launches"] for step_name, step in result.steps.items()
                if step_name.startswith("unfound_")]
        assert sum(made) == pulls, (plan, name)


def test_a_reverse_queue_has_what_is_not_found():
    """The last list has the vertices that no path leads to."""
    graph = Graph(90, np.arange(29), np.arange(1, 30), name="path and islands")
    for shape in ((1, 1), (2, 4), (4, 32)):
        with Device.functional(config(*shape, cores=2), seed=4) as device:
            recorder = Recorder(device)
            recorder.run("bfs", graph, schedule="vm", direction="pull", frontier="rqueue")
            ends, entries = (
                recorder.words(f"vector_depth_unfound{what}") for what in ("_ends", ""))
        start = recorder.task.buffers.address("vector_depth_unfound")
        vertices = (entries[:60] - recorder.task.buffers.address("vector_depth")) // 4
        assert sorted(vertices) == list(range(30, 90))
        assert sorted(ends[:2]) == [start, start + 4 * 60]


def bipartite(width):
    """One vertex leads to ``width`` vertices. Each of these leads to ``width`` further ones, and
    all of those lead to one last vertex."""
    near = np.arange(1, width + 1)
    far = near + width
    src = np.concatenate([np.zeros(width, int), np.repeat(near, width), far])
    dst = np.concatenate([near, np.tile(far, width), np.full(width, 2 * width + 1)])
    return Graph(2 * width + 2, src, dst, name="bipartite")


@pytest.mark.parametrize("schedule", ["vm", "weaver"])
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_a_queue_has_room_for_an_entry_of_every_edge(schedule, algorithm):
    """Duplicates occur but do no work: no superstep adds more vertices than its vertices have
    edges."""
    width = 12
    rng = np.random.default_rng(1)
    graph = bipartite(width)
    graph = Graph(graph.num_vertices, graph.src, graph.dst,
                  rng.integers(1, 1000, graph.num_edges))
    most = 0
    for seed in range(6):
        with Device.functional(config(4, 8, cores=2), seed=seed) as device:
            recorder = Recorder(device)
            recorder.run(algorithm, graph, schedule=schedule, deduplicate=False)
        pool = recorder.task.algorithm.pool
        assert pool.entries(recorder.task, 0) >= graph.num_edges
        assert max(recorder.sizes) <= width * width
        most = max(most, *recorder.sizes)
    assert most > width


def waist():
    """Many vertices lead to one vertex, each by a shorter path than the one before. This vertex
    leads to many others."""
    src = np.concatenate([np.zeros(30, int), np.arange(1, 31), np.full(40, 31)])
    dst = np.concatenate([np.arange(1, 31), np.full(30, 31), np.arange(32, 72)])
    return Graph(72, src, dst, np.concatenate([np.arange(30, 0, -1), 100 * np.arange(30, 0, -1),
                                               np.ones(40, int)]), name="waist")


@pytest.mark.parametrize("frontier", ["queue", "bitmap", "bytemap", "counter"])
def test_a_vertex_that_becomes_nearer_twice_is_counted_once(frontier):
    """With deduplication, the vertex is counted once in a superstep."""
    with Device.functional(config(4, 8)) as device:
        recorder = Recorder(device)
        recorder.run("sssp", waist(), schedule="vm", frontier=frontier, deduplicate=True)
    assert recorder.sizes == [1, 30, 1, 40, 0]


@pytest.mark.parametrize("schedule", ["vm", "weaver"])
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_duplicates_do_not_multiply(schedule, algorithm):
    """A vertex is in the queue several times. Each vertex it leads to is then in the queue once."""
    graph = waist()
    with Device.functional(config(4, 8, cores=2), seed=1) as device:
        recorder = Recorder(device)
        recorder.run(algorithm, graph, schedule=schedule, deduplicate=False)
    assert recorder.sizes[:2] == [1, 30] and recorder.sizes[2] > 1
    assert recorder.sizes[3:] == [40, 0]


@pytest.mark.parametrize("frontier", ["bitmap", "bytemap", "counter"])
def test_what_is_added_twice_is_counted_twice(frontier):
    """With schedule em, all lanes of a warp find the same vertex at once: each counts it."""
    counts = {}
    for deduplicate in (True, False):
        with Device.functional(config(1, 8)) as device:
            recorder = Recorder(device)
            recorder.run("bfs", bipartite(8), schedule="em", frontier=frontier,
                         deduplicate=deduplicate)
        counts[deduplicate] = recorder.sizes[1:]
    assert counts[True] == [8, 8, 1, 0]
    assert counts[False] == [8, 64, 8, 0]


@pytest.mark.parametrize("frontier", ["bitmap", "bytemap"])
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
@pytest.mark.parametrize("schedule", ["vm", "em", "weaver"])
def test_a_map_is_left_clear(frontier, algorithm, schedule):
    """After a run, the maps of the sets that the host has forgotten, and of the empty set, are
    clear but for one of a storage: it has the vertices of its last set."""
    for name in ("random", "path", "star"):
        with Device.functional(config(2, 4, cores=2), seed=3) as device:
            recorder = Recorder(device)
            recorder.run(algorithm, GRAPHS[name].weighted(40, 7), schedule=schedule,
                         frontier=frontier)
            maps = recorder.words("set_maps").reshape(recorder.task.algorithm.pool.storages, 2, -1)
        filled = maps.any(axis=2).sum(axis=1)
        assert filled.any() and (filled <= 1).all(), name


@pytest.mark.parametrize("frontier", ["bitmap", "bytemap"])
@pytest.mark.parametrize("vertices", [31, 129, 700])
def test_maps_that_take_several_turns_to_clear(frontier, vertices):
    """A lane clears from one to many words of a map."""
    graph = random_graph(vertices, 2 * vertices, 4)
    for shape in ((1, 1), (2, 4), (4, 32)):
        for cores in (1, 3):
            check(config(*shape, cores=cores), "sssp", graph, "em", "push", frontier=frontier)


@pytest.mark.parametrize("algorithm, options, message", [
    ("bfs", {"frontier": "stack"},
     "frontier is 'stack', must be queue or bitmap or bytemap or counter or rqueue or "
     "lists, or INPUT/"),
    ("bfs", {"frontier": "queue", "schedule": "em"},
     "bfs push cannot have frontier 'queue': schedule 'em' cannot begin with a list"),
    ("sssp", {"frontier": "queue", "format": "tigr"},
     "'tigr' has no list that leads from a vertex"),
    ("bfs", {"frontier": "queue", "direction": "pull"},
     "bfs pull cannot have frontier 'queue': when pulling, a schedule visits the vertices that "
     "gather, not the vertices of the frontier; it can have bitmap or bytemap or counter or rque"),
    ("sssp", {"frontier": "bitmap", "direction": "pull"},
     "sssp pull cannot have frontier 'bitmap': nothing would read the bitmap: no operator "
     "has to know the members of a set, which are only counted .fact asked.; it can have counter"),
    ("pagerank", {"frontier": "counter"}, "pagerank has no choice of frontier: its operators"),
    ("pagerank", {"deduplicate": True}, "pagerank has no choice of deduplication: its op"),
    ("gcn", {"frontier": "queue", "direction": "pull"},
     "gcn has no choice of frontier: every vertex takes part"),
    ("sssp", {"deduplicate": False, "delta": 5},
     "sssp with frontier 'queue' is deduplicated in any case: the far pile has room"),
    ("sssp", {"delta": 0}, "sssp: delta is 0, must be from 1 to 4294967295, or auto"),
    ("sssp", {"delta": 1 << 32}, "delta is 4294967296, must be from 1 to 4294967295"),
    ("bfs", {"frontier": "queue/bitmap", "schedule": "em"},
     "bfs push cannot have frontier 'queue/bitmap': schedule 'em' cannot begin with a list"),
    ("bfs", {"frontier": "queue/counter"},
     "'queue/counter': a counter does not tell which vertices it has counted"),
    ("bfs", {"frontier": "queue/lists"}, "'queue/lists': the lists are for the unit that keeps"),
    ("bfs", {"frontier": "lists"},
     "bfs push cannot have frontier 'lists': schedule 'vm' cannot take vertices from li"),
    ("bfs", {"frontier": "queue/rqueue"}, "'queue/rqueue': nothing is added to an rqueue"),
    ("bfs", {"frontier": "counter/bitmap"},
     "bfs push cannot have frontier 'counter/bitmap': nothing would read the bitmap: with "
     "input counter each vertex is tested by its words or stamp"),
    ("bfs", {"frontier": "rqueue"},
     "bfs push cannot have frontier 'rqueue': pushing visits the vertices of the frontier"),
    ("bfs", {"frontier": "rqueue/queue", "direction": "pull"},
     "bfs pull cannot have frontier 'rqueue/queue': pulling tests the sources of edges"),
    ("bfs", {"frontier": "rqueue", "direction": "pull", "schedule": "em"},
     "bfs pull cannot have frontier 'rqueue': schedule 'em' cannot begin with a list"),
    ("sssp", {"frontier": "rqueue", "direction": "pull"},
     "sssp pull cannot have frontier 'rqueue': no operator of edges has a filter"),
    ("cc", {"frontier": "bitmap"},
     "cc push cannot have frontier 'bitmap': nothing would read the bitmap"),
    ("cc", {"frontier": "rqueue", "direction": "pull"},
     "cc pull cannot have frontier 'rqueue': no operator of edges has a filter"),
    ("bc", {"frontier": "queue", "format": "cr2"},
     "format 'cr2' has room for a list of the rows of one operator of edges, and s0:s1 and s2:s3 "
     "go by lists; it can have bitmap or bytemap or counter"),
    ("bfs", {"delta": 5}, "algorithm 'bfs' has no parameter 'delta'; it has source"),
])
def test_refused(algorithm, options, message):
    def never():
        raise AssertionError("the machine is made although the run is refused")
    device = Device(config(2, 4), never)
    with pytest.raises(UserError, match=message):
        device.run(algorithm, GRAPHS["random"].weighted(9), **{"schedule": "vm", **options})


@pytest.mark.parametrize("frontier, lacks", [("queue", "em"), ("lists", "vm")])
def test_who_can_is_named(frontier, lacks):
    """A refusal names schedules with the ability that is missing, and these take the frontier."""
    def tried(schedule):
        needs = schedules.equip(config(2, 4), [schedule])
        return planning.make(needs, Plan("bfs", schedule=schedule, frontier=frontier,
                                         direction="push"), GRAPHS["random"])

    with pytest.raises(UserError) as refused:
        tried(lacks)
    able = re.search(r"cannot [^;]*; ([^;]*) can; ", str(refused.value)).group(1).split(", ")
    assert able and lacks not in able
    for schedule in able:
        assert tried(schedule).plan.frontier == frontier
