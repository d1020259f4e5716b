"""How a graph is got: options, their words, and what is noted.

====================  ========================================================
records and words     test_records
seeds                 test_seeds, test_weights
reverses              test_reverses
refused               test_refused
====================  ========================================================
"""

import types

import numpy as np
import pytest

from base.errors import UserError
from sw.graph import Graph, load
from sw.graph.load import GraphSource


@pytest.mark.parametrize("source, words", [
    (GraphSource("karate"), ["karate"]),
    (GraphSource("karate", seed=3), ["karate"]),                # nothing is drawn
    (GraphSource("karate", weights=9, seed=3), ["karate", "--weights", "9", "--seed", "3"]),
    (GraphSource("road:side=3", seed=3), ["road:side=3", "--seed", "3"]),
    (GraphSource("road:side=3,seed=1", seed=3), ["road:side=3,seed=1"]),
    (GraphSource("a.txt", columns="1,2", first=0, weight_scale=2.5, undirected=True),
     ["a.txt", "--columns", "1,2", "--first", "0", "--weight-scale", "2.5", "--undirected"]),
    (GraphSource("a.txt", input_format="el", relabel=True, no_weights=True, simplify=True),
     ["a.txt", "--input-format", "el", "--simplify", "--relabel", "--no-weights"])])
def test_records(source, words):
    assert source.words() == words
    record = source.record()
    assert GraphSource.of(record | {"vertices": 7}) == source
    del record["simplify"]
    assert GraphSource.of(record).simplify is False


def test_seeds():
    """A seed is a generator's, if its text has none, and of random weights."""
    assert GraphSource("road:side=3", seed=4).seeded().spec == "road:side=3,seed=4"
    for source in (GraphSource("road:side=3"), GraphSource("karate"),
                   GraphSource("karate", weights=9, seed=4),
                   GraphSource("road:side=3,seed=1", weights=9, seed=4)):
        assert source.seeded() == source
    for text in ("karate", "road:side=3,seed=1"):
        with pytest.raises(UserError, match="--seed 4: nothing is drawn at random"):
            GraphSource(text, seed=4).seeded()


def test_weights(tmp_path):
    (tmp_path / "a.wel").write_text("0 1 3\n1 0 5\n")
    plain, weighted = (types.SimpleNamespace(name="it", weighted=used) for used in (False, True))
    scaled = GraphSource(str(tmp_path / "a.wel"), weight_scale=2)
    assert scaled.used_by(weighted) == scaled
    assert scaled.load().weights.tolist() == [6, 10]
    with pytest.raises(UserError, match="--weight-scale: it uses no weights"):
        scaled.used_by(plain)
    for spec in (str(tmp_path / "a.wel"), "road:side=3"):
        source = GraphSource(spec)
        assert source.load().weights is not None
        assert source.used_by(plain).load().weights is None
        assert source.used_by(weighted) == source
        assert GraphSource(spec, no_weights=True).used_by(weighted).no_weights
    drawn = [GraphSource("karate", weights=9, seed=seed).load().weights.tolist()
             for seed in (None, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2] and max(drawn[0]) == 9


def test_reverses(tmp_path):
    """What a file has already is noted; a generator's graph needs no word."""
    def noted(content, **options):
        path = tmp_path / "a.el"
        path.write_text(content)
        found = []
        graph = load(path, note=found.append, undirected=True, **options)
        return graph.num_edges, [text.removeprefix(f"{path}: ") for text in found]
    assert noted("0 1\n1 0\n") == (2, ["has each arc in both directions already; --undirected adds "
                                       "none"])
    assert noted("0 1\n1 0\n0 2\n") == (6, [
        "has 2 arcs in both directions already, which --undirected doubles; --simplify keeps one "
        "of each"])
    assert noted("0 1\n1 0\n0 2\n", simplify=True) == (4, [])
    assert noted("0 1\n0 2\n1 1\n") == (5, [])
    found = []
    load("rmat:scale=3,degree=4", undirected=True, note=found.append)
    load(Graph(2, [], []), undirected=True, note=found.append)
    assert found == []
    load([(0, 1), (1, 0)], undirected=True, name="pair", note=found.append)
    assert found == ["pair: has each arc in both directions already; --undirected adds none"]


@pytest.mark.parametrize("spec, options, words", [
    ("karate", {"relabel": True}, "karate: is not a file"),
    ("karate", {"columns": "1,2"}, "karate: is not a file"),
    ("karate", {"input_format": "el"}, "karate: is not a file"),
    ("karate", {"first": 0}, "karate: is not a file"),
    ("karate", {"weight_scale": 2}, "karate: is not a file"),
    ("karate", {"weight": "km"}, "weight='km' is for graphs of networkx and igraph"),
    ("a.el", {"columns": "1"}, "columns '1': must be"),
    ("a.el", {"columns": "1,2,3,4"}, "must be SRC,DST"), ("a.el", {"columns": "1,1"}, "must be"),
    ("a.el", {"columns": "0,1"}, "must be"), ("a.el", {"columns": "a,"}, "must be"),
    ("a.el", {"first": -1}, "first id -1: must be from 0 to 2147483647"),
    ("a.el", {"first": 1 << 31}, "first id 2147483648: must be"),
    ("a.el", {"first": 0, "relabel": True}, "relabel numbers the ids that occur"),
    ("a.el", {"weight_scale": 0}, "weight scale 0: must be a number above 0"),
    ("a.el", {"weight_scale": float("inf")}, "weight scale inf: must be"),
    ("a.el", {"weight_scale": float("nan")}, "weight scale nan: must be")])
def test_refused(spec, options, words):
    with pytest.raises(UserError) as caught:
        load(spec, **options)
    assert words in str(caught.value)


def test_columns_as_a_list(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("w,to,from\n7,1,0\n9,2,1\n")
    for columns in (["from", "to", "w"], (3, 2, 1), "from,to,w", " from , to , w "):
        graph = load(path, columns=columns)
        assert np.array_equal([graph.src, graph.dst, graph.weights], [[0, 1], [1, 2], [7, 9]])
    first = load(path, columns="3,2", first=0)
    assert first.num_vertices == 3 and first.weights is None
