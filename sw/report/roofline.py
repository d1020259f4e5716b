"""Rooflines of runs and of their kernels."""

import dataclasses

from .command import hardware_text
from .plots import COLOURS, Block, PlotPoint, count, figure, lines, logarithmic, percent
from .resources import LEVELS, levels
from .results import steps_of


__all__ = ["block", "plot"]


#: Kernels that a plot shows, those with the most cycles.
_KERNELS = 24

#: Marks of the levels of the memory in rooflines.
_MARKS = {"L1": "circle", "L2": "square", "DRAM": "diamond"}


def plot(runs) -> dict:
    """The roofline of runs on hardware of the same limits, as a plot.

    Parameters
    ----------
    runs : list of (ReportedRun, dict)
        Runs, or parts of runs with a name of their own, and the counters of each.
    """
    first = runs[0][0]
    limits = levels(first.config, first.dram)
    found = []
    for number, (run, counters) in enumerate(runs):
        issued = counters.get("instructions", 0)
        cycles = max(1, counters.get("cycles", 0))
        for level in limits:
            accesses = sum(counters.get(name, 0) for name in LEVELS[level])
            if accesses and issued:
                found.append((number, run, level, issued / accesses, issued / cycles))
    if not found:
        return {}
    xs, ys = [each[3] for each in found], [each[4] for each in found]
    left, right = min(xs) / 3, max(*xs, first.config.cores / min(limits.values())) * 3
    top = first.config.cores
    traces = [lines([left, right], [top, top], f"issue: {count(top)} a cycle", "#7d848f", "dash")]
    for index, (level, rate) in enumerate(limits.items()):
        corner = min(right, max(left, top / rate))
        traces.append(lines([left, corner], [left * rate, corner * rate],
                            f"{level}: {rate:.3g} lines a cycle",
                            COLOURS[(3, 1, 0)[index]], "dot"))
    for number, (run, _) in enumerate(runs):
        mine = [each for each in found if each[0] == number]
        name = run.name
        points = [PlotPoint(f"{name}, {level}",
                            (("instructions for each line", f"{x:.3g}"),
                             ("instructions a cycle", f"{y:.3f}"),
                             ("roof at this place", f"{min(top, x * limits[level]):.3f}"),
                             ("part of the roof", percent(y, min(top, x * limits[level])))),
                            run.command, hardware_text(run.config))
                  for _, _, level, x, y in mine]
        traces.append({"type": "scatter", "mode": "markers", "name": name,
                       "x": [each[3] for each in mine], "y": [each[4] for each in mine],
                       "points": points,
                       "marker": {"size": 11, "color": COLOURS[number % len(COLOURS)],
                                  "symbol": [_MARKS[each[2]] for each in mine],
                                  "line": {"width": 1, "color": "#888888"}}})
    return figure(traces, height=440,
                  x=logarithmic("instructions of warps for each line moved", [left, right], True),
                  y=logarithmic("instructions of warps a cycle", [min(ys), top], True))


def block(runs):
    """The block of runs, or None if no memory was accessed."""
    drawn = plot([(run, run.counters) for run in runs])
    if not drawn:
        return None
    kernels = [(dataclasses.replace(run, name=f"{run.name}, {name}"), step)
               for run in runs for name, step in steps_of(run) if step["unit"] == "cores"]
    variants = {"whole runs": drawn}
    if len(kernels) > len(runs):
        variants["kernels"] = plot(kernels[:_KERNELS])
    rows = tuple(((mark.label, *(value for _, value in mark.values)), mark)
                 for marks in filter(None, drawn["points"]) for mark in marks)
    share, name, roof = max(_nearest(run) for run in runs)
    finding = f"{name} is nearest to its roof, {roof}: it reaches {100 * share:.0f} % of it."
    return Block("Roofline", finding, variants,
                 ("run and level", "instructions for each line", "instructions a cycle", "roof",
                  "part of the roof"), rows,
                 "A circle counts accesses to L1, a square to L2, a diamond lines of DRAM. A point "
                 "on a dotted line is bound by this level; a point on the dashed line, by the "
                 "issue slots; a point below both, by latency.")


def _nearest(run):
    """The part of its lowest roof that a run reaches, the run's name, and the roof."""
    issued, cycles = run.counters.get("instructions", 0), max(1, run.record["cycles"])
    roofs = [(run.config.cores, "the issue slots")]
    for level, rate in levels(run.config, run.dram).items():
        accesses = sum(run.counters.get(name, 0) for name in LEVELS[level])
        if accesses:
            roofs.append((rate * issued / accesses, level))
    height, roof = min(roofs)
    return issued / cycles / height if height else 0.0, run.name, roof
