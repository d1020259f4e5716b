"""``graphloom bench schedules``: cycles of all schedules on many graphs."""

import os
import pathlib
from typing import Annotated

import typer

from sw.benchmarks.schedules import COMPARED
from sw.errors import UserError

from . import options


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("schedules", epilog="Example: graphloom bench schedules karate "
                "rmat:scale=10,degree=16 --results figures.jsonl")(_schedules)


def _schedules(
        graphs: Annotated[list[str] | None, typer.Argument(
            metavar="[GRAPH]...", help="Graphs to run on, unchanged.",
            show_default=False)] = None,
        folder: options.Folder = None,
        rmat: Annotated[bool, typer.Option(
            "--rmat", help="Also run on R-MAT graphs of scale 12 to 16.",
            rich_help_panel="Graph")] = False,
        largest: options.Largest = 2_000_000,
        algorithms: options.Algorithms = "pagerank,bfs",
        directions: Annotated[str, typer.Option(
            "--directions", metavar="A,B", rich_help_panel="Algorithm")] = "pull,push",
        schedules: Annotated[str, typer.Option(
            "--schedules", metavar="A,B,...", help="Schedules to run; speedups are of the last "
            "over each of the others.", rich_help_panel="Algorithm")] = ",".join(COMPARED),
        iterations: options.Sweeps = 1,
        weights: options.Weights = None,
        preset: options.Preset = "default",
        set_: options.Set = None,
        dram: options.Dram = None,
        launch_cycles: options.LaunchCycles = None,
        jobs: options.Jobs = os.cpu_count() or 1,
        results: options.Results = None):
    """Run every schedule on every graph, check each result, and print cycles and speedups.

    Searches start at the vertex with the most out-arcs. The means are geometric. Speedups count
    the cycles of launches, and the first table does not.
    """
    from hw.control import launch_cycles as port_cycles
    from sw import algorithms as known_algorithms
    from sw import schedules as known_schedules
    from sw.benchmarks import schedules as comparison
    from sw.benchmarks.batch import Batch, notes_of
    from sw.benchmarks.executors import Processes

    from . import files
    from .execute import console

    names = options.names(schedules, "--schedules")
    config, memory = options.hardware(preset, set_, names), options.memory(dram)
    files.distinct({"--results": results}, graphs or ())
    files.check(results)
    chosen = options.graphs(graphs, folder, largest)
    if rmat:
        chosen += [(graph, False) for graph in comparison.RMAT]
    if not chosen:
        raise UserError("name a graph, --folder or --rmat")
    for name in names:
        known_schedules.make(name).check_config(config)
    batch = Batch(
        comparison.cases(
            chosen, options.names(algorithms, "--algorithms", known_algorithms.names()),
            options.names(directions, "--directions", ["pull", "push"]), names, iterations,
            weights),
        config, memory, results)
    out, err = console(), console(stderr=True)

    def report(case, record, done, total):
        outcome = (f"{record['cycles']:,} cycles" if "cycles" in record
                   else record.get("error") or record["refused"])
        plan = case.plan
        err.print(f"{done}/{total} {plan.algorithm} {plan.direction} {plan.schedule} "
                  f"{pathlib.Path(case.graph).name}: {outcome}", markup=False)

    batch.run(Processes(jobs), report)
    cost = port_cycles(config) if launch_cycles is None else launch_cycles
    _print_tables(out, batch.records, names, cost)
    _print_means(out, batch.records, names, cost)
    for note in notes_of(batch.records.values()):
        out.print(f"note: {note}", soft_wrap=True)
    failed = [case for case, record in batch.records.items() if "error" in record]
    if failed:
        raise typer.Exit(1)


def _print_tables(out, records, names, cost):
    """A table of cycles, one of the cycles with a ``cost`` for each launch, and one of these for
    each schedule over those of the last."""
    from sw.benchmarks.batch import total_cycles
    from sw.benchmarks.schedules import row_key
    rows = {}
    for case, record in records.items():
        rows.setdefault(row_key(case), {})[case.plan.schedule] = record
    last = names[-1]
    cycles, totals, speedups = _table(names), _table(names), _table(names[:-1])
    for (graph, *plan), row in sorted(rows.items()):
        title = (pathlib.Path(graph).name, *plan)
        kernels = {name: record["cycles"] for name, record in row.items() if "cycles" in record}
        measured = {name: total_cycles(row[name], cost) for name in kernels}
        for table, figures in ((cycles, kernels), (totals, measured)):
            table.add_row(*title, *(
                f"{figures[name]:,}" if name in figures
                else "failed" if "error" in row[name] else "-" for name in names))
        speedups.add_row(*title, *(f"{measured[name] / measured[last]:.2f}x"
                                   if name in measured and last in measured else "-"
                                   for name in names[:-1]))
    out.print("Cycles of kernels and of the SCU:")
    out.print(cycles)
    out.print(f"\nCycles in all, with {cost:,} for each launch:")
    out.print(totals)
    if len(names) > 1:
        out.print(f"\nSpeedup of {last} over the others:")
        out.print(speedups)


def _table(names):
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in ("graph", "algorithm", "direction"):
        table.add_column(title, no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _print_means(out, records, names, cost):
    from sw.benchmarks.schedules import DIRECTIONS, geometric_mean, speedups
    last = names[-1]
    for name in names[:-1]:
        ratios = speedups(records, name, last, cost)
        parts = []
        for algorithm, directions in DIRECTIONS.items():
            for direction in directions:
                some = [ratio for (_, a, d), ratio in ratios.items()
                        if (a, d) == (algorithm, direction)]
                if some:
                    parts.append(f"{algorithm} {direction} {geometric_mean(some):.2f}x")
        own = [ratio for (_, a, d), ratio in ratios.items() if DIRECTIONS[a][0] == d]
        if own:
            parts.append(f"each algorithm in its own direction {geometric_mean(own):.2f}x")
        parts.append(f"all {geometric_mean(ratios.values()):.2f}x")
        out.print(f"{last} over {name}: " + "; ".join(parts))
