"""Weakly connected components."""

from sw.lang.names import Label, edgeset, program, vector, vertex, vertices


@program
def cc(edges: edgeset):
    """The smallest vertex of every vertex's component (Shiloach and Vishkin)."""
    label = vector(vertex, lambda v: v)
    differs = vector(bool, False)

    def shortcut(v):
        label[v] = label[label[label[v]]]
        differs[v] = False

    def hook(src, dst):
        if label[src] != label[dst]:
            label[max(label[src], label[dst])].min(min(label[src], label[dst]))
            differs[dst] |= True

    changed = vertices
    s0: Label
    while changed:
        vertices.apply(shortcut)
        s1: Label
        changed = edges.apply_modified(hook, differs)
    return label
