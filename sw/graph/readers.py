"""Readers of graph files, one a format; each file may be compressed with gzip.

=========  =====================================================================================
format     contents
=========  =====================================================================================
``el``     a line ``u v`` an arc, vertices from 0; ``#`` and ``%`` begin comments
``wel``    the same with ``u v w``
``edges``  an edge list of one of these kinds: its first line tells whether there are weights. The
           values may have commas between them, and a first line of column names; networkx's data
           ``{'weight': 3}`` may stand behind an edge
``mtx``    Matrix Market, coordinate, square; an entry ``i j`` is an arc from ``i`` to ``j``, and in
           a symmetric file one from ``j`` to ``i`` as well
``gr``     DIMACS shortest paths: ``c`` comments, one ``p sp V E``, then ``a u v w``, from 1
``metis``  METIS: a line ``n m [fmt [ncon]]``, then a line a vertex with its neighbours, from 1;
           :mod:`sw.graph.metis`
``cites``  citations between the papers of a ``.content`` file beside it, as Cora is published:
           :mod:`sw.graph.citations`
``npz``    our own arrays, or a matrix of scipy's ``save_npz``: :mod:`sw.graph.archive`
=========  =====================================================================================

The suffix of a file tells its format. The contents tell the format of a file with another suffix.
The first bytes tell an archive, Matrix Market and DIMACS; every other file is read as ``edges``.

Edge lists do not give the number of vertices, so it is the largest number plus one. If a graph ends
with isolated vertices, our writer adds a comment ``# graphloom: vertices N``, which the reader
uses.
"""

import dataclasses
import os
import re
from collections.abc import Callable

import numpy as np

from sw.errors import UserError

from .archive import NPZ_VERSION, read_npz
from .citations import read_cites
from .graph import LIMIT, WEIGHT_LIMIT, Graph
from .metis import read_metis
from .source import opened
from .text import Column, read_table
from .weights import Weighing


__all__ = ["FORMATS", "NPZ_VERSION", "SUFFIXES", "read", "suffix_of"]


_VERTICES = re.compile(rb"^[ \t]*# graphloom: vertices (\d{1,10})[ \t\r]*$", re.MULTILINE)
_COMMENT = re.compile(rb"[#%][^\n]*")
_DATA = re.compile(rb"(?:,[ \t]{0,8})?\{[^{}\n]*\}")
_DATA_WEIGHT = re.compile(rb"['\"]weight['\"]: ?([^\s,{}]+)")
_EMPTY_FIELD = re.compile(rb"^[ \t]*,|,[ \t]*,|,[ \t\r]*$", re.MULTILINE)
_NAME = re.compile(rb"\"?[A-Za-z_][\w .-]*\"?")
_COLUMN_NAMES = (
    {b"source", b"src", b"from", b"u", b"start", b"fromnodeid", b"source_id", b"node1", b"id1"},
    {b"target", b"dst", b"to", b"v", b"end", b"tonodeid", b"destination", b"dest", b"target_id",
     b"node2", b"id2"},
    {b"weight", b"w", b"length", b"cost", b"distance", b"capacity", b"value"})
_GR_COMMENT = re.compile(rb"^[ \t]*c[^\n]*", re.MULTILINE)
_GR_ARC = re.compile(rb"^[ \t]*a(?=[ \t])", re.MULTILINE)
_GR_START = re.compile(rb"(?:[ \t]*c[^\n]*\n|[ \t\r]*\n)*[ \t]*p[ \t]+sp[ \t]")
_HEADER_LIMIT = 1 << 16  # a header line longer than this is no header line


def suffix_of(path):
    """The format in which to write ``path``, as ``(suffix, compressed)``: ``(".el", True)``.

    Raises
    ------
    UserError
        If Graphloom does not write this format.
    """
    lower = os.fspath(path).lower()
    compressed = lower.endswith(".gz")
    suffix = os.path.splitext(lower[:-3] if compressed else lower)[1]
    if suffix not in _WRITTEN:
        raise UserError(f"{path}: cannot tell the format from the name, it must end in "
                        f"{', '.join(_WRITTEN)}, or one of these followed by .gz")
    return suffix, compressed


def _vertex(name, first, num_vertices=None):
    return Column(name, first, (LIMIT - 2 if num_vertices is None else num_vertices - 1) + first)


def _weight(weighing, real=False):
    return Column("weight", 0, WEIGHT_LIMIT - 1, real, weighing.scale, weighing.used,
                  weighing.HINT)


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


