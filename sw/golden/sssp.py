"""Single-source shortest paths: the distance of every vertex."""

import numpy as np

from sw.errors import UserError


__all__ = ["sssp"]


#: The distance of a vertex to which no path leads: 2**32 - 1.
_NO_PATH = 0xFFFF_FFFF


def sssp(graph, source):
    """The least sum of weights over all paths from ``source``, along the arcs.

    Parameters
    ----------
    graph : Graph
        A graph with weights.
    source : int
        The vertex to start from.

    Returns
    -------
    distance : uint32[V]
        2**32 - 1 where there is no path.

    Raises
    ------
    UserError
        If the graph has no weights, ``source`` is not a vertex, or a distance does not fit: it must
        be below 2**32 - 1.
    """
    if graph.weights is None:
        raise UserError(f"{graph.name}: its arcs have no weights")
    if not 0 <= source < graph.num_vertices:
        raise UserError(f"{graph.name}: source {source} is not a vertex, must be from 0 to "
                        f"{graph.num_vertices - 1}")
    offsets, neighbors, weights = graph.csr()
    unknown = np.iinfo(np.uint64).max
    distance = np.full(graph.num_vertices, unknown, dtype=np.uint64)
    distance[source] = 0
    frontier = np.array([source], dtype=np.int64)
    while len(frontier):
        starts = offsets[frontier].astype(np.int64)
        counts = offsets[frontier + 1] - starts
        before = np.cumsum(counts) - counts
        arcs = np.arange(counts.sum()) + np.repeat(starts - before, counts)
        ends = neighbors[arcs]
        lengths = np.repeat(distance[frontier], counts) + weights[arcs]
        shorter = lengths < distance[ends]
        ends = ends[shorter]
        np.minimum.at(distance, ends, lengths[shorter])
        frontier = np.unique(ends).astype(np.int64)
    reached = distance != unknown
    far = reached & (distance >= _NO_PATH)
    if far.any():
        vertex = int(np.argmax(far))
        raise UserError(f"{graph.name}: vertex {vertex} is {int(distance[vertex])} away from "
                        f"vertex {source}; distances must be below {_NO_PATH} to fit in 32 bits")
    return np.where(reached, distance, _NO_PATH).astype(np.uint32)
