"""Files as people have them: oddities of tables, and the formats of other programs.

====================================  =========================================================
feature                               tests
====================================  =========================================================
oddities that are read                test_read, test_names_of_windows, test_quick_and_slow
oddities that are refused             test_refused
GAP's serialized graphs               test_gap, test_gap_wrong
LDBC Graphalytics                     test_ldbc, test_ldbc_wrong
Parquet                               test_parquet, test_parquet_wrong
GraphML, GML, Pajek                   test_networkx, test_pajek, test_gml,
                                      test_markup_wrong
zstd                                  test_zstd
packages that are missing             test_missing
public inputs                         test_inputs
====================================  =========================================================
"""

import gzip
import pathlib
import struct

import networkx
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from base.errors import UserError
from checks.campaign.fuzz.corpus import serialized
from sw.graph import Graph, load
from tb.sw.graphs import arcs, random_graph


@pytest.fixture
def read(tmp_path):
    """A function that writes a file and loads it; ``told`` are the notes."""
    def loaded(content, name="a.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        loaded.told, loaded.path = [], path
        return load(path, note=loaded.told.append, **options)
    return loaded


@pytest.mark.parametrize("text, options, expected, told", [
    ("0,1\r\n1,2\r\n\r\n", {}, [(0, 1), (1, 2)], None),
    (b"\xef\xbb\xbf0\t1\r\n1\t2\r\n", {}, [(0, 1), (1, 2)], None),
    ("// made by hand\n0 1\n// more\n1 2\n", {}, [(0, 1), (1, 2)], None),
    ("; made by hand\n0;1\n; more\n1;2\n", {}, [(0, 1), (1, 2)], None),
    ("% c\n# c\n\n0 1 % c\n1 2 # c\n", {}, [(0, 1), (1, 2)], None),
    ("0,1,\n1,2,\n", {}, [(0, 1), (1, 2)], None),
    ("source;target;\n0;1;\n1;2;\n", {}, [(0, 1), (1, 2)], None),
    ("0 \t1\n1\t 2\n", {}, [(0, 1), (1, 2)], None),
    ("0 , 1 ,  5\n1 ,\t2 , 6\n", {}, [(0, 1, 5), (1, 2, 6)], None),
    ("0,1,1e1\n1,2,2.5E1\n", {}, [(0, 1, 10), (1, 2, 25)], None),
    ("0,1,.5\n1,2,3.\n0,2,-0\n", {"weight_scale": 2}, [(0, 1, 1), (0, 2, 0), (1, 2, 6)], None),
    ("source,target,weight\n0,1,0.10\n1,2,1e-1\n", {"weight_scale": 10}, [(0, 1, 1), (1, 2, 1)],
     None),
    ('a,b,c\n"x, y",0,1\n"say ""hi""",1,2\n', {"columns": "b,c"}, [(0, 1), (1, 2)], None),
    ('"Source";"Target";"Label"\n"0";"1";"a;b"\n', {}, [(0, 1)], "not read: Label"),
    ("'u' 'v'\n'v' 'w'\n", {}, [(0, 1), (1, 2)], "3 ids are numbered"),
    ("person,friend\n0,1\n", {}, [(0, 1)], "'person, friend' are taken for source and"),
    ("person,friend,since\n0,1,7\n", {"columns": "person,2"}, [(0, 1)], None),
    ("person,friend,since\nann,bob,7\nbob,al,8\n", {"columns": ("person", "friend", "since")},
     [(1, 2, 7), (2, 0, 8)], "3 ids are numbered"),
    ("FROM\tTO\tNAME\n0\t1\tx y\n1\t2\t\n", {}, [(0, 1), (1, 2)], "not read: NAME"),
    ('"source" "target"\n"1" 0 1\n"2" 1 2\n', {}, [(0, 1), (1, 2)], None),
    ("1,2\n2,3\n", {"first": 1}, [(0, 1), (1, 2)], None),
    ("0 9\n9 0\n", {"relabel": True}, [(0, 1), (1, 0)], "2 ids are numbered"),
    ("18446744073709551617 1\n1 18446744073709551616\n", {}, [(0, 1), (2, 0)], "3 ids"),
    ("-1 3\n3 -1\n", {"relabel": True}, [(0, 1), (1, 0)], "2 ids"),
    ("007 7\n7 8\n", {"relabel": True}, [(0, 0), (0, 1)], "2 ids"),
    ("a\u00e9 b\nb c\n", {}, [(0, 1), (1, 2)], "3 ids"),
    ("u1 i1 5\nu2 i1 4\n", {}, [(1, 0, 5), (2, 0, 4)], "3 ids"),
    ("0 1 2 x\n1 2 3 y\n", {"columns": "2,1,3"}, [(1, 0, 2), (2, 1, 3)], None),
    ("0 1 {'weight': 7, 'c': 'a b'}\n", {}, [(0, 1, 7)], None),
    (gzip.compress(b"0 1\n") + gzip.compress(b"1 2\n"), {}, [(0, 1), (1, 2)], None),
    ("0|1|5\n1|2|6\n", {"no_weights": True}, [(0, 1), (1, 2)], None),
    ("id,source,target,1\n9,0,1,5\n", {"columns": "source,target,4"}, [(0, 1, 5)], None),
], ids=range(32))
def test_read(read, text, options, expected, told):
    assert sorted(arcs(read(text, **options))) == expected
    assert (told is None and not read.told) or told in read.told[-1]


@pytest.mark.parametrize("text, options, words", [
    ("", {}, "the graph is empty"), ("\n\n", {}, "the graph is empty"),
    ("source,target\n", {}, "the graph is empty"),
    ("0\n1\n", {}, "line 1: '0' has 1 value, must have 2 or 3"),
    ("0;1,000\n1;2,000\n", {}, "line 1: v '1,000' is not"),
    ("0;1;0,5\n", {}, "weight '0,5' is not"),
    ('source,target,weight\n0,1,"1,000"\n', {}, "line 2: weight '1,000' is not an integer"),
    ("0 1 1 000\n", {}, "line 1: '0 1 1 000' has 4 values"),
    ("0,1,0x10\n", {}, "weight '0x10' is not"), ("0x0,0x1\n", {}, "u '0x0' is not an integer"),
    ("0,1,1_0\n", {}, "weight '1_0'"), ("0,1,NaN\n", {}, "weight 'NaN' is not"),
    ("0,1,-3\n", {}, "weight '-3' is not an integer from 0 to 4294967295"),
    ("0 1\n-1 2\n", {}, "line 2: u '-1' is not an integer from 0 to 2147483646; --relabel"),
    ("0 1\n1 99999999999999999999\n", {}, "line 2: v '99999999999999999999' is not"),
    ("0 1\n1 \u0662\n", {}, "line 2: v '\u0662' is not"), ("0 1\n1 x\n", {}, "line 2: v 'x' is"),
    ("a,a,b\n0,1,2\n", {"columns": "a,b"}, "has more than one column 'a'"),
    ("a,b\n0,1\n", {"columns": "a,c"}, "line 1: has no column 'c' for --columns, it has 'a, b'"),
    ("a,b\n0,1\n", {"columns": "1,3"}, "has 2 values, there is no column 3"),
    ("a,b\n0,1\n", {"columns": "a,1"}, "names a column twice"),
    ("0 1\n1 2\n", {"first": 1}, "line 1: u '0' is not an integer from 1 to 2147483647"),
    ("0 1 2\n1 2\n", {}, "line 2: '1 2' has 2 values, must have 3: u v weight"),
    ("0,1\n1,2,3\n", {}, "line 2: '1,2,3' has 3 values, must have 2"),
    ('source,target\n"0,1\n', {}, "line 2: '\"0,1' cannot be split into values"),
    ("0 1\n".encode("utf-16"), {}, "is in UTF-16, must be in UTF-8; `iconv -f UTF-16"),
    (gzip.compress(zstandard.compress(b"0 1\n")), {}, "is a file that is compressed twice"),
    (gzip.compress(b"0 1\n" * 99)[:-9], {}, "the compressed file is truncated"),
    (b"PK\5\6" + bytes(18), {}, "is neither a graph of Graphloom"),
    ("*Vertices 2\n1 a\n2 b\n*Matrix\n0 1\n1 0\n", {}, "as Pajek: *matrix is not read, *arcs and"),
    ("# graphloom: vertices 9\n0 9\n", {}, "says fewer vertices than there are"),
    ("a b c d\n1 2 3 4\n", {}, "the names 'a, b, c, d' do not tell which columns"),
], ids=range(32))
def test_refused(read, text, options, words):
    with pytest.raises(UserError) as caught:
        read(text, **options)
    assert words in str(caught.value) and str(caught.value).startswith(f"{read.path}: ")


def test_names_of_windows(read):
    """Ids that are not UTF-8 keep apart."""
    graph = read("caf\u00e9,caf\u00e8\ncaf\u00e8,x\n".encode("cp1252"))
    assert graph.names.tolist() == ["caf\u00e8", "caf\u00e9", "x"]


@pytest.mark.parametrize("mark", [" ", ",", "\t", " ; "])
@pytest.mark.parametrize("quote", ["", '"'])
def test_quick_and_slow(read, mark, quote):
    """Many lines in any form; a comment in the middle or a space less changes nothing."""
    graph = random_graph(500, 30_000, seed=4, weights=True)
    rows = [mark.join(f"{quote}{value}{quote}" for value in (src, "x", dst, weight / 4))
            for src, dst, weight in arcs(graph)]
    rows[17_000] = rows[17_000].replace(mark, f"  {mark} " if mark.strip() else mark)
    rows.insert(9_000, "# comment")
    found = read("\n".join(rows), "a.txt", columns="1,3,4", weight_scale=4)
    assert arcs(found) == arcs(graph)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_gap(read, weighted, directed):
    graph = random_graph(30, 99, seed=3)
    graph = graph.weighted(1000) if weighted else graph
    graph = graph if directed else graph.undirected()
    name = "a.wsg" if weighted else "a.sg"
    found = read(serialized(graph, directed), name)
    assert sorted(arcs(found)) == sorted(arcs(graph)) and found.num_vertices == 30
    packed = read(gzip.compress(serialized(graph, directed)), f"{name}.gz", no_weights=True)
    assert packed.num_edges == graph.num_edges and packed.weights is None


@pytest.mark.parametrize("change, words", [
    (lambda text: text[:-1], "ends too early"), (lambda text: text[:9], "ends too early"),
    (lambda text: text + b"1", "is longer than"), (lambda text: b"\2" + text[1:], "does not begin"),
    (lambda text: text[:9] + struct.pack("<q", -1) + text[17:], "does not begin as a serialized"),
    (lambda text: text[:1] + struct.pack("<qq", 1 << 30, 1 << 30) + text[17:], "ends too early"),
    (lambda text: text[:25] + struct.pack("<q", 9) + text[33:], "begins of its rows must ascend"),
    (lambda text: text[:41] + struct.pack("<i", 2) + text[45:], "dst of arc 0 is 2, must be from"),
])
def test_gap_wrong(read, change, words):
    with pytest.raises(UserError, match=words):
        read(change(serialized(Graph(2, [0, 1], [1, 0]), False)), "a.sg")


def test_ldbc(read, tmp_path):
    (tmp_path / "a.v").write_text("30\n2\n11\n7\n")
    graph = read("2 30 0.5\n11 2 0.25\n", "a.e", weight_scale=4)
    assert arcs(graph) == [(0, 3, 2), (2, 0, 1)] and graph.names.tolist() == [2, 7, 11, 30]
    assert arcs(read("2 30 0.5\n11 2 0.25\n", "a.e", no_weights=True)) == [(0, 3), (2, 0)]
    assert read("", "a.e").num_vertices == 4


@pytest.mark.parametrize("vertices, words", [
    ("2\n3\n", "an arc has vertex 7, which .*a.v does not list"), ("2\n7\n7\n", "a.v: a vertex is"),
    ("2 3\n", "a.v: line 1: '2 3' has 2 values, must have 1: id"), (None, "the vertices are in"),
])
def test_ldbc_wrong(read, tmp_path, vertices, words):
    if vertices is not None:
        (tmp_path / "a.v").write_text(vertices)
    with pytest.raises(UserError, match=words):
        read("2 7\n", "a.e")


def parquet(**columns):
    """The bytes of a Parquet file."""
    file = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue().to_pybytes()


@pytest.mark.parametrize("columns, options, expected, names", [
    ({"target": [1, 2], "x": ["a", "b"], "source": [0, 1]}, {}, [(0, 1), (1, 2)], None),
    ({"a": [0, 1], "b": [1, 2]}, {}, [(0, 1), (1, 2)], None),
    ({"a": [1, 2], "b": [2, 3], "c": [0.5, 1]}, {"columns": "a,b,c", "first": 1, "weight_scale": 2},
     [(0, 1, 1), (1, 2, 2)], None),
    ({"from": ["x", "y"], "to": ["y", "z"], "weight": [3, 4]}, {}, [(0, 1, 3), (1, 2, 4)],
     ["x", "y", "z"]),
    ({"a": [1 << 60, 5], "b": [-3, 5]}, {"relabel": True}, [(2, 0), (1, 1)], [-3, 5, 1 << 60]),
    ({"source": [0], "target": [1], "weight": [0.5]}, {"no_weights": True}, [(0, 1)], None),
])
def test_parquet(read, columns, options, expected, names):
    for name in ("a.parquet", "a"):
        graph = read(parquet(**columns), name, **options)
        assert arcs(graph) == expected
        assert names is None if graph.names is None else graph.names.tolist() == names


@pytest.mark.parametrize("content, words", [
    (b"PAR1" + bytes(50), "cannot be read as Parquet"),
    (parquet(a=[0], b=[1], c=[2]), "the names 'a, b, c' do not tell which columns"),
    (parquet(a=[0, None], b=[1, 2]), "column 'a': 1 values are missing"),
    (parquet(a=[0.5], b=[1]), "column 'a' is of type double, must have whole numbers or text"),
    (parquet(a=[-1], b=[1]), "column 'a': -1 is not an integer from 0 to 2147483646; --relabel"),
    (parquet(source=[0], target=[1], weight=["x"]), "weights are of type object, must be numbers"),
    (parquet(source=[0], target=[1], weight=[-2]), "weight of arc 0 is -2"),
    (parquet(a=pyarrow.array([], pyarrow.int64()), b=pyarrow.array([], pyarrow.int64())),
     "has 0 arcs, must have from 1"),
    (parquet(a=np.zeros(5_000_000, np.int32), b=np.zeros(5_000_000, np.int32)), "expands to more"),
], ids=range(9))
def test_parquet_wrong(read, content, words):
    with pytest.raises(UserError, match=words):
        read(content, "a.parquet")


@pytest.mark.parametrize("kind", [networkx.DiGraph, networkx.Graph, networkx.MultiDiGraph])
@pytest.mark.parametrize("form", ["graphml", "gml", "pajek"])
@pytest.mark.parametrize("named", [False, True])
def test_networkx(read, kind, form, named):
    """What networkx writes: names and weights survive; an edge is two arcs."""
    theirs = kind()
    for src, dst, weight in ((0, 1, 3), (1, 2, 4), (3, 1, 5)):
        src, dst = (f"v {vertex}" if named else vertex for vertex in (src, dst))
        theirs.add_edge(src, dst, weight=weight)
    text = "\n".join(getattr(networkx, f"generate_{form}")(theirs))
    graph = read(text, "a.txt")
    labels = list(range(4)) if graph.names is None else graph.names.tolist()
    assert (graph.names is None) == (not named)
    both = list(theirs.edges(data="weight"))
    both += [] if theirs.is_directed() else [(dst, src, weight) for src, dst, weight in both]
    assert sorted((labels[src], labels[dst], weight) for src, dst, weight in arcs(graph)) \
        == sorted(both)


def test_pajek(read):
    """Arcs and edges in one file; weights that are all 1 are none."""
    text = '% c\n*Vertices 3\n1 "a b"\n2 c\n3 d\n*Arcs\n1 2 5\n*Edges\n2 3 7\n'
    graph = read(text[4:], "a.net")
    assert arcs(graph) == [(0, 1, 5), (1, 2, 7), (2, 1, 7)]
    assert graph.names.tolist() == ["a b", "c", "d"]
    assert read("*Vertices 2\n1 a\n2 b\n*Arcs\n1 2\n", "a.net").weights is None


def test_gml(read):
    """Parallel edges, letters of UTF-8, ids where labels are not unique."""
    text = 'Creator "x"\ngraph\n[ node [ id 5 label "{}" ] node [ id 7 label "b" ]\n'
    text += "edge [ source 5 target 7 value 2 ] edge [ source 7 target 5 value 3 ] ]"
    graph = read(text.format("\u00e9"), "a.gml")
    assert sorted(arcs(graph)) == [(0, 1, 2), (0, 1, 3), (1, 0, 2), (1, 0, 3)]
    assert graph.names.tolist() == ["\u00e9", "b"]
    assert read(text.format("b"), "a.gml").names.tolist() == [5, 7]


@pytest.mark.parametrize("text, words", [
    ("<graphml><graph>", "cannot be read as GraphML: no element found"),
    ("graph [ node [ id 1 ]", "cannot be read as GML: expected"),
    ("graph [ node [ id 1 ] edge [ source 1 target 2 ] ]", "cannot be read as GML"),
    ("*Vertices x\n*Arcs\n", "cannot be read as Pajek"), ("*Vertices 1\n1 a\n", "neither"),
    ("*Vertices 1\n1 a\n*Arcs\n" + "0" * 70_000, "line 4 is longer than 65536 bytes"),
    ("*Vertices 9\n1 a\n*Arcs\n1 2\n", "cannot be read as Pajek"),
    ("graph [ node [ id 1 ] edge [ source 1 target 1 weight 0.5 ] ]", "weight 0.5 of arc 0"),
    ("graph [" + "a [" * 3000, "cannot be read as GML"), ("graph [ ]", "the graph is empty"),
])
def test_markup_wrong(read, text, words):
    with pytest.raises(UserError, match=words) as caught:
        read(text, "a.txt")
    assert "\n" not in str(caught.value)


def test_zstd(read, monkeypatch):
    text = b"".join(b"%d %d\n" % (at, 7 * at % 1000) for at in range(30_000))
    packed = zstandard.compress(text[:100_000]) + zstandard.compress(text[100_000:])
    assert read(packed, "a.el.zst").num_edges == 30_000
    with pytest.raises(UserError, match="the compressed file is truncated"):
        read(packed[:-9], "a.el.zst")
    with pytest.raises(UserError, match="damaged or not zstd"):
        read(packed + b"more", "a.el.zst")
    with pytest.raises(UserError, match="damaged or not zstd: it does not begin as one"):
        read(text, "a.el.zst")
    monkeypatch.setattr("sw.graph.source.FREE", 1 << 20)
    with pytest.raises(UserError, match="expands to more than 100 times its size"):
        read(zstandard.compress(b"0 1\n" * (1 << 20)), "a.el.zst")


@pytest.mark.parametrize("content, name, package", [
    (zstandard.compress(b"0 1\n"), "a.el", "zstandard"), (parquet(a=[0], b=[1]), "a", "pyarrow"),
    (b"graph [ ]", "a", "networkx"),
])
def test_missing(read, monkeypatch, content, name, package):
    """A package that is missing is named, and how to install it."""
    monkeypatch.setattr("base.installation.obtain", lambda *_: False)
    monkeypatch.setattr("base.installation.launched", lambda: False)
    with pytest.raises(UserError, match=f"needs {package}, which is not installed: pip install "
                       r"'graphloom\[graphs\]'"):
        read(content, name)


INPUTS = pathlib.Path(__file__).resolve().parents[4] / "shared" / "inputs"

RIGHT = [
    ("csv/hdr2.csv", {}, [(0, 1, 1)]), ("csv/hdr3.csv", {}, [(0, 1)]),
    ("csv/hdr5.csv", {}, [(0, 1)]), ("csv/hdr6.csv", {}, [(0, 1)]),
    ("csv/hdr7.csv", {}, [(0, 1), (1, 2)]),
    ("csv/hdr8.csv", {}, [(0, 1)]), ("csv/hdr9.csv", {}, [(0, 1)]),
    ("csv/signed.csv", {}, "--columns"), ("csv/signed.csv", {"columns": "1,2"}, [(6, 2), (6, 5)]),
    ("csv/konectw.tsv", {}, "--columns"),
    ("csv/konectw.tsv", {"columns": "1,2,3", "first": 1}, [(0, 1, 3), (1, 2, 4)]),
    ("mtx/unsigned.mtx", {}, [(0, 1, 7), (1, 0, 9)]),
    ("mtx/sp_uint32.mtx", {}, [(0, 1, 1), (1, 2, 2), (2, 0, 3)]),
    ("mtx/skew.mtx", {}, "negative values cannot be weights"),
    ("mtx/skew.mtx", {"no_weights": True}, [(0, 1), (0, 2), (1, 0), (2, 0)]),
    ("mtx/complex.mtx", {}, "complex values cannot be weights"),
    ("mtx/complex.mtx", {"no_weights": True}, [(0, 1), (1, 0)]),
    ("mtx/array.mtx", {"no_weights": True}, [(0, 2), (1, 0), (2, 1)]),
    ("mtx/expo.mtx", {}, [(0, 1, 10), (1, 2, 1), (2, 0, 5)]),
    ("mtx/double.mtx", {}, "must be real"),
    ("mtx/isovalued.mtx", {}, "line 4: '1 2' has 2 values, must have 3"),
    ("ids/sparse.txt", {"relabel": True}, [(0, 1), (1, 0), (2, 3), (3, 2)]),
    ("ids/hugeid64.txt", {}, [(0, 1), (1, 0)]), ("ids/str.txt", {}, [(0, 1), (1, 2)]),
    ("ids/strw.csv", {}, [(0, 1, 3), (1, 2, 1)]),
    ("ids/g.e", {"weight_scale": 4}, [(0, 1, 2), (1, 2, 1)]), ("ids/g.v", {}, "an LDBC graph"),
    ("containers/a.el.bz2", {}, [(0, 1), (1, 2), (2, 0)]),
    ("containers/a.el.xz", {}, [(0, 1), (1, 2), (2, 0)]), ("containers/a.graphml", {}, [(0, 1)]),
    ("containers/a.sg", {}, "no serialized graph of the GAP benchmarks"),      # V before E
    ("containers/a.tar.gz", {}, "a tar archive"), ("containers/a.dot", {}, "a DOT file"),
    ("containers/col.col", {}, "a graph colouring file of DIMACS"),
    ("containers/max.max", {}, "a problem of DIMACS"),
    ("containers/ligra.adj", {}, "an adjacency file of Ligra"),
    ("adjacency/adjmat.csv", {}, "--input-format matrix"),
    ("adjacency/adjmat.csv", {"input_format": "matrix"}, [(0, 1), (1, 2), (2, 0)]),
    ("adjacency/adjl3.adjlist", {},
     [(0, 1), (0, 2), (1, 2), (1, 3), (2, 0), (2, 3), (3, 0), (3, 1)]),
    ("header-line/nm2.txt", {}, "counted"), ("header-line/nm3.txt", {}, "counted"),
    ("timestamps/temporal.txt", {"no_weights": True, "first": 1}, [(0, 1), (2, 3), (4, 1)]),
]


@pytest.mark.skipif(not INPUTS.exists(), reason="the public inputs are not here")
@pytest.mark.parametrize("name, options, right", RIGHT, ids=range(len(RIGHT)))
def test_inputs(name, options, right):
    if isinstance(right, str):
        with pytest.raises(UserError) as caught:
            load(INPUTS / name, **options)
        assert right in str(caught.value)
    else:
        assert sorted(arcs(load(INPUTS / name, **options))) == right
