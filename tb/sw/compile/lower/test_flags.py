"""Flags that become numbers of rounds.

==========================  ==================================================================
one kernel a superstep      test_one_launch: whatever the plan; test_result: the flag itself
other flags                 test_stays: those that are no stamps stay as they are
==========================  ==================================================================
"""

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
def test_one_launch(options, tmp_path):
    result, kernels = run(TEXT, tmp_path, **options)
    assert len(kernels) == result.supersteps


def test_result(tmp_path):
    result, kernels = run(RETURNED, tmp_path)
    assert len(kernels) == result.supersteps + 1
    assert (result.outputs["found"] == (result.outputs["parent"] != 0xFFFF_FFFF)).all()
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
