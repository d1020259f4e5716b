"""GraphIt's own syntax, read into GraphIR (UGF, figure 2-1), with UGF's schedules (figure 3-1).

A text becomes the same :class:`~sw.lang.graph_ir.GraphProgram` as a program in the syntax of
Python. Its forms are written out as few (:mod:`graphit_items`, :mod:`graphit_functors`,
:mod:`graphit_forms`), and these are translated to Python's syntax trees, which
:mod:`sw.lang.reader` reads. So the rules of docs/language.md hold, and some messages name the forms
of that page. docs/graphit.md says what is read, and what it means.

GraphIt makes a compare-and-swap of a plain store such as ``parent[dst] = src`` in a function of
edges whose operators have a filter ``to(f)`` with ``parent[v] == -1``: one of the sources wins, and
the machine decides which. Here the smallest source wins: the store is the reduction ``min``, and
-1 is the largest word. Every other plain store of a function of edges is refused.
"""

import ast
import dataclasses
import pathlib
import re
from typing import Any

import lark

from sw.lang import graph_ir as ir
from sw.lang.graphit_forms import plain
from sw.lang.graphit_functors import written_out
from sw.lang.graphit_schedule import read_commands
from sw.lang.graphit_items import TextItems, argument_number, is_method
from sw.lang.graphit_statements import StatementTranslator
from sw.lang.graphit_text import (TOO_DEEP, block_of, called, kind_of, made, name_of, parameters_of,
                                  parsed, result_of, statements)
from sw.lang.graphit_types import SCALARS
from sw.lang.graphit_vectors import (Filters, VectorText, marked_vectors, unset_vectors,
                                     vertex_vectors)
from sw.lang.passes.rewrite import changed, marked
from sw.lang.reader import read_tree, text_of
from sw.lang.schedule import PlannedSchedule
from sw.lang.types import LanguageError, Position


__all__ = ["ScheduleOnly", "read_graphit", "read_graphit_file"]


class ScheduleOnly(LanguageError):
    """A text that has schedules, and no program."""


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
    if schedule is not None and not items:
        read_commands(file, schedule)
        raise ScheduleOnly(Position(file, 1, 1), "these are schedules without a program; they "
                           "stand behind one, in its file")
    try:
        source = TextItems(file, items)
        written_out(source)
        plain(source)
        translated = _Program(source, text)
    except RecursionError:
        raise LanguageError(Position(file, 1, 1), TOO_DEEP) from None
    program = translated.program
    if schedule is None:
        return program, {}
    schedules, notes = read_commands(file, schedule, program)
    return dataclasses.replace(program, notes=(*program.notes, *notes)), schedules


# Programs

