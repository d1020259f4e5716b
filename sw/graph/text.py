"""Tables of numbers in text, read at numpy's speed, with errors that name the line.

A file is read in pieces of about a megabyte that end with a line. A piece is first split and
converted by whole-array operations, which can tell only *that* something is wrong. Only in that
case the piece is read again line by line, to find the wrong line. The slow reading also accepts
texts that the quick reading refuses, such as numbers of 19 digits that begin with zeros.
"""

import dataclasses
from typing import Any

import numpy as np

from base.errors import UserError


__all__ = ["Column", "PIECE", "convert", "pieces", "quoted", "read_table", "tokens"]


#: Bytes of a piece. A line of up to as many bytes is read.
PIECE = 1 << 20

_LONGEST = 18  # digits that surely fit in int64


@dataclasses.dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str  #: Its name in errors.
    low: int  #: Smallest legal value; within 32 bits.
    high: int  #: Largest legal value; within 32 bits.
    real: bool = False  #: Whether an integer may be spelled as a real number, ``3.0`` or ``1e3``.
    #: Values are real, and are multiplied by this and rounded to the nearest integer, halves to the
    #: even one.
    scale: float | None = None
    used: bool = True  #: Whether the column is wanted. The text of an unused column is ignored.
    hint: str = ""  #: Added to the error of a value that is not legal.
    numbering: Any = None  #: Any word is legal, and this :class:`Numbering` numbers it.

    @property
    def whole(self):
        """Whether values are digits only."""
        return not self.real and self.scale is None and self.numbering is None


def tokens(text):
    """The begin and end of each token of a text.

    Parameters
    ----------
    text : uint8[n]
        Begins and ends with white space.

    Returns
    -------
    starts, ends : int64[tokens]
    """
    space = (text - np.uint8(9)) < 5
    space |= text == 32
    edges = np.flatnonzero(space[1:] != space[:-1])
    edges += 1
    return edges[0::2], edges[1::2]


def convert(text, starts, ends):
    """The values of tokens as int32 or int64, or ``None`` unless all are integers of at most 18
    digits."""
    if not len(starts):
        return np.empty(0, dtype=np.int64)
    lengths = ends - starts
    longest, shortest = int(lengths.max()), int(lengths.min())
    if longest > _LONGEST:
        return None
    dtype = np.int64 if longest > 9 else np.int32
    lasts = ends - 1
    digits = text.take(lasts) - np.uint8(48)
    legal = digits.max() < 10
    values = digits.astype(dtype)
    for place in range(1, longest):
        longer = None if place < shortest else lengths > place
        if longer is not None and 2 * np.count_nonzero(longer) < len(longer):
            longer = np.flatnonzero(longer)
            digits = text.take(lasts.take(longer) - place) - np.uint8(48)
            values[longer] += digits.astype(dtype) * dtype(10**place)
        else:
            digits = text.take(lasts - place, mode="clip") - np.uint8(48)
            if longer is not None:
                digits *= longer
            values += digits.astype(dtype) * dtype(10**place)
        legal = legal and digits.max() < 10
    return values if legal else None


def _reals(words, column):
    """The values of a real column as int64, or ``None`` if one is not legal."""
    try:
        values = np.fromiter(map(float, words), np.float64, len(words))
    except ValueError:
        return None
    if column.scale is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.rint(values * column.scale)
    if not (np.all(values >= column.low) and np.all(values <= column.high)):
        return None
    whole = values.astype(np.int64)
    return whole if np.all(whole == values) else None


def _convert_quickly(piece, columns):
    """The used columns of the table in ``piece``, or ``None`` where anything is unusual."""
    text = np.frombuffer(piece, dtype=np.uint8)
    starts, ends = tokens(text)
    width = len(columns)
    if len(starts) % width:
        return None
    newlines = np.flatnonzero(text == 10)
    if len(newlines) == len(starts) // width:
        firsts, lasts = starts[0::width], ends[width - 1::width]
        if not (np.all(newlines >= lasts) and np.all(newlines[:-1] < firsts[1:])):
            return None
    else:
        count = np.diff(np.searchsorted(starts, newlines), prepend=0)
        if not np.all((count == 0) | (count == width)):
            return None

    if all(column.whole and column.used for column in columns):
        values = convert(text, starts, ends)
        return None if values is None else values.reshape(-1, width)
    found, words = [], None
    for index, column in enumerate(columns):
        if not column.used:
            continue
        if column.whole:
            found.append(convert(text, starts[index::width], ends[index::width]))
        else:
            words = words or piece.split()
            if column.numbering is not None:
                found.append(column.numbering.of(words[index::width]))
            elif b"_" in piece:              # which Python takes as a part of numbers
                return None
            else:
                found.append(_reals(words[index::width], column))
        if found[-1] is None:
            return None
    return np.stack(found, axis=1)


def _is_legal(values, columns):
    used = [column for column in columns if column.used]
    return all(values[:, i].min() >= column.low and values[:, i].max() <= column.high
               for i, column in enumerate(used))


