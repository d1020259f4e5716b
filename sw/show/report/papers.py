"""Pages of ``reproduce``: the figures of a paper, and all runs behind them.

A figure's file has its plots as numbers. Older files lack them: their figures have tables only.
"""

import dataclasses
import json
import pathlib
import statistics

from base.errors import UserError
from sw.graph.load import GraphSource
from sw.device.target import Target
from sw.show.colours import NEUTRAL, of_schedule

from .command import hardware_of, hardware_text, memory_of, run_command
from .plots import Block, Page, PlotPoint, bars, count, logarithmic, multiples, panel_title


__all__ = ["ROWS", "page", "point_of", "records_of"]


#: Fields of a case that one command line runs: cases with others have hardware of their own, or
#: measure something else.
_PLAIN = {"algorithm", "schedule", "format", "direction", "split", "graph", "undirected", "plan",
          "weights", "said", "max_cycles", "launch_cycles",
          *(field.name for field in dataclasses.fields(GraphSource))}

#: Rows of the table of runs.
ROWS = 500

#: Letters of a graph's name from which a plot breaks the name.
_LABEL = 16

#: The word in place of a number that failed (``sw.study.reproduce.outcome``).
_FAILED = "failed"

#: Marks of the schedules, in turn.
_SYMBOLS = ("circle", "square", "diamond", "cross")

_DASHES = ("dash", "dot", "dashdot", "longdash")


def page(figures, records, path, more=()) -> Page:
    """The page of a paper.

    Parameters
    ----------
    figures : list of dict
        The contents of the figures' files, in order.
    records : list of (dict, HardwareConfig or None, DramConfig or None)
        Records of runs (:func:`records_of`).
    path : str
        Name of the folder or file.
    more : sequence of str
        Further remarks.
    """
    blocks, notes = [], list(more)
    for value in figures:
        blocks += _figure_blocks(value)
        for reason, cases in value["failures"].items():
            notes.append(f"{value['figure']}: {len(cases)} runs failed: {reason}")
    runs = _runs(records)
    blocks += runs
    if figures:
        paper = figures[0]["paper"]
        config = hardware_of(figures[0]["configuration"])
        title, lead = paper["title"], f"{paper['source']}. Measured on {hardware_text(config)}."
    else:
        title, lead = f"Runs of {path}", "Every finished run of the file."
    kept = [record for record, *_ in records if "cycles" in record]
    facts = ((("figures", count(len(figures))),) if figures else ()) + (
        (("runs", count(len(kept))),) if kept else ()) + (
        ("graphs", count(len({record["case"]["graph"] for record, *_ in records
                              if "graph" in record["case"]}))),)
    return Page(title, lead, facts, tuple(blocks), tuple(notes),
                figures[0]["command"] if len(figures) == 1 else "", "reproduce")


def _figure_blocks(value):
    name, command = value["figure"], value["command"]
    config = hardware_text(hardware_of(value["configuration"]))
    compared = "; ".join(f"{each['what']}: the paper {each['paper']}, here {each['ours']}"
                         for each in value["comparisons"][:2])
    found = []
    heading = f"{name}: {value['title']}"
    for number, plot in enumerate(value.get("plots", ())):
        drawn, highest = _bars(plot, command, config)
        title = heading if number == 0 else f"{name}, {plot['title']}"
        finding = _sentence(compared) if number == 0 and compared else highest
        columns = ("", *plot["series"])
        rows = tuple(((group, *(_number(values[index]) for values in plot["series"].values())),
                      PlotPoint(f"{name}, {group}", (), command, config))
                     for index, group in enumerate(plot["groups"]))
        found.append(Block(title, finding, {"": drawn}, columns, rows,
                           value["method"] if number == 0 else ""))
    for table in value["tables"]:
        title = f"{name}, table: {table['title']}" if found else heading
        found.append(Block(title, "" if found else _sentence(compared), {}, tuple(table["columns"]),
                           tuple((tuple(row), None) for row in table["rows"]),
                           "" if found else value["method"], opened=len(value["tables"]) == 1))
    if value["comparisons"]:
        found.append(Block(f"{name}, the paper and this", " ".join(value["notes"]), {},
                           ("", "paper", "here"),
                           tuple(((each["what"], each["paper"], each["ours"]), None)
                                 for each in value["comparisons"]), opened=True))
    return found


def _sentence(text):
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _number(value):
    if value is None or value == _FAILED:
        return value or "-"
    return f"{value:,.4g}" if isinstance(value, float) else count(value)


