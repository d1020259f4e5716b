"""Vectors whose words move in one way in a loop."""

from sw.lang import graph_ir as ir
from sw.lang.effects import effects
from sw.lang.facts import OneWay, Stamps, known
from sw.lang.flow import flow_of
from sw.lang.passes.rewrite import with_facts
from sw.lang.predicates import has_unknown, vectors_in, with_vertex
from sw.lang.types import Type


__all__ = ["one_way"]


def one_way(program):
    """Mark loops with :class:`~sw.lang.facts.OneWay`."""
    flow = flow_of(program)

    def facts(node):
        if isinstance(node, ir.WhileLoop | ir.ForLoop):
            ways = _ways(flow, node)
            falls, rises = ({vector for vector, way in ways.items() if name in way}
                            for name in ("falls", "rises"))
            if falls or rises:
                yield OneWay(falls=frozenset(falls), rises=frozenset(rises),
                             why="every write in the loop goes that way")

    return with_facts(program, facts)


def _ways(flow, loop):
    """{vector that the loop writes: the ways in which all its writes go}."""
    program = flow.program
    stamps = known(loop, Stamps)
    found: dict[str, set[str]] = {}
    for node in ir.instructions(loop.body):
        if isinstance(node, ir.ElementStore):
            found[node.vector] = set()
        elif isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator):
            for effect in effects(program.function(node.apply_f)):
                ways = _of_effect(flow, node, effect)
                if stamps and stamps.stamp(effect.vector):
                    ways = {"falls"}
                found[effect.vector] = found.get(effect.vector, {"falls", "rises"}) & ways
    return found


def _of_effect(flow, node, effect):
    if effect.kind != "store":
        return {"falls"} if effect.kind == "min" else {"rises"}
    match effect.value:
        case ir.Binary(operation="min" | "max" as name, left=left, right=right):
            for side in (left, right):
                if isinstance(side, ir.VectorLoad) and side.vector == effect.vector \
                        and side.index == effect.index:
                    return {"falls"} if name == "min" else {"rises"}
    kind = flow.program.vector(effect.vector).type
    if kind in (Type.FIXED, Type.FRACTION) or vectors_in(effect.value) or has_unknown(effect.value):
        return set()
    # The word before is one that the members have.
    held, own = flow.inputs[id(node)], effect.index.name
    here = {"position": node.position}
    load = ir.VectorLoad(vector=effect.vector, index=effect.index, type=kind, **here)
    premisses = (*held.within, *(held.exact or () if held.now else ()),
                 *(with_vertex(test, own) for test in effect.conditions))
    return {way for way, name in (("falls", ">="), ("rises", "<=")) if flow.values.implies(
        premisses, (with_vertex(ir.Binary(operation=name, left=load, right=effect.value,
                                          type=Type.BOOL, **here), own),))}
