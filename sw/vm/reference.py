"""The GraphVM ``reference``: a plain interpreter on NumPy, by which the other machines are judged.

Every operator reads the words that the vectors had when the operator began.
"""

import numpy as np

from sw.lang import graph_ir as ir
from sw.lang.facts import Deferred, known
from sw.lang.faults import ProgramFault
from sw.lang.passes import as_written
from sw.lang.types import INFINITY, WORD, Type
from sw.vm.evaluate import Evaluator
from sw.vm.host import Machine, perform


__all__ = ["ReferenceMachine", "run"]


def run(program, graph, bits=None, **given):
    """Run a program as its text stands (:func:`~sw.lang.passes.as_written`). Returns a
    :class:`~sw.vm.host.ProgramResult`; raises as :func:`~sw.vm.host.perform` does."""
    program = as_written(program)
    return perform(program, graph, ReferenceMachine(program, graph), given, bits)


class ReferenceMachine(Machine):
    """Sets are sorted arrays of vertices.

    Parameters
    ----------
    program : GraphProgram
        With the facts of :func:`~sw.lang.passes.as_written` at least.
    graph : Graph

    Attributes
    ----------
    largest : dict of str to int
        The largest word that each vector has had between two operators.
    """

    def __init__(self, program, graph):
        self._program, self._graph = program, graph

    def start(self, bits, arrays):
        self._bits = bits
        self._arrays = {name: words.astype(np.uint64) for name, words in arrays.items()}
        self.largest = {name: int(words.max(initial=0)) for name, words in arrays.items()}
        # {(function, vector): whether a vertex has lost a candidate}.
        self._lost = {}

    def state(self, values):
        return values, {name: words.copy() for name, words in self._arrays.items()}

    def is_at(self, state, values):
        return all(one.keys() == other.keys() and all(
            np.array_equal(one[name], other[name]) if isinstance(one[name], np.ndarray)
            else one[name] == other[name] for name in one)
            for one, other in zip((values, self._arrays), state))

    def make_set(self, vertices):
        if vertices is None:
            return np.arange(self._graph.num_vertices)
        return np.unique(np.asarray(vertices, dtype=np.int64))

    def size(self, vset):
        return len(vset)

    def join(self, vset, other):
        return np.union1d(vset, other)

    def split(self, vset, vector, threshold):
        below = self._arrays[vector][vset] < threshold
        return vset[below], vset[~below]

    def least(self, vset, vector):
        return int(self._arrays[vector][vset].min())

    def store(self, vector, vertex, word):
        self._arrays[vector][vertex] = word

    def fill(self, vector, words):
        """Store all elements."""
        self._arrays[vector][:] = words

    def read(self, vector):
        return self._arrays[vector].astype(np.uint32)

    def _call(self, name, calls, uniforms):
        """Perform a function by the words of now. Returns its result, and the words before."""
        function = self._program.function(name)
        before = {vector: self._arrays[vector].copy() for vector in function.writes()}
        stored = function.touched().stores

        def load(vector, vertices, own):
            # Only the vertex itself stores its word, but other vertices may reduce it.
            words = self._arrays if own and vector in stored else self._arrays | before
            return words[vector][vertices.astype(np.int64)]

        def store(vector, vertices, words):
            self._arrays[vector][vertices.astype(np.int64)] = words

        added = {}

        def reduce(node, vertices, words, lost):
            combine = {"min": np.minimum, "max": np.maximum, "+": np.add, "or": np.bitwise_or}
            array, vertices = self._arrays[node.vector], vertices.astype(np.int64)
            combine[node.operation].at(array, vertices, words)
            if node.operation == "+":
                added.setdefault(node.vector, []).append((vertices, words))
            elif lost is not None and lost.any():
                marks = self._lost.setdefault((name, node.vector), np.zeros(len(array), bool))
                marks[vertices[lost]] = True

        if not len(calls[0]):
            return np.zeros(0, np.uint64), before
        result = Evaluator(self._program, self._graph, self._bits, uniforms, load).run(
            function, calls, store, reduce)
        for vector, sums in added.items():
            self._check_sums(function, vector, sums)
        for vector in before:
            self.largest[vector] = max(self.largest[vector], int(self._arrays[vector].max()))
        return result, before

    def _check_sums(self, function, vector, sums):
        """Refuse the words of a vector that sums of numbers above 0 have made too large. ``sums``
        are pairs of vertices and numbers."""
        array = self._arrays[vector]
        fixed = self._program.vector(vector).type is Type.FIXED
        over = np.flatnonzero(array >= (WORD if fixed else INFINITY))
        if over.size and not fixed:
            # A vertex at infinity to which nothing was added stays there.
            summed = [vertices[words != 0] for vertices, words in sums]
            over = np.intersect1d(over, np.concatenate(summed))
        self._fail("sum", function, vector, over)

    def _fail(self, kind, function, vector, vertices):
        """Raise the error of the reductions of a vector at some vertices, if there are any. Their
        order would decide which of them is the first that does not fit."""
        if not vertices.size:
            return
        node = next(part for part in ir.walk(*function.body)
                    if isinstance(part, ir.Reduce) and part.vector == vector)
        raise ProgramFault(kind, node).error(self._program, self._graph.num_vertices, self._bits,
                                             int(vertices.min()))

    def settle(self, node):
        function = self._program.function(node.apply_f)
        vectors = [part.vector for part in ir.walk(*function.body) if isinstance(part, ir.Reduce)]
        for vector in vectors:
            marks = self._lost.pop((function.name, vector), None)
            if marks is not None:
                self._fail("lost", function, vector,
                           np.flatnonzero(marks & (self._arrays[vector] == INFINITY)))

    def edges(self, node, vset, uniforms):
        offsets, neighbors, weights = self._graph.csr(reverse=node.transposed)
        begin = offsets[vset].astype(np.int64)
        count = offsets[vset + 1] - begin
        # The places of the edges that leave the set.
        arcs = np.repeat(begin - np.cumsum(count) + count, count) + np.arange(count.sum())
        calls = [np.repeat(vset, count).astype(np.uint64), neighbors[arcs].astype(np.uint64)]
        if self._program.function(node.apply_f).weighted:
            calls.append(weights[arcs].astype(np.uint64))
        if node.to_filter is not None:
            wanted, _ = self._call(node.to_filter, [np.arange(
                self._graph.num_vertices, dtype=np.uint64)], uniforms)
            kept = wanted.astype(bool)[calls[1].astype(np.int64)]
            calls = [call[kept] for call in calls]
        _, before = self._call(node.apply_f, calls, uniforms)
        if known(node, Deferred) is None:
            self.settle(node)
        if node.tracking is None:
            return None
        return np.flatnonzero(before[node.tracking] != self._arrays[node.tracking])

    def vertices(self, node, vset, uniforms):
        self._call(node.apply_f, [vset.astype(np.uint64)], uniforms)
        self.settle(node)

    def where(self, node, vset, uniforms):
        wanted, _ = self._call(node.filter, [vset.astype(np.uint64)], uniforms)
        return vset[wanted.astype(bool)]

    def total(self, node, vset, uniforms):
        words, _ = self._call(node.function, [vset.astype(np.uint64)], uniforms)
        return sum(words.tolist())
