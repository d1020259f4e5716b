"""Predicates that tell the members of sets."""

from sw.lang import graph_ir as ir
from sw.lang.facts import Apart, Membership
from sw.lang.flow import flow_of
from sw.lang.passes.rewrite import with_facts
from sw.lang.predicates import predicate


__all__ = ["members"]


def members(program):
    """Mark operators with :class:`~sw.lang.facts.Membership`, and operators of edges with
    :class:`~sw.lang.facts.Apart`."""
    flow = flow_of(program)

    def facts(node):
        if isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator | ir.VertexFilter):
            held = flow.inputs[id(node)]
            if held.exact is not None and held.now:
                yield Membership(test=held.exact, why="all vertices" if held.exact == ()
                              else "tested or stored by its makers, and not written since")
        if isinstance(node, ir.EdgeSetIterator) and node.to_filter is not None:
            one = (*held.within, *(held.exact or () if held.now else ()))
            if flow.values.excludes(one, predicate(program.function(node.to_filter))):
                yield Apart(why="a word that its members have excludes the filter")

    return with_facts(program, facts)
