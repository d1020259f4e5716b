"""Expressions: from Python's syntax trees to typed nodes of GraphIR."""

import ast
import itertools
from fractions import Fraction
from math import isfinite
from typing import Any

from sw.lang.graph_ir import (Binary, Degree, GraphSize, HostName, Literal, Local, Select,
                              SetSize, Unary, Uniform, Value, VectorLoad)
from sw.lang.types import INFINITY, LARGEST, NONE, WORD, LanguageError, Named, Position, Type


__all__ = ["Expressions", "HostExpressions", "coerced", "place"]


_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
               ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
               ast.LShift: "<<", ast.RShift: ">>"}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
                ast.GtE: ">="}

#: Operations whose operands and result have one type, with the types that have them.
_SAME = {"+": (Type.UINT, Type.FIXED), "-": (Type.UINT, Type.FIXED),
         **dict.fromkeys(("//", "%", "&", "|", "^", "<<", ">>"), (Type.UINT,))}

#: Types of the product of two words.
_PRODUCTS = {(Type.UINT, Type.UINT): Type.UINT, (Type.FIXED, Type.UINT): Type.FIXED,
             (Type.FIXED, Type.FRACTION): Type.FIXED, (Type.UINT, Type.FRACTION): Type.UINT,
             (Type.FRACTION, Type.FRACTION): Type.FRACTION}

#: The type that a number of the host has in a product with a word.
_FACTORS = {(Type.UINT, Type.WHOLE): Type.UINT, (Type.FIXED, Type.WHOLE): Type.UINT,
            (Type.FRACTION, Type.WHOLE): Type.UINT,
            (Type.UINT, Type.DECIMAL): Type.FRACTION, (Type.FIXED, Type.DECIMAL): Type.FRACTION,
            (Type.FRACTION, Type.DECIMAL): Type.FRACTION}

_NUMBERS = (Type.WHOLE, Type.DECIMAL)

#: What has vertices, and is true if there are any.
_SETS = (Type.VERTEXSET, Type.QUEUE)


def place(file: str, node: Any) -> Position:
    """The position of a syntax tree."""
    return Position(file, node.lineno, node.col_offset + 1)


#: How a number becomes a fixed.
_AS_FIXED = "with a vector of fixed that begins as 1, one[v] * n is n as a fixed"


def _instead(tree):
    """What there is in place of an expression that the language has not."""
    match tree:
        case ast.UnaryOp(op=ast.USub()):
            return "numbers have no sign, and a difference a - b must not fall below 0"
        case ast.Subscript():
            return "the host reads no words of vectors; SET.sum(function) adds some up"
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return ("which vertices are in a set is told by words: a vector that SET.apply("
                    "function) marks, or a filter of SET.where(filter)")
        case ast.Call(func=ast.Name(id="len")):
            return "the host takes a size before, as in n = len(s), and functions read n"
        case ast.Call(func=ast.Name(id="fixed")):
            return f"there is no fixed(…); {_AS_FIXED}"
        case ast.Call(func=ast.Name(id=name)) if name not in ("min", "max"):
            return f"functions call no functions, only min, max, uint and vertex, and not {name}"
    return ("there are + - * / // % & | ^ ~ << >>, comparisons, and, or, not, min and max of two, "
            "and a if c else b")


def _shown(value):
    return str(value) if isinstance(value, int) else f"{float(value):g}"


def coerced(node: Any, wanted: Type) -> Value:
    """The value as one of the wanted type: a number of the text or of the host takes the type that
    its surroundings need. Raises LanguageError if it cannot."""
    if node.type is wanted:
        return node
    if node.type in _NUMBERS:
        if isinstance(node, Literal):
            return _literal(node, wanted)
        if wanted in (Type.FIXED, Type.DECIMAL) or (
                node.type is Type.WHOLE and wanted in (Type.UINT, Type.VERTEX)) or (
                node.type is Type.DECIMAL and wanted is Type.FRACTION):
            if isinstance(node, Uniform):
                return Uniform(value=node.value, type=wanted, position=node.position)
            return node
    raise LanguageError(node.position, f"this value is of type {node.type.value}, must be "
                                       f"{wanted.value}{_hint(node.type, wanted)}")


def _hint(given, wanted):
    if {given, wanted} == {Type.UINT, Type.VERTEX}:
        return f"; {wanted.value}(…) makes one of it"
    if wanted is Type.BOOL:
        return "; compare it with another"
    if (given, wanted) == (Type.UINT, Type.FIXED):
        return f"; {_AS_FIXED}"
    if given is Type.FRACTION:
        return "; the quotient of two uints by / is a fraction, by // a uint"
    return ""


