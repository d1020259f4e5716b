"""Graphs for tests: random small ones, and the real ones where the machine has them.

The real graphs are not part of the project. Tests that use them look in the folder that the
environment variable GRAPHLOOM_GRAPHS names, or else in ``shared/graphs`` beside the project. If
there is neither folder, these tests are skipped.
"""

import os
import pathlib

import numpy as np
import pytest
from hypothesis import strategies as st

from sw.graph import Graph


__all__ = ["arcs", "graphs", "random_graph", "real_graph", "real_graphs_folder"]


def arcs(graph):
    """The arcs of a graph in their order, each with its weight if there are any."""
    columns = [graph.src, graph.dst] + ([] if graph.weights is None else [graph.weights])
    return list(zip(*(column.tolist() for column in columns)))


def real_graphs_folder():
    """The folder of real graphs, or ``None``."""
    named = os.environ.get("GRAPHLOOM_GRAPHS")
    folder = (pathlib.Path(named) if named
              else pathlib.Path(__file__).resolve().parents[3] / "shared" / "graphs")
    return folder if (folder / "MANIFEST.tsv").is_file() else None


def real_graph(file):
    """The path of a real graph. Skips the test if the file is not there."""
    folder = real_graphs_folder()
    if folder is None or not (folder / file).is_file():
        pytest.skip(f"{file} is not here: set GRAPHLOOM_GRAPHS to the folder of real graphs")
    return str(folder / file)


def random_graph(vertices, edges, seed, weights=False):
    """A graph of arcs between any vertices, self-loops and parallel arcs included."""
    rng = np.random.default_rng(seed)
    return Graph(vertices, rng.integers(vertices, size=edges), rng.integers(vertices, size=edges),
                 rng.integers(1 << 32, size=edges) if weights else None)


@st.composite
def graphs(draw, weighted=None, max_vertices=12, max_edges=40):
    """Graphs of a few vertices; ``weighted`` is ``None`` for both kinds."""
    vertices = draw(st.integers(1, max_vertices))
    vertex = st.integers(0, vertices - 1)
    arcs = draw(st.lists(st.tuples(vertex, vertex), max_size=max_edges))
    weights = None
    if draw(st.booleans()) if weighted is None else weighted:
        weight = st.integers(0, 20) | st.integers(0, (1 << 32) - 1)
        weights = draw(st.lists(weight, min_size=len(arcs), max_size=len(arcs)))
    return Graph(vertices, [u for u, _ in arcs], [v for _, v in arcs], weights)
