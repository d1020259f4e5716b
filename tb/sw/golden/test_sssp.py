"""The golden shortest paths against scipy and against a priority queue."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sw.errors import UserError
from sw.golden.sssp import sssp
from sw.graph import Graph, load
from tb.sw.graphs import graphs


#: The length where there is no path.
UNREACHED = 0xFFFF_FFFF


def dijkstra(graph, source):
    """Shortest paths by Dijkstra's algorithm, in Python's integers."""
    rows = [[] for _ in range(graph.num_vertices)]
    for u, v, w in zip(graph.src.tolist(), graph.dst.tolist(), graph.weights.tolist()):
        rows[u].append((v, w))
    distance, queue = [None] * graph.num_vertices, [(0, source)]
    while queue:
        length, vertex = heapq.heappop(queue)
        if distance[vertex] is None:
            distance[vertex] = length
            for neighbor, weight in rows[vertex]:
                heapq.heappush(queue, (length + weight, neighbor))
    return distance


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_small(data):
    graph = data.draw(graphs(weighted=True))
    source = data.draw(st.integers(0, graph.num_vertices - 1))
    expected = dijkstra(graph, source)
    if any(length is not None and length >= UNREACHED for length in expected):
        with pytest.raises(UserError, match="must be below 4294967295"):
            sssp(graph, source)
        return
    got = sssp(graph, source)
    assert got.dtype == np.uint32
    assert got.tolist() == [UNREACHED if length is None else length for length in expected]


@pytest.mark.parametrize("text", ["rmat:scale=10,degree=8,seed=1,weights=255",
                                  "road:side=30,seed=1",
                                  "uniform:vertices=1000,edges=1500,seed=1,weights=4294967"])
def test_generated(text):
    graph = load(text)
    source = int(np.argmax(graph.out_degrees))
    assert sssp(graph, source).tolist() == [UNREACHED if length is None else length
                                            for length in dijkstra(graph, source)]


def test_refused():
    with pytest.raises(UserError, match="its arcs have no weights"):
        sssp(Graph(2, [0], [1]), 0)
    with pytest.raises(UserError, match="source 2 is not a vertex, must be from 0 to 1"):
        sssp(Graph(2, [0], [1], [5]), 2)
    far = Graph(3, [0, 1], [1, 2], [UNREACHED - 1, 1], name="far")
    with pytest.raises(UserError, match="far: vertex 2 is 4294967295 away from vertex 0"):
        sssp(far, 0)
    assert sssp(far, 1).tolist() == [UNREACHED, 0, 1]
