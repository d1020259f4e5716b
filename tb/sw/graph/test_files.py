"""Files: a written file is read back, and a wrong file is refused by file and line.

====================================  =====================================================
feature                               tests
====================================  =====================================================
every format, plain and compressed    test_round_trip, test_same_bytes, test_many_pieces
spellings that are accepted           test_accepted
bad input, by line                    test_refused
bad .gz and .npz                      test_truncated_gz, test_damaged_gz, test_npz_*
writing                               test_write_*
real graphs                           test_real_*
====================================  =====================================================
"""

import gzip
import os
import pathlib
import tempfile

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings

from base.errors import UserError
from sw.graph import Graph, load, write
from tb.sw.graphs import graphs, random_graph, real_graph


FORMATS = [(suffix + packed, weighted)
           for suffix, kinds in ((".mtx", (False, True)), (".el", (False,)), (".wel", (True,)),
                                 (".gr", (True,)), (".npz", (False, True)))
           for packed in ("", ".gz") for weighted in kinds]


def assert_same(one, other):
    assert one.num_vertices == other.num_vertices
    assert np.array_equal(one.src, other.src) and np.array_equal(one.dst, other.dst)
    assert (one.weights is None) == (other.weights is None)
    assert one.weights is None or np.array_equal(one.weights, other.weights)


@pytest.fixture
def file(tmp_path):
    """A function that writes a file and gives its path."""
    def make(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)
    return make


def packed(content):
    """``content`` by gzip. Every call gives the same bytes, because names of tests contain them."""
    return gzip.compress(content, mtime=0)


@pytest.mark.parametrize("suffix, weighted", FORMATS)
def test_round_trip(suffix, weighted):
    @settings(deadline=None, max_examples=30)
    @given(graphs(weighted))
    def round_trip(graph):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "some" + suffix)
            write(graph, path)
            read = load(path)
            assert_same(read, graph)
            assert read.name == "some"
            assert os.listdir(folder) == ["some" + suffix]
    round_trip()


@pytest.mark.parametrize("suffix, weighted", FORMATS)
def test_many_pieces(suffix, weighted, tmp_path):
    """A file that is read in several pieces."""
    graph = random_graph(1 << 20, 200_000, seed=1, weights=weighted)
    write(graph, tmp_path / f"g{suffix}")
    assert_same(load(tmp_path / f"g{suffix}"), graph)


@pytest.mark.parametrize("suffix, weighted", FORMATS)
def test_same_bytes(suffix, weighted, tmp_path):
    graph = random_graph(20, 50, seed=2, weights=weighted)
    for name in ("one", "two"):
        write(graph, tmp_path / (name + suffix))
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_scipy_reads_our_mtx(graph):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "g.mtx")
        write(graph, path)
        matrix = scipy.io.mmread(path)
        assert matrix.shape == (graph.num_vertices,) * 2
        assert np.array_equal(matrix.row, graph.src) and np.array_equal(matrix.col, graph.dst)
        assert graph.weights is None or np.array_equal(matrix.data, graph.weights)


MTX = "%%MatrixMarket matrix coordinate "


