"""Numbering vertices by community, so that edges fall into clusters (CR2, 3.3.2).

scikit-network's Louvain finds the communities. A community with more vertices than a cluster is
divided again, at a resolution four times as fine, until it fits or does not divide. The result is a
hierarchy, and vertices are numbered along it.
"""

import numpy as np
from scipy import sparse

from sw.errors import UserError
from sw.installation import advice


__all__ = ["new_ids"]


_LEVELS = 6
_FINER = 4


def _communities(sources, destinations, num_vertices, resolution):
    """The number of each vertex's community. The direction of edges does not matter."""
    try:
        from sknetwork.clustering import Louvain
    except ImportError:
        raise UserError("reorder=louvain needs the package scikit-network, which there is for "
                        f"Python 3.11 to 3.13: {advice('reproduce')}") from None
    ends = (np.concatenate([sources, destinations]).astype(np.int32),
            np.concatenate([destinations, sources]).astype(np.int32))
    matrix = sparse.coo_matrix((np.ones(len(ends[0])), ends), shape=(num_vertices,) * 2).tocsr()
    return Louvain(resolution=resolution, random_state=1).fit_predict(matrix)


def new_ids(sources, destinations, num_vertices, cluster_size):
    """The new number of each vertex.

    Parameters
    ----------
    sources, destinations : uint32[n]
        The edges; self-loops and parallel edges count.
    num_vertices : int
    cluster_size : int
        Vertices of a cluster.

    Returns
    -------
    uint32[num_vertices]
        A permutation, which is the same for the same edges. It is the identity if one cluster has
        all vertices.

    Raises
    ------
    UserError
        If scikit-network is not installed, for example on a Python for which it has no wheels.
    """
    community = np.zeros(num_vertices, dtype=np.int64)
    levels = []
    for level in range(_LEVELS):
        large = np.bincount(community)[community] > cluster_size
        inside = large[sources] & (community[sources] == community[destinations]) \
            & (sources != destinations)
        if not inside.any():
            break
        sources, destinations = sources[inside], destinations[inside]
        part = _communities(sources, destinations, num_vertices, float(_FINER ** level))
        levels.append(np.where(large, part, 0))
        pairs = community * (int(part.max()) + 1) + levels[-1]
        community = np.unique(pairs, return_inverse=True)[1]
    order = np.lexsort((np.arange(num_vertices), *levels[::-1]))
    ids = np.empty(num_vertices, dtype=np.uint32)
    ids[order] = np.arange(num_vertices, dtype=np.uint32)
    return ids
