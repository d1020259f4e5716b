"""Calls of libraries that do what programs of the language do, on this computer or on a GPU.

=========  ==================================  ====================================
program    scipy                               cupy
=========  ==================================  ====================================
pagerank   a sparse product an iteration       the same, in float32
bfs        ``csgraph.breadth_first_order``     a sparse product a level, in float32
sssp       ``csgraph.dijkstra``                -
cc         ``csgraph.connected_components``    -
bc         -                                   two products a level, in float32
=========  ==================================  ====================================

The matrices are made before, in the form that the library computes with.
"""

import importlib.util
import time
from typing import Any

import numpy as np

from sw.lang.types import WORD


__all__ = ["LIBRARIES", "LibraryCall", "cupy_call", "scipy_call"]


#: The number of a vertex or level that there is not.
_NONE = WORD - 1

#: PageRank's constants.
_DAMPING, _BASE = 0.85, 0.15


class LibraryCall:
    """A call, ready to be made again and again (:func:`sw.study.benchmarks.machines.in_turn`).

    ``call`` makes it, and gives its result when it has ended. ``found`` is the result of the first
    call, which is not measured, and ``seconds`` has the times of the further calls."""

    def __init__(self, call, agrees):
        self._call, self._agrees = call, agrees
        self.found: Any = call()
        self.seconds: list[float] = []

    def run(self):
        """Make the call once more."""
        begin = time.perf_counter()
        self._call()
        self.seconds.append(time.perf_counter() - begin)

    def agrees(self, result) -> bool:
        """Whether the call's result is that of a :class:`~sw.vm.host.ProgramResult`, or for numbers
        with decimals near enough."""
        return self._agrees(self.found, result)


# Comparison

def _same_depths(depths, result):
    return np.array_equal(depths.astype(np.int64).astype(np.uint32), result.outputs["depth"])


def _depths(graph, source, order, before):
    """The depth of each vertex, -1 if it is not reached, by the order and the predecessors of a
    search."""
    depths = np.full(graph.num_vertices, -1)
    depths[source] = 0
    found, before = depths.tolist(), before.tolist()
    for vertex in order.tolist()[1:]:
        found[vertex] = found[before[vertex]] + 1
    return np.array(found)


def _near_ranks(graph, rounding):
    """Compares ranks, as shares of 1. The sum of all differences may be that of the words' last
    bits, one for each arc and each vertex in each iteration, and ``rounding``."""
    def near(ranks, result):
        last = 8 * (graph.num_edges + graph.num_vertices) / graph.num_vertices
        bound = last / 2 ** result.fraction_bits + rounding
        return bool(np.abs(np.asarray(ranks) - result.decimal("rank")).sum() < bound)
    return near


def _inverse_degrees(graph, dtype):
    return (1 / np.maximum(graph.out_degrees, 1)).astype(dtype) * (graph.out_degrees > 0)


# SciPy

def scipy_call(algorithm, graph, given) -> LibraryCall | None:
    """The call of SciPy for an algorithm with its ``source`` or ``iterations`` on a graph, with
    weights for ``"sssp"``; None if it has none."""
    from scipy import sparse
    from scipy.sparse import csgraph
    size = (graph.num_vertices,) * 2

    def matrix(weighted=False, reverse=False):
        offsets, neighbors, weights = graph.csr(reverse)
        entries = weights if weighted else np.ones(graph.num_edges)
        return sparse.csr_array((entries.astype(np.float64), neighbors.astype(np.int32),
                                 offsets.astype(np.int32)), shape=size)

    if algorithm == "bfs":
        arcs, source = matrix(), given["source"]
        return LibraryCall(lambda: csgraph.breadth_first_order(arcs, source), lambda found, result:
                           _same_depths(_depths(graph, source, *found), result))
    if algorithm == "sssp":
        arcs, source = matrix(weighted=True), given["source"]
        return LibraryCall(lambda: csgraph.dijkstra(arcs, indices=source), lambda lengths, result:
                           np.array_equal(np.where(np.isinf(lengths), _NONE, lengths),
                                          result.outputs["distance"]))
    if algorithm == "cc":
        arcs = matrix()
        return LibraryCall(lambda: csgraph.connected_components(arcs, directed=False)[1],
                           _same_components)
    if algorithm == "pagerank":
        arcs, inverse = matrix(reverse=True), _inverse_degrees(graph, np.float64)

        def sweeps():
            rank = np.full(graph.num_vertices, 1 / graph.num_vertices)
            for _ in range(given["iterations"]):
                rank = arcs @ (rank * inverse) * _DAMPING + _BASE / graph.num_vertices
            return rank
        return LibraryCall(sweeps, _near_ranks(graph, 1e-9))
    return None


