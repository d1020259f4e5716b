"""The checks of named algorithms' results, which share no text with the programs.

=========================  =======================================================================
right results              test_right: random graphs; test_wrong_words: unusual ones
wrong words                test_wrong_words: every word of small results, changed in many ways;
                           test_a_circle_without_weight, test_lengths_that_do_not_fit,
                           test_all_words_of_another_search, test_a_search_that_stops_early,
                           test_a_depth_without_a_path;
                           test_every_program_has_a_check
wrong texts                test_wrong_text: programs with a fault; test_runs_of_a_wrong_text: a
                           device and the other machines stop
texts of users             test_a_file_of_the_same_name
models                     test_components, test_pagerank, test_sweeps_that_come_again
=========================  =======================================================================
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import RunError
from hw.config import preset
from sw.compile import algorithms
from sw.cli.main import main
from sw.golden.results import CHECKS
from sw.golden.results.check import sweeps
from sw.golden.results.components import components
from sw.golden.results.pagerank import pagerank, pagerank_float
from sw.graph import Graph, load
from sw.lang import programs
from sw.lang.reader import read_text
from sw.device import Device
from sw.vm import reference
from sw.vm.arguments import arguments
from sw.compile.lower.algorithm import algorithm_of
from tb.sw.graphs import graphs, random_graph


LAST = (1 << 32) - 1

#: Graphs with loops, parallel arcs, isolated vertices, arcs without weight, several components.
UNUSUAL = {
    "one vertex": Graph(1, [], [], []),
    "a loop": Graph(1, [0], [0], [3]),
    "no arcs": Graph(4, [], [], []),
    "two components": Graph(6, [0, 1, 3, 4], [1, 0, 4, 3], [1, 2, 0, 0]),
    "parallel arcs": Graph(4, [0, 0, 0, 1, 1, 3], [1, 1, 2, 2, 2, 3], [5, 2, 9, 1, 1, 0]),
    "circles without weight": Graph(5, [0, 1, 2, 3, 4, 2], [1, 2, 1, 4, 3, 3], [0, 0, 0, 0, 0, 9]),
    "against the numbers": Graph(5, [4, 3, 2, 1, 0], [3, 2, 1, 0, 2], [1, 1, 1, 1, 7]),
    "random": random_graph(14, 40, 5, weights=True),
}


def ready(name, graph):
    """The graph as an algorithm needs it."""
    needs = programs.find(name).needs
    graph = graph.undirected() if "symmetric" in needs else graph
    graph = graph.simplify() if "simple" in needs else graph
    weights = np.zeros(graph.num_edges) if graph.weights is None else graph.weights % 1000
    return Graph(graph.num_vertices, graph.src, graph.dst, weights.astype(np.uint32), graph.name)


def judged(name, graph, program=None, **given):
    """The fault that the check of an algorithm finds in a program's results on a graph."""
    program = program or programs.find(name)
    result = reference.run(program, graph, **given)
    return CHECKS[name].fault(graph, arguments(program, given, graph), result.outputs,
                              result.fraction_bits or 0)


def given_for(name, graph):
    """Parameters with which an algorithm can run on a graph."""
    if name != "label_propagation":
        return {}
    return {"positive": 0, "negative": graph.num_vertices - 1, "iterations": 3}


@pytest.mark.parametrize("name", CHECKS)
@given(graph=graphs(weighted=True))
@settings(max_examples=30, deadline=None)
def test_right(name, graph):
    graph = ready(name, graph)
    assert judged(name, graph, **given_for(name, graph)) is None


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("which", UNUSUAL)
def test_wrong_words(name, which):
    """Any word that is not the right one is noticed, at every vertex and in every result."""
    graph = ready(name, UNUSUAL[which])
    given = given_for(name, graph)
    program = programs.find(name)
    result = reference.run(program, graph, **given)
    bits, values = result.fraction_bits or 0, arguments(program, given, graph)
    assert CHECKS[name].fault(graph, values, result.outputs, bits) is None
    for output, words in result.outputs.items():
        for vertex, word in enumerate(words.tolist()):
            others = {0, 1, 2, LAST, LAST - 1, word + 1, word - 1, 1 << 31, *words.tolist()}
            for other in sorted(others - {word, -1, LAST + 1}):
                changed = words.copy()
                changed[vertex] = other
                assert CHECKS[name].fault(graph, values, result.outputs | {output: changed},
                                          bits), (output, vertex, word, other)


