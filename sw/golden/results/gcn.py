"""A graph convolutional network in floating point, by scipy's products.

The golden model has the words of features and weights from the algorithm. This check begins with
the real numbers, so it also notices words that stand for other numbers.
"""

import numpy as np

from .check import ResultCheck


__all__ = ["CHECK", "fault", "gcn_float"]


#: The part of a last place by which float64 itself may be off.
_FLOAT = 1 / 8


def gcn_float(graph, features, weight):
    """``product`` and ``output`` in float64, with weights float64[columns, dimension]."""
    from scipy.sparse import csr_array
    entries = csr_array((features.values.astype(np.float64), features.columns, features.offsets),
                        shape=(features.num_vertices, features.num_columns))
    product = entries @ np.asarray(weight, np.float64)
    degrees = graph.out_degrees[graph.src] * graph.in_degrees[graph.dst]
    arcs = csr_array((1 / np.sqrt(degrees), (graph.dst.astype(np.int64),
                                             graph.src.astype(np.int64))),
                     shape=(graph.num_vertices,) * 2)
    return product, arcs @ product


def fault(graph, values, words, bits):
    """As of :class:`~sw.golden.results.check.ResultCheck`. ``values`` has ``features``, the real
    ``weight``, and ``bounds`` on the errors of both results."""
    found = zip(("product", "output"), gcn_float(graph, values["features"], values["weight"]),
                values["bounds"], strict=True)
    for name, real, bound in found:
        got = np.ldexp(words[name].astype(np.float64), -bits)
        wrong = np.argwhere(np.abs(got - real) > bound + _FLOAT * 2.0 ** -bits)
        if len(wrong):
            vertex, word = place = tuple(wrong[0].tolist())
            return (f"{name} of vertex {vertex}, word {word}, is {got[place]:.9g}, must be "
                    f"{real[place]:.9g} and may be off by {bound[place]:.3g}")
    return None


#: The check of the algorithm.
CHECK = ResultCheck("in floating point", fault)
