"""Functions of a program, evaluated by NumPy for many calls at a time.

A word is an element of a uint64 array, so that sums and products of two words do not overflow.
"""

from typing import Any

import numpy as np

from sw.lang import graph_ir as ir
from sw.lang.faults import ProgramFault, candidates, kinds_of, may_lose
from sw.lang.types import WORD, Type


__all__ = ["Evaluator", "fixed_word", "literal_word"]


_LAST = np.uint64(WORD - 1)
_HALF = np.uint64(32)


def fixed_word(value, bits) -> int:
    """The word of a number with these fraction bits, rounded to the nearest, or to even."""
    return round(value * (1 << bits))


def literal_word(node, bits) -> int:
    """The word of a Literal, of a FIXED one with these fraction bits."""
    if node.type is Type.FIXED:
        return fixed_word(node.value, bits)
    if node.type is Type.FRACTION:
        return min(round(node.value * WORD), WORD - 1)
    return int(node.value)


class Evaluator:
    """Evaluates functions for arrays of calls.

    Parameters
    ----------
    program : GraphProgram
    graph : Graph
    bits : int
        Fraction bits of FIXED.
    uniforms : dict of Uniform to int
        The words that are the same for all calls.
    load : callable
        ``load(vector, vertices, own)``: the elements of these vertices; ``own`` is whether they
        are the vertices of the calls themselves.
    """

    def __init__(self, program, graph, bits, uniforms, load=None):
        self._program, self._graph, self._bits = program, graph, bits
        self._uniforms, self._load = uniforms, load or _no_vectors
        self._own: Any = None

    def initial(self, vector):
        """The words with which a vector begins."""
        vertices = np.arange(self._graph.num_vertices, dtype=np.uint64)
        self._named = self._own = vector.variable
        return self.value(vector.initial, {self._named: vertices}, len(vertices))

    def run(self, function, calls, store=None, reduce=None) -> Any:
        """Perform the body of a function. Returns the array of its results, or None.

        Parameters
        ----------
        function : Function
        calls : sequence of uint64 arrays
            The parameters of all calls, which are one at least.
        store, reduce : callable
            ``store(vector, vertices, words)``, ``reduce(node, vertices, words, lost)``, where
            ``lost`` says of each candidate whether it is a number above the largest; None if none
            can be.

        Raises
        ------
        UserError
            If a call has a fault (:mod:`sw.lang.faults`).
        """
        self._store: Any = store
        self._reduce: Any = reduce
        self._own = function.parameters[0] if not function.of_edge else None
        self._named = function.parameters[function.of_edge]
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
                    vertices = self._checked(node, env, count)
                    lost = np.zeros(count, bool) if may_lose(node) else None
                    words = self.value(node.value, env, count, lost)
                    if lost is not None and lost.any():
                        lost &= words == _LAST
                    self._reduce(node, vertices, words, lost)
                case ir.Give():
                    self._result = self.value(node.value, env, count)
                    if "summed" in kinds_of(node):
                        self._refuse("summed", node, self._result == _LAST, env)
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

    def _refuse(self, kind, node, wrong, env):
        """Raise the error of a fault if any call has it."""
        if np.any(wrong):
            vertices = env[self._named]
            self._fail(kind, node, int(vertices[np.broadcast_to(wrong, vertices.shape)].min()))

    def _fail(self, kind, node, detail):
        raise ProgramFault(kind, node).error(self._program, self._graph.num_vertices, self._bits,
                                             detail)

    def _checked(self, node, env, count):
        """The vertices of an index. Raises UserError if one is ``none``."""
        vertices = self.value(node.vertex if isinstance(node, ir.Degree) else node.index, env,
                              count)
        if int(vertices.max()) >= self._graph.num_vertices:
            self._fail("index", node, int(vertices.max()) ^ WORD - 1)
        return vertices

    def value(self, node, env, count, lost=None):
        """The words of an expression, one for each call.

        If the expression is a candidate, ``lost`` is an array of bool, and becomes true where a sum
        or a product is above the largest number.
        """
        match node:
            case ir.Literal():
                return np.full(count, self._word(node, env), np.uint64)
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
                return self._unary(node, self.value(node.operand, env, count), env)
            case ir.Select():
                chosen = self.value(node.condition, env, count).astype(bool)
                return self._merged(chosen, node.then, node.otherwise, env, count, lost)
            case ir.Binary(operation="and" | "or" as name):
                left = self.value(node.left, env, count).astype(bool)
                rest = left if name == "and" else ~left
                found = left.astype(np.uint64)
                if rest.any():
                    found[rest] = self._part(node.right, rest, env)
                return found
            case ir.Binary(operation="times"):
                left = self.value(node.left, env, count)
                right = self.value(node.right.operand, env, count)
                self._refuse("infinite", node, (left == _LAST) | (right == _LAST), env)
                self._refuse("above", node, (left > right) & (right != 0), env)
                return np.minimum(left * _reciprocal(right), _LAST)
        inner = lost if candidates(node) else None
        return self._binary(node, self.value(node.left, env, count, inner),
                            self.value(node.right, env, count, inner), env, lost)

    def _word(self, node, env):
        word = literal_word(node, self._bits)
        return self._fits(node, word, env) if node.type is Type.FIXED else word

    def _part(self, node, lanes, env, lost=None):
        inner = None if lost is None else lost[lanes]
        found = self.value(node, {name: words[lanes] for name, words in env.items()},
                           int(lanes.sum()), inner)
        if lost is not None:
            lost[lanes] = inner
        return found

    def _merged(self, chosen, then, otherwise, env, count, lost):
        found = np.zeros(count, np.uint64)
        for node, lanes in ((then, chosen), (otherwise, ~chosen)):
            if lanes.any():
                found[lanes] = self._part(node, lanes, env, lost)
        return found

    def _unary(self, node, words, env):
        match node.operation:
            case "not":
                return np.uint64(1) - words
            case "~":
                return words ^ _LAST
            case "recip":
                self._refuse("infinite", node, words == _LAST, env)
                return _reciprocal(words)
        return words

    def _fits(self, node, words, env):
        self._refuse("fits", node, np.asarray(words) >= WORD, env)
        return words

    def _limited(self, node, exact, left, right, env, lost):
        """A sum or a product of two uints."""
        beyond = exact >= _LAST
        if not beyond.any():
            return exact
        large = beyond & (left != _LAST) & (right != _LAST)
        if lost is None:
            self._refuse("large", node, large, env)
        else:
            lost |= large
        return np.minimum(exact, _LAST)

    def _binary(self, node, left, right, env, lost):
        fixed = node.type is Type.FIXED
        infinite = [words == _LAST for words, part in ((left, node.left), (right, node.right))
                    if part.type is Type.UINT]
        if "infinite" in kinds_of(node):
            self._refuse("infinite", node, np.logical_or.reduce(infinite), env)
        match node.operation:
            case "+":
                both = left + right
                return self._fits(node, both, env) if fixed else \
                    self._limited(node, both, left, right, env, lost)
            case "-":
                self._refuse("below", node, left < right, env)
                return left - right
            case "*" if Type.FRACTION in (node.left.type, node.right.type):
                return (left * right) >> _HALF
            case "*":
                both = left * right
                if fixed:
                    return self._fits(node, both, env)
                self._refuse("zero", node, np.logical_or.reduce(infinite) & (both == 0), env)
                return self._limited(node, both, left, right, env, lost)
            case "/" | "//":
                self._refuse("division", node, right == 0, env)
                return left // right
            case "%":
                self._refuse("division", node, right == 0, env)
                return left % right
            case "<<" | ">>":
                self._refuse("shift", node, right >= 32, env)
                return left << right & _LAST if node.operation == "<<" else left >> right
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


def _reciprocal(words):
    """2**32 divided by words, as fractions; 0 for 0."""
    found = np.minimum(np.uint64(WORD) // np.maximum(words, np.uint64(1)), _LAST)
    return np.where(words == 0, np.uint64(0), found)


def _no_vectors(vector, vertices, own):
    raise AssertionError(f"{vector} has no elements yet")
