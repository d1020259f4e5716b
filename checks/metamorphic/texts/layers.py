"""Vertices by rounds of peeling."""

from graphloom import edgeset, program, uint, vector, vertices


@program
def layers(edges: edgeset, least: uint = 2):
    """The round in which a vertex has fewer arcs from vertices that are left than it must, counted
    from 1; 0 for those that stay."""
    gone = vector(uint, 0)
    lost = vector(uint, 0)

    def stays(v):
        return gone[v] == 0

    def falls(v):
        return gone[v] == 0 and edges.in_degree(v) < lost[v] + least

    def remove(v):
        gone[v] = turn

    def lose(src, dst):
        lost[dst] += 1

    turn = 1
    some = vertices.where(falls)
    while some:
        some.apply(remove)
        edges.from_(some).to(stays).apply(lose)
        some = vertices.where(falls)
        turn += 1
    return gone
