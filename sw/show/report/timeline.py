"""Pages of the timelines that ``run --trace FILE.json`` writes."""

import numpy as np

from hw.isa import PHASES
from hw.stalls import WARP_STATES
from sw.show.colours import CAUSES, NEUTRAL, PHASES as PHASE_COLOURS

from .plots import Block, Page, count, figure, percent


__all__ = ["Timeline", "page"]


#: Columns of a plot. A column has several cycles where the trace has more, and shows the state in
#: which the warp was longest.
_COLUMNS = 2000

#: {state of a warp in a cycle: colour}, in the order of the colour scale.
_STATES = {"ended": "#8886", "an instruction issued": CAUSES["issued"][1],
           "ready, another warp issued": NEUTRAL,
           **{name: CAUSES[name][1] for name in WARP_STATES if name in CAUSES}}


class Timeline:
    """The states of all warps in all cycles of a trace.

    Parameters
    ----------
    value : dict
        The contents of the file.

    Attributes
    ----------
    configuration : str
        Name of the configuration.
    command : str
        The command line of the run; empty in older files.
    first, last : int
        The first cycle, and the cycle after the last.
    rows : list of str
        Names of the warps.
    states, phases : array of (rows, cycles), uint8
        Index into the state names, and of the phase, plus 1; 0 where the warp has ended.
    launches : list of (str, int, int)
        Name, first cycle and length of each launch.

    Raises
    ------
    ValueError, KeyError, TypeError
        If the file is no timeline of Graphloom.
    """

    def __init__(self, value):
        other = value["otherData"]
        self.configuration = str(other["configuration"])
        self.command = str(other.get("command", ""))
        names, slices, self.launches = {}, [], []
        for event in value["traceEvents"]:
            if event["ph"] == "M":
                if event["name"] == "thread_name":
                    names[event["pid"], event["tid"]] = event["args"]["name"]
                continue
            where = event["pid"], event["tid"]
            if event["cat"] == "launch" and event["pid"] == 0:
                self.launches.append((event["name"], event["ts"], event["dur"]))
            elif event["cat"] in ("phase", "instruction", "wait"):
                slices.append((where, event["cat"], event["name"], event["ts"], event["dur"]))
        warps = [where for where, name in names.items() if name.startswith("warp ")]
        cores = len({core for core, _ in warps})
        self.rows = [names[where] if cores == 1 else f"core {where[0]}, {names[where]}"
                     for where in warps]
        place = {where: row for row, where in enumerate(warps)}
        if not slices or not warps:
            raise ValueError("it has no cycles of a warp")
        self.first = min(start for *_, start, _ in slices)
        self.last = max(start + length for *_, start, length in slices)
        shape = len(warps), self.last - self.first
        self.states, self.phases = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
        numbers = {name: number for number, name in enumerate(_STATES)}
        numbers |= {"ready": numbers["ready, another warp issued"]}
        for where, kind, name, start, length in slices:
            part = slice(start - self.first, start - self.first + length)
            if kind == "phase":
                self.phases[place[where], part] = PHASES.index(name) + 1 if name in PHASES else 0
            else:
                self.states[place[where], part] = \
                    1 if kind == "instruction" else numbers[name]


