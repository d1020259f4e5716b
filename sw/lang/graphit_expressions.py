"""Expressions of GraphIt, translated to Python's syntax trees."""

import ast
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.graphit_text import (Translator, called, is_minus_one, is_zero, kind_of, name_of,
                                  root_of, steps_of, vector_of, where)
from sw.lang.graphit_vectors import VectorText
from sw.lang.types import LARGEST


__all__ = ["SCALARS", "ExpressionTranslator"]


_COMPARE: dict[str, type[ast.cmpop]] = {"==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE,
                                        ">": ast.Gt, ">=": ast.GtE}
_ARITHMETIC: dict[str, type[ast.operator]] = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult,
                                              "/": ast.Div}
SCALARS = {"int": "int", "uint": "int", "float": "decimal", "double": "decimal", "bool": "bool"}
_STEPS = {"from": "from_", "to": "to", "transpose": "transpose", "apply": "apply",
          "applyModified": "apply_modified", "filter": "where"}


class ExpressionTranslator(Translator):
    """Translates expressions.

    Parameters
    ----------
    file : str
        Its name for messages.
    """

    def __init__(self, file):
        super().__init__(file)
        self._graph, self._all = "", ""
        self._elements: set[str] = set()
        self._vectors: dict[str, VectorText] = {}
        self._of_vertices: set[str] = set()
        self._scalars: dict[str, Any] = {}
        self._functions: dict[str, Any] = {}
        #: {(N, atoi or atof): parameter}.
        self._arguments: dict[tuple[int, str], ast.arg] = {}
        #: {place: third argument of applyModified}.
        self._deduplication: dict[tuple[int, int], bool] = {}
        #: Variables that are the number of vertices, and constants that are being read.
        self._counts: set[Any] = set()
        self._open: set[str] = set()
        self._in_function, self._current = False, ""
        #: Vectors of vertices that may have -1 among their elements.
        self._unset: set[str] = set()
        #: {name: type} of the variables of main, of those of the function that is translated, and
        #: of its parameters.
        self._of_main: dict[str, str] = {}
        self._locals: dict[str, str] = {}
        self._own: dict[str, str] = {}

    def _local(self, name):
        """The name of a variable in the program: one of a function has another name than one of
        main, which the function could read otherwise."""
        return f"{name}_of_{self._current}" if name in self._locals and name in self._of_main \
            else name

    def _is_method(self, tree, root, name):
        """Whether a tree is ``root.name()``."""
        return (kind_of(tree) == "method" and kind_of(tree.children[0]) == "name"
                and str(tree.children[0].children[0]) == root and str(tree.children[1]) == name)

    def _kind(self, tree):
        given = str(tree.children[0])
        if given not in (*SCALARS, *self._elements):
            self._fail(tree, f"there is no type {given!r}; there are "
                             f"{', '.join([*SCALARS, *sorted(self._elements)])}")

    def _condition(self, tree):
        """A condition; ``set.getVertexSetSize() != 0`` is the set itself."""
        if kind_of(tree) == "compare" and str(tree.children[1]) in ("!=", ">") and is_zero(
                tree.children[2]) and kind_of(tree.children[0]) == "method":
            root, name, _ = tree.children[0].children
            if name == "getVertexSetSize" and name_of(root) not in (None, self._all):
                return self._name(root, name_of(root))
        return self._expression(tree)

    def _none_or(self, tree, of_vertices):
        """An expression that is an element of a vector: -1 is none."""
        if of_vertices and is_minus_one(tree):
            return self._name(tree, "none")
        return self._expression(tree)

    def _expression(self, tree) -> Any:
        match tree.data:
            case "name":
                return self._named(tree, str(tree.children[0]))
            case "integer":
                return self._at(tree, ast.Constant(int(tree.children[0])))
            case "real":
                return self._at(tree, ast.Constant(float(tree.children[0])))
            case "truth":
                return self._at(tree, ast.Constant(tree.children[0] == "true"))
            case "and" | "or":
                op = ast.And() if tree.data == "and" else ast.Or()
                return self._at(tree, ast.BoolOp(op, list(map(self._expression, tree.children))))
            case "not":
                return self._at(tree, ast.UnaryOp(ast.Not(), self._expression(tree.children[0])))
            case "compare":
                left, op, right = tree.children
                if str(op) not in ("==", "!="):
                    self._check_order(tree, left, str(op), right)
                vertices = not self._of_vertices.isdisjoint({vector_of(left),
                                                             vector_of(right)})
                return self._at(tree, ast.Compare(self._none_or(left, vertices),
                                                  [_COMPARE[str(op)]()],
                                                  [self._none_or(right, vertices)]))
            case "arithmetic":
                return self._arithmetic(tree, *tree.children)
            case "negative":
                return self._negative(tree)
            case "element":
                return self._element(tree)
            case "method":
                return self._chain(tree)
            case "new_set":
                return self._new_set(tree)
        return self._function_call(tree)

    def _check_order(self, tree, left, op, right):
        """Refuse comparisons that have a meaning only for numbers with a sign."""
        for side in (left, right):
            if vector_of(side) in self._unset:
                self._fail(tree, f"{vector_of(side)!r} has -1 among its elements, which is no "
                           "vertex here, and neither above nor below others: use == or != in "
                           f"place of {op}")
        if self._in_function and ((op in ("<", ">=") and _is_nothing(right))
                                  or (op in (">", "<=") and _is_nothing(left))):
            self._fail(tree, "no number of a function is below 0; in place of a - b < 0 compare "
                             "a < b")

    def _arithmetic(self, tree, left, op, right):
        vector = next((vector_of(side) for side in (left, right)
                       if vector_of(side) in self._of_vertices), None)
        if vector is not None:
            self._fail(tree, f"the elements of {vector!r} are vertices, because a vertex, -1 or an "
                       f"index is among them, and vertices have no {op}; if they are numbers, "
                       "begin with a large one in place of -1, such as 2147483647")
        operands = self._expression(left), self._expression(right)
        if str(op) != "/" or not (self._is_whole(left) and self._is_whole(right)):
            return self._at(tree, ast.BinOp(operands[0], _ARITHMETIC[str(op)](), operands[1]))
        if self._in_function:
            return self._at(tree, ast.BinOp(operands[0], ast.FloorDiv(), operands[1]))
        return self._quotient(tree, *operands)

    def _quotient(self, tree, left, right):
        """The quotient of two numbers with a sign, without its rest."""
        def binary(first, op, second):
            return self._at(tree, ast.BinOp(first, op, second))

        def above(node):
            return self._at(tree, ast.Compare(node, [ast.GtE()], [zero]))

        zero = self._at(tree, ast.Constant(0))
        alike = self._at(tree, ast.Compare(above(left), [ast.Eq()], [above(right)]))
        opposite = binary(binary(zero, ast.Sub(), left), ast.FloorDiv(), right)
        return self._at(tree, ast.IfExp(alike, binary(left, ast.FloorDiv(), right),
                                        binary(zero, ast.Sub(), opposite)))

    def _is_whole(self, tree) -> bool:
        """Whether an expression is an int."""
        whole = [name for name, kind in SCALARS.items() if kind == "int"]
        match kind_of(tree):
            case "integer":
                return True
            case "negative":
                return self._is_whole(tree.children[0])
            case "arithmetic":
                return self._is_whole(tree.children[0]) and self._is_whole(tree.children[2])
            case "element":
                vector = self._vectors.get(vector_of(tree))
                return vector is not None and vector.type in whole
            case "method":
                return str(tree.children[1]) in ("size", "getVertexSetSize", "getVertices")
            case "call":
                name, given = tree.children
                if str(name) in ("min", "max"):
                    return given is not None and all(map(self._is_whole, given.children))
                return str(name) == "atoi"
            case "name":
                name = name_of(tree)
                if name in self._scalars:
                    return str(self._scalars[name].children[1].children[0]) in whole
                kinds = self._own | self._locals if self._in_function else {}
                return kinds.get(name, self._of_main.get(name)) in whole
        return False

    def _named(self, tree, name):
        if self._in_function and name in self._locals:
            return self._name(tree, self._local(name))
        if name == self._all:
            return self._name(tree, ir.ALL)
        if name not in self._scalars:
            return self._name(tree, name)
        if name in self._open:
            self._fail(tree, f"constant {name!r} is made of itself")
        self._open.add(name)
        _, kind, value = self._scalars[name].children
        self._kind(kind)
        if called(value) in ("atoi", "atof"):
            node = self._argument(value, name)
        else:
            node = self._expression(value)
        self._open.discard(name)
        return node

    def _negative(self, tree):
        if self._in_function:
            self._fail(tree, "there are no negative numbers here, only those from 0 to "
                             f"{LARGEST}, and -1 as the mark of a vector of vertices; in place of "
                             "x += -1 count with another vector, which is subtracted afterwards")
        zero = self._at(tree, ast.Constant(0))
        return self._at(tree, ast.BinOp(zero, ast.Sub(), self._expression(tree.children[0])))

    def _element(self, tree):
        root, index = tree.children
        if name_of(root) not in self._vectors:
            if name_of(root) == "argv":
                self._fail(tree, "an argument of the command line is atoi(argv[N]) or "
                                 "atof(argv[N])")
            self._fail(tree, f"there is no vector {name_of(root)!r}; there are "
                             f"{', '.join(self._vectors) or 'none'}")
        return self._at(tree, ast.Subscript(self._name(root, name_of(root)),
                                            self._expression(index)))

    def _new_set(self, tree):
        size = tree.children[1]
        if is_zero(size):
            return self._call(tree, "vertexset")
        value: Any = self._expression(size)
        match value:
            case ast.Attribute(attr="num_vertices"):
                return self._name(tree, ir.ALL)
            case ast.Name(id=name) if name in self._counts:
                return self._name(tree, ir.ALL)
        return self._fail(size, "a new set has 0 vertices, or all: "
                                f"{self._all or 'vertices'}.size()")

    def _function_call(self, tree):
        name, given = tree.children
        arguments = [] if given is None else given.children
        if str(name) in ("atoi", "atof"):
            return self._argument(tree, None)
        if str(name) in ("min", "max") and len(arguments) == 2:
            return self._call(tree, str(name), *map(self._expression, arguments))
        if str(name) in self._functions:
            self._fail(tree, f"{str(name)!r} cannot be called here: operators call functions")
        return self._fail(tree, f"there is no {str(name)!r} here; there are atoi(argv[N]), "
                                "atof(argv[N]), min, max")

    def _argv(self, given) -> int:
        """The N of ``argv[N]`` as the only argument, or else 0."""
        arguments: list[Any] = [] if given is None else given.children
        if len(arguments) == 1 and vector_of(arguments[0]) == "argv":
            index = arguments[0].children[1]
            return int(index.children[0]) if kind_of(index) == "integer" else 0
        return 0

    def _argument(self, tree, name):
        """The name of an argument of the command line."""
        read, given = tree.children
        number = self._argv(given)
        if number < 2:
            self._fail(tree, f"{read} takes argv[N], with N from 2: argv[1] is the graph")
        key = (number, str(read))
        if key not in self._arguments:
            kind = "int" if str(read) == "atoi" else "decimal"
            self._arguments[key] = self._at(tree, ast.arg(
                name or f"argv{number}", self._name(tree, kind)))
        used = self._arguments[key].arg
        if name is not None and used != name:
            self._fail(tree, f"argv[{number}] is {used!r} already")
        return self._name(tree, used)

    def _chain(self, tree):
        """Methods of the graph and of sets."""
        steps, root = steps_of(tree), root_of(tree)
        name = name_of(root)
        if name is None:
            self._fail(root, "an operator begins with the graph or a set")
        match steps:
            case [("getVertexSetSize" | "size", [], _)] if name == self._all:
                return self._count(tree, "num_vertices")
            case [("getVertices", [], _)] if name == self._graph:
                return self._count(tree, "num_vertices")
            case [("size", [], _)] if name == self._graph:
                return self._count(tree, "num_edges")
            case [("getVertexSetSize" | "size", [], _)]:
                return self._call(tree, "len", self._name(root, name))
        node = self._expression(root)
        for step, given, place in steps:
            if step not in _STEPS:
                self._fail(place, f"there is no {step!r}; there are {', '.join(_STEPS)}, "
                                  "getVertexSetSize, size, addVertex")
            if step == "applyModified" and len(given) == 3:
                *given, flag = given
                if kind_of(flag) != "truth":
                    self._fail(flag, "the third argument of applyModified is true or false: "
                                     "whether the result is deduplicated")
                self._deduplication[where(tree)] = flag.children[0] == "true"
            node = self._method(tree, node, _STEPS[step], list(map(self._expression, given)))
        return node

    def _count(self, tree, name):
        return self._at(tree, ast.Attribute(self._name(tree, self._graph), name))


def _is_nothing(tree):
    """Whether a tree is 0 or 0.0."""
    return is_zero(tree) or (kind_of(tree) == "real" and float(tree.children[0]) == 0)
