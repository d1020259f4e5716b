"""The test by which a unit may drop edges before a warp has them.

=========  ====================================================================================
choice     test_choice: which comparison a program gives the unit, or that it gives none; and that
           words are right with it
=========  ====================================================================================
"""

import pytest

from sw.compile import schedules
from sw.compile.lowered import DROPS
from sw.device import Device
from sw.graph import load
from tb.sw.compile.kernels.test_programs import config


_TEXT = """
from graphloom import *

@program
def searched(edges: edgeset, source: vertex = 0):
    distance = vector(uint, infinity)
    limit = vector(uint, lambda v: uint(v) % 7)

    def relax(src, dst, weight):
        {body}

    distance[source] = 0
    frontier = vertexset(source)
    while frontier:
        frontier = edges.from_(frontier).apply_modified(relax, distance)
    return distance
"""

#: {the body of the edge's function: the comparison for push, or None}.
_TESTS = {
    "distance[dst].min(distance[src] + weight)":
        "distance > distance of the base vertex + weight",
    "distance[dst].min(distance[src])": "distance > distance of the base vertex",
    "distance[dst].min(3)": "distance > a number",
    "distance[dst].min(distance[src] + 2 * weight)": None,
    "distance[dst].min(max(distance[src], weight))": None,
    # Two words of the source.
    "if limit[src] > 2:\n            distance[dst].min(distance[src] + weight)": None,
}


@pytest.mark.parametrize("body, test", _TESTS.items())
def test_choice(body, test, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(_TEXT.format(body=body))
    needs = schedules.equip(config(4, 8), ["graphpeg"]).replace(graphpeg_filter=True)
    with Device.functional(needs, seed=3) as device:
        result = device.run(str(path), load("rmat:scale=6,degree=6,seed=5,weights=9"),
                            schedule="graphpeg", direction="push")
    assert result.verified
    (choice,) = [each for each in result.lowered.decisions if each.what == DROPS]
    assert (choice.fact if choice.taken else None) == test
