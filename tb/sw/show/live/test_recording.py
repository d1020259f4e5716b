"""Recordings of a run's host, and what they say of addresses.

====================  ========================================================
steps                 test_steps, test_the_same, test_words_of_outputs, test_outputs
the machine           test_hardware
addresses             test_buffers, test_widths, test_lists, test_not_drawn
refusals              test_too_many_edges, test_too_many_cycles
====================  ========================================================
"""

import base64
import hashlib
import itertools
import types

import numpy as np
import pytest

from base.errors import LimitError, UserError
from hw.config import preset
from hw.registers import CORE_COUNTERS, GPU_COUNTERS, WARP_OFFSET, counter_address
from hw.stalls import STALLS
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


def _output(outputs, derived, steps):
    result = types.SimpleNamespace(outputs=outputs, derived=derived)
    return [recording._output(name, result, steps) for name in outputs]


def test_outputs():
    """The last look with an output's words counts; one that was computed has none."""
    words = np.array([1, 0x01020304], np.uint32)
    text = "AQAAAAQDAgE="
    steps = [["look", 4, text], ["look", 8, text], ["memory", 4, text], ["look", 4, "AAAA"]]
    fixed, plain, computed = _output(
        {"rank": words, "depth": words.astype(np.int32), "sum": words + np.uint32(1)},
        {"rank_float": None, "fraction_bits": np.int64(30)}, steps)
    assert fixed == {"name": "rank", "dtype": "<u4", "length": 2, "step": 1, "fraction_bits": 30,
                     "sha256": hashlib.sha256(words.tobytes()).hexdigest()}
    assert (plain["dtype"], plain["step"], plain["fraction_bits"]) == ("<i4", 1, 0)
    assert computed["step"] is None
    assert recording._text([1, 0x01020304]) == text


def test_hardware(made):
    """What the page needs to know of the machine."""
    assert made["memory"] == {"base": 0x80000000, "bytes": CONFIG.memory_bytes,
                              "timing": [32, 1, 100, 64]}
    hardware = made["hardware"]
    assert (hardware["name"], hardware["warps"], hardware["lanes"], hardware["unit"]) == (
        "tiny", CONFIG.warps, CONFIG.threads, "fsm")
    assert hardware["line_bytes"] == CONFIG.line_bytes and hardware["scu"] == 0
    assert len(hardware["states"]) == len(hardware["state_labels"]) == 2 + len(STALLS)
    assert hardware["state_labels"][:2] == ["ended", "issues"]
    used = {"weaver_decodes": 1, "scu_operations": 0}
    assert hardware["units"] == recording._units(CONFIG, used)
    assert [unit["used"] for unit in recording._units(CONFIG.replace(scu=1), used)] == [True, False]
    assert [unit["used"] for unit in recording._units(CONFIG.replace(scu=1), {
        "weaver_decodes": 0, "scu_operations": 1})] == [False, True]
    assert recording._units(CONFIG.replace(gather="none"), used) == []
    places = made["registers"]
    assert places["core"] == list(CORE_COUNTERS) and places["gpu"] == list(GPU_COUNTERS)
    for at, name in ((places["core_base"], places["core"][0]), (places["gpu_base"],
                                                               places["gpu"][0])):
        assert at == counter_address(name)
    assert places["warp_base"] == places["core_base"] + WARP_OFFSET


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
