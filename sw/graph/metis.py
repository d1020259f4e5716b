"""Reader of METIS graph files, the format of METIS, KaHIP and the tenth DIMACS challenge.

The first line is ``n m [fmt [ncon]]``: the numbers of vertices and undirected edges, the kinds of
weights, and the number of weights of a vertex. Then each vertex has a line, from vertex 1 on::

    [size] [weight]*ncon (neighbour [edge weight])*

The digits of ``fmt``, from the right: 1 for edge weights, 1 for vertex weights, 1 for sizes. Each
edge stands in the lines of both its ends. An empty line is a vertex without edges. Lines that begin
with ``%`` are comments. Sizes and weights of vertices are ignored.

A line may be as long as the graph, so a file is read in pieces that end with a token, not a line.
"""

import re

import numpy as np

from base.errors import UserError

from .graph import LIMIT, WEIGHT_LIMIT, Graph, check_density
from .text import PIECE, convert, tokens


__all__ = ["read_metis"]


_COMMENT = re.compile(rb"^[ \t]*%[^\n]*\n?", re.MULTILINE)
_HEADER_LIMIT = 1 << 16
_LONGEST_TOKEN = 64
_MOST_CONSTRAINTS = 1000


def _header(stream, path):
    """Vertices, edges, values that come before the neighbours, values of a neighbour."""
    line, number = b"%", 0
    while line and line.lstrip()[:1] in (b"%", b""):
        line, number = stream.readline(_HEADER_LIMIT), number + 1
    values = line.split()
    where = f"{path}: line {number}"
    if not 2 <= len(values) <= 4 or not all(word.isdigit() and len(word) <= 10 for word in values):
        raise UserError(f"{where}: must be 'VERTICES EDGES [FMT [NCON]]'")
    vertices, edges = int(values[0]), int(values[1])
    flags = values[2].decode().rjust(3, "0") if len(values) > 2 else "000"
    if len(flags) > 3 or set(flags) - {"0", "1"}:
        raise UserError(f"{where}: FMT is {flags!r}, must be three digits of 0 and 1")
    constraints = int(values[3]) if len(values) > 3 else int(flags[1])
    if constraints > _MOST_CONSTRAINTS or (flags[1] == "0" and len(values) > 3 and constraints):
        raise UserError(f"{where}: NCON is {constraints}, must be 1 to {_MOST_CONSTRAINTS} and go "
                        f"with vertex weights")
    if vertices == 0:
        raise UserError(f"{where}: the graph is empty, it must have at least 1 vertex")
    if max(vertices, 2 * edges) >= LIMIT:
        raise UserError(f"{where}: {vertices} vertices and {edges} edges are too many, vertices "
                        f"and arcs are at most {LIMIT - 1}")
    check_density(vertices, 2 * edges, where)
    return vertices, edges, int(flags[0]) + constraints, 1 + int(flags[2])


def _pieces(stream, path):
    """The text in pieces that end with a token or a line, comments left out."""
    at_line_start = True
    while piece := stream.read(PIECE):
        last = piece[piece.rfind(b"\n") + 1:]
        whole_line = b"\n" in piece or at_line_start
        if whole_line and last.lstrip(b" \t").startswith(b"%"):
            piece += stream.readline(PIECE)
        else:
            while not piece[-1:].isspace() and (letter := stream.read(1)):
                piece += letter
                if len(piece) > PIECE + _LONGEST_TOKEN:
                    raise UserError(f"{path}: a number is longer than {_LONGEST_TOKEN} digits")
        begin = 0 if at_line_start else piece.find(b"\n") + 1 or len(piece)
        at_line_start = piece.endswith(b"\n")
        yield piece[:begin] + _COMMENT.sub(b"", piece[begin:])


def _values(stream, path, vertices, most):
    """Every value behind the header, and its line, counted from 0 without comments."""
    values, rows, line, seen, ended = [], [], 0, 0, True
    for piece in _pieces(stream, path):
        text = np.frombuffer(b" " + piece + b" ", dtype=np.uint8)
        starts, ends = tokens(text)
        found = convert(text, starts, ends)
        if found is None:
            wrong = next(word for word in piece.split() if not word.isdigit() or len(word) > 18)
            raise UserError(f"{path}: {wrong[:40].decode('utf-8', 'replace')!r} is not a whole "
                            f"number")
        newlines = np.flatnonzero(text == 10)
        here = line + np.searchsorted(newlines, starts)
        if len(here) and here[-1] >= vertices:
            raise UserError(f"{path}: has more lines than the {vertices} vertices of its header")
        seen += len(found)
        if seen > most:
            raise UserError(f"{path}: has more values than the header says")
        if len(found) and int(found.max()) >= WEIGHT_LIMIT:
            raise UserError(f"{path}: {int(found.max())} is too large, values are at most "
                            f"{WEIGHT_LIMIT - 1}")
        line += len(newlines)
        ended = piece.endswith(b"\n") if piece else ended
        values.append(found.astype(np.uint32))
        rows.append(here.astype(np.uint32))
    if line + (not ended) < vertices:
        raise UserError(f"{path}: the file ends too early: it has {line + (not ended)} lines for "
                        f"the {vertices} vertices of its header")
    none = np.empty(0, dtype=np.uint32)
    return np.concatenate([none, *values]), np.concatenate([none, *rows])


def _check_symmetric(graph, path):
    """Refuse edges that stand in the line of one end only, or have another weight there."""
    for ours, theirs in zip(graph.csr(), graph.csr(reverse=True)):
        if ours is not None and not np.array_equal(ours, theirs):
            raise UserError(f"{path}: an edge is in the line of one of its ends only, or has "
                            f"different weights in the lines of both")


def read_metis(source, path, name, reading):
    """Read a graph; a reader of :mod:`sw.graph.readers`."""
    vertices, edges, before, width = _header(source.stream, path)
    values, rows = _values(source.stream, path, vertices, vertices * before + 2 * edges * width)
    counts = np.bincount(rows, minlength=1)          # up to the last line that has a value
    if before and len(counts) < vertices:
        counts = np.concatenate([counts, [0]])
    wrong = np.flatnonzero((counts < before) | ((counts - before) % width != 0))
    if len(wrong):
        raise UserError(f"{path}: the line of vertex {int(wrong[0]) + 1} has "
                        f"{int(counts[wrong[0]])} values, must have {before} and {width} for each "
                        f"neighbour")
    place = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts) - before
    at = np.flatnonzero((place >= 0) & (place % width == 0))
    src, dst = rows[at], values[at]
    if len(src) != 2 * edges:
        raise UserError(f"{path}: has {len(src)} neighbours in all, must have {2 * edges}: each of "
                        f"the {edges} edges of the header twice")
    if len(dst) and (int(dst.min()) < 1 or int(dst.max()) > vertices):
        at_fault = int(np.flatnonzero((dst < 1) | (dst > vertices))[0])
        raise UserError(f"{path}: vertex {int(src[at_fault]) + 1} has the neighbour "
                        f"{int(dst[at_fault])}, must be from 1 to {vertices}")
    weights = reading.weighing.apply(values[at + 1], path) if width == 2 else None
    graph = Graph(vertices, src, dst - np.uint32(1), weights, name)
    _check_symmetric(graph, path)
    return graph
