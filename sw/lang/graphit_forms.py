"""Forms of GraphIt that stand for others, written out as those: all but the first two are of main.

==========================================  ======================================================
in the text                                 in its place
==========================================  ======================================================
``if n < x[v] x[v] = n; end`` of an edge    ``x[v] min= n;``, and max alike
a function of an edge that gives a bool     a function that keeps it in a vector; where ``apply``
                                            makes a set, the set is those who got a true
``var t : edgeset… = edges.transpose();``   ``edges.transpose()`` in place of ``t``
``var x : vector{Vertex}(int) = 0;``        a vector of the program; where the statement may be
                                            performed again, an operator fills it
``edges.from(f)`` of a function, and        a set that is filtered before
``srcFilter(f)``
``dstFilter(f)``, ``where(f)``              ``to(f)``, ``filter(f)``
``filter(f)`` where f changes vectors       f as an operator that keeps its results, and a filter
                                            of these
``x.sum()``, and a loop over all vertices   a sum over the set of all vertices
that adds to variables only
``break``                                   a variable that ends the loop
==========================================  ======================================================
"""

from typing import Any

import lark

from sw.lang.graphit_items import TextItems, is_method
from sw.lang.graphit_text import (Translator, block_of, is_zero, kind_of, made, mapped, name_of,
                                  names_in, parameters_of, result_of, statements,
                                  substituted, title_of, vector_of)


__all__ = ["plain"]


def plain(source: TextItems) -> None:
    """Write out the forms. Raises LanguageError where one cannot be."""
    for form in (_Improvements, _Vectors, _Arrivals, _Sources, _Filters, _Sums, _Breaks):
        form(source)


class _Form(Translator):
    """Puts statements in place of statements of ``main``, the inner blocks first."""

    def __init__(self, source):
        super().__init__(source.file)
        self._source = source
        self._prepare()
        self._perform()

    def _prepare(self):
        """Look at the text before anything is changed."""

    def _perform(self):
        self._source.main = mapped(self._source.main, self._changed)

    def _changed(self, tree):
        if tree.data == "block":
            tree.children = [each for statement in tree.children
                             for each in self._statements(statement)]
        return tree

    def _statements(self, statement) -> list[Any]:
        """The statements in place of one."""
        return [statement]

    def _function(self, like, name, text, **trees):
        """A new function of a vertex; its name. ``text`` is what stands behind ``func NAME``."""
        name = self._source.fresh(name)
        self._source.functions[name] = made(like, f"func {name}{text} end", "function", **trees)
        return name

    def _every(self):
        """The name of the set of all vertices."""
        return self._source.all or "vertices"


class _Improvements(_Form):
    """A function of an edge that stores what it has found to be less, or more."""

    def _perform(self):
        for name, function in self._source.functions.items():
            if len(parameters_of(function)) > 1:
                self._source.functions[name] = mapped(function, self._improved)

    @staticmethod
    def _improved(tree):
        if tree.data != "if":
            return tree
        test = tree.children[0]
        better = {}
        for part in test.children if test.data == "and" else [test]:
            if kind_of(part) == "compare" and part.children[1][0] in "<>":
                left, op, right = part.children
                better |= {(left, right): "max=" if op[0] == "<" else "min=",
                           (right, left): "min=" if op[0] == "<" else "max="}
        for statement in tree.children[1].children:
            bare = statement.children[1]
            by = better.get(tuple(bare.children)) if bare.data == "assign" else None
            if by is not None and kind_of(bare.children[0]) == "element":
                bare.data = "reduce"
                bare.children.insert(1, lark.Token("REDUCTION", by))
        return tree


class _Arrivals(_Form):
    """Functions of edges that give a bool."""

    def _prepare(self):
        self._marks: dict[str, str] = {}        # {function: its vector}
        for name, function in list(self._source.functions.items()):
            result, _ = result_of(function)
            if result is not None and len(parameters_of(function)) > 1 and any(
                    name_of(part.children[0]) == result for part in block_of(function).
                    iter_subtrees() if part.data in ("assign", "reduce")):
                self._source.functions[name] = self._kept(name, function, result)

    def _kept(self, name, function, result):
        """The function with its result in a vector, at the edge's destination."""
        mark = self._source.fresh(f"found_by_{name}")
        self._marks[name] = mark
        target = parameters_of(function)[1].children[0]
        block = lark.Tree("block", [
            *made(function, f"var {result} : bool = false;"), *block_of(function).children,
            *made(function, f"{mark}[{target}] |= {result};")], function.meta)
        self._source.hidden.add(mark)
        self._source.vectors[mark] = lark.Tree("constant", made(
            function, f"var {mark} : vector{{Vertex}}(bool) = false;")[0].children[1].children,
            function.meta)
        return lark.Tree("function", [*function.children[:4], None, None, block], function.meta)

    def _statements(self, statement):
        label, bare = statement.children
        value: Any = bare.children[-1] if bare.data in ("variable", "assign") else None
        if kind_of(value) != "method" or value.children[1] != "apply" \
                or value.children[2] is None:
            return [statement]
        mark = self._marks.get(name_of(value.children[2].children[0]))
        if mark is None:
            return [statement]
        clear = self._function(bare, f"clear_{mark}", f"(v : Vertex) {mark}[v] = false;")
        found = self._function(bare, f"is_{mark}", f"(v : Vertex) -> o : bool o = {mark}[v];")
        operator = lark.Tree("statement", [label, lark.Tree("operator", [value], bare.meta)],
                             statement.meta)
        bare.children[-1] = made(bare, f"{self._every()}.filter({found})", "expression")
        return [*made(bare, f"{self._every()}.apply({clear});"), operator,
                lark.Tree("statement", [None, bare], statement.meta)]


