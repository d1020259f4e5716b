"""Where the lines of an edge list have source, destination and weight.

The first lines of a file tell it: what separates their values, whether the first one names the
columns, and how many values there are. Programs write edge lists in many ways, such as Gephi with
``Source,Target,Type,Id,Label,Weight``, pandas with a column of row numbers, SNAP with
``id_1,id_2``. Where the names do not tell the columns, the user names them (``--columns``).
"""

import csv
import dataclasses
import re

from base.errors import UserError

from .numbering import SPACE
from .text import quoted
from .titles import known_columns


__all__ = ["DELIMITERS", "LineLayout", "settle"]


#: Separators of values, beside white space. A tab counts only where values are chosen.
DELIMITERS = (b",", b";", b"|")

#: Lines that are looked at.
_LINES = 50

_COMMENT = re.compile(rb"[#%].*")
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclasses.dataclass(frozen=True)
class LineLayout:
    """Where the values of a line are."""

    delimiter: bytes | None  #: The separator of values; None for white space.
    width: int  #: Values of a line.
    picks: tuple[int, ...]  #: The places of source, destination and perhaps weight.
    title: int | None = None  #: The number of the line that names the columns, if there is one.
    hint: str = ""  #: Advice for a line of another number of values, for the end of an error.
    left_out: str = ""  #: Names of the columns that are not read, and what they say of the graph.
    sample: tuple[tuple[bytes, ...], ...] = ()  #: The values of the first lines.

    @property
    def whole(self):
        """Whether the values of a line are all read, in their order."""
        return self.picks == tuple(range(self.width)) and self.delimiter != b"\t"

    def select(self, piece, line, path):
        """The piece with the chosen values of each line only, and spaces between them.

        Raises UserError, naming the line, if a line has another number of values, or one that is
        chosen is empty.
        """
        chosen = []
        for number, text in enumerate(piece.split(b"\n"), start=line):
            if not text.strip():
                chosen.append(b"")
                continue
            where = f"{path}: line {number}"
            fields = _fields(text, self.delimiter, where)
            if len(fields) != self.width:
                raise UserError(f"{where}: {quoted(text.strip())} has {len(fields)} "
                                f"value{'s' * (len(fields) != 1)}, must have {self.width} as the "
                                f"first line{self.hint}")
            for place in self.picks:
                if not fields[place]:
                    raise UserError(f"{where}: value {place + 1} is empty")
            chosen.append(b" ".join(fields[place] for place in self.picks))
        return b" " + b"\n".join(chosen)


def _fields(text, delimiter, where):
    """The values of a line, without quotes; a space within one becomes ``SPACE``."""
    if delimiter is None and b'"' not in text:
        return text.split()
    if b'"' not in text:
        fields = text.split(delimiter)
    else:
        try:
            fields = next(csv.reader([text.strip().decode("latin-1")], strict=True,
                                     skipinitialspace=True,
                                     delimiter=(delimiter or b" ").decode()))
        except csv.Error as error:
            raise UserError(f"{where}: {quoted(text.strip())} cannot be split into values: "
                            f"{error}") from None
        fields = [field.encode("latin-1") for field in fields]
        if delimiter is None:
            fields = [field for field in fields if field]
    return [SPACE.join(field.split()) for field in fields]


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
    """The places that the user names."""
    if all(name.isdecimal() for name in reading.chosen):
        picks = tuple(int(name[:9]) - 1 for name in reading.chosen)
        if max(picks) >= width:
            raise UserError(f"{where}: has {width} value{'s' * (width != 1)}, there is no column "
                            f"{max(picks) + 1} for --columns {reading.columns}")
        return picks
    lower = [name.lower() for name in names]
    for name in reading.chosen:
        if lower.count(name.lower()) != 1:
            raise UserError(f"{where}: has {'no' if name.lower() not in lower else 'more than one'}"
                            f" column {name[:40]!r} for --columns, it has "
                            f"{', '.join(names)[:100]!r}")
    return tuple(lower.index(name.lower()) for name in reading.chosen)


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
    delimiter = next((mark for mark in DELIMITERS if mark in first), None)
    if delimiter is None and b"\t" in first and (
            reading.columns or len(first.split()) > 3 or len(first.split()) < first.count(b"\t")):
        delimiter = b"\t"
    names, *rows = [_fields(text, delimiter, f"{path}: line {at}") for at, text in lines]
    width = len(names)
    numbers = [sum(_NUMBER.fullmatch(field) is not None for field in row) for row in rows[:1]]
    shown = [name.replace(SPACE, b" ").decode("utf-8", "replace") for name in names]
    if names and names[0].endswith(b":") and len(names[0]) > 1:
        raise UserError(f"{where}: {quoted(first.strip())} looks like a vertex and its neighbours; "
                        f"--input-format adjlist reads them")
    titled = not any(map(_NUMBER.fullmatch, names))
    picks, title = known_columns(shown) if titled else None, None
    if reading.columns is not None:
        by_name = not all(name.isdecimal() for name in reading.chosen)
        known, picks = picks, _chosen(reading, shown, width, where)
        if by_name or known or (titled and any(numbers)):
            title = number
    elif picks is not None:
        title = number
    elif titled and any(numbers):
        raise UserError(f"{where}: the names {', '.join(shown)[:60]!r} do not tell which columns "
                        f"are source and destination; --columns SRC,DST[,WEIGHT] names them")
    if picks is None and width not in (2, 3):
        raise _not_an_edge_list(where, first, names, rows)
    if picks is None:
        picks = tuple(range(width))
    left_out = "" if title is None or reading.columns is not None else _left_out(shown, picks, rows)
    if not reading.weighing.used and picks != tuple(range(width)):
        picks = picks[:2]
    return LineLayout(delimiter, width, picks, title, _hint(names, rows), left_out,
                  tuple(map(tuple, (names, *rows))))


def _left_out(names, picks, rows):
    """The names of columns that are not read, and what they say of the graph."""
    text = ", ".join(name for place, name in enumerate(names) if place not in picks and name)
    if any(field.lower() == b"undirected" for row in rows for field in row):
        text += "; edges are undirected by it, --undirected adds the reverse arcs"
    return text


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
