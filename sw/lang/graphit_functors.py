"""Functions with parameters in [], and functions that expressions and ``main`` call, written out.

A functor such as ``f[a, 3]`` is a function of its own for each list of arguments. A function that
is called stands in place of its call.
"""

import lark

from sw.lang.graphit_items import TextItems
from sw.lang.graphit_text import (Translator, block_of, called, functor_of, kind_of, mapped,
                                  name_of, names_in, parameters_of, result_of, substituted,
                                  title_of, tokens_of)


__all__ = ["written_out"]


#: Types that a value has in a function that stands in place of its call.
_NUMBERS = ("int", "uint", "float", "double")

#: Tokens of the longest expression that calls may become.
_MOST = 2000


def written_out(source: TextItems) -> None:
    """Write out the functors and calls of a text.

    Raises
    ------
    LanguageError
        If a function has other arguments than it takes, or cannot stand in place of its call.
    """
    _Functors(source)
    _Calls(source)


def _typed(value, kind):
    """A value that stands for a number of a type."""
    if kind.data != "scalar_type" or str(kind.children[0]) not in _NUMBERS:
        return value
    return lark.Tree("typed", [value, str(kind.children[0])], value.meta)


def _bound_in(function):
    """The names of a function's own: its parameters, its variables and its result."""
    return {str(part.children[0]) for part in function.find_data("variable")} | {
        str(parameter.children[0]) for parameter in parameters_of(function)} | {
        str(name) for name in result_of(function)[:1] if name is not None}


class _Functors(Translator):
    """Makes a function for each list of arguments in []."""

    def __init__(self, source):
        super().__init__(source.file)
        self._source = source
        self._made: dict[tuple, str] = {}
        self._plain = dict(source.functions)
        source.main = mapped(source.main, self._change)
        for name, tree in self._plain.items():
            if functor_of(tree):
                del source.functions[name]

    def _change(self, tree):
        if tree.data == "arguments":
            for child in tree.children:
                function = self._plain.get(name_of(child))
                if function is not None and functor_of(function):
                    self._wrong(child, function)
        if tree.data != "element" or name_of(tree.children[0]) not in self._plain:
            return tree
        name = name_of(tree.children[0])
        function, given = self._plain[name], tree.children[1:]
        wanted = functor_of(function)
        if len(given) != len(wanted):
            self._wrong(tree, function)
        key = (name, *("".join(map(str, tokens_of(each))) for each in given))
        if key not in self._made:
            self._made[key] = self._specialised(tree, function, wanted, given)
        root = tree.children[0]
        root.children[0] = root.children[0].update(value=self._made[key])
        return root

    def _wrong(self, tree, function):
        wanted = ", ".join(str(each.children[0]) for each in functor_of(function))
        name = title_of(function)
        self._fail(tree, f"{str(name)!r} takes [{wanted}]" if wanted else
                   f"{str(name)!r} has no parameters in []")

    def _specialised(self, tree, function, wanted, given):
        own = _bound_in(function)
        for parameter, value in zip(wanted, given, strict=True):
            clash = own & names_in(value)
            if clash:
                self._fail(value, f"{min(clash)!r} is also a variable of the function; give "
                                  "one of the two another name")
            if parameter.children[1].data == "vector_type" and name_of(value) is None:
                self._fail(value, f"{str(parameter.children[0])!r} is a vector, given by its name")
        last = "_".join("".join(c for c in str(token) if c.isalnum() or c == "_")
                        for value in given for token in tokens_of(value))
        name = self._source.fresh(f"{title_of(function)}_{last}".rstrip("_"))
        made = substituted(function, {
            str(parameter.children[0]): _typed(value, parameter.children[1])
            for parameter, value in zip(wanted, given, strict=True)})
        made.children[1], made.children[2] = title_of(function).update(value=name), None
        self._source.functions[name] = made
        return name


