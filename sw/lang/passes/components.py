"""Loops whose vector ends as the smallest vertex of each component, in every order of calls.

Such a loop has a vector of vertices that begins as each vertex itself, and a vector of flags. It
hooks and shortcuts (Shiloach and Vishkin, 1982):

*hook*
    For an edge whose ends have different labels, the larger label's label is reduced to the
    smaller label by ``min``, and the flag of the destination is set. The loop goes on while an
    operator has set a flag.
*shortcut*
    Every vertex takes the label of its label, or of a longer chain of labels, and clears its flag.

The smallest vertex m of a component keeps its label: every word that is written into a label is a
vertex of the component, and m is the smallest; a chain of labels from m is m. Labels only become
smaller: no label of x is larger than x, so a chain of labels falls. If a hook finds equal labels
at the ends of every edge, it changes nothing, so the labels are equal throughout each component,
and are m. If a round changes no label, no edge has different labels a < b at its ends: the hook
leaves a label of b that is at most a, but the shortcut leaves b as its own label. So the loop ends,
and reads may see changes of the same operator.
"""

from sw.lang import graph_ir as ir
from sw.lang.passes.rewrite import changed, marked
from sw.lang.types import Type


__all__ = ["components"]


def components(program):
    """Mark such loops with ``component_vector``, the vector's name."""
    def change(node):
        if isinstance(node, ir.WhileLoop):
            vector = _vector(program, node)
            if vector is not None:
                return marked(node, component_vector=vector)
        return node

    return changed(program, change)


def _vector(program, loop):
    """The vector of a loop, or None."""
    edges = [node for node in loop.body if isinstance(node, ir.EdgeSetIterator)]
    applied = [node for node in loop.body if isinstance(node, ir.VertexSetIterator)]
    if len(edges) != 1 or len(applied) != 1 or len(loop.body) != 2:
        return None
    (hook,), (shortcut,) = edges, applied
    name = hook.output_vset
    if name is None or hook.tracking is None or hook.to_filter is not None \
            or {hook.input_vset, shortcut.input_vset} != {ir.ALL} \
            or getattr(loop.condition, "name", None) != name \
            or not isinstance(loop.condition, ir.SetSize):
        return None
    stores = program.function(shortcut.apply_f).body
    for store in stores:
        if isinstance(store, ir.VectorStore) and _depth(store.value, store.vector, store.index) > 1:
            vector = store.vector
            break
    else:
        return None
    here = {"position": loop.position}
    clear = ir.VectorStore(vector=hook.tracking, index=store.index,
                           value=ir.Literal(value=0, type=Type.BOOL, **here), **here)
    if sorted(stores, key=str) != sorted([store, clear], key=str) \
            or not _starts_right(program, loop, vector, hook.tracking) \
            or program.function(hook.apply_f).body != _hook(
                program.function(hook.apply_f), vector, hook.tracking, here):
        return None
    return vector


def _depth(node, vector, index):
    """The number of loads in a chain of loads of the vector that begins at an index; 0 for any
    other value."""
    depth = 0
    while isinstance(node, ir.VectorLoad) and node.vector == vector:
        node, depth = node.index, depth + 1
    return depth if node == index else 0


def _starts_right(program, loop, vector, flags):
    """Whether each vertex begins with itself and without a flag, and nothing outside of the loop
    changes either vector."""
    first, flag = program.vector(vector), program.vector(flags).initial
    inside = {node.position for node in ir.instructions(loop.body)}
    outside = [node for node in ir.instructions(program.body) if node.position not in inside]
    changed_there = {node.vector for node in outside if isinstance(node, ir.ElementStore)}
    for node in outside:
        if isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator):
            changed_there |= program.function(node.apply_f).writes()
    return (isinstance(first.initial, ir.Local) and first.initial.name == first.variable
            and isinstance(flag, ir.Literal) and flag.value == 0
            and changed_there.isdisjoint({vector, flags}))


def _hook(function, vector, flags, here):
    """The body that hooks."""
    ends = [ir.Local(name=name, type=Type.VERTEX, **here) for name in function.parameters[:2]]
    labels = [ir.VectorLoad(vector=vector, index=end, type=Type.VERTEX, **here) for end in ends]

    def of_labels(operation, kind=Type.VERTEX):
        return ir.Binary(operation=operation, left=labels[0], right=labels[1], type=kind, **here)

    hooks = ir.Reduce(operation="min", vector=vector, index=of_labels("max"),
                      value=of_labels("min"), **here)
    flag = ir.Reduce(operation="or", vector=flags, index=ends[1],
                     value=ir.Literal(value=1, type=Type.BOOL, **here), **here)
    return (ir.Branch(condition=of_labels("!=", Type.BOOL), then=(hooks, flag), otherwise=(),
                      **here),)
