"""``graphloom run``: one run, checked against golden."""

from typing import Annotated

import typer

from . import options


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("run", epilog="Example: graphloom run bfs road:side=64,seed=1 --source 5 "
                              "--schedule weaver --output depth.npz --json run.json")(_run)


@options.with_plan
def _run(
        algorithm: options.Algorithm,
        graph: options.GraphIfAny = None,
        *,
        choices,
        schedule: Annotated[str | None, typer.Option(
            "--schedule", metavar="NAME", help="Distribution of the work to lanes: vm, vwc, em or "
            "weaver; compact, scu, scu-enhanced: by stream compaction.",
            rich_help_panel="Algorithm", show_default="weaver")] = None,
        weights: options.Weights = None,
        input_format: options.InputFormat = None,
        weight_scale: options.WeightScale = None,
        no_weights: options.NoWeights = False,
        undirected: options.Undirected = False,
        simplify: options.Simplify = False,
        seed: options.Seed = None,
        device: options.Device = "simulator",
        preset: options.BoardPreset = None,
        set_: options.Set = None,
        dram: options.Dram = None,
        max_cycles: options.MaxCycles = None,
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
    """Run an algorithm on a graph, check the result against the golden model, print counters."""
    plan, graph = options.asked(algorithm, graph, choices | {"schedule": schedule,
                                                             "phases": phases or None})
    where, config = options.place(device, preset, set_, [plan], time_limit=time_limit,
                                  dram=dram, wave=wave, trace=trace)
    memory = options.memory(dram)

    from . import files, report, tracing
    from .execute import Job, console
    files.distinct({"--output": output, "--json": json, "--wave": wave, "--trace": trace}, [graph])
    files.check(output, (".npz",))
    recorder = tracing.recorder(trace, trace_cycles, config)
    job = Job([plan], graph, config=config, dram=memory, board=where, weights=weights,
              undirected=undirected, simplify=simplify, seed=seed, input_format=input_format,
              weight_scale=weight_scale, no_weights=no_weights, max_cycles=max_cycles, json=json,
              wave=wave, recorder=recorder)
    try:
        result = job.run()
    finally:
        # A run that fails leaves what led to it.
        tracing.write(trace, recorder)
    job.write()
    if output is not None:
        files.write_arrays(output, result.outputs | result.derived)
    out = console()
    out.print(job.title())
    out.print(report.runs_table([result]))
    if counters:
        out.print(report.counters_table(result.counters))
    if (counters or phases) and result.phases.size:
        out.print(report.phases_table(result))
    out.print(f"{', '.join(result.outputs)}: bit-identical to the golden model (checksum "
              f"{result.checksum[:16]})")
