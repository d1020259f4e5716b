"""A maximal independent set."""

from sw.lang.names import Label, edgeset, program, symmetric, uint, vector, vertices


@program(needs=symmetric)
def mis(edges: edgeset, seed: uint = 1):
    """An independent set of an undirected graph to which no vertex can be added (Luby): 1 for its
    vertices, else 0. A round takes the vertices whose priority beats that of all neighbours."""
    chosen = vector(uint, 2)
    priority = vector(uint, 0)
    rival = vector(uint, 0)

    def is_open(v):
        return chosen[v] == 2

    def draw(v):
        mixed = uint(v) ^ seed + turn
        mixed = mixed ^ mixed << 13
        mixed = mixed ^ mixed >> 17
        priority[v] = mixed ^ mixed << 5
        rival[v] = 0

    def compete(src, dst):
        if src != dst:
            rival[dst].max(priority[src])

    def wins(v):
        return priority[v] >= rival[v]

    def choose(v):
        chosen[v] = 1

    def cover(src, dst):
        chosen[dst].min(0)

    turn = 0
    left = vertices
    s0: Label
    while left:
        turn += 1
        left.apply(draw)
        edges.from_(left).to(is_open).apply(compete)
        winners = left.where(wins)
        winners.apply(choose)
        edges.from_(winners).to(is_open).apply(cover)
        left = left.where(is_open)
    return chosen
