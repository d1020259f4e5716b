"""Graphs as matrices and as lists of neighbours: Matrix Market, dense text, adjacency lists.

====================================  =========================================================
feature                               tests
====================================  =========================================================
Matrix Market, every kind             test_mtx, test_mtx_like_scipy, test_mtx_wrong
dense matrices                        test_matrix, test_matrix_like_numpy, test_matrix_wrong
adjacency lists                       test_adjacency, test_adjacency_like_networkx,
                                      test_adjacency_wrong
pieces                                test_in_pieces
====================================  =========================================================
"""

import networkx
import numpy as np
import pytest
import scipy.io
import scipy.sparse

from base.errors import UserError
from sw.graph import load
from sw.graph import text as tables
from tb.sw.graphs import arcs, random_graph


MTX = "%%MatrixMarket matrix "


@pytest.fixture
def read(tmp_path):
    def loaded(text, name, **options):
        path = tmp_path / name
        path.write_text(text)
        return load(path, **options)
    return loaded


@pytest.mark.parametrize("text, expected", [
    ("coordinate unsigned-integer general\n2 2 2\n1 2 7\n2 1 9\n", [(0, 1, 7), (1, 0, 9)]),
    ("coordinate real general\n3 3 3\n1 2 1.0D+01\n2 3 1.e+00\n3 1 .5e1\n",
     [(0, 1, 10), (1, 2, 1), (2, 0, 5)]),
    ("coordinate real symmetric\n% D\n2 2 2\n1 1 2d0\n2 1 3\n", [(0, 0, 2), (1, 0, 3), (0, 1, 3)]),
    ("array real general\n3 3\n0\n1\n0\n0\n0\n2\n5\n0\n0\n", [(1, 0, 1), (2, 1, 2), (0, 2, 5)]),
    ("array integer general\n% c\n2 2\n1 0 3\n4\n", [(0, 0, 1), (0, 1, 3), (1, 1, 4)]),
    ("array real symmetric\n3 3\n7\n1\n2\n0\n3\n0\n",
     [(0, 0, 7), (1, 0, 1), (2, 0, 2), (2, 1, 3), (0, 1, 1), (0, 2, 2), (1, 2, 3)]),
])
def test_mtx(read, text, expected):
    for name in ("a.mtx", "a.txt"):
        assert arcs(read(MTX + text, name)) == expected
    assert arcs(read(MTX + text, "a.mtx", no_weights=True)) == [arc[:2] for arc in expected]


@pytest.mark.parametrize("text, expected", [
    ("coordinate complex general\n2 2 2\n1 2 1.0 0.0\n2 1 x -.5\n", [(0, 1), (1, 0)]),
    ("coordinate complex hermitian\n2 2 1\n2 1 1.0 0.5\n", [(1, 0), (0, 1)]),
    ("coordinate real skew-symmetric\n3 3 2\n2 1 1\n3 1 2\n", [(1, 0), (2, 0), (0, 1), (0, 2)]),
    ("array real skew-symmetric\n3 3\n1\n0\n-2\n", [(1, 0), (2, 1), (0, 1), (1, 2)]),
    ("array complex general\n2 2\n0 0\n0 1\n0 0\n1 0\n", [(1, 0), (1, 1)]),
])
def test_mtx_without_weights(read, text, expected):
    """Complex and negative values cannot be weights; their arcs can be read."""
    with pytest.raises(UserError, match="line 1: .* cannot be weights; --no-weights reads the arc"):
        read(MTX + text, "a.mtx")
    assert arcs(read(MTX + text, "a.mtx", no_weights=True)) == expected


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.float64])
def test_mtx_like_scipy(tmp_path, symmetry, dense, dtype):
    """Each entry is an arc once, and twice beside the diagonal of a symmetric matrix."""
    values = np.random.default_rng(3).integers(0, 4, (7, 7)).astype(dtype)
    if symmetry != "general":
        values = np.tril(values)
        other = values.T if symmetry == "symmetric" else -values.T.astype(np.int64)
        values = values + other if symmetry == "symmetric" else np.tril(values, -1) + np.triu(
            other, 1)
    path = tmp_path / "a.mtx"
    scipy.io.mmwrite(path, values if dense else scipy.sparse.coo_array(values), symmetry=symmetry)
    assert symmetry in path.read_text().split("\n")[0]
    graph = load(path, no_weights=symmetry == "skew-symmetric")
    matrix = np.zeros((7, 7))
    np.add.at(matrix, (graph.src, graph.dst), 1 if graph.weights is None else graph.weights)
    expected = values != 0 if symmetry == "skew-symmetric" else values
    assert np.array_equal(matrix, expected)
    assert graph.num_edges == np.count_nonzero(values)


