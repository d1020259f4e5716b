"""Many texts of the language.

======================  ===========================================================================
finding                 test_texts: of folders and files; test_no_texts
reading                 test_check: read, refused with its place, schedules alone
running                 test_machines: the examples are right on the CPU and as the RTL's kernels;
                        test_wrong: words that differ; test_stops
examples                test_kcore, test_pagerank, test_sssp: beside models
======================  ===========================================================================
"""

import dataclasses

import numpy as np
import pytest

from base.errors import UserError
from base.installation import ROOT
from sw.graph.load import GraphSource
from sw.lang import programs
from sw.lang.graphit import read_graphit_file
from sw.study import texts
from sw.vm import machines, reference
from tb.sw.graphs import random_graph


EXAMPLES = ROOT / "examples" / "lang"
SMALL = GraphSource("rmat:scale=4,degree=4,seed=1", undirected=True, simplify=True, weights=9)
TWO = """@program
def %s(edges: edgeset):
    x = vector(uint, 0)
    return x
"""


def test_texts(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "b.gt").write_text("")
    (tmp_path / "inside" / "b.txt").write_text("")
    (tmp_path / "a.py").write_text(TWO % "one" + TWO % "two")
    (tmp_path / "c.py").write_text("x = 3\n")
    (tmp_path / "d.py").write_text("x = \n")
    folder, one = str(tmp_path), str(tmp_path / "a.py")
    several = [(one, "one"), (one, "two")]
    assert texts.texts([folder]) == [*several, (str(tmp_path / "inside" / "b.gt"), None)]
    assert texts.texts([one, one]) == several
    assert texts.texts([str(tmp_path / "c.py")]) == [(str(tmp_path / "c.py"), None)]


@pytest.mark.parametrize("place, words", [
    ("none", "must be a folder"), ("none.gt", "cannot be read"), ("empty", "no FILE.gt")])
def test_no_texts(tmp_path, place, words):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=words):
        texts.texts([str(tmp_path / place)])


def test_check(tmp_path):
    def check(name, text, program=None):
        path = tmp_path / name
        path.write_text(text)
        found = texts.check(str(path), program)
        return found.read, found.place, found.message, found.notes
    own = (EXAMPLES / "kcore.gt").read_text()
    assert check("a.gt", own) == (True, "", "", ())
    read, place, message, _ = check("b.gt", own.replace("lost[dst] += 1", "lost[dst] = 1"))
    assert (read, place) == (False, "27:5") and message.startswith("several edges may store")
    assert check("c.gt", 'schedule:\nprogram->configApplyDirection("s1", "DensePull");')[0]
    # A label of the text's own schedule is checked, too.
    assert "no label 's7'" in check("d.gt", own + "schedule: SimpleGPUSchedule s; program->"
                                    'applyGPUSchedule("s7", s);')[2]
    assert check("e.py", TWO % "one" + TWO % "two", "two")[0]
    assert "several programs" in check("f.py", TWO % "one" + TWO % "two")[2]
    path = tmp_path / "g.gt"
    path.write_bytes(b"\xff\x00")
    assert "cannot be read" in texts.check(str(path)).message


def test_machines():
    for path in sorted(EXAMPLES.glob("*.gt")):
        found = texts.check(str(path), None, ("reference", "cpu", "rtl"), SMALL)
        assert found.right and found.outcomes == {"reference": "runs", "cpu": "right",
                                                  "rtl": "right"}, path


def test_wrong(monkeypatch):
    original = machines.run_on

    def changed(name, program, graph, **given):
        result = original(name, program, graph, **given)
        outputs = {name: words + np.uint32(1) for name, words in result.outputs.items()}
        return dataclasses.replace(result, outputs=outputs)

    monkeypatch.setattr(machines, "run_on", changed)
    found = texts.check(str(EXAMPLES / "kcore.gt"), None, ("cpu",), SMALL)
    assert found.read and not found.right and found.outcomes["cpu"].startswith("wrong: core")


def test_stops(tmp_path):
    path = tmp_path / "p.gt"
    path.write_text((EXAMPLES / "kcore.gt").read_text().replace("- lost[v]", "- 100"))
    found = texts.check(str(path), None, ("reference", "cpu"), SMALL)
    assert found.right and all(outcome.startswith("stops: 12:15: at vertex")
                               for outcome in found.outcomes.values())


def example(name, graph, **given):
    return reference.run(read_graphit_file(EXAMPLES / f"{name}.gt")[0], graph, **given)


def test_kcore():
    graph = random_graph(50, 200, 4).undirected().simplify()
    wanted = reference.run(programs.find("kcore"), graph).outputs["core"]
    assert np.array_equal(example("kcore", graph).outputs["core"], wanted)


def test_pagerank():
    graph = random_graph(30, 60, 2)
    rank, degree = np.full(30, 1 / 30), graph.out_degrees
    for _ in range(20):
        total = np.zeros(30)
        np.add.at(total, graph.dst, (rank / np.maximum(degree, 1))[graph.src])
        rank = 0.15 / 30 + 0.85 * total
    assert np.allclose(example("pagerank", graph).decimal("rank"), rank, atol=1e-7)


def test_sssp():
    graph = random_graph(40, 150, 3).weighted(9, 1)
    wanted = reference.run(programs.find("sssp"), graph, source=2).outputs["distance"]
    assert np.array_equal(example("sssp", graph, start=2).outputs["dist"],
                          np.minimum(wanted, 0x7FFFFFFF))