def fault(name, graph, words, **values):
    return CHECKS[name].fault(graph, values, {
        output: np.array(each, np.uint32) for output, each in words.items()}, 0)


def test_a_circle_without_weight():
    """Vertices whose distances hold each other up, without a path from the source."""
    graph = Graph(4, [0, 1, 2, 0], [1, 2, 1, 3], [9, 0, 0, 4])
    assert fault("sssp", graph, {"distance": [0, 9, 9, 4]}, source=0) is None
    assert "vertex 1 has distance 7, and no path" in fault(
        "sssp", graph, {"distance": [0, 7, 7, 4]}, source=0)
    apart = Graph(4, [1, 2, 0], [2, 1, 3], [0, 0, 4])
    assert "vertex 1 has distance 7, and no path" in fault(
        "sssp", apart, {"distance": [0, 7, 7, 4]}, source=0)


def test_lengths_that_do_not_fit():
    """A vertex that is reached is not without a distance, however far it is."""
    graph = Graph(3, [0, 1], [1, 2], [3_000_000_000, 3_000_000_000])
    assert "vertex 2 has no distance, and an arc from vertex 1" in fault(
        "sssp", graph, {"distance": [0, 3_000_000_000, LAST]}, source=0)
    assert fault("sssp", graph, {"distance": [0, 3_000_000_000, 1_705_032_704]}, source=0)


def test_all_words_of_another_search():
    """Results that are right in themselves, but for another question."""
    graph = load("karate")
    for name in ("bfs", "sssp", "bc"):
        weighted = graph.weighted(9, 1)
        other = reference.run(programs.find(name), weighted, source=7)
        assert CHECKS[name].fault(weighted, {"source": 8}, other.outputs,
                                  other.fraction_bits or 0)
    none = {"chosen": np.zeros(34, np.uint32)}
    assert "vertex 0 is not chosen" in CHECKS["mis"].fault(graph, {}, none, 0)
    low = {"core": np.ones(34, np.uint32)}
    assert "is in a subgraph whose degrees are 2" in CHECKS["kcore"].fault(graph, {}, low, 0)


@pytest.mark.parametrize("name, vertex", [("bfs", "vertex 2"), ("sssp", "vertex 2"),
                                          ("bc", ""), ("cc", "")])
def test_a_search_that_stops_early(name, vertex):
    """Results of a part of the graph, which are consistent in themselves."""
    whole = Graph(5, [0, 0, 1, 3], [1, 3, 2, 4], [1, 1, 1, 1])
    part = Graph(5, [0, 0], [1, 3], [1, 1])
    program, given = programs.find(name), {} if name == "cc" else {"source": 0}
    result = reference.run(program, part, **given)
    bits = result.fraction_bits or 0
    assert CHECKS[name].fault(part, arguments(program, given, part), result.outputs, bits) is None
    found = CHECKS[name].fault(whole, arguments(program, given, whole), result.outputs, bits)
    assert found and vertex in found


@pytest.mark.parametrize("depth", [3, 1 << 31, LAST - 1])
def test_a_depth_without_a_path(depth):
    """Also one that is negative as a signed number."""
    graph, program = Graph(3, [0], [1], [1]), programs.find("bfs")
    words = reference.run(program, graph, source=0).outputs
    words["depth"][2] = depth
    found = CHECKS["bfs"].fault(graph, arguments(program, {"source": 0}, graph), words, 0)
    assert found and f"vertex 2 is {depth}" in found


