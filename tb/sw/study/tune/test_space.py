"""The space of plans.

===================  =======================================================================
axes                 test_the_axes_are_what_there_is, test_a_new_schedule_appears_by_itself,
                     test_values_that_options_declare
points               test_all_points, test_an_option_belongs_to_its_value, test_plans_and_points
planner              test_reduce_drops_only_what_never_works, test_nothing_works
bad input            test_only
===================  =======================================================================
"""

import random
import re

import pytest

from base.errors import UserError
from hw.config import preset
from sw.compile import schedules
from sw.compile.formats import find_image, image_names
from sw.graph.load import load
from sw.compile import registry
from sw.compile.options import Choice, Integer, Switch
from sw.compile.schedules.vm import VertexMapping
from sw.study.tune.candidates import Candidate, Planner
from sw.compile.plan import Hybrid, Plan
from sw.study.tune.points import spelled
from sw.study.tune.space import Space
from tb.sw.study.tune.tables import Table, separable


TINY = preset("tiny")

GRAPH = "rmat:scale=5,degree=4,seed=1,weights=9"


def _axis(space, name):
    return next(axis for axis in space.axes if axis.name == name)


def test_the_axes_are_what_there_is():
    space = Space("sssp", {"source": 3})
    assert list(_axis(space, "schedule").values) == schedules.names()
    assert list(_axis(space, "format").values) == image_names()
    assert "auto" in _axis(space, "delta").values
    for name in image_names():
        for option, what in find_image(name).OPTIONS.items():
            if len(what.tries) == 1:
                assert all(axis.name != f"{name}:{option}" for axis in space.axes)
                continue
            axis = _axis(space, f"{name}:{option}")
            assert set(axis.values) == set(what.tries) and axis.under == ("format", name)
            assert axis.default == what.default
    assert not any(":" in axis.name for axis in Space("sssp", options=()).axes)
    given = Space("sssp", {"source": 3, "delta": 5})
    assert all(axis.name != "delta" for axis in given.axes)
    assert dict(given.plan(given.default).parameters) == {"source": 3, "delta": 5}


def test_a_new_schedule_appears_by_itself(monkeypatch):
    class Brand(VertexMapping):
        name = "brand"
        OPTIONS = VertexMapping.OPTIONS | {"lanes": Integer(1, 100, 10, "lanes", worth=(20,)),
                                           "how": Choice(("a", "b"), "b", "how")}

    known = registry._classes("sw.compile.schedules", "schedule", "name") | {"brand": Brand}
    found = registry._classes
    monkeypatch.setattr(registry, "_classes", lambda package, *rest: known
                        if package == "sw.compile.schedules" else found(package, *rest))
    space = Space("pagerank")
    assert "brand" in _axis(space, "schedule").values
    assert _axis(space, "brand:lanes").values == (10, 20)
    assert _axis(space, "brand:how").values == ("b", "a")
    point = space.point({"schedule": "brand", "brand:lanes": 20})
    assert space.plan(point).schedule == "brand:lanes=20"
    planner = Planner(TINY, load(GRAPH))
    space = Space("pagerank", only={"format": ["csr"], "schedule": ["vm", "brand"]})
    space.reduce(planner.ask)
    assert "brand" in _axis(space, "schedule").values


@pytest.mark.parametrize("option, tries", [
    (Integer(1, 16, None, ""), (None, 1, 2, 4, 8, 16)), (Integer(3, 33, 5, ""), (5, 4, 8, 16, 32)),
    (Integer(1, 65, 7, ""), (7,)), (Integer(1, 65, 7, "", worth=(7, 9)), (7, 9)),
    (Integer(0, 5, 5, "", worth=()), (5,)),
    (Choice(("a", "b", "c"), "b", ""), ("b", "a", "c")), (Switch(False, ""), (False, True)),
    (Switch(None, ""), (None, True, False)), (Choice(("a",), None, ""), (None, "a"))])
def test_values_that_options_declare(option, tries):
    assert option.tries == tries
    assert all(value is None or option.accept(value) == value for value in tries)


def test_all_points():
    space = Table(separable).space
    points = [space.at(index) for index in range(space.size)]
    assert space.size == 36 == len(set(points))
    assert space.default in points
    assert {dict(point).get("vwc:width") for point in points} == {None, 2, 4, 8, 16}
    whole = Space("sssp")
    draw = random.Random(3)
    assert len({whole.at(draw.randrange(whole.size)) for _ in range(100)}) > 95


