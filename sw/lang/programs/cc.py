"""Weakly connected components."""

from sw.lang.names import Label, edgeset, program, vector, vertex, vertices


@program
def cc(edges: edgeset):
    """The smallest vertex of every vertex's component (Shiloach and Vishkin)."""
    label = vector(vertex, lambda v: v)

    def hook(src, dst):
        low = min(label[src], label[dst])
        label[src].min(low)
        label[dst].min(low)
        label[max(label[src], label[dst])].min(low)

    def shortcut(v):
        label[v] = label[label[v]]

    changed = vertices
    s0: Label
    while changed:
        s1: Label
        changed = edges.apply_modified(hook, label)
        vertices.apply(shortcut)
    return label
