"""The space of plans: its axes, and the points between them.

No list of the axes' values is kept here. The values are the names of all schedules, formats and so
on (:data:`sw.study.combinations.AXES`, :data:`sw.compile.plan.CLOSED`). Each option of a schedule
or format is an axis of its own, with the values that the option declares worth trying (``tries``).
So a new schedule is part of the space without a change here.

An option's axis, such as ``vwc:width``, belongs only to points whose schedule or format has this
option.
"""

import dataclasses
import itertools
from typing import Any

from base.errors import UserError
from sw.compile import algorithms, formats, schedules
from sw.compile.options import parse
from sw.study.combinations import AXES
from sw.compile.plan import CLOSED, Plan, as_plan
from sw.study.tune.points import Axis, PointSpace, spelled


__all__ = ["WITH_OPTIONS", "Space"]


#: Axes whose values have options, and the function that gives the options of a value.
WITH_OPTIONS = {
    "schedule": lambda name: schedules.make(name).OPTIONS,
    "format": lambda name: formats.find_image(name).OPTIONS,
}


#: The fields of a plan that are axes, with their defaults. Phases and waits for old words only cost
#: cycles.
_FIELDS = {field.name: field.default for field in dataclasses.fields(Plan)
           if field.name not in ("algorithm", "parameters", "atomics", "phases")}


def _ordered(values):
    """Numbers ascending, after None; other values in their order."""
    if all(value is None or type(value) is int for value in values):
        return tuple(sorted(values, key=lambda value: (value is not None, value or 0)))
    return values


class Space(PointSpace):
    """All plans of an algorithm with some parameters that every plan has.

    ``only`` is that of :class:`~sw.study.tune.points.PointSpace`. ``options`` names the axes whose
    options are axes too, of :data:`WITH_OPTIONS`; options of the others keep their defaults. Raises
    UserError if there is no such algorithm, parameter, axis or value."""

    def __init__(self, algorithm, parameters=(), only=None, options=WITH_OPTIONS):
        self.algorithm, self.parameters = algorithm, dict(parameters)
        super().__init__(self._axes(algorithms.find(algorithm), options), only)

    def _axes(self, kind, options):
        default = _FIELDS | {"direction": kind.directions[0]}
        values = {name: tuple(values()) for name, values in AXES.items() if name in _FIELDS}
        values |= {name: what.tries for name, what in CLOSED.items()
                   if name not in values and name in _FIELDS}
        for name, each in values.items():
            yield Axis(name, _ordered(each), default[name])
            for value in each if name in options else ():
                for option, what in WITH_OPTIONS[name](value).items():
                    if len(what.tries) > 1:
                        yield Axis(f"{value}:{option}", _ordered(what.tries), what.default,
                                   (name, value))
        for name, each in kind.TRIES.items():
            if name not in self.parameters:
                yield Axis(name, each, each[0])

    def reduce(self, ask, begun=lambda axis: None):
        """Drop the values that the planner refuses at once, whatever the other values are.

        A value is kept if one plan with it works, where all options, splits and the like have their
        defaults. So a strategy is not led through thousands of points that cannot work. ``ask``
        gives the :class:`~sw.study.tune.candidates.Candidate` of a plan; ``begun`` is called with
        the name of each axis whose values are looked at. Raises UserError, with the reason of the
        default plan, if no plan works."""
        def works(values):
            return self.candidate(self.point(values), ask).digest is not None

        if not any(works(values) for values in self._around({})):
            raise UserError("no candidate works here; the reason of the default plan: "
                            f"{self.candidate(self.default, ask).reason}")
        kept = {}
        for axis in self.axes:
            if axis.under is None or axis.under[1] in kept[axis.under[0]]:
                begun(axis.name)
                fixed = dict([axis.under] if axis.under else [])
                kept[axis.name] = tuple(
                    value for value in axis.values
                    if any(works(values) for values in self._around(fixed | {axis.name: value})))
        self._settle({axis.name: kept.get(axis.name, ()) for axis in self.axes})

    def _around(self, fixed):
        """Values with those in ``fixed``, for all combinations of :data:`AXES`, with the defaults
        of all other axes."""
        free = [axis for axis in self.axes if axis.name in AXES and axis.name not in fixed]
        ordered = [sorted(axis.values, key=lambda value: value != axis.default) for axis in free]
        for values in itertools.product(*ordered):
            yield fixed | dict(zip((axis.name for axis in free), values))

    # Plans

    def plan(self, point) -> Any:
        """The plan or hybrid of a point. An option at its default is not spelled. Raises UserError
        if there is no such plan."""
        choices = dict(self.parameters)
        for name, value in point:
            axis = self._named[name]
            if axis.under is None:
                choices[name] = value
            elif value != self._option(axis).default:
                option = name.partition(":")[2]
                choices[axis.under[0]] += f":{option}={spelled(value)}"
        return as_plan(self.algorithm, **choices)

    @staticmethod
    def _option(axis):
        return WITH_OPTIONS[axis.under[0]](axis.under[1])[axis.name.partition(":")[2]]

    def point_of(self, plan) -> tuple | None:
        """The point whose plan has the fields of ``plan``, or None if the space does not have it.
        Parameters of ``plan`` that are no axis do not count."""
        first = getattr(plan, "first", plan)
        values = {name: getattr(first, name) for name in _FIELDS} | dict(plan.parameters)
        values["direction"] = plan.direction
        for parent in WITH_OPTIONS:
            values[parent], given = parse(values[parent])
            values |= {f"{values[parent]}:{option}": text for option, text in given.items()}
        for axis in self.axes:
            legal = {spelled(value): value for value in axis.values}
            text = spelled(values.get(axis.name, axis.default))
            if text in legal:
                values[axis.name] = legal[text]
            elif axis.under is None or values.get(axis.under[0]) == axis.under[1]:
                return None
        point = self.point(values)
        return point if _bare(self.plan(point)) == _bare(plan) else None


def _bare(plan):
    """The record of a plan or hybrid, without parameters of the algorithm."""
    record = plan.to_json()
    for part in (record, record.get("first", {}), record.get("second", {})):
        part.pop("parameters", None)
    return record
