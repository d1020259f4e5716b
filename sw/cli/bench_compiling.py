"""``graphloom bench compiling``: the time that the compiler takes for each program."""

from typing import Annotated

import typer

from . import benches, options


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("compiling", epilog="Example: graphloom bench compiling --schedule em --json "
                "compiling.json")(_compiling)


def _compiling(
        repeat: Annotated[int, typer.Option(
            "--repeat", metavar="N", min=1, help="Measured runs of each program.")] = 15,
        schedule: Annotated[str, typer.Option(
            "--schedule", metavar="NAME", help="Schedule of the plans.")] = "weaver",
        preset: options.Preset = "default",
        set_: options.Set = None,
        json: options.Json = None):
    """Measure how long reading, planning and making the kernels of each shipped program take.

    Times are medians, in milliseconds of the processor, so other work on the computer counts
    little. A run that does not count goes before, with what is done once for a graph.
    """
    config = options.hardware(preset, set_, [schedule])

    from sw.lang import programs
    from sw.study.benchmarks.compiling import GRAPH, STEPS, measured

    from . import files
    from .execute import console
    files.check(json, (".json",))
    found = {name: measured(name, config, schedule, repeat) for name in programs.names()}
    table = benches.table(["program"], [*(f"{step} (ms)" for step in STEPS), "bytes"])
    for name, each in found.items():
        table.add_row(name, *(f"{each[step]:.1f}" for step in STEPS), f"{each['bytes']:,}")
    out = console()
    out.say(f"schedule {schedule} on {GRAPH}, hardware {config.name}: medians of {repeat}")
    out.print(table)
    if json is not None:
        files.write_json(json, {"schedule": schedule, "graph": GRAPH, "repeat": repeat,
                                "configuration": options.fields(config), "programs": found})
