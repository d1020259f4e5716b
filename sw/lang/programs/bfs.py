"""Breadth-first search."""

from sw.lang.names import Label, edgeset, infinity, none, program, uint, vector, vertex, vertexset


@program
def bfs(edges: edgeset, source: vertex = 0):
    """Depth of every vertex, and its parent: of the possible parents the smallest."""
    depth = vector(uint, infinity)
    parent = vector(vertex, none)

    def unvisited(v):
        return depth[v] == infinity

    def visit(src, dst):
        parent[dst].min(src)

    def settle(v):
        depth[v] = level

    depth[source] = 0
    parent[source] = source
    frontier = vertexset(source)
    level = 0
    s0: Label
    while frontier:
        level += 1
        s1: Label
        frontier = edges.from_(frontier).to(unvisited).apply_modified(visit, parent)
        frontier.apply(settle)
    return depth, parent
