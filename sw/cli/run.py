"""``graphloom run``: one run, with its result checked."""

from typing import Annotated

import typer

from base.errors import UserError

from . import options
from .commands import app
from .completion import one
from .parameters import ProgramCommand
from .records import with_machine, with_outputs, with_work
from .tuned import DEFAULT, TUNED, find


@app.command("run", cls=ProgramCommand, epilog="Examples: graphloom run bfs road:side=64,seed=1 "
             "--source 5 --schedule weaver --output depth.npz --json run.json; graphloom run bfs "
             "--help")
@with_work("schedule", "phases")
@with_machine("device", "dram", "functional", "max_cycles", "launch_cycles", "time_limit")
@with_outputs("output", "json", "wave", "trace", "trace_cycles")
def _run(
        work,
        machine,
        outputs,
        *,
        tuned: Annotated[str | None, typer.Option(
            metavar="FILE", help="The results of `graphloom tune` for --schedule tuned.",
            rich_help_panel="Algorithm", show_default=DEFAULT)] = None,
        vm: Annotated[str, typer.Option(
            metavar="NAME", help="Machine for a program of the language: rtl is the device; cpu, "
            "cuda and reference run it elsewhere (docs/language.md).",
            rich_help_panel="Algorithm", autocompletion=one("machines"))] = "rtl",
        apply: Annotated[list[str] | None, typer.Option(
            metavar="LABEL=SCHEDULE", help="A schedule of the scheduling language for a labelled "
            "loop or operator of a program, such as s0:s1=push; may be repeated "
            "(docs/language.md).", rich_help_panel="Algorithm")] = None,
        verify: Annotated[bool, typer.Option(
            "--verify/--no-verify", help="With --vm: check the result.",
            rich_help_panel="Algorithm")] = True,
        counters: Annotated[bool, typer.Option(
            "--counters", help="Print every counter.", rich_help_panel="Files")] = False):
    """Run an algorithm on a graph, check the result, print counters.

    The result of a program is compared with the interpreter of its text. The result of a named
    algorithm is also checked by what is asked of it, such as depths by the edges.
    """
    phases = work.fields.get("phases", False)
    machine.check(wave=outputs.wave, trace=outputs.trace, trace_cycles=outputs.trace_cycles,
                  phases=phases)
    if machine.functional and vm != "rtl":
        raise UserError(f"--functional applies to the device, not to --vm {vm}; leave out one of "
                        "the two")
    if vm != "rtl":
        from .run_program import run_program
        run_program(vm, work, outputs, apply=apply or [], verify=verify)
        return
    plan, target, loaded = _planned(work, machine, outputs, tuned, apply)

    from sw.study.benchmarks.measurement import inputs

    from . import files, tracing
    from .execute import Job
    outputs.check(inputs(plan, work.source.spec))
    recorder = tracing.recorder(outputs.trace, outputs.trace_cycles, target.config)
    job = Job([plan], work.source, target, outputs, recorder=recorder, loaded=loaded)
    try:
        result = job.run()
    finally:
        # A run that fails leaves what led to it.
        tracing.write(outputs.trace, recorder, job.command())
    job.write()
    if outputs.output is not None:
        files.write_results(outputs.output, result.outputs | result.derived, job.graph)
    _print(job, result, counters, phases)


def _planned(work, machine, outputs, tuned, apply):
    """The plan, its target, and the graph if it is loaded. Raises UserError."""
    schedule = work.fields.get("schedule")
    simulated = {"wave": outputs.wave, "trace": outputs.trace}
    if apply and schedule is not None:
        raise UserError(f"--apply {apply[0]} chooses the schedule: leave out --schedule {schedule}")
    if schedule == TUNED:
        target = machine.target(**simulated)
        plan, loaded = find(tuned, work, target, options.note)
        return plan, target, loaded
    if tuned is not None:
        raise UserError(f"--tuned {tuned}: give --schedule {TUNED} as well")
    plan = work.plan()
    if apply:
        plan = _applied(plan, apply)
    return plan, machine.target([plan], **simulated), None


def _print(job, result, counters, phases):
    """Print the title, the table of counters, and the verdict."""
    from . import tables
    from .execute import console
    out = console()
    out.say(job.title())
    out.print(tables.runs_table([(result.schedule, result)]))
    out.say(result.lowering)
    out.notes(result.notes)
    if counters:
        out.print(tables.counters_table(result.counters))
    if (counters or phases) and result.phases.size:
        out.print(tables.phases_table(result))
    tables.print_heads(out, job.heads())
    out.print()
    out.say(f"{', '.join(result.outputs)}: {result.verdict} (checksum {result.checksum[:16]})")


def _applied(plan, texts):
    """The plan with schedules of the scheduling language. Raises UserError."""
    from sw.lang.schedule import read_schedules
    from sw.compile.plan import Plan
    from sw.compile.scheduled import scheduled

    from .run_program import program_of
    if not isinstance(plan, Plan):
        raise UserError(f"--apply {texts[0]}: the plan {plan.text} is a hybrid already")
    return scheduled(plan, program_of("rtl", plan.algorithm)[1], read_schedules(texts))
