"""The area of cores, with and without a unit that hands out edges."""

import dataclasses
import json

from hw.config import HardwareConfig
from sw.study.benchmarks.grid import Grid
from sw.study.benchmarks.measurement import Measurement
from synth.budgets import DEVICE, RESOURCES
from synth.logic import synthesize
from synth.units import find_unit

from .outcome import Plot, by_columns, number, percent, ratio


__all__ = ["CoreArea", "area_grid", "area_plot", "area_table", "areas"]


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


def area_grid(cores) -> Grid:
    """The syntheses of cores by name; what each adds is compared with the first."""
    return Grid({"core": cores}, lambda name: CoreArea(cores[name]))


def areas(found):
    """The resources of cores, and what each adds to those of the first, as a part of them: two
    dicts of cubes by resource."""
    area = {resource: found.value(resource) for resource in RESOURCES}
    first = found.places.axes["core"][0]

    def more(values):
        bare = values.at(core=first)
        return values.map(lambda own: None if None in (own, bare) else ratio(own - bare, bare))
    return area, {resource: more(values) for resource, values in area.items()}


def area_table(text, area, added):
    """A row for each core, from :func:`areas`."""
    return by_columns("A core", (text, area["lut4"].labels("core")), *(
        column for resource, title in RESOURCES.items()
        for column in ((title, area[resource].cells(number)),
                       ("added", added[resource].cells(percent)))))


def area_plot(added):
    """The resources that the cores add."""
    first, *names = next(iter(added.values())).axes["core"]
    return Plot("added to a core", "of the core without", tuple(names), {
        title: tuple(added[resource].at(core=name) for name in names)
        for resource, title in RESOURCES.items()})
