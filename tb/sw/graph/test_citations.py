"""Citation graphs: pairs of ``.content`` and ``.cites``.

==================  ================================================================
a pair              test_a_pair: vertices, arcs, features; test_gzip
numbers             test_numbers: real features
left out            test_unknown_papers
a whole run         test_gcn
refused             test_wrong_content, test_wrong_cites, test_no_content
==================  ================================================================
"""

import gzip

import numpy as np
import pytest

from base.errors import UserError
from sw.cli.main import main
from sw.graph import load
from sw.graph.citations import read_content


CONTENT = """31336\t0\t1\t0\t1\tNeural_Networks
1061127\t1\t0\t0\t0\tRule_Learning
x-7\t0\t0\t0\t0\tTheory

13195\t0\t0\t1\t1\tTheory
"""

CITES = "31336\t1061127\n31336 x-7\n\n13195\t31336\n13195\t31336\n"


@pytest.fixture
def pair(tmp_path):
    (tmp_path / "small.content").write_text(CONTENT)
    (tmp_path / "small.cites").write_text(CITES)
    return tmp_path / "small.cites"


def arcs(graph):
    return list(zip(graph.src.tolist(), graph.dst.tolist()))


def test_a_pair(pair):
    graph = load(pair)
    assert (graph.name, graph.num_vertices) == ("small", 4)
    assert arcs(graph) == [(1, 0), (2, 0), (0, 3), (0, 3)]
    features = read_content(pair.with_suffix(".content"))
    assert (features.num_vertices, features.num_columns) == (4, 4)
    assert features.offsets.tolist() == [0, 2, 3, 3, 5]
    assert features.columns.tolist() == [1, 3, 0, 2, 3]
    assert features.values.dtype == np.int64 and features.values.tolist() == [1] * 5


def test_gzip(pair):
    for suffix in (".content", ".cites"):
        path = pair.with_suffix(suffix)
        (path.parent / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert arcs(load(f"{pair}.gz")) == [(1, 0), (2, 0), (0, 3), (0, 3)]
    assert read_content(f"{pair.with_suffix('.content')}.gz").num_columns == 4


def test_numbers(tmp_path):
    path = tmp_path / "real.content"
    path.write_text("a 0.5 -2 y\nb 0 1e-3 n\n")
    features = read_content(path)
    assert features.values.tolist() == [0.5, -2.0, 1e-3]
    assert features.columns.tolist() == [0, 1, 1]


def test_unknown_papers(pair):
    notes = []
    pair.write_text(CITES + "31336 nobody\nnobody 31336\n")
    graph = load(pair, note=notes.append)
    assert graph.num_edges == 4
    assert len(notes) == 1 and "2 citations name papers" in notes[0]


@pytest.mark.parametrize("schedule", ["vm", "weaver"])
def test_gcn(pair, schedule, capsys):
    assert main(["run", "gcn", str(pair), "--features", str(pair.with_suffix(".content")),
                 "--dimension", "3", "--schedule", schedule, "--preset", "tiny"]) == 0
    assert "product, output: bit-identical" in capsys.readouterr().out


@pytest.mark.parametrize("text, message", [
    ("", "the file is empty"),
    ("a 1 x\na 0 y\n", "line 2: paper 'a' is there already"),
    ("a 1 0 x\nb 1 x\n", "line 2: has 3 fields, must have 4: an ID"),
    ("a x\n", "line 1: has 2 fields, must have 3"),
    ("a 1 0 x\nb 1 one y\n", "line 2: all fields between the ID and the label must be numbers"),
    ("a 1 inf x\n", "line 1: all fields between the ID and the label must be numbers"),
])
def test_wrong_content(tmp_path, text, message):
    path = tmp_path / "wrong.content"
    path.write_text(text)
    with pytest.raises(UserError) as error:
        read_content(path)
    assert str(error.value).startswith(f"{path}: ") and message in str(error.value)


def test_wrong_cites(pair):
    pair.write_text("31336 x-7\n31336 x-7 13195\n")
    with pytest.raises(UserError, match=r"small\.cites: line 2: has 3 fields, must have 2"):
        load(pair)


def test_no_content(pair):
    content = pair.with_suffix(".content")
    content.unlink()
    with pytest.raises(UserError) as error:
        load(pair)
    assert str(error.value) == f"{pair}: the papers are in {content}, which is not there"
