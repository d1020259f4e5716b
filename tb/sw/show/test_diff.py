"""Pairs of runs of two files, and their changes by hand.

======================  ========================================================
pairs                   test_pairs, test_differs
changes                 test_changes, test_compared
bad input               test_refused, test_no_pairs
======================  ========================================================
"""

import dataclasses
import json
import math

import pytest

from base.errors import UserError
from hw.config import preset
from sim.dram import DramConfig
from sw.show import diff

_RUN = diff.Side("bfs", {"graph": "karate"},
                 {"plan": "bfs schedule=vm", "schedule": "vm", "format": "csr",
                  "direction": "push"}, dataclasses.asdict(preset("tiny")),
                 dataclasses.asdict(DramConfig()), "abc", "sum",
                 {"cycles": 100, "total_cycles": 200, "lanes": 50, "stores": 7, "loads": 0})


def _run(schedule="vm", graph="karate", configuration=None, **figures):
    return dataclasses.replace(
        _RUN, graph={"graph": graph}, configuration=_RUN.configuration | (configuration or {}),
        plan=_RUN.plan | {"plan": f"bfs schedule={schedule}", "schedule": schedule},
        figures=_RUN.figures | figures)


def test_pairs():
    """What has most in common goes together, whatever the order."""
    first = [_run("vm"), _run("em"), _run("weaver")]
    second = [_run("em", configuration={"l1_bytes": 512}), _run("vm"), _run("cm")]
    found, *left = diff.pairs(first, second)
    assert [(pair.first.plan["schedule"], pair.second.plan["schedule"]) for pair in found] == [
        ("vm", "vm"), ("em", "em")]
    assert [[side.name for side in sides] for sides in left] == [["bfs weaver on karate"],
                                                                 ["bfs cm on karate"]]
    # Several runs that only the hardware tells apart are paired where it is the same.
    sizes = [_run(configuration={"l1_bytes": size}) for size in (256, 512, 1024)]
    found, *left = diff.pairs(sizes[:2], sizes[1:])
    assert len(found) == 1 and not found[0].differs
    # Two single runs compare whatever their schedule; two graphs, by the schedule.
    assert diff.pairs([_run("vm")], [_run("em")])[0]
    found, *_ = diff.pairs([_run("vm"), _run("em")], [_run("em", "road"), _run("vm", "road")])
    assert [pair.differs for pair in found] == 2 * [{"graph": ("karate", "road")}]


def test_differs():
    other = dataclasses.replace(
        _run("em", configuration={"l1_bytes": 512, "name": "x"}), memory={
            **_RUN.memory, "latency": 7}, graph={"graph": "karate", "undirected": True})
    assert diff.RunPair(_RUN, other).differs == {
        "plan": ("bfs schedule=vm", "bfs schedule=em"), "configuration.l1_bytes": (1024, 512),
        "dram.latency": (100, 7), "graph.undirected": (None, True)}


def test_options():
    """An id or seed of 0 is a value."""
    assert diff._options({"spec": "a.el", "graph": "a.el", "vertices": 3, "arcs": 4, "first": 0,
                          "seed": None, "undirected": False, "simplify": True}) == {
        "first": 0, "simplify": True}


def test_changes():
    """The largest relative change first, up or down; from and to 0 before all."""
    pair = diff.RunPair(_RUN, _run(cycles=110, total_cycles=200, lanes=10, stores=0, loads=3))
    assert pair.changes == {"stores": (7, 0, 0), "loads": (0, 3, math.inf), "lanes": (50, 10, 0.2),
                            "cycles": (100, 110, 1.1)}
    assert list(pair.changes) == ["stores", "loads", "lanes", "cycles"] and pair.same == 1
    assert json.loads(json.dumps(pair.record()))["changes"]["loads"] == {
        "first": 0, "second": 3, "ratio": None}


def test_compared():
    pairs = [diff.RunPair(_RUN, _run(cycles=200)), diff.RunPair(_RUN, _run(cycles=50, lanes=100)),
             diff.RunPair(_RUN, _run(cycles=400, stores=0))]
    found = diff.compared(pairs)
    assert found == {"cycles": (pytest.approx(4 ** (1 / 3)), 0.5, 4),
                     "lanes": (pytest.approx(2 ** (1 / 3)), 1, 2)}
    assert list(found) == ["cycles", "lanes"]


def test_no_pairs():
    with pytest.raises(UserError, match="the first has bfs, the second cc"):
        diff.pairs([_RUN], [dataclasses.replace(_RUN, algorithm="cc")])
    with pytest.raises(UserError, match="none have the algorithm, the graph and the schedule"):
        diff.pairs([_run("vm"), _run("em")], [_run("cm"), _run("wm")])
    functional = dataclasses.replace(_RUN, figures={"instructions": 5})
    with pytest.raises(UserError, match="one is of the functional simulator"):
        diff.pairs([_RUN], [functional])


def test_refused(tmp_path):
    path = tmp_path / "some.json"
    for text, message in (
            ('{"trials": [], "best": 1, "refused": {}, "command": ""}', "is of tune --json"),
            ('{"configuration": {}, "graph": {}, "results": [{}], "wall_seconds": 1}', "damaged"),
            ('{"key": "a [1]", "case": {"graph": "g"}, "cycles": 4}', "has no run that ended"),
            ("[]", "is not a file of results")):
        path.write_text(text)
        with pytest.raises(UserError, match=message):
            diff.runs_in(str(path))
