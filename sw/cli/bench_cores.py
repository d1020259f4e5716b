"""``graphloom bench cores``: speedups of many cores, and what limits them."""

import dataclasses
import pathlib
from typing import Annotated

import typer

from . import benches, options


__all__ = ["register"]


def register(app):
    """Add the command."""
    benches.add(app, "cores", _Options, _cores, epilog="Example: graphloom bench cores --set "
                "l2_banks=4 --cores 1,2,4 --schedules weaver")


@dataclasses.dataclass(kw_only=True)
class _Options(benches.ManyRuns):
    graphs: Annotated[list[str] | None, typer.Argument(
        metavar="[GRAPH]...", help="Graphs to run on; an R-MAT, a uniform and a road graph if "
        "left out.", show_default=False)] = None
    cores: Annotated[str, typer.Option(
        "--cores", metavar="A,B,...", help="Numbers of cores; speedups are over the first.",
        rich_help_panel="Hardware")] = "1,2,4,6"
    in_step: Annotated[bool, typer.Option(
        "--in-step", help="Give each core the same share of the L2, of the memory ports and of the "
        "bandwidth, whatever their number: those of the cores of the preset.",
        rich_help_panel="Hardware")] = False
    schedules: Annotated[str, typer.Option(
        "--schedules", metavar="A,B,...", rich_help_panel="Algorithm")] = "vm,em,weaver"
    splits: Annotated[str, typer.Option(
        "--splits", metavar="A,B", help="How the cores share the work.",
        rich_help_panel="Algorithm")] = "static,counter"
    launch_cycles: options.LaunchCycles = None


def _cores(asked):
    """Run on several numbers of cores, check each result, and print speedups and their limits.

    Each algorithm runs in its own direction; searches start at the vertex with the most out-arcs.
    Cycles and speedups count the launches.
    """
    from hw.control import launch_cycles
    from sw.compile import schedules as known_schedules
    from sw.study.benchmarks import cores as comparison
    from sw.compile.kernels.split import SPLITS

    from .execute import console
    names = options.names(asked.schedules, "--schedules")
    config, memory = asked.machine(names, "bench cores")
    asked.check_files(asked.graphs)
    for name in names:
        known_schedules.make(name).check_config(config)
    machines = dict(comparison.in_step(config, memory, number) if asked.in_step
                    else (config.replace(cores=number, name=config.name), memory)
                    for number in options.numbers(asked.cores, "--cores"))
    grid = comparison.grid({
        "graph": asked.pairs(asked.graphs, comparison.GRAPHS), "algorithm": asked.chosen,
        "schedule": names, "split": options.names(asked.splits, "--splits", SPLITS)},
        asked.iterations, asked.weights)

    def describe(case, cores):
        plan = case.plan
        return (f" on {cores} cores: {plan.algorithm} {plan.schedule} {plan.split} "
                f"{pathlib.Path(case.graph).name}")
    every = {each: asked.measure(grid, each, own,
                                 lambda case, each=each: describe(case, each.cores))
             for each, own in machines.items()}
    cost = launch_cycles(config) if asked.launch_cycles is None else asked.launch_cycles
    out = console()
    last, of_last = list(machines.items())[-1]
    out.print(_table(every, of_last, cost))
    out.print(f"Cycles have {cost:,} for each launch.")
    out.print(f"Shares of all cycles on {last.cores} cores:")
    for name, text in comparison.LIMITS.items():
        out.print(f"  {name:8} {text}")
    benches.end(out, [record for found in every.values() for record in found.records.values()])


def _table(every, memory, cost):
    from sw.study.benchmarks.cores import LIMITS, limits
    from sw.study.benchmarks.schedules import totals
    first, *more = every
    last = [first, *more][-1]
    table = benches.table(("graph", "algorithm", "schedule", "split"), (
        f"cycles on {first.cores}", *(f"on {config.cores}" for config in more), *LIMITS))
    cycles = {config: totals(found, cost) for config, found in every.items()}
    shares = every[last].value("counters").map(
        lambda counters: counters and limits(counters, last, memory).values())
    over = [list(cycles[first] / cycles[config]) for config in more]
    for (graph, *plan), base, found, *ratios in zip(cycles[first].points, cycles[first], shares,
                                                    *over):
        table.add_row(pathlib.Path(graph[0]).name, *plan,
                      "failed" if base is None else f"{base:,}",
                      *("failed" if ratio is None else f"{ratio:.2f}x" for ratio in ratios),
                      *(("-",) * len(LIMITS) if found is None else
                        (f"{100 * share:.0f} %" for share in found)))
    return table
