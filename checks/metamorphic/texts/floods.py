"""The largest vertex that leads to a vertex."""

from graphloom import edgeset, program, vector, vertex, vertices


@program
def floods(edges: edgeset):
    """The largest number of a vertex with a path to a vertex, and whether it is its own."""
    highest = vector(vertex, lambda v: v)
    own = vector(bool, True)

    def spread(src, dst):
        highest[dst].max(highest[src])

    def compare(v):
        own[v] = highest[v] == v

    some = vertices
    while some:
        some = edges.from_(some).apply_modified(spread, highest)
    vertices.apply(compare)
    return highest, own
