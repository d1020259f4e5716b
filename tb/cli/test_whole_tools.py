"""The whole output of commands about graphs, differences, syntheses and checks, as test_whole."""

import copy
import dataclasses
import functools
import json
import os
import pathlib
import types

import pytest

from sw.golden.lockstep import Difference
from sw.study.benchmarks import formats
from synth import budgets, flow, overhead
from synth.estimate import Estimate
from synth.logic import Area
from synth.netlist import PathStep
from synth.place import Placement
from tb.sw.show.report.test_whole import _compared, _result
from tb.told import number


EXPECTED = pathlib.Path(__file__).parent / "outputs_tools.txt"


@pytest.fixture
def shows(shows):
    """As in conftest, with the file of the texts."""
    return functools.partial(shows, EXPECTED)


# Graphs

def test_graphs(shows, tmp_path):
    (tmp_path / "named.csv").write_text("from,to,weight\nb,a,3\na,c,4\nb,c,5\nc,c,6\n")
    shows("info", "graph", "info", "karate", "--json", "facts.json")
    shows("info of a file", "graph", "info", "named.csv", "--undirected")
    shows("convert", "graph", "convert", "named.csv", "plain.wel")
    assert (tmp_path / "plain.wel").read_text() == "1 0 3\n0 2 4\n1 2 5\n2 2 6\n"
    shows("convert with names", "graph", "convert", "named.csv", "named.npz", "--simplify")
    shows("generators", "graph", "generate")
    shows("generate", "graph", "generate", "road:side=3,seed=2", "road.gr", "--undirected")
    shows("generate nothing", "graph", "generate", "road:side=3,seed=2")
    shows("generate what is not there", "graph", "generate", "lattice:side=3", "x.npz")


def test_formats(shows, monkeypatch):
    monkeypatch.setattr(formats, "build_seconds", lambda graph, texts, direction, repeat, report: {
        text: [number(f"{text} {turn}") / 1e6 for turn in range(repeat)] for text in texts})
    monkeypatch.setattr(formats, "_peak", lambda graph, text, direction: number(text) << 10)
    shows("formats", "graph", "formats", "karate", "--formats", "tigr:k=2,cr2:cluster_bits=4",
          "--direction", "pull", "--repeat", "2", "--json", "formats.json")
    shows("bench formats", "bench", "formats", "--graph", "road:side=4,seed=1", "--formats",
          "coo,cr2:cluster_bits=2", "--json", "formats.json")
    shows("formats without arcs", "graph", "formats", "uniform:vertices=3,edges=0,seed=1",
          "--formats", "csr")


# Differences

def test_diff(shows, tmp_path):
    before = _compared(_result("bfs", "weaver"), sources="one")
    after = copy.deepcopy(before) | {"sources": "two"}
    after["dram"]["latency"] = 300
    figures = after["results"][0]
    figures["total_cycles"] = 2 * before["results"][0]["total_cycles"]
    figures["counters"] |= {"lanes": 0, "instructions": 5 * figures["counters"]["instructions"],
                            "l1_loads": figures["counters"]["l1_loads"] - 100}
    figures["checksum"] = "other"
    many = _compared(*(_result(f"bfs schedule={name}", name) for name in ("vm", "em", "weaver")))
    fewer = _compared(*(_result(f"bfs schedule={name}", name, orders=7)
                        for name in ("vm", "em", "twc", "twc")))
    fewer["configuration"]["l1_bytes"] = 4096
    fewer["results"][1]["configuration"] = {"l1_ways": 2}
    for place, value in enumerate((before, after, many, fewer)):
        (tmp_path / f"{place}.json").write_text(json.dumps(value))
    shows("diff", "diff", "0.json", "1.json", "--json", "2-diff.json")
    shows("diff of all", "diff", "0.json", "1.json", "--all")
    shows("diff of the same", "diff", "0.json", "0.json")
    shows("diff of many", "diff", "2.json", "3.json")


# Syntheses

def _logic(name, memories=True):
    areas = {field.name: number(f"{name} {field.name}") for field in dataclasses.fields(Area)}
    return types.SimpleNamespace(
        area=Area(**areas), seconds=7.4, log=pathlib.Path("yosys.log"), cells={"LUT4": 3},
        memories={"unit.store": "block RAM", "unit.queue": "flip-flops"} if memories else {})


def test_synth_budgets(shows, monkeypatch, tmp_path):
    path = tmp_path / "budgets.toml"
    monkeypatch.setattr(budgets, "PATH", path)
    for function in (budgets.load, budgets.write):
        monkeypatch.setattr(function, "__defaults__", (path,))
    areas = {name: {resource: getattr(_logic(name).area, resource)
                    for resource in budgets.RESOURCES}
             for name in ("weaver/tiny", "scu-1/tiny", "core/tiny")}
    areas["scu-1/tiny"]["lut4"] = 100 * areas["scu-1/tiny"]["lut4"] // 106
    areas["core/tiny"]["ff"] *= 2
    kinds = {"unit.store": "block RAM", "unit.queue": "flip-flops"}
    monkeypatch.setattr(budgets.UnitBudget, "measure", lambda self, heard: _logic(self.name))
    for name, memories in (("held", kinds), ("of other memories", {
            "unit.store": "flip-flops", "unit.gone": "flip-flops"})):
        budgets.write([budgets.UnitBudget(unit, unit != "core/tiny", area, memories)
                       for unit, area in areas.items()], path)
        shows(f"synth budgets {name}", "synth", "budgets", "--jobs", "1")
        shows(f"synth budgets {name}, quick", "synth", "budgets", "--quick", "--jobs", "1")
    shows("synth budgets updated", "synth", "budgets", "--update", "--jobs", "1")
    shows("synth budgets after that", "synth", "budgets", "--jobs", "1")


