"""What a function does, without its local variables: the effects of a call, and their conditions.

Expressions are those of the text with the values of local variables put in. In a function of a
vertex, a word that the call has stored stands in place of a later load of it. In place of a large
value stands a variable :data:`UNKNOWN`, about which nothing is known.
"""

import dataclasses
from typing import Any, NamedTuple

from sw.lang import graph_ir as ir
from sw.lang.types import Type


__all__ = ["UNKNOWN", "Effect", "conjuncts", "effects", "given", "negated", "replaced", "stored"]


#: The name of a variable whose value is not known. Two of them are not the same value.
UNKNOWN = "?"


#: Parts of the largest value that is put in place of a variable.
_LARGE = 48

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Effect(NamedTuple):
    """One store or reduction of a function."""
    kind: str  #: ``store``, ``min``, ``max``, ``+`` or ``or``.
    vector: str
    index: Any
    value: Any
    conditions: tuple[Any, ...]  #: BOOL expressions; it happens if all are true.
    node: ir.Node  #: The statement.


@dataclasses.dataclass
class _State:
    """Values of local variables, and of the words that the own vertex has stored."""
    names: dict
    words: dict
    sure: frozenset


def replaced(node, change) -> Any:
    """The expression with ``change(part)`` in place of each part for which it is not None, from the
    outside in."""
    found = change(node)
    return node.with_parts(lambda part: replaced(part, change)) if found is None else found


def effects(function) -> tuple[Effect, ...]:
    """The effects of a function, in the order of ``walk``."""
    return _summary(function)[0]


def stored(function) -> dict[str, tuple[Any, bool]]:
    """{vector: (word, sure)} behind a call of a function of a vertex. The word of a vector that
    some calls do not store is not sure; it is an expression that has the own load then."""
    state = _summary(function)[2]
    return {vector: (word, vector in state.sure) for vector, word in state.words.items()}


def given(function) -> Any:
    """The result of a function, or None."""
    return _summary(function)[1]


@ir.once
def _summary(function):
    state = _State({}, {}, frozenset())
    own = None if function.of_edge else function.parameters[0]
    done: list[Effect] = []
    result = _block(function.body, state, own, (), done)
    return tuple(done), result, state


def _block(body, state, own, conditions, done):
    result = None
    for node in body:
        match node:
            case ir.Let():
                state.names[node.name] = _bounded(_known(node.value, state, own))
            case ir.VectorStore():
                value = _known(node.value, state, own)
                done.append(Effect("store", node.vector, node.index, value, conditions, node))
                state.words[node.vector] = _bounded(value)
                state.sure |= {node.vector}
            case ir.Reduce():
                done.append(Effect(node.operation, node.vector, _known(node.index, state, own),
                                   _known(node.value, state, own), conditions, node))
            case ir.Give():
                result = _known(node.value, state, own)
            case ir.Branch():
                _branch(node, state, own, conditions, done)
    return result


def _branch(node, state, own, conditions, done):
    condition = _known(node.condition, state, own)
    ends = []
    for body, test in ((node.then, condition), (node.otherwise, negated(condition))):
        inner = _State(dict(state.names), dict(state.words), state.sure)
        _block(body, inner, own, (*conditions, *conjuncts(test)), done)
        ends.append(inner)
    one, other = ends
    for name in one.names.keys() | other.names.keys():
        if name in one.names and name in other.names:
            first, second = one.names[name], other.names[name]
            state.names[name] = first if first is second else _choice(condition, first, second)
    for vector in one.words.keys() | other.words.keys():
        first, second = ((end.words.get(vector) or _load(node, vector, own, one, other))
                         for end in ends)
        state.words[vector] = first if first is second else _choice(condition, first, second)
    state.sure = one.sure & other.sure


def _load(node, vector, own, *ends):
    kind = next(end.words[vector].type for end in ends if vector in end.words)
    return ir.VectorLoad(vector=vector, type=kind, position=node.position, index=ir.Local(
        name=own, type=Type.VERTEX, position=node.position))


def _choice(condition, first, second):
    return _bounded(ir.Select(condition=condition, then=first, otherwise=second, type=first.type,
                              position=condition.position))


def _bounded(node):
    """The value, or an unknown one in place of a large one."""
    large = any(number >= _LARGE for number, _ in enumerate(ir.walk(node)))
    return ir.Local(name=UNKNOWN, type=node.type, position=node.position) if large else node


def _known(node, state, own):
    """An expression with what is known in place of variables and of own words."""
    def change(part):
        match part:
            case ir.Local() if part.name in state.names:
                return state.names[part.name]
            case ir.VectorLoad(index=ir.Local(name=name)) if name == own \
                    and part.vector in state.words:
                return state.words[part.vector]
        return None

    return replaced(node, change)


def negated(node) -> Any:
    """A BOOL expression that is true where another one is false."""
    match node:
        case ir.Unary(operation="not"):
            return node.operand
        case ir.Binary() if node.operation in _NEGATED:
            return dataclasses.replace(node, operation=_NEGATED[node.operation])
        case ir.Literal():
            return dataclasses.replace(node, value=int(not node.value))
    return ir.Unary(operation="not", operand=node, type=Type.BOOL, position=node.position)


def conjuncts(node) -> tuple[Any, ...]:
    """Expressions that are all true if, and only if, a BOOL expression is true."""
    match node:
        case ir.Binary(operation="and"):
            return *conjuncts(node.left), *conjuncts(node.right)
        case ir.Unary(operation="not", operand=ir.Binary(operation="or") as either):
            return *conjuncts(negated(either.left)), *conjuncts(negated(either.right))
        case ir.Unary(operation="not", operand=ir.Unary(operation="not") as inner):
            return conjuncts(inner.operand)
        case ir.Unary(operation="not") if isinstance(node.operand, ir.Binary) \
                and node.operand.operation in _NEGATED:
            return (negated(node.operand),)
        case ir.Uniform(value=ir.Literal(value=1)) | ir.Literal(value=1):
            return ()
    return (node,)
