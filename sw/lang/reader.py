"""The front end: from the text of a Python function under ``@program`` to GraphIR.

The text is read by :mod:`ast`, and never executed. docs/language.md is the reference of the
language.
"""

import ast
import inspect
import os
import textwrap
import warnings
from typing import Any

from base import input as inputs
from base.errors import UserError
from sw.lang.expressions import place
from sw.lang.graph_ir import GraphProgram
from sw.lang.instructions import ProgramReader
from sw.lang.types import LanguageError, Position


__all__ = ["program_names", "read_file", "read_source", "read_text", "read_tree", "text_of"]


_TOO_DEEP = "an expression or a block is nested too deeply"

#: Bits of the largest number that a text may have. Words have 32, and the device counts to 64.
_MOST_BITS = 128


def read_file(path: str | os.PathLike[str], name: str | None = None) -> GraphProgram:
    """The program in a file, or of several the one of that name.

    Raises
    ------
    UserError
        If the file cannot be read, or has no such program.
    LanguageError
        If the text is not of the language.
    """
    return read_text(text_of(path), str(path), name)


def text_of(path: str | os.PathLike[str]) -> str:
    """The text of a file. Raises UserError if it cannot be read."""
    return inputs.read_text(path)


def read_source(function) -> GraphProgram:
    """The program of a Python function."""
    lines, first = inspect.getsourcelines(function)
    text = textwrap.dedent("".join(lines))
    indent = len(lines[0]) - len(lines[0].lstrip())
    return _read("\n" * (first - 1) + text, inspect.getsourcefile(function) or "?",
                 function.__name__, indent)


def read_text(text: str, file: str = "<text>", name: str | None = None) -> GraphProgram:
    """The program in a text, or of several the one of that name.

    Parameters
    ----------
    text : str
    file : str
        Its name for messages.
    name : str, optional

    Raises
    ------
    UserError
        If there is no program, or several and no name.
    LanguageError
        If the text is not of the language.
    """
    return _read(text, file, name, 0)


def program_names(text: str, file: str = "<text>") -> list[str]:
    """The names of the programs in a text. Raises LanguageError if it is not Python."""
    return list(_programs(text, file, 0))


def _programs(text, file, indent):
    """The functions under ``@program`` in a text, by their names."""
    try:
        with warnings.catch_warnings(action="ignore"):
            module = ast.parse(text)
    except SyntaxError as error:
        at = Position(file, error.lineno or 1, (error.offset or 1) + indent)
        hint = "; from is a word of Python, so the step is from_(set)" \
            if ".from(" in (error.text or "") else ""
        raise LanguageError(at, f"this is not Python: {error.msg}{hint}") from None
    except ValueError as error:              # a NUL character
        raise LanguageError(Position(file, 1, 1), f"this is not Python: {error}") from None
    except (MemoryError, RecursionError):    # the limits of Python's parser
        raise LanguageError(Position(file, 1, 1), _TOO_DEEP) from None
    _count_characters(module, text, indent)
    return {tree.name: tree for tree in module.body
            if isinstance(tree, ast.FunctionDef) and any(
                isinstance(word, ast.Name) and word.id == "program"
                for mark in tree.decorator_list for word in [getattr(mark, "func", mark)])}


def _read(text, file, name, indent):
    """The program in a text whose lines are indented by so many columns in their file."""
    programs = _programs(text, file, indent)
    if not programs:
        raise UserError(f"{file}: there is no program: a function at the top of the file under "
                        "@program")
    if name is None and len(programs) > 1:
        raise UserError(f"{file}: there are several programs ({', '.join(programs)}); name one")
    if name is not None and name not in programs:
        raise UserError(f"{file}: there is no program {name!r}; there is {', '.join(programs)}")
    return read_tree(programs[name or next(iter(programs))], file)


def read_tree(tree: ast.FunctionDef, file: str) -> GraphProgram:
    """The program of a syntax tree, whose columns count characters from 0.

    Raises
    ------
    LanguageError
        If it is not of the language.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) \
                and node.value.bit_length() > _MOST_BITS:
            raise LanguageError(place(file, node), f"a number of {node.value.bit_length()} bits is "
                                f"too large, at most {_MOST_BITS}")
    try:
        return ProgramReader(file, tree).program
    except RecursionError:
        raise LanguageError(place(file, tree), _TOO_DEEP) from None


def _count_characters(module, text, indent):
    """Make the columns of a syntax tree, which count bytes, count characters of the file."""
    lines = text.split("\n")
    node: Any
    for node in ast.walk(module):
        column = getattr(node, "col_offset", None)
        if column is not None:
            line = lines[node.lineno - 1]
            if not line.isascii():
                column = len(line.encode()[:column].decode(errors="replace"))
            node.col_offset = column + indent
