"""What became of a task: the kernels of its algorithm, and every choice on the way to them."""

import dataclasses

from base.errors import UserError
from sw.compile.frontiers.superstep import passed_over
from sw.compile.lowered import Lowered, LoweringDecision
from sw.compile.task import Task


__all__ = ["lowered"]


def lowered(task: Task) -> Lowered:
    """What became of a task's algorithm. What is chosen when the program is made, such as how many
    edges a lane works on at once, is part of it once the program was made."""
    algorithm, sides = task.algorithm, list(task.sides.values()) or [task]
    kernels = []
    for kernel in algorithm.lowered(task):
        steps = tuple(step.name for step in task.kernel_sets[kernel.name])
        kernels.append(dataclasses.replace(kernel, launches=steps))
    decisions = [*algorithm.decisions(task)]
    for name, side in task.sides.items() or [("", task)]:
        where = name if len(sides) > 1 else ""
        decisions += [dataclasses.replace(each, where=where) for each in _of_side(side)]
    return Lowered(task.fused, tuple(kernels),
                   (*dict.fromkeys(decisions), *_one_launch(task)))


def _of_side(task):
    """The decisions that the plan and the hardware make, for each side of a task."""
    for name, reason in passed_over(task):
        yield LoweringDecision(f"frontier {name}", False, reason)
    if task.choices.divisor > 1 and task.schedule.shrinks(task):
        option = task.schedule.AT_ONCE
        yield LoweringDecision(f"the schedule's own {option}", False, "room: the program fits with "
                               f"{option}={task.choices.used[option]}")


def _one_launch(task):
    """Whether all supersteps could be one launch."""
    what = "one launch for all supersteps"
    if task.fused:
        return [LoweringDecision(what, True, "the plan")]
    try:
        if len(task.plan.sides) > 1:
            raise UserError("a loop of the same kernels: the host chooses each superstep's")
        _ = task.loop
    except UserError as error:
        return [LoweringDecision(what, False, _reason(str(error)))]
    return []


def _reason(text):
    """A refusal of ``fusion=yes`` without its beginning, which names the algorithm."""
    return text.partition("fusion=yes ")[2] or text
