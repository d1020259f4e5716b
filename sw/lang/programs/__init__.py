"""Programs of the algorithm language: a new program is one new file.

A file has one program, which is called as the file.
"""

import pathlib

from sw.errors import UserError
from sw.lang.graph_ir import GraphProgram
from sw.lang.reader import read_file


__all__ = ["find", "names", "path"]


_FOLDER = pathlib.Path(__file__).parent


def names() -> list[str]:
    """The names of all programs."""
    return sorted(path.stem for path in _FOLDER.glob("*.py") if path.stem != "__init__")


def path(name: str) -> pathlib.Path:
    """The file of the program of that name."""
    return _FOLDER / f"{name}.py"


def find(name: str) -> GraphProgram:
    """The program of that name. Raises UserError naming those there are."""
    if name not in names():
        raise UserError(f"there is no program {name!r}; there are {', '.join(names())}")
    return read_file(path(name), name)
