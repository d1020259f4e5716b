"""``bench programs``: libraries' results against the language's, and the command.

=================  ===========================================================================
comparison         test_scipy_agrees: on graphs with loops, parallel arcs and weights of 0;
                   test_wrong_results_are_noticed
calls              test_calls_take_turns
the command        test_command, test_the_fastest_way_on_a_gpu, test_a_result_that_differs,
                   test_refused_by_the_graph, test_without_gpu, test_bad_input
on a GPU           test_on_gpu, where one answers and CuPy is installed
=================  ===========================================================================
"""

import dataclasses
import importlib.util
import json
import re

import numpy as np
import pytest

from sw.study.benchmarks import libraries, programs
from sw.cli.main import main
from sw.graph import Graph, load
from sw.lang.programs import find
from sw.vm import cuda, reference
from tb.sw.graphs import random_graph


WITH_SCIPY = ("pagerank", "bfs", "sssp", "cc")

GRAPHS = {
    "random": random_graph(60, 240, 3).weighted(9),
    "pieces": random_graph(80, 60, 4).weighted(9),
    # A loop, parallel arcs of different weights, an arc of weight 0, a vertex alone.
    "odd": Graph(6, [0, 0, 0, 1, 1, 3], [0, 1, 1, 2, 3, 2], [5, 9, 2, 0, 7, 1]),
    "no arcs": Graph(4, [], [], []),
}


def result_of(algorithm, graph, **changes):
    given = programs.parameters(algorithm, graph)
    return given, reference.run(find(algorithm), graph, **given | changes)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("algorithm", WITH_SCIPY)
def test_scipy_agrees(algorithm, name):
    graph = GRAPHS[name]
    given, result = result_of(algorithm, graph)
    assert libraries.scipy_call(algorithm, graph, given).agrees(result)


@pytest.mark.parametrize("algorithm", WITH_SCIPY)
def test_wrong_results_are_noticed(algorithm):
    graph = GRAPHS["random"]
    given, result = result_of(algorithm, graph)
    call = libraries.scipy_call(algorithm, graph, given)
    if algorithm == "pagerank":
        wrong = result_of(algorithm, graph, iterations=2)[1]
    else:
        name = {"bfs": "depth", "sssp": "distance", "cc": "label"}[algorithm]
        words = result.outputs[name].copy()
        words[7] += 1
        wrong = dataclasses.replace(result, outputs=result.outputs | {name: words})
    assert call.agrees(result) and not call.agrees(wrong)


def test_calls_take_turns():
    found = programs.on_cpu("bfs", GRAPHS["random"], {"source": 0}, 3)
    assert list(found) == ["cpu", "scipy"] and all(each["same"] for each in found.values())
    assert all(len(each["seconds"]) == 3 and min(each["seconds"]) > 0 for each in found.values())
    assert list(programs.on_cpu("bc", GRAPHS["random"], {"source": 0}, 1)) == ["cpu"]


def test_command(capsys, tmp_path):
    report = tmp_path / "times.json"
    assert main(["bench", "programs", "karate", "--repeat", "2", "--delta", "8", "--json",
                 str(report)]) == 0
    printed = capsys.readouterr()
    lines = {line.split("  ")[0].strip(): line.split() for line in printed.out.splitlines()}
    assert "karate: 34 vertices, 156 arcs" in printed.out and "bc on karate" in printed.err
    assert lines["milliseconds"][1:] == [*WITH_SCIPY, "bc"]
    assert lines["scipy"][-1] == "-" and lines["scipy over cpu"][-2].endswith("x")
    found, = json.loads(report.read_text())["graphs"]
    assert found["algorithms"]["sssp"]["parameters"] == {"source": 33, "delta": 8}
    pagerank = found["algorithms"]["pagerank"]
    assert pagerank["arcs"] == 1560 and len(pagerank["ways"]["scipy"]["seconds"]) == 2
    least = min(pagerank["ways"]["cpu"]["seconds"])
    assert f"{1560 / least / 1e6:,.1f}" in lines["million arcs a second"]


def test_the_fastest_way_on_a_gpu(capsys, monkeypatch):
    """It is the way of the least run; neither the library nor the cpu counts as one."""
    seconds = {"cpu": [4e-5], "by vertices": [2e-5, 3e-5], "by edges": [9e-5, 1e-5],
               "cupy": [5e-6, 6e-6]}
    ways = {way: {"seconds": each, "same": True} for way, each in seconds.items()}
    monkeypatch.setattr(cuda, "available", lambda: None)
    monkeypatch.setattr(programs, "on_gpu", lambda *_: ways)
    assert main(["bench", "programs", "karate", "--vm", "cuda", "--algorithms", "bfs"]) == 0
    rows = dict(re.split("  +", line.strip()) for line in capsys.readouterr().out.splitlines()
                if "  " in line.strip())
    assert rows["by edges"] == "0.010" and rows["fastest way"] == "by edges"
    assert rows["million arcs a second"] == "15.6"
    assert (rows["cupy over cuda"], rows["GraphVM cpu over cuda"]) == ("0.50x", "4.00x")


def test_a_result_that_differs(capsys, monkeypatch):
    monkeypatch.setattr(libraries.LibraryCall, "agrees", lambda self, result: False)
    assert main(["bench", "programs", "karate", "--repeat", "1", "--algorithms", "cc"]) == 1
    assert "the result differs: scipy cc on karate" in capsys.readouterr().err


def test_refused_by_the_graph(capsys):
    """Betweenness centrality cannot count the paths of a grid; the other programs run."""
    assert main(["bench", "programs", "road:side=64,seed=1", "--repeat", "1", "--algorithms",
                 "bc,bfs"]) == 0
    text = capsys.readouterr().out
    assert "bc: " in text and "does not fit in 32 bits" in text


@pytest.mark.skipif(cuda.available() is None, reason="a GPU answers")
def test_without_gpu(capsys):
    assert main(["bench", "programs", "--vm", "cuda", "--algorithms", "bfs"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(("bfs: compiled for sm_80, sm_90", "bfs: not compiled: "))
    assert last == f"nothing was run: {cuda.available()}"


@pytest.mark.parametrize("arguments, words", [
    (["--vm", "gpu"], "--vm gpu: must be cpu or cuda"),
    (["--algorithms", "gcn"], "there is no 'gcn'; there are pagerank, bfs, sssp, cc, bc"),
    (["--repeat", "0"], "--repeat 0"), (["--delta", "0"], "--delta 0"),
    (["nowhere.el"], "nowhere.el: there is no such file"),
    (["--json", "times.txt"], "times.txt")])
def test_bad_input(capsys, arguments, words):
    assert main(["bench", "programs", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.skipif(cuda.available() is not None, reason=str(cuda.available()))
@pytest.mark.parametrize("algorithm", programs.ALGORITHMS)
def test_on_gpu(algorithm):
    graph = load("rmat:scale=8,degree=8,seed=1", weights=9)
    ways = programs.on_gpu(algorithm, graph, programs.parameters(algorithm, graph), 1)
    assert len(ways) >= 2 * len(cuda.SCHEDULES) + 2 and all(each["same"] for each in ways.values())
    has_cupy = importlib.util.find_spec("cupy") is not None
    assert ("cupy" in ways) == (has_cupy and algorithm in ("pagerank", "bfs", "bc"))
    assert all(np.isfinite(each["seconds"]).all() for each in ways.values())
