"""Tuning a program's schedules on the CPU.

======================  ==========================================================================
space                   test_axes, test_sizes: by hand; test_every_point: each point is a schedule
                        that the program takes and the GraphVM cpu honours; test_only;
                        test_no_labels
search                  test_search_finds_the_best: with times from a table, by each strategy
times                   test_words, test_stops, test_cost: real runs, with clocks that are given
======================  ==========================================================================
"""

import itertools
import types

import numpy as np
import pytest

from base.errors import UserError
from sw.graph import Graph
from sw.graph.generators import generate
from sw.lang import programs
from sw.lang.reader import read_text
from sw.lang.schedule import applied, read_schedules
from sw.study.tune import schedules, strategies
from sw.study.tune.candidates import Candidate
from sw.study.tune.schedules import PairedTimes, ScheduleSpace
from sw.study.tune.search import Trial, Tuner
from sw.vm import cpu, reference


GRAPH = generate("rmat:scale=6,degree=5,seed=2").weighted(40)


@pytest.fixture
def wide(monkeypatch):
    """Blocks as small as the graphs here."""
    monkeypatch.setattr(schedules, "_SIZES", (8, 32, 4096))


def axes_of(name):
    return {axis.name: axis.values for axis in ScheduleSpace(programs.find(name), GRAPH).axes}


def test_axes(wide):
    assert axes_of("pagerank") == {
        "s0:kernel_fusion": (None, False),
        "s0:s1:load_balance": (None, "vertex_based", "edge_only"),
        "s0:s1:blocking_size": (None, 8, 32), "s0:s1:direction": (None, "push", "pull")}
    found = axes_of("sssp")
    assert found["s0:delta"] == (None, 1, 4, 16, 64, 256, 1024, 4096)
    assert found["s0:s1:threshold"] == (0.01, 0.05, 0.15, 0.4)
    assert found["s0:s1:direction"] == (None, "push", "pull", "hybrid")
    assert "s0:s1:blocking_size" not in found and "s0:s1:threshold" in found
    assert {name for name in axes_of("bc") if name.endswith("direction")} == {
        "s0:s1:direction", "s2:s3:direction"}


def test_sizes():
    """Blocks are smaller than the graph."""
    space = ScheduleSpace(programs.find("pagerank"), types.SimpleNamespace(num_vertices=1 << 20))
    axis, = (axis for axis in space.axes if axis.name == "s0:s1:blocking_size")
    assert axis.values == (None, 1 << 14, 1 << 16, 1 << 18)


@pytest.mark.parametrize("name", ["pagerank", "sssp"])
def test_every_point(wide, name):
    """Every schedule is accepted or refused with a reason, and gives the interpreter's words."""
    program = programs.find(name)
    space = ScheduleSpace(program, GRAPH)
    wanted = reference.run(program, GRAPH)
    texts = set()
    for index in range(space.size):
        point = space.at(index)
        candidate = space.candidate(point, space.ask)
        assert candidate.digest is not None and space.point_of(candidate.plan) == point
        texts.add(candidate.plan.text)
        assert dict(candidate.plan.schedules) == read_schedules(candidate.plan.texts)
        if index % 7 == 0:
            ready = applied(program, dict(candidate.plan.schedules))
            try:
                found = cpu.run(ready, GRAPH, bits=wanted.fraction_bits)
            except UserError as error:
                assert "EdgeBlocking for push only" in str(error)
                continue
            for key, words in wanted.outputs.items():
                assert np.array_equal(found.outputs[key], words)
    assert len(texts) == space.size and "default" in texts


def test_only():
    space = ScheduleSpace(programs.find("bfs"), GRAPH, {"s0:s1:direction": ["push", "hybrid"],
                                                        "s0:kernel_fusion": ["own"]})
    assert {dict(space.at(index))["s0:s1:direction"] for index in range(space.size)} == {
        "push", "hybrid"}
    with pytest.raises(UserError, match="--only s0:s2:direction: there is no such axis; there are"):
        ScheduleSpace(programs.find("bfs"), GRAPH, {"s0:s2:direction": ["push"]})
    with pytest.raises(UserError, match="must be one of own, push, pull, hybrid"):
        ScheduleSpace(programs.find("bfs"), GRAPH, {"s0:s1:direction": ["up"]})


