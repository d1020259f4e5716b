"""``graphloom synth board``: the bitstream of a board."""

from typing import Annotated

import typer

from base.installation import need
from hw.link.frames import BAUD

from . import files, options
from .options import folded, option
from .records import with_config


__all__ = ["register"]


def register(app):
    """Add the command to those of ``synth``."""
    app.command("board", epilog="Example: graphloom synth board --seeds 1,2,3; then openFPGALoader "
                "--board ulx3s graphloom.bit")(_board)


#: The board's own settings, as of :class:`synth.ulx3s.Ulx3s`.
_OPTIONS = (
    option("frequency", float, None, "Frequency of the system clock: 40 to 100 with SDRAM. The PLL "
           "makes every multiple of 5 from the oscillator's 25.", default=50, metavar="MHZ"),
    option("memory", str, None, "sdram, or bram: block RAM, for which memory_bytes must be at most "
           "262144. SDRAM: 32 MiB.", default="sdram", metavar="KIND"),
    option("baud", int, None, "Bits a second on the serial line. With another than the default, a "
           "run takes --device serial:PORT@N.", default=BAUD, metavar="N", min=1200),
)


@with_config("fpga")
@folded("settings", _OPTIONS, dict)
def _board(
        config,
        settings,
        seeds: Annotated[str, typer.Option(
            metavar="N,N", help="Seeds of nextpnr, which runs with one after the other until the "
            "timing is met.")] = "1,2,3",
        every: Annotated[bool, typer.Option(
            "--every", help="Run nextpnr with all seeds and take the fastest result.")] = False,
        jobs: Annotated[int, typer.Option(
            metavar="N", min=1, help="Runs of nextpnr at a time, with --every; each takes 3 "
            "GB.")] = 1,
        output: Annotated[str, typer.Option(
            "--output", "-o", metavar="FILE.bit", help="File of the bitstream.",
            rich_help_panel="Files")] = "graphloom.bit",
        json: Annotated[str | None, typer.Option(
            metavar="FILE.json", help="Write the area and the frequency.",
            rich_help_panel="Files")] = None):
    """Make the bitstream of a ULX3S with an ECP5-85F: the GPU, its link and its memory.

    The bitstream is written only if the timing is met. As WebAssembly, nextpnr takes half an
    hour a seed for preset fpga.
    """
    numbers = options.seeds(seeds)
    files.distinct({"--output": output, "--json": json})
    files.check(output, (".bit",))
    files.check(json, (".json",))
    need("graphloom synth board", "amaranth_boards")

    from synth.ulx3s import DEVICE, Ulx3s, build
    from synth.devices import find_device
    from synth.flow import Figures

    from .execute import console, steps_display
    from .placements import print_placements
    board = Ulx3s(config, **settings)
    with steps_display() as heard:
        done = build(board, seeds=numbers, every=every, jobs=jobs, heard=heard)
    files.write_bytes(output, done.data)
    device, area, placement = find_device(DEVICE), done.logic.area, done.placement
    out = console()
    out.say(f"{output}: {len(done.data):,} bytes; {config.name} on {device.name} with "
            f"{settings['memory']}, {settings['frequency']:g} MHz, {settings['baud']} baud")
    out.say(f"LUT4 {area.lut4:,} of {device.lut4:,}, FF {area.ff:,}, block RAM {area.block_ram} "
            f"of {device.block_ram}, DSP {area.dsp} of {device.dsp}")
    print_placements(out, done.placements)
    out.say(f"seed {placement.seed} is taken; the output of the tools is in {placement.folder}")
    if board.clock is not None:
        out.say(f"SDRAM clock: {board.sdram_delay:.2f} ns after the system clock, margin "
                f"{board.clock.margin:.2f} ns")
    if json is not None:
        figures = Figures("board", config, device, done.logic, None, done.placements)
        files.write_json(json, figures.record() | {"board": {
            **settings, "used": placement.used, "seed": placement.seed, "bytes": len(done.data)}})
