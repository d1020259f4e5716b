"""Depths alone."""

from graphloom import edgeset, infinity, program, uint, vector, vertex, vertexset


@program
def depths(edges: edgeset, source: vertex = 0):
    """Depth of every vertex."""
    depth = vector(uint, infinity)

    def unvisited(v):
        return depth[v] == infinity

    def visit(src, dst):
        depth[dst].min(level)

    depth[source] = 0
    frontier = vertexset(source)
    level = 0
    while frontier:
        level += 1
        frontier = edges.from_(frontier).to(unvisited).apply_modified(visit, depth)
    return depth
