"""Lanes claim the vertices of a set by the number of their launch, and read chained sets by it.

============================  =====================================================================
many launches                 test_many_launches: numbers begin anew where the argument has no room;
                              test_the_largest_number: how much room it has
chained sets                  test_chained: which sets are; test_members_wait: a vertex that is
                              added leaves the set that is read, or all its edges go on
numbers of the host           test_numbers_of_the_host: they have the room, so sets have numbers
============================  =====================================================================
"""

import types

import pytest

from sw.compile.frontiers.pool import Fields
from sw.device import Device
from tb.sw.compile.kernels.test_programs import config
from tb.sw.graphs import random_graph


#: A relaxation whose host counts rounds, and stores them.
ROUNDS = """
@program
def rounds(edges: edgeset, source: vertex = 0):
    distance = vector(uint, infinity)
    changed = vector(uint, 0)
    distance[source] = 0
    frontier = vertexset(source)
    number = 0

    def relax(src, dst, weight):
        distance[dst].min(distance[src] + weight)

    def note(v):
        changed[v] = number

    while frontier:
        number += 1
        frontier = edges.from_(frontier).apply_modified(relax, distance)
        frontier.apply(note)
    return distance, changed
"""


def run(program, **options):
    with Device.functional(config(2, 4)) as device:
        result = device.run(program, random_graph(40, 160, 5).weighted(9),
                            **{"schedule": "vm", "direction": "push"} | options)
    assert result.verified
    return result


def kernels(result):
    return [name for name, _ in result.set_cycles]


@pytest.mark.parametrize("options", [{}, {"schedule": "weaver"}, {"schedule": "compact"},
                                     {"direction": "auto"}])
def test_many_launches(options, monkeypatch):
    before = run("sssp", **options)
    monkeypatch.setattr(Fields, "most", 1)
    after = run("sssp", **options)
    assert "renumber" in kernels(after) and "renumber" not in kernels(before)
    assert [name for name in kernels(after) if name != "renumber"] == kernels(before)


@pytest.mark.parametrize("bits", [1, 3, 4])
@pytest.mark.parametrize("blocks", [0, 2, 5])
def test_the_largest_number(bits, blocks):
    """The argument is a word; one more would be none."""
    fields = Fields(types.SimpleNamespace(bits=bits), blocks)
    numbers = [(1 << bits) - 1] * blocks
    assert fields.word(1, numbers, fields.most) >> 32 == 0
    assert fields.word(1, numbers, fields.most + 1) >> 32 == 1


def test_numbers_of_the_host(tmp_path, monkeypatch):
    path = tmp_path / "text.py"
    path.write_text(ROUNDS)
    monkeypatch.setattr(Fields, "most", 1)
    result = run(str(path))
    assert "renumber" not in kernels(result) and result.supersteps > 3


#: Two relaxations from the same set of the beginning: the second reads a set that is not the last.
TWICE = """
@program
def twice(edges: edgeset, source: vertex = 0):
    distance = vector(uint, infinity)
    distance[source] = 0
    first = vertexset(source)

    def relax(src, dst, weight):
        distance[dst].min(distance[src] + weight)

    for time in range(2):
        frontier = first
        while frontier:
            frontier = edges.from_(frontier).apply_modified(relax, distance)
    return distance
"""

#: The widest path, with a set in place of a queue.
WIDEST = """
@program
def widest(edges: edgeset, source: vertex = 0):
    width = vector(uint, 0)
    width[source] = 100
    frontier = vertexset(source)

    def widen(src, dst, weight):
        width[dst].max(min(width[src], weight))

    while frontier:
        frontier = edges.from_(frontier).apply_modified(widen, width)
    return width
"""


def planned(program, **options):
    """The pool of a plan."""
    with Device.functional(config(2, 4)) as device:
        task = device.plan(program, random_graph(40, 160, 5).weighted(9), **options)
    side, *_ = task.sides.values()
    return side.algorithm.fields.pool


@pytest.mark.parametrize("text, options, expected", [
    ("sssp", {}, True), ("sssp", {"schedule": "em"}, True), ("sssp", {"fusion": True}, True),
    ("sssp", {"frontier": "bitmap"}, False), ("sssp", {"delta": 4}, False),
    (ROUNDS, {}, False), (TWICE, {}, False), (WIDEST, {}, True)])
def test_chained(text, options, expected, tmp_path):
    path = tmp_path / "text.py"
    path.write_text(text)
    pool = planned(text if "\n" not in text else str(path), **{
        "schedule": "vm", "direction": "push", "frontier": "counter"} | options)
    assert pool.chained is expected


@pytest.mark.parametrize("options", [
    {}, {"schedule": "em"}, {"schedule": "twc", "deduplicate": False}, {"schedule": "compact"},
    {"schedule": "weaver", "fusion": True}, {"schedule": "em", "format": "g-shards"}])
def test_members_wait(options, monkeypatch):
    options = {"frontier": "counter"} | options
    before = run("sssp", **options)
    monkeypatch.setattr(Fields, "most", 1)
    after = run("sssp", **options)
    assert after.supersteps == before.supersteps > 3
    assert ("renumber" in kernels(after)) is not options.get("fusion", False)
