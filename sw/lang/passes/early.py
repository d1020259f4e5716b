"""Operators whose reads may see words that the operator has just changed.

A loop lowers (or raises) a vector x along the edges of a set, until no word changes. Its operator O
reads x only at the source, in values that grow with the word that is read, and the vertices whose
word changed are the next set. Then every order of calls, and reads that see changes at once, lead
to the same words of x, those of the least solution (Kildall's argument for monotone functions on a
finite chain), and a vertex is ever in the set if, and only if, it began in it or its word is not as
it began.

Whatever else happens in the loop must depend on nothing but that: stores and reductions of values
that do not change in the loop, done twice without harm. Numbers of the host that the loop changes
may be read by nobody but themselves, because the number of rounds is not certain.

A vertex that began in the set, or whose word is not as it began, is in the set at some time; so to
go through its edges at another time changes nothing else. If x begins with the worst word wherever
the set does not begin, words tell these vertices; and where the worst word leads to the worst word
and the operator changes no other vector, edges of all other vertices change nothing.
"""

import dataclasses

from sw.lang import graph_ir as ir
from sw.lang.effects import effects, given, replaced
from sw.lang.facts import SELF, Early, Superset
from sw.lang.faults import can_fail
from sw.lang.flow import flow_of
from sw.lang.passes.fixpoint import GROWING, grows
from sw.lang.passes.rewrite import with_facts
from sw.lang.predicates import TURNED, names_in, vectors_in
from sw.lang.types import WORD, Type
from sw.lang.uses import assigned, written


__all__ = ["asks_for_vertices", "early", "is_improvement", "read_elsewhere"]


#: {reduction: the word that every other word is better than}.
_WORST = {"min": WORD - 1, "max": 0, "or": 0}


def early(program):
    """Mark operators with :class:`~sw.lang.facts.Early` and :class:`~sw.lang.facts.Superset`."""
    flow, found = flow_of(program), {}
    for loop in ir.instructions(program.body):
        if isinstance(loop, ir.WhileLoop):
            edges = _operator(program, loop)
            if edges is not None:
                found[id(edges)] = loop, edges

    def facts(node):
        if id(node) in found:
            loop, edges = found[id(node)]
            yield Early(vectors=frozenset({edges.tracking}),
                        why="its values grow with the source's word, until no word changes, and "
                            "the rest of the loop does not depend on when")
            test = _superset(flow, loop, edges)
            if test is not None:
                yield Superset(test=test, why="early; a vertex that was never in the set has the "
                                              "worst word" + ", and sends it" * (not test))

    return with_facts(program, facts)


def asks_for_vertices(condition) -> str | None:
    """The set of a condition that is true while it has vertices, or None."""
    match condition:
        case ir.SetSize(name=name) | ir.Binary(
                operation=">" | "!=", left=ir.SetSize(name=name), right=ir.Literal(value=0)):
            return name
    return None


def is_improvement(test, effect) -> bool:
    """Whether a reduction changes nothing if a condition is false, because the value is then no
    better than the word."""
    better = {"min": ("<", "<="), "max": (">", ">=")}.get(effect.kind, ())
    match test:
        case ir.Binary(left=left, right=right) if test.operation in TURNED:
            for one, other, name in ((left, right, test.operation),
                                     (right, left, TURNED[test.operation])):
                if name in better and one == effect.value and isinstance(other, ir.VectorLoad) \
                        and other.vector == effect.vector and other.index == effect.index:
                    return True
    return False


def _operator(program, loop):
    """The operator of a loop that may read early, or None."""
    edges = _only_operator(loop)
    if edges is None or edges.tracking is None:
        return None
    numbers = {node.name for node in loop.body if isinstance(node, ir.Assign)
               and node.value.type is not Type.VERTEXSET}
    changing = written(program, loop)
    if read_elsewhere(program, loop, numbers):
        return None

    def stays(*values):
        return not (vectors_in(*values) & changing or names_in(*values) & (
            numbers | _sizes(*values)))

    if edges.to_filter is not None and not stays(given(program.function(edges.to_filter))):
        return None
    function = program.function(edges.apply_f)
    if can_fail(_without_improvements(function)) or not all(
            _may_race(effect, edges, function, stays) for effect in effects(function)):
        return None
    taken = function.writes()
    for node in loop.body:
        if isinstance(node, ir.VertexSetIterator):
            other = program.function(node.apply_f)
            if other.writes() & taken or not all(stays(effect.value, *effect.conditions)
                                                 for effect in effects(other)):
                return None
            taken |= other.writes()
    return edges


