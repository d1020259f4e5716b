"""Readers of graph files, one a format; each may be compressed with gzip.

========  ======================================================================================
suffix    what it is
========  ======================================================================================
``.el``   a line ``u v`` an arc, vertices from 0; ``#`` and ``%`` begin comments
``.wel``  the same with ``u v w``
``.mtx``  Matrix Market, coordinate, square; an entry ``i j`` is an arc from ``i`` to ``j``, and in
          a symmetric file one from ``j`` to ``i`` as well
``.gr``   DIMACS shortest paths: ``c`` comments, one ``p sp V E``, then ``a u v w``, from 1
``.npz``  our own: arrays ``graphloom_graph`` (its version), ``num_vertices``, ``src``, ``dst`` and,
          with weights, ``weights``
========  ======================================================================================

Edge lists do not say how many vertices there are: it is the largest number plus one. Where a
graph ends with isolated vertices, our writer adds a comment ``# graphloom: vertices N``, which the
reader heeds.
"""

import contextlib
import dataclasses
import gzip
import io
import os
import re
import zipfile
import zlib

import numpy as np

from sw.errors import UserError

from .graph import LIMIT, WEIGHT_LIMIT, Graph
from .text import Column, read_table


__all__ = ["NPZ_VERSION", "SUFFIXES", "read", "suffix_of"]


#: Version of the .npz format that is written; no other is read.
NPZ_VERSION = 1

_VERTICES = re.compile(rb"^\s*# graphloom: vertices (\d{1,10})\s*$", re.MULTILINE)
_COMMENT = re.compile(rb"[#%][^\n]*")
_GR_COMMENT = re.compile(rb"^[ \t]*c[^\n]*", re.MULTILINE)
_GR_ARC = re.compile(rb"^[ \t]*a(?=[ \t])", re.MULTILINE)
_HEADER_LIMIT = 1 << 16  # a header line longer than this is no header line


def suffix_of(path):
    """The format ``path`` is named for, as ``(suffix, compressed)``: ``(".el", True)``.

    Raises
    ------
    UserError
        If it is none of ours.
    """
    lower = os.fspath(path).lower()
    compressed = lower.endswith(".gz")
    suffix = os.path.splitext(lower[:-3] if compressed else lower)[1]
    if suffix not in SUFFIXES:
        raise UserError(f"{path}: cannot tell the format from the name, it must end in "
                        f"{', '.join(SUFFIXES)}, or one of these followed by .gz")
    return suffix, compressed


@contextlib.contextmanager
def _opened(path, compressed):
    try:
        with (gzip.open if compressed else open)(path, "rb") as stream:
            yield stream
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file") from None
    except EOFError:
        raise UserError(f"{path}: the compressed file is truncated") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path}: the compressed file is damaged or not gzip: {error}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def _vertex(name, first, num_vertices=None):
    return Column(name, first, (LIMIT - 2 if num_vertices is None else num_vertices - 1) + first)


def _weight(real=False):
    return Column("weight", 0, WEIGHT_LIMIT - 1, real)


def _graph(num_vertices, table, first, name):
    """The graph of a table with columns source, destination and perhaps weight."""
    src, dst = table[:, 0] - np.uint32(first), table[:, 1] - np.uint32(first)
    return Graph(num_vertices, src, dst, table[:, 2] if table.shape[1] == 3 else None, name)


def _header_line(stream, path, number):
    line = stream.readline(_HEADER_LIMIT)
    if len(line) == _HEADER_LIMIT:
        raise UserError(f"{path}: line {number}: is too long for a header line")
    return line


def _is_count(token):
    return token.isdigit() and len(token) <= 20


def _read_edge_list(stream, path, name, columns):
    said = []

    def strip(piece):
        if b"#" not in piece and b"%" not in piece:
            return piece
        said.extend(int(match) for match in _VERTICES.findall(piece))
        return _COMMENT.sub(b"", piece)

    table = read_table(stream, path, columns, strip=strip)
    num_vertices = max([int(table[:, :2].max()) + 1 if len(table) else 0, *said])
    if num_vertices == 0:
        raise UserError(f"{path}: the graph is empty, it must have at least 1 arc")
    return _graph(num_vertices, table, 0, name)


def _read_el(stream, path, name):
    return _read_edge_list(stream, path, name, [_vertex("u", 0), _vertex("v", 0)])


def _read_wel(stream, path, name):
    return _read_edge_list(stream, path, name, [_vertex("u", 0), _vertex("v", 0), _weight()])


