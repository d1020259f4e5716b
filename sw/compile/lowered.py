"""What the kernels of a task do, and the choices by which they came about.

An algorithm says what each of its kernels does
(:meth:`~sw.compile.algorithm.Algorithm.lowered`), and what it has chosen
(:meth:`~sw.compile.algorithm.Algorithm.decisions`); :mod:`.lowering` joins this with what the plan
and the schedule decide. A choice that makes a run slower names the fact that is missing, so a slow
way is never taken in silence. ``graphloom run`` prints a line of it (:func:`summary`),
``graphloom lang show --after lower`` all of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any


__all__ = ["DROPS", "PLACES", "Lowered", "LoweredKernel", "LoweringDecision", "summary"]


#: Where a member of a kernel does its work: when a lane begins with a base vertex, at an edge, when
#: a lane has done a base vertex, where a vertex is added to the frontier, or once for each vertex.
PLACES = ("begin", "edge", "finish", "added", "vertex")

#: The choice that a unit drops edges before a warp has them. A run says if it was taken, too.
DROPS = "the unit drops edges"


@dataclasses.dataclass(frozen=True)
class LoweringDecision:
    """A choice between a fast way and a slow one."""
    what: str  #: The fast way, as a noun: "early exit".
    taken: bool  #: Whether the fast way was taken.
    #: The facts by which it was taken; or, if it was refused, the fact that is missing.
    fact: str
    where: str = ""  #: The label or the name of the operator, or its line; empty for the whole run.

    @property
    def text(self) -> str:
        """One line."""
        where = f" at {self.where}" if self.where else ""
        return f"{'taken' if self.taken else 'refused'}: {self.what}{where}" + (
            f" (by {self.fact})" if self.taken else f" (missing: {self.fact})")


@dataclasses.dataclass(frozen=True)
class LoweredKernel:
    """A kernel of an algorithm."""
    name: str
    #: tuple of (str, str). Its members in their order: a place of :data:`PLACES`, and what is done.
    members: tuple[tuple[str, str], ...]
    input: str | None = None  #: The vertices that it goes by; None for all.
    output: str | None = None  #: The set or frontier that it makes or adds to; None for none.
    launches: tuple[str, ...] = ()  #: What the host starts for it, in this order.


@dataclasses.dataclass(frozen=True)
class Lowered:
    """What became of an algorithm under a plan."""
    fused: bool  #: Whether one launch runs all supersteps.
    kernels: tuple[LoweredKernel, ...]
    decisions: tuple[LoweringDecision, ...]

    @property
    def how(self) -> str:
        """How its kernels are launched, in words."""
        return "in one launch" if self.fused else "not fused"

    @property
    def refused(self) -> tuple[LoweringDecision, ...]:
        """The decisions against a fast way."""
        return tuple(each for each in self.decisions if not each.taken)

    def text(self) -> str:
        """All of it, as lines."""
        lines = [f"lowered, {self.how}"]
        for kernel in self.kernels:
            ways = [f"{what} {name}" for what, name in (("from", kernel.input),
                                                        ("to", kernel.output)) if name]
            lines.append(f"kernel {' '.join([kernel.name, *ways])}")
            lines += [f"    {place}: {what}" for place, what in kernel.members]
            if kernel.launches != (kernel.name,):
                lines.append(f"    launches: {', '.join(kernel.launches) or 'none'}")
        return "\n".join([*lines, *(each.text for each in self.decisions), ""])

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return dataclasses.asdict(self)


def summary(found: Lowered, sets: int, launches: int, supersteps: int) -> str:
    """A line on a run.

    Parameters
    ----------
    found : Lowered
    sets, launches, supersteps : int
        The kernels of the algorithm that the host has started, each with all its launches; all
        launches; and the executions of edge operators.
    """
    counts = _many(supersteps, "superstep")
    if not found.fused:
        each = f"{_many(sets / supersteps, 'kernel')} a superstep, " if supersteps else ""
        counts = f"{each}{_many(launches, 'launch', 'launches')} for {counts}"
    drops = dict.fromkeys(each.fact for each in found.decisions
                          if each.taken and each.what == DROPS)
    kept = f"; {DROPS} unless {', '.join(drops)}" if drops else ""
    return f"lowered, {found.how}: {counts}{kept}{_refusals(found.refused)}"


def _refusals(refused: Iterable[LoweringDecision]) -> str:
    """The refusals, each once however often it stands in the program."""
    texts = dict.fromkeys(f"{each.what} ({each.fact})" for each in refused)
    return f"; refused, by the fact that is missing: {', '.join(texts)}" if texts else ""


def _many(count, one, more=None):
    text = f"{count:,.1f}".removesuffix(".0")
    return f"{text} {one if text == '1' else more or one + 's'}"
