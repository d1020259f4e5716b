"""Docstrings as Markdown.

The docstrings of the project are reStructuredText in the manner of numpydoc, which the site cannot
read. :func:`markdown` rewrites the parts that differ: roles, literal blocks and simple tables. The
section ``Members`` of a hardware component gets the name of a section that numpydoc knows and the
project does not use (:data:`MEMBERS`).
"""

import re


__all__ = ["MEMBERS", "comment_above", "markdown"]


_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`(~?)([^`]+)`")

#: The first or last line of a simple table, or the one below its header.
_RULE = re.compile(r"( *)=+(?: +=+)+ *$")

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

    lines = _ROLE.sub(role, text).split("\n")
    return _MEMBERS.sub(f"{MEMBERS}\n{'-' * len(MEMBERS)}", "\n".join(_literals(_tables(lines))))


def _tables(lines):
    """Simple tables as Markdown tables."""
    made, place = [], 0
    while place < len(lines):
        match = _RULE.match(lines[place])
        end = place
        if match:
            rules = [place]
            for end in range(place + 1, len(lines)):
                if lines[end].rstrip() == lines[place].rstrip():
                    rules.append(end)
                    if end + 1 == len(lines) or not lines[end + 1].strip():
                        break
            made += _table(match[1], lines[place:end + 1], [rule - place for rule in rules])
        else:
            made.append(lines[place])
        place = end + 1
    return made


def _table(indent, lines, rules):
    """One simple table. A line whose first cell is empty continues the row above."""
    starts = [match.start() for match in re.finditer("=+", lines[0])]
    ends = [*starts[1:], None]
    rows = []
    for line in lines[rules[-2] + 1:rules[-1]]:
        cells = [line[start:end].strip() for start, end in zip(starts, ends)]
        if cells[0] or not rows:
            rows.append(cells)
        else:
            rows[-1] = [f"{old} {new}".strip() for old, new in zip(rows[-1], cells)]
    head = [""] * len(starts)
    if len(rules) > 2:
        head = [lines[rules[0] + 1][start:end].strip() for start, end in zip(starts, ends)]
    written = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
               for row in (head, ["---"] * len(starts), *rows)]
    return ["", *(indent + line for line in written), ""]


def _literals(lines):
    """Literal blocks as fenced blocks."""
    made, place = [], 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if not line.rstrip().endswith("::"):
            made.append(line)
            continue
        outer = len(line) - len(line.lstrip())
        made.append(line.rstrip()[:-1].rstrip() if line.strip() != "::" else "")
        block = []
        while place < len(lines) and (not lines[place].strip()
                                      or len(lines[place]) - len(lines[place].lstrip()) > outer):
            block.append(lines[place])
            place += 1
        while block and not block[-1].strip():
            block.pop()
            place -= 1
        while block and not block[0].strip():
            block.pop(0)
        inner = min((len(row) - len(row.lstrip()) for row in block if row.strip()), default=0)
        made += ["", " " * outer + "```text", *(" " * outer + row[inner:] for row in block),
                 " " * outer + "```"]
    return made


def comment_above(lines, number) -> str:
    """The ``#:`` comment above a line, as a docstring.

    Parameters
    ----------
    lines : list of str
        The lines of a file.
    number : int
        The line's, from 1.
    """
    found = []
    for line in reversed(lines[:number - 1]):
        if not line.lstrip().startswith("#:"):
            break
        found.insert(0, line.lstrip()[2:].removeprefix(" "))
    return "\n".join(found)