def _read_mtx(stream, path, name):
    banner = _header_line(stream, path, 1).decode("utf-8", "replace").lower().split()
    if len(banner) != 5 or banner[0] != "%%matrixmarket" or banner[1] != "matrix":
        raise UserError(f"{path}: line 1: must be '%%MatrixMarket matrix coordinate FIELD "
                        f"SYMMETRY'")
    for word, legal in zip(banner[2:], [["coordinate"], ["pattern", "integer", "real"],
                                        ["general", "symmetric"]]):
        if word not in legal:
            raise UserError(f"{path}: line 1: {word!r} matrices are not graphs, "
                            f"must be {' or '.join(legal)}")
    field, symmetry = banner[3:]

    number = 2
    while (line := _header_line(stream, path, number)).lstrip()[:1] in (b"%", b"") and line:
        number += 1
    sizes = line.split()
    if len(sizes) != 3 or not all(map(_is_count, sizes)):
        raise UserError(f"{path}: line {number}: must be 'ROWS COLUMNS ENTRIES'")
    rows, columns, entries = (int(size) for size in sizes)
    if rows != columns:
        raise UserError(f"{path}: line {number}: a matrix of {rows} rows and {columns} columns is "
                        f"not a graph, must be square")
    if rows == 0:
        raise UserError(f"{path}: line {number}: the graph is empty, it must have at least 1 "
                        f"vertex")
    if max(rows, entries) >= LIMIT:
        raise UserError(f"{path}: line {number}: {max(rows, entries)} is too large, vertices and "
                        f"arcs are at most {LIMIT - 1}")

    table = read_table(
        stream, path,
        [_vertex("row", 1, rows), _vertex("column", 1, rows)]
        + ([] if field == "pattern" else [_weight(real=field == "real")]),
        first_line=number + 1, rows=entries,
        strip=lambda piece: _COMMENT.sub(b"", piece) if b"%" in piece else piece)
    graph = _graph(rows, table, 1, name)
    return graph.undirected() if symmetry == "symmetric" else graph


def _read_gr(stream, path, name):
    number, problem = 0, None
    while problem is None:
        number += 1
        line = _header_line(stream, path, number)
        if not line:
            raise UserError(f"{path}: line {number}: the file ends before 'p sp VERTICES ARCS'")
        if line.lstrip()[:1] in (b"", b"c"):
            continue
        problem = line.split()
    if (len(problem) != 4 or problem[:2] != [b"p", b"sp"]
            or not all(map(_is_count, problem[2:]))):
        raise UserError(f"{path}: line {number}: must be 'p sp VERTICES ARCS' before any arc")
    num_vertices, arcs = int(problem[2]), int(problem[3])
    if num_vertices == 0:
        raise UserError(f"{path}: line {number}: the graph is empty, it must have at least 1 "
                        f"vertex")
    if max(num_vertices, arcs) >= LIMIT:
        raise UserError(f"{path}: line {number}: {max(num_vertices, arcs)} is too large, vertices "
                        f"and arcs are at most {LIMIT - 1}")
    line_number = number + 1

    def strip(piece):
        nonlocal line_number
        lines = piece.count(b"\n")
        if b"c" in piece:
            piece = _GR_COMMENT.sub(b"", piece)
        framed = b"\n" + piece[1:]
        if framed.count(b"\na ") == lines:  # nothing but arcs
            piece = framed.replace(b"\na ", b"\n  ")[1:]
        else:
            for index, line in enumerate(piece.split(b"\n")):
                if line.strip() and line.split()[0] != b"a":
                    raise UserError(f"{path}: line {line_number + index}: must begin with 'a' (an "
                                    f"arc: a FROM TO WEIGHT) or 'c' (a comment)")
            piece = _GR_ARC.sub(b" ", piece)
        line_number += lines
        return piece

    table = read_table(stream, path, [_vertex("from", 1, num_vertices),
                                      _vertex("to", 1, num_vertices), _weight()],
                       first_line=number + 1, strip=strip, rows=arcs)
    return _graph(num_vertices, table, 1, name)


def _read_npz(stream, path, name):
    content = stream.read()
    if not content.startswith(b"PK"):
        raise UserError(f"{path}: is not an .npz file: it does not begin as a zip archive")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files
                      if key in ("graphloom_graph", "num_vertices", "src", "dst", "weights")}
            found = ", ".join(sorted(archive.files)) or "nothing"
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError, OSError,
            NotImplementedError, SyntaxError, TypeError, AttributeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"{path}: the .npz file is damaged: {reason}") from None
    if "graphloom_graph" not in arrays:
        raise UserError(f"{path}: is not a graph of ours: it has no array 'graphloom_graph', it "
                        f"holds {found}")
    for key in ("graphloom_graph", "num_vertices"):
        if key not in arrays or arrays[key].shape != () or arrays[key].dtype.kind not in "iu":
            raise UserError(f"{path}: array {key!r} must be one integer")
    if int(arrays["graphloom_graph"]) != NPZ_VERSION:
        raise UserError(f"{path}: array 'graphloom_graph' says version "
                        f"{int(arrays['graphloom_graph'])}, this program reads {NPZ_VERSION}")
    for key in ("src", "dst"):
        if key not in arrays:
            raise UserError(f"{path}: array {key!r} is missing, it holds {found}")
    if any(arrays[key].ndim != 1 for key in ("src", "dst", "weights") if key in arrays):
        raise UserError(f"{path}: src, dst and weights must be lists of integers")
    graph = Graph(int(arrays["num_vertices"]), arrays["src"], arrays["dst"],
                  arrays.get("weights"), name=path)
    return dataclasses.replace(graph, name=name)


_READERS = {".mtx": _read_mtx, ".el": _read_el, ".wel": _read_wel, ".gr": _read_gr,
            ".npz": _read_npz}

#: The suffixes of the formats.
SUFFIXES = tuple(_READERS)


def read(path):
    """Read a graph file; the format is told by the suffix.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Graph
        As the file has it, named after the file.

    Raises
    ------
    UserError
        If it cannot be read or is not what its suffix says, with the line where there is one.
    """
    path = os.fspath(path)
    suffix, compressed = suffix_of(path)
    name = os.path.basename(path)[:-len(suffix) - 3 * compressed]
    with _opened(path, compressed) as stream:
        return _READERS[suffix](stream, path, name)
