"""``graphloom bench bandwidths``: units against software at several bandwidths of memory."""

import dataclasses
import math
import pathlib
from typing import Annotated

import typer

from base import numbers
from base.errors import UserError
from sw.study.benchmarks.bandwidths import ALGORITHMS, LANE_BYTES, SOFTWARE
from sw.study.benchmarks.units import UNITS

from . import benches, options


__all__ = ["register"]


_ALGORITHMS = ",".join(ALGORITHMS)


def register(app):
    """Add the command."""
    benches.add(app, "bandwidths", _Options, _bandwidths, epilog="Exit code: 0; 1 if a run failed. "
                "Example: graphloom bench bandwidths --units eghw,graphpeg --results figures.jsonl")


@dataclasses.dataclass(kw_only=True)
class _Options(benches.ManyRuns):
    graphs: Annotated[list[str] | None, typer.Argument(
        metavar="[GRAPH]...", help="Graphs to run on; two R-MATs if no graph is given.",
        show_default=False)] = None
    lane_bytes: Annotated[str, typer.Option(
        "--lane-bytes", metavar="A,B,...", help="Bandwidths of memory: bytes a cycle for each lane "
        "of all cores.", rich_help_panel="Hardware")] = ",".join(f"{each:g}" for each in LANE_BYTES)
    units: Annotated[str, typer.Option(
        "--units", metavar="A,B,...", help=f"Units to measure: {', '.join(UNITS)}.",
        rich_help_panel="Hardware")] = "stream,eghw,graphpeg,scu"
    algorithms: options.Algorithms = _ALGORITHMS
    schedules: Annotated[str, typer.Option(
        "--schedules", metavar="A,B,...", help="Rivals of the units, in software.",
        rich_help_panel="Algorithm")] = ",".join(SOFTWARE)
    weights: options.Weights = 255
    preset: options.Preset = "gpu"


def _bandwidths(asked):
    """Run units and software with more and with less memory bandwidth, and print which unit still
    gains.

    A unit's speedup is over the fastest schedule in software on the same memory and graph; each has
    the better of its directions. Speedups are geometric means over the graphs. The roofline says
    what bounds the fastest schedule: the bytes that memory moves or the instructions that cores
    issue, and how close the run comes to that.
    """
    from sw.study.benchmarks import bandwidths as comparison
    from sw.study.benchmarks.system import System

    from .execute import console
    units = options.names(asked.units, "--units", UNITS)
    config, memory = asked.machine(counters_for="bench bandwidths")
    asked.check_files(asked.graphs)
    grid = comparison.grid(
        {"graph": asked.pairs(asked.graphs, comparison.GRAPHS), "algorithm": asked.chosen,
         "schedule": options.names(asked.schedules, "--schedules")}, _numbers(asked.lane_bytes),
        units, System(config, memory), asked.iterations, asked.weights)
    found = asked.measure(grid, config, memory, _describe)
    found = found.by(type(found.records).best_allowed)
    out = console()
    out.print("Speedup over the fastest schedule in software, means over the graphs:")
    out.print(_speedups(found, [comparison.column(unit) for unit in units]))
    out.print("The fastest schedule in software, in arcs of the graph a cycle:")
    out.print(_roofs(found.at(column=comparison.BEST)))
    out.print("  memory, issue  as many as the bytes that it moves, or the instructions that it "
              "issues, allow\n  attained       of the lower of the two", highlight=False)
    benches.end(out, found.records.values())


def _numbers(text):
    """The bandwidths of ``--lane-bytes``, each above 0, none twice."""
    found = []
    for part in text.split(","):
        number = numbers.real(part)
        if number is None or not 0 < number <= 1024:
            raise UserError(f"--lane-bytes {text}: {part!r} must be a number above 0, at most 1024")
        found.append(number)
    return tuple(options.once(found, "--lane-bytes"))


def _describe(case):
    plan = case.plan
    return (f" {plan.algorithm} {plan.direction} {plan.schedule} on "
            f"{pathlib.Path(case.graph).name} ({case.system.name}, "
            f"{case.system.peak_bytes:g} bytes a cycle)")


def _speedups(found, names):
    from sw.study.benchmarks.bandwidths import BEST
    from sw.study.benchmarks.grid import geometric_mean
    cycles = found.cycles
    table = benches.table(("bytes a lane", "algorithm"), names)
    for lane_bytes, at in cycles.split("bandwidth").items():
        every = {name: at.at(column=BEST) / at.at(column=name) for name in names}
        for algorithm in at.axes["algorithm"]:
            table.add_row(f"{lane_bytes:g}", algorithm, *(
                _times(every[name].at(algorithm=algorithm).mean()) for name in names))
        table.add_row(f"{lane_bytes:g}", "mean", *(
            _times(geometric_mean(every[name])) for name in names))
    return table


def _times(value):
    return "failed" if value is None else "-" if math.isnan(value) else f"{value:.2f}x"


def _roofs(software):
    from sw.study.benchmarks.bandwidths import roof
    roofs, ways = software.of(roof), software.ways
    table = benches.table(("bytes a lane", "algorithm", "graph", "schedule"),
                          ("cycles", "arcs", "memory", "issue", "attained"))
    for (lane_bytes, algorithm, graph), cycles in software.cycles.items():
        at = {"bandwidth": lane_bytes, "algorithm": algorithm, "graph": graph}
        found, way = roofs.at(**at), ways.at(**at)
        cells = ["failed", "", "", "", ""] if found is None else [
            f"{cycles:,}", f"{found.arcs:.2f}", f"{found.memory:.2f}", f"{found.issue:.2f}",
            f"{100 * found.attained:.0f} % of {found.binding}"]
        table.add_row(f"{lane_bytes:g}", algorithm, pathlib.Path(graph[0]).name,
                      " ".join(way or ()), *cells)
    return table