@pytest.mark.parametrize("name, content, arcs, vertices", [
    ("a.el", "0 1\n1 2", [(0, 1), (1, 2)], 3),
    ("a.el", "# two\n\n0\t1\r\n  1   2  # the second\n\n", [(0, 1), (1, 2)], 3),
    ("a.el", "% two\n0 1\n1 00000000000000000000002\n", [(0, 1), (1, 2)], 3),
    ("A.EL", "0 0\n", [(0, 0)], 1),
    ("a.el", "# graphloom: vertices 5\n0 1\n", [(0, 1)], 5),
    ("a.el", "# graphloom: vertices 2\n", [], 2),
    ("a.wel", "0 1 4294967295\n0 1 0\n", [(0, 1, 4294967295), (0, 1, 0)], 2),
    ("a.mtx", MTX + "pattern general\n% c\n\n3 3 2\n1 2\n% d\n3 3\n", [(0, 1), (2, 2)], 3),
    ("a.mtx", MTX + "pattern symmetric\n3 3 2\n2 1\n3 3\n", [(1, 0), (2, 2), (0, 1)], 3),
    ("a.mtx", MTX + "integer symmetric\n3 3 1\n2 1 9\n", [(1, 0, 9), (0, 1, 9)], 3),
    ("a.mtx", MTX + "real general\n3 3 3\n2 1 9\n1 1 2.0\n1 3 1e3\n",
     [(1, 0, 9), (0, 0, 2), (0, 2, 1000)], 3),
    ("a.mtx", MTX.upper() + "Pattern General\n7 7 0\n", [], 7),
    ("a.gr", "c a\nc\n\np sp 3 2\na 1 2 5\nc b\na 3 3 0\n", [(0, 1, 5), (2, 2, 0)], 3),
    ("a.el", b"\xef\xbb\xbf0 1\r\n1 2\r\n", [(0, 1), (1, 2)], 3),
    ("a.el", "0,1\n1 , 2\n", [(0, 1), (1, 2)], 3),
    ("a.el", "0 1 {}\n1 2 {'color': 'red, #f00'}\n", [(0, 1), (1, 2)], 3),
    ("a.wel", "0 1 {'weight': 3}\n1 2 {'color': 'x', 'weight': 4}\n", [(0, 1, 3), (1, 2, 4)], 3),
    ("a.wel", "0,1,3\n", [(0, 1, 3)], 2),
    ("a.txt", "# FromNodeId\tToNodeId\n0\t1\r\n1\t2\r\n", [(0, 1), (1, 2)], 3),
    ("a.tsv", "# c\n0\t1\t5\n", [(0, 1, 5)], 2),
    ("a.csv", "Source,Target,Weight\n0,1,5\n1,2,6.0\n", [(0, 1, 5), (1, 2, 6)], 3),
    ("a.csv", "# c\n\n\"u\",\"v\"\n0,1\n", [(0, 1)], 2),
    ("a.edgelist", "0 1 {}\n", [(0, 1)], 2),
    ("a.edgelist", "0 1 {'weight': 2.0}\n", [(0, 1, 2)], 2),
    ("edges", "0 1\n", [(0, 1)], 2),
    ("a.txt", "c x\np sp 2 1\na 1 2 7\n", [(0, 1, 7)], 2),
    ("a.txt", MTX + "pattern general\n2 2 1\n1 2\n", [(0, 1)], 2),
    ("a.txt.gz", packed(b"0\t1\n") + packed(b"1\t2\n"), [(0, 1), (1, 2)], 3),
    ("a.el", packed(b"0 1\n"), [(0, 1)], 2),
    ("a.graph", "% c\n3 2\n2\n1 3\n2\n", [(0, 1), (1, 0), (1, 2), (2, 1)], 3),
    ("a.metis", "3 1 001\n% c\n2 9\n1 9\n\n", [(0, 1, 9), (1, 0, 9)], 3),
    ("a.graph", "2 1 111 2\n5 6 7 2 9\n5 6 7 1 9", [(0, 1, 9), (1, 0, 9)], 2),
    ("a.graph", "2 1 10\n5 2\n6 1\n", [(0, 1), (1, 0)], 2),
    ("a.gr", "p sp 3 2\n a\t1 2 5\na  3 3 0", [(0, 1, 5), (2, 2, 0)], 3),
])
def test_accepted(file, name, content, arcs, vertices):
    graph = load(file(name, content))
    columns = [graph.src, graph.dst] + ([] if graph.weights is None else [graph.weights])
    assert list(zip(*(column.tolist() for column in columns))) == arcs
    assert graph.num_vertices == vertices


