"""Where a search starts if nothing is given, and how far it comes.

======================  ==========================================================================
the default vertex      test_default, test_two_vertices, test_against_the_arcs;
                        test_every_machine: the same on all
vertices reached        test_reached, test_a_users_search
the note                test_few, test_commands: in every output
======================  ==========================================================================
"""

import json

import numpy as np
import pytest

from base.errors import UserError
from hw.config import preset
from sw.cli.main import main
from sw.graph import Graph, load
from sw.lang import programs
from sw.lang.reader import read_text
from sw.device import Device
from sw.vm import reach, reference
from sw.vm.arguments import arguments, moved
from tb.sw.vm.small_programs import program


#: Vertex 0 has an arc to itself only, and 1 none; 2 and 3 lead to others.
LATE = Graph(5, [0, 2, 3, 4], [0, 3, 4, 0], [1, 1, 1, 1], name="late")


def values(name, graph, **given):
    return arguments(programs.find(name), given, graph)


@pytest.mark.parametrize("name", ["bfs", "sssp", "bc"])
def test_default(name):
    assert values(name, LATE)["source"] == 2
    assert values(name, LATE, source=1)["source"] == 1
    assert values(name, load("karate"))["source"] == 0
    assert values(name, Graph(3, [1, 2], [1, 2]))["source"] == 0       # no arc to another
    assert moved(programs.find(name), {"source": 2}, {"source": 2}) == []
    line, = moved(programs.find(name), {}, {"source": 2})
    assert line.startswith("source is vertex 2, where none is given: the first from 0 on")


def test_two_vertices():
    """Two vertices with different defaults stay different, also from one that is given."""
    def found(graph, **given):
        taken = values("label_propagation", graph, **given)
        return taken["positive"], taken["negative"]
    assert found(load("karate")) == (0, 1)
    assert found(LATE) == (2, 3)
    assert found(LATE, positive=3) == (3, 2)
    assert found(LATE, negative=2) == (3, 2)
    assert found(Graph(3, [2], [0])) == (2, 1)
    with pytest.raises(UserError, match="negative is 1, must be from 0 to 0"):
        found(Graph(1, [], []))


def test_against_the_arcs():
    """A search against the arcs starts where arcs enter."""
    against = program("def see(src, dst):", "    a[dst] += 1",
                      "some = vertexset(source)", "edges.transpose().from_(some).apply(see)")
    assert arguments(against, {}, LATE)["source"] == 0
    assert arguments(against, {}, Graph(3, [0, 1], [1, 2]))["source"] == 1


def test_every_machine(capsys, tmp_path):
    path = tmp_path / "late.wel"
    path.write_text("0 0 1\n2 3 1\n3 4 1\n4 0 1\n")
    found = set()
    for number, words in enumerate((["--functional"], ["--vm", "cpu"], ["--vm", "reference"],
                                    ["--schedule", "em", "--preset", "tiny"])):
        kept, arrays = tmp_path / f"{number}.json", tmp_path / f"{number}.npz"
        assert main(["run", "sssp", str(path), *words, "--json", str(kept), "--output",
                     str(arrays)]) == 0
        record = json.loads(kept.read_text())
        record = record.get("results", [record])[0]
        assert record["starts"] == {"source": 2} == {"source": record["parameters"]["source"]}
        assert record["reached"] == 4 and "source is vertex 2, where none" in record["notes"][0]
        assert "source is vertex 2, where none is given" in capsys.readouterr().out
        found.add(np.load(arrays)["distance"].tobytes())
    assert len(found) == 1


# Vertices reached

@pytest.mark.parametrize("name, given, count", [
    ("bfs", {"source": 2}, 4), ("bfs", {"source": 1}, 1), ("sssp", {"source": 3}, 3),
    ("bc", {"source": 2}, 4), ("bc", {"source": 1}, 1), ("pagerank", {}, None), ("cc", {}, None),
    ("label_propagation", {"positive": 2, "negative": 4, "iterations": 3}, 4)])
def test_reached(name, given, count):
    found = programs.find(name)
    result = reference.run(found, LATE, **given)
    bits = result.fraction_bits or 0
    assert reach.reached(found, result.outputs, bits) == count
    with Device.functional(preset("tiny")) as device:
        own = device.run(name, LATE, **given)
    assert own.reached == count and own.to_json()["reached"] == count


def test_a_users_search():
    """A search is known by its words, whatever its name."""
    mine = read_text("""
@program
def mine(edges: edgeset):
    owner = vector(vertex, none)

    def hand_on(src, dst):
        owner[dst].min(owner[src])

    owner[3] = 3
    some = vertexset(3)
    edges.from_(some).apply(hand_on)
    return owner
""")
    result = reference.run(mine, LATE)
    assert reach.reached(mine, result.outputs, 0) == 2
    assert "mine on late" not in str(reach.notes(mine, {}, 2, LATE))


# The note

@pytest.mark.parametrize("count, size, words", [
    (1, 128, "source 0, under 1 %"), (1, 34, "source 0, no other"), (1, 1, None), (2, 200, None),
    (2, 201, "under 1 %"), (2, 34, None), (None, 1000, None), (0, 4, "reaches 0 of 4")])
def test_few(count, size, words):
    found = reach.notes(programs.find("bfs"), {"source": 0}, count, Graph(size, [], []))
    assert (words in found[0]) if words else found == []


#: Options of a search of one plan.
FEW = ["--options", "none", *(word for only in (
    "format=csr", "schedule=vm", "split=static", "warps=own", "frontier=own", "direction=push")
    for word in ("--only", only))]

NOTE = "bfs on rmat:scale=7,degree=8,seed=1 reaches 1 of 128 vertices from source 0, under 1 %"


@pytest.mark.parametrize("words", [
    ["run", "bfs", "--functional"], ["run", "bfs", "--vm", "cpu"],
    ["compare", "bfs", "--schedules", "vm,weaver", "--preset", "tiny"],
    ["tune", "bfs", "--trials", "1", "--jobs", "1", "--strategy", "random", "--preset", "tiny",
     "--functional", *FEW],
    ["tune", "bfs", "--trials", "1", "--strategy", "random", "--vm", "cpu", "--rounds", "1"]])
def test_commands(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    spec = "rmat:scale=7,degree=8,seed=1"
    command = [*words[:2], spec, *words[2:]]
    assert main([*command, "--source", "0", "--json", "found.json"]) == 0
    assert f"note: {NOTE}" in capsys.readouterr().out
    assert NOTE in (tmp_path / "found.json").read_text()
    if words[0] in ("run", "compare"):
        assert main(command) == 0
        assert "reaches 1 of" not in capsys.readouterr().out


def test_reports(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    spec = "rmat:scale=7,degree=8,seed=1"
    assert main(["run", "bfs", spec, "--source", "0", "--preset", "tiny", "--schedule", "vm",
                 "--json", "run.json"]) == 0
    assert main(["report", "run.json", "-o", "pages"]) == 0
    pages = "".join(path.read_text() for path in (tmp_path / "pages").rglob("*.html"))
    assert "reaches 1 of 128 vertices from source 0" in pages and "vertices reached" in pages
    assert "by the edges: right" in pages
