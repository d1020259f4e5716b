"""Reductions at each edge, beside a relaxation or a condition that selects edges.

==========  ===================================================================================
words       test_words: under schedules that select, own or share rows, drop edges, and with voids
cost        test_cost: edges are still selected; the reduction is all that is added
parts       test_parts: which reductions are performed at each edge; test_overwritten: which of
            them are stores
==========  ===================================================================================
"""

import numpy as np
import pytest

from sw.compile import schedules
from sw.compile.lower.relaxation import overwritten
from sw.device import Device
from sw.graph import load
from sw.lang.passes import analysed
from sw.lang.passes.chain import unconditional
from sw.lang.reader import read_text
from tb.sw.compile.kernels.test_programs import config


SEEN = """
from graphloom import *

@program
def seen(edges: edgeset, source: vertex = 0):
    distance = vector(uint, infinity)
    seen = vector(uint, 0)
    nearest = vector(uint, infinity)

    def relax(src, dst, weight):
        distance[dst].min(distance[src] + weight)
        seen[dst].max(1)

    distance[source] = 0
    frontier = vertexset(source)
    while frontier:
        frontier = edges.from_(frontier).apply_modified(relax, distance)
    return distance, seen, nearest
"""

NEAREST = SEEN.replace("seen[dst].max(1)",
                       "seen[dst].max(1)\n        nearest[dst].min(distance[src])")

HOOK = """
from graphloom import *

@program
def hooked(edges: edgeset):
    label = vector(vertex, lambda v: v)
    differs = vector(bool, False)
    seen = vector(uint, 3)
    low = vector(uint, 3)

    def shortcut(v):
        label[v] = label[label[v]]
        differs[v] = False

    def hook(src, dst):
        if label[src] != label[dst]:
            label[max(label[src], label[dst])].min(min(label[src], label[dst]))
            differs[dst] |= True
        seen[dst].max(4)
        low[dst].max(2)

    changed = vertices
    while changed:
        vertices.apply(shortcut)
        changed = edges.apply_modified(hook, differs)
    return label, seen, low
"""

GRAPH = load("rmat:scale=6,degree=6,seed=5,weights=9")


def run(text, tmp_path, seed=None, tests=False, **choices):
    """A result that is equal to the interpreter's; with a seed, warps take turns at random.
    ``tests`` tells whether GraphPEG can test neighbours."""
    path = tmp_path / "program.py"
    path.write_text(text)
    needs = schedules.equip(config(4, 8), [choices["schedule"]]).replace(graphpeg_filter=tests)
    with Device.functional(needs, seed=seed) as device:
        result = device.run(str(path), GRAPH, **choices)
    assert result.verified
    return result


@pytest.mark.parametrize("choices", [
    {"schedule": "vm"}, {"schedule": "vm", "direction": "pull"},
    {"schedule": "em"}, {"schedule": "em", "direction": "pull"},
    {"schedule": "em", "format": "ell:width=2"}, {"schedule": "em", "format": "cr2"},
    {"schedule": "graphpeg"}, {"schedule": "graphpeg", "tests": True}, {"schedule": "weaver"},
    {"schedule": "weaver", "direction": "pull"}, {"schedule": "weaver", "format": "tigr:k=3"},
    {"schedule": "cm", "fusion": True}, {"schedule": "compact"}, {"schedule": "scu-stream"}],
    ids=str)
def test_words(choices, tmp_path):
    # A list of edges has a word for the weight and the source's word together.
    lists = choices["schedule"] in ("compact", "scu-stream")
    run(SEEN if lists else NEAREST, tmp_path, seed=3, **choices)
    run(HOOK, tmp_path, seed=3, **choices)


@pytest.mark.parametrize("schedule", ["weaver", "graphpeg", "em"])
def test_cost(schedule, tmp_path):
    """A reduction an edge takes 6 instructions of a lane at most."""
    base = SEEN.replace("        seen[dst].max(1)\n", "")
    count = SEEN.replace("seen[dst].max(1)", "seen[dst] += 1")
    base, more = (run(each, tmp_path, schedule=schedule, direction="push")
                  for each in (base, SEEN))
    counted = run(count, tmp_path, schedule="vm", direction="push")
    edges = int(counted.outputs["seen"].sum(dtype=np.uint64))
    assert more.launches == base.launches
    assert base.counters["lanes"] < more.counters["lanes"] <= base.counters["lanes"] + 6 * edges


@pytest.mark.parametrize("text, names", [
    (SEEN, {"seen"}), (NEAREST, {"seen", "nearest"}),
    (NEAREST.replace("seen[dst]", "seen[src]"), {"nearest"}),
    (NEAREST.replace("min(distance[src])", "min(weight)"), {"seen"}),
    (SEEN.replace("seen[dst]", "seen[max(src, dst)]"), set())])
def test_parts(text, names):
    program = read_text(text)
    function = next(each for each in program.functions if each.of_edge)
    always, rest = unconditional(function, "distance")
    assert {node.vector for node in always} == names
    assert len(always) + len(rest.body) == len(function.body)


@pytest.mark.parametrize("reductions, stored", [
    (["max(4)"], True), (["max(4)", "max(4)"], True), (["max(4)", "max(2)"], False),
    (["max(2)"], False), (["max(infinity)"], True), (["max(distance[src])"], False),
    (["|= 3"], True), (["|= 7"], True), (["|= 8"], False), (["|= 2"], False),
    (["min(0)"], True), (["min(3)"], True), (["min(infinity)"], False)])
def test_overwritten(reductions, stored):
    """A store will do for a number that is the largest of the vector, or the smallest, alone."""
    lines = "\n        ".join(f"seen[dst].{each}" for each in reductions).replace(".|", " |")
    text = SEEN.replace("seen[dst].max(1)", lines).replace("seen = vector(uint, 0)",
                                                           "seen = vector(uint, 3)")
    program = analysed(read_text(text))
    function = next(each for each in program.functions if each.of_edge)
    assert overwritten(program, function, "distance") == ({"seen"} if stored else set())
