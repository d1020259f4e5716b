"""Vertices whose edges an operator may go through at any time.

Of an operator whose reads may be early (:mod:`.early`), a vertex that began in the set, or whose
word is not as it began, is in the set at some time; so to go through its edges at another time
changes nothing else. If the vector begins with the worst word wherever the set does not begin,
words tell these vertices; and where the worst word leads to the worst word and the operator changes
no other vector, edges of all other vertices change nothing.
"""

from sw.lang import graph_ir as ir
from sw.lang.effects import effects, replaced
from sw.lang.facts import SELF, Early, Superset, known
from sw.lang.flow import flow_of
from sw.lang.passes.accesses import IDENTITY
from sw.lang.passes.early import asks_for_vertices
from sw.lang.passes.rewrite import with_facts
from sw.lang.types import Type


__all__ = ["superset"]


def superset(program):
    """Mark operators with :class:`~sw.lang.facts.Superset`."""
    flow, found = flow_of(program), {}
    for loop in ir.instructions(program.body):
        if isinstance(loop, ir.WhileLoop):
            found |= {id(node): (loop, node) for node in loop.body
                      if isinstance(node, ir.EdgeSetIterator) and known(node, Early) is not None}

    def facts(node):
        if id(node) in found:
            test = _superset(flow, *found[id(node)])
            if test is not None:
                yield Superset(test=test, why="early; a vertex that was never in the set has the "
                                              "worst word" + ", and sends it" * (not test))

    return with_facts(program, facts)


def _superset(flow, loop, edges):
    """The predicate of the vertices whose edges may be gone through at any time; None if there is
    none."""
    function = flow.program.function(edges.apply_f)
    entry = flow.entries[id(loop)]
    begun = entry.sets.get(asks_for_vertices(loop.condition))
    words = entry.words.get(edges.tracking)
    found = effects(function)
    if begun is None:
        return None
    if begun.token == ir.ALL:
        return ()
    worst = next(IDENTITY[effect.kind] for effect in found if effect.vector == edges.tracking)
    if words is None or begun.vertices is None or words.default != worst \
            or not {vertex for vertex, _ in words.stored} <= set(begun.vertices):
        return None
    source = function.parameters[0]

    def unreached(part):
        if isinstance(part, ir.VectorLoad) and part.vector == edges.tracking \
                and isinstance(part.index, ir.Local) and part.index.name == source:
            return ir.Literal(value=worst, type=part.type, position=part.position)
        return None

    if {effect.vector for effect in found} == {edges.tracking} and all(
            flow.values.interval(replaced(effect.value, unreached)) == (worst, worst)
            for effect in found):
        return ()
    stored = dict(words.stored)
    if any(stored.get(vertex) in (None, worst) for vertex in begun.vertices):
        return None
    here = {"position": edges.position}
    kind = flow.program.vector(edges.tracking).type
    return ir.Binary(operation="!=", type=Type.BOOL, **here, left=ir.VectorLoad(
        vector=edges.tracking, index=ir.Local(name=SELF, type=Type.VERTEX, **here), type=kind,
        **here), right=ir.Literal(value=worst, type=kind, **here)),