class _Calls(Translator):
    """Puts functions in place of their calls."""

    def __init__(self, source):
        super().__init__(source.file)
        self._functions = dict(source.functions)
        self._open: list[str] = []
        self._called: set[str] = set()
        for tree in source.every():
            for part in tree.find_data("operator"):
                if called(part.children[0]) in self._functions:
                    part.children[0].data = "procedure"
        self._bound: set[str] = set()           # the names of the function that calls
        for name, tree in source.functions.items():
            self._bound = _bound_in(tree)
            source.functions[name] = self._inlined(tree)
        self._bound = set()
        source.main = self._inlined(source.main)
        for name in self._called:
            if not self._is_operator(source.functions[name]):
                del source.functions[name]

    @staticmethod
    def _is_operator(function):
        parameters = parameters_of(function)
        return bool(parameters) and str(parameters[0].children[1].children[0]) not in (
            *_NUMBERS, "bool")

    def _inlined(self, tree):
        return mapped(tree, self._change)

    def _change(self, tree):
        if tree.data == "block":
            tree.children = [each for statement in tree.children
                             for each in self._procedure(statement)]
            return tree
        if called(tree) not in self._functions:
            return tree
        function = self._function(tree)
        value = self._value(tree, function)
        self._open.pop()
        return value

    def _function(self, tree):
        """The function of a call, whose arguments are counted."""
        name = str(tree.children[0])
        function = self._functions[name]
        if name in self._open:
            self._fail(tree, f"{name!r} calls itself, and there is no recursion; use while in main")
        given = [] if tree.children[1] is None else tree.children[1].children
        if len(given) != len(parameters_of(function)):
            self._fail(tree, f"{name!r} takes {len(parameters_of(function))} arguments, not "
                             f"{len(given)}")
        clash = self._bound & (names_in(block_of(function)) - _bound_in(function))
        if clash:
            self._fail(tree, f"{name!r} reads {min(clash)!r}, which is also a variable where it is "
                             "called; give one of the two another name")
        self._open.append(name)
        self._called.add(name)
        return function

    def _names(self, tree, function):
        given = [] if tree.children[1] is None else tree.children[1].children
        return {str(parameter.children[0]): _typed(value, parameter.children[1])
                for parameter, value in zip(parameters_of(function), given, strict=True)}

    def _value(self, tree, function):
        """The expression that a call stands for."""
        names, value = self._names(tree, function), None
        result, kind = result_of(function)
        for statement in block_of(function).children:
            bare = statement.children[1]
            match bare.data:
                case "variable" if bare.children[2] is not None and value is None:
                    names[str(bare.children[0])] = _typed(
                        substituted(bare.children[2], names), bare.children[1])
                case "assign" if value is None and result is not None \
                        and name_of(bare.children[0]) == result:
                    value = _typed(substituted(bare.children[1], names), kind)
                case _:
                    self._fail(tree, f"{called(tree)!r} cannot stand in place of its call: a "
                               "function that is called has variables and, last, one assignment "
                               "of its result")
        if value is None:
            self._fail(tree, f"{called(tree)!r} gives no value")
        if len(tokens_of(value)) > _MOST:
            self._fail(tree, f"this call stands for more than {_MOST:,} words")
        return self._inlined(value) if kind_of(value) else value

    def _procedure(self, statement):
        """The statements that a statement stands for, which may be a call alone."""
        bare = statement.children[1]
        if bare.data == "operator" and kind_of(bare.children[0]) == "procedure":
            return self._statements(bare.children[0])
        return [statement]

    def _statements(self, call):
        function = self._function(call)
        names = self._names(call, function)
        if result_of(function)[0] is None:
            changed = {name_of(part.children[0]) for part in function.iter_subtrees()
                       if part.data in ("assign", "reduce")}
            for name in names:
                if name in changed:
                    self._fail(call, f"{call.children[0]!s} changes its argument {name!r}; give it "
                                     "a variable of its own")
            if any(part.data == "variable" for part in function.iter_subtrees()):
                self._fail(call, f"{call.children[0]!s} cannot stand in place of its call: it has "
                                 "variables of its own; declare them where it is called")
            found = self._inlined(substituted(block_of(function), names)).children
        else:
            found = []      # a value that nobody takes
        self._open.pop()
        return found
