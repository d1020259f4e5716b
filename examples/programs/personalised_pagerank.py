"""Personalised PageRank."""

from graphloom import Label, decimal, edgeset, fixed, fraction, program, vector, vertex, vertices


@program
def personalised_pagerank(edges: edgeset, source: vertex = 0, iterations: int = 20,
                          damping: decimal = 0.85):
    """How often a walk is at every vertex that goes on along an arc, or back to the source; in
    fixed point. The shares add up to at most 1, as walks end at vertices without arcs."""
    rank = vector(fixed, 0)
    share = vector(fixed, 0)
    total = vector(fixed, 0)
    restart = vector(fixed, 0)
    inverse = vector(fraction, lambda v: 1 / edges.out_degree(v))

    def divide(v):
        share[v] = rank[v] * inverse[v]
        total[v] = 0

    def collect(src, dst):
        total[dst] += share[src]

    def renew(v):
        rank[v] = total[v] * damping + restart[v] * (1 - damping)

    rank[source] = 1
    restart[source] = 1
    s0: Label
    for round in range(iterations):
        vertices.apply(divide)
        s1: Label
        edges.apply(collect)
        vertices.apply(renew)
    return rank
