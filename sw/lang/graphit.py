"""GraphIt's own syntax, read into GraphIR (UGF, figure 2-1), with UGF's schedules (figure 3-1).

A text becomes the same :class:`~sw.lang.graph_ir.GraphProgram` as a program in the syntax of
Python. It is translated to Python's syntax trees, which :mod:`sw.lang.reader` reads. So the rules
of docs/language.md hold, and some messages name the forms of that page.

=====================================  ===========================================================
GraphIt                                Meaning here
=====================================  ===========================================================
``vector{Vertex}(int)``                of vertices if -1, a vertex or the index of another vector
                                       is among its elements, else of ``uint``
``vector{Vertex}(float)``              of ``fixed``
-1 in a vector of vertices             ``none``
``int`` elsewhere                      from 0 to 4294967294 in functions and vectors: what shows
                                       that a negative number is meant is refused, and what falls
                                       below 0 while the program runs. Numbers of ``main`` have
                                       signs.
``a / b`` of two ``int``               the whole quotient, without its rest
``atoi(argv[2])``, ``atof(argv[2])``   a parameter of the program, of type ``int`` or ``decimal``.
                                       It is called as the variable that is declared with it, or
                                       else ``argv2``. ``argv[1]`` is the graph.
``new vertexset{Vertex}(0)``           no vertices; those that ``addVertex`` adds at once follow
``delete set``                         nothing: liveness finds what memory is free. The name has
                                       no set until it is assigned again.
``applyModified(f, vector, true)``     ``apply_deduplication`` in the metadata
results                                all vectors
=====================================  ===========================================================

GraphIt makes a compare-and-swap of a plain store such as ``parent[dst] = src`` in a function of
edges whose operators have a filter ``to(f)`` with ``parent[v] == -1``: one of the sources wins, and
the machine decides which. Here the smallest source wins: the store is the reduction ``min``, and
-1 is the largest word. Every other plain store of a function of edges is refused.
"""

import ast
import pathlib
import re
from typing import Any

import lark

from sw.lang import graph_ir as ir
from sw.lang.graphit_expressions import SCALARS, ExpressionTranslator
from sw.lang.graphit_schedule import read_commands
from sw.lang.graphit_text import (TOO_DEEP, called, kind_of, name_of, parameters_of, parsed,
                                  tokens_of, vector_of)
from sw.lang.graphit_vectors import Filters, VectorText, unset_vectors, vertex_vectors
from sw.lang.passes.rewrite import changed, marked
from sw.lang.reader import read_tree, text_of
from sw.lang.schedule import PlannedSchedule
from sw.lang.types import LanguageError, Position


__all__ = ["read_graphit", "read_graphit_file"]


def read_graphit_file(path) -> tuple[ir.GraphProgram, dict[str, PlannedSchedule]]:
    """The program and the schedules of a file, as :func:`read_graphit` gives them.

    Raises
    ------
    UserError
        If the file cannot be read.
    LanguageError
        If the text is not of the language.
    """
    return read_graphit(text_of(path), str(path))


def read_graphit(text: str, file: str = "<text>") -> tuple[
        ir.GraphProgram, dict[str, PlannedSchedule]]:
    """The program of a text, and the schedules of its part ``schedule:`` by their labels.

    Parameters
    ----------
    text : str
        ``sw.lang.schedule.applied(program, schedules)`` puts its schedules into its program.
    file : str
        Its name for messages; its stem is the name of the program.

    Raises
    ------
    LanguageError
        If it is not of the language, with line and column.
    """
    tree = parsed(text, file)
    *items, schedule = tree.children
    try:
        program = _Program(file, items, text).program
    except RecursionError:
        raise LanguageError(Position(file, 1, 1), TOO_DEEP) from None
    return program, {} if schedule is None else read_commands(file, schedule)


# Programs

