"""Schedules of the scheduling language as plans of the device (UGF, tables 3.1 and 3.2).

=====================================  ======================================================
choice                                 field of the plan
=====================================  ======================================================
``vertex_based``, ``edge_only``        schedule ``vm``, ``em``; others have their own names
``etwc:blocked:4096``                  schedule ``etwc``, and ``:block=4096`` in the format
``push``, ``pull``                     direction
``fused``, ``unfused_bitmap``,         frontier ``queue``, ``bitmap``, ``bytemap``
``unfused_boolmap``
``dedup``, ``no_dedup``                deduplicate
``delta:8``                            the parameter of the program that is its queue's delta
``fusion``, ``no_fusion``              fusion
a hybrid schedule                      a hybrid of two plans
=====================================  ======================================================

Operators may have schedules of their own (:attr:`~sw.compile.plan.Plan.labels`). ``delta`` and
``fusion`` are for the whole program, so schedules of several labels must not choose differently.
"""

import dataclasses
from typing import Any

from base.errors import UserError
from sw.lang.choices import DeduplicationForm, FrontierCreation, LoadBalance
from sw.lang.passes import analysed
from sw.lang.passes.edge_blocking import BLOCKING_SIZE
from sw.lang.schedule import HybridSchedule, PlannedSchedule, SimpleSchedule, applied
from sw.compile.plan import OWN, Hybrid, Plan


__all__ = ["scheduled"]


_SCHEDULES = {balance: balance.value for balance in LoadBalance} | {
    LoadBalance.VERTEX_BASED: "vm", LoadBalance.EDGE_ONLY: "em"}

_FRONTIERS = {FrontierCreation.FUSED: "queue", FrontierCreation.UNFUSED_BITMAP: "bitmap",
              FrontierCreation.UNFUSED_BOOLMAP: "bytemap"}


def scheduled(plan: Plan, program, schedules: dict[str, PlannedSchedule]) -> Plan | Hybrid:
    """A plan with the choices of schedules.

    Parameters
    ----------
    plan : Plan
        Names the program. The schedules' choices replace its own.
    program : GraphProgram
        The program without schedules.
    schedules : dict of str to SimpleSchedule or HybridSchedule
        By scoped labels.

    Raises
    ------
    UserError
        There is no such label, an instruction cannot take its schedule, the device has no such
        choice, or two schedules choose differently what is for the whole program.
    """
    analysed(applied(program, schedules))       # refuses what no machine could honour
    hybrids = {label: each for label, each in schedules.items()
               if isinstance(each, HybridSchedule)}
    if len(hybrids) > 1:
        raise UserError("the device runs a program under one plan, and labels "
                        f"{', '.join(hybrids)} have a hybrid schedule each")
    common: dict[str, Any] = {}
    own: dict[str, dict] = {}
    for label, schedule in schedules.items():
        if isinstance(schedule, SimpleSchedule):
            fields = _fields(plan, label, schedule)
            own[label] = {name: fields.pop(name) for name in OWN if name in fields}
            _join(common, label, fields)
    base = _with(plan, common | {"labels": own})
    for label, schedule in hybrids.items():
        if isinstance(schedule.threshold, str):
            raise UserError(f"label {label!r}: the device needs a number in place of "
                            f"{schedule.threshold}")
        sides = (_with(base, _fields(plan, label, each))
                 for each in (schedule.first, schedule.second))
        first, second = sides
        return Hybrid(first, second, threshold=schedule.threshold)
    return base


def _join(common, label, fields):
    """Add a label's fields to the common ones. Raises UserError if they differ."""
    for name, value in fields.items():
        if common.setdefault(name, value) != value:
            raise UserError(f"label {label!r}: the device runs a program under one plan, whose "
                            f"{name} is {common[name]!r} and {value!r}")


def _with(plan, fields):
    """A plan with other fields; ``delta`` is a parameter."""
    fields = dict(fields)
    if "delta" in fields:
        fields["parameters"] = dict(plan.parameters) | fields.pop("delta")
    return dataclasses.replace(plan, **fields)


def _fields(plan, label, schedule):
    """The fields of a plan that a schedule chooses. Raises UserError."""
    def refuse(what):
        raise UserError(f"label {label!r}: the device has no choice of {what} ({schedule})")

    found: dict[str, Any] = {}
    if schedule.load_balance is not None:
        found["schedule"] = _SCHEDULES[schedule.load_balance]
    if schedule.blocked:
        found["format"] = f"{plan.format}:block={schedule.blocking_size or BLOCKING_SIZE}"
    if schedule.direction is not None:
        found["direction"] = schedule.direction.value
    if schedule.pull_form is not None:
        refuse("the form of the set that is pulled from")
    if schedule.frontier_creation is not None:
        found["frontier"] = _FRONTIERS[schedule.frontier_creation]
    if schedule.deduplication_form not in (None, DeduplicationForm.MONOTONIC_COUNTERS):
        refuse("how vertices are known that are in the result already; it has stamps, which are "
               "monotonic counters")
    if schedule.deduplication is not None:
        found["deduplicate"] = schedule.deduplication
    if schedule.delta is not None:
        name = getattr(plan.kind, "delta_argument", None)
        if name is None:
            refuse("delta for a queue whose delta is no parameter of the program")
        found["delta"] = {name: schedule.delta}
    if schedule.kernel_fusion is not None:
        found["fusion"] = schedule.kernel_fusion
    return found
