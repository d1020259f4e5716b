"""Lanes claim the vertices of a set by the number of their launch.

============================  =====================================================================
many launches                 test_many_launches: numbers begin anew where the argument has no room
numbers of the host           test_numbers_of_the_host: they have the room, so sets have numbers
============================  =====================================================================
"""

import pytest

from sw.compile.frontiers.sets import Fields
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


def test_numbers_of_the_host(tmp_path, monkeypatch):
    path = tmp_path / "text.py"
    path.write_text(ROUNDS)
    monkeypatch.setattr(Fields, "most", 1)
    result = run(str(path))
    assert "renumber" not in kernels(result) and result.supersteps > 3
