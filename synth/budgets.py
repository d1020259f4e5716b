"""Resource budgets: the area that each unit may take, and the resource of each of its memories.

``budgets.toml`` beside this file is the one table. A change that makes a unit grow by more than
:data:`TOLERANCE` must change the table on purpose: ``./graphloom synth budgets --update`` writes
the measured values, and the difference is reviewed with the change. The command never changes the
resource of a memory. A memory that Yosys maps otherwise is a mistake until somebody changes the
table by hand.
"""

import dataclasses
import pathlib
import tomllib

from base.output import replacing
from hw.config import preset

from .devices import DEVICES
from .logic import REMOVED, Logic, synthesize
from .units import find_unit


__all__ = ["DEVICE", "PATH", "RESOURCES", "TOLERANCE", "UnitBudget", "load", "write"]


PATH = pathlib.Path(__file__).with_name("budgets.toml")

#: Part by which a unit may exceed its budget. A unit that takes so much less shows that the table
#: is out of date.
TOLERANCE = 0.05

#: The device whose resources the budgets count.
DEVICE = DEVICES["ecp5-85k"]

#: Resources with a budget: fields of :class:`synth.devices.Area`, and their names in tables.
RESOURCES = {"lut4": "LUT4", "ff": "FF", "block_ram": "block RAM", "dsp": "DSP"}


@dataclasses.dataclass(frozen=True)
class UnitBudget:
    """The budget of a unit."""
    name: str  #: ``unit/preset``.
    quick: bool  #: Whether CI checks this budget.
    area: dict[str, int]  #: The budget of each of :data:`RESOURCES`; empty for a new unit.
    #: Resource that each memory is to be mapped to, by the memory's hierarchical name.
    memories: dict[str, str]

    def measure(self, heard=lambda text: None) -> Logic:
        """Synthesize the unit."""
        unit, config = self.name.split("/")
        unit = find_unit(unit)
        return synthesize(unit.build(preset(config)), DEVICE, top=unit.name, heard=heard)

    def growth(self, resource, count):
        """Part by which a count exceeds the budget: 0.1 for a tenth, negative if it is below."""
        budget = self.area.get(resource, 0)
        if not budget:
            return 1.0 if count else 0.0
        return count / budget - 1

    def _beyond(self, area, way):
        """The resources that exceed the budget by more than the tolerance; with `way` -1, those
        that fall below it by more than the tolerance."""
        for resource, title in RESOURCES.items():
            budget, count = self.area.get(resource, 0), getattr(area, resource)
            if way * (count - budget) > TOLERANCE * budget:
                yield title, count, budget

    def exceeded_by(self, area) -> list[str]:
        """One text for each resource that is over the budget."""
        return [f"{self.name} takes {count:,} {title}, its budget is {budget:,}"
                for title, count, budget in self._beyond(area, 1)]

    def undercut_by(self, area) -> list[str]:
        """One text for each resource that has shrunk so far that the budget no longer guards it."""
        return [f"{self.name} takes {count:,} {title} only, its budget is {budget:,}"
                for title, count, budget in self._beyond(area, -1)]

    def unlisted(self, memories) -> list[str]:
        """Memories that the unit has but the table does not list, or the reverse, in words."""
        return ([f"{self.name}: memory {name} is not in the table; it is made of {kind}"
                 for name, kind in memories.items() if name not in self.memories]
                + [f"{self.name}: there is no memory {name} any more"
                   for name in self.memories if name not in memories])

    def unintended(self, memories) -> list[str]:
        """Memories that are mapped to another resource than the table says, in words."""
        found = []
        for name, kind in memories.items():
            wanted = self.memories.get(name, kind)
            if wanted != kind:
                how = "is removed" if kind == REMOVED else f"is made of {kind}"
                found.append(f"{self.name}: memory {name} {how}, not of {wanted}")
        return found

    def updated(self, logic) -> "UnitBudget":
        """The budget with the measured area and the present memories. A listed memory keeps its
        resource."""
        return dataclasses.replace(
            self, area={resource: getattr(logic.area, resource) for resource in RESOURCES},
            memories={name: self.memories.get(name, kind)
                      for name, kind in logic.memories.items()})


def load(path=PATH) -> list[UnitBudget]:
    """The table, in its order."""
    with open(path, "rb") as file:
        table = tomllib.load(file)
    return [UnitBudget(name, entry["quick"], {key: entry[key] for key in RESOURCES if key in entry},
                       entry.get("memories", {})) for name, entry in table.items()]


def write(budgets, path=PATH):
    """Write the table anew."""
    lines = ["# Area of each unit on an ECP5, by logic synthesis alone: unit/preset. LUT4 also\n# "
             "counts the LUTs of carry chains and of LUT RAM. Each memory has the kind that it "
             "is\n# meant to be made of. ./graphloom synth budgets --update writes the numbers.\n"]
    for budget in budgets:
        lines.append(f'\n["{budget.name}"]\nquick = {str(budget.quick).lower()}\n')
        lines += [f"{resource} = {count}\n" for resource, count in budget.area.items()]
        if budget.memories:
            lines.append(f'\n["{budget.name}".memories]\n')
            lines += [f'"{name}" = "{kind}"\n' for name, kind in budget.memories.items()]
    with replacing(path) as stream:
        stream.write("".join(lines).encode())
