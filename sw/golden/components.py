"""Connected components: the smallest vertex that each vertex can reach along arcs either way."""

import numpy as np


__all__ = ["components"]


def components(graph):
    """The weakly connected component of every vertex.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    label : uint32[V]
        The smallest vertex of each vertex's component.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    count = graph.num_vertices
    arcs = coo_array((np.ones(graph.num_edges, np.int8), (graph.src, graph.dst)),
                     shape=(count, count))
    _, number = connected_components(arcs.tocsr().astype(bool), directed=True, connection="weak")
    _, first = np.unique(number, return_index=True)        # vertices ascend, so first is smallest
    return first[number].astype(np.uint32)
