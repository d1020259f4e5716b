"""The whole output of commands, from runs that are told: each cell of each table, each line, what
is written to files, and the exit code.

The runs are no runs: every number is another (``tb/told.py``), so that each place says which one it
shows.
"""

import contextlib
import dataclasses
import functools
import pathlib
import re

import numpy as np
import pytest

from base.errors import RunError
from hw.registers import COUNTERS
from sw.compile.lowered import Lowered
from sw.device.device import Device
from sw.study.benchmarks import budgets, programs
from sw.study.benchmarks.batch import Batch
from tb import expected
from tb.executors import InThisProcess
from tb.told import number, ran


EXPECTED = pathlib.Path(__file__).parent / "outputs.txt"


@pytest.fixture
def shows(shows):
    """As in conftest, with the file of the texts."""
    return functools.partial(shows, EXPECTED)


@pytest.fixture
def batches(monkeypatch):
    """Runs of batches are told. Those of some pairs of a schedule and a graph fail, have a note, or
    are refused."""
    def run(self, executor, report, begun=lambda case: None):
        done = len(self.records)
        for case in [case for case in self.cases if case not in self.records]:
            begun(case)
            plan = case.plan.text
            record = {"case": case.record(), "error": "no luck"} if (
                "twc" in plan and "road" in case.graph) else {
                "case": case.record(), case.REFUSED: "no room"} if (
                "twc" in plan and "bfs" in plan) else ran(
                case, self.config, self.dram, notes=["a note"] * ("=em" in plan),
                **{"launch_cycles": 7, "total_cycles": number(str(case.record()))} if hasattr(
                    case, "said") else {})
            if "counters" in record and hasattr(case, "system"):
                record["counters"] |= {name: number(f"{case.record()} {name}") for name in (
                    "dram_bytes_read", "dram_bytes_written")}
            self.records[case] = self._file.keep(self._key(case), record)
            done += 1
            report(case, record, done, len(self.cases))
    monkeypatch.setattr(Batch, "run", run)


GRAPHS = ("karate", "road:side=4,seed=1")


def test_bench_units(shows, batches):
    shows("bench units", "bench", "units", *GRAPHS, "--units", "fsm,graphpeg,scu", "--schedules",
          "vm,twc", "--splits", "static,counter", "--algorithms", "pagerank,bfs,sssp", "--json",
          "figures.json")


def test_bench_schedules(shows, batches):
    shows("bench schedules", "bench", "schedules", *GRAPHS, "--schedules", "em,twc,vm",
          "--results", "runs.jsonl", "--launch-cycles", "11")
    shows("bench schedules again", "bench", "schedules", *GRAPHS, "--schedules", "vm",
          "--results", "runs.jsonl", "--directions", "push", "--algorithms", "bfs")


def test_bench_cores(shows, batches):
    shows("bench cores", "bench", "cores", *GRAPHS, "--cores", "1,2,3", "--schedules", "vm,twc,em")


def test_bench_bandwidths(shows, batches):
    shows("bench bandwidths", "bench", "bandwidths", *GRAPHS, "--preset", "tiny", "--units",
          "fsm,scu", "--schedules", "vm,twc,em", "--algorithms", "pagerank,bfs", "--lane-bytes",
          "1,0.25", "--results", "runs.jsonl")
    shows("bench bandwidths of one schedule", "bench", "bandwidths", GRAPHS[1], "--units",
          "graphpeg", "--schedules", "twc", "--algorithms", "pagerank,cc", "--lane-bytes", "1.5")


def test_sweep(shows, batches, monkeypatch):
    shows("sweep", "sweep", "--graph", "karate", "--graph", GRAPHS[1], "--algorithm", "bfs",
          "--preset", "tiny", "--schedules", "vm,twc,em", "-o", "out", "--set", "l1_ways=1,2",
          "--table", "out.csv")


@pytest.mark.parametrize("more", [["--list"], ["fig3.9", "--results", "runs.jsonl"]])
def test_reproduce(shows, batches, monkeypatch, more):
    from sw.study.reproduce import setting
    choices = tuple(setting.GraphChoice(name, name, undirected=False) for name in GRAPHS)
    for name in setting._GENERATED:
        monkeypatch.setitem(setting._GENERATED, name, (choices, choices))
    monkeypatch.setattr("sim.toolchain.verilator", lambda: None)
    monkeypatch.setattr("sim.toolchain.compiler", lambda: None)
    shows(f"reproduce {more[0]}", "reproduce", "cr2", *more)


# Runs

def _run_task(self, task, *, max_cycles=None, verify=True):
    """As Device.run_task: the words are those of the functional simulator, the numbers are told."""
    result = _RUN_TASK(Device.functional(self.config), task)
    words = f"{task.plan.text} {self.config.gather} {self.config.name}"
    counters = {name: number(f"{words} {name}") for name in (
        *COUNTERS, "dram_bytes_read", "dram_bytes_written",
        *["slow_bytes_read", "slow_bytes_written"] * self.slow_edges)}
    counters |= {name: 10 * counters[name] for name in ("cycles", "lanes", "l1_loads")}
    if max_cycles is not None or "near=" in words:
        raise RunError("no luck", counters)
    shape = (self.config.cores, self.config.warps, 7)
    phases = np.array([number(f"{words} {place}") for place in range(int(np.prod(shape)))],
                      np.uint64).reshape(shape)
    phases[:, :, -1] = phases[:, :, :-1].sum(axis=2)
    return dataclasses.replace(
        result, cycles=counters["cycles"], orders=13, launches=11, launch_cycles=counters[
            "instructions"] // 7, counters=counters, core_counters=[counters] * self.config.cores,
        used={"unroll": 2}, phases=phases, set_cycles=[("one", 5)], set_counters=[{"lanes": 3}],
        steps={"one": {"unit": "cores"} | counters}, notes=["a note"],
        lowered=Lowered(False, (), ()))