class _Vectors(_Form):
    """Vectors that ``main`` declares or fills, and the edges that it turns round."""

    def _prepare(self):
        self._turned: dict[str, Any] = {}
        source = self._source
        for tree in statements(source.main):
            if tree.data == "variable" and tree.children[1].data == "edgeset_type":
                name, _, value = tree.children
                if not is_method(value, source.graph, "transpose"):
                    self._fail(tree, f"another graph can be {source.graph}.transpose() only")
                self._turned[str(name)] = value
        self._take_result()

    def _take_result(self):
        """The vector that an entry returns, by its last statement."""
        source = self._source
        if source.returned is None:
            return
        block = block_of(source.main)
        last: Any = block.children[-1].children[1] if block.children else None
        value = name_of(last.children[1]) if kind_of(last) == "assign" else None
        if value is None or name_of(last.children[0]) != source.returned:
            self._fail(source.returned, "the last statement must say the result: "
                                        f"{source.returned} = vector;")
        source.returned = last.children[1].children[0]
        block.children.pop()

    def _perform(self):
        source = self._source
        self._fill_at_first()
        source.main.children[-1] = self._as_block(block_of(source.main), top=True)
        source.main = substituted(source.main, self._turned)
        if source.returned is not None and source.returned not in source.vectors:
            self._fail(source.returned, f"there is no vector {source.returned!s}")

    def _fill_at_first(self):
        """A vector without a value that main fills before it uses it begins so."""
        source, seen, found = self._source, set(), []
        block = block_of(source.main)
        for statement in block.children:
            tree = statement.children[1]
            name = name_of(tree.children[0]) if tree.data == "assign" else None
            vector = source.vectors.get(name)
            value: Any = tree.children[-1] if tree.children else None
            if vector is not None and vector.children[2] is None and name not in seen and (
                    kind_of(value) == "new" or (
                        kind_of(value) == "method" and name_of(value.children[0]) == source.graph
                        and str(value.children[1]).startswith("getOutDegrees"))):
                if kind_of(value) == "method":
                    vector.children[2] = value
            else:
                found.append(statement)
            named = names_in(statement)
            seen |= named | names_in(*(source.functions[name] for name in named
                                       if name in source.functions))
        block.children = found

    def _as_block(self, block, top):
        found = []
        for statement in block.children:
            label, bare = statement.children
            inner = [self._as_block(part, False) if kind_of(part) == "block" else part
                     for part in bare.children]
            if bare.data in ("while", "if", "for"):
                bare.children = inner
            new = self._statement(bare, top)
            if new is None:
                found.append(statement)
            else:
                found += new
        return lark.Tree("block", found, block.meta)

    def _statement(self, tree, top):
        """The statements in place of one about a vector or turned edges; None if it is neither."""
        if tree.data == "delete" and str(tree.children[0]) in self._turned:
            return []
        if tree.data == "variable" and tree.children[1].data == "edgeset_type":
            return []
        if tree.data == "variable" and tree.children[1].data == "vector_type":
            return self._declared(tree, top)
        name = name_of(tree.children[0]) if tree.data == "assign" else None
        if name not in self._source.vectors:
            return None
        if kind_of(tree.children[1]) != "new" or tree.children[1].children[0].data != "vector_type":
            if name_of(tree.children[1]) is not None:
                self._fail(tree, "a vector is assigned for each vertex: an operator of "
                           f"{self._every()} with {name}[v] = {name_of(tree.children[1])}[v]")
            return None
        return self._filled(tree, name, None)

    def _declared(self, tree, top):
        name, kind, value = tree.children
        source = self._source
        if str(name) in source.vectors or str(name) in source.constants \
                or str(name) in (source.graph, source.all):
            self._fail(name, f"{str(name)!r} is there already")
        if kind_of(value) == "new":
            value = None
        constant = value is None or not names_in(value)
        source.vectors[str(name)] = lark.Tree("constant", [name, kind, value if constant else None],
                                              tree.meta)
        source.local.add(str(name))
        return [] if top and constant else self._filled(tree, str(name), value)

    def _filled(self, tree, name, value):
        kind = str(self._source.vectors[name].children[1].children[1].children[0])
        if value is None:
            value = made(tree, "false" if kind == "bool" else "0", "expression")
        function = self._function(tree, f"fill_{name}", f"(v : Vertex) {name}[v] = __x;", __x=value)
        return made(tree, f"{self._every()}.apply({function});")


