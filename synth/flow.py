"""The figures of a unit: logic synthesis, an estimate of its timing, and placements."""

import dataclasses
import pathlib

from hw.config import HardwareConfig

from . import place, tools
from .devices import Area, TargetDevice
from .estimate import Estimate, estimate
from .logic import Logic, synthesize
from .netlist import Netlist
from .wrapper import Wrapper


__all__ = ["Figures", "measure"]


@dataclasses.dataclass(frozen=True)
class Figures:
    """The measurements of a unit."""
    unit: str  #: The unit's name, or ``"board"``.
    config: HardwareConfig  #: The configuration that the unit was built for.
    device: TargetDevice
    logic: Logic  #: Synthesis of the unit alone.
    #: Estimated timing of the unit alone; None where the device is not an ECP5.
    estimate: Estimate | None
    #: Placements of the unit with registers at its ports, one for each seed; empty if the unit was
    #: not placed.
    placements: tuple[place.Placement, ...]

    @property
    def area(self) -> Area:
        """The resources that the unit takes."""
        return self.logic.area

    @property
    def logs(self) -> list[pathlib.Path]:
        """The logs of the tools."""
        return [self.logic.log, *(placement.log for placement in self.placements)]

    def share(self, resource):
        """Part of the device's amount of a resource that is taken; None if the device has none, or
        no limit."""
        whole = getattr(self.device, resource)
        return getattr(self.area, resource) / whole if whole else None

    def record(self) -> dict:
        """All figures, for JSON."""
        found = {
            "unit": self.unit, "config": dataclasses.asdict(self.config),
            "device": self.device.name, "area": dataclasses.asdict(self.area),
            "share": {resource: round(share, 4)
                      for resource in ("lut4", "ff", "block_ram", "dsp")
                      if (share := self.share(resource)) is not None},
            "cells": self.logic.cells, "memories": self.logic.memories,
            "synthesis_seconds": self.logic.seconds,
            "tools": {"yosys": tools.find("yosys").version},
        }
        if self.estimate is not None:
            found["estimate"] = {"frequency": round(self.estimate.frequency, 2),
                                 "levels": self.estimate.levels,
                                 "path": [dataclasses.asdict(s) for s in self.estimate.steps]}
        if self.placements:
            found["tools"]["nextpnr-ecp5"] = tools.find("nextpnr-ecp5").version
            found["frequency"] = dataclasses.asdict(place.spread(self.placements))
            found["placements"] = [placement.record() for placement in self.placements]
        return found


def measure(unit, config, device, *, seeds=(), frequency=50.0, jobs=1,
            heard=lambda what, text: None) -> Figures:
    """Synthesize a unit, and place it once for each seed. Earlier syntheses and placements are
    reused.

    Parameters
    ----------
    unit : HardwareUnit
    config : HardwareConfig
        The configuration, in which the unit then sets the fields that it needs.
    device : TargetDevice
    seeds : iterable of int
        Seeds of the placements; without a seed the unit is not placed.
    frequency : float
        MHz that nextpnr aims for.
    jobs : int
        Placements at a time.
    heard : callable
        Called with what is under way and what is being done with it.

    Raises
    ------
    ToolError
        If a tool is missing or fails; :class:`place.DoesNotFit` names the resource that ran out.
    """
    config = unit.configure(config)
    logic = synthesize(unit.build(config), device, top=unit.name,
                       heard=lambda text: heard(unit.name, text))
    timing = None
    if device.family == "ecp5":
        timing = estimate(Netlist(logic.netlist.read_text(), unit.name))
    placements = ()
    if seeds:
        placements = _place(unit, config, device, seeds, frequency, jobs, heard)
    return Figures(unit.name, config, device, logic, timing, placements)


def _place(unit, config, device, seeds, frequency, jobs, heard):
    top = f"{unit.name}-placed"
    wrapped = synthesize(Wrapper(unit.build(config)), device, top=top,
                         heard=lambda text: heard(f"{unit.name} with registers around it", text))
    return tuple(place.place_all(
        wrapped.netlist, top, device, seeds=seeds, folder=wrapped.placements, jobs=jobs,
        frequency=frequency, heard=lambda seed, text: heard(f"{unit.name}, seed {seed}", text)))
