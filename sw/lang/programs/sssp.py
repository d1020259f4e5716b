"""Single-source shortest paths."""

from sw.lang.names import Label, PriorityQueue, edgeset, infinity, program, uint, vector, vertex


@program
def sssp(edges: edgeset, source: vertex = 0, delta: uint = infinity):
    """Length of a shortest path from a vertex to every vertex, by near and far vertices."""
    distance = vector(uint, infinity)

    def relax(src, dst, weight):
        distance[dst].min(distance[src] + weight)

    distance[source] = 0
    queue = PriorityQueue(distance, source, delta=delta)
    s0: Label
    while queue:
        near = queue.dequeue()
        s1: Label
        edges.from_(near).apply_update_priority(relax, queue)
    return distance
