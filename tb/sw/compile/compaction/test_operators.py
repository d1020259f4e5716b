"""Operators of programs by lists of edges, on the instruction-set simulator, against the
interpreter.

=================  ===============================================================================
feature            tests
=================  ===============================================================================
results            ``test_programs``, ``test_formats``, ``test_random_interleavings``
what a list has    ``test_the_word_beside_an_edge``
filter             ``test_what_a_unit_may_drop``, ``test_a_table_that_is_not_emptied_is_seen``,
                   ``test_sums_are_not_dropped``
weights            ``test_weights``, ``test_sums_that_may_not_fit``
=================  ===============================================================================
"""

import numpy as np
import pytest

from base.errors import RunError, UserError
from sw.compile.lower import operator_choices
from sw.compile.planning import make
from sw.device import Device, as_plan
from sw.graph import Graph
from sw.graph.load import load
from tb.sw.compile.compaction.test_algorithms import SCHEDULES, hardware
from tb.sw.compile.kernels.test_programs import GRAPHS


#: Programs of several operators: they have no form of their own.
PROGRAMS = """
from graphloom import edgeset, infinity, program, uint, vector, vertex, vertexset, vertices


@program
def nearest(edges: edgeset, source: vertex = 0):
    '''Searches from three vertices, one after the other, with parents.'''
    depth = vector(uint, infinity)
    parent = vector(vertex, 0)
    total = vector(uint, 0)

    def clear(v):
        depth[v] = infinity
        parent[v] = none

    def is_source(v):
        return v == source or uint(v) == first

    def begin(v):
        depth[v] = 0

    def unfound(v):
        return depth[v] == infinity

    def find(src, dst):
        parent[dst].min(src)

    def settle(v):
        depth[v] = level

    def add(v):
        total[v] = total[v] + 3 * depth[v] + uint(parent[v])

    first = 0
    for round in range(3):
        vertices.apply(clear)
        frontier = vertices.where(is_source)
        frontier.apply(begin)
        level = 0
        while frontier:
            level += 1
            frontier = edges.from_(frontier).to(unfound).apply_modified(find, parent)
            frontier.apply(settle)
        found = vertices.where(unfound)
        vertices.apply(add)
        first += 2
    return total, depth


@program
def lengths(edges: edgeset, source: vertex = 0):
    '''The shortest paths, and then the number of edges that lie on any.'''
    distance = vector(uint, infinity)
    lie = vector(uint, 0)

    def relax(src, dst, weight):
        distance[dst].min(distance[src] + weight)

    def reached(v):
        return distance[v] != infinity

    def count(src, dst):
        if distance[src] <= distance[dst]:
            lie[dst] += 1

    distance[source] = 0
    frontier = vertexset(source)
    while frontier:
        frontier = edges.from_(frontier).apply_modified(relax, distance)
    found = vertices.where(reached)
    edges.from_(found).apply(count)
    return distance, lie


@program
def widest(edges: edgeset, source: vertex = 0):
    '''The widest paths: a list has no room for what this brings.'''
    width = vector(uint, 0)
    hops = vector(uint, 0)

    def relax(src, dst, weight):
        width[dst].max(min(width[src], weight))

    def step(src, dst):
        hops[dst] += 1

    width[source] = infinity
    frontier = vertexset(source)
    while frontier:
        frontier = edges.from_(frontier).apply_modified(relax, width)
    edges.apply(step)
    return width, hops


@program
def labels(edges: edgeset):
    '''The smallest vertex that leads to each vertex, and whether it is another.'''
    label = vector(vertex, lambda v: v)
    other = vector(uint, 0)

    def lower(src, dst):
        if label[src] < label[dst]:
            label[dst].min(label[src])
            other[dst].max(1)

    changed = vertices
    while changed:
        changed = edges.from_(changed).apply_modified(lower, label)
    return label, other


@program
def marked(edges: edgeset):
    '''As labels, but a vertex without a smaller one may be marked, too.'''
    label = vector(vertex, lambda v: v)
    other = vector(uint, 0)
    last = vector(vertex, lambda v: v)

    def lower(src, dst):
        label[dst].min(label[src])
        if label[src] > last[dst]:
            other[dst].max(1)

    changed = vertices
    while changed:
        changed = edges.from_(changed).apply_modified(lower, label)
    return label, other
"""


@pytest.fixture
def programs(tmp_path):
    file = tmp_path / "programs.py"
    file.write_text(PROGRAMS.replace("infinity, program", "infinity, none, program"))
    return lambda name: name if name in ("bc", "kcore", "mis") else f"{file}:{name}"


def run(program, graph, schedule, seed=0, cores=1, shape=(2, 4), **choices):
    with Device.functional(hardware(schedule, *shape, cores=cores, imem_bytes=1 << 16), seed=seed,
                           max_cycles=5_000_000) as device:
        result = device.run(program, graph, schedule=schedule, **choices)
    assert result.verified
    return result


def sent(program, graph, schedule="compact", **choices):
    """What the edges of each operator bring."""
    task = make(hardware(schedule, 2, 4), as_plan(program, schedule=schedule, **choices), graph)
    return [side.algorithm.sent for side in task.sides.values()]


