"""Closeness centrality."""

from graphloom import Label, edgeset, fraction, infinity, program, uint, vector, vertices


@program
def closeness(edges: edgeset, sources: uint = infinity):
    """How near every vertex is to those that have a path to it, by the first of the sources alone:
    their number, divided by the sum of their distances. 32 searches run at once."""
    seen = vector(uint, 0)
    active = vector(uint, 0)
    arriving = vector(uint, 0)
    reached = vector(uint, 0)
    far = vector(uint, 0)
    near = vector(fraction, 0)

    def begin(v):
        active[v] = 1 << (uint(v) & 31) if uint(v) >> 5 == batch and uint(v) < sources else 0
        seen[v] = active[v]

    def starts(v):
        return seen[v] != 0

    def visit(src, dst):
        arriving[dst] |= active[src] & ~seen[dst]

    def settle(v):
        pairs = (arriving[v] & 0x55555555) + (arriving[v] >> 1 & 0x55555555)
        fours = (pairs & 0x33333333) + (pairs >> 2 & 0x33333333)
        bytes = fours + (fours >> 4) & 0x0F0F0F0F
        number = bytes % 255
        reached[v] = reached[v] + number
        far[v] = far[v] + number * depth
        active[v] = arriving[v]
        seen[v] = seen[v] | arriving[v]
        arriving[v] = 0

    def divide(v):
        if far[v] > 0:
            near[v] = reached[v] / far[v]

    depth = 0
    s0: Label
    for batch in range((min(edges.num_vertices, sources) + 31) // 32):
        vertices.apply(begin)
        frontier = vertices.where(starts)
        depth = 0
        s1: Label
        while frontier:
            depth += 1
            s2: Label
            frontier = edges.from_(frontier).apply_modified(visit, arriving)
            frontier.apply(settle)
    vertices.apply(divide)
    return near, reached, far
