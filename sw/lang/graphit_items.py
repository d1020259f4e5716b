"""The items of a text of GraphIt: what there is, where it begins, and what says nothing of results.

The entry of a program is ``main``, or its only ``export func``, whose arguments become parameters.
Prints and timers are left out, and a note names their lines: the results of a program are its
vectors.
"""

from typing import Any

import lark

from sw.lang.graphit_text import (Translator, block_of, called, functor_of, kind_of, made, mapped,
                                  name_of, names_in, number_of, parameters_of, result_of,
                                  statements, substituted, title_of, tokens_of, vector_of)


__all__ = ["TextItems", "argument_number", "is_method"]


_TIMER = "startTimer", "stopTimer"

#: Types that a text can have and a program cannot, with the way out.
_TYPES = {
    "array_type": "there are no arrays of a fixed size, only vectors with an element for each "
                  "vertex; a number of main is a variable, and a mark that functions set is a "
                  "vector whose vertices vertices.filter(f) finds",
    "list_type": "there are no lists; keep the round in which a vertex comes into a set in a "
                 "vector, and take the set again by vertices.filter(f), where f compares with the "
                 "number of the round"}


def is_method(tree, root, name) -> bool:
    """Whether a tree is ``root.name()``."""
    return (kind_of(tree) == "method" and name_of(tree.children[0]) == root
            and str(tree.children[1]) == name)


def argument_number(tree) -> int:
    """The N of ``argv[N]``, ``atoi(argv[N])`` or ``atof(argv[N])``, or else 0."""
    if called(tree) in ("atoi", "atof") and tree.children[1] is not None \
            and len(tree.children[1].children) == 1:
        tree = tree.children[1].children[0]
    if vector_of(tree) != "argv" or kind_of(tree.children[1]) != "integer":
        return 0
    return number_of(tree.children[1].children[0])


