"""Rooflines of runs and of their kernels."""

import dataclasses

from hw.registers import cycles_of
from sw.show.colours import NEUTRAL, SERIES, of_schedule

from .command import hardware_text
from .plots import Block, PlotPoint, count, figure, lines, logarithmic, percent
from .resources import LEVELS, levels
from .results import ReportedRun, steps_of


__all__ = ["block", "plot"]


#: Kernels that a plot shows, those with the most cycles.
_KERNELS = 24

#: Marks of the levels of the memory in rooflines.
_MARKS = {"L1": "circle", "L2": "square", "DRAM": "diamond"}


@dataclasses.dataclass(frozen=True)
class _Place:
    """Where a run lies under the roofs of a level of the memory."""
    run: ReportedRun
    level: str
    intensity: float  #: Instructions for each access to the level.
    speed: float  #: Instructions a cycle, of all cycles.
    roof: float  #: The most instructions a cycle at this intensity.
    bound: str  #: The kind of roof: the level, or the issue slots.

    @property
    def values(self):
        """The figures as text, with their names."""
        return (("instructions for each line", f"{self.intensity:.3g}"),
                ("instructions a cycle", f"{self.speed:.3f}"),
                ("roof at this place", f"{self.roof:.3f}"),
                ("part of the roof", percent(self.speed, self.roof)))


def _places(run, counters):
    """The places of a run, or of a part of it, at all levels that it accesses."""
    issued, cycles, top = counters.get("instructions", 0), cycles_of(counters), run.config.cores
    for level, rate in levels(run.config, run.dram).items():
        accesses = LEVELS[level](counters, run.config)
        if accesses and issued and cycles:
            roof, bound = min((top, "the issue slots"), (rate * issued / accesses, level))
            yield _Place(run, level, issued / accesses, issued / cycles, roof, bound)


def plot(runs) -> dict:
    """The roofline of runs on hardware of the same limits, as a plot; empty if no memory was
    accessed.

    Parameters
    ----------
    runs : list of (ReportedRun, dict)
        Runs, or parts of runs with a name of their own, and the counters of each.
    """
    places = [list(_places(run, counters)) for run, counters in runs]
    xs = [place.intensity for each in places for place in each]
    ys = [place.speed for each in places for place in each]
    if not xs:
        return {}
    first = runs[0][0]
    limits = levels(first.config, first.dram)
    left, right = min(xs) / 3, max(*xs, first.config.cores / min(limits.values())) * 3
    top = first.config.cores
    traces = [lines([left, right], [top, top], f"issue: {count(top)} a cycle", NEUTRAL, "dash")]
    for index, (level, rate) in enumerate(limits.items()):
        corner = min(right, max(left, top / rate))
        traces.append(lines([left, corner], [left * rate, corner * rate], f"{level}: {rate:.3g} "
                            "lines a cycle", SERIES[index], "dot"))
    schedules = {run.record["schedule"] for run, _ in runs}
    for number, ((run, _), mine) in enumerate(zip(runs, places)):
        # The kernels of one run are told apart by colours of their own.
        colour = SERIES[number % len(SERIES)] if len(runs) > 1 == len(schedules) \
            else of_schedule(run.record["schedule"])
        points = [PlotPoint(f"{run.name}, {place.level}", place.values, run.command,
                            hardware_text(run.config)) for place in mine]
        traces.append({"type": "scatter", "mode": "markers", "name": run.name,
                       "x": [place.intensity for place in mine],
                       "y": [place.speed for place in mine], "points": points,
                       "marker": {"size": 11, "color": colour,
                                  "symbol": [_MARKS[place.level] for place in mine],
                                  "line": {"width": 1, "color": NEUTRAL}}})
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
    best = max((place for run in runs for place in _places(run, run.counters)),
               key=lambda place: place.speed / place.roof)
    finding = (f"{best.run.name} is nearest to its roof, {best.bound}: it reaches "
               f"{percent(best.speed, best.roof)} of it.")
    return Block("Roofline", finding, variants,
                 ("run and level", "instructions for each line", "instructions a cycle", "roof",
                  "part of the roof"), rows,
                 "A circle counts accesses to L1, a square to L2, a diamond lines of DRAM. A point "
                 "on a dotted line is bound by this level; a point on the dashed line, by the "
                 "issue slots; a point below both, by latency.")
