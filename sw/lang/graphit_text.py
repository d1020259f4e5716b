"""The syntax trees of texts of GraphIt (graphit.lark), and the parts of such trees."""

import ast
import copy
import functools
import pathlib
from collections.abc import Callable
from typing import Any, NoReturn

import lark

from sw.lang.types import LanguageError, Position


__all__ = ["TOO_DEEP", "Translator", "block_of", "called", "functor_of", "is_minus_one", "is_zero",
           "kind_of", "made", "mapped", "name_of", "names_in", "number_of", "parameters_of",
           "parsed", "result_of", "root_of", "statements", "steps_of", "substituted", "title_of",
           "tokens_of", "vector_of", "where"]


#: The message for a text that is beyond the depth of Python's calls.
TOO_DEEP = "an expression or a block is nested too deeply"

_GRAMMAR = pathlib.Path(__file__).with_name("graphit.lark")


@functools.cache
def _parser():
    return lark.Lark(_GRAMMAR.read_text(encoding="utf-8"), parser="lalr", propagate_positions=True,
                     maybe_placeholders=True, start=["start", "function", "block",
                                                    "expression"])


#: Characters of the longest number.
_DIGITS = 40

#: Names of terminals in messages.
_NAMES = {"NAME": "a name", "INTEGER": "a number", "REAL": "a number", "STRING": "a text in \"\"",
          "LABEL": "a label #s0#", "REDUCTION": "min=, max=, +=, |=", "COMPARE": "a comparison",
          "TRUTH": "true, false", "$END": "the end of the text"}


def parsed(text: str, file: str) -> lark.Tree:
    """The tree of a text. Raises LanguageError at the first token that cannot stand there."""
    try:
        tree = _parser().parse(text, start="start")
        for token in tokens_of(tree):
            if token.type in ("INTEGER", "REAL") and len(token) > _DIGITS:
                raise LanguageError(Position(file, token.line, token.column), "a number of "
                                    f"{len(token):,} characters is too long, at most {_DIGITS}")
        return tree
    except lark.exceptions.UnexpectedCharacters as error:
        at = Position(file, error.line, error.column)
        raise LanguageError(at, f"{error.char!r} cannot stand here") from None
    except lark.exceptions.UnexpectedToken as error:
        if error.token.type == "$END":
            lines = text.rstrip().split("\n")
            at, given = Position(file, len(lines), len(lines[-1]) + 1), "the text ends here"
        else:
            at = Position(file, error.line, error.column)
            given = f"{str(error.token)!r} cannot stand here"
        patterns = {each.name: each.pattern.value for each in _parser().terminals}
        wanted = sorted({_NAMES.get(name, patterns.get(name, name)) for name in error.accepts
                         or error.expected})
        raise LanguageError(at, f"{given}; there can be {', '.join(wanted)}") from None
    except RecursionError:
        raise LanguageError(Position(file, 1, 1), TOO_DEEP) from None


class Translator:
    """Makes nodes of Python's syntax trees at places of a tree, and raises errors there.

    Parameters
    ----------
    file : str
        Its name for messages.
    """

    def __init__(self, file: str) -> None:
        self._file = file

    def _fail(self, tree, message) -> NoReturn:
        line, column = where(tree)
        raise LanguageError(Position(self._file, line, column), message)

    def _at(self, tree, node: Any) -> Any:
        line, column = where(tree)
        node.lineno, node.col_offset = line, column - 1
        return node

    def _name(self, tree, name) -> Any:
        return self._at(tree, ast.Name(name))

    def _call(self, tree, name, *arguments) -> Any:
        return self._at(tree, ast.Call(self._name(tree, name), list(arguments), []))

    def _method(self, tree, root, name, arguments) -> Any:
        return self._at(tree, ast.Call(self._at(tree, ast.Attribute(root, name)), arguments, []))


def where(tree: Any) -> tuple[int, int]:
    """Line and column of a tree or token, from 1."""
    if isinstance(tree, lark.Tree):
        return (tree.meta.line, tree.meta.column) if not tree.meta.empty else (1, 1)
    return tree.line, tree.column


# Parts of trees

