"""``graphloom compare``: the same work under several schedules, side by side."""

from typing import Annotated

import typer

from sw.study.benchmarks.schedules import COMPARED

from . import options
from .commands import app
from .parameters import ProgramCommand
from .records import with_machine, with_outputs, with_work


@app.command("compare", cls=ProgramCommand, epilog="Example: graphloom compare pagerank "
             "rmat:scale=12,degree=16,seed=1 --schedules vm,em,weaver")
@with_work()
@with_machine("device", "dram", "max_cycles", "launch_cycles", "time_limit")
@with_outputs("json")
def _compare(
        work,
        machine,
        outputs,
        *,
        schedules: Annotated[str | None, typer.Option(
            metavar="A,B,...", help="Schedules to run; speedups are over the first. Without this "
            "option, those of the default that cannot run the plan are left out.",
            rich_help_panel="Algorithm", show_default=",".join(COMPARED))] = None):
    """Run an algorithm under several schedules, check each result, and compare the costs.

    A schedule that needs another unit than the hardware has runs on hardware with its own unit,
    where all else is the same. The table then has the unit of each, and the lookup tables (LUT4)
    that the unit adds to a core of the preset fpga with as many lanes.
    """
    from sw.compile.plan import as_plan
    from sw.compile.schedules import make
    names = list(COMPARED) if schedules is None else options.names(schedules, "--schedules")
    plan = work.plan()
    plans = [as_plan(plan, schedule=name) for name in names]
    others = [plan for plan in plans if not any(
        make(side.schedule).needs_unit for side in plan.sides.values())]
    target = machine.target(others)
    configs = (options.own_hardware(target.config, plans, machine.set_) if target.board is None
               else None)

    from sw.study.benchmarks.measurement import inputs

    from .execute import Job
    outputs.check(inputs(plan, work.source.spec))
    job = Job(plans, work.source, target, outputs, configs=configs, skip=schedules is None)
    for _ in job.plans:
        job.run()
    job.write()
    _print(job)


def _print(job):
    """Print the table, and what is to be known of the schedules."""
    from . import tables
    from .execute import console
    out = console()
    out.print(job.title())
    for line in job.hardware_lines():
        out.say(line)
    for name, reason in job.skipped.items():
        out.say(f"{name} is left out: {reason}")
    out.print(tables.runs_table(job.results))
    out.notes(dict.fromkeys(note for result in job.results for note in result.notes))
    checksums = {result.checksum[:16] for result in job.results}
    out.print(f"All {len(job.results)} results are {job.results[0].verdict} (checksum "
              f"{', '.join(sorted(checksums))})")
