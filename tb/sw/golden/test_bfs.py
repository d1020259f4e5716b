"""The golden breadth-first search against scipy and against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from sw.errors import UserError
from sw.golden.bfs import bfs
from sw.graph import Graph, load
from tb.sw.graphs import graphs, real_graph


def check(graph, source):
    """Depths equal scipy's, and each parent is the smallest possible vertex."""
    depth, parent = bfs(graph, source)
    assert depth.dtype == parent.dtype == np.int32
    matrix = csr_array((np.ones(graph.num_edges), (graph.src, graph.dst)),
                       shape=(graph.num_vertices,) * 2)
    expected = dijkstra(matrix, indices=source, unweighted=True)
    assert np.array_equal(depth, np.where(np.isinf(expected), -1, expected))

    tree = (depth[graph.src] >= 0) & (depth[graph.src] + 1 == depth[graph.dst])
    smallest = np.full(graph.num_vertices, graph.num_vertices)
    np.minimum.at(smallest, graph.dst[tree], graph.src[tree])
    smallest[depth < 0] = -1
    smallest[source] = source
    assert np.array_equal(parent, smallest)


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_small(data):
    graph = data.draw(graphs())
    check(graph, data.draw(st.integers(0, graph.num_vertices - 1)))


@pytest.mark.parametrize("text", [
    "rmat:scale=12,degree=16,seed=1", "uniform:vertices=3000,edges=6000,seed=1",
    "powerlaw:vertices=3000,edges=30000,seed=1", "road:side=40,seed=1", "karate",
])
def test_generated(text):
    graph = load(text)
    for source in (0, graph.num_vertices // 2, int(np.argmax(graph.out_degrees))):
        check(graph, source)


def test_by_hand():
    graph = Graph(7, [3, 3, 2, 1, 1, 4, 0], [1, 2, 4, 4, 1, 0, 3])
    depth, parent = bfs(graph, 3)
    assert depth.tolist() == [3, 1, 1, 0, 2, -1, -1]
    assert parent.tolist() == [4, 3, 3, 3, 1, -1, -1]


def test_one_vertex():
    depth, parent = bfs(Graph(1, [0], [0]), 0)
    assert depth.tolist() == parent.tolist() == [0]


@pytest.mark.parametrize("source", [-1, 34])
def test_wrong_source(source):
    with pytest.raises(UserError, match=f"source {source} is not a vertex, must be from 0 to 33"):
        bfs(load("karate"), source)


def test_long_path():
    vertices = np.arange(20_000)
    depth, parent = bfs(Graph(len(vertices), vertices[:-1], vertices[1:]), 0)
    assert np.array_equal(depth, vertices)
    assert np.array_equal(parent, np.maximum(vertices - 1, 0))


@pytest.mark.parametrize("file", ["road-bay.el.gz", "email-enron.el.gz", "soc-epinions1.el.gz"])
def test_real(file):
    graph = load(real_graph(file))
    check(graph, int(np.argmax(graph.out_degrees)))
    check(graph.undirected(), 0)
