"""Sentences of pages, docstrings and comments that begin with a word that hides their subject.

``python -m tb.docs.sentences`` lists these sentences and counts them by room.
"""

import ast
import collections
import dataclasses
import inspect
import io
import pathlib
import re
import sys
import tokenize


__all__ = ["ROOT", "Sentence", "all_hidden", "hidden", "of_page", "of_source", "pages", "sources"]


ROOT = pathlib.Path(__file__).resolve().parents[2]

#: First words after which the noun is missing or comes too late.
WORDS = ("What", "Who", "Of", "That")

_FENCE = re.compile(r"(?ms)^( *)(```|~~~).*?^\1\2 *$")
_INDENTED = re.compile(r"(?m)^(?: {4}|\t).*$")

#: Where a paragraph, an item, a cell of a table, a heading or the text on a parameter begins.
_BEGIN = re.compile(r"(?m)^\s*$|^\s*(?:[-*+]|\d+\.)\s+|\||^#+ +"
                    r"|^(?![-*+|#]|\d+\.)\S.*\n(?= +\S)")


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A sentence and its place.

    Parameters
    ----------
    path : pathlib.Path
        The file, relative to the tree.
    line : int
        The line on which its paragraph or docstring begins.
    text : str
        The sentence in one line.
    """
    path: pathlib.Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def _split(text):
    """(line in the text, sentence) of each sentence in paragraphs, items and cells."""
    begin = 0
    for end in [*(match.end() for match in _BEGIN.finditer(text)), len(text)]:
        # The mark at the end of the piece belongs to the next one.
        piece = text[begin:end]
        line = text.count("\n", 0, begin + len(piece) - len(piece.lstrip()))
        for sentence in re.split(r"(?<=[.!?:])[*_)\"']*\s+(?=[*_(\"'`]*[A-Z])", piece):
            sentence = re.sub(r"\s*(?:\||[-*+]|\d+\.|#+)?\s*$", "", " ".join(sentence.split()))
            if sentence:
                yield line, sentence
        begin = end


def hidden(sentence) -> bool:
    """Whether a sentence begins with one of :data:`WORDS` and is no question."""
    first = re.match(r"[\W_]*(\w+)", sentence)
    return bool(first) and first[1] in WORDS and not sentence.rstrip("*_)\"'` ").endswith("?")


def of_page(path):
    """Yield the sentences of a page in Markdown, without its blocks of code."""
    def blank(match):
        return re.sub(r"[^\n]+", "", match[0])
    text = _INDENTED.sub("", _FENCE.sub(blank, path.read_text(encoding="utf-8")))
    for line, sentence in _split(text):
        yield Sentence(path.relative_to(ROOT), line + 1, sentence)


def of_source(path):
    """Yield the sentences of the docstrings and comments of a module in Python."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef
                          | ast.AsyncFunctionDef):
            continue
        found = ast.get_docstring(node, clean=False)
        if found:
            start = node.body[0].lineno
            for line, sentence in _split(inspect.cleandoc(found)):
                yield Sentence(path.relative_to(ROOT), start + line, sentence)
    for line, comment in _comments(text):
        for _, sentence in _split(comment):
            yield Sentence(path.relative_to(ROOT), line, sentence)


def _comments(text):
    """(line, text) of the comments; those on consecutive lines of their own are one."""
    block, start, last = [], 0, -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        row, column = token.start
        words = token.string.lstrip("#: ").rstrip()
        alone = not token.line[:column].strip()
        if block and alone and row == last + 1:
            block.append(words)
        else:
            if block:
                yield start, "\n".join(block)
            block, start = [words], row
        last = row if alone else -1
    if block:
        yield start, "\n".join(block)


def sources():
    """The Python modules of the tree."""
    return sorted(path for room in ("hw", "sw", "sim", "synth", "formal", "campaign", "tb",
                                    "examples", "datasets")
                  for path in (ROOT / room).rglob("*.py"))


def pages():
    """The pages in Markdown: those of the top folder, of ``docs`` and of ``examples``."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")),
            *sorted((ROOT / "examples").rglob("*.md"))]


def all_hidden():
    """Every sentence of pages, docstrings and comments that :func:`hidden` finds."""
    return [sentence for read, paths in ((of_page, pages()), (of_source, sources()))
            for path in paths for sentence in read(path) if hidden(sentence.text)]


def main() -> int:
    found = all_hidden()
    for sentence in found:
        print(sentence)
    print(f"{len(found)} sentences begin with {', '.join(WORDS)}")
    for room, count in sorted(collections.Counter(s.path.parts[0] for s in found).items()):
        print(f"{count:6} {room}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
