"""Graphs as networkx and scipy write them, METIS files, and weights that are not integers.

====================================  ==========================================================
feature                               tests
====================================  ==========================================================
networkx's edge lists                 test_networkx
scipy's matrices                      test_scipy, test_scipy_wrong, test_mtx_of_scipy
METIS                                 test_metis, test_metis_in_pieces
weights scaled, rounded, dropped      test_weights_*, test_no_weights, test_weights_are_needed
formats that are asked for            test_input_format
numbering from 1                      test_from_one
vertex with the most arcs             test_hub
====================================  ==========================================================
"""

import numpy as np
import networkx
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from sw.graph import Graph, load, write
from sw.graph import text as tables
from tb.sw.graphs import graphs, random_graph


def arcs(graph):
    """The arcs in ascending order."""
    columns = [graph.src, graph.dst] + ([] if graph.weights is None else [graph.weights])
    return sorted(zip(*(column.tolist() for column in columns)))


@pytest.mark.parametrize("suffix", [".edgelist", ".txt", ".txt.gz", ".csv"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("data", [False, True, "weights"])
def test_networkx(tmp_path, suffix, weighted, data):
    """Edge lists of networkx: without data, with the dictionary of each edge, with weights alone.
    """
    theirs = networkx.gnp_random_graph(60, 0.1, seed=3, directed=True)
    rng = np.random.default_rng(1)
    if weighted:
        for edge in theirs.edges.values():
            edge["weight"], edge["name"] = int(rng.integers(1000)), "a, b #1"
    path, separator = tmp_path / f"a{suffix}", "," if suffix == ".csv" else " "
    if data == "weights" and weighted:
        networkx.write_weighted_edgelist(theirs, path, delimiter=separator)
    else:
        networkx.write_edgelist(theirs, path, delimiter=separator, data=bool(data))
    graph = load(path)
    if weighted and data:
        assert arcs(graph) == sorted(theirs.edges(data="weight"))
    else:
        assert arcs(graph) == sorted(theirs.edges()) and graph.weights is None
    assert arcs(load(path, no_weights=True)) == sorted(theirs.edges())


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float64])
@pytest.mark.parametrize("make", [scipy.sparse.coo_array, scipy.sparse.coo_matrix])
def test_scipy(tmp_path, kind, packed, dtype, make):
    """save_npz of matrices and arrays; truth values are no weights."""
    graph = random_graph(40, 200, seed=5).simplify()
    values = np.random.default_rng(2).integers(1, 100, graph.num_edges).astype(dtype)
    matrix = make((values, (graph.src, graph.dst)), shape=(40, 40)).asformat(kind)
    path = tmp_path / "a.npz"
    scipy.sparse.save_npz(path, matrix, compressed=packed)
    expected = scipy.sparse.load_npz(path).tocoo()
    found = load(path)
    columns = [expected.row.tolist(), expected.col.tolist()]
    if dtype is not bool:
        columns.append(expected.data.astype(int).tolist())
    assert arcs(found) == sorted(zip(*columns))
    assert (found.num_vertices, found.weights is None, found.name) == (40, dtype is bool, "a")


def _without(matrix, **changes):
    def save(path):
        scipy.sparse.save_npz(path, matrix)
        with np.load(path) as archive:
            arrays = {**archive, **changes}
        np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return save


_EYE = scipy.sparse.eye_array(3, dtype=int, format="csr")


@pytest.mark.parametrize("save, words", [
    (_without(_EYE.todia()), "is a matrix of scipy of format 'dia', must be csr, csc or coo"),
    (_without(_EYE.tobsr()), "of format 'bsr'"),
    (_without(scipy.sparse.csr_array((3, 4))), "a matrix of shape (3, 4) is not a graph"),
    (_without(_EYE * 0.5), "weight 0.5 of arc 0 is not an integer from 0 to 4294967295; --weight"),
    (_without(_EYE * -1), "weight of arc 0 is -1"),
    (_without(_EYE * np.nan), "weight nan of arc 0 is not an integer"),
    (_without(_EYE * 1j), "weights are of type complex128, must be numbers"),
    (_without(_EYE, indptr=None), "array 'indptr' is missing"),
    (_without(_EYE, data=None), "array 'data' must be a list of numbers"),
    (_without(_EYE, data=np.ones(2, int)), "weights has 2 entries, must have 3"),
    (_without(_EYE, indptr=np.array([0, 2, 1, 3])), "indptr must ascend from 0 to 3 in 4 numbers"),
    (_without(_EYE, indptr=np.array([0, 1, 3])), "indptr must ascend from 0 to 3 in 4 numbers"),
    (_without(_EYE, indices=np.array([0, 1, 3])), "dst of arc 2 is 3, must be from 0 to 2"),
    (_without(_EYE, shape=np.array([0, 0])), "a graph has 1 to 2147483647 vertices"),
    (_without(_EYE, extra=np.ones(3)), "has an array 'extra', it may have format, shape"),
], ids=range(15))
def test_scipy_wrong(tmp_path, save, words):
    path = tmp_path / "a.npz"
    save(path)
    with pytest.raises(UserError) as caught:
        load(path)
    assert words in str(caught.value) and str(caught.value).startswith(f"{path}: ")


