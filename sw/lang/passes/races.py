"""Which words operators must copy before they begin (UGF, 5.1.2).

The reads of an operator see the words of its start. If the operator also changes the vector, its
reads go to a copy. No copy is needed for a vertex's own word in a function of vertices, which
nobody else stores, nor in a fixpoint loop (:mod:`sw.lang.passes.fixpoint`).

Whether a reduction must be atomic depends on who shares a vertex: each GraphVM decides by
:func:`shared`.
"""

from sw.lang import graph_ir as ir
from sw.lang.passes.rewrite import changed, marked


__all__ = ["races", "shared"]


def races(program):
    """Mark iterators with ``start_copies``: a tuple of vectors."""
    def change(node):
        match node:
            case ir.EdgeSetIterator():
                function = program.function(node.apply_f)
                reads = function.reads()
                if node.to_filter is not None:
                    reads |= program.function(node.to_filter).reads()
                copies = reads & function.writes()
                if node.metadata.get("any_order"):
                    copies -= {node.tracking}
                return marked(node, start_copies=tuple(sorted(copies)))
            case ir.VertexSetIterator():
                function = program.function(node.apply_f)
                return marked(node, start_copies=tuple(sorted(
                    _read_elsewhere(function) & function.writes())))
        return node

    return changed(program, change)


def _read_elsewhere(function):
    """The vectors that a function of vertices reads at vertices other than its own."""
    own = function.parameters[0]
    stored = {node.vector for node in ir.walk(*function.body) if isinstance(node, ir.VectorStore)}
    return {node.vector for node in ir.walk(*function.body)
            if isinstance(node, ir.VectorLoad)
            and not (node.vector in stored and isinstance(node.index, ir.Local)
                     and node.index.name == own)}


def shared(function, reduce, owned):
    """Whether calls that run at a time may reduce one element. This holds for all reductions of a
    vector if it holds for one.

    Parameters
    ----------
    function : Function
    reduce : Reduce
    owned : int or None
        The parameter, 0 for the source and 1 for the destination, whose edges one worker has for
        itself; None if nobody has.
    """
    return owned is None or not all(
        isinstance(node.index, ir.Local) and node.index.name == function.parameters[owned]
        for node in ir.walk(*function.body)
        if isinstance(node, ir.Reduce) and node.vector == reduce.vector)
