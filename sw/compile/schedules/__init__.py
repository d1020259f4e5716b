"""Schedules: how base vertices and edges are mapped to lanes.

Every module of this folder that has a class with a ``name`` is found; nothing else lists them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from sw.compile import registry
from sw.compile.options import canonical as _canonical, parse, settle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hw.config import HardwareConfig
    from sw.compile.schedules.schedule import Schedule


__all__ = ["canonical", "equip", "make", "names", "with_unit"]


def names() -> list[str]:
    """Names of all schedules."""
    return registry.names(__name__, "schedule")


def make(text: str) -> Schedule:
    """A schedule as ``text`` spells it: ``NAME[:OPTION=VALUE]...``. Raises UserError if there is
    none, or its options are not right."""
    name, given = parse(text)
    kind = registry.find(__name__, "schedule", name)
    return kind(**settle(kind.OPTIONS, given, f"schedule {name}"))


@functools.lru_cache(1000)
def canonical(text: str) -> str:
    """The one form of a schedule's text (:func:`sw.compile.options.canonical`). Raises UserError
    as :func:`make`."""
    return _canonical(text, lambda name: registry.find(__name__, "schedule", name).OPTIONS,
                      "schedule")


def equip(config: HardwareConfig, schedules: Iterable[str],
          said: Iterable[str] = ()) -> HardwareConfig:
    """The configuration, with the units that the schedules need. Raises UserError.

    It gets a Stream Compaction Unit if it has none and one of the schedules needs it: 4 elements
    wide, or 1 where a line has fewer than 32 bytes. It gets the unit that hands out edges which one
    of them needs. Fields that are ``said`` stay.
    """
    made = [make(schedule) for schedule in schedules]
    if "scu" not in said and not config.scu and any(each.needs_scu for each in made):
        width = 4 if config.line_bytes >= 32 else 1
        config = config.replace(scu=width, name=f"{config.name}+scu{width}")
    for each in made if "gather" not in said else ():
        config = with_unit(config, each)
    return config


def with_unit(config: HardwareConfig, schedule: Schedule) -> HardwareConfig:
    """The configuration, with the unit that hands out edges which the schedule needs, if it needs a
    certain one."""
    unit = schedule.needs_unit
    if unit in (None, config.gather):
        return config
    return config.replace(gather=unit, name=f"{config.name}+{unit}")