def test_synth_overhead(shows, monkeypatch):
    monkeypatch.setattr("synth.tools.find", lambda name: types.SimpleNamespace(version="Y 1"))
    rows = [(lanes, unit) for lanes in (4, 8) for unit in ("fsm", "scu-1")]
    monkeypatch.setattr(overhead, "measure", lambda config, chip, counts, units, jobs, heard: [
        types.SimpleNamespace(
            lanes=lanes, unit=f"unit {unit}", host="core", added=_logic(f"{lanes} {unit}").area,
            without=_logic(f"{lanes}").area, share=lambda resource: None if resource == "dsp"
            else number(f"{lanes} {unit} {resource}") / 1e4,
            record=lambda: {"lanes": lanes, "unit": f"unit {unit}"})
        for lanes, unit in rows if lanes in counts and unit in units])
    words = ["synth", "overhead", "--json", "overhead.json", "--jobs", "1"]
    shows("synth overhead", *words, "--lanes", "8", "--unit", "scu-1", "--unit", "fsm")
    shows("synth overhead of more", *words, "--lanes", "4,8", "--unit", "fsm")
    shows("synth overhead of another device", *words, "--lanes", "4", "--device", "ecp5-25k")


def test_synth_unit(shows, monkeypatch, tmp_path):
    monkeypatch.setattr("synth.tools.find", lambda name: types.SimpleNamespace(version="Y 1"))
    path = tuple(PathStep(time, kind, signal) for time, kind, signal in (
        (0.5, "clk-to-q", "unit.a"), (1.25, "logic", "unit.b"), (2.5, "routing", None),
        (3.75, "setup", "unit.c")))
    seen = []

    def measure(unit, config, device, *, seeds, frequency, jobs, heard):
        seen.append((unit.name, config.name, device.name, seeds, frequency, jobs))
        heard("synthesis", "under way")
        return flow.Figures(
            unit.name, config, device, _logic(unit.name, unit.name == "weaver"),
            None if device.name == "generic" else Estimate(7.5, 3, path),
            tuple(Placement(seed, 60.0 + seed, 4 + seed, path[:seed], {}, 9.6, tmp_path / "logs")
                  for seed in seeds))
    monkeypatch.setattr(flow, "measure", measure)
    shows("synth", "synth", "weaver", "--device", "generic", "--jobs", "3", "--json", "unit.json")
    shows("synth without a place", "synth", "scu-1", "--no-place", "--frequency", "60")
    shows("synth with places", "synth", "weaver", "--seeds", "3,1,4", "--json", "unit.json")
    assert seen == [("weaver", "fpga", "generic", (), 50, 3),
                    ("scu-1", "fpga", "ecp5-85k", (), 60, os.cpu_count()),
                    ("weaver", "fpga", "ecp5-85k", [3, 1, 4], 50, os.cpu_count())]


# Checks

def test_lockstep(shows, monkeypatch):
    def run(config, seed, *, size, launches, done):
        if config.threads == 4 and seed == 9:
            raise Difference("other words")
        done.instructions += 40
        done.lanes += 90
        done.launches += launches
        done.cycles += 100 * (config.warps == 1)
    times = iter(range(0, 1000, 6))
    monkeypatch.setattr("time.perf_counter", lambda: next(times))
    monkeypatch.setattr("checks.campaign.lockstep.run", run)
    monkeypatch.setattr("checks.campaign.functional.run", run)
    shows("lockstep", "lockstep", "--shape", "1x1", "--seed", "7", "--instructions", "120")
    shows("lockstep with a difference", "lockstep", "--shape", "2x4", "--shape", "2x8", "--seed",
          "7", "--instructions", "100", "--functional", "--set", "divider=none", "--size", "9")


def test_fuzz(shows, monkeypatch):
    def fuzz(command, seed, names, jobs, report):
        assert jobs == 2
        report({"good": 1998}, [])
        report({"good": 10, "refused": len(names) - 2009}, [])
        report({"fault": 1}, [{"case": "file:3", "fault": "a traceback", "command": "run fuzz.mtx",
                               "file": "fuzz.mtx", "data": "6162"}])
    monkeypatch.setattr("checks.campaign.fuzz.work.fuzz", fuzz)
    times = iter(range(0, 1000, 6))
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    shows("fuzz", "campaign", "--fuzz", "--seed", "4", "--jobs", "2", "--lines", "10", "--files",
          "4000", "--json", "fuzz.json", "--keep", "kept")
    assert pathlib.Path("kept/4-file-3.mtx").read_bytes() == b"ab"
