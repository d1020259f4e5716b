"""Schedules against each other, over graphs, algorithms and directions."""

import dataclasses
import math

from sw import algorithms
from sw.benchmarks.batch import Case, total_cycles
from sw.runtime.plan import as_plan


__all__ = ["COMPARED", "DIRECTIONS", "RMAT", "Compared", "cases", "plan", "speedups",
           "geometric_mean", "row_key"]


#: The best schedules in software, and the Weaver.
COMPARED = ("vm", "vwc", "em", "wm", "cm", "twc", "strict", "weaver")

#: The directions of each algorithm, its default first.
DIRECTIONS = {name: algorithms.find(name).directions for name in algorithms.names()}

#: Generated graphs with skewed degrees.
RMAT = tuple(f"rmat:scale={scale},degree=16,seed=1" for scale in range(12, 17))


@dataclasses.dataclass(frozen=True)
class Compared(Case):
    """A run of a comparison. A schedule that does not have the direction is no failure."""
    REFUSED = "refused"


def plan(algorithm, iterations, **choices):
    """A plan for comparisons: PageRank makes this number of sweeps, and searches start at the
    vertex with the most out-arcs. ``choices`` are those of :func:`sw.runtime.plan.as_plan`."""
    given = {"iterations": iterations, "source": "hub"}
    return as_plan(algorithm, **{name: value for name, value in given.items()
                                 if name in algorithms.find(algorithm).options}, **choices)


def cases(graphs, chosen, directions, schedules, iterations, weights=None):
    """The runs of a comparison.

    Parameters
    ----------
    graphs : list of (str, bool)
        A graph, and whether the reverse of its arcs is added.
    chosen, directions, schedules : list of str
        Algorithms, directions and schedules.
    iterations : int
        Sweeps of PageRank.
    weights : int, optional
        Largest random weight for graphs without weights.
    """
    return [Compared(graph, undirected, plan(algorithm, iterations, direction=direction,
                                             schedule=schedule), weights)
            for graph, undirected in graphs
            for algorithm in chosen
            for direction in DIRECTIONS[algorithm] if direction in directions
            for schedule in schedules]


def row_key(case):
    """The key that runs share if they are compared with each other."""
    return case.graph, case.plan.algorithm, case.plan.direction


def speedups(records, over, of, launch_cycles):
    """Ratios of cycles of schedule ``over`` to cycles of schedule ``of``, for rows that have both,
    with ``launch_cycles`` of the host for each launch.

    Returns
    -------
    dict
        Ratio by :func:`row_key`.
    """
    cycles = {(row_key(case), case.plan.schedule): total_cycles(record, launch_cycles)
              for case, record in records.items() if "cycles" in record}
    return {row: cycles[row, over] / cycles[row, of]
            for row in dict.fromkeys(row for row, _ in cycles)
            if (row, over) in cycles and (row, of) in cycles}


def geometric_mean(values) -> float:
    """The geometric mean of positive numbers; NaN if there are none."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan
