"""``graphloom bench schedules``: cycles of all schedules on many graphs."""

import dataclasses
import pathlib
from typing import Annotated

import typer

from base.errors import UserError

from . import benches, options
from .completion import many


__all__ = ["register"]


def register(app):
    """Add the command."""
    benches.add(app, "schedules", _Options, _schedules, epilog="Example: graphloom bench schedules "
                "karate rmat:scale=10,degree=16 --results figures.jsonl")


@dataclasses.dataclass(kw_only=True)
class _Options(benches.ManyRuns):
    graphs: Annotated[list[str] | None, typer.Argument(
        metavar="[GRAPH]...", help="Graphs to run on, unchanged.", show_default=False)] = None
    rmat: Annotated[bool, typer.Option(
        "--rmat", help="Also run on R-MAT graphs of scale 12 to 16.",
        rich_help_panel="Graph")] = False
    largest: options.Largest = 2_000_000
    directions: Annotated[str, typer.Option(
        "--directions", metavar="A,B", rich_help_panel="Algorithm")] = "pull,push"
    schedules: Annotated[str | None, typer.Option(
        "--schedules", metavar="A,B,...", help="Schedules to run: {schedules}. Speedups are of the "
        "last over each of the others.", rich_help_panel="Algorithm",
        autocompletion=many("schedules"), show_default="the best in software, and the best that "
        "can use the hardware's unit")] = None
    launch_cycles: options.LaunchCycles = None


def _schedules(asked):
    """Run every schedule on every graph, check each result, and print cycles and speedups.

    Searches start at the vertex with the most out-arcs. The means are geometric. Speedups count
    the cycles of launches, and the first table does not.
    """
    from hw.control import launch_cycles
    from sw.compile import schedules as known_schedules
    from sw.study.benchmarks import schedules as comparison

    from .execute import console
    names = None if asked.schedules is None else options.names(asked.schedules, "--schedules")
    config, memory = asked.machine(names or ())
    names = names or comparison.best(config)
    asked.check_files(asked.graphs)
    graphs = asked.pairs(asked.graphs)
    if asked.rmat:
        graphs += [(graph, False) for graph in comparison.RMAT]
    if not graphs:
        raise UserError("name a graph, --folder or --rmat")
    for name in names:
        known_schedules.make(name).check_config(config)
    grid = comparison.grid({
        "graph": graphs, "algorithm": asked.chosen,
        "direction": options.names(asked.directions, "--directions", ["pull", "push"]),
        "schedule": names}, asked.iterations, asked.weights)

    def describe(case):
        return (f" {case.plan.algorithm} {case.plan.direction} {case.plan.schedule} "
                f"{pathlib.Path(case.graph).name}")
    found = asked.measure(grid, config, memory, describe)
    cost = launch_cycles(config) if asked.launch_cycles is None else asked.launch_cycles
    out, last = console(), names[-1]
    totals = comparison.totals(found, cost)
    over = {name: totals.at(schedule=name) / totals.at(schedule=last) for name in names[:-1]}
    _print_tables(out, found, totals, over, cost)
    for name, ratios in over.items():
        out.print(f"{last} over {name}: " + "; ".join(comparison.means(ratios)))
    benches.end(out, found.records.values())


def _print_tables(out, found, totals, over, cost):
    """A table of cycles, one of the cycles with a ``cost`` for each launch, and one of these for
    each schedule over those of the last."""
    names = list(found.places.axes["schedule"])
    rows = sorted(totals.at(schedule=names[-1]).points, key=lambda row: (row[0][0], *row[1:]))
    failed = found.value("error")
    tables = []
    for cube in (found.cycles, totals):
        tables.append(benches.table(("graph", "algorithm", "direction"), names))
        for graph, *plan in rows:
            row = dict(zip(("graph", "algorithm", "direction"), (graph, *plan)))
            tables[-1].add_row(pathlib.Path(graph[0]).name, *plan, *(
                f"{cycles:,}" if cycles is not None
                else "-" if failed.at(schedule=name, **row) is None else "failed"
                for name, cycles in cube.at(**row).split("schedule").items()))
    speedups = benches.table(("graph", "algorithm", "direction"), names[:-1])
    for graph, *plan in rows:
        row = dict(zip(("graph", "algorithm", "direction"), (graph, *plan)))
        speedups.add_row(pathlib.Path(graph[0]).name, *plan, *(
            "-" if (ratio := each.at(**row)) is None else f"{ratio:.2f}x"
            for each in over.values()))
    out.print("Cycles of kernels and of the SCU:")
    out.print(tables[0])
    out.print(f"\nCycles in all, with {cost:,} for each launch:")
    out.print(tables[1])
    if over:
        out.print(f"\nSpeedup of {names[-1]} over the others:")
        out.print(speedups)
