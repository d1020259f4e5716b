"""Sorting edges by vertex, at the speed of counting.

A comparison sort of the edges takes several times as long as the rest of building a format. The
sort keys are numbers below |V|, so a counting sort is enough. Two passes, by neighbour and then by
base, leave every row in ascending order. scipy does both passes: from a list of coordinates to
compressed columns, and from columns to rows. It is imported where it is used, here and elsewhere:
many commands need none of it, and it took a fifth of the time in which a command starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Words = NDArray[np.uint32]


__all__ = ["compress", "expand", "gather_runs", "group", "in_blocks", "rows_in_blocks"]


_INT32_MAX = (1 << 31) - 1


def _indices(array: NDArray[np.integer[Any]], limit: int) -> NDArray[np.integer[Any]]:
    """Numbers below ``limit`` as the signed type that scipy takes them in, without a copy where
    that can be."""
    if limit > _INT32_MAX:
        return array.astype(np.int64)
    return array.view(np.int32) if array.dtype == np.uint32 else array.astype(np.int32)


def compress(bases: NDArray[np.integer[Any]], neighbors: Words, weights: Words | None,
             num_rows: int, num_columns: int) -> tuple[Words, Words, Words | None]:
    """Edges in rows by base.

    Parameters
    ----------
    bases : integers[n], below ``num_rows``
    neighbors : uint32[n], below ``num_columns``
    weights : uint32[n] or None

    Returns
    -------
    offsets : uint32[num_rows + 1]
        Where each row begins, and the end of the last row.
    neighbors : uint32[n]
        Ascending within a row. Parallel edges keep their order.
    weights : uint32[n] or None
        Weights of the edges, in the order of `neighbors`.
    """
    from scipy import sparse     # pyright: ignore[reportMissingTypeStubs]
    limit = max(num_rows, num_columns, len(bases))
    values = np.zeros(len(bases), dtype=np.uint8) if weights is None else weights
    matrix: Any = sparse.coo_array((values, (_indices(bases, limit), _indices(neighbors, limit))),
                              shape=(num_rows, num_columns))
    matrix.has_canonical_format = True       # or parallel edges would be added up
    matrix = matrix.tocsc().tocsr()
    return (matrix.indptr.astype(np.int32, copy=False).view(np.uint32),
            matrix.indices.astype(np.int32, copy=False).view(np.uint32),
            None if weights is None else matrix.data)


def in_blocks(bases: Words, neighbors: Words, weights: Words | None, num_vertices: int,
              block: int | None) -> tuple[Words, Words, Words, Words | None]:
    """Edges in rows by base, block after block. A block has the edges whose neighbours are in one
    range of ``block`` vertices (GraphIt's EdgeBlocking: UGF, 5.2.3, algorithm 2).

    Parameters
    ----------
    bases, neighbors : uint32[n], below ``num_vertices``
    weights : uint32[n] or None
    block : int or None
        None for no blocks: every vertex then has one row, also a vertex without edges.

    Returns
    -------
    owners : uint32[rows]
        The base of each row. With blocks a vertex has a row in every block in which it has edges.
    offsets : uint32[rows + 1]
        Where each row begins, and the end of the last row.
    neighbors : uint32[n]
        Ascending within a row.
    weights : uint32[n] or None
    """
    offsets, neighbors, weights = compress(bases, neighbors, weights, num_vertices, num_vertices)
    if block is None:
        return np.arange(num_vertices, dtype=np.uint32), offsets, neighbors, weights
    # There are few blocks, and numpy sorts narrow integers stably by counting.
    number = (neighbors // np.uint32(block)).astype(np.min_scalar_type(num_vertices // block))
    order = np.argsort(number, kind="stable")
    bases, neighbors, number = expand(offsets)[order], neighbors[order], number[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (bases[1:] != bases[:-1]) | (number[1:] != number[:-1])
    first = np.flatnonzero(begins)
    return (bases[first], np.append(first, len(order)).astype(np.uint32), neighbors,
            None if weights is None else weights[order])


def rows_in_blocks(graph_rows: tuple[Words, Words, Words | None], size: int
                   ) -> tuple[Words, Words, Words, Words | None, Words]:
    """Compressed rows (offsets, neighbours, weights) in blocks of ``size`` vertices: what
    :func:`in_blocks` gives, then the first row of each block, and the number of rows:
    uint32[blocks + 1]."""
    offsets, neighbors, weights = graph_rows
    num_vertices = len(offsets) - 1
    owners, offsets, neighbors, weights = in_blocks(expand(offsets), neighbors, weights,
                                                    num_vertices, size)
    rows = np.searchsorted(neighbors[offsets[:-1]] // np.uint32(size),
                           np.arange(-(-num_vertices // size) + 1)).astype(np.uint32)
    return owners, offsets, neighbors, weights, rows


def group(rows: Words, values: NDArray[Any], num_rows: int) -> tuple[Words, NDArray[Any]]:
    """Values in rows, in each as they come: one pass.

    Parameters
    ----------
    rows : uint32[n], below ``num_rows``
    values : array[n]

    Returns
    -------
    offsets : uint32[num_rows + 1]
    values : array[n]
    """
    from scipy import sparse     # pyright: ignore[reportMissingTypeStubs]
    limit = max(num_rows, len(rows))
    matrix: Any = sparse.coo_array((values, (_indices(rows, limit), _indices(rows, limit))),
                              shape=(num_rows, num_rows))
    matrix.has_canonical_format = True
    matrix = matrix.tocsr()
    return matrix.indptr.astype(np.int32, copy=False).view(np.uint32), matrix.data


def expand(offsets: Words) -> Words:
    """The row of each edge, uint32: the opposite of counting."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets))


def gather_runs(array: NDArray[Any], starts: NDArray[np.integer[Any]],
                length: int) -> NDArray[Any]:
    """``array[start:start + length]`` for each start, one after another.

    Parameters
    ----------
    array : array[n]
    starts : integers[m]
        At most ``n - length`` each.
    length : int

    Returns
    -------
    array[m * length]
    """
    if not len(starts):
        return array[:0].copy()
    if length == 1:
        return array[starts]
    windows = np.lib.stride_tricks.sliding_window_view(array, length)
    return windows[starts].reshape(-1)
