"""Schedules against each other, over graphs, algorithms and directions."""

import dataclasses

from hw.config import preset
from sw.compile import algorithms, schedules
from sw.study.benchmarks.batch import Case, total_cycles
from sw.study.benchmarks.grid import Grid, geometric_mean
from sw.compile.plan import as_plan


__all__ = ["DIRECTIONS", "RMAT", "Compared", "best", "grid", "means", "plan", "totals"]


#: The directions of each algorithm, its default first.
DIRECTIONS = {name: algorithms.find(name).directions for name in algorithms.names()}

#: Generated graphs with skewed degrees.
RMAT = tuple(f"rmat:scale={scale},degree=16,seed=1" for scale in range(12, 17))


def best(config=None) -> list[str]:
    """The schedules that one configuration, by default that of the preset ``default``, compares if
    nobody names any: the best in software, then the best that use its unit."""
    config = config or preset("default")
    return [name for name, own in schedules.compared(config) if own == config]


@dataclasses.dataclass(frozen=True)
class Compared(Case):
    """A run of a comparison. A schedule that does not have the direction is no failure."""
    REFUSED = "refused"


def plan(algorithm, iterations, **choices):
    """A plan for comparisons: PageRank makes this number of sweeps, and searches start at the
    vertex with the most out-arcs. ``choices`` are those of :func:`sw.compile.plan.as_plan`."""
    given = {"iterations": iterations, "source": "hub"}
    return as_plan(algorithm, **{name: value for name, value in given.items()
                                 if name in algorithms.find(algorithm).options}, **choices)


def grid(axes, iterations, weights=None) -> Grid:
    """The runs of a comparison.

    Parameters
    ----------
    axes : dict
        ``graph``: pairs of a graph, and whether the reverse of its arcs is added; ``algorithm``,
        ``direction`` and ``schedule``. A direction that an algorithm does not have is left out.
    iterations, weights : int
        Sweeps of PageRank; and largest random weight for graphs without weights."""
    def make(graph, algorithm, direction, schedule):
        return Compared(graph[0], graph[1], plan(
            algorithm, iterations, direction=direction, schedule=schedule),
            weights) if direction in DIRECTIONS[algorithm] else None
    return Grid(axes, make)


def totals(found, launch_cycles):
    """The cycles of runs, with those of the host for their launches, ``launch_cycles`` each."""
    return found.of(lambda records, case: total_cycles(records[case], launch_cycles)
                    if "cycles" in records[case] else None)


def means(ratios):
    """The geometric means of ratios by algorithm and direction, as texts: of each, of each
    algorithm in its own direction, and of all."""
    def mean(values):
        return f"{geometric_mean(values):.2f}x"
    known = {(algorithm, direction): ratios.at(algorithm=algorithm, direction=direction).known
             for _, algorithm, direction in ratios.points}
    for algorithm, directions in DIRECTIONS.items():
        for direction in directions:
            if known.get((algorithm, direction)):
                yield f"{algorithm} {direction} {mean(known[algorithm, direction])}"
    own = [value for (algorithm, direction), values in known.items()
           if DIRECTIONS[algorithm][0] == direction for value in values]
    if own:
        yield f"each algorithm in its own direction {mean(own)}"
    yield f"all {mean(ratios.known)}"