@pytest.mark.parametrize("text, words", [
    ("coordinate double general\n1 1 0\n", "line 1: 'double' is not known, must be real"),
    ("coordinate text general\n1 1 0\n", "line 1: 'text' is not known, must be one of pattern"),
    ("coordinate real diagonal\n1 1 0\n", "line 1: 'diagonal' is not known, must be one of genera"),
    ("list real general\n1 1 0\n", "line 1: 'list' is not known, must be one of coordinate, arra"),
    ("array pattern general\n1 1\n", "line 1: an array has values"),
    ("array real general\n1 1 1\n0\n", "line 2: must be 'ROWS COLUMNS'"),
    ("array real general\n2 3\n0\n", "line 2: a matrix of 2 rows and 3 columns is not a graph"),
    ("array real general\n2 2\n0\n1\n2\n", "it has 3 of the 4 values of its matrix"),
    ("array real general\n2 2\n0\n1\n2\n3\n4\n", "has more values than the 4 of a matrix of 2 row"),
    ("array real symmetric\n2 2\n0\n1\n2\n3\n", "has more values than the 3 of a matrix of 2 row"),
    ("array real general\n2 2\n0\n1\nx\n3\n", "line 5: 'x' is not a number"),
    ("array real general\n1 1\n1_0\n", "line 3: '1_0' is not a number"),
    ("array real general\n1 1\n0.5\n", "weight 0.5 of arc 0 is not an integer"),
    ("array real general\n1 1\n-1\n", "weight -1.0 of arc 0 is not an integer"),
    ("array real general\n1 1\nnan\n", "weight nan of arc 0 is not an integer"),
    ("array real general\n2000000000 2000000000\n1\n", "it has 1 of the 4000000000000000000 value"),
    ("coordinate real general\n3 3 2\n1 2\n2 3\n", "line 3: '1 2' has 2 values, must have 3"),
    ("coordinate unsigned-integer general\n1 1 1\n1 1 -2\n", "line 3: weight '-2' is not an int"),
])
def test_mtx_wrong(read, text, words):
    with pytest.raises(UserError) as caught:
        read(MTX + text, "a.mtx")
    assert words in str(caught.value)


@pytest.mark.parametrize("text, expected", [
    ("0,1,0\n0,0,1\n1,0,0\n", [(0, 1), (1, 2), (2, 0)]), ("0 1\n1 1\n", [(0, 1), (1, 0), (1, 1)]),
    ("0;5\n7;0\n", [(0, 1, 5), (1, 0, 7)]), (" 0.0\t2.5e1\n\n#\n1 , 0\n", [(0, 1, 25), (1, 0, 1)]),
    (",a,b\na,0,1\nb,1,0\n", [(0, 1), (1, 0)]), ("a,b\n0,3\n0,0\n", [(0, 1, 3)]),
    ("a b\na 0 3\nb 0 0\n", [(0, 1, 3)]), (",0,1\n0,0,2\n1,4,0\n", [(0, 1, 2), (1, 0, 4)]),
    ("1\n", [(0, 0)]), ("0 0\n0 0\n", []),
])
def test_matrix(read, text, expected):
    graph = read(text, "a.csv", input_format="matrix")
    assert arcs(graph) == expected
    assert arcs(read(text, "a.csv", input_format="matrix", no_weights=True)) == [
        arc[:2] for arc in expected]


def test_matrix_like_numpy(tmp_path):
    values = np.random.default_rng(4).integers(0, 3, (30, 30))
    numbers, names = tmp_path / "a.txt", tmp_path / "b.csv"
    np.savetxt(numbers, values)
    names.write_text("," + ",".join(map(str, range(30))) + "\n" + "".join(     # as pandas
        f"{at}," + ",".join(map(str, row)) + "\n" for at, row in enumerate(values.tolist())))
    row, column = np.nonzero(values)
    expected = list(zip(row.tolist(), column.tolist(), values[row, column].tolist()))
    for path in (numbers, names):
        assert arcs(load(path, input_format="matrix")) == expected


