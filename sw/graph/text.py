"""Tables of numbers in text, read at numpy's speed, with errors that name the line.

A file is read in pieces of about a megabyte that end with a line. A piece is first split and
converted by whole-array operations, which can tell only *that* something is wrong. Only in that
case the piece is read again line by line, to find the wrong line. The slow reading also accepts
texts that the quick reading refuses, such as numbers of 19 digits that begin with zeros, or values
in quotes that have a separator.
"""

import csv
import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from base.errors import UserError


__all__ = ["Column", "LineForm", "PIECE", "convert", "ids", "pieces", "quoted", "read_table",
           "split", "tokens"]


#: Bytes of a piece. A line of up to as many bytes is read.
PIECE = 1 << 20

_LONGEST = 18  # digits that surely fit in int64
_EXACT = 15    # digits of whole numbers that float64 has, as it has this power of ten
_BLANKS = 16   # beside a value


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


@dataclasses.dataclass(frozen=True)
class LineForm:
    """How the lines of a table are divided into values."""

    columns: tuple[Column, ...]  #: Those of a line, also the unused ones.
    delimiter: bytes | None = None  #: The separator of values; None for white space.
    #: Whether values may be in quotes, in which separators are part of the value.
    quotes: bool = False
    hint: str = ""  #: The end of the error of a line of too many or too few values.

    @property
    def wanted(self):
        """The values that a line must have, for errors."""
        names = [column.name for column in self.columns]
        return f"{len(names)}: {' '.join(names)}" if all(names) else \
            f"{len(names)} as the first line"


def split(text, delimiter, where):
    """The values of a line, without quotes.

    Raises UserError, which begins with ``where``, for quotes that do not end.
    """
    if b'"' not in text:
        if delimiter is None:
            return text.split()
        fields = text.split(delimiter)
    else:
        text = text.strip()
        if delimiter is not None:
            text = re.sub(rb'"[ \t]+(?=%b)' % re.escape(delimiter), b'"', text)
        try:
            fields = next(csv.reader([text.decode("latin-1")], strict=True,
                                     skipinitialspace=True,
                                     delimiter=(delimiter or b" ").decode()))
        except csv.Error as error:
            raise UserError(f"{where}: {quoted(text.strip())} cannot be split into values: "
                            f"{error}") from None
        fields = [field.encode("latin-1") for field in fields]
        if delimiter is None:
            fields = [field for field in fields if field]
    return [field.strip() for field in fields]


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


def _decimals(text, starts, ends):
    """The values of tokens as float64, or ``None`` unless all are of at most 15 digits, with at
    most one point between them. Both parts of the quotient are exact, so it is the nearest."""
    points = np.append(np.flatnonzero(text == 46), len(text))
    at = np.minimum(points[np.searchsorted(points, starts)], ends)
    behind = at < ends
    if np.any(ends - starts > _EXACT + behind) or np.any(at == starts):
        return None
    values, places = convert(text, starts, at), np.maximum(ends - at - 1, 0)
    more = convert(text, at[behind] + 1, ends[behind]) if places[behind].all() else None
    if values is None or more is None:
        return None
    power = 10.0 ** places
    values = values * power
    values[behind] += more
    return values / power


def _reals(text, starts, ends, column):
    """The values of a real column as int64, or ``None`` if one is not legal."""
    values = convert(text, starts, ends)
    if values is None:
        values = _decimals(text, starts, ends)
    if values is None:
        words = _words(text, starts, ends)
        if any(b"_" in word for word in words):          # which Python takes as a part of numbers
            return None
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


def _words(text, starts, ends):
    piece = text.tobytes()
    return [piece[start:end] for start, end in zip(starts.tolist(), ends.tolist())]


def ids(text, starts, ends, numbering):
    """What stands for ids: whole numbers for themselves, else the numbers of words."""
    values = convert(text, starts, ends)
    if values is not None and not np.any((text[starts] == 48) & (ends - starts > 1)):
        return values
    return numbering.of(_words(text, starts, ends))


def _tokens_of_lines(text, width):
    """The begins and ends of the values between white space, [rows, width] each; ``None`` unless
    all lines that have values have ``width`` of them."""
    starts, ends = tokens(text)
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
    return starts.reshape(-1, width), ends.reshape(-1, width)


def _fields_of_lines(text, width, delimiter):
    """The same for values between delimiters."""
    newline = text == 10
    ends = np.flatnonzero(newline | (text == ord(delimiter)))
    starts = np.concatenate([[0], ends[:-1] + 1])
    # A piece begins with a space, which may be all of its first line.
    empty = newline[ends] & newline[starts - 1] & ((starts == ends) | (ends == 1))
    starts, ends = starts[~empty], ends[~empty]
    if len(ends) % width:
        return None
    last = newline[ends].reshape(-1, width)
    if not last[:, -1].all() or last[:, :-1].any():
        return None
    return starts.reshape(-1, width), ends.reshape(-1, width)


def _trimmed(text, starts, ends):
    """The begins and ends of values without the white space beside them."""
    for _ in range(_BLANKS):
        blank = (text[starts] <= 32) & (starts < ends)
        starts = starts + blank
        also = (text[ends - 1] <= 32) & (starts < ends)
        ends = ends - also
        if not (blank.any() or also.any()):
            break
    return starts, ends


