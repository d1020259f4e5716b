"""Expressions of GraphIt, translated to Python's syntax trees."""

import ast
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.graphit_items import argument_number
from sw.lang.graphit_text import (called, is_minus_one, is_zero, kind_of, name_of,
                                  number_of, root_of, steps_of, vector_of)
from sw.lang.graphit_types import TypedTranslator
from sw.lang.types import LARGEST


__all__ = ["ExpressionTranslator"]


_COMPARE: dict[str, type[ast.cmpop]] = {"==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE,
                                        ">": ast.Gt, ">=": ast.GtE}
_ARITHMETIC: dict[str, type[ast.operator]] = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult,
                                              "/": ast.Div}
_STEPS = {"from": "from_", "to": "to", "transpose": "transpose", "apply": "apply",
          "applyModified": "apply_modified", "filter": "where", "sum": "sum",
          "applyUpdatePriority": "apply_update_priority"}

#: What the names of a text cannot do here, and what does it.
_NO_CALLS = {
    "intersectNeighbor": "a function sees its edge's ends, and no neighbours of them; give each "
                         "vertex a bit for each of 32 corners, and count common bits",
    **dict.fromkeys(("log", "floor", "exp", "sqrt", "pow"), "numbers have + - * / only; what needs "
                    "more is computed before, and given as a parameter: atof(argv[2])"),
    **dict.fromkeys(("writeMin", "writeMax", "atomicAdd"), "it gives no value here: change the "
                    "vector, and let applyModified(f, vector) find the vertices that changed")}


