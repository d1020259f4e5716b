"""Cycle budgets: the cycles that a few small cases may take.

``budgets.toml`` beside this file is the one table. A change that makes a case slower by more than
:data:`TOLERANCE` must change the table on purpose: ``./graphloom bench budgets --update`` writes
the measured cycles, and the difference is reviewed with the change.
"""

import pathlib
import tomllib

from base.output import replacing
from sw.study.benchmarks.batch import Case
from sw.study.benchmarks.schedules import plan
from sw.compile.schedules import equip


__all__ = ["PATH", "TOLERANCE", "Budget", "load_budgets", "write_budgets"]


PATH = pathlib.Path(__file__).with_name("budgets.toml")

#: Part by which a case may exceed its budget.
TOLERANCE = 0.02


class Budget:
    """A case, its preset, and its budget in cycles. Its name in the table is
    ``preset/graph/algorithm/direction/schedule``, then ``/format`` if the format is not CSR."""
    def __init__(self, name, cycles):
        self.name, self.cycles = name, cycles
        self.preset, graph, algorithm, direction, schedule, *rest = name.split("/")
        self.case = Case(graph, False, plan(algorithm, 2, direction=direction, schedule=schedule,
                                            format=rest[0] if rest else None))

    def measure(self) -> dict:
        """Run the case on the preset, with an SCU added if the schedule needs one. Returns its
        record, with ``cycles`` or ``error``."""
        from hw.config import preset
        from sim.dram import DramConfig
        return self.case.run(equip(preset(self.preset), [self.case.plan.schedule]), DramConfig())

    def exceeded_by(self, cycles) -> bool:
        """Whether ``cycles`` are more than the budget allows."""
        return cycles > self.cycles * (1 + TOLERANCE)


def load_budgets() -> list[Budget]:
    """The table, in its order."""
    with open(PATH, "rb") as file:
        return [Budget(name, cycles) for name, cycles in tomllib.load(file)["cycles"].items()]


def write_budgets(budgets):
    """Write the table anew."""
    with replacing(PATH) as file:
        file.write(b"# Cycle budgets of small cases: "
                   b"preset/graph/algorithm/direction/schedule[/format].\n"
                   b"# Written by ./graphloom bench budgets --update.\n\n[cycles]\n")
        for budget in budgets:
            file.write(f'"{budget.name}" = {budget.cycles}\n'.encode())
