"""The golden components against merging sets."""

import numpy as np
import pytest
from hypothesis import given, settings

from sw.golden.components import components
from sw.graph import Graph, load
from tb.sw.graphs import graphs


def merged(graph):
    """Components by merging, until nothing changes. The smaller label wins."""
    label = list(range(graph.num_vertices))
    changed = True
    while changed:
        changed = False
        for u, v in zip(graph.src.tolist(), graph.dst.tolist()):
            low = min(label[u], label[v])
            changed |= label[u] != low or label[v] != low
            label[u] = label[v] = low
    return label


@settings(deadline=None, max_examples=200)
@given(graphs())
def test_small(graph):
    got = components(graph)
    assert got.dtype == np.uint32
    assert got.tolist() == merged(graph)


@pytest.mark.parametrize("text", ["rmat:scale=9,degree=1,seed=1", "road:side=20,seed=1",
                                  "uniform:vertices=500,edges=400,seed=1"])
def test_generated(text):
    graph = load(text)
    assert components(graph).tolist() == merged(graph)


def test_by_hand():
    assert components(Graph(6, [5, 3, 2], [3, 1, 2])).tolist() == [0, 1, 2, 1, 4, 1]
