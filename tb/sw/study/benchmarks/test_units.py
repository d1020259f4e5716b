"""``bench units``: its runs, the figures of known records, and the command.

======================  ========================================================
runs                    test_the_runs, test_units_and_their_hardware
figures                 test_the_better_direction, test_ratios, test_summary,
                        test_groups, test_the_busiest_part, test_compaction
the command             test_tables, test_failures, test_resumes, test_the_graphs,
                        test_the_better_split, test_bad_input,
                        test_a_run_of_the_simulator
======================  ========================================================
"""

import json
import math

import pytest

from hw.config import preset
from hw.stalls import L1_STALLS
from sim.dram import DramConfig
from sw.study.benchmarks import units
from sw.study.benchmarks.cores import LIMITS, RESOURCES
from sw.study.benchmarks.executors import Processes
from sw.study.benchmarks.system import System
from sw.cli.main import main
from sw.graph.load import load


TINY, DRAM = preset("tiny"), DramConfig()
SMALL = [("karate", False), ("road:side=4,seed=1", False)]


def _cases(names=("fsm", "stream"), graphs=SMALL, algorithms=("pagerank", "bfs"),
           schedules=("vm", "em"), config=TINY):
    return _grids(names, config, graph=graphs, algorithm=algorithms, schedule=schedules)


def _grids(names, config=TINY, split=("static",), **axes):
    return units.grids(axes | {"split": split}, names, System(config, DRAM), 1, 255)


def _counters(config, cycles, **changes):
    counters = dict.fromkeys(("instructions", "l1_accesses", "l2_accesses", "dram_reads",
                              "dram_writes", "stall_memory", "weaver_stalls", "stall_barrier",
                              "stall_idle", "l1_stall_bank",
                              *(f"l1_stall_{name}" for name in L1_STALLS)), 0)
    return counters | {"cycles": cycles} | changes


