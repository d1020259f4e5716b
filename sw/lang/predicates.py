"""What is true of words: intervals of expressions, and which conditions exclude or imply others.

All answers are of the kind *surely*: False, None or the widest interval where nothing is known.
"""

import dataclasses
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.effects import UNKNOWN, conjuncts, given, negated, replaced
from sw.lang.facts import SELF, Range, known
from sw.lang.types import INFINITY, LARGEST, WORD, Type


__all__ = ["ALL_WORDS", "TURNED", "Knowledge", "has_unknown", "moved", "names_in", "predicate",
           "turned", "vectors_in", "with_vertex"]


#: The widest interval of words.
ALL_WORDS = 0, WORD - 1

#: {comparison: the one that says the same of the operands in the other order}.
TURNED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

#: {comparison: whether it holds, by the sign of left - right}.
_HOLDS = {"==": {0}, "!=": {-1, 1}, "<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {0, 1}}


def vectors_in(*nodes) -> set[str]:
    """The vectors that expressions read."""
    return {part.vector for part in ir.walk(*nodes) if isinstance(part, ir.VectorLoad)}


def names_in(*nodes) -> set[str]:
    """The names of the host that expressions read."""
    return {part.name for part in ir.walk(*nodes) if isinstance(part, ir.HostName | ir.SetSize)}


def with_vertex(node, name, vertex=SELF) -> Any:
    """An expression with another name of a variable."""
    return replaced(node, lambda part: dataclasses.replace(part, name=vertex)
                    if isinstance(part, ir.Local) and part.name == name else None)


def moved(node, name, by) -> Any:
    """An expression that has the same value after ``by`` was added to a number of the host."""
    def change(part):
        terms, constant = _host_linear(part)
        count = ir.HostName(name=name, type=Type.WHOLE, position=part.position)
        if terms != {count: 1}:
            return None
        rest = constant - by
        step = ir.Literal(value=abs(rest), type=Type.WHOLE, position=part.position)
        return count if rest == 0 else ir.Binary(
            operation="+" if rest > 0 else "-", left=count, right=step, type=Type.WHOLE,
            position=part.position)

    return node if by == 0 else replaced(node, change)


@ir.once
def predicate(function) -> tuple[Any, ...]:
    """The predicate of a filter."""
    node = with_vertex(given(function), function.parameters[0])
    return tuple(map(turned, conjuncts(node)))


def turned(node) -> Any:
    """A comparison with the word of a vector on the left, if only the right side reads vectors; a
    truth value is compared with 0 or 1."""
    load = node.operand if isinstance(node, ir.Unary) and node.operation == "not" else node
    if isinstance(load, ir.VectorLoad) and load.type is Type.BOOL:
        word = ir.Literal(value=int(load is node), type=Type.BOOL, position=node.position)
        return ir.Binary(operation="==", left=load, right=word, type=Type.BOOL,
                         position=node.position)
    if isinstance(node, ir.Binary) and node.operation in TURNED and not vectors_in(node.left) \
            and vectors_in(node.right):
        return dataclasses.replace(node, operation=TURNED[node.operation], left=node.right,
                                   right=node.left)
    return node


class Knowledge:
    """What is known of the values of a program.

    Parameters
    ----------
    program : GraphProgram
        Whose vectors may have the fact :class:`~sw.lang.facts.Range`.
    ranges : dict of str to (int, int), optional
        Intervals of vectors, in place of those of the facts.
    """

    def __init__(self, program, ranges=None):
        if ranges is None:
            found = {vector.name: known(vector, Range) for vector in program.vectors}
            ranges = {name: (fact.least, fact.most) for name, fact in found.items() if fact}
        self.ranges = ranges
        self._infinite = _infinite(program)

    def may_be_infinite(self, node) -> bool:
        """Whether a value of the host may be the named number ``infinity`` or ``none``."""
        return _may_be_infinite(node, self._infinite)

    # Intervals

    def interval(self, node) -> tuple[int, int]:
        """The smallest and the largest word that an expression may have."""
        kind = node.type
        if kind in (Type.FIXED, Type.FRACTION):
            return (0, 0) if isinstance(node, ir.Literal) and node.value == 0 else (
                self.ranges.get(node.vector, ALL_WORDS) if isinstance(node, ir.VectorLoad)
                else ALL_WORDS)
        match node:
            case ir.Literal():
                return int(node.value), int(node.value)
            case ir.Uniform():
                return self._of_host(node)
            case ir.Local():
                return (0, WORD - 1) if node.name == UNKNOWN else (0, LARGEST)
            case ir.VectorLoad():
                return self.ranges.get(node.vector, ALL_WORDS)
            case ir.Degree():
                return 0, LARGEST
            case ir.Unary(operation="uint" | "vertex"):
                return self.interval(node.operand)
            case ir.Unary(operation="not"):
                return 0, 1
            case ir.Select():
                decided = self.truth(node.condition)
                sides = [self.interval(side) for side, chosen in (
                    (node.then, True), (node.otherwise, False)) if decided in (None, chosen)]
                return min(low for low, _ in sides), max(high for _, high in sides)
            case ir.Binary() if node.operation in TURNED or node.operation in ("and", "or"):
                decided = self.truth(node)
                return (0, 1) if decided is None else (int(decided), int(decided))
            case ir.Binary():
                return self._of_binary(node)
        return ALL_WORDS

    def _of_host(self, node):
        value = node.value
        if isinstance(value, ir.Literal):
            return int(value.value), int(value.value)
        if node.type is Type.BOOL:
            return 0, 1
        return 0, WORD - 1 if self.may_be_infinite(value) else LARGEST

    def _of_binary(self, node):
        (low, high), (least, most) = self.interval(node.left), self.interval(node.right)
        match node.operation:
            case "min":
                return min(low, least), min(high, most)
            case "max":
                return max(low, least), max(high, most)
            case "+":
                return min(low + least, WORD - 1), min(high + most, WORD - 1)
            case "*":
                return min(low * least, WORD - 1), min(high * most, WORD - 1)
            case "-":
                return max(low - most, 0), min(max(high - least, 0), LARGEST)
            case "//" | ">>":
                return 0, high
            case "%":
                return 0, min(high, max(most - 1, 0))
            case "&":
                return 0, min(high, most)
            case "|" | "^":
                return (max(low, least) if node.operation == "|" else 0,
                        (1 << max(high, most).bit_length()) - 1)
        return ALL_WORDS

    def step(self, name, value) -> int | None:
        """What is added to a number of the host that gets this value, if it is a constant."""
        terms, constant = _host_linear(value) if value.type is Type.WHOLE else ({}, 0)
        one = ir.HostName(name=name, type=Type.WHOLE, position=value.position)
        return constant if terms == {one: 1} else None

    @staticmethod
    def constant(node, numbers) -> int | None:
        """The value of an expression of the host, if it follows from these numbers."""
        match node:
            case ir.Uniform():
                return Knowledge.constant(node.value, numbers)
            case ir.Literal():
                return int(node.value) if node.value == int(node.value) else None
        terms, constant = _host_linear(node) if node.type is Type.WHOLE else ({node: 1}, 0)
        known_terms = [numbers.get(getattr(term, "name", None)) for term in terms
                       if isinstance(term, ir.HostName)]
        if len(known_terms) < len(terms) or None in known_terms:
            return None
        return constant + sum(number * factor for number, factor
                              in zip(known_terms, terms.values(), strict=True))

    # Truth

    def truth(self, node) -> bool | None:
        """Whether a BOOL expression is surely true, surely false, or neither (None)."""
        match node:
            case ir.Literal():
                return bool(node.value)
            case ir.Uniform(value=ir.Literal()):
                return bool(node.value.value)
            case ir.Unary(operation="not"):
                found = self.truth(node.operand)
                return None if found is None else not found
            case ir.Binary(operation="and" | "or" as name):
                sides = {self.truth(node.left), self.truth(node.right)}
                if (name == "or") in sides:
                    return name == "or"
                return None if None in sides else name == "and"
            case ir.Binary() if node.operation in TURNED:
                return self._compared(node.operation, node.left, node.right)
        return None

    def _compared(self, name, left, right):
        signs = self._signs(left, right)
        if signs <= _HOLDS[name]:
            return True
        return None if signs & _HOLDS[name] else False

    def _signs(self, left, right):
        """The signs that left - right may have."""
        if left == right and not has_unknown(left):
            return {0}
        (low, high), (least, most) = self.interval(left), self.interval(right)
        found = {sign for sign, may in ((-1, low < most), (0, low <= most and least <= high),
                                        (1, high > least)) if may}
        if len(found) > 1:
            difference = self.difference(left, right)
            if difference is not None:
                found &= {(difference > 0) - (difference < 0)}
        return found

    def difference(self, left, right) -> int | None:
        """left - right, if it is known: of literals, and of numbers of the host that differ by a
        constant."""
        one, other = self._linear(left), self._linear(right)
        if one is None or other is None or one[0] != other[0]:
            return None
        return one[1] - other[1]

    def _linear(self, node):
        """({term: factor}, constant) of a number, or None."""
        match node:
            case ir.Literal() if node.type in (Type.UINT, Type.VERTEX, Type.BOOL):
                return {}, int(node.value)
            case ir.Uniform() if node.type in (Type.UINT, Type.VERTEX) \
                    and not self.may_be_infinite(node.value):
                return _host_linear(node.value)
        return None

    # Predicates

    def excludes(self, one, other) -> bool:
        """Whether no vertex satisfies both predicates."""
        parts = [*map(turned, one), *map(turned, other)]
        if any(self.truth(part) is False for part in parts):
            return True
        return any(self._exclusive(first, second)
                   for place, first in enumerate(parts) for second in parts[place + 1:])

    def _exclusive(self, one, other):
        """Whether two conditions cannot both be true."""
        if negated(one) == other and not has_unknown(one):
            return True
        match one, other:
            case (ir.Binary(left=left, operation=first), ir.Binary(left=same, operation=second)) \
                    if first in TURNED and second in TURNED and left == same \
                    and not has_unknown(left):
                return not any(
                    to_one in _HOLDS[first] and to_other in _HOLDS[second]
                    for sign in self._signs(other.right, one.right)
                    for to_one, to_other in _PLACES[sign])
        return False

    def implies(self, premisses, conclusion) -> bool:
        """Whether the last predicate is true wherever the first is."""
        return all(self.excludes(premisses, (negated(part),)) for part in conclusion)


#: {sign of b - a: the pairs (x - a, x - b) of signs that a word x may have}.
_PLACES = {-1: ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1)), 0: ((-1, -1), (0, 0), (1, 1)),
           1: ((-1, -1), (0, -1), (1, -1), (1, 0), (1, 1))}