class _EdgeList:
    """The parts of an edge list beside its numbers.

    Attributes
    ----------
    said : int or None
        The number of vertices, if a comment gives it.
    """

    def __init__(self, path, header):
        self._path, self._header, self.said = path, header, None

    def strip(self, piece, line):
        """The piece with white space in place of everything but numbers; see ``read_table``."""
        if b"{" in piece:
            piece = _DATA.sub(self._data_weight, piece)
        if b"#" in piece or b"%" in piece:
            for match in _VERTICES.findall(piece):
                if self.said not in (None, int(match)):
                    raise UserError(f"{self._path}: two comments '# graphloom: vertices N' differ: "
                                    f"{self.said} and {int(match)}")
                self.said = int(match)
            piece = _COMMENT.sub(b"", piece)
        if b"," in piece:
            empty = _EMPTY_FIELD.search(piece)
            if empty:
                number = line + piece.count(b"\n", 0, empty.start())
                raise UserError(f"{self._path}: line {number}: a value is missing beside a comma")
        if self._header and not piece.isspace():
            piece = self._without_names(piece, line)
        return piece.replace(b",", b" ") if b"," in piece else piece

    @staticmethod
    def _data_weight(match):
        weight = _DATA_WEIGHT.search(match[0])
        return b" " + weight[1] if weight else b""

    def _without_names(self, piece, line):
        """The piece without the line of column names, if its first line that is not empty is one.
        """
        self._header = False
        begin = len(piece) - len(piece.lstrip())
        end = piece.index(b"\n", begin)
        names = [name for name in re.split(rb"[,\s]+", piece[begin:end].strip().lower()) if name]
        if not all(map(_NAME.fullmatch, names)):
            return piece
        wrong = [name for name, known in zip(names, _COLUMN_NAMES)
                 if name.strip(b'"') not in known]
        if wrong or not 2 <= len(names) <= 3:
            number = line + piece.count(b"\n", 0, begin)
            raise UserError(f"{self._path}: line {number}: column names must be two or three, such "
                            f"as 'source,target,weight', in this order")
        return piece[:begin] + b" " * (end - begin) + piece[end:]


def _read_edge_list(source, path, name, columns, header=False):
    text = _EdgeList(path, header)
    table = read_table(source.stream, path, columns, strip=text.strip, most=LIMIT - 1)
    found = int(table[:, :2].max()) + 1 if len(table) else 0
    if text.said is not None and text.said < found:
        raise UserError(f"{path}: '# graphloom: vertices {text.said}' says fewer vertices than "
                        f"there are: an arc has vertex {found - 1}")
    if max(found, text.said or 0) == 0:
        raise UserError(f"{path}: the graph is empty, it must have at least 1 arc")
    return _graph(text.said or found, table, 0, name)


def _read_el(source, path, name, weighing):
    return _read_edge_list(source, path, name, [_vertex("u", 0), _vertex("v", 0)])


def _read_wel(source, path, name, weighing):
    return _read_edge_list(source, path, name,
                           [_vertex("u", 0), _vertex("v", 0), _weight(weighing)])


def _read_edges(source, path, name, weighing):
    def columns(line, number, original):
        ends = [_vertex("u", 0), _vertex("v", 0)]
        values = len(line.split())
        if values not in (2, 3):
            shown = original.strip()[:40].decode("utf-8", "replace")
            raise UserError(f"{path}: line {number}: {shown!r} has {values} "
                            f"value{'s' * (values != 1)}, must have 2 or 3: u v weight")
        return ends if values == 2 else [*ends, _weight(weighing, real=True)]

    return _read_edge_list(source, path, name, columns, header=True)


def _read_mtx(source, path, name, weighing):
    stream = source.stream
    banner = _header_line(stream, path, 1).decode("utf-8", "replace").lower().split()
    if len(banner) != 5 or banner[0] != "%%matrixmarket" or banner[1] != "matrix":
        raise UserError(f"{path}: line 1: must be '%%MatrixMarket matrix coordinate FIELD "
                        f"SYMMETRY'")
    for word, legal in zip(banner[2:], [["coordinate"], ["pattern", "integer", "real"],
                                        ["general", "symmetric"]]):
        if word not in legal:
            raise UserError(f"{path}: line 1: {word[:40]!r} matrices are not graphs, "
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
        + ([] if field == "pattern" else [_weight(weighing, real=field == "real")]),
        first_line=number + 1, rows=entries,
        strip=lambda piece, line: _COMMENT.sub(b"", piece) if b"%" in piece else piece)
    graph = _graph(rows, table, 1, name)
    return graph.undirected() if symmetry == "symmetric" else graph


