"""Defaults of the direction in which operators of edges go (UGF, 2.4.1)."""

from sw.lang import graph_ir as ir
from sw.lang.choices import SetForm, Traversal
from sw.lang.passes.rewrite import changed, marked


__all__ = ["direction"]


def direction(program):
    """Mark operators of edges without a direction with ``direction`` PUSH, and pulling ones
    without a form of their input set with ``pull_input_frontier`` BOOLMAP."""
    def change(node):
        if not isinstance(node, ir.EdgeSetIterator):
            return node
        if "hybrid" in node.metadata:
            criterion, threshold, *parts = node.metadata["hybrid"]
            return marked(node, hybrid=(criterion, threshold, *map(_with_defaults, parts)))
        return marked(node, **_with_defaults(node.metadata))

    return changed(program, change)


def _with_defaults(metadata):
    metadata = {"direction": Traversal.PUSH} | metadata
    if metadata["direction"] is Traversal.PULL:
        metadata = {"pull_input_frontier": SetForm.BOOLMAP} | metadata
    return metadata
