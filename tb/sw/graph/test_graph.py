"""Graph, its compressed rows and its description, against plain Python."""

import collections

import numpy as np
import pytest
from hypothesis import given, settings

from base.errors import UserError
from sw.graph import Graph, describe, load
from sw.graph.graph import check_density
from tb.sw.graphs import graphs, random_graph, real_graph, real_graphs_folder


def arcs(graph):
    """The arcs as Python tuples, in order."""
    weights = [None] * graph.num_edges if graph.weights is None else graph.weights.tolist()
    return list(zip(graph.src.tolist(), graph.dst.tolist(), weights))


def test_init():
    graph = Graph(3, [0, 2], np.array([1, 2], dtype=np.int64), [7, 0], "three")
    assert (graph.num_vertices, graph.num_edges, graph.name) == (3, 2, "three")
    assert [array.dtype for array in (graph.src, graph.dst, graph.weights)] == [np.uint32] * 3
    assert graph.out_degrees.tolist() == [1, 0, 1]
    assert graph.in_degrees.tolist() == [0, 1, 1]


def test_init_without_arcs():
    graph = Graph(2, [], [], [])
    assert graph.num_edges == 0
    assert graph.csr()[0].tolist() == [0, 0, 0]
    assert graph.simplify().num_edges == graph.undirected().num_edges == 0


def test_cannot_be_changed():
    src = np.array([0, 1], dtype=np.uint32)
    graph = Graph(2, src, src)
    with pytest.raises(ValueError):
        graph.src[0] = 1
    with pytest.raises(ValueError):
        graph.csr()[1][0] = 1
    with pytest.raises(AttributeError):
        graph.name = "other"
    src[0] = 0  # the caller's array stays writable


@pytest.mark.parametrize("arguments, words", [
    ((0, [], []), "empty"),
    ((1 << 31, [], []), "too many"),
    ((2, [0], [2]), "dst of arc 0 is 2, must be from 0 to 1"),
    ((2, [0, -1], [0, 0]), "src of arc 1 is -1"),
    ((2, [0], [0, 1]), "dst has 2 entries, must have 1"),
    ((2, [0], [0], []), "weights has 0 entries, must have 1"),
    ((2, [0], [0], [-1]), "weight of arc 0 is -1"),
    ((2, [0], [0], [1 << 32]), "weight of arc 0 is 4294967296"),
    ((2, [0], [0], [0.5]), "weight is of type float64"),
    ((2, [[0]], [[0]]), "2 dimensions"),
])
def test_init_wrong(arguments, words):
    with pytest.raises(UserError, match=words):
        Graph(*arguments)


@settings(deadline=None)
@given(graphs())
def test_csr(graph):
    for reverse in (False, True):
        offsets, neighbors, weights = graph.csr(reverse)
        assert offsets.dtype == neighbors.dtype == np.uint32
        rows = collections.defaultdict(list)
        for u, v, w in arcs(graph):
            rows[v if reverse else u].append((u if reverse else v, w))
        for vertex in range(graph.num_vertices):
            part = slice(int(offsets[vertex]), int(offsets[vertex + 1]))
            row = [None] * (part.stop - part.start) if weights is None else weights[part].tolist()
            assert list(zip(neighbors[part].tolist(), row)) == sorted(rows[vertex])


@pytest.mark.parametrize("vertices", [1, 2, 3, 1 << 10, (1 << 17) + 1])
def test_csr_of_wide_weights(vertices):
    """The order stays the same if vertices and weights do not fit in one 64-bit key."""
    graph = random_graph(vertices, 2000, seed=1, weights=True)
    order = np.lexsort((graph.weights, graph.dst, graph.src))
    offsets, neighbors, weights = graph.csr()
    assert np.array_equal(np.diff(offsets.astype(np.int64)), graph.out_degrees)
    assert np.array_equal(neighbors, graph.dst[order])
    assert np.array_equal(weights, graph.weights[order])


@settings(deadline=None)
@given(graphs())
def test_properties(graph):
    """What programs need of a graph."""
    ends = list(zip(graph.src.tolist(), graph.dst.tolist()))
    apart = {(u, v) for u, v in ends if u != v}
    assert graph.left.tolist() == [any(u == each for u, _ in apart)
                                   for each in range(graph.num_vertices)]
    assert graph.entered.tolist() == [any(v == each for _, v in apart)
                                      for each in range(graph.num_vertices)]
    assert graph.loopless == all(u != v for u, v in ends)
    assert graph.simple == (graph.loopless and len(set(ends)) == len(ends))
    alone = [(u, v) for u, v in ends if (v, u) not in ends]
    assert graph.symmetric == (not alone)
    assert graph.one_way == (alone[0] if alone else None)
    assert graph.num_returned == sum((v, u) in apart for u, v in ends if u != v)
    rows, neighbors = graph.arcs_in_rows
    assert list(zip(rows.tolist(), neighbors.tolist())) == sorted(ends)


@pytest.mark.parametrize("pairs, one_way, returned", [
    ([(0, 1), (1, 0), (2, 2)], None, 2), ([(0, 1), (0, 1), (1, 0)], None, 3),
    ([(0, 2), (2, 0), (1, 2)], (1, 2), 2), ([(2, 1)], (2, 1), 0), ([(1, 1)], None, 0)])
