"""Expressions: one spelling for what is equal. No rewrite adds a fault or removes one, changes a
word, or the order of two parts that may fail."""

import dataclasses
import operator
from fractions import Fraction
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.effects import negated
from sw.lang.passes.normal.effects import (drops, has_sum, host_fails, is_plain, own_fails,
                                           plain_names)
from sw.lang.types import INFINITY, LARGEST, WORD, Named, Type


__all__ = ["Speller", "spelled"]


#: Comparisons with their operands exchanged, and negated.
_TURNED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_COMPARED = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
             ">": operator.gt, ">=": operator.ge}
_COMMUTATIVE = frozenset({"+", "*", "min", "max", "&", "|", "^", "==", "!="})
_FOLDED = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": Fraction,
           "//": operator.floordiv, "%": operator.mod, "&": operator.and_, "|": operator.or_,
           "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "min": min, "max": max}

#: {operation: (type, value of the right operand)} that leave the left operand as it is.
_NEUTRAL = {("+", 0), ("*", 1), ("|", 0), ("^", 0), ("<<", 0), (">>", 0), ("max", 0),
            ("min", INFINITY), ("&", INFINITY)}

#: The order of operands by their kinds, where the operation lets them change places.
_PLACES = (ir.VectorLoad, ir.Degree, ir.Local, ir.HostName, ir.SetSize, ir.GraphSize, ir.Unary,
           ir.Binary, ir.Select, ir.VertexSum, ir.Uniform, ir.Literal)


def spelled(program):
    """All expressions of a program, in the one spelling."""
    speller = Speller(program)

    def spell(node):
        if isinstance(node, ir.Function):
            return node.with_parts(lambda part: speller.node(part, node))
        return speller.node(node)

    return program.with_parts(spell)


