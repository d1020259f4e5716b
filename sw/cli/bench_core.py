"""``graphloom bench core``: what the parts of a core can do in a cycle."""

from typing import Annotated

import typer

from base.errors import UserError

from . import options


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("core", epilog="Example: graphloom bench core gather --preset fpga")(_core)


def _core(
        names: Annotated[list[str] | None, typer.Argument(
            metavar="[BENCHMARK]...", help="Microbenchmarks to run: alu, copy, gather, local, "
            "atomics; all if left out.", show_default=False)] = None,
        preset: options.Preset = "default",
        set_: options.Set = None,
        dram: options.Dram = None,
        json: options.Json = None):
    """Run microbenchmarks of one core: instructions, lines, bytes and atomics a cycle."""
    config = options.hardware(preset, set_)
    memory = options.memory(dram, config, "a microbenchmark")

    from sim.native import NativeMachine
    from sw.study.benchmarks.core import BENCHMARKS

    from . import files
    from .execute import console
    from .tables import FittedTable
    for name in names or ():
        if name not in BENCHMARKS:
            raise UserError(f"there is no microbenchmark {name!r}; there are "
                            f"{', '.join(BENCHMARKS)}")
    if not config.counters:
        raise UserError("microbenchmarks need the counters: --set counters=true")
    files.check(json, (".json",))
    out = console()
    table = FittedTable("<benchmark", ">a cycle", ">of peak", ">cycles", "<meaning")
    records, machines = {}, {}
    for name in names or BENCHMARKS:
        benchmark = BENCHMARKS[name]
        chosen = benchmark.configure(config)
        if chosen not in machines:
            machines[chosen] = NativeMachine(
                chosen, memory, report=lambda line: out.print(line, markup=False))
        figure = benchmark.measure(machines[chosen])
        table.add_row(name, f"{figure.rate:.3f}", f"{100 * figure.rate / figure.peak:.1f} %",
                      f"{figure.cycles:,}", f"{benchmark.unit}: {benchmark.doc}")
        records[name] = {"rate": figure.rate, "peak": figure.peak, "cycles": figure.cycles,
                         "warps": chosen.warps}
    for machine in machines.values():
        machine.close()
    out.print(table)
    if json is not None:
        files.write_json(json, {"config": config.name, "benchmarks": records})