def _literal(node, wanted):
    value, right = node.value, {
        Type.UINT: f"a whole number from 0 to {LARGEST}, or infinity",
        Type.FRACTION: "at least 0 and below 1",
        Type.VERTEX: f"a vertex, from 0 to {LARGEST}, or none"}.get(wanted, wanted.value)
    if isinstance(value, Named):
        if wanted is not Type.UINT:
            raise LanguageError(node.position, f"infinity is a uint, and must be {right} here")
    elif wanted is Type.UINT and value == int(value) and 0 <= value <= LARGEST:
        value = int(value)
    elif 0 <= value < {Type.FIXED: WORD, Type.FRACTION: 1}.get(wanted, 0):
        value = Fraction(value)
    elif not (wanted is Type.DECIMAL or (wanted is Type.VERTEX and node.type is Type.WHOLE
                                         and 0 <= value <= LARGEST)):
        raise LanguageError(node.position, f"{_shown(value)} must be {right} here")
    return Literal(value=value, type=wanted, position=node.position)


class HostExpressions:
    """Expressions of the host: whole numbers, exact decimals, vertices, truth.

    Parameters
    ----------
    file : str
    graph : str
        The name of the graph.
    names : dict of str to Type
        Parameters and variables of the host, as far as they are known.
    summed : callable
        The node of ``S.sum(f)``, from its syntax tree.
    taken : collection of str
        The names that the host gives a meaning, anywhere in the program.
    """

    def __init__(self, file, graph, names, summed, taken=frozenset()):
        self.file, self.graph, self.names, self._summed = file, graph, names, summed
        self.taken = taken

    def fail(self, tree, message) -> Any:
        """Raise LanguageError at a syntax tree."""
        raise LanguageError(place(self.file, tree), message)

    def read(self, tree) -> Any:
        """The node of an expression."""
        at = place(self.file, tree)
        match tree:
            case ast.Constant(value=bool(value)):
                return Literal(value=int(value), type=Type.BOOL, position=at)
            case ast.Constant(value=int(value)):
                return Literal(value=value, type=Type.WHOLE, position=at)
            case ast.Constant(value=float(value)) if isfinite(value):
                return Literal(value=Fraction(repr(value)), type=Type.DECIMAL, position=at)
            case ast.Name(id="infinity"):
                return Literal(value=INFINITY, type=Type.WHOLE, position=at)
            case ast.Name(id="none"):
                return Literal(value=NONE, type=Type.VERTEX, position=at)
            case ast.Name(id=name) if self.names.get(name) in _SETS:
                return self.fail(tree, f"{name!r} is a {self.names[name].value}; len({name}) is "
                                       "the number of its vertices")
            case ast.Name(id=name) if name in self.names:
                return HostName(name=name, type=self.names[name], position=at)
            case ast.Name(id=name):
                return self.fail(tree, f"there is no {name!r} here; there are "
                                       f"{', '.join(sorted(self.names)) or 'no variables'}")
            case ast.Attribute(value=ast.Name(id=self.graph), attr="num_vertices" | "num_edges"):
                return GraphSize(count=tree.attr, position=at)
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) \
                    if self.names.get(name) in _SETS:
                return SetSize(name=name, position=at)
            case ast.Call(func=ast.Attribute(attr="sum")):
                return self._summed(tree)
        return self._operation(tree, at)

    def truth(self, tree) -> Any:
        """The node of a condition. A set or queue is true if it has vertices."""
        if isinstance(tree, ast.Name) and self.names.get(tree.id) in _SETS:
            return SetSize(name=tree.id, position=place(self.file, tree))
        node = self.read(self._sized(tree))
        if node.type is not Type.BOOL:
            self.fail(tree, f"a condition must be a bool, a set or a queue, not {node.type.value}")
        return node

    def _sized(self, tree):
        """A condition with ``len(s) > 0`` in place of each set that stands for itself."""
        match tree:
            case ast.Name(id=name) if self.names.get(name) in _SETS:
                made = ast.parse(f"len({name}) > 0", mode="eval").body
                for node in ast.walk(made):
                    ast.copy_location(node, tree)
                return made
            case ast.BoolOp(op=op, values=values):
                return ast.copy_location(ast.BoolOp(op, list(map(self._sized, values))), tree)
            case ast.UnaryOp(op=ast.Not() as op, operand=operand):
                return ast.copy_location(ast.UnaryOp(op, self._sized(operand)), tree)
        return tree

    def _operation(self, tree, at):
        match tree:
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _ARITHMETIC:
                return self.binary(_ARITHMETIC[type(op)], self.read(left), self.read(right), at)
            case ast.Compare(ops=[op], left=left, comparators=[right]) if type(op) in _COMPARISONS:
                return self.compare(_COMPARISONS[type(op)], self.read(left), self.read(right), at)
            case ast.Compare(ops=[_, _, *_] as ops, left=left, comparators=others):
                pairs = zip(itertools.pairwise([left, *others]), ops, strict=True)
                return self.read(ast.copy_location(ast.BoolOp(ast.And(), [
                    ast.copy_location(ast.Compare(first, [op], [second]), tree)
                    for (first, second), op in pairs]), tree))
            case ast.BoolOp(op=op, values=values):
                name = "and" if isinstance(op, ast.And) else "or"
                node, *others = (self._truth(value) for value in values)
                for other in others:
                    node = Binary(operation=name, left=node, right=other, type=Type.BOOL,
                                  position=at)
                return node
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Unary(operation="not", operand=self._truth(operand), type=Type.BOOL,
                             position=at)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                first, second = self.alike(self.read(then), self.read(otherwise), at)
                return Select(condition=self._truth(test), then=first, otherwise=second,
                              type=first.type, position=at)
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=[left, right],
                          keywords=[]):
                first, second = self.alike(self.read(left), self.read(right), at)
                return Binary(operation=name, left=first, right=second, type=first.type,
                              position=at)
        return self.fail(tree, f"{ast.unparse(tree)!r} is no expression of the language; "
                               f"{_instead(tree)}")

    def _truth(self, tree):
        return coerced(self.read(tree), Type.BOOL)

    def alike(self, left, right, at) -> tuple[Any, Any]:
        """Two values of one type."""
        if left.type is right.type:
            return left, right
        if left.type in _NUMBERS and right.type in _NUMBERS:
            return left, right
        if left.type in _NUMBERS:
            return coerced(left, right.type), right
        return left, coerced(right, left.type)

    def compare(self, name, left, right, at):
        """A comparison."""
        left, right = self.alike(left, right, at)
        if left.type is Type.BOOL and name not in ("==", "!="):
            raise LanguageError(at, f"bools have no {name}")
        return Binary(operation=name, left=left, right=right, type=Type.BOOL, position=at)

    def binary(self, name, left, right, at):
        """An operation of two numbers of the host."""
        for node in (left, right):
            if node.type not in _NUMBERS:
                raise LanguageError(node.position, f"{name} takes numbers, not a "
                                                   f"{node.type.value}")
        both = {left.type, right.type}
        if name not in ("+", "-", "*", "/") and Type.DECIMAL in both:
            raise LanguageError(at, f"{name} takes whole numbers")
        decimal = name == "/" or Type.DECIMAL in both
        return Binary(operation=name, left=left, right=right,
                      type=Type.DECIMAL if decimal else Type.WHOLE, position=at)


