"""``graphloom lang show --after lower``: what becomes of a program under a plan."""

import dataclasses
from typing import Any

from base.errors import UserError
from base.printable import printable

from . import options


__all__ = ["GRAPH", "LoweringRequest", "text"]


#: The graph, if none is given: all programs can run on it.
GRAPH = "road:side=8,seed=1,longest=9"


@dataclasses.dataclass(frozen=True)
class LoweringRequest:
    """What the options of the command ask for."""
    program: str  #: A name, or a file.
    name: str | None  #: The program, where the file has several.
    graph: str | None
    plan: str | None  #: The text of the plan behind the program's name.
    #: By scoped labels, as of :func:`sw.lang.schedule.read_schedules`.
    schedules: dict[str, Any]


def text(asked, machine) -> str:
    """The kernels and the decisions of a program, as lines.

    Parameters
    ----------
    asked : LoweringRequest
    machine : sw.cli.records.MachineOptions

    Raises
    ------
    UserError
        There is no such program, graph or plan, or they cannot work together.
    """
    from sw.compile.lowering import lowered
    from sw.compile.plan import Plan
    from sw.compile.scheduled import scheduled
    from sw.graph.load import GraphSource
    from sw.lang import programs
    found, own = programs.open_program(asked.program, asked.name)
    name = asked.program if asked.name is None else f"{asked.program}:{asked.name}"
    rest = asked.plan or ""
    plan = Plan.parse(name + (rest if rest.startswith("(") else f" {rest}").rstrip())
    schedules = own | asked.schedules
    if schedules:
        if not isinstance(plan, Plan):
            raise UserError(f"--schedule: the plan {plan.text} is a hybrid already")
        plan = scheduled(plan, found, schedules)
    graph = GraphSource(asked.graph or GRAPH).seeded().used_by(plan.kind if isinstance(plan, Plan)
                                                               else plan.first.kind).load(
        options.note)
    task = machine.target([plan]).device().plan(plan, graph)
    _ = task.program                    # the choices that room decides
    return printable(f"plan {task.plan.text} on {graph.name}, hardware {task.config.name}\n"
                     + lowered(task).text(), lines=True)
