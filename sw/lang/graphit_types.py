"""The types of a text of GraphIt: those of its names, and of expressions as far as they matter."""

import ast
from typing import Any

from sw.lang.graphit_text import Translator, kind_of, name_of, result_of, vector_of
from sw.lang.graphit_vectors import VectorText


__all__ = ["SCALARS", "TypedTranslator"]


#: {type of GraphIt: type of a parameter}.
SCALARS = {"int": "int", "uint": "int", "float": "decimal", "double": "decimal", "bool": "bool"}


class TypedTranslator(Translator):
    """Knows what the names of a text are, and which expressions are whole numbers.

    Parameters
    ----------
    file : str
        Its name for messages.
    """

    def __init__(self, file):
        super().__init__(file)
        self._source: Any = None
        self._graph, self._all = "", ""
        self._elements: set[str] = set()
        self._vectors: dict[str, VectorText] = {}
        self._of_vertices: set[str] = set()
        self._scalars: dict[str, Any] = {}
        self._functions: dict[str, Any] = {}
        #: {(N, its name or atoi or atof): parameter}; {N: the only variable that is argv[N]}.
        self._arguments: dict[tuple[int, str], ast.arg] = {}
        self._named_arguments: dict[int, str] = {}
        #: Queues, and the vectors of their priorities.
        self._queues: set[str] = set()
        self._priorities: dict[str, str] = {}
        #: {place of an operator: third argument of applyModified}. Each has a place of its own.
        self._places: dict[tuple[int, int], bool | None] = {}
        #: Variables that are the number of vertices, and constants that are being read.
        self._counts: set[Any] = set()
        self._open: set[str] = set()
        self._in_function, self._current = False, ""
        self._filters: Any = None
        #: Vectors that may have -1 among their elements: of vertices, where it is none, and of
        #: numbers, where it is infinity, with which there is no arithmetic.
        self._unset: set[str] = set()
        self._marked: set[str] = set()
        #: {name: type} of the variables of main, of those of the function that is translated, and
        #: of its parameters.
        self._of_main: dict[str, str] = {}
        self._locals: dict[str, str] = {}
        self._own: dict[str, str] = {}

    def _kind(self, tree):
        self._kind_of(tree, str(tree.children[0]))

    def _kind_of(self, tree, given):
        if given not in (*SCALARS, *self._elements):
            self._fail(tree, f"there is no type {given!r}; there are "
                             f"{', '.join([*SCALARS, *sorted(self._elements)])}")

    def _is_whole(self, tree) -> bool:
        """Whether an expression is an int."""
        whole = [name for name, kind in SCALARS.items() if kind == "int"]
        match kind_of(tree):
            case "integer":
                return True
            case "negative":
                return self._is_whole(tree.children[0])
            case "arithmetic":
                return self._is_whole(tree.children[0]) and self._is_whole(tree.children[2])
            case "element":
                vector = self._vectors.get(vector_of(tree))
                return vector is not None and vector.type in whole
            case "method":
                return str(tree.children[1]) in ("size", "getVertexSetSize", "getVertices",
                                                 "getOutDegree") or self._is_whole_sum(tree)
            case "call":
                name, given = tree.children
                if str(name) in ("min", "max"):
                    return given is not None and all(map(self._is_whole, given.children))
                return str(name) == "atoi"
            case "choice":
                return self._is_whole(tree.children[1])
            case "typed":
                return tree.children[1] in whole
            case "name":
                name = name_of(tree)
                if name in self._scalars:
                    return str(self._scalars[name].children[1].children[0]) in whole
                kinds = self._own | self._locals if self._in_function else {}
                return kinds.get(name, self._of_main.get(name)) in whole
        return False

    def _is_whole_sum(self, tree):
        """Whether a tree is the sum of a function of whole numbers."""
        return self._kind_of_sum(tree) in ("int", "uint")

    def _kind_of_sum(self, tree):
        _, name, given = tree.children
        function = self._functions.get(name_of(given.children[0])) \
            if name == "sum" and given is not None else None
        kind = None if function is None else result_of(function)[1]
        return None if kind is None else str(kind.children[0])

    def _is_decimal(self, tree) -> bool:
        """Whether an expression is a float."""
        decimal = [name for name, kind in SCALARS.items() if kind == "decimal"]
        match kind_of(tree):
            case "real":
                return True
            case "negative" | "arithmetic" | "choice":
                return any(map(self._is_decimal, tree.children))
            case "element":
                vector = self._vectors.get(vector_of(tree))
                return vector is not None and vector.type in decimal
            case "method":
                return self._kind_of_sum(tree) in decimal
            case "call":
                name, given = tree.children
                return str(name) in ("atof", "to_double") or (given is not None and any(
                    map(self._is_decimal, given.children)))
            case "typed":
                return tree.children[1] in decimal
            case "name":
                name = name_of(tree)
                if name in self._scalars:
                    return str(self._scalars[name].children[1].children[0]) in decimal
                kinds = self._own | self._locals if self._in_function else {}
                return kinds.get(name, self._of_main.get(name)) in decimal
        return False