def _bars(plot, command, config):
    """The plot of a figure, and a sentence about its highest value."""
    series = {name: [None if value == _FAILED else value for value in values]
              for name, values in plot["series"].items()}
    points = {name: [PlotPoint(f"{group}, {name}", ((plot["label"], _number(value)),), command,
                               config)
                     for group, value in zip(plot["groups"], values)]
              for name, values in plot["series"].items()}
    drawn = bars(series, list(plot["groups"]), points, x="",
                 y={"title": {"text": plot["label"]}, "tickformat": ",~g"},
                 stacked=plot["stacked"], height=400)
    shapes, notes = [], []
    levels = [("", plot["reference"], "solid")] if plot["reference"] is not None else []
    levels += [(name, value, _DASHES[index % len(_DASHES)])
               for index, (name, value) in enumerate(plot["paper"].items())]
    for name, value, dash in levels:
        shapes.append({"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": value, "y1": value,
                       "line": {"dash": dash, "width": 1.5, "color": NEUTRAL}})
        if name:
            notes.append({"xref": "paper", "x": 1, "xanchor": "right", "y": value,
                          "yanchor": "bottom", "showarrow": False,
                          "text": f"{name}: {value:,.3g}".replace("\n", " ")})
    drawn["layout"] |= {"shapes": shapes, "annotations": notes}
    values = [(value, name, group) for name, each in series.items()
              for group, value in zip(plot["groups"], each) if value is not None]
    if not values:
        return drawn, "No value is defined."
    value, name, group = max(values)
    return drawn, f"The highest value is {_number(value)}, of {name} on {group}."


def records_of(lines, sources=None):
    """The records of a file of lines.

    Parameters
    ----------
    lines : list of (str, dict)
        Key and record of each line.
    sources : str, optional
        The digest of the sources whose lines count; else that of the last line.

    Returns
    -------
    (list of (dict, HardwareConfig or None, DramConfig or None), int)
        The records with hardware and memory, as far as the keys tell them, and the number of lines
        of other sources.
    """
    kept, others = [], 0
    parts = [(_split(key), record) for key, record in lines]
    if sources is None and parts:
        sources = parts[-1][0][0]
    for (digest, rest), record in parts:
        if digest != sources:
            others += 1
            continue
        kept.append((record, *_hardware(rest)))
    return kept, others


def _split(key):
    """The digest of the sources and the rest of a line's key."""
    first, space, rest = key.partition(" ")
    return (first, rest) if space and first.isalnum() else ("", key)


def _hardware(key):
    """Hardware and memory of a line's key; None if the case had no machine."""
    value = json.loads(key)
    if isinstance(value, list) and len(value) == 3 and isinstance(value[1], dict):
        return hardware_of(value[1]), memory_of(value[2])
    return None, None


def _runs(records):
    """The block of all runs, unless there is none."""
    done = [(record, config, dram) for record, config, dram in records
            if "cycles" in record and "error" not in record]
    if not done:
        return []
    found = {}
    for record, config, dram in done:
        case = record["case"]
        name = case.get("schedule") or "no schedule"
        found.setdefault(case.get("algorithm") or "", {}).setdefault(name, []).append(
            (_graph(case), record["cycles"], point_of(record, config, dram)))
    panels, rows = [], []
    for algorithm, by_schedule in sorted(found.items()):
        every = [cycles for entries in by_schedule.values() for _, cycles, _ in entries]
        panels.append((panel_title(algorithm), [
            _dots(name, entries, number) for number, (name, entries) in
            enumerate(sorted(by_schedule.items()))], {"type": "category"},
            logarithmic("cycles", every)))
        rows += [((point.label, graph.replace("<br>", ""), name, count(cycles)), point)
                 for name, entries in sorted(by_schedule.items())
                 for graph, cycles, point in entries]
    everything = [record["cycles"] for record, *_ in done]
    note = "" if len(rows) <= ROWS else (f"The table has the first {ROWS} of "
                                         f"{count(len(rows))} runs.")
    return [Block("All runs", f"{count(len(everything))} runs took {count(min(everything))} to "
                  f"{count(max(everything))} cycles, half of them up to "
                  f"{count(round(statistics.median(everything)))}.",
                  {"": multiples(panels, 380, showlegend=True)},
                  ("plan", "graph", "schedule", "cycles"), tuple(rows[:ROWS]), note)]


def _dots(name, entries, number):
    """The trace of a schedule's runs, each (graph, cycles, point)."""
    return {"type": "scatter", "mode": "markers", "name": name,
            "x": [graph for graph, *_ in entries], "y": [cycles for _, cycles, _ in entries],
            "points": [point for *_, point in entries],
            "marker": {"size": 8, "opacity": 0.75, "color": of_schedule(name),
                       "symbol": _SYMBOLS[number % len(_SYMBOLS)]}}


def point_of(record, config, dram) -> PlotPoint:
    """The point of a run, from its record, hardware and memory, which may be None."""
    case = record["case"]
    values = [("cycles", count(record["cycles"]))]
    if record.get("counters", {}).get("instructions"):
        values.append(("instructions", count(record["counters"]["instructions"])))
    values += [(field, str(case[field])) for field in ("format", "direction") if case.get(field)]
    label = f"{case.get('plan') or case.get('schedule') or 'no schedule'} on {case['graph']}"
    return PlotPoint(label, tuple(values), _command(case, config, dram),
                     hardware_text(config) if config else "")


def _graph(case):
    """The name of a case's graph in plots."""
    text = str(case["graph"])
    text = pathlib.Path(text).name if "/" in text else text
    return text if len(text) < _LABEL else text.replace(",", ",<br>")


def _command(case, config, dram):
    """The command line of a plain case; empty for a case with more than a plan on a graph."""
    if config is None or not case.keys() <= _PLAIN or not case.get("plan"):
        return ""
    try:
        source = GraphSource.of(case | {"spec": case["graph"]})
        return run_command(case["plan"], source, Target(
            config, dram, launch_cycles=case.get("launch_cycles")))
    except UserError:
        return ""