def _same_components(labels, result):
    least = np.full(labels.max() + 1, len(labels))
    np.minimum.at(least, labels, np.arange(len(labels)))
    return np.array_equal(least[labels], result.outputs["label"])


# CuPy

def cupy_call(algorithm, graph, given) -> LibraryCall | None:
    """The call of CuPy for an algorithm, as :func:`scipy_call`; also None if CuPy is not installed.
    Each call ends when the GPU has.

    A search multiplies the matrix by the vertices of a level, in float32, as CuPy's sparse products
    are. One kernel of ours between two products keeps those that are new.
    """
    if algorithm not in ("pagerank", "bfs", "bc") or importlib.util.find_spec("cupy") is None:
        return None
    import cupy                                    # pyright: ignore[reportMissingImports]
    from cupyx.scipy import sparse                 # pyright: ignore[reportMissingImports]
    count = graph.num_vertices

    def matrix(reverse):
        offsets, neighbors, _ = graph.csr(reverse)
        return sparse.csr_matrix((cupy.ones(graph.num_edges, cupy.float32),
                                  cupy.asarray(neighbors.view(np.int32)),
                                  cupy.asarray(offsets.view(np.int32))), shape=(count, count))

    entering = matrix(True)
    if algorithm == "pagerank":
        inverse = cupy.asarray(_inverse_degrees(graph, np.float32))

        def sweeps():
            rank = cupy.ones(count, cupy.float32)
            for _ in range(given["iterations"]):
                rank = (entering @ (rank * inverse)) * np.float32(_DAMPING) + np.float32(_BASE)
            cupy.cuda.Device().synchronize()
            return rank
        near_ranks = _near_ranks(graph, 1e-3)
        return LibraryCall(sweeps, lambda ranks, result:
                           near_ranks(cupy.asnumpy(ranks) / count, result))

    source = given["source"]
    reach = cupy.ElementwiseKernel(
        "float32 y, int32 level, bool counts", "int32 depth, float32 x",
        "const bool found = y > 0 && depth < 0; if (found) depth = level;"
        "x = found ? (counts ? y : 1.f) : 0.f;", "reach")

    def search(sums=None):
        """The depths and the number of levels; ``sums`` gets the numbers of paths."""
        depth, reached = cupy.full(count, -1, cupy.int32), cupy.zeros(count, cupy.float32)
        depth[source], reached[source], level = 0, 1, 0
        while True:
            level += 1
            reach(entering @ reached, level, sums is not None, depth, reached)
            if not reached.any().item():
                return depth, level
            if sums is not None:
                sums += reached

    if algorithm == "bfs":
        return LibraryCall(lambda: search()[0],
                           lambda depth, result: _same_depths(cupy.asnumpy(depth), result))
    leaving = matrix(False)
    part = cupy.ElementwiseKernel(
        "int32 depth, int32 level, float32 delta, float32 sums", "float32 z",
        "z = depth == level ? (1 + delta) / sums : 0.f", "part")
    give = cupy.ElementwiseKernel(
        "int32 depth, int32 level, float32 sums, float32 w", "float32 delta",
        "if (depth == level) delta += sums * w", "give")

    def dependencies():
        sums, delta, shares = (cupy.zeros(count, cupy.float32) for _ in range(3))
        sums[source] = 1
        depth, levels = search(sums)
        for level in range(levels - 1, 0, -1):
            part(depth, level, delta, sums, shares)
            give(depth, level - 1, sums, leaving @ shares, delta)
        delta[source] = 0
        cupy.cuda.Device().synchronize()
        return delta

    def near(found, result):
        ours, theirs = result.decimal("dependency"), cupy.asnumpy(found).astype(np.float64)
        ours[source] = 0
        return bool(np.abs(ours - theirs).sum() <= 0.01 * theirs.sum())
    return LibraryCall(dependencies, near)


#: {GraphVM: (name of the library beside it, function that gives its calls)}.
LIBRARIES = {"cpu": ("scipy", scipy_call), "cuda": ("cupy", cupy_call)}
