"""Schedules: how base vertices and edges are mapped to lanes.

Every module of this folder that has a class with a ``name`` is found; nothing else lists them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from base.errors import UserError
from hw.config import HardwareConfig
from hw.gather.variants import VARIANTS
from sw.compile import registry
from sw.compile.options import canonical as _canonical, parse, settle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sw.compile.schedules.schedule import Schedule


__all__ = ["canonical", "compared", "equip", "equipped", "in_software", "make", "names",
           "with_unit"]


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


def in_software(schedule: str) -> bool:
    """Whether a schedule needs no unit of the hardware. Raises UserError."""
    return not _units(make(schedule), HardwareConfig()) and not make(schedule).needs_scu


def _units(schedule: Schedule, config: HardwareConfig) -> list[str]:
    """The units that hand out edges with which a schedule can run, beside such hardware: the
    values of ``HardwareConfig.gather``; none if it runs without."""
    def runs(unit: str) -> bool:
        try:
            schedule.check_config(config.replace(gather=unit))
        except UserError:
            return False
        return True
    return [] if schedule.needs_scu or runs("none") else [*filter(runs, VARIANTS)]


def compared(config: HardwareConfig,
             said: Iterable[str] = ()) -> list[tuple[str, HardwareConfig]]:
    """What is compared if nobody names schedules: the best in software, and the best with each kind
    of unit, each on this configuration with the unit that it needs. Those without changes of the
    configuration come first, and of these those in software.

    Units of which a schedule can use several are those whose records say so
    (:attr:`~hw.gather.variant.GatherVariant.compared`). Fields that are ``said`` stay as they are:
    then a schedule that cannot run on the configuration is there, and refused when it is planned.
    """
    found: list[tuple[str, HardwareConfig]] = []
    for name in names():
        schedule = make(name)
        if schedule.compared:
            units = [] if "gather" in said else _units(schedule, config)
            own = [equipped(config, unit) for unit in units
                   if unit == schedule.needs_unit or VARIANTS[unit].compared]
            found += [(name, equip(each, [name], said)) for each in own or [config]]
    return sorted(found, key=lambda each: (each[1] != config, not in_software(each[0])))


def with_unit(config: HardwareConfig, schedule: Schedule) -> HardwareConfig:
    """The configuration, with the unit that hands out edges which the schedule needs, if it needs a
    certain one."""
    return config if schedule.needs_unit is None else equipped(config, schedule.needs_unit)


def equipped(config: HardwareConfig, unit: str) -> HardwareConfig:
    """The configuration with a unit that hands out edges, and with the unit's name in its own if it
    has had another."""
    if unit == config.gather:
        return config
    return config.replace(gather=unit, name=f"{config.name}+{unit}")
