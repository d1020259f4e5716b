"""Docstrings as Markdown.

The docstrings of the project are reStructuredText in the manner of numpydoc, which the site cannot
read. :func:`markdown` rewrites the parts that differ: roles, literal blocks and simple tables. The
section ``Members`` of a hardware component gets the name of a section that numpydoc knows and the
project does not use (:data:`MEMBERS`).
"""

import re


__all__ = ["MEMBERS", "comment", "markdown"]


_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`(~?)([^`]+)`")

#: A simple table: indentation, rule, perhaps a header with a rule below it, rows, rule.
_TABLE = re.compile(r"(?m)^( *)(=+(?: +=+)+)\n(?:(.*)\n\1\2\n)?((?:\1(?!=).*\S.*\n)+)\1\2$")

#: The section that stands for ``Members``.
MEMBERS = "Other Parameters"

_MEMBERS = re.compile(r"(?m)^Members\n-{7}$")


def markdown(text, link) -> str:
    """A docstring as Markdown.

    Parameters
    ----------
    text : str
        Without common indentation.
    link : callable
        Called with the target of a role, such as ``hw.config.preset`` or ``preset``. It gives the
        full path of the object, or None if the site does not show the object.
    """
    def role(match):
        target = " ".join(match[2].split())
        shown = target.rpartition(".")[2] if match[1] else target
        path = link(target)
        return f"`{shown}`" if path is None else f"[`{shown}`][{path}]"

    text = _TABLE.sub(_table, _ROLE.sub(role, text))
    text = re.sub(r"::(?=\n\n {4})", ":", text)       # Markdown takes the indented block as it is
    return _MEMBERS.sub(f"{MEMBERS}\n{'-' * len(MEMBERS)}", text)


def _table(match):
    """A simple table as a Markdown table. A line whose first cell is empty continues the row."""
    indent, rule, head, body = match.groups()
    starts = [column.start() + len(indent) for column in re.finditer("=+", rule)]

    def cells(line):
        return [line[start:end].strip().replace("|", "\\|")
                for start, end in zip(starts, [*starts[1:], None])]
    rows = []
    for line in body.splitlines():
        row = cells(line)
        if row[0] or not rows:
            rows.append(row)
        else:
            rows[-1] = [f"{old} {new}".strip() for old, new in zip(rows[-1], row)]
    written = [f"{indent}| {' | '.join(row)} |"
               for row in (cells(head or ""), ["---"] * len(starts), *rows)]
    return "\n".join(["", *written, ""])


def comment(lines, number) -> str:
    """The ``#:`` comment behind a line, or else above it, as a docstring.

    Parameters
    ----------
    lines : list of str
        The lines of a file.
    number : int
        The line's, from 1.
    """
    if behind := re.search(r"  #: (.*)", lines[number - 1]):
        return behind[1]
    found = []
    for line in reversed(lines[:number - 1]):
        if not line.lstrip().startswith("#:"):
            break
        found.insert(0, line.lstrip()[2:].removeprefix(" "))
    return "\n".join(found)
