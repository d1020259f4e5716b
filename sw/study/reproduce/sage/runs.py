"""The runs that the figures share, and the comparison of their cycles by graph and way."""

import dataclasses
from typing import Any

from sw.study.benchmarks.grid import by_point
from sw.study.benchmarks.system import System
from sw.study.benchmarks.units import UnitRun, schedule_of

from ..outcome import bars, by_columns, number, times
from ..runs import WIDE, on_graph, wide


__all__ = ["ALGORITHMS", "CORE", "RESIDENT", "TILE", "CyclesByWay", "SearchRun", "run"]


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
    """A run whose record has ``set_cycles`` (:class:`sw.device.result.Result`): the cycles of each
    superstep of a search."""

    def measured(self, result):
        return super().measured(result) | {"set_cycles": result.set_cycles}


def run(setting, choice, algorithm, *, cores=None, unit=None, dram=None, run_class=UnitRun,
        **fields):
    """A run that pushes from the vertex with the most arcs.

    ``cores`` and ``dram`` are in place of the setting's; ``unit`` hands out edges under its
    schedule; ``fields`` are choices of the plan."""
    config, name = wide(setting.config, imem_bytes=_IMEM), setting.config.name
    if cores is not None:
        config, name = config.replace(cores=cores), f"{name} cores={cores}"
    if unit is not None:
        config, name = config.replace(gather=unit), f"{name} {unit}"
        fields = {"schedule": schedule_of(unit)} | fields
    return on_graph(choice, algorithm, run_class, direction="push",
                    system=System(config.replace(name=name), dram or setting.dram), **fields)


@dataclasses.dataclass(frozen=True)
class CyclesByWay:
    """The cycles of some ways on some graphs."""
    title: str
    cycles: dict  #: dict of str to Cube. The cycles on each graph, by way.
    reference: str  #: The way with which all are compared.
    #: Whether speeds are those of the reference over a way, and not of a way over the reference.
    inverse: bool = False

    @property
    def speeds(self) -> dict:
        """The speed on each graph, by way."""
        own = self.cycles[self.reference]
        return {way: other / own if self.inverse else own / other
                for way, other in self.cycles.items()}

    @property
    def means(self) -> dict:
        """The geometric mean of the speeds, by way."""
        return {way: values.mean() for way, values in self.speeds.items()}

    @property
    def _label(self):
        return f"speed of {self.reference} over it" if self.inverse else (
            f"speed over {self.reference}")

    def table(self):
        """Cycles, and the mean speed."""
        labels, means = self.cycles[self.reference].labels(), self.means
        return by_columns(f"{self.title}: cycles", ("graph", (*labels, f"{self._label}, mean")), *(
            (way, each.cells(number, times(means[way]))) for way, each in self.cycles.items()))

    def plot(self):
        """Speeds by graph."""
        return bars(self.title, self._label, {
            way: values for way, values in self.speeds.items() if way != self.reference},
            reference=1.0)

    def data(self) -> dict:
        """Cycles by graph and way."""
        return by_point(self.cycles)
