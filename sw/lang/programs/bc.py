"""Betweenness centrality from one source."""

from sw.lang.names import (Label, edgeset, fixed, infinity, program, uint, vector, vertex,
                           vertexset, vertices)


@program
def bc(edges: edgeset, source: vertex = 0):
    """The dependency of a source on every other vertex (Brandes), and the numbers of shortest
    paths."""
    depth = vector(uint, infinity)
    paths = vector(uint, 0)
    dependency = vector(fixed, 0)

    def unvisited(v):
        return depth[v] == infinity

    def count(src, dst):
        paths[dst] += paths[src]

    def settle(v):
        depth[v] = level

    def on_level(v):
        return depth[v] == level

    def above(v):
        return depth[v] == level - 1

    def give_back(src, dst):
        dependency[dst] += (dependency[src] + 1) * (paths[dst] / paths[src])

    depth[source] = 0
    paths[source] = 1
    frontier = vertexset(source)
    level = 0
    s0: Label
    while frontier:
        level += 1
        s1: Label
        frontier = edges.from_(frontier).to(unvisited).apply_modified(count, paths)
        frontier.apply(settle)
    s2: Label
    while level > 2:
        level -= 1
        settled = vertices.where(on_level)
        s3: Label
        edges.transpose().from_(settled).to(above).apply(give_back)
    return dependency, paths
