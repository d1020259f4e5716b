"""Which operators of a program share a kernel, and what that leaves to launch.

====================  =============================================================================
programs              test_kernels: the kernels of the shipped programs of several loops;
                      test_launches: launches for each execution of an operator of edges
rules                 test_joins, test_stays_alone, test_edges: operators that may, and may not,
                      share a kernel; all are run, and compared with the interpreter
filters               test_filters
advance               test_in_advance: a loop's first operator rides on the kernel that makes its
                      set, also where the set becomes empty, and where the host counts between
sets                  test_many_sets: sets that live side by side, under several names;
                      test_numbers: a number of the host that an argument has no room for
plans                 test_frontiers: lists, stamps and words; test_refused
====================  =============================================================================
"""

import functools

import numpy as np
import pytest

from base.errors import UserError
from hw.config import preset
from sw.compile import algorithms
from sw.compile.lower.algorithm import ProgramAlgorithm
from sw.compile.lower.fuse import group_name
from sw.device import Device
from sw.graph import Graph, load
from sw.lang import programs
from sw.lang.passes import analysed
from sw.lang.reader import read_text
from sw.vm import reference


@functools.cache
def graph():
    return load("rmat:scale=6,degree=4,seed=3").undirected().simplify()


def general(program):
    """A program as an algorithm without a form of loops."""
    return type(program.name, (ProgramAlgorithm,), {
        "name": program.name, "program": analysed(program), "form": (), "check": None,
        "options": {argument.name: (int,) for argument in program.arguments},
        "weighted": program.weighted, "vertex_outputs": ()})


def kernels(text):
    """The names of the kernels of a text."""
    found = general(read_text(text))(graph()).groups.all
    return {group_name(group) for group in found}


def run(text, tmp_path, on=None, config="tiny", **choices):
    """A run of a text by the device, which compares it with the interpreter."""
    path = tmp_path / "text.py"
    path.write_text(text)
    on = on or graph()
    with Device.functional(preset(config).replace(imem_bytes=1 << 16)) as device:
        result = device.run(str(path), on, schedule=choices.pop("schedule", "vm"), **choices)
    expected = reference.run(read_text(text), on).outputs
    assert all(np.array_equal(result.outputs[name], words) for name, words in expected.items())
    return result


@pytest.mark.parametrize("name, expected", [
    ("bc", {"edges0_vertices_settle", "where_on_level_all", "edges1"}),
    ("mis", {"edges0", "where_wins_vertices_choose", "edges1",
             "where_is_open_vertices_draw"}),
    ("kcore", {"where_falls_vertices_remove", "where_lives_where_falls", "edges0",
               "vertices_remove"}),
])
def test_kernels(name, expected):
    found = general(programs.find(name))(graph()).groups.all
    assert {group_name(group) for group in found} == expected


@pytest.mark.parametrize("name, schedule, most", [
    ("bc", "vm", 1.5), ("bc", "em", 1), ("mis", "vm", 2.2), ("kcore", "weaver", 3.1)])
def test_launches(name, schedule, most):
    """Launches for each execution of an operator of edges."""
    with Device.functional(preset("tiny").replace(gather="stream", imem_bytes=1 << 16)) as device:
        result = device.run(name, graph(), schedule=schedule, direction="push")
    assert result.verified
    edges = sum(step["launches"] for kernel, step in result.steps.items()
                if kernel.startswith("edges"))
    assert result.launches <= most * edges + 1


VERTICES = """
@program
def pairs(edges: edgeset):
    x = vector(uint, lambda v: uint(v) & 7)
    y = vector(uint, 1)
    z = vector(vertex, lambda v: vertex(uint(v) // 2))

    def odd(v):
        return x[v] % 2 == 1

    def first(v):
        {first}

    def second(v):
        {second}

    some = vertices.where(odd)
    some.apply(first)
    some.apply(second)
    return x, y
"""


@pytest.mark.parametrize("first, second", [
    ("y[v] = x[v] + 1", "x[v] = y[v] * 2"),                         # the own word
    ("y[v] = x[v]\n        x[v] = 9", "y[v] = y[v] + x[v]"),
    ("if x[v] > 2:\n            y[v] = 5", "x[v] = y[v]"),
    ("y[v] = x[z[v]]", "y[v] = y[v] + x[z[v]]"),                    # reads elsewhere, not written
])
def test_joins(first, second, tmp_path):
    text = VERTICES.format(first=first, second=second)
    assert len(kernels(text)) == 1
    run(text, tmp_path)


@pytest.mark.parametrize("first, second", [
    ("y[v] = x[v] + 1", "x[v] = y[z[v]]"),                          # reads what others write
    ("y[v] = x[z[v]]", "x[v] = y[v]"),                              # writes what others read
    ("y[z[v]] += 1", "x[v] = y[v]"),                                # sums of others
])
def test_stays_alone(first, second, tmp_path):
    text = VERTICES.format(first=first, second=second)
    assert len(kernels(text)) == 2
    run(text, tmp_path)


EDGES = """
@program
def spread(edges: edgeset):
    x = vector(uint, 0)
    y = vector(uint, 1)

    def send(src, dst):
        {send}

    def note(v):
        {note}

    frontier = vertexset(0, 5)
    for i in range(4):
        frontier = edges.from_(frontier).apply_modified(send, x)
        frontier.apply(note)
    return x, y
"""


