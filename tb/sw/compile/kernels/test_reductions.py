"""Every reduction, where it is performed: in a lane's register, between lanes, and in memory."""

import numpy as np
import pytest

from sw.compile import schedules
from sw.device import Device
from sw.graph import load
from tb.sw.compile.kernels.test_programs import config


_TEXT = """
from graphloom import *

@program
def reduced(edges: edgeset):
    word = vector(uint, lambda v: uint(v) * 37 % 64)
    least = vector(uint, infinity)
    most = vector(uint, 0)
    total = vector(uint, 0)
    union = vector(uint, 0)

    def reduce(src, dst):
        least[dst].min(word[src])
        most[dst].max(word[src])
        total[dst] += word[src]
        union[dst] |= word[src]

    edges.apply(reduce)
    return least, most, total, union
"""

_GRAPH = load("rmat:scale=6,degree=8,seed=3")


@pytest.mark.parametrize("schedule, direction", [
    ("vm", "pull"), ("vwc", "pull"), ("twc", "pull"), ("cm", "pull"), ("weaver", "pull"),
    ("em", "push"), ("vm", "push"), ("graphpeg", "push")])
def test_words(schedule, direction, tmp_path):
    path = tmp_path / "reduced.py"
    path.write_text(_TEXT)
    with Device.functional(schedules.equip(config(4, 8), [schedule]), seed=1) as device:
        result = device.run(str(path), _GRAPH, schedule=schedule, direction=direction)
    word = np.arange(_GRAPH.num_vertices) * 37 % 64
    wanted = {"least": np.full(len(word), 0xFFFF_FFFF), "most": 0 * word, "total": 0 * word,
              "union": 0 * word}
    arcs = _GRAPH.dst, word[_GRAPH.src]
    for ufunc, name in ((np.minimum, "least"), (np.maximum, "most"), (np.add, "total"),
                        (np.bitwise_or, "union")):
        ufunc.at(wanted[name], *arcs)
        assert np.array_equal(result.outputs[name], wanted[name]), name
