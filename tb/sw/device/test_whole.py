"""Results whole, from runs whose numbers are told: as text, for notebooks, as rows, plots, and as
JSON."""

import dataclasses
import pathlib

import numpy as np
import pytest
from matplotlib import pyplot

from hw.config import preset
from hw.registers import COUNTERS
from sw.compile.lowered import Lowered
from sw.device import Device
from sw.device.results import Results
from sw.graph import load
from tb import expected
from tb.told import number


EXPECTED = pathlib.Path(__file__).parent / "results.txt"

TINY = preset("tiny").replace(cores=2)


def _told(result, words, **changes):
    counters = {name: number(f"{words} {name}") for name in (*COUNTERS, "dram_bytes_read",
                                                             "dram_bytes_written")}
    counters["cycles"] *= 20
    counters["lanes"] *= 3
    cycles = number(words, 10_000, 99_999)
    return dataclasses.replace(result, **{
        "cycles": cycles, "launch_cycles": number(f"{words} launches"), "orders": 1213,
        "launches": 11, "counters": counters, "core_counters": [counters], "verified": True,
        "phases": np.arange(12, dtype=np.uint64).reshape(1, 2, 6), "set_cycles": [("one", 5)],
        "set_counters": [{"lanes": 3}], "steps": {"one": {"unit": "cores"}}, "notes": ["a note"],
        "used": {"unroll": 2}, "lowered": Lowered(False, (), ())} | changes)


@pytest.fixture(scope="module")
def runs():
    """A search between names, and one of numbers."""
    graph = load([("<b>", "a"), ("a", "c"), ("d", "e")])
    with Device.functional(TINY) as device:
        return (device.run("bfs", graph, source="<b>", schedule="vm"),
                device.run("pagerank", "karate", iterations=2, schedule="em", phases=True))


def _lines(result):
    yield repr(result)
    yield result._repr_html_()
    yield f"stalls: {expected.digest(result.stalls)}; {list(result.stalls.items())[:2]}"
    yield (f"{result.instructions} {result.active_lanes:.3f} {result.dram_bytes} "
           f"{result.total_cycles} {result.timed} {result.all_phases} {result.lowering}")
    yield f"labels: {expected.digest(result.labels)}"
    for name in (*result.outputs, *result.derived):
        if np.ndim((result.outputs | result.derived)[name]):
            yield f"{name}: {expected.digest(result.named(name).tolist())}"
    frame = result.frame()
    yield f"frame: {list(frame)} {frame.index.name} {expected.digest(frame.values.tolist())}"
    for name, value in result.to_json().items():
        if name not in ("config", "memory_bytes", "supersteps"):
            yield f"json {name}: {expected.digest(value)}"


def test_a_result(runs):
    search, ranks = runs
    for name, result in (
            ("search", _told(search, "one")), ("ranks", _told(ranks, "two", checked=None)),
            ("not compared", _told(ranks, "three", verified=False, orders=1)),
            ("without cycles", _told(search, "four", counters={
                "instructions": 2, "lanes": 5}, starts={}, notes=[])),
            ("idle", _told(search, "five", counters={"cycles": 10}, reached=None))):
        expected.check(EXPECTED, name, "\n".join(_lines(result)))


def _bars(axes):
    """The bars of a plot: where each begins and ends, and in which row; and the texts."""
    for bar in axes.patches:
        yield (f"{bar.get_y() + bar.get_height() / 2:.2f}: {bar.get_x():.6g} to "
               f"{bar.get_x() + bar.get_width():.6g}")
    yield (f"{axes.get_title()} | {axes.get_xlabel()} | {axes.get_legend() is not None} | "
           f"the first on top: {axes.yaxis_inverted()}")
    yield " | ".join(text.get_text() for text in (*axes.get_yticklabels(), *axes.texts))
    legend = axes.get_legend()
    yield " | ".join(text.get_text() for text in legend.get_texts()) if legend else "no legend"


def test_several(runs):
    search, _ = runs
    told = [_told(search, name, plan=dataclasses.replace(search.plan, schedule=name))
            for name in ("vm", "em", "twc")]
    plain = [dataclasses.replace(each, counters={
        name: each.counters[name] for name in ("instructions", "lanes")}) for each in told]
    for title, results in (("several", Results(told)), ("several without cycles", Results(plain)),
                           ("one of several", Results(told)[1:2])):
        lines = [repr(results), results._repr_html_(), f"best: {results.best.schedule}",
                 *map(str, results.rows()), f"schedules: {results.schedules}"]
        frame = results.frame()
        lines += [f"frame: {sorted(frame)} {expected.digest(frame.values.tolist())}"]
        for what in ("cycles", *["stalls"] * results[0].timed):
            lines += [f"plot of {what}", *_bars(results.plot(what, pyplot.subplots()[1]))]
        pyplot.close("all")
        expected.check(EXPECTED, title, "\n".join(lines))
