"""Algorithms by stream compaction on the instruction-set simulator, against golden.

=================  ===============================================================================
feature            tests
=================  ===============================================================================
results            ``test_all_graphs``, ``test_random_graphs_and_interleavings``,
                   ``test_formats_and_frontiers``, ``test_lengths_that_do_not_fit_are_no_paths``,
                   ``test_pagerank_stops``, ``test_inputs_and_orderings``, ``test_hybrids``,
                   ``test_programs_that_need_sources``
lists              ``test_a_frontier_has_a_vertex_once``, ``test_the_lists_are_what_they_should_be``
filter             ``test_tables_of_any_size``, ``test_filtering_saves_work``,
                   ``test_the_size_of_the_table``
grouping           ``test_grouped_ends_stand_together``
far pile           ``test_deltas``, ``test_moves``
expansion          ``test_rows_of_all_lengths``
steps              ``test_steps``
refusals           ``test_refused``, ``test_refused_in_use``
=================  ===============================================================================
"""

import itertools
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from base.errors import RunError, UserError
from hw.scu.registers import ScuOutput, ScuRegister, entry_bytes
from sw.compile.compaction.lists import EDGES, VALUES, ends
from sw.graph import Graph
from sw.graph.load import load
from sw.compile.kernels.split import SPLITS
from sw.device import Device, as_plan
from sw.device.device import _Session
from tb.sw.graphs import graphs, random_graph
from tb.sw.compile.kernels.test_programs import ALGORITHMS as OPTIONS
from tb.sw.compile.kernels.test_programs import GRAPHS, config
from tb.sw.compile.sides import only_side


ALGORITHMS = ("bfs", "cc", "pagerank", "sssp")
SCHEDULES = ("compact", "compact:fused=no", "scu", "scu-enhanced", "scu-stream",
             "scu-enhanced:grouping=no", "scu-stream:pieces=3", "scu-stream:pieces=8:rows=cores")
SHAPES = ((2, 1), (2, 4), (4, 16), (1, 32))


def hardware(schedule, warps, threads, **changes):
    width = 4 if schedule.startswith("scu") else 0
    return config(warps, threads, scu=width, **changes)


def run(machine, algorithm, graph, schedule, seed=None, **options):
    with Device.functional(machine, seed=seed, max_cycles=5_000_000) as device:
        result = device.run(algorithm, graph.weighted(40, 7), schedule=schedule,
                            **OPTIONS[algorithm] | options)
    assert result.verified and result.direction == "push"
    return result


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "{}x{}".format(*shape))
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(18)
def test_all_graphs(algorithm, schedule, shape):
    for seed, graph in enumerate(GRAPHS.values()):
        machine = hardware(schedule, *shape, cores=1 + seed % 3)
        run(machine, algorithm, graph, schedule, seed=seed, split=SPLITS[seed % 2])


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(graph=graphs(weighted=False, max_vertices=30, max_edges=90),
       seed=st.integers(0, 1 << 20), data=st.data())
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.sample(16)
def test_random_graphs_and_interleavings(algorithm, schedule, graph, seed, data):
    options = dict(OPTIONS[algorithm])
    if "source" in options:
        options["source"] = data.draw(st.integers(0, graph.num_vertices - 1))
    graph = graph.weighted(40, 7)
    if algorithm == "sssp":
        options["delta"] = data.draw(st.sampled_from([None, 1, 7, 100, 1 << 31, (1 << 32) - 1]))
    if schedule.startswith(("scu-enhanced", "scu-stream")) and algorithm in ("bfs", "sssp"):
        schedule += f":sets={data.draw(st.sampled_from([1, 2, 64]))}"
    shape = data.draw(st.sampled_from([(2, 4), (4, 1), (1, 2), (4, 8)]))
    machine = hardware(schedule, *shape, cores=data.draw(st.integers(1, 3)))
    run(machine, algorithm, graph, schedule, seed=seed,
        split=data.draw(st.sampled_from(SPLITS)), **options)


