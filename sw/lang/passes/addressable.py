"""Vectors of vertices whose words may be addresses."""

from sw.lang import graph_ir as ir
from sw.lang.effects import UNKNOWN, effects, given
from sw.lang.facts import Addressable
from sw.lang.passes.rewrite import with_facts
from sw.lang.types import Type


__all__ = ["addressable"]


def addressable(program):
    """Mark vectors with :class:`~sw.lang.facts.Addressable`."""
    kinds = {vector.name: vector.type for vector in program.vectors}
    lost: set[str] = set()
    joined: list[set[str]] = []

    def loads(node) -> set[str]:
        """The vectors whose words may be the value of an expression of vertices."""
        match node:
            case ir.VectorLoad():
                other_uses(node.index)
                return {node.vector}
            case ir.Binary(operation="min" | "max"):
                return loads(node.left) | loads(node.right)
            case ir.Select():
                other_uses(node.condition)
                return loads(node.then) | loads(node.otherwise)
        other_uses(node)
        return set()

    def other_uses(node):
        """Mark the vectors whose words are used as more than vertices."""
        match node:
            case ir.Unary(operation="uint") if node.operand.type is Type.VERTEX:
                lost.update(loads(node.operand))
            case ir.VectorLoad():
                loads(node.index)
            case ir.Degree():
                loads(node.vertex)
            case ir.Binary() if node.left.type is Type.VERTEX:     # a comparison, min or max
                joined.append(loads(node.left) | loads(node.right))
            case ir.Select() if node.type is Type.VERTEX:
                joined.append(loads(node))
            case ir.Local(name=name) if name == UNKNOWN:
                lost.update(kinds)
            case _:
                for part in node.parts():
                    other_uses(part)

    for function in program.functions:
        for effect in effects(function):
            loads(effect.index)
            for test in effect.conditions:
                other_uses(test)
            if kinds[effect.vector] is Type.VERTEX:
                joined.append({effect.vector} | loads(effect.value))
            else:
                other_uses(effect.value)
        result = given(function)
        if result is not None:
            other_uses(result)

    def facts(node):
        if isinstance(node, ir.Vector) and node.type is Type.VERTEX:
            group = _group(node.name, joined)
            if not group & lost:
                yield Addressable(group=frozenset(group),
                                  why="only indices, comparisons, min, max and stores")

    return with_facts(program, facts)


def _group(name, joined):
    group = {name}
    while True:
        more = group.union(*(each for each in joined if each & group))
        if more == group:
            return group
        group = more
