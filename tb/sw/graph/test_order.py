"""Orderings of vertices: permutations that depend on the edges, and bring neighbours together.

======================  ========================================================
every ordering          test_a_permutation (hypothesis), test_without_edges,
                        test_the_same_again
rcm                     test_rcm_makes_the_bandwidth_small, test_rcm_by_hand
louvain                 test_louvain_brings_communities_together,
                        test_louvain_divides_large_communities
======================  ========================================================
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sw.graph import Graph, generate
from sw.graph.order import GRAIN, ORDERS, new_ids
from tb.sw.graphs import graphs, random_graph


ORDERED = [name for name in ORDERS if name != "none"]


def shuffled(graph, seed):
    """The graph with its vertices numbered at random."""
    ids = np.random.default_rng(seed).permutation(graph.num_vertices)
    return Graph(graph.num_vertices, ids[graph.src], ids[graph.dst])


def ordered(name, graph):
    """New numbers of the ends of a graph's edges."""
    ids = new_ids(name, graph.src, graph.dst, graph.num_vertices)
    return ids[graph.src].astype(int), ids[graph.dst].astype(int)


@given(graph=graphs(max_vertices=30, max_edges=60), name=st.sampled_from(ORDERED))
def test_a_permutation(graph, name):
    """Parallel edges and self-loops included; the direction of edges does not matter."""
    ids = new_ids(name, graph.src, graph.dst, graph.num_vertices)
    assert ids.dtype == np.uint32
    assert sorted(ids.tolist()) == list(range(graph.num_vertices))
    assert np.array_equal(ids, new_ids(name, graph.dst, graph.src, graph.num_vertices))
    assert new_ids("none", graph.src, graph.dst, graph.num_vertices) is None


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("vertices", [1, 2, 40])
def test_without_edges(name, vertices):
    for ends in ([], [0, 0]):
        graph = Graph(vertices, ends, ends)
        ids = new_ids(name, graph.src, graph.dst, vertices)
        assert sorted(ids.tolist()) == list(range(vertices))


@pytest.mark.parametrize("name", ORDERED)
def test_the_same_again(name):
    """The order in which a file has the edges does not matter either."""
    graph = random_graph(400, 1500, 5)
    ids = new_ids(name, graph.src, graph.dst, 400)
    assert not np.array_equal(ids, np.arange(400))
    order = np.random.default_rng(1).permutation(graph.num_edges)
    assert np.array_equal(ids, new_ids(name, graph.src[order], graph.dst[order], 400))


def test_rcm_makes_the_bandwidth_small():
    """A shuffled path gets its order back, and a shuffled grid a bandwidth near its width."""
    path = Graph(100, range(99), range(1, 100))
    sources, destinations = ordered("rcm", shuffled(path, 1))
    assert np.abs(sources - destinations).max() == 1
    grid = shuffled(generate("road:side=20,seed=1"), 2)
    sources, destinations = ordered("rcm", grid)
    assert np.abs(sources - destinations).max() < 40
    assert np.abs(grid.src.astype(int) - grid.dst).max() > 350


def test_rcm_by_hand():
    """A star and a path: from the path's end through the path, then from a leaf through the centre,
    and all of it backwards."""
    graph = Graph(7, [3, 3, 3, 4, 5], [0, 1, 2, 5, 6])
    ids = new_ids("rcm", graph.src, graph.dst, 7)
    assert np.abs(ids[[4, 5]].astype(int) - ids[[5, 6]]).tolist() == [1, 1]
    assert int(ids[[4, 5, 6]].min()) in (0, 4)
    assert abs(int(ids[3]) - int(ids[[0, 1, 2]].mean())) <= 2


def test_louvain_brings_communities_together():
    """Most edges of a shuffled graph of communities end up within the size of a community."""
    graph = generate("community:vertices=2000,edges=30000,communities=40,mixing=0.05,shuffle=1,"
                     "seed=1")
    sources, destinations = ordered("louvain", graph)
    assert np.mean(np.abs(sources - destinations) < 100) > 0.85
    assert np.mean(np.abs(graph.src.astype(int) - graph.dst) < 100) < 0.2


def test_louvain_divides_large_communities():
    """Four communities of 512 vertices, each of eight parts: modularity alone sees only the four,
    which are larger than the grain."""
    vertices, part = 8 * GRAIN, GRAIN // 4
    rng = np.random.default_rng(1)
    source, destination = np.triu_indices(vertices, 1)
    likely = np.select([source // part == destination // part,
                        source // (2 * GRAIN) == destination // (2 * GRAIN)], [0.3, 0.03], 0.001)
    kept = rng.random(len(source)) < likely
    graph = shuffled(Graph(vertices, source[kept], destination[kept]), 3)
    sources, destinations = ordered("louvain", graph)
    inside = np.mean(source[kept] // part == destination[kept] // part)
    assert np.mean(np.abs(sources - destinations) < part) > 0.9 * inside
