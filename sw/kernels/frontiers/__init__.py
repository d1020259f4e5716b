"""Frontiers in device memory, behind one interface (GRAssembler's FrontierType, chapter 2).

========  =======================================================================================
queue     a list of the vertices; kernels go through the list only
bitmap    a bit per vertex; kernels go through all vertices and test the bits
bytemap   a byte per vertex, likewise
counter   only the number of added vertices; the vertices' values, or stamps, tell which vertices
          were added
========  =======================================================================================
"""

from sw.errors import UserError
from sw.kernels.frontiers.base import Frontier
from sw.kernels.frontiers.counter import Counter
from sw.kernels.frontiers.maps import Bitmap, Bytemap
from sw.kernels.frontiers.nearfar import NearFar
from sw.kernels.frontiers.queue import Queue


__all__ = ["FRONTIERS", "check", "choose", "find", "names"]


_KINDS = {kind.name: kind for kind in (Queue, Bitmap, Bytemap, Counter)}

#: Names of the frontiers.
FRONTIERS = tuple(_KINDS)


def check(name):
    """Raise UserError if ``name`` is no frontier; ``None`` leaves the choice open."""
    if name is not None and name not in _KINDS:
        raise UserError(f"there is no frontier {name!r}; there are {', '.join(FRONTIERS)}")


def names() -> list[str]:
    """Names of all frontiers."""
    return list(FRONTIERS)


def find(name):
    """The class of that name. Raises UserError, which names all frontiers, if there is none."""
    check(name)
    return _KINDS[name]


def choose(task, name=None, deduplicate=None) -> Frontier | None:
    """The frontier of a task.

    Parameters
    ----------
    task : Task
    name : str, optional
        The frontier's name; the algorithm's own choice if not given.
    deduplicate : bool, optional
        Whether a vertex is added only once; the frontier's own choice if not given.

    Returns
    -------
    Frontier or None
        None if the algorithm has none.

    Raises
    ------
    UserError
        There is no such frontier, or the task cannot have it, with or without deduplication.
    """
    check(name)
    algorithm = task.algorithm
    offered = algorithm.frontiers(task)
    if not offered:
        for what, value in (("frontier", name), ("deduplication", deduplicate)):
            if value is not None:
                raise UserError(f"{algorithm.name} has no choice of {what}: "
                                f"{algorithm.frontier_reason(task)}")
        return None
    reasons = {kind: _KINDS[kind].lacks(task) for kind in _KINDS}
    if name is None:
        name = next((kind for kind in offered if reasons[kind] is None), offered[0])
    if name not in offered or reasons[name] is not None:
        reason = reasons[name] if name in offered else algorithm.frontier_reason(task)
        needed = "" if algorithm.first_threshold(task) is None else ", which delta needs"
        raise UserError(f"{algorithm.name} {task.direction} cannot have frontier {name!r}"
                        f"{needed if name in offered else ''}: {reason}")
    return _make(task, _KINDS[name], deduplicate)


def _make(task, kind, deduplicate):
    algorithm = task.algorithm
    threshold = algorithm.first_threshold(task)
    reason = None
    if threshold is not None:
        reason = "the far pile has room for each vertex once"
    elif kind.listed and task.schedule.notes:
        reason = "the list is made of bits, and no vertex knows its entry"
    elif algorithm.adds_once(task, False):
        reason = "a lane has each vertex for itself, so none is added twice"
    if reason is not None:
        if deduplicate is False:
            raise UserError(f"{algorithm.name} {task.direction} with schedule "
                            f"{task.schedule.name!r} is deduplicated in any case: {reason}")
        deduplicate = True
    if threshold is not None:
        return NearFar(threshold)
    if deduplicate is None:
        deduplicate = kind.default_deduplicate
    return kind(deduplicate, algorithm.adds_once(task, deduplicate), algorithm.tested(task))
