"""Edges that do not say what they change, as a kernel behind them looks.

======================  ===========================================================
which words are kept    test_words_before: none, a copy that is kept, a copy each time
when                    test_long_rows, test_the_plan_decides
whose answer suffices   test_sums_from_zero
======================  ===========================================================
"""

import numpy as np
import pytest

from hw.config import preset
from sw.cli.tests import ROOT
from sw.compile.schedules import equip
from sw.device import Device
from sw.graph import Graph, load


CONFIG = equip(preset("default"), ["vm", "em"])

#: Behind each superstep the words of what it has changed grow.
GROWS = """
@program
def grows(edges: edgeset, source: vertex = 0):
    x = vector(uint, 0)
    y = vector(uint, 0)

    def push(src, dst):
        x[dst].max(min(y[src], 5))

    def grow(v):
        x[v] = x[v] + 1
        y[v] = x[v]

    y[source] = 1
    frontier = vertexset(source)
    while frontier:
        frontier = edges.from_(frontier).apply_modified(push, x)
        frontier.apply(grow)
    return x, y
"""


def star(seed, vertices=60):
    """A vertex with arcs to all others, and some arcs between these."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(vertices, size=(2, vertices))
    return Graph(vertices, np.r_[np.zeros(vertices, int), ends[0]],
                 np.r_[np.arange(vertices), ends[1]], rng.integers(1, 10, size=2 * vertices))


def run(program, graph, **choices):
    """{kernel: its launches}. The run compares its words with the interpreter's."""
    with Device.functional(CONFIG) as device:
        steps = device.run(program, graph, direction="push", **choices).steps
    return {name: step["launches"] for name, step in steps.items()}


@pytest.fixture
def grows(tmp_path):
    path = tmp_path / "grows.py"
    path.write_text(GROWS)
    return str(path)


@pytest.mark.parametrize("text, copies", [("sssp", False), ("searches", False), ("grows", True)])
@pytest.mark.parametrize("frontier", [None, "bytemap", "counter"])
def test_words_before(text, copies, frontier, grows):
    """The identity where words are that whenever edges begin, else a copy, which needs no kernel
    if nothing else writes the words."""
    programs = {"grows": grows, "searches": str(ROOT / "examples" / "programs" / "searches.py")}
    for seed in range(3):
        steps = run(programs.get(text, text), star(seed), schedule="vm", frontier=frontier)
        assert steps["changed0"] == steps["edges0"] > 1
        assert steps.get("copy_edges0", 0) == copies * steps["edges0"]


@pytest.mark.parametrize("graph, schedule, found", [
    (star(0), "vm", True), (star(0), "em", False),
    (load("road:side=8,seed=1,longest=9"), "vm", False)])
def test_long_rows(graph, schedule, found):
    assert ("changed0" in run("sssp", graph, schedule=schedule)) == found


@pytest.mark.parametrize("choices", [{"deduplicate": True}, {"atomics": "return"},
                                     {"atomics": "test"}, {"format": "tigr"}, {"delta": 4}])
def test_the_plan_decides(choices):
    assert not any("changed" in name for name in run("sssp", star(1), schedule="vm", **choices))


def test_sums_from_zero(tmp_path):
    """The old word tells the first lane that adds to a sum, which needs no stamp for that."""
    path = ROOT / "examples" / "programs" / "jaccard.py"
    with Device.functional(CONFIG) as device:
        task = device.plan(str(path), star(2).undirected().simplify(), schedule="em")
        task.build()
        edges = task.program.listing().split("edges1:")[1].split("vertices_compare:")[0]
        assert "amoadd.w before" in edges and "amomaxu" not in edges
        device.run_task(task)