def _columns(matrix, kinds):
    """The most frequent value of each column of cycles: (values, cycles of a column)."""
    rows, cycles = matrix.shape
    width = -(-cycles // _COLUMNS)
    if width == 1:
        return matrix, 1
    padded = np.full((rows, -(-cycles // width) * width), kinds, np.uint8)
    padded[:, :cycles] = matrix
    parts = padded.reshape(rows, -1, width)
    counts = np.stack([(parts == kind).sum(axis=2) for kind in range(kinds)])
    return counts.argmax(axis=0).astype(np.uint8), width


def _heatmap(timeline, matrix, colours):
    """A plot with a row for each warp."""
    names = [_wait(name) for name in colours]
    values, width = _columns(matrix, len(names))
    scale = []
    for number, colour in enumerate(colours.values()):
        scale += [[number / len(names), colour], [(number + 1) / len(names), colour]]
    cycles = [timeline.first + width * column for column in range(values.shape[1])]
    trace = {"type": "heatmap", "x": cycles, "y": timeline.rows, "z": values.tolist(),
             "colorscale": scale, "zmin": -0.5, "zmax": len(names) - 0.5, "showscale": False,
             "ygap": 1,
             "hovertemplate": "%{y}, cycle %{x:,}: %{customdata}<extra></extra>",
             "customdata": [[names[value] for value in row] for row in values.tolist()]}
    present = sorted({int(value) for value in np.unique(values)})
    # A legend: heatmaps have none of their own.
    keys = [{"type": "scatter", "mode": "markers", "x": [None], "y": [None], "name": names[value],
             "marker": {"symbol": "square", "size": 10, "color": list(colours.values())[value]},
             "hoverinfo": "skip"} for value in present]
    row = max(10, min(26, 900 // len(timeline.rows)))
    return figure([trace, *keys], x={"title": {"text": "cycle"}, "tickformat": ",d"},
                  y={"autorange": "reversed", "type": "category"}, showlegend=True,
                  height=190 + row * len(timeline.rows)), width


def _shares(names, matrix, kinds):
    """The rows of a table: the share of each kind, from 1 on, in the cycles of each warp."""
    return tuple(((name, *(percent(int((row == kind).sum()), int((row > 0).sum()))
                           for kind in range(1, kinds + 1))), None)
                 for name, row in zip(names, matrix))


def page(value, path) -> Page:
    """The page of a timeline.

    Parameters
    ----------
    value : dict
        The file's contents.
    path : str
        Its name.
    """
    timeline = Timeline(value)
    names = list(_STATES)
    alive = int((timeline.states > 0).sum())
    sums = {name: int((timeline.states == number).sum()) for number, name in enumerate(names)}
    waits = {name: cycles for name, cycles in sums.items() if name not in names[:2]}
    worst = max(waits, key=lambda name: waits[name])
    drawn, width = _heatmap(timeline, timeline.states, _STATES)
    note = "" if width == 1 else (f"A column is {width} cycles, and shows the state in which the "
                                  "warp was longest. --trace-cycles records a shorter window.")
    blocks = [Block(
        "Warp timeline", f"Warps spend {percent(waits[worst], alive)} of their cycles in the state "
        f"“{_wait(worst)}”, and issue in {percent(sums[names[1]], alive)}.", {"": drawn},
        ("warp", *(_wait(name) for name in names[1:])),
        _shares(timeline.rows, timeline.states, len(names) - 1), note)]
    if timeline.phases.any():
        drawn, _ = _heatmap(timeline, timeline.phases, {"ended": _STATES["ended"]} | PHASE_COLOURS)
        totals = [int((timeline.phases == number + 1).sum()) for number in range(len(PHASES))]
        most = max(range(len(PHASES)), key=lambda index: totals[index])
        blocks.append(Block(
            "Phases over time", f"Phase {PHASES[most]} takes {percent(totals[most], sum(totals))} "
            "of the warps' cycles in this window.", {"": drawn}, ("warp", *PHASES),
            _shares(timeline.rows, timeline.phases, len(PHASES)), note))
    launches = ", ".join(name for name, *_ in timeline.launches[:8])
    more = len(timeline.launches) - 8
    return Page(f"Timeline of {path}", f"Cycles {count(timeline.first)} to {count(timeline.last)} "
                f"on {timeline.configuration}; launches: {launches}"
                + (f" and {more} more." if more > 0 else "."),
                (("cycles", count(timeline.last - timeline.first)),
                 ("warps", count(len(timeline.rows))), ("launches", count(len(timeline.launches)))),
                tuple(blocks), command=timeline.command, kind="trace")


def _wait(name):
    """A state as readers know it."""
    return f"waits for {CAUSES[name][0]}" if name in CAUSES else name
