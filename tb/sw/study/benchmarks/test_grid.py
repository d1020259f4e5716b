"""Grids: cases by axes, and what they measured."""

import math

import pytest

from sw.study.benchmarks.grid import Grid, by_point
from sw.study.reproduce.setting import GraphChoice


ONE, TWO, SMALL = GraphChoice("one", "1"), GraphChoice("two", "2"), GraphChoice("s", "3",
                                                                                counts=False)
GRID = Grid({"graph": (ONE, TWO, SMALL), "schedule": ("vm", "em")}, lambda choice, name: {
    way: f"{choice.label} {name} {way}" for way in ("push", "pull")} if name == "vm"
    else f"{choice.label} em")
CYCLES = {"one vm push": 400, "one vm pull": 300, "one em": 100, "two vm push": None,
          "two vm pull": 200, "two em": 200, "s vm push": 9, "s vm pull": 8, "s em": None}
FOUND = GRID.found({case: {"cycles": cycles, "counters": {"loads": 7}} if cycles else
                    {"error": "told to fail"} for case, cycles in CYCLES.items()})


def test_cases_in_the_order_of_the_axes():
    assert GRID.cases == list(CYCLES)
    some = Grid({"a": (1, 2), "b": (1, 2)}, lambda a, b: a * b if a != b else None)
    assert some.cases == [2, 2]


def test_the_fastest_way_counts():
    assert list(FOUND.cycles.at(schedule="vm")) == [300, 200, 8]
    assert FOUND.best().at(graph=TWO, schedule="vm") == ("pull", 200)
    assert FOUND.ways.at(schedule="em").known == []
    assert FOUND.at(schedule="em").cycles.nested() == {"one": 100, "two": 200, "s": None}
    slowest = FOUND.by(lambda records, ways: max(
        (records.cycles(case) or 0, way) for way, case in ways.items())[::-1])
    assert slowest.cycles.at(graph=ONE, schedule="vm") == 400
    assert FOUND.value("counters", "loads").at(graph=SMALL, schedule="em") is None
    assert FOUND.value("counters", "loads").at(graph=SMALL, schedule="vm") == 7


def test_quotients_and_means():
    """A failure is a failure of the quotient; graphs that do not count are in no mean."""
    cycles = FOUND.cycles
    over = cycles.at(schedule="vm") / cycles
    assert list(over.at(schedule="em")) == [3.0, 1.0, None]
    assert over.mean().at(schedule="em") == pytest.approx(math.sqrt(3))
    assert over.mean("schedule", "graph") == pytest.approx(3 ** 0.25)
    assert list(1 / cycles.at(schedule="vm")) == [1 / 300, 1 / 200, 1 / 8]
    assert cycles.reduce(sum, "graph").at(schedule="vm") == 500
    best, least = cycles.least("schedule")
    assert list(best) == ["em", "vm", "vm"] and list(least) == [100, 200, 8]
    assert math.isnan(Grid({"graph": ()}, print).found({}).cycles.mean())


def test_values_by_names():
    cycles = FOUND.cycles
    assert cycles.nested("schedule", "graph")["em"] == {"one": 100, "two": 200, "s": None}
    assert by_point(cycles.split("schedule"))["one"] == {"vm": 300, "em": 100}
    assert cycles.labels() == ("one", "two", "s")
    assert cycles.at(graph=ONE).cells(str, "and more") == ["300", "100", "and more"]
    assert cycles.points[0] == (ONE, "vm")
