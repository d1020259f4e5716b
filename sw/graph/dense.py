"""Dense matrices as text: a line for each row, as numpy and pandas write them.

A value other than 0 in row ``i`` and column ``j`` is an arc from ``i`` to ``j`` with this weight.
A matrix of zeros and ones has no weights. White space, commas or semicolons stand between values.
A first line of names is left out, and so is the name of a row before its values.
"""

import re

import numpy as np

from base.errors import UserError

from .graph import LIMIT, Graph
from .text import pieces, quoted


__all__ = ["numbers", "read_matrix"]


_COMMENT = re.compile(rb"[#%][^\n]*")
_MARK = re.compile(rb"[,;]")
_LONGEST = 64 << 20      # bytes of a line
_DIGITS = 64             # of a value


def _is_number(word):
    try:
        float(word)
    except ValueError:
        return False
    return len(word) <= _DIGITS and b"_" not in word


def numbers(text, path, line):
    """The values of a text as float64, in their order.

    Parameters
    ----------
    text : bytes
        Values with white space between them.
    path : str
    line : int
        Number of the first line of the text.

    Raises
    ------
    UserError
        If a value is no number; the error names its line.
    """
    words = text.split()
    try:
        if max(map(len, words), default=0) <= _DIGITS and b"_" not in text:
            return np.fromiter(map(float, words), np.float64, len(words))
    except ValueError:
        pass
    for number, row in enumerate(text.split(b"\n"), start=line):
        for word in row.split():
            if not _is_number(word):
                raise UserError(f"{path}: line {number}: {quoted(word)} is not a number")
    raise AssertionError("every value is a number")


def read_matrix(source, path, name, reading):
    """Read a graph; a reader of :mod:`sw.graph.readers`."""
    src, dst, values, rows, width, title, named = [], [], [], 0, None, None, False
    for piece, first_line in pieces(source.stream, path, longest=_LONGEST):
        for line, text in enumerate(_COMMENT.sub(b"", piece).split(b"\n"), start=first_line):
            if not text.strip():
                continue
            words = [word.strip() for word in _MARK.split(text)] if _MARK.search(text) \
                else text.split()
            if width is None and title is None and not all(map(_is_number, words)):
                title = words
                continue
            if width is None:
                named = title is not None and (not title[0] or len(words) == len(title) + 1)
                width = len(words) - named
            if len(words) - named != width:
                raise UserError(f"{path}: line {line}: has {len(words)} values, must have "
                                f"{width + named} as the first row")
            if not all(words[named:]):
                raise UserError(f"{path}: line {line}: a value is missing")
            row = numbers(b" ".join(words[named:]), path, line)
            columns = np.flatnonzero(row)
            src.append(np.full(len(columns), rows, np.uint32))
            dst.append(columns.astype(np.uint32))
            values.append(row[columns])
            rows += 1
    if width is None or width == 0:
        raise UserError(f"{path}: the matrix is empty, it must have at least 1 row")
    if rows != width or width >= LIMIT:
        raise UserError(f"{path}: a matrix of {rows} rows and {width} columns is not a graph, must "
                        f"be square")
    values = np.concatenate(values)
    weights = None if (values == 1).all() else reading.weighing.apply(values, path)
    return Graph(width, np.concatenate(src), np.concatenate(dst), weights, name)
