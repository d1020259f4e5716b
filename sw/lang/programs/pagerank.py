"""PageRank."""

from sw.lang.names import Label, decimal, edgeset, fixed, fraction, program, vector, vertices


@program
def pagerank(edges: edgeset, iterations: int = 10, damping: decimal = 0.85,
             tolerance: decimal = 0):
    """Ranks that add up to at most 1, in fixed point; each vertex sends equal shares."""
    share = vector(fixed, 0)
    inverse = vector(fraction, lambda v: 1 / edges.out_degree(v))
    rank = vector(fixed, 1)
    total = vector(fixed, 0)
    before = vector(fixed, 1)

    def divide(v):
        share[v] = rank[v] * inverse[v]
        before[v] = rank[v]
        total[v] = 0

    def collect(src, dst):
        total[dst] += share[src]

    def renew(v):
        rank[v] = total[v] * damping + (1 - damping)

    def change(v):
        return max(rank[v], before[v]) - min(rank[v], before[v])

    done = 0
    s0: Label
    while done < iterations:
        vertices.apply(divide)
        s1: Label
        edges.apply(collect)
        vertices.apply(renew)
        done += 1
        if tolerance > 0 and vertices.sum(change) < tolerance * edges.num_vertices:
            done = iterations
    return rank / edges.num_vertices
