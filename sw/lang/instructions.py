"""The instructions of a program: from a function's syntax tree to GraphIR."""

import ast
from fractions import Fraction
from math import isfinite
from typing import Any

from sw.lang.expressions import Expressions, HostExpressions, coerced, place
from sw.lang.functions import names_of_host, read_function
from sw.lang.graph_ir import (ALL, Argument, Assign, Dequeue, EdgeSetIterator, ElementStore,
                              ForLoop, Function, GraphProgram, HostBranch, HostName,
                              NewQueue, NewVertexSet, Reduce, Vector, VertexFilter,
                              VertexSetIterator, VertexSum, WhileLoop, walk)
from sw.lang.needs import NEEDS
from sw.lang.types import INFINITY, LARGEST, RESERVED, LanguageError, Type


__all__ = ["ProgramReader"]


_ARGUMENTS = {"uint": Type.UINT, "vertex": Type.VERTEX, "int": Type.WHOLE,
              "decimal": Type.DECIMAL, "bool": Type.BOOL}
_WORDS = {kind.value: kind for kind in Type if kind.is_word}


class ProgramReader:
    """Reads one program.

    Parameters
    ----------
    file : str
        Its name for messages.
    tree : ast.FunctionDef
        The function, whose columns count characters from 0.

    Attributes
    ----------
    program : GraphProgram

    Raises
    ------
    LanguageError
        If the function is not of the language.
    """

    def __init__(self, file, tree):
        self._file, self._tree = file, tree
        self._types: dict[str, Type] = {ALL: Type.VERTEXSET}
        self._trees: dict[str, ast.FunctionDef] = {}
        self._functions: dict[str, Function] = {}
        self._vectors: dict[str, Vector] = {}
        self._labels: set[str] = set()
        self._queues: dict[str, str] = {}
        self._outputs: tuple[str, ...] | None = None
        self._shares: set[str] = set()
        self._taken = names_of_host(tree)
        arguments = self._arguments(tree)
        self._host = HostExpressions(file, self._graph, self._types, self._sum)
        self._define(tree.body)
        body = self._block(tree.body, top=True)
        for name in self._trees:
            self._function(name)
        if self._outputs is None:
            self._fail(tree, f"program {tree.name!r} must end with return and the vectors that are "
                             "its results")
        functions = tuple(self._functions[name] for name in self._trees)
        self.program = GraphProgram(
            name=tree.name, summary=" ".join(
                (ast.get_docstring(tree) or "").partition("\n\n")[0].split()),
            weighted=any(function.weighted for function in functions), arguments=arguments,
            vectors=tuple(self._vectors.values()), functions=functions, body=body,
            outputs=self._outputs or (), shares=frozenset(self._shares), needs=self._needs(tree),
            position=place(file, tree))

    def _fail(self, tree, message) -> Any:
        raise LanguageError(place(self._file, tree), message)

    # Needs, parameters, vectors, functions

    def _needs(self, tree):
        """The facts in ``@program(needs=…)``."""
        found: list[str] = []
        for mark in tree.decorator_list:
            if not isinstance(mark, ast.Call):
                continue
            if mark.args or [keyword.arg for keyword in mark.keywords] != ["needs"]:
                self._fail(mark, "a mark is @program, or @program(needs=…) with what the graph "
                                 f"must be: {', '.join(NEEDS)}")
            value = mark.keywords[0].value
            for name in value.elts if isinstance(value, ast.Tuple | ast.List) else [value]:
                word = ast.unparse(name)
                if word not in NEEDS:
                    self._fail(name, f"a program cannot need {word!r} of its graph, only "
                                     f"{', '.join(NEEDS)}")
                found.append(word)
        return tuple(name for name in NEEDS if name in found)

    def _arguments(self, tree):
        given = tree.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs or not given.args:
            self._fail(tree, "a program has the parameters (edges: edgeset, …), each with its type")
        graph, *others = given.args
        if not (isinstance(graph.annotation, ast.Name) and graph.annotation.id == "edgeset"):
            self._fail(graph, f"the first parameter is the graph: {graph.arg}: edgeset")
        for argument in given.args:
            self._check_name(argument, argument.arg)
        self._graph = graph.arg
        defaults = [None] * (len(others) - len(given.defaults)) + given.defaults
        found = []
        for argument, default in zip(others, defaults, strict=True):
            named = "no type" if argument.annotation is None else ast.unparse(argument.annotation)
            if named not in _ARGUMENTS:
                self._fail(argument, f"parameter {argument.arg!r} is of {named!r}, must be of one "
                                     f"of {', '.join(_ARGUMENTS)}")
            kind = _ARGUMENTS[named]
            self._types[argument.arg] = Type.WHOLE if kind is Type.UINT else kind
            found.append(Argument(name=argument.arg, type=kind,
                                  default=self._default(default, kind),
                                  position=place(self._file, argument)))
        return tuple(found)

    def _default(self, tree, kind):
        match tree:
            case None:
                return None
            case ast.Name(id="infinity") if kind is Type.UINT:
                return INFINITY
            case ast.Constant(value=bool(value)) if kind is Type.BOOL:
                return int(value)
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int(value)) if kind is not Type.BOOL and value <= LARGEST:
                return value
            case ast.Constant(value=float(value)) if kind is Type.DECIMAL and isfinite(value):
                return Fraction(repr(value))
        return self._fail(tree, f"default {ast.unparse(tree)} must be a number of type "
                                f"{kind.value}")

    def _define(self, trees):
        """Take in the functions and vectors, which may stand anywhere at the top."""
        for tree in trees:
            match tree:
                case ast.FunctionDef(name=name):
                    self._new(tree, name)
                    self._trees[name] = tree
                case ast.Assign(targets=[ast.Name(id=name)],
                                value=call) if self._declares(tree):
                    self._new(tree, name)
                    self._vectors[name] = self._vector(name, call)

    def _check_name(self, tree, name):
        if name in RESERVED:
            self._fail(tree, f"{name!r} has a meaning of its own in the language, and cannot be a "
                             "name of the program's")

    def _new(self, tree, name):
        self._check_name(tree, name)
        if name in self._types or name in self._trees or name in self._vectors \
                or name == self._graph:
            self._fail(tree, f"{name!r} is there already")

    def _vector(self, name, call):
        if len(call.args) != 2 or call.keywords:
            self._fail(call, "a vector is vector(type, initial value)")
        named, initial = call.args
        kind = _WORDS.get(ast.unparse(named))
        if kind is None:
            return self._fail(named, f"vector of type {ast.unparse(named)!r}: the elements of a "
                                     f"vector are of type {', '.join(_WORDS)}")
        variable = ""
        if isinstance(initial, ast.Lambda):
            if len(initial.args.args) != 1:
                self._fail(initial, "the initial value of a vertex is lambda v: …")
            variable, initial = initial.args.args[0].arg, initial.body
        read = Expressions(self._host, {}, {variable: Type.VERTEX} if variable else {})
        return Vector(name=name, type=kind, variable=variable,
                      initial=coerced(read.read(initial), kind), position=place(self._file, call))

    def _function(self, name, tree=None) -> Function:
        """The function of that name, which is read at its first use."""
        if name not in self._functions:
            if name not in self._trees:
                self._fail(tree, f"there is no function {name!r}; there are "
                                 f"{', '.join(self._trees) or 'none'}")
            kinds = {vector.name: vector.type for vector in self._vectors.values()}
            host = HostExpressions(self._file, self._graph, dict(self._types), self._sum,
                                   self._taken)
            self._functions[name] = read_function(host, kinds, self._trees[name])
        return self._functions[name]

    def _called(self, tree, what, of_edge, gives) -> str:
        """The name of a function that is given to an operator."""
        if not isinstance(tree, ast.Name):
            self._fail(tree, f"{what} takes the name of a function")
        function = self._function(tree.id, tree)
        for node in walk(*function.body):
            if isinstance(node, HostName) and self._types.get(node.name) is not node.type:
                self._fail(tree, f"function {tree.id!r} reads {node.name!r}, which has no value "
                                 f"of type {node.type.value} here")
        if function.of_edge != of_edge:
            form = "(src, dst) or (src, dst, weight) of an edge" if of_edge else "(v) of a vertex"
            self._fail(tree, f"{what} takes a function with the parameters {form}; "
                             f"{tree.id!r} has ({', '.join(function.parameters)})")
        right = {"nothing": function.gives is None, "a bool": function.gives is Type.BOOL,
                 "a number": function.gives in (Type.UINT, Type.FIXED, Type.BOOL)}[gives]
        if not right:
            given = function.gives.value if function.gives else "nothing"
            self._fail(tree, f"{what} takes a function that returns {gives}; {tree.id!r} returns "
                             f"{given}")
        if gives != "nothing" and function.writes():
            self._fail(tree, f"{what} takes a function that changes no vector; {tree.id!r} changes "
                             f"{', '.join(sorted(function.writes()))}")
        return tree.id

    # Instructions

    def _block(self, trees, top=False):
        found: list[Any] = []
        mark: Any = None
        for i, tree in enumerate(trees):
            if top and (isinstance(tree, ast.FunctionDef) or self._declares(tree)):
                continue
            if isinstance(tree, ast.Return):
                if not top or i < len(trees) - 1:
                    self._fail(tree, "return must be the last statement of a program")
                self._return(tree)
                break
            match tree:
                case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                    continue
                case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="Label"),
                                   value=None):
                    if name in self._labels:
                        self._fail(tree, f"label {name!r} is there already")
                    self._labels.add(name)
                    if mark is not None:
                        break
                    mark = tree
                    continue
            label = None if mark is None else mark.target.id
            node = self._instruction(tree, label)
            if mark is not None and not isinstance(
                    node, EdgeSetIterator | VertexSetIterator | WhileLoop | ForLoop):
                break
            mark = None
            found.append(node)
        if mark is not None:
            self._fail(mark, f"label {mark.target.id!r} must stand before a loop or an operator")
        return tuple(found)

    @staticmethod
    def _declares(tree):
        """Whether a statement makes a vector."""
        match tree:
            case ast.Assign(targets=[ast.Name()], value=ast.Call(func=ast.Name(id="vector"))):
                return True
        return False

    def _return(self, tree):
        values = tree.value.elts if isinstance(tree.value, ast.Tuple) else [tree.value]
        names: list[str] = []
        for value in values:
            count = None
            match value:
                case ast.BinOp(op=ast.Div(), left=left, right=ast.Attribute(
                        value=ast.Name(id=graph), attr="num_vertices")) if graph == self._graph:
                    value, count = left, "num_vertices"
            name = value.id if isinstance(value, ast.Name) else ""
            if name not in self._vectors:
                self._fail(value or tree, "a program returns vectors: "
                                          f"{', '.join(self._vectors) or 'it has none'}")
            elif count is not None:
                if self._vectors[name].type is not Type.FIXED:
                    self._fail(value, f"only fixed point is divided by {count} in a result, and "
                                      f"{name} has the type {self._vectors[name].type.value}")
                self._shares.add(name)
            names.append(name)
        self._outputs = tuple(names)

    def _instruction(self, tree, label) -> Any:
        at = place(self._file, tree)
        match tree:
            case ast.FunctionDef():
                return self._fail(tree, "a function must stand at the top of the program")
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self._assign(tree, name, value, label)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                both = ast.copy_location(ast.BinOp(ast.copy_location(ast.Name(name), tree), op,
                                                   value), tree)
                return self._assign(tree, name, both, label)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=vector), slice=index)],
                            value=value):
                if vector not in self._vectors:
                    self._fail(tree, f"there is no vector {vector!r}; there are "
                                     f"{', '.join(self._vectors) or 'none'}")
                return ElementStore(
                    vector=vector, index=coerced(self._host.read(index), Type.VERTEX),
                    value=self._element(self._host.read(value), self._vectors[vector].type),
                    position=at)
            case ast.While(test=test, body=body, orelse=[]):
                condition = self._host.truth(test)
                before = dict(self._types)
                inner = self._block(body)
                self._forget(before)
                return WhileLoop(condition=condition, body=inner, label=label, position=at)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(
                    func=ast.Name(id="range"), args=[count], keywords=[]), body=body, orelse=[]):
                rounds = self._whole(count)
                self._check_free(tree, name)
                if self._types.get(name, Type.WHOLE) is not Type.WHOLE:
                    self._fail(tree, f"{name!r} is of type {self._types[name].value}, and cannot "
                                     "become int")
                before = dict(self._types)
                self._types[name] = Type.WHOLE
                inner = self._block(body)
                self._forget(before)
                return ForLoop(name=name, count=rounds, body=inner, label=label, position=at)
            case ast.If(test=test, body=body, orelse=otherwise):
                condition, before = self._host.truth(test), dict(self._types)
                first = self._block(body)
                after = dict(self._types)
                self._forget(before)
                second = self._block(otherwise)
                self._forget({name: kind for name, kind in self._types.items() if name in after})
                return HostBranch(condition=condition, then=first, otherwise=second, position=at)
            case ast.For(iter=ast.Call(func=ast.Name(id="range"))):
                return self._fail(tree.iter, "range takes one number, of the rounds; the variable "
                                             "counts them from 0")
            case ast.Expr(value=ast.Call() as call):
                return self._operator(call, None, label)
        return self._fail(tree, f"{ast.unparse(tree).splitlines()[0]!r} is no instruction of the "
                                "language; there are assignments, while, for … in range(…), if, "
                                "and the operators of edges and of sets")

    def _forget(self, types):
        """Back to the names that were known before a block, which may not run."""
        self._types.clear()
        self._types.update(types)

    def _whole(self, tree):
        node = self._host.read(tree)
        if node.type is not Type.WHOLE:
            self._fail(tree, f"this must be a whole number, not {node.type.value}")
        return node

    @staticmethod
    def _element(node, kind):
        """A number of the host as an element of a vector."""
        if kind is Type.BOOL or not isinstance(node, HostName):
            return coerced(node, kind)
        wanted = {Type.UINT: Type.WHOLE, Type.FIXED: Type.DECIMAL, Type.FRACTION: Type.DECIMAL,
                  Type.VERTEX: Type.VERTEX}[kind]
        if node.type not in (wanted, Type.WHOLE):
            coerced(node, kind)
        return node

    def _assign(self, tree, name, value, label):
        at = place(self._file, tree)
        self._check_free(tree, name)
        kind, node = self._value(name, value, label, at)
        known = self._types.get(name)
        if known is Type.WHOLE and kind is Type.DECIMAL:
            self._fail(tree, f"{name!r} is a whole number, and cannot become a decimal")
        if known not in (None, kind) and (known, kind) != (Type.DECIMAL, Type.WHOLE):
            self._fail(tree, f"{name!r} is of type {known.value}, and cannot become {kind.value}")
        self._types[name] = known or kind
        return node

    def _check_free(self, tree, name):
        """Refuse names that cannot be variables."""
        self._check_name(tree, name)
        if name in self._vectors or name in self._trees or name == self._graph:
            self._fail(tree, f"{name!r} is a vector, a function or the graph, and cannot be "
                             "assigned")

    def _value(self, name, value, label, at):
        """The type and the instruction of an assignment."""
        match value:
            case ast.Call(func=ast.Name(id="vector")):
                return self._fail(value, "a vector must be made at the top of the program")
            case ast.Call(func=ast.Name(id="vertexset"), args=vertices, keywords=[]):
                nodes = tuple(coerced(self._host.read(vertex), Type.VERTEX) for vertex in vertices)
                return Type.VERTEXSET, NewVertexSet(name=name, vertices=nodes, position=at)
            case ast.Call(func=ast.Name(id="PriorityQueue")):
                return Type.QUEUE, self._queue(name, value, at)
            case ast.Call(func=ast.Attribute(attr="sum")):
                node = self._sum(value)
                return node.type, Assign(name=name, value=node, position=at)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=queue), attr="dequeue"), args=[],
                          keywords=[]) if self._types.get(queue) is Type.QUEUE:
                return Type.VERTEXSET, Dequeue(output_vset=name, queue=queue, position=at)
            case ast.Call(func=ast.Attribute()):
                return Type.VERTEXSET, self._operator(value, name, label)
            case ast.Name(id=other) if self._types.get(other) is Type.VERTEXSET:
                node = HostName(name=other, type=Type.VERTEXSET, position=at)
                return Type.VERTEXSET, Assign(name=name, value=node, position=at)
        node = self._host.read(value)
        return node.type, Assign(name=name, value=node, position=at)

    def _queue(self, name, call, at):
        match call:
            case ast.Call(args=[ast.Name(id=vector), *vertices],
                          keywords=[] | [ast.keyword(arg="delta")]) if vector in self._vectors:
                pass
            case _:
                self._fail(call, "a queue is PriorityQueue(vector, vertices…, delta=…)")
        if self._vectors[vector].type is not Type.UINT:
            self._fail(call, f"the priorities in {vector!r} must be of type uint")
        delta = self._whole(call.keywords[0].value) if call.keywords else None
        if self._queues.setdefault(name, vector) != vector:
            self._fail(call, f"queue {name!r} is by {self._queues[name]!r} elsewhere; use another "
                             "name")
        nodes = tuple(coerced(self._host.read(vertex), Type.VERTEX) for vertex in vertices)
        return NewQueue(name=name, vector=vector, delta=delta, vertices=nodes, position=at)

    def _sum(self, tree):
        match tree:
            case ast.Call(func=ast.Attribute(value=root, attr="sum"), args=[function],
                          keywords=[]):
                function = self._called(function, "sum", False, "a number")
                decimal = self._functions[function].gives is Type.FIXED
                return VertexSum(input_vset=self._set(root), function=function,
                                 type=Type.DECIMAL if decimal else Type.WHOLE,
                                 position=place(self._file, tree))
        return self._fail(tree, "a sum is SET.sum(function of a vertex)")

    def _set(self, tree) -> str:
        name = tree.id if isinstance(tree, ast.Name) else None
        if name is None or self._types.get(name) is not Type.VERTEXSET:
            sets = [name for name, kind in self._types.items() if kind is Type.VERTEXSET]
            named = "; a set needs a name before it is used" if isinstance(tree, ast.Call) else ""
            self._fail(tree, f"{ast.unparse(tree)!r} is no set of vertices; there are "
                             f"{', '.join(sets)}{named}")
        return name or ""

    def _operator(self, call, output, label):
        """An operator of the edges or of a set; ``output`` is the name that its result gets."""
        steps, root = [], call
        while isinstance(root, ast.Call) and isinstance(root.func, ast.Attribute):
            if root.keywords:
                self._fail(root, f"{root.func.attr} takes no keywords")
            steps.append((root.func.attr, root.args, root))
            root = root.func.value
        steps.reverse()
        if not isinstance(root, ast.Name):
            return self._fail(call, f"{ast.unparse(call)!r} is no operator of the language")
        if root.id == self._graph:
            return self._edges(call, steps, output, label)
        return self._vertices(call, root, steps, output, label)

    def _vertices(self, call, root, steps, output, label):
        at = place(self._file, call)
        match steps:
            case [("apply", [function], _)] if output is None:
                name = self._set(root)
                return VertexSetIterator(
                    input_vset=name, apply_f=self._called(function, "apply", False, "nothing"),
                    label=label, position=at)
            case [("where", [function], _)] if output is not None:
                return VertexFilter(
                    output_vset=output, input_vset=self._set(root),
                    filter=self._called(function, "where", False, "a bool"), position=at)
        self._set(root)
        return self._fail(call, f"{root.id}.apply(function) changes vectors, name = {root.id}."
                                f"where(filter) makes a set, and name = {root.id}.sum(function) a "
                                "number")

    def _edges(self, call, steps, output, label):
        at = place(self._file, call)
        source, to_filter, transposed = ALL, None, False
        *before, (last, arguments, tree) = steps
        for step, given, node in before:
            if step in ("from_", "to") and [name for name, *_ in before].count(step) > 1:
                self._fail(node, f"{step!r} is given twice")
            match step, given:
                case "from_", [name]:
                    source = self._set(name)
                case "to", [function]:
                    to_filter = self._called(function, "to", False, "a bool")
                case "transpose", []:
                    transposed = not transposed
                case _:
                    self._fail(node, f"{step!r} is no step of an operator; there are from_(set), "
                                     "to(filter), transpose()")
        tracking, queue = None, None
        match last, arguments:
            case "apply", [function] if output is None:
                pass
            case "apply_modified", [function, ast.Name(id=tracking)] if output is not None:
                pass
            case "apply_update_priority", [function, ast.Name(id=queue)] \
                    if output is None and self._types.get(queue) is Type.QUEUE:
                tracking = self._queues[queue]
            case _:
                self._fail(tree, f"an operator of {self._graph} ends with apply(function), with "
                                 "apply_modified(function, vector), which gives a set a name, or "
                                 "with apply_update_priority(function, queue)")
        name = self._called(function, last, True, "nothing")
        function = self._functions[name]
        if tracking is not None and tracking not in function.writes():
            self._fail(tree, f"function {name!r} does not change {tracking!r}, so no vertex would "
                             "be in the result")
        if last == "apply_update_priority" and not any(
                isinstance(node, Reduce) and node.operation == "min" and node.vector == tracking
                for node in walk(*function.body)):
            self._fail(tree, f"function {name!r} must lower the priorities: {tracking}[…].min(…)")
        return EdgeSetIterator(input_vset=source, apply_f=name, to_filter=to_filter,
                               output_vset=queue or output, tracking=tracking,
                               transposed=transposed, label=label, position=at)