def test_arcs_back(pairs, one_way, returned):
    graph = Graph(3, *zip(*pairs))
    assert (graph.one_way, graph.symmetric, graph.num_returned) == (
        one_way, one_way is None, returned)


def test_limits():
    """The largest graphs, without the memory for them."""
    most = (1 << 31) - 1
    many = np.broadcast_to(np.uint32(0), (most + 1,))
    with pytest.raises(UserError, match=f"{most + 1} arcs are too many, at most {most}"):
        Graph(1, many, many)
    with pytest.raises(UserError, match=f"{most + 1} vertices are too many, at most {most}"):
        Graph(most + 1, [], [])
    assert Graph(most, [], []).num_vertices == most
    for vertices, arcs, legal in ((1 << 22, 0, True), ((1 << 22) + 1, 0, False),
                                  ((1 << 22) + 1, 1 << 17, False), ((1 << 22) + 32, 131_073, True),
                                  ((1 << 22) + 33, 131_073, False), (640, 20, True)):
        if legal:
            check_density(vertices, arcs, "some")
        else:
            with pytest.raises(UserError, match=f"some: {vertices} vertices are too many for "
                                                f"{arcs} arcs: .* for every 32, so"):
                check_density(vertices, arcs, "some", ", so")
    with pytest.raises(UserError, match="names has 1 entries, must have 2, one for each vertex"):
        Graph(2, [], [], names=np.array(["a"]))
    for heaviest in (0, 1 << 32):
        with pytest.raises(UserError, match=f"up to {heaviest}: must be 1 to {(1 << 32) - 1}"):
            Graph(2, [0], [1]).weighted(heaviest)
    assert Graph(2, [0], [1]).weighted((1 << 32) - 1).weights[0] > 0
    assert set(Graph(1, [0] * 99, [0] * 99).weighted(2).weights.tolist()) == {1, 2}


@settings(deadline=None)
@given(graphs())
def test_undirected(graph):
    own = arcs(graph)
    turned = [(v, u, w) for u, v, w in own if u != v]
    same = collections.Counter(own) == collections.Counter((v, u, w) for u, v, w in own)
    assert arcs(graph.undirected()) == (own if same else own + turned)


@settings(deadline=None)
@given(graphs())
def test_simplify(graph):
    lightest = {}
    for u, v, w in arcs(graph):
        if u != v:
            lightest[u, v] = w if w is None else min(w, lightest.get((u, v), w))
    assert arcs(graph.simplify()) == [(u, v, w) for (u, v), w in sorted(lightest.items())]


@settings(deadline=None)
@given(graphs())
def test_describe(graph):
    facts = describe(graph)
    ends = [(u, v) for u, v, _ in arcs(graph)]
    degrees = collections.Counter(vertex for arc in ends for vertex in arc)
    component = list(range(graph.num_vertices))
    for _ in component:
        for u, v in ends:
            component[u] = component[v] = min(component[u], component[v])
    assert facts["vertices"] == graph.num_vertices
    assert facts["arcs"] == len(ends)
    assert facts["mean_degree"] == len(ends) / graph.num_vertices
    assert facts["self_loops"] == sum(u == v for u, v in ends)
    assert facts["parallel_arcs"] == len(ends) - len(set(ends))
    assert facts["isolated"] == graph.num_vertices - len(degrees)
    assert facts["dangling"] == graph.num_vertices - len({u for u, _ in ends})
    assert facts["components"] == len(set(component))
    assert facts["max_out_degree"] == max(collections.Counter(u for u, _ in ends).values(),
                                          default=0)
    assert facts["max_in_degree"] == max(collections.Counter(v for _, v in ends).values(),
                                         default=0)
    spread = sum(abs(degrees[u] - degrees[v]) for u in range(graph.num_vertices)
                 for v in range(graph.num_vertices))
    gini = spread / (4 * graph.num_vertices * len(ends)) if ends else 0
    assert facts["degree_gini"] == pytest.approx(gini, abs=1e-12)
    assert facts["weighted"] == (graph.weights is not None)
    if graph.weights is not None and ends:
        assert facts["min_weight"] == min(graph.weights)
        assert facts["max_weight"] == max(graph.weights)
    else:
        assert facts["min_weight"] is None and facts["max_weight"] is None


def manifest():
    """The rows of the real graphs' table for graphs of moderate size."""
    folder = real_graphs_folder()
    if folder is None:
        return []
    lines = (folder / "MANIFEST.tsv").read_text("utf-8").splitlines()
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"))) for line in lines[1:]]
    return [row for row in rows if int(row["edges"]) < 400_000]


@pytest.mark.parametrize("row", manifest(), ids=lambda row: row["file"])
def test_describe_real(row):
    facts = describe(load(real_graph(row["file"])))
    both = row["file"].endswith(".mtx") and row["directed"] == "no"
    assert facts["vertices"] == int(row["vertices"])
    assert facts["arcs"] == int(row["edges"]) * (2 if both else 1)
    assert facts["degree_gini"] == pytest.approx(float(row["degree_gini"]), abs=6e-4)
    assert facts["components"] == int(row["weak_components"])
    assert facts["isolated"] == int(row["isolated"])
    assert facts["self_loops"] == facts["parallel_arcs"] == 0
    if ".." in row["weight_min_max"]:
        low, high = row["weight_min_max"].split("..")
        assert (facts["min_weight"], facts["max_weight"]) == (int(low), int(high))
    else:
        assert not facts["weighted"]
