"""The CR2 builder: from edges to degree-ordered subgraphs (CR2, algorithms 3.1 to 3.3).

Algorithm 3.3 takes the edges one at a time. Each goes to the first subgraph, from degree 2^w down
to 1, in which its vertex has places left. So a vertex's edges of one part fill its records in the
order in which they come, the largest records first. A vertex of degree d has d >> w records of
degree 2^w, and one of degree 2^k for each bit k < w of d that is 1. So the degrees alone determine
the records.

Here the same is done for all edges at once. One counting sort counts the edges of each vertex and
part (algorithm 3.2) and puts them in rows. A row then consists of its vertex's records, one behind
the other. A subgraph is made by copying the right 2^k edges out of every row that has such records.
"""

import numpy as np

from sw.graph.compress import compress, gather_runs
from .geometry import INTER, INTRA, PARTS


__all__ = ["array_name", "fill_subgraphs", "sort_edges"]


def array_name(part, k, what):
    """The name of an array of the Degree-2^k subgraph of a part."""
    return f"{PARTS[part]}_{1 << k}_{what}"


def sort_edges(geometry, bases, neighbors, weights):
    """The edges of each part in rows by base (algorithm 3.2 and its edges).

    Returns
    -------
    list of (offsets, neighbors, weights)
        The intra-cluster part, then the inter-cluster part; shapes as in
        :func:`~sw.graph.compress.compress`.
    """
    count = geometry.num_vertices
    rows = geometry.is_inter(bases, neighbors).astype(np.uint32)
    rows *= np.uint32(count)
    rows += bases
    offsets, neighbors, weights = compress(rows, neighbors, weights, 2 * count, count)
    parts = []
    for part in (INTRA, INTER):
        own = offsets[part * count:(part + 1) * count + 1]
        first, end = int(own[0]), int(own[-1])
        parts.append((own - own[0], neighbors[first:end],
                      None if weights is None else weights[first:end]))
    return parts


def _records(offsets, degrees, k, warp_bits):
    """The vertex of each record of degree 2^k, and where the record's edges begin in the rows."""
    if k < warp_bits:
        vertices = np.flatnonzero(degrees & np.uint32(1 << k) != 0).astype(np.uint32)
        larger = degrees[vertices] >> np.uint32(k + 1) << np.uint32(k + 1)
        return vertices, offsets[vertices] + larger
    vertices = np.flatnonzero(degrees >= 1 << k).astype(np.uint32)
    counts = degrees[vertices] >> np.uint32(k)
    first = np.cumsum(counts) - counts
    step = (np.arange(int(counts.sum())) - np.repeat(first, counts)).astype(np.uint32)
    starts = np.repeat(offsets[vertices], counts) + (step << np.uint32(k))
    return np.repeat(vertices, counts), starts


def fill_subgraphs(geometry, parts):
    """The subgraphs from sorted edges (allocSubGraph and algorithm 3.3).

    Returns
    -------
    arrays : dict of str to array
        The arrays of :class:`~sw.compile.formats.cr2.image.Cr2Image`, except the expand list.
    owners : list of (part, k, uint32[records])
        The vertex of each record, as a global ID.
    """
    arrays, owners = {}, []
    boundaries = np.arange(geometry.clusters + 1, dtype=np.int64) << geometry.cluster_bits
    for part, (offsets, neighbors, weights) in enumerate(parts):
        degrees = np.diff(offsets)
        largest = int(degrees.max())
        stored = geometry.local(neighbors) if part == INTRA else neighbors
        for k in geometry.classes:
            vertices = starts = np.empty(0, dtype=np.uint32)
            if largest >> k:
                vertices, starts = _records(offsets, degrees, k, geometry.warp_bits)
            owners.append((part, k, vertices))
            bases = vertices
            if part == INTRA and geometry.local_bases:
                arrays[array_name(part, k, "starts")] = \
                    np.searchsorted(vertices, boundaries).astype(np.uint32)
                bases = geometry.local(vertices)
            arrays[array_name(part, k, "bases")] = bases
            arrays[array_name(part, k, "neighbors")] = gather_runs(stored, starts, 1 << k)
            if weights is not None:
                arrays[array_name(part, k, "weights")] = gather_runs(weights, starts, 1 << k)
    return arrays, owners
