"""``graphloom cc``: C files into a program that is right in every lane."""

import enum
from typing import Annotated

import typer

from base.errors import UserError
from base.printable import printable

from . import files
from .commands import app
from .options import folded, option
from .records import with_config


_EPILOG = ("Exit code: 0 the program was written; 2 Clang refused a file, or the pass cannot make "
           "it right. Example: graphloom cc kernel.c -o kernel.elf && graphloom exec kernel.elf "
           "--read result")

_C, _PASS = "C", "Lanes"


class _Parted(enum.StrEnum):
    """Which branches are taken as parting lanes."""
    FOUND = "found"
    ALL   = "all"
    NONE  = "none"


class _Level(enum.StrEnum):
    """Levels of optimisation."""
    NONE, ONE, TWO, THREE, SMALL, SMALLEST = "0", "1", "2", "3", "s", "z"


_OPTIONS = (
    option("optimise", _Level, _C, "Optimisation, as of Clang.", flags="-O", default=_Level.TWO),
    option("define", list[str], _C, "A macro. May be repeated.", flags="-D",
           metavar="NAME[=VALUE]"),
    option("include", list[str], _C, "A folder of include files. May be repeated.", flags="-I",
           metavar="FOLDER"),
    option("stack", int, _PASS, "Bytes of each lane's stack, a power of two.", default=2048,
           metavar="BYTES"),
    option("heap", int, _PASS, "Bytes between the data and the stacks.", default=0,
           metavar="BYTES", min=0, max=1 << 31),
    option("parted", _Parted, _PASS, "Branches at which lanes may part: those that are found, all "
           "(slow, to look for an error of the analysis), or none (as a plain compiler).",
           default=_Parted.FOUND),
)


@app.command("cc", epilog=_EPILOG)
@with_config()
@folded("asked", _OPTIONS)
def _cc(
        sources: Annotated[list[str], typer.Argument(metavar="FILE.c ...", help="C files.")],
        output: Annotated[str, typer.Option("--output", "-o", metavar="FILE.elf",
                                            help="The program.")],
        asked,
        config):
    """Compile C for all lanes of a warp: main(lane) runs in every lane, and branches may depend on
    the lane (docs/c.md)."""
    from hw.registers import Checks
    from sw.cc.driver import CompileChoices, compile_files

    files.distinct({"--output": output}, sources)
    files.check(output)
    try:
        Checks(stack=asked.stack)
    except ValueError:
        raise UserError(f"--stack {asked.stack}: must be a power of two from {Checks.LEAST_STACK} "
                        f"to {Checks.MOST_STACK}") from None
    counts = compile_files(sources, output, config, CompileChoices(
        asked.optimise.value, tuple(asked.define or ()), tuple(asked.include or ()), asked.stack,
        asked.heap, asked.parted.value))
    print(f"{printable(output)}: {counts.branches} branches, {counts.splits} with SPLIT, "
          f"{counts.predicated} with PRED; lanes meet at {counts.joins} places")
