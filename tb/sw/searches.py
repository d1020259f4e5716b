"""Searches by scipy, for tests whose results must not depend on the project's own models."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra


__all__ = ["bfs", "fits", "sssp"]


def bfs(graph, source):
    """Depth and smallest parent of each vertex, as int64; -1 without a path."""
    arcs = csr_array((np.ones(graph.num_edges), (graph.src, graph.dst)),
                     shape=(graph.num_vertices,) * 2)
    found = dijkstra(arcs, indices=source, unweighted=True)
    depth = np.where(np.isinf(found), -1, found).astype(np.int64)
    falls = (depth[graph.src] >= 0) & (depth[graph.src] + 1 == depth[graph.dst])
    parent = np.full(graph.num_vertices, graph.num_vertices)
    np.minimum.at(parent, graph.dst[falls], graph.src[falls])
    parent[depth < 0] = -1
    parent[source] = source
    return depth, parent


def sssp(graph, source):
    """The distance of each vertex in Python's integers, by Bellman and Ford; None without a path.
    Scipy takes an arc of weight 0 for no arc."""
    distance = [None] * graph.num_vertices
    distance[source] = 0
    arcs = list(zip(graph.src.tolist(), graph.dst.tolist(), graph.weights.tolist()))
    changed = True
    while changed:
        changed = False
        for src, dst, weight in arcs:
            if distance[src] is not None and (
                    distance[dst] is None or distance[src] + weight < distance[dst]):
                distance[dst] = distance[src] + weight
                changed = True
    return distance


def fits(graph, source):
    """Whether all distances are below 2**32 - 1."""
    return all(length is None or length < (1 << 32) - 1 for length in sssp(graph, source))
