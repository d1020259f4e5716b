"""The fixed point of GCN: the words that stand for features, weights and coefficients.

Features and weights are signed words, with fraction bits of their own::

    product[v, d] = sum over the entries (v, f) of feature * weight[f, d]

A product of two words is exact, so the sum is that of the integers. It has as many fraction bits as
a feature and a weight together. The coefficient of an arc depends on the degrees of its ends::

    scale[v]      = min(floor(2**32 / sqrt(degree)), 2**32 - 1)       0 where the degree is 0
    coefficient   = scale_out[u] * scale_in[v] >> 32
    output[v, d]  = sum over the arcs (u, v) of product[u, d] * coefficient >> 32

The degree of the start u is its number of arcs that leave, that of the end v its number of arcs
that enter. In an undirected graph the coefficient is 1 / sqrt(degree(u) degree(v)). A shift rounds
down. Both sums are sums of integers, so no order of lanes changes a bit of them.

The scales are a table by vertex. Without a table, kernels compute the coefficient from the degrees,
as a program for floating point does: :data:`ROOT` describes the steps. The result is too small by
less than a part in 2**20.

Words never wrap: the sums of the absolute values of all terms stay below 2**31. So every partial
sum does, in any order. :func:`choose` takes the most fraction bits of a sum for which this holds,
and gives features and weights their shares:

* Features that are whole numbers are taken as they are, if they are below 2**15 or the weights are
  whole numbers too. The largest of other features takes 15 bits.
* Weights take the bits that are left.

A feature whose weights are all 0 counts as 0, and so do weights of features that no vertex has.

So the values decide, and not the type in which they come. A number is rounded to the nearest
multiple of its last place, which is 2**-bits: below 1 where numbers are small, above 1 where the
numbers of the other matrix are small.
"""

import dataclasses
import math

import numpy as np

from base.errors import UserError


__all__ = ["COEFFICIENTS", "ROOT", "Matrices", "choose", "coefficients", "draw_weight", "scales"]


#: How kernels get coefficients: from a table of scales, or computed from the degrees.
COEFFICIENTS = ("stored", "computed")


@dataclasses.dataclass(frozen=True)
class _Root:
    """The steps to ``2**32 / sqrt(n)`` of a word n above 0, by Newton's method.

    The word is shifted to the left by an even number of places, until one of its two upper bits is
    1. With m = n / 2**32, from 1/4 to below 1, the first guess of 1 / sqrt(m) is
    ``first - slope * m``. A round makes ``y * (3 - m * y**2) / 2`` of a guess y. Guesses have 30
    fraction bits.
    """
    #: The word is shifted by each of these, if it is so small that it stays a word.
    shifts: tuple[int, ...] = (16, 8, 4, 2)
    first: int = round(2.22 * (1 << 30))  #: With 30 fraction bits.
    slope: int = round(4 / 3 * (1 << 30))  #: With 30 fraction bits.
    rounds: int = 3


#: The steps of a kernel that computes coefficients.
ROOT = _Root()

_HALF = 1 << 31
_FEATURE_BITS = 15


