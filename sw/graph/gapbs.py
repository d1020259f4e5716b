"""Reader of the serialized graphs of the GAP benchmarks, ``.sg`` and with weights ``.wsg``.

A byte tells whether the graph is directed. Then come, as little-endian integers of 64 bits, the
number of arcs, the number of vertices, and where each row of arcs begins; then the arcs: the end of
each as 32 bits, with its weight as 32 bits in ``.wsg`` files. The rows of a directed graph follow
once more by destination. An undirected graph has each edge in both directions.
"""

from typing import Any

import numpy as np

from base.errors import UserError

from .graph import LIMIT, Graph, check_density
from .npz import check_offsets


__all__ = ["read_sg"]


_PIECE = 1 << 20


def read_sg(source, path, name, reading, weighted=False):
    """Read a graph; a reader of :mod:`sw.graph.readers`."""
    directed = _array(source.stream, "<u1", 1, path)[0]
    arcs, vertices = _array(source.stream, "<i8", 2, path).tolist()
    if directed > 1 or not (0 <= arcs < LIMIT and 0 < vertices < LIMIT):
        raise UserError(f"{path}: does not begin as a serialized graph of the GAP benchmarks")
    check_density(vertices, arcs, path)
    offsets = _array(source.stream, "<i8", vertices + 1, path)
    check_offsets(offsets, vertices, arcs, f"{path}: is no serialized graph of the GAP benchmarks: "
                  "the begins of its rows")
    columns = _array(source.stream, "<i4", arcs * (1 + weighted), path).reshape(arcs, -1)
    if directed:
        _array(source.stream, "<i8", vertices + 1, path)
        _array(source.stream, "<i4", arcs * (1 + weighted), path)
    if source.stream.read(1):
        raise UserError(f"{path}: is longer than a serialized graph of {vertices} vertices and "
                        f"{arcs} arcs{'' if weighted else '; one with weights is a .wsg file'}")
    weights = reading.weighing.apply(columns[:, 1], path) if weighted else None
    return Graph(vertices, np.repeat(np.arange(vertices, dtype=np.uint32), np.diff(offsets)),
                 columns[:, 0], weights, name)


def _array(stream, kind, count, path) -> Any:
    """The next numbers of a stream, which may claim more than it has."""
    left, data = count * np.dtype(kind).itemsize, bytearray()
    while left:
        piece = stream.read(min(left, _PIECE))
        if not piece:
            raise UserError(f"{path}: the file ends too early for a serialized graph of the GAP "
                            f"benchmarks")
        data += piece
        left -= len(piece)
    return np.frombuffer(data, kind)
