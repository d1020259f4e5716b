"""The planner's answer about a plan, before anything runs: refused, or a digest.

Two plans with the same digest run the same instructions on the same memory, driven by the host in
the same way. So their cycles are the same, and one run serves both.
"""

import dataclasses
import hashlib
import json
from typing import Any

import numpy as np

from base.errors import UserError
from sw.device.device import Device
from sw.compile.plan import Hybrid
from sw.compile.schedules.schedule import Schedule


__all__ = ["Candidate", "Planner"]


@dataclasses.dataclass(frozen=True)
class Candidate:
    """The answer."""
    plan: Any  #: Plan, Hybrid or None. None if there is no such plan.
    digest: str | None = None  #: The digest; None if the plan is refused.
    reason: str | None = None  #: The reason of the refusal.


class _Hash:
    """A machine's memory of which only a digest is kept."""

    def __init__(self):
        self.sha = hashlib.sha256()

    def write_memory(self, address, values):
        self._note("write", address, len(values))
        self.sha.update(np.ascontiguousarray(values).data)

    def fill_memory(self, address, words, value):
        self._note("fill", address, words, value)

    def _note(self, *words):
        self.sha.update(f"\n{words}\n".encode())


class Planner:
    """Asks the planner of a device, once for each plan on a graph."""

    def __init__(self, config, graph):
        self._device, self._graph = Device.functional(config), graph
        self._known = {}
        self._settled = {}              # digest or reason, by the settled choice

    def ask(self, plan) -> Candidate:
        """The candidate of a plan. Nothing is simulated."""
        if plan not in self._known:
            try:
                task = self._device.plan(plan, self._graph)
            except UserError as error:
                self._known[plan] = Candidate(plan, reason=str(error))
            else:
                self._known[plan] = Candidate(plan, *self._answer(_settled(task), task))
        return self._known[plan]

    def _answer(self, settled, task):
        """Digest and reason. The program is made only once for each settled choice."""
        if settled not in self._settled:
            try:
                self._settled[settled] = _digest(task), None
            except UserError as error:
                self._settled[settled] = None, str(error)
        return self._settled[settled]


def _sides(task):
    return list(task.sides.values()) or [task]


def _rule(task):
    """The rule by which a hybrid changes its plan; None for a plan."""
    return [task.plan.criterion, task.plan.threshold] if isinstance(task.plan, Hybrid) else None


def _settled(task) -> str:
    """The choices of a task, those included that its plan leaves open: tasks that have this in
    common are the same."""
    return json.dumps([_rule(task), task.algorithm.parameters(), [side.plan.to_json() | {
        "parameters": None, "schedule": [side.schedule.name, side.schedule.options],
        "format": [side.format.name, side.format.image.options], "warps": side.warps}
        for side in _sides(task)]], sort_keys=True, default=str)


def _digest(task):
    """The digest of a task: its program, its memory, and what decides the work of the host. A
    schedule has a part in this work if it has passes of its own."""
    program, memory = task.program, _Hash()
    host = [_rule(task), task.algorithm.name, task.algorithm.parameters(), program.entries,
            task.frontier and task.frontier.name,
            [[side.direction, side.warps, side.schedule.name,
              None if type(side.schedule).passes is Schedule.passes else side.plan.schedule]
             for side in _sides(task)]]
    memory.sha.update(json.dumps(host, sort_keys=True, default=str).encode())
    memory.sha.update(np.array(program.words, np.uint32).data)
    task.build()
    task.buffers.upload(memory)
    return memory.sha.hexdigest()
