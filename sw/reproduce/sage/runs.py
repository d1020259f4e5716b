"""The runs that the figures share."""

from typing import Any

from sw.benchmarks.system import System
from sw.benchmarks.units import UnitRun, schedule_of

from ..runs import WIDE, on_graph, wide


__all__ = ["ALGORITHMS", "CORE", "RESIDENT", "TILE", "SearchRun", "run"]


#: The paper's applications.
ALGORITHMS = ("bfs", "bc", "pagerank")

#: Tiled Partitioning, and with resident tiles, by the choices of a plan.
TILE: dict[str, Any] = {"schedule": "tile"}
RESIDENT: dict[str, Any] = {"schedule": "tile:resident=yes", "split": "counter"}

#: Bytes of instruction memory: three kernels of a program with three operators are long.
_IMEM = 1 << 16

#: A sentence on the core.
CORE = (f"{WIDE}, atomics of a whole line in an access, and {_IMEM >> 10} KiB of instruction "
        "memory. All push.")


class SearchRun(UnitRun):
    """A run whose record has ``set_cycles`` (:class:`sw.runtime.result.Result`): the cycles of each
    superstep of a search."""

    def measured(self, result):
        return super().measured(result) | {"set_cycles": result.set_cycles}


def run(setting, choice, algorithm, *, cores=None, unit=None, dram=None, run_class=UnitRun,
        **fields):
    """A run that pushes from the vertex with the most arcs.

    Parameters
    ----------
    setting : Setting
    choice : GraphChoice
    algorithm : str
    cores : int, optional
        Cores, if not those of the setting.
    unit : str, optional
        A unit that hands out edges, whose schedule runs.
    dram : DramConfig, optional
        The memory, if not that of the setting.
    run_class : type of UnitRun
    **fields
        Choices of the plan.
    """
    config, name = wide(setting.config, imem_bytes=_IMEM), setting.config.name
    if cores is not None:
        config, name = config.replace(cores=cores), f"{name} cores={cores}"
    if unit is not None:
        config, name = config.replace(gather=unit), f"{name} {unit}"
        fields = {"schedule": schedule_of(unit)} | fields
    return on_graph(choice, algorithm, run_class, direction="push",
                    system=System(config.replace(name=name), dram or setting.dram), **fields)
