"""Reader of adjacency lists, as networkx writes them: a vertex and its neighbours in each line.

A line ``u v1 v2 ...`` has an arc from ``u`` to each ``v``. A colon may stand behind ``u``, commas
between the others, and comments begin with ``#`` or ``%``. Vertices are numbered from 0.
"""

import dataclasses
import re

import numpy as np

from base.errors import UserError

from .graph import LIMIT, Graph, check_density
from .numbering import Numbering
from .signs import IDS, numbered
from .text import convert, pieces, quoted, tokens


__all__ = ["read_adjacency"]


_COMMENT = re.compile(rb"[#%][^\n]*")
_COLON = re.compile(rb"^([ \t]*[^\s:]+)[ \t]*:", re.MULTILINE)
_LONGEST = 64 << 20      # bytes of a line


def read_adjacency(source, path, name, reading):
    """Read a graph; a reader of :mod:`sw.graph.readers`."""
    numbering = Numbering(path) if reading.number_ids else None
    src, dst, found = [], [], 0
    for piece, line in pieces(source.stream, path, longest=_LONGEST):
        if b"#" in piece or b"%" in piece:
            piece = _COMMENT.sub(b"", piece)
        if b":" in piece:
            piece = _COLON.sub(rb"\1 ", piece)
        piece = piece.replace(b",", b" ")
        text = np.frombuffer(piece, dtype=np.uint8)
        starts, ends = tokens(text)
        if not len(starts):
            continue
        if numbering is not None:
            values = numbering.of(piece.split())
        else:
            values = convert(text, starts, ends)
            if values is None or int(values.max()) >= LIMIT - 1:
                raise _wrong(piece, line, path)
        rows = np.searchsorted(np.flatnonzero(text == 10), starts)
        first = np.concatenate([[True], rows[1:] != rows[:-1]])
        owners = values[first][np.cumsum(first) - 1]
        src.append(owners[~first].astype(np.uint32))
        dst.append(values[~first].astype(np.uint32))
        found = max(found, int(values.max()) + 1)
    if found == 0:
        raise UserError(f"{path}: the graph is empty, it must have at least 1 vertex")
    src, dst = np.concatenate(src), np.concatenate(dst)
    if numbering is not None:
        numbers, names = numbering.settle()
        numbered(names, path, reading.note)
        graph = Graph(len(names), numbers[src], numbers[dst], name=name)
        return dataclasses.replace(graph, names=names)
    check_density(found, len(src), path, IDS)
    return Graph(found, src, dst, name=name)


def _wrong(piece, first_line, path):
    """The error of the first word of a piece that is no vertex."""
    for line, text in enumerate(piece.split(b"\n"), start=first_line):
        for word in text.split():
            if not word.isdigit() or len(word) > 18 or int(word) >= LIMIT - 1:
                return UserError(f"{path}: line {line}: vertex {quoted(word)} is not an integer "
                                 f"from 0 to {LIMIT - 2}{IDS}")
    raise AssertionError("every word is a vertex")
