"""Shortest paths and the way back."""

from graphloom import Label, edgeset, infinity, none, program, uint, vector, vertex, vertexset


@program
def predecessors(edges: edgeset, source: vertex = 0):
    """Length of a shortest path to every vertex, and the vertex before it on such a path: of the
    possible ones the smallest. Weights are at least 1."""
    distance = vector(uint, infinity)
    before = vector(vertex, none)

    def relax(src, dst, weight):
        distance[dst].min(distance[src] + weight)

    def precede(src, dst, weight):
        shorter = distance[dst] != infinity and distance[src] < distance[dst]
        if shorter and distance[dst] - distance[src] == weight:
            before[dst].min(src)

    distance[source] = 0
    frontier = vertexset(source)
    s0: Label
    while frontier:
        s1: Label
        frontier = edges.from_(frontier).apply_modified(relax, distance)
    s2: Label
    edges.apply(precede)
    return distance, before
