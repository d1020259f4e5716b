"""Metadata that the text alone decides: which iterators go through everything (UGF, table 4.1)."""

from sw.lang import graph_ir as ir
from sw.lang.passes.rewrite import changed, marked


__all__ = ["kinds"]


def kinds(program):
    """Mark iterators with ``is_all_edges`` and ``requires_output``, or with ``is_all_vertices`` and
    ``is_parallel``."""
    def change(node):
        match node:
            case ir.EdgeSetIterator():
                return marked(node, requires_output=node.output_vset is not None,
                              is_all_edges=node.input_vset == ir.ALL and node.to_filter is None)
            case ir.VertexSetIterator():
                return marked(node, is_all_vertices=node.input_vset == ir.ALL, is_parallel=True)
        return node

    return changed(program, change)
