"""Passes: the steps that together bring the edges of a superstep to the lanes."""

import dataclasses
from collections.abc import Callable
from typing import Any


__all__ = ["Pass"]


@dataclasses.dataclass(frozen=True)
class Pass:
    """A step of a set: a kernel, or work of a unit that the host starts. The host takes the steps
    of a set one after the other, all with the argument of the superstep (GRAssembler, algorithm
    2.1, lines 3 to 5).
    """
    name: str  #: The end of the kernel's name; empty if the set has no other kernel.
    #: ``emit(k)`` emits the kernel, or its part for one layout, except the end of the warp. All
    #: lanes are active before and after it. In a pass of a schedule, the algorithm, the frontier
    #: and the layout have emitted their prologues.
    emit: Callable[..., None] | None = None
    once: bool = False  #: Whether only the first superstep that goes by the plan has the step.
    gathers: bool = True  #: Whether the kernel can add to the frontier of the next superstep.
    #: ``enter(k, done)`` emits the beginning of the kernel's part for a layout, before the
    #: prologues. Warps without work may go to the label ``done``. What it returns is given to
    #: ``emit`` behind ``k``.
    enter: Callable[[Any, Any], Any] | None = None
    #: Whether the prologue of the frontier prepares the frontier of the next superstep. One kernel
    #: of a set does so.
    leads: bool = True
    #: ``operate(session, argument, layout, kernels)`` is the host's work in place of a kernel.
    #: ``kernels`` has the names of the set's kernels for the layout, by the names of their passes.
    operate: Callable[[Any, int, Any, Any], None] | None = None
    #: Whether the host launches the kernel in its turn. If not, the work of another pass of the set
    #: launches it.
    in_turn: bool = True