def test_every_program_has_a_check():
    assert CHECKS.keys() == set(programs.names())


# Wrong texts

#: A change of a program's text, by the algorithm.
FAULTS = [
    ("bfs", "depth[v] = level", "depth[v] = level + 1"),
    ("bfs", "depth[source] = 0", "depth[source] = 1"),
    ("bfs", "parent[dst].min(src)", "parent[dst].min(max(src, dst))"),
    ("bfs", "edges.from_(frontier)", "edges.transpose().from_(frontier)"),
    ("bfs", ".to(unvisited)", ""),
    ("sssp", "distance[src] + weight", "distance[src] + weight + 1"),
    ("sssp", "distance[src] + weight", "distance[src] + max(weight, 2)"),
    ("sssp", "distance[source] = 0", "distance[source] = 4"),
    ("cc", "vector(vertex, lambda v: v)", "vector(vertex, 0)"),
    ("cc", "while changed:", "for round in range(1):"),
    ("kcore", "lost[v] + k + 1", "lost[v] + k"),
    ("kcore", "core[v] = k", "core[v] = k + 1"),
    ("kcore", "lost[dst] += 1", "lost[dst] += 2"),
    ("mis", "chosen[dst].min(0)", "chosen[dst].min(1)"),
    ("mis", "priority[v] >= rival[v]", "priority[v] >= 0"),
    ("mis", ".to(is_open).apply(cover)", ".to(is_open).apply(compete)"),
    ("pagerank", "1 / edges.out_degree(v)", "1 / edges.in_degree(v)"),
    ("pagerank", "total[v] * damping", "total[v] * 0.8"),
    ("pagerank", "while done < iterations", "while done + 1 < iterations"),
    ("pagerank", "tolerance * edges.num_vertices", "tolerance"),
    ("label_propagation", "1 / edges.in_degree(v)", "1 / (edges.in_degree(v) + 1)"),
    ("label_propagation", "score[negative] = 0", "score[negative] = 0.25"),
    ("label_propagation", "fixed_label[v] == 0 and ", ""),
    ("bc", "dependency[src] + 1", "dependency[src] + 2"),
    ("bc", "paths[dst] / paths[src]", "paths[dst] / (paths[src] + paths[src])"),
    ("bc", "while level > 2", "while level > 1"),
    ("bc", "while level > 2", "while level > 3"),
    ("bc", "paths[dst] += paths[src]", "paths[dst] += paths[src] + paths[src]"),
]


def faulty(name, old, new):
    """The text of a program with a fault."""
    text = programs.path(name).read_text()
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize("name, old, new", FAULTS)
def test_wrong_text(name, old, new):
    """The interpreter of a wrong text agrees with it; the check does not."""
    graph = ready(name, load("rmat:scale=6,degree=6,seed=2").weighted(9, 1))
    given = {"pagerank": {"tolerance": 0.1}}.get(name, {}) if "tolerance" in old else {}
    assert judged(name, graph, read_text(faulty(name, old, new)), **given)


@pytest.mark.parametrize("name, old, new", [FAULTS[0], FAULTS[5], FAULTS[12], FAULTS[18]])
def test_runs_of_a_wrong_text(monkeypatch, tmp_path, capsys, name, old, new):
    """A device and the other machines stop where a named algorithm's text is wrong."""
    path = tmp_path / f"{name}.py"
    path.write_text(faulty(name, old, new))
    kind = algorithm_of(read_text(path.read_text(), name=name), CHECKS[name])
    monkeypatch.setattr(algorithms, "_named", {name: kind}.get)
    monkeypatch.setattr(programs, "path", lambda _: path)
    graph = ready(name, load("rmat:scale=5,degree=6,seed=2").weighted(9, 1))
    with Device.functional(preset("tiny")) as device:
        with pytest.raises(RunError, match=f"the result is wrong {CHECKS[name].way}: "):
            device.run(name, graph)
        assert not device.run(name, graph, verify=False).verified
    words = ["run", name, "rmat:scale=5,degree=6,seed=2", "--weights", "9", "--undirected",
             "--simplify", "--vm"]
    for vm in ("cpu", "reference"):
        assert main([*words, vm]) == 2
        assert f"{vm}: the result is wrong {CHECKS[name].way}: " in capsys.readouterr().err
        assert main([*words, vm, "--no-verify"]) == 0


