"""Graphs whose vertices are the ids that occur: sparse, of 64 bits, or words.

====================================  =========================================================
feature                               tests
====================================  =========================================================
any ids, in ascending order           test_ids, test_like_a_model
their table is kept                   test_names_are_kept, test_names_in_npz, test_output
the user is told                      test_notes
what is refused                       test_refused, test_without_the_option
====================================  =========================================================
"""

import os
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from sw.cli.main import main
from sw.graph import Graph, load, write
from tb.sw.graphs import arcs


@pytest.mark.parametrize("name, text, expected, names", [
    ("a.txt", "0 1\n1000 1001\n1001 1000\n", [(0, 1), (2, 3), (3, 2)], [0, 1, 1000, 1001]),
    ("a.el", "6597069766664 8796093022228\n8796093022228 6597069766664\n", [(0, 1), (1, 0)],
     [6597069766664, 8796093022228]),
    ("a.el", "18446744073709551615 0\n", [(1, 0)], [0, 18446744073709551615]),
    ("a.el", "18446744073709551616 0\n", [(1, 0)], ["0", "18446744073709551616"]),
    ("a.el", "10 9\n9 -5\n", [(2, 1), (1, 0)], [-5, 9, 10]),
    ("a.el", "010 9\n9 10\n", [(1, 0), (0, 1)], [9, 10]),
    ("a.txt", "b a\nb c\n", [(1, 0), (1, 2)], ["a", "b", "c"]),
    ("a.csv", "alice,bob,3\nbob,carol,1\n", [(0, 1, 3), (1, 2, 1)], ["alice", "bob", "carol"]),
    ("a.csv", "source,target\nx y,z_1\nz_1,\u00e9\n", [(0, 1), (1, 2)], ["x y", "z_1", "\u00e9"]),
    ("a.csv", 'a;b;"source";"target"\n1;2;"x;y";q\n', [(1, 0)], ["q", "x;y"]),
    ("a.adjlist", "b a c\nd\n", [(1, 0), (1, 2)], ["a", "b", "c", "d"]),
    ("a.wel", "7 5 0\n5 9 4294967295\n", [(1, 0, 0), (0, 2, 4294967295)], [5, 7, 9]),
    ("a.el", "# graphloom: vertices 9\n0 5\n", [(0, 1)], [0, 5]),
])
def test_ids(tmp_path, name, text, expected, names):
    path = tmp_path / name
    path.write_text(text)
    graph = load(path, relabel=True)
    assert arcs(graph) == expected
    assert graph.names.tolist() == names and graph.num_vertices == len(names)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=30),
       st.booleans(), st.integers(0, 9))
def test_like_a_model(pairs, words, factor):
    """Arcs between the names are the arcs of the file."""
    spell = (lambda value: f"v{value}") if words else (lambda value: value * 10**factor)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.edges")
        with open(path, "w", encoding="ascii") as file:
            file.writelines(f"{spell(u)} {spell(v)}\n" for u, v in pairs)
        graph = load(path, relabel=True)
    ids = sorted({spell(value) for pair in pairs for value in pair})
    assert graph.names.tolist() == ids
    assert [(ids[u], ids[v]) for u, v in arcs(graph)] == [(spell(u), spell(v)) for u, v in pairs]


def test_names_are_kept(tmp_path):
    """Changes of a graph keep its names."""
    path = tmp_path / "a.txt"
    path.write_text("b a\na b\nc c\n")
    graph = load(path, relabel=True, undirected=True, simplify=True, weights=5)
    assert graph.names.tolist() == ["a", "b", "c"] and graph.weights is not None
    with pytest.raises(UserError, match="names has 2 entries, must have 3"):
        Graph(3, [], [], names=np.arange(2))


def test_names_in_npz(tmp_path, capsys):
    source, target = tmp_path / "a.csv", tmp_path / "b.npz"
    source.write_text("alice,bob\nbob,carol\n")
    assert main(["graph", "convert", str(source), str(target), "--relabel"]) == 0
    assert load(target).names.tolist() == ["alice", "bob", "carol"]
    assert "ids, too" not in capsys.readouterr().err
    assert main(["graph", "convert", str(target), str(tmp_path / "c.el")]) == 0
    assert ".npz files keep their ids, too" in capsys.readouterr().err
    for names in (np.zeros(3), np.zeros((3, 1), int), np.array([b"a"] * 3)):
        np.savez(target, graphloom_graph=1, num_vertices=3, src=[0], dst=[1], names=names)
        with pytest.raises(UserError, match="names is of type"):
            load(target)
    np.savez(target, graphloom_graph=1, num_vertices=3, src=[0], dst=[1], names=[1, 2])
    with pytest.raises(UserError, match="names has 2 entries, must have 3"):
        load(target)


