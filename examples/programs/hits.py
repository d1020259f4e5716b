"""Hubs and authorities."""

from graphloom import Label, edgeset, fixed, program, vector, vertices


@program
def hits(edges: edgeset, iterations: int = 10):
    """Scores of every vertex as an authority, to which hubs lead, and as a hub, which leads to
    authorities (Kleinberg), in fixed point. Either add up to at most 1."""
    authority = vector(fixed, 0)
    hub = vector(fixed, 1)

    def clear_authority(v):
        authority[v] = 0

    def clear_hub(v):
        hub[v] = 0

    def point(src, dst):
        authority[dst] += hub[src]

    def point_back(src, dst):
        hub[dst] += authority[src]

    def of_authority(v):
        return authority[v]

    def of_hub(v):
        return hub[v]

    def shrink_authority(v):
        authority[v] = authority[v] * scale

    def shrink_hub(v):
        hub[v] = hub[v] * scale

    s0: Label
    for round in range(iterations):
        vertices.apply(clear_authority)
        s1: Label
        edges.apply(point)
        total = vertices.sum(of_authority)
        if total > edges.num_vertices:
            scale = edges.num_vertices / total
            vertices.apply(shrink_authority)
        vertices.apply(clear_hub)
        s2: Label
        edges.transpose().apply(point_back)
        total = vertices.sum(of_hub)
        if total > edges.num_vertices:
            scale = edges.num_vertices / total
            vertices.apply(shrink_hub)
    return authority / edges.num_vertices, hub / edges.num_vertices
