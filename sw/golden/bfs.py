"""Breadth-first search: depth and parent of every vertex."""

import numpy as np

from sw.errors import UserError


__all__ = ["bfs"]


def bfs(graph, source):
    """Search ``graph`` along its arcs from ``source``.

    The work is proportional to the vertices and arcs reached, whatever the number of levels.

    Parameters
    ----------
    graph : Graph
        The graph to search.
    source : int
        The vertex to start from.

    Returns
    -------
    depth : int32[V]
        Arcs of the shortest path from ``source``; -1 without a path.
    parent : int32[V]
        The smallest-numbered vertex of the level before from which an arc leads to this vertex. The
        parent of ``source`` is ``source``; the parent is -1 where ``depth`` is -1.

    Raises
    ------
    UserError
        If ``source`` is not a vertex.
    """
    if not 0 <= source < graph.num_vertices:
        raise UserError(f"{graph.name}: source {source} is not a vertex, must be from 0 to "
                        f"{graph.num_vertices - 1}")
    offsets, neighbors, _ = graph.csr()
    depth = np.full(graph.num_vertices, -1, dtype=np.int32)
    parent = np.full(graph.num_vertices, -1, dtype=np.int32)
    depth[source], parent[source] = 0, source

    frontier, level = np.array([source], dtype=np.int64), 0
    while len(frontier):
        level += 1
        # The arcs of the frontier's vertices, row after row, in ascending order of vertex.
        starts = offsets[frontier].astype(np.int64)
        counts = offsets[frontier + 1] - starts
        before = np.cumsum(counts) - counts
        ends = neighbors[np.arange(counts.sum()) + np.repeat(starts - before, counts)]
        reached_from = np.repeat(frontier, counts)
        new = depth[ends] < 0
        ends, reached_from = ends[new], reached_from[new]
        # The first arc to reach a vertex is from its smallest parent. The arcs are written in
        # reverse order, so this arc is written last and stays.
        parent[ends[::-1]] = reached_from[::-1]
        depth[ends] = level
        frontier = np.unique(ends).astype(np.int64)
    return depth, parent
