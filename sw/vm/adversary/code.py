"""Expressions of a program as functions of one call, and values that may not be used."""

import operator
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.types import WORD, Type


__all__ = ["NOTHING", "Address", "Code", "FalseFact"]


_LAST = WORD - 1


class FalseFact(Exception):
    """A fact that words or numbers of a run contradict."""


class Address(int):
    """A word that may only be used as a vertex."""


class _Nothing:
    """A value that nobody may use."""

    def _used(self, *others):
        raise FalseFact("a value is read that the facts leave out")

    __add__ = __radd__ = __lt__ = __gt__ = __le__ = __ge__ = __eq__ = __ne__ = __index__ = _used
    __sub__ = __rsub__ = __mul__ = __rmul__ = __and__ = __rand__ = __or__ = __ror__ = _used
    __xor__ = __rxor__ = __int__ = __bool__ = __hash__ = __floordiv__ = __mod__ = _used
    __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = _used


NOTHING = _Nothing()


class Code:
    """Expressions as functions ``f(ends, load)``.

    The ends are the words of the parameters, and behind them the two vertices as indices.
    ``load(vector, at, index)`` gives a word; ``at`` is ``src``, ``dst`` or ``elsewhere``. A value
    that does not fit is a word all the same: facts are tried with edges that are not there.

    Parameters
    ----------
    graph : Graph
    literal : callable
        The word of a Literal.
    uniforms : dict of Uniform to int

    Attributes
    ----------
    large : bool
        Becomes True when a sum or a product of numbers is above the largest.
    """

    def __init__(self, graph, literal, uniforms):
        self._literal, self._uniforms = literal, uniforms
        # A vertex that is not there has no arcs.
        self._degrees = {True: [*graph.out_degrees.tolist(), 0],
                         False: [*graph.in_degrees.tolist(), 0]}
        self._parameters: tuple[str, ...] = ()
        self.large = False

    def compiled(self, node, parameters) -> Any:
        """The function of an expression."""
        self._parameters = parameters
        return self._value(node)

    def _value(self, node) -> Any:
        match node:
            case ir.Literal() | ir.Uniform():
                word = int(self._literal(node)) if isinstance(node, ir.Literal) \
                    else self._uniforms[node]
                return lambda ends, load: word
            case ir.Local():
                place = self._parameters.index(node.name)
                return lambda ends, load: ends[place]
            case ir.VectorLoad():
                vector, (at, index) = node.vector, self._index(node.index)
                return lambda ends, load: load(vector, at, index(ends, load))
            case ir.Degree():
                degrees, (_, index) = self._degrees[node.leaving], self._index(node.vertex)
                return lambda ends, load: degrees[index(ends, load)]
            case ir.Select():
                test, then, other = map(self._value, (node.condition, node.then, node.otherwise))
                return lambda ends, load: (then if test(ends, load) else other)(ends, load)
            case ir.Unary():
                operand, single = self._value(node.operand), _UNARY.get(node.operation)
                if single is None:
                    return operand
                return lambda ends, load: single(operand(ends, load))
        return self._binary(node)

    def _index(self, node):
        """Where an index is, and its function."""
        if isinstance(node, ir.Local) and node.name in self._parameters[:2]:
            place = self._parameters.index(node.name)
            return ("src", "dst")[place], lambda ends, load: ends[place - 2]
        return "elsewhere", self._value(node)

    def _binary(self, node):
        left, right, name = self._value(node.left), self._value(node.right), node.operation
        if name in ("and", "or"):
            decided = int(name == "or")
            return lambda ends, load: (decided if bool(left(ends, load)) == bool(decided)
                                       else right(ends, load))
        if name == "times":
            name, right = "product of a reciprocal", self._value(node.right.operand)
        elif name == "*" and Type.FRACTION in (node.left.type, node.right.type):
            name = "product with a fraction"
        elif name in _EXACT:
            exact = _EXACT[name]
            return lambda ends, load: self._limited(exact, left(ends, load), right(ends, load))
        both = _BINARY[name]
        return lambda ends, load: both(left(ends, load), right(ends, load))


    def _limited(self, exact, left, right):
        found = exact(left, right)
        if found < _LAST:
            return found
        self.large |= _LAST not in (left, right)
        return _LAST


def _reciprocal(word):
    return min(WORD // word, _LAST) if word else 0


def _number(word):
    if isinstance(word, Address):
        raise FalseFact("addressable: the number of a vertex is read")
    return word


_UNARY = {"not": lambda word: 1 - word, "~": lambda word: word ^ _LAST, "recip": _reciprocal,
          "uint": _number}

#: Operations of numbers whose results may be too large.
_EXACT: dict[str, Any] = {"+": operator.add, "*": operator.mul}

_BINARY: dict[str, Any] = {
    "-": lambda left, right: max(left - right, 0),
    "product with a fraction": lambda left, right: left * right >> 32,
    "product of a reciprocal": lambda left, right: min(left * _reciprocal(right), _LAST),
    "/": lambda left, right: left // right if right else 0,
    "//": lambda left, right: left // right if right else 0,
    "%": lambda left, right: left % right if right else 0,
    "<<": lambda left, right: left << (right & 31) & _LAST,
    ">>": lambda left, right: left >> (right & 31),
    "min": min, "max": max, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge}
