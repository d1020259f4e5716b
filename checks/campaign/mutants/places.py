"""All places of the sources at which an operator makes a mutant.

A place has an identity that does not depend on line numbers: file, class and function, operator,
and a hash of the statement with the change. So a judgement of a mutant stays valid while the
statement stays as it is.
"""

import ast
import collections
import dataclasses
import fnmatch
import functools
import hashlib

from checks.campaign.mutants import sizes, tokens
from checks.campaign.mutants.ladder import rungs
from checks.campaign.mutants.mutant import ROOT, Mutant, MutantError
from checks.campaign.mutants.operators import OPERATORS, exempt


__all__ = ["LEFT_OUT", "FaultPlace", "files", "find", "places", "splice"]


#: Files whose mutants no test can or should notice, with the reason.
LEFT_OUT = {
    "sw/show/figures/*": "pictures of the pages: where lines and words stand, and their colours",
    "sw/show/site/*": "the site's layout",
    "sw/show/report/plots.py": "as sw/show/figures",
    "sw/study/reproduce/plot.py": "as sw/show/figures",
    "sw/study/reproduce/*/published.py":
        "numbers copied from papers: a test would be a second copy",
    "sim/harness/fst/*": "another project's library, in part",
    "sw/vm/cuda/*.cuh": "runs on a GPU of NVIDIA only, which most machines lack",
}

#: Nodes that no operator looks at.
_SIGNS = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop, ast.Name, ast.alias)

#: Suffixes of the files of C++ that have mutants. Pages' JavaScript has none.
_CPP = (".h", ".cpp")


@dataclasses.dataclass(frozen=True)
class FaultPlace:
    """A change of a file's bytes from ``begin`` to ``end`` into ``new``.

    ``id`` names it. ``line`` is the line of ``begin``.
    """
    id: str
    file: str
    operator: str
    line: int
    begin: int
    end: int
    new: str

    def mutant(self) -> Mutant:
        """The mutant, with the tests of the file's room."""
        text = _text(self.file)
        return Mutant(self.id, self.file, self.line, text.decode(),
                      splice(text, self.begin, self.end, self.new), rungs(self.file))

    def is_fault(self) -> bool:
        """Whether the changed file is legal and compiles to other code than before, as folding of
        constants can make equal. In C++ every change counts."""
        if not self.file.endswith(".py"):
            return True
        text = _text(self.file)
        try:
            after = compile(splice(text, self.begin, self.end, self.new), self.file, "exec")
        except (SyntaxError, ValueError):
            return False
        return _code(after) != _code(compile(text, self.file, "exec"))


def splice(text, begin, end, new) -> str:
    """A text of bytes with the part from ``begin`` to ``end`` replaced."""
    return (text[:begin] + new.encode() + text[end:]).decode()


def _code(code):
    """The contents of a code object, without its line numbers."""
    return (code.co_code, code.co_names, code.co_varnames, code.co_exceptiontable,
            [(type(one), _code(one) if hasattr(one, "co_code") else repr(one))
             for one in code.co_consts])


@functools.lru_cache(maxsize=16)
def _text(file):
    return (ROOT / file).read_bytes()


@functools.cache
def files() -> tuple[str, ...]:
    """All source files that have mutants, in order."""
    found = (path.relative_to(ROOT).as_posix() for room in ("base", "hw", "sim", "sw", "synth",
                                                                "checks/course")
             for path in (ROOT / room).rglob("*") if path.suffix in (".py", *_CPP))
    return tuple(sorted(file for file in found
                        if not any(fnmatch.fnmatchcase(file, glob) for glob in LEFT_OUT)))


def find(id_) -> FaultPlace:
    """The place of an identity. Raises MutantError if the sources have no such place."""
    file = id_.partition(":")[0]
    if file in files():
        for place in places(file):
            if place.id == id_:
                return place
    raise MutantError(f"there is no mutant {id_!r} in the sources")


@functools.cache
def places(file) -> tuple[FaultPlace, ...]:
    """All places of a file, in the order of their lines."""
    text = _text(file)
    found = _Walk(text).places if file.endswith(".py") else tokens.places(text)
    count, named = collections.Counter(), []
    for begin, end, operator, where, context, new in sorted(found):
        what = f"{context}|{text[begin:end].decode()}|{new}"
        name = ":".join(filter(None, (file, where, operator,
                                      hashlib.sha256(what.encode()).hexdigest()[:8])))
        count[name] += 1                     # equal statements in one function have numbers
        named.append(FaultPlace(name + f"-{count[name]}" * (count[name] > 1), file, operator,
                           text.count(b"\n", 0, begin) + 1, begin, end, new))
    return tuple(named)


class _Walk(ast.NodeVisitor):
    """Collects the places of a Python source."""

    def __init__(self, text):
        self.places = []
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._scope, self._statement, self._joined, self._contexts = [], None, None, {}
        self._sizes, self._size = set(), None
        self.visit(ast.parse(text))

    def visit(self, node):
        if isinstance(node, _SIGNS) or exempt(node):
            return
        before = self._statement, self._joined, self._size
        if isinstance(node, ast.stmt):
            self._statement = node
        if isinstance(node, ast.JoinedStr) and self._joined is None:
            self._joined = node
        if node in self._sizes:
            self._size = node
        self._sizes.update(sizes.begins(node))
        self._apply(node)
        if isinstance(node, ast.Raise):
            return                           # the rest is a message
        named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        if named:
            self._scope.append(node.name)
        for field, value in ast.iter_fields(node):
            # Types and decorators are no behaviour of their own. A file's or a class's texts are
            # constants that no operator changes.
            if field in ("annotation", "returns", "decorator_list", "bases", "format_spec"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.visit(child)
        if named:
            self._scope.pop()
        self._statement, self._joined, self._size = before

    def _apply(self, node):
        for name, operator in OPERATORS.items():
            for part, new in operator(node):
                if isinstance(part, ast.stmt) and self._scope[-1:] == ["__init__"] and (
                        isinstance(part, ast.Assign)):
                    continue                 # without a field of an object, every test fails
                self._add(name, part, new)

    def _add(self, operator, part, new):
        size = part if part in self._sizes else self._size
        if size is not None and sizes.only_larger(size, _replaced(size, part, new)):
            return
        joined = self._joined
        if joined is not None and joined is not part:   # positions inside are those of no file
            try:
                part, new = joined, ast.unparse(_replaced(joined, part, new))
            except ValueError:
                return                       # this version of Python cannot write it
        elif not isinstance(new, str):
            plain = isinstance(new, (ast.Constant, ast.List, ast.Call, ast.Name))
            new = ast.unparse(new) if plain else f"({ast.unparse(new)})"
        begin = self._starts[part.lineno - 1] + part.col_offset
        end = self._starts[part.end_lineno - 1] + part.end_col_offset
        self.places.append((begin, end, operator, ".".join(self._scope), self._context(), new))

    def _context(self):
        """The statement that a place is in, without the statements inside."""
        node = self._statement
        if node not in self._contexts:
            bare = node
            if hasattr(node, "body"):
                bare = type(node)(**{**vars(node), "body": [], "orelse": [], "decorator_list": []})
            self._contexts[node] = ast.dump(bare)
        return self._contexts[node]


def _replaced(node, part, new):
    """A copy of a node in which a part is replaced."""
    if node is part:
        return new
    if isinstance(node, list):
        return [_replaced(one, part, new) for one in node]
    if not isinstance(node, ast.AST):
        return node
    return type(node)(**{field: _replaced(value, part, new)
                         for field, value in ast.iter_fields(node)})
