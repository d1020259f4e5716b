"""Shortest paths without a queue."""

from graphloom import edgeset, infinity, program, uint, vector, vertex, vertexset


@program
def lengths(edges: edgeset, source: vertex = 0):
    """Length of a shortest path to every vertex."""
    distance = vector(uint, infinity)

    def relax(src, dst, weight):
        distance[dst].min(distance[src] + weight)

    distance[source] = 0
    frontier = vertexset(source)
    while frontier:
        frontier = edges.from_(frontier).apply_modified(relax, distance)
    return distance
