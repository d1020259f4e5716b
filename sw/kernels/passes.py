"""Passes: the kernels that together bring the edges of a superstep to the lanes."""

import dataclasses
from collections.abc import Callable
from typing import Any


__all__ = ["Pass"]


@dataclasses.dataclass(frozen=True)
class Pass:
    """A kernel of a set. The host launches the kernels of a set one after the other, all with the
    argument of the superstep (GRAssembler, algorithm 2.1, lines 3 to 5).

    Parameters
    ----------
    name : str
        The end of the kernel's name; empty if the set has no other kernel.
    emit : callable
        ``emit(k)`` emits the kernel, or its part for one layout, except the end of the warp. All
        lanes are active before and after it. In a pass of a schedule, the algorithm, the frontier
        and the layout have emitted their prologues.
    when : callable, optional
        ``when(session)`` tells the host whether to launch the kernel in this superstep. The host
        launches the kernel always if this is left out.
    gathers : bool
        Whether the kernel brings edges to the algorithm, and so can add to the frontier.
    """
    name: str
    emit: Callable[[Any], None]
    when: Callable[[Any], bool] | None = None
    gathers: bool = True
