"""From arguments to an exit code: which commands there are, and what becomes of errors.

Exit codes: 0 done; 1 tests or a check failed; 2 bad input, a bad environment or a run that failed,
told in one line; 3 a program of ``exec`` was not finished within its cycles; 130 interrupted by
Ctrl-C, and 128 and its number for another signal that asks for the end (:mod:`sw.cli.process`). Any
other exception is a defect of Graphloom and keeps its traceback.
"""

import io
import os
import sys
import warnings
from typing import Annotated

import typer

from base.errors import UserError
from base.installation import advice, extra_of
from base.printable import one_line, printable
from hw.config import ConfigError
from sim.errors import BuildError, SimulationError
from sim.toolchain import ToolError
from sw import __version__

# The commands, in the order of the help: a module adds its own.
from . import (run, compare, sweep, diff, live, tune, listing, reproduce, report,  # noqa: F401
               cluster, program, compile_c, simulated_board, verilog, tests, prove, lockstep,
               campaign, mutants, doctor, packages, docs, lint, graph, lang, course, new, bench,
               synth, process)
from . import files
from .commands import RefusedLine, app


__all__ = ["app", "main"]


def _show_version(given: bool):
    if given:
        print(f"graphloom {__version__}")
        raise typer.Exit


def _options(version: Annotated[bool, typer.Option(
    "--version", help="Show the version and exit.", callback=_show_version,
    is_eager=True)] = False):
    """The options of the program itself."""


app.callback()(_options)
app.add_typer(graph.app, name="graph")
app.add_typer(lang.app, name="lang")
app.add_typer(course.app, name="course")
app.add_typer(new.app, name="new")
app.add_typer(bench.app, name="bench")
app.add_typer(synth.app, name="synth")


def _complain(message):
    """Print one line, whatever the message holds."""
    print(f"graphloom: error: {one_line(message)}", file=sys.stderr)


def _prepare_output():
    """Let characters that the encoding of standard output or standard error lacks be printed as
    escapes. A part of the hardware that is refused while it is made is never used, so Amaranth's
    warning of unused parts says nothing here."""
    warnings.filterwarnings("ignore", message=".* created but never used")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main(arguments=None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    arguments : list of str, optional
        Without the program's name; those of the process by default.
    """
    _prepare_output()
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if any("\0" in argument for argument in arguments):
            raise UserError("an argument has a NUL character")
        code = app(arguments, standalone_mode=False, prog_name="graphloom")
        sys.stdout.flush()
    except (UserError, ConfigError, ToolError, SimulationError) as error:
        _complain(error)
        code = 2
    except BuildError as error:
        # The output of a compiler has more than one line, and all are needed.
        print(printable(str(error), lines=True), file=sys.stderr)
        _complain("the simulator could not be built; the output of its tools is above "
                  "(`graphloom doctor` shows which tools are used)")
        code = 2
    except RefusedLine as error:
        text = error.format_message().strip().rstrip(".")
        if text:                             # none after the help of a command without arguments
            _complain(f"{text} (see --help)")
        code = 2
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        # Whoever read the output has stopped, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except ModuleNotFoundError as error:
        extra = extra_of(error.name or "")
        if extra is None:
            raise
        _complain(f"the package {error.name} is not installed: {advice(extra)}")
        code = 2
    except OSError as error:
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        _complain(f"{where}{error.strerror or error}")
        code = 2
    except MemoryError:
        _complain("not enough memory on this machine")
        code = 2
    except Exception:
        if process.received is None:
            raise
        code = 130                           # a library made something else of the interruption
    finally:
        files.release()
    if code == 130:
        code = process.interrupted()
    return code or 0
