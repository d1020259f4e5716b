"""Questions about a text of GraphIt: which vectors have vertices, which have numbers and -1, which
vectors of vertices also have -1, and which plain stores of a function of edges are a
compare-and-swap."""

import dataclasses
from typing import Any

from sw.lang.graphit_text import (is_minus_one, kind_of, name_of, parameters_of, steps_of,
                                  vector_of)


__all__ = ["Filters", "VectorText", "marked_vectors", "unset_vectors", "vertex_vectors"]


@dataclasses.dataclass
class VectorText:
    """A constant that is a vector."""
    tree: Any
    type: str
    initial: Any


def vertex_vectors(vectors: dict[str, VectorText], functions: list, elements: set[str],
                   unset: bool = True) -> set[str]:
    """The names of the vectors whose elements are vertices.

    Parameters
    ----------
    vectors : dict of str to VectorText
    functions : list of lark.Tree
        All functions, with ``main``.
    elements : set of str
        The element types.
    unset : bool
        Whether -1 among the elements is a sign of vertices.
    """
    found = {name for name, vector in vectors.items() if vector.type in elements or (
        unset and vector.type == "int" and is_minus_one(vector.initial))}
    while True:
        more = {name for function in functions for name in _evidence(function, elements, found,
                                                                     unset)
                if name in vectors and vectors[name].type == "int"}
        if more <= found:
            return found
        found |= more


def marked_vectors(vectors: dict[str, VectorText], functions: list, elements: set[str]) -> set[str]:
    """The names of the vectors of ``int`` that have numbers and -1 among their elements: nothing
    but -1 would make them vectors of vertices, and there is arithmetic with them.

    Parameters
    ----------
    vectors, functions, elements
        As of :func:`vertex_vectors`.
    """
    able = vertex_vectors(vectors, functions, elements) - vertex_vectors(vectors, functions,
                                                                         elements, False)
    found = set()
    for function in functions:
        found |= {vector_of(side) for tree in function.find_data("arithmetic")
                  for side in tree.children[::2]}
        found |= {vector_of(tree.children[0]) for tree in function.find_data("assign")
                  if kind_of(tree.children[1]) == "arithmetic"}
    found &= able
    pairs = [pair for function in functions for pair in _pairs(function)]
    pairs += [pair[::-1] for pair in pairs]
    while True:
        more = {vector_of(left) for left, right in pairs if vector_of(right) in found} & able
        if more <= found:
            return found
        found |= more


def _evidence(function, elements, known, unset):
    """The vectors that have a vertex or -1 among their elements by the text of a function."""
    vertices = {str(parameter.children[0]) for parameter in parameters_of(function)
                if str(parameter.children[1].children[0]) in elements}

    def is_vertex(tree):
        return (unset and is_minus_one(tree)) or name_of(tree) in vertices \
            or vector_of(tree) in known

    for left, right in _pairs(function):
        if is_vertex(right):
            yield vector_of(left)
        if is_vertex(left):
            yield vector_of(right)
    for tree in function.find_data("element"):
        yield vector_of(tree.children[1])


def _pairs(function):
    """The two sides of assignments and comparisons, and of reductions by min= and max=."""
    for tree in function.iter_subtrees():
        if tree.data in ("assign", "compare") or (
                tree.data == "reduce" and str(tree.children[1]).startswith(("min", "max"))):
            yield tree.children[0], tree.children[-1]


def unset_vectors(vectors: dict[str, VectorText], functions: list, vertices: set[str]) -> set[str]:
    """The names of the vectors of vertices that may have -1 among their elements.

    Parameters
    ----------
    vectors, functions
        As of :func:`vertex_vectors`.
    vertices : set of str
        The vectors of vertices.
    """
    found = {name for name in vertices if is_minus_one(vectors[name].initial)}
    pairs = [pair for function in functions for pair in _pairs(function)]
    pairs += [pair[::-1] for pair in pairs]
    while True:
        more = {vector_of(left) for left, right in pairs if vector_of(left) in vertices
                and (is_minus_one(right) or vector_of(right) in found)}
        if more <= found:
            return found
        found |= more


class Filters:
    """The filters of the operators that call each function of edges.

    Parameters
    ----------
    functions : dict of str to lark.Tree
        Without ``main``.
    main : lark.Tree
    """

    def __init__(self, functions, main):
        self._functions = functions
        self._found: dict[Any, list[str | None]] = {}
        for tree in main.iter_subtrees():
            if tree.data == "method" and tree.children[1] in ("apply", "applyModified"):
                steps = steps_of(tree)
                called = name_of(steps[-1][1][0]) if steps[-1][1] else None
                given = [name_of(arguments[0]) for step, arguments, _ in steps
                         if step == "to" and arguments]
                self._found.setdefault(called, []).append(given[0] if given else None)

    def may_store(self, function: str, vector: str, index) -> bool:
        """Whether a plain store of a function of edges is a compare-and-swap in GraphIt: each
        operator that calls the function has a filter of destinations whose element is -1.

        Parameters
        ----------
        function, vector : str
            A vector of vertices.
        index : lark.Tree
        """
        filters = self._found.get(function, [])
        target = parameters_of(self._functions[function])[1].children[0]
        return (name_of(index) == target and bool(filters)
                and all(name in self._functions and _is_unset(self._functions[name], vector)
                        for name in filters))


def _is_unset(function, vector):
    """Whether a filter is ``vector[v] == -1`` and nothing else."""
    statements = function.children[-1].children
    if len(statements) != 1 or kind_of(statements[0].children[1]) != "assign" \
            or len(parameters_of(function)) != 1:
        return False
    value = statements[0].children[1].children[1]
    if kind_of(value) != "compare" or value.children[1] != "==":
        return False
    sides = (value.children[0], value.children[2])
    own = parameters_of(function)[0].children[0]
    return any(vector_of(one) == vector and name_of(one.children[1]) == own
               and is_minus_one(other) for one, other in (sides, sides[::-1]))