class _Program(StatementTranslator):
    """Translates the items of a text."""

    def __init__(self, source, text):
        super().__init__(source.file)
        self._source, self._main = source, source.main
        self._graph, self._all = source.graph, source.all
        self._elements, self._functions = source.elements, source.functions
        self._vectors = {name: self._vector_text(tree) for name, tree in source.vectors.items()}
        for name, tree in source.constants.items():
            if tree.children[1].data == "queue_type":
                self._queues.add(name)
            else:
                self._scalars[name] = tree
        every = source.every()
        self._marked = marked_vectors(self._vectors, every, self._elements)
        self._of_vertices = vertex_vectors(self._vectors, every, self._elements) - self._marked
        self._unset = unset_vectors(self._vectors, every, self._of_vertices) | self._marked
        self._of_main = {str(tree.children[0]): str(tree.children[1].children[0])
                         for tree in self._main.find_data("variable")} | {
            str(tree.children[0]): "int" for tree in self._main.find_data("for")} | {
            name: str(kind.children[0]) for name, kind in source.variables.items()} | {
            str(name): kind for name, kind in source.arguments}
        self._take_priorities()
        self._take_arguments()
        self._filters = Filters(self._functions, self._main)
        self.program = self._program(text)

    def _take_priorities(self):
        """The vectors of the priorities of queues."""
        for tree in statements(self._main):
            value: Any = tree.children[-1] if tree.data in ("variable", "assign") else None
            if kind_of(value) != "new" or value.children[0].data != "queue_type":
                continue
            first = tree.children[0]
            queue = str(first) if tree.data == "variable" else name_of(first)
            self._queues.add(queue)
            given = [] if value.children[1] is None else value.children[1].children
            vector = name_of(given[2]) if len(given) > 2 else None
            if vector is not None and self._priorities.setdefault(queue, vector) != vector:
                self._fail(value, f"{queue!r} is by {self._priorities[queue]!r} elsewhere; use "
                                  "another queue")

    def _vector_text(self, tree):
        """A vector, and its first elements: those of an empty one are 0."""
        _, kind, initial = tree.children
        element = str(kind.children[1].children[0])
        if element not in (*SCALARS, *self._elements):
            self._fail(kind.children[1], "the elements of a vector are of type "
                       f"{', '.join(SCALARS)} or of an element type")
        if initial is None:
            empty = "false" if element == "bool" else "-1" if element in self._elements else "0"
            initial = made(tree, empty, "expression")
        return VectorText(tree, element, initial)

    def _take_arguments(self):
        """The parameters of the program: the entry's own, and those of the command line, each
        named as the only variable that has it."""
        for name, kind in self._source.arguments:
            self._kind_of(name, kind)
            given = "vertex" if kind in self._elements else SCALARS[kind]
            self._arguments[0, str(name)] = self._at(name, ast.arg(
                str(name), self._name(name, given)))
        values: dict[str, Any] = {}
        for tree in statements(self._main):
            if tree.data not in ("variable", "assign", "reduce", "for"):
                continue
            first = tree.children[0]
            name = str(first) if isinstance(first, lark.Token) else name_of(first)
            value = tree.children[-1] if tree.data in ("variable", "assign") else None
            number = argument_number(value)
            if name is not None and values.setdefault(name, (number, called(value))) != (
                    number, called(value)):
                values[name] = (0, None)
        for name, (number, _) in values.items():
            if number > 0 and number not in self._named_arguments:
                self._named_arguments[number] = name

    # The tree of the program

    def _program(self, text):
        vectors = [self._vector(name, vector) for name, vector in self._vectors.items()]
        functions = [self._function(name, tree) for name, tree in self._functions.items()]
        body = self._block(block_of(self._main))
        end = self._at(self._main, ast.Return(self._at(self._main, ast.Tuple([
            self._at(self._vectors[name].tree, ast.Name(name)) for name in self._results()]))))
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
        program = changed(read_tree(tree, self._file), self._with_deduplication)
        return dataclasses.replace(program, notes=tuple(self._notes()))

    def _results(self):
        """The names of the vectors that are results."""
        if self._source.returned is not None:
            return [str(self._source.returned)]
        own = [name for name in self._vectors if name not in self._source.hidden]
        found = [name for name in own if name not in self._source.local] or own
        if not found:
            self._fail(self._main, "the program has no vectors, so it has no result here")
        return found

    def _notes(self):
        """What a reader of the text should know of its meaning here."""
        yield from self._source.notes
        fixed = [name for name, vector in self._vectors.items()
                 if vector.type in ("float", "double")]
        if fixed:
            yield (f"{', '.join(fixed)}: float and double are fixed point here, from 0 on and with "
                   "at most 30 fraction bits")

    def _with_deduplication(self, node):
        key = (node.position.line, node.position.column)
        chosen = self._places.get(key) if isinstance(node, ir.EdgeSetIterator) else None
        return node if chosen is None else marked(node, apply_deduplication=chosen)

    def _vector(self, name, vector):
        kind = {"float": "fixed", "double": "fixed", "bool": "bool"}.get(vector.type, "uint")
        if name in self._of_vertices:
            kind = "vertex"
        initial = vector.initial
        self._in_function = True        # its numbers have no signs, either
        if any(is_method(initial, self._graph, f"getOutDegrees{kind}") for kind in ("", "Uint")):
            value = self._at(initial, ast.Lambda(_arguments([ast.arg("v")]), self._method(
                initial, self._name(initial, self._graph), "out_degree",
                [self._name(initial, "v")])))
        else:
            value = self._none_or(initial, name)
        self._in_function = False
        call = self._call(vector.tree, "vector", self._at(vector.tree, ast.Name(kind)), value)
        return self._at(vector.tree, ast.Assign([self._at(vector.tree, ast.Name(name))], call))

    # Functions

    def _function(self, name, tree):
        (result, kind), block, parameters = result_of(tree), block_of(tree), parameters_of(tree)
        if result is not None and not any(
                name_of(part.children[0]) == result for part in block.iter_subtrees()
                if part.data in ("assign", "reduce")):
            result = None       # it is declared, and never given
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


def _arguments(arguments):
    return ast.arguments(posonlyargs=[], args=arguments, vararg=None, kwonlyargs=[],
                         kw_defaults=[], kwarg=None, defaults=[])
