"""Numbers of shortest paths."""

from graphloom import edgeset, infinity, program, uint, vector, vertex, vertexset


@program
def paths(edges: edgeset, source: vertex = 0):
    """The number of shortest paths to every vertex."""
    depth = vector(uint, infinity)
    ways = vector(uint, 0)

    def unvisited(v):
        return depth[v] == infinity

    def count(src, dst):
        ways[dst] += ways[src]

    def settle(v):
        depth[v] = level

    depth[source] = 0
    ways[source] = 1
    frontier = vertexset(source)
    level = 0
    while frontier:
        level += 1
        frontier = edges.from_(frontier).to(unvisited).apply_modified(count, ways)
        frontier.apply(settle)
    return depth, ways
