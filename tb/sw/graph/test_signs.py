"""Files that look like an edge list and are something else: sizes first, neighbours, matrices,
times, ids with gaps.

====================================  =========================================================
feature                               tests
====================================  =========================================================
first lines of sizes                  test_sizes, test_no_sizes, test_sizes_by_option,
                                      test_written_sizes
files that say what they are          test_counted, test_counted_wrong
lists of neighbours, matrices         test_neighbours, test_matrix_of_three
bipartite networks                    test_bipartite
times as weights                      test_times
vertices without edges                test_gaps
the least of each sign                test_bounds_*
====================================  =========================================================
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from sw.graph import Graph, load, signs, write
from tb.sw.graphs import arcs


@pytest.fixture
def read(tmp_path):
    """A function that writes an edge list and loads it; ``told`` are the notes."""
    def loaded(text, name="a.txt", **options):
        path = tmp_path / name
        path.write_text(text)
        loaded.told = []
        return load(path, note=loaded.told.append, **options)
    return loaded


SIZES = ["4 3\n0 1\n1 2\n2 3\n", "4 3\n1 2\n2 3\n3 4\n", "9 3\n0 1\n1 2\n2 3\n",
         "4 6\n0 1\n1 2\n2 3\n", "3 3\n0 1\n1 0\n1 2\n2 1\n0 2\n2 0\n",
         "# c\n4,3\n0,1\n1,2\n2,3\n", "4 4 3\n0 1 5\n1 2 5\n2 3 5\n",
         "3 3 2\n1 2 9\n2 3 9\n"]


@pytest.mark.parametrize("text", SIZES)
@pytest.mark.parametrize("no_weights", [False, True])
def test_sizes(read, text, no_weights):
    for name in ("a.txt", "a.csv", "a.wel" if text.count(" ") > text.count("\n") + 1 else "a.el"):
        with pytest.raises(UserError, match="fits the other . as numbers of vertices and arcs; "
                           "--input-format counted reads it so, --input-format edges as an arc"):
            read(text, name, no_weights=no_weights)


@pytest.mark.parametrize("text, vertices, last", [
    (SIZES[0], 4, (2, 3)), (SIZES[1], 4, (2, 3)), (SIZES[2], 9, (2, 3)), (SIZES[3], 4, (2, 3)),
    (SIZES[4], 3, (2, 0)), (SIZES[5], 4, (2, 3)), (SIZES[6], 4, (2, 3, 5)),
    (SIZES[7], 3, (1, 2, 9)),
    ("4\n0 1\n1 2\n", 4, (1, 2)), ("4 3\n0 1 5\n1 2 5\n2 3 5\n", 4, (2, 3, 5)),
    ("\n%\n5 5 1\n\n4 0\n", 5, (4, 0)),
])
def test_counted(read, text, vertices, last):
    graph = read(text, input_format="counted")
    assert graph.num_vertices == vertices and arcs(graph)[-1] == last
    from_one = text in (SIZES[1], SIZES[7])
    assert [("so they are numbered from 1" in line) for line in read.told] == [True] * from_one


@pytest.mark.parametrize("text, words", [
    ("", "the graph is empty, its first line must be 'VERTICES ARCS'"),
    ("0 0\n", "the graph is empty, it must have at least 1 vertex"),
    ("4 3\n0 1\n", "the file has 1 arcs, its first line says 3"),
    ("2 2\n0 1\n0 2\n", "an arc has vertex 2, the first line says 2 vertices; --relabel"),
    ("a b\n0 1\n", "line 1: 'a b' must be 'VERTICES ARCS', 'VERTICES VERTICES ARCS' or"),
    ("3 4 1\n0 1\n", "line 1: '3 4 1' must be"), ("1 1 1 1\n0 0\n", "line 1: '1 1 1 1' must be"),
    ("4294967296 1\n0 1\n", "4294967296 vertices are too many"),
    ("2000000000 1\n0 1\n", "2000000000 vertices are too many for 1 arcs"),
])
def test_counted_wrong(read, text, words):
    with pytest.raises(UserError) as caught:
        read(text, input_format="counted")
    assert words in str(caught.value)


@pytest.mark.parametrize("text", [
    "0 1\n", "1 0\n", "4 3\n", "4 3\n0 1\n1 2\n", "3 3\n0 1\n1 2\n4 3\n",
    "# graphloom: vertices 5\n4 3\n0 1\n1 2\n2 3\n", "u v\n4 3\n0 1\n1 2\n2 3\n",
    "4 3 0.0\n0 1 1\n1 2 2\n2 3 3\n", "4 3 3\n0 1 5\n1 2 5\n2 3 5\n"])
def test_no_sizes(read, text):
    assert read(text).num_edges == text.count("\n") - text.count("#") - text.count("u v")


def test_sizes_by_option(read):
    """A format that is named takes every line as an arc."""
    assert arcs(read(SIZES[0], input_format="edges"))[0] == (4, 3)
    assert arcs(read(SIZES[0], input_format="el"))[0] == (4, 3)
    assert arcs(read(SIZES[6], input_format="wel"))[0] == (4, 4, 3)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 9), st.sampled_from([1, 2, 0.5]), st.booleans())
def test_written_sizes(tmp_path_factory, vertices, share, weighted):
    """A graph whose first arc looks like sizes is read back as it was written."""
    others = 2 * vertices
    first = vertices, int(others * share)
    src, dst = [vertices] + [0] * others, [first[1]] + [1] * others
    if weighted:
        src[0] = dst[0] = vertices
    count = max(*src, *dst) + 1
    graph = Graph(count, src, dst, [first[1]] + [7] * others if weighted else None)
    path = tmp_path_factory.getbasetemp() / ("a.wel" if weighted else "a.el")
    write(graph, path)
    assert arcs(load(path)) == arcs(graph)


def test_neighbours(read):
    text = "0 1 2\n1 2 3\n2 3 0\n3 0 1\n"
    for no_weights in (False, True):
        read(text, no_weights=no_weights)
        assert len(read.told) == 1 and "--input-format adjlist" in read.told[0]
    assert read(text, "a.adjlist").num_edges == 8
    for other in ("0 1 5\n1 2 5\n2 3 0\n3 0 1\n", "0 1 1\n1 2 1\n2 0 1\n", "0 1 0\n1 2 0\n2 0 1\n",
                  "0 1 2\n0 2 1\n1 2 0\n2 0 1\n"):
        read(other)
        assert not read.told


def test_bipartite(read):
    """KONECT numbers both sides from 1."""
    read("% bip unweighted\n0 1\n1 0\n")
    assert len(read.told) == 1 and "is bipartite by its first line" in read.told[0]
    read("% sym unweighted\n0 1\n% bip x\n")
    assert not read.told


@pytest.mark.parametrize("mark", [" ", ",", ";", "\t"])
@pytest.mark.parametrize("text", ["0 1 0\n0 0 1\n1 0 0\n", "1 1 1\n1 1 1\n1 1 1\n",
                                  "0 5 0\n7 0 3\n2 0 0\n"])
def test_matrix_of_three(read, text, mark):
    for no_weights in (False, True):
        with pytest.raises(UserError, match="--input-format matrix reads a matrix, --input-format "
                           "edges arcs"):
            read(text.replace(" ", mark), "a.csv", no_weights=no_weights)
    assert read(text, input_format="edges").num_edges == 3
    assert read("0 1 1\n1 0 1\n0 0 2\n").num_edges == 3
    assert read("0 1 1\n1 0 1\n0 0 1\n1 1 0\n").num_edges == 4


@pytest.mark.parametrize("text, word", [
    ("0 1 1082040961\n1 2 1082155839\n", "look like UNIX times"),
    ("0 1 1700000000\n", "look like UNIX times"),
    ("".join(f"0 1 {9 * time}\n" for time in range(20)), "ascend from line to line"),
    ("".join(f"0 1 {time // 2}\n" for time in range(32)), "ascend from line to line"),
    ("0 1 1082040961\n1 2 5\n", None), ("0 1 100\n0 1 200\n", None),
    ("0 1 2147483648\n", None), ("0 1 315532799\n", None),
    ("".join(f"0 1 {time // 2}\n" for time in range(30)), None),
    ("".join(f"0 1 {time % 19}\n" for time in range(20)), None),
])
def test_times(read, text, word):
    for name in ("a.txt", "a.wel"):
        graph = read(text, name)
        assert graph.weights is not None
        assert [word in line and "; --no-weights" in line for line in read.told] \
            == [True] * (word is not None)
        read(text, name, no_weights=True)
        assert not read.told


@pytest.mark.parametrize("text, words", [
    ("0 1\n1 0\n1000 1001\n1001 1000\n", "998 of 1002 vertices have no edge"),
    ("0 2\n", "1 of 3 vertices have no edge"), ("5 6\n", "5 of 7 vertices have no edge"),
    ("1 2\n", "vertices seem to be numbered from 1"), ("0 1\n2 3\n", None),
    ("# graphloom: vertices 9\n0 5\n", None),
])
def test_gaps(read, text, words):
    for name in ("a.txt", "a.el"):
        vertices = read(text, name).num_vertices
        option = "--first 1" if words and "from 1" in words else "--relabel"
        assert [words in line and option in line for line in read.told] \
            == [True] * (words is not None)
        if words is not None:
            assert read(text, name, relabel=True).num_vertices < vertices


@pytest.mark.parametrize("weights, words", [
    (None, None), ([], None), ([315_532_800], "look like UNIX times"), ([315_532_799], None),
    ([(1 << 31) - 1, 315_532_800], "look like UNIX times"), ([1 << 31], None),
    ([315_532_800, 1 << 31], None),
    (range(16), "ascend from line to line, as times do"), (range(15), None),
    ([0, *range(15)], None), ([0, *range(16)], "ascend from line to line, as times do"),
    ([*range(16), 14], None), ([7] * 40, None)])
def test_bounds_of_times(weights, words):
    assert signs._times(None if weights is None else np.array(weights, np.uint32)) == words


@pytest.mark.parametrize("arcs, weights, fits", [
    ([(3, 2), (0, 1), (2, 3)], None, True), ([(2, 2), (0, 1), (2, 3)], None, False),
    ([(3, 4), (0, 1), (2, 3)], None, True), ([(3, 1), (0, 1), (2, 3)], None, True),
    ([(3, 3), (0, 1), (2, 3)], None, False), ([(9, 2), (0, 1), (2, 3)], None, True),
    ([(5, 1)], None, False), ([(3, 1), (2, 0)], None, True), ([(3, 0), (2, 0)], None, False),
    ([(3, 3), (0, 1), (2, 3)], [2, 9, 9], True), ([(3, 4), (0, 1), (2, 3)], [2, 9, 9], False),
    ([(3, 3), (0, 1), (2, 3)], [3, 9, 9], False)])
def test_bounds_of_sizes(arcs, weights, fits):
    """The first number is no smaller than other vertices; the last is that of the other arcs, or
    half or twice as many."""
    src, dst = np.array(arcs).T
    assert signs.has_sizes(src, dst, weights) == fits


@pytest.mark.parametrize("rows, like", [
    ([(0, 1, 2), (1, 2, 0), (2, 0, 1)], True), ([(2, 1, 0), (0, 1, 2), (1, 2, 0)], True),
    ([(0, 1, 3), (1, 2, 0), (2, 0, 1)], False), ([(0, 1, 2), (1, 0, 2), (2, 0, 2)], False),
    ([(0, 1, 0), (1, 2, 0), (2, 0, 1)], False), ([(0, 1, 2), (0, 2, 1), (2, 0, 1)], False),
    ([(0, 1, 1), (1, 0, 1)], False)])
def test_bounds_of_neighbours(rows, like):
    rows = np.array(rows, object)
    assert bool(signs._like_neighbours(rows[:, 0].astype(int), rows)) == like


@pytest.mark.parametrize("names, noted", [
    ([0, 1, 2], False), ([1, 2], True), ([0, 2], True), ([0], False), ([], True),
    (["a", "b"], True)])
def test_bounds_of_numbers(names, noted):
    found = []
    signs.numbered(np.array(names), "a.el", found.append)
    assert found == [f"a.el: {len(names)} ids are numbered from 0 in ascending order; --source "
                     "takes an id, results have the numbers, and --output the array 'id'"] * noted
