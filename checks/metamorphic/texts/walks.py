"""Walks of some length."""

from graphloom import edgeset, program, uint, vector, vertex, vertices


@program
def walks(edges: edgeset, source: vertex = 0, length: int = 4):
    """The number of walks of a length from a vertex, as far as it is below 1000, and the last step
    by which a vertex was reached."""
    now = vector(uint, 0)
    then = vector(uint, 0)
    last = vector(uint, 0)

    def clear(v):
        then[v] = 0

    def step(src, dst):
        then[dst] += min(now[src], 1000)

    def take(v):
        now[v] = then[v]
        if then[v] > 0:
            last[v] = turn + 1

    now[source] = 1
    for turn in range(length):
        vertices.apply(clear)
        edges.apply(step)
        vertices.apply(take)
    return now, last