def _read_gr(source, path, name, weighing):
    number, problem = 0, None
    while problem is None:
        number += 1
        line = _header_line(source.stream, path, number)
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

    def strip(piece, first_line):
        lines = piece.count(b"\n")
        if b"c" in piece:
            piece = _GR_COMMENT.sub(b"", piece)
        framed = b"\n" + piece[1:]
        if framed.count(b"\na ") == lines:  # nothing but arcs
            return framed.replace(b"\na ", b"\n  ")[1:]
        for index, line in enumerate(piece.split(b"\n")):
            if line.strip() and line.split()[0] != b"a":
                raise UserError(f"{path}: line {first_line + index}: must begin with 'a' (an "
                                f"arc: a FROM TO WEIGHT) or 'c' (a comment)")
        return _GR_ARC.sub(b" ", piece)

    table = read_table(source.stream, path, [_vertex("from", 1, num_vertices),
                                             _vertex("to", 1, num_vertices), _weight(weighing)],
                       first_line=number + 1, strip=strip, rows=arcs)
    return _graph(num_vertices, table, 1, name)


_READERS = {"mtx": _read_mtx, "el": _read_el, "wel": _read_wel, "gr": _read_gr, "npz": read_npz,
            "metis": read_metis, "edges": _read_edges, "cites": read_cites}

#: The formats that can be asked for.
FORMATS = tuple(_READERS)

_WRITTEN = (".mtx", ".el", ".wel", ".gr", ".npz")

_BY_SUFFIX = {suffix: suffix[1:] for suffix in _WRITTEN} | {
    ".graph": "metis", ".metis": "metis", ".cites": "cites"}

#: Suffixes that tell the format of a file.
SUFFIXES = tuple(_BY_SUFFIX)

#: Formats in which vertices are numbered from 0 and files of other programs may number from 1.
_FROM_ZERO = ("el", "wel", "edges")


def _by_content(head):
    if head.startswith(b"PK"):
        return "npz"
    if head[:14].lower() == b"%%matrixmarket":
        return "mtx"
    return "gr" if _GR_START.match(head) else "edges"


def read(path: str | os.PathLike[str], *, input_format: str | None = None,
         weight_scale: float | None = None, no_weights: bool = False,
         note: Callable[[str], object] | None = None) -> Graph:
    """Read a graph file.

    Parameters
    ----------
    path : str or path
        The file.
    input_format : str, optional
        One of :data:`FORMATS`; left out, the suffix or else the contents tell the format.
    weight_scale : float, optional
        Multiply weights by this and round to the nearest integer.
    no_weights : bool
        Read no weights; any text in their place is ignored.
    note : callable, optional
        Called with a line of text on anything that looks odd but may be right.

    Returns
    -------
    Graph
        The graph of the file, named after the file.

    Raises
    ------
    UserError
        If the file cannot be read or has a fault. The error names the line, if any.
    """
    path = os.fspath(path)
    if input_format is not None and input_format not in FORMATS:
        raise UserError(f"there is no input format {input_format!r}; there are "
                        f"{', '.join(FORMATS)}")
    base = os.path.basename(path)
    if base.lower().endswith(".gz"):
        base = base[:-3]
    stem, suffix = os.path.splitext(base)
    name = "".join(letter if letter.isprintable() else "?" for letter in stem or base)
    weighing = Weighing(weight_scale, not no_weights)
    chosen = input_format or _BY_SUFFIX.get(suffix.lower())
    with opened(path) as source:
        found = chosen or _by_content(source.head)
        try:
            graph = _READERS[found](source, path, name, note if found == "cites" else weighing)
        except UserError as error:
            if chosen is None and found == "edges":
                raise UserError(f"{error} (read as an edge list; --input-format names another "
                                f"format)") from None
            raise
    if weight_scale is not None and not no_weights and graph.weights is None:
        raise UserError(f"{path}: has no weights to multiply by {weight_scale:g}")
    if note is not None and found in _FROM_ZERO and graph.num_edges \
            and min(int(graph.src.min()), int(graph.dst.min())) == 1:
        note(f"{path}: vertices seem to be numbered from 1; they are taken as they are, so vertex "
             f"0 has no edge")
    return dataclasses.replace(graph, name=name)
