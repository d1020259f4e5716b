"""The points of a sweep: the case of each, or the reason why there is none."""

import dataclasses
import pathlib
from typing import Any

from base.errors import UserError
from hw.config import ConfigError, preset
from sim.memories import dram_of
from sw.compile import algorithms
from sw.compile.options import word
from sw.compile.plan import as_plan
from sw.compile.schedules import equip
from sw.device.target import Target
from sw.study.benchmarks.batch import Case
from sw.study.benchmarks.grid import Grid


__all__ = ["SweepCase", "SweepPoints"]


@dataclasses.dataclass(frozen=True)
class SweepCase(Case):
    """A run of a sweep: a plan on a graph, on hardware of its own. A schedule that cannot run is no
    failure."""
    source: Any = None  #: The :class:`~sw.graph.load.GraphSource`.
    target: Any = None  #: The :class:`~sw.device.target.Target`.
    said: tuple = ()  #: tuple of (str, value). What the sweep says of the run, by column.

    REFUSED = "refused"

    @property
    def reads(self):
        file, colon, _ = self.plan.algorithm.partition(".py:")
        return (*super().reads, f"{file}.py" if colon else self.plan.algorithm)

    def record(self):
        more = {name: value for name, value in self.source.record().items()
                if name != "spec" and value is not None and value is not False}
        limits = {name: value for name in ("max_cycles", "launch_cycles")
                  if (value := getattr(self.target, name)) is not None}
        return super().record() | more | limits | {"said": dict(self.said)}

    def describe(self) -> str:
        """What is said of it, in a few words."""
        said = dict(self.said)
        main = [said.pop(name) for name in ("algorithm", "schedule", "graph")]
        return " ".join([*main[:2], "on", pathlib.Path(main[2]).name, *(
            f"{name}={word(value)}" for name, value in said.items() if value is not None)])

    def hardware(self, config):
        return self.target.config

    def memory(self, dram):
        return self.target.dram

    def load(self):
        return self.source.load()

    def device(self, config, dram):
        """The device that runs the case."""
        return self.target.device()

    def measured(self, result):
        return super().measured(result) | {"launch_cycles": result.launch_cycles,
                                           "total_cycles": result.total_cycles}


class SweepPoints:
    """The points of a :class:`~sw.study.sweep.spec.SweepSpec`.

    ``grid`` has their cases; ``refused`` the points without a case, as what is said of them, with
    the reason: an algorithm without the direction, or a configuration whose fields exclude each
    other. ``columns`` has the values of what is said, in order, by its name.
    """

    def __init__(self, spec):
        self._spec, self.refused = spec, []
        self.grid = Grid(spec.axes, self._make)
        values: dict[str, dict] = {}
        for said in (*(dict(case.said) for case in self.grid.cases),
                     *(said for said, _ in self.refused)):
            for name, value in said.items():
                values.setdefault(name, {})[value] = None
        self.columns = {name: list(found) for name, found in values.items()}

    def _make(self, graph, algorithm, schedule, choices, hardware, repeat):
        spec = self._spec
        source = dataclasses.replace(spec.source, spec=graph)
        said = {"graph": graph, "algorithm": algorithm, "schedule": schedule, **dict(choices),
                **hardware.said, "seed": None}
        try:
            plan = as_plan(algorithm, schedule=schedule, **dict(choices))
            source = source.used_by(algorithms.find(plan.algorithm))
            if source.no_weights:
                source = dataclasses.replace(source, weights=None)
            if source.draws:
                said["seed"] = (source.seed or 0) + repeat
                source = dataclasses.replace(source, seed=said["seed"]).seeded()
            elif repeat:
                return None                 # the same run again: the simulation is exact
            else:
                source = dataclasses.replace(source, seed=None)
            config = preset(hardware.preset)
            fields = dict(hardware.fields)
            config = config.replace(**fields) if fields else config
            config = equip(config, [side.schedule for side in plan.sides.values()], fields)
            dram = dram_of(dict(hardware.dram), config)
            plan.check(config)
        except (UserError, ConfigError) as error:
            if not repeat:
                self.refused.append((said, str(error)))
            return None
        limits = {name: spec.record.get(name) for name in ("max_cycles", "launch_cycles")}
        return SweepCase(source.spec, source.undirected, plan, source.weights, source=source,
                         target=Target(config, dram, **limits), said=tuple(said.items()))
