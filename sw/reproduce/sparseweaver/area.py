"""The area of the Weaver: table 4.4."""

from hw.config import preset
from synth.budgets import DEVICE, RESOURCES

from ..area import CoreArea, area_plot, area_table, areas
from ..outcome import Comparison, Outcome, percent
from ..paper import Figure
from . import published
from .runs import WEAVERS


__all__ = ["AreaOverhead"]


#: The preset whose core is synthesized.
_PRESET = "fpga"

#: The resources of the paper's comparison: names here, and in :data:`published.AREA`.
_PAPERS = {"lut4": "logic", "ff": "registers", "block_ram": None, "dsp": None}


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
        found, added = areas(self._cases(), results)
        comparisons = [Comparison(
            f"{name}: {title} added", percent(published.AREA.get(_PAPERS[resource], 0)),
            percent(added[name][resource])) for name in WEAVERS
            for resource, title in RESOURCES.items()]
        return Outcome((area_table("Weaver", found, added),), (area_plot(added, WEAVERS),),
                       tuple(comparisons), found)