def test_no_labels():
    text = ("@program\ndef p(edges: edgeset):\n    a = vector(uint, 0)\n"
            "    def f(src, dst):\n        a[dst] += 1\n    edges.apply(f)\n    return a\n")
    with pytest.raises(UserError, match="program 'p' has no label, so it can have no schedule"):
        ScheduleSpace(read_text(text), GRAPH)


@pytest.mark.parametrize("name", ["exhaustive", "random", "coordinate", "tpe"])
def test_search_finds_the_best(name):
    """The strategies of plans search among schedules. Costs add up over the axes."""
    space = ScheduleSpace(programs.find("bfs"), GRAPH)
    worth = {"s0:kernel_fusion": {None: 0, False: 40}, "s0:s1:load_balance": {
        None: 30, "vertex_based": 10, "edge_only": 20}, "s0:s1:direction": {
        None: 300, "push": 200, "pull": 250, "hybrid": 100},
        "s0:s1:threshold": {0.01: 4, 0.05: 3, 0.15: 1, 0.4: 2}}
    search = Tuner(space, space.ask, strategies.make(name, space), trials=space.size,
                   starts=[space.default])
    search.run(lambda trial: {"status": "done", "cycles": 1000 + sum(
        worth[axis][value] for axis, value in trial.candidate.plan.point)})
    assert search.fewest == 1000 + 100 + 10 + 1
    best = min(search.outcomes.values(), key=lambda pair: pair[1]["cycles"])[0]
    assert best.texts == ["s0:s1=vertex_based,push | vertex_based,pull when "
                          "input_vertexset_size>=0.15"]


class Clock:
    """A machine whose runs take given times."""

    def __init__(self, seconds, outputs):
        self._given, self.seconds = itertools.cycle(seconds), []
        self.result = reference.run(programs.find("bfs"), GRAPH)
        self.result.outputs.update(outputs)

    def run(self):
        self.seconds.append(next(self._given))


def times(monkeypatch, seconds, outputs=None):
    """Paired times where the program without schedules takes 3 and 2 s by turns."""
    def machine(program, graph, given, threads):
        if program == programs.find("bfs"):
            return Clock([3, 2], {})
        return Clock(seconds, outputs or {})
    monkeypatch.setattr(schedules, "cpu_machine", machine)
    return PairedTimes(programs.find("bfs"), GRAPH, {}, 4)


def trial(text, limit=None):
    program = programs.find("bfs")
    space = ScheduleSpace(program, GRAPH)
    plan = next(plan for plan in map(space.plan, map(space.at, range(space.size)))
                if plan.text == text)
    return Trial(Candidate(plan, plan.text), limit)


def test_cost(monkeypatch):
    """The least of the trial over the least of the program in the same pairs."""
    found = times(monkeypatch, [9, 1, 7, 5])
    assert found.base == 2 * 10**9 and found.unit == "ns"
    assert found.measure(trial("s0:s1=push")) == {"status": "done", "cycles": 10**9}
    ratio, pairs = found.compare(trial("s0:s1=push").candidate.plan, 4)
    assert ratio == 0.5 and pairs == [0.5, 7 / 3, 2.5, 3.0]


def test_stops(monkeypatch):
    """After two pairs, if the limit is not half of the cost."""
    found = times(monkeypatch, [9, 8])
    assert found.measure(trial("s0:s1=push", 3 * 10**9)) == {"status": "stopped",
                                                             "cycles": 3 * 10**9}
    assert found.measure(trial("s0:s1=push", 5 * 10**9))["status"] == "done"


def test_words(monkeypatch):
    """Wrong words are a failure, and so is a schedule that the machine refuses."""
    found = times(monkeypatch, [1], {"depth": np.zeros(64, np.uint32)})
    assert found.measure(trial("s0:s1=push")) == {
        "status": "failed", "error": "depth differs from the program's result without schedules"}
    monkeypatch.undo()
    real = PairedTimes(programs.find("bfs"), GRAPH, {}, 2)
    record = real.measure(trial("s0:s1=vertex_based,push"))
    assert record["status"] == "done" and record["cycles"] > 1000
    paths = Graph(70, [0, 0] + [v for v in range(1, 67) for _ in (0, 1)],
                  [1, 2] + [w for v in range(1, 67) for w in ((v + 1) // 2 * 2 + 1,
                                                             (v + 1) // 2 * 2 + 2)])
    with pytest.raises(UserError, match="does not fit in 32 bits"):
        PairedTimes(programs.find("bc"), paths, {}, 2)
