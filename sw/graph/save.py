"""Writers of graph files, one a format; each may be compressed with gzip.

A file is written whole or not at all (:mod:`base.output`). The same graph gives the same bytes.
"""

import gzip
import io
import os

import numpy as np

from base.errors import UserError
from base.output import replacing

from .graph import Graph
from .names import storable
from .readers import NPZ_VERSION, suffix_of
from .signs import has_sizes


__all__ = ["write"]


_ROWS = 1 << 16


def _write_arcs(stream, graph, first, begin=""):
    """Write a line for each arc, with vertices counted from ``first``, and its weight if any."""
    columns = [graph.src, graph.dst] + [graph.weights] * (graph.weights is not None)
    pattern = begin + " ".join(["%d"] * len(columns)) + "\n"
    for start in range(0, graph.num_edges, _ROWS):
        rows = np.stack([column[start:start + _ROWS] for column in columns], axis=1,
                        dtype=np.int64)
        rows[:, :2] += first
        stream.write((pattern * len(rows) % tuple(rows.ravel().tolist())).encode())


def _write_edge_list(stream, graph):
    last = max(int(graph.src.max()), int(graph.dst.max())) if graph.num_edges else -1
    # The comment also says that a first arc is no line of sizes, if it looks like one.
    if graph.num_vertices > last + 1 or has_sizes(graph.src, graph.dst, graph.weights):
        stream.write(b"# graphloom: vertices %d\n" % graph.num_vertices)
    _write_arcs(stream, graph, 0)


def _write_mtx(stream, graph):
    field = "pattern" if graph.weights is None else "integer"
    stream.write(b"%%%%MatrixMarket matrix coordinate %s general\n" % field.encode())
    stream.write(b"%d %d %d\n" % (graph.num_vertices, graph.num_vertices, graph.num_edges))
    _write_arcs(stream, graph, 1)


def _write_gr(stream, graph):
    stream.write(b"p sp %d %d\n" % (graph.num_vertices, graph.num_edges))
    _write_arcs(stream, graph, 1, "a ")


def _write_npz(stream, graph):
    more = {} if graph.weights is None else {"weights": graph.weights}
    if graph.names is not None:
        more["names"] = storable(graph.names)
    archive = io.BytesIO()  # a zip file wants to seek, a gzip stream cannot
    np.savez(archive, graphloom_graph=np.int64(NPZ_VERSION),
             num_vertices=np.int64(graph.num_vertices), src=graph.src, dst=graph.dst, **more)
    stream.write(archive.getbuffer())


_WRITERS = {".mtx": _write_mtx, ".el": _write_edge_list, ".wel": _write_edge_list,
            ".gr": _write_gr, ".npz": _write_npz}


def write(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write ``graph`` in the format the suffix of ``path`` names.

    Reading the file gives the same vertices, arcs (in the same order) and weights. Only ``.npz``
    files keep the names of vertices.

    Parameters
    ----------
    graph : Graph
        The graph to write.
    path : str or path
        The file; the suffix ``.gz`` compresses it.

    Raises
    ------
    UserError
        If the suffix is unknown, the format cannot hold the graph (``.el`` has no weights, ``.wel``
        and ``.gr`` must have them), or the file cannot be written.
    """
    suffix, compressed = suffix_of(path)
    if suffix in (".wel", ".gr") and graph.weights is None:
        raise UserError(f"{path}: {suffix} files have weights and {graph.name} has none, write "
                        f".el, .mtx or .npz")
    if suffix == ".el" and graph.weights is not None:
        raise UserError(f"{path}: .el files have no weights and {graph.name} has, write .wel, "
                        f".mtx, .gr or .npz")
    with replacing(path) as stream:
        if compressed:
            with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=stream,
                               mtime=0) as packed:
                _WRITERS[suffix](packed, graph)
        else:
            _WRITERS[suffix](stream, graph)
