"""Similar vertices."""

from graphloom import (Label, edgeset, fraction, program, simple, symmetric, uint, vector, vertex,
                       vertexset)


@program(needs=(symmetric, simple))
def jaccard(edges: edgeset, source: vertex = 0):
    """How similar every vertex of an undirected graph is to the source: the neighbours of both, as
    a part of the neighbours of either (Jaccard). Vertices without a neighbour of both have 0."""
    near = vector(uint, 0)
    common = vector(uint, 0)
    similarity = vector(fraction, 0)

    def meet(src, dst):
        near[dst] |= 1

    def share(src, dst):
        common[dst] += 1

    def compare(v):
        either = edges.out_degree(v) + edges.out_degree(source) - common[v]
        similarity[v] = common[v] / either

    centre = vertexset(source)
    s0: Label
    neighbours = edges.from_(centre).apply_modified(meet, near)
    s1: Label
    alike = edges.from_(neighbours).apply_modified(share, common)
    alike.apply(compare)
    return similarity, common
