"""Loops whose result does not depend on when a change is seen.

A loop is a *fixpoint loop* if it does nothing but this: an operator goes through the edges that
leave a set, or the vertices that are ready in a queue; its function reduces one vector by ``min``,
``max`` or ``or``; it reads that vector only at the source, in values that can only grow with the
word that is read; and the vertices whose word changed are the next set. Then every order of calls,
and reads that see changes at once, lead to the same words: those of the least solution (Kildall's
argument for monotone functions on a finite chain). Only the number of rounds differs.
"""

import dataclasses

from sw.lang import graph_ir as ir
from sw.lang.passes.rewrite import changed, marked
from sw.lang.types import Type


__all__ = ["fixpoint"]


#: Operations that grow, or stay, as either operand grows; and those that grow with the left one.
_NUMBERS = {"+", "*", "min", "max"}, {"-", ">>", "//", "/"}

#: The same for ``or``, by which a word grows if it gets more bits, and a bool if it gets true.
_BITS = {"&", "|", "and", "or"}, {"<<", ">>"}


def fixpoint(program):
    """Mark fixpoint loops with ``is_fixpoint``, and their operators with ``any_order``."""
    def change(node):
        if not isinstance(node, ir.WhileLoop):
            return node
        found = _is_fixpoint(program, node)
        body = tuple(marked(inner, any_order=found) if isinstance(inner, ir.EdgeSetIterator)
                     and found else inner for inner in node.body)
        return marked(dataclasses.replace(node, body=body), is_fixpoint=found)

    return changed(program, change)


def _is_fixpoint(program, loop):
    match loop.condition, loop.body:
        case ir.SetSize(name=name), (ir.EdgeSetIterator() as edges,) \
                if edges.input_vset == name == edges.output_vset:
            pass
        case ir.SetSize(name=name), (ir.Dequeue() as dequeue, ir.EdgeSetIterator() as edges) \
                if dequeue.queue == name == edges.output_vset \
                and edges.input_vset == dequeue.output_vset:
            pass
        case _:
            return False
    if edges.to_filter is not None:
        return False
    function = program.function(edges.apply_f)
    source = function.parameters[0]
    if function.writes() != {edges.tracking}:
        return False
    # A value of fixed point that does not fit is an error, even if a better value follows.
    if any(getattr(node, "type", None) is Type.FIXED for node in ir.walk(*function.body)):
        return False
    return all(_reduces_upward(node, edges.tracking, source) for node in function.body)


def _reduces_upward(node, vector, source):
    """Whether a statement reduces the vector by values that grow with the source's word.

    For ``min`` too: a smaller word of the source then gives a smaller value, so nothing is lost.
    """
    if not (isinstance(node, ir.Reduce) and node.operation in ("min", "max", "or")):
        return False
    if any(isinstance(part, ir.VectorLoad) and part.vector == vector
           for part in ir.walk(node.index)):
        return False
    return _grows(node.value, vector, source, *(_BITS if node.operation == "or" else _NUMBERS))


def _grows(node, vector, source, growing, growing_left):
    """Whether a value grows with the vector's word at the source, or does not depend on it."""
    match node:
        case ir.VectorLoad(vector=name) if name == vector:
            return isinstance(node.index, ir.Local) and node.index.name == source
        case ir.Binary() if node.operation in growing:
            return all(_grows(part, vector, source, growing, growing_left)
                       for part in (node.left, node.right))
        case ir.Binary() if node.operation in growing_left:
            return _grows(node.left, vector, source, growing, growing_left) \
                and not _reads(node.right, vector)
    return not _reads(node, vector)


def _reads(node, vector):
    return any(isinstance(part, ir.VectorLoad) and part.vector == vector for part in ir.walk(node))
