"""Lines of code of the schedules and formats: section 2.5.3."""

import ast
import io
import pathlib
import tokenize

from sw import compile
from sw.compile import formats, schedules

from ..outcome import Comparison, Outcome, Plot, Table, number
from ..paper import Figure
from . import published


__all__ = ["LinesOfCode", "counted", "lines"]


_COMPILE = pathlib.Path(compile.__path__[0])

#: Tokens that are no code.
_BLANK = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
          tokenize.ENDMARKER)


def lines(text) -> int:
    """Lines of Python with code: not blank, no comment, no docstring."""
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _BLANK:
            found |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) \
                    and isinstance(first.value.value, str):
                found -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(found)


def _of(path):
    """Lines of a file, or of all files of a folder."""
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return sum(lines(file.read_text(encoding="utf-8")) for file in files)


def _imported(folder):
    """Modules of ``sw.compile.kernels`` that the files of a folder import by name."""
    found = set()
    for file in sorted((_COMPILE / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(
                    "sw.compile.kernels."):
                found.add(str(node.module).split(".")[3])
    return found


def counted() -> dict:
    """Lines of each schedule and format, and of the parts that they share.

    Parts that schedules share are their base, and the modules of ``sw/compile/kernels`` that
    schedules import and that algorithms, formats and the runtime do not. Parts that formats share
    are the modules of ``sw/compile/formats`` that are no format.
    """
    rooms = {"schedules": schedules.names(), "formats": formats.image_names()}
    found = {}
    for room, names in rooms.items():
        found[room], others = {}, 0
        for path in sorted((_COMPILE / room).iterdir()):
            name = path.stem.replace("_", "-")
            name = {"gshards": "g-shards"}.get(name, name)
            if name in names:
                found[room][name] = _of(path)
            elif path.suffix == ".py" and path.stem != "__init__":
                others += _of(path)
        found[room]["shared"] = others
    own = _imported("schedules").difference(*map(_imported, ("algorithms", "formats", "lower")))
    found["schedules"]["shared"] += sum(_of(_COMPILE / "kernels" / f"{name}.py") for name in own)
    return found


class LinesOfCode(Figure):
    """Section 2.5.3."""
    name = "sec2.5.3"
    title = "lines of code of schedules and formats"
    source = "section 2.5.3"
    method = ("Lines with code, without comments and docstrings, of the files of this tree. The "
              "paper's are lines of CUDA; here a schedule is a generator of instructions. The sums "
              "are of the schedules and formats that both have, and the parts they share.")

    def results(self, setting, found):
        every, tables, comparisons, plots = counted(), [], [], []
        for room, theirs in published.LINES.items():
            ours = every[room]
            names = [*theirs, *(name for name in ours if name not in theirs)]
            tables.append(Table(room, ("", "paper", "here"), tuple(
                (name, number(theirs[name]) if name in theirs else "-", number(ours.get(name)))
                for name in names)))
            both = [name for name in theirs if name in ours]
            comparisons.append(Comparison(f"lines of {room}", number(sum(theirs.values())),
                                          number(sum(ours[name] for name in both))))
            plots.append(Plot(room, "lines", tuple(both), {
                "paper": tuple(theirs[name] for name in both),
                "here": tuple(ours[name] for name in both)}))
        return Outcome(tables, plots, comparisons, every)
