"""PageRank in the fixed point the device computes in, exact to the bit, and in floating point.

The rule is GAP's: ``rank = (1 - d) / V + d * sum``, the sum over the arcs that enter a vertex of
the start's rank divided by its out-degree; what flows into vertices that no arc leaves is lost.
Every sweep takes all its shares from the ranks of the sweep before.

The device keeps ``V * rank``, whose mean is at most 1, as an unsigned word with ``F`` fraction
bits. Multiplying two words keeps the upper half of the product (``mulhu``)::

    inverse[u] = min(2**32 // out_degree[u], 2**32 - 1)    0 where the degree is 0
    rank[v]    = 2**F                                      before the first sweep
    share[u]   = mulhu(rank[u], inverse[u])
    sum[v]     = the sum of share[u] over all arcs (u, v), parallel arcs each counted
    rank[v]    = base + mulhu(sum[v], damping)

Sums are of integers, so no order of summation gives another result. Each share is less than 2
units of the last place too small, each rank at most 2 more beside what its shares are wrong by.
As a sweep passes on at most ``d`` of an error, and after any number of sweeps::

    sum over v of |V * rank error|  <  (2 * d * E + 2 * V) / (1 - d) * 2**-F

with ``E`` arcs: for d = 0.85 and 16 arcs a vertex, about 195 units of the last place a vertex.

After some sweeps the ranks repeat themselves to the last bit: they stand still, or go round in a
short circle. Further sweeps pass through known ranks, so any number of sweeps costs as much as the
first few hundred.
"""

import dataclasses

import numpy as np
from scipy.sparse import csr_array

from sw.errors import UserError


__all__ = ["FixedPoint", "choose_fixed_point", "inverse_degrees", "pagerank", "pagerank_float"]


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
        What every vertex has without any arc, with ``F`` fraction bits.
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
        """The ranks that the words of :func:`pagerank` stand for, as float64; they add up to at
        most 1."""
        return np.asarray(words, dtype=np.float64) / (len(words) * float(self.one))

    def error_bound(self, graph):
        """Less than this is the sum over all vertices of the absolute error of their rank."""
        damping = self.damping / _WORD
        units = (2 * damping * graph.num_edges + 2 * graph.num_vertices) / (1 - damping)
        return units / (graph.num_vertices * float(self.one))


def _check(iterations, damping):
    if iterations < 0:
        raise UserError(f"iterations is {iterations}, must be 0 or more")
    if not 0 <= damping * _WORD < _WORD - 0.5:
        raise UserError(f"damping is {damping}, must be at least 0 and less than 1")


def inverse_degrees(graph):
    """``inverse`` of each vertex, the word its rank is multiplied with, as uint32."""
    degrees = graph.out_degrees
    inverse = np.minimum(_WORD // np.maximum(degrees, 1), _WORD - 1)
    return np.where(degrees == 0, 0, inverse).astype(np.uint32)


def _incoming(graph, dtype):
    """The matrix that, times the shares, gives the sums."""
    offsets, neighbors, _ = graph.csr(reverse=True)
    return csr_array((np.ones(graph.num_edges, dtype=dtype), neighbors.astype(np.int32),
                      offsets.astype(np.int32)), shape=(graph.num_vertices,) * 2)


def _repeat(sweep, rank, iterations):
    """Yields the sums and the ranks of ``iterations`` sweeps, less whole rounds of a circle.

    The ranks are compared with those of an earlier sweep, whose number is the last power of two
    (Brent's algorithm). Once they are equal, what is left is less than one round. So the last
    yield is that of the last sweep, and the others have every sum and every rank there is.

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


def _sweeps(graph, iterations, fixed):
    """The ranks after all sweeps as uint64, or ``None`` if a sum or rank does not fit a word."""
    incoming = _incoming(graph, np.uint64)
    inverse = inverse_degrees(graph).astype(np.uint64)
    damping, base = np.uint64(fixed.damping), np.uint64(fixed.base)

    def sweep(rank):
        share = (rank * inverse) >> _HALF
        total = incoming @ share  # at most 2**31 words: no overflow in 64 bits
        return total, base + ((total * damping) >> _HALF)

    rank = np.full(graph.num_vertices, fixed.one, dtype=np.uint64)
    for total, rank in _repeat(sweep, rank, iterations):
        if int(total.max()) >= _WORD or int(rank.max()) >= _WORD:
            return None
    return rank


def choose_fixed_point(graph, iterations, damping=0.85):
    """The finest fixed point, of at most 30 fraction bits, in which no sum and no rank overflows.

    Parameters
    ----------
    graph : Graph
        What is going to be ranked.
    iterations : int
        Sweeps that are going to be made.
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
        if _sweeps(graph, iterations, fixed) is not None:
            return fixed
        fraction_bits -= 1
    return FixedPoint.of(0, damping)


def pagerank(graph, iterations, fixed):
    """``V * rank`` of every vertex after ``iterations`` sweeps, bit for bit as the device has it.

    Parameters
    ----------
    graph : Graph
        What to rank.
    iterations : int
        Sweeps.
    fixed : FixedPoint
        As chosen for this graph and at least as many sweeps.

    Returns
    -------
    uint32[V]
        Words with ``fixed.fraction_bits`` fraction bits.

    Raises
    ------
    OverflowError
        If a sum or rank does not fit a word.
    """
    rank = _sweeps(graph, iterations, fixed)
    if rank is None:
        raise OverflowError(f"{graph.name}: {fixed.fraction_bits} fraction bits are too many")
    return rank.astype(np.uint32)


def _float_sweeps(graph, iterations, damping):
    """Yields the sums and the ranks, times V, as :func:`_repeat` does."""
    incoming = _incoming(graph, np.float64)
    inverse = np.where(graph.out_degrees == 0, 0.0, 1 / np.maximum(graph.out_degrees, 1))

    def sweep(rank):
        total = incoming @ (rank * inverse)
        return total, (1 - damping) + damping * total

    yield from _repeat(sweep, np.ones(graph.num_vertices), iterations)


def pagerank_float(graph, iterations, damping=0.85):
    """The same sweeps in float64; the ranks, which add up to at most 1.

    Raises
    ------
    UserError
        If ``iterations`` or ``damping`` is out of range.
    """
    _check(iterations, damping)
    rank = np.ones(graph.num_vertices)
    for _, rank in _float_sweeps(graph, iterations, damping):
        pass
    return rank / graph.num_vertices
