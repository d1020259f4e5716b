"""Points between axes: the space in which a strategy searches, whatever its plans are.

A *point* gives a value to each axis that belongs to it. An axis may belong only to points that have
a value on another axis, as the width of a schedule to points with this schedule.
"""

import abc
import dataclasses
import functools
import itertools
import math
from typing import Any

from base.errors import UserError
from sw.study.tune.candidates import Candidate


__all__ = ["OWN", "Axis", "PointSpace", "spelled"]


#: The text for a value that leaves the choice to the algorithm, the format or the schedule.
OWN = "own"


def spelled(value) -> str:
    """A value as users write it."""
    if value is None:
        return OWN
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis."""
    #: A field of the plan; ``NAME:OPTION`` for an option; else a parameter of the algorithm.
    name: str
    values: tuple  #: Values in the order in which they are tried; None leaves the choice open.
    default: object  #: The value of the default plan.
    #: (str, object). The axis and the value under which this axis belongs to a point.
    under: tuple | None = None

    @property
    def numbers(self) -> bool:
        """Whether the values are numbers, and perhaps None, so that neighbours are alike."""
        return all(value is None or type(value) is int for value in self.values)


class PointSpace(abc.ABC):
    """The points between some axes, ``axes``; an option's axis follows the axis that it is under.

    ``only`` has texts of the wanted values of an axis, by the axis; other axes have all values.
    Raises UserError if there is no such axis or value."""

    def __init__(self, axes, only=None):
        self.axes = list(axes)
        self._settle(self._only(only or {}))

    def _only(self, only):
        """The wanted values of each axis that ``only`` names."""
        named = {axis.name: axis for axis in self.axes}
        wanted = {}
        for name, texts in only.items():
            if name not in named:
                raise UserError(f"--only {name}: there is no such axis; there are "
                                f"{', '.join(named)}")
            legal = {spelled(value): value for value in named[name].values}
            for text in texts:
                if text not in legal:
                    raise UserError(f"--only {name}={text}: must be one of {', '.join(legal)}")
            wanted[name] = tuple(value for text, value in legal.items() if text in texts)
        return wanted

    def _settle(self, wanted):
        """Leave only the wanted values, and the axes that are under such a value or under none."""
        axes = []
        for axis in self.axes:
            values = wanted.get(axis.name, axis.values)
            if values and (axis.under is None or any(
                    axis.under[1] in other.values for other in axes
                    if other.name == axis.under[0])):
                default = axis.default if axis.default in values else values[0]
                axes.append(dataclasses.replace(axis, values=values, default=default))
        self.axes = axes
        self._named = {axis.name: axis for axis in axes}
        vars(self).pop("_mixed", None)

    # Points

    @property
    def default(self) -> tuple:
        """The point of the default plan."""
        return self.point({})

    def point(self, values) -> tuple:
        """The point with these values by axis, and the defaults of its other axes: (axis, value)
        pairs in the order of the axes. Values of axes that do not belong to the point are left out.
        """
        found = {}
        for axis in self.axes:
            if axis.under is None or found.get(axis.under[0]) == axis.under[1]:
                found[axis.name] = values.get(axis.name, axis.default)
        return tuple(found.items())

    def axes_of(self, point) -> list:
        """The axes that belong to a point."""
        return [self._named[name] for name, _ in point]

    def change(self, point, axis, value) -> tuple:
        """The point with another value on an axis. Options that are new have their defaults."""
        return self.point(dict(point) | {axis: value})

    @functools.cached_property
    def _mixed(self):
        """For each axis that is under none: all its values, each with all values of its options,
        as dicts."""
        def entries(axis, value):
            options = {option.name: option.values for option in self.axes
                       if option.under == (axis.name, value)}
            return [{axis.name: value} | dict(zip(options, each))
                    for each in itertools.product(*options.values())]
        return [[entry for value in axis.values for entry in entries(axis, value)]
                for axis in self.axes if axis.under is None]

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(map(len, self._mixed))

    def at(self, index) -> tuple:
        """The point of a number below :attr:`size`."""
        values = {}
        for entries in reversed(self._mixed):
            index, digit = divmod(index, len(entries))
            values |= entries[digit]
        return self.point(values)

    # Plans

    @abc.abstractmethod
    def plan(self, point) -> Any:
        """The plan of a point. Raises UserError if there is no such plan."""

    @abc.abstractmethod
    def point_of(self, plan) -> tuple | None:
        """The point that has the plan, or None if there is none."""

    def candidate(self, point, ask) -> Candidate:
        """The answer of ``ask``, a function of a plan, about the plan of a point."""
        try:
            plan = self.plan(point)
        except UserError as error:
            return Candidate(None, reason=str(error))
        return ask(plan)
