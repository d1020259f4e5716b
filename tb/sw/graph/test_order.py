"""Orderings of vertices: permutations that depend on the edges, and bring neighbours together.

======================  ========================================================
every ordering          test_a_permutation (hypothesis), test_without_edges,
                        test_the_same_again, test_the_same_in_any_version
rcm                     test_rcm_makes_the_bandwidth_small, test_rcm_by_hand
louvain                 test_louvain_brings_communities_together,
                        test_louvain_divides_large_communities
gorder                  test_gorder_takes_the_best_vertex,
                        test_gorder_on_larger_graphs, test_gorder_by_hand
sage                    test_windows, test_a_count, test_a_round_of_the_paper,
                        test_equal_halves, test_rounds_bring_vertices_together, test_samples
======================  ========================================================
"""

import itertools
import pathlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sw.graph import Graph, generate
from sw.graph import sage
from sw.graph.gorder import WINDOW, gorder
from sw.graph.order import GRAIN, ORDERS, new_ids
from tb import expected
from tb.sw.graphs import graphs, random_graph


TEXTS = pathlib.Path(__file__).parent / "orders.txt"

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
    """Parallel edges and self-loops included; for some, the direction of edges does not matter."""
    ids = new_ids(name, graph.src, graph.dst, graph.num_vertices)
    assert ids.dtype == np.uint32
    assert sorted(ids.tolist()) == list(range(graph.num_vertices))
    if name in ("louvain", "rcm"):
        assert np.array_equal(ids, new_ids(name, graph.dst, graph.src, graph.num_vertices))
    assert new_ids("none", graph.src, graph.dst, graph.num_vertices) is None


@pytest.mark.parametrize("name, options", [
    ("louvain", {}), ("rcm", {}), ("gorder", {}), ("sage", {}), ("sage", {"rounds": 1}),
    ("sage", {"rounds": 2, "sample": 30}), ("sage", {"sample": 1})])
def test_the_same_in_any_version(name, options):
    """The numbers of two graphs, which figures and kept results depend on."""
    found = [new_ids(name, graph.src, graph.dst, graph.num_vertices, **options).tolist()
             for graph in (generate("community:vertices=700,edges=5000,communities=2,seed=1"),
                           generate("road:side=12,seed=3"))]
    expected.check(TEXTS, f"{name} {options}", "\n".join(map(expected.digest, found)))


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


def scores(graph):
    """The score of each pair of vertices, by the definition."""
    count = graph.num_vertices
    edges = {(int(u), int(v)) for u, v in zip(graph.src, graph.dst) if u != v}
    out = [{v for v in range(count) if (u, v) in edges} for u in range(count)]
    into = [{u for u in range(count) if (u, v) in edges} for v in range(count)]
    found = np.zeros((count, count), dtype=int)
    for u in range(count):
        for v in range(count):
            shared = sum(len(out[x]) <= count ** 0.5 for x in into[u] & into[v])
            found[u, v] = ((u, v) in edges) + ((v, u) in edges) + shared
    return found, [len(sources) for sources in into]


def greedy(graph):
    """Whether each vertex of the order has the largest score with the window, and then the lowest
    number."""
    score, degrees = scores(graph)
    order = gorder(graph.src, graph.dst, graph.num_vertices).tolist()
    assert sorted(order) == list(range(graph.num_vertices))
    assert order[:1] == [int(np.argmax(degrees))][:len(order)]
    for place in range(1, len(order)):
        left = sorted(order[place:])
        sums = [score[order[max(0, place - WINDOW):place], vertex].sum() for vertex in left]
        assert order[place] == left[int(np.argmax(sums))]


@given(graph=graphs())
def test_gorder_takes_the_best_vertex(graph):
    greedy(graph)


@pytest.mark.parametrize("seed", range(4))
def test_gorder_on_larger_graphs(seed):
    greedy(random_graph(40, 130, seed))


def test_gorder_by_hand():
    """Vertex 4 has the most in-edges. 0 and 6 share the source 9 with 4, and so do not 1 and 2."""
    graph = Graph(16, [9, 9, 9, 8, 7], [4, 0, 6, 4, 4])
    assert gorder(graph.src, graph.dst, 16)[:6].tolist() == [4, 0, 6, 9, 7, 8]


def test_windows():
    """Rows of 11 and 3 edges and tiles of up to 4 lanes: 8 edges in tiles of 4, then 2, and single
    edges in none."""
    bases = np.array([0] * 11 + [2] * 3, dtype=np.uint32)
    neighbors = np.array([*range(10, -1, -1), 5, 4, 3], dtype=np.uint32)
    (wide, four), (narrow, two) = sage.windows(bases, neighbors, 11, 4)
    assert wide.tolist() == [0, 0] and four.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert narrow.tolist() == [0, 2] and two.tolist() == [[8, 9], [3, 4]]