class Expressions(HostExpressions):
    """Expressions of a function.

    Parameters
    ----------
    host : HostExpressions
        The expressions of the host, from which values that are the same for all calls come.
    vectors : dict of str to Type
    names : dict of str to Type
        Parameters and local variables, as far as they are assigned.
    """

    def __init__(self, host, vectors, names):
        super().__init__(host.file, host.graph, names, self._no_sum)
        self._host, self._vectors = host, vectors

    def _no_sum(self, tree):
        return self.fail(tree, "only the host can sum over a set")

    def _is_uniform(self, tree):
        """Whether the value is the same for all calls."""
        if any(isinstance(node, ast.Attribute) and node.attr in ("out_degree", "in_degree")
               for node in ast.walk(tree)):
            return False
        named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        if named <= {self.graph} and isinstance(tree, ast.BinOp):
            # Numbers and sizes: whole ones are words, but a decimal has its type from its
            # surroundings.
            return any(isinstance(node, ast.Div) or (
                isinstance(node, ast.Constant) and isinstance(node.value, float))
                for node in ast.walk(tree))
        known = self._host.names.keys() - self.names.keys()
        return bool(named & known) and named <= known | {"min", "max", "infinity", self.graph}

    def read(self, tree):
        at = place(self.file, tree)
        if self._is_uniform(tree):
            node = self._host.read(tree)
            return Uniform(value=node, type=node.type, position=at)
        match tree:
            case ast.Name(id=name) if name in self.names:
                return Local(name=name, type=self.names[name], position=at)
            case ast.Name(id=name) if name in self._vectors:
                return self.fail(tree, f"{name!r} is a vector; {name}[…] is an element of it")
            case ast.Name(id=name) if name not in ("infinity", "none"):
                known = ", ".join(sorted({*self.names, *self._host.names, *self._vectors}))
                return self.fail(tree, f"there is no {name!r} here; there are {known}")
            case ast.Subscript(value=ast.Name(id=vector), slice=index):
                return VectorLoad(vector=vector, index=self.vertex(index),
                                  type=self.vector(tree, vector), position=at)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=self.graph),
                                             attr="out_degree" | "in_degree" as name),
                          args=[vertex], keywords=[]):
                return Degree(vertex=self.vertex(vertex), leaving=name == "out_degree",
                              position=at)
            case ast.Attribute(value=ast.Name(id=self.graph), attr="num_vertices" | "num_edges"):
                node = GraphSize(count=tree.attr, position=at)
                return Uniform(value=node, type=node.type, position=at)
            case ast.Call(func=ast.Name(id="uint" | "vertex" as name), args=[value], keywords=[]):
                return self._converted(tree, name, self.read(value), at)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return Unary(operation="~", operand=coerced(self.read(operand), Type.UINT),
                             type=Type.UINT, position=at)
        return super().read(tree)

    def vector(self, tree, name) -> Type:
        """The type of a vector. Raises LanguageError if there is none of the name."""
        if name not in self._vectors:
            self.fail(tree, f"there is no vector {name!r}; there are "
                            f"{', '.join(sorted(self._vectors)) or 'none'}")
        return self._vectors[name]

    def vertex(self, tree):
        """The node of a vertex."""
        node = self.read(tree)
        if node.type is not Type.VERTEX:
            self.fail(tree, f"an index must be a vertex, not {node.type.value}"
                            f"{_hint(node.type, Type.VERTEX)}")
        return node

    def _converted(self, tree, name, node, at):
        wanted = Type(name)
        if node.type in _NUMBERS:
            return coerced(node, wanted)
        if node.type not in (Type.UINT, Type.VERTEX, Type.BOOL) or (
                wanted is Type.VERTEX and node.type is Type.BOOL):
            self.fail(tree, f"{name}(…) takes a uint, a vertex{' or a bool' * (name == 'uint')}, "
                            f"not a {node.type.value}")
        return Unary(operation=name, operand=node, type=wanted, position=at)

    def alike(self, left, right, at):
        left, right = super().alike(left, right, at)
        if left.type in _NUMBERS:
            # Two numbers of the text.
            wanted = Type.UINT
            return coerced(left, wanted), coerced(right, wanted)
        return left, right

    def binary(self, name, left, right, at):
        """An operation of two words."""
        if name == "*":
            return self._product(left, right, at)
        if name == "/":
            return self._quotient(left, right, at)
        left, right = self.alike(left, right, at)
        if left.type not in _SAME[name]:
            few = " and ".join(kind.value for kind in _SAME[name])
            number = "; uint(…) makes one of it" if left.type is Type.VERTEX else ""
            raise LanguageError(at, f"{name} takes values of type {few}, not {left.type.value}"
                                    f"{number}")
        return Binary(operation=name, left=left, right=right, type=left.type, position=at)

    @staticmethod
    def _product(left, right, at):
        if left.type in _NUMBERS and right.type in _NUMBERS:
            left = coerced(left, Type.UINT)
        if left.type in _NUMBERS or left.type is Type.FRACTION or (
                left.type is Type.UINT and right.type is Type.FIXED):
            left, right = right, left
        factor = _FACTORS.get((left.type, right.type))
        if factor is not None:
            right = coerced(right, factor)
        if left.type is Type.FRACTION and right.type is Type.UINT:
            left, right = right, left
        kind = _PRODUCTS.get((left.type, right.type))
        if kind is None:
            raise LanguageError(at, f"there is no product of {left.type.value} and "
                                    f"{right.type.value}; a fixed is multiplied by a uint, or by a "
                                    "fraction, such as a number of the host below 1")
        return Binary(operation="*", left=left, right=right, type=kind, position=at)

    @staticmethod
    def _quotient(left, right, at):
        if left.type is Type.FIXED:
            if right.type in (Type.DECIMAL, Type.FIXED) and not (
                    isinstance(right, Literal) and right.value == int(right.value)):
                raise LanguageError(right.position, "a fixed is divided by a uint only; times a "
                                    "fraction below 1 it is smaller, as in x * (1 / d) with a "
                                    "number d of the host")
            return Binary(operation="/", left=left, right=coerced(right, Type.UINT),
                          type=Type.FIXED, position=at)
        if Type.UINT in (left.type, right.type):
            part = Unary(operation="recip", operand=coerced(right, Type.UINT), type=Type.FRACTION,
                         position=at)
            if isinstance(left, Literal) and left.value == 1:
                return part
            return Binary(operation="times", left=coerced(left, Type.UINT), right=part,
                          type=Type.FRACTION, position=at)
        raise LanguageError(at, "/ is a uint divided by a uint, which is a fraction, or a fixed "
                                "divided by a uint; // gives a uint, and 1 / n of a uint n is a "
                                "fraction")
