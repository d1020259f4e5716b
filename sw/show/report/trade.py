"""Area against cycles: what the units of all runs add to the hardware, and how fast the runs are.
"""

import dataclasses
import json

from base.installation import ROOT
from synth.overhead import UNIT_NAMES
from sw.show.colours import NEUTRAL, of_schedule

from .command import hardware_text
from .plots import Block, PlotPoint, count, faster, figure, lines, percent


__all__ = ["KEPT", "block", "units_of"]


#: The syntheses that the project keeps, for reports that are given none.
KEPT = ROOT / "synth" / "overhead.json"

#: Marks of the units.
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "x")

#: Fields of a configuration in which the hardware of compared runs may differ.
_UNITS = ("name", "gather", "scu")


def units_of(run) -> tuple:
    """The names, in a table of areas, of the units that worked in a run. Hardware may have a unit
    that a schedule leaves idle, and that it would do without.

    Parameters
    ----------
    run : sw.show.report.results.ReportedRun
    """
    found = []
    if run.counters.get("weaver_decodes"):
        found.append(UNIT_NAMES[run.config.gather])
    if run.counters.get("scu_operations"):
        found.append(f"SCU of {run.config.scu}")
    return tuple(found)


def _added(run, overhead):
    """LUT4 of the units of a run; None if they are not known at its lanes."""
    total = 0
    for unit in units_of(run):
        area = next((row["added"]["lut4"] for row in overhead["rows"]
                     if row["unit"] == unit and row["lanes"] == run.config.threads), None)
        if area is None:
            return None
        total += area
    return total


def block(runs, overhead=None):
    """The block for all runs of a report, or None if no two of them compare.

    Parameters
    ----------
    runs : list of sw.show.report.results.ReportedRun
    overhead : dict, optional
        The contents of a file of ``synth overhead``; else those that the project keeps.
    """
    if overhead is None:
        if not KEPT.exists():
            return None
        overhead = json.loads(KEPT.read_text())
    groups = {}
    for run in runs:
        area = _added(run, overhead)
        if area is not None:
            rest = {name: value for name, value in dataclasses.asdict(run.config).items()
                    if name not in _UNITS}
            groups.setdefault((run.work, str(sorted(rest.items())), str(run.dram)), {})[
                run.command] = run, area
    variants, rows, findings = {}, [], []
    for found in sorted(groups.values(), key=len, reverse=True):
        entries = list(found.values())
        if len(entries) < 2:
            continue
        drawn, finding = _plot(entries, overhead)
        first = entries[0][0]
        name = f"{first.record['algorithm']} on {first.graph['spec']}, {first.config.threads} lanes"
        while name in variants:
            name += " (other options)"
        variants[name] = drawn
        findings.append(finding)
        rows += [((first.record["algorithm"], first.graph["spec"], run.name,
                   ", ".join(units_of(run)) or "none", count(area), count(run.total)),
                  run.point()) for run, area in entries]
    if not variants:
        return None
    return Block("Area against cycles", findings[0], variants,
                 ("algorithm", "graph", "schedule", "unit", "LUT4 added", "cycles"), tuple(rows),
                 f"LUT4 of the units that worked in a run, added to preset {overhead['config']} "
                 f"with as many lanes on the {overhead['device']}, by logic synthesis. Cycles are "
                 "those of the simulated hardware. A mark shows the unit, its colour the schedule. "
                 "The line joins runs that no other run beats in "
                 "both.")


def front(entries) -> list:
    """The entries that no other beats in both area and cycles, by area: (run, area)."""
    found = []
    for run, area in sorted(entries, key=lambda entry: (entry[1], entry[0].total)):
        if not found or run.total < found[-1][0].total:
            found.append((run, area))
    return found


def _plot(entries, overhead):
    best = front(entries)
    units = list(dict.fromkeys(", ".join(units_of(run)) or "no unit" for run, _ in entries))
    traces = [lines([area for _, area in best], [run.total for run, _ in best],
                    "not beaten in both", NEUTRAL, "dot")]
    bare = next((row["without"]["lut4"] for row in overhead["rows"]
                 if row["host"] == "core" and row["lanes"] == entries[0][0].config.threads), None)
    for index, unit in enumerate(units):
        mine = [(run, area) for run, area in entries
                if (", ".join(units_of(run)) or "no unit") == unit]
        least = min(run.total for run, _ in mine)
        points = [PlotPoint(run.name, (("unit", unit), ("added", f"{count(area)} LUT4"),
                                       *((("of the core without", percent(area, bare)),) if bare
                                         else ()),
                                       ("cycles", count(run.total))), run.command,
                            hardware_text(run.config)) for run, area in mine]
        # The symbol is of the unit, the colour of the schedule.
        symbol = _SYMBOLS[index % len(_SYMBOLS)]
        traces.append({"type": "scatter", "mode": "markers", "name": unit, "x": [None],
                       "y": [None], "marker": {"size": 12, "color": NEUTRAL, "symbol": symbol}})
        traces.append({"type": "scatter", "mode": "markers+text", "name": unit, "showlegend": False,
                       "x": [area for _, area in mine], "y": [run.total for run, _ in mine],
                       "text": [run.name if run.total == least else "" for run, _ in mine],
                       "textposition": "bottom center",
                       "cliponaxis": False, "points": points,
                       "marker": {"size": 12, "color": [of_schedule(run.record["schedule"])
                                                       for run, _ in mine],
                                  "symbol": symbol}})
    for name in dict.fromkeys(run.record["schedule"].partition(":")[0] for run, _ in entries):
        traces.append(lines([None], [None], name, of_schedule(name)))
    drawn = figure(traces, x={"title": {"text": "LUT4 added by the units"}, "tickformat": ",d"},
                   y={"title": {"text": "cycles, with the host's for launches"},
                      "tickformat": ",d", "rangemode": "tozero"}, height=460, showlegend=True)
    fastest, area = best[-1]
    cheapest = best[0][0]
    finding = (f"{fastest.name} is the fastest of {len(entries)} runs with {count(fastest.total)} "
               "cycles")
    if fastest is not cheapest:
        finding += (f": {count(area)} LUT4 make it {faster(cheapest.total, fastest.total)} "
                    f"{cheapest.name}, the fastest without a unit" if best[0][1] == 0 else
                    f" and adds {count(area)} LUT4")
    else:
        finding += ", and no run takes less area" if area else ", and it needs no unit"
    return drawn, f"{finding}."
