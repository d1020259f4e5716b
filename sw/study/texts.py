"""Many texts of the language: which are read, what each of the others lacks, and whether machines
agree on the results.

``check`` reads one text; :func:`texts` finds those of a folder.
"""

import dataclasses
import os
import pathlib
from typing import Any

import numpy as np

from base.errors import RunError, UserError
from base.printable import one_line
from sw.lang import programs
from sw.lang.graph_ir import GraphProgram
from sw.lang.graphit import ScheduleOnly
from sw.lang.reader import program_names, text_of
from sw.lang.schedule import applied
from sw.lang.types import LanguageError, Type
from sw.vm.machines import NAMES


__all__ = ["GRAPH", "MACHINES", "TextCheck", "check", "texts"]


#: Machines that can be asked: the GraphVMs, and the functional simulator with the RTL's kernels.
MACHINES = (*NAMES, "rtl")

#: The graph, if none is given: it has arcs in both directions, so all programs can run on it.
GRAPH = "rmat:scale=5,degree=4,seed=1"


@dataclasses.dataclass(frozen=True)
class TextCheck:
    """What became of a text."""
    text: str  #: The file, and the program of several.
    read: bool
    place: str = ""  #: Line and column where it is refused.
    message: str = ""  #: Why.
    notes: tuple[str, ...] = ()
    outcomes: dict[str, str] = dataclasses.field(default_factory=dict)  #: By machines.

    @property
    def right(self) -> bool:
        """Whether it is read, and all machines that were asked have run it alike."""
        return self.read and not any(outcome.startswith("wrong")
                                     for outcome in self.outcomes.values())


def texts(places: list[str]) -> list[tuple[str, str | None]]:
    """The texts of files and folders: a path, and the name of a program where a file has several.

    Files of a folder are those that end with ``.gt``, and with ``.py`` if they have a program.

    Raises
    ------
    UserError
        If a place does not exist, is no such file, or a folder has none.
    """
    found: list[tuple[str, str | None]] = []
    for place in places:
        path = pathlib.Path(place)
        if path.is_dir():
            inside = [(str(file), name) for file in _files(path)
                      for name in _names(file, inside=True)]
            if not inside:
                raise UserError(f"{place}: there is no FILE.gt, and no FILE.py with a program")
            found += inside
        elif path.suffix in (".gt", ".py"):
            text_of(path)
            found += [(place, name) for name in _names(path, inside=False)]
        else:
            raise UserError(f"{place}: must be a folder, FILE.gt or FILE.py")
    return list(dict.fromkeys(found))


def _files(folder):
    return sorted(pathlib.Path(where, name) for where, _, names in os.walk(folder)
                  for name in names if name.endswith((".gt", ".py")))


def _names(file, inside) -> list[str | None]:
    """The programs of a file that have to be named; [None] if there is one. Of a folder, a file in
    Python without a program is none."""
    if file.suffix == ".gt":
        return [None]
    try:
        names = program_names(text_of(file), str(file))
    except UserError:
        return [] if inside else [None]
    if not names:
        return [] if inside else [None]
    return [None] if len(names) == 1 else list(names)


def check(text: str, name: str | None = None, machines: tuple[str, ...] = (),
          graph: Any = None) -> TextCheck:
    """Read a text, and run it on machines.

    Parameters
    ----------
    text : str
        The path of a file.
    name : str, optional
        The program, where the file has several.
    machines : tuple of str
        Of :data:`MACHINES`. Results are compared with the interpreter's.
    graph : sw.graph.load.GraphSource, optional
        The graph on which they run.
    """
    shown = text if name is None else f"{text}:{name}"
    try:
        program, schedules = programs.open_program(text, name)
        applied(program, schedules)
    except ScheduleOnly as error:
        return TextCheck(shown, True, notes=(str(error).removeprefix(f"{error.position}: "),))
    except LanguageError as error:
        at = error.position
        return TextCheck(shown, False, f"{at.line}:{at.column}",
                         str(error).removeprefix(f"{at}: "))
    except UserError as error:
        return TextCheck(shown, False, message=str(error).removeprefix(f"{text}: "))
    outcomes = _outcomes(program, text, name, machines, graph) if machines else {}
    return TextCheck(shown, True, notes=program.notes, outcomes=outcomes)


def _outcomes(program: GraphProgram, text, name, machines, source) -> dict[str, str]:
    from sim.errors import SimulationError
    from sim.toolchain import ToolError
    from sw.vm import reference
    try:
        graph = source.used_by(program).load()
        given = _given(program, graph)
        wanted = reference.run(program, graph, **given)
    except UserError as error:
        return dict.fromkeys(machines, _stops(error, text))
    found = {}
    for machine in machines:
        try:
            outputs = wanted.outputs if machine == "reference" else _outputs(
                machine, program, text, name, graph, wanted.fraction_bits, given)
        except (UserError, RunError, SimulationError, ToolError) as error:
            found[machine] = _stops(error, text)
            continue
        wrong = [vector for vector, words in wanted.outputs.items() if not np.array_equal(
            words.view(np.uint32), np.asarray(outputs[vector]).view(np.uint32))]
        found[machine] = f"wrong: {', '.join(wrong)}" if wrong else (
            "runs" if machine == "reference" else "right")
    return found


def _stops(error, text):
    return f"stops: {one_line(str(error).removeprefix(f'{text}:'))}"


def _given(program, graph):
    """Values for the parameters that need some: for whole numbers and vertices a vertex at which a
    search can start."""
    ways = graph.left if graph.left.any() else graph.entered
    start = int(np.flatnonzero(ways)[0]) if ways.any() else 0
    return {argument.name: 0 if argument.type in (Type.DECIMAL, Type.BOOL) else start
            for argument in program.arguments if argument.default is None}


def _outputs(machine, program, text, name, graph, bits, given):
    if machine != "rtl":
        from sw.vm.machines import run_on
        return run_on(machine, program, graph, bits=bits, **given).outputs
    from hw.config import preset
    from sw.compile.plan import Plan
    from sw.device import Device
    plan = Plan(text if name is None else f"{text}:{name}")
    with Device.functional(preset("default")) as device:
        return device.run(plan, graph, verify=False, **given).outputs
