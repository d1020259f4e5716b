"""The runs that the figures share, their two systems, and the values of step records."""

import collections
import math

from sw.compile import algorithms
from sw.study.benchmarks.grid import Grid, ratio
from sw.study.benchmarks.system import SystemRun, scu_systems
from hw.registers import cycles_of, memory_lines

from ..runs import on_graph
from . import published


__all__ = ["ALGORITHMS", "BASELINE", "ENHANCED", "SEARCHES", "UNFUSED", "average", "counter",
           "dram_bytes", "enhanced", "on_both", "run", "step", "step_cycles", "systems", "where"]


#: The paper's three algorithms, by their names here.
ALGORITHMS = {"bfs": "BFS", "sssp": "SSSP", "pagerank": "PR"}

#: The algorithms in which the SCU can filter.
SEARCHES = ("bfs", "sssp")

#: Compaction by the cores: as fast as possible, and in separate kernels.
BASELINE, UNFUSED = "compact", "compact:fused=no"

#: The SCU's best schedule for an algorithm (:func:`enhanced`).
ENHANCED = "enhanced"

#: Sweeps of PageRank.
_ITERATIONS = 3

#: Largest random weight for a graph without weights.
_WEIGHTS = 255


def systems(setting) -> dict:
    """The two systems by name, on the setting's hardware."""
    return scu_systems(setting.config, setting.dram)


def run(choice, system, algorithm, schedule, direction="push"):
    """A run on a graph: PageRank three iterations, searches from the vertex with the most arcs.
    Under the schedules by compaction, near vertices come before far vertices, as in the paper."""
    near = algorithms.find(algorithm).weighted and schedule.partition(":")[0] in (
        BASELINE, "scu", "scu-enhanced")
    return on_graph(choice, algorithm, SystemRun, iterations=_ITERATIONS, weights=_WEIGHTS,
                    system=system, direction=direction, schedule=schedule,
                    **{"delta": "auto"} if near else {})


def on_both(setting, algorithms, schedules) -> Grid:
    """The grid of a figure on both systems, for all algorithms and graphs. ``schedules`` has the
    schedules by their names in the figure; :data:`ENHANCED` stands for the best of the SCU for an
    algorithm."""
    known = systems(setting)

    def make(name, algorithm, choice, way):
        schedule = schedules[way]
        return run(choice, known[name], algorithm,
                   enhanced(algorithm) if schedule == ENHANCED else schedule)
    return Grid({"system": known, "algorithm": algorithms, "graph": setting.brief,
                 "way": schedules}, make)


def enhanced(algorithm) -> str:
    """The best SCU schedule for an algorithm: with filtering and grouping, except for PageRank,
    where they are of no use (4.6)."""
    return "scu-enhanced" if algorithm in SEARCHES else "scu"


# Records

def step(results, case, name):
    """The counters of all kernels, or operations of the SCU, of a name together: None if the run
    failed, an empty record if the run had no such step. A kernel that brings edges to an operator
    has the name of its pass behind the operator's, and one for a queue has the queue's behind its
    own."""
    steps = results.value(case, "steps")
    if steps is None:
        return None
    found = collections.Counter()
    for each, counters in steps.items():
        if each == name or each.endswith(f"_{name}") or each.startswith(f"{name}_"):
            found.update({key: value for key, value in counters.items()
                          if isinstance(value, int | float)})
    return dict(found)


def counter(results, case, name, step_name=None):
    """A counter of a run, or of a step of it; None if the run failed."""
    counters = (results.value(case, "counters") if step_name is None
                else step(results, case, step_name))
    return None if counters is None else counters.get(name, 0)


def step_cycles(results, case, *names):
    """Cycles of some steps together; None if the run failed."""
    steps = [step(results, case, name) for name in names]
    return None if None in steps else sum(cycles_of(each) for each in steps if each is not None)


def dram_bytes(results, case):
    """Bytes that moved between the GPU and its memory while the cores or the SCU worked; None if
    the run failed."""
    steps = results.value(case, "steps")
    if steps is None:
        return None
    config = case.system.config
    return config.line_bytes * sum(memory_lines(each, config) for each in steps.values())


def total(values):
    """The sum of values; None if any value is None."""
    return None if None in values else sum(values)


def average(values):
    """The arithmetic mean of values. None if all of them failed, NaN if there is none."""
    good = [value for value in values if value is not None and not math.isnan(value)]
    return ratio(sum(good), len(good)) if good or None not in values else None


# Text

def where(setting) -> str:
    """Sentences that describe the systems, beside the paper's systems."""
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
