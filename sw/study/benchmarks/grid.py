"""A grid: the cases of a study by axes, and what they measured by the same axes.

``Grid(axes, make)`` has the cases, :meth:`Grid.run` or :meth:`Grid.found` their records as
:class:`Measured`, and these give :class:`Cube` objects, whose quotients and means are what tables
and plots show.

A number that is missing because a run failed is None everywhere. A number that is not defined is
NaN.
"""

import itertools
import math
from typing import Any

from .batch import Batch


__all__ = ["CaseRecords", "Cube", "Grid", "Measured", "by_point", "geometric_mean", "label",
           "lowest", "ratio"]


def label(point) -> str:
    """The name of a point of an axis in tables and plots."""
    return getattr(point, "label", None) or str(point)


def ratio(above, below):
    """The quotient of two numbers; None if either failed, NaN if it is not defined."""
    if above is None or below is None:
        return None
    return above / below if below else math.nan


def geometric_mean(values):
    """The geometric mean of the values that are neither None (failed) nor NaN (not defined). None
    if all values failed, NaN if there is no value."""
    values = list(values)
    good = [value for value in values if value is not None and value > 0]
    if not good:
        return None if None in values else math.nan
    return math.exp(sum(map(math.log, good)) / len(good))


def lowest(values, otherwise=None):
    """The key with the least of the values, and this value; None and ``otherwise`` if there is
    none."""
    key = min(values, key=values.__getitem__, default=None)
    return key, values.get(key, otherwise)


class CaseRecords(dict):
    """Records by case. Values of a failed case are None."""

    def value(self, case, name):
        """A value of the case's record; None if the case failed."""
        return self[case].get(name)

    def cycles(self, case):
        """The case's cycles; None if the case failed."""
        return self.value(case, "cycles")

    def best(self, choices, cycles=None) -> tuple[Any, Any]:
        """The choice with the least ``cycles`` among several cases, by choice, and its cycles:
        ``(None, None)`` if all of them failed, ``(None, NaN)`` if there is no choice."""
        done = {choice: value for choice, case in choices.items()
                if (value := (cycles or self.cycles)(case)) is not None}
        return lowest(done, None if choices else math.nan)

    def best_allowed(self, choices, cycles=None):
        """As :meth:`best`, but ``(None, NaN)`` if the planner refuses all of them."""
        if all(self.value(case, "refused") for case in choices.values()):
            return None, math.nan
        return self.best(choices, cycles)


class Cube:
    """Values by the points of axes, of which some may be missing. Iterating gives the values, the
    last axis running fastest."""

    def __init__(self, axes, values):
        self.axes, self._values = axes, values

    def __iter__(self):
        return iter(self._values.values())

    def at(self, **point) -> Any:
        """The values at a point of some axes: a cube with the other axes, or the one value."""
        places = list(self.axes)
        rest = {name: points for name, points in self.axes.items() if name not in point}
        if not rest:
            return self._values[tuple(point[name] for name in places)]
        return Cube(rest, {
            tuple(at for name, at in zip(places, key) if name in rest): value
            for key, value in self._values.items()
            if all(key[places.index(name)] == wanted for name, wanted in point.items())})

    def split(self, axis) -> dict:
        """{point of the axis: the cube there}."""
        return {point: self.at(**{axis: point}) for point in self.axes[axis]}

    def items(self):
        """The pairs of a point of all axes, and the value there."""
        return self._values.items()

    @property
    def points(self) -> list:
        """The points at which there is a value."""
        return list(self._values)

    def map(self, function) -> "Cube":
        """The function of each value."""
        return Cube(self.axes, {key: function(value) for key, value in self._values.items()})

    def __truediv__(self, other) -> "Cube":
        """The :func:`ratio` of values. A number, or a cube that lacks an axis, has the same value
        along it."""
        if not isinstance(other, Cube):
            return self.map(lambda value: ratio(value, other))
        full = self if len(self.axes) >= len(other.axes) else other
        places = list(full.axes)

        def pick(cube, key):
            return cube._values[tuple(key[places.index(name)] for name in cube.axes)]
        return Cube(full.axes, {key: ratio(pick(self, key), pick(other, key))
                                for key in full._values})

    def __rtruediv__(self, other) -> "Cube":
        return self.map(lambda value: ratio(other, value))

    def reduce(self, function, *axes) -> Any:
        """A function of the values along some axes: a cube with the other axes, or one value.
        Graphs that do not count are left out."""
        kept = [name for name in self.axes if name not in axes]
        groups: dict[tuple, list] = {key: [] for key in itertools.product(
            *(self.axes[name] for name in kept))}
        for key, value in self._values.items():
            point = dict(zip(self.axes, key))
            if all(getattr(point[name], "counts", True) for name in axes):
                groups[tuple(point[name] for name in kept)].append(value)
        found = {key: function(values) for key, values in groups.items()}
        return Cube({name: self.axes[name] for name in kept}, found) if kept else found[()]

    def mean(self, *axes) -> Any:
        """The :func:`geometric_mean` along some axes, or along the graphs."""
        return self.reduce(geometric_mean, *(axes or ("graph",)))

    @property
    def known(self) -> list:
        """The values of runs that did not fail."""
        return [value for value in self if value is not None]

    def cells(self, text, *more) -> list:
        """Each value as a text, and further texts."""
        return [*map(text, self), *more]

    def labels(self, axis="graph") -> tuple:
        """The names of the points of an axis."""
        return tuple(map(label, self.axes[axis]))

    def nested(self, *axes, name=label):
        """The values as dicts in each other, by the names of points, the first axis outside; along
        all axes in their order if none is named."""
        places = [list(self.axes).index(axis) for axis in axes or self.axes]
        found: dict = {}
        for key, value in self._values.items():
            *outer, last = (name(key[place]) for place in places)
            part = found
            for each in outer:
                part = part.setdefault(each, {})
            part[last] = value
        return found

    def least(self, axis) -> Any:
        """The point of an axis with the least value, and this value, along the other axes: two
        cubes, with None where all runs failed."""
        found = self.reduce(lambda values: lowest({
            point: value for point, value in zip(self.axes[axis], values) if value is not None}),
            axis)
        return found.map(lambda pair: pair[0]), found.map(lambda pair: pair[1])


