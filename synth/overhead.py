"""Resources that Weavers and SCU add to a core and to the GPU, by logic synthesis, by lanes.

The core is synthesized without and with each unit that hands out edges. The GPU is a core, with the
first of these units, and everything around the core. The two are synthesized separately and added,
so the core is not synthesized again for each SCU.
"""

import dataclasses
import threading

from hw.config import HardwareConfig
from hw.gather.variants import VARIANTS

from .budgets import RESOURCES
from .devices import Area, TargetDevice
from .logic import synthesize
from .parallel import in_parallel
from .units import UNITS


__all__ = ["UNIT_NAMES", "OverheadRow", "measure"]


#: Elements a cycle of each SCU, by its name on the command line.
_SCUS = {"scu-1": 1, "scu-4": 4}

#: {name on the command line: name in tables} of the units: those that hand out edges, and the SCUs.
UNIT_NAMES = ({name: unit.title for name, unit in VARIANTS.items()}
              | {name: f"SCU of {elements}" for name, elements in _SCUS.items()})


@dataclasses.dataclass(frozen=True)
class OverheadRow:
    """A unit at a number of lanes."""
    lanes: int
    unit: str  #: The unit that is added.
    host: str  #: The component to which the unit is added.
    without: Area  #: Area of the host without the unit.
    added: Area  #: The additional area with the unit.

    def share(self, resource):
        """Added resources as a part of the resources without the unit; None if there are none."""
        without = getattr(self.without, resource)
        return getattr(self.added, resource) / without if without else None

    def record(self) -> dict:
        """The row, for JSON."""
        return {"lanes": self.lanes, "unit": self.unit, "host": self.host,
                "without": {key: getattr(self.without, key) for key in RESOURCES},
                "added": {key: getattr(self.added, key) for key in RESOURCES}}


def _parts(config, units):
    """The parts to synthesize: part of the hardware and configuration, by name. A part with a unit
    has the unit's name."""
    bare = config.replace(scu=0, name=config.name)
    first, scus = next(iter(VARIANTS)), [name for name in units if name in _SCUS]
    weavers = [name for name in VARIANTS if name in units or (name == first and scus)]
    parts = {name: ("core", bare.replace(gather=name, name=config.name)) for name in weavers}
    if set(units) - set(scus):
        parts["core"] = ("core", bare.replace(gather="none", name=config.name))
    if scus:
        parts["uncore"] = ("uncore", bare)
    return parts | {name: ("uncore", bare.replace(scu=_SCUS[name], name=config.name))
                    for name in scus}


def measure(config: HardwareConfig, device: TargetDevice, lanes, *, units=tuple(UNIT_NAMES), jobs=1,
            heard=lambda done, total, what, text: None) -> list[OverheadRow]:
    """Synthesize all parts, and return a row for each unit and number of lanes.

    Parameters
    ----------
    config : HardwareConfig
        The base configuration; `lanes` replaces its number of lanes, and the parts set its Weaver
        and SCU.
    device : TargetDevice
    lanes : list of int
    units : sequence of str
        Keys of :data:`UNIT_NAMES`.
    jobs : int
        Syntheses at a time.
    heard : callable
        Called with how many of how many are done, with what is under way, and what is being done.
    """
    work = {(count, name): part for count in lanes
            for name, part in _parts(config.replace(threads=count, name=config.name),
                                     units).items()}
    done, counting = 0, threading.Lock()

    def one(key):
        nonlocal done
        part, changed = work[key]
        what = f"{key[1]}, {key[0]} lanes"
        heard(done, len(work), what, "elaboration")
        area = synthesize(UNITS[part].build(changed), device, top=part,
                          heard=lambda text: heard(done, len(work), what, text)).area
        with counting:
            done += 1
            heard(done, len(work), what, "done")
        return area

    areas = dict(zip(work, in_parallel(one, work, jobs)))
    rows = []
    for count in lanes:
        for unit in (name for name in UNIT_NAMES if name in units):
            if unit in _SCUS:
                host, around = "GPU", areas[count, "uncore"]
                without = areas[count, next(iter(VARIANTS))] + around
            else:
                host, around = "core", areas[count, "core"]
                without = around
            rows.append(OverheadRow(count, UNIT_NAMES[unit], host, without,
                                    areas[count, unit] - around))
    return rows
