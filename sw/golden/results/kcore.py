"""Core numbers, judged by peeling.

No core number is too large if each vertex with number k has k neighbours or more whose numbers are
at least k. None is too small if the vertices of each number k can be taken away one after another,
those of smaller numbers having gone before, such that none has more than k neighbours when it goes.
The vertices of all numbers are peeled at the same time.
"""

import numpy as np

from .check import rows_of


__all__ = ["fault"]


def fault(graph, values, words, bits):
    """As of :class:`~sw.golden.results.check.ResultCheck`. The graph is symmetric and simple."""
    core = words["core"].astype(np.int64)
    offsets, neighbors, _ = graph.csr()
    own = np.repeat(core, graph.out_degrees)
    supported = np.bincount(graph.src[core[graph.dst] >= core[graph.src]],
                            minlength=graph.num_vertices)
    large = np.flatnonzero(supported < core)
    if len(large):
        vertex = large[0]
        return (f"core of vertex {vertex} is {core[vertex]}, and only {supported[vertex]} of its "
                "neighbours have as large a number")
    # The neighbours that are there when the vertices of a smaller number have gone.
    left, peeled = supported, np.zeros(graph.num_vertices, bool)
    same = core[neighbors] == own
    kept = np.concatenate([[0], np.cumsum(same)])[offsets.astype(np.int64)]
    beside = neighbors[same]
    frontier = np.flatnonzero(left <= core)
    while len(frontier):
        peeled[frontier] = True
        _, ends = rows_of(kept, beside, frontier)
        ends = ends[~peeled[ends]]
        np.subtract.at(left, ends, 1)
        frontier = np.unique(ends[left[ends] <= core[ends]]).astype(np.int64)
    small = np.flatnonzero(~peeled)
    if len(small):
        vertex = small[0]
        return (f"core of vertex {vertex} is {core[vertex]}, and it is in a subgraph whose degrees "
                f"are {core[vertex] + 1} or more")
    return None
