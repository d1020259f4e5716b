"""The worked examples of docs/extending.md: each file is short, and no other is changed."""

import importlib
import json
import pathlib
import re

import pytest

import sw.compile.formats
import sw.compile.schedules
from checks.campaign.machines import CONFIGS, machine
from sw.compile import registry
from sw.device import Device
from tb.sw.graphs import random_graph
from tb.sw.compile.kernels.test_programs import ALGORITHMS, GRAPHS, SCHEDULES, check, config


PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "extending.md"
EXAMPLES = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", PAGE.read_text(),
                           re.MULTILINE | re.DOTALL))


def test_there_is_one_of_each_and_they_are_short():
    assert [name.rpartition("/")[0] for name in EXAMPLES] \
        == ["sw/compile/formats", *["sw/compile/schedules"] * 2, "sw/study/reproduce"]
    assert all(text.count("\n") < 80 for text in EXAMPLES.values())


@pytest.fixture(autouse=True)
def examples(tmp_path, monkeypatch):
    """Put the files in folders where formats, schedules and papers are looked for."""
    for name, text in EXAMPLES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for name in {name.rpartition("/")[0] for name in EXAMPLES}:
        package = importlib.import_module(name.replace("/", "."))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / name)])
    registry._classes.cache_clear()
    yield
    registry._classes.cache_clear()


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(3)
def test_the_format_with_every_schedule(algorithm, direction):
    assert "sorted" in sw.compile.formats.names()
    for schedule in SCHEDULES:
        for name in ("random", "star", "loops"):
            check(config(2, 4), algorithm, GRAPHS[name], schedule, direction, seed=1,
                  format="sorted:window=16", **ALGORITHMS[algorithm])


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(3)
def test_the_schedule_with_every_format(algorithm, direction):
    assert "edge-by-edge" in sw.compile.schedules.names()
    for format in sw.compile.formats.names():
        for name in ("random", "star", "loops"):
            check(config(2, 4), algorithm, GRAPHS[name], "edge-by-edge", direction, seed=1,
                  format=format, **ALGORITHMS[algorithm])


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(3)
def test_the_schedule_of_two_kernels(algorithm, direction):
    for format in ("csr", "tigr:k=3", "ell", "cr2:cluster_bits=3", "sorted"):
        for name, split in zip(("random", "star", "one row"), ("static", "counter", "static")):
            result = check(config(2, 4, cores=2, imem_bytes=1 << 15), algorithm, GRAPHS[name],
                           "small-then-large:limit=3", direction, seed=1, format=format,
                           split=split, **ALGORITHMS[algorithm])
            assert {step.rpartition("_")[2] for step in result.steps} >= {"small", "large"}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_both_on_the_rtl(algorithm):
    graph = random_graph(40, 160, 5).weighted(9)
    with Device(CONFIGS["tiny"], lambda: machine("tiny")) as device:
        try:
            result = device.run(algorithm, graph, schedule="edge-by-edge", format="sorted",
                                max_cycles=5_000_000, **ALGORITHMS[algorithm])
        finally:
            device._machine = None          # other tests share this machine
    assert result.verified and result.cycles


def test_the_figure(monkeypatch, tmp_path):
    from sw.cli.main import main
    from sw.study.reproduce import setting
    karate = (setting.GraphChoice("karate", "karate", undirected=False),)
    monkeypatch.setitem(setting._GENERATED, "simulated", (karate, karate))
    assert main(["reproduce", "extra", "--preset", "tiny", "--jobs", "1", "--output",
                 str(tmp_path)]) == 0
    data = json.loads((tmp_path / "extra1.json").read_text())["data"]
    assert data["bytes"] == {"karate": 1388 / 764} and data["cycles"]["karate"] > 0
    assert (tmp_path / "extra1.png").stat().st_size > 1000
