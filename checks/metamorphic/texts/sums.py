"""Two sums over the edges in each round."""

from graphloom import edgeset, program, uint, vector, vertices


@program
def sums(edges: edgeset, rounds: int = 3):
    """The number of vertices before every vertex, and twice that number."""
    one = vector(uint, 1)
    first = vector(uint, 0)
    second = vector(uint, 0)

    def clear(v):
        first[v] = 0
        second[v] = 0

    def collect(src, dst):
        first[dst] += one[src]
        second[dst] += 2

    done = 0
    while done < rounds:
        vertices.apply(clear)
        edges.apply(collect)
        done += 1
    return first, second
