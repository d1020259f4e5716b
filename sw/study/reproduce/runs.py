"""Runs of figures: one spelling makes equal runs equal cases."""

from typing import Any

from sw.compile import algorithms
from sw.study.benchmarks.batch import Case
from sw.study.benchmarks.schedules import plan


__all__ = ["WIDE", "on_graph", "wide"]


#: A sentence on the core of :func:`wide`.
WIDE = "All run on the same core, with up to four banks of L1 and of L2"


def on_graph(choice, algorithm, kind: Any = Case, *, iterations: Any = 1, weights: Any = 64,
             system: Any = None, **choices) -> Any:
    """A run, a Case of some kind, on a graph, searches from the vertex with the most arcs.

    ``iterations`` are those of PageRank; ``weights`` is the largest random weight where an
    algorithm has weights and the graph has none; ``system`` is the hardware of a
    :class:`~sw.study.benchmarks.system.SystemRun`; ``choices`` are those of
    :func:`sw.compile.plan.as_plan`."""
    on = {} if system is None else {"system": system}
    return kind(choice.graph, choice.undirected, plan(algorithm, iterations, **choices),
                weights if algorithms.find(algorithm).weighted else None, **on)


def wide(config, **fields):
    """The core on which units and software are fastest: up to four banks of L1 and of L2, and
    atomics of a whole line in an access. ``fields`` are further changes."""
    for banks in ("l1_banks", "l2_banks"):
        config = config.replace(**{banks: max(n for n in config.legal(banks) if n <= 4)})
    return config.replace(atomic_words="line", **fields)
