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

Which candidates of ``min`` do not fit (:mod:`sw.lang.faults`) depends on the order. But whether a
vertex ends at ``infinity`` though it has such a candidate does not: its source passes on its last
word, too, and if that gives no number that fits, then no earlier word did, unless another part of
the candidate is ``infinity``. So the end of the loop decides, if nothing else in it can fail.
"""

import dataclasses

from sw.lang import graph_ir as ir
from sw.lang.effects import effects, given, replaced
from sw.lang.facts import Deferred, Early
from sw.lang.faults import can_fail, candidates, may_lose
from sw.lang.passes.rewrite import with_facts
from sw.lang.predicates import TURNED, Knowledge, names_in, vectors_in
from sw.lang.types import WORD, Type
from sw.lang.uses import assigned, calls, written


__all__ = ["asks_for_vertices", "early", "is_improvement", "read_elsewhere"]


#: {reduction: operations that grow, or stay, as either operand grows}. For ``or`` a word grows by
#: gaining bits. Other operations of numbers may fail.
_GROWING = {"min": {"+", "*", "min", "max"}, "max": {"min", "max"}, "or": {"&", "|", "and", "or"}}

#: {reduction: operations that grow with the left operand}.
_GROWING_LEFT = {"min": {">>"}, "max": {">>"}, "or": {"<<", ">>"}}


def early(program):
    """Mark operators with :class:`~sw.lang.facts.Early` and :class:`~sw.lang.facts.Deferred`."""
    found = {}
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
            if _defers(program, loop, edges):
                yield Deferred(why="early; nothing else in the loop can fail, and a candidate is "
                                   "lost by its source's words alone")

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
            if other.writes() & taken or not all(
                    effect.kind != "+" and stays(effect.index, effect.value, *effect.conditions)
                    for effect in effects(other)):
                return None
            taken |= other.writes()
    return edges


def _defers(program, loop, edges):
    """Whether a run has the same error whenever the words are read, if the end of the loop decides
    about lost candidates."""
    function, values = program.function(edges.apply_f), Knowledge(program)
    others = [program.function(name) for node in loop.body for name in calls(node)
              if name != edges.apply_f]
    return (not can_fail(function)
            and all(_loses_by(effect.value, edges.tracking, values) for effect in effects(function)
                    if may_lose(effect.node))
            and not any(can_fail(other) or _loses(other) for other in others)
            and all(_counts(node.value) for node in loop.body if isinstance(node, ir.Assign)))


def _loses(function):
    return any(isinstance(part, ir.Reduce) and may_lose(part) for part in ir.walk(*function.body))


def _loses_by(node, vector, values):
    """Whether only the words of a vector can make a candidate ``infinity``, or too large."""
    parts = candidates(node)
    if parts:
        return all(_loses_by(part, vector, values) for part in parts)
    own = isinstance(node, ir.VectorLoad) and node.vector == vector
    return own or values.interval(node)[1] < WORD - 1


def _counts(value):
    """Whether an expression of the host cannot fail, however often it is computed: a number that
    is added to one that stays, or another name of a set."""
    parts = [part for part in ir.walk(value) if not isinstance(part, ir.HostName | ir.Literal)]
    return not parts or (len(parts) == 1 and isinstance(parts[0], ir.Binary)
                         and parts[0].operation in ("+", "-")
                         and isinstance(parts[0].right, ir.Literal))


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
    ends, tracking = function.parameters[:2], edges.tracking
    at_end = isinstance(effect.index, ir.Local) and effect.index.name in ends
    grows = effect.kind in _GROWING and _grows(effect.value, tracking, ends[0], effect.kind) \
        and stays(_without(effect.value, tracking))
    if effect.vector == tracking:
        return grows and (at_end or stays(effect.index)) and all(
            stays(test) or is_improvement(test, effect) for test in effect.conditions)
    # The best of the words that it is passed is that of the last one of the source.
    tracked = next(each.kind for each in effects(function) if each.vector == tracking)
    return effect.kind in _GROWING and at_end and stays(*effect.conditions) and (
        (grows and effect.kind == tracked) or stays(effect.value))


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


def _grows(node, vector, source, by) -> bool:
    """Whether a value grows with the vector's word at the source, or does not depend on it."""
    match node:
        case ir.VectorLoad(vector=name) if name == vector:
            return isinstance(node.index, ir.Local) and node.index.name == source
        case ir.Binary() if node.operation in _GROWING[by]:
            return (_grows(node.left, vector, source, by)
                    and _grows(node.right, vector, source, by))
        case ir.Binary() if node.operation in _GROWING_LEFT[by]:
            return _grows(node.left, vector, source, by) and not _reads(node.right, vector)
    return not _reads(node, vector)


def _reads(node, vector):
    return any(isinstance(part, ir.VectorLoad) and part.vector == vector for part in ir.walk(node))