def quoted(text):
    """Bytes of a file in quotes for a message, cut after 40 characters."""
    text = text.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _integer(token, column):
    """The value of ``token``, or ``None`` if it is not legal in ``column``."""
    if column.numbering is not None:
        return int(column.numbering.of([token])[0])
    try:
        if token.isdigit() and column.scale is None:
            value = int(token)
        elif not column.whole and b"_" not in token:
            value = float(token)
            if column.scale is not None:
                value = round(value * column.scale)
            if value != int(value):
                return None
            value = int(value)
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return value if column.low <= value <= column.high else None


def _convert_slowly(piece, original, columns, path, first_line, hint=""):
    """As :func:`_convert_quickly`, and the line of each row; raises ``UserError`` on the first
    line that is wrong. The error of a line of too many or too few values ends with ``hint``."""
    rows, lines = [], []
    originals = original.split(b"\n")
    for index, line in enumerate(piece.split(b"\n")):
        words = line.split()
        if not words:
            continue
        where = f"{path}: line {first_line + index}"
        if len(words) != len(columns):
            names = " ".join(column.name for column in columns)
            raise UserError(f"{where}: {quoted(originals[index].strip())} has {len(words)} "
                            f"value{'s' * (len(words) != 1)}, must have {len(columns)}: {names}"
                            f"{hint}")
        row = []
        for word, column in zip(words, columns):
            if not column.used:
                continue
            value = _integer(word, column)
            if value is None:
                scaled = "" if column.scale is None else f" times {column.scale:g}"
                raise UserError(f"{where}: {column.name} {quoted(word)}{scaled} is not an integer "
                                f"from {column.low} to {column.high}{column.hint}")
            row.append(value)
        rows.append(row)
        lines.append(first_line + index)
    return np.array(rows, dtype=np.int64).reshape(len(rows), -1), lines


def pieces(stream, path, first_line=1, longest=PIECE):
    """The rest of a stream in pieces of whole lines, about a megabyte each.

    Parameters
    ----------
    stream : buffered binary stream
    path : str
        The file's name in errors.
    first_line : int
        Number of the line at which the stream stands.
    longest : int
        Bytes that a line may have.

    Yields
    ------
    bytes, int
        A piece, with a space before it and a newline at its end, and the number of its first line.

    Raises
    ------
    UserError
        If a line is too long; the error names the line.
    """
    while piece := stream.read(PIECE):
        piece = b" " + piece
        if not piece.endswith(b"\n"):
            piece += stream.readline(longest)
        if not piece.endswith(b"\n"):
            if stream.peek(1):
                number = first_line + piece.count(b"\n")
                raise UserError(f"{path}: line {number}: is longer than {longest} bytes, which no "
                                f"graph needs")
            piece += b"\n"
        yield piece, first_line
        first_line += piece.count(b"\n")


def read_table(stream, path, columns: Any, *, first_line=1, strip=None, rows=None, most=None):
    """Read the rest of ``stream`` as lines of numbers separated by white space.

    Empty lines are ignored.

    Parameters
    ----------
    stream : buffered binary stream
        Read to its end, in pieces.
    path : str
        The file's name in errors.
    columns : sequence of Column, or callable
        The columns of a line; or a function that is called when the first line that has a value was
        stripped, and gives the columns and a hint for lines of another number of values.
    first_line : int
        Number of the line at which the stream stands.
    strip : callable, optional
        Given a piece (bytes, whole lines) and the number of its first line, gives the piece without
        the text that is not part of the table. All newlines stay, in their order.
    rows : int, optional
        Required number of rows.
    most : int, optional
        Largest number of rows.

    Returns
    -------
    uint32[rows, used columns]

    Raises
    ------
    UserError
        If a line has a fault or is longer than :data:`PIECE`; the error names the line.
    """
    tables, seen, hint = [], 0, ""
    settle: Any = columns if callable(columns) else None
    settled: Any = None if settle else columns
    for piece, number in pieces(stream, path, first_line):
        stripped = piece if strip is None else strip(piece, number)
        if settled is None:
            if stripped.isspace():
                continue
            settled, hint = settle()
        table = _convert_quickly(stripped, settled)
        if table is None or (len(table) and not _is_legal(table, settled)):
            table, _ = _convert_slowly(stripped, piece, settled, path, number, hint)
        seen += len(table)
        if rows is not None and seen > rows:
            _, lines = _convert_slowly(stripped, piece, settled, path, number)
            raise UserError(f"{path}: line {lines[rows - seen]}: is one entry more than the "
                            f"{rows} the header says")
        if most is not None and seen > most:
            raise UserError(f"{path}: has more than {most} entries")
        tables.append(table.astype(np.uint32))
    if rows is not None and seen < rows:
        raise UserError(f"{path}: the file ends too early: it has {seen} of the {rows} entries the "
                        f"header says")
    width = 2 if settled is None else sum(column.used for column in settled)
    return np.concatenate([*tables, np.empty((0, width), dtype=np.uint32)])
