"""The GraphVM ``cuda``: CUDA C, compiled by nvcc, on an NVIDIA GPU."""

import dataclasses
import pathlib

from sim.errors import ToolError
from sw.lang.passes import CHOSEN, analysed
from sw.vm.cuda import nvcc
from sw.vm.cuda.choices import DIRECTIONS, SCHEDULES, check_program
from sw.vm.cuda.machine import CudaMachine
from sw.vm.cuda.text import CudaCode, generate
from sw.vm.host import perform


__all__ = ["CompileOutcome", "CudaCode", "CudaMachine", "DIRECTIONS", "SCHEDULES", "available",
           "compile_check", "generate", "run"]


#: The architectures for which :func:`compile_check` compiles.
CHECKED_ARCHITECTURES = ("sm_80", "sm_90")


def available() -> str | None:
    """The reason why programs cannot run here; None if they can.

    They need ``nvcc`` on PATH and an NVIDIA GPU that answers.
    """
    try:
        nvcc.nvcc()
    except ToolError as error:
        return str(error)
    return nvcc.gpu_absence()


def run(program, graph, schedule=None, direction=None, bits=None, variants=(), **given):
    """Run a program. Returns a :class:`~sw.vm.host.ProgramResult`.

    Parameters
    ----------
    program : GraphProgram
    graph : Graph
    schedule : str, optional
        One of :data:`SCHEDULES`, for all operators of edges.
    direction : str, optional
        One of :data:`DIRECTIONS`, for all operators of edges.
    bits : int, optional
        The fraction bits, if they are known.
    variants : sequence of (str, str)
        As of :class:`CudaMachine`.
    **given
        Parameters of the program.

    Where ``schedule`` or ``direction`` is not given, :class:`CudaMachine` takes the operator's own
    choice, or chooses.

    Raises
    ------
    UserError, ToolError
        As :func:`~sw.vm.host.perform` and :class:`CudaMachine` do.
    """
    # Later passes only add defaults, which would look like choices of a schedule.
    program = analysed(program, after=CHOSEN)
    machine = CudaMachine(program, graph, schedule, direction, variants)
    return perform(program, graph, machine, given, bits)


@dataclasses.dataclass(frozen=True)
class CompileOutcome:
    """A program that nvcc has compiled."""
    program: str  #: Its name.
    architectures: tuple[str, ...]
    generated: CudaCode
    library: pathlib.Path  #: The shared library.


def compile_check(program, architectures=CHECKED_ARCHITECTURES) -> CompileOutcome:
    """Compile a program with all schedules and directions, and with its own choices. No GPU is
    needed.

    Raises
    ------
    UserError
        If a choice cannot be, or nvcc refuses the text; the message holds the end of nvcc's
        output.
    ToolError
        If there is no nvcc.
    """
    program = analysed(program, after=CHOSEN)
    check_program(program)
    generated = generate(program)
    library = nvcc.library(generated.text, architectures, f"program {program.name!r}")
    return CompileOutcome(program.name, architectures, generated, library)
