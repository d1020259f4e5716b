"""Frontiers on the instruction-set simulator: every kind, deduplicated or not, near and far.

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
near and far       ``test_near_and_far``, ``test_the_pile_holds_a_vertex_once``,
                   ``test_near_and_far_without_a_queue``,
                   ``test_keys_far_apart_take_few_moves``, ``test_the_threshold_does_not_wrap``,
                   ``test_the_order_of_work``, ``test_fewer_vertices_are_worked_on``
refusals           ``test_refused``
=================  ===============================================================================
"""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from base.errors import UserError
from sw.graph import Graph
from sw.compile.frontiers import FRONTIERS, pairs
from sw.compile.kernels.split import SPLITS
from sw.device import Device
from tb.sw.graphs import graphs, random_graph
from tb.sw.compile.kernels.test_programs import GRAPHS, check, config
from tb.sw.searches import fits


def frontiers(algorithm, direction, schedule):
    """The frontiers that must be available."""
    if algorithm == "pagerank":
        return []
    if direction == "pull" or algorithm == "cc":
        return ["counter"]
    return [name for name in FRONTIERS
            if name not in ("rqueue", "lists") and (name != "queue" or schedule != "em")]


COMBINATIONS = [(algorithm, direction, schedule, frontier)
                for algorithm, direction, schedule in itertools.product(
                    ("bfs", "sssp", "cc"), ("push", "pull"), ("vm", "em", "weaver"))
                for frontier in frontiers(algorithm, direction, schedule)]
DELTAS = (1, 13, 40, 1000, (1 << 32) - 1, "auto")


def choices(direction, schedule, algorithm):
    """With and without deduplication, if there is a choice."""
    owned = direction == "pull" and schedule == "vm" and algorithm != "cc"
    return (True,) if owned else (True, False)


class Recorder:
    """Records the answers that a device's frontiers give to the host.

    Attributes
    ----------
    task : Task
        Task of the last run.
    added : list of int
        Vertices added in each of its supersteps.
    piles : list of int
        Entries of the far pile, each time the host read the number.
    """

    def __init__(self, device):
        self._device = device

    def run(self, algorithm, graph, **options):
        plan = self._device.plan
        self.added, self.piles = [], []

        def recorded(*arguments, **named):
            self.task = plan(*arguments, **named)
            frontier = self.task.frontier
            self._listen(frontier, "added", self.added)
            if hasattr(frontier, "far"):
                self._listen(frontier, "far", self.piles)
            return self.task

        self._device.plan = recorded
        result = self._device.run(algorithm, graph, **options)
        assert result.verified
        return result

    @staticmethod
    def _listen(frontier, method, told):
        answer = getattr(frontier, method)

        def listening(*arguments):
            told.append(answer(*arguments))
            return told[-1]
        setattr(frontier, method, listening)

    def words(self, name):
        """The contents of a buffer after the last run."""
        return self.task.buffers.read(self._device.machine, name)


@pytest.mark.parametrize("algorithm, direction, schedule, frontier", COMBINATIONS)
@pytest.mark.sample(17)
def test_all_graphs(algorithm, direction, schedule, frontier):
    for deduplicate in choices(direction, schedule, algorithm):
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
            options["delta"] = data.draw(st.none() | st.sampled_from(DELTAS)
                                         | st.integers(1, (1 << 32) - 1))
    if options.get("delta") is None:
        options["deduplicate"] = data.draw(st.sampled_from(
            choices(direction, schedule, algorithm)))
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
                counts = np.bincount(depth[depth > 0], minlength=1)[1:]
                assert recorder.added == [*counts, 0], (direction, frontier, name)


def test_a_virtual_warp_counts_its_vertex_once():
    """Eight vertices have three arcs each from one vertex. All lanes of a virtual warp know the
    least distance."""
    graph = Graph(9, np.zeros(24, int), np.repeat(np.arange(1, 9), 3), np.arange(1, 25),
                  name="fan")
    with Device.functional(config(2, 4)) as device:
        recorder = Recorder(device)
        recorder.run("sssp", graph, schedule="vwc:width=4", direction="pull")
    assert recorder.added == [8, 0]


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
    """One of the two maps has the last superstep's vertices, and the other is clear."""
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
        assert result.steps.get("unfound_pull" if pushed else "unfound",
                                {"launches": 0})["launches"] == pulls, (plan, name)


