"""Features of vertices: a sparse matrix with a row for each vertex and a column for each feature.

A file of features is an ``.npz`` file with the arrays of scipy's ``save_npz`` for a ``csr`` matrix,
which data sets for graph neural networks have too: ``indptr``, ``indices``, ``data`` and ``shape``.
It may also have ``weight``, a dense matrix with a row for each feature. Other arrays, such as
labels, are not read.

A ``.content`` file of a citation graph has features too (:mod:`sw.graph.citations`).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from base.errors import UserError

from .graph import LIMIT
from .npz import check_offsets, read_arrays, shown, word_of
from .source import opened

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["Features", "random_features", "read_features"]


_NEEDED = ("indptr", "indices", "data", "shape")

#: A matrix has at most so many columns, or so many for each entry; and so many entries are drawn.
_MOST_COLUMNS, _COLUMNS_PER_ENTRY = 1 << 22, 32
_MOST_DRAWN = 1 << 26


@dataclasses.dataclass(frozen=True, eq=False)
class Features:
    """A sparse matrix."""
    #: Where the entries of each row begin, and the end. Shape (num_vertices + 1,).
    offsets: NDArray[np.int64]
    #: Shape (entries,). The feature of each entry. An entry that is there twice counts as the sum.
    columns: NDArray[np.int64]
    values: NDArray[Any]  #: Shape (entries,), integers or reals.
    num_columns: int  #: Number of features.
    #: The weight matrix that came with the features, shape (num_columns, dimension), integers or
    #: reals.
    weight: NDArray[Any] | None = None
    name: str = "features"  #: Its name in errors.

    @property
    def num_vertices(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    @property
    def rows(self) -> NDArray[np.int64]:
        """The vertex of each entry."""
        return np.repeat(np.arange(self.num_vertices), np.diff(self.offsets))


def random_features(num_vertices, num_columns, density, seed) -> Features:
    """Features at random places, with values from -1 to 1, the same for the same arguments.

    Parameters
    ----------
    num_vertices, num_columns : int
    density : float
        Share of the places that are drawn, from 0 to 1. A place that is drawn twice has one entry,
        so the share of places with an entry is a little less.
    seed : int

    Raises
    ------
    UserError
        More than 67,108,864 places would be drawn.
    """
    drawn = round(num_vertices * num_columns * density)
    if drawn > _MOST_DRAWN:
        raise UserError(f"density {density:g} of {num_columns} features and {num_vertices} "
                        f"vertices is {drawn} entries, must be at most {_MOST_DRAWN}")
    random = np.random.Generator(np.random.PCG64(seed))
    taken = np.unique(random.integers(0, num_vertices * num_columns, drawn))
    rows, columns = np.divmod(taken, num_columns)
    offsets = np.zeros(num_vertices + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=num_vertices), out=offsets[1:])
    return Features(offsets, columns, random.uniform(-1, 1, len(taken)), num_columns,
                    name=f"random features (seed {seed})")


def read_features(path) -> Features:
    """The features of an ``.npz`` file.

    Raises
    ------
    UserError
        If the file cannot be read or is no ``.npz`` file, an array is missing or has the wrong type
        or length, or a value is not finite.
    """
    with opened(path) as source:
        arrays: dict[str, Any] = read_arrays(path, source, {*_NEEDED, "format", "weight"})
    missing = [name for name in _NEEDED if name not in arrays]
    if missing:
        raise UserError(f"{path}: array {missing[0]!r} is missing; features are a csr matrix of "
                        f"scipy, with {', '.join(_NEEDED)}")
    kind = arrays.get("format")
    if kind is not None and word_of(kind) != "csr":
        raise UserError(f"{path}: is a matrix of scipy of format {shown(word_of(kind))}, must be "
                        "csr; tocsr() makes it so")
    rows, columns = _shape(arrays["shape"], path)
    if columns > max(_MOST_COLUMNS, _COLUMNS_PER_ENTRY * arrays["indices"].size):
        raise UserError(f"{path}: {columns} columns are too many for {arrays['indices'].size} "
                        f"entries: features of more than {_MOST_COLUMNS} columns must have an "
                        f"entry for every {_COLUMNS_PER_ENTRY}")
    offsets, indices = (_integers(arrays[name], name, path) for name in ("indptr", "indices"))
    check_offsets(offsets, rows, len(indices), f"{path}: indptr")
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        raise UserError(f"{path}: indices must be from 0 to {columns - 1}, the columns of shape")
    values = _numbers(arrays["data"], "data", 1, path)
    if len(values) != len(indices):
        raise UserError(f"{path}: data has {len(values)} numbers and indices {len(indices)}, must "
                        "have as many")
    weight = arrays.get("weight")
    if weight is not None:
        weight = _numbers(weight, "weight", 2, path)
        if len(weight) != columns:
            raise UserError(f"{path}: weight has {len(weight)} rows, must have {columns}, one for "
                            "each feature")
    return Features(offsets, indices, values, columns, weight, str(path))


def _shape(shape, path):
    numbers = _integers(shape, "shape", path)
    if len(numbers) != 2 or not all(0 < number < LIMIT for number in numbers.tolist()):
        raise UserError(f"{path}: shape is {tuple(numbers.tolist()[:3])}, must be two numbers from "
                        f"1 to {LIMIT - 1}")
    return numbers.tolist()


def _integers(array, name, path):
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise UserError(f"{path}: {name} is of type {array.dtype} with {array.ndim} dimensions, "
                        "must be a list of integers")
    if array.dtype.itemsize == 8 and len(array) and int(array.max()) >= 1 << 63:
        raise UserError(f"{path}: {name} has the number {int(array.max())}, which is too large")
    return array.astype(np.int64)


def _numbers(array, name, dimensions, path):
    """An array of finite numbers, as int64, or as float64 where that cannot hold them."""
    if array.ndim != dimensions or array.dtype.kind not in "iufb":
        raise UserError(f"{path}: {name} is of type {array.dtype} with {array.ndim} dimensions, "
                        f"must be real numbers with {dimensions}")
    if array.dtype.kind != "f" and int(array.max(initial=0)) < 1 << 63:
        return array.astype(np.int64)
    with np.errstate(over="ignore"):
        numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        at = np.argwhere(~np.isfinite(numbers))[0].tolist()
        raise UserError(f"{path}: {name}{at} is {array[tuple(at)]!s}, must be a finite number, and "
                        "below 1.8e308")
    return numbers
