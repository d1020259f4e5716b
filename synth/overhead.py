"""Resources that Weaver and SCU add to a core and to the GPU, by logic synthesis, by lanes.

The core is synthesized without and with the Weaver. The GPU is a core and everything around it.
The two are synthesized separately and added, so the core is not synthesized again for each SCU.
"""

import dataclasses
import threading

from hw.config import HardwareConfig

from .budgets import RESOURCES
from .devices import Area, TargetDevice
from .logic import synthesize
from .parallel import in_parallel
from .units import UNITS


__all__ = ["OverheadRow", "measure"]


@dataclasses.dataclass(frozen=True)
class OverheadRow:
    """A unit at a number of lanes.

    Parameters
    ----------
    lanes : int
    unit : str
        The unit that is added.
    host : str
        The component to which the unit is added.
    without, added : Area
        Area of the host without the unit, and the additional area with it.
    """
    lanes: int
    unit: str
    host: str
    without: Area
    added: Area

    def share(self, resource):
        """Added resources as a part of the resources without the unit; None if there are none."""
        without = getattr(self.without, resource)
        return getattr(self.added, resource) / without if without else None

    def record(self) -> dict:
        """The row, for JSON."""
        return {"lanes": self.lanes, "unit": self.unit, "host": self.host,
                "without": {key: getattr(self.without, key) for key in RESOURCES},
                "added": {key: getattr(self.added, key) for key in RESOURCES}}


def _parts(config):
    """The parts to synthesize: unit and configuration, by name."""
    bare = config.replace(scu=0, name=config.name)
    return {
        "core": ("core", bare.replace(gather="none", name=config.name)),
        "core with Weaver": ("core", bare.replace(gather="fsm", name=config.name)),
        "uncore": ("uncore", bare),
        "uncore with SCU of 1": ("uncore", bare.replace(scu=1, name=config.name)),
        "uncore with SCU of 4": ("uncore", bare.replace(scu=4, name=config.name)),
    }


def measure(config: HardwareConfig, device: TargetDevice, lanes, *, jobs=1,
            heard=lambda done, total, what, text: None) -> list[OverheadRow]:
    """Synthesize all parts, and return a row for each unit and number of lanes.

    Parameters
    ----------
    config : HardwareConfig
        The base configuration; `lanes` replaces its number of lanes, and the parts set its Weaver
        and SCU.
    device : TargetDevice
    lanes : list of int
    jobs : int
        Syntheses at a time.
    heard : callable
        Called with how many of how many are done, with what is under way, and what is being done.
    """
    work = {(count, name): part for count in lanes
            for name, part in _parts(config.replace(threads=count, name=config.name)).items()}
    done, counting = 0, threading.Lock()

    def one(key):
        nonlocal done
        unit, changed = work[key]
        what = f"{key[1]}, {key[0]} lanes"
        heard(done, len(work), what, "elaboration")
        area = synthesize(UNITS[unit].build(changed), device, top=unit,
                          heard=lambda text: heard(done, len(work), what, text)).area
        with counting:
            done += 1
            heard(done, len(work), what, "done")
        return area

    areas = dict(zip(work, in_parallel(one, work, jobs)))
    rows = []
    for count in lanes:
        core, woven, bare, one_wide, four_wide = (areas[count, name] for name in _parts(config))
        rows += [OverheadRow(count, "Weaver", "core", core, woven - core),
                 OverheadRow(count, "SCU of 1", "GPU", woven + bare, one_wide - bare),
                 OverheadRow(count, "SCU of 4", "GPU", woven + bare, four_wide - bare)]
    return rows