def test_a_file_of_the_same_name(tmp_path, capsys):
    """A user's bfs.py is no breadth-first search by its name: only the interpreter judges it."""
    path = tmp_path / "bfs.py"
    path.write_text(faulty("bfs", "depth[v] = level", "depth[v] = level + 1"))
    with Device.functional(preset("tiny")) as device:
        own = device.run(str(path), load("karate"))
        named = device.run("bfs", load("karate"))
    assert own.verified and own.checked is None and "its only check" in own.verdict
    assert named.checked == "by the edges"
    assert named.verdict == "bit-identical to the interpreter of its text; by the edges: right"
    assert own.to_json()["checked"] is None and named.to_json()["checked"] == "by the edges"
    for place, words in ((str(path), "interpreter of its text, which is its only check"),
                         ("bfs", "interpreter of its text; by the edges: right")):
        assert main(["run", place, "karate", "--vm", "cpu"]) == 0
        assert words in capsys.readouterr().out


# Models

def merged(graph):
    """Components by merging, until nothing changes. The smaller label wins."""
    label = list(range(graph.num_vertices))
    changed = True
    while changed:
        changed = False
        for u, v in zip(graph.src.tolist(), graph.dst.tolist()):
            low = min(label[u], label[v])
            changed |= label[u] != low or label[v] != low
            label[u] = label[v] = low
    return label


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_components(graph):
    assert components(graph).tolist() == merged(graph)


@pytest.mark.parametrize("text", ["rmat:scale=9,degree=1,seed=1", "road:side=20,seed=1"])
def test_components_of_larger_graphs(text):
    graph = load(text)
    assert components(graph).tolist() == merged(graph)


@given(graphs(), st.integers(0, 5), st.sampled_from([0, 0.5, 0.85, 0.999]), st.integers(0, 28))
@settings(max_examples=60, deadline=None)
def test_pagerank(graph, iterations, damping, bits):
    """The rule in Python's integers, arc by arc, and no further off than its rounding."""
    rank, largest = [1 << bits] * graph.num_vertices, 1 << bits
    base, factor = round((1 - damping) * (1 << bits)), round(damping * (1 << 32))
    for _ in range(iterations):
        total = [0] * graph.num_vertices
        for u, v in zip(graph.src.tolist(), graph.dst.tolist()):
            inverse = min((1 << 32) // int(graph.out_degrees[u]), LAST)
            total[v] += (rank[u] * inverse) >> 32
        rank = [base + ((value * factor) >> 32) for value in total]
        largest = max(largest, *total, *rank)
    if largest > LAST:
        with pytest.raises(OverflowError):
            pagerank(graph, iterations, bits, damping)
        return
    words = pagerank(graph, iterations, bits, damping)
    assert words.tolist() == rank
    real = pagerank_float(graph, iterations, damping) * graph.num_vertices
    units = (2 * damping * graph.num_edges + 2 * graph.num_vertices) / (1 - damping)
    assert np.abs(words / 2**bits - real).sum() <= units / 2**bits


def test_sweeps_that_come_again():
    """Words that change places come back every second sweep, so few sweeps are done."""
    done = []

    def sweep(words):
        done.append(1)
        return words[::-1].copy()

    for count in (0, 1, 2, 3, 4, 99, 100, 1 << 31, (1 << 31) + 1):
        for words in sweeps(sweep, np.array([1, 2]), count):
            pass
        assert words.tolist() == ([1, 2] if count % 2 == 0 else [2, 1])
    assert len(done) < 100
