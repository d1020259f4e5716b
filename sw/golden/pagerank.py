"""PageRank, exact to the bit in a fixed point, and in floating point.

The rule is GAP's: ``rank = (1 - d) / V + d * sum``. The sum is over the arcs that enter a vertex:
each arc adds the rank of its start, divided by the out-degree of its start. Rank that flows into
vertices without outgoing arcs is lost. Every sweep takes all its shares from the ranks of the sweep
before.

The fixed point keeps ``V * rank`` in unsigned words, and of a product of two words the upper word.
An arc's share is the rank times ``min(2**32 // degree, 2**32 - 1)``.
"""

import numpy as np

from sw.errors import UserError


__all__ = ["pagerank", "pagerank_float"]


_WORD = 1 << 32


def _repeated(sweep, rank, iterations):
    """The ranks after all sweeps. Once ranks come back, whole rounds of sweeps are left out."""
    seen: dict[bytes, int] = {}
    for done in range(iterations):
        first = seen.setdefault(rank.tobytes(), done)
        if first < done:
            for _ in range((iterations - done) % (done - first)):
                rank = sweep(rank)
            return rank
        rank = sweep(rank)
    return rank


def pagerank(graph, iterations, fixed):
    """``V * rank`` of every vertex after ``iterations`` sweeps, bit for bit as the device has it.

    Parameters
    ----------
    graph : Graph
        The graph to rank.
    iterations : int
        Number of sweeps.
    fixed : object
        The fixed point: ``one``, the word before the first sweep; ``damping``, with 32 fraction
        bits; ``base``, the word of a vertex without any arc.

    Returns
    -------
    uint32[V]

    Raises
    ------
    OverflowError
        If a sum or rank does not fit a word.
    """
    inverse = np.array([min(_WORD // max(degree, 1), _WORD - 1)
                        for degree in graph.out_degrees.tolist()], dtype=np.uint64)

    def sweep(rank):
        total = np.zeros(graph.num_vertices, dtype=np.uint64)
        np.add.at(total, graph.dst, (rank * inverse >> np.uint64(32))[graph.src])
        rank = np.uint64(fixed.base) + (total * np.uint64(fixed.damping) >> np.uint64(32))
        if int(total.max()) >= _WORD or int(rank.max()) >= _WORD:
            raise OverflowError(f"{graph.name}: a word does not hold a sum or rank")
        return rank

    start = np.full(graph.num_vertices, fixed.one, dtype=np.uint64)
    return _repeated(sweep, start, iterations).astype(np.uint32)


def pagerank_float(graph, iterations, damping=0.85):
    """The ranks after the same sweeps in float64. The ranks add up to at most 1.

    Raises
    ------
    UserError
        If ``iterations`` or ``damping`` is out of range.
    """
    if iterations < 0:
        raise UserError(f"iterations is {iterations}, must be 0 or more")
    if not 0 <= damping < 1:
        raise UserError(f"damping is {damping}, must be at least 0 and less than 1")
    degrees = np.maximum(graph.out_degrees, 1)

    def sweep(rank):
        total = np.bincount(graph.dst, (rank / degrees)[graph.src], graph.num_vertices)
        return (1 - damping) / graph.num_vertices + damping * total

    return _repeated(sweep, np.full(graph.num_vertices, 1 / graph.num_vertices), iterations)