def test_a_reverse_queue_has_what_is_not_found():
    """The last list has the vertices that no path leads to."""
    graph = Graph(90, np.arange(29), np.arange(1, 30), name="path and islands")
    for shape in ((1, 1), (2, 4), (4, 32)):
        with Device.functional(config(*shape, cores=2), seed=4) as device:
            recorder = Recorder(device)
            recorder.run("bfs", graph, schedule="vm", direction="pull", frontier="rqueue")
            ends, entries = recorder.words("unfound_ends"), recorder.words("unfound")
        start = recorder.task.buffers.address("unfound")
        vertices = (entries[:60] - recorder.task.buffers.address("vector_depth")) // 4
        assert sorted(vertices) == list(range(30, 90))
        assert sorted(ends[:2]) == [start, start + 4 * 60]


@pytest.mark.parametrize("schedule, format", [("em", "coo"), ("vm", "tigr:k=3"), ("em", "csr")])
@pytest.mark.parametrize("delta", [1, 40, "auto"])
def test_near_and_far_without_a_queue(schedule, format, delta):
    """Near vertices go into the queue, and a pass makes a map of the queue."""
    for seed, (name, split) in enumerate(itertools.product(("random", "loops", "path"), SPLITS)):
        result = check(config(2, 4, cores=1 + seed % 2), "sssp", GRAPHS[name], schedule, "push",
                       seed=seed, delta=delta, format=format, split=split)
        assert result.frontier == "bitmap/queue" and result.deduplicated
        other = check(config(2, 4), "sssp", GRAPHS[name], schedule, "push", seed=seed, delta=delta,
                      format=format, frontier="bytemap/queue")
        assert other.checksum == result.checksum


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
        assert recorder.task.buffers.words("queue") >= graph.num_edges
        assert max(recorder.added) <= width * width
        most = max(most, *recorder.added)
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
    assert recorder.added == [30, 1, 40, 0]


@pytest.mark.parametrize("schedule", ["vm", "weaver"])
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_duplicates_do_not_multiply(schedule, algorithm):
    """A vertex is in the queue several times. Each vertex it leads to is then in the queue once."""
    graph = waist()
    with Device.functional(config(4, 8, cores=2), seed=1) as device:
        recorder = Recorder(device)
        recorder.run(algorithm, graph, schedule=schedule, deduplicate=False)
    assert recorder.added[0] == 30 and recorder.added[1] > 1
    assert recorder.added[2:] == [40, 0]


@pytest.mark.parametrize("frontier", ["bitmap", "bytemap", "counter"])
def test_what_is_added_twice_is_counted_twice(frontier):
    """With schedule em, all lanes of a warp find the same vertex at once. If depths tell the
    frontier, every edge to a new vertex counts, even if another edge has found the vertex."""
    counts = {}
    for deduplicate in (True, False):
        with Device.functional(config(1, 8)) as device:
            recorder = Recorder(device)
            recorder.run("bfs", bipartite(8), schedule="em", frontier=frontier,
                         deduplicate=deduplicate)
        counts[deduplicate] = recorder.added
    assert counts[True] == [8, 8, 1, 0]
    assert counts[False] == [8, 64 if frontier == "counter" else 8, 8, 0]


@pytest.mark.parametrize("frontier", ["bitmap", "bytemap"])
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
@pytest.mark.parametrize("schedule", ["vm", "em", "weaver"])
def test_a_map_is_left_clear(frontier, algorithm, schedule):
    """After the last superstep, the maps of the next two supersteps are clear."""
    for name in ("random", "path", "star"):
        with Device.functional(config(2, 4, cores=2), seed=3) as device:
            recorder = Recorder(device)
            result = recorder.run(algorithm, GRAPHS[name].weighted(40, 7), schedule=schedule,
                                  frontier=frontier)
            maps = [recorder.words(f"map_{number % 3}")
                    for number in range(result.supersteps - 1, result.supersteps + 2)]
        assert maps[0].any() and not maps[1].any() and not maps[2].any(), name


@pytest.mark.parametrize("frontier", ["bitmap", "bytemap"])
@pytest.mark.parametrize("vertices", [31, 129, 700])
def test_maps_that_take_several_turns_to_clear(frontier, vertices):
    """A lane clears from one to many words of a map."""
    graph = random_graph(vertices, 2 * vertices, 4)
    for shape in ((1, 1), (2, 4), (4, 32)):
        for cores in (1, 3):
            check(config(*shape, cores=cores), "sssp", graph, "em", "push", frontier=frontier)


