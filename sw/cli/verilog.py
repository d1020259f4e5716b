"""``graphloom verilog``: Verilog of a unit, to use in another design."""

from typing import Annotated

import typer

from base.errors import UserError
from base.printable import printable

from . import files
from .commands import app
from .records import with_config


@app.command("verilog", epilog="Example: graphloom verilog weaver --set threads=32 -o weaver.v")
@with_config()
def _verilog(
        unit: Annotated[str, typer.Argument(
            metavar="UNIT", help="Unit to write: weaver, scu, core or gpu.")],
        output: Annotated[str | None, typer.Option(
            "--output", "-o", metavar="FILE.v", help="File to write instead of standard "
            "output.")] = None,
        assertions: Annotated[bool, typer.Option(
            "--assertions", help="Keep the unit's assertions. The text is SystemVerilog "
            "then.")] = False,
        *,
        config):
    """Write the Verilog of a unit for a configuration, without assertions."""
    files.distinct({"--output": output})
    files.check(output)

    from hw.units import UNITS
    if unit not in UNITS:
        raise UserError(f"there is no unit {unit!r}; there are {', '.join(UNITS)}")
    text = UNITS[unit](config, assertions)
    if output is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        files.write_text(output, text)
        print(f"{printable(output)}: {unit}, configuration {config.name}, "
              f"{len(text.splitlines())} lines")
