"""Shortest paths by bands of their lengths."""

from graphloom import PriorityQueue, edgeset, infinity, program, uint, vector, vertex, vertices


@program
def bands(edges: edgeset, source: vertex = 0, width: uint = 4):
    """Length of a shortest path, and the band of the length."""
    distance = vector(uint, infinity)
    band = vector(uint, infinity)

    def relax(src, dst, weight):
        distance[dst].min(distance[src] + weight)

    def sort(v):
        if distance[v] != infinity:
            band[v] = distance[v] // 4

    distance[source] = 0
    queue = PriorityQueue(distance, source, delta=width)
    while queue:
        near = queue.dequeue()
        edges.from_(near).apply_update_priority(relax, queue)
    vertices.apply(sort)
    return distance, band