class TextItems(Translator):
    """The items of a text.

    Attributes
    ----------
    elements : set of str
        The element types.
    graph, all : str
        The names of the graph and of the set of all vertices.
    graph_number : int
        The N of the graph's ``load(argv[N])``.
    constants, vectors, functions : dict of str to lark.Tree
        Numbers and queues; vectors; all functions but the entry.
    variables : dict of str to lark.Tree
        Constants that the entry assigns, and so are variables: their types.
    arguments : list of (token, str)
        Names and types of the entry's own arguments.
    main : lark.Tree
        The entry.
    returned : token or None
        The name of the entry's result; later of the vector that it is.
    local, hidden : set of str
        Vectors that the entry declares, and those that stand for a form. The latter are no
        results, and the former only where there are no others.
    notes : list of str

    Parameters
    ----------
    file : str
        Its name for messages.
    items : list of lark.Tree

    Raises
    ------
    LanguageError
        If there is no graph or no entry, or something that a program cannot have.
    """

    def __init__(self, file: str, items: list[Any]) -> None:
        super().__init__(file)
        self.file = file
        self.elements: set[str] = set()
        self.graph, self.all, self.graph_number = "", "", 1
        self.constants: dict[str, Any] = {}
        self.vectors: dict[str, Any] = {}
        self.functions: dict[str, Any] = {}
        self.variables: dict[str, Any] = {}
        self.arguments: list[tuple[Any, str]] = []
        self.main: Any = None
        self.returned: Any = None
        self.local: set[str] = set()
        self.hidden: set[str] = set()
        self.notes: list[str] = []
        self._exported: list[Any] = []
        self._names = names_in(*items)
        for item in items:
            for token in tokens_of(item):
                if token.type == "NAME" and token.startswith("__"):
                    self._fail(token, f"{token!s} begins with __, and no name can")
            self._item(item)
        self._begin(items)
        self._leave_out()
        self._check_types()

    def fresh(self, name: str) -> str:
        """A name like that one which nothing has."""
        found, number = name, 2
        while found in self._names:
            found, number = f"{name}_{number}", number + 1
        self._names.add(found)
        return found

    def every(self) -> list[Any]:
        """All functions, with the entry."""
        return [*self.functions.values(), self.main]

    # Items

    def _item(self, item):
        match item.data:
            case "element_type":
                self.elements.add(str(item.children[0]))
            case "constant":
                self._constant(item)
            case "extern":
                self._fail(item, f"{str(item.children[0])!r} is a function of C++, which runs on "
                                 "no machine here; write it as func")
            case "function":
                self._function(item)

    def _function(self, item):
        name = str(title_of(item))
        if name in self.functions or name in [str(title_of(each)) for each in self._exported] \
                or (name == "main" and self.main is not None):
            self._fail(item, f"function {name!r} is there already")
        if name == "main":
            self.main = item
        elif item.children[0] is not None:
            self._exported.append(item)
        else:
            self.functions[name] = item

    def _constant(self, tree):
        name, kind, initial = tree.children
        if str(name) in (self.graph, self.all, *self.constants, *self.vectors):
            self._fail(name, f"{str(name)!r} is there already")
        match kind.data:
            case "edgeset_type":
                if self.graph:
                    self._fail(tree, f"there is one graph, and it is {self.graph!r}")
                self.graph = str(name)
                if initial is not None:
                    self._load(initial)
            case "vertexset_type":
                if kind_of(initial) == "new" and initial.children[0].data == "vertexset_type" \
                        and not self.all and not self.graph:
                    self.notes.append("the vertices are those of the run's graph")
                elif initial is not None and not is_method(initial, self.graph, "getVertices"):
                    self._fail(initial, f"a constant set must be {self.graph or 'edges'}"
                                        ".getVertices()")
                self.all = str(name)
            case "vector_type":
                self.vectors[str(name)] = tree
            case _:
                self.constants[str(name)] = tree

    def _load(self, tree):
        """The graph is that of the run, whatever a text loads."""
        given = [] if called(tree) != "load" or tree.children[1] is None \
            else tree.children[1].children
        if len(given) == 1 and kind_of(given[0]) == "text":
            self.notes.append(f"the graph is that of the run, and not {given[0].children[0]}")
        elif len(given) == 1 and argument_number(given[0]) and not called(given[0]):
            self.graph_number = argument_number(given[0])
        else:
            self._fail(tree, "the graph must be load(argv[1])")

    # The entry

    def _begin(self, items):
        if self.main is None and self._exported:
            self._join_entries()
        elif self._exported:
            self.notes.append("main is the program; " + ", ".join(
                str(title_of(each)) for each in self._exported) + " is not run")
        if self.main is not None:
            self._assigned_constants()
        if not self.graph and self.all:
            self.graph = self.fresh("edges")
        if not self.graph:
            at: Any = lark.Token("NAME", "", line=1, column=1)
            self._fail(at, "there is no graph: const edges : edgeset{Edge}(Vertex,Vertex) = "
                           "load(argv[1]);")
        if self.main is None:
            self._fail(items[-1], "there is no func main()")
        if str(title_of(self.main)) == "main" and parameters_of(self.main):
            self._fail(self.main, "main has no parameters; atoi(argv[2]) is the second argument of "
                                  "the command line")

    def _join_entries(self):
        """The exported functions as one entry, which performs them in their order."""
        statements_of: list[Any] = []
        for entry in self._exported:
            if self.returned is not None:
                self._fail(self.returned, "only the last exported function of a program has a "
                                          "result")
            entry = self._with_arguments(entry)
            self.returned, kind = result_of(entry)
            if self.returned is not None and kind.data != "vector_type":
                self._fail(self.returned, "the results of a program are vectors; keep a number as "
                                          "the element of a vertex")
            statements_of += block_of(entry).children
        self.main = entry
        self.main.children[-1] = lark.Tree("block", statements_of, block_of(entry).meta)
        if len(self._exported) > 1:
            self.notes.append("the program performs " + ", then ".join(
                str(title_of(each)) for each in self._exported))

    def _with_arguments(self, entry):
        """An entry whose graph is that of the program, and its other arguments parameters."""
        given = ""
        for parameter in parameters_of(entry):
            name, kind = parameter.children
            match kind.data:
                case "edgeset_type" if not given:
                    given = str(name)
                    self.graph = self.graph or given
                case "scalar_type" if name not in [each for each, _ in self.arguments]:
                    self.arguments.append((name, str(kind.children[0])))
                case "scalar_type":
                    self._fail(name, f"{name!s} is an argument of another function already")
                case _:
                    self._fail(parameter, "an argument of a program is a number or a vertex; a "
                               "vector of a program begins with an expression, as in vector{Vertex}"
                               "(int) = 0")
        if given:
            graph = made(entry, self.graph, "expression")
            entry = substituted(entry, {given: graph})
        return entry

    def _assigned_constants(self):
        """Constants that the entry assigns: the graph and its vertices, which are what they are,
        and numbers, which are variables."""
        def change(tree):
            if tree.data != "block":
                return tree
            tree.children = [each for each in tree.children if not self._says_graph(
                each.children[1])]
            return tree

        self.main = mapped(self.main, change)
        for tree in statements(self.main):
            name: Any = name_of(tree.children[0]) if tree.data in ("assign", "reduce") else None
            constant = self.constants.get(name)
            if constant is not None and constant.children[1].data == "scalar_type":
                self.variables[name] = self.constants.pop(name).children[1]
                initial = constant.children[2]
                if initial is not None:
                    block_of(self.main).children[:0] = made(constant, f"{name} = __y;", __y=initial)
        for name, constant in self.constants.items():
            if constant.children[2] is None and constant.children[1].data == "scalar_type":
                self._fail(constant, f"constant {name!r} needs a value")

    def _says_graph(self, tree):
        """Whether a statement only says what the graph or the set of all vertices is."""
        if tree.data != "assign" or name_of(tree.children[0]) is None:
            return False
        name, value = name_of(tree.children[0]), tree.children[1]
        if name == self.graph:
            if name_of(value) != self.graph:
                if called(value) != "load":
                    self._fail(tree, "the graph is that of the run, and the program does not "
                                     "change it")
                self._load(value)
            return True
        return name == self.all and is_method(value, self.graph, "getVertices")

    # Prints and timers

    def _leave_out(self):
        """Leave out prints and timers, and what does nothing without them."""
        lines: list[int] = []
        times: set[str] = set()
        for tree in statements(self.main):
            if tree.data in ("variable", "assign") and called(tree.children[-1]) == "stopTimer":
                first = tree.children[0]
                times.add(str(first) if tree.data == "variable" else name_of(first) or "")
        silent: set[str] = set()

        def is_silent(tree):
            match tree.data:
                case "print":
                    lines.append(tree.meta.line)
                    return True
                case "operator":
                    call = tree.children[0]
                    if kind_of(call) == "method" and call.children[1] == "apply" \
                            and call.children[2] is not None:
                        function = call.children[2].children[0]
                        root = function.children[0] if kind_of(function) == "element" else function
                        return name_of(root) in silent
                    return called(call) in _TIMER
                case "variable" | "assign":
                    return called(tree.children[-1]) == "stopTimer"
            return False

        def change(tree):
            if tree.data != "block":
                return tree
            before = [each.children[1] for each in tree.children]
            tree.children = [each for each in tree.children if not is_silent(each.children[1])]
            tree.children = [each for each in tree.children if not (
                each.children[1].data in ("for", "if") and all(
                    kind_of(part) != "block" or getattr(part, "silent", False)
                    for part in each.children[1].children))]
            tree.silent = bool(before) and not tree.children
            return tree

        self.functions = {name: mapped(tree, change) for name, tree in self.functions.items()}
        silent |= {name for name, tree in self.functions.items()
                   if getattr(block_of(tree), "silent", False)}
        self.main = mapped(self.main, change)
        for name in silent:
            del self.functions[name]
        if lines:
            places = ", ".join(map(str, sorted(set(lines))))
            self.notes.append("print is left out, as the results of a program are its vectors: line"
                              f"{'s' * (len(set(lines)) > 1)} {places}")
        for tree in self.every():
            for token in tokens_of(tree):
                if token in times or token in _TIMER:
                    self._fail(token, f"{str(token)!r} is a time, on which no result depends; only "
                                      "print can show it")

    def _check_types(self):
        """Refuse types that a program cannot have."""
        trees = [*self.constants.values(), *self.vectors.values(), *self.every()]
        for tree in trees:
            for part in tree.iter_subtrees_topdown():
                if part.data in _TYPES:
                    self._fail(part, _TYPES[part.data])
                if part.data == "vector_type" and part.children[1].data != "scalar_type":
                    self._fail(part.children[1], "an element of a vector is one word; use several "
                                                 "vectors, such as a_0 and a_1")
        for function in self.functions.values():
            for parameter in [*functor_of(function), *parameters_of(function)]:
                if parameter.children[1].data not in ("scalar_type", "vector_type"):
                    self._fail(parameter, "a function has the parameters (v : Vertex), or (src : "
                               "Vertex, dst : Vertex) with maybe weight : int")
