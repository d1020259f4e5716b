"""``graphloom bench``: measurements, of Graphloom itself and of what runs on it."""

import time
from typing import Annotated

import typer

from base.printable import PIECE, printable

from . import (bench_bandwidths, bench_budgets, bench_compiling, bench_core, bench_cores,
               bench_programs, bench_ranking, bench_schedules, bench_tune, bench_units,
               graph_formats, options)
from .commands import App


__all__ = ["app"]


app = App(help="Measure Graphloom and the programs that run on it.", no_args_is_help=True)


@app.command("sim", epilog="Example: graphloom bench sim --preset fpga")
def _sim(
        graph: Annotated[str, typer.Option(
            "--graph", metavar="GRAPH", help="Graph that the algorithm runs on.")]
        = "rmat:scale=12,degree=16,seed=1",
        algorithm: Annotated[str, typer.Option(
            "--algorithm", metavar="NAME", help="Algorithm; pagerank makes two sweeps.")]
        = "pagerank",
        schedule: Annotated[str, typer.Option(
            "--schedule", metavar="NAME", help="Schedule of the algorithm.")] = "weaver",
        functional: Annotated[bool, typer.Option(
            "--functional", help="Measure the functional simulator: thread instructions a second "
            "of the processor.")] = False,
        preset: options.Preset = "default",
        set_: options.Set = None):
    """Measure how many cycles a second the native loop simulates, and how long it takes to build.

    A simulator that was built before is ready at once.
    """
    config = options.hardware(preset, set_, [schedule])

    from sim.bench import measure
    from sim.toolchain import compiler
    from sw.study.benchmarks.schedules import plan
    from sw.graph.load import load
    from sw.device import Device
    work_of, loaded = plan(algorithm, 2, schedule=schedule), load(graph)
    make = Device.functional if functional else Device.simulate
    # A combination that cannot run is refused before anything is built.
    _ = make(config).plan(work_of, loaded).program
    begin = time.perf_counter()
    with make(config) as device:
        def work(machine):
            device.run(work_of, loaded, verify=False)

        machine = device.machine
        ready = time.perf_counter() - begin
        device.run(work_of, loaded)                    # warms caches up
        speed = measure(machine, work, seconds=3,
                        counter="loop_lanes" if functional else "loop_cycles")
    threads = "" if functional else f"threads: {machine.threads}, "
    unit = "thread instructions" if functional else "cycles"
    print(f"{config.name}: ready in {ready:.0f} s, {threads}compiler: {compiler().version}")
    print(f"{config.name}: {speed.per_second:,.0f} {unit} a second ({speed.amount:,} {unit} of "
          f"{algorithm} on {printable(graph, PIECE)}, {schedule}, in {speed.seconds:.2f} s)")


bench_core.register(app)
bench_cores.register(app)
bench_bandwidths.register(app)
bench_budgets.register(app)
bench_schedules.register(app)
bench_compiling.register(app)
bench_programs.register(app)
bench_ranking.register(app)
bench_tune.register(app)
bench_units.register(app)
graph_formats.register_bench(app)