@pytest.mark.parametrize("text, words", [
    ("", "the matrix is empty"), ("# c\n", "the matrix is empty"),
    ("0,1\n1\n", "line 2: has 1 values, must have 2 as the first row"),
    ("0,1\n1,0\n1,1\n", "a matrix of 3 rows and 2 columns is not a graph, must be square"),
    ("0,1\n1,x\n", "line 2: 'x' is not a number"), ("0,1\n,0\n", "line 2: a value is missing"),
    ("0 -1\n0 0\n", "weight -1.0 of arc 0 is not an integer"), ("a,b\n", "the matrix is empty"),
    ("0 0.5\n0 0\n", "weight 0.5 of arc 0 is not an integer from 0 to 4294967295; --weight-scale"),
])
def test_matrix_wrong(read, text, words):
    with pytest.raises(UserError) as caught:
        read(text, "a.csv", input_format="matrix")
    assert words in str(caught.value)


@pytest.mark.parametrize("text, expected, vertices", [
    ("0 1 2\n1 2 3\n2 3 0\n3 0 1\n",
     [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 0), (3, 0), (3, 1)], 4),
    ("# c\n0 1\n\n2\n1 0 1 1 % d\n", [(0, 1), (1, 0), (1, 1), (1, 1)], 3),
    ("0: 1 2\n1 : 0\n", [(0, 1), (0, 2), (1, 0)], 3), ("0,1,2\r\n1\r\n", [(0, 1), (0, 2)], 3),
    ("5\n", [], 6), ("0 1", [(0, 1)], 2),
])
def test_adjacency(read, text, expected, vertices):
    for options in ({"name": "a.adjlist"}, {"name": "a.txt", "input_format": "adjlist"}):
        graph = read(text, **options)
        assert arcs(graph) == expected and graph.num_vertices == vertices


def test_adjacency_like_networkx(tmp_path):
    theirs = networkx.gnp_random_graph(40, 0.1, seed=5, directed=True)
    path = tmp_path / "a.adjlist"
    networkx.write_adjlist(theirs, path)
    graph = load(path)
    assert sorted(arcs(graph)) == sorted(theirs.edges()) and graph.num_vertices == 40


@pytest.mark.parametrize("text, words", [
    ("", "the graph is empty"), ("0 1\n\n1 x\n", "line 3: vertex 'x' is not an integer from 0"),
    ("0 -1\n", "line 1: vertex '-1'"), ("0 2147483647\n", "line 1: vertex '2147483647'"),
    ("0 " + "9" * 99, "line 1: vertex '999"), ("0 2147483646\n", "2147483647 vertices are too"),
    ("0 1.5\n", "line 1: vertex '1.5' is not an integer from 0 to 2147483646; --relabel"),
])
def test_adjacency_wrong(read, text, words):
    with pytest.raises(UserError) as caught:
        read(text, "a.adjlist")
    assert words in str(caught.value)


@pytest.mark.parametrize("size", [1, 5, 64, 999])
def test_in_pieces(tmp_path, monkeypatch, size):
    """A piece may end anywhere; every form gives each arc once, in order."""
    monkeypatch.setattr(tables, "PIECE", size)
    monkeypatch.setattr(tables.pieces, "__defaults__", (1, 1 << 20))
    graph = random_graph(30, 60, seed=7, weights=True).simplify()
    weights = {(u, v): w for u, v, w in arcs(graph)}
    lines = ["".join(f" {v}" for u, v, _ in arcs(graph) if u == vertex) for vertex in range(30)]
    texts = {
        "a.el": "".join(f"{u} {v}\n" for u, v, _ in arcs(graph)),
        "a.wel": "# c\n".join(f"{u} {v} {w}\n" for u, v, w in arcs(graph)),
        "a.csv": "w,source,target\n" + "".join(f"{w},{u},{v}\n" for u, v, w in arcs(graph)),
        "a.adjlist": "".join(f"{vertex}{line}\n" for vertex, line in enumerate(lines)),
        "a.mtx": f"{MTX}array integer general\n30 30\n" + "".join(
            f"{weights.get((u, v), 0)}\n" for v in range(30) for u in range(30)),
        "b.mtx": f"{MTX}coordinate integer general\n30 30 {graph.num_edges}\n" + "".join(
            f"{u + 1} {v + 1} {w}\n%\n" for u, v, w in arcs(graph)),
        "a.gr": f"p sp 30 {graph.num_edges}\n" + "".join(
            f"a {u + 1} {v + 1} {w}\nc x\n" for u, v, w in arcs(graph)),
        "a.matrix": "".join(" ".join(str(weights.get((u, v), 0)) for v in range(30)) + "\n"
                            for u in range(30)),
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.write_text(text)
        found = load(path, input_format="matrix" if name == "a.matrix" else None)
        expected = arcs(graph)
        if name == "a.mtx":
            expected = sorted(expected, key=lambda arc: arc[1])
        if found.weights is None:
            expected = [arc[:2] for arc in expected]
        assert arcs(found) == expected, name
