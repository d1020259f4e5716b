"""Programs of the algorithm language: a new program is one new file.

A file has one program, which is called as the file.
"""

import functools
import pathlib

from base.errors import UserError
from sw.lang.graph_ir import GraphProgram
from sw.lang.reader import read_file
from sw.lang.schedule import PlannedSchedule


__all__ = ["find", "names", "open_program", "path"]


_FOLDER = pathlib.Path(__file__).parent


@functools.cache
def names() -> tuple[str, ...]:
    """The names of all programs."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.py") if path.stem != "__init__"))


@functools.cache
def path(name: str) -> pathlib.Path:
    """The file of the program of that name."""
    return _FOLDER / f"{name}.py"


def find(name: str) -> GraphProgram:
    """The program of that name. Raises UserError naming those there are."""
    if name not in names():
        raise UserError(f"there is no program {name!r}; there are {', '.join(names())}")
    return read_file(path(name), name)


def open_program(place: str, name: str | None = None) -> tuple[
        GraphProgram, dict[str, PlannedSchedule]]:
    """A program and the schedules that its text has, by their labels.

    Parameters
    ----------
    place : str
        A name of :func:`names`, or a file: ``FILE.py``, or ``FILE.gt`` in the syntax of GraphIt.
    name : str, optional
        The program, where ``FILE.py`` has several.

    Raises
    ------
    UserError
        If there is no such program, or its text is not of the language.
    """
    if place.endswith(".gt"):
        if name is not None:
            raise UserError(f"{place}: a file of GraphIt has one program, so it needs no name")
        from sw.lang.graphit import read_graphit_file
        return read_graphit_file(place)
    if place.endswith(".py"):
        return read_file(place, name), {}
    if name is not None:
        raise UserError(f"{place}: only a FILE.py needs the name {name!r} of its program")
    if place not in names():
        raise UserError(f"there is no program {place!r}; there are {', '.join(names())}, FILE.py "
                        "and FILE.gt")
    return find(place), {}
