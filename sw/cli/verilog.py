"""``graphloom verilog``: Verilog of a unit, to use in another design."""

import re
from typing import Annotated

import typer

from base.errors import UserError
from base.printable import printable
from hw.link.frames import BAUD

from . import files
from .commands import app
from .options import folded, option
from .records import with_config


#: Words that Verilog and SystemVerilog keep, and a module's name cannot be.
_KEPT = frozenset(re.findall(r"\w+", """
    alias always assert assign assume automatic before begin bind bit break buf byte case casex
    casez cell chandle checker class clocking config const constraint context continue cover cross
    deassign default defparam design disable dist do edge else end endcase endfunction endgenerate
    endmodule endtask enum event expect export extends extern final for force foreach forever fork
    function generate genvar global if iff ifnone import initial inout input inside instance int
    integer interface join let library local localparam logic longint macromodule matches modport
    module nand negedge new nor not null or output package packed parameter posedge primitive
    priority program property protected pure rand ref reg release repeat restrict return scalared
    sequence shortint signed solve static string strong struct super supply0 supply1 table tagged
    task this throughout time timescale tran tri type typedef union unique unsigned use uwire var
    vectored virtual void wait wand weak while wildcard wire with within wor xnor xor
    """))


_INTERFACE = "Interface"
_CLOCK = "Clock of sdram and link"


@app.command("verilog", epilog="Example: graphloom verilog graphpeg --set threads=32 "
             "-o graphpeg.v --page graphpeg.md")
@with_config()
@folded("about", [
    option("json", str, _INTERFACE, "Write ports, fields, operations, registers and memory map.",
           metavar="FILE.json"),
    option("page", str, _INTERFACE, "Write a page about them.", metavar="FILE.md"),
    option("svd", str, _INTERFACE, "Write the registers as CMSIS-SVD.", metavar="FILE.svd")])
@folded("clock", [
    option("frequency", float, _CLOCK, "Its frequency.", metavar="MHZ", default=50.0),
    option("baud", int, _CLOCK, "Bits a second of link.", metavar="N", default=BAUD)])
def _verilog(
        unit: Annotated[str, typer.Argument(
            metavar="UNIT", help="Unit to write: weaver (the one of the configuration), fsm, scan, "
            "stream, eghw, graphpeg, scu, core, gpu, coalescer, l1, l2-bank, sdram, link.")],
        output: Annotated[str | None, typer.Option(
            "--output", "-o", metavar="FILE.v", help="File to write instead of standard "
            "output.")] = None,
        name: Annotated[str | None, typer.Option(
            "--name", metavar="NAME", help="Name of the module; names of its parts begin with it.",
            show_default="graphloom_UNIT")] = None,
        assertions: Annotated[bool, typer.Option(
            "--assertions", help="Keep the unit's assertions. The text is SystemVerilog "
            "then.")] = False,
        *,
        about,
        clock,
        config):
    """Write the Verilog of a unit for a configuration, without assertions.

    Each field of a port is a port of its own.
    """
    files.distinct({"--output": output, "--json": about.json, "--page": about.page,
                    "--svd": about.svd})
    files.check(output)
    for path, ends in ((about.json, ".json"), (about.page, ".md"), (about.svd, ".svd")):
        files.check(path, (ends,))

    from hw.units import UNITS, Clock, verilog
    from sw.show.unit.described import default_name, described
    if unit not in UNITS:
        raise UserError(f"there is no unit {unit!r}; there are {', '.join(UNITS)}")
    target, clock = UNITS[unit], Clock(clock.frequency, clock.baud)
    module = default_name(target) if name is None else _identifier(name)
    flat = target.flat(config, clock)
    found = described(target, config, clock, module, flat)
    if about.svd is not None and not found.registers():
        raise UserError(f"--svd {printable(about.svd)}: {unit} has no registers; scu and gpu have")
    text = verilog(flat, module, assertions=assertions, header=found.header)
    if output is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        files.write_text(output, text)
        print(f"{printable(output)}: {module}, configuration {config.name}, "
              f"{len(text.splitlines())} lines")
    _tell(found, about)


def _tell(found, about):
    """Write the files about the interface."""
    from sw.show.unit.page import page
    from sw.show.unit.svd import svd
    if about.json is not None:
        files.write_json(about.json, found.to_json())
    if about.page is not None:
        files.write_text(about.page, page(found))
    if about.svd is not None:
        files.write_text(about.svd, svd(found, found.module))


def _identifier(name):
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in _KEPT:
        raise UserError(f"--name {printable(name)}: must be a letter or _, then letters, digits or "
                        "_, and no word of Verilog's own")
    return name
