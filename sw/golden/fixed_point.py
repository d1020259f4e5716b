"""The fixed point of PageRank: the words that stand for ranks, and how many fraction bits fit.

The device keeps ``V * rank``, whose mean is at most 1, as an unsigned word with ``F`` fraction
bits. A multiplication of two words keeps the upper half of the product (``mulhu``)::

    inverse[u] = min(2**32 // out_degree[u], 2**32 - 1)    0 where the degree is 0
    rank[v]    = 2**F                                      before the first sweep
    share[u]   = mulhu(rank[u], inverse[u])
    sum[v]     = the sum of share[u] over all arcs (u, v), parallel arcs each counted
    rank[v]    = base + mulhu(sum[v], damping)

The sums are sums of integers, so the order of summation does not change the result. Each share is
too small by less than 2 units of the last place. Each rank is too small by at most 2 units more,
besides the error of its shares. A sweep passes on at most ``d`` times an error. So after any number
of sweeps, with ``E`` arcs::

    sum over v of |V * rank error|  <  (2 * d * E + 2 * V) / (1 - d) * 2**-F

For d = 0.85 and 16 arcs a vertex, this is about 195 units of the last place a vertex.

After some sweeps the ranks repeat to the last bit: they no longer change, or they go through a
short cycle. Further sweeps give known ranks, so any number of sweeps costs as much as the first few
hundred.
"""

import dataclasses

import numpy as np

from sw.errors import UserError


__all__ = ["FixedPoint", "choose_fixed_point", "inverse_degrees"]


_WORD = 1 << 32
_HALF = np.uint64(32)
_MOST_FRACTION_BITS = 30


@dataclasses.dataclass(frozen=True)
class FixedPoint:
    """The fixed point of a run.

    Parameters
    ----------
    fraction_bits : int
        ``F``: bits of ``V * rank`` after the point, 0 to 30.
    damping : int
        The damping factor, with 32 fraction bits.
    base : int
        The part of ``V * rank`` that every vertex has without any arc, with ``F`` fraction bits.
    """

    fraction_bits: int
    damping: int
    base: int

    @classmethod
    def of(cls, fraction_bits, damping=0.85):
        """The fixed point with these fraction bits for a damping factor given as a number."""
        _check(0, damping)
        return cls(fraction_bits, round(damping * _WORD),
                   round((1 - damping) * (1 << fraction_bits)))

    @property
    def one(self):
        """The word that stands for 1: the rank before the first sweep."""
        return 1 << self.fraction_bits

    def to_rank(self, words):
        """The ranks for the words of all vertices, as float64. The ranks add up to at most 1."""
        return np.asarray(words, dtype=np.float64) / (len(words) * float(self.one))

    def error_bound(self, graph):
        """A bound on the sum of the absolute errors of all ranks; the sum is less than the
        bound."""
        damping = self.damping / _WORD
        units = (2 * damping * graph.num_edges + 2 * graph.num_vertices) / (1 - damping)
        return units / (graph.num_vertices * float(self.one))


def _check(iterations, damping):
    if iterations < 0:
        raise UserError(f"iterations is {iterations}, must be 0 or more")
    if not 0 <= damping * _WORD < _WORD - 0.5:
        raise UserError(f"damping is {damping}, must be at least 0 and less than 1")


def inverse_degrees(graph):
    """``inverse`` of each vertex, as uint32: the word by which the vertex's rank is multiplied."""
    degrees = graph.out_degrees
    inverse = np.minimum(_WORD // np.maximum(degrees, 1), _WORD - 1)
    return np.where(degrees == 0, 0, inverse).astype(np.uint32)


def _incoming(graph, dtype):
    """The matrix whose product with the shares gives the sums."""
    from scipy.sparse import csr_array
    offsets, neighbors, _ = graph.csr(reverse=True)
    return csr_array((np.ones(graph.num_edges, dtype=dtype), neighbors.astype(np.int32),
                      offsets.astype(np.int32)), shape=(graph.num_vertices,) * 2)


def _repeat(sweep, rank, iterations):
    """Yields the sums and the ranks of ``iterations`` sweeps, less whole rounds of a cycle.

    The ranks are compared with the ranks of an earlier sweep, whose number is the last power of two
    (Brent's algorithm). Once both are equal, less than one round of sweeps is left. So the last
    yield is the result of the last sweep, and the yields have every sum and every rank that occurs.

    Parameters
    ----------
    sweep : callable
        Gives the sums and the new ranks of given ranks.
    rank : array
        The ranks before the first sweep.
    """
    earlier, number, done = rank, 0, 0
    while done < iterations:
        total, rank = sweep(rank)
        done += 1
        yield total, rank
        if np.array_equal(rank, earlier):
            iterations = done + (iterations - done) % (done - number)
        if done & (done - 1) == 0:
            earlier, number = rank, done


def _fits(graph, iterations, fixed):
    """Whether every sum and every rank fits a word in all sweeps."""
    incoming = _incoming(graph, np.uint64)
    inverse = inverse_degrees(graph).astype(np.uint64)
    damping, base = np.uint64(fixed.damping), np.uint64(fixed.base)

    def sweep(rank):
        share = (rank * inverse) >> _HALF
        total = incoming @ share  # at most 2**31 words: no overflow in 64 bits
        return total, base + ((total * damping) >> _HALF)

    start = np.full(graph.num_vertices, fixed.one, dtype=np.uint64)
    return all(int(total.max()) < _WORD and int(rank.max()) < _WORD
               for total, rank in _repeat(sweep, start, iterations))


def choose_fixed_point(graph, iterations, damping=0.85):
    """The finest fixed point, of at most 30 fraction bits, in which no sum and no rank overflows.

    Parameters
    ----------
    graph : Graph
        The graph to rank.
    iterations : int
        Number of sweeps to be made.
    damping : float
        Damping factor, at least 0 and less than 1.

    Returns
    -------
    FixedPoint

    Raises
    ------
    UserError
        If ``iterations`` or ``damping`` is out of range.
    """
    _check(iterations, damping)
    largest = 1.0
    for total, rank in _float_sweeps(graph, iterations, damping):
        largest = max(largest, float(total.max()), float(rank.max()))
    # The estimate may be wrong by the last place only: start one bit above it.
    fraction_bits = min(_MOST_FRACTION_BITS, 33 - int(np.ceil(np.log2(largest))))
    while fraction_bits > 0:
        fixed = FixedPoint.of(fraction_bits, damping)
        if _fits(graph, iterations, fixed):
            return fixed
        fraction_bits -= 1
    return FixedPoint.of(0, damping)


def _float_sweeps(graph, iterations, damping):
    """Yields the sums and the ranks, times V, as :func:`_repeat` does."""
    incoming = _incoming(graph, np.float64)
    inverse = np.where(graph.out_degrees == 0, 0.0, 1 / np.maximum(graph.out_degrees, 1))

    def sweep(rank):
        total = incoming @ (rank * inverse)
        return total, (1 - damping) + damping * total

    yield from _repeat(sweep, np.ones(graph.num_vertices), iterations)
