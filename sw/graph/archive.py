"""Graphs in ``.npz`` files: our own arrays, and the sparse matrices of scipy's ``save_npz``.

Ours are ``graphloom_graph`` (the version), ``num_vertices``, ``src``, ``dst``, with weights
``weights``, and ``names`` if the vertices had other ids in the file that they come from.

scipy's ``csr``, ``csc`` and ``coo`` matrices are read. An entry in row ``i`` and column ``j`` is an
arc from ``i`` to ``j``, and its value is the weight. Truth values are no weights.
"""

import numpy as np

from base.errors import UserError

from .graph import LIMIT, Graph
from .npz import check_offsets, read_arrays, shown, word_of


__all__ = ["NPZ_VERSION", "read_npz"]


#: Version of the .npz format that is written; no other is read.
NPZ_VERSION = 1

_OURS = ("graphloom_graph", "num_vertices", "src", "dst", "weights", "names")
_SCIPY = ("format", "shape", "data", "indptr", "indices", "row", "col", "_is_array")
_COMPRESSED = ("csr", "csc")


def _only(arrays, legal, path):
    unknown = [name for name in arrays if name not in legal]
    if unknown:
        raise UserError(f"{path}: has an array {shown(unknown[0])}, it may have "
                        f"{', '.join(legal)}")


def _integers(arrays, name, path):
    array = arrays.get(name)
    if array is None:
        raise UserError(f"{path}: array {name!r} is missing")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise UserError(f"{path}: {name} is of type {array.dtype} with {array.ndim} dimensions, "
                        f"must be a list of integers")
    return array


def read_npz(source, path, name, reading):
    """Read a graph; a reader of :mod:`sw.graph.readers`."""
    arrays = read_arrays(path, source, only={*_OURS, *_SCIPY})
    if "graphloom_graph" in arrays:
        _only(arrays, _OURS, path)
        return _ours(arrays, path, reading.weighing)
    if "format" in arrays and "shape" in arrays:
        return _scipys(arrays, path, reading.weighing)
    found = ", ".join(shown(found) for found in list(arrays)[:8]) or "nothing"
    raise UserError(f"{path}: is neither a graph of Graphloom, which has an array "
                    f"'graphloom_graph', nor a matrix of scipy; it holds {found}")


def _ours(arrays, path, weighing):
    for key in ("graphloom_graph", "num_vertices"):
        if key not in arrays or arrays[key].shape != () or arrays[key].dtype.kind not in "iu":
            raise UserError(f"{path}: array {key!r} must be one integer")
    if int(arrays["graphloom_graph"]) != NPZ_VERSION:
        raise UserError(f"{path}: array 'graphloom_graph' says version "
                        f"{int(arrays['graphloom_graph'])}, this program reads {NPZ_VERSION}")
    src, dst = _integers(arrays, "src", path), _integers(arrays, "dst", path)
    weights = _integers(arrays, "weights", path) if "weights" in arrays else None
    if weights is not None:
        weights = weighing.apply(weights, path)
    names = arrays.get("names")
    if names is not None and (names.ndim != 1 or names.dtype.kind not in "iuU"):
        raise UserError(f"{path}: names is of type {names.dtype} with {names.ndim} dimensions, "
                        f"must be a list of integers or of text")
    return Graph(int(arrays["num_vertices"]), src, dst, weights, name=path, names=names)


def _scipys(arrays, path, weighing):
    kind, data = word_of(arrays["format"]), arrays.get("data")
    if kind not in (*_COMPRESSED, "coo"):
        raise UserError(f"{path}: is a matrix of scipy of format {shown(kind)}, must be csr, csc "
                        f"or coo; tocsr() makes it so")
    _only(arrays, _SCIPY, path)
    shape = _integers(arrays, "shape", path)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise UserError(f"{path}: a matrix of shape {tuple(shape.tolist()[:3])} is not a graph, "
                        f"must be square")
    if data is None or data.ndim != 1:
        raise UserError(f"{path}: array 'data' must be a list of numbers")
    num_vertices = int(shape[0])
    if not 0 < num_vertices < LIMIT:
        raise UserError(f"{path}: a graph has 1 to {LIMIT - 1} vertices, the matrix {num_vertices}")
    if kind == "coo":
        src, dst = _integers(arrays, "row", path), _integers(arrays, "col", path)
    else:
        offsets, dst = _integers(arrays, "indptr", path), _integers(arrays, "indices", path)
        check_offsets(offsets, num_vertices, len(dst), f"{path}: indptr")
        src = np.repeat(np.arange(num_vertices, dtype=np.uint32), np.diff(offsets))
        if kind == "csc":
            src, dst = dst, src
    return Graph(num_vertices, src, dst, weighing.apply(data, path), name=path)
