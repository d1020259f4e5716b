"""Triangles."""

from graphloom import Label, edgeset, program, simple, symmetric, uint, vector, vertices


@program(needs=(symmetric, simple))
def triangles(edges: edgeset):
    """The number of triangles at every vertex of an undirected graph. A round looks for those with
    a corner among 32 vertices: each has a bit, and ends of an edge compare their neighbours."""
    corner = vector(uint, 0)
    near = vector(uint, 0)
    found = vector(uint, 0)

    def mark(v):
        corner[v] = 1 << (uint(v) & 31) if uint(v) >> 5 == turn else 0
        near[v] = 0

    def meet(src, dst):
        near[dst] |= corner[src]

    def compare(src, dst):
        both = near[src] & near[dst]
        pairs = (both & 0x55555555) + (both >> 1 & 0x55555555)
        fours = (pairs & 0x33333333) + (pairs >> 2 & 0x33333333)
        bytes = fours + (fours >> 4) & 0x0F0F0F0F
        found[dst] += bytes % 255

    def halve(v):
        found[v] = found[v] >> 1

    s0: Label
    for turn in range((edges.num_vertices + 31) // 32):
        vertices.apply(mark)
        s1: Label
        edges.apply(meet)
        s2: Label
        edges.apply(compare)
    vertices.apply(halve)
    return found
