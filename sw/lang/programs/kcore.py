"""K-core decomposition."""

from sw.lang.names import Label, edgeset, program, simple, symmetric, uint, vector, vertices


@program(needs=(symmetric, simple))
def kcore(edges: edgeset):
    """The core number of every vertex of an undirected graph: the largest k for which it is in a
    subgraph whose degrees are k or more."""
    core = vector(uint, 0)
    lost = vector(uint, 0)
    alive = vector(uint, 1)

    def lives(v):
        return alive[v] == 1

    def falls(v):
        return alive[v] == 1 and edges.out_degree(v) < lost[v] + k + 1

    def remove(v):
        core[v] = k
        alive[v] = 0

    def lose(src, dst):
        lost[dst] += 1

    k = 0
    left = vertices
    s0: Label
    while left:
        peeled = left.where(falls)
        while peeled:
            peeled.apply(remove)
            edges.from_(peeled).to(lives).apply(lose)
            peeled = left.where(falls)
        left = left.where(lives)
        k += 1
    return core