#: Steps that are others.
_STEPS = {"dstFilter": "to", "where": "filter"}


class _Sources(_Form):
    """Functions that say where edges begin and end."""

    def _statements(self, statement):
        before: list[Any] = []

        def change(tree):
            if tree.data != "method" or tree.children[2] is None:
                return tree
            root, name, given = tree.children
            if str(name) in _STEPS:
                tree.children[1] = name.update(value=_STEPS[name])
            elif (name == "from" and name_of(given.children[0]) in self._source.functions) \
                    or name == "srcFilter":
                return self._from(tree, before)
            return tree

        if statement.children[1].data in ("while", "if", "for"):
            return [statement]
        changed = mapped(statement, change)
        return [*before, changed]

    def _from(self, tree, before):
        root, name, given = tree.children
        function, held = given.children[0], self._every()
        if kind_of(root) == "method" and root.children[1] == "from" \
                and root.children[2] is not None:
            held = name_of(root.children[2].children[0]) or held
            root = root.children[0]
        if name_of(function) not in self._source.functions:
            self._fail(name, f"{name} takes a function of a vertex")
        chosen = self._source.fresh(f"from_{name_of(function)}")
        before += made(tree, f"var {chosen} : vertexset{{Vertex}} = {held}.filter(__f);",
                       __f=function)
        given.children = [made(given, chosen, "expression")]
        return lark.Tree("method", [root, name.update(value="from"), given], tree.meta)


class _Filters(_Form):
    """Filters that change vectors."""

    def _perform(self):
        self._kept: dict[str, tuple[str, str]] = {}
        super()._perform()
        named = {name_of(part) for part in self._source.main.find_data("name")}
        for title in self._kept.keys() - named:
            del self._source.functions[title]

    def _statements(self, statement):
        bare = statement.children[1]
        value: Any = bare.children[-1] if bare.data in ("variable", "assign") else None
        if kind_of(value) != "method" or value.children[1] != "filter" \
                or value.children[2] is None:
            return [statement]
        root, _, given = value.children
        function = self._source.functions.get(name_of(given.children[0]))
        if function is None or not self._changes(function):
            return [statement]
        does, kept = self._parts(given.children[0], function)
        given.children = [made(given, kept, "expression")]
        return [*made(bare, f"__s.apply({does});", __s=root), statement]

    @staticmethod
    def _changes(function):
        return any(part.data in ("assign", "reduce") and vector_of(part.children[0])
                   for part in function.iter_subtrees())

    def _parts(self, name, function):
        """A function that does what a filter does, and a filter of its results."""
        title = name_of(name)
        if title not in self._kept:
            source, result = self._source, result_of(function)[0]
            [own] = [str(each.children[0]) for each in parameters_of(function)] or ["v"]
            vector = source.fresh(f"kept_by_{title}")
            source.vectors[vector] = lark.Tree("constant", [*made(
                name, f"var {vector} : vector{{Vertex}}(bool) = false;")[0].children[1].children],
                function.meta)
            source.hidden.add(vector)
            does = source.fresh(f"do_{title}")
            block = lark.Tree("block", [*made(name, f"var {result} : bool = false;"),
                                        *block_of(function).children,
                                        *made(name, f"{vector}[{own}] = {result};")], function.meta)
            made_of = lark.Tree("function", [*function.children[:4], None, None, block],
                                function.meta)
            made_of.children[1] = title_of(function).update(value=does)
            source.functions[does] = made_of
            keeps = self._function(name, f"is_{vector}",
                                   f"(v : Vertex) -> o : bool o = {vector}[v];")
            self._kept[title] = (does, keeps)
        return self._kept[title]


