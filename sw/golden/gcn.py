"""The operator of a graph convolutional network, exact to the bit in a fixed point.

The operator multiplies the features of the vertices by a weight matrix, and then adds up over the
arcs that enter a vertex (Kipf and Welling, ICLR 2017; SparseWeaver, 4.6.9)::

    product = features @ weight
    output[v] = sum over the arcs (u, v) of product[u] / sqrt(out_degree(u) * in_degree(v))

The graph's arcs are taken as they are: no arc from a vertex to itself is added.
"""

import math

import numpy as np


__all__ = ["gcn"]


_WORD = 1 << 32


def _scales(degrees):
    return np.array([min(math.isqrt(_WORD * _WORD // degree), _WORD - 1) if degree else 0
                     for degree in degrees.tolist()], dtype=np.int64)


def _stored(graph):
    """The coefficients by a table of scales."""
    return (_scales(graph.out_degrees).astype(object)[graph.src]
            * _scales(graph.in_degrees).astype(object)[graph.dst]) // _WORD


def _computed(graph):
    """The coefficients by three rounds of Newton's method, from the products of degrees."""
    return np.array([_inverse_root(start * end) for start, end in zip(
        graph.out_degrees[graph.src].tolist(), graph.in_degrees[graph.dst].tolist())], object)


def _inverse_root(number):
    """``2**32 / sqrt(number)`` of a word, in words."""
    shift = 32 - number.bit_length() & ~1
    fraction = number << shift
    guess = round(2.22 * 2 ** 30) - (fraction * round(2 ** 32 / 3) // _WORD)
    for _ in range(3):
        square = (guess * guess // _WORD) * fraction // _WORD
        guess = (guess * (3 * 2 ** 28 - square) // _WORD) * 8
    return guess * 2 // (1 << 15 - shift // 2)


def gcn(graph, features, values, weight, computed=False):
    """``product`` and ``output``, bit for bit as the device has them.

    Parameters
    ----------
    graph : Graph
    features : Features
        The places of the entries.
    values : int32[entries]
        Their words.
    weight : int32[columns, dimension]
    computed : bool
        Whether coefficients are computed from the degrees, and not looked up in a table.

    Returns
    -------
    product, output : int32[V, dimension]

    Raises
    ------
    OverflowError
        If a sum does not fit a word.
    """
    product = np.zeros((graph.num_vertices, weight.shape[1]), dtype=np.int64)
    rows = features.rows
    for number, column in enumerate(weight.T.astype(np.int64)):
        np.add.at(product[:, number], rows, values * column[features.columns])
    coefficients = (_computed if computed else _stored)(graph).astype(np.int64)
    output = np.zeros_like(product)
    for column, into in zip(_word(graph, product).T.astype(np.int64), output.T):
        np.add.at(into, graph.dst, column[graph.src] * coefficients >> 32)
    return _word(graph, product), _word(graph, output)


def _word(graph, sums):
    if sums.size and not -(1 << 31) <= int(sums.min()) <= int(sums.max()) < 1 << 31:
        raise OverflowError(f"{graph.name}: a word does not hold a sum")
    return sums.astype(np.int32)
