"""``graphloom exec``: any bare-metal RV32 program on the GPU."""

import dataclasses
import time
from typing import Annotated, Optional

import typer

from hw import numbers
from sw.errors import UserError

from . import options


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("exec", epilog="Example: graphloom exec program.elf --read result --preset tiny")(
        _exec)


def _number(text):
    value = numbers.integer(text)
    if value is None or not 0 <= value < 1 << 32:
        raise UserError(f"--argument {text}: must be a number from 0 to 0xffffffff")
    return value


def _exec(
        program: Annotated[str, typer.Argument(
            metavar="PROGRAM", help="A statically linked RV32 ELF file: text from address 0 on, "
            "data from 0x80000000.", show_default=False)],
        read: Annotated[Optional[list[str]], typer.Option(
            "--read", metavar="SYMBOL", help="Print the word of memory of that name at the end; "
            "may be repeated.", show_default=False)] = None,
        argument: Annotated[str, typer.Option(
            "--argument", metavar="N", help="What the CSR mscratch reads.")] = "0",
        preset: options.Preset = "default",
        set_: options.Set = None,
        dram: options.Dram = None,
        max_cycles: options.MaxCycles = None,
        json: options.Json = None,
        wave: options.Wave = None):
    """Run a bare-metal program: every warp of every core begins at its entry point.

    Exit code 1 if the program stopped with an error, 2 if it was not finished after --max-cycles.
    """
    config, memory = options.hardware(preset, set_), options.memory(dram)
    value = _number(argument)

    from sim.errors import SimulationError
    from sim.native import NativeMachine, wave_format
    from sw.output import Output
    from sw.runtime.elf import load_elf

    from . import files
    from .execute import console, progress_display
    files.distinct({"--json": json, "--wave": wave}, [program])
    files.check(json, (".json",))
    if wave is not None:
        wave_format(wave)
        files.check(wave)
    executable = load_elf(program, config)
    places = {name: executable.symbol(name, config.memory_bytes) for name in read or ()}

    began = time.perf_counter()
    reason, text, code = "end", "all warps ended", 0
    with progress_display() as (show, tell):
        file = None if wave is None else Output(wave)
        with NativeMachine(config, memory, wave=file, report=tell) as machine:
            executable.fill(machine.memory)
            machine.load_program(executable.words)
            try:
                machine.launch(executable.entry, value, max_cycles=max_cycles,
                               progress=lambda cycles: show(f"{cycles:,} cycles"))
                counters = machine.counters()
            except SimulationError as error:
                if error.kind not in ("device", "limit"):
                    raise
                counters = error.counters
                reason, code = ("error", 1) if error.kind == "device" else ("limit", 2)
                text = str(error)
            machine.flush()
            words = {name: int(machine.memory[address - 0x8000_0000:][:4].view("<u4")[0])
                     for name, address in places.items()}
    if json is not None:
        files.write_json(json, {
            "program": program, "configuration": dataclasses.asdict(config),
            "dram": dataclasses.asdict(memory), "argument": value,
            "stop": reason, "message": text, "cycles": counters.get("cycles", 0),
            "instructions": counters.get("instructions", 0), "counters": counters,
            "memory": words, "wall_seconds": round(time.perf_counter() - began, 3)})
    out = console()
    out.print(f"{program}: {text}")
    if config.counters:
        out.print(f"{counters['cycles']:,} cycles, {counters['instructions']:,} instructions")
    for name, word in words.items():
        out.print(f"{name} = {word} (0x{word:08x})")
    if code:
        raise typer.Exit(code)