def test_mtx_of_scipy(tmp_path):
    """Matrix Market files of scipy. Fractions are scaled, and equal the fractions that scipy reads.
    """
    matrix = scipy.sparse.random_array((50, 50), density=0.1, rng=np.random.default_rng(4))
    path = tmp_path / "a.mtx"
    scipy.io.mmwrite(path, matrix)
    back = scipy.io.mmread(path)
    assert arcs(load(path, weight_scale=1e6)) == sorted(
        zip(back.row.tolist(), back.col.tolist(), np.rint(back.data * 1e6).astype(int).tolist()))


def metis(graph, weighted, sizes, constraints):
    """The text of a METIS file of an undirected graph."""
    offsets, neighbors, weights = graph.csr()
    fmt = f"{int(sizes)}{int(constraints > 0)}{int(weighted)}"
    lines = ["% comment", f"{graph.num_vertices} {graph.num_edges // 2} {fmt}"
             + (f" {constraints}" if constraints else "")]
    for vertex in range(graph.num_vertices):
        words = [7] * (sizes + constraints)
        for place in range(offsets[vertex], offsets[vertex + 1]):
            words += [neighbors[place] + 1, *([weights[place]] if weighted else [])]
        lines.append(" ".join(map(str, words)))
        if vertex % 3 == 1:
            lines.append("% comment 1 2 3")
    return "\n".join(lines) + "\n"


@settings(deadline=None, max_examples=60)
@given(graphs(weighted=True), st.booleans(), st.booleans(), st.integers(0, 2))
def test_metis(tmp_path_factory, graph, weighted, sizes, constraints):
    graph = graph.simplify().undirected().simplify()
    path = tmp_path_factory.getbasetemp() / "a.graph"
    path.write_text(metis(graph, weighted, sizes, constraints))
    found = load(path)
    assert found.num_vertices == graph.num_vertices
    expected = graph if weighted else Graph(graph.num_vertices, graph.src, graph.dst)
    assert arcs(found) == arcs(expected)
    assert arcs(load(path, no_weights=True)) == sorted(zip(graph.src.tolist(), graph.dst.tolist()))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
def test_metis_in_pieces(tmp_path, monkeypatch, size):
    """A piece may end anywhere: in a number, in a comment, at a line's end."""
    monkeypatch.setattr("sw.graph.metis.PIECE", size)
    graph = random_graph(40, 100, seed=6, weights=True).simplify().undirected().simplify()
    path = tmp_path / "a.graph"
    path.write_text(metis(graph, True, True, 1).replace("% comment 1", "%"))
    if size < 64:
        path.write_text("\n".join(line for line in path.read_text().split("\n")
                                  if not line.startswith("% 2")))
    assert arcs(load(path)) == arcs(graph)


SCALED = [("0", 1, 0), ("3.5", 1, 4), ("2.5", 1, 2), ("3.4", 1, 3), ("0.29", 100, 29),
          ("1e3", 1, 1000), ("1.5", 2, 3), ("4294967294.9", 1, 4294967295), (".5", 10, 5),
          ("7", 0.5, 4), ("9", 1000, 9000)]


@pytest.mark.parametrize("form", ["0 1 {}\n", "0,1,{}\n", "0 1 {{'weight': {}}}\n"])
@pytest.mark.parametrize("word, scale, value", SCALED)
def test_weights_are_scaled(tmp_path, form, word, scale, value):
    for suffix in (".wel", ".txt"):
        path = tmp_path / f"a{suffix}"
        path.write_text(form.format(word))
        assert load(path, weight_scale=scale).weights.tolist() == [value]


@pytest.mark.parametrize("word, scale", [
    ("-1", 1), ("nan", 1), ("inf", 1), ("1e400", 1), ("4294967295", 2), ("1_0", 1), ("x", 1),
    ("-0.6", 1), ("0x10", 1)])
def test_weights_out_of_range(tmp_path, word, scale):
    path = tmp_path / "a.wel"
    path.write_text(f"0 1 2\n0 1 {word}\n")
    with pytest.raises(UserError) as caught:
        load(path, weight_scale=scale)
    assert f"line 2: weight '{word}' times {scale} is not an integer from 0" in str(caught.value)


