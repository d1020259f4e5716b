"""``graphloom run``: one run, with its result checked."""

import functools
from typing import Annotated

import typer

from sw.errors import UserError

from . import options
from .tuned import DEFAULT, TUNED, find


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("run", epilog="Example: graphloom run bfs road:side=64,seed=1 --source 5 "
                              "--schedule weaver --output depth.npz --json run.json")(_run)


@options.with_plan
@options.with_reading
def _run(
        algorithm: options.Algorithm,
        graph: options.GraphIfAny = None,
        *,
        choices,
        schedule: Annotated[str | None, typer.Option(
            "--schedule", metavar="NAME", help="Distribution of the work to lanes: vm, vwc, em or "
            "weaver; compact, scu, scu-enhanced, scu-stream: by stream compaction. tuned: the "
            "whole plan that `graphloom tune` has found.",
            rich_help_panel="Algorithm", show_default="weaver")] = None,
        tuned: Annotated[str | None, typer.Option(
            "--tuned", metavar="FILE", help="The results of `graphloom tune` for --schedule tuned.",
            rich_help_panel="Algorithm", show_default=DEFAULT)] = None,
        vm: Annotated[str, typer.Option(
            "--vm", metavar="NAME", help="Machine for a program of the language: rtl is the "
            "device; cpu, cuda and reference run it elsewhere (docs/language.md).",
            rich_help_panel="Algorithm")] = "rtl",
        apply: Annotated[list[str] | None, typer.Option(
            "--apply", metavar="LABEL=SCHEDULE", help="A schedule of the scheduling language "
            "for a labelled loop or operator of a program, such as s0:s1=push; may be repeated "
            "(docs/language.md).",
            rich_help_panel="Algorithm", show_default=False)] = None,
        verify: Annotated[bool, typer.Option(
            "--verify/--no-verify", help="With --vm: check the result.",
            rich_help_panel="Algorithm")] = True,
        weights: options.Weights = None,
        reading,
        undirected: options.Undirected = False,
        simplify: options.Simplify = False,
        seed: options.Seed = None,
        device: options.Device = "simulator",
        preset: options.BoardPreset = None,
        set_: options.Set = None,
        dram: options.Dram = None,
        functional: options.Functional = False,
        max_cycles: options.MaxCycles = None,
        launch_cycles: options.LaunchCycles = None,
        time_limit: options.TimeLimit = None,
        output: options.Output = None,
        json: options.Json = None,
        wave: options.Wave = None,
        trace: options.Trace = None,
        trace_cycles: options.TraceCycles = None,
        counters: Annotated[bool, typer.Option(
            "--counters", help="Print every counter.", rich_help_panel="Files")] = False,
        phases: Annotated[bool, typer.Option(
            "--phases", help="Print the share of each phase in the warps' time. The kernels then "
            "mark every phase, which costs cycles.", rich_help_panel="Files")] = False):
    """Run an algorithm on a graph, check the result, print counters.

    The result of a program is compared with the interpreter of its text. The result of a named
    algorithm is also checked by what is asked of it, such as depths by the edges.
    """
    choices |= {"schedule": schedule, "phases": phases or None}
    options.cycleless(functional, wave=wave, trace=trace, trace_cycles=trace_cycles, dram=dram,
                      max_cycles=max_cycles, launch_cycles=launch_cycles, phases=phases)
    if functional and vm != "rtl":
        raise UserError(f"--functional applies to the device, not to --vm {vm}; leave out one of "
                        "the two")
    if vm != "rtl":
        from .run_program import run_program
        plan, graph = options.asked(algorithm, graph, choices)
        run_program(vm, plan, graph, apply=apply or [], json=json, output=output, seed=seed,
                    weights=weights, verify=verify, undirected=undirected, simplify=simplify,
                    **reading)
        return
    place = functools.partial(options.place, device, preset, set_, time_limit=time_limit,
                              dram=dram, wave=wave, trace=trace, functional=functional)
    memory, loaded = options.memory(dram), None
    if apply and schedule is not None:
        raise UserError(f"--apply {apply[0]} chooses the schedule: leave out --schedule {schedule}")
    if schedule == TUNED:
        where, config = place([])
        plan, loaded = _tuned(algorithm, graph, choices, tuned, config, memory, dict(
            weights=weights, undirected=undirected, simplify=simplify, seed=seed, **reading),
            launch_cycles)
    else:
        if tuned is not None:
            raise UserError(f"--tuned {tuned}: give --schedule {TUNED} as well")
        plan, graph = options.asked(algorithm, graph, choices)
        if apply:
            plan = _applied(plan, apply)
        where, config = place([plan])

    from sw.benchmarks.measurement import inputs

    from . import files, tables, tracing
    from .execute import Job, console
    files.distinct({"--output": output, "--json": json, "--wave": wave, "--trace": trace},
                   inputs(plan, graph))
    files.check(output, (".npz",))
    recorder = tracing.recorder(trace, trace_cycles, config)
    job = Job([plan], graph, config=config, dram=memory, board=where, weights=weights,
              undirected=undirected, simplify=simplify, seed=seed, reading=reading,
              max_cycles=max_cycles, json=json,
              wave=wave, recorder=recorder, loaded=loaded, launch_cycles=launch_cycles,
              functional=functional)
    try:
        result = job.run()
    finally:
        # A run that fails leaves what led to it.
        tracing.write(trace, recorder, job.command(plan))
    job.write()
    if output is not None:
        files.write_results(output, result.outputs | result.derived, job.graph)
    out = console()
    out.print(job.title())
    out.print(tables.runs_table([result]))
    for note in result.notes:
        out.print(f"note: {note}", soft_wrap=True)
    if counters:
        out.print(tables.counters_table(result.counters))
    if (counters or phases) and result.phases.size:
        out.print(tables.phases_table(result))
    out.print(f"{', '.join(result.outputs)}: {result.verdict} (checksum {result.checksum[:16]})")


def _applied(plan, texts):
    """The plan with schedules of the scheduling language. Raises UserError."""
    from sw.lang.schedule import read_schedules
    from sw.runtime.plan import Plan
    from sw.runtime.scheduled import scheduled

    from .run_program import program_of
    if not isinstance(plan, Plan):
        raise UserError(f"--apply {texts[0]}: the plan {plan.text} is a hybrid already")
    return scheduled(plan, program_of("rtl", plan.algorithm)[1], read_schedules(texts))


def _tuned(algorithm, graph, choices, path, config, memory, loading_options, launch_cycles):
    """The tuned plan, and the graph. Raises UserError."""
    from sw import algorithms
    from sw.tune.runs import RunSetting

    from .execute import loading, seeded_spec
    if graph is None:
        raise UserError("Missing argument 'GRAPH'.")
    given = loading(algorithms.find(algorithm), **loading_options)
    spec = seeded_spec(graph, given["seed"], given["weights"])
    return find(path, algorithm, choices | {"schedule": None},
                RunSetting(spec, tuple(given.items()), config, memory,
                           launch_cycles=launch_cycles), options.note)
