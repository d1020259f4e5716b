"""Figures of a graph that predict the behaviour of algorithms on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from .graph import Graph


__all__ = ["describe", "gini"]


def gini(values: NDArray[np.integer[Any]]) -> float:
    """The Gini coefficient of non-negative numbers: 0 when all are equal, towards 1 when few have
    everything. 0 when all are 0."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    total = ordered.sum()
    if total == 0:
        return 0.0
    count = len(ordered)
    rank = np.arange(1, count + 1)
    return float(2 * (rank @ ordered) / (count * total) - (count + 1) / count)


def describe(graph: Graph) -> dict[str, Any]:
    """The figures that ``graph info`` prints, by name.

    Parameters
    ----------
    graph : Graph
        The graph to describe.

    Returns
    -------
    dict
        ``name``, ``vertices``, ``arcs``; ``mean_degree`` (arcs per vertex), ``max_out_degree``,
        ``max_in_degree``; ``degree_gini`` (of in- and out-degree together); ``isolated`` (vertices
        without any arc), ``dangling`` (vertices that no arc leaves), ``self_loops``,
        ``parallel_arcs`` (arcs beyond the first between the same two vertices in the same
        direction), ``components`` (weakly connected); ``weighted``, ``min_weight`` and
        ``max_weight`` (``None`` without weights or arcs). Numbers are Python's own.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components
    offsets, neighbors, _ = graph.csr()
    rows = np.repeat(np.arange(graph.num_vertices, dtype=np.uint32), graph.out_degrees)
    parallel = (rows[1:] == rows[:-1]) & (neighbors[1:] == neighbors[:-1])
    matrix = csr_array((np.ones(graph.num_edges, dtype=np.int8), neighbors.astype(np.int32),
                        offsets.astype(np.int32)), shape=(graph.num_vertices,) * 2)
    components = connected_components(matrix, directed=True, connection="weak",
                                      return_labels=False)
    degrees = graph.out_degrees + graph.in_degrees
    weights = graph.weights if graph.weights is not None and graph.num_edges else None
    return {
        "name": graph.name,
        "vertices": graph.num_vertices,
        "arcs": graph.num_edges,
        "mean_degree": graph.num_edges / graph.num_vertices,
        "max_out_degree": int(graph.out_degrees.max()),
        "max_in_degree": int(graph.in_degrees.max()),
        "degree_gini": gini(degrees),
        "isolated": int(np.count_nonzero(degrees == 0)),
        "dangling": int(np.count_nonzero(graph.out_degrees == 0)),
        "self_loops": int(np.count_nonzero(graph.src == graph.dst)),
        "parallel_arcs": int(np.count_nonzero(parallel)),
        "components": int(components),
        "weighted": graph.weights is not None,
        "min_weight": None if weights is None else int(weights.min()),
        "max_weight": None if weights is None else int(weights.max()),
    }
