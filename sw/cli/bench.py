"""``graphloom bench``: how fast Graphloom itself is on this machine."""

from typing import Annotated

import typer

from . import options


__all__ = ["app"]


app = typer.Typer(help="How fast Graphloom itself is on this machine.", no_args_is_help=True)


@app.callback()
def _group():
    """How fast Graphloom itself is on this machine."""


@app.command("sim", epilog="Example: graphloom bench sim --preset fpga")
def _sim(
        graph: Annotated[str, typer.Option(
            "--graph", metavar="GRAPH", help="What to run pagerank on.")]
        = "rmat:scale=12,degree=16,seed=1",
        schedule: Annotated[str, typer.Option(
            "--schedule", metavar="NAME", help="The schedule to run it with.")] = "weaver",
        preset: options.Preset = "default",
        set_: options.Set = None):
    """Measure how many cycles a second the native loop simulates."""
    config = options.hardware(preset, set_)

    import time

    from sw.graph.load import load
    from sw.runtime import Device
    loaded = load(graph)
    with Device.simulate(config) as device:
        machine = device.machine
        device.run("pagerank", loaded, schedule=schedule)          # warms caches up, and builds
        cycles, seconds = machine.loop_cycles, machine.loop_seconds
        began = time.perf_counter()
        while machine.loop_seconds - seconds < 3:
            device.run("pagerank", loaded, schedule=schedule)
        cycles, seconds = machine.loop_cycles - cycles, machine.loop_seconds - seconds
        wall = time.perf_counter() - began
    print(f"{config.name}: {cycles / seconds:,.0f} cycles a second ({cycles:,} cycles of pagerank "
          f"on {graph}, {schedule}, in {seconds:.2f} s; {wall:.2f} s with set-up and check)")
