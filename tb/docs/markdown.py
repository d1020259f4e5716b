"""README and the pages of docs as the tests of this folder read them."""

import pathlib
import re
import shlex
import typing
import unicodedata

from sw.cli.tests import ROOT


__all__ = ["Block", "anchors", "blocks", "command_lines", "links", "pages", "spans"]


class Block(typing.NamedTuple):
    """Text that is set as code.

    Attributes
    ----------
    heading : str
        The nearest heading above.
    info : str
        The words behind the fence, such as ``sh``; empty for a block that is indented.
    text : str
        The contents, without the indentation.
    """
    heading: str
    info: str
    text: str


_FENCE = re.compile(r"^(```+|~~~+)\s*(.*)$")
_HEADING = re.compile(r"^#+ +(.*?)\s*#*$")
_LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(<?([^)>\s]*)>?(?:\s+\"[^\"]*\")?\)")
_PROGRAMS = ("graphloom", "./graphloom")

#: Marks where a command ends and another begins.
_OPERATORS = re.compile(r"[|&;()<>]+")


def pages() -> list[pathlib.Path]:
    """README, the other texts beside it, and all pages below docs and examples."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")),
            *sorted((ROOT / "examples").rglob("*.md"))]


def blocks(text) -> list[Block]:
    """The code blocks of a page, fenced or indented by four spaces."""
    found, heading, fence, info, lines = [], "", None, "", []

    def end():
        while lines and not lines[-1]:
            lines.pop()
        if lines:
            found.append(Block(heading, info, "\n".join(lines) + "\n"))
        lines.clear()

    before = ""
    for line in [*text.splitlines(), "end"]:
        mark = _FENCE.match(line)
        if fence is not None:
            if mark and mark[1].startswith(fence) and not mark[2]:
                end()
                fence, info = None, ""
            else:
                lines.append(line)
        elif line.startswith("    ") and (lines or not before):
            lines.append(line[4:])
        elif lines and not line:
            lines.append("")
        else:
            end()
            if mark:
                fence, info = mark[1], mark[2]
            elif title := _HEADING.match(line):
                heading = title[1]
        before = line.strip()
    return found


def _prose(text):
    """A page without its code blocks: headings, paragraphs, tables."""
    kept, fence = [], None
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence is not None:
            if mark and mark[1].startswith(fence) and not mark[2]:
                fence = None
        elif mark:
            fence = mark[1]
        elif not line.startswith("    ") or line.strip().startswith(("-", "*", "|")):
            kept.append(line)
    return "\n".join(kept)


def spans(text) -> list[str]:
    """Code within sentences and tables, each on one line."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", _prose(text))]


def links(text) -> list[str]:
    """Targets of a page's links and pictures."""
    prose = re.sub(r"`[^`]*`", "", _prose(text))
    return _LINK.findall(prose) + re.findall(r"(?:src|srcset|href)=\"([^\"]+)\"", prose)


def command_lines(text) -> list[list[str]]:
    """The arguments of each call of ``graphloom`` in a shell text. An explanation may stand behind
    a number sign or two spaces."""
    found = []
    for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines():
        line = re.sub(r"(?<=\S)  +[^ |&\\].*", "", line)
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.commenters = "#"
        lexer.whitespace_split = True
        words = None
        try:
            tokens = list(lexer)
        except ValueError:              # a quotation that goes on in the next line: no call of ours
            tokens = []
        if tokens[:1] == ["$"]:         # a prompt
            del tokens[0]
        start = True
        for token in tokens:
            if _OPERATORS.fullmatch(token):
                words, start = None, True
            elif words is not None:
                words.append(token)
            elif start and token in _PROGRAMS:
                words, start = [], False
                found.append(words)
            else:
                start = (start and "=" in token) or token in ("do", "then", "else", "time")
    return found


def anchors(text) -> set[str]:
    """Names of a page's headings that a link may point to, on GitHub and on the site alike."""
    names, sites = [], []
    for line in _prose(text).splitlines():
        if title := _HEADING.match(line):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title[1]).replace("`", "").lower()
            names.append(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
            ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
            sites.append(re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip()))
    return set(names) & set(sites)
