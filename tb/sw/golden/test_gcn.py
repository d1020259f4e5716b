"""The golden model of GCN against scipy's matrix products, against floats, and by hand."""

import math

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from sw.compile.algorithms.gcn.fixed_point import COEFFICIENTS, _inverse_roots, choose, draw_weight
from sw.golden.gcn import _inverse_root, gcn
from sw.golden.results.gcn import fault, gcn_float
from sw.graph import Graph
from sw.graph.features import Features, random_features
from tb.sw.graphs import random_graph


def matrix(features, values):
    return csr_array((values, features.columns, features.offsets),
                     shape=(features.num_vertices, features.num_columns))


@pytest.mark.parametrize("seed", range(6))
def test_integers_are_those_of_scipys_products(seed):
    graph = random_graph(40 + seed, 300, seed)
    features = random_features(graph.num_vertices, 25, 0.3, seed)
    values = np.random.default_rng(seed).integers(-500, 500, len(features.values), np.int32)
    weight = np.random.default_rng(seed + 9).integers(-900, 900, (25, 1 + 3 * seed), np.int32)
    product, output = gcn(graph, features, values, weight)
    exact = matrix(features, values.astype(np.int64)) @ weight.astype(np.int64)
    assert product.dtype == output.dtype == np.int32 and np.array_equal(product, exact)
    # Each term of an output is rounded down from the exact product with the real coefficient.
    degrees = (graph.out_degrees[graph.src] * graph.in_degrees[graph.dst]).astype(np.float64)
    ends = graph.dst.astype(np.int64), graph.src.astype(np.int64)
    real = coo_array((1 / np.sqrt(degrees), ends), shape=(graph.num_vertices,) * 2).tocsr() @ exact
    short = real - output
    entering = graph.in_degrees[:, None]
    assert (short >= -1e-3).all() and (short < entering + 1e-3).all()


def test_computed_coefficients():
    """A computed coefficient is below the real one, by less than a part in 2**20; the same by the
    golden model and by the fixed point."""
    degrees = [1, 2, 3, 4, 15, 16, 17, 255, 256, 4095, 4096, 65521, 65535]
    products = [one * other for one in degrees for other in degrees]
    words = _inverse_roots(np.array(products, np.uint64)).tolist()
    assert words == [_inverse_root(product) for product in products]
    for product, word in zip(products, words):
        real = 2 ** 32 / math.sqrt(product)
        assert 0 < real - word < real * 2 ** -20 + 1 and word < 1 << 32


@pytest.mark.parametrize("kind", COEFFICIENTS)
@pytest.mark.parametrize("seed", range(4))
def test_floats_differ_by_less_than_the_bounds(seed, kind):
    graph = random_graph(60, 500, seed)
    features = random_features(60, 30, 0.2, seed)
    weight = draw_weight(30, 8, seed)
    chosen = choose(graph, features, weight, kind)
    found = gcn(graph, features, chosen.values, chosen.weight, kind == "computed")
    for words, real, bound in zip(found, gcn_float(graph, features, weight),
                                  chosen.error_bounds(graph, features, weight)):
        error = np.abs(chosen.to_float(words) - real)
        assert (error <= bound).all() and bound.max() < 1e-3
        assert error.max() > bound.max() / 50       # the bounds say something


@pytest.mark.parametrize("kind", COEFFICIENTS)
def test_the_check_in_floating_point(kind):
    """Words of other numbers are noticed, also those that model and device share."""
    graph = random_graph(60, 500, 1)
    features, weight = random_features(60, 30, 0.2, 1), draw_weight(30, 8, 1)
    chosen = choose(graph, features, weight, kind)
    values = {"features": features, "weight": weight,
              "bounds": chosen.error_bounds(graph, features, weight)}

    def wrong(values_in_words, weight_in_words):
        words = gcn(graph, features, values_in_words, weight_in_words, kind == "computed")
        return fault(graph, values, dict(zip(("product", "output"), words)), chosen.fraction_bits)
    assert wrong(chosen.values, chosen.weight) is None
    assert wrong(chosen.values // 2, chosen.weight).startswith("product of vertex ")
    assert wrong(chosen.values, chosen.weight + 4096).startswith("product of vertex ")
    words = dict(zip(("product", "output"), gcn(graph, features, chosen.values, chosen.weight,
                                                kind == "computed")))
    words["output"][7, 3] += 1 << 22
    assert "output of vertex 7, word 3, is" in fault(graph, values, words, chosen.fraction_bits)


def test_by_hand():
    """Vertex 2 gets a quarter of its square root's share from 0 and 1: 1 / sqrt(1 * 2) and
    1 / sqrt(2 * 2). Half of -3 is rounded down to -2."""
    graph = Graph(3, [0, 1, 1], [2, 2, 0], name="hand")
    features = Features(np.array([0, 2, 3, 3]), np.array([0, 1, 1]), np.array([10, 20, -1]), 2)
    weight = np.array([[1, 0], [2, 3]], np.int32)
    product, output = gcn(graph, features, features.values.astype(np.int32), weight)
    assert product.tolist() == [[50, 60], [-2, -3], [0, 0]]
    # To 0: -2 / sqrt 2 = -1.41 and -3 / sqrt 2 = -2.12. To 2: 50 / sqrt 2 = 35.36, and -2 / 2 just
    # above -1, as a coefficient is a little less than the real one.
    assert output.tolist() == [[-2, -3], [0, 0], [35 - 1, 42 - 2]]


def test_a_sum_that_does_not_fit():
    graph = Graph(1, [0], [0], name="one")
    features = Features(np.array([0, 2]), np.array([0, 0]), np.array([1, 1]), 1)
    values = np.array([1 << 15, 1 << 15], np.int32)
    with pytest.raises(OverflowError, match="one: a word does not hold a sum"):
        gcn(graph, features, values, np.array([[1 << 15]], np.int32))
    product, _ = gcn(graph, features, values, np.array([[-(1 << 15)]], np.int32))
    assert product.tolist() == [[-(1 << 31)]]
