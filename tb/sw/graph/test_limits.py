"""The largest graph of each format: with room for five vertices and five arcs in place of 2^31 - 1,
so that files of a few lines reach it."""

import importlib
import re

import pytest

from base.errors import UserError
from sw.graph import graph, load


_MODULES = ("adjacency", "archive", "citations", "dense", "dimacs", "edge_list", "fields", "gapbs",
            "layout", "matrix_market", "metis", "parquet", "reading", "graph")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name in _MODULES:
        module = importlib.import_module(f"sw.graph.{name}")
        assert module.LIMIT == graph.LIMIT or name == "graph"
        monkeypatch.setattr(module, "LIMIT", 6)


def _arcs(count, form="0 1\n"):
    return form * count


@pytest.mark.parametrize("name, content, options, words", [
    ("a.el", "0 4\n", {}, None), ("a.el", "0 5\n", {}, "'5' is not an integer from 0 to 4"),
    ("a.el", "5 1\n", {"first": 1}, None),
    ("a.el", "6 1\n", {"first": 1}, "'6' is not an integer from 1 to 5"),
    ("a.el", _arcs(5), {}, None), ("a.el", _arcs(6), {}, "has more than 5 entries"),
    ("a.csv", "a,b\n4,0\n", {}, None), ("a.csv", "a,b\n5,0\n", {}, "5"),
    ("a.el", "5 1\n0 1\n", {"input_format": "counted"}, None),
    ("a.el", "6 1\n0 1\n", {"input_format": "counted"}, "6 vertices are too many, at most 5"),
    ("a.adjlist", "0 4 1\n", {}, None),
    ("a.adjlist", "0 5 1\n", {}, "line 1: vertex '5' is not an integer from 0 to 4"),
    ("a.adjlist", "1 5\n", {"first": 1}, None),
    ("a.adjlist", "1 5\n0 1\n", {"first": 1}, "line 2: vertex '0' is not an integer from 1 to 5"),
    ("a.adjlist", "1 6\n", {"first": 1}, "line 1: vertex '6' is not an integer from 1 to 5"),
    ("a.adjlist", "0 x\n", {}, "line 1: vertex 'x' is not an integer"),
    ("a.gr", "p sp 5 5\n" + _arcs(5, "a 1 5 2\n"), {}, None),
    ("a.gr", "p sp 6 1\na 1 2 3\n", {}, "line 1: 6 is too large, vertices and arcs are at most 5"),
    ("a.gr", "p sp 2 6\n" + _arcs(6, "a 1 2 2\n"), {}, "line 1: 6 is too large"),
    ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n5 5 1\n1 5\n", {}, None),
    ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n6 6 1\n1 5\n", {}, "6 is too l"),
    ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 6\n" + _arcs(6, "1 2\n"), {},
     "6 is too large"),
    ("a.graph", "5 2\n2\n1\n4\n3\n\n", {}, None),
    ("a.graph", "6 2\n2\n1\n4\n3\n\n\n", {}, "6 vertices and 2 edges are too many, vertices and "
     "arcs are at most 5"),
    ("a.graph", "3 3\n2 3\n1 3\n1 2\n", {}, "3 vertices and 3 edges are too many"),
    ("a.cites", _arcs(5, "p q\n"), {}, None),
    ("a.cites", _arcs(6, "p q\n"), {}, "there are more than 5 citations")])
def test_largest(tmp_path, name, content, options, words):
    (tmp_path / name).write_text(content)
    (tmp_path / "a.content").write_text("p 1 0 x\nq 0 1 y\n")
    if words is None:
        found = load(tmp_path / name, **options)
        assert 0 < found.num_vertices < 6 and 0 < found.num_edges < 6
        return
    with pytest.raises(UserError, match=re.escape(words)):
        load(tmp_path / name, **options)


def test_long_numbers(tmp_path):
    """A number in a METIS file that does not end is given up, wherever a piece ends."""
    path = tmp_path / "a.graph"
    path.write_text("2 1\n" + "2" * (1 << 22))
    with pytest.raises(UserError, match="a number is longer than 64 digits"):
        load(path)
    path.write_text(f"2 1 1\n2 {(1 << 32) - 1}\n1 {(1 << 32) - 1}\n")
    assert load(path).weights.tolist() == [(1 << 32) - 1] * 2
    path.write_text(f"2 1 1\n2 {1 << 32}\n1 {1 << 32}\n")
    with pytest.raises(UserError, match="4294967296 is too large, values are at most 4294967295"):
        load(path)
