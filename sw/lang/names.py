"""The words of the algorithm language, so that editors and linters know them.

A program is read, never executed: these names stand for nothing but themselves. Only ``program``
does something: it makes a :class:`ProgramText` of the function below it.
"""

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from sw.lang.graph_ir import GraphProgram
from sw.lang.reader import read_source


__all__ = ["Label", "PriorityQueue", "ProgramText", "decimal", "edgeset", "fixed", "fraction",
           "infinity", "loopless", "none", "program", "simple", "symmetric", "uint", "vector",
           "vertex", "vertexset", "vertices"]


# Types of parameters, and the mark of a label.
Label: TypeAlias = Any
decimal: TypeAlias = Any
edgeset: TypeAlias = Any
if TYPE_CHECKING:
    # `int` takes numbers of the text, and its calls convert in functions.
    uint = vertex = int
else:
    uint = vertex = None

PriorityQueue: Any = None
fixed: Any = None
fraction: Any = None
infinity: Any = None
none: Any = None
vector: Any = None
vertexset: Any = None
vertices: Any = None

# Needs of a program (:mod:`sw.lang.needs`).
loopless: Any = None
simple: Any = None
symmetric: Any = None


class ProgramText:
    """A function under ``@program``.

    Parameters
    ----------
    function : function
        The function, whose text is read when the program is first used.
    """

    def __init__(self, function):
        self.__doc__ = function.__doc__
        self._function = function

    @property
    def algorithm(self) -> str:
        """The name by which a plan has it: ``FILE.py:NAME``."""
        return f"{inspect.getsourcefile(self._function)}:{self._function.__name__}"

    @functools.cached_property
    def program(self) -> GraphProgram:
        """The program. Raises LanguageError if the text is not of the language."""
        return read_source(self._function)


@overload
def program(function: Callable[..., Any], /) -> ProgramText: ...


@overload
def program(*, needs: Any) -> Callable[[Callable[..., Any]], ProgramText]: ...


def program(function: Any = None, /, *, needs: Any = None) -> Any:
    """The mark of a program: ``@program``, or ``@program(needs=(symmetric, simple))`` for one whose
    graph must be so."""
    return ProgramText if function is None else ProgramText(function)
