"""The curated mutants: faults that operators cannot make, and those that proofs must refute.

The files of ``checks/campaign/mutants/curated`` list them by source file. A fault is a list: its
place, an expression or a statement there, what stands there instead, and what must notice: ids of
tests, or a proof. A place is a class, a function or a module's variable, such as ``Alu.elaborate``;
empty means the whole file, as it does in C++. ``Alu.elaborate#2`` is the second of equal
expressions there.

A place is found in the syntax tree. So a change of layout, of comments or of other lines does not
move it. In C++ the fault is a piece of text, in which white space does not count.
"""

import ast
import dataclasses
import functools
import re
import tomllib

from checks.campaign.mutants.mutant import ROOT, Mutant, MutantError, Refutation
from checks.campaign.mutants.places import splice


__all__ = ["CuratedFault", "faults", "find"]


@dataclasses.dataclass(frozen=True)
class CuratedFault:
    """A fault as a file of ``checks/campaign/mutants/curated`` has it."""
    name: str  #: See above.
    file: str  #: See above.
    place: str  #: See above.
    old: str  #: See above.
    new: str  #: See above.
    tests: tuple[str, ...] = ()  #: Node ids of pytest: at least one of these tests must fail.
    proof: Refutation | None = None  #: The proof that must refute the fault.

    def mutant(self, text=None) -> Mutant:
        """The mutant of a source text, by default that of the file.

        Raises
        ------
        MutantError
            The place is missing or ambiguous, or the fault does not change the text.
        """
        try:
            before = (ROOT / self.file).read_bytes() if text is None else text.encode()
        except OSError as error:
            raise self._error(f"cannot be read: {error.strerror}") from None
        begin, end, new = (self._in_python if self.file.endswith(".py") else self._in_cpp)(before)
        after = splice(before, begin, end, new)
        if self.file.endswith(".py"):
            try:
                compile(after, self.file, "exec")
            except SyntaxError as error:
                raise self._error(f"the fault is no Python: {error}") from None
        return Mutant(self.name, self.file, before.count(b"\n", 0, begin) + 1, before.decode(),
                      after, (self.tests,) if self.tests else (), self.proof)

    def _error(self, text):
        return MutantError(f"mutant {self.name}: {self.file}: {text}")

    def _in_cpp(self, text):
        """Begin, end and new text of the changed piece."""
        if self.old.split() == self.new.split():
            raise self._error("old and new are the same")
        pattern = r"\s+".join(map(re.escape, self.old.split()))
        found = list(re.finditer(pattern.encode(), text))
        place = found[self._chosen(len(found), repr(self.old))]
        return *place.span(), self.new

    def _in_python(self, text):
        old, new = self._parse()
        tree = ast.parse(text)
        if not isinstance(new, list) and _same(old, new):
            raise self._error("old and new are the same")
        inside = self._inside(tree)
        found = sorted((node for node in ast.walk(inside) if _same(node, old)),
                       key=lambda node: (node.lineno, node.col_offset))
        node = found[self._chosen(len(found), repr(ast.unparse(old)))]
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        begin = starts[node.lineno - 1] + node.col_offset
        indent = "\n" + " " * node.col_offset
        written = (indent.join(line for one in new for line in ast.unparse(one).splitlines())
                   if isinstance(new, list) else f"({ast.unparse(new)})")
        return begin, starts[node.end_lineno - 1] + node.end_col_offset, written

    def _parse(self):
        """Syntax of `old` and of `new`: two expressions, or a statement and a list of them."""
        try:
            try:
                return (ast.parse(self.old, mode="eval").body,
                        ast.parse(self.new, mode="eval").body)
            except SyntaxError:
                [old] = ast.parse(self.old).body
                if isinstance(old, ast.Expr):            # a call whose place a statement takes
                    old = old.value
                return old, ast.parse(self.new).body
        except (SyntaxError, ValueError):
            raise self._error("old and new must be two expressions, or a statement and "
                              f"statements: {self.old!r}, {self.new!r}") from None

    def _inside(self, tree):
        """The node that the place names."""
        place, names = tree, self.place.partition("#")[0]
        for name in filter(None, names.split(".")):
            found = [node for node in _scope(place) if name in _names(node)]
            if len(found) != 1:
                raise self._error(f"{name!r} of {names!r} occurs {len(found)} times")
            [place] = found
        return place

    def _chosen(self, count, text):
        """The index of the occurrence that is meant, of so many."""
        names, _, number = self.place.partition("#")
        where = f"{text} occurs {count} times in {names or 'the file'}"
        if not number:
            if count != 1:
                raise self._error(where)
            return 0
        if not 1 <= int(number) <= count:
            raise self._error(f"{where}, so there is no occurrence {number}")
        return int(number) - 1


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


@functools.cache
def faults() -> tuple[CuratedFault, ...]:
    """All curated faults, in the order of their files."""
    found = []
    for path in sorted((ROOT / "checks/campaign/mutants/curated").glob("*.toml")):
        for file, entries in tomllib.loads(path.read_text()).items():
            for name, (place, old, new, *notices) in entries.items():
                proofs = [Refutation(**one) for one in notices if isinstance(one, dict)]
                tests = tuple(one for one in notices if isinstance(one, str))
                found.append(CuratedFault(name, file, place, old, new, tests, *proofs))
    return tuple(found)


def find(name) -> Mutant:
    """The curated mutant of a name. Raises MutantError if there is none."""
    for fault in faults():
        if fault.name == name:
            return fault.mutant()
    raise MutantError(f"there is no mutant {name!r}; --list with --curated or --sample shows ids")
