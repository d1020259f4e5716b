"""A planted fault, and its insertion into the text of a source file.

A fault names its place by structure: a file, a class or function in the file, and an expression or
a statement. The place is found in the syntax tree. So a change of layout, of comments or of other
lines does not move the place. A missing or ambiguous place raises a :class:`MutantError`.

In a file of C++ the fault names a piece of text, in which white space does not count.
"""

import ast
import dataclasses
import pathlib
import re


__all__ = ["ROOT", "Mutant", "MutantError", "Refutation"]


#: The project's folder.
ROOT = pathlib.Path(__file__).resolve().parents[2]


class MutantError(Exception):
    """A mutant does not fit the sources. The message names the mutant and the reason."""


@dataclasses.dataclass(frozen=True)
class Refutation:
    """A proof that must refute a mutant.

    Parameters
    ----------
    unit, name, shape : str
        Unit, property and shape, as :mod:`formal.registry` calls them.
    depth : int
        Cycles from reset to check; 0 for a proof by structure.
    full : bool
        Whether the refutation takes too long for the tests, and only ``mutants`` does it.
    """
    unit: str
    name: str
    shape: str
    depth: int = 0
    full: bool = False

    def __str__(self):
        return f"{self.unit}, {self.name}: {self.shape}" + f", {self.depth} cycles" * bool(
            self.depth)


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A planted fault.

    Parameters
    ----------
    name : str
        The fault in words, joined by hyphens.
    file : str
        Source file, from the project's folder.
    place : str
        Class, function or module variable in the file, such as ``"Alu.elaborate"``. Empty means
        the whole file, as it does for C++.
    old, new : str
        An expression and its replacement; or a statement and its replacement, one or more
        statements. In C++, any text and its replacement.
    tests : tuple of str
        Node ids of pytest: at least one of these tests must fail. Empty if a proof is named.
    proof : Refutation, optional
        The proof that must find a run from reset in which an assertion fails.
    occurrence : int or None
        Number of the expression among equal expressions in the place, from 1. None means that
        there must be only one.
    survives : str
        Empty if the tests must notice. Otherwise the reason why no test does: "equivalent: ...", or
        why the fault is not worth a test.
    """
    name: str
    file: str
    place: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    proof: Refutation | None = None
    occurrence: int | None = None
    survives: str = ""

    @property
    def room(self) -> str:
        """Folder of the file."""
        return self.file.rpartition("/")[0]

    @property
    def module(self) -> str:
        """Name of the file's module."""
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def notices(self) -> tuple[str, ...]:
        """Tests or proof that ought to notice, as text."""
        return self.tests if self.proof is None else (str(self.proof),)

    def patched(self, text=None) -> str:
        """Source text with the fault in it, without comments.

        Parameters
        ----------
        text : str, optional
            Source text; by default the text of the file.

        Raises
        ------
        MutantError
            The place is missing or ambiguous, or the fault does not change the text.
        """
        path = ROOT / self.file
        if text is None:
            try:
                text = path.read_text()
            except OSError as error:
                raise self._error(f"cannot be read: {error.strerror}") from None
        if not self.file.endswith(".py"):
            return self._replaced(text)
        tree = ast.parse(text)
        old, new = self._parse()
        if _same(old, new):
            raise self._error("old and new are the same")
        found = self._occurrences(self._place(tree), old)
        tree = _Replace(found, new).visit(tree)
        after = ast.unparse(ast.fix_missing_locations(tree))
        compile(after, str(path), "exec")
        return after + "\n"

    def _replaced(self, text):
        """A text with one piece replaced by another."""
        if self.place or self.old.split() == self.new.split():
            raise self._error("old and new are the same" if not self.place else
                              f"there is no {self.place!r} to be found in a file of this kind")
        found = list(re.finditer(r"\s+".join(map(re.escape, self.old.split())), text))
        place = found[self._chosen(len(found), repr(self.old))]
        return text[:place.start()] + self.new + text[place.end():]

    def _error(self, text):
        return MutantError(f"mutant {self.name}: {self.file}: {text}")

    def _parse(self):
        """Syntax of `old` and of `new`: two expressions, or a statement and a list of them."""
        try:
            try:
                return (ast.parse(self.old, mode="eval").body,
                        ast.parse(self.new, mode="eval").body)
            except SyntaxError:
                [old] = ast.parse(self.old).body
                return old, ast.parse(self.new).body
        except (SyntaxError, ValueError):
            raise self._error("old and new must be two expressions, or a statement and "
                              f"statements: {self.old!r}, {self.new!r}") from None

    def _place(self, tree):
        """The node that `place` names."""
        place = tree
        for name in filter(None, self.place.split(".")):
            found = [node for node in _scope(place) if name in _names(node)]
            if len(found) != 1:
                raise self._error(f"{name!r} of {self.place!r} occurs {len(found)} times")
            [place] = found
        return place

    def _occurrences(self, place, old):
        found = [node for node in ast.walk(place) if _same(node, old)]
        found.sort(key=lambda node: (node.lineno, node.col_offset))
        return found[self._chosen(len(found), repr(ast.unparse(old)))]

    def _chosen(self, count, text):
        """The index of the occurrence that is meant, of so many."""
        where = f"{text} occurs {count} times in {self.place or 'the file'}"
        if self.occurrence is None:
            if count != 1:
                raise self._error(where)
            return 0
        if not 1 <= self.occurrence <= count:
            raise self._error(f"{where}, so there is no occurrence {self.occurrence}")
        return self.occurrence - 1


def _same(one, other):
    """Whether two nodes, lists of nodes or values are equal, apart from their positions."""
    if isinstance(one, ast.expr_context) and isinstance(other, ast.expr_context):
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, ast.AST):
        return all(_same(getattr(one, field, None), getattr(other, field, None))
                   for field in one._fields)
    return one == other


def _names(node):
    """Names that a statement defines."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def _scope(node):
    """Statements below a node, without the statements of inner classes and functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.match_case, ast.ExceptHandler)):
            yield child
            if not isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from _scope(child)


class _Replace(ast.NodeTransformer):
    """Replaces a node by another node or by a list of statements."""

    def __init__(self, old, new):
        self._old, self._new = old, new

    def visit(self, node):
        return self._new if node is self._old else self.generic_visit(node)
