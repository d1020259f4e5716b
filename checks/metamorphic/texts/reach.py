"""What a vertex reaches."""

from graphloom import edgeset, program, vector, vertex, vertexset


@program
def reach(edges: edgeset, source: vertex = 0):
    """Whether there is a path to a vertex, and one back."""
    there = vector(bool, False)
    back = vector(bool, False)

    def go(src, dst):
        there[dst] |= there[src]

    def return_(src, dst):
        back[dst] |= back[src]

    there[source] = True
    back[source] = True
    some = vertexset(source)
    while some:
        some = edges.from_(some).apply_modified(go, there)
    some = vertexset(source)
    while some:
        some = edges.transpose().from_(some).apply_modified(return_, back)
    return there, back
