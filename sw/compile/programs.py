"""The maker of programs: the kernels of a task, and the program of all of them."""

import typing

from base.errors import UserError
from hw.config import LEGAL
from sw.compile.asm.assembler import OutOfReach, OutOfRegisters
from sw.compile.kernels.gather_pass import gather
from sw.compile.kernels.kernel import Kernel
from sw.compile.asm.program import Program
from sw.compile.asm.virtual import VirtualAssembler


__all__ = ["TaskStep", "kernel_sets", "make"]


#: Divisors of the number of edges that a schedule works on at once, to be tried in this order until
#: the program fits.
_DIVISORS = (1, 2, 4, 8)

#: The place in local memory of registers that have no number.
_SLOTS = "registers"


class TaskStep(typing.NamedTuple):
    """A kernel of a task, or work of a unit."""
    name: str  #: Its entry point.
    #: ``emit(assembler)`` emits the kernel, except the end of the warp.
    emit: typing.Callable[[VirtualAssembler], None] | None
    once: bool = False  #: As of :class:`~sw.compile.kernels.passes.Pass`.
    #: ``operate(session, argument)`` is the host's work if there is no kernel.
    operate: typing.Callable[[typing.Any, int], None] | None = None
    in_turn: bool = True  #: As of :class:`~sw.compile.kernels.passes.Pass`.


def make(task) -> Program:
    """The program of a task, with all kernels that the algorithm needs.

    Where the user does not say how many edges a lane works on at once, the schedule takes its own
    number, or half of it and so on if the program would not fit in instruction memory, or its
    registers not in local memory.

    Raises UserError if the program does not fit, or if registers and local memory do not suffice.
    """
    for divisor in _DIVISORS[:-1]:
        try:
            return _program(task, divisor)
        except UserError:
            if not any(side.schedule.shrinks(side) or side.algorithm.words
                       for side in (task, *task.sides.values())):
                raise           # the next program would be the same
    return _program(task, _DIVISORS[-1])


def _program(task, divisor):
    """The program with a part of what the schedules work on at once. Raises UserError."""
    for side in (task, *task.sides.values()):
        side.choices.divisor = divisor
    program = _assemble(task)
    if program.size > task.config.imem_bytes:
        room = next((f"; --set imem_bytes={value} has room" for value in LEGAL["imem_bytes"].values
                     if value >= program.size), "")
        raise UserError(f"the program of {task.plan.text} takes {program.size} bytes, imem_bytes "
                        f"is {task.config.imem_bytes}{room}")
    return program


def _assemble(task):
    local = task.buffers.local

    def release():
        if _SLOTS in local:
            local.release(_SLOTS)

    def reserve(words):
        """Local memory for registers that have no number, as VirtualAssembler asks for it."""
        release()
        return local.reserve(_SLOTS, words, "warp"), 4 * words

    release()
    assembler = VirtualAssembler(reserve, task.config.threads)
    steps = {step.name: step for steps in task.kernel_sets.values() for step in steps}
    try:
        if task.fused:
            task.loop.emit(task, assembler)
            steps = {}
        for step in steps.values():
            if step.emit is not None:
                step.emit(assembler)
                assembler.end_warp()
        return assembler.finish()
    except OutOfRegisters as error:
        raise UserError(f"{task.plan.text}: {error}") from None
    except OutOfReach as error:
        raise UserError(f"the program of {task.plan.text} is too long for its branches: "
                        f"{error}") from None


def kernel_sets(task) -> dict:
    """The kernels that the host launches for each of the algorithm's kernels, by its name: a list
    of :class:`TaskStep`."""
    sets = {}
    for name, (kind, variant) in task.algorithm.kernels(task).items():
        if kind == "gather":
            side = task.sides.get(task.algorithm.side_of(task, name), task)
            others = [other for other in task.sides.values()
                      if other is not side and side.switches]
            sets[name] = [*_steps_before(side, f"_{name}" * bool(task.sides), variant),
                          *_gather_steps(side, name, variant, others)]
        else:
            def apply(assembler, name=name, variant=variant):
                task.algorithm.apply(Kernel(assembler, task, name, variant))
            sets[name] = [TaskStep(name, apply)]
    return sets


def _steps_before(task, suffix, variant):
    """The steps of the input and of the format, whose names end in ``suffix``."""
    made = [] if task.input is None else task.input.passes(task)
    for item in [*made, *task.format.passes(task)]:
        entry = f"{item.name}{suffix}"
        yield TaskStep(entry, lambda assembler, entry=entry, item=item: item.emit(
            Kernel(assembler, task, entry, variant, task.layouts[0])), item.once)


def _gather_steps(task, name, variant, others):
    """The steps of the schedule, which bring every edge of the layouts to the algorithm.
    ``others`` are the task's other sides."""
    passes = task.schedule.passes(task)
    # A single kernel goes through one layout after another.
    groups = [task.layouts] if len(passes) == 1 else [[layout] for layout in task.layouts]
    for number, layouts in enumerate(groups):
        entries = {item.name: "_".join(part for part in (name, str(number or ""), item.name)
                                       if part) for item in passes}
        for item in passes:
            entry = entries[item.name]
            if item.operate is not None:
                yield TaskStep(
                    entry, None, item.once,
                    lambda session, argument, item=item, layout=layouts[0], entries=entries:
                    item.operate(session, argument, layout, entries))
                continue

            def emit(assembler, entry=entry, item=item, layouts=layouts,
                     passing=others if item is passes[0] else ()):
                for layout in layouts:
                    k = Kernel(assembler, task, entry, variant, layout, item,
                               first=layout is layouts[0])
                    gather(k, item, passing, last=layout is layouts[-1])
            yield TaskStep(entry, emit, item.once, in_turn=item.in_turn)
