"""Numbers of the host that follow from the number of a loop's round."""

from sw.lang import graph_ir as ir
from sw.lang.facts import Affine, Line
from sw.lang.flow import flow_of
from sw.lang.passes.rewrite import with_facts


__all__ = ["affine"]


def affine(program):
    """Mark loops with :class:`~sw.lang.facts.Affine`."""
    flow = flow_of(program)

    def facts(node):
        if isinstance(node, ir.WhileLoop | ir.ForLoop):
            lines = tuple(_lines(flow, node))
            if lines:
                yield Affine(lines=lines, why="one addition of a constant in each round")

    return with_facts(program, facts)


def _lines(flow, loop):
    numbers = flow.entries[id(loop)].numbers
    assigned = [node.name for node in ir.instructions(loop.body)
                if isinstance(node, ir.Assign | ir.ForLoop)]
    if isinstance(loop, ir.ForLoop) and loop.name not in assigned:
        yield Line(loop.name, 0, 1, -1)
    for place, node in enumerate(loop.body):
        if isinstance(node, ir.Assign) and assigned.count(node.name) == 1 \
                and node.name != getattr(loop, "name", None):
            by = flow.values.step(node.name, node.value)
            if by:
                yield Line(node.name, numbers.get(node.name), by, place)