@given(graph=graphs(), lanes=st.sampled_from([2, 4, 8]), shift=st.integers(0, 3),
       seed=st.integers(0, 99), percent=st.sampled_from([100, 60, 1]))
def test_a_count(graph, lanes, shift, seed, percent):
    """Against a count pair by pair."""
    count = graph.num_vertices
    wanted = np.random.default_rng(seed).integers(0, (count >> shift) + 1, count)
    expected = [0] * count
    for base in range(count):
        row = sorted(int(v) for u, v in zip(graph.src, graph.dst) if u == base)
        if not sage.sampled(np.array([base]), seed, percent)[0]:
            continue
        while len(row) > 1:
            width = min(lanes, 1 << len(row).bit_length() - 1)
            tile, row = row[:width], row[width:]
            for place, vertex in enumerate(tile):
                expected[vertex] += sum(
                    other >> shift == wanted[vertex]
                    for apart, other in enumerate(tile) if apart != place)
    tiles = sage.windows(graph.src, graph.dst, count, lanes)
    assert sage.count(tiles, shift, wanted, seed, percent).tolist() == expected


def test_a_round_of_the_paper():
    """Vertex 8 of 16 is read with 9 once, and with six vertices of sector 0 (SAGE, figure 5): its
    locality grows from 1 to 6, and it moves behind the vertices of sector 0."""
    rows = [(0, 1, 2, 8), (0, 1, 3, 8), (8, 9, 4, 12)]
    sources = np.repeat(np.arange(3), 4)
    tiles = sage.windows(sources, np.array(rows).ravel(), 16, 4)

    def counted(shift, wanted):
        return sage.count(tiles, shift, wanted, 0, 100)

    assert counted(2, np.arange(16) >> 2)[8] == 1
    assert counted(2, np.zeros(16, dtype=int))[8] == 6
    order = sage.one_round(counted, 16, 4).tolist()
    assert order.index(8) == 4 and order[:4] == [0, 1, 2, 3]


def test_equal_halves():
    """Vertex 5 is read with 1 and with 13: the search goes to the lower half."""
    tiles = [(np.array([0, 0]), np.array([[1, 5], [5, 13]]))]
    order = sage.one_round(lambda shift, wanted: sage.count(tiles, shift, wanted, 0, 100), 16, 4)
    assert order.tolist()[:4] == [0, 2, 3, 5]


def distinct(graph, ids):
    """Sectors that a tile reads, on average over its edges."""
    tiles = sage.windows(ids[graph.src], ids[graph.dst], graph.num_vertices, sage.LANES)
    lines = sum(len(set(row)) for _, rows in tiles for row in (rows // sage.SECTOR).tolist())
    share = lines / sum(rows.size for _, rows in tiles)
    assert share == sage.lines(ids[graph.src], ids[graph.dst], graph.num_vertices)
    return share


def test_rounds_bring_vertices_together():
    graph = generate("community:vertices=2000,edges=30000,communities=40,mixing=0.05,shuffle=1,"
                     "seed=1")
    lines = [distinct(graph, np.arange(2000))]
    for rounds in (1, 2, 5, 10):
        lines.append(distinct(graph, new_ids("sage", graph.src, graph.dst, 2000, rounds=rounds)))
    assert all(after < before for before, after in itertools.pairwise(lines))
    assert lines[-1] < 0.75 * lines[0]
    best = distinct(graph, new_ids("gorder", graph.src, graph.dst, 2000))
    assert best < lines[-1]


def test_samples():
    """About as many vertices as asked for, others in each sweep; fewer samples do less."""
    vertices = np.arange(10_000)
    for percent in (1, 30, 75):
        chosen = [sage.sampled(vertices, sweep, percent) for sweep in (1, 2)]
        assert all(abs(each.mean() - percent / 100) < 0.03 for each in chosen)
        assert not np.array_equal(*chosen)
    assert sage.sampled(vertices, 1, 100).all()
    graph = generate("community:vertices=2000,edges=30000,communities=40,mixing=0.05,shuffle=1,"
                     "seed=1")
    few, all_ = (distinct(graph, new_ids("sage", graph.src, graph.dst, 2000, sample=percent))
                 for percent in (20, 100))
    assert all_ < few < distinct(graph, np.arange(2000))
