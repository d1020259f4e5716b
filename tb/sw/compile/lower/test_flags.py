"""Flags that become numbers of rounds.

==========================  ==================================================================
one kernel a superstep      test_one_launch: whatever the plan; test_result: the flag itself
other flags                 test_stays: those that are no stamps stay as they are
==========================  ==================================================================
"""

import numpy as np
import pytest

from sw.compile.lower.flags import numbered
from sw.device import Device
from sw.lang.passes import analysed
from sw.lang.reader import read_text
from tb.sw.compile.kernels.test_programs import config
from tb.sw.graphs import random_graph


TEXT = """
@program
def search(edges: edgeset, source: vertex = 0):
    found = vector(bool, False)
    parent = vector(vertex, none)

    def is_new(v):
        return not found[v]

    def visit(src, dst):
        parent[dst].min(src)

    def settle(v):
        found[v] = True

    found[source] = True
    parent[source] = source
    frontier = vertexset(source)
    while frontier:
        frontier = edges.from_(frontier).to(is_new).apply_modified(visit, parent)
        frontier.apply(settle)
    return parent
"""

NUMBERS = TEXT.replace("vector(bool, False)", "vector(uint, 7)").replace(
    "not found[v]", "found[v] > 2").replace("True", "2")

#: A number that is read as one, by edges and by functions of vertices.
READ = NUMBERS.replace("parent[dst].min(src)", "parent[dst].min(src)\n"
                       "        parent[dst].min(vertex(found[src]))").replace(
    "    return parent", "    vertices.apply(copy)\n    return parent, word").replace(
    "    def is_new", "    word = vector(uint, 0)\n\n    def copy(v):\n"
    "        word[v] = found[v] + 1\n\n    def is_new")

RETURNED = TEXT.replace("return parent", "return found, parent")


def run(text, tmp_path, **options):
    path = tmp_path / "text.py"
    path.write_text(text)
    with Device.functional(config(2, 4)) as device:
        result = device.run(str(path), random_graph(40, 90, 5), **{"schedule": "vm"} | options)
    assert result.verified and result.supersteps > 3
    return result, [name for name, _ in result.set_cycles]


@pytest.mark.parametrize("options", [
    {}, {"frontier": "bitmap"}, {"frontier": "bytemap", "schedule": "em"},
    {"direction": "pull", "schedule": "weaver"}, {"direction": "auto"}])
@pytest.mark.parametrize("text", [TEXT, NUMBERS], ids=["flag", "number"])
def test_one_launch(text, options, tmp_path):
    result, kernels = run(text, tmp_path, **options)
    assert len(kernels) == result.supersteps


def test_result(tmp_path):
    for text, words in ((RETURNED, (0, 1)), (NUMBERS.replace("return p", "return found, p"),
                                             (7, 2)), (READ, None)):
        result, kernels = run(text, tmp_path)
        assert len(kernels) == result.supersteps + 1
        if words is not None:
            reached = result.outputs["parent"] != 0xFFFF_FFFF
            assert (result.outputs["found"] == np.where(reached, words[1], words[0])).all()
    run(RETURNED, tmp_path, fusion=True, schedule="wm")


@pytest.mark.parametrize("old, new", [
    ("found[v] = True", "found[v] = parent[v] != 2"),
    ("found[v] = True", "found[v] = False"),
    ("vector(bool, False)", "vector(bool, lambda v: uint(v) == 3)"),
    ("frontier.apply(settle)", "vertices.apply(settle)"),
    ("    return parent", "    vertices.apply(settle)\n    return found, parent"),
    ("    return parent", "    found[source] = True\n    return found, parent"),
    ("not found[v]", "parent[v] == none")])
def test_stays(old, new):
    assert old in TEXT
    program = analysed(read_text(TEXT.replace(old, new)))
    assert numbered(program) is program
