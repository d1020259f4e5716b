"""Betweenness centrality from one source, judged by Brandes' equations.

With the depth of a search from the source, and arcs only from a level to the next::

    paths[w]      = the sum of paths[v] over the arcs (v, w);             1 at the source
    dependency[v] = the sum of (1 + dependency[w]) * paths[v] / paths[w] over the arcs (v, w)

The dependency is 0 at the source, and both are 0 where no path leads. The equations are checked for
all vertices at once, with the words of the result on both sides. The quotient of two numbers of
paths is the first times the reciprocal of the second, which is a fraction of 32 bits, rounded down;
the quotient is at most ``1 - 2**-32``. A term is rounded down.
"""

import numpy as np

from .check import LAST, WORD, first_difference, rows_of


__all__ = ["depths", "fault"]


def depths(graph, source) -> np.ndarray:
    """The depth of each vertex in a search from ``source``, as int64; -1 without a path."""
    offsets, neighbors, _ = graph.csr()
    depth = np.full(graph.num_vertices, -1)
    depth[source], level = 0, 0
    frontier = np.array([source])
    while len(frontier):
        level += 1
        _, ends = rows_of(offsets, neighbors, frontier)
        frontier = np.unique(ends[depth[ends] < 0]).astype(np.int64)
        depth[frontier] = level
    return depth


def fault(graph, values, words, bits):
    """As of :class:`~sw.golden.results.check.ResultCheck`."""
    source, count = values["source"], graph.num_vertices
    paths, dependency = (words[name].astype(np.uint64) for name in ("paths", "dependency"))
    depth = depths(graph, source)
    down = (depth[graph.src] >= 0) & (depth[graph.dst] == depth[graph.src] + 1)
    src, dst = graph.src[down], graph.dst[down]

    expected = np.zeros(count, np.uint64)
    np.add.at(expected, dst, paths[src])
    expected[source] = 1
    wrong = first_difference("paths", paths, expected)
    if wrong is not None:
        return wrong
    last = np.uint64(LAST)
    reciprocal = np.minimum(np.uint64(WORD) // paths[dst], last)
    quotient = np.minimum(paths[src] * reciprocal, last)
    terms = (dependency[dst] + np.uint64(1 << bits)) * quotient // np.uint64(WORD)
    expected = np.zeros(count, np.uint64)
    np.add.at(expected, src, terms)
    expected[source] = 0
    return first_difference("dependency", dependency, expected)
