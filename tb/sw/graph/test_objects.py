"""Graphs from the objects of other libraries, and back.

====================================  =========================================================
feature                               tests
====================================  =========================================================
every kind of object                  test_kinds, test_networkx, test_names_of_edges
there and back                        test_round_trip
options, weights                      test_weights, test_options
vertices by name                      test_vertex, test_stored_names
libraries are not imported            test_imports_nothing
what is refused                       test_refused
====================================  =========================================================
"""

import subprocess
import sys

import igraph
import networkx
import numpy as np
import pandas
import polars
import pytest
import scipy.sparse

from base.errors import UserError
from sw.cli.tests import ROOT
from sw.graph import Graph, load, write
from tb.sw.graphs import arcs, random_graph


PAIRS = [(0, 1), (1, 2), (1, 2), (2, 2)]
TRIPLES = [(0, 1, 5), (1, 2, 0), (1, 2, 7), (2, 2, 9)]
COLUMNS = dict(zip(("src", "dst", "weight"), zip(*TRIPLES)))

#: The same graph in every form.
KINDS = {
    "list": TRIPLES, "generator": iter(TRIPLES), "set": set(TRIPLES), "array": np.array(TRIPLES),
    "reals": np.array(TRIPLES, float), "objects": np.array(TRIPLES, object),
    "coo": scipy.sparse.coo_array((COLUMNS["weight"], (COLUMNS["src"], COLUMNS["dst"])), (3, 3)),
    "pandas": pandas.DataFrame(COLUMNS), "pandas without names": pandas.DataFrame(TRIPLES),
    "nullable": pandas.DataFrame(COLUMNS, dtype="Int64"), "polars": polars.DataFrame(COLUMNS),
    "igraph": igraph.Graph(3, PAIRS, directed=True, edge_attrs={"weight": COLUMNS["weight"]}),
}


def multigraph():
    made = networkx.MultiDiGraph()
    made.add_weighted_edges_from(TRIPLES)
    return made


@pytest.mark.parametrize("thing", [*KINDS.values(), multigraph()], ids=[*KINDS, "networkx"])
def test_kinds(thing):
    graph = load(thing)
    assert graph.num_vertices == 3 and graph.names is None
    assert sorted(arcs(graph)) == sorted(TRIPLES)
    assert load(graph) is graph


@pytest.mark.parametrize("kind", [networkx.Graph, networkx.DiGraph, networkx.MultiGraph,
                                  networkx.MultiDiGraph])
@pytest.mark.parametrize("nodes", ["cab", [2, 0, 1], [30, 10, 20], [(1, 0), (0, 0), (0, 1)],
                                   [2, "2", 0.5]])
def test_networkx(kind, nodes):
    made = kind([(nodes[0], nodes[1]), (nodes[1], nodes[0]), (nodes[1], nodes[2])])
    made.add_edge(nodes[2], nodes[2])
    graph = load(made)
    labels = graph.labels
    assert labels == (sorted(nodes) if nodes == [2, 0, 1] else list(made))
    ends = list(made.edges())
    if not made.is_directed():
        ends += [(dst, src) for src, dst in ends if src != dst]
    found = [(labels[src], labels[dst]) for src, dst in zip(graph.src, graph.dst)]
    assert sorted(found, key=str) == sorted(ends, key=str)
    assert sorted(graph.to_networkx().edges(), key=str) == sorted(found, key=str)


@pytest.mark.parametrize("edges, options, expected, names", [
    ([("b", "a"), ("c", "a")], {}, [(1, 0), (2, 0)], ["a", "b", "c"]),
    ([(30, 10), (20, 10)], {"relabel": True}, [(2, 0), (1, 0)], [10, 20, 30]),
    ([(1 << 64, 5)], {"relabel": True}, [(1, 0)], [5, 1 << 64]),
    (np.array([["b", "a"]]), {}, [(1, 0)], ["a", "b"]),
    ([("x", 1), (1, b"y")], {}, [(0, 1), (1, 2)], ["x", 1, b"y"]),
    (pandas.DataFrame({"From": ["y", "x"], "To": ["x", "x"], "more": [1, 2]}), {},
     [(1, 0), (0, 0)], ["x", "y"]),
    (polars.DataFrame({"a b": ["y"], "c": ["x"], "d": [7]}), {"columns": "c,a b,d"}, [(0, 1, 7)],
     ["x", "y"]),
    (pandas.DataFrame({"u": ["y"], "v": ["x"]}, dtype="category"), {}, [(1, 0)], ["x", "y"]),
])
def test_names_of_edges(edges, options, expected, names):
    graph = load(edges, **options)
    assert arcs(graph) == expected and graph.labels == names


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_round_trip(named, weighted):
    graph = random_graph(30, 90, 3)
    graph = Graph(30, graph.src, graph.dst, graph.weighted(9).weights if weighted else None,
                  names=np.array([f"v{number:02}" for number in range(30)]) if named else None)
    for made in (graph.to_networkx(), graph.to_igraph(), graph.to_scipy(), graph.to_pandas()):
        back = load(made)
        frame = isinstance(made, pandas.DataFrame)          # which lacks vertices without arcs
        if not frame:
            assert back.num_vertices == 30
        if named and not scipy.sparse.issparse(made):
            assert set(back.labels) <= set(graph.labels) and (frame or back.names is not None)
            assert back.to_pandas().sort_values(list(back.to_pandas())).to_numpy().tolist() \
                == graph.to_pandas().sort_values(list(graph.to_pandas())).to_numpy().tolist()
        else:
            assert sorted(arcs(back)) == sorted(arcs(graph))


