"""``graphloom compare``: the same work under several schedules, side by side."""

from typing import Annotated

import typer

from . import options
from .commands import app
from .completion import many
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
            metavar="A,B,...", help="Schedules to run: {schedules}. Speedups are over the first.",
            rich_help_panel="Algorithm", autocompletion=many("schedules"),
            show_default="the best in software and the best with each kind of unit; those that "
            "cannot run the plan are left out")] = None,
        details: Annotated[bool, typer.Option(
            "--details", help="Print all figures: a column for each schedule.",
            rich_help_panel="Files")] = False):
    """Run an algorithm under several schedules, check each result, and compare the costs.

    The fastest is the first row. Without --schedules, speedups are over the best schedule in
    software. A schedule that needs another unit than the hardware has runs on hardware with its own
    unit, where all else is the same. With --details the table then has the unit of each, and the
    lookup tables (LUT4) that the unit adds to a core of the preset fpga with as many lanes.
    """
    plan = work.plan()
    plans, target, configs = _chosen(plan, machine, schedules)

    from sw.study.benchmarks.measurement import inputs

    from .execute import Job
    outputs.check(inputs(plan, work.source.spec))
    job = Job(plans, work.source, target, outputs, configs=configs, skip=schedules is None)
    job.run_all()
    job.write()
    _print(job, schedules is None, details)


def _chosen(plan, machine, schedules):
    """The plans, their common target, and the hardware of each. On a board all have the board's:
    None. Raises UserError."""
    from sw.compile.plan import as_plan
    from sw.compile.schedules import compared, make
    if schedules is None:
        target = machine.target()
        # The units of a board stay.
        chosen = compared(target.config, options.said(machine.set_) if target.board is None else
                          ("gather", "scu"))
        return ([as_plan(plan, schedule=name) for name, _ in chosen], target,
                [config for _, config in chosen])
    plans = [as_plan(plan, schedule=name) for name in options.names(schedules, "--schedules")]
    target = machine.target([plan for plan in plans if not any(
        make(side.schedule).needs_unit for side in plan.sides.values())])
    return plans, target, (options.own_hardware(target.config, plans, machine.set_)
                           if target.board is None else None)


def _rival(runs, chosen):
    """The run over which the others have a speedup: the first, or if the schedules are ``chosen``
    here the fastest in software."""
    from sw.compile.schedules import in_software
    software = [run for run in runs if chosen and all(
        in_software(side.schedule) for side in run[1].plan.sides.values())]
    return min(software or runs[:1], key=lambda run: run[1].total_cycles)


def _print(job, chosen, details):
    """Print the table, and what is to be known of the schedules."""
    from . import tables
    from .execute import console
    out = console()
    out.say(job.title())
    runs = [(entry.name, result) for entry, result in zip(job.entries, job.results)]
    rival = _rival(runs, chosen)
    out.print(tables.compared_table(runs, rival))
    if details:
        out.print()
        out.print(tables.runs_table(runs, rival))
    if line := job.hardware_line():
        out.say(line)
    for name, reason in job.skipped.items():
        out.say(f"{name} is left out: {reason}")
    out.notes(dict.fromkeys(note for result in job.results for note in result.notes))
    checksums = {result.checksum[:16] for result in job.results}
    out.say(f"All {len(job.results)} results are {job.results[0].verdict} (checksum "
            f"{', '.join(sorted(checksums))})")
