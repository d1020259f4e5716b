"""Timelines: the states of each warp in each cycle.

======================  ========================================================
cycle by cycle          test_states: by hand
the RTL                 test_trace_of_a_run: against the run's counters
many warps              test_every_warp_has_room
long traces             test_columns: the most frequent state of some cycles
bad files               test_damaged
======================  ========================================================
"""

import numpy as np
import pytest

from sw.show.report import timeline
from tb.sw.show.report.shown import block


def _value(events, warps=1):
    names = [{"name": "thread_name", "ph": "M", "pid": 0, "tid": 2 + warp,
              "args": {"name": f"warp {warp:02}"}} for warp in range(warps)]
    return {"otherData": {"configuration": "tiny", "cycles": "0:20"},
            "traceEvents": names + [
                {"ph": "X", "name": name, "cat": kind, "ts": first, "dur": length, "pid": 0,
                 "tid": row} for kind, name, row, first, length in events]}


EVENTS = [("launch", "gather", 0, 10, 8), ("phase", "init", 2, 10, 3),
          ("instruction", "addi", 2, 10, 1), ("wait", "memory", 2, 11, 2),
          ("phase", "edge access", 2, 13, 4), ("instruction", "lw", 2, 13, 1),
          ("wait", "weaver", 2, 14, 1), ("wait", "ready", 2, 15, 2),
          ("phase", "init", 3, 12, 2), ("wait", "fetch", 3, 12, 1),
          ("instruction", "ret", 3, 13, 1)]


def test_states():
    found = timeline.Timeline(_value(EVENTS, warps=2))
    assert (found.first, found.last, found.rows) == (10, 17, ["warp 00", "warp 01"])
    names = list(timeline._STATES)
    issue, ready = "an instruction issued", "ready, another warp issued"
    assert [[names[state] for state in row] for row in found.states] == [
        [issue, "memory", "memory", issue, "weaver", ready, ready],
        ["ended", "ended", "fetch", issue, "ended", "ended", "ended"]]
    assert found.phases.tolist() == [[1, 1, 1, 4, 4, 4, 4], [0, 0, 1, 1, 0, 0, 0]]
    assert found.launches == [("gather", 10, 8)]
    page = timeline.page(_value(EVENTS, warps=2), "t.json")
    shown = block(page, "Warp timeline")
    drawn = shown.variants[""]["data"][0]
    assert drawn["x"] == list(range(10, 17)) and drawn["y"] == ["warp 00", "warp 01"]
    assert drawn["customdata"][0][1] == "waits for memory"
    assert len(drawn["colorscale"]) == 2 * len(names)
    # 9 cycles of warps: 3 issues, 2 of memory, 2 ready.
    assert shown.finding.endswith("and issue in 33.3 %.")
    assert [row[0] for row in shown.rows] == [
        ("warp 00", "28.6 %", "28.6 %", "28.6 %", "0.0 %", "14.3 %", "0.0 %", "0.0 %", "0.0 %"),
        ("warp 01", "50.0 %", "0.0 %", "0.0 %", "0.0 %", "0.0 %", "0.0 %", "0.0 %", "50.0 %")]


def test_trace_of_a_run(made):
    found = timeline.Timeline(made.trace)
    record = made.run["results"][0]
    counters = record["counters"]
    assert (found.states == 1).sum() == counters["instructions"]
    assert [name for name, *_ in found.launches] == (
        ["edges0_vertices_settle"] * record["launches"])
    assert sum(length for *_, length in found.launches) == counters["cycles"]
    # The counters change the phase some cycles after the issue of the instruction that sets it.
    for phase in range(6):
        assert (found.phases == phase + 1).sum() == pytest.approx(
            sum(warp[phase] for warp in record["phases"][0]), rel=0.03, abs=30)
    page = timeline.page(made.trace, "trace.json")
    assert page.command.startswith("./graphloom run karate --plan ")
    assert page.command.endswith("--preset tiny --dram latency=50")
    keys = block(page, "Phases over time").variants[""]["data"][1:]
    assert {"init", "work ID"} <= {key["name"] for key in keys}


def test_every_warp_has_room():
    def height(warps):
        page = timeline.page(_value(EVENTS, warps), "")
        return block(page, "Warp timeline").variants[""]["layout"]["height"]
    assert height(8) > height(2) and height(300) > 10 * 300


def test_columns(monkeypatch):
    monkeypatch.setattr(timeline, "_COLUMNS", 3)
    matrix = np.array([[1, 1, 2, 2, 2, 0, 4]], np.uint8)
    values, width = timeline._columns(matrix, 5)
    assert width == 3 and values.tolist() == [[1, 2, 4]]
    assert timeline._columns(matrix[:, :3], 5)[1] == 1
    page = timeline.page(_value(EVENTS, warps=2), "")
    assert "A column is 3 cycles" in block(page, "Warp timeline").note


@pytest.mark.parametrize("value", [
    {"otherData": {}, "traceEvents": []}, _value([]), _value([("wait", "lunch", 2, 0, 4)]),
    _value([("wait", "memory", 7, 0, 4)]), _value([("wait", "memory", 2, "x", 4)]),
])
def test_damaged(value):
    with pytest.raises((KeyError, TypeError, ValueError)):
        timeline.Timeline(value)