def _without_improvements(function):
    """The function without conditions that are no more than its reductions do: a value in them is
    the candidate of a reduction."""
    body = []
    for effect in effects(function):
        node = ir.Reduce(operation=effect.kind, vector=effect.vector, index=effect.index,
                         value=effect.value, position=effect.node.position)
        for test in effect.conditions:
            if not is_improvement(test, effect):
                node = ir.Branch(condition=test, then=(node,), otherwise=(),
                                 position=test.position)
        body.append(node)
    return dataclasses.replace(function, body=tuple(body))


def _sizes(*values):
    return {part.name for part in ir.walk(*values) if isinstance(part, ir.SetSize)}


def _may_race(effect, edges, function, stays):
    """Whether an effect of the operator does not depend on when words are read."""
    source, target = function.parameters[:2]
    tracked = next(each for each in effects(function) if each.vector == edges.tracking)
    at_end = isinstance(effect.index, ir.Local) and effect.index.name in (source, target)
    if effect.vector != edges.tracking:
        passed_on = at_end and effect.index.name == target and effect.kind == tracked.kind \
            and grows(effect.value, edges.tracking, source, effect.kind) and stays(
                _without(effect.value, edges.tracking), *effect.conditions)
        return effect.kind in _WORST and at_end and (
            passed_on or stays(effect.value, *effect.conditions))
    return effect.kind in GROWING and (at_end or stays(effect.index)) \
        and all(stays(test) or is_improvement(test, effect) for test in effect.conditions) \
        and grows(effect.value, edges.tracking, source, effect.kind) \
        and stays(_without(effect.value, edges.tracking))


def _without(node, vector):
    """An expression with 0 in place of the words of a vector."""
    return replaced(node, lambda part: ir.Literal(value=0, type=part.type, position=part.position)
                    if isinstance(part, ir.VectorLoad) and part.vector == vector else None)


def _only_operator(loop):
    """The one operator of edges of a loop, if it goes from the loop's set to the loop's set, and
    nothing else changes it; else None."""
    name = asks_for_vertices(loop.condition)
    sets, edges = {name: name}, None
    if name is None:
        return None
    for node in loop.body:
        match node:
            case ir.Assign(value=ir.HostName(name=other, type=Type.VERTEXSET)):
                sets[node.name] = sets.get(other)
            case ir.Assign() | ir.VertexSetIterator():
                pass
            case ir.Dequeue() if node.queue == name and edges is None:
                sets[node.output_vset] = name
            case ir.EdgeSetIterator() if edges is None and sets.get(node.input_vset) == name:
                edges = node
                sets[node.output_vset] = "changed"
            case _:
                return None
    return edges if edges is not None and sets.get(name) == "changed" else None


def read_elsewhere(program, loop, numbers):
    """Whether numbers that a loop changes, or its sets, are read by anything but the loop's own
    changes of them; the set of the condition is empty behind the loop."""
    inside = {id(node) for node in ir.instructions(loop.body)} | {id(loop)}
    sets = assigned(loop) - numbers - {asks_for_vertices(loop.condition)}
    for node in ir.instructions(program.body):
        read = set()
        if not (id(node) in inside and isinstance(node, ir.Assign)):
            values = [getattr(node, field) for field in ("condition", "count", "value", "index",
                                                         "delta") if hasattr(node, field)]
            values += getattr(node, "vertices", ())
            read |= names_in(*(value for value in values if value is not None))
        for field in ("apply_f", "to_filter", "filter"):
            name = getattr(node, field, None)
            if name is not None:
                read |= names_in(*program.function(name).body)
        for part in ir.walk(*(getattr(node, field) for field in ("condition", "value")
                              if hasattr(node, field))):
            if isinstance(part, ir.VertexSum):
                read |= names_in(*program.function(part.function).body)
                read |= {part.input_vset} if id(node) not in inside else set()
        if id(node) not in inside:
            read |= {getattr(node, "input_vset", None), getattr(node, "queue", None)} & sets
            if read & sets:
                return True
        if read & numbers:
            return True
    return False


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
    worst = next(_WORST[effect.kind] for effect in found if effect.vector == edges.tracking)
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
