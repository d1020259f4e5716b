"""Chains of sets: an operator of edges reads in each round what it has made in the last.

If members of the sets may wait as well, one stamp tells of a vertex which of the sets it is in: a
vertex that is added while its set is read is in the next set only.
"""

from sw.compile.lower.dependence import behind_beginning
from sw.compile.lower.sending import loops_around
from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known


__all__ = ["chained"]


def chained(program, edges) -> ir.EdgeSetIterator | None:
    """The operator that reads and makes all sets of a program, each set from the last, if members
    may wait; else None. ``edges`` are the program's operators of edges."""
    node, *others = [node for node in edges if {node.input_vset, node.output_vset} - {ir.ALL, None}
                     ] or [None]
    if node is None or others or node.tracking is None or known(node, facts.Early) is None:
        return None
    loops, behind = loops_around(program, node), behind_beginning(program)
    if len(loops) != 1 or not any(loops[0] is each for each in behind):
        return None
    names = {node.input_vset, node.output_vset}
    gives = [each for each in ir.instructions(behind) if each is not node and (
        getattr(each, "output_vset", None) is not None or isinstance(
            each, ir.NewVertexSet | ir.NewQueue)
        or (isinstance(each, ir.Assign) and each.name in names))]
    if len(names) == 1:
        return None if gives else node
    body = loops[0].body
    taken = len(gives) == 1 and isinstance(gives[0], ir.Dequeue) \
        and (gives[0].queue, gives[0].output_vset) == (node.output_vset, node.input_vset)
    order = [each for each in body if each is node or any(each is one for one in gives)]
    return node if taken and len(order) == 2 and order[1] is node else None
