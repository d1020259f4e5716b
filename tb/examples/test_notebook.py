"""``examples/notebook``: the notebook runs, and its cycles are those of the command line.

=====================  =============================================================
the file               test_it_has_no_outputs
the run                test_cycles, test_pictures
=====================  =============================================================
"""

import json
import os
import re
from unittest import mock

import nbclient
import nbformat
import numpy as np
import pytest
import traitlets.config

from sw.cli.main import main
from sw.cli.tests import ROOT
from sw.graph import Graph
from sw.graph.save import write
from tb import seeds


PATH = ROOT / "examples" / "notebook" / "three_schedules.ipynb"


def test_it_has_no_outputs():
    """It is kept without outputs, and is written as Jupyter writes it."""
    notebook = nbformat.read(PATH, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
    assert PATH.read_text() == nbformat.writes(notebook) + "\n"


@pytest.fixture(scope="module")
def ran():
    """The notebook after a run of all its cells, in a kernel of this Python."""
    notebook = nbformat.read(PATH, as_version=4)
    local = traitlets.config.Config()
    local.KernelManager.transport = "ipc"           # no port of this machine is opened
    # The kernel drops the first folder of its path if it is the current one. Without a safe path
    # that folder is "", and the project's folder behind it stays.
    with mock.patch.dict(os.environ, {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": ""}):
        client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", config=local,
                                         resources={"metadata": {"path": str(ROOT)}})
        return client.execute()


def grid(side):
    """The notebook's grid, made anew without scipy."""
    place = np.arange(side * side).reshape(side, side)
    pairs = [*zip(place[:, 1:].flat, place[:, :-1].flat), *zip(place[1:].flat, place[:-1].flat)]
    pairs += [(second, first) for first, second in pairs]
    return Graph.from_edges(sorted(pairs), name="grid")


def test_cycles(ran, tmp_path, capsys, monkeypatch):
    """Printed numbers of cycles, some drawn, are those of `graphloom run` with the same graph."""
    printed = "".join(output.text for cell in ran.cells for output in cell.get("outputs", ())
                      if output.output_type == "stream")
    assert "<Graph club: 34 vertices, 156 arcs> at most 17 of a vertex" in printed
    assert "steps from member 0 to the last one: 2" in printed
    monkeypatch.chdir(tmp_path)
    write(grid(7), "grid.npz")
    graphs = {"club": "karate", "grid": "grid.npz"}
    lines = [(algorithm, graph, schedule, cycles)
             for algorithm, graph, table in re.findall(
                 r"(?m)^(\w+) on (\w+): .*\n((?:.+\n)+)", printed)
             for schedule, cycles in re.findall(r"(?m)^(\w+) +([\d,]+) ", table)]
    assert len(lines) == 12 and len(set(lines)) == 12
    for algorithm, graph, schedule, cycles in seeds.draw("notebook").sample(lines, 4):
        parameters = ["--source", "0"] if algorithm == "bfs" else ["--iterations", "2"]
        assert main(["run", algorithm, graphs[graph], *parameters, "--schedule", schedule,
                     "--preset", "tiny", "--json", "run.json"]) == 0
        with open("run.json") as file:
            found = json.load(file)["results"][0]["total_cycles"]
        assert found == int(cycles.replace(",", "")), (algorithm, graph, schedule)
    capsys.readouterr()


def test_pictures(ran):
    """Two figures, and the table of a result."""
    kinds = [kind for cell in ran.cells for output in cell.get("outputs", ())
             for kind in output.get("data", {})]
    assert kinds.count("image/png") == 2 and kinds.count("text/html") == 1
