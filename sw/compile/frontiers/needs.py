"""What each kind of frontier needs of a plan, as a table (:data:`_NEEDS`).

A kind that a plan cannot have is refused with the first need that is not met: the ability that is
missing, who lacks it, and who has it. A need asks for an ability of the schedule, the format, the
direction, the launch or the program, never for a name, so it holds for all that are added.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from sw.compile import schedules
from sw.compile.frontiers import Pair
from sw.compile.frontiers.frontier import LISTS, QUEUE, REVERSE, VALUES


__all__ = ["LISTED", "Asker", "lacks_rows", "lacks_unit", "missing"]


#: Kinds of sets that list their vertices.
LISTED = QUEUE, LISTS


class Asker(NamedTuple):
    """A side of a task, and the frontiers that are asked for: its own, and those of all sides."""
    side: Any
    pair: Pair
    sides: list[Any]
    pairs: list[Pair]

    @property
    def listing(self) -> set[str]:
        """The places of the operators of edges that go by the same kind of list as this one."""
        return {side.algorithm.place for side, pair in zip(self.sides, self.pairs)
                if pair == self.pair and (side.algorithm.reverses(side) if pair.input == REVERSE
                                          else side.algorithm.reads(side))}


def missing(asker: Asker) -> str | None:
    """Why a side cannot have a frontier: the first need that is not met, or None."""
    for where, kinds, need in _NEEDS:
        kind = asker.pair.input if where == "input" else asker.pair.output
        if kind in kinds and (reason := need(asker)) is not None:
            return reason
    return None


def lacks_unit(side) -> str | None:
    """Why no units of the cores can keep the sets of a side of a task as lists, or None."""
    if not side.schedule.reads_lists:
        return _unable(side, "take vertices from lists that the units of the cores keep",
                       lambda schedule: schedule.reads_lists)
    if side.fused:
        return ("the lists of a unit are complete when a launch ends, and fusion=yes goes on in "
                "the same launch; fusion=no ends it")
    if side.algorithm.splits:
        return ("near and far vertices are in a queue and a pile (delta), two sets of one kernel, "
                "and a unit has one list at a time")
    return None


def lacks_rows(side) -> str | None:
    """Why kernels of a side of a task cannot go through a list of vertices, or None."""
    if side.format.finds_rows(side):
        return None
    if side.schedule.needs != "rows":
        return _unable(side, "begin with a list of vertices",
                       lambda schedule: schedule.needs == "rows")
    return (f"format {side.plan.format!r} has no list that leads from a vertex to its rows, of "
            "which a vertex may have several or none; formats with a row for each vertex need "
            "none, as csr without blocks")


def _unable(side, what, able):
    """The reason that a schedule lacks an ability; ``able`` tells which of them have it. Of these
    the ones are named that a comparison has."""
    names = [str(each.name) for each in _compared() if able(each)]
    return f"schedule {side.schedule.name!r} cannot {what}; {', '.join(names)} can"


@functools.cache
def _compared():
    """The schedules that a comparison has."""
    return [each for each in map(schedules.make, schedules.names()) if each.compared]


def _visits_set(asker):
    if asker.side.direction == "push":
        return None
    return ("when pulling, a schedule visits the vertices that gather, not the vertices of the "
            "frontier")


def _visits_others(asker):
    if asker.side.direction == "pull":
        return None
    return ("pushing visits the vertices of the frontier, which the reverse queue has not; "
            "direction=pull visits those that gather")


def _readers(asker):
    if asker.pair.input == LISTS:
        return None                             # a unit counts by its lists
    algorithms = [side.algorithm for side in asker.sides]
    output = asker.pair.output
    if not algorithms[0].sets_are_read and not any(
            algorithm.reads(side) for algorithm, side in zip(algorithms, asker.sides)):
        return (f"nothing would read the {output}: no operator has to know the members of a set, "
                "which are only counted (fact asked)")
    if asker.pair.input == VALUES and all(
            each.input in (VALUES, REVERSE) for each in asker.pairs):
        return (f"nothing would read the {output}: with input {VALUES} each vertex is tested by "
                "its words or stamp (fact members)")
    return None


def _filtered(asker):
    if asker.listing:
        return None
    return ("no operator of edges has a filter of its destinations (`to`), whose vertices would be "
            "listed")


def _tests(asker):
    if asker.pair.output not in LISTED or asker.side.switches:
        return None
    return "pulling tests the sources of edges, which a list does not tell; a map or counter does"


def _room(asker):
    """A format that makes lists of the frontier's rows has room for those of one operator."""
    listing = asker.listing
    if len(listing) < 2 or not asker.side.format.image.virtual:
        return None
    return (f"format {asker.side.plan.format!r} has room for a list of the rows of one operator of "
            f"edges, and {' and '.join(sorted(listing))} go by lists")


def _of_side(need):
    return lambda asker: need(asker.side)


_BY_ROWS = QUEUE, REVERSE

#: What is asked, in this order: whether of the kind that is read or that is added to, the kinds
#: that need it, and the need: the reason why it is not met, or None.
_NEEDS: tuple[tuple[str, tuple[str, ...], Callable[[Asker], str | None]], ...] = (
    ("output", (LISTS,), _of_side(lacks_unit)),
    ("input", (LISTS,), _visits_set),
    ("output", (QUEUE, "bitmap", "bytemap", LISTS), _readers),
    ("input", (REVERSE,), _visits_others),
    ("input", (REVERSE,), _filtered),
    ("input", (REVERSE,), _tests),
    ("input", (QUEUE,), _visits_set),
    ("input", _BY_ROWS, _room),
    ("input", _BY_ROWS, _of_side(lacks_rows)),
)
