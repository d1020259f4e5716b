"""The area of the Weaver: table 4.4."""

from hw.config import preset
from sw.study.benchmarks.grid import by_point
from synth.budgets import DEVICE, RESOURCES

from ..area import area_grid, area_plot, area_table, areas
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

    def grid(self, setting):
        core = preset(_PRESET)
        return area_grid({name: core.replace(gather=unit, name=_PRESET)
                          for name, unit in ({"none": "none"} | WEAVERS).items()})

    def results(self, setting, found):
        area, added = areas(found)
        return Outcome(
            (area_table("Weaver", area, added),), (area_plot(added),),
            tuple(Comparison(f"{name}: {title} added",
                             percent(published.AREA.get(_PAPERS[resource], 0)),
                             percent(added[resource].at(core=name)))
                  for name in WEAVERS for resource, title in RESOURCES.items()), by_point(area))