@pytest.mark.parametrize("format", ["coo", "tigr:k=3", "block-coo:block=7", "ell:width=3",
                                    "ell:width=4:rest=csr", "dia", "cr2:cluster_bits=3",
                                    "cr2:cluster_bits=5:expand=no:bases=global",
                                    "cr2:cluster_bits=4:reorder=louvain"])
@pytest.mark.parametrize("schedule", SCHEDULES[:5])
@pytest.mark.sample(8)
def test_formats_and_frontiers(schedule, format):
    """Every frontier with every format that has rows; the unit copies addresses of neighbours."""
    refused = set()
    for number, (algorithm, frontier) in enumerate(itertools.product(
            ALGORITHMS, (None, "queue", "bitmap", "bytemap", "counter"))):
        name, split = ("random", "loops", "one row")[number % 3], SPLITS[number % 2]
        try:
            run(hardware(schedule, 2, 4, cores=1 + number % 2, imem_bytes=1 << 16), algorithm,
                GRAPHS[name], schedule, seed=number, format=format, frontier=frontier, split=split)
        except RunError:
            raise
        except UserError as error:
            refused.add((algorithm, frontier, str(error)))
    reasons = {reason for *_, reason in refused if "frontier" not in reason}
    kind = format.partition(":")[0]
    if schedule.startswith("scu") and kind in ("dia", "cr2"):
        assert reasons == {f"schedule {schedule!r} copies stored neighbours, which must be a word "
                           f"each; format {kind!r} stores some of them in another way"}
    elif schedule == "compact:fused=no" and kind in ("dia", "cr2"):
        assert reasons == {"schedule 'compact' with fused=no copies edges without their sources, "
                           f"by which format {kind!r} finds neighbours"}
        assert {algorithm for algorithm, *_ in refused} >= {"cc", "pagerank", "sssp"}
    else:
        assert not reasons
        assert all(frontier is not None for _, frontier, _ in refused)


@pytest.mark.parametrize("format", ["csr:reorder=rcm", "csr:block=7", "ell:block=40:reorder=rcm"])
@pytest.mark.parametrize("schedule", SCHEDULES[:5])
@pytest.mark.sample(8)
def test_inputs_and_orderings(schedule, format):
    """Reordered vertices and virtual rows, with an input that a pass makes of the frontier. Parents
    are the smallest original numbers. A virtual row is in no list."""
    cases = itertools.product(("bfs", "sssp"), (None, "queue/bitmap", "bitmap/queue",
                                                "bytemap/bitmap"))
    for number, (algorithm, frontier) in enumerate(cases):
        arguments = dict(seed=number, format=format, frontier=frontier, split=SPLITS[number % 2])
        machine = hardware(schedule, 2, 4, cores=1 + number % 2, imem_bytes=1 << 16)
        name = ("random", "dense")[number % 2]
        if "block" in format and frontier == "queue/bitmap":
            with pytest.raises(UserError, match="has no list that leads from a vertex to its rows"):
                run(machine, algorithm, GRAPHS[name], schedule, **arguments)
        else:
            run(machine, algorithm, GRAPHS[name], schedule, **arguments)


@pytest.mark.parametrize("other", ["vm direction=push", "vm direction=pull split=counter",
                                   "wm format=cr2:cluster_bits=4 direction=push"])
@pytest.mark.parametrize("schedule", SCHEDULES[:5])
@pytest.mark.sample(8)
def test_hybrids(monkeypatch, schedule, other):
    """Supersteps of another plan come between, one or two at a time. A vertex is in the frontier
    once, and its edges are listed once."""
    lengths = []
    watch(monkeypatch, lambda *launched: lengths.append(length_of(*launched)))
    src, dst, last = [], [], 0
    for wide in (1, 2, 1, 1, 2, 2):
        for _ in range(wide):               # layers of ten vertices, then one vertex
            layer = range(last + 1, last + 11)
            src += [last, *layer]
            dst += [layer[0], *[layer[-1] + 1] * 10]
            src += [last] * 9
            dst += layer[1:]
            last = layer[-1] + 1
        src.append(last)
        dst.append(last + 1)
        last += 1
    graph = Graph(last + 1, src, dst, name="layers")
    for number, frontier in enumerate((None, "queue", "counter")):
        listing = f"bfs schedule={schedule} direction=push"
        listing += f" frontier={frontier}" * (frontier is not None)
        plans = [listing, f"bfs schedule={other}"]
        plans = plans[::-1] if number % 2 else plans
        with Device.functional(hardware(schedule, 2, 4, cores=2, imem_bytes=1 << 16),
                               seed=number) as device:
            result = device.run(" | ".join(plans) + f" when frontier>={9 / last:.4f}", graph)
        taken = result.parameters["directions"]
        changes = sum(one != two for one, two in itertools.pairwise(taken))
        assert result.verified and changes > 6
        assert 6 < sum(lengths) <= graph.num_edges
        lengths.clear()