@dataclasses.dataclass(frozen=True, eq=False)
class Matrices:
    """Features and weights as words."""
    values: np.ndarray  #: int32[entries]. The features' values.
    weight: np.ndarray  #: int32[num_columns, dimension]
    value_bits: int  #: Fraction bits of each. Where they are below 0, the last place is above 1.
    weight_bits: int  #: Fraction bits of each. Where they are below 0, the last place is above 1.
    kind: str = COEFFICIENTS[0]  #: One of :data:`COEFFICIENTS`.

    @property
    def fraction_bits(self) -> int:
        """Fraction bits of products and outputs, 0 or more."""
        return self.value_bits + self.weight_bits

    def to_float(self, words):
        """Products or outputs as float64."""
        return np.ldexp(np.asarray(words, np.float64), -self.fraction_bits)

    def error_bounds(self, graph, features, weight):
        """Bounds on the absolute errors of all products and outputs, against real numbers.

        Parameters
        ----------
        graph : Graph
        features : Features
        weight : array[num_columns, dimension]
            The weights before they were rounded.

        Returns
        -------
        products, outputs : float64[num_vertices, dimension]

        Both factors of a product are wrong by half a last place at most, or not at all if no number
        of the matrix had to be rounded. A coefficient is too small by less than 3 * 2**-32, and a
        computed one by less than a part in 2**20 besides. Each term of an output is rounded down,
        by less than one last place.
        """
        values, weight = _that_count(features, weight)
        value_error, weight_error = (
            0 if np.array_equal(np.ldexp(words.astype(np.float64), -bits), numbers)
            else 2.0 ** -(bits + 1)
            for numbers, words, bits in ((values, self.values, self.value_bits),
                                         (weight, self.weight, self.weight_bits)))
        entries = _matrix(features, np.ones(len(values)))
        sizes, size = _matrix(features, np.abs(values)), np.abs(weight)
        products = sizes @ np.full_like(size, weight_error) + value_error * (
            entries @ (size + weight_error))
        arcs = _arcs(graph, np.ones(graph.num_edges))
        factors = coefficients(graph, self.kind) / 2.0 ** 32
        short = 3 * 2.0 ** -32 + (2.0 ** -20 * factors if self.kind != COEFFICIENTS[0] else 0)
        outputs = (_arcs(graph, factors + short) @ products + arcs @ np.full_like(products, 1)
                   * 2.0 ** -self.fraction_bits + _arcs(graph, factors * 0 + short)
                   @ (sizes @ size))
        return products, outputs