class Speller:
    """Spells expressions of a program.

    Parameters
    ----------
    program : GraphProgram
    """

    def __init__(self, program):
        self._program, self._plain = program, plain_names(program)
        self._colours = {vector.name: _colour(program, vector) for vector in program.vectors}
        self._first = {argument.name: place for place, argument in enumerate(program.arguments)}
        self._function: ir.Function | None = None
        # {id: (node, what is known of it)}, so that no part of a long expression is asked twice.
        self._known: dict[str, dict[int, tuple]] = {"spelled": {}, "fails": {}, "key": {}}

    def node(self, node, function=None):
        """A node, with the one spelling of it and of all below it.

        Parameters
        ----------
        node : Node
        function : Function, optional
            The function that it is in.
        """
        self._function = function
        for known in self._known.values():
            known.clear()
        return self._spelled(node)

    def _once(self, what, node, found):
        """``found(node)``, which is computed once for a node."""
        known = self._known[what]
        if id(node) not in known:
            known[id(node)] = node, found(node)
        return known[id(node)][1]

    def colour(self, vector) -> tuple:
        """What the program does with a vector, whatever its name."""
        return self._colours[vector]

    def _spelled(self, node):
        if id(node) in self._known["spelled"]:
            return node
        while True:
            node = node.with_parts(self._spelled)
            other = self._rewritten(node)
            if other is None:
                self._known["spelled"][id(node)] = node, None
                return node
            node = other

    def _rewritten(self, node):
        """What the first rewrite that finds something makes of a node; None if none does."""
        for rewrite in (self._number, self._folded, self._without_neutral, self._opposite,
                        self._compared, self._joined, self._chosen, self._linear, self._ordered):
            other = rewrite(node)
            if other is not None and other != node:
                return other
        return None

    def _fails(self, *nodes):
        """Whether expressions may fail: words of a function, or numbers of the host."""
        return any(self._once("fails", node, self._may_fail) for node in nodes)

    def _may_fail(self, node):
        if self._function is None:
            return host_fails(self._program, node, self._plain)
        return own_fails(node, self._function.parameters) or (
            not isinstance(node, ir.Uniform) and any(
                self._once("fails", part, self._may_fail) for part in node.parts()))

    def _drops(self, *nodes):
        """Whether expressions may be left out."""
        if self._function is not None:
            return drops(self._program, nodes, self._function.parameters)
        return not self._fails(*nodes)

    @staticmethod
    def _literal(node, value, kind):
        return ir.Literal(value=INFINITY if value == INFINITY and kind is Type.UINT else value,
                          type=kind, position=node.position)

    # Constants

    def _number(self, node):
        """A number of the host that the text has, as a word. What does not fit stays, and fails."""
        match node:
            case ir.Uniform(value=ir.Literal(value=value), type=kind):
                named = isinstance(value, Named)
                right = {Type.UINT: value == int(value) and (
                             value.name == INFINITY.name if named else 0 <= value <= LARGEST),
                         Type.FIXED: 0 <= value <= LARGEST and not named,
                         Type.FRACTION: 0 <= value < 1, Type.BOOL: True}.get(kind, False)
                if right:
                    kept = int(value) if kind in (Type.UINT, Type.BOOL) and not named else value
                    return ir.Literal(value=kept, type=kind, position=node.position)
            case ir.ElementStore(value=ir.Literal(type=Type.WHOLE | Type.DECIMAL) as value):
                # The store makes a word of it in any case.
                kind = self._program.vector(node.vector).type
                return dataclasses.replace(node, value=dataclasses.replace(value, type=kind))
            case ir.Unary(operation="uint", operand=ir.Literal(type=Type.BOOL, value=value)):
                return self._literal(node, value, Type.UINT)
        return None

    def _folded(self, node):
        """An operation of two constants, unless it fails."""
        match node:
            case ir.Binary(left=ir.Literal(value=left, type=kind),
                           right=ir.Literal(value=right, type=other)) \
                    if kind is other or {kind, other} == {Type.WHOLE, Type.DECIMAL}:
                pass
            case _:
                return None
        if node.operation in _COMPARED:
            return self._literal(node, int(_COMPARED[node.operation](left, right)), Type.BOOL)
        host = node.type in (Type.WHOLE, Type.DECIMAL)
        name, bits = node.operation, node.operation in ("&", "|", "^", "min", "max")
        named = isinstance(left, Named) or isinstance(right, Named)
        if name not in _FOLDED or not (host or (node.type is kind is Type.UINT)):
            return None
        if (name in ("/", "//", "%") and right == 0) or (named and (host or not bits)) \
                or (name in ("<<", ">>") and not 0 <= right < (64 if host else 32)):
            return None
        found = _FOLDED[node.operation](left, right)
        if host:
            small = max(found.numerator.bit_length(), found.denominator.bit_length()) < 128
            return self._literal(node, found, node.type) if small else None
        if node.operation == "<<":
            found &= WORD - 1
        fits = 0 <= found <= (WORD - 1 if bits or node.operation == "<<" else LARGEST)
        return self._literal(node, found, kind) if fits else None

    @staticmethod
    def _without_neutral(node):
        """An operation that leaves its left operand as it is, and fails for no word of it."""
        match node:
            case ir.Binary(operation="times", left=ir.Literal(value=1)):
                return node.right
            case ir.Binary(right=ir.Literal(value=value, type=Type.UINT), operation=name) \
                    if (name, value) in _NEUTRAL and node.left.type is node.type:
                return node.left
            case ir.Binary(left=ir.Literal(value=value, type=Type.UINT), operation=name) \
                    if (name, value) in _NEUTRAL and name in _COMMUTATIVE \
                    and node.right.type is node.type:
                return node.right
        return None

    # Truth

    def _opposite(self, node):
        """``not`` of a comparison is the opposite comparison; ``not`` goes inside."""
        match node:
            case ir.Unary(operation="not", operand=ir.Literal(value=value)):
                return self._literal(node, 1 - value, Type.BOOL)
            case ir.Unary(operation="not", operand=ir.Unary(operation="not", operand=inner)):
                return inner
            case ir.Unary(operation="not", operand=ir.Binary(operation=name) as inner) \
                    if name in _NEGATED:
                return dataclasses.replace(inner, operation=_NEGATED[name])
            case ir.Unary(operation="not", operand=ir.Binary(operation="and" | "or") as inner):
                return dataclasses.replace(
                    inner, operation="or" if inner.operation == "and" else "and",
                    left=negated(inner.left), right=negated(inner.right))
        return None

    def _compared(self, node):
        """Constants are right operands, and values of the host; other operands are compared by <,
        >=, == and !=, and with whole constants by <, >, == and !=."""
        if not (isinstance(node, ir.Binary) and node.operation in _TURNED):
            return None
        name, left, right = node.operation, node.left, node.right
        steady = [isinstance(part, ir.Uniform) + 2 * isinstance(part, ir.Literal)
                  for part in (left, right)]
        if steady[0] > steady[1] or (steady[0] == steady[1] and name in (">", "<=")
                                     and not (self._fails(left) and self._fails(right))):
            return dataclasses.replace(node, operation=_TURNED[name], left=right, right=left)
        if not isinstance(right, ir.Literal) or left.type is not right.type:
            return None
        value = right.value
        if right.type is Type.WHOLE:
            match left:
                case ir.Binary(operation="+" | "-" as sum_or_difference, left=inner,
                               right=ir.Literal(value=step, type=Type.WHOLE)) \
                        if is_plain(inner, self._plain):
                    value += -step if sum_or_difference == "+" else step
                    return dataclasses.replace(node, left=inner, right=self._literal(
                        right, value, Type.WHOLE))
        if right.type is Type.BOOL:
            return left if (name == "==") == bool(value) else negated(left)
        if isinstance(left, ir.SetSize | ir.GraphSize) and name in ("!=", "<"):
            name = {"!=0": ">", "<1": "=="}.get(f"{name}{value}")
            return dataclasses.replace(node, operation=name, right=self._literal(
                right, 0, right.type)) if name else None
        if right.type is Type.WHOLE and name in (">=", "<="):
            value += 1 if name == "<=" else -1
            return dataclasses.replace(node, operation=name[0],
                                       right=self._literal(right, value, right.type))
        return self._of_words(node, name, value) if right.type is Type.UINT else None

    def _of_words(self, node, name, value):
        """A comparison of a word with a constant, of which nothing is below 0, and nothing above
        infinity."""
        if (name, value) in ((">=", 0), ("<", 0), (">", INFINITY), ("<=", INFINITY)):
            return None                     # always, or never
        if name in (">=", "<="):
            name, value = (">", value - 1) if name == ">=" else ("<", value + 1)
        special = {(">", LARGEST): ("==", INFINITY), ("<", INFINITY): ("!=", INFINITY),
                   ("<", 1): ("==", 0), ("!=", 0): (">", 0)}
        name, value = special.get((name, value), (name, value))
        if (name, value) == (node.operation, node.right.value):
            return None
        return dataclasses.replace(node, operation=name,
                                   right=self._literal(node.right, value, Type.UINT))

    def _joined(self, node):
        """``and`` and ``or``: constants, and parts in order, the cheaper first. A part that may
        fail or is an operator, and those behind it, stay."""
        if not (isinstance(node, ir.Binary) and node.operation in ("and", "or")):
            return None
        parts, decides = _chain(node, node.operation), node.operation == "or"
        kept = []
        for part in dict.fromkeys(parts):
            if isinstance(part, ir.Literal) and bool(part.value) != decides:
                continue
            kept.append(part)
            if isinstance(part, ir.Literal):
                break
        if kept and isinstance(kept[-1], ir.Literal) and self._drops(*kept):
            kept = kept[-1:]
        safe = next((place for place, part in enumerate(kept)
                     if self._fails(part) or has_sum(part)), len(kept))
        kept[:safe] = sorted(kept[:safe], key=lambda part: (_cost(part), self._key(part)))
        if not kept:
            return self._literal(node, int(not decides), Type.BOOL)
        found = kept[0]
        for part in kept[1:]:
            # What stands before a part is in order.
            self._known["spelled"][id(found)] = found, None
            found = dataclasses.replace(node, left=found, right=part)
        return found

    def _chosen(self, node):
        """``a if c else b``: a constant condition, equal values, and conditions without ``not``."""
        if not isinstance(node, ir.Select):
            return None
        condition = node.condition
        if isinstance(condition, ir.Literal):
            chosen, other = (node.then, node.otherwise) if condition.value \
                else (node.otherwise, node.then)
            return chosen if self._drops(*(part for part in ir.walk(other)
                                           if isinstance(part, ir.Uniform))) else None
        if node.then == node.otherwise and self._drops(condition):
            return node.then
        if _is_negative(condition):
            return dataclasses.replace(node, condition=negated(condition), then=node.otherwise,
                                       otherwise=node.then)
        return None

    # Order

    def _linear(self, node):
        """Whole numbers of the host that are added up: each once, the constant last. Named numbers
        are left alone, as they fail."""
        if not (isinstance(node, ir.Binary) and node.operation in ("+", "-")
                and node.type is Type.WHOLE and is_plain(node.left, self._plain)
                and is_plain(node.right, self._plain)):
            return None
        terms: Any = _terms(node, self._plain)
        constant = terms.pop(None, 0)
        if any(abs(count) > 1 for count in terms.values()) or any(
                not count and self._fails(term) for term, count in terms.items()):
            return None
        named = sorted((term for term, count in terms.items() if count),
                       key=lambda term: (-terms[term], self._key(term)))
        if not named:
            return self._literal(node, constant, Type.WHOLE)
        found = named[0]
        if terms[found] < 0:
            found, constant = ir.Binary(
                operation="-", left=self._literal(node, constant, Type.WHOLE), right=found,
                type=Type.WHOLE, position=node.position), 0
        for term in named[1:]:
            found = ir.Binary(operation="+" if terms[term] > 0 else "-", left=found, right=term,
                              type=Type.WHOLE, position=node.position)
        if constant:
            found = ir.Binary(
                operation="+" if constant > 0 else "-", left=found,
                right=self._literal(node, abs(constant), Type.WHOLE), type=Type.WHOLE,
                position=node.position)
        return found

    def _ordered(self, node):
        """Operands that may change places, in order, unless both may fail. Sums of :meth:`_linear`
        have an order of their own."""
        if not (isinstance(node, ir.Binary) and node.operation in _COMMUTATIVE
                and (node.left.type is node.right.type
                     or node.type in (Type.WHOLE, Type.DECIMAL))) \
                or self._linear(node) is not None:
            return None
        if self._key(node.left) <= self._key(node.right) \
                or (self._fails(node.left) and self._fails(node.right)):
            return None
        return dataclasses.replace(node, left=node.right, right=node.left)

    def _key(self, node) -> tuple:
        """What decides the order of operands: their kinds, and not their names."""
        return self._once("key", node, self._new_key)

    def _new_key(self, node):
        place = next(place for place, kind in enumerate(_PLACES) if isinstance(node, kind))
        names: tuple = ()
        match node:
            case ir.VectorLoad():
                return place, self._key(node.index), *self._colours[node.vector]
            case ir.Local():
                own = self._function.parameters if self._function else ()
                names = (own.index(node.name) if node.name in own else len(own),)
            case ir.HostName():
                names = (self._first.get(node.name, len(self._first)), node.type.value)
            case ir.Literal():
                names = (node.type.value, float(node.value))
            case ir.GraphSize():
                names = (node.count,)
            case ir.Degree():
                names = (node.leaving,)
            case ir.Unary() | ir.Binary():
                names = (node.operation,)
        return place, *names, *(self._key(part) for part in node.parts())


