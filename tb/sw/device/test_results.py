"""Results: by name, as text, as frames and as plots; several schedules side by side.

====================================  =========================================================
feature                               tests
====================================  =========================================================
one result                            test_by_name, test_repr, test_frame
several                               test_compare, test_table, test_plot, test_own_hardware
what is refused                       test_refused
====================================  =========================================================
"""

import json
import sys

import networkx
import numpy as np
import pytest
from matplotlib import pyplot

from base.errors import UserError
from hw.config import preset
from sw.device import Device, Results
from sw.graph import load
from sw.operators.hashing import HashTable


SCHEDULES = ("vm", "em", "weaver")


def friends():
    made = networkx.Graph([("alice", "bob"), ("bob", "carol"), ("dave", "eve")])
    networkx.set_edge_attributes(made, 0.5, "weight")       # which bfs and pagerank do not read
    return made


@pytest.fixture(scope="module")
def search():
    with Device.functional(preset("tiny")) as device:
        return device.run("bfs", friends(), source="carol", schedule="vm")


@pytest.fixture(scope="module")
def timed():
    with Device.simulate(preset("tiny")) as device:
        return device.compare("pagerank", friends(), SCHEDULES, iterations=1)


def test_by_name(search):
    assert search.by_name("depth") == {"alice": 2, "bob": 1, "carol": 0,
                                       "dave": (1 << 32) - 1, "eve": (1 << 32) - 1}
    assert search.by_name("parent") == {"alice": "bob", "bob": "carol", "carol": "carol",
                                        "dave": None, "eve": None}
    assert search.plan.text.startswith("bfs(source=carol)") and search.starts == {"source": 2}
    with Device.functional(preset("tiny")) as device:
        plain = device.run("cc", [(0, 1), (1, 0), (2, 3), (3, 2)])
        assert plain.by_name("label") == {0: 0, 1: 0, 2: 2, 3: 2}
        grid = device.run("bfs(source=%281%2C%200%29)", networkx.grid_2d_graph(2, 2))
        assert grid.by_name("depth")[0, 1] == 2
    with pytest.raises(UserError, match="bfs has no output 'rank'; it has depth, parent"):
        search.by_name("rank")


def test_repr(search, timed):
    """At most five lines, in which names are, and every fact is in the table for notebooks."""
    for result in (search, *timed):
        lines = repr(result).splitlines()
        assert len(lines) <= 5 and max(map(len, lines)) <= 120
    assert "source carol: 3 of 5 vertices reached" in repr(search)
    assert f"{timed[0].total_cycles:,} cycles" in repr(timed[0])
    assert "<td style='text-align:left'>source carol" in search._repr_html_()
    assert "names" not in json.loads(json.dumps(search.to_json()))
    with Device.functional(preset("tiny")) as device:
        found = HashTable(device, [1, 2], [3, 4]).lookup([2, 9])
    assert "index, value" in repr(found) and found.frame()["value"].tolist() == [4, 0]


def test_frame(search, timed):
    frame = search.frame()
    assert frame.loc["alice"].tolist() == [2, "bob"] and list(frame) == ["depth", "parent"]
    assert np.isclose(timed[0].frame()["rank_float"].sum(), 1)
    frame = timed.frame()
    assert frame.index.tolist() == list(SCHEDULES) and frame["speedup"]["vm"] == 1
    assert frame["counter_cycles"]["em"] == timed["em"].counters["cycles"]


def test_compare(timed):
    assert len(timed) == 3 and timed.schedules == list(SCHEDULES)
    assert timed.best.total_cycles == min(result.total_cycles for result in timed)
    assert len({result.checksum for result in timed}) == 1
    assert isinstance(timed[:2], Results) and timed[-1] is timed["weaver"]
    for result, row in zip(timed, timed.rows()):
        assert row["stall_share"] == max(result.stalls.values())
        issued = result.instructions / (result.counters["cycles"] * result.config.cores)
        assert np.isclose(issued + sum(result.stalls.values()), 1)


def test_table(timed):
    title, head, *rows = repr(timed).splitlines()
    assert f"best: {timed.best.schedule}" in title and head.split()[0] == "schedule"
    assert [row.split()[0] for row in rows] == list(SCHEDULES)
    assert max(map(len, [head, *rows])) <= 80 and f"{timed[0].total_cycles:,}" in rows[0]
    assert timed._repr_html_().count("<tr") == 4 and timed._repr_html_().count("bold") == 1


def test_plot(timed):
    axes = timed.plot()
    ends = [max(bar.get_x() + bar.get_width() for bar in axes.patches
                if round(bar.get_y() + bar.get_height() / 2) == place) for place in range(3)]
    assert ends == [result.total_cycles for result in timed]
    axes = timed.plot("stalls", pyplot.subplots()[1])
    assert np.isclose(max(bar.get_x() + bar.get_width() for bar in axes.patches), 1)
    pyplot.close("all")


def test_own_hardware():
    """A schedule gets the unit that it needs, and the device keeps its own."""
    with Device.functional(preset("tiny")) as device:
        results = device.compare("bfs", load("karate"), ["vm", "graphpeg"])
        assert device.run("bfs", "karate", schedule="weaver").config == preset("tiny")
    assert [result.config.gather for result in results] == [preset("tiny").gather, "graphpeg"]
    assert "cycles" not in results.rows()[0] and results.plot().get_xlabel() == "instructions"
    with pytest.raises(UserError, match="there are no stalls without cycles"):
        results.plot("stalls")
    pyplot.close("all")


def test_refused(timed, monkeypatch):
    def never():
        raise AssertionError("the machine is made although the run is refused")

    device = Device(preset("tiny"), never)
    for schedules, words in (([], "no schedules to compare"), (["vm", "graphpeg"], "needs Gra"),
                             (["vm", "fair"], "no schedule 'fair'")):
        with pytest.raises(UserError, match=words):
            device.compare("bfs", [(0, 1)], schedules)
    with pytest.raises(UserError, match="graph has no vertex 'zoe'; its vertices are alice, bob"):
        device.run("bfs", friends(), source="zoe")
    with pytest.raises(UserError, match=r"weight 0\.5 of arc 0 is not an integer"):
        device.run("sssp", friends())
    with pytest.raises(UserError, match="no run of schedule 'wm'; there are vm, em, weaver"):
        _ = timed["wm"]
    with pytest.raises(UserError, match="there is no plot 'lanes'; there are cycles, stalls"):
        timed.plot("lanes")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match=r"frame\(\) needs pandas, which is not installed: pip"):
        timed.frame()
