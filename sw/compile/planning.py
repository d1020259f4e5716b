"""Planning: settles the task of a plan on a graph."""

import dataclasses

import numpy as np

from base.errors import UserError
from sw.compile import schedules
from sw.compile import memory
from sw.compile.frontiers import superstep
from sw.compile.frontiers.frontier import VALUES
from sw.compile.buffers import Buffers
from sw.compile.plan import Hybrid
from sw.compile.task import Task


__all__ = ["make"]


def make(config, plan, graph, slow_edges=False) -> Task:
    """The task of a plan on a graph, with its layout of memory. With ``slow_edges``, edges lie in
    slow memory (:class:`~sw.compile.buffers.Buffers`).

    Raises
    ------
    UserError
        The parts of the plan cannot work together, or the graph does not fit in the device's
        memory. Nothing has been built.
    """
    plan.check(config)
    plans = plan.sides
    one = next(iter(plans.values()))
    algorithm = one.kind(graph, **dict(one.parameters))
    buffers = Buffers(config, max(each.warps or config.warps for each in plans.values()),
                      slow_edges)
    hybrid = isinstance(plan, Hybrid)
    sides = {"_".join(filter(None, (way, name))): _side(
        config, operator, each.of_operator(name), buffers, hybrid)
        for name, operator in algorithm.operators().items()
        for way, each in zip(plan.ways, plans.values())} or \
        {"": _side(config, algorithm, one, buffers)}
    if algorithm.has_sets:
        chosen = superstep.choose(list(sides.values()))
    else:
        superstep.check_none(next(iter(sides.values())))
        chosen = [(None, None)] * len(sides)
    sides = _with_frontiers(sides, chosen)
    task, *others = sides.values()
    settled = task.plan
    if hybrid:
        settled = dataclasses.replace(plan, **{name: side.plan for name, side in
                                               zip(("first", "second"), sides.values())})
        _check_sides(task, others[0])
    elif one.labels:
        settled = dataclasses.replace(one, direction=one.way)
    if task.algorithm is not algorithm:
        task = dataclasses.replace(task, algorithm=algorithm, plan=settled, sides=sides)
        _check_operators(task)
    memory.reserve(task, list(sides.values()))
    return task


def _side(config, algorithm, plan, buffers, switches=False):
    """The task of one plan, without a frontier yet."""
    plan = dataclasses.replace(plan, direction=plan.way)
    task = Task(config, algorithm, schedules.make(plan.schedule), plan.stored(algorithm.graph),
                plan, buffers, switches=switches)
    task.choices.most = algorithm.edges_at_once(task)
    task.schedule.check(task)
    _check_access(task)
    return task


def _check_access(task):
    """Refuse a schedule that finds edges in a way in which the format does not have them."""
    try:
        task.format.check(task)
    except UserError as error:
        needs = task.schedule.needs
        others = ", ".join(each for each in schedules.names()
                           if schedules.make(each).needs != needs)
        raise UserError(f"{error}; schedule {task.schedule.name!r} needs it, and {others} goes "
                        "without") from None


def _with_frontiers(sides, chosen):
    """The sides with their frontiers, inputs and layouts; ``chosen`` has a frontier and an input,
    each or None, for each side."""
    found, first = {}, 0
    for (name, side), (frontier, read) in zip(sides.items(), chosen):
        plan = side.plan
        if frontier is not None and (read is not None or side.switches):
            kinds = f"{VALUES if read is None else read.name}/{frontier.name}"
            plan = dataclasses.replace(plan, deduplicate=frontier.deduplicate, frontier=kinds)
        elif frontier is not None:
            plan = dataclasses.replace(plan, frontier=plan.frontier or frontier.name)
        task = found[name] = dataclasses.replace(side, frontier=frontier, input=read, plan=plan,
                                                 first_layout=first)
        first += len(task.layouts) + 1                  # and one layout of its format
        task.schedule.check_options(task)
    return found


def _check_operators(task):
    """Refuse what the operators of an algorithm cannot share."""
    graphs = [side.algorithm.graph for side in task.sides.values()]
    if task.new_ids is not None and len({id(graph.ordered_as or graph)
                                         for graph in graphs}) > 1:
        raise UserError(f"format {task.plan.format} orders the vertices of each graph in its "
                        f"own way, and {task.algorithm.name} has {len(task.sides)} graphs with "
                        "the same vertices")
    first, *others = task.sides.values()
    for side in others:
        _check_pair(first, side)
    if sum(side.format.has_lists for side in task.sides.values()) > 1:
        raise UserError(f"{len(task.sides)} kernels of {task.algorithm.name} go through edges, and "
                        f"format {task.plan.format} has room for the lists of records of one")


def _check_pair(one, other):
    """Refuse sides that order the vertices in different ways."""
    if not np.array_equal(one.new_ids, other.new_ids):
        raise UserError(f"format {one.plan.format} and format {other.plan.format} order the "
                        "vertices in different ways, so one run cannot have both")


def _check_sides(one, other):
    """Refuse the sides of a hybrid that cannot use the same arrays."""
    _check_pair(one, other)
    if one.schedule.has_lists and other.schedule.has_lists:
        raise UserError("both plans list the edges of the frontier, by schedules "
                        f"{one.plan.schedule} and {other.plan.schedule}, and there is room for "
                        "one")
    if one.format.has_lists and other.format.has_lists:
        raise UserError(f"both plans make lists of the frontier's records, by formats "
                        f"{one.plan.format} and {other.plan.format}, and there is room for "
                        "one; by a bitmap, a bytemap or a counter a plan makes none")
