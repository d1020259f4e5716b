"""The runs that the figures share, the two systems they are on, and what records of steps say."""

import dataclasses
import math

from sw import algorithms
from sw.benchmarks.schedules import settings
from sw.runtime.result import cycles_of

from ..outcome import ratio
from ..system import System, SystemRun
from . import published


__all__ = ["ALGORITHMS", "BASELINE", "SEARCHES", "UNFUSED", "average", "counter", "dram_bytes",
           "enhanced", "labels", "on_both", "run", "step", "step_cycles", "systems", "with_mean",
           "where"]


#: The paper's three, by their names here.
ALGORITHMS = {"bfs": "BFS", "sssp": "SSSP", "pagerank": "PR"}

#: Those of which something can be filtered.
SEARCHES = ("bfs", "sssp")

#: Compaction by the cores: as fast as they can, and in kernels of its own.
BASELINE, UNFUSED = "compact", "compact:fused=no"

#: Sweeps of PageRank.
_ITERATIONS = 3

#: Largest of the random weights of a graph that has none.
_WEIGHTS = 255

#: How many times the large system's memory and its queue are the small one's.
_TIMES = 4

#: The most that a :class:`~sim.dram.DramConfig` has of both.
_MOST = 1024


def systems(setting) -> dict:
    """The two systems by name: of the setting's hardware, with what makes it the one or the other.
    """
    config, dram = setting.config, setting.dram
    wide = {name: min(_MOST, _TIMES * getattr(dram, name)) for name in ("bytes_per_cycle", "queue")}
    return {
        "large": System(config.replace(name="large", cores=4, l2_bytes=1 << 19, l2_banks=4, scu=4),
                        dataclasses.replace(dram, **wide)),
        "small": System(config.replace(name="small", scu=1), dram),
    }


def run(choice, system, algorithm, schedule, direction="push"):
    """A run on a graph: PageRank three iterations, searches from the vertex with the most arcs."""
    weighted = algorithms.find(algorithm).weighted
    return SystemRun(choice.graph, choice.undirected, algorithm, direction, schedule,
                     weights=_WEIGHTS if weighted else None,
                     settings=settings(algorithm, _ITERATIONS), system=system)


def on_both(setting, algorithms, runs) -> list:
    """The cases of a figure: of both systems, the algorithms and the graphs those that ``runs``
    gives, a dict by what they are."""
    return [case for system in systems(setting).values() for algorithm in algorithms
            for choice in setting.brief for case in runs(choice, system, algorithm).values()]


def enhanced(algorithm) -> str:
    """The SCU at its best: filtering and grouping where they are of use, which they are not in
    PageRank (4.6)."""
    return "scu-enhanced" if algorithm in SEARCHES else "scu"


# Records

def step(results, case, name):
    """The counters of a kernel or of an operation of the SCU: None if the run failed, an empty
    record if the run had no such step."""
    steps = results.value(case, "steps")
    return None if steps is None else steps.get(name, {})


def counter(results, case, name, step_name=None):
    """A counter of a run, or of a step of it; None if the run failed."""
    counters = (results.value(case, "counters") if step_name is None
                else step(results, case, step_name))
    return None if counters is None else counters.get(name, 0)


def step_cycles(results, case, *names):
    """Cycles of some steps together; None if the run failed."""
    steps = results.value(case, "steps")
    return None if steps is None else sum(cycles_of(steps.get(name, {})) for name in names)


def dram_bytes(results, case):
    """Bytes that moved between the GPU and its memory while the cores or the SCU worked; None if
    the run failed."""
    steps = results.value(case, "steps")
    if steps is None:
        return None
    lines = sum(each.get("dram_reads", 0) + each.get("dram_writes", 0) for each in steps.values())
    return lines * case.system.config.line_bytes


def total(values):
    """The sum of values; None if one of them is None."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def average(graphs, values):
    """The arithmetic mean of values, one a graph, over the graphs that count: None if all of them
    failed, NaN if there is none."""
    counted = [value for graph, value in zip(graphs, values, strict=True) if graph.counts]
    good = [value for value in counted if value is not None and not math.isnan(value)]
    return ratio(sum(good), len(good)) if good or None not in counted else None


# Text

def labels(setting):
    """The names of the graphs."""
    return tuple(choice.label for choice in setting.brief)


def with_mean(setting):
    """The same, and behind them their mean."""
    return (*labels(setting), "mean")


def where(setting) -> str:
    """Sentences on what the systems are, beside the paper's."""
    parts = []
    for name, system in systems(setting).items():
        config, theirs = system.config, published.GPUS[name]
        lanes = config.cores * config.threads
        parts.append(
            f"{name}: {config.cores} core(s) of {config.warps} warps of {config.threads} lanes, L2 "
            f"of {config.l2_bytes >> 10} KiB in {config.l2_banks} bank(s), "
            f"{system.peak_bytes:.0f} bytes of memory a cycle at most, SCU of width {config.scu}, "
            f"one element a cycle to {lanes // config.scu} lanes; the paper's {theirs['name']} has "
            f"{theirs['cores']} cores, L2 of {theirs['l2_bytes'] >> 10} KiB, "
            f"{theirs['bytes_per_cycle']:.0f} bytes a cycle, SCU of width {theirs['scu']}, one "
            f"element a cycle to {theirs['lanes'] // theirs['scu']} lanes")
    return ("; ".join(parts) + ". Every result is that of the golden model, bit by bit.")
