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


#: ``s0: Label`` names the loop or operator behind it, for schedules.
Label: TypeAlias = Any
#: The type of a parameter that is a decimal number.
decimal: TypeAlias = Any
#: The type of the first parameter: the edges of the graph.
edgeset: TypeAlias = Any
if TYPE_CHECKING:
    #: A type of parameters and of words: a whole number from 0, or a vertex by its number.
    uint = vertex = int     # which takes numbers of the text, and whose calls convert in functions
else:
    uint = vertex = None

#: ``PriorityQueue(x, source, delta=d)``: a queue of vertices by their words in the vector ``x``.
PriorityQueue: Any = None
#: The type of words in fixed point.
fixed: Any = None
#: The type of words from 0 to just below 1, with 32 fraction bits.
fraction: Any = None
#: The largest word: a distance without a path.
infinity: Any = None
#: The word of a ``vertex`` that stands for none.
none: Any = None
#: ``vector(TYPE, INITIAL)``: a word for each vertex.
vector: Any = None
#: ``vertexset(source)``: a set of vertices.
vertexset: Any = None
#: The set of all vertices.
vertices: Any = None

#: A need of a program (:mod:`sw.lang.needs`): no arc leads from a vertex to itself.
loopless: Any = None
#: A need of a program: there are neither self-loops nor parallel arcs.
simple: Any = None
#: A need of a program: each arc has one back, of any weight.
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