def by_point(cubes) -> dict:
    """``{point: {name: value}}`` of cubes of one axis by their names."""
    first = next(iter(cubes.values()))
    return {point: dict(zip(cubes, values))
            for point, values in zip(first.labels(*first.axes), zip(*cubes.values()))}


class Grid:
    """Cases by axes.

    Parameters
    ----------
    axes : dict of str to iterable
        The points of each axis. Graphs are on the axis ``graph``.
    make : callable
        Called with a point of each axis. Gives a case; or ``{way: case}``, of which the fastest
        counts; or None where no case belongs.
    """

    def __init__(self, axes, make):
        self.axes = {name: tuple(points) for name, points in axes.items()}
        self.places = {point: place for point in itertools.product(*self.axes.values())
                       if (place := make(*point)) is not None}

    @property
    def cases(self) -> list:
        """All cases, the last axis running fastest."""
        return [case for place in self.places.values()
                for case in (place.values() if isinstance(place, dict) else (place,))]

    def batch(self, config, dram, path=None, sources="") -> Batch:
        """The batch of all cases."""
        return Batch(dict.fromkeys(self.cases), config, dram, path, sources)

    def found(self, records) -> "Measured":
        """What the cases measured, from their records."""
        return Measured(Cube(self.axes, self.places), CaseRecords(records))

    def run(self, executor, batch, report=lambda case, record, done, total: None,
            begun=lambda case: None) -> "Measured":
        """Run the cases that have no record yet on an executor, and give what all measured."""
        batch.run(executor, report, begun)
        return self.found(batch.records)


class Measured:
    """What the cases of a grid measured: the case, or the cases by way, at each place, a Cube, and
    their :class:`CaseRecords`. ``choose(records, ways)`` gives the fastest way and its cycles, as
    :meth:`CaseRecords.best` does."""

    def __init__(self, places, records, choose=CaseRecords.best):
        self.places, self.records, self._choose = places, records, choose

    def at(self, **point) -> "Measured":
        """What the cases at a point of some axes measured."""
        return Measured(self.places.at(**point), self.records, self._choose)

    def by(self, choose) -> "Measured":
        """The same, with another way to choose the fastest."""
        return Measured(self.places, self.records, choose)

    def best(self) -> Cube:
        """(way, cycles) of the fastest way at each place."""
        return self.places.map(lambda place: self._choose(
            self.records, place if isinstance(place, dict) else {None: place}))

    @property
    def ways(self) -> Cube:
        """The fastest way at each place."""
        return self.best().map(lambda found: found[0])

    @property
    def cycles(self) -> Cube:
        """The cycles of the fastest way at each place."""
        return self.best().map(lambda found: found[1])

    def of(self, function, *arguments) -> Cube:
        """``function(records, case, *arguments)`` of the fastest way at each place; None if no way
        ran."""
        def value(place):
            if isinstance(place, dict):
                way, _ = self._choose(self.records, place)
                if way is None:
                    return None
                place = place[way]
            return function(self.records, place, *arguments)
        return self.places.map(value)

    def value(self, *names) -> Cube:
        """A value of the records; with several names, one inside the other."""
        return self.of(_inside, *names)


def _inside(records, case, *names):
    value = records[case]
    for name in names:
        value = None if value is None else value.get(name)
    return value
