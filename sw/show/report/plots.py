"""Points, blocks and pages: what a report shows. ``page/report.js`` draws the blocks.

A :class:`Block` is a heading, a sentence with its finding, a plot in one or more variants, and the
plot's numbers as a table. Each mark of a plot is a :class:`PlotPoint`, which knows the command that
makes it and the configuration.
"""

import dataclasses
import json
import math
import re
import textwrap


__all__ = ["CAUSES", "COLOURS", "Block", "Page", "PlotPoint", "bars", "count", "counted", "faster",
           "figure", "lines", "percent", "slug", "times"]


#: Colours of series, in turn, which can be distinguished on light and on dark pages.
COLOURS = ("#3b7fc4", "#e0861a", "#2a9d74", "#c8485a", "#9a69b5", "#b59a20", "#4fb3d9", "#7d848f")

#: Patterns of bars, in turn: for print, and for eyes that do not tell the colours apart.
_PATTERNS = ("", "/", ".", "\\", "x", "-", "+", "|")

#: {what became of a cycle of an issue slot: (label, colour)}.
CAUSES = {
    "issued": ("an instruction issued", COLOURS[2]),
    "memory": ("memory", COLOURS[3]),
    "local": ("local memory", COLOURS[1]),
    "weaver": ("unit that hands out edges", COLOURS[4]),
    "execute": ("execution unit", COLOURS[0]),
    "barrier": ("barrier", COLOURS[5]),
    "fetch": ("fetch", COLOURS[6]),
    "idle": ("no warp left", COLOURS[7]),
}

#: Bars of a plot up to which they have patterns.
_FEW = 80

#: Letters of a line of a hover text, and lines of a command in it.
_LINE, _LINES = 58, 5


def count(value) -> str:
    """A number with thousands separators; ``-`` for None."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def counted(number: int, name: str) -> str:
    """A number of things: ``1 page``, ``2 pages``."""
    return f"{count(number)} {name}{'' if number == 1 else 's'}"


def percent(above, below) -> str:
    """A share as text; ``-`` if it is not defined."""
    return f"{100 * above / below:.1f} %" if below else "-"


def times(above, below) -> str:
    """A ratio as text; ``-`` if it is not defined."""
    return f"{above / below:.2f}x" if below else "-"


def faster(other, own) -> str:
    """How fast a run of ``own`` cycles is beside one of ``other``, as text."""
    ratio = other / own if own else 1
    if 1 <= ratio < 1.1:
        return f"{100 * (ratio - 1):.1f} % faster than"
    return f"{ratio:.2f}x as fast as"


def slug(text) -> str:
    """A text as part of a file's name or of an address."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "page"


def escaped(text) -> str:
    """A text for plotly, which takes some marks of HTML."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@dataclasses.dataclass(frozen=True)
class PlotPoint:
    """A mark of a plot."""
    label: str  #: The run, kernel or trial.
    values: tuple[tuple[str, str], ...]  #: Names and values with their units.
    command: str = ""  #: The command line that makes the point.
    configuration: str = ""  #: The hardware in a few words.

    def hover(self) -> str:
        """The text that plotly shows beside the point."""
        found = [f"<b>{escaped(self.label)}</b>"]
        found += [f"{escaped(name)}: {escaped(value)}" for name, value in self.values]
        if self.configuration:
            found += map(escaped, textwrap.wrap(self.configuration, _LINE))
        if self.command:
            wrapped = textwrap.wrap(self.command, _LINE, break_on_hyphens=False)
            if len(wrapped) > _LINES:
                wrapped = [*wrapped[:_LINES], "…"]
            found += ["<i>" + escaped(line) + "</i>" for line in wrapped]
        return "<br>".join(found)

    def record(self) -> dict:
        """The point for the page's script."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Block:
    """A heading, a finding, a plot and its numbers."""
    title: str
    finding: str  #: A sentence that the plot shows.
    #: Plots as plotly takes them (:func:`figure`), by the name under which the reader chooses them.
    #: One plot alone needs no name. None: the block is a table.
    variants: dict[str, dict]
    columns: tuple[str, ...] = ()  #: Heads of the table.
    #: Rows of the table, each a tuple of cells and the :class:`PlotPoint` whose command the row
    #: copies, or None.
    rows: tuple = ()
    note: str = ""  #: How to read the plot.
    opened: bool = False  #: Whether the table is shown at first.

    @property
    def key(self) -> str:
        """The name of the block in addresses."""
        return slug(self.title)


