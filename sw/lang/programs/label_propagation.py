"""Label propagation from labelled vertices."""

from sw.lang.names import Label, edgeset, fixed, fraction, program, uint, vector, vertex, vertices


@program
def label_propagation(edges: edgeset, positive: vertex = 0, negative: vertex = 1,
                      iterations: int = 20):
    """How near every vertex is to a vertex labelled 1, and not to one labelled 0: each vertex but
    these two takes the mean of the vertices before it (Zhu and Ghahramani, 2002)."""
    score = vector(fixed, 0.5)
    total = vector(fixed, 0)
    fixed_label = vector(uint, 0)
    inverse = vector(fraction, lambda v: 1 / edges.in_degree(v))

    def clear(v):
        total[v] = 0

    def gather(src, dst):
        total[dst] += score[src]

    def renew(v):
        if fixed_label[v] == 0 and edges.in_degree(v) > 0:
            score[v] = total[v] * inverse[v]

    score[positive] = 1
    score[negative] = 0
    fixed_label[positive] = 1
    fixed_label[negative] = 1
    s0: Label
    for round in range(iterations):
        vertices.apply(clear)
        s1: Label
        edges.apply(gather)
        vertices.apply(renew)
    return score
