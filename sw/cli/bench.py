"""``graphloom bench``: measurements, of Graphloom itself and of what runs on it."""

import time
from typing import Annotated

import typer

from sw.printable import PIECE, printable

from . import (bench_budgets, bench_core, bench_cores, bench_programs, bench_schedules,
               bench_tune, bench_units, graph_formats, options)
from .commands import App


__all__ = ["app"]


app = App(help="Measure Graphloom and the programs that run on it.", no_args_is_help=True)


@app.callback()
def _group():
    """Measure Graphloom and the programs that run on it."""


@app.command("sim", epilog="Example: graphloom bench sim --preset fpga")
def _sim(
        graph: Annotated[str, typer.Option(
            "--graph", metavar="GRAPH", help="Graph that pagerank runs on.")]
        = "rmat:scale=12,degree=16,seed=1",
        schedule: Annotated[str, typer.Option(
            "--schedule", metavar="NAME", help="Schedule of pagerank.")] = "weaver",
        preset: options.Preset = "default",
        set_: options.Set = None):
    """Measure how many cycles a second the native loop simulates, and how long it takes to build.

    A simulator that was built before is ready at once.
    """
    config = options.hardware(preset, set_, [schedule])

    from sim.bench import measure
    from sim.toolchain import compiler
    from sw.graph.load import load
    from sw.runtime import Device
    loaded = load(graph)
    # A combination that cannot run is refused before anything is built.
    _ = Device.simulate(config).plan("pagerank", loaded, schedule=schedule, iterations=2).program
    begin = time.perf_counter()
    with Device.simulate(config) as device:
        def work(machine):
            device.run("pagerank", loaded, schedule=schedule, iterations=2)

        machine = device.machine
        ready = time.perf_counter() - begin
        work(machine)                                  # warms caches up
        speed = measure(machine, work, seconds=3)
    print(f"{config.name}: ready in {ready:.0f} s, threads: {machine.threads}, "
          f"compiler: {compiler().version}")
    print(f"{config.name}: {speed.cycles_per_second:,.0f} cycles a second ({speed.cycles:,} "
          f"cycles of pagerank on {printable(graph, PIECE)}, {schedule}, in {speed.seconds:.2f} s)")


bench_core.register(app)
bench_cores.register(app)
bench_budgets.register(app)
bench_schedules.register(app)
bench_programs.register(app)
bench_tune.register(app)
bench_units.register(app)
graph_formats.register_bench(app)
