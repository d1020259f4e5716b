"""The fixed point of PageRank.

tb/sw/golden/test_pagerank.py tests its error bound, and that no finer one fits.
"""

import numpy as np
import pytest

from sw.golden.fixed_point import FixedPoint, _repeat, choose_fixed_point, inverse_degrees
from sw.errors import UserError
from sw.graph import Graph, load
from tb.sw.golden.test_pagerank import GRAPHS


def test_ranks_that_go_round():
    """Two vertices hand on all that they have and lose nothing, so the ranks never stand still."""
    def sweep(rank):
        sweeps.append(1)
        return rank, rank[::-1]
    sweeps = []
    for iterations in (0, 1, 2, 3, 4, 5, 100, 101, 1 << 31, (1 << 31) + 1):
        rank = first = np.array([1, 2])
        for _, rank in _repeat(sweep, first, iterations):
            pass
        assert rank.tolist() == ([1, 2] if iterations % 2 == 0 else [2, 1])
    assert len(sweeps) < 100


@pytest.mark.parametrize("name", GRAPHS)
def test_many_sweeps_cost_few(name, monkeypatch):
    """2**31 sweeps end as soon as the ranks repeat."""
    sweeps = 0

    def counted(*arguments):
        nonlocal sweeps
        for sweep in _repeat(*arguments):
            sweeps += 1
            yield sweep
    monkeypatch.setattr("sw.golden.fixed_point._repeat", counted)
    graph = load(name)
    assert choose_fixed_point(graph, 1 << 31) == choose_fixed_point(graph, 5000)
    assert sweeps < 2000


def test_fixed_point():
    fixed = FixedPoint.of(16)
    assert (fixed.one, fixed.damping, fixed.base) == (65536, round(0.85 * 2**32), 9830)
    assert fixed.to_rank(np.array([65536, 32768])).tolist() == [0.5, 0.25]


def test_inverse_degrees():
    graph = Graph(4, [1, 2, 2, 3, 3, 3], [0] * 6)
    assert inverse_degrees(graph).tolist() == [0, 2**32 - 1, 2**31, 2**32 // 3]
    assert inverse_degrees(graph).dtype == np.uint32


@pytest.mark.parametrize("iterations, damping, words", [
    (-1, 0.85, "iterations is -1, must be 0 or more"),
    (1, 1.0, "damping is 1.0, must be at least 0 and less than 1"),
    (1, -0.1, "damping is -0.1"),
    (1, float("nan"), "damping is nan"),
])
def test_wrong(iterations, damping, words):
    with pytest.raises(UserError, match=words):
        choose_fixed_point(load("karate"), iterations, damping)
