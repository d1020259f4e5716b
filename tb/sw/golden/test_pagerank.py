"""The golden PageRank: exact against Python's integers, and close to float64.

`FixedPoint.error_bound` promises a bound on the error, which is tested here on every graph.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sw.golden.fixed_point import FixedPoint, choose_fixed_point, inverse_degrees
from sw.errors import UserError
from sw.golden.pagerank import _repeated, pagerank, pagerank_float
from sw.graph import Graph, load
from tb.sw.graphs import graphs, real_graph


GRAPHS = ["karate", "rmat:scale=11,degree=16,seed=1", "uniform:vertices=2000,edges=9000,seed=1",
          "powerlaw:vertices=2000,edges=38000,seed=1", "road:side=30,seed=1"]


def by_hand(graph, iterations, fixed):
    """Apply the rule in Python's integers, arc by arc. Returns the ranks, and the largest sum or
    rank."""
    rank, largest = [1 << fixed.fraction_bits] * graph.num_vertices, 0
    for _ in range(iterations):
        total = [0] * graph.num_vertices
        for u, v in zip(graph.src.tolist(), graph.dst.tolist()):
            inverse = min((1 << 32) // int(graph.out_degrees[u]), (1 << 32) - 1)
            total[v] += (rank[u] * inverse) >> 32
        rank = [fixed.base + ((value * fixed.damping) >> 32) for value in total]
        largest = max(largest, *total, *rank)
    return rank, largest


@pytest.mark.parametrize("name", ["karate", "rmat:scale=7,degree=16,seed=1", "road:side=9,seed=1"])
@pytest.mark.parametrize("iterations", [63, 500])
def test_whole_rounds_are_left_out(name, iterations):
    """Ranks, in fixed point and in floating point, and the largest value are those of all sweeps,
    although some sweeps are left out."""
    graph = load(name)
    fixed = choose_fixed_point(graph, iterations)
    words, largest = by_sweeps(graph, iterations, fixed)
    assert pagerank(graph, iterations, fixed).tolist() == words.tolist()
    assert largest < 1 << 32
    if fixed.fraction_bits < 30:
        finer = FixedPoint.of(fixed.fraction_bits + 1)
        assert by_sweeps(graph, iterations, finer)[1] >= 1 << 32
    assert np.allclose(pagerank_float(graph, iterations), float_by_hand(graph, iterations, 0.85),
                       rtol=0, atol=1e-12)


def test_ranks_that_go_round():
    """Ranks that change places come back every second sweep. Few sweeps are done."""
    sweeps = []

    def sweep(rank):
        sweeps.append(1)
        return rank[::-1].copy()

    for iterations in (0, 1, 2, 3, 4, 99, 100, 1 << 31, (1 << 31) + 1):
        rank = _repeated(sweep, np.array([1, 2]), iterations)
        assert rank.tolist() == ([1, 2] if iterations % 2 == 0 else [2, 1])
    assert len(sweeps) < 100


@pytest.mark.parametrize("name", GRAPHS)
def test_many_sweeps_cost_few(name):
    """2**31 sweeps end as soon as the ranks repeat."""
    graph = load(name)
    fixed = choose_fixed_point(graph, 1 << 31)
    assert pagerank(graph, 1 << 31, fixed).tolist() == pagerank(graph, 5000, fixed).tolist()


def by_sweeps(graph, iterations, fixed):
    """The same result as :func:`by_hand`, with arrays. No sweep is left out."""
    rank, largest = np.full(graph.num_vertices, fixed.one, dtype=np.uint64), 0
    inverse = inverse_degrees(graph).astype(np.uint64)
    for _ in range(iterations):
        total = np.zeros(graph.num_vertices, dtype=np.uint64)
        np.add.at(total, graph.dst, ((rank * inverse) >> np.uint64(32))[graph.src])
        rank = np.uint64(fixed.base) + ((total * np.uint64(fixed.damping)) >> np.uint64(32))
        largest = max(largest, int(total.max()), int(rank.max()))
    return rank, largest


def float_by_hand(graph, iterations, damping):
    """The rule in float64 by a dense matrix."""
    flow = np.zeros((graph.num_vertices,) * 2)
    np.add.at(flow, (graph.dst, graph.src), 1)
    flow /= np.maximum(graph.out_degrees, 1)
    rank = np.full(graph.num_vertices, 1 / graph.num_vertices)
    for _ in range(iterations):
        rank = (1 - damping) / graph.num_vertices + damping * (flow @ rank)
    return rank


@settings(deadline=None, max_examples=200)
@given(graphs(), st.integers(0, 5), st.sampled_from([0, 0.5, 0.85, 0.999]))
def test_exact(graph, iterations, damping):
    fixed = choose_fixed_point(graph, iterations, damping)
    words = pagerank(graph, iterations, fixed)
    expected, largest = by_hand(graph, iterations, fixed)
    assert words.dtype == np.uint32
    assert words.tolist() == expected
    assert largest < 1 << 32
    if fixed.fraction_bits < 30:  # the finest fraction that fits
        finer = FixedPoint.of(fixed.fraction_bits + 1, damping)
        assert by_hand(graph, iterations, finer)[1] >= 1 << 32
        with pytest.raises(OverflowError):
            pagerank(graph, iterations, finer)


@settings(deadline=None, max_examples=100)
@given(graphs(), st.integers(0, 20), st.sampled_from([0, 0.5, 0.85, 0.999]))
def test_float(graph, iterations, damping):
    rank = pagerank_float(graph, iterations, damping)
    assert rank == pytest.approx(float_by_hand(graph, iterations, damping), rel=1e-12)
    assert rank.sum() <= 1 + 1e-9


@settings(deadline=None, max_examples=100)
@given(graphs(), st.integers(0, 20), st.sampled_from([0.5, 0.85, 0.999]))
def test_error_small(graph, iterations, damping):
    fixed = choose_fixed_point(graph, iterations, damping)
    rank = fixed.to_rank(pagerank(graph, iterations, fixed))
    error = np.abs(rank - pagerank_float(graph, iterations, damping)).sum()
    assert error < fixed.error_bound(graph) + 1e-12


@pytest.mark.parametrize("text", GRAPHS)
@pytest.mark.parametrize("iterations", [1, 20])
def test_error(text, iterations):
    graph = load(text)
    fixed = choose_fixed_point(graph, iterations)
    rank = fixed.to_rank(pagerank(graph, iterations, fixed))
    error = np.abs(rank - pagerank_float(graph, iterations)).sum()
    assert error < fixed.error_bound(graph)
    assert error < 2e-5  # the total rank is at most 1


@pytest.mark.parametrize("text", GRAPHS)
def test_order_of_arcs_and_labels(text):
    """The result depends neither on the order of arcs nor on the numbers of vertices."""
    graph = load(text)
    rng = np.random.default_rng(1)
    order, label = rng.permutation(graph.num_edges), rng.permutation(graph.num_vertices)
    other = Graph(graph.num_vertices, label[graph.src[order]], label[graph.dst[order]])
    fixed = choose_fixed_point(graph, 5)
    assert fixed == choose_fixed_point(other, 5)
    assert np.array_equal(pagerank(graph, 5, fixed), pagerank(other, 5, fixed)[label])


def test_parallel_arcs_count_each():
    graph = Graph(3, [0, 0, 0], [1, 1, 2])
    rank = pagerank_float(graph, 1)
    assert rank == pytest.approx(np.array([0.15, 0.15 + 0.85 * 2 / 3, 0.15 + 0.85 / 3]) / 3)


def test_star_limits_the_fraction():
    """One vertex gathers everything. The vertex's sum limits the finest fraction."""
    leaves = 1 << 12
    graph = Graph(leaves + 1, np.arange(1, leaves + 1), np.zeros(leaves, dtype=int))
    fixed = choose_fixed_point(graph, 1)
    assert fixed.fraction_bits == 20  # shares are 1 less for degree 1: just below 2**32
    assert int(pagerank(graph, 1, fixed)[0]) == by_hand(graph, 1, fixed)[0][0]


@pytest.mark.parametrize("iterations, damping, words", [
    (-1, 0.85, "iterations is -1, must be 0 or more"),
    (1, 1.0, "damping is 1.0, must be at least 0 and less than 1"),
    (1, -0.1, "damping is -0.1"),
    (1, float("nan"), "damping is nan"),
])
def test_wrong(iterations, damping, words):
    with pytest.raises(UserError, match=words):
        pagerank_float(load("karate"), iterations, damping)


@pytest.mark.parametrize("file", ["email-enron.el.gz", "soc-epinions1.el.gz", "road-bay.el.gz",
                                  "wiki-vote.el.gz"])
def test_error_real(file):
    graph = load(real_graph(file))
    fixed = choose_fixed_point(graph, 10)
    rank = fixed.to_rank(pagerank(graph, 10, fixed))
    assert np.abs(rank - pagerank_float(graph, 10)).sum() < min(fixed.error_bound(graph), 2e-5)