def _places(text, lines):
    """The begins and ends of the values of each used column; ``None`` if anything is unusual."""
    width = len(lines.columns)
    found = _tokens_of_lines(text, width) if lines.delimiter is None \
        else _fields_of_lines(text, width, lines.delimiter)
    if found is None:
        return None
    marks = np.count_nonzero(text == 34) if lines.quotes else 0
    places = []
    for column, starts, ends in zip(lines.columns, found[0].T, found[1].T):
        if not (column.used or marks):
            continue
        if lines.delimiter is not None:
            starts, ends = _trimmed(text, starts, ends)
        if marks:
            begins = text[starts] == 34
            if np.any(begins != (text[ends - 1] == 34)) or np.any(ends - starts < 2 * begins):
                return None
            starts, ends = starts + begins, ends - begins
            marks -= 2 * np.count_nonzero(begins)
        if column.used and np.any(starts >= ends):
            return None
        if column.used:
            places.append((starts, ends))
    return None if marks else places


def _convert_quickly(piece, lines):
    """The used columns of the table in ``piece``, or ``None`` where anything is unusual."""
    text = np.frombuffer(piece, dtype=np.uint8)
    places = _places(text, lines)
    if places is None:
        return None
    found = []
    for column, (starts, ends) in zip((column for column in lines.columns if column.used), places):
        if column.numbering is not None:
            values = ids(text, starts, ends, column.numbering)
        elif column.whole:
            values = convert(text, starts, ends)
        else:
            values = _reals(text, starts, ends, column)
        if values is None or (len(values) and column.numbering is None and not (
                values.min() >= column.low and values.max() <= column.high)):
            return None
        found.append(values)
    return found


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


def _convert_slowly(piece, original, lines, path, first_line):
    """As :func:`_convert_quickly`, and the line of each row; raises ``UserError`` on the first
    line that is wrong."""
    rows, numbers = [], []
    originals = original.split(b"\n")
    for index, line in enumerate(piece.split(b"\n")):
        if not line.strip():
            continue
        where = f"{path}: line {first_line + index}"
        words = split(line, lines.delimiter, where) if lines.delimiter or lines.quotes \
            else line.split()
        if len(words) != len(lines.columns):
            raise UserError(f"{where}: {quoted(originals[index].strip())} has {len(words)} "
                            f"value{'s' * (len(words) != 1)}, must have {lines.wanted}{lines.hint}")
        row = []
        for place, (word, column) in enumerate(zip(words, lines.columns), start=1):
            if not column.used:
                continue
            if not word:
                raise UserError(f"{where}: {quoted(originals[index].strip())}: value {place} is "
                                f"empty, must be {column.name}")
            value = _integer(word, column)
            if value is None:
                scaled = "" if column.scale is None else f" times {column.scale:g}"
                raise UserError(f"{where}: {column.name} {quoted(word)}{scaled} is not an integer "
                                f"from {column.low} to {column.high}{column.hint}")
            row.append(value)
        rows.append(row)
        numbers.append(first_line + index)
    width = sum(column.used for column in lines.columns)
    return list(np.array(rows, dtype=np.int64).reshape(len(rows), width).T), numbers


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


def read_table(stream, path, lines: LineForm | Callable[[], LineForm], *, first_line=1, strip=None,
               rows=None, most=None):
    """Read the rest of ``stream`` as lines of numbers.

    Empty lines are ignored.

    Parameters
    ----------
    stream : buffered binary stream
        Read to its end, in pieces.
    path : str
        The file's name in errors.
    lines : LineForm, or callable
        How lines are divided; or a function that is called when the first line that has a value was
        stripped, and gives it.
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
    list of uint32[rows]
        The used columns. One with a numbering is of signed integers, to be given to
        :meth:`~sw.graph.numbering.Numbering.settle`. Empty if there is no line and ``lines`` is a
        function.

    Raises
    ------
    UserError
        If a line has a fault or is longer than :data:`PIECE`; the error names the line.
    """
    settled = lines if isinstance(lines, LineForm) else None
    found, seen = [], 0
    for piece, number in pieces(stream, path, first_line):
        stripped = piece if strip is None else strip(piece, number)
        if settled is None and not isinstance(lines, LineForm):
            if stripped.isspace():
                continue
            settled = lines()
        values = _convert_quickly(stripped, settled)
        if values is None:
            values, _ = _convert_slowly(stripped, piece, settled, path, number)
        seen += len(values[0])
        if rows is not None and seen > rows:
            _, numbers = _convert_slowly(stripped, piece, settled, path, number)
            raise UserError(f"{path}: line {numbers[rows - seen]}: is one entry more than the "
                            f"{rows} the header says")
        if most is not None and seen > most:
            raise UserError(f"{path}: has more than {most} entries")
        found.append([column if kind is np.int32 else column.astype(kind)
                      for column, kind in zip(values, _kinds(settled))])
    if rows is not None and seen < rows:
        raise UserError(f"{path}: the file ends too early: it has {seen} of the {rows} entries the "
                        f"header says")
    return [] if settled is None else _joined(found, settled)


def _kinds(lines):
    """The type of each used column, or the narrowest one with a numbering."""
    return [np.uint32 if column.numbering is None else np.int32
            for column in lines.columns if column.used]


def _joined(found, lines):
    """The columns of all pieces. Pieces are given up column by column, to take little memory."""
    columns = []
    for place, kind in enumerate(_kinds(lines)):
        columns.append(np.concatenate([*(values[place] for values in found), np.empty(0, kind)]))
        for values in found:
            values[place] = None
    return columns
