"""A matching."""

from graphloom import edgeset, none, program, symmetric, uint, vector, vertex, vertices


@program(needs=symmetric)
def matching(edges: edgeset):
    """The partner of every vertex of an undirected graph, so that no edge joins two without one:
    a vertex asks the smallest neighbour, and takes the smallest that asks it."""
    partner = vector(vertex, none)
    asked = vector(vertex, none)
    asking = vector(vertex, none)
    tries = vector(uint, 0)

    def alone(v):
        return partner[v] == none and tries[v] < 40

    def clear(v):
        asked[v] = none
        asking[v] = none
        tries[v] = tries[v] + 1

    def ask(src, dst):
        if src != dst and partner[src] == none:
            asked[dst].min(src)

    def offer(src, dst):
        if asked[src] == dst:
            asking[dst].min(src)

    def take(v):
        if asked[v] != none and asked[v] == asking[v]:
            partner[v] = asked[v]

    left = vertices
    while left:
        left.apply(clear)
        edges.from_(left).to(alone).apply(ask)
        edges.from_(left).to(alone).apply(offer)
        left.apply(take)
        left = left.where(alone)
    return partner
