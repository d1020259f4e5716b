"""The area of the Weaver: table 4.4."""

import dataclasses
import json

from hw.config import HardwareConfig, preset
from synth.budgets import DEVICE, RESOURCES
from synth.logic import synthesize
from synth.units import find_unit

from ..outcome import Comparison, Outcome, Plot, Table, number, percent, ratio
from ..paper import Figure
from . import published
from .runs import WEAVERS


__all__ = ["AreaOverhead", "CoreArea"]


#: The preset whose core is synthesized.
_PRESET = "fpga"

#: The resources of the paper's comparison: names here, and in :data:`published.AREA`.
_PAPERS = {"lut4": "logic", "ff": "registers", "block_ram": None, "dsp": None}


@dataclasses.dataclass(frozen=True)
class CoreArea:
    """The logic synthesis of a core. The record has the number of each of
    :data:`synth.budgets.RESOURCES`."""
    config: HardwareConfig

    simulates, timed = False, False

    def key(self, config, dram) -> str:
        """The key of this case's line. Only its own configuration counts."""
        return json.dumps([type(self).__name__, self.record()], sort_keys=True)

    def record(self) -> dict:
        """The case as JSON can hold it."""
        return {"graph": f"core of {self.config.name}, {self.config.gather}",
                "config": dataclasses.asdict(self.config)}

    def run(self, config, dram) -> dict:
        """Synthesize in this process. Returns the contents of the line, without the key."""
        from sim.toolchain import ToolError
        record = {"case": self.record()}
        try:
            area = synthesize(find_unit("core").build(self.config), DEVICE, top="core").area
        except ToolError as error:
            return record | {"error": str(error)}
        return record | {name: getattr(area, name) for name in RESOURCES}


class AreaOverhead(Figure):
    """Table 4.4."""
    name = "table4.4"
    title = "the area that the Weaver adds to a core"
    source = "table 4.4, section 4.6.6"
    method = (f"Logic synthesis of the core of preset `{_PRESET}` for {DEVICE.name}, with and "
              "without each Weaver, by Yosys. The paper has Quartus and a Stratix 10, a core of 32 "
              "warps of 32 lanes, and counts ALMs and dedicated registers. `./graphloom synth "
              "overhead` has more numbers of lanes.")

    def _cases(self):
        core = preset(_PRESET)
        return {name: CoreArea(core.replace(gather=unit, name=_PRESET))
                for name, unit in ({"none": "none"} | WEAVERS).items()}

    def cases(self, setting):
        return list(self._cases().values())

    def outcome(self, setting, results):
        found = {name: {resource: results.value(case, resource) for resource in RESOURCES}
                 for name, case in self._cases().items()}
        bare = found["none"]
        rows, comparisons, added = [], [], {}
        for name, area in found.items():
            added[name] = {
                resource: None if None in (area[resource], bare[resource]) else ratio(
                    area[resource] - bare[resource], bare[resource]) for resource in RESOURCES}
            rows.append((name, *(cell for resource in RESOURCES for cell in (
                number(area[resource]), percent(added[name][resource])))))
        for name in WEAVERS:
            comparisons += [Comparison(
                f"{name}: {title} added", percent(published.AREA.get(_PAPERS[resource], 0)),
                percent(added[name][resource])) for resource, title in RESOURCES.items()]
        return Outcome(
            (Table("A core", ("Weaver", *(cell for title in RESOURCES.values()
                                          for cell in (title, "added"))), tuple(rows)),),
            (Plot("added to a core", "of the core without", tuple(WEAVERS), {
                title: tuple(added[name][resource] for name in WEAVERS)
                for resource, title in RESOURCES.items()}),), tuple(comparisons), found)
