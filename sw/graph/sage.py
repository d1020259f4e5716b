"""Sampling-based reordering: vertices move towards the vertices that tiles read with them (SAGE,
section 6).

A tile of lanes reads the words of some neighbours of a vertex at the same time. Words of one
*sector*, a line of memory, are read together. The *locality* of a vertex counts the other vertices
of its tiles that are in its sector. A round has three stages, and each sweep of a stage samples the
tiles of the graph in its present order:

1. The locality of each vertex.
2. A better sector for each vertex, by binary search: of two halves of the vertices, the half that
   has more of the other vertices of its tiles; of equal halves, the lower.
3. The locality that the vertex would have in that sector.

A vertex whose locality grows is then sorted behind the vertices of its new sector. All others keep
their places relative to each other.

All of this is a count (:func:`count`): of the other vertices of the tiles of a vertex, those whose
numbers begin with given bits. On the device a kernel counts
(:mod:`sw.operators.reordering`); here numpy does, for orderings of formats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


__all__ = ["LANES", "ROUNDS", "SECTOR", "SWEEP", "VERTEX", "count", "lines", "one_round", "sage",
           "sampled", "windows"]


#: Lanes of the widest tile, and vertices of a sector, of formats' orderings: those of preset
#: ``default``.
LANES = SECTOR = 16

#: Rounds of formats' orderings.
ROUNDS = 5

#: Factors of the hash that samples vertices; those of xxHash.
VERTEX, SWEEP = 2_654_435_761, 2_246_822_519


def windows(bases: Any, neighbors: Any, num_vertices: int, lanes: int) -> list[Any]:
    """The tiles of a sweep over all rows, by their width.

    Parameters
    ----------
    bases, neighbors : uint32[n]
        The edges. Rows have their neighbours in ascending order.
    num_vertices : int
    lanes : int
        Lanes of the widest tile, a power of two.

    Returns
    -------
    list of (uint32[tiles], uint32[tiles, width])
        For each width from ``lanes`` down to 2: the base of each tile, and its neighbours. A single
        edge behind them is no tile.
    """
    order = np.lexsort((neighbors, bases))
    bases, neighbors = bases[order], neighbors[order]
    sizes = np.bincount(bases, minlength=num_vertices)
    first = np.cumsum(sizes) - sizes
    place = np.arange(len(bases)) - first[bases]
    size = sizes[bases]
    found, width = [], lanes
    while width > 1:
        whole = size & -width
        begin = 0 if width == lanes else size & -2 * width
        chosen = np.flatnonzero((place >= begin) & (place < whole))
        found.append((bases[chosen[::width]], neighbors[chosen].reshape(-1, width)))
        width //= 2
    return found


def sampled(vertices: Any, sweep: int, percent: int) -> Any:
    """Whether the tiles of a base vertex are sampled in a sweep: an array of bool."""
    if percent == 100:
        return np.ones(len(vertices), dtype=bool)
    mixed = vertices.astype(np.uint32) * np.uint32(VERTEX) + np.uint32(
        sweep * SWEEP & 0xFFFF_FFFF)
    return (mixed >> np.uint32(25)) * 100 < percent * 128


def count(tiles: list[Any], shift: int, wanted: Any, sweep: int, percent: int) -> Any:
    """For each vertex: of the other vertices in its tiles, those whose number, shifted to the right
    by ``shift`` bits, is the vertex's word of ``wanted``.

    Parameters
    ----------
    tiles : list
        From :func:`windows`.
    shift : int
    wanted : int64[num_vertices]
    sweep : int
        Number of the sweep, which chooses the samples.
    percent : int
        Share of the base vertices that are sampled.

    Returns
    -------
    int64[num_vertices]
    """
    counts = np.zeros(len(wanted), dtype=np.int64)
    for bases, neighbors in tiles:
        neighbors = neighbors[sampled(bases, sweep, percent)]
        width = neighbors.shape[1]
        prefix, mine = neighbors.astype(np.int64) >> shift, wanted[neighbors]
        found = np.zeros(neighbors.shape, dtype=np.int64)
        for apart in range(1, width):
            found += np.roll(prefix, apart, axis=1) == mine
        counts += np.bincount(neighbors.ravel(), found.ravel(),
                              minlength=len(wanted)).astype(np.int64)
    return counts


def one_round(counted: Callable[[int, Any], Any], num_vertices: int, sector: int) -> Any:
    """The three stages of a round.

    Parameters
    ----------
    counted : callable
        ``counted(shift, wanted)`` makes a sweep over the graph in its present order, as of
        :func:`count`.
    num_vertices : int
    sector : int
        Vertices of a sector, a power of two.

    Returns
    -------
    int64[num_vertices]
        The vertices, by their present numbers, in the new order.
    """
    bits = sector.bit_length() - 1
    levels = max(0, (max(1, num_vertices) - 1).bit_length() - bits)
    numbers = np.arange(num_vertices)
    before = counted(bits, numbers >> bits)
    prefix = np.zeros(num_vertices, dtype=np.int64)
    both = counted(bits + levels, prefix)
    for level in reversed(range(levels)):
        lower = counted(bits + level, 2 * prefix)
        upper = both - lower
        prefix = 2 * prefix + (upper > lower)
        both = np.maximum(lower, upper)
    after = counted(bits, prefix)
    moved = after > before
    expected = np.where(moved, (prefix << bits) + sector - 1, numbers)
    return np.lexsort((numbers, moved, expected))


def sage(sources: Any, destinations: Any, num_vertices: int, *, rounds: int = ROUNDS,
         percent: int = 100, lanes: int = LANES, sector: int = SECTOR) -> Any:
    """The vertices in the order after some rounds.

    Parameters
    ----------
    sources, destinations : uint32[n]
        The edges; tiles are of the out-edges of a vertex.
    num_vertices, rounds : int
    percent : int
        Share of the vertices whose tiles a sweep samples, 1 to 100.
    lanes, sector : int
        Lanes of the widest tile, and vertices of a sector: powers of two.

    Returns
    -------
    int64[num_vertices]
    """
    order = np.arange(num_vertices)
    sweep = 0

    def counted(shift: int, wanted: Any) -> Any:
        nonlocal sweep
        sweep += 1
        return count(tiles, shift, wanted, sweep, percent)

    for _ in range(rounds):
        ids = np.empty(num_vertices, dtype=np.int64)
        ids[order] = np.arange(num_vertices)
        tiles = windows(ids[sources], ids[destinations], num_vertices, lanes)
        order = order[one_round(counted, num_vertices, sector)]
    return order


def lines(bases: Any, neighbors: Any, num_vertices: int, *, lanes: int = LANES,
          sector: int = SECTOR) -> float:
    """The distinct sectors that a tile reads, added up over all tiles and divided by their edges;
    NaN if there is no tile. Parameters are those of :func:`windows` and :func:`sage`."""
    read = edges = 0
    for _, tiles in windows(bases, neighbors, num_vertices, lanes):
        sectors = np.sort(tiles // sector, axis=1)
        read += len(tiles) + int((np.diff(sectors, axis=1) != 0).sum())
        edges += tiles.size
    return read / edges if edges else float("nan")
