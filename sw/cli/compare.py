"""``graphloom compare``: the same work under several schedules, side by side."""

from typing import Annotated

import typer

from sw.benchmarks.schedules import COMPARED

from . import options


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("compare", epilog="Example: graphloom compare pagerank "
                "rmat:scale=12,degree=16,seed=1 --schedules vm,em,weaver")(_compare)


@options.with_plan
@options.with_reading
def _compare(
        algorithm: options.Algorithm,
        graph: options.GraphIfAny = None,
        *,
        choices,
        schedules: Annotated[str | None, typer.Option(
            "--schedules", metavar="A,B,...", help="Schedules to run; speedups are over the "
            "first. Without this option, those of the default that cannot run the plan are left "
            "out.", rich_help_panel="Algorithm", show_default=",".join(COMPARED))] = None,
        weights: options.Weights = None,
        reading,
        undirected: options.Undirected = False,
        simplify: options.Simplify = False,
        seed: options.Seed = None,
        device: options.Device = "simulator",
        preset: options.BoardPreset = None,
        set_: options.Set = None,
        dram: options.Dram = None,
        max_cycles: options.MaxCycles = None,
        launch_cycles: options.LaunchCycles = None,
        time_limit: options.TimeLimit = None,
        json: options.Json = None):
    """Run an algorithm under several schedules, check each result, and compare the costs.

    A schedule that needs another unit than the hardware has runs on hardware with its own unit,
    where all else is the same. The table then has the unit of each, and the lookup tables (LUT4)
    that the unit adds to a core of the preset fpga with as many lanes.
    """
    from sw.runtime.plan import as_plan
    from sw.schedules import make
    names = list(COMPARED) if schedules is None else options.names(schedules, "--schedules")
    plan, graph = options.asked(algorithm, graph, choices)
    plans = [as_plan(plan, schedule=name) for name in names]
    others = [plan for plan in plans if not any(
        make(side.schedule).needs_unit for side in plan.sides.values())]
    where, config = options.place(device, preset, set_, others, time_limit=time_limit, dram=dram)
    configs = options.own_hardware(config, plans, set_) if where is None else None
    memory = options.memory(dram)

    from sw.benchmarks.measurement import inputs

    from . import files, tables
    from .execute import Job, console
    files.distinct({"--json": json}, inputs(plan, graph))
    job = Job(plans, graph, config=config, configs=configs, dram=memory, board=where,
              weights=weights,
              undirected=undirected, simplify=simplify, seed=seed, reading=reading,
              max_cycles=max_cycles, json=json,
              skip=schedules is None, launch_cycles=launch_cycles)
    for _ in job.plans:
        job.run()
    job.write()
    out = console()
    out.print(job.title())
    for line in job.hardware_lines():
        out.print(line, soft_wrap=True)
    for name, reason in job.skipped.items():
        out.print(f"{name} is left out: {reason}", soft_wrap=True)
    out.print(tables.runs_table(job.results))
    for note in dict.fromkeys(note for result in job.results for note in result.notes):
        out.print(f"note: {note}", soft_wrap=True)
    checksums = {result.checksum[:16] for result in job.results}
    out.print(f"All {len(job.results)} results are {job.results[0].verdict} (checksum "
              f"{', '.join(sorted(checksums))})")
