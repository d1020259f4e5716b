"""The runs that the figures share: the Weavers, the schedules in software, and their systems."""

from sw.study.benchmarks.schedules import DIRECTIONS
from sw.study.benchmarks.system import System
from sw.study.benchmarks.units import (EGHW, GRAPHPEG, SCU, SOFTWARE as RIVALS, UNITS, PhasedRun,
                                       UnitRun, weaver)

from ..runs import on_graph


__all__ = ["GENERATORS", "HARDWARE", "PLAIN", "SOFTWARE", "WEAVERS", "run", "ways"]


#: The Weavers: their names in tables, and the values of ``HardwareConfig.gather``. The first is the
#: paper's.
WEAVERS = {weaver(unit): unit for unit in UNITS if unit not in (SCU, EGHW, GRAPHPEG)}

#: The unit that generates edges: its names in tables, and the loads that it has under way at most.
#: The first is the paper's.
GENERATORS = {"eghw, 1 load": 1, "eghw, 16 loads": 16}

#: Vertex mapping in the plain loop of the paper, one edge a turn.
PLAIN = "vm:unroll=1"

#: The schedules in software. ``vm`` takes several edges a turn.
SOFTWARE = (PLAIN, *RIVALS)

#: The paper's hardware, in a sentence.
HARDWARE = "The paper has six cores of 32 warps of 32 lanes."


def run(setting, choice, algorithm, contender, direction, *, dram=None, phases=False, **fields):
    """A run on a graph: PageRank one iteration, searches from the vertex with the most arcs.

    The contender is a schedule in software, or a key of :data:`WEAVERS` or :data:`GENERATORS`.
    Software runs on the core that has the first of the Weavers. ``dram`` is in place of the
    setting's memory; with ``phases`` the run is a :class:`PhasedRun`; ``fields`` of the
    configuration differ from the setting's."""
    unit = WEAVERS.get(contender, UNITS[0])
    if contender in GENERATORS:
        unit, fields = EGHW, fields | {"eghw_requests": GENERATORS[contender]}
    config = setting.config.replace(gather=unit, **fields)
    system = System(config.replace(name=f"{setting.config.name} {unit}"), dram or setting.dram)
    return on_graph(choice, algorithm, PhasedRun if phases else UnitRun, system=system,
                    direction=direction, phases=phases or None,
                    schedule="weaver" if contender in {**WEAVERS, **GENERATORS} else contender)


def ways(setting, choice, algorithm, contender) -> dict:
    """{direction: case}: a contender in all directions of the algorithm."""
    return {direction: run(setting, choice, algorithm, contender, direction)
            for direction in DIRECTIONS[algorithm]}
