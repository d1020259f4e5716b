"""What the host of a program does before the first operator, ahead of the run."""

from __future__ import annotations

from typing import Any

from base.errors import UserError
from sw.compile.lower.flow import reachable
from sw.compile.lower.fuse import in_beginning
from sw.compile.lower.host_expressions import folded
from sw.compile.lower.host_steps import threshold
from sw.compile.lower.machine import RtlMachine
from sw.lang import graph_ir as ir


__all__ = ["HostBeginning"]


#: Most steps of the host before the first operator.
_MOST_STEPS = 100_000


class HostBeginning:
    """The host before the first operator of the device. What it does is in the memory's first
    contents.

    Parameters
    ----------
    parent : ProgramAlgorithm
    values : dict of str to number
        The parameters of the run.
    step : HostStep
        The first of the program.

    Attributes
    ----------
    step : HostStep
        The step with the first operator, or the end.
    sets : dict of str to int
        The storages of the sets by their names.
    blocks : list of int
        The last block of each storage.
    values, numbers : dict of str to number
        The numbers of the host: those that do not change any more, and those that may. A number
        without a value yet has None.

    Raises
    ------
    UserError
        The host computes with decimals later on, or there is no end of the beginning.
    """

    def __init__(self, parent, values, step):
        self._name, self._graph, self._numbers = parent.name, parent.graph, parent.numbers
        self._performed = set()
        machine = RtlMachine(parent)
        self.step, self.values, self._sets = step, dict(values), {ir.ALL: machine.make_set(None)}
        for _ in range(_MOST_STEPS):
            if not self._perform(machine):
                break
        else:
            self._refuse(self.step.node, f"there are more than {_MOST_STEPS:,} steps before the "
                                         "first operator")
        self.sets = {name: each.block // 2 for name, each in self._sets.items()}
        self.blocks = [2 * storage + turn for storage, turn in enumerate(machine.turns)]
        changed = {each.node.name for each in reachable(self.step) if each.kind == "assign"}
        changed |= {threshold(each.names[0]) for each in reachable(self.step)
                    if each.kind == "further"}
        self.numbers = {name: self.values.pop(name, None) for name in sorted(changed)}
        for name, value in self.numbers.items():
            if value is not None and value != int(value):
                self._refuse(next(each.node for each in reachable(self.step)
                                  if each.kind == "assign" and each.node.name == name),
                             "this is computed with decimals")

    def _refuse(self, node, why):
        raise UserError(f"{self._name}: fusion=yes cannot have what only the host can do: "
                        f"line {node.position.line}: {why}")

    def _perform(self, machine) -> bool:
        """Perform a step, if it needs no operator."""
        step, sets = self.step, self._sets
        if step.kind == "op" and in_beginning(step.node, self._performed, self._numbers):
            self._performed.add(step.node.position)
            self.step, = step.after
            return True
        if step.kind not in ("assign", "move", "store", "include", "branch"):
            return False
        found: list[Any] = [folded(value, self.values, lambda name: sets[name].count, self._graph)
                            for value in step.values]
        if not all(isinstance(value, ir.Literal) for value in found):
            return False
        match step.kind:
            case "assign":
                self.values[step.node.name] = found[0].value
            case "move":
                name, source = step.names
                sets[name] = sets[source] if source else machine.make_set([])
            case "include":
                sets[step.names[0]] = machine.make_set([int(value.value) for value in found])
        self.step = step.after[step.kind == "branch" and not found[0].value]
        return True
