"""Label propagation by its equations: the mean of the scores before a vertex, in fixed point.

Two vertices keep the scores 1 and 0. In each round every other vertex that arcs enter takes the sum
of the scores at their starts, times ``min(2**32 // in_degree, 2**32 - 1)``, of which the upper word
counts.
"""

import numpy as np

from .check import LAST, first_difference, row_sums, sweeps
from .pagerank import inverses


__all__ = ["fault", "label_propagation"]


def label_propagation(graph, positive, negative, iterations, bits) -> np.ndarray:
    """The scores with ``bits`` fraction bits, uint32[V].

    Raises
    ------
    OverflowError
        If a sum does not fit a word.
    """
    offsets, neighbors, _ = graph.csr(reverse=True)
    inverse = inverses(graph.in_degrees)
    kept = graph.in_degrees == 0
    kept[[positive, negative]] = True

    def sweep(score):
        total = row_sums(offsets, score[neighbors])
        if int(total.max()) > LAST:
            raise OverflowError(f"{graph.name}: a word does not hold a sum of scores")
        return np.where(kept, score, total * inverse >> np.uint64(32))

    start = score = np.full(graph.num_vertices, round((1 << bits) / 2), np.uint64)
    start[positive] = 1 << bits
    start[negative] = 0
    for score in sweeps(sweep, start, iterations):
        pass
    return score.astype(np.uint32)


def fault(graph, values, words, bits):
    """As of :class:`~sw.golden.results.check.ResultCheck`."""
    try:
        expected = label_propagation(graph, values["positive"], values["negative"],
                                     values["iterations"], bits)
    except OverflowError as error:
        return str(error)
    return first_difference("score", words["score"], expected)
