"""Strategies on tables whose best point is known.

===================  =======================================================================
coverage             test_every_point_once
best point           test_all_find_the_best, test_coordinate_takes_one_axis_after_another,
                     test_coordinate_draws_until_a_point_works
seeds                test_the_same_seed_gives_the_same_points,
                     test_the_same_points_in_any_version
model                test_tpe_learns, test_tpe_ends, test_tpe_asks_for_every_value
bad input            test_unknown
===================  =======================================================================
"""

import pathlib
import statistics

import pytest

from base.errors import UserError
from sw.study.tune.search import Tuner
from sw.study.tune.strategies import STRATEGIES, WAIT, TrialOutcome, make
from tb import expected
from tb.sw.study.tune.tables import Table, separable


def _proposed(strategy, table, most=1000):
    """The points that a strategy proposes, each told at once."""
    found = []
    while len(found) < most and (point := strategy.propose()) is not None:
        assert point is not WAIT
        found.append(point)
        cost = table.cost(dict(point))
        strategy.told(point, TrialOutcome("refused") if cost is None
                      else TrialOutcome("done", cost))
    return found


@pytest.mark.parametrize("name", ["exhaustive", "random", "tpe"])
def test_every_point_once(name):
    table = Table(separable)
    found = _proposed(make(name, table.space, 5), table)
    assert len(found) == len(set(found)) == table.space.size
    in_order = [table.space.at(index) for index in range(table.space.size)]
    assert (found == in_order) == (name == "exhaustive") and set(found) == set(in_order)


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.sample(8)
def test_all_find_the_best(name, seed):
    """On a cost to which each axis contributes alone, coordinate descent finds the best too."""
    table = Table(separable)
    search = Tuner(table.space, table.ask, make(name, table.space, seed),
                    starts=[table.space.default])
    search.run(table.measure)
    assert search.fewest == 100 == min(table.costs().values())
    best, = [plan for plan, record in search.outcomes.values() if record["status"] == "done"
             and record["cycles"] == 100]
    assert (best.schedule, best.format, best.split) == ("vwc:width=4", "ell", "counter")
    if name == "coordinate":
        assert len(search.outcomes) < 15


def test_coordinate_takes_one_axis_after_another():
    """All values of an axis, then the next axis from the best; a round without gain is the last."""
    table = Table(separable)
    space, strategy = table.space, make("coordinate", table.space)
    assert space.default == space.point({"schedule": "vm", "format": "csr", "split": "static"})
    strategy.told(space.default, TrialOutcome("done", 176))
    em, vwc = strategy.propose(), strategy.propose()
    assert [dict(point)["schedule"] for point in (em, vwc)] == ["em", "vwc"]
    assert strategy.propose() is WAIT
    strategy.told(em, TrialOutcome("refused"))
    assert strategy.propose() is WAIT
    strategy.told(vwc, TrialOutcome("done", 146))
    widths = [strategy.propose() for _ in range(3)]
    assert [dict(point)["vwc:width"] for point in widths] == [2, 4, 16]
    for point in widths:
        strategy.told(point, TrialOutcome("stopped", 146))
    formats = [strategy.propose() for _ in range(2)]
    assert [dict(point) for point in formats] == [dict(vwc) | {"format": name}
                                                  for name in ("coo", "ell")]
    for point in formats:
        strategy.told(point, TrialOutcome("stopped", 146))
    strategy.told(strategy.propose(), TrialOutcome("done", 130))     # the other split
    rest = _proposed(strategy, Table(lambda point: 1000))
    assert len(rest) == 2 + 3 + 2


def test_coordinate_draws_until_a_point_works():
    table = Table(lambda point: 7 if point["format"] == "ell" and point["schedule"] == "em"
                  else None)
    strategy = make("coordinate", table.space, 2)
    found = _proposed(strategy, table)
    first = next(place for place, point in enumerate(found) if table.cost(dict(point)) == 7)
    assert 0 < first < len(found) - 1
    nothing = Table(lambda point: None)
    assert len(_proposed(make("coordinate", nothing.space), nothing)) == nothing.space.size


@pytest.mark.parametrize("name", ["random", "tpe"])
def test_the_same_seed_gives_the_same_points(name):
    table = Table(separable)
    one, two, other = (_proposed(make(name, table.space, seed), table, 25) for seed in (3, 3, 4))
    assert one == two != other


@pytest.mark.parametrize("name", ["random", "exhaustive", "coordinate"])
def test_the_same_points_in_any_version(name):
    """A kept search goes on with the points that it would have had: outcomes of all kinds, told
    two at a time."""
    table, kinds = Table(separable), ("done", "stopped", "failed", "done", "refused")
    strategy, lines, open_ = make(name, table.space, 4), [], []
    strategy.told(table.space.default, TrialOutcome("done", 190))
    while len(lines) < 60 and ((point := strategy.propose()) is not None or open_):
        if point is None or point is WAIT or len(open_) > 1:
            for asked in open_:
                status = kinds[len(lines) % len(kinds)]
                cost = table.cost(dict(asked))
                lines.append(f"{dict(asked)} {status}")
                strategy.told(asked, TrialOutcome("refused") if cost is None else TrialOutcome(
                    status, cost if status in ("done", "stopped") else None))
            open_ = []
        if point is not None and point is not WAIT:
            open_.append(point)
    expected.check(pathlib.Path(__file__).parent / "points.txt", name, "\n".join(lines))


def test_tpe_asks_for_every_value():
    """The model itself does, not only the draws that follow when it repeats itself."""
    table = Table(separable)
    tpe = make("tpe", table.space, 1)
    asked = [dict(tpe._ask()[0]) for _ in range(60)]
    for axis in table.space.axes:
        assert {point[axis.name] for point in asked if axis.name in point} == set(axis.values)


def test_tpe_learns():
    """TPE needs fewer trials than drawing at random until the best of a large space is found.
    The median over seeds of a random search is half of the space."""
    table = Table(separable)
    table.space.axes = [type(axis)(f"x{number}", tuple(range(8)), 0)
                        for number, axis in enumerate(table.space.axes)]
    table.space._settle({})

    def cost(point):
        return 1 + sum((value - 5) ** 2 for value in point.values())

    def trials(name, seed):
        strategy, count = make(name, table.space, seed), 0
        while (point := strategy.propose()) is not None:
            count += 1
            if cost(dict(point)) <= 3:
                break
            strategy.told(point, TrialOutcome("done", cost(dict(point))))
        return count

    medians = {name: statistics.median(trials(name, seed) for seed in range(1, 8))
               for name in ("tpe", "random")}
    assert table.space.size == 4096 and medians["tpe"] < medians["random"] / 2


def test_tpe_ends():
    """The known points are not proposed again, and the end comes when all are known."""
    table = Table(separable)
    strategy = make("tpe", table.space, 1)
    told = table.space.at(7)
    strategy.told(told, TrialOutcome("stopped", 500))
    found = _proposed(strategy, table)
    assert told not in found and len(found) == table.space.size - 1


def test_unknown():
    with pytest.raises(UserError, match="there is no strategy 'luck'; there are tpe, random, "
                                        "exhaustive, coordinate"):
        make("luck", Table(separable).space)