def symmetric(name="random"):
    return GRAPHS[name].undirected().simplify().weighted(40, 7)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("program", ["bc", "kcore", "mis", "nearest", "lengths", "labels",
                                     "marked"])
@pytest.mark.sample(16)
def test_programs(programs, program, schedule):
    for seed, name in enumerate(("random", "dense", "star", "loops", "one row")):
        run(programs(program), symmetric(name), schedule, seed, 1 + seed % 3,
            split=("static", "counter")[seed % 2])


@pytest.mark.parametrize("format", ["coo", "tigr:k=3", "ell:width=4:rest=csr", "dia",
                                    "cr2:cluster_bits=3", "csr:reorder=rcm", "csr:block=7"])
@pytest.mark.parametrize("schedule", SCHEDULES[:5])
@pytest.mark.sample(8)
def test_formats(programs, schedule, format):
    for number, program in enumerate(("bc", "kcore", "mis", "nearest", "lengths")):
        for frontier in (None, "counter"):
            try:
                run(programs(program), symmetric(), schedule, number, format=format,
                    frontier=frontier)
            except RunError:
                raise
            except UserError as error:
                assert str(error).startswith(f"schedule '{schedule.partition(':')[0]}'") \
                    or "orders the vertices" in str(error), error


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_random_interleavings(programs, schedule):
    graph = load("rmat:scale=5,degree=5,seed=7").undirected().simplify().weighted(9, 1)
    for seed in range(6):
        program = ("nearest", "lengths", "bc")[seed % 3]
        run(programs(program), graph, schedule, seed, 1 + seed % 2, ((4, 1), (1, 8))[seed % 2],
            source=int(np.argmax(graph.out_degrees)))


def test_the_word_beside_an_edge(programs):
    graph = symmetric()
    count, give_back = sent("bc", graph)
    assert count.value and count.array == "vector_paths" and not give_back.value
    lose, = sent("kcore", graph)
    assert not lose.value and lose.late
    compete, cover = sent("mis", graph)
    assert compete.late and not compete.value and cover.late       # whether the ends differ
    relax, count = sent(programs("lengths"), graph)
    assert relax.value and relax.array == "vector_distance" and not relax.late
    assert count.value and count.array == "vector_distance"


def test_what_a_unit_may_drop(programs):
    graph = symmetric()
    assert [(each.drops, each.forgets) for each in sent("bc", graph)] == 2 * [(False, False)]
    assert [each.drops for each in sent("kcore", graph)] == [False]
    _, cover = sent("mis", graph)
    assert cover.drops
    find, = sent(programs("nearest"), graph)
    assert find.drops and find.forgets          # the loop is performed three times
    relax, count = sent(programs("lengths"), graph)
    assert relax.drops and not relax.forgets and not count.drops
    lower, = sent(programs("labels"), graph)
    assert lower.drops          # an edge that brings less marks its end, too
    lower, = sent(programs("marked"), graph)
    assert not lower.drops


@pytest.mark.parametrize("schedule", ["scu-enhanced", "scu-stream"])
def test_a_table_that_is_not_emptied_is_seen(programs, schedule, monkeypatch):
    graph = load("rmat:scale=6,degree=6,seed=3").undirected().simplify()
    run(programs("nearest"), graph, schedule)
    kept = operator_choices.sent_word
    monkeypatch.setattr(operator_choices, "sent_word", lambda *given, **more: kept(
        *given, **more).__class__(**vars(kept(*given, **more)) | {"forgets": False}))
    with pytest.raises(RunError):
        run(programs("nearest"), graph, schedule)


@pytest.mark.parametrize("schedule", ["scu-enhanced", "scu-stream"])
def test_sums_are_not_dropped(schedule, monkeypatch):
    graph = load("rmat:scale=6,degree=6,seed=3").undirected().simplify()
    kept = operator_choices.sent_word
    monkeypatch.setattr(operator_choices, "sent_word", lambda *given, **more: kept(
        *given, **more).__class__(**vars(kept(*given, **more)) | {"drops": True}))
    with pytest.raises(RunError):
        run("bc", graph, schedule)


@pytest.mark.parametrize("schedule", SCHEDULES[:5])
def test_weights(programs, schedule):
    with pytest.raises(UserError, match="cannot run 'widest': the list of edges has no room for "
                                        "weights, and .* needs more of the source and the "
                                        "weight than a vector's word plus the weight [(]fact "
                                        "sent[)]"):
        run(programs("widest"), symmetric(), schedule)


@pytest.mark.parametrize("schedule", ["scu", "scu-enhanced", "scu-stream"])
def test_sums_that_may_not_fit(programs, schedule):
    most = (1 << 32) - 2
    graph = Graph(3, [0, 0, 1], [1, 2, 2], [most, 100, 10], name="short")
    run(programs("lengths"), graph, "compact")
    with pytest.raises(UserError, match="does not notice if a sum passes 32 bits"):
        run(programs("lengths"), graph, schedule)