class ExpressionTranslator(TypedTranslator):
    """Translates expressions."""

    def _local(self, name):
        """The name of a variable in the program: one of a function has another name than one of
        main, which the function could read otherwise."""
        return f"{name}_of_{self._current}" if name in self._locals and name in self._of_main \
            else name

    def _condition(self, tree):
        """A condition; ``set.getVertexSetSize() != 0`` is the set itself, and 1 is true."""
        if kind_of(tree) == "integer":
            return self._at(tree, ast.Constant(number_of(tree.children[0]) != 0))
        if kind_of(tree) in ("and", "or"):
            op = ast.And() if tree.data == "and" else ast.Or()
            return self._at(tree, ast.BoolOp(op, list(map(self._condition, tree.children))))
        if kind_of(tree) == "not":
            return self._at(tree, ast.UnaryOp(ast.Not(), self._condition(tree.children[0])))
        if kind_of(tree) == "compare" and str(tree.children[1]) in ("!=", ">") and is_zero(
                tree.children[2]) and kind_of(tree.children[0]) == "method":
            root, name, _ = tree.children[0].children
            if name == "getVertexSetSize" and name_of(root) not in (None, self._all):
                return self._name(root, name_of(root))
        return self._expression(tree)

    def _none_or(self, tree, *vectors):
        """An expression that is stored in one of some vectors, or equal to an element: -1 is none,
        or infinity among numbers."""
        marked = not self._marked.isdisjoint(vectors)
        if is_minus_one(tree) and (marked or not self._of_vertices.isdisjoint(vectors)):
            return self._name(tree, "infinity" if marked else "none")
        return self._target(tree) if marked and vector_of(tree) in self._marked \
            else self._expression(tree)

    def _expression(self, tree) -> Any:
        match tree.data:
            case "name":
                return self._named(tree, str(tree.children[0]))
            case "integer":
                return self._at(tree, ast.Constant(number_of(tree.children[0])))
            case "real":
                return self._at(tree, ast.Constant(float(tree.children[0])))
            case "truth":
                return self._at(tree, ast.Constant(tree.children[0] == "true"))
            case "and" | "or":
                op = ast.And() if tree.data == "and" else ast.Or()
                return self._at(tree, ast.BoolOp(op, list(map(self._expression, tree.children))))
            case "xor":
                left, right = map(self._expression, tree.children)
                return self._at(tree, ast.Compare(left, [ast.NotEq()], [right]))
            case "choice":
                return self._at(tree, ast.IfExp(*map(self._expression, tree.children)))
            case "typed":
                return self._of_type(*tree.children)
            case "not":
                return self._at(tree, ast.UnaryOp(ast.Not(), self._expression(tree.children[0])))
            case "compare":
                left, op, right = tree.children
                if str(op) in ("==", "!=") and self._is_finished(left) \
                        and kind_of(right) == "truth":
                    node = self._expression(left)
                    return node if (str(op) == "==") == (right.children[0] == "true") else \
                        self._at(tree, ast.UnaryOp(ast.Not(), node))
                if str(op) not in ("==", "!="):
                    self._check_order(tree, left, str(op), right)
                sides = (vector_of(left), vector_of(right)) if str(op) in ("==", "!=") else ()
                return self._at(tree, ast.Compare(self._none_or(left, *sides),
                                                  [_COMPARE[str(op)]()],
                                                  [self._none_or(right, *sides)]))
            case "arithmetic":
                return self._arithmetic(tree, *tree.children)
            case "negative":
                return self._negative(tree)
            case "element":
                return self._element(tree)
            case "method":
                return self._chain(tree)
            case "new":
                return self._new(tree)
            case "call":
                return self._function_call(tree)
            case "text":
                return self._fail(tree, "a text stands only in print and load")
        return self._fail(tree, "there are no lists of values here")

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

    def _of_type(self, value, kind):
        """A value as a number of a type: a rest would be lost in a whole number."""
        if kind in ("int", "uint") and self._is_decimal(value) and not (
                kind_of(value) == "real" and float(value.children[0]).is_integer()):
            self._fail(value, f"this is a number with decimals, where one of type {kind} is meant, "
                              "and its rest would be lost; make that a double")
        node: Any = self._expression(value)
        if kind in ("int", "uint") or self._in_function or not self._is_whole(value):
            return node
        if kind_of(value) == "integer":
            return self._at(value, ast.Constant(float(number_of(value.children[0]))))
        return self._at(value, ast.BinOp(node, ast.Mult(), self._at(value, ast.Constant(1.0))))

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
        if argument_number(value):
            self._named_arguments.setdefault(argument_number(value), name)
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
        if vector_of(tree) == "argv":
            return self._argument(tree)
        if not self._in_function and vector_of(tree) in self._vectors:
            self._fail(tree, f"main reads no single elements; {vector_of(tree)}.sum() adds all up, "
                             "and so does a loop from 0 to vertices.size() that only adds: "
                             f"n += {vector_of(tree)}[i];")
        node = self._target(tree)
        if vector_of(tree) in self._marked:
            # A difference of infinity is an error: there is no number in place of -1.
            node = self._at(tree, ast.BinOp(node, ast.Sub(), self._at(tree, ast.Constant(0))))
        return node

    def _target(self, tree):
        """A variable or an element of a vector, which may be changed."""
        if kind_of(tree) == "name":
            return self._named(tree, name_of(tree))
        root, *indices = tree.children
        if name_of(root) not in self._vectors:
            self._fail(tree, f"there is no vector {name_of(root)!r}; there are "
                             f"{', '.join(self._vectors) or 'none'}")
        if len(indices) != 1:
            self._fail(tree, "an element of a vector is that of one vertex")
        return self._at(tree, ast.Subscript(self._name(root, name_of(root)),
                                            self._expression(indices[0])))

    def _new(self, tree):
        kind, given = tree.children
        arguments = [] if given is None else given.children
        if kind.data == "queue_type":
            return self._new_queue(tree, arguments)
        if kind.data != "vertexset_type" or len(arguments) != 1:
            self._fail(tree, "new makes a vertexset{Vertex}(0), a priority_queue or a vector that "
                             "is declared with it")
        if is_zero(arguments[0]):
            return self._call(tree, "vertexset")
        value: Any = self._expression(arguments[0])
        match value:
            case ast.Attribute(attr="num_vertices"):
                return self._name(tree, ir.ALL)
            case ast.Name(id=name) if name in self._counts:
                return self._name(tree, ir.ALL)
        return self._fail(arguments[0], "a new set has 0 vertices, or all: "
                                        f"{self._all or 'vertices'}.size()")

    def _new_queue(self, tree, given):
        """A queue by the words of a vector, the least first. GraphIt's delta is 1 where no schedule
        says another."""
        if len(given) != 7 or name_of(given[2]) not in self._vectors:
            self._fail(tree, "a queue is new priority_queue{Vertex}(int)(false, false, vector, 1, "
                             "2, false, vertex)")
        _, _, vector, order, _, every, start = given
        if kind_of(order) != "integer" or number_of(order.children[0]) != 1:
            self._fail(order, "the fourth argument must be 1: the least priority comes first")
        if kind_of(every) != "truth" or every.children[0] == "true" or is_minus_one(start):
            self._fail(start, "a queue begins with one vertex, and not with all; main finds those "
                              "below a number by vertices.filter(f)")
        queue = self._call(tree, "PriorityQueue", self._name(vector, name_of(vector)),
                           self._expression(start))
        queue.keywords = [self._at(tree, ast.keyword("delta", self._at(tree, ast.Constant(1))))]
        return queue

    def _function_call(self, tree):
        name, given = tree.children
        arguments = [] if given is None else given.children
        if str(name) in ("atoi", "atof"):
            return self._argument(tree)
        if str(name) in ("min", "max") and len(arguments) == 2:
            return self._call(tree, str(name), *map(self._expression, arguments))
        if str(name) in ("abs", "fabs") and len(arguments) == 1:
            return self._absolute(tree, arguments[0])
        if str(name) == "to_double" and len(arguments) == 1 and not self._in_function:
            one = self._at(tree, ast.Constant(1.0))
            return self._at(tree, ast.BinOp(self._expression(arguments[0]), ast.Mult(), one))
        if str(name) in _NO_CALLS:
            self._fail(tree, f"there is no {str(name)!r} here: {_NO_CALLS[str(name)]}")
        return self._fail(tree, f"there is no {str(name)!r} here; there are atoi(argv[N]), "
                                "atof(argv[N]), min, max, fabs, and functions of the text")

    def _absolute(self, tree, value):
        """The amount of a number: numbers of functions are not below 0, but differences are."""
        if kind_of(value) == "arithmetic" and value.children[1] == "-":
            left, right = value.children[0], value.children[2]
            both = [self._call(tree, name, self._expression(left), self._expression(right))
                    for name in ("max", "min")]
            return self._at(tree, ast.BinOp(both[0], ast.Sub(), both[1]))
        node = self._expression(value)
        if self._in_function:
            return node
        zero = self._at(tree, ast.Constant(0))
        return self._call(tree, "max", node, self._at(tree, ast.BinOp(zero, ast.Sub(), node)))

    def _argument(self, tree):
        """An argument of the command line: a parameter of the program."""
        number = argument_number(tree)
        read = called(tree) or "atoi"
        if number == self._source.graph_number:
            self._fail(tree, f"{read} takes argv[N], with N from 2: argv[{number}] is the graph"
                       if number == 1 else f"argv[{number}] is the graph")
        if number < 1:
            self._fail(tree, f"{read} takes argv[N], with N from 2: argv[1] is the graph")
        key = (number, read)
        if key not in self._arguments:
            kind = "int" if read == "atoi" else "decimal"
            name = self._named_arguments.get(number, f"argv{number}")
            if name in [each.arg for each in self._arguments.values()]:
                name = self._source.fresh(f"argv{number}")
            self._arguments[key] = self._at(tree, ast.arg(name, self._name(tree, kind)))
        return self._name(tree, self._arguments[key].arg)

    def _is_finished(self, tree):
        return kind_of(tree) == "method" and name_of(tree.children[0]) in self._queues \
            and tree.children[1] in ("finished", "finishedNode")

    def _chain(self, tree):
        """Methods of the graph and of sets."""
        steps, root = steps_of(tree), root_of(tree)
        name = name_of(root)
        if name is None:
            self._fail(root, "an operator begins with the graph or a set")
        if name in self._queues:
            return self._of_queue(tree, name, steps)
        match steps:
            case [("getVertexSetSize" | "size", [], _)] if name == self._all:
                return self._count(tree, "num_vertices")
            case [("getVertices", [], _)] if name == self._graph:
                return self._count(tree, "num_vertices")
            case [("size", [], _)] if name == self._graph:
                return self._count(tree, "num_edges")
            case [("getVertexSetSize" | "size", [], _)]:
                return self._call(tree, "len", self._name(root, name))
            case [("getOutDegree", [vertex], _)] if name == self._graph:
                return self._method(tree, self._name(root, name), "out_degree",
                                    [self._expression(vertex)])
        node, deduplicated = self._expression(root), None
        for step, given, place in steps:
            if step not in _STEPS:
                self._fail(place, f"there is no {step!r}; there are {', '.join(_STEPS)}, "
                                  "getVertexSetSize, size, addVertex")
            if step == "applyModified" and len(given) == 3:
                *given, flag = given
                if kind_of(flag) != "truth":
                    self._fail(flag, "the third argument of applyModified is true or false: "
                                     "whether the result is deduplicated")
                deduplicated = flag.children[0] == "true"
            if step == "applyUpdatePriority":
                given = [*given, self._queue_of(place, given)]
            node = self._method(tree, node, _STEPS[step], list(map(self._expression, given)))
        while (node.lineno, node.col_offset + 1) in self._places:
            node.col_offset += 1    # forms that stand for several operators have one place
        self._places[node.lineno, node.col_offset + 1] = deduplicated
        return node

    def _of_queue(self, tree, name, steps):
        """What main asks a queue."""
        match steps:
            case [("finished", [], _)]:
                return self._at(tree, ast.UnaryOp(ast.Not(), self._name(tree, name)))
            case [("dequeue_ready_set", [], _)]:
                return self._method(tree, self._name(tree, name), "dequeue", [])
            case [("finishedNode", [_], place)]:
                self._source.notes.append(
                    f"line {place.line}: finishedNode waits for all vertices, as finished does: "
                    "the number of the vertex is the same, and those of others are final, too")
                return self._at(tree, ast.UnaryOp(ast.Not(), self._name(tree, name)))
            case [("get_current_priority", _, place)]:
                self._fail(place, "no priority of a queue is known; keep the number in a variable "
                           "of main, which functions read, and find its vertices by "
                           "vertices.filter(f)")
        return self._fail(tree, "a queue has dequeue_ready_set(), finished(), and in functions "
                                "updatePriorityMin(vertex, number)")

    def _queue_of(self, place, given):
        """The queue that a function changes."""
        function: Any = self._functions.get((name_of(given[0]) if given else "") or "")
        found = {name_of(tree.children[0]) for tree in function.find_data("method")} \
            & self._queues if function else set()
        if len(found) != 1:
            self._fail(place, "applyUpdatePriority takes a function that changes the priorities of "
                              "a queue by q.updatePriorityMin(vertex, number)")
        return next(function for function in function.find_data("name")
                    if name_of(function) in found)

    def _count(self, tree, name):
        return self._at(tree, ast.Attribute(self._name(tree, self._graph), name))


def _is_nothing(tree):
    """Whether a tree is 0 or 0.0."""
    return is_zero(tree) or (kind_of(tree) == "real" and float(tree.children[0]) == 0)
