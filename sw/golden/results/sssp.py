"""Shortest paths, judged by the edges.

No arc may lead to a vertex in less than the vertex's distance, and each vertex with a distance has
a path of *tight* arcs from the source: arcs whose weight is the difference of their ends'
distances. A tight arc with a weight comes from a smaller distance, so a vertex with such an arc has
such a path if the nearer vertices have. Paths of arcs without weight are followed, because they may
lead in a circle. Sums have 64 bits, so no length wraps.
"""

import numpy as np

from .check import LAST, rows_of


__all__ = ["fault"]


def fault(graph, values, words, bits):
    """As of :class:`~sw.golden.results.check.ResultCheck`."""
    source, distance = values["source"], words["distance"].astype(np.uint64)
    if distance[source] != 0:
        return f"distance of vertex {source}, the source, is {distance[source]}, must be 0"
    starts, ends = distance[graph.src], distance[graph.dst]
    lengths = starts + graph.weights
    reached = starts != LAST
    short = np.flatnonzero(reached & ((lengths < ends) | (ends == LAST)))
    if len(short):
        src, dst = graph.src[short[0]], graph.dst[short[0]]
        has = "has no distance" if distance[dst] == LAST else f"has distance {distance[dst]}"
        return (f"vertex {dst} {has}, and an arc from vertex {src} leads to it with a length of "
                f"{lengths[short[0]]} in all")
    tight = reached & (lengths == ends)
    rises = tight & (graph.weights != 0)
    grounded = np.zeros(graph.num_vertices, bool)
    grounded[source] = True
    grounded[graph.dst[rises]] = True
    _follow(graph, tight & (graph.weights == 0), grounded)
    loose = np.flatnonzero((distance != LAST) & ~grounded)
    if len(loose):
        return (f"vertex {loose[0]} has distance {distance[loose[0]]}, and no path from the source "
                "has this length")
    return None


def _follow(graph, chosen, grounded):
    """Ground all vertices to which chosen arcs lead from grounded ones."""
    src, dst = graph.src[chosen], graph.dst[chosen]
    order = np.argsort(src, kind="stable")
    neighbors = dst[order]
    offsets = np.searchsorted(src[order], np.arange(graph.num_vertices + 1))
    frontier = np.flatnonzero(grounded) if len(src) else np.zeros(0, np.int64)
    while len(frontier):
        _, ends = rows_of(offsets, neighbors, frontier)
        frontier = np.unique(ends[~grounded[ends]]).astype(np.int64)
        grounded[frontier] = True
