"""Graph files of other tools through commands: options, notes, and the ranks that a run writes."""

import json
import re

import networkx
import numpy as np
import pytest
import scipy.sparse

from sw.cli import options
from sw.cli.main import main
from sw.graph.load import load
from tb.sw.graphs import random_graph


TINY = ["--preset", "tiny"]


@pytest.fixture
def fractions(tmp_path):
    """A file whose weights are fractions, one of them negative; vertex 2 has the most out-arcs."""
    path = tmp_path / "a.csv"
    path.write_text("source,target,weight\n0,1,0.5\n2,0,1.25\n2,1,-3\n1,2,2\n")
    return str(path)


def error(capsys):
    """Return the one line of an error."""
    line, = capsys.readouterr().err.splitlines()
    assert line.startswith("graphloom: error: ")
    return line


def test_fractions(capsys, fractions, tmp_path):
    """The error names the options, and each option works."""
    target = str(tmp_path / "b.npz")
    assert main(["graph", "convert", fractions, target]) == 2
    text = error(capsys)
    assert "line 2: weight '0.5'" in text and "--weight-scale X" in text and "--no-weights" in text
    assert main(["graph", "convert", fractions, target, "--weight-scale", "4"]) == 2
    assert "line 4: weight '-3' times 4" in error(capsys)
    assert main(["graph", "convert", fractions, target, "--no-weights"]) == 0
    assert load(target).weights is None and load(target).num_edges == 4
    positive = tmp_path / "c.txt"
    positive.write_text("0 1 0.5\n2 0 1.25\n")
    assert main(["graph", "convert", str(positive), target, "--weight-scale", "4"]) == 0
    assert load(target).weights.tolist() == [2, 5]
    for scale, words in (("0", "must be a number above 0"), ("-1", "must be a number above 0"),
                         ("nan", "must be a number"), ("inf", "must be a number")):
        assert main(["graph", "info", str(positive), "--weight-scale", scale]) == 2
        assert words in error(capsys)


def test_convert_drops_weights(tmp_path):
    """Weights of a generator are dropped too, so that the graph fits in .el."""
    target = str(tmp_path / "a.el")
    assert main(["graph", "convert", "road:side=4", target]) == 2
    assert main(["graph", "convert", "road:side=4", target, "--no-weights"]) == 0
    assert load(target).weights is None


@pytest.mark.parametrize("algorithm", ["bfs", "cc", "pagerank"])
def test_algorithms_without_weights_read_none(capsys, fractions, algorithm):
    assert main(["run", algorithm, fractions, *TINY]) == 0
    assert main(["run", algorithm, fractions, *TINY, "--weight-scale", "2"]) == 2
    assert f"--weight-scale: {algorithm} uses no weights" in capsys.readouterr().err


def test_sssp_needs_them(capsys, fractions, tmp_path):
    assert main(["run", "sssp", fractions, *TINY]) == 2
    assert "--weight-scale" in error(capsys)
    path, report = tmp_path / "b.txt", tmp_path / "b.json"
    path.write_text("0 1 0.5\n1 2 0.26\n")
    arrays = tmp_path / "b.npz"
    assert main(["compare", "sssp", str(path), *TINY, "--schedules", "vm", "--weight-scale", "100",
                 "--json", str(report)]) == 0
    assert json.loads(report.read_text())["graph"]["weight_scale"] == 100
    assert main(["run", "sssp", str(path), *TINY, "--weight-scale", "100", "--output",
                 str(arrays)]) == 0
    with np.load(arrays) as found:
        assert found["distance"].tolist() == [0, 50, 76]


def test_random_weights_in_place_of_those_of_the_file(capsys, fractions):
    run = ["run", "sssp", fractions, *TINY, "--no-weights"]
    assert main(run) == 2
    assert "weights" in error(capsys)
    assert main([*run, "--weights", "9"]) == 0


