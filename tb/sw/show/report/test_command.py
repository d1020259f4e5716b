"""The command line that a report gives for a run repeats the run.

======================  ========================================================
hardware                test_hardware: every preset and changes;
                        test_a_preset_no_nearer_than_the_default_is_not_named
options                 test_options
the same run            test_repeats: the cycles of the command are those shown
other versions          test_other_versions
======================  ========================================================
"""

import dataclasses
import json
import shlex

import pytest

from hw.config import PRESETS, ConfigError, preset
from hw.control import launch_cycles
from sim.dram import DramConfig
from sim.memories import changes_of, dram_of, parse_memory
from sw.cli.main import main
from sw.graph.load import GraphSource
from sw.show.report.command import (hardware_of, hardware_text, hardware_words, memory_of,
                                    run_command)
from sw.show.report.results import runs_of
from sw.device.target import Board, Target


@pytest.mark.parametrize("name", PRESETS)
def test_hardware(name):
    words = hardware_words(preset(name), dram_of({}, preset(name)))
    assert words == ([] if name == "default" else ["--preset", name])
    changed = preset(name).replace(counters=False, load_queue=2)
    words = hardware_words(changed, DramConfig(latency=7, queue=3))
    assert "counters=false" in words and "load_queue=2" in words
    assert words[-4:] == ["--dram", "latency=7", "--dram", "queue=3"]
    again = preset(name).assign([words[index + 1] for index, word in enumerate(words)
                                 if word == "--set"])
    assert again == changed
    text = hardware_text(changed)
    assert name in text and ("ports" in text) == (changed.memory_ports > 1)
    assert ("groups" in text) == (changed.group_warps > 0)
    assert ", groups of 8 warps" in hardware_text(changed.replace(warps=16, group_warps=8))
    several = changed.replace(l2_bytes=0, sector_bytes=0, fetch_sectors=1, l2_banks=4,
                              memory_ports=4)
    assert hardware_text(several).endswith("4 memory ports")


@pytest.mark.parametrize("name, fields", [
    (name, fields) for name, own in (("default", {"latency": 7}), ("gpu", {"tRP": 7}))
    for fields in ({}, own, {"model": "simple"}, {"model": "simple", "queue": 3},
                   {"model": "hbm2"})])
def test_the_memory_of_a_preset(name, fields):
    """The texts give the same memory again behind the preset; a model begins with its own."""
    config = preset(name)
    memory = dram_of(fields, config)
    assert parse_memory(changes_of(memory, config), config) == memory
    if fields:
        assert memory != dram_of({}, preset("gpu"))
    if "model" in fields:
        assert memory == dram_of(fields)


def test_a_preset_no_nearer_than_the_default_is_not_named():
    few = dataclasses.asdict(preset("tiny"))
    config = preset("default").replace(**{
        name: few[name] for name in ("warps", "threads", "imem_bytes", "local_bytes",
                                     "load_queue", "l2_mshrs", "memory_bytes")})
    words = hardware_words(config)
    assert "--preset" not in words and words.count("--set") == 7
    # One more field of tiny makes tiny nearer.
    words = hardware_words(config.replace(l1_ways=2))
    assert words[:2] == ["--preset", "tiny"] and words.count("--set") == 6


def test_options():
    config = preset("default")
    source = GraphSource("a b.el", weights=9, seed=4, undirected=True, simplify=True,
                         input_format="edges", columns="1,3", relabel=True, weight_scale=0.5,
                         no_weights=True)
    target = Target(config, launch_cycles=launch_cycles(config) + 1)
    words = shlex.split(run_command("bfs", source, target))
    assert words[1:5] == ["run", "a b.el", "--plan", "bfs"]
    rest = " ".join(words[5:])
    assert rest == ("--weights 9 --input-format edges --columns 1,3 --weight-scale 0.5 --seed 4 "
                    "--undirected --simplify --relabel --no-weights "
                    f"--launch-cycles {launch_cycles(config) + 1}")
    # The text of the graph has the seed.
    assert "--seed" not in run_command("bfs", GraphSource("x", seed=4), target)
    assert GraphSource("x", weights=1, seed=0).words() == ["x", "--weights", "1", "--seed", "0"]
    board = run_command("bfs", GraphSource("x"), Target(
        config, board=Board("/dev/ttyUSB0", 9600), launch_cycles=launch_cycles(config)))
    assert board.endswith("run x --plan bfs --device serial:/dev/ttyUSB0@9600")
    functional = run_command("bfs", GraphSource("x"), Target(config, functional=True))
    assert functional.endswith("--plan bfs --functional")


def test_repeats(made, tmp_path):
    for run in (*runs_of(made.run), runs_of(made.compare)[1]):
        path = tmp_path / "again.json"
        assert main([*shlex.split(run.command)[1:], "--json", str(path)]) == 0
        again, = json.loads(path.read_text())["results"]
        assert (again["total_cycles"], again["checksum"]) == (run.total, run.record["checksum"])
        assert again["plan"] == run.record["plan"]


def test_other_versions():
    record = dataclasses.asdict(preset("tiny"))
    assert hardware_of(record) == preset("tiny")
    assert memory_of(dataclasses.asdict(DramConfig(queue=5))) == DramConfig(queue=5)
    for wrong in (record | {"wheels": 4}, {"name": "tiny"}, [], None):
        with pytest.raises(ConfigError, match="of another version"):
            hardware_of(wrong)
        with pytest.raises(ConfigError, match="of another version"):
            memory_of(wrong)
