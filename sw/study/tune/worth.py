"""The worth of each axis: the cycles of the best plan against plans with another value."""

import dataclasses


__all__ = ["Worth", "worth"]


@dataclasses.dataclass(frozen=True)
class Worth:
    """The worth of one axis at the best plan."""
    axis: str
    value: object  #: The value of the best plan.
    other: object  #: The value of the fastest plan that has another value there.
    ratio: float  #: Cycles of that plan over the cycles of the best plan.
    bound: bool  #: Whether that plan was stopped, so that the ratio is at least this.
    #: Whether that plan differs from the best plan on this axis only, and in options of a value
    #: that the best plan does not have.
    alone: bool


def worth(space, trials) -> list:
    """The :class:`Worth` of each axis of the best plan for which another value was tried, in the
    order of the axes, from the plans that were tried and their records.

    A plan that differs on this axis only counts before all others. A plan that was stopped gives a
    lower bound only."""
    tried = []
    for plan, record in trials:
        point = space.point_of(plan)
        if point is not None and record["status"] in ("done", "stopped"):
            tried.append((record["status"] != "done", record["cycles"], point))
    done = [entry for entry in tried if not entry[0]]
    if not done:
        return []
    _, fewest, best = min(done, key=lambda entry: entry[1])
    found = []
    for name, value in best:
        others = []
        for bound, cycles, point in tried:
            values = dict(point)
            if name in values and values[name] != value:
                alone = space.change(best, name, values[name]) == point
                others.append((not alone, bound, cycles, values[name]))
        if others:
            apart, bound, cycles, other = min(others, key=lambda entry: entry[:3])
            found.append(Worth(name, value, other, cycles / fewest, bound, not apart))
    return found
