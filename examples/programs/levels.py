"""Levels of a graph without cycles."""

from graphloom import Label, edgeset, infinity, program, uint, vector, vertices


@program
def levels(edges: edgeset):
    """The number of arcs of a longest path to every vertex (Kahn); infinity for the vertices of a
    cycle, and behind one."""
    level = vector(uint, infinity)
    arrived = vector(uint, 0)

    def is_ready(v):
        return arrived[v] == edges.in_degree(v)

    def settle(v):
        level[v] = depth

    def arrive(src, dst):
        arrived[dst] += 1

    depth = 0
    ready = vertices.where(is_ready)
    s0: Label
    while ready:
        ready.apply(settle)
        s1: Label
        ready = edges.from_(ready).apply_modified(arrive, arrived)
        ready = ready.where(is_ready)
        depth += 1
    return level