def _record(case):
    """Cycles that are known: by the schedule and the direction, and twice as many on the road."""
    cycles = {"vm": 400, "em": 300, "weaver (fsm)": 200, "weaver (stream)": 100, "graphpeg": 150,
              "compact": 500, "scu": 400, "scu-enhanced": 250, "scu-stream": 625}[case.column]
    if case.plan.algorithm == "bfs" and case.column == "em":
        cycles = 50
    cycles += 7 * (case.plan.direction == "pull") - 10 * (case.plan.split == "counter")
    cycles *= 1 + ("road" in case.graph)
    config = case.system.config
    return {"cycles": cycles, "orders": 1, "counters": _counters(
        config, cycles, instructions=cycles // 2, l1_accesses=3 * cycles // 4,
        weaver_stalls=cycles // 10, l1_stall_fill=cycles // 5)}


def _records(runs):
    return {case: _record(case) for case in runs.cases}


def _fewest(runs, records):
    return units.fewest(runs.found(records))


# Runs

def test_the_runs():
    runs = _cases()
    assert list(runs) == [""]
    # Two graphs, two algorithms of two directions, two rivals and two units.
    cases = runs[""].cases
    assert len(cases) == len(set(cases)) == 2 * 2 * 2 * 4
    assert {case.column for case in cases} == {"vm", "em", "weaver (fsm)", "weaver (stream)"}
    assert all(dict(case.plan.parameters) in ({"iterations": 1}, {"source": "hub"})
               for case in cases)
    both = _grids(("fsm",), split=("static", "counter"), graph=SMALL, algorithm=("bfs",),
                  schedule=("vm",))
    assert sorted(case.plan.split for case in both[""].cases) == ["counter"] * 8 + ["static"] * 8
    scu = _cases(["scu"], algorithms=("cc", "sssp", "pagerank"))
    assert list(scu) == ["large", "small"]
    for name, grid in scu.items():
        some = grid.cases
        assert len(some) == 2 * 2 * 4 and {case.system.name for case in some} == {name}
        assert {case.plan.direction for case in some} == {"push"}
        assert {(case.plan.algorithm, "delta" in dict(case.plan.parameters)) for case in some} == {
            ("sssp", True), ("pagerank", False)}


def test_units_and_their_hardware():
    """All runs have the given hardware, but for the unit. The rivals' runs are the same whichever
    units are asked for."""
    config = TINY.replace(l1_banks=2)
    runs = _cases(config=config)[""].cases
    for case in runs:
        mine = case.system.config
        assert mine.replace(gather="fsm", name="") == config.replace(name="")
        assert mine.gather == ("stream" if case.column == "weaver (stream)" else "fsm")
    assert set(_cases(["stream"], config=config)[""].cases) < set(runs)


# Figures of known records

def test_the_better_direction():
    runs = _cases()[""]
    records = _records(runs)
    places = _fewest(runs, records)
    assert len(places) == 4
    best = places[("karate", False), "pagerank"]["vm"]
    assert (best.cycles, best.case.plan.direction, best.failed) == (400, "push", False)
    for case in runs.cases:
        if (case.column, case.plan.direction) == ("vm", "push"):
            records[case] = {"refused": "has no push"}
    best = _fewest(runs, records)[("karate", False), "pagerank"]["vm"]
    assert (best.cycles, best.case.plan.direction) == (407, "pull")
    for case in runs.cases:
        if case.column == "vm":
            records[case] = {"refused": "does not fit"}
        if case.column == "em":
            records[case] = {"error": "hangs"}
    places = _fewest(runs, records)
    assert {columns["vm"].cycles for columns in places.values()} == {None}
    # The best of software is not known where one of the schedules failed; a refusal is none.
    assert units.ratios(places, ["vm", "em"], ["weaver (fsm)"]) == {}
    assert units.ratios(places, ["vm"], ["weaver (fsm)"]) == {}
    assert len(units.ratios(places, ["weaver (fsm)", "vm"], ["weaver (stream)"])) == 4


def test_ratios():
    runs = _cases()[""]
    found = units.ratios(_fewest(runs, _records(runs)), ["vm", "em"], ["weaver (fsm)"])
    assert found == {(graph, algorithm): ratio for graph in SMALL
                     for algorithm, ratio in (("pagerank", 1.5), ("bfs", 0.25))}


def test_summary():
    assert units.summary([]) is None
    found = units.summary([4, 0.25, 1])
    assert found == {"mean": pytest.approx(1), "smallest": 0.25, "slower": 1, "places": 3}


def test_groups():
    """Skewed graphs and others apart; a graph is skewed from a Gini coefficient of 0.5 on."""
    kinds = {("karate", False): True, ("road:side=4,seed=1", False): False}
    runs = _cases()[""]
    found = units.over_software(_fewest(runs, _records(runs)), "stream", ["vm", "em"],
                                ["pagerank", "bfs"], kinds)
    assert list(found) == ["best", "vm", "em"]
    for group, places in (("skewed", 1), ("others", 1), ("all", 2)):
        best = found["best"][group]
        assert best["pagerank"] == {"mean": pytest.approx(3), "smallest": 3, "slower": 0,
                                    "places": places}
        assert best["bfs"]["slower"] == places and best["bfs"]["smallest"] == 0.5
        assert best["all"]["mean"] == pytest.approx(math.sqrt(1.5))
        assert found["vm"][group]["all"]["mean"] == pytest.approx(4)
    assert units.skewed(load(units.GRAPHS[0])) and units.skewed(load(units.GRAPHS[2]))
    assert not units.skewed(load(units.GRAPHS[3])) and not units.skewed(load(units.GRAPHS[4]))


def test_the_busiest_part():
    config = TINY.replace(l1_banks=2, l1_mshrs=8, cores=2, l2_bytes=1 << 12, l2_banks=4)
    runs = _cases(config=config)[""]
    records = _records(runs)

    def rows(**counters):
        for case in runs.cases:
            records[case] = {"cycles": 1000, "counters": _counters(config, 1000, **counters)}
        found = units.resources(_fewest(runs, records), "stream")
        assert [row["graph"] for row in found] == [graph for graph, _ in SMALL]
        assert list(found[0]["limits"]) == list(LIMITS)
        return found[0]

    # 2 cores issue 2000 instructions at most, 4 banks of L1 and of L2 take 4000 accesses.
    row = rows(instructions=1600, l1_accesses=2000, l2_accesses=2000, weaver_stalls=500,
               l1_stall_fill=400, l1_stall_bank=200)
    assert row["binding"] == "issue" and row["limits"]["issue"] == 0.8
    assert row["limits"]["L1"] == row["limits"]["L2"] == 0.5 and row["limits"]["unit"] == 0.25
    assert row["l1_waits"]["fill"] == row["l1_waits"]["bank"] == 0.1
    assert rows(instructions=1600, l1_accesses=3400)["binding"] == "L1"
    assert rows(instructions=1600, l2_accesses=3400)["binding"] == "L2"
    occupancy = DRAM.occupancy(config.line_bytes)
    row = rows(instructions=1600, dram_reads=500 // occupancy, dram_writes=400 // occupancy)
    assert row["binding"] == "DRAM" and row["limits"]["DRAM"] == pytest.approx(0.9, abs=0.01)
    assert set(RESOURCES) < set(LIMITS)


def test_compaction():
    runs = _cases(["scu"], algorithms=("sssp", "cc", "pagerank"))["small"]
    found = units.compaction(_fewest(runs, _records(runs)), ["sssp", "cc", "pagerank"], SMALL)
    assert list(found) == ["scu", "scu-enhanced", "scu-stream", "best"]
    assert [each["all"]["mean"] for each in found.values()] == pytest.approx([1.25, 2, 0.8, 2])
    assert found["scu-stream"]["sssp"]["slower"] == found["scu"]["all"]["places"] / 2 == 2
    assert "cc" not in found["best"]


# The command

ARGUMENTS = ["bench", "units", "karate", "road:side=4,seed=1", "--preset", "tiny", "--schedules",
             "vm,em", "--algorithms", "pagerank,bfs"]


@pytest.fixture
def known(monkeypatch):
    """Runs end at once, with known cycles. Gives the list of the runs, and a set of columns whose
    runs fail."""
    done, failing = [], set()

    def work(self, pieces, ended, begun):
        for case, _ in pieces:
            begun(case)
            done.append(case)
            ended(case, {"error": "it hangs"} if case.column in failing else _record(case))

    monkeypatch.setattr(Processes, "work", work)
    monkeypatch.setattr("sim.compiled.sources", lambda config: None)
    return done, failing


def _rows(text):
    return [line.split() for line in text.splitlines()]


def test_tables(known, capsys, tmp_path):
    report = tmp_path / "figures.json"
    assert main([*ARGUMENTS, "--units", "fsm,stream,scu", "--json", str(report)]) == 0
    printed = capsys.readouterr().out
    rows = _rows(printed)
    assert ["karate", "pagerank", "400", "300", "200", "100"] in rows
    assert ["road:side=4,seed=1", "bfs", "800", "100", "400", "200"] in rows
    assert ["karate", "bfs", "500", "400", "250", "625"] in rows
    means = [row for row in rows if row[:2] == ["best", "software"] and "all" in row]
    assert [row[-3:] for row in means] == [["1.50x", "0.25x", "0.61x"], ["3.00x", "0.50x", "1.22x"]]
    assert rows[rows.index(means[1]) + 2] == ["slower", "0", "of", "2", "2", "of", "2", "2", "of",
                                              "4"]
    assert ["karate", "push", "100", "L1", "50", "%", "75", "%", "0", "%", "0", "%", "0", "%", "10",
            "%", "0", "%", "0", "%", "fill", "20", "%"] in rows
    best = [row for row in rows if row[:3] == ["best", "of", "these"]]
    assert [row[-3:] for row in best] == [["2.00x", "2.00x", "2.00x"]] * 2      # large, small
    figures = json.loads(report.read_text())
    assert figures["configuration"]["name"] == "tiny"
    assert [each["skewed"] for each in figures["graphs"]] == [False, False]
    assert figures["weaver"]["stream"]["best"]["all"]["bfs"]["smallest"] == 0.5
    assert figures["compaction"]["large"]["scu"]["bfs"]["mean"] == pytest.approx(1.25)
    assert figures["resources"]["fsm"][0]["binding"] == "L1"
    assert figures["cycles"][""][0]["schedules"]["vm"] == {
        "failed": False, "cycles": 400, "direction": "push", "split": "static"}


def test_failures(known, capsys):
    """A run that fails is told, counts in no mean, and loses no other run."""
    known[1].add("em")
    assert main(ARGUMENTS) == 1
    printed = capsys.readouterr()
    assert "failed: pagerank pull em on karate (tiny fsm): it hangs" in printed.err
    rows = _rows(printed.out)
    assert ["karate", "pagerank", "400", "failed", "200", "100"] in rows
    assert not [row for row in rows if row[:2] == ["best", "software"]]
    assert [row[-1] for row in rows if row[:2] == ["vm", "all"]] == ["2.00x", "4.00x"]


def test_resumes(known, capsys, tmp_path):
    """Runs in the file are not repeated; the rivals' runs serve another call for another unit."""
    done, failing = known
    path = tmp_path / "figures.jsonl"
    failing.add("weaver (stream)")
    assert main([*ARGUMENTS, "--results", str(path)]) == 1
    first = capsys.readouterr().out
    assert len(done) == 32
    failing.clear()
    done.clear()
    assert main([*ARGUMENTS, "--results", str(path)]) == 0
    assert {case.column for case in done} == {"weaver (stream)"} and len(done) == 8
    assert capsys.readouterr().out != first
    done.clear()
    assert main([*ARGUMENTS, "--results", str(path), "--units", "fsm"]) == 0
    assert not done
    assert main([*ARGUMENTS, "--results", str(path), "--set", "l1_banks=2"]) == 0
    assert len(done) == 32


def test_the_graphs(known, capsys, tmp_path):
    """Without a graph the default graphs; a folder's graphs up to ``--largest`` edges."""
    short = ["bench", "units", *ARGUMENTS[4:], "--units", "fsm"]
    assert main(short) == 0
    assert {case.graph for case in known[0]} == set(units.GRAPHS)
    known[0].clear()
    capsys.readouterr()
    (tmp_path / "few.el").write_text("0 1\n1 2\n")
    (tmp_path / "many.el").write_text("0 1\n1 2\n2 3\n")
    (tmp_path / "MANIFEST.tsv").write_text(
        "file\tdirected\tweighted\tedges\nfew.el\tno\tno\t2\nmany.el\tyes\tno\t3\n")
    assert main([*short, "--folder", str(tmp_path), "--largest", "2"]) == 0
    assert {(case.graph, case.undirected) for case in known[0]} == {
        (str(tmp_path / "few.el"), True)}
    assert "few.el (u)" in capsys.readouterr().out


def test_the_better_split(known, capsys, tmp_path):
    """A schedule has the better of its splits; a split that it does not have is no failure."""
    report = tmp_path / "figures.json"
    assert main(["bench", "units", "karate", "--preset", "tiny", "--set", "cores=2", "--units",
                 "graphpeg", "--schedules", "vm", "--algorithms", "bfs", "--splits",
                 "static,counter", "--json", str(report)]) == 0
    row, = json.loads(report.read_text())["cycles"][""]
    assert row["schedules"]["vm"] == {"failed": False, "cycles": 390, "direction": "push",
                                      "split": "counter"}
    assert "Speedup of graphpeg:" in capsys.readouterr().out


@pytest.mark.parametrize("words, message", [
    (["--splits", "fair"], "there is no 'fair'; there are static, counter"),
    (["--units", "gpu"], "there is no 'gpu'; there are fsm, scan, stream, eghw, "
     "graphpeg, scu"),
    (["--units", ""], "--units is empty"),
    (["--schedules", "vm,weaver:works=2"], "weaver:works=2 is no rival of the Weaver"),
    (["--schedules", "vm,nothing"], "nothing"),
    (["--schedules", "scu"], "needs a Stream Compaction Unit"),
    (["--set", "gather=stream"], "name the unit with --units"),
    (["--set", "counters=false"], "needs the counters"),
    (["--algorithms", "cc", "--units", "scu"], "the SCU's comparison has no cc"),
    (["--algorithms", "tc"], "there is no 'tc'"),
    (["--folder", "nowhere"], "nowhere/MANIFEST.tsv"),
    (["--json", "figures.txt"], ".json"),
    (["no-such-graph.el"], "no-such-graph.el"),
])
def test_bad_input(known, capsys, words, message):
    assert main(["bench", "units", "karate", "--preset", "tiny", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not known[0]


def test_a_run_of_the_simulator(capsys, tmp_path):
    report = tmp_path / "figures.json"
    assert main(["bench", "units", "karate", "--preset", "tiny", "--units", "fsm", "--schedules",
                 "vm", "--algorithms", "pagerank", "--jobs", "1", "--json", str(report)]) == 0
    figures = json.loads(report.read_text())
    row, = figures["cycles"][""]
    vm, mine = (row["schedules"][name]["cycles"] for name in ("vm", "weaver (fsm)"))
    assert f"{vm / mine:.2f}x" in capsys.readouterr().out
    found, = figures["resources"]["fsm"]
    assert all(0 <= share <= 1 for share in (*found["limits"].values(),
                                             *found["l1_waits"].values()))