def _colour(program, vector):
    """What a program does with a vector, whatever its name."""
    uses = sorted(
        (type(part).__name__, getattr(part, "operation", "")) for function in program.functions
        for part in ir.walk(*function.body) if getattr(part, "vector", None) == vector.name)
    stores = sum(getattr(node, "vector", None) == vector.name
                 for node in ir.instructions(program.body))
    first, inner = vector.initial, vector.name not in program.outputs
    start = -float(first.value) if isinstance(first, ir.Literal) else 1.0
    return vector.type.value, type(first).__name__, start, inner, stores, str(uses)


def _cost(node):
    """The words from memory that a truth value needs at most."""
    return sum(isinstance(part, ir.VectorLoad | ir.Degree) for part in ir.walk(node))


def _chain(node, name):
    """The operands of a chain of one operation."""
    if isinstance(node, ir.Binary) and node.operation == name:
        return [*_chain(node.left, name), *_chain(node.right, name)]
    return [node]


def _is_negative(node):
    """Whether a condition is the opposite of a simpler one."""
    return isinstance(node, ir.Unary | ir.Binary) and node.operation in ("not", "!=", ">=")


def _terms(node, plain, sign=1) -> dict[Any, Any]:
    """{term: how often it is added}; None for the constant."""
    match node:
        case ir.Literal():
            return {None: sign * node.value}
        case ir.Binary(operation="+" | "-" as name) if is_plain(node.left, plain) \
                and is_plain(node.right, plain):
            found = _terms(node.left, plain, sign)
            for term, count in _terms(node.right, plain, sign if name == "+" else -sign).items():
                found[term] = found.get(term, 0) + count
            return found
    return {node: sign}
