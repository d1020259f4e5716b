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

from sw.show import colours as palette


__all__ = ["Block", "Page", "PlotPoint", "bars", "count", "counted", "faster", "figure",
           "labelled", "lines", "logarithmic", "multiples", "panel_title", "percent", "slug",
           "times"]


#: Patterns of bars, in turn: for print, and for eyes that do not tell the colours apart.
_PATTERNS = ("", "/", ".", "\\", "x", "-", "+", "|")

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
        Colour by series, or a colour for each group.

    Bars that stand alone have their values at their ends.
    """
    colours = palette.of_series(series) | (colours or {})
    alone = len(series) == 1 or not stacked
    few = len(series) * len(groups) <= _FEW
    shown = [name for name, values in series.items() if any(values)]
    traces = []
    for index, (name, values) in enumerate(series.items()):
        if shown and name not in shown:
            continue                    # a name without a bar
        marker = {"color": colours[name]}
        if few and len(series) > 1:
            marker["pattern"] = {"shape": _PATTERNS[index % len(_PATTERNS)], "size": 6,
                                 "solidity": 0.15, "fillmode": "overlay"}
        if not few:
            marker["line"] = {"width": 0}
        traces.append({"type": "bar", "name": name, "marker": marker, "points": points[name],
                       "orientation": "h" if across else "v",
                       ("y" if across else "x"): groups, ("x" if across else "y"): values,
                       **(_ENDS if across and alone and few else {})})
    if across:
        axis = y if isinstance(y, dict) else {"title": {"text": y}}
        y = {"autorange": "reversed", "type": "category"} | axis
    elif groups and isinstance(groups[0], str):
        x = {"type": "category"} | (x if isinstance(x, dict) else {"title": {"text": x}})
    return figure(traces, x=x, y=y, barmode="stack" if stacked else "group",
                  showlegend=len(traces) > 1, **layout)


#: Settings of bars with their values at their ends.
_ENDS = {"texttemplate": "%{x:,.3~r}", "textposition": "outside", "cliponaxis": False}


def labelled(drawn, groups, totals, texts) -> dict:
    """The plot of horizontal stacked bars with a text at the end of each.

    Parameters
    ----------
    drawn : dict
        As :func:`bars` gives it.
    groups, totals, texts : list
        The group, the length and the text of each bar.
    """
    drawn["data"].append({"type": "scatter", "mode": "text", "name": "total", "x": totals,
                          "y": groups, "text": texts, "textposition": "middle right",
                          "hoverinfo": "skip", "showlegend": False, "cliponaxis": False})
    drawn["points"].append(None)
    drawn["layout"]["meta"] = {"room": {"xaxis": max(totals)}}
    return drawn


def panel_title(first, second="") -> str:
    """The title of a panel in one line or two."""
    return f"<b>{escaped(first)}</b>" + (f"<br>{escaped(second)}" if second else "")


def multiples(panels, height=260, **layout) -> dict:
    """Small multiples: a plot with a panel for each of several cases, which the page arranges by
    its width.

    Parameters
    ----------
    panels : list of (str, list of dict, dict, dict)
        Title (:func:`panel_title`), traces (as in :func:`figure`), and the settings of both axes,
        of each panel. Traces of one name in several panels have one entry in the legend.
    height : int
        CSS pixels of a panel.
    **layout
        As in :func:`figure`.

    Returns
    -------
    dict
        As :func:`figure`.
    """
    traces, axes, notes, named, room = [], {}, [], set(), {}
    for number, (title, own, x, y) in enumerate(panels, 1):
        end = "" if number == 1 else str(number)
        axes |= {f"xaxis{end}": x | {"anchor": f"y{end}"}, f"yaxis{end}": y | {"anchor": f"x{end}"}}
        notes.append({"xref": f"x{end} domain", "yref": f"y{end} domain", "x": 0, "y": 1,
                      "xanchor": "left", "yanchor": "bottom", "showarrow": False,
                      "align": "left", "text": title})
        for trace in own:
            name = trace.get("name", "")
            traces.append(trace | {"xaxis": f"x{end}", "yaxis": f"y{end}", "legendgroup": name,
                                   "showlegend": bool(name) and name not in named})
            named.add(name)
            if trace.get("orientation") == "h":
                room[f"xaxis{end}"] = max(trace["x"])
    # The lengths of the labels, for which the page leaves room.
    labels = [str(each) for trace in traces if trace.get("orientation") == "h"
              for each in trace["y"]]
    ticks = {str(each) for trace in traces if trace.get("orientation") != "h"
             for each in trace["x"]}
    lines_of = [each.split("<br>") for each in ticks]
    return figure(traces, x=axes.pop("xaxis"), y=axes.pop("yaxis"), annotations=notes, **axes,
                  meta={"panels": len(panels), "height": height, "room": room,
                        "labels": max(map(len, labels), default=0),
                        "ticks": {"number": len(ticks), "lines": max(map(len, lines_of), default=1),
                                  "longest": max((len(line) for each in lines_of
                                                  for line in each), default=0)}},
                  height=height, **layout)


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
