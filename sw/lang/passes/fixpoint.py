"""Loops whose result does not depend on when a change is seen.

A loop is a *fixpoint loop* if it does nothing but this: an operator goes through the edges that
leave a set, or the vertices that are ready in a queue; its function reduces one vector by ``min``,
``max`` or ``or``; it reads that vector only at the source, in values that can only grow with the
word that is read (for ``or``: that can only gain bits as that word gains bits); and the vertices
whose word changed are the next set. Then every order of calls, and reads that see changes at once,
lead to the same words: those of the least solution (Kildall's argument for monotone functions on a
finite chain). Only the number of rounds differs.

A candidate of ``min`` that does not fit (:mod:`sw.lang.faults`) depends on the order. But whether a
vertex ends at ``infinity`` though it has such a candidate does not: its source passes on its last
word, too, and if that gives no number that fits, then no earlier word did.
"""

import dataclasses

from sw.lang import graph_ir as ir
from sw.lang.faults import can_fail
from sw.lang.passes.rewrite import changed, marked


__all__ = ["GROWING", "fixpoint", "grows"]


#: {reduction: operations that grow, or stay, as either operand grows}. For ``or`` a word grows by
#: gaining bits. Other operations of numbers may fail.
GROWING = {"min": {"+", "*", "min", "max"}, "max": {"min", "max"}, "or": {"&", "|", "and", "or"}}

#: {reduction: operations that grow with the left operand}.
_GROWING_LEFT = {"min": {">>"}, "max": {">>"}, "or": {"<<", ">>"}}


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
    # A fault is an error even if a better value follows, so the order must not decide on it.
    if can_fail(function):
        return False
    return all(_reduces_upward(node, edges.tracking, source) for node in function.body)


def _reduces_upward(node, vector, source):
    """Whether a statement reduces the vector by values that grow with the source's word.

    For ``min`` too: a smaller word of the source then gives a smaller value, so nothing is lost.
    """
    if not (isinstance(node, ir.Reduce) and node.operation in GROWING):
        return False
    if any(isinstance(part, ir.VectorLoad) and part.vector == vector
           for part in ir.walk(node.index)):
        return False
    return grows(node.value, vector, source, node.operation)


def grows(node, vector, source, by) -> bool:
    """Whether a value grows with the vector's word at the source, or does not depend on it."""
    match node:
        case ir.VectorLoad(vector=name) if name == vector:
            return isinstance(node.index, ir.Local) and node.index.name == source
        case ir.Binary() if node.operation in GROWING[by]:
            return (grows(node.left, vector, source, by)
                    and grows(node.right, vector, source, by))
        case ir.Binary() if node.operation in _GROWING_LEFT[by]:
            return grows(node.left, vector, source, by) and not _reads(node.right, vector)
    return not _reads(node, vector)


def _reads(node, vector):
    return any(isinstance(part, ir.VectorLoad) and part.vector == vector for part in ir.walk(node))