class _Sums(_Form):
    """Sums of vectors, and loops that only add."""

    def _prepare(self):
        source = self._source
        self._counts = {str(tree.children[0]) for tree in statements(source.main)
                        if tree.data == "variable" and self._is_count(source, tree.children[2])}
        self._counts |= {name for name, tree in source.constants.items()
                         if self._is_count(source, tree.children[2])}
        self._counts -= {name_of(tree.children[0]) for tree in statements(source.main)
                         if tree.data in ("assign", "reduce")}
        self._kinds = {str(tree.children[0]): str(tree.children[1].children[0])
                       for tree in statements(source.main) if tree.data == "variable"} | {
            name: str(kind.children[0]) for name, kind in source.variables.items()}

    @staticmethod
    def _is_count(source, tree):
        return is_method(tree, source.graph, "getVertices") or (
            bool(source.all) and any(is_method(tree, source.all, name)
                                     for name in ("size", "getVertexSetSize")))

    def _changed(self, tree):
        tree = super()._changed(tree)
        if tree.data == "method" and name_of(tree.children[0]) in self._source.vectors:
            return self._of_vector(tree)
        return tree

    def _of_vector(self, tree):
        vector, name, given = tree.children
        if name != "sum" or given is not None:
            self._fail(name, f"a vector has sum() only, and no {str(name)!r}; how many elements "
                             "are above a number, vertices.filter(f) tells")
        vector = name_of(vector)
        kind = str(self._source.vectors[vector].children[1].children[1].children[0])
        function = self._function(tree, f"sum_of_{vector}",
                                  f"(v : Vertex) -> r : {kind} r = {vector}[v];")
        return made(tree, f"{self._every()}.sum({function})", "expression")

    def _statements(self, statement):
        bare = statement.children[1]
        if bare.data != "for":
            return [statement]
        name, first, last, block = bare.children
        if not (is_zero(first) and (self._is_count(self._source, last)
                                    or name_of(last) in self._counts)):
            return [statement]
        parts = self._parts(block, [], str(name))
        if not parts:
            return [statement]
        return [each for part in parts for each in self._sum(name, *part)]

    def _parts(self, block, conditions, own):
        """What each statement of a loop adds: variable, conditions, value. None if it does more."""
        found: list[Any] = []
        for statement in block.children:
            bare = statement.children[1]
            if bare.data == "if" and len(bare.children) == 3 and bare.children[2] is None:
                inner = self._parts(bare.children[1], [*conditions, bare.children[0]], own)
                if inner is None:
                    return None
                found += inner
                continue
            if bare.data != "reduce" or not str(bare.children[1]).startswith("+") \
                    or name_of(bare.children[0]) in (None, own):
                return None
            found.append((name_of(bare.children[0]), conditions, bare.children[2], bare))
        added = {part[0] for part in found}
        for _, tests, value, _ in found:
            if added & names_in(*tests, value):
                return None
        return found

    def _sum(self, own, variable, conditions, value, place):
        whole = self._kinds.get(variable) in ("int", "uint")
        for test in reversed(conditions):
            value = lark.Tree("choice", [test, value, made(place, "0", "expression")],
                              place.meta)
        kind = "int" if whole else "float"
        function = self._function(place, f"added_to_{variable}",
                                  f"({own} : Vertex) -> r : {kind} r = __x;", __x=value)
        return made(place, f"{variable} += {self._every()}.sum({function});")


class _Breaks(_Form):
    """Loops that end early."""

    def _statements(self, statement):
        bare = statement.children[1]
        if bare.data not in ("while", "for"):
            return [statement]
        block = bare.children[-1]
        if not self._ends(block):
            return [statement]
        flag = self._source.fresh("stopped")
        rest = self._until(block, flag)
        if bare.data == "while":
            test = lark.Tree("and", [self._not(bare, flag), bare.children[0]], bare.meta)
            bare.children = [test, rest]
        else:
            inner = lark.Tree("if", [self._not(bare, flag), rest, None], bare.meta)
            bare.children[-1] = lark.Tree("block", [lark.Tree("statement", [None, inner],
                                                              bare.meta)], bare.meta)
        return [*made(bare, f"var {flag} : bool = false;"), statement]

    @staticmethod
    def _not(like, flag):
        return made(like, f"not {flag}", "expression")

    def _ends(self, block):
        """Whether statements may end the loop in which they stand."""
        return any(tree.data == "break" or (tree.data == "if" and any(
            self._ends(part) for part in tree.children if kind_of(part) == "block"))
            for tree in (statement.children[1] for statement in block.children))

    def _until(self, block, flag):
        """The statements of a block, of which none is performed behind a break."""
        found: list[Any] = []
        for i, statement in enumerate(block.children):
            bare = statement.children[1]
            if bare.data == "break":
                return lark.Tree("block", [*found, *made(bare, f"{flag} = true;")], block.meta)
            if bare.data != "if" or not self._ends(lark.Tree("block", [statement])):
                found.append(statement)
                continue
            bare.children = [self._until(part, flag) if kind_of(part) == "block" else part
                             for part in bare.children]
            found.append(statement)
            rest = lark.Tree("block", block.children[i + 1:], block.meta)
            if rest.children:
                inner = lark.Tree("if", [self._not(bare, flag), self._until(rest, flag), None],
                                  bare.meta)
                found.append(lark.Tree("statement", [None, inner], bare.meta))
            break
        return lark.Tree("block", found, block.meta)