def test_weights():
    made = networkx.Graph()
    made.add_edge("a", "b", weight=0.5, km=3)
    made.add_edge("b", "c")                         # weight 1, as in networkx
    assert load(made, weight_scale=10).weights.tolist() == [5, 10, 5, 10]
    assert load(made, weight="km").weights.tolist() == [3, 1, 3, 1]
    assert load(made, no_weights=True).weights is None
    matrix = scipy.sparse.csr_matrix(np.eye(2))
    assert load(matrix).weights.tolist() == [1, 1] and load(matrix > 0).weights is None


def test_options():
    """The options of files that hold for any graph."""
    graph = load([(0, 1), (1, 0), (1, 2), (1, 1)], undirected=True, simplify=True, weights=9,
                 name="few")
    assert graph.name == "few" and graph.weights is not None
    assert sorted(zip(graph.src.tolist(), graph.dst.tolist())) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert Graph.from_edges([(0, 1)], num_vertices=5).num_vertices == 5
    assert load(graph, no_weights=True).weights is None


def test_vertex():
    words = load([("alice", "bob"), ("alice", "7")])
    assert [words.vertex(name) for name in ("alice", "7", 7, "bob", 2, "hub")] == [1, 0, 0, 2, 2, 1]
    ids = load([(10, 30), (20, 30), (10, 2)], relabel=True)
    assert [ids.vertex(name) for name in (30, "30", np.int64(2), "hub")] == [3, 3, 0, 1]
    assert load([("hub", "a"), ("a", "b"), ("a", "c")]).vertex("hub") == 3
    places = load(networkx.grid_2d_graph(2, 2))
    assert places.vertex((1, 0)) == places.vertex("(1, 0)") == 2
    for graph, name in ((words, "carol"), (words, 3), (ids, 3), (places, (5, 5)),
                        (load([(0, 1)]), 2), (load([(0, 1)]), "a"), (load([(0, 1)]), -1)):
        with pytest.raises(UserError, match="has no vertex .*; its vertices are "):
            graph.vertex(name)
    with pytest.raises(UserError, match="2 vertices have the name '1'"):
        load(networkx.Graph([(1, "1")])).vertex(1)


def test_stored_names(tmp_path):
    """Names of any kind are text in a file."""
    write(load(networkx.grid_2d_graph(1, 2)), tmp_path / "a.npz")
    assert load(tmp_path / "a.npz").names.tolist() == ["(0, 0)", "(0, 1)"]


def test_imports_nothing():
    script = ("import sys\nfrom graphloom import load\nload([(0, 1)])\n"
              "print([name for name in ('networkx', 'igraph', 'pandas', 'polars', 'scipy.sparse') "
              "if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT,
                          check=False)
    assert done.stdout == "[]\n", done.stderr


def half():
    made = networkx.DiGraph()
    made.add_edge(0, 1, weight=0.5)
    return made


@pytest.mark.parametrize("thing, options, words", [
    (pandas.DataFrame({"person": [1], "friend": [2], "n": [3]}), {}, "the columns do not tell "
     "source and destination: it has 'person', 'friend', 'n'; columns=(SRC, DST)"),
    (polars.DataFrame({"src": [1], "dst": [2]}), {"columns": "src,to"},
     "frame: there is no column 'to'; it has 'src', 'dst'"),
    (pandas.DataFrame({"src": [1], "dst": [2]}), {"columns": ("src",)}, "must be source, destin"),
    (pandas.DataFrame({"src": [0, 1], "dst": [1, None]}), {}, "column 'dst' of edge 1 is nan"),
    (polars.DataFrame({"src": ["a", "b"], "dst": ["b", None]}), {}, "edge 1 lacks a vertex: None"),
    (pandas.DataFrame({"src": [0], "dst": [1], "weight": [-3]}), {}, "weight of arc 0 is -3, must"),
    (half(), {}, "weight 0.5 of arc 0 is not an integer from 0 to 4294967295; weight_scale=X"),
    ([(0, 1, float("nan"))], {}, "weight nan of arc 0 is not an integer"),
    ([(0, 1, "far")], {}, "weights are of type <U3, must be numbers"),
    (half(), {"weight": "km"}, "no edge has the attribute 'km'; edges have 'weight'"),
    (scipy.sparse.coo_array((2, 3)), {}, "a matrix of shape (2, 3) is not a graph, must be square"),
    (np.zeros((2, 2, 2), int), {}, "an array of shape (2, 2, 2) is no list of edges"),
    (np.eye(5), {}, "scipy.sparse.coo_array makes a graph of a matrix"),
    (np.array([[0.5, 1]]), {}, "source of edge 0 is 0.5, must be a vertex"),
    ([(0, 1), (0, 1, 2)], {}, "edge 1 is '(0, 1, 2)', must be 2 values as the first"),
    (["ab"], {}, "edge 0 is 'ab', must be a pair or a triple"),
    ([({}, 1)], {}, "vertices must be numbers, text or other values that can be keys"),
    ([(-1, 0)], {}, "a vertex is -1, must be at least 0; relabel=True"),
    ([(0, 1 << 30)], {}, "1073741825 vertices are too many for 1 arcs"),
    ([], {}, "the graph is empty"), (networkx.Graph(), {}, "the graph is empty"),
    (7, {}, "no graph can be made of an object of type int"),
    ({0: [1]}, {}, "no graph can be made of an object of type dict"),
    ([(0, 1)], {"columns": "a,b"}, "columns does not apply to an object of type list"),
    ([(0, 1)], {"input_format": "el"}, "input_format='el' applies to files only"),
    ("karate", {"weight": "km"}, "weight='km' is for graphs of networkx and igraph"),
])
def test_refused(thing, options, words):
    with pytest.raises(UserError) as caught:
        load(thing, **options)
    assert words in str(caught.value) and "\n" not in str(caught.value)
