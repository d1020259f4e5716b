"""Pages of ``sweep``: cycles as small multiples, a panel for each algorithm on each graph."""

import itertools
import pathlib
import statistics

from sw.compile.options import word
from sw.show.colours import of_schedule
from sw.study.benchmarks.batch import notes_of
from sw.study.benchmarks.grid import geometric_mean
from sw.study.sweep.rows import SweepResult, rows_of, speedups

from .command import hardware_text
from .papers import ROWS, point_of, records_of
from .plots import Block, Page, count, counted, logarithmic, multiples, panel_title, times


__all__ = ["page"]


#: Panels of a plot, and plots that the reader can choose from.
_PANELS, _VARIANTS = 24, 24

#: Columns that tell panels apart.
_PANEL = ("graph", "algorithm")


class _Sweep:
    """The runs of a file: rows, and the point of each that ended."""

    def __init__(self, lines):
        (_, self.head), *lines = lines
        records, _ = records_of(list(dict(lines).items()))
        self.values = dict(self.head["columns"])
        columns = list(self.values)
        # Runs end in any order: they are shown in that of the sweep.
        records.sort(key=lambda each: [values.index(each[0]["case"]["said"][name])
                                       for name, values in self.values.items()
                                       if name in each[0]["case"]["said"]])
        self.records = [record for record, *_ in records]
        self.configs = [config for _, config, _ in records if config]
        runs = [(record["case"]["said"], record) for record in self.records]
        runs += [(said, {"refused": reason}) for said, reason in self.head["refused"]]
        self.result = SweepResult(rows_of(runs, columns), columns)
        points = [point_of(*each) if "cycles" in each[0] else None for each in records]
        self.done = [(row, point) for row, point in zip(self.result.rows, points) if point]
        self.axes = self.result.axes

    def panels(self):
        """{(graph, algorithm): its rows with their points}, the first of them."""
        found = {}
        for row, point in self.done:
            found.setdefault(tuple(row[name] for name in _PANEL), []).append((row, point))
        return dict(itertools.islice(found.items(), _PANELS))

    def variants(self, axes):
        """{text: values of these axes}, of all that are there; one without a text if there are
        none."""
        values = dict.fromkeys(tuple(row[name] for name in axes) for row, _ in self.done)
        return dict(itertools.islice(((", ".join(
            f"{name} {_text(value)}" for name, value in zip(axes, each)), each)
            for each in values), _VARIANTS))

    def plots(self, axis, panel):
        """A plot for each combination of the other axes than ``axis`` and the schedule. ``panel``
        gives the traces and axes of a panel from its rows."""
        others = [name for name in self.axes if name not in (axis, "schedule")]
        drawn = {}
        for text, values in self.variants(others).items():
            shown = []
            for (graph, algorithm), entries in self.panels().items():
                mine = [(row, point) for row, point in entries
                        if tuple(row[name] for name in others) == values]
                if mine:
                    shown.append((panel_title(algorithm, pathlib.Path(graph).name),
                                  *panel(mine)))
            if shown:
                drawn[text] = shown
        return drawn


def _text(value):
    return "-" if value is None else word(value)


def _means(entries, name):
    """(value of a column, mean total cycles of its rows, point of the first), in order."""
    found = {}
    for row, point in entries:
        found.setdefault(row[name], []).append((row["total_cycles"], point))
    return [(value, statistics.fmean(cycles for cycles, _ in each), each[0][1])
            for value, each in found.items()]


def _ranked(entries):
    """A panel with a bar for each schedule, the fastest first."""
    ranked = sorted(_means(entries, "schedule"), key=lambda each: each[1])
    texts = [count(round(cycles)) for _, cycles, _ in ranked]
    texts[0] = f"<b>{texts[0]} fastest</b>"
    bars = {"type": "bar", "orientation": "h", "y": [name for name, *_ in ranked],
            "x": [cycles for _, cycles, _ in ranked], "points": [point for *_, point in ranked],
            "text": texts, "textposition": "outside", "cliponaxis": False,
            "marker": {"color": [of_schedule(name) for name, *_ in ranked]}}
    return ([bars], {"title": {"text": "cycles"}, "nticks": 4},
            {"type": "category", "autorange": "reversed"})


def _along(axis, values):
    """A function that makes a panel with a line for each schedule along an axis of these values."""
    x = {"title": {"text": axis}, "type": "category", "categoryorder": "array",
         "categoryarray": list(map(_text, values))}

    def panel(entries):
        traces, every = [], []
        for schedule in dict.fromkeys(row["schedule"] for row, _ in entries):
            found = _means([entry for entry in entries if entry[0]["schedule"] == schedule], axis)
            every += [cycles for _, cycles, _ in found]
            traces.append({"type": "scatter", "mode": "lines+markers", "name": schedule,
                           "x": [_text(value) for value, *_ in found],
                           "y": [cycles for _, cycles, _ in found],
                           "points": [point for *_, point in found],
                           "line": {"width": 2, "color": of_schedule(schedule)},
                           "marker": {"size": 8}})
        return traces, x, logarithmic("cycles", every)
    return panel