@pytest.mark.parametrize("send, note, joins", [
    ("x[dst] += 1", "y[v] = i + 2", True),
    ("x[dst] |= y[src]", "y[v] = 4", False),            # edges read what is stored
    ("x[dst] += 1", "y[v] = x[v]", False),              # the sum is not final
    ("x[dst] |= 1 << i", "y[v] = y[v] + x[v]", True),   # any edge gives the word
    ("x[dst].max(i)", "x[v] = 0", False),               # edges come later
    ("if y[src] < 3:\n            x[dst] += y[src]", "y[v] = y[v] + 1", False),
])
@pytest.mark.parametrize("schedule, direction", [("vm", "push"), ("em", "push"), ("vm", "pull")])
def test_edges(send, note, joins, schedule, direction, tmp_path):
    text = EDGES.format(send=send, note=note)
    assert ("edges0_vertices_note" in kernels(text)) == joins
    run(text, tmp_path, schedule=schedule, direction=direction)


FILTERS = """
@program
def filters(edges: edgeset):
    x = vector(uint, lambda v: uint(v) * 7 % 5)
    near = vector(vertex, lambda v: vertex(uint(v) // 2))
    y = vector(uint, 0)

    def some(v):
        return x[v] != 2

    def wanted(v):
        return {test}

    def add(src, dst):
        y[dst] += x[src]

    for i in range(3):
        found = vertices.where(some)
        edges.from_(found).to(wanted).apply(add)
    return y
"""


@pytest.mark.parametrize("test", [
    "x[v] == 1", "x[near[v]] == 1", "x[vertex(uint(v) // 2)] == 1", "x[v] > y[v]",
    "uint(v) % 3 == i", "x[v] > 0 and edges.in_degree(v) > 4"])
@pytest.mark.parametrize("schedule, direction", [("vm", "pull"), ("weaver", "pull"), ("em", "push"),
                                                 ("twc", "pull")])
def test_filters(test, schedule, direction, tmp_path):
    """Filters of destinations, by any words."""
    run(FILTERS.format(test=test), tmp_path, schedule=schedule, direction=direction)


ADVANCE = """
@program
def advance(edges: edgeset):
    left = vector(uint, lambda v: uint(v) & 15)
    last = vector(uint, 0)

    def more(v):
        return left[v] > 0

    def step(v):
        left[v] = left[v] - 1
        last[v] = turn

    turn = 5
    some = vertices.where(more)
    while some:
        turn += {grows}
        some.apply(step)
        some = some.where(more)
    turn += 1
    some.apply(step)
    return left, last
"""


@pytest.mark.parametrize("grows", [1, 3])
def test_in_advance(grows, tmp_path):
    text = ADVANCE.format(grows=grows)
    assert "where_more_vertices_step" in kernels(text)
    result = run(text, tmp_path)
    # One kernel before the loop, which has 15 rounds; one in each round; and one behind it.
    assert result.launches == 17
    run(text, tmp_path, on=Graph(4, [0, 1], [1, 2]))


SETS = """
@program
def sets(edges: edgeset):
    hit = vector(uint, 0)
    seen = vector(uint, 0)

    def reach(src, dst):
        hit[dst].max(i + 1)

    def count(src, dst):
        seen[dst] += 1

    def note(v):
        seen[v] = seen[v] + 1

    def many(v):
        return seen[v] > 1

    kept = vertexset(3)
    before = vertexset(0)
    for i in range(5):
        now = edges.from_(before).apply_modified(reach, hit)
        both = now
        both.apply(note)
        some = both.where(many)
        edges.from_(some).apply(count)
        if i % 2 == 0:
            kept = some
        kept.apply(note)
        before = now
        edges.from_(kept).apply(count)
    return hit, seen
"""


@pytest.mark.parametrize("schedule, direction", [
    ("vm", "push"), ("em", "push"), ("vm", "pull"), ("strict", "push")])
def test_many_sets(schedule, direction, tmp_path):
    run(SETS, tmp_path, schedule=schedule, direction=direction)


def test_numbers(tmp_path):
    run("""
@program
def numbers(edges: edgeset):
    x = vector(uint, 0)
    y = vector(uint, 0)

    def mark(v):
        x[v] = x[v] ^ number
        y[v] = y[v] ^ number - 3

    number = 9
    for i in range(6):
        vertices.apply(mark)
        number = number * 50
    return x, y
""", tmp_path)


def test_frontiers(tmp_path):
    """A set is read as a list or by stamps, and by words where they tell."""
    for frontier in ("queue", "counter"):
        run(SETS, tmp_path, frontier=frontier)
    with Device.functional(preset("tiny")) as device:
        lists = device.run("bc", graph(), schedule="vm", direction="push")
        words = device.run("bc", graph(), schedule="vm", direction="push", frontier="counter")
    assert "where_on_level_all" in lists.steps and "where_on_level_all" not in words.steps


def test_refused(tmp_path):
    for choices, message in [({"frontier": "bitmap"}, "cannot have frontier 'bitmap': the sets of"),
                             ({"deduplicate": False}, "is deduplicated in any case"),
                             ({"schedule": "em", "frontier": "queue"}, "read here as counter")]:
        with pytest.raises(UserError, match=message):
            run(SETS, tmp_path, **choices)
    with pytest.raises(UserError, match="no choice of frontier: it has no operator of edges"):
        run(ADVANCE.format(grows=1), tmp_path, frontier="counter")
    assert algorithms.find("kcore").__mro__[1] is ProgramAlgorithm
