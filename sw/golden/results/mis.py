"""A maximal independent set, judged by the edges: no arc joins two of its vertices, and each other
vertex has a neighbour in it. A self-loop joins no two vertices."""

import numpy as np


__all__ = ["fault"]


def fault(graph, values, words, bits):
    """As of :class:`~sw.golden.results.check.ResultCheck`."""
    chosen = words["chosen"]
    odd = np.flatnonzero(chosen > 1)
    if len(odd):
        return f"chosen of vertex {odd[0]} is {chosen[odd[0]]}, must be 0 or 1"
    inside = chosen.astype(bool)
    from_inside = inside[graph.src] & (graph.src != graph.dst)
    both = np.flatnonzero(from_inside & inside[graph.dst])
    if len(both):
        return (f"vertices {graph.src[both[0]]} and {graph.dst[both[0]]} are chosen, and an arc "
                "joins them")
    covered = inside.copy()
    covered[graph.dst[from_inside]] = True
    free = np.flatnonzero(~covered)
    if len(free):
        return f"vertex {free[0]} is not chosen, and none of its neighbours is"
    return None
