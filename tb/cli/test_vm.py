"""``graphloom run --vm``: programs of the language on the machines beside the device.

======================  ========================================================================
machines                test_machines: the same checksum on each, and on the device
files                   test_files
own programs            test_a_file
a difference            test_a_difference: a machine that is wrong
refused                 test_refused
======================  ========================================================================
"""

import json
import re

import numpy as np
import pytest

from sw.cli.main import main
from sw.graph import load
from tb.sw.searches import bfs


GRAPH = "rmat:scale=6,degree=4,seed=2"

TEXT = """
@program
def reach(edges: edgeset, source: vertex = 0):
    seen = vector(bool, False)

    def mark(src, dst):
        seen[dst] |= True

    seen[source] = True
    frontier = vertexset(source)
    while frontier:
        frontier = edges.from_(frontier).apply_modified(mark, seen)
    return seen
"""


def checksum(out):
    return re.search(r"checksum (\w+)", out)[1]


@pytest.mark.parametrize("name", ["bc", "kcore", "mis"])
def test_machines(name, capsys):
    found = set()
    for words in (["--preset", "tiny"], ["--vm", "cpu"], ["--vm", "reference"]):
        assert main(["run", name, GRAPH, "--undirected", "--simplify", *words]) == 0
        found.add(checksum(capsys.readouterr().out))
    assert len(found) == 1


def test_files(tmp_path, capsys):
    arrays, record = tmp_path / "bfs.npz", tmp_path / "bfs.json"
    assert main(["run", "bfs", GRAPH, "--source", "hub", "--vm", "cpu", "--output", str(arrays),
                 "--json", str(record)]) == 0
    assert ("depth, parent: bit-identical to the interpreter of its text; by the edges: right"
            in capsys.readouterr().out)
    graph = load(GRAPH)
    depth, parent = bfs(graph, graph.hub)
    with np.load(arrays) as saved:
        assert np.array_equal(saved["depth"].view(np.int32), depth)
        assert np.array_equal(saved["parent"].view(np.int32), parent)
    kept = json.loads(record.read_text())
    assert kept["vm"] == "cpu" and kept["verified"] and kept["checked"] == "by the edges"
    assert kept["starts"] == {"source": graph.hub} and kept["reached"] == (depth >= 0).sum()
    assert kept["graph"]["vertices"] == 64


def test_a_file(tmp_path, capsys):
    path = tmp_path / "reach.py"
    path.write_text(TEXT)
    for vm in ("cpu", "reference"):
        assert main(["run", str(path), GRAPH, "--vm", vm, "--no-verify"]) == 0
        assert "seen" in capsys.readouterr().out


def test_a_difference(monkeypatch, capsys):
    import sw.vm.machines

    def wrong(name, program, graph, **given):
        result = original(name, program, graph, **given)
        result.outputs["depth"][5] ^= 1
        return result

    original = sw.vm.machines.run_on
    monkeypatch.setattr(sw.vm.machines, "run_on", wrong)
    assert main(["run", "bfs", GRAPH, "--vm", "cpu"]) == 2
    assert re.search(r"cpu: depth differs from the interpreter's at 1 of 64 vertices: at vertex 5 "
                     r"it is \d+, must be \d+", capsys.readouterr().err)


@pytest.mark.parametrize("words, message", [
    (["bfs", GRAPH, "--vm", "gpu"], "there is no such GraphVM; there are rtl, cpu, cuda, "
                                    "reference"),
    (["gcn", GRAPH, "--vm", "cpu"], "gcn is no program of the language; there are bc, bfs"),
    (["bfs", GRAPH, "--vm", "cpu", "--schedule", "em"], "chooses how the device works; only 'bfs' "
                                                        "is for cpu"),
    (["bfs", GRAPH, "--vm", "cpu", "--source", "64"], "source is 64, must be from 0 to 63"),
    (["nosuch.py", GRAPH, "--vm", "cpu"], "nosuch.py: cannot be read"),
    (["bfs", GRAPH, "--vm", "cpu", "--output", "depth.txt"], "depth.txt"),
])
def test_refused(words, message, capsys):
    assert main(["run", *words]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