_RUN_TASK = Device.run_task


@pytest.fixture
def runs(monkeypatch):
    class _Builder(contextlib.nullcontext):
        def __init__(self, configs):
            super().__init__(self)

        def wait(self, config):
            """Nothing is built."""
    monkeypatch.setattr("sw.cli.building.Builder", _Builder)
    monkeypatch.setattr(Device, "run_task", _run_task)


def test_compare(shows, runs):
    shows("compare", "compare", "pagerank", "karate", "--preset", "tiny", "--schedules",
          "vm,em,weaver", "--details", "--json", "all.json", "--iterations", "2")
    shows("compare without schedules", "compare", "bfs", "karate", "--set", "cores=2", "--source",
          "3", "--details")
    shows("compare without a unit", "compare", "bfs", "karate", "--preset", "tiny", "--set",
          "gather=none", "--json", "all.json")
    shows("compare what is refused", "compare", "bfs", "karate", "--preset", "tiny", "--set",
          "gather=none", "--schedules", "em,weaver")


def test_run(shows, runs):
    shows("run", "run", "bfs", "karate", "--preset", "tiny", "--source", "3", "--schedule", "vm",
          "--phases", "--counters", "--json", "run.json", "--set", "cores=2")
    shows("run a plan", "run", "karate", "--plan", "pagerank schedule=em", "--dram",
          "slow_bytes_per_cycle=8")


# Searches

def _measure(setting, plan, limit=None):
    """As sw.study.tune.runs.measure: told cycles. Plans with a bitmap fail."""
    cycles = number(plan)
    if "bitmap" in plan:
        return {"status": "failed", "error": "no luck"}
    if limit is not None and cycles > limit:
        return {"status": "stopped", "cycles": limit}
    return {"status": "done", "cycles": cycles, "launch_cycles": 7, "supersteps": 3,
            "checksum": "0", "reached": 34, "notes": ["a note"]}


@pytest.fixture
def searches(monkeypatch):
    monkeypatch.setattr("sw.study.tune.runs.measure", _measure)
    monkeypatch.setattr("sw.study.benchmarks.executors.Processes", lambda jobs: InThisProcess())
    monkeypatch.setattr("sw.study.tune.search.whole", lambda record: record, raising=False)


ONLY = [word for axis in ("schedule=vm", "schedule=em", "format=csr", "frontier=queue",
                          "frontier=bitmap", "frontier=bytemap", "split=static", "fusion=no",
                          "deduplicate=own", "warps=own", "warps=1", "warps=2")
        for word in ("--only", axis)]


@pytest.mark.parametrize("stop", ["--stop", "--no-stop"])
def test_tune(shows, searches, stop):
    shows(f"tune {stop}", "tune", "bfs", "karate", "--functional", "--source", "3", "--strategy",
          "exhaustive", "--options", "none", stop, *ONLY, "--json", "tune.json", "--results",
          "trials.jsonl", "--jobs", "1")


def test_bench_tune(shows, searches):
    shows("bench tune", "bench", "tune", "karate", "--functional", "--algorithms", "bfs",
          "--strategies", "random,coordinate", "--options", "none", "--seeds", "3", *ONLY,
          "--json", "tune.json", "--results", "tables.jsonl", "--jobs", "1")


# Wall times

def _ways(*names):
    def measured(algorithm, graph, given, repeat, ended=lambda way: None):
        for name in names:
            ended(name)
        return {name: {"seconds": [number(f"{algorithm} {name} {turn}") / 1e6
                                   for turn in range(repeat)],
                       "same": (name, algorithm) != ("scipy", "bfs")}
                | ({"notes": [f"a note of {algorithm}"]} if name == "cpu" else {})
                for name in names if (name, algorithm) != ("scipy", "bc")}
    return measured


def test_bench_programs(shows, monkeypatch):
    monkeypatch.setattr(programs, "on_cpu", _ways("cpu", "scipy"))
    monkeypatch.setattr(programs, "on_gpu", _ways("cpu", "twc push", "etwc own", "cupy"))
    shows("bench programs", "bench", "programs", *GRAPHS, "--json", "times.json")
    monkeypatch.setattr("sw.vm.cuda.available", lambda: None)
    shows("bench programs on a GPU", "bench", "programs", GRAPHS[0], "--undirected", "--vm",
          "cuda", "--algorithms", "pagerank,sssp", "--delta", "8")


def test_bench_budgets(shows, monkeypatch, tmp_path):
    path = tmp_path / "budgets.toml"
    monkeypatch.setattr(budgets, "PATH", path)
    monkeypatch.setattr(budgets.Budget, "measure", lambda self: {"error": "no luck"}
                        if "karate/cc" in self.name else {"cycles": 1000})

    def held(**cases):
        path.write_text("[cycles]\n" + "".join(
            f'"tiny/karate/{name}/push/vm" = {cycles}\n' for name, cycles in cases.items()))
    held(bfs=1000, pagerank=981, sssp=980)
    shows("bench budgets", "bench", "budgets")
    held(bfs=1000, pagerank=981)
    shows("bench budgets held", "bench", "budgets")
    held(bfs=500, cc=9)
    shows("bench budgets failed", "bench", "budgets", "--update")
    assert "500" in path.read_text()
    held(bfs=500, sssp=0)
    shows("bench budgets updated", "bench", "budgets", "--update")
    expected.check(EXPECTED, "budgets.toml", re.sub("(?m)^# ", "", path.read_text()))
