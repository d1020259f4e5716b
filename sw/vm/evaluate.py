"""Functions of a program, evaluated by NumPy for many calls at a time.

A word is an element of a uint64 array, so that sums and products of two words do not overflow.
"""

from typing import Any

import numpy as np

from sw.errors import UserError
from sw.lang import graph_ir as ir
from sw.lang.types import WORD, Type


__all__ = ["DoesNotFitFixed", "Evaluator", "fixed_word"]


_LAST = np.uint64(WORD - 1)
_HALF = np.uint64(32)


class DoesNotFitFixed(UserError):
    """A value of fixed point that does not fit with this number of fraction bits."""


def fixed_word(value, bits) -> int:
    """The word of a number with these fraction bits, rounded to the nearest, or to even."""
    return round(value * (1 << bits))


class Evaluator:
    """Evaluates functions for arrays of calls.

    Parameters
    ----------
    graph : Graph
    bits : int
        Fraction bits of FIXED.
    uniforms : dict of Uniform to int
        The words that are the same for all calls.
    load : callable
        ``load(vector, vertices, own)``: the elements of these vertices; ``own`` is whether they
        are the vertices of the calls themselves.
    """

    def __init__(self, graph, bits, uniforms, load):
        self._graph, self._bits, self._uniforms, self._load = graph, bits, uniforms, load

    def run(self, function, calls, store=None, reduce=None) -> Any:
        """Perform the body of a function. Returns the array of its results, or None.

        Parameters
        ----------
        function : Function
        calls : sequence of uint64 arrays
            The parameters of all calls.
        store, reduce : callable
            ``store(vector, vertices, words)``, ``reduce(node, vertices, words)``.
        """
        self._store: Any = store
        self._reduce: Any = reduce
        self._own = function.parameters[0] if not function.of_edge else None
        self._result: Any = None
        env = dict(zip(function.parameters, calls))
        self._block(function.body, env, len(calls[0]))
        return self._result

    def _block(self, body, env, count):
        for node in body:
            match node:
                case ir.Let():
                    env[node.name] = self.value(node.value, env, count)
                case ir.VectorStore():
                    self._store(node.vector, self.value(node.index, env, count),
                                self.value(node.value, env, count))
                case ir.Reduce():
                    self._reduce(node, self._checked(node, env, count),
                                 self.value(node.value, env, count))
                case ir.Give():
                    self._result = self.value(node.value, env, count)
                case ir.Branch():
                    self._branch(node, env, count)

    def _branch(self, node, env, count):
        chosen = self.value(node.condition, env, count).astype(bool)
        for body, lanes in ((node.then, chosen), (node.otherwise, ~chosen)):
            inner = {name: words[lanes] for name, words in env.items()}
            if body and lanes.any():
                self._block(body, inner, int(lanes.sum()))
            for name, words in inner.items():
                if name not in env:
                    # A variable that only this branch assigns is not used behind it.
                    env[name] = np.zeros(count, np.uint64)
                if lanes.any():
                    env[name] = env[name].copy()
                    env[name][lanes] = words

    def _checked(self, node, env, count):
        """The vertices of an index. Raises UserError if one is ``none``."""
        degree = isinstance(node, ir.Degree)
        vertices = self.value(node.vertex if degree else node.index, env, count)
        if vertices.size and int(vertices.max()) >= self._graph.num_vertices:
            what = "the degree of" if degree else node.vector
            raise UserError(f"{node.position}: {what}[{int(vertices.max())}]: there is no "
                            f"such vertex; the graph has {self._graph.num_vertices}")
        return vertices

    def value(self, node, env, count):
        """The words of an expression, one for each call."""
        match node:
            case ir.Literal():
                return np.full(count, self._word(node), np.uint64)
            case ir.Uniform():
                return np.full(count, self._uniforms[node], np.uint64)
            case ir.Local():
                return env[node.name]
            case ir.VectorLoad():
                own = isinstance(node.index, ir.Local) and node.index.name == self._own
                return self._load(node.vector, self._checked(node, env, count), own)
            case ir.Degree():
                degrees = self._graph.out_degrees if node.leaving else self._graph.in_degrees
                vertices = self._checked(node, env, count)
                return degrees[vertices.astype(np.int64)].astype(np.uint64)
            case ir.Unary():
                return self._unary(node, self.value(node.operand, env, count))
            case ir.Select():
                chosen = self.value(node.condition, env, count).astype(bool)
                return self._merged(chosen, node.then, node.otherwise, env, count)
            case ir.Binary(operation="and" | "or" as name):
                left = self.value(node.left, env, count).astype(bool)
                rest = left if name == "and" else ~left
                found = left.astype(np.uint64)
                if rest.any():
                    found[rest] = self._part(node.right, rest, env)
                return found
        return self._binary(node, self.value(node.left, env, count),
                            self.value(node.right, env, count))

    def _word(self, node):
        if node.type is Type.FIXED:
            return self._fits(node, fixed_word(node.value, self._bits))
        if node.type is Type.FRACTION:
            return min(round(node.value * WORD), WORD - 1)
        return node.value

    def _part(self, node, lanes, env):
        return self.value(node, {name: words[lanes] for name, words in env.items()},
                          int(lanes.sum()))

    def _merged(self, chosen, then, otherwise, env, count):
        found = np.zeros(count, np.uint64)
        for node, lanes in ((then, chosen), (otherwise, ~chosen)):
            if lanes.any():
                found[lanes] = self._part(node, lanes, env)
        return found

    @staticmethod
    def _unary(node, words):
        match node.operation:
            case "not":
                return np.uint64(1) - words
            case "~":
                return words ^ _LAST
            case "recip":
                found = np.minimum(np.uint64(WORD) // np.maximum(words, np.uint64(1)), _LAST)
                return np.where(words == 0, np.uint64(0), found)
        return words

    def _fits(self, node, words):
        if np.any(np.asarray(words) >= WORD):
            raise DoesNotFitFixed(f"{node.position}: a value of fixed point does not fit in a word "
                                  f"with {self._bits} fraction bits")
        return words

    def _binary(self, node, left, right):
        fixed = node.type is Type.FIXED
        match node.operation:
            case "+":
                both = left + right
                return self._fits(node, both) if fixed else np.minimum(both, _LAST)
            case "-":
                if fixed and np.any(left < right):
                    raise UserError(f"{node.position}: a difference of fixed point is below 0")
                return np.where(left > right, left - right, np.uint64(0))
            case "times":
                return np.minimum(left * right, _LAST)
            case "*" if Type.FRACTION in (node.left.type, node.right.type):
                return (left * right) >> _HALF
            case "*":
                both = left * right
                return self._fits(node, both) if fixed else np.minimum(both, _LAST)
            case "/":
                if np.any(right == 0):
                    raise UserError(f"{node.position}: division by 0")
                return left // right
            case "//":
                return np.where(right == 0, _LAST, left // np.maximum(right, np.uint64(1)))
            case "%":
                return np.where(right == 0, left, left % np.maximum(right, np.uint64(1)))
            case "<<":
                return left << (right & np.uint64(31)) & _LAST
            case ">>":
                return left >> (right & np.uint64(31))
            case "&":
                return left & right
            case "|":
                return left | right
            case "^":
                return left ^ right
            case "min":
                return np.minimum(left, right)
            case "max":
                return np.maximum(left, right)
            case "==":
                found = left == right
            case "!=":
                found = left != right
            case "<":
                found = left < right
            case "<=":
                found = left <= right
            case ">":
                found = left > right
            case _:
                found = left >= right
        return found.astype(np.uint64)