def test_hub(capsys, fractions, tmp_path):
    report = tmp_path / "a.json"
    assert main(["run", "bfs", fractions, *TINY, "--source", "hub", "--json", str(report)]) == 0
    result, = json.loads(report.read_text())["results"]
    assert result["parameters"]["source"] == 2
    assert main(["compare", "bfs", fractions, *TINY, "--source", "hub", "--schedules", "vm"]) == 0
    capsys.readouterr()
    for wrong in ("centre", "1.5", "\u0661", "1" * 50):
        assert main(["run", "bfs", fractions, *TINY, f"--source={wrong}"]) == 2
        assert "has no vertex" in error(capsys)
    assert main(["run", "bfs", fractions, *TINY, "--source=-1"]) == 2
    assert "source is -1, must be from 0 to 2 (a vertex)" in error(capsys)


def test_from_one(capsys, tmp_path):
    """One line on standard error notes the numbering from 1. The command does its work."""
    path = tmp_path / "a.el"
    path.write_text("1 2\n2 3\n")
    for command in (["graph", "info"], ["graph", "formats", "--formats", "csr"],
                    ["run", "bfs", *TINY]):
        assert main([*command, str(path)]) == 0
        notes = [line for line in capsys.readouterr().err.splitlines() if "note" in line]
        assert notes == [f"graphloom: note: {path}: vertices seem to be numbered from 1; they are "
                         f"taken as they are, so vertex 0 has no edge; --first 1 takes id 1 "
                         f"for vertex 0"]
    assert options.graphs([str(path)], None, None) == [(str(path), False)]      # of a bench
    assert capsys.readouterr().err.splitlines() == notes
    path.write_text("0 2\n2 1\n")
    assert main(["graph", "info", str(path)]) == 0
    assert "note" not in capsys.readouterr().err


def test_input_format(capsys, tmp_path):
    path = tmp_path / "a.el"
    path.write_text("3 2\n2\n1 3\n2\n")
    for command in (["graph", "info"], ["graph", "formats", "--formats", "csr"],
                    ["run", "bfs", *TINY]):
        assert main([*command, str(path), "--input-format", "metis"]) == 0
        assert re.search(r"3 vertices, 4 arcs|arcs +4 *\n", capsys.readouterr().out)
    assert main(["graph", "info", str(path), "--input-format", "xml"]) == 2
    assert "there is no input format 'xml'; there are mtx, el" in error(capsys)


def test_ranks_of_the_output(tmp_path):
    """Ranks are read without knowledge of fixed point, and equal networkx's and scipy's ranks."""
    graph = random_graph(40, 200, seed=8).undirected().simplify()
    path, target = tmp_path / "a.npz", tmp_path / "rank.npz"
    scipy.sparse.save_npz(path, scipy.sparse.coo_array(
        (np.ones(graph.num_edges, bool), (graph.src, graph.dst)), shape=(40, 40)))
    assert main(["run", "pagerank", str(path), *TINY, "--iterations", "20", "--output",
                 str(target)]) == 0
    with np.load(target) as found:
        assert sorted(found) == ["fraction_bits", "rank", "rank_float"]
        rank, words, bits = found["rank_float"], found["rank"], int(found["fraction_bits"])
    assert rank.dtype == np.float64 and rank.shape == (40,)
    assert abs(rank.sum() - 1) < 1e-4
    assert np.array_equal(rank, words / 40 / 2**bits)
    theirs = networkx.pagerank(networkx.DiGraph(zip(graph.src.tolist(), graph.dst.tolist())))
    assert np.abs(rank - [theirs[vertex] for vertex in range(40)]).max() < 1e-4
    matrix = scipy.sparse.csr_array((1 / graph.out_degrees[graph.src], (graph.dst, graph.src)),
                                    shape=(40, 40))
    expected = np.full(40, 1 / 40)
    for _ in range(20):
        expected = 0.15 / 40 + 0.85 * (matrix @ expected)
    assert np.abs(rank - expected).max() < 1e-6
