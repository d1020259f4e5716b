"""Gorder: a greedy ordering by common in-neighbours (Wei et al., SIGMOD 2016).

Vertices are placed one after another. The score of two vertices is the number of edges between them
plus the number of in-neighbours that they share. The next vertex is the one whose scores with the
last :data:`WINDOW` placed vertices have the largest sum; of several, the one with the smallest
number. The first is the vertex with the most in-edges. As in the authors' program, a shared
in-neighbour with more out-edges than the square root of the number of vertices does not count.

When a vertex enters or leaves the window, only the sums of vertices that are near it change. The
largest sum is found by a search through all vertices, so a graph of *n* vertices and *m* edges
takes n^2 + m * sqrt(n) steps at most, each of them a step of numpy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any


__all__ = ["WINDOW", "gorder"]


#: Placed vertices with which the next vertex is compared (the paper's w).
WINDOW = 5


def gorder(sources: Any, destinations: Any, num_vertices: int) -> Any:
    """The vertices in Gorder's order.

    Parameters
    ----------
    sources, destinations : uint32[n]
        The edges. Parallel edges count once, self-loops do not count.
    num_vertices : int

    Returns
    -------
    int64[num_vertices]
    """
    if num_vertices == 0:
        return np.zeros(0, dtype=np.int64)
    out = _rows(sources, destinations, num_vertices)
    into = _rows(destinations, sources, num_vertices)
    small = np.diff(out.indptr) <= np.sqrt(num_vertices)
    score = np.zeros(num_vertices, dtype=np.int64)
    order = np.empty(num_vertices, dtype=np.int64)
    near: list[tuple[Any, Any]] = []
    vertex = int(np.argmax(np.diff(into.indptr)))
    for place in range(num_vertices):
        order[place] = vertex
        score[vertex] = np.iinfo(np.int64).min // 2         # it is placed: no score makes up for it
        near.append(_near(out, into, small, vertex))
        score[near[-1][0]] += near[-1][1]
        if len(near) > WINDOW:
            others, scores = near.pop(0)
            score[others] -= scores
        vertex = int(np.argmax(score))
    return order


def _rows(bases: Any, neighbors: Any, num_vertices: int) -> Any:
    """The neighbours of each vertex, once each and without the vertex, as a sparse matrix."""
    from scipy import sparse     # pyright: ignore[reportMissingTypeStubs]
    apart = bases != neighbors
    matrix = sparse.coo_matrix((np.ones(int(apart.sum()), dtype=np.int8),
                                (bases[apart].astype(np.int64), neighbors[apart].astype(np.int64))),
                               shape=(num_vertices,) * 2).tocsr()
    matrix.sum_duplicates()
    return matrix


def _near(out: Any, into: Any, small: Any, vertex: int) -> tuple[Any, Any]:
    """The vertices that have a score with ``vertex``, and these scores."""
    successors = out.indices[out.indptr[vertex]:out.indptr[vertex + 1]]
    sources = into.indices[into.indptr[vertex]:into.indptr[vertex + 1]]
    shared = [out.indices[out.indptr[source]:out.indptr[source + 1]]
              for source in sources[small[sources]]]
    others, scores = np.unique(np.concatenate([successors, sources, *shared]), return_counts=True)
    apart = others != vertex
    return others[apart], scores[apart]