@pytest.mark.parametrize("machine", [["--functional"], ["--vm", "cpu"]])
def test_output(tmp_path, machine):
    """Results have the id of each vertex, and no such array without ids."""
    path, output = tmp_path / "a.txt", str(tmp_path / "o.npz")
    path.write_text("30 10\n10 20\n")
    run = ["run", "bfs", str(path), "--output", output, *machine]
    preset = ["--preset", "tiny"] if machine == ["--functional"] else []
    assert main([*run, *preset, "--relabel", "--source", "30"]) == 0
    with np.load(output) as found:
        depth = dict(zip(found["id"].tolist(), found["depth"].tolist()))
    assert depth == {30: 0, 10: 1, 20: 2}
    assert main([*run, *preset, "--source", "30"]) == 0
    with np.load(output) as found:
        assert "id" not in found


def test_notes(tmp_path):
    told, path = [], tmp_path / "a.txt"
    path.write_text("b a\n")
    load(path, relabel=True, note=told.append)
    assert told == [f"{path}: 2 ids are numbered from 0 in ascending order; --source takes an "
                    f"id, results have the numbers, and --output the array 'id'"]
    told.clear()
    path.write_text("1 0\n")
    load(path, relabel=True, note=told.append)
    assert not told


@pytest.mark.parametrize("text, words", [
    ("a " + "b" * 101 + "\n", "an id has 101 bytes, at most 100"),
    ("", "the graph is empty"),
    ("9 3\n0 1\n1 2\n2 3\n", "fits the other 3 as numbers of vertices and arcs"),
    ("a b\nc\n", "line 2: 'c' has 1 value, must have 2"),
])
def test_refused(tmp_path, text, words):
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        load(path, relabel=True)
    assert words in str(caught.value)


@pytest.mark.parametrize("text, names", [
    ("a b\nb c\n", ["a", "b", "c"]), ("alice,bob,3\nbob,carol,1\n", ["alice", "bob", "carol"]),
    ("6597069766664 8796093022228\n8796093022228 6597069766664\n", [6597069766664, 8796093022228]),
    ("person,friend\nann,bob\n", ["ann", "bob", "friend", "person"])])
def test_words_are_numbered(tmp_path, text, names):
    """Words and larger numbers in the first lines are ids, unless the suffix tells the format."""
    path, told = tmp_path / "a.txt", []
    path.write_text(text)
    assert load(path, note=told.append).names.tolist() == names
    assert "ids are numbered" in told[-1] and ("--columns" in told[0]) == ("person" in text)
    path = path.rename(tmp_path / ("a.wel" if text.count(",") > 3 else "a.el"))
    with pytest.raises(UserError, match="; --relabel numbers the ids that occur"):
        load(path)


@pytest.mark.parametrize("text", ["0 2147483646\n", "-1 5\n", "0 1\n1 2\n2 abc\n", "one line\n",
                                  "0.5 1\n1 2\n"])
def test_without_the_option(tmp_path, text):
    for name in ("a.txt", "a.el"):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(UserError, match="; --relabel numbers the ids that occur"):
            load(path)


def test_first(tmp_path):
    """The ids begin at another number than 0."""
    for name, text in (("a.el", "1 2\n2 3\n"), ("a.csv", "source,target\n1,2\n2,3\n"),
                       ("a.adjlist", "1 2\n2 3\n")):
        path, told = tmp_path / name, []
        path.write_text(text)
        assert arcs(load(path, first=1, note=told.append)) == [(0, 1), (1, 2)] and not told
        with pytest.raises(UserError, match="'1' is not an integer from 2 to 2147483648; --rel"):
            load(path, first=2)
    path.write_text("4 3\n1 2\n2 3\n3 4\n")
    assert arcs(load(path, first=1, input_format="counted"))[-1] == (2, 3)
    for options, words in (({"relabel": True}, "leave out one of the two"), ({}, "must be from 0")):
        with pytest.raises(UserError, match=words):
            load(path, first=-1, **options)
    with pytest.raises(UserError, match="is not a file"):
        load("karate", first=1)


def test_written_without_names(tmp_path):
    """A graph without names is written as before."""
    path = tmp_path / "a.npz"
    write(Graph(2, [0], [1]), path)
    with np.load(path) as found:
        assert "names" not in found
