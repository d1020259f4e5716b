"""``graphloom bench cores``: speedups of many cores, and what limits them."""

import os
import pathlib
from typing import Annotated

import typer

from sw.errors import UserError

from . import options


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("cores", epilog="Example: graphloom bench cores --set l2_banks=4 --cores 1,2,4 "
                                "--schedules weaver")(_cores)


def _cores(
        graphs: Annotated[list[str] | None, typer.Argument(
            metavar="[GRAPH]...", help="Graphs to run on; an R-MAT, a uniform and a road graph if "
            "left out.", show_default=False)] = None,
        folder: options.Folder = None,
        largest: options.Largest = 110_000,
        cores: Annotated[str, typer.Option(
            "--cores", metavar="A,B,...", help="Numbers of cores; speedups are over the first.",
            rich_help_panel="Hardware")] = "1,2,4,6",
        algorithms: options.Algorithms = "pagerank,bfs",
        schedules: Annotated[str, typer.Option(
            "--schedules", metavar="A,B,...", rich_help_panel="Algorithm")] = "vm,em,weaver",
        splits: Annotated[str, typer.Option(
            "--splits", metavar="A,B", help="How the cores share the work.",
            rich_help_panel="Algorithm")] = "static,counter",
        iterations: options.Sweeps = 1,
        weights: options.Weights = None,
        preset: options.Preset = "default",
        set_: options.Set = None,
        dram: options.Dram = None,
        launch_cycles: options.LaunchCycles = None,
        jobs: options.Jobs = os.cpu_count() or 1,
        results: options.Results = None):
    """Run on several numbers of cores, check each result, and print speedups and their limits.

    Each algorithm runs in its own direction; searches start at the vertex with the most out-arcs.
    Cycles and speedups count the launches.
    """
    from hw.control import launch_cycles as port_cycles
    from sw import algorithms as known_algorithms
    from sw import schedules as known_schedules
    from sw.benchmarks import cores as comparison
    from sw.benchmarks.batch import Batch, notes_of
    from sw.benchmarks.executors import Processes
    from sw.kernels.split import SPLITS

    from . import files
    from .execute import console

    names = options.names(schedules, "--schedules")
    config, memory = options.hardware(preset, set_, names), options.memory(dram)
    if not config.counters:
        raise UserError("bench cores needs the counters: --set counters=true")
    files.distinct({"--results": results}, graphs or ())
    files.check(results)
    for name in names:
        known_schedules.make(name).check_config(config)
    configs = [config.replace(cores=number, name=config.name)
               for number in options.numbers(cores, "--cores")]
    cases = comparison.cases(
        options.graphs(graphs, folder, largest) or [(graph, False) for graph in comparison.GRAPHS],
        options.names(algorithms, "--algorithms", known_algorithms.names()), names,
        options.names(splits, "--splits", SPLITS), iterations, weights)
    out, err = console(), console(stderr=True)
    records = {}
    for each in configs:
        batch = Batch(cases, each, memory, results)

        def report(case, record, done, total):
            outcome = f"{record['cycles']:,} cycles" if "cycles" in record else record["error"]
            plan = case.plan
            err.print(f"{done}/{total} on {each.cores} cores: {plan.algorithm} {plan.schedule} "
                      f"{plan.split} {pathlib.Path(case.graph).name}: {outcome}", markup=False)

        batch.run(Processes(jobs), report)
        records[each] = batch.records
    cost = port_cycles(config) if launch_cycles is None else launch_cycles
    out.print(_table(cases, records, memory, cost))
    out.print(f"Cycles have {cost:,} for each launch.")
    out.print(f"Shares of all cycles on {configs[-1].cores} cores:")
    for name, text in comparison.LIMITS.items():
        out.print(f"  {name:8} {text}")
    for note in notes_of(record for each in records.values() for record in each.values()):
        out.print(f"note: {note}", soft_wrap=True)
    if any("error" in record for each in records.values() for record in each.values()):
        raise typer.Exit(1)


def _table(cases, records, memory, cost):
    from rich import box
    from rich.table import Table

    from sw.benchmarks.batch import total_cycles
    from sw.benchmarks.cores import LIMITS, limits
    configs = list(records)
    first, last = configs[0], configs[-1]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in ("graph", "algorithm", "schedule", "split"):
        table.add_column(title, no_wrap=True)
    table.add_column(f"cycles on {first.cores}", justify="right", no_wrap=True)
    for config in configs[1:]:
        table.add_column(f"on {config.cores}", justify="right", no_wrap=True)
    for name in LIMITS:
        table.add_column(name, justify="right", no_wrap=True)
    for case in cases:
        found = [records[config][case] for config in configs]
        cycles = [total_cycles(record, cost) if "cycles" in record else None for record in found]
        cells = [f"{cycles[0] / each:.2f}x" if cycles[0] and each else "failed"
                 for each in cycles[1:]]
        if cycles[-1]:
            shares = limits(records[last][case]["counters"], last, memory).values()
            cells += [f"{100 * share:.0f} %" for share in shares]
        plan = case.plan
        table.add_row(pathlib.Path(case.graph).name, plan.algorithm, plan.schedule, plan.split,
                      f"{cycles[0]:,}" if cycles[0] else "failed", *cells)
    return table
