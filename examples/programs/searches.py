"""Many searches at once."""

from graphloom import Label, edgeset, program, uint, vector, vertex, vertices


@program
def searches(edges: edgeset, first: vertex = 0):
    """Breadth-first searches from 32 vertices, the first and those behind it by number, at once: a
    bit of a word for each. Which reach a vertex, and the sum of its depths in these."""
    seen = vector(uint, 0)
    active = vector(uint, 0)
    arriving = vector(uint, 0)
    depths = vector(uint, 0)

    def starts(v):
        return v >= first and uint(v) - uint(first) < 32

    def begin(v):
        active[v] = 1 << uint(v) - uint(first)
        seen[v] = 1 << uint(v) - uint(first)

    def visit(src, dst):
        arriving[dst] |= active[src] & ~seen[dst]

    def settle(v):
        pairs = (arriving[v] & 0x55555555) + (arriving[v] >> 1 & 0x55555555)
        fours = (pairs & 0x33333333) + (pairs >> 2 & 0x33333333)
        bytes = fours + (fours >> 4) & 0x0F0F0F0F
        depths[v] = depths[v] + bytes % 255 * depth
        active[v] = arriving[v]
        seen[v] = seen[v] | arriving[v]
        arriving[v] = 0

    frontier = vertices.where(starts)
    frontier.apply(begin)
    depth = 0
    s0: Label
    while frontier:
        depth += 1
        s1: Label
        frontier = edges.from_(frontier).apply_modified(visit, arriving)
        frontier.apply(settle)
    return seen, depths
