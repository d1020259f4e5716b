"""Reader of Matrix Market files.

``coordinate`` files have a line for each entry: row and column from 1, and its value. ``array``
files have every value, one column after another; a value other than 0 is an entry. An entry ``i j``
is an arc from ``i`` to ``j``. In files that are not ``general``, each entry beside the diagonal is
also one with rows and columns changed. The values of ``complex`` and ``skew-symmetric`` files
cannot be weights, so such files are read without weights only.
"""

import numpy as np

from base.errors import UserError

from .dense import numbers
from .fields import graph_of, header_line, is_count, vertex, weight
from .graph import LIMIT, Graph
from .text import Column, LineForm, pieces, read_table


__all__ = ["read_mtx"]


_FORMS = ("coordinate", "array")
_FIELDS = {"pattern": 0, "integer": 1, "unsigned-integer": 1, "real": 1, "complex": 2}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_FORTRAN = bytes.maketrans(b"Dd", b"Ee")      # 1.0D+01


def _without_comments(piece):
    if b"%" not in piece:
        return piece
    return b"\n".join(line.partition(b"%")[0] for line in piece.split(b"\n"))


def _banner(stream, path):
    """The form, field and symmetry of the first line."""
    banner = header_line(stream, path, 1).decode("utf-8", "replace").lower().split()
    if len(banner) != 5 or banner[0] != "%%matrixmarket" or banner[1] != "matrix":
        raise UserError(f"{path}: line 1: must be '%%MatrixMarket matrix coordinate FIELD "
                        f"SYMMETRY'")
    for word, legal in zip(banner[2:], (_FORMS, tuple(_FIELDS), _SYMMETRIES)):
        if word not in legal:
            advice = "real" if word in ("double", "float") else f"one of {', '.join(legal)}"
            raise UserError(f"{path}: line 1: {word[:40]!r} is not known, must be {advice}")
    form, field, symmetry = banner[2:]
    if form == "array" and field == "pattern":
        raise UserError(f"{path}: line 1: an array has values, so 'pattern' must be real or "
                        f"integer")
    return form, field, symmetry


def _sizes(stream, path, form):
    """Rows, entries, and the number of their line."""
    number = 2
    while (line := header_line(stream, path, number)).lstrip()[:1] in (b"%", b"") and line:
        number += 1
    sizes, where = line.split(), f"{path}: line {number}"
    if len(sizes) != 2 + (form == "coordinate") or not all(map(is_count, sizes)):
        raise UserError(f"{where}: must be 'ROWS COLUMNS{' ENTRIES' * (form == 'coordinate')}'")
    rows, columns, *entries = (int(size) for size in sizes)
    if rows != columns:
        raise UserError(f"{where}: a matrix of {rows} rows and {columns} columns is not a graph, "
                        f"must be square")
    if rows == 0:
        raise UserError(f"{where}: the graph is empty, it must have at least 1 vertex")
    largest = max([rows, *entries])
    if largest >= LIMIT:
        raise UserError(f"{where}: {largest} is too large, vertices and arcs are at most "
                        f"{LIMIT - 1}")
    return rows, entries[0] if entries else None, number


def read_mtx(source, path, name, reading):
    """Read a graph; a reader of :mod:`sw.graph.readers`."""
    stream = source.stream
    form, field, symmetry = _banner(stream, path)
    if reading.weighing.used and (field == "complex" or symmetry == "skew-symmetric"):
        what = "complex values" if field == "complex" else "its negative values"
        raise UserError(f"{path}: line 1: {what} cannot be weights; --no-weights reads the arcs "
                        f"alone")
    rows, entries, number = _sizes(stream, path, form)
    if form == "array":
        graph = _array(stream, path, name, rows, symmetry, _FIELDS[field], reading, number + 1)
    else:
        real = field in ("real", "complex")
        values = [] if field == "pattern" else [weight(reading.weighing, real)]
        if field == "complex":
            values.append(Column("imaginary", 0, 0, used=False))

        def strip(piece, line):
            piece = _without_comments(piece)
            return piece.translate(_FORTRAN) if real and (b"D" in piece or b"d" in piece) else piece

        lines = LineForm((vertex("row", 1, rows), vertex("column", 1, rows), *values))
        table = read_table(stream, path, lines, first_line=number + 1, rows=entries, strip=strip)
        graph = graph_of(rows, table, 1, name)
    return graph if symmetry == "general" else graph.undirected()


def _array(stream, path, name, rows, symmetry, parts, reading, first_line):
    """The graph of an array, whose values stand column by column; those of symmetric matrices from
    the diagonal down, of skew-symmetric ones below it."""
    skipped = {"general": None, "skew-symmetric": 1}.get(symmetry, 0)
    wanted = rows * rows if skipped is None else rows * (rows + 1) // 2 - rows * skipped
    found, seen = [], 0
    for piece, line in pieces(stream, path, first_line):
        found.append(numbers(_without_comments(piece).translate(_FORTRAN), path, line))
        seen += len(found[-1])
        if seen > wanted * parts:
            raise UserError(f"{path}: has more values than the {wanted * parts} of a matrix of "
                            f"{rows} rows")
    if seen < wanted * parts:
        raise UserError(f"{path}: the file ends too early: it has {seen} of the {wanted * parts} "
                        f"values of its matrix")
    values = np.concatenate([np.empty(0), *found]).reshape(wanted, parts)
    at = np.flatnonzero(values.any(axis=1))
    if skipped is None:
        src, dst = at % rows, at // rows
    else:
        lengths = np.arange(rows - skipped, -skipped, -1)          # of the columns
        starts = np.cumsum(lengths) - lengths
        dst = np.searchsorted(starts + lengths, at, side="right")
        src = at - starts[dst] + dst + skipped
    return Graph(rows, src, dst, reading.weighing.apply(values[at, 0], path), name)