@pytest.mark.parametrize("schedule", ["vm", "weaver"])
@pytest.mark.parametrize("delta", DELTAS)
def test_near_and_far(schedule, delta):
    for seed, graph in enumerate(GRAPHS.values()):
        for split in SPLITS:
            result = check(config(2, 4, cores=1 + seed % 2), "sssp", graph, schedule, "push",
                           seed=seed, delta=delta, split=split)
            assert result.frontier == "queue" and result.deduplicated
            assert result.supersteps <= result.launches
            if delta == (1 << 32) - 1:
                assert result.supersteps == result.launches


@pytest.mark.parametrize("schedule", ["vm", "weaver"])
def test_the_pile_holds_a_vertex_once(schedule):
    """The pile holds a vertex once, even if the vertex becomes nearer again and again but stays
    far."""
    graph = random_graph(30, 600, 8).weighted(10_000, 1)
    for seed in range(4):
        with Device.functional(config(4, 4, cores=2), seed=seed) as device:
            recorder = Recorder(device)
            result = recorder.run("sssp", graph, schedule=schedule, delta=200)
        assert result.launches > result.supersteps
        assert 0 < max(recorder.piles) < graph.num_vertices


@pytest.mark.parametrize("schedule", ["vm", "weaver"])
def test_keys_far_apart_take_few_moves(schedule):
    """If the next thresholds would find nothing, the threshold goes to the least distance of the
    pile."""
    step = 300_000_000
    graph = Graph(12, np.arange(11), np.arange(1, 12), np.full(11, step), name="path")
    result = check(config(2, 4), "sssp", graph, schedule, "push", delta=1)
    assert result.outputs["distance"].tolist() == [step * i for i in range(12)]
    # There is one superstep a vertex. At most two moves lie between two supersteps; the last move
    # finds nothing.
    assert result.supersteps == 12 and result.launches - result.supersteps <= 2 * 11


@pytest.mark.parametrize("schedule", ["vm", "weaver"])
def test_the_order_of_work(schedule):
    """Vertices added by each launch. A stale entry is dropped. The threshold stops just behind the
    least distance of the pile."""
    stale = Graph(3, [0, 0, 1], [1, 2, 2], [5, 100, 1], name="stale")
    ladder = Graph(3, [0, 0, 1], [1, 2, 2], [1000, 5000, 10], name="ladder")
    for graph, delta, added, piles, supersteps in (
            (stale, 10, [1, 1, 0, 0], [1, 0], 3),
            (ladder, 1, [0, 0, 1, 0, 0, 1, 0], [2, 2, 1, 1, 0], 3)):
        with Device.functional(config(2, 4)) as device:
            recorder = Recorder(device)
            result = recorder.run("sssp", graph, schedule=schedule, delta=delta)
        assert recorder.added == added and recorder.piles == piles
        assert (result.supersteps, result.launches) == (supersteps, len(added))


@pytest.mark.parametrize("schedule", ["vm", "weaver"])
@pytest.mark.parametrize("delta", [1, 1 << 31, (1 << 32) - 3, (1 << 32) - 1])
def test_the_threshold_does_not_wrap(schedule, delta):
    """Distances of up to 2**32 - 2, edges of weight 0, and detours that pass 32 bits."""
    most = (1 << 32) - 2
    graph = Graph(7, [0, 0, 1, 2, 2, 3, 4, 4, 5, 5, 6], [1, 2, 2, 3, 4, 5, 5, 3, 6, 1, 2],
                  [most - 7, most, 7, 0, 0, 0, most, 0, 0, most, most], name="edge")
    for seed in range(3):
        result = check(config(2, 4), "sssp", graph, schedule, "push", seed=seed, delta=delta)
        assert result.outputs["distance"].tolist() == [0, most - 7, *[most] * 5]


def test_fewer_vertices_are_worked_on():
    """With near and far piles, a vertex pushes only when its distance is final, or nearly."""
    graph = random_graph(300, 4000, 6).weighted(255, 2)
    worked = {}
    for delta in (None, 20):
        with Device.functional(config(4, 8)) as device:
            recorder = Recorder(device)
            recorder.run("sssp", graph, schedule="weaver", delta=delta)
        worked[delta] = sum(recorder.added)
    assert worked[20] < 0.8 * worked[None]


