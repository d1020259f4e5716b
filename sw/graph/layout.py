"""Where the lines of an edge list have source, destination and weight.

The first lines of a file tell it: what separates their values, whether the first one names the
columns, and how many values there are. Programs write edge lists in many ways, such as Gephi with
``Source,Target,Type,Id,Label,Weight``, pandas with a column of row numbers, SNAP with
``id_1,id_2``. Where the names do not tell the columns, the user names them (``--columns``).
"""

import dataclasses
import re

from base.errors import UserError

from .graph import LIMIT
from .text import quoted, split
from .titles import known_columns


__all__ = ["DELIMITERS", "LineLayout", "picked", "settle"]


#: Separators of values, beside white space. Commas come last, as they may be within numbers. A tab
#: counts where values are chosen, are empty or have spaces.
DELIMITERS = (b";", b"|", b",")

#: Lines that are looked at.
_LINES = 50

_COMMENT = re.compile(rb"[#%].*")
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_LETTER = re.compile(rb"[A-Za-z\x80-\xff]")


@dataclasses.dataclass(frozen=True)
class LineLayout:
    """Where the values of a line are."""

    delimiter: bytes | None  #: The separator of values; None for white space.
    width: int  #: Values of a line.
    picks: tuple[int, ...]  #: The places of source, destination and perhaps weight.
    title: int | None = None  #: The number of the line that names the columns, if there is one.
    hint: str = ""  #: Advice for a line of another number of values, for the end of an error.
    words: bool = False  #: Whether the first ids are no vertex numbers, but words or larger.
    notes: tuple[str, ...] = ()  #: What to say of the columns.
    sample: tuple[tuple[bytes, ...], ...] = ()  #: The values of the first lines.

    @property
    def whole(self):
        """Whether the values of a line are all read, in their order."""
        return self.picks == tuple(range(self.width)) and self.delimiter != b"\t"


def _sample(piece, line):
    """The first lines that have values, as (number, text)."""
    found = []
    for number, text in enumerate(piece.split(b"\n"), start=line):
        if b'"' not in text:
            text = _COMMENT.sub(b"", text)
        if text.strip():
            found.append((number, text))
            if len(found) == _LINES:
                break
    return found


def _chosen(reading, names, width, where):
    """The places that the user names or numbers."""
    lower, picks = [name.lower() for name in names], []
    for name in reading.chosen:
        if name.isdecimal():
            picks.append(int(name[:9]) - 1)
            if picks[-1] >= width:
                raise UserError(f"{where}: has {width} value{'s' * (width != 1)}, there is no "
                                f"column {picks[-1] + 1} for --columns {reading.columns}")
        elif lower.count(name.lower()) == 1:
            picks.append(lower.index(name.lower()))
        else:
            many = "more than one" if name.lower() in lower else "no"
            raise UserError(f"{where}: has {many} column {name[:40]!r} for --columns, it has "
                            f"{', '.join(names)[:100]!r}")
    if len(set(picks)) < len(picks):
        raise UserError(f"{where}: --columns {reading.columns} names a column twice")
    return tuple(picks)


def settle(piece, line, path, reading) -> LineLayout:
    """The layout by the first lines of a file.

    Parameters
    ----------
    piece : bytes
        Whole lines, of which one has a value.
    line : int
        Number of its first line.
    path : str
        The file's name in errors.
    reading : sw.graph.reading.Reading

    Raises
    ------
    UserError
        If the lines do not tell the columns. The error names the option that does.
    """
    lines = _sample(piece, line)
    number, first = lines[0]
    where = f"{path}: line {number}"
    delimiter = _delimiter(lines, reading, path)
    fields = [split(text, delimiter, f"{path}: line {at}") for at, text in lines]
    names, *rows = fields
    width = len(names)
    if rows and all(len(row) == width + 1 for row in rows) and _title(names, rows):
        names, width = [b"", *names], width + 1          # R names rows, but not their names
    trailing = width > 1 and all(len(row) == width and not row[-1] for row in fields)
    if trailing:
        names, rows = names[:-1], [row[:-1] for row in rows]
    if names and names[0].endswith(b":") and len(names[0]) > 1:
        raise UserError(f"{where}: {quoted(first.strip())} looks like a vertex and its neighbours; "
                        f"--input-format adjlist reads them")
    picks, titled, notes = _picked(names, rows, reading, where)
    if picks is None:
        if len(names) not in (2, 3):
            raise _not_an_edge_list(where, first, names, rows)
        picks = tuple(range(len(names)))
    if not reading.weighing.used and picks != tuple(range(width)):
        picks = picks[:2]
    arcs = rows if titled else [names, *rows]
    words = len(arcs) > 1 and any(_is_word(arcs[0][at]) for at in picks[:2] if at < len(arcs[0]))
    if words and not titled and not {*names} & {field for row in rows for field in row}:
        shown = ",".join(name.decode("utf-8", "replace") for name in names)
        notes = (f"the first line, {shown[:60]!r}, is taken for an arc; --columns takes it for "
                 "names",)
    return LineLayout(delimiter, width, picks, number if titled else None, _hint(names, rows),
                      words, notes, tuple(map(tuple, (names, *rows))))


