"""Breadth-first search, judged by the edges.

Depths are right if and only if the source alone has depth 0, no arc leads from a vertex with a
depth to one without, or to one that is deeper by more than 1, and each other vertex with a depth
has an arc from the level before. A parent is the smallest vertex with such an arc.
"""

import numpy as np

from .check import LAST, first_difference


__all__ = ["fault"]


def fault(graph, values, words, bits):
    """As of :class:`~sw.golden.results.check.ResultCheck`."""
    source, count = values["source"], graph.num_vertices
    depth, parent = words["depth"], words["parent"]
    odd = np.flatnonzero((depth >= count) & (depth != LAST))
    if len(odd):
        return f"depth of vertex {odd[0]} is {depth[odd[0]]}, must be below {count}, or none"
    if depth[source] != 0:
        return f"depth of vertex {source}, the source, is not 0"
    others = np.flatnonzero(depth == 0)
    if len(others) > 1:
        return f"depth of vertex {others[others != source][0]} is 0, and the source is {source}"
    # -1 for a vertex without a depth. Arcs come in the order of their sources.
    level = depth.view(np.int32)
    offsets, ends, _ = graph.csr()
    starts = np.repeat(level, graph.out_degrees)
    rise = level[ends]
    rise -= starts
    reached = starts >= 0
    steep = np.flatnonzero(reached & ((rise > 1) | (rise < -starts)))
    if len(steep):
        src = int(np.searchsorted(offsets, steep[0], "right")) - 1
        dst = ends[steep[0]]
        has = "has none" if depth[dst] == LAST else f"has depth {depth[dst]}"
        return f"vertex {src} has depth {depth[src]}, and vertex {dst} behind one of its arcs {has}"
    falls = np.flatnonzero(reached & (rise == 1))[::-1]
    smallest = np.full(count, LAST, np.uint32)
    # The last that is written stays: that of the smallest source.
    smallest[ends[falls]] = np.repeat(np.arange(count, dtype=np.uint32), graph.out_degrees)[falls]
    smallest[source] = source
    alone = np.flatnonzero((depth != LAST) & (smallest == LAST))
    if len(alone):
        return (f"depth of vertex {alone[0]} is {depth[alone[0]]}, and no arc leads to it from the "
                "level before")
    return first_difference("parent", parent, smallest)
