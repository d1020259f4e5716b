"""Edge lists of other programs: their columns, their names, their quotes, and options that choose.

====================================  =========================================================
feature                               tests
====================================  =========================================================
columns by their names                test_names, test_names_decide, test_unknown_names
columns that are named                test_columns, test_columns_wrong
values with quotes, spaces, gaps      test_quotes, test_quotes_wrong, test_values_are_missing
many rows                             test_later_pieces
too many values                       test_the_error_says_what_helps
what is left out is said              test_left_out
====================================  =========================================================
"""

import csv
import io

import pytest

from base.errors import UserError
from sw.graph import load
from tb.sw.graphs import arcs, random_graph


@pytest.fixture
def read(tmp_path):
    """A function that writes an edge list and loads it; ``told`` are the notes."""
    def loaded(text, name="a.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        loaded.told, loaded.path = [], str(path)
        return load(path, note=loaded.told.append, **options)
    return loaded


@pytest.mark.parametrize("text, expected", [
    ("Source,Target,Type,Id,Label,Weight\n0,1,Directed,0,,1.0\n2,0,Directed,1,a b,3\n",
     [(0, 1, 1), (2, 0, 3)]),
    ('"source","target"\n"0","1"\n"2","0"\n', [(0, 1), (2, 0)]),
    ('"0","1","7"\n"2","0","5"\n', [(0, 1, 7), (2, 0, 5)]),
    ("id_1,id_2\n0,1\n", [(0, 1)]), ("node_1,node_2\n0,1\n", [(0, 1)]),
    ("user1,user2\n0,1\n", [(0, 1)]), ("node_a;node_b\n0;1\n", [(0, 1)]),
    (",source,target\n0,0,1\n1,1,2\n", [(0, 1), (1, 2)]),
    ("source,target,timestamp\n0,1,1082040961\n", [(0, 1)]),
    ("source;target\n0;1\n", [(0, 1)]), ("0;1;5\n1;2;6\n", [(0, 1, 5), (1, 2, 6)]),
    ("src|dst|w\n0|1|5\n", [(0, 1, 5)]), ("0|1\n", [(0, 1)]),
    ("weight,target,source\n9,1,0\n", [(0, 1, 9)]), ("target,source\n1,0\n", [(0, 1)]),
    ("Source Node\tTarget Node\tMy Label\n0\t1\tJohn Smith\n2\t0\t\n", [(0, 1), (2, 0)]),
    ("source target weight\n0 1 5\n", [(0, 1, 5)]),
    ("row,col,value\n0,1,5\n", [(0, 1, 5)]), ("from,to,cost\r\n0,1,5\r\n", [(0, 1, 5)]),
    (b"\xef\xbb\xbfsource,target\r\n0,1\r\n", [(0, 1)]),
    ("# made by hand\n\n% twice\nsource,target\n\n0,1\n", [(0, 1)]),
    (":START_ID,:END_ID,:TYPE\n0,1,KNOWS\n", [(0, 1)]),
])
def test_names(read, text, expected):
    assert arcs(read(text)) == expected
    assert arcs(read(text, "a.txt")) == expected


def test_names_decide(read):
    """Names stand for columns in any order, with and without weights."""
    text = "label,w,to,from\nx,7,1,0\ny,8,2,1\n"
    assert arcs(read(text)) == [(0, 1, 7), (1, 2, 8)]
    assert arcs(read(text, no_weights=True)) == [(0, 1), (1, 2)]
    assert arcs(read("to,from,w\n1,0,0.5\n", weight_scale=4)) == [(0, 1, 2)]


@pytest.mark.parametrize("names", ["person,friend", "a,b,c,d", "x1,x2,y1,y2", "parent\tchild",
                                   "source,destinations"])
def test_unknown_names(read, names):
    values = names.replace(",", "\t").split("\t")
    row = (("," if "," in names else "\t").join(str(at) for at in range(len(values))))
    if len(values) == 2:
        assert arcs(read(f"{names}\n{row}\n")) == [(0, 1)]
        assert "are taken for source and destination" in read.told[0]
    else:
        with pytest.raises(UserError, match=r"line 1: .* --columns SRC,DST\[,WEIGHT\] names them"):
            read(f"{names}\n{row}\n")
    chosen = f"{values[1]},{values[0]}"
    assert arcs(read(f"{names}\n{row}\n", columns=chosen)) == [(1, 0)]
    assert arcs(read(f"{names}\n{row}\n", columns=chosen.upper())) == [(1, 0)]
    assert arcs(read(f"{names}\n{row}\n", columns="2,1")) == [(1, 0)]


@pytest.mark.parametrize("text, columns, expected", [
    ("1 2 3 1082040961\n2 3 4 1082040999\n", "1,2", [(1, 2), (2, 3)]),
    ("1 2 3 1082040961\n2 3 4 1082040999\n", "1,2,3", [(1, 2, 3), (2, 3, 4)]),
    ("6,2,4,1289241911.72836\n6,5,2,1289241941.53378\n", " 2 , 1 ", [(2, 6), (5, 6)]),
    ("6,2,4,1289241911.72836\n", "3,1,2", [(4, 6, 2)]),
    ("0\t\t1\t\t5\n2\t\t3\t\t6\n", "1,3", [(0, 1), (2, 3)]),
    ("0 1 7\n1 2 8\n", "1,2", [(0, 1), (1, 2)]),
    ("source,target,since,until\n0,1,5,6\n", "source,target,until", [(0, 1, 6)]),
    ("source,target,since\n0,1,5\n", "1,2,3", [(0, 1, 5)]),
    ("0 1 2 3\n" * 2, "1,2", [(0, 1)] * 2),
])
def test_columns(read, text, columns, expected):
    assert arcs(read(text, columns=columns)) == expected
    assert arcs(read(text, columns=columns, no_weights=True)) == [arc[:2] for arc in expected]
    assert not read.told or "no edge" in read.told[0]


@pytest.mark.parametrize("columns, words", [
    ("1", "must be SRC,DST or SRC,DST,WEIGHT"), ("1,2,3,4", "must be SRC,DST or SRC,DST,WEIGHT"),
    ("1,1", "must be SRC,DST"), ("0,1", "must be SRC,DST"), ("a,", "must be SRC,DST"),
    ("source,1", "names a column twice"),
    ("1,5", "line 1: has 3 values, there is no column 5"),
    ("1," + "9" * 4000, "there is no column 999999999"),
    ("a,target", "line 1: has no column 'a' for --columns, it has 'source, target, target'"),
    ("source,target", "line 1: has more than one column 'target'"),
])
def test_columns_wrong(read, columns, words):
    with pytest.raises(UserError) as caught:
        read("source,target,target\n0,1,2\n", columns=columns)
    assert words in str(caught.value) and len(str(caught.value)) < 4500


def test_columns_of_other_formats(read):
    for option in ({"columns": "1,2"}, {"relabel": True}):
        with pytest.raises(UserError, match="is read as gr; --.* is for el, wel, edges, counted"):
            read("p sp 1 0\n", "a.gr", **option)
        with pytest.raises(UserError, match="karate: is not a file"):
            load("karate", **option)


def test_quotes(read):
    """Quotes, doubled quotes, and separators within quotes."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["label", "source", "target"])
    for label in ("a, b", 'say "hi"', "x # y", "50 %"):
        writer.writerow([label, 3, 1])
    assert arcs(read(text.getvalue())) == [(3, 1)] * 4


@pytest.mark.parametrize("text, words", [
    ('source,target,x\n0,1,"a\n', "line 2: '0,1,\"a' cannot be split into values"),
    ('source,target,x\n0,1,a\n0,1,a,b\n', "line 3: '0,1,a,b' has 4 values, must have 3 as the fir"),
    ('source,target,x\n0,1,a\n0,1\n', "line 3: '0,1' has 2 values, must have 3"),
    ('source,target,x\n0,one,a\n', "line 2: v 'one' is not an integer"),
    ('source,target,x\n0,1 2,a\n', "line 2: v '1 2' is not an integer"),
])
def test_quotes_wrong(read, text, words):
    with pytest.raises(UserError) as caught:
        read(text)
    assert words in str(caught.value)


def test_values_are_missing(read):
    with pytest.raises(UserError, match="line 3: '0,,b': value 2 is empty, must be v"):
        read("source,target,x\n0,1,a\n0,,b\n")
    with pytest.raises(UserError, match="line 2: '0,1,,2': value 3 is empty, must be weight"):
        read("source,x,weight,target\n0,1,,2\n")
    assert arcs(read("source,x,weight,target\n0,1,,2\n", no_weights=True)) == [(0, 2)]
    for mark in ",;|":
        with pytest.raises(UserError, match=r"line 2: '1.2.': value 3 is empty, must be weight"):
            read(f"0{mark}1{mark}5\n1{mark}2{mark}\n")


def test_later_pieces(read):
    """A file of several pieces keeps its columns, and errors their lines."""
    graph = random_graph(1000, 90_000, seed=8)
    rows = [f"x,{v},{u}" for u, v in arcs(graph)]
    text = "note,target,source\n" + "\n".join(rows)
    assert len(text) < 1 << 20
    text = "# long " + "-" * (1 << 20) + "\n" + text
    assert arcs(read(text)) == arcs(graph)
    rows *= 3
    rows[200_000] = "x,5"
    with pytest.raises(UserError, match="line 200002: 'x,5' has 2 values, must have 3"):
        read("note,target,source\n" + "\n".join(rows))


@pytest.mark.parametrize("text, words", [
    ("0 1 2 3\n1 2 3 4\n", "line 1: '0 1 2 3' has 4 values, must have 2 or 3: u v weight; --colum"),
    ("0 1 2 3\n1 2\n", "adjlist reads a vertex and its neighbours in each line"),
    ("0: 1 2\n1: 2\n", "line 1: '0: 1 2' looks like a vertex and its neighbours; --input-format"),
    ("0 1 2\n1 2\n2 0 1\n", "line 2: '1 2' has 2 values, must have 3: u v weight; --input-forma"),
    ("4 3\n0 1 5\n1 2 6\n2 3 7\n", "line 2: '0 1 5' has 3 values, must have 2: u v; --input-format "
     "counted takes the first line as numbers of vertices and arcs"),
    ("4 4 3\n0 1\n1 2\n2 3\n", "--input-format counted"),
    ("4\n0 1\n1 2\n2 3\n", "line 1: '4' has 1 value, must have 2 or 3: u v weight; --input-format "
     "counted"),
    ("0,1,0,1\n1,0,0,0\n0,0,0,1\n1,1,1,0\n", "--input-format matrix reads a matrix"),
    ("0 1 0 1\n1 0 0 0\n0 0 0 1\n1 1 1 0\n", "--input-format matrix reads a matrix"),
])
def test_the_error_says_what_helps(read, text, words):
    with pytest.raises(UserError) as caught:
        read(text, "a.txt")
    assert words in str(caught.value) and "(read as" not in str(caught.value)


def test_left_out(read):
    """A note names the columns that are not read."""
    read("Source,Target,Type,Weight\n0,1,Undirected,2\n")
    assert read.told == [f"{read.path}: columns that are not read: Type; edges are undirected by "
                         f"it, --undirected adds the reverse arcs"]
    read("source,target,timestamp\n0,1,5\n")
    assert read.told == [f"{read.path}: columns that are not read: timestamp"]
    read("source,target\n0,1\n")
    assert not read.told
