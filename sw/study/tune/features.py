"""Distances between graphs, by the figures of ``graphloom graph info``."""

import math


__all__ = ["FEATURES", "nearest"]


#: The figures that count, each with the function that makes its scale even. Numbers of vertices,
#: arcs and degrees count by their ratio. Vertices without arcs count by their share.
FEATURES = {
    "vertices": lambda facts: math.log2(facts["vertices"]),
    "mean_degree": lambda facts: math.log2(1 + facts["mean_degree"]),
    "max_out_degree": lambda facts: math.log2(1 + facts["max_out_degree"]),
    "max_in_degree": lambda facts: math.log2(1 + facts["max_in_degree"]),
    "degree_gini": lambda facts: facts["degree_gini"],
    "isolated": lambda facts: facts["isolated"] / facts["vertices"],
    "dangling": lambda facts: facts["dangling"] / facts["vertices"],
    "components": lambda facts: math.log2(1 + facts["components"]),
}


def nearest(facts, others) -> list:
    """The order of graphs by their distance from a graph, the nearest first: the number of each of
    the others, and its distance from 0 on. Equal distances keep their order. ``facts`` are the
    figures of the graph (:func:`sw.graph.describe.describe`).

    Each feature is divided by its spread over all these graphs, so that no feature counts more than
    another. The distance is Euclid's."""
    rows = [[scale(each) for scale in FEATURES.values()] for each in (facts, *others)]
    spreads = [max(column) - min(column) or 1.0 for column in zip(*rows)]
    own, *rest = [[value / spread for value, spread in zip(row, spreads)] for row in rows]
    distances = [math.dist(own, row) for row in rest]
    return sorted(enumerate(distances), key=lambda pair: pair[1])