def page(lines, path) -> Page:
    """The page of a sweep.

    Parameters
    ----------
    lines : list of (str, dict)
        The lines of its file: the head, and a record for each run.
    path : str
        Its name.
    """
    sweep = _Sweep(lines)
    result = sweep.result
    graphs = dict.fromkeys(row["graph"] for row in result.rows)
    facts = (("runs", count(len(sweep.done))), ("graphs", count(len(graphs))),
             ("algorithms", count(len({row["algorithm"] for row in result.rows}))),
             ("without a result", count(len(result) - len(sweep.done))))
    blocks = [*_cycles(sweep), _gains(sweep), _reasons(result), _table(sweep)]
    hardware = list(dict.fromkeys(map(hardware_text, sweep.configs)))
    lead = f"{result.summary}. " + (f"{hardware[0]}." if len(hardware) == 1 else
                                    f"{counted(len(hardware), 'configuration')} of the hardware.")
    return Page(f"Sweep {pathlib.Path(path).parent.name or path}", lead, facts,
                tuple(filter(None, blocks)), tuple(notes_of(sweep.records)), kind="sweep")


def _cycles(sweep):
    """The plots: by schedule, and along each other axis."""
    if not sweep.done:
        return
    seeds = " Of several seeds, the mean." if len(
        {row.get("seed") for row, _ in sweep.done}) > 1 else ""
    every = sweep.panels()
    rest = len({tuple(row[name] for name in _PANEL) for row, _ in sweep.done}) - len(every)
    note = seeds + (f" {rest} more are in the table of all runs." if rest else "")
    longest = max(len({row["schedule"] for row, _ in entries}) for entries in every.values())
    drawn = {text: multiples(panels, 70 + 26 * longest, showlegend=False)
             for text, panels in sweep.plots(None, _ranked).items()}
    yield Block("Cycles by schedule", _winners(every), drawn, note=(
        "Cycles with the host's for launches, a panel for each algorithm on each graph." + note))
    for axis in sweep.axes:
        if axis != "schedule":
            drawn = {text: multiples(panels, showlegend=True)
                     for text, panels in sweep.plots(
                         axis, _along(axis, sweep.values[axis])).items()}
            yield Block(f"Cycles by {axis}", _trend(sweep, axis), drawn, note=(
                "A line for each schedule." + note))


def _winners(panels):
    """How often each schedule is in the fastest run of a panel."""
    wins: dict = {}
    for entries in panels.values():
        row, _ = min(entries, key=lambda entry: entry[0]["total_cycles"])
        wins[row["schedule"]] = wins.get(row["schedule"], 0) + 1
    best = max(wins, key=lambda name: wins[name])
    return (f"{best} is the fastest in {wins[best]} of {counted(len(panels), 'panel')}."
            if len(panels) > 1 else f"{best} is the fastest.")


def _trend(sweep, axis):
    """What the values of an axis gain."""
    found = speedups(sweep.result.rows, sweep.result.columns, axis)
    means = {value: geometric_mean(ratios) or 0 for value, ratios in found.items() if ratios}
    best = max(means, key=lambda value: means[value])
    first = next(iter(found))
    return (f"No value of {axis} is faster than {_text(first)}, in the mean." if best == first else
            f"With {axis} {_text(best)} runs are {means[best]:.2f}x as fast as with "
            f"{_text(first)}, in the mean.")


def _gains(sweep):
    rows = tuple(((axis, _text(value), count(len(ratios)), *(times(each, 1) for each in (
        geometric_mean(ratios), min(ratios), max(ratios)))), None)
        for axis in sweep.axes for value, ratios in speedups(
            sweep.result.rows, sweep.result.columns, axis).items() if ratios)
    return Block("Speedup of each value", "Over the first value of its axis, at equal values of "
                 "all others; the means are geometric.", {},
                 ("axis", "value", "runs", "mean", "least", "most"), rows) if rows else None


def _reasons(result):
    rows = tuple((tuple(_text(row[name]) for name in ("status", *result.columns, "reason")), None)
                 for row in result.rows if row["status"] != "done")
    return Block("Without a result", f"{counted(len(rows), 'run')} did not run, or failed.", {},
                 ("status", *result.columns, "reason"), rows[:ROWS]) if rows else None


def _table(sweep):
    columns = sweep.result.columns
    rows = tuple(((*(_text(row[name]) for name in columns), count(row["total_cycles"])), point)
                 for row, point in sweep.done)
    note = "" if len(rows) <= ROWS else f"The first {ROWS} of {count(len(rows))}."
    return Block("All runs", note, {}, (*columns, "cycles"), rows[:ROWS]) if rows else None