@dataclasses.dataclass(frozen=True)
class Page:
    """A page of a report."""
    title: str
    lead: str  #: A sentence below the title.
    #: Numbers above all plots: their names, and themselves.
    facts: tuple[tuple[str, str], ...] = ()
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()  #: Remarks, such as failures.
    command: str = ""  #: The command line whose results the page shows.
    kind: str = ""  #: The command, in a word or two.

    @property
    def finding(self) -> str:
        """The finding of the first block."""
        return next((block.finding for block in self.blocks if block.finding), "")


def figure(traces, *, x, y, height=340, **layout) -> dict:
    """A plot, checked by plotly.

    Parameters
    ----------
    traces : list of dict
        Traces with their ``type``. ``points``, if a trace has it, is a list of a
        :class:`PlotPoint` or None for each mark.
    x, y : str or dict
        Titles of the axes, with units; or their settings.
    height : int
        CSS pixels.
    **layout
        Further settings of plotly's layout.

    Returns
    -------
    dict
        ``data``, ``layout`` and ``points``: the points of each trace.
    """
    from plotly import graph_objects
    traces, points = [dict(trace) for trace in traces], []
    for trace in traces:
        marks = trace.pop("points", None)
        points.append(marks)
        if marks is not None:
            trace |= {"hovertext": [mark.hover() if mark else "" for mark in marks],
                      "hoverinfo": "text"}
    axes = {name: {"title": {"text": given}} if isinstance(given, str) else given
            for name, given in (("xaxis", x), ("yaxis", y))}
    made = graph_objects.Figure(traces, {"template": None, "height": height, "separators": ".,",
                                         **axes, **layout})
    text = json.loads(str(made.to_json()))
    text["layout"].pop("template", None)
    return {"data": text["data"], "layout": text["layout"], "points": points}


def bars(series, groups, points, *, x, y, across=False, stacked=True, colours=None, **layout):
    """A plot of bars.

    Parameters
    ----------
    series : dict of str to list
        A number for each group, by the name of the series; None for no bar.
    groups : list of str
    points : dict of str to list
        A :class:`PlotPoint` for each group, by the name of the series.
    x, y
        As in :func:`figure`; ``y`` is the axis of the groups if ``across``.
    across : bool
        Whether bars are horizontal.
    stacked : bool
        Whether bars of a group stand on each other.
    colours : dict of str to str, optional
        Colour by series.
    """
    few = len(series) * len(groups) <= _FEW
    shown = [name for name, values in series.items() if any(values)]
    traces = []
    for index, (name, values) in enumerate(series.items()):
        if shown and name not in shown:
            continue                    # a name without a bar
        colour = (colours or {}).get(name, COLOURS[index % len(COLOURS)])
        marker = {"color": colour}
        if few and len(series) > 1:
            marker["pattern"] = {"shape": _PATTERNS[index % len(_PATTERNS)], "size": 6,
                                 "solidity": 0.15, "fillmode": "overlay"}
        if not few:
            marker["line"] = {"width": 0}
        traces.append({"type": "bar", "name": name, "marker": marker, "points": points[name],
                       "orientation": "h" if across else "v",
                       ("y" if across else "x"): groups, ("x" if across else "y"): values})
    if across:
        axis = y if isinstance(y, dict) else {"title": {"text": y}}
        y = {"autorange": "reversed", "type": "category"} | axis
    elif groups and isinstance(groups[0], str):
        x = {"type": "category"} | (x if isinstance(x, dict) else {"title": {"text": x}})
    return figure(traces, x=x, y=y, barmode="stack" if stacked else "group",
                  showlegend=len(traces) > 1, **layout)


def lines(x, y, name, colour=None, dash=None, **more) -> dict:
    """A trace that is a line without points."""
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y,
            "hoverinfo": "skip", "line": {"width": 2, **({"dash": dash} if dash else {}),
                                          **({"color": colour} if colour else {})}, **more}


def logarithmic(title, values, always=False) -> dict:
    """The settings of a logarithmic axis with ticks at powers of ten, or at more numbers where the
    values span less than a hundredfold. Values that span less than the fivefold get a linear axis,
    unless the axis is ``always`` logarithmic."""
    positive = [value for value in values if value and value > 0]
    span = math.log10(max(positive) / min(positive)) if positive else 0
    if span < math.log10(5) and not always:
        return {"title": {"text": title}, "tickformat": ",.10~g", "rangemode": "tozero"}
    return {"title": {"text": title}, "type": "log", "dtick": 1 if span > 2 else "D2",
            "tickformat": ",.10~g"}
