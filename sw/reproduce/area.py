"""The area of cores, with and without a unit that hands out edges."""

import dataclasses
import json

from hw.config import HardwareConfig
from sw.benchmarks.measurement import Measurement
from synth.budgets import DEVICE, RESOURCES
from synth.logic import synthesize
from synth.units import find_unit

from .outcome import Plot, Table, number, percent, ratio


__all__ = ["CoreArea", "area_plot", "area_table", "areas"]


@dataclasses.dataclass(frozen=True)
class CoreArea(Measurement):
    """The logic synthesis of a core. The record has the number of each of
    :data:`synth.budgets.RESOURCES`."""
    config: HardwareConfig

    def key(self, config, dram) -> str:
        """Only its own configuration counts."""
        return json.dumps([type(self).__name__, self.record()], sort_keys=True)

    def record(self) -> dict:
        return {"config": dataclasses.asdict(self.config)}

    def describe(self) -> str:
        return f"core of {self.config.name}, {self.config.gather}"

    def run(self, config, dram) -> dict:
        from sim.toolchain import ToolError
        record = {"case": self.record()}
        try:
            area = synthesize(find_unit("core").build(self.config), DEVICE, top="core").area
        except ToolError as error:
            return record | {"error": str(error)}
        return record | {name: getattr(area, name) for name in RESOURCES}


def areas(cases, results):
    """The resources of cores, and what each adds to those of the first, as a part of them.

    Parameters
    ----------
    cases : dict of str to CoreArea
    results : CaseRecords

    Returns
    -------
    found, added : dict of str to dict
        By name of the case and resource; None if the synthesis failed.
    """
    found = {name: {resource: results.value(case, resource) for resource in RESOURCES}
             for name, case in cases.items()}
    bare = next(iter(found.values()))
    added = {name: {resource: None if None in (area[resource], bare[resource]) else ratio(
        area[resource] - bare[resource], bare[resource]) for resource in RESOURCES}
        for name, area in found.items()}
    return found, added


def area_table(label, found, added):
    """A row for each core, from :func:`areas`."""
    return Table("A core", (label, *(cell for title in RESOURCES.values()
                                     for cell in (title, "added"))),
                 tuple((name, *(cell for resource in RESOURCES for cell in (
                     number(area[resource]), percent(added[name][resource]))))
                       for name, area in found.items()))


def area_plot(added, names):
    """The resources that the cores of these names add."""
    return Plot("added to a core", "of the core without", tuple(names), {
        title: tuple(added[name][resource] for name in names)
        for resource, title in RESOURCES.items()})
