"""Recordings of a run's host, and what they say of addresses.

====================  ========================================================
steps                 test_steps, test_the_same, test_words_of_outputs
addresses             test_buffers, test_widths, test_lists, test_not_drawn
refusals              test_too_many_edges, test_too_many_cycles
====================  ========================================================
"""

import base64
import itertools

import numpy as np
import pytest

from base.errors import LimitError, UserError
from hw.config import preset
from sw.graph.load import load
from sw.show.live import recording
from sw.show.live.recording import record
from sw.device import Device
from sw.compile.plan import as_plan


CONFIG = preset("tiny")
GRAPH = "rmat:scale=5,degree=4,seed=1"


@pytest.fixture(scope="module")
def made():
    return record(CONFIG, as_plan("bfs", source="hub", schedule="weaver"), load(GRAPH))


@pytest.fixture(scope="module")
def result():
    with Device.simulate(CONFIG) as device:
        return device.run("bfs", load(GRAPH), source="hub", schedule="weaver")


def test_the_same(made, result):
    """A run that is recorded is the run that is not."""
    assert made["result"]["cycles"] == result.cycles
    assert made["result"]["counters"] == result.counters
    assert made["result"]["checksum"] == result.checksum
    assert made["result"]["launches"] == result.launches


def test_steps(made, result):
    kinds = [step[0] for step in made["steps"]]
    assert kinds[0] == "power" and {*kinds} == {
        "power", "write", "read", "launch", "run", "clear", "memory", "fill", "look"}
    assert kinds.count("launch") == result.launches
    # A wait is some cycles longer than its launch.
    steps = made["steps"]
    waited = sum(next(step[1] for step in steps[place:] if step[0] == "run")
                 for place, kind in enumerate(kinds) if kind == "launch")
    assert 0 < waited - result.cycles < 50 * result.launches


def test_words_of_outputs(made, result):
    """The last read of an output has its words."""
    for output in made["result"]["outputs"]:
        words = np.frombuffer(base64.b64decode(made["steps"][output["step"]][2]), output["dtype"])
        assert (words == result.outputs[output["name"]]).all()
        assert output["length"] == len(words)


def test_buffers(made):
    of = {buffer["name"]: buffer["of"] for buffer in made["buffers"]}
    assert of["offsets"] == of["vector_depth"] == "vertex"
    assert of["neighbors"] == "edge" and of["set_blocks"] is None
    places = sorted((buffer["address"], 4 * buffer["words"]) for buffer in made["buffers"])
    assert all(first + size <= second
               for (first, size), (second, _) in itertools.pairwise(places))


def test_widths():
    """A vertex of gcn has five words, and room for eight. The page divides addresses by this."""
    with Device.functional(CONFIG) as device:
        task = device.plan("gcn", load(GRAPH), dimension=5, columns=3, schedule="vm")
    buffers = {buffer["name"]: buffer for buffer in recording._shown(task)["buffers"]}
    assert {name: (buffers[name]["width"], buffers[name]["of"]) for name in (
        "end_in", "product", "output")} == {
            "end_in": (4, "vertex"), "product": (32, "vertex"), "output": (32, "vertex")}
    assert all(buffers[name]["words"] == 8 * task.vertex_words for name in ("product", "output"))


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_lists(direction):
    """The edges of a list are in the order of the device's array."""
    graph = load(GRAPH)
    made = record(CONFIG, as_plan("bfs", direction=direction, schedule="vm"), graph)
    edges, = made["lists"]
    assert edges["pull"] == (direction == "pull")
    arcs = sorted(zip(graph.src.tolist(), graph.dst.tolist()))
    pairs = list(zip(edges["bases"], edges["neighbors"]))
    assert sorted((b, a) if edges["pull"] else (a, b) for a, b in pairs) == arcs
    buffers = {buffer["name"]: buffer for buffer in made["buffers"]}
    base = buffers["vector_depth"]["address"]
    words = next(np.frombuffer(base64.b64decode(step[2]), "<u4") for step in made["steps"]
                 if step[0] == "memory" and step[1] == buffers["neighbors"]["address"])
    assert ((words[:len(pairs)] - base) // 4).tolist() == edges["neighbors"]


@pytest.mark.parametrize("changes", [{"format": "csr:reorder=rcm"}, {"format": "ell"}])
def test_not_drawn(changes):
    """Where positions in memory are not those of the graph's edges, no edge is lit."""
    made = record(CONFIG, as_plan("pagerank", schedule="vm", iterations=1, **changes), load(GRAPH))
    assert made["lists"] == [] and all(one["of"] != "edge" for one in made["buffers"])


def test_too_many_edges(monkeypatch):
    monkeypatch.setattr(recording, "MOST_EDGES", 100)
    with pytest.raises(UserError, match="128 arcs .* 100"):
        record(CONFIG, as_plan("bfs"), load(GRAPH))


def test_too_many_cycles(monkeypatch):
    monkeypatch.setattr(recording, "MOST_CYCLES", 100)
    with pytest.raises(LimitError, match="100 cycles"):
        record(CONFIG, as_plan("bfs", source="hub"), load(GRAPH))