def test_pagerank_stops():
    for schedule in SCHEDULES:
        result = run(hardware(schedule, 2, 4), "pagerank", GRAPHS["random"], schedule,
                     iterations=50, tolerance=1e-3)
        assert 3 < result.supersteps < 20


#: Programs whose edges need their sources: one that selects edges, and one that takes all.
SOURCES = """
from graphloom import edgeset, infinity, program, uint, vector, vertex, vertexset, vertices


@program
def hops(edges: edgeset, source: vertex):
    hop = vector(uint, infinity)

    def relax(src, dst):
        hop[dst].min(hop[src] + 1)

    hop[source] = 0
    frontier = vertexset(source)
    while frontier:
        frontier = edges.from_(frontier).apply_modified(relax, hop)
    return hop


@program
def spread(edges: edgeset):
    have = vector(uint, 3)
    got = vector(uint, 0)

    def collect(src, dst):
        got[dst] += have[src] * edges.out_degree(src) + uint(src)

    def renew(v):
        have[v] = got[v] & 255
        got[v] = 0

    for round in range(3):
        edges.apply(collect)
        vertices.apply(renew)
    return have
"""


@pytest.mark.parametrize("schedule", SCHEDULES[:5])
def test_programs_that_need_sources(schedule, tmp_path):
    """The list has the sources. A kernel that reads the block behind the end of the list loads the
    words of some vertex there."""
    file = tmp_path / "sources.py"
    file.write_text(SOURCES)
    for number, name in enumerate(("random", "loops", "one row")):
        for format in ("csr", "ell:width=2:rest=csr", "csr:reorder=rcm"):
            with Device.functional(hardware(schedule, 2, 4, cores=1 + number % 2),
                                   seed=number) as device:
                for program, options in (("hops", {"source": "hub"}), ("spread", {})):
                    result = device.run(f"{file}:{program}", GRAPHS[name], schedule=schedule,
                                        direction="push", format=format, **options)
                    assert result.verified


def test_lengths_that_do_not_fit_are_no_paths():
    """Some detours are longer than 32 bits can hold. The cores notice this; the unit cannot."""
    most = (1 << 32) - 2
    graph = Graph(5, [0, 0, 1, 1, 3, 3, 2, 2], [1, 2, 2, 3, 1, 2, 3, 4],
                  [most, 5, most, most, 9, most, 7, 6], name="detours")
    for schedule in ("compact", "compact:fused=no"):
        for delta in (1, 1 << 31, most + 1):
            with Device.functional(config(2, 4), seed=3) as device:
                result = device.run("sssp", graph, schedule=schedule, delta=delta)
            assert result.outputs["distance"].tolist() == [0, 21, 5, 12, 11]
        # A detour whose last 32 bits are less than the shortest path.
        short = Graph(3, [0, 0, 1], [1, 2, 2], [most, 100, 10], name="short")
        with Device.functional(config(2, 4)) as device:
            result = device.run("sssp", short, schedule=schedule)
        assert result.outputs["distance"].tolist() == [0, most, 100]
    for schedule in ("scu", "scu-enhanced"):
        with pytest.raises(UserError, match=f"schedule '{schedule}' cannot add weights on the "
                                            "unit, which does not notice if a sum passes 32 bits; "
                                            "with weights up to 4294967294 the sum of a path in "
                                            "detours may"):
            Device.functional(hardware("scu", 2, 4)).run("sssp", graph, schedule=schedule)