@pytest.mark.parametrize("name, content, words", [
    ("a.el", "", "empty"),
    ("a.el", "# nothing\n", "empty"),
    ("a.el", "0 1\n\n1 -2\n", "line 3: v '-2' is not an integer from 0 to 2147483646"),
    ("a.el", "0 1\n1 2147483647\n", "line 2: v '2147483647' is not"),
    ("a.el", "0 1\n1 99999999999999999999999\n", "line 2: v '9999"),
    ("a.el", "0 1\n1 2 3\n", "line 2: '1 2 3' has 3 values, must have 2: u v"),
    ("a.el", "0 1\n1\n", "line 2: '1' has 1 value, must have 2"),
    ("a.el", "0 1 2\n1\n", "line 1: '0 1 2' has 3 values"),
    ("a.el", "0 1\n1 2 0 1\n", "line 2: '1 2 0 1' has 4 values"),
    ("a.el", "0\n1\n", "line 1: '0' has 1 value"),
    ("a.el", "0 1\n1 b\n", "line 2: v 'b'"),
    ("a.el", b"\x01\xff\n", "line 1"),
    ("a.el", "\u0661 1\n", "line 1: u"),
    ("a.el", "x" * 100000, "line 1"),
    ("a.wel", "0 1 3\n0 2 -3\n", "line 2: weight '-3' is not an integer from 0 to 4294967295"),
    ("a.wel", "0 1 3.5\n", "line 1: weight '3.5' is not an integer"),
    ("a.wel", "0 1 4294967296\n", "line 1: weight '4294967296' is not an integer"),
    ("a.wel", "0 1\n", "line 1: '0 1' has 2 values, must have 3: u v weight"),
    ("a.mtx", "", "line 1: must be '%%MatrixMarket"),
    ("a.mtx", "1 1 1\n", "line 1: must be '%%MatrixMarket"),
    ("a.mtx", MTX + "pattern general\n", "line 2: must be 'ROWS COLUMNS ENTRIES'"),
    ("a.mtx", MTX + "pattern general\n%\n3 3\n", "line 3: must be 'ROWS COLUMNS ENTRIES'"),
    ("a.mtx", MTX + "pattern general\n3 3 -1\n", "line 2: must be 'ROWS COLUMNS ENTRIES'"),
    ("a.mtx", MTX + f"pattern general\n{'9' * 9000} 3 1\n", "line 2: must be"),
    ("a.mtx", MTX + "pattern general\n3 4 0\n", "line 2: a matrix of 3 rows and 4 columns"),
    ("a.mtx", MTX + "pattern general\n0 0 0\n", "line 2: the graph is empty"),
    ("a.mtx", MTX + "pattern general\n2147483648 2147483648 0\n", "line 2: 2147483648 is too l"),
    ("a.mtx", MTX + "pattern general\n3 3 2\n1 2\n", "it has 1 of the 2 entries the header says"),
    ("a.mtx", MTX + "pattern general\n3 3 1\n1 2\n\n1 3\n2 3\n", "line 5: is one entry more than"),
    ("a.mtx", MTX + "pattern general\n3 3 1\n1 4\n", "line 3: column '4' is not an integer from 1"),
    ("a.mtx", MTX + "pattern general\n3 3 1\n0 1\n", "line 3: row '0' is not an integer from 1"),
    ("a.mtx", MTX + "pattern general\n3 3 1\n1 1 1\n", "line 3: '1 1 1' has 3 values"),
    ("a.mtx", MTX + "integer general\n3 3 1\n1 1\n", "line 3: '1 1' has 2 values, must have 3"),
    ("a.mtx", MTX + "integer general\n3 3 1\n1 1 -1\n", "line 3: weight '-1' is not an integer"),
    ("a.mtx", MTX + "integer general\n3 3 1\n1 1 1.0\n", "line 3: weight '1.0' is not an integer"),
    ("a.mtx", MTX + "real general\n3 3 1\n1 1 0.5\n", "line 3: weight '0.5' is not an integer"),
    ("a.mtx", MTX + "real general\n3 3 1\n1 1 -2.0\n", "line 3: weight '-2.0' is not an integer"),
    ("a.mtx", MTX + "real general\n3 3 1\n1 1 nan\n", "line 3: weight 'nan' is not an integer"),
    ("a.mtx", MTX + "real general\n3 3 1\n1 1 1e400\n", "line 3: weight '1e400' is not an int"),
    ("a.mtx", MTX + "real general\n3 3 1\n1.0 1 1.0\n", "line 3: row '1.0' is not an integer"),
    ("a.gr", "", "line 1: the file ends before 'p sp"),
    ("a.gr", "c\na 1 1 1\n", "line 2: must be 'p sp"),
    ("a.gr", "p spam 1 1\n", "line 1: must be 'p sp"),
    ("a.gr", "p sp 0 0\n", "line 1: the graph is empty"),
    ("a.gr", "p sp 2 1\nc\na 1 3 1\n", "line 3: to '3' is not an integer from 1 to 2"),
    ("a.gr", "p sp 2 1\na 1 2 -1\n", "line 2: weight '-1' is not an integer"),
    ("a.gr", "p sp 2 1\na 1 2\n", "line 2: 'a 1 2' has 2 values, must have 3"),
    ("a.gr", "p sp 2 1\n1 2 3\n", "line 2: must begin with 'a'"),
    ("a.gr", "p sp 2 1\nc\ne 1 2 3\n", "line 3: must begin with 'a'"),
    ("a.gr", "p sp 2 1\np sp 2 1\na 1 2 3\n", "line 2: must begin with 'a'"),
    ("a.gr", "p sp 2 2\na 1 2 3\n", "it has 1 of the 2 entries"),
    ("a.gr", "p sp 2 1\na 1 2 3\nc\na 1 2 3\n", "line 4: is one entry more than the 1"),
    ("a.el", "# graphloom: vertices 2\n0 5\n", "says fewer vertices than there are: an arc has ve"),
    ("a.el", "# graphloom: vertices 2\n# graphloom: vertices 3\n0 1\n", "differ: 2 and 3"),
    ("a.el", "0,1\n1,,2\n", "line 2: '1,,2' has 3 values, must have 2: u v"),
    ("a.el", "0,1\n1,\n", "line 2: '1,': value 2 is empty, must be v"),
    ("a.el", "0 1\n,1\n", "line 2: ',1' has 1 value, must have 2: u v"),
    ("a.el", "0 1 {'a': {}}\n", "line 1: \"0 1 {'a': }\" has "),
    ("a.el", b"\xff\xfe0\x00 \x001\x00", "the text is in UTF-16, must be in UTF-8"),
    ("a.wel", "0 1 3.5\n", "--weight-scale X multiplies by X and rounds, --no-weights drops"),
    ("a.txt", "0 1 2 3\n", "line 1: '0 1 2 3' has 4 values, must have 2 or 3: u v weight"),
    ("a.txt", "0 1\n0 1 2\n", "line 2: '0 1 2' has 3 values, must have 2: u v; --input-format cou"),
    ("a.txt", "hello\n", "(read as an edge list; --input-format names another format)"),
    ("a.graph", "", "line 1: must be 'VERTICES EDGES [FMT [NCON]]'"),
    ("a.graph", "2 1 5\n2\n1\n", "line 1: FMT is '005', must be three digits of 0 and 1"),
    ("a.graph", "2 1 1 4\n2\n1\n", "line 1: NCON is 4"),
    ("a.graph", "0 0\n", "line 1: the graph is empty"),
    ("a.graph", "2000000000 1000\n", "line 1: 2000000000 vertices are too many for 2000 arcs"),
    ("a.graph", "2 1\n2\n1 2\n", "has more values than the header says"),
    ("a.graph", "2 1\n2\n1\n1\n", "has more lines than the 2 vertices"),
    ("a.graph", "3 1\n2\n1\n", "the file ends too early: it has 2 lines for the 3 vertices"),
    ("a.graph", "3 2\n2\n1\n\n", "has 2 neighbours in all, must have 4"),
    ("a.graph", "2 1\n3\n1\n", "vertex 1 has the neighbour 3, must be from 1 to 2"),
    ("a.graph", "2 1\n0\n1\n", "vertex 1 has the neighbour 0, must be from 1 to 2"),
    ("a.graph", "2 1\n\n1 3\n", "vertex 2 has the neighbour 3, must be from 1 to 2"),
    ("a.graph", "2 1\nx\n1\n", "'x' is not a whole number"),
    ("a.graph", "2 1\n2 %\n1\n", "'%' is not a whole number"),
    ("a.graph", "2 1 1\n2 7\n1\n", "the line of vertex 2 has 1 values, must have 0 and 2 for each"),
    ("a.graph", "2 1 1\n2 7\n1 8\n", "different weights in the lines of both"),
    ("a.graph", "3 1\n2\n3\n\n", "an edge is in the line of one of its ends only"),
    ("a.graph", "2 1 10\n5 2\n\n", "the line of vertex 2 has 0 values, must have 1 and"),
])
def test_refused(file, name, content, words):
    path = file(name, content)
    with pytest.raises(UserError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and words in message and "\n" not in message
    assert len(message) < len(path) + 250


@pytest.mark.parametrize("line", [3, 70_000, 150_000])
def test_line_in_a_later_piece(file, line):
    lines = ["123456 654321"] * 150_000
    lines[line - 1] = "123456 x"
    with pytest.raises(UserError, match=f"line {line}: v 'x'"):
        load(file("a.el", "\n".join(lines)))
    lines[line - 1] = "e 1 2 3"
    lines = [entry if entry[0] == "e" else "a " + entry + " 1" for entry in lines]
    with pytest.raises(UserError, match=f"line {line + 1}: must begin with 'a'"):
        load(file("a.gr", "p sp 999999 150000\n" + "\n".join(lines)))


@pytest.mark.parametrize("name", ["missing.el", "missing.npz", "missing.mtx.gz"])
def test_missing(tmp_path, name):
    with pytest.raises(UserError, match="there is no such file"):
        load(tmp_path / name)


def test_folder(tmp_path):
    (tmp_path / "a.el").mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        load(tmp_path / "a.el")


@pytest.mark.parametrize("suffix", [".mtx", ".wel", ".gr", ".npz"])
def test_truncated_gz(tmp_path, suffix):
    path = tmp_path / f"a{suffix}.gz"
    write(random_graph(1000, 5000, seed=3, weights=True), path)
    content = path.read_bytes()
    for length in (20, len(content) // 2, len(content) - 4):
        path.write_bytes(content[:length])
        with pytest.raises(UserError, match="the compressed file is truncated"):
            load(path)


def test_damaged_gz(file):
    with pytest.raises(UserError, match="damaged or not gzip"):
        load(file("a.el.gz", "0 1\n"))
    content = bytearray(gzip.compress(b"0 1\n" * 1000))
    content[len(content) - 6] ^= 1  # a bit of the checksum
    with pytest.raises(UserError, match="damaged or not gzip"):
        load(file("a.el.gz", bytes(content)))


def npz(path, **arrays):
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("change, words", [
    ({"graphloom_graph": None},
     "is neither a graph of Graphloom, which has an array 'graphloom_graph"),
    ({"graphloom_graph": 2}, "says version 2, this program reads 1"),
    ({"graphloom_graph": [1]}, "'graphloom_graph' must be one integer"),
    ({"num_vertices": None}, "'num_vertices' must be one integer"),
    ({"num_vertices": 1.5}, "'num_vertices' must be one integer"),
    ({"num_vertices": 0}, "the graph is empty"),
    ({"num_vertices": 2}, "dst of arc 1 is 2, must be from 0 to 1"),
    ({"src": None}, "array 'src' is missing"),
    ({"dst": [1]}, "dst has 1 entries, must have 2"),
    ({"dst": [1.0, 2.0]}, "dst is of type float64"),
    ({"dst": 1}, "dst is of type int64 with 0 dimensions, must be a list of integers"),
    ({"wieght": [1, 2]}, "has an array 'wieght', it may have graphloom_graph"),
    ({"weights": [1, -1]}, "weight of arc 1 is -1"),
    ({"weights": np.array([1, None])}, "'weights.npy' is not an array of numbers"),
])
def test_npz_wrong(tmp_path, change, words):
    arrays = {"graphloom_graph": 1, "num_vertices": 3, "src": [0, 1], "dst": [1, 2], **change}
    path = npz(tmp_path / "a.npz", **{k: v for k, v in arrays.items() if v is not None})
    with pytest.raises(UserError, match=words) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


def test_npz_damaged(tmp_path, file):
    path = tmp_path / "a.npz"
    write(random_graph(100, 500, seed=4), path)
    content = path.read_bytes()
    for damaged in (b"", b"hello", content[:100], content[:-30],
                    content[:1200] + b"\xff" + content[1201:]):
        with pytest.raises(UserError, match="damaged|not an .npz file"):
            load(file("b.npz", damaged))


def test_write_wrong_kind(tmp_path):
    plain, weighted = Graph(1, [0], [0]), Graph(1, [0], [0], [1])
    for name in ("a.wel", "a.gr", "a.gr.gz"):
        with pytest.raises(UserError, match="files have weights and graph has none"):
            write(plain, tmp_path / name)
    with pytest.raises(UserError, match="files have no weights and graph has"):
        write(weighted, tmp_path / "a.el")
    with pytest.raises(UserError, match="must end in"):
        write(plain, tmp_path / "a.txt")
    assert not list(tmp_path.iterdir())


def test_write_nowhere(tmp_path):
    graph = Graph(1, [0], [0])
    with pytest.raises(UserError, match="cannot be written"):
        write(graph, tmp_path / "none" / "a.el")
    (tmp_path / "a.el").mkdir()
    with pytest.raises(UserError, match="cannot be written: it is a folder"):
        write(graph, tmp_path / "a.el")
    assert [path.name for path in tmp_path.iterdir()] == ["a.el"]


def test_write_fails_half_way(tmp_path, monkeypatch):
    """If a write fails half-way, the old file stays and nothing else is left behind."""
    path = tmp_path / "a.el"
    write(Graph(2, [0], [1]), path)

    def broken(stream, graph):
        stream.write(b"0 ")
        raise OSError(28, "No space left on device")
    monkeypatch.setitem(write.__globals__["_WRITERS"], ".el", broken)
    with pytest.raises(UserError, match="No space left on device"):
        write(Graph(1, [0], [0]), path)
    assert path.read_text() == "0 1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.el"]


@pytest.mark.parametrize("one, other", [("as20graph.el", "as20graph.mtx"),
                                        ("power-grid.el", "power-grid.mtx"),
                                        ("road-rome99.wel", "road-rome99.mtx")])
def test_real_copies_agree(one, other):
    one, other = pathlib.Path(real_graph(one)), pathlib.Path(real_graph(other))
    undirected = "symmetric" in other.read_text().split("\n")[0]
    assert_same(load(one, undirected=undirected, simplify=True), load(other, simplify=True))


def test_real_mtx_as_scipy_has_it():
    path = real_graph("as20graph.mtx")
    matrix, graph = scipy.io.mmread(path), load(path)
    assert_same(Graph(matrix.shape[0], matrix.row, matrix.col).simplify(), graph.simplify())


def test_real_foreign_npz():
    with pytest.raises(UserError, match="is neither a graph of Graphloom"):
        load(real_graph("cora_features.npz"))