def scales(degrees):
    """``scale`` of vertices by their degrees, uint32."""
    kinds, places = np.unique(np.asarray(degrees), return_inverse=True)
    # floor(2^32 / sqrt(d)) = floor(sqrt(floor(2^64 / d)))
    words = [0 if degree == 0 else min(math.isqrt((1 << 64) // degree), (1 << 32) - 1)
             for degree in kinds.tolist()]
    return np.array(words, np.uint32)[places]


def draw_weight(num_columns, dimension, seed):
    """Random weights, float64[num_columns, dimension], uniform in Glorot and Bengio's range
    (AISTATS 2010)."""
    random = np.random.Generator(np.random.PCG64(seed))
    limit = (6 / (num_columns + dimension)) ** 0.5
    return random.uniform(-limit, limit, (num_columns, dimension))


def choose(graph, features, weight, kind=COEFFICIENTS[0]) -> Matrices:
    """The finest words with which no sum wraps.

    Parameters
    ----------
    graph : Graph
    features : Features
    weight : array[num_columns, dimension] of integers or reals
        All numbers are finite.
    kind : str
        One of :data:`COEFFICIENTS`.

    Raises
    ------
    UserError
        The numbers are so large, or so many, that the whole part of some sum may not fit. Or a
        product of degrees does not fit a word, and coefficients are to be computed.
    """
    values, weight = _that_count(features, weight)
    largest, heaviest = (float(np.abs(each).max(initial=0)) for each in (values, weight))
    factors = coefficients(graph, kind)
    need = _need(graph, features, values, weight, factors)
    value_bits = _FEATURE_BITS - _exponent(largest)
    if _is_whole(values) and (value_bits >= 0 or _is_whole(weight)):
        value_bits = 0
    values = np.rint(np.ldexp(values, value_bits))
    # The estimate may be wrong in the last place: start one bit above it.
    most = [32 - _exponent(need)] * (need > 0) + [31 + value_bits - _exponent(heaviest)]
    for bits in range(min(most) if np.isfinite(need) else -1, -1, -1):
        words = np.rint(np.ldexp(weight, bits - value_bits))
        if _fits(graph, features, values, words, factors):
            return Matrices(values.astype(np.int32), words.astype(np.int32), value_bits,
                            bits - value_bits, kind)
    raise UserError(f"gcn: with {features.name}, where a feature is {largest:g}, and weights up to "
                    f"{heaviest:g}, sums reach {need:.3g}, and words of 32 bits hold numbers below "
                    f"{_HALF}; make the features or the weights smaller")


def _that_count(features, weight):
    """The values of features, and the weights, as float64, with 0 in place of those that meet only
    0. So those take no bits."""
    values, weight = features.values.astype(np.float64), np.asarray(weight, np.float64)
    met = np.bincount(features.columns, values != 0, features.num_columns) > 0
    return (np.where(np.any(weight, axis=1)[features.columns], values, 0),
            np.where(met[:, None], weight, 0))


def _exponent(number):
    """The least exponent with number < 2**exponent; 0 of 0."""
    return int(np.frexp(number)[1])


def _is_whole(numbers):
    return np.array_equal(numbers, np.rint(numbers))


def _matrix(features, values):
    from scipy.sparse import csr_array
    return csr_array((values, features.columns, features.offsets),
                     shape=(features.num_vertices, features.num_columns))


def coefficients(graph, kind=COEFFICIENTS[0]):
    """The coefficient of each arc, uint64. Raises UserError if a product of degrees does not fit a
    word and ``kind`` is ``"computed"``."""
    if kind == COEFFICIENTS[0]:
        return (scales(graph.out_degrees)[graph.src].astype(np.uint64)
                * scales(graph.in_degrees)[graph.dst].astype(np.uint64)) >> np.uint64(32)
    products = (graph.out_degrees[graph.src] * graph.in_degrees[graph.dst]).astype(np.uint64)
    if int(products.max(initial=0)) >> 32:
        raise UserError(f"gcn: the degrees of the ends of an arc of {graph.name} have the product "
                        f"{int(products.max())}, which must be below {1 << 32} with "
                        "coefficients=computed")
    kinds, places = np.unique(products, return_inverse=True)
    return _inverse_roots(kinds)[places]


def _inverse_roots(numbers):
    """``2**32 / sqrt(n)`` as kernels compute it (:data:`ROOT`); uint64."""
    half, words = np.uint64(32), numbers.copy()
    shifts = np.zeros_like(words)
    for places in ROOT.shifts:
        small = (words < np.uint64(1 << 32 - places)).astype(np.uint64) * np.uint64(places)
        words, shifts = words << small, shifts + small
    guess = np.uint64(ROOT.first) - (words * np.uint64(ROOT.slope) >> half)
    for _ in range(ROOT.rounds):
        square = (guess * guess >> half) * words >> half
        guess = (guess * (np.uint64(3 << 28) - square) >> half) << np.uint64(3)
    return (guess << np.uint64(1)) >> (np.uint64(15) - (shifts >> np.uint64(1)))


def _arcs(graph, values):
    """The matrix that adds up over the arcs that enter a vertex."""
    from scipy.sparse import csr_array
    return csr_array((values, (graph.dst.astype(np.int64), graph.src.astype(np.int64))),
                     shape=(graph.num_vertices,) * 2)


def _need(graph, features, values, weight, factors):
    """An estimate of the largest sum of absolute values of reals."""
    products = _matrix(features, np.abs(values)) @ np.abs(weight)
    outputs = _arcs(graph, factors / 2.0 ** 32) @ products
    return max(float(products.max(initial=0)), float(outputs.max(initial=0)))


def _fits(graph, features, values, weight, factors):
    """Whether all words, and the sums of the absolute values of all terms, are below 2**31. Sums of
    whole numbers are exact in float64 below 2**53."""
    products = _matrix(features, np.abs(values)) @ np.abs(weight)
    if max(np.abs(each).max(initial=0) for each in (values, weight, products)) >= _HALF:
        return False
    factors = factors.astype(np.int64)
    for column in products.T.astype(np.int64):
        # A term is rounded down, so it is at most this large, and 1 more if it is negative.
        terms = (column[graph.src] * factors >> 32) + 1
        sums = np.bincount(graph.dst, terms.astype(np.float64), graph.num_vertices)
        if sums.max(initial=0) >= _HALF:
            return False
    return True
