"""Needs of a program: where they are said, and where they are checked.

======================  ==========================================================================
facts of a graph        test_facts: against plain Python
the text                test_text, test_shown, test_wrong_texts
the check               test_refused, test_refused_in_every_place; test_accepted
``--undirected``        test_both_directions_already
======================  ==========================================================================
"""

import collections

import numpy as np
import pytest
from hypothesis import given, settings

from base.errors import UserError
from hw.config import preset
from sw.cli.main import main
from sw.graph import Graph, load
from sw.lang import programs
from sw.lang.names import edgeset, program, symmetric, vector, vertices
from sw.lang.reader import read_text
from sw.lang.types import LanguageError
from sw.device import Device
from sw.vm import cpu, reference
from tb.sw.graphs import graphs


TRIANGLE = Graph(3, [0, 1, 2], [1, 2, 0], name="triangle")


@given(graphs())
@settings(max_examples=80)
def test_facts(graph):
    arcs = list(zip(graph.src.tolist(), graph.dst.tolist()))
    assert graph.loopless == all(u != v for u, v in arcs)
    assert graph.simple == (graph.loopless and len(set(arcs)) == len(arcs))
    assert graph.symmetric == all((v, u) in arcs for u, v in arcs)
    if not graph.symmetric:
        u, v = graph.one_way
        assert (u, v) in arcs and (v, u) not in arcs
    assert graph.num_returned == sum(u != v and (v, u) in arcs for u, v in arcs)
    assert graph.left.tolist() == [any(u == each != v for u, v in arcs)
                                   for each in range(graph.num_vertices)]
    assert graph.entered.tolist() == [any(u != each == v for u, v in arcs)
                                      for each in range(graph.num_vertices)]
    both = graph.undirected()
    assert both.symmetric and both.undirected() is both
    assert both.simplify().simple and both.simplify().symmetric


# Text

LINES = """
def degrees(edges: edgeset):
    degree = vector(uint, 0)

    def count(src, dst):
        degree[dst] += 1

    edges.apply(count)
    return degree
"""


@pytest.mark.parametrize("mark, needs", [
    ("@program", ()), ("@program(needs=symmetric)", ("symmetric",)),
    ("@program(needs=(simple, symmetric))", ("symmetric", "simple")),
    ("@program(needs=[loopless, loopless])", ("loopless",)), ("@program(needs=())", ())])
def test_text(mark, needs):
    assert read_text(mark + LINES).needs == needs


@pytest.mark.parametrize("mark, message", [
    ("@program(needs=acyclic)", "1:16: a program cannot need 'acyclic' of its graph, only "
                                "symmetric, simple, loopless"),
    ("@program(needs='symmetric')", "a program cannot need \"'symmetric'\""),
    ("@program(symmetric)", "1:2: a mark is @program, or @program.needs=…."),
    ("@program(wants=symmetric)", "a mark is @program, or"),
    ("@program()", "a mark is @program, or")])
def test_wrong_texts(mark, message):
    with pytest.raises(LanguageError, match=message):
        read_text(mark + LINES)


def test_shown(capsys):
    assert main(["lang", "show", "kcore"]) == 0
    assert capsys.readouterr().out.startswith("Program kcore<needs=(symmetric, simple)>(")
    assert main(["lang", "show", "bfs"]) == 0
    assert capsys.readouterr().out.startswith("Program bfs(")


# Check

@pytest.mark.parametrize("name, graph, words", [
    ("kcore", TRIANGLE, "needs a graph in which each arc has one back, and triangle has an arc "
                        r"from 0 to 1 and none back; --undirected makes it so \(in Python graph\."
                        r"undirected\(\)\)"),
    ("mis", TRIANGLE, "an arc from 0 to 1 and none back; --undirected makes it so"),
    ("kcore", Graph(2, [0, 0, 1, 1], [1, 1, 0, 0]), "without self-loops and parallel arcs, and "
     "graph has several arcs from 0 to 1; --simplify makes it so"),
    ("kcore", Graph(1, [0], [0]), "has an arc from 0 to itself; --simplify makes"),
    ("kcore", Graph(3, [0, 0, 1], [1, 1, 1]), "--undirected --simplify makes it so")])
