"""Edges in a form that can be compared: sorted rows of (source, destination, weight)."""

import numpy as np


__all__ = ["edges_of", "listed"]


def listed(sources, destinations, weights=None):
    """The edges as a list of tuples, in ascending order; the weight is 0 if there are no weights.
    """
    weights = np.zeros(len(sources), dtype=np.uint32) if weights is None else weights
    return sorted(zip(sources.tolist(), destinations.tolist(), weights.tolist(), strict=True))


def edges_of(graph):
    """The edges of a graph, in the form of :func:`listed`."""
    return listed(graph.src, graph.dst, graph.weights)
