"""PageRank, exact to the bit in a fixed point, and in floating point.

The rule is GAP's: ``rank = (1 - d) / V + d * sum``. The sum is over the arcs that enter a vertex:
each arc adds the rank of its start, divided by the out-degree of its start. Rank that flows into
vertices without outgoing arcs is lost. Every sweep takes all its shares from the ranks of the sweep
before.

The fixed point keeps ``V * rank`` in unsigned words, and of a product of two words the upper word::

    inverse[u] = min(2**32 // out_degree[u], 2**32 - 1)
    share[u]   = rank[u] * inverse[u] >> 32
    rank[v]    = base + (sum[v] * damping >> 32)

Each share is too small by less than 2 units of the last place, each rank by at most 2 more, besides
the error of its shares. A sweep passes on at most ``d`` times an error. So after any number of
sweeps the errors of all ``V * rank`` together are below ``(2 * d * E + 2 * V) / (1 - d)`` units.
"""

import itertools
from fractions import Fraction

import numpy as np

from .check import LAST, WORD, first_difference, row_sums, sweeps


__all__ = ["fault", "inverses", "pagerank", "pagerank_float"]


_HALF = np.uint64(32)


def inverses(degrees) -> np.ndarray:
    """The word by which a share is taken, of each degree, as uint64; any word for a degree of 0."""
    return np.minimum(WORD // np.maximum(degrees, 1), LAST).astype(np.uint64)


def pagerank(graph, iterations, bits, damping=0.85, tolerance=0) -> np.ndarray:
    """``V * rank`` of every vertex with ``bits`` fraction bits, uint32[V].

    Parameters
    ----------
    graph : Graph
    iterations : int
        Most sweeps.
    bits : int
    damping, tolerance : number
        The sweeps end when the sum of the changes of all ranks is below ``tolerance``.

    Raises
    ------
    OverflowError
        If a sum or rank does not fit a word.
    """
    damping, tolerance = Fraction(str(damping)), Fraction(str(tolerance))
    factor = np.uint64(min(round(damping * WORD), LAST))
    base = np.uint64(round((1 - damping) * (1 << bits)))
    offsets, neighbors, _ = graph.csr(reverse=True)
    inverse = inverses(graph.out_degrees)

    def sweep(rank):
        total = row_sums(offsets, (rank * inverse >> _HALF)[neighbors])
        after = base + (total * factor >> _HALF)
        if int(total.max()) > LAST or int(after.max()) > LAST:
            raise OverflowError(f"{graph.name}: a word does not hold a sum or rank")
        return after

    start = rank = np.full(graph.num_vertices, 1 << bits, np.uint64)
    for before, rank in itertools.pairwise(sweeps(sweep, start, iterations)):
        change = int((np.maximum(rank, before) - np.minimum(rank, before)).sum())
        if Fraction(change, 1 << bits) < tolerance * graph.num_vertices:
            break
    return rank.astype(np.uint32)


def pagerank_float(graph, iterations, damping=0.85) -> np.ndarray:
    """The ranks after so many sweeps in float64. The ranks add up to at most 1."""
    degrees = np.maximum(graph.out_degrees, 1)

    def sweep(rank):
        total = np.bincount(graph.dst, (rank / degrees)[graph.src], graph.num_vertices)
        return (1 - damping) / graph.num_vertices + damping * total

    start = rank = np.full(graph.num_vertices, 1 / graph.num_vertices)
    for rank in sweeps(sweep, start, iterations):
        pass
    return rank


def fault(graph, values, words, bits):
    """As of :class:`~sw.golden.results.check.ResultCheck`."""
    try:
        expected = pagerank(graph, values["iterations"], bits, values["damping"],
                            values["tolerance"])
    except OverflowError as error:
        return str(error)
    return first_difference("rank", words["rank"], expected)