def test_refused(name, graph, words):
    found = programs.find(name)
    for machine in (reference, cpu):
        with pytest.raises(UserError, match=words):
            machine.run(found, graph)
    with Device.functional(preset("tiny")) as device:
        with pytest.raises(UserError, match=words):
            device.plan(name, graph)
        with pytest.raises(UserError, match=words):
            device.run(name, graph, verify=False)


@pytest.mark.parametrize("words", [
    ["run", "kcore", "tri.el", "--functional"], ["run", "mis", "tri.el", "--vm", "cpu"],
    ["run", "kcore", "tri.el", "--vm", "reference", "--no-verify"],
    ["compare", "mis", "tri.el", "--schedules", "vm,em"],
    ["tune", "kcore", "tri.el", "--trials", "1", "--jobs", "1", "--strategy", "random",
     "--options", "none", "--only", "format=csr", "--only", "schedule=vm"],
    ["tune", "kcore", "tri.el", "--trials", "1", "--vm", "cpu", "--strategy", "random"],
    ["run", "mine.py", "tri.el", "--vm", "cpu"]])
def test_refused_in_every_place(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tri.el").write_text("0 1\n1 2\n2 0\n")
    (tmp_path / "mine.py").write_text("@program(needs=symmetric)" + LINES)
    assert main(words) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("graphloom: error: ") and "--undirected makes it so" in error


@program(needs=symmetric)
def neighbours(edges: edgeset):
    """One for each vertex."""
    seen = vector(bool, False)

    def see(v):
        seen[v] = True

    vertices.apply(see)
    return seen


def test_accepted():
    """A program in a process may have needs, too. Loops and parallel arcs do not matter to mis."""
    with Device.functional(preset("tiny")) as device:
        with pytest.raises(UserError, match="program 'neighbours' needs a graph in which"):
            device.run(neighbours, TRIANGLE)
        assert device.run(neighbours, TRIANGLE.undirected()).outputs["seen"].all()
    graph = Graph(4, [0, 1, 1, 0, 0, 2, 2, 3], [1, 0, 0, 0, 1, 2, 3, 2])
    found = reference.run(programs.find("mis"), graph).outputs["chosen"]
    assert found[:2].sum() == found[2:].sum() == 1


# --undirected

def test_both_directions_already(tmp_path, capsys):
    """A file that lists each edge twice stays as it is; one that lists some twice is noted."""
    whole, part = tmp_path / "whole.el", tmp_path / "part.el"
    whole.write_text("0 1\n1 0\n1 2\n2 1\n2 0\n0 2\n")
    part.write_text("0 1\n1 0\n1 2\n2 0\n")
    notes = []
    graph = load(whole, undirected=True, note=notes.append)
    assert graph.num_edges == 6 and "in both directions already; --undirected adds none" in notes[0]
    load(part, undirected=True, simplify=True, note=notes.append)
    assert len(notes) == 1
    assert load(part, undirected=True, note=notes.append).num_edges == 8
    assert "has 2 arcs in both directions already, which --undirected doubles" in notes[1]
    assert main(["run", "kcore", str(whole), "--undirected", "--vm", "reference", "--output",
                 str(tmp_path / "core.npz")]) == 0
    assert np.load(tmp_path / "core.npz")["core"].tolist() == [2, 2, 2]
    assert main(["run", "kcore", str(part), "--undirected", "--vm", "reference"]) == 2
    assert "--simplify makes it so" in capsys.readouterr().err


def test_weights_of_both_directions():
    """Arcs back of another weight are no reverses."""
    graph = Graph(2, [0, 1], [1, 0], [3, 4])
    both = graph.undirected()
    assert collections.Counter(zip(both.src.tolist(), both.weights.tolist())) == {
        (0, 3): 1, (0, 4): 1, (1, 3): 1, (1, 4): 1}
    again = Graph(2, [0, 0, 1, 1], [1, 1, 0, 0], [3, 4, 4, 3])
    assert again.undirected() is again
