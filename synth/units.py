"""The units for synthesis. A unit is declared here once, and every command then knows it."""

import dataclasses
from collections.abc import Callable
from typing import Any

from amaranth.lib import wiring

from base.errors import UserError
from hw.config import HardwareConfig
from hw.core.floating import Floating
from hw.top import FlatGpu
from hw.units import COMPONENTS


__all__ = ["UNITS", "SynthesisUnit", "find_unit"]


@dataclasses.dataclass(frozen=True)
class SynthesisUnit:
    """A part of the hardware."""
    name: str  #: Its name on the command line.
    #: Makes the component from a configuration; the component's attribute ``black_boxes``, if any,
    #: holds its black boxes.
    component: Callable[[HardwareConfig], wiring.Component]
    #: The fields that the configuration must have for this unit.
    changes: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    doc: str = ""  #: A description in a few words.

    def configure(self, config: HardwareConfig) -> HardwareConfig:
        """A configuration with the fields that the unit needs, under the same name."""
        return config.replace(**self.changes, name=config.name)

    def build(self, config: HardwareConfig) -> wiring.Component:
        """The component."""
        return self.component(self.configure(config))


def _floating(config):
    """Floating point of a core; at the full rate if the configuration has none."""
    return Floating(config if config.floats else config.replace(float="full", name=config.name))


UNITS = {unit.name: unit for unit in (
    SynthesisUnit("weaver", COMPONENTS["weaver"], {}, "the Weaver"),
    SynthesisUnit("scu-1", COMPONENTS["scu"], {"scu": 1}, "the SCU, 1 element a cycle"),
    SynthesisUnit("scu-4", COMPONENTS["scu"], {"scu": 4}, "the SCU, 4 elements a cycle"),
    SynthesisUnit("float", _floating, {}, "the floating-point pipelines and the divider of a core"),
    SynthesisUnit("core", COMPONENTS["core"], {}, "a core with its L1"),
    SynthesisUnit("uncore", lambda config: FlatGpu(config, cores=False), {},
                  "the GPU without its cores"),
    SynthesisUnit("gpu", COMPONENTS["gpu"], {}, "the whole GPU"),
)}


def find_unit(name: str) -> SynthesisUnit:
    """The unit of that name. Raises UserError naming those there are."""
    if name not in UNITS:
        raise UserError(f"there is no unit {name!r}; there are {', '.join(UNITS)}")
    return UNITS[name]