def kind_of(tree: Any) -> Any:
    """The rule of a tree; None of a token."""
    return tree.data if isinstance(tree, lark.Tree) else None


def name_of(tree: Any) -> Any:
    """The name that a tree is, or None."""
    return str(tree.children[0]) if kind_of(tree) == "name" else None


def called(tree: Any) -> str | None:
    """The name of the function that a tree calls, or None."""
    return str(tree.children[0]) if kind_of(tree) == "call" else None


def vector_of(tree: Any) -> Any:
    """The vector of which a tree is an element, or None."""
    return name_of(tree.children[0]) if kind_of(tree) == "element" else None


def number_of(token) -> int:
    """The number that a whole number of the text is."""
    return int(token, 16 if token[:2] in ("0x", "0X") else 10)


def is_zero(tree) -> bool:
    """Whether a tree is 0."""
    return kind_of(tree) == "integer" and number_of(tree.children[0]) == 0


def is_minus_one(tree) -> bool:
    """Whether a tree is -1."""
    return kind_of(tree) == "negative" and kind_of(tree.children[0]) == "integer" \
        and number_of(tree.children[0].children[0]) == 1


def title_of(function) -> Any:
    """The name of a function."""
    return function.children[1]


def functor_of(function) -> list[Any]:
    """The parameters of a function in []."""
    return [] if function.children[2] is None else function.children[2].children


def parameters_of(function) -> list[Any]:
    """The parameters of a function in ()."""
    return [] if function.children[3] is None else function.children[3].children


def result_of(function) -> tuple[Any, Any]:
    """The name and the type of a function's result; None if it has none."""
    return function.children[4], function.children[5]


def block_of(function) -> Any:
    """The statements of a function."""
    return function.children[-1]


def statements(tree) -> list[Any]:
    """All statements of a tree without their labels, also those in blocks of others."""
    return [each.children[1] for each in tree.find_data("statement")]


def names_in(*trees) -> set[str]:
    """All names that stand in trees."""
    return {str(token) for tree in trees for token in tokens_of(tree) if token.type == "NAME"}


def root_of(tree) -> Any:
    """The value on which a chain of methods begins."""
    while kind_of(tree) == "method":
        tree = tree.children[0]
    return tree


def steps_of(tree) -> list[Any]:
    """The methods of a chain, the first first: name, arguments, place."""
    found = []
    while kind_of(tree) == "method":
        root, name, given = tree.children
        found.append((str(name), [] if given is None else list(given.children), name))
        tree = root
    return found[::-1]


def tokens_of(tree) -> list[Any]:
    """All tokens of a tree, in their order."""
    if isinstance(tree, lark.Token):
        return [tree]
    return list(tree.scan_values(lambda value: isinstance(value, lark.Token)))


# New trees

def mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """A tree with ``change(part)`` in place of each tree in it, the inner ones first."""
    if not isinstance(tree, lark.Tree):
        return tree
    return change(lark.Tree(tree.data, [mapped(child, change) for child in tree.children],
                            tree.meta))


def substituted(tree: Any, trees: dict[str, Any]) -> Any:
    """A tree with others in place of names. A name that is declared or deleted is only replaced by
    another name."""
    def change(part):
        if part.data == "name":
            return copy.deepcopy(trees.get(str(part.children[0]), part))
        if part.data in ("variable", "delete", "for"):
            new = name_of(trees.get(str(part.children[0])))
            if new is not None:
                part.children[0] = part.children[0].update(value=new)
        return part

    return mapped(tree, change)


def made(like: Any, text: str, start: str = "block", **trees: Any) -> Any:
    """The tree of a text at the place of another: statements of a block, a function, or an
    expression.

    Parameters
    ----------
    like : lark.Tree
    text : str
    start : str
        ``"block"``, ``"function"`` or ``"expression"``.
    **trees
        Trees that stand in place of names of the text.
    """
    line, column = where(like)
    tree = _parser().parse(text, start=start)
    for part in tree.iter_subtrees():
        part.meta.empty, part.meta.line, part.meta.column = False, line, column
    for token in tokens_of(tree):
        token.line, token.column = line, column
    tree = substituted(tree, trees)
    return tree.children if start == "block" else tree