@pytest.mark.parametrize("name, content", [
    ("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 0.25\n"),
    ("a.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 0.25\n"),
    ("a.gr", "p sp 2 1\na 1 2 0.25\n"), ("a.wel", "0 1 0.25\n"), ("a", "0 1 0.25\n"),
])
def test_weights_of_each_format(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(UserError,
                       match="--weight-scale X multiplies by X and rounds, --no-weights"):
        load(path)
    assert arcs(load(path, weight_scale=8)) == [(0, 1, 2)]
    assert arcs(load(path, no_weights=True)) == [(0, 1)]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.decimals(0, 1000, places=2, allow_nan=False), min_size=1, max_size=30),
       st.sampled_from([None, 1, 0.5, 100, 3]))
def test_weights_quick_and_slow_agree(values, scale):
    """Both ways of reading a piece give the same result, for fractions and integers."""
    column = tables.Column("weight", 0, (1 << 32) - 1, True, scale)
    columns = [tables.Column("u", 0, 9), column]
    piece = b" " + "".join(f"{row % 10} {value}\n" for row, value in enumerate(values)).encode()
    lines = tables.LineForm(tuple(columns))
    quick = tables._convert_quickly(piece, lines)
    try:
        slow, _ = tables._convert_slowly(piece, piece, lines, "a", 1)
    except UserError:
        assert quick is None
    else:
        assert quick is not None
        assert [column.tolist() for column in quick] == [column.tolist() for column in slow]


@pytest.mark.parametrize("word", ["-1", "nan", "x", "0.5", "9" * 40])
def test_no_weights(tmp_path, word):
    """Any text in place of a weight is passed over, in pieces with many lines as well."""
    path = tmp_path / "a.wel"
    path.write_text(f"0 1 {word}\n" * 3 + "1 2 7\n")
    graph = load(path, no_weights=True)
    assert graph.weights is None and arcs(graph) == [(0, 1)] * 3 + [(1, 2)]
    path.write_text(f"0 1 {word}\n0 1\n")
    with pytest.raises(UserError, match="line 2: '0 1' has 2 values, must have 3"):
        load(path, no_weights=True)


def test_no_weights_of_a_generator():
    assert load("road:side=4", no_weights=True).weights is None
    with pytest.raises(UserError, match="is not a file"):
        load("road:side=4", weight_scale=2)
    with pytest.raises(UserError, match="is not a file"):
        load("karate", input_format="el")


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf")])
def test_weight_scale_wrong(tmp_path, scale):
    path = tmp_path / "a.wel"
    path.write_text("0 1 2\n")
    with pytest.raises(UserError, match="must be a number above 0"):
        load(path, weight_scale=scale)


def test_weights_are_needed(tmp_path):
    path = tmp_path / "a.el"
    path.write_text("0 1\n")
    with pytest.raises(UserError, match="has no weights to multiply by 2"):
        load(path, weight_scale=2)


def test_input_format(tmp_path):
    """The requested format is stronger than suffix and contents."""
    path = tmp_path / "a.el"
    path.write_text("2 1 1\n2 5\n1 5\n")
    assert arcs(load(path, input_format="metis")) == [(0, 1, 5), (1, 0, 5)]
    with pytest.raises(UserError, match="line 1: '2 1 1' has 3 values, must have 2: u v; --inp"):
        load(path)
    with pytest.raises(UserError, match="there is no input format 'csv'; there are mtx, el, wel"):
        load(path, input_format="csv")
    write(random_graph(5, 9, 1), tmp_path / "a.npz")
    (tmp_path / "a.npz").rename(tmp_path / "download")
    assert load(tmp_path / "download").num_edges == 9


@pytest.mark.parametrize("name, content, noticed", [
    ("a.el", "1 2\n2 3\n", True), ("a.wel", "1 2 5\n", True), ("a.txt", "2,1\n", True),
    ("a.el", "0 2\n2 1\n", False), ("a.graph", "2 1\n2\n1\n", False),
    ("a.gr", "p sp 2 1\na 2 2 1\n", False),
])
def test_from_one(tmp_path, name, content, noticed):
    """Edge lists that seem to count from 1 are noticed, and read without a change."""
    path, told = tmp_path / name, []
    path.write_text(content)
    graph = load(path, note=told.append)
    assert len(told) == noticed
    if noticed:
        assert told[0] == (f"{path}: vertices seem to be numbered from 1; they are taken as they "
                           f"are, so vertex 0 has no edge; --first 1 takes id 1 for "
                           f"vertex 0")
        assert graph.out_degrees[0] == 0


def test_hub():
    assert Graph(4, [1, 2, 2, 3, 3], [0, 0, 0, 0, 0]).hub == 2
    assert Graph(3, [], []).hub == 0
