"""Loops of supersteps, and their fusion into one kernel (UGF, 5.2.1).

An algorithm whose host only launches the same kernels again, until a superstep adds nothing to the
frontier or for a fixed number of supersteps, declares this as a :class:`Loop`. The loop runs in one
of two ways:

*launches*
    The host launches each kernel. Between supersteps it reads the number of added vertices.
*fused*
    One kernel has the loop, and is launched once. Its sections are the kernels of a superstep, one
    after the other, with a barrier of the device (:mod:`sw.compile.kernels.barrier`) behind each.
    The argument of the superstep is in a register, from which the sections read it in place of the
    launch's argument. All warps know by the same words of memory when the loop ends.

A kernel that runs only once is in front of the loop. A kernel that the host takes part in, such as
an operation of the Stream Compaction Unit, cannot be fused.
"""

import dataclasses
import itertools

from base.errors import UserError
from sw.compile.kernels import barrier
from sw.compile.kernels.kernel import Kernel


__all__ = ["KERNEL", "SUPERSTEPS", "Loop", "check", "emit", "fill", "reserve"]


#: The name of the fused kernel.
KERNEL = "loop"

#: The buffer for the number of supersteps, and for a number that tells the way to the end.
SUPERSTEPS = "supersteps"


@dataclasses.dataclass(frozen=True)
class Loop:
    """The supersteps of an algorithm, if no work of the host comes between them."""
    #: The kernels of each of some supersteps that follow one another. The first comes again after
    #: the last.
    turns: tuple[tuple[str, ...], ...]
    #: Kernels between a superstep and the next; they are launched without an argument.
    then: tuple[str, ...] = ()
    #: Number of supersteps, for an algorithm without a frontier. Without it the loop ends after a
    #: superstep that adds no vertex to the frontier.
    count: int | None = None
    last: tuple[str, ...] = ()  #: With a count: the kernels of the last superstep.

    @property
    def names(self) -> list[str]:
        """All kernels."""
        return list(dict.fromkeys(itertools.chain(*self.turns, self.then, self.last)))

    def reserve(self, task):
        """Reserve local memory for the fused kernel, which needs none."""

    def emit(self, task, assembler):
        """Emit the fused kernel."""
        _Fused(task, assembler).emit()

    def kernels(self, number) -> tuple:
        """The kernels of a superstep."""
        if number + 1 == self.count:
            return self.last
        return self.turns[number % len(self.turns)]

    def drive(self, session) -> int:
        """Run the loop. Returns the number of supersteps."""
        if session.task.fused:
            return self._launch_once(session)
        task, frontier = session.task, session.task.frontier
        number, more = 0, True
        while more:
            argument = number if self.count else frontier.argument(task, number)
            for kernel in self.kernels(number):
                session.launch(kernel, argument)
            more = number + 1 < self.count if self.count else frontier.added(session, number)
            for kernel in self.then if more else ():
                session.launch(kernel)
            number += 1
        return number

    def _launch_once(self, session):
        task = session.task
        session.launch_kernel(KERNEL, 0 if task.frontier is None
                              else task.frontier.argument(task, 0))
        return self.count or int(session.read(SUPERSTEPS)[0])


def check(task):
    """Raise UserError if the loop of a task cannot be fused. The task has its layouts."""
    loop = task.loop
    for name in loop.names:
        for step in task.kernel_sets[name]:
            if step.operate is not None or not step.in_turn:
                raise UserError(f"{task.algorithm.name}: fusion=yes needs kernels only, and with "
                                f"schedule {task.schedule.name!r} the host starts operations of "
                                "the Stream Compaction Unit within a superstep")


def reserve(task):
    """Reserve the buffers of a fused loop."""
    barrier.reserve(task)
    task.buffers.reserve(SUPERSTEPS, 2)
    task.loop.reserve(task)


def fill(task):
    """Fill these buffers."""
    barrier.fill(task)
    task.buffers.fill(SUPERSTEPS)


def emit(task, assembler):
    """Emit the fused kernel of a task, the only kernel of its program."""
    task.loop.emit(task, assembler)


class _Fused:
    """The fused kernel under construction."""

    def __init__(self, task, assembler):
        self._task, self._loop, self._a = task, task.loop, assembler
        self._sections = 0
        self._k = Kernel(assembler, task, KERNEL, None)     # of the section between two kernels

    def emit(self):
        """Emit all sections."""
        loop, a = self._loop, self._a
        argument = a.keep("argument")
        self._k.argument(argument)
        a.argument = argument
        for step in self._task.kernel_sets[loop.kernels(0)[0]]:
            if step.once:
                self._step(step)
        if loop.count is None:
            self._until_empty()
        else:
            self._counted()

    def _between(self):
        """A section between two kernels."""
        self._sections += 1
        self._k = Kernel(self._a, self._task, f"{KERNEL}_{self._sections}", None)

    def _step(self, step):
        """A step, and the barrier behind it."""
        step.emit(self._a)
        self._between()
        self._k.phase(0)
        barrier.meet(self._k)

    def _kernels(self, names) -> list:
        """The steps of kernels, without those that run once."""
        return [step for name in names for step in self._task.kernel_sets[name] if not step.once]

    def _superstep(self, names):
        for step in self._kernels(names):
            self._step(step)

    def _until_empty(self):
        """Supersteps until one has added no vertex."""
        loop, a, frontier = self._loop, self._a, self._task.frontier
        top = self._top()
        for kernels in loop.turns:
            self._superstep(kernels)
            added, number, place = a.regs("some_added", "supersteps", "place")
            frontier.proceed(self._k, a.argument, added)
            on = a.label("loop_goes_on")
            a.bnez(added, on)
            frontier.number_at(self._k, a.argument, number)
            a.li(place, self._k.address(SUPERSTEPS))
            a.sw(number, place)                 # of all warps the same
            a.end_warp()
            a.place(on)
            self._superstep(loop.then)
        a.jump_to_section(top)

    def _counted(self):
        """A number of supersteps. Nothing follows the last kernel, so there is no barrier."""
        loop, a, others = self._loop, self._a, self._loop.count - 1
        if others:
            top, end = self._top(), a.label("loop_end")
            for turn, kernels in enumerate(loop.turns[:others]):
                self._superstep((*kernels, *loop.then))
                a.addi(a.argument, a.argument, 1)
                if turn == (others - 1) % len(loop.turns):
                    on = a.label("loop_goes_on")
                    a.bne(a.argument, self._k.constant(others, "supersteps"), on)
                    a.jump_to_section(end)
                    a.place(on)
            a.jump_to_section(top)
            self._between()
            a.place(end)
        *steps, final = self._kernels(loop.last)
        for step in steps:
            self._step(step)
        final.emit(a)
        a.end_warp()

    def _top(self):
        """A label at the beginning of the loop."""
        self._between()
        return self._a.place("loop_top")
