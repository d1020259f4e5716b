"""Defaults of the result of an operator: its form, and its deduplication (UGF, 2.4.2, 2.4.3).

Marks, a bit or a byte for each vertex, hold no vertex twice. A list gets a vertex each time a call
changes the vertex's element, so it could hold the vertex twice, unless all calls bring the same
value: then only the first changes the element.
"""

from sw.lang import graph_ir as ir
from sw.lang.choices import SetForm
from sw.lang.passes.rewrite import changed, marked


__all__ = ["changes_once", "deduplication"]


def deduplication(program):
    """Mark operators that have a result with ``output_representation`` SPARSE and with
    ``apply_deduplication``, where a schedule has not."""
    def change(node):
        if not (isinstance(node, ir.EdgeSetIterator) and node.output_vset is not None):
            return node
        many = not changes_once(program.function(node.apply_f), node.tracking)
        if "hybrid" in node.metadata:
            criterion, threshold, *parts = node.metadata["hybrid"]
            return marked(node, hybrid=(criterion, threshold,
                                        *(_with_defaults(part, many) for part in parts)))
        return marked(node, **_with_defaults(node.metadata, many))

    return changed(program, change)


def _with_defaults(metadata, many):
    metadata = {"output_representation": SetForm.SPARSE} | metadata
    sparse = metadata["output_representation"] is SetForm.SPARSE
    return {"apply_deduplication": many and sparse} | metadata


def changes_once(function, vector):
    """Whether an element of the vector changes at most once, whatever the calls."""
    reductions = [node for node in ir.walk(*function.body)
                  if isinstance(node, ir.Reduce) and node.vector == vector]
    first = reductions[0]
    return (first.operation != "+" and all(node.value == first.value for node in reductions)
            and not any(isinstance(part, ir.Local | ir.VectorLoad)
                        for part in ir.walk(first.value)))
