"""``examples/notebook``: the notebook runs, and its cycles are those of the command line.

=====================  =============================================================
the file               test_it_has_no_outputs
the run                test_cycles, test_pictures, test_the_waveform
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


@pytest.fixture(scope="module")
def printed(ran):
    return "".join(output.text for cell in ran.cells for output in cell.get("outputs", ())
                   if output.output_type == "stream")


def grid(side):
    """The notebook's grid, made anew without scipy."""
    place = np.arange(side * side).reshape(side, side)
    pairs = [*zip(place[:, 1:].flat, place[:, :-1].flat), *zip(place[1:].flat, place[:-1].flat)]
    pairs += [(second, first) for first, second in pairs]
    first, second = zip(*sorted(pairs))
    return Graph(side * side, first, second, name="grid")


def test_cycles(printed, tmp_path, capsys, monkeypatch):
    """Printed numbers of cycles, some drawn, are those of `graphloom run` with the same graph."""
    monkeypatch.chdir(tmp_path)
    write(grid(7), "grid.npz")
    write(Graph(6, [0] * 5, [1, 2, 3, 4, 5], name="star"), "star.npz")
    graphs = {"club": "karate", "grid": "grid.npz", "star": "star.npz"}
    lines = re.findall(r"(?m)^(\w+) (\w+) (\w+): (\d+) cycles$", printed)
    assert len(lines) == 13 and len(set(lines)) == 13
    for algorithm, graph, schedule, cycles in seeds.draw("notebook").sample(lines, 4):
        parameters = ["--source", "0"] if algorithm == "bfs" else ["--iterations", "2"]
        assert main(["run", algorithm, graphs[graph], *parameters, "--schedule", schedule,
                     "--preset", "tiny", "--json", "run.json"]) == 0
        with open("run.json") as file:
            found = json.load(file)["results"][0]["cycles"]
        assert found == int(cycles), (algorithm, graph, schedule)
    capsys.readouterr()


def test_pictures(ran):
    pictures = [output for cell in ran.cells for output in cell.get("outputs", ())
                if "image/png" in output.get("data", {})]
    assert len(pictures) == 3


def test_the_waveform(printed):
    """The signals show what the run does: the hub's lane goes on alone."""
    assert "warp 0 ran with 1, 4 lanes" in printed
    assert "club: 34 vertices, 156 arcs, at most 17 of a vertex" in printed
