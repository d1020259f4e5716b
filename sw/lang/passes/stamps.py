"""Vectors whose words say in which round of a loop they were stored."""

from sw.lang import graph_ir as ir
from sw.lang.effects import effects
from sw.lang.facts import Affine, Stamp, Stamps, known
from sw.lang.flow import flow_of
from sw.lang.passes.rewrite import with_facts
from sw.lang.predicates import with_vertex
from sw.lang.types import WORD, Type
from sw.lang.uses import written


__all__ = ["stamps"]


def stamps(program):
    """Mark loops with :class:`~sw.lang.facts.Stamps`."""
    flow = flow_of(program)

    def facts(node):
        if isinstance(node, ir.WhileLoop | ir.ForLoop):
            found = [_stamp(flow, node, vector) for vector in program.vectors]
            found = tuple(stamp for stamp in found if stamp is not None)
            if found:
                yield Stamps(stamps=found, why="all vertices begin with infinity, and each word is "
                             "stored once, by a number that grows in each round")

    return with_facts(program, facts)


def _stamp(flow, loop, vector):
    """The stamp of a vector in a loop, or None."""
    program, affine = flow.program, known(loop, Affine)
    words = flow.entries[id(loop)].words.get(vector.name)
    if affine is None or vector.type is not Type.UINT or words is None \
            or words.default != WORD - 1:
        return None
    found = set()
    for place, node in enumerate(loop.body):
        if vector.name not in written(program, node):
            continue
        if not isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator):
            return None
        function = program.function(node.apply_f)
        for effect in effects(function):
            if effect.vector == vector.name:
                if not (effect.kind == "min" or _never(flow, node, function, effect)):
                    return None
                found.add(_number(flow, affine, effect.value, place))
    if len(found) != 1 or None in found:
        return None
    (line, plus), = found
    first = None if line.start is None else line.start + plus
    others = [word for _, word in words.stored]
    if any(word is None or first is None or word >= first for word in others):
        return None
    return Stamp(vector.name, WORD - 1, line.name, plus, first, line.step)


def _never(flow, node, function, effect):
    """Whether a store changes words of infinity only."""
    if effect.kind != "store":
        return False
    own = function.parameters[0]
    held = flow.inputs[id(node)]
    own_word = ir.VectorLoad(vector=effect.vector, type=Type.UINT, position=node.position,
                             index=effect.index)
    never = ir.Binary(operation="==", left=own_word, type=Type.BOOL, position=node.position,
                      right=ir.Literal(value=WORD - 1, type=Type.UINT, position=node.position))
    conditions = [with_vertex(test, own) for test in effect.conditions]
    return flow.values.implies((*held.within, *(held.exact or () if held.now else ()), *conditions),
                               (with_vertex(never, own),))


def _number(flow, affine, value, place):
    """(line, plus): a value is a growing number of the host as it is at the beginning of a round,
    and ``plus``; or None."""
    if not isinstance(value, ir.Uniform) or value.type is not Type.UINT \
            or flow.values.may_be_infinite(value.value):
        return None
    for line in affine.lines:
        plus = flow.values.step(line.name, value.value)
        if plus is None and value.value == ir.HostName(name=line.name, type=Type.WHOLE,
                                                       position=value.position):
            plus = 0
        if plus is not None and line.step > 0:
            return line, plus + (line.step if 0 <= line.place < place else 0)
    return None
