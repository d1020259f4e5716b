"""What a run says of its kernels, its launches and of the ways that were refused.

======================  ===========================================================================
kernels                 test_kernels_are_those_of_the_program
taken and refused       test_early_exit, test_one_kernel_a_round, test_start_words,
                        test_a_frontier_that_is_passed_over, test_room
one launch              test_one_launch
supersteps              test_supersteps_are_executions_of_edge_operators
the line                test_the_line_of_a_run
======================  ===========================================================================
"""

import json

import pytest

from base.errors import UserError
from hw.config import preset
from sw.compile.lowered import PLACES
from sw.compile.lowering import lowered
from sw.device import Device
from sw.graph.load import load
from sw.lang import graph_ir as ir
from sw.lang import programs


GRAPH = load("road:side=8,seed=1,longest=9")
CONFIG = preset("baseline")


def task(algorithm, **plan):
    return Device.functional(CONFIG).plan(algorithm, GRAPH, **plan)


def decided(made, what):
    """Whether a fast way was taken, by each decision about it."""
    return [each.taken for each in lowered(made).decisions if each.what == what]


@pytest.mark.parametrize("plan", [{}, {"schedule": "vm", "direction": "pull"},
                                  {"schedule": "twc", "direction": "push"}])
@pytest.mark.parametrize("program", programs.names())
def test_kernels_are_those_of_the_program(program, plan):
    """Every kernel that can be launched is there, with a member, and every launch has an entry."""
    made = task(program, **plan)
    found = lowered(made)
    assert [kernel.name for kernel in found.kernels] == list(made.algorithm.kernels(made))
    for kernel in found.kernels:
        assert kernel.members and {place for place, _ in kernel.members} <= set(PLACES)
        assert list(kernel.launches) == [step.name for step in made.kernel_sets[kernel.name]]
    assert {name for kernel in found.kernels for name in kernel.launches} \
        == set(made.program.entries)
    text = found.text()
    assert all(kernel.name in text for kernel in found.kernels)
    assert all(each.text in text for each in found.decisions)
    # Each operator's function is somewhere. The host does what is before the first edges.
    named = {what for kernel in found.kernels for _, what in kernel.members}
    assert {node.apply_f for node in ir.instructions(programs.find(program).body)
            if isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator)} <= named


def test_early_exit():
    assert decided(task("bfs", direction="pull", schedule="vm"), "early exit") == [True]
    assert decided(task("bfs", direction="pull", format="ell:width=2"), "early exit") == [True]
    for plan in ({"schedule": "weaver", "format": "tigr:k=3"}, {"schedule": "em"}):
        assert decided(task("bfs", direction="pull", **plan), "early exit") == [False], plan
    assert decided(task("bfs", direction="push"), "early exit") == []


def test_one_kernel_a_round():
    for plan, fused in (({"schedule": "vm"}, True), ({"schedule": "em"}, False),
                        ({"schedule": "vm", "direction": "push"}, False),
                        ({"schedule": "vm", "format": "tigr:k=3"}, False)):
        made = task("pagerank", **plan)
        assert decided(made, "functions of vertices behind the edges in one kernel") == (
            [] if fused else [False])
        finish = [kernel for kernel in lowered(made).kernels
                  if ("finish", "renew") in kernel.members]
        assert bool(finish) == fused


def test_start_words():
    """A copy that is made is said, with the operator and the vector."""
    for program in programs.names():
        made = task(program)
        copies = [name for name in made.algorithm.kernels(made) if name.startswith("copy")]
        places = [each.where for each in lowered(made).decisions
                  if each.what == "start words without a copy" and not each.taken]
        assert len(places) == len(copies)
    assert decided(task("bc"), "settle within the kernel") == [True]


def test_a_frontier_that_is_passed_over():
    """The reason is that of a plan which asks for the frontier."""
    for plan in ({"schedule": "em"}, {"format": "tigr:k=3"}):
        made = task("sssp", direction="push", **plan)
        refused = [each for each in lowered(made).refused if each.what == "frontier queue"]
        assert made.plan.frontier != "queue" and len(refused) == 1
        with pytest.raises(UserError) as error:
            task("sssp", direction="push", frontier="queue", **plan)
        assert refused[0].fact in str(error.value)
    # What the user asks for is no refusal, and neither is what there was.
    for asked in ("bitmap", "queue", None):
        assert not lowered(task("sssp", direction="push", frontier=asked)).refused


def test_room():
    """A program that fits only with fewer edges at once."""
    tight = Device.functional(CONFIG.replace(imem_bytes=1024))
    graph = load("rmat:scale=6,degree=20,weights=4")
    for device, refused in ((tight, True), (Device.functional(CONFIG), False)):
        made = device.plan("sssp", graph, schedule="wm")
        _ = made.program
        room = [each.fact for each in lowered(made).refused
                if each.what == "the schedule's own unroll"]
        assert room == ["room: the program fits with unroll=1"] * refused


def test_one_launch():
    what = "one launch for all supersteps"
    assert decided(task("bfs"), what) == []         # nothing but the plan is against it
    assert decided(task("bfs", fusion=True), what) == [True]
    assert decided(task("kcore"), what) == []
    assert decided(task("kcore", fusion=True), what) == [True]
    assert decided(task("sssp", delta=5), what) == []
    assert decided(task("bfs", direction="auto"), what) == [False]


@pytest.mark.parametrize("program", ["bfs", "pagerank", "kcore", "bc", "mis"])
def test_supersteps_are_executions_of_edge_operators(program):
    with Device.functional(CONFIG) as device:
        result = device.run(program, GRAPH, schedule="em")
    made = task(program, schedule="em")
    gathers = {name for name, (kind, _) in made.algorithm.kernels(made).items()
               if kind == "gather"}
    assert result.supersteps == sum(name in gathers for name, _ in result.set_cycles)
    record = json.loads(json.dumps(result.to_json()))["lowering"]
    assert record["summary"] == result.lowering
    assert [kernel["name"] for kernel in record["kernels"]] == list(made.algorithm.kernels(made))
    assert len(record["decisions"]) == len(result.lowered.decisions)


def test_the_line_of_a_run():
    with Device.functional(CONFIG) as device:
        result = device.run("bfs", GRAPH, schedule="twc")
        line = result.lowering
        assert f"not fused: 1 kernel a superstep, {result.launches} launches for 13 " in line
        assert result.launches > 13 == result.supersteps
        assert "refused" not in line
        line = device.run("bfs", GRAPH, fusion=True).lowering
        assert "in one launch: 13 supersteps" in line
        assert "lowered, in one launch: " in device.run(
            "kcore", GRAPH, fusion=True).lowering
        result = device.run("kcore", GRAPH)
    sets, count = len(result.set_cycles), result.supersteps
    assert f"{sets / count:.1f} kernels a superstep, {result.launches} launches" in result.lowering
    assert all(f"{each.what} ({each.fact})" in result.lowering for each in result.lowered.refused)