def _delimiter(lines, reading, path):
    """What separates the values of the first lines; None for white space."""
    def widths(mark):
        return {len(split(text, mark, f"{path}: line {number}")) for number, text in lines}
    first = lines[0][1]
    found = [mark for mark in DELIMITERS if mark in first]
    if found:
        return next((mark for mark in found if len(widths(mark)) == 1), found[-1])
    tabs, words = first.count(b"\t"), len(first.split())
    known = tabs and widths(b"\t") == {tabs + 1} \
        and known_columns([name.decode("utf-8", "replace").strip() for name in first.split(b"\t")])
    return b"\t" if tabs and (reading.columns or words > 3 or words < tabs or known) else None


def _is_word(value):
    """Whether an id is no vertex number, nor a slip of one such as -1, 0.5 or 1,000."""
    if value.isdigit():
        return len(value) > 18 or int(value) >= LIMIT - 1
    return _LETTER.search(value) is not None and _NUMBER.fullmatch(value) is None


def _title(names, rows):
    """Whether the first line may be one of names: it has no number, and the next one has."""
    return not any(map(_NUMBER.fullmatch, names)) \
        and any(map(_NUMBER.fullmatch, rows[0] if rows else ()))


def picked(names, reading, path):
    """The places of source, destination and perhaps weight in a table whose columns have names.

    Parameters
    ----------
    names : sequence of bytes
    reading : sw.graph.reading.Reading
    path : str
        The file's name in errors.

    Raises
    ------
    UserError
        If the names do not tell the columns. The error names the option that does.
    """
    picks, _, notes = _picked(names, None, reading, path)
    for note in notes:
        reading.note(f"{path}: {note}")
    picks = picks or (0, 1)
    return picks if reading.weighing.used else picks[:2]


def _picked(names, rows, reading, where):
    """The places of the columns, None for those in order; whether the first line is one of names,
    as it is without rows; and notes."""
    shown = [name.decode("utf-8", "replace") for name in names]
    title = rows is None or _title(names, rows)
    known = None if any(map(_NUMBER.fullmatch, names)) else known_columns(shown)
    if reading.columns is not None:
        by_name = not all(name.isdecimal() for name in reading.chosen)
        return (_chosen(reading, shown, len(names), where),
                bool(by_name or known or title), ())
    if known is not None:
        return known, True, _left_out(shown, known, rows or ())
    if title and len(names) == 2:
        return None, True, (f"the columns {', '.join(shown)[:60]!r} are taken for source and "
                            "destination",)
    if title:
        raise UserError(f"{where}: the names {', '.join(shown)[:60]!r} do not tell which columns "
                        f"are source and destination; --columns SRC,DST[,WEIGHT] names them")
    return None, False, ()


def _left_out(names, picks, rows):
    """A note of the columns that are not read, and of what they say of the graph."""
    text = ", ".join(name for place, name in enumerate(names) if place not in picks and name)
    if any(field.lower() == b"undirected" for row in rows for field in row):
        text += "; edges are undirected by it, --undirected adds the reverse arcs"
    return (f"columns that are not read: {text}",) if text else ()


def _hint(first, rows):
    """Advice for lines that differ in their number of values, for the end of an error."""
    widths = {len(row) for row in rows}
    hint = ""
    if all(word.isdigit() for word in first) and len(widths) == 1 and widths <= {2, 3} \
            and len(first) not in widths and (len(first) < 3 or first[:1] == first[1:-1]):
        hint = "; --input-format counted takes the first line as numbers of vertices and arcs"
    elif widths - {len(first)}:
        hint = "; --input-format adjlist reads a vertex and its neighbours in each line"
    return hint


def _not_an_edge_list(where, first, names, rows):
    """The error of lines of one value, or of more than three."""
    width = len(names)
    ways = _hint(names, rows)
    if not ways and width > 1 and (width == len(rows) + 1 or len(rows) + 1 == _LINES <= width):
        ways = "; --input-format matrix reads a matrix, --columns 1,2 or 1,2,3 an edge list"
    elif not ways and width > 1:
        ways = ("; --columns 1,2 or 1,2,3 chooses them, --input-format adjlist reads a vertex and "
                "its neighbours in each line")
    return UserError(f"{where}: {quoted(first.strip())} has {width} value{'s' * (width != 1)}, "
                     f"must have 2 or 3: u v weight{ways}")
