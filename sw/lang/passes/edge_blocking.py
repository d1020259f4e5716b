"""EdgeBlocking: operators that go through the graph one block of vertices at a time (UGF, 5.2.3).

The edges are grouped beforehand by the range of one of their ends (algorithm 2,
:func:`sw.graph.compress.in_blocks`): by destinations when sources push, by sources when
destinations pull. The operator goes through one group after the other (algorithm 3), so the words
that are reached in no order stay in the cache. Only an operator that goes through all edges can do
so: for another, each group would search its part of the input.
"""

from sw.lang import graph_ir as ir
from sw.lang.passes.rewrite import changed, marked
from sw.lang.types import LanguageError


__all__ = ["BLOCKING_SIZE", "edge_blocking"]


#: Vertices of a block, where the schedule names no number: that of UGF's table A.1.
BLOCKING_SIZE = 0x42000


def edge_blocking(program):
    """Mark operators with EdgeBlocking (``edge_blocking``) with a ``blocking_size``, where the
    schedule has none.

    Raises
    ------
    LanguageError
        If such an operator does not go through all edges.
    """
    def change(node):
        if not isinstance(node, ir.EdgeSetIterator):
            return node
        _, _, *parts = node.metadata.get("hybrid", (None, None, node.metadata))
        if not any(part.get("edge_blocking") for part in parts):
            return node
        if not node.metadata["is_all_edges"]:
            name = f" {node.label!r}" if node.label else ""
            raise LanguageError(
                node.position, f"EdgeBlocking needs an operator that goes through all edges, and "
                f"the operator{name} has {'a set' if node.input_vset != ir.ALL else 'a filter'}")
        return marked(node, blocking_size=node.metadata.get("blocking_size") or BLOCKING_SIZE)

    return changed(program, change)
