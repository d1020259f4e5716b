"""``examples/widest_path.py`` and the program of docs/language.md: on the RTL and the interpreter.

==================  =============================================================
the example         test_it_runs
the page            test_the_page: its program, its command, its error
==================  =============================================================
"""

import os
import re
import subprocess
import sys

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import dijkstra

from hw.config import preset
from sw.cli.main import main
from sw.cli.tests import ROOT
from sw.graph import load
from sw.lang.reader import read_file, read_text
from sw.device import Device
from sw.vm import reference


PAGE = (ROOT / "docs" / "language.md").read_text()


def widest(graph, source):
    """The widest paths, one vertex after the other."""
    width = np.zeros(graph.num_vertices, np.int64)
    width[source] = (1 << 32) - 1
    left = set(range(graph.num_vertices))
    while left:
        vertex = max(left, key=lambda other: width[other])
        left.remove(vertex)
        arcs = np.flatnonzero(graph.src == vertex)
        for target, weight in zip(graph.dst[arcs].tolist(), graph.weights[arcs].tolist()):
            width[target] = max(width[target], min(width[vertex], weight))
    return width


def test_it_runs():
    script = ROOT / "examples" / "widest_path.py"
    assert len(script.read_text().splitlines()) < 40
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert done.returncode == 0, done.stderr
    names = re.findall(r"^(\w+): \d+ cycles$", done.stdout, re.MULTILINE)
    assert names == ["vm", "em", "weaver"]
    graph = load("powerlaw:vertices=90,edges=500,seed=2,weights=30")
    found = reference.run(read_file(script), graph, source=3).outputs["width"]
    assert np.array_equal(found, widest(graph, 3))
    with Device.functional(preset("tiny")) as device:
        ran = device.run(f"{script}:widest", graph, source=3, schedule="em").outputs["width"]
    assert np.array_equal(ran, found)


def test_the_page(tmp_path, monkeypatch, capsys):
    text = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    graph = load("rmat:scale=7,degree=5,seed=4,weights=20")
    program = read_text(text)
    matrix = scipy.sparse.coo_array((graph.weights, (graph.src, graph.dst)),
                                    (graph.num_vertices,) * 2)
    least = {}
    for row, column, weight in zip(*matrix.coords, matrix.data):
        least[row, column] = min(weight, least.get((row, column), weight))
    matrix = scipy.sparse.csr_array((list(least.values()), tuple(zip(*least))), matrix.shape)
    far = dijkstra(matrix, indices=0)
    found = reference.run(program, graph).outputs["distance"]
    assert np.array_equal(found, np.where(np.isinf(far), (1 << 32) - 1, far).astype(np.uint32))

    (tmp_path / "paths.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    command = re.search(r"^    ./graphloom (run paths.py .*)$", PAGE, re.MULTILINE)[1].split()
    command[2] = "road:side=5,seed=1"
    assert main([*command, "--preset", "tiny"]) == 0
    assert "distance: bit-identical" in capsys.readouterr().out
    (tmp_path / "paths.py").write_text(text.replace(
        "distance[dst].min(distance[src] + weight)", "distance[dst] = distance[src] + weight"))
    assert main(command) == 2
    wrong = " ".join(re.search(r"^    (paths.py:10:9: .*?)\n\n", PAGE, re.DOTALL | re.MULTILINE)[1]
                     .split())
    assert wrong in " ".join(capsys.readouterr().err.split())