def test_an_option_belongs_to_its_value():
    space = Table(separable).space
    vm = space.default
    assert "vwc:width" not in dict(vm)
    vwc = space.change(vm, "schedule", "vwc")
    assert dict(vwc) == dict(vm) | {"schedule": "vwc", "vwc:width": 8}
    wide = space.change(vwc, "vwc:width", 16)
    assert space.change(wide, "schedule", "vm") == vm
    assert [axis.name for axis in space.axes_of(vwc)] == ["schedule", "vwc:width", "format",
                                                          "split"]


def test_plans_and_points():
    """Each point has its plan, whose text tells it; an option at its default is not in the text."""
    space = Space("sssp", {"source": 3})
    draw = random.Random(1)
    for _ in range(200):
        point = space.at(draw.randrange(space.size))
        if dict(point)["direction"] == "auto" and dict(point)["fusion"]:
            with pytest.raises(UserError, match="fusion=yes is for one plan"):
                space.plan(point)
            continue
        plan = space.plan(point)
        assert space.point_of(plan) == point
        assert Plan.parse(plan.text) == plan and dict(plan.parameters)["source"] == 3
        for name, value in point:
            option = name.partition(":")[2]
            if option:
                spelt = f":{option}={spelled(value)}" in plan.schedule + plan.format
                assert spelt == (value != space._option(_axis(space, name)).default)
    # Parameters that are no axis do not count: a plan for another source serves.
    other = Space("sssp", {"source": 4}).plan(space.default)
    assert space.point_of(other) == space.default
    assert space.point_of(Plan("sssp", schedule="vwc:width=32", direction="push")) is not None
    for foreign in (Plan("sssp", schedule="vm:unroll=7", direction="push"),
                    Plan("sssp", phases=True, direction="push"), Plan("sssp")):
        assert space.point_of(foreign) is None


def test_hybrids_and_points():
    space = Space("bfs", {"source": 3})
    point = space.point({"direction": "auto", "schedule": "vwc", "vwc:width": 4,
                         "frontier": "counter"})
    plan = space.plan(point)
    assert isinstance(plan, Hybrid) and plan.second.schedule == "vwc:width=4"
    assert space.point_of(plan) == space.point_of(Plan.parse(plan.text)) == point
    for foreign in ("bfs direction=push | bfs direction=pull when frontier>=0.5",
                    "bfs direction=push | bfs direction=pull schedule=em when frontier>=0.05",
                    "bfs direction=push | bfs direction=push when frontier>=0.05"):
        assert space.point_of(Plan.parse(foreign)) is None


def test_reduce_drops_only_what_never_works():
    """Compared with all plans: a value stays if and only if a plan with it works, where options of
    other axes have their defaults."""
    planner = Planner(TINY, load(GRAPH))
    few = {"format": ["csr", "g-shards", "dia"], "warps": ["own"], "split": ["static"]}
    space = Space("pagerank", only=few, options=())
    works = {axis.name: set() for axis in space.axes}
    for index in range(space.size):
        point = space.at(index)
        if space.candidate(point, planner.ask).digest is not None:
            for name, value in point:
                works[name].add(value)
    space.reduce(planner.ask)
    assert {axis.name: set(axis.values) for axis in space.axes} == works
    assert "scu" not in works["schedule"] and works["frontier"] == {None}
    whole = Space("pagerank", only=few)
    whole.reduce(planner.ask)
    width = _axis(whole, "vwc:width")
    assert 4 in width.values and 32 not in width.values         # a warp has 4 lanes
    assert space.default == space.point({"schedule": "weaver"})


def test_nothing_works():
    space = Space("pagerank", options=())
    with pytest.raises(UserError, match=re.escape("no candidate works here; the reason of the "
                                                  "default plan: too small")):
        space.reduce(lambda plan: Candidate(plan, reason="too small"))


def test_only():
    space = Space("pagerank", only={"schedule": ["vwc", "em"], "vwc:width": ["own", "4"],
                                    "format": ["csr"], "deduplicate": ["no"]})
    assert _axis(space, "schedule").values == ("em", "vwc")
    assert _axis(space, "vwc:width").values == (None, 4)
    assert [axis.name for axis in space.axes if axis.under == ("format", "ell")] == []
    assert dict(space.default)["deduplicate"] is False
    for wrong, message in (({"colour": ["red"]}, "--only colour: there is no such axis; there are "
                            "format"), ({"format": ["zip"]}, "--only format=zip: must be one of")):
        with pytest.raises(UserError, match=message):
            Space("pagerank", only=wrong)
    with pytest.raises(UserError, match="there is no algorithm 'sort'"):
        Space("sort")