# Lists

def watch_pieces(monkeypatch, look):
    """Call ``look(session, kernel, argument)`` before the contraction of each piece of a list."""
    def watched(launch):
        def look_and_launch(self, kernel, argument, *operation):
            if "_contract" in kernel:
                look(self, kernel, argument)
            return launch(self, kernel, argument, *operation)
        return look_and_launch
    for name in ("launch_kernel", "launch_beside"):
        monkeypatch.setattr(_Session, name, watched(getattr(_Session, name)))


def watch(monkeypatch, look):
    """Call ``look(session, argument)`` before the contraction of each superstep's first piece."""
    def look_first(session, kernel, argument):
        if kernel.endswith("_contract"):
            look(session, argument)
    watch_pieces(monkeypatch, look_first)


def side_of(session):
    """The side of a session's task that lists edges."""
    return next(side for side in session.task.sides.values() if side.schedule.has_lists)


def frontier_of(session, argument):
    """The entries of a superstep's queue."""
    read = side_of(session).input
    first = read.first_entry(session, argument) - session.task.buffers.address("set_lists")
    return session.read("set_lists")[first // 4:][:read.entry_count(session, argument)]


def length_of(session, argument):
    """The number of elements of the edge frontier."""
    side = side_of(session)
    words = session.read(ends(side.layouts[0]))
    return int(words[0]) if side.schedule.counts_entries else int(words[argument & 1]) // 4


@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_frontier_has_a_vertex_once(monkeypatch, schedule, algorithm):
    """So the edge frontier never has more than all edges. In a search, the frontier is the next
    depth."""
    seen = []

    def look(session, argument):
        frontier = frontier_of(session, argument)
        assert len(np.unique(frontier)) == len(frontier)
        seen.append(len(frontier))

    watch(monkeypatch, look)
    for seed, name in enumerate(("random", "dense", "star", "loops", "spindle")):
        seen.clear()
        result = run(hardware(schedule, 2, 8, cores=2), algorithm, GRAPHS[name], schedule,
                     seed=seed)
        assert len(seen) == result.supersteps
        if algorithm == "bfs":
            depth = result.outputs["depth"]
            assert seen == np.bincount(depth[depth + 1 > 0]).tolist()


@pytest.mark.parametrize("schedule", ["compact", "compact:fused=no", "scu"])
def test_the_lists_are_what_they_should_be(monkeypatch, schedule):
    """The edge frontier is all edges of the frontier, each with its source, in any order."""
    graph = load("rmat:scale=7,degree=6,seed=2")
    offsets, neighbors, _ = graph.csr()
    checked = []

    def look(session, argument):
        address = session.task.buffers.address("vector_depth")
        vertices = (frontier_of(session, argument).astype(np.int64) - address) // 4
        expected = sorted((int(v), int(end)) for v in vertices
                          for end in neighbors[offsets[v]:offsets[v + 1]])
        assert length_of(session, argument) == len(expected)
        lists = [(session.read(name, len(expected)).astype(np.int64) - address) // 4
                 for name in (VALUES, EDGES)]
        assert sorted(zip(*(words.tolist() for words in lists))) == expected
        checked.append(len(expected))

    watch(monkeypatch, look)
    run(hardware(schedule, 2, 4, cores=2), "bfs", graph, schedule, seed=4,
        source=int(np.argmax(graph.out_degrees)))
    assert max(checked) > 100 and len(checked) > 2


@pytest.mark.parametrize("schedule", ["compact", "compact:fused=no"])
@pytest.mark.parametrize("longest", [1, 6, 7, 40])
def test_rows_of_all_lengths(schedule, longest):
    """Some rows are copied by their lanes, with a few longer rows and empty rows between. Other
    rows are copied by all lanes."""
    rng = np.random.default_rng(longest)
    for hubs, shape in ((0, (2, 4)), (1, (1, 32)), (1, (4, 1))):
        degrees = rng.integers(0, longest + 1, 120)
        degrees[rng.integers(0, 120, hubs)] = 150
        degrees[0] = 20
        src = np.repeat(np.arange(120), degrees)
        graph = Graph(120, src, rng.integers(0, 120, len(src)))
        for algorithm in ("bfs", "sssp"):
            run(config(*shape), algorithm, graph, schedule)


# The unit

@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
@pytest.mark.parametrize("grouping", ["edges", "no"])
@pytest.mark.parametrize("sets, ways", [(1, 1), (1, 2), (4, 1), (16, 2), (1024, 2)])
def test_tables_of_any_size(algorithm, grouping, sets, ways):
    """Elements that a table has forgotten come again. Dropped elements do not change the result."""
    schedule = f"scu-enhanced:sets={sets}:ways={ways}"
    if algorithm == "sssp" or grouping == "no":
        schedule += f":grouping={grouping}"
    for seed, name in enumerate(("random", "dense", "star", "one column", "loops")):
        run(hardware("scu", 2, 4), algorithm, GRAPHS[name], schedule, seed=seed)
    graph = load("rmat:scale=8,degree=8,seed=3", weights=99)
    run(hardware("scu", 4, 8), algorithm, graph, schedule, seed=9)


@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_filtering_saves_work(algorithm):
    graph = load("rmat:scale=9,degree=16,seed=1", weights=99)
    plain, enhanced, small = (
        run(hardware("scu", 4, 16), algorithm, graph, schedule,
            source=int(np.argmax(graph.out_degrees)))
        for schedule in ("scu", "scu-enhanced", "scu-enhanced:sets=4"))
    work = [next(step["instructions"] for name, step in result.steps.items()
                 if name.endswith("_contract")) for result in (plain, enhanced, small)]
    assert work[1] < work[2] < work[0] and 3 * work[1] < work[0]


@pytest.mark.parametrize("algorithm, changes, schedule, sets, ways", [
    # Half of the L2, in entries of 8 bytes; the power of two below three quarters; no more entries
    # than vertices.
    ("bfs", {"l2_bytes": 1 << 14}, "scu-enhanced", 128, 8),
    ("sssp", {"l2_bytes": 1 << 14}, "scu-enhanced", 128, 8),
    ("bfs", {"l2_bytes": 1 << 20}, "scu-enhanced", 1024, 8),
    ("bfs", {"l2_bytes": 0}, "scu-enhanced", 512, 8),
    ("sssp", {"l2_bytes": 1 << 14, "edges": 64_000}, "scu-enhanced:grouping=edges", 128, 8),
    ("sssp", {"edges": 64_000}, "scu-enhanced:sets=4:grouping=edges", 4, 8),
    ("bfs", {}, "scu-enhanced:sets=2", 2, 8), ("sssp", {}, "scu-enhanced:sets=4:ways=2", 4, 2),
    # The lines that the banks hold, where there are few edges a vertex or several cores.
    ("bfs", {"l2_bytes": 1 << 20, "scu_hash_bytes": 18 << 10}, "scu-stream", 128, 8),
    ("sssp", {"l2_bytes": 1 << 20, "scu_hash_bytes": 2 << 10}, "scu-stream", 16, 8),
    ("bfs", {"l2_bytes": 1 << 20, "cores": 2, "edges": 64_000}, "scu-stream", 128, 8),
    ("bfs", {"l2_bytes": 1 << 20, "edges": 64_000}, "scu-stream", 1024, 8),
    ("sssp", {"l2_bytes": 1 << 20, "cores": 2, "edges": 64_000, "delta": 9}, "scu-stream", 1024,
     8),
    ("bfs", {"l2_bytes": 1 << 20}, "scu-stream:sets=256", 256, 8)])
def test_the_size_of_the_table(algorithm, changes, schedule, sets, ways):
    changes = dict(changes)
    graph = random_graph(8000, changes.pop("edges", 9000), 2).weighted(9)
    options = {"delta": changes.pop("delta")} if "delta" in changes else {}
    performed = []

    class Listening:
        """A machine that records the registers of operations."""
        def __init__(self, machine):
            self._machine = machine

        def __getattr__(self, name):
            return getattr(self._machine, name)

        def compact(self, registers, **limits):
            performed.append(registers)
            return self._machine.compact(registers, **limits)

    with Device.functional(hardware("scu", 2, 16, memory_bytes=1 << 22, **changes)) as device:
        device._machine = Listening(device.machine)
        device.run(algorithm, graph, schedule=schedule, **options)
    filters = [registers for registers in performed
               if registers.get(ScuRegister.HASH_SETS) and registers[ScuRegister.COMMAND] & 0x20
               and not registers[ScuRegister.COMMAND] & 0x10]
    assert {(each[ScuRegister.HASH_SETS], each[ScuRegister.HASH_WAYS]) for each in filters} == {
        (sets, ways)}
    # Each table for grouping has room where it lies: it is at most as large as the filter's.
    line = device.config.line_bytes
    groups = [registers for registers in performed
              if registers[ScuRegister.COMMAND] & 0x30 == ScuOutput.GROUP << 4]
    assert bool(groups) == schedule.endswith("grouping=edges")
    assert all(each[ScuRegister.HASH_SETS] * each[ScuRegister.HASH_WAYS]
               * entry_bytes(ScuOutput.GROUP, line) <= max(sets * ways * 8, line)
               for each in groups)
    # The table is emptied once, at the first operation.
    assert [bool(each[ScuRegister.COMMAND] & 0x1000) for each in filters] == (
        [True] + [False] * (len(filters) - 1))


def test_grouped_ends_stand_together(monkeypatch):
    """Windows of the edge frontier touch fewer lines with grouping than without."""
    lines = {"edges": [], "no": []}
    for grouping, seen in lines.items():
        def look(session, argument, seen=seen):
            words = session.read(EDGES, length_of(session, argument)) // (
                session.task.config.line_bytes // 4)
            seen.extend(len(np.unique(window)) for window in np.split(
                words, range(16, len(words), 16)) if len(window) == 16)
        with monkeypatch.context() as patch:
            watch(patch, look)
            run(hardware("scu", 4, 16), "sssp", load("rmat:scale=10,degree=16,seed=1", weights=99),
                f"scu-enhanced:grouping={grouping}", delta=(1 << 32) - 1)
    assert len(lines["edges"]) > 100
    assert np.mean(lines["edges"]) < 0.7 * np.mean(lines["no"])


# The far pile

@pytest.mark.parametrize("delta", [1, 13, 40, 1000, (1 << 32) - 1, "auto"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.sample(8)
def test_deltas(schedule, delta):
    for seed, name in enumerate(("random", "dense", "star", "path", "one row", "loops")):
        result = run(hardware(schedule, 2, 8, cores=1 + seed % 2), "sssp", GRAPHS[name], schedule,
                     seed=seed, delta=delta)
        if delta == (1 << 32) - 1:
            assert "advance" not in result.steps


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_moves(schedule):
    """At most two moves of the threshold lead to a near vertex, however far apart the distances
    are. The threshold does not wrap."""
    step = 150_000_000
    graph = Graph(12, np.arange(11), np.arange(1, 12), np.full(11, step), name="path")
    for delta, most in ((1, 2), (step, 1), ((1 << 32) - 2, 0)):
        with Device.functional(hardware(schedule, 2, 4)) as device:
            result = device.run("sssp", graph, schedule=schedule, delta=delta)
        assert result.outputs["distance"].tolist() == [step * i for i in range(12)]
        assert result.supersteps == 12
        assert result.steps.get("advance", {"launches": 0})["launches"] <= 11 * most + (most > 0)


# Pieces

@pytest.mark.parametrize("pieces", [1, 2, 3, 8])
@pytest.mark.parametrize("seed", [2, 3])        # the operation beside a launch comes last, or first
def test_pieces(monkeypatch, pieces, seed):
    """The pieces of a superstep are all edges once, each piece in blocks of its own."""
    graph = GRAPHS["random"]
    seen = []

    def look(session, kernel, argument):
        ends_of = session.read(ends(only_side(session.task).layouts[0])).tolist()
        before, end = {"contract": (0, ends_of[0]), "b": ends_of[:2], "c": ends_of[1:],
                       "d": ends_of[::-2]}[kernel.rpartition("_")[2]]
        block = 4 * session.task.config.threads
        start = -(-before // block) * block
        if kernel.endswith("_contract"):
            seen.append([])
        base = session.task.buffers.address("vector_total")
        seen[-1].append((session.read(EDGES, end)[start:] - base) // 4)

    watch_pieces(monkeypatch, look)
    run(hardware("scu-stream", 2, 4, cores=2), "pagerank", graph, f"scu-stream:pieces={pieces}",
        seed=seed, iterations=2)
    assert [len(lists) for lists in seen] == [pieces] * 2
    for lists in seen:
        assert np.array_equal(np.sort(np.concatenate(lists)), np.sort(graph.dst))


def test_pieces_without_elements(monkeypatch):
    """A piece that the filter leaves empty is not contracted, and the pieces behind it are."""
    fan = np.arange(1, 21)
    # All of the first layer lead to the same vertex; the last also to another.
    graph = Graph(24, [*np.zeros(20, int), *fan, 20, 21, 22],
                  [*fan, *np.full(20, 21), 22, 23, 23], name="fan")
    for seed in (0, 1):
        for pieces in (4, 8):
            result = run(hardware("scu-stream", 2, 4), "bfs", graph, f"scu-stream:pieces={pieces}",
                         seed=seed)
            launches = {name: step["launches"] for name, step in result.steps.items()}
            contracted = sum(count for name, count in launches.items() if "_contract" in name)
            assert contracted < result.supersteps + launches["compact frontier"] * pieces
            assert result.outputs["depth"].tolist() == [0, *[1] * 20, 2, 2, 3]


@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_rows_of_the_unit(algorithm):
    """The unit looks up rows where it can, unless the user says otherwise. Where the unit cannot,
    the user gets an error."""
    graph = GRAPHS["random"]

    def steps(schedule, **options):
        found = run(hardware("scu-stream", 2, 4), algorithm, graph, schedule, **options).steps
        return {name.rpartition("_")[2] for name in found}

    assert "prepare" not in steps("scu-stream")
    assert "prepare" not in steps("scu-stream:rows=unit")
    assert "prepare" in steps("scu-stream:rows=cores")
    for options in ({"format": "tigr:k=3"}, {"format": "ell:width=3:rest=csr"},
                    {"frontier": "bytemap"}):
        assert "prepare" in steps("scu-stream", **options)
        with pytest.raises(UserError, match="rows is 'unit', which needs a deduplicated queue as "
                                            "frontier"):
            steps("scu-stream:rows=unit", **options)


# Steps of a result

@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_steps(schedule, algorithm):
    """The steps add up to the whole."""
    result = run(hardware(schedule, 2, 8), algorithm, GRAPHS["random"], schedule)
    kernels = {name: step for name, step in result.steps.items() if step["unit"] == "cores"}
    operations = {name: step for name, step in result.steps.items() if step["unit"] == "scu"}
    both = {name: step for name, step in result.steps.items() if step["unit"] == "both"}
    assert len(kernels) + len(operations) + len(both) == len(result.steps)
    assert bool(operations) == schedule.startswith("scu") and bool(both) == ("pieces" in schedule)
    kernels |= both
    assert sum(step["launches"] for step in kernels.values()) == result.launches
    for counter in ("instructions", "lanes"):
        assert sum(step[counter] for step in kernels.values()) == result.counters[counter]
        assert not any(step[counter] for step in operations.values())
    kinds = {name.rpartition("_")[2] for name in kernels}
    assert ("expand" in kinds) == schedule.startswith("compact")
    assert ("compact" in kinds) == (schedule == "compact:fused=no"
                                    and algorithm in ("bfs", "sssp"))
    assert json.loads(json.dumps(result.to_json()))["steps"] == result.steps


def test_a_limit_and_an_error_of_the_unit(monkeypatch):
    graph = GRAPHS["random"].weighted(40, 7)
    with Device.functional(hardware("scu", 2, 4)) as device:
        with pytest.raises(RunError, match="not finished after"):
            device.run("bfs", graph, schedule="scu", max_cycles=300)
        compact = _Session.compact
        monkeypatch.setattr(_Session, "compact", lambda self, name, registers: compact(
            self, name, registers | {ScuRegister.INDEXES: 2}))
        with pytest.raises(RunError, match="the SCU stopped: a vector does not begin at a multiple "
                                           "of 4"):
            device.run("bfs", graph, schedule="scu")


# Refusals

@pytest.mark.parametrize("arguments, message", [
    ({"direction": "pull"}, "schedule 'compact' cannot have direction pull: it lists the edges "
                            "that leave vertices of the frontier.*schedules without lists"),
    ({"direction": "auto"}, "cannot have direction pull"),
    ({"format": "g-shards"}, "format g-shards has no getNeighbor"),
    ({"schedule": "compact:fused=no", "deduplicate": False}, "is deduplicated in any case: its "
     "list is made of bits"),
    ({"schedule": "compact:fused=maybe"}, "schedule compact: fused is 'maybe', must be yes or no"),
    ({"schedule": "scu"}, r"schedule 'scu' needs a Stream Compaction Unit, which configuration "
                          r"'custom' does not have \(scu = 0\); scu = 4 has one"),
    ({"schedule": "scu-enhanced"}, "schedule 'scu-enhanced' needs a Stream Compaction Unit"),
    ({"schedule": "compact:windows=3"}, "schedule compact: windows is '3', must be a power of two "
                                        "from 1 to 8"),
    ({"schedule": "scu:sets=4"}, "schedule scu has no option 'sets', it has windows"),
    ({"schedule": "scu-enhanced:sets=3"}, "schedule scu-enhanced: sets is '3', must be a power of "
                                          "two from 1 to 16777216"),
    ({"schedule": "scu-enhanced:ways=32"}, "ways is '32', must be a power of two from 1 to 16"),
    ({"schedule": "scu-enhanced:grouping=all"}, "grouping is 'all', must be edges or no"),
])
def test_refused(arguments, message):
    with pytest.raises(UserError, match=message):
        choices = {"schedule": "compact"} | arguments
        Device.functional(config(2, 4)).run(choices.pop("algorithm", "bfs"), GRAPHS["path"],
                                            **choices)


def test_refused_in_use():
    """Some refusals depend on the line size or on the graph; others come before there is a graph.
    """
    with pytest.raises(UserError, match="schedule 'scu-enhanced': ways is 4; a line of 16 "
                                        "bytes has room for 2 of the filter's entries of 8 bytes"):
        Device.functional(hardware("scu", 2, 4)).plan("bfs", GRAPHS["path"],
                                                      schedule="scu-enhanced:ways=4")
    with pytest.raises(UserError, match="takes the weights of edges, and path has none"):
        Device.functional(config(2, 4)).plan("sssp", GRAPHS["path"], schedule="compact")
    with pytest.raises(UserError, match="cannot have direction pull"):
        as_plan("bfs", schedule="scu", direction="pull").check()
    with pytest.raises(UserError, match="does not fit in device memory"):
        Device.functional(config(2, 4).replace(memory_bytes=1 << 16)).plan(
            "bfs", random_graph(2000, 20_000, 1), schedule="compact")


def test_combinations_are_told():
    from sw.study.combinations import combinations
    only = {"algorithm": [*ALGORITHMS], "format": ["csr", "g-shards"], "frontier": [None],
            "block": ["none"], "schedule": ["compact", "scu", "scu-enhanced", "scu-stream"]}
    for scu in (0, 4):
        found = list(combinations(config(2, 8, scu=scu), only))
        working = [each.choice for each in found if each.reason is None]
        schedules = ["compact", "scu", "scu-enhanced", "scu-stream"] if scu else ["compact"]
        expected = list(itertools.product(ALGORITHMS, schedules))
        assert [(each["algorithm"], each["schedule"]) for each in working] == expected
        assert all(each["direction"] == "push" and each["format"] == "csr" for each in working)