@pytest.mark.parametrize("algorithm, options, message", [
    ("bfs", {"frontier": "stack"},
     "frontier is 'stack', must be queue or bitmap or bytemap or counter or rqueue or "
     "lists, or INPUT/"),
    ("bfs", {"frontier": "queue", "schedule": "em"},
     "bfs push cannot have frontier 'queue': schedule 'em' distributes edges"),
    ("sssp", {"frontier": "queue", "format": "tigr"},
     "'tigr' has no list that leads from a vertex"),
    ("bfs", {"frontier": "bitmap", "direction": "pull"},
     "bfs pull cannot have frontier 'bitmap': a superstep visits all vertices"),
    ("sssp", {"frontier": "queue", "direction": "pull"},
     "sssp pull cannot have frontier 'queue': pulling visits all edges"),
    ("pagerank", {"frontier": "counter"}, "pagerank has no choice of frontier: its operators"),
    ("pagerank", {"deduplicate": True}, "pagerank has no choice of deduplication: its op"),
    ("bfs", {"deduplicate": False, "direction": "pull"},
     "bfs pull with schedule 'vm' is deduplicated in any case: a lane has each vertex"),
    ("sssp", {"deduplicate": False, "delta": 5},
     "sssp push with schedule 'vm' is deduplicated in any case: the far pile has room"),
    ("sssp", {"delta": 0}, "sssp: delta is 0, must be from 1 to 4294967295, or auto"),
    ("sssp", {"delta": 1 << 32}, "delta is 4294967296, must be from 1 to 4294967295"),
    ("sssp", {"delta": 5, "direction": "pull"},
     "sssp pull cannot have frontier 'queue', which delta needs: when pulling, a schedule"),
    ("sssp", {"delta": 5, "schedule": "em", "frontier": "queue"},
     "sssp push cannot have frontier 'queue', which delta needs: schedule 'em' distributes edges"),
    ("sssp", {"delta": 5, "frontier": "queue/bitmap"},
     "sssp push cannot have frontier 'queue/bitmap': near vertices are added to a queue"),
    ("bfs", {"frontier": "queue/bitmap", "schedule": "em"},
     "bfs push cannot have frontier 'queue/bitmap': schedule 'em' distributes edges"),
    ("bfs", {"frontier": "queue/counter"},
     "'queue/counter': a counter does not tell which vertices it has counted"),
    ("bfs", {"frontier": "queue/lists"}, "'queue/lists': the lists are for the unit that keeps"),
    ("bfs", {"frontier": "lists"},
     "bfs push cannot have frontier 'lists': only GraphPEG keeps lists, by schedule 'graphpeg'"),
    ("bfs", {"frontier": "queue/rqueue"}, "'queue/rqueue': nothing is added to an rqueue"),
    ("bfs", {"frontier": "counter/bitmap"},
     "bfs push cannot have frontier 'counter/bitmap': nothing would read the bitmap"),
    ("bfs", {"frontier": "rqueue"},
     "bfs push cannot have frontier 'rqueue': pushing visits the vertices of the frontier"),
    ("bfs", {"frontier": "rqueue/bitmap", "direction": "pull"},
     "bfs pull cannot have frontier 'rqueue/bitmap': nothing would read the bitmap"),
    ("bfs", {"frontier": "rqueue", "direction": "pull", "schedule": "em"},
     "bfs pull cannot have frontier 'rqueue': schedule 'em' distributes edges"),
    ("sssp", {"frontier": "rqueue", "direction": "pull"},
     "sssp pull cannot have frontier 'rqueue': pulling visits all edges"),
    ("cc", {"frontier": "bitmap"},
     "cc push cannot have frontier 'bitmap': nothing would read the bitmap"),
    ("cc", {"frontier": "rqueue", "direction": "pull"},
     "cc pull cannot have frontier 'rqueue': no operator of edges has a filter"),
    ("bc", {"frontier": "queue", "format": "cr2"},
     "format 'cr2' has room for a list of the rows of one operator of edges, and s0:s1 and s2:s3 "
     "go by lists; it can have bitmap or bytemap or counter"),
    ("sssp", {"delta": 5, "frontier": "bitmap"},
     "sssp push cannot have frontier 'bitmap': near vertices are added to a queue"),
    ("bfs", {"delta": 5}, "algorithm 'bfs' has no parameter 'delta'; it has source"),
])
def test_refused(algorithm, options, message):
    def never():
        raise AssertionError("the machine is made although the run is refused")
    device = Device(config(2, 4), never)
    with pytest.raises(UserError, match=message):
        device.run(algorithm, GRAPHS["random"].weighted(9), **{"schedule": "vm", **options})
