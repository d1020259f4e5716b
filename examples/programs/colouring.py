"""Colouring of vertices."""

from graphloom import Label, edgeset, program, symmetric, uint, vector, vertices


@program(needs=symmetric)
def colouring(edges: edgeset, seed: uint = 1):
    """A colour for every vertex of an undirected graph, counted from 1, so that neighbours have
    different ones (Jones and Plassmann). A vertex whose priority beats those of its neighbours
    without a colour takes the smallest that no neighbour has; 31 colours are tried at a time."""
    colour = vector(uint, 0)
    priority = vector(uint, 0)
    rival = vector(uint, 0)
    first = vector(uint, 1)
    taken = vector(uint, 0)

    def draw(v):
        mixed = uint(v) ^ seed
        mixed = mixed ^ mixed << 13
        mixed = mixed ^ mixed >> 17
        priority[v] = mixed ^ mixed << 5

    def clear(v):
        rival[v] = 0
        taken[v] = 0

    def is_open(v):
        return colour[v] == 0

    def look(src, dst):
        if src != dst:
            if colour[src] == 0:
                ahead = priority[src] > priority[dst]
                if ahead or (priority[src] == priority[dst] and src > dst):
                    rival[dst].max(1)
            else:
                if colour[src] >= first[dst] and colour[src] < first[dst] + 31:
                    taken[dst] |= 1 << colour[src] - first[dst]

    def choose(v):
        if rival[v] == 0:
            free = ~taken[v] & taken[v] + 1
            place = uint(free & 0xAAAAAAAA != 0) | uint(free & 0xCCCCCCCC != 0) << 1
            place = place | uint(free & 0xF0F0F0F0 != 0) << 2
            place = place | uint(free & 0xFF00FF00 != 0) << 3
            place = place | uint(free & 0xFFFF0000 != 0) << 4
            if place < 31:
                colour[v] = first[v] + place
            else:
                first[v] = first[v] + 31

    vertices.apply(draw)
    left = vertices
    s0: Label
    while left:
        left.apply(clear)
        s1: Label
        edges.to(is_open).apply(look)
        left.apply(choose)
        left = left.where(is_open)
    return colour