class _Program(ExpressionTranslator):
    """Translates the items of a text."""

    def __init__(self, file, items, text):
        super().__init__(file)
        self._main: Any = None
        for item in items:
            self._item(item)
        if not self._graph:
            self._fail(lark.Token("NAME", "", line=1, column=1), "there is no graph: const edges "
                       ": edgeset{Edge}(Vertex,Vertex) = load(argv[1]);")
        if self._main is None:
            self._fail(items[-1], "there is no func main()")
        every = [*self._functions.values(), self._main]
        self._of_vertices = vertex_vectors(self._vectors, every, self._elements)
        self._unset = unset_vectors(self._vectors, every, self._of_vertices)
        self._of_main = {str(tree.children[0]): str(tree.children[1].children[0])
                         for tree in self._main.find_data("variable")} | {
            str(tree.children[0]): "int" for tree in self._main.find_data("for")}
        self._filters = Filters(self._functions, self._main)
        self.program = self._program(text)

    def _item(self, item):
        match item.data:
            case "element_type":
                self._elements.add(str(item.children[0]))
            case "constant":
                self._constant(item)
            case "function":
                name = str(item.children[0])
                if name in self._functions or (name == "main" and self._main is not None):
                    self._fail(item, f"function {name!r} is there already")
                if name == "main":
                    self._main = item
                else:
                    self._functions[name] = item

    def _constant(self, tree):
        name, kind, initial = tree.children
        if initial is None:
            self._fail(tree, f"constant {str(name)!r} needs a value")
        if str(name) in (self._graph, self._all, *self._vectors, *self._scalars):
            self._fail(name, f"{str(name)!r} is there already")
        match kind.data:
            case "edgeset_type":
                if self._graph:
                    self._fail(tree, "there is one graph, and it is "
                                     f"{self._graph!r}")
                if not (called(initial) == "load" and self._argv(initial.children[1]) == 1):
                    self._fail(initial, "the graph must be load(argv[1])")
                self._graph = str(name)
            case "vertexset_type":
                if not self._is_method(initial, self._graph, "getVertices"):
                    self._fail(initial, "a constant set must be "
                                        f"{self._graph or 'edges'}.getVertices()")
                self._all = str(name)
            case "vector_type":
                element = str(kind.children[1].children[0])
                if kind.children[1].data != "scalar_type" or element not in (
                        *SCALARS, *self._elements):
                    self._fail(kind.children[1], "the elements of a vector are of type "
                               f"{', '.join(SCALARS)} or of an element type")
                self._vectors[str(name)] = VectorText(tree, element, initial)
            case _:
                self._scalars[str(name)] = tree

    # The tree of the program

    def _program(self, text):
        vectors = [self._vector(name, vector) for name, vector in self._vectors.items()]
        functions = [self._function(name, tree) for name, tree in self._functions.items()]
        if parameters_of(self._main):
            self._fail(self._main, "main has no parameters; atoi(argv[2]) is the second argument "
                                   "of the command line")
        body = self._block(self._main.children[-1], top=True)
        end = self._at(self._main, ast.Return(self._at(self._main, ast.Tuple([
            self._at(vector.tree, ast.Name(name)) for name, vector in self._vectors.items()]))))
        graph = ast.arg(self._graph, ast.Name("edgeset"), lineno=1, col_offset=0)
        given = [argument for _, argument in sorted(self._arguments.items(),
                                                    key=lambda item: item[0][0])]
        name = re.sub(r"\W", "_", pathlib.Path(self._file).stem) or "program"
        summary = re.match(r"\s*%+[ \t]*([^{\s][^\n]*)", text)
        doc = [self._at(self._main, ast.Expr(self._at(self._main, ast.Constant(
            summary[1].strip()))))] if summary else []
        tree = self._at(self._main, ast.FunctionDef(
            name=name, args=_arguments([graph, *given]), body=[*doc, *vectors, *functions, *body,
                                                               end], decorator_list=[]))
        return changed(read_tree(tree, self._file), self._with_deduplication)

    def _with_deduplication(self, node):
        key = (node.position.line, node.position.column)
        if isinstance(node, ir.EdgeSetIterator) and key in self._deduplication:
            return marked(node, apply_deduplication=self._deduplication[key])
        return node

    def _vector(self, name, vector):
        kind = {"float": "fixed", "double": "fixed", "bool": "bool"}.get(vector.type, "uint")
        if name in self._of_vertices:
            kind = "vertex"
        initial = vector.initial
        self._in_function = True        # its numbers have no signs, either
        if self._is_method(initial, self._graph, "getOutDegrees"):
            value = self._at(initial, ast.Lambda(_arguments([ast.arg("v")]), self._method(
                initial, self._name(initial, self._graph), "out_degree",
                [self._name(initial, "v")])))
        else:
            value = self._none_or(initial, kind == "vertex")
        self._in_function = False
        call = self._call(vector.tree, "vector", self._at(vector.tree, ast.Name(kind)), value)
        return self._at(vector.tree, ast.Assign([self._at(vector.tree, ast.Name(name))], call))

    # Functions

    def _function(self, name, tree):
        _, _, result, kind, block = tree.children
        parameters = parameters_of(tree)
        for i, parameter in enumerate(parameters):
            given = parameter.children[1]
            if given.data != "scalar_type" or (
                    str(given.children[0]) in self._elements) != (i < 2):
                self._fail(parameter, "a function has the parameters (v : Vertex), or (src : "
                           "Vertex, dst : Vertex) with maybe weight : int")
        self._in_function, self._current = True, name
        self._locals = {str(variable.children[0]): str(variable.children[1].children[0])
                        for variable in tree.find_data("variable")}
        if result is not None:
            self._locals[str(result)] = str(kind.children[0])
        self._own = {str(parameter.children[0]): "" for parameter in parameters[:2]} | {
            str(parameter.children[0]): "int" for parameter in parameters[2:]}
        self._result = None if result is None else self._local(str(result))
        body = self._block(block)
        if result is not None:
            last = body[-1] if body else None
            others = [node for each in body for node in ast.walk(each)
                      if isinstance(node, ast.Name) and node.id == self._result]
            if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name) \
                    and last.targets[0].id == self._result and len(others) == 1:
                body[-1] = ast.copy_location(ast.Return(last.value), last)
            else:
                body.append(self._at(result, ast.Return(self._name(result, self._result))))
        self._in_function, self._locals, self._own = False, {}, {}
        arguments = [self._at(parameter, ast.arg(str(parameter.children[0])))
                     for parameter in parameters]
        return self._at(tree, ast.FunctionDef(name=name, args=_arguments(arguments),
                                              body=body, decorator_list=[]))

    # Statements

    def _block(self, tree, top=False):
        """The statements of a block. Sets that have been made and deleted are watched in it."""
        found: list[Any] = []
        fresh: dict[str, Any] = {}      # {set: its statement, while nothing but addVertex follows}
        gone: dict[str, int] = {}       # {deleted set: line}
        for statement in tree.children:
            label, bare = statement.children
            target = name_of(bare.children[0]) if bare.data == "assign" else None
            added = self._added(bare)
            if bare.data == "delete":
                self._delete(bare, gone)
                fresh.pop(str(bare.children[0]), None)
                continue
            for token in tokens_of(bare):
                if str(token) in gone and not (target and token is tokens_of(bare)[0]):
                    self._fail(token, f"{str(token)!r} was deleted in line {gone[str(token)]}")
                if added is None and token.type == "NAME":
                    fresh.pop(str(token), None)
            if added is not None:
                self._add_vertex(bare, added, fresh, found)
                continue
            nodes = self._statement(bare, top)
            if label is not None:
                name = str(label).strip("# \t\n")
                found.append(self._at(label, ast.AnnAssign(
                    self._name(label, name), self._name(label, "Label"), None, 1)))
            found += nodes
            if target:
                gone.pop(target, None)
            match nodes:
                case [ast.Assign(targets=[ast.Name(id=name)],
                                 value=ast.Call(func=ast.Name(id="vertexset")))]:
                    fresh[name] = nodes[0]
                    gone.pop(name, None)
        return found

    def _delete(self, tree, gone):
        name = tree.children[0]
        if self._in_function:
            self._fail(tree, "a function deletes no sets")
        if str(name) in gone:
            self._fail(name, f"{str(name)!r} was deleted in line {gone[str(name)]}")
        if str(name) in (self._graph, self._all, *self._vectors):
            self._fail(name, f"{str(name)!r} is a constant, and cannot be deleted")
        gone[str(name)] = name.line

    def _added(self, tree):
        """The set and the vertex of ``set.addVertex(vertex)``, or None."""
        if tree.data != "operator" or kind_of(tree.children[0]) != "method":
            return None
        root, name, given = tree.children[0].children
        if name != "addVertex":
            return None
        vertices = [] if given is None else given.children
        if name_of(root) is None or len(vertices) != 1:
            self._fail(tree, "addVertex is set.addVertex(vertex)")
        return name_of(root), vertices[0]

    def _add_vertex(self, tree, added, fresh, found):
        """Put a vertex into a new set; the set is made here, where the vertex is known."""
        name, vertex = added
        if name not in fresh:
            self._fail(tree, f"addVertex must follow `var {name} : vertexset{{Vertex}} = new "
                             "vertexset{Vertex}(0);` in its block, before the set is used")
        node = fresh[name]
        found.remove(node)
        node.value.args.append(self._expression(vertex))
        found.append(node)

    def _statement(self, tree, top):
        match tree.data:
            case "variable":
                return self._variable(tree, top)
            case "assign" | "reduce":
                return [self._assign(tree)]
            case "operator":
                call = tree.children[0]
                return [self._at(tree, ast.Expr(self._expression(call)))]
            case "while":
                condition, block = tree.children
                return [self._at(tree, ast.While(self._condition(condition),
                                                 self._filled(block), []))]
            case "if":
                return [self._if(tree, tree.children)]
            case "for":
                return self._for(tree)
        return self._fail(tree, "there is no print: the results of a program are its vectors")

    def _filled(self, block):
        """The statements of a block, at least one."""
        return self._block(block) or [self._at(block, ast.Pass())]

    def _if(self, tree, children):
        condition, block, *others = children
        rest: list[Any] = []
        if len(others) > 1:
            rest = [self._if(tree, others)]
        elif others[0] is not None:
            rest = self._block(others[0])
        return self._at(tree, ast.If(self._condition(condition), self._filled(block), rest))

    def _for(self, tree):
        name, first, last, block = tree.children
        low, high = self._expression(first), self._expression(last)
        target, rounds, begin = str(name), high, []
        if not (isinstance(low, ast.Constant) and low.value == 0):
            # The loop counts its rounds from 0.
            rounds = self._at(last, ast.BinOp(high, ast.Sub(), low))
            target = f"{name}_from_0"
            number = self._at(name, ast.BinOp(self._name(name, target), ast.Add(), low))
            begin = [self._at(name, ast.Assign([self._name(name, str(name))], number))]
        return [self._at(tree, ast.For(self._name(name, target),
                                       self._call(last, "range", rounds),
                                       [*begin, *self._filled(block)], []))]

    def _variable(self, tree, top):
        name, kind, value = tree.children
        if value is None:
            self._fail(tree, f"variable {str(name)!r} needs a value")
        if str(name) in (self._graph, self._all, *self._scalars):
            self._fail(name, f"{str(name)!r} is a constant, and cannot be a variable")
        if not self._in_function and kind.data == "scalar_type":
            self._kind(kind)
            if called(value) in ("atoi", "atof") and top:
                self._argument(value, str(name))
                return []
        node = self._expression(value)
        if isinstance(node, ast.Attribute) and node.attr == "num_vertices":
            self._counts.add(str(name))
        return [self._at(tree, ast.Assign([self._name(name, self._local(str(name)))], node))]

    def _assign(self, tree):
        target, value = tree.children[0], tree.children[-1]
        vector = vector_of(target)
        self._counts.discard(name_of(target))
        right = self._none_or(value, vector in self._of_vertices)
        left = self._expression(target)
        if kind_of(target) not in ("name", "element"):
            self._fail(target, "a variable or an element of a vector can be assigned")
        if name_of(target) in (self._graph, self._all, *self._scalars):
            self._fail(target, f"{name_of(target)!r} is a constant, and cannot be assigned")
        if self._in_function and name_of(target) is not None \
                and name_of(target) not in self._locals:
            self._fail(target, f"{name_of(target)!r} is no variable of this function, and it "
                       "changes no others: its calls have no order. A vector keeps a number for "
                       f"each vertex; a variable of a call is declared: var {name_of(target)} : "
                       "int = …;")
        if tree.data == "reduce":
            by = "".join(str(tree.children[1]).split()).removesuffix("=")
            if by in ("min", "max"):
                if vector in self._unset:
                    self._fail(tree, f"{vector!r} has -1 among its elements, which is below all "
                               f"others for {by}= of GraphIt, and no vertex here: begin with "
                               "another number, such as 2147483647 or 0")
                call = self._method(tree, left, by, [right])
                return self._at(tree, ast.Expr(call))
            return self._at(tree, ast.AugAssign(left, ast.Add() if by == "+" else ast.BitOr(),
                                                right))
        if vector and self._in_function and len(parameters_of(
                self._functions[self._current])) > 1:
            index = target.children[1]
            if vector not in self._of_vertices or not self._filters.may_store(
                    self._current, vector, index):
                self._fail(tree, f"several edges may store to {vector}[…] at a time, and their "
                                 "order would decide: use min=, max=, += or |=, or have the "
                                 f"operator go to(filter) with output = ({vector}[v] == -1)")
            return self._at(tree, ast.Expr(self._method(tree, left, "min", [right])))
        return self._at(tree, ast.Assign([left], right))


def _arguments(arguments):
    return ast.arguments(posonlyargs=[], args=arguments, vararg=None, kwonlyargs=[],
                         kw_defaults=[], kwarg=None, defaults=[])