def has_unknown(node) -> bool:
    """Whether a part of an expression is not known."""
    return any(isinstance(part, ir.Local) and part.name == UNKNOWN for part in ir.walk(node))


def _host_linear(node):
    match node:
        case ir.Literal(value=int(value)):
            return {}, int(value)
        case ir.Binary(operation="+" | "-" as name):
            one, other = _host_linear(node.left), _host_linear(node.right)
            sign = 1 if name == "+" else -1
            terms = dict(one[0])
            for term, factor in other[0].items():
                terms[term] = terms.get(term, 0) + sign * factor
            return {term: factor for term, factor in terms.items() if factor}, \
                one[1] + sign * other[1]
    return {node: 1}, 0


def _infinite(program):
    """The names of the host that may be ``infinity`` or ``none``; a parameter is a vertex that
    there is."""
    found = {argument.name for argument in program.arguments
             if argument.type not in (Type.BOOL, Type.VERTEX)}
    assigned = [node for node in ir.instructions(program.body) if isinstance(node, ir.Assign)]
    while True:
        more = {node.name for node in assigned if _may_be_infinite(node.value, found)}
        if more <= found:
            return found
        found |= more


def _may_be_infinite(node, names):
    match node:
        case ir.Literal():
            return node.value == INFINITY
        case ir.HostName():
            return node.name in names
        case ir.Select():
            return _may_be_infinite(node.then, names) or _may_be_infinite(node.otherwise, names)
        case ir.Binary(operation="min" | "max"):
            return _may_be_infinite(node.left, names) or _may_be_infinite(node.right, names)
    return False
