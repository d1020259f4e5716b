"""Orderings: new numbers for a graph's vertices, so that neighbours have numbers close together.

An ordering depends on the edges alone, and not on their weights or the storage format. The same
edges always give the same ordering.

``louvain``
    By community (CR2, 3.3.2). scikit-network's Louvain finds the communities. A community of more
    than :data:`GRAIN` vertices is divided again, at a resolution four times as fine, until it fits
    or does not divide. The result is a hierarchy, and vertices are numbered along it.
``rcm``
    Reverse Cuthill-McKee (scipy): breadth first from a vertex of few edges, neighbours by degree,
    and then backwards. It makes the bandwidth of the adjacency matrix small.
``gorder``
    By common in-neighbours in a window (:mod:`sw.graph.gorder`).
``sage``
    By rounds that move vertices towards the vertices that tiles read with them
    (:mod:`sw.graph.sage`).

The last two go by the direction of the edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from base.errors import UserError
from base.installation import advice, obtain
from sw.graph.gorder import gorder
from sw.graph.sage import ROUNDS, sage

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .compress import Words


__all__ = ["GRAIN", "ORDERS", "ROUNDS", "new_ids"]


#: Vertices of the largest community that is not divided: 1 KiB of values.
GRAIN = 256

_LEVELS = 6
_FINER = 4


def _pattern(sources: Any, destinations: Any, num_vertices: int) -> Any:
    """The adjacency matrix, made symmetric: the number of edges between two vertices."""
    from scipy import sparse     # pyright: ignore[reportMissingTypeStubs]
    ends = (np.concatenate([sources, destinations]).astype(np.int32),
            np.concatenate([destinations, sources]).astype(np.int32))
    return sparse.coo_matrix((np.ones(len(ends[0])), ends), shape=(num_vertices,) * 2).tocsr()


def _louvain(sources: Any, destinations: Any, num_vertices: int) -> Any:
    if not obtain("sknetwork"):
        raise UserError("reorder=louvain needs the package scikit-network, which there is for "
                        f"Python 3.11 to 3.13: {advice('reorder')}")
    from sknetwork.clustering import Louvain
    community = np.zeros(num_vertices, dtype=np.int64)
    levels = []
    for level in range(_LEVELS):
        large = np.bincount(community)[community] > (GRAIN if level else 1)
        inside = large[sources] & (community[sources] == community[destinations]) \
            & (sources != destinations)
        if not inside.any():
            break
        sources, destinations = sources[inside], destinations[inside]
        part = Louvain(resolution=float(_FINER ** level), random_state=1).fit_predict(
            _pattern(sources, destinations, num_vertices))
        levels.append(np.where(large, part, 0))
        pairs = community * (int(part.max()) + 1) + levels[-1]
        community = np.unique(pairs, return_inverse=True)[1]
    return np.lexsort((np.arange(num_vertices), *levels[::-1]))


def _rcm(sources: Any, destinations: Any, num_vertices: int) -> Any:
    from scipy.sparse.csgraph import (    # pyright: ignore[reportMissingTypeStubs]
        reverse_cuthill_mckee)
    return reverse_cuthill_mckee(_pattern(sources, destinations, num_vertices),
                                 symmetric_mode=True)


#: The orderings by name, each with the function that gives the vertices in the new order. Without a
#: function the graph's own numbers stay.
ORDERS: dict[str, Callable[..., Any] | None] = {
    "none": None, "louvain": _louvain, "rcm": _rcm, "gorder": gorder, "sage": sage}


def new_ids(name: str, sources: Words, destinations: Words, num_vertices: int,
            rounds: int | None = None, sample: int | None = None) -> Words | None:
    """The new number of each vertex.

    Parameters
    ----------
    name : str
        One of :data:`ORDERS`.
    sources, destinations : uint32[n]
        The edges; self-loops and parallel edges may be among them.
    num_vertices : int
    rounds, sample : int, optional
        For ``sage``: the number of rounds, and the percentage of the vertices whose tiles a sweep
        samples; as :func:`sw.graph.sage.sage` chooses if not given.

    Returns
    -------
    uint32[num_vertices] or None
        A permutation; None if the graph's own numbers stay.

    Raises
    ------
    UserError
        If ``rounds`` or ``sample`` is given for another ordering. If ``louvain`` is asked for and
        scikit-network is not installed, for example on a Python for which it has no wheels.
    """
    order = ORDERS[name]
    options = {option: value for option, value in (("rounds", rounds), ("percent", sample))
               if value is not None}
    if options and order is not sage:
        raise UserError(f"reorder={name} takes no rounds and no sample; reorder=sage does")
    if order is None:
        return None
    ids = np.empty(num_vertices, dtype=np.uint32)
    ids[order(sources, destinations, num_vertices, **options)] = np.arange(num_vertices,
                                                                           dtype=np.uint32)
    return ids
