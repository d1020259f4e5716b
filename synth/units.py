"""The units for synthesis: those that are available alone, and parts that are of use only there."""

import dataclasses

from base.errors import UserError
from hw.core.floating import Floating
from hw.top import FlatGpu
from hw.units import UNITS as _ALONE, HardwareUnit


__all__ = ["UNITS", "find_unit"]


def _scu(width):
    return dataclasses.replace(_ALONE["scu"], name=f"scu-{width}", changes={"scu": width},
                               doc=f"the SCU, {width} element{'s' * (width > 1)} a cycle")


def _floating(config, _clock):
    """Floating point of a core; at the full rate if the configuration has none."""
    return Floating(config if config.floats else config.replace(float="full", name=config.name))


UNITS = {unit.name: unit for unit in (
    *(unit for unit in _ALONE.values() if unit.name != "scu"), _scu(1), _scu(4),
    HardwareUnit(name="float", doc="the floating-point pipelines and the divider of a core",
                 make=_floating),
    HardwareUnit(name="uncore", doc="the GPU without its cores",
                 make=lambda config, _: FlatGpu(config, cores=False)),
)}


def find_unit(name: str) -> HardwareUnit:
    """The unit of that name. Raises UserError naming those there are."""
    if name not in UNITS:
        raise UserError(f"there is no unit {name!r}; there are {', '.join(UNITS)}")
    return UNITS[name]
