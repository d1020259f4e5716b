"""Tables of integers in text, read at numpy's speed, with errors that name the line.

A file is taken in pieces of about a megabyte that end with a line. A piece is first tokenised and
converted by whole-array operations, which can tell only *that* something is wrong. Then, and only
then, the piece is read again line by line, which finds the line to blame. That slow reading
accepts more spellings (``3.0`` for a weight in a file of reals), so it may also succeed.
"""

import dataclasses

import numpy as np

from sw.errors import UserError


__all__ = ["Column", "read_table"]


_PIECE = 1 << 20
_LONGEST = 18  # digits that surely fit in int64


@dataclasses.dataclass(frozen=True)
class Column:
    """What stands in one column of a table.

    Parameters
    ----------
    name : str
        What to call it in errors.
    low, high : int
        Smallest and largest legal value; within 32 bits.
    real : bool
        Whether an integer may be spelled as a real number, ``3.0`` or ``1e3``.
    """

    name: str
    low: int
    high: int
    real: bool = False


def _convert_quickly(piece, columns):
    """The table in ``piece`` as int64, or ``None`` where anything is unusual."""
    text = np.frombuffer(piece, dtype=np.uint8)
    digit = (text - np.uint8(48)) < 10
    if not np.all(digit | (text == 32) | ((text - np.uint8(9)) < 5)):
        return None
    # A change between digit and space is alternately a token's start and its end. The piece is
    # framed: it has a space before the first digit and ends with a newline.
    edges = np.flatnonzero(digit[1:] != digit[:-1])
    edges += 1
    starts, ends = edges[0::2], edges[1::2]
    width = len(columns)
    if len(starts) % width:
        return None
    if not len(starts):
        return np.empty((0, width), dtype=np.int64)

    newlines = np.flatnonzero(text == 10)
    if len(newlines) == len(starts) // width:
        firsts, lasts = starts[0::width], ends[width - 1::width]
        if not (np.all(newlines >= lasts) and np.all(newlines[:-1] < firsts[1:])):
            return None
    else:
        tokens = np.diff(np.searchsorted(starts, newlines), prepend=0)
        if not np.all((tokens == 0) | (tokens == width)):
            return None

    lengths = ends - starts
    longest = int(lengths.max())
    if longest > _LONGEST:
        return None
    ends -= 1
    values = text[ends].astype(np.int64)
    values -= 48
    shortest = int(lengths.min())
    for place in range(1, longest):
        if place < shortest:
            values += (text[ends - place].astype(np.int64) - 48) * 10**place
        else:
            longer = np.flatnonzero(lengths > place)
            values[longer] += (text[ends[longer] - place].astype(np.int64) - 48) * 10**place
    return values.reshape(-1, width)


def _is_legal(values, columns):
    return all(values[:, i].min() >= column.low and values[:, i].max() <= column.high
               for i, column in enumerate(columns))


def _shown(text):
    text = text.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _integer(token, column):
    """The value of ``token``, or ``None`` if it is not what belongs in ``column``."""
    try:
        if token.isdigit():
            value = int(token)
        elif column.real and b"_" not in token and float(token).is_integer():
            value = int(float(token))
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return value if column.low <= value <= column.high else None


def _convert_slowly(piece, original, columns, path, first_line):
    """As :func:`_convert_quickly`, and the line of each row; raises ``UserError`` on the first
    line that is wrong."""
    rows, lines = [], []
    originals = original.split(b"\n")
    for index, line in enumerate(piece.split(b"\n")):
        tokens = line.split()
        if not tokens:
            continue
        where = f"{path}: line {first_line + index}"
        if len(tokens) != len(columns):
            names = " ".join(column.name for column in columns)
            raise UserError(f"{where}: {_shown(originals[index].strip())} has {len(tokens)} "
                            f"value{'s' * (len(tokens) != 1)}, must have {len(columns)}: {names}")
        row = []
        for token, column in zip(tokens, columns):
            value = _integer(token, column)
            if value is None:
                raise UserError(f"{where}: {column.name} {_shown(token)} is not an integer "
                                f"from {column.low} to {column.high}")
            row.append(value)
        rows.append(row)
        lines.append(first_line + index)
    return np.array(rows, dtype=np.int64).reshape(-1, len(columns)), lines


def read_table(stream, path, columns, *, first_line=1, strip=None, rows=None):
    """Read the rest of ``stream`` as lines of integers separated by white space.

    Empty lines are passed over.

    Parameters
    ----------
    stream : binary file
        Read to its end, in pieces.
    path : str
        What to call it in errors.
    columns : sequence of Column
        What stands in a line.
    first_line : int
        Number of the line the stream stands at.
    strip : callable, optional
        Given a piece (bytes, whole lines), gives it back without what is not part of the table,
        with every newline where it was in the order of newlines.
    rows : int, optional
        How many rows there must be.

    Returns
    -------
    uint32[rows, len(columns)]

    Raises
    ------
    UserError
        Naming the line.
    """
    tables, seen = [], 0
    while piece := stream.read(_PIECE):
        piece = b" " + piece + stream.readline()
        if not piece.endswith(b"\n"):
            piece += b"\n"
        stripped = piece if strip is None else strip(piece)
        table = _convert_quickly(stripped, columns)
        if table is None or (len(table) and not _is_legal(table, columns)):
            table, _ = _convert_slowly(stripped, piece, columns, path, first_line)
        seen += len(table)
        if rows is not None and seen > rows:
            _, lines = _convert_slowly(stripped, piece, columns, path, first_line)
            raise UserError(f"{path}: line {lines[rows - seen]}: is one entry more than the {rows} "
                            f"the header says")
        tables.append(table.astype(np.uint32))
        first_line += piece.count(b"\n")
    if rows is not None and seen < rows:
        raise UserError(f"{path}: the file ends too early: it has {seen} of the {rows} entries the "
                        f"header says")
    if not tables:
        return np.empty((0, len(columns)), dtype=np.uint32)
    return np.concatenate(tables)
