"""Reader of adjacency lists, as networkx writes them: a vertex and its neighbours in each line.

A line ``u v1 v2 ...`` has an arc from ``u`` to each ``v``. A colon may stand behind ``u``, commas
between the others, and comments begin with ``#`` or ``%``. Vertices are numbered from 0.
"""

import re

import numpy as np

from base.errors import UserError

from .graph import LIMIT, Graph, check_density
from .numbering import Numbering
from .signs import IDS, numbered
from .text import convert, ids, pieces, quoted, tokens


__all__ = ["read_adjacency"]


_COMMENT = re.compile(rb"[#%][^\n]*")
_COLON = re.compile(rb"^([ \t]*[^\s:]+)[ \t]*:", re.MULTILINE)
_LONGEST = 64 << 20      # bytes of a line


def read_adjacency(source, path, name, reading):
    """Read a graph; a reader of :mod:`sw.graph.readers`."""
    numbering = Numbering(path) if reading.relabel else None
    first, src, dst, met = reading.first or 0, [], [], []
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
            values = ids(text, starts, ends, numbering)
        else:
            values = convert(text, starts, ends)
            if values is None or not first <= values.min() <= values.max() < LIMIT - 1 + first:
                raise _wrong(piece, line, path, first)
        rows = np.searchsorted(np.flatnonzero(text == 10), starts)
        begins = np.concatenate([[True], rows[1:] != rows[:-1]])
        owners = values[begins][np.cumsum(begins) - 1]
        src.append(owners[~begins])
        dst.append(values[~begins])
        met.append(values[begins])
    if not met:
        raise UserError(f"{path}: the graph is empty, it must have at least 1 vertex")
    columns = [np.concatenate(column) for column in (src, dst, met)]
    if numbering is not None:
        (src, dst, _), names = numbering.settle(columns)
        numbered(names, path, reading.note)
        return Graph(len(names), src, dst, name=name, names=names)
    found = max(int(column.max(initial=0)) for column in columns[1:]) + 1 - first
    check_density(found, len(columns[0]), path, IDS)
    return Graph(found, columns[0] - first, columns[1] - first, name=name)


def _wrong(piece, first_line, path, first):
    """The error of the first word of a piece that is no vertex."""
    for line, text in enumerate(piece.split(b"\n"), start=first_line):
        for word in text.split():
            if not word.isdigit() or len(word) > 18 or not \
                    first <= int(word) < LIMIT - 1 + first:
                return UserError(f"{path}: line {line}: vertex {quoted(word)} is not an integer "
                                 f"from {first} to {LIMIT - 2 + first}{IDS}")
    raise AssertionError("every word is a vertex")
