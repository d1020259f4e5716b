"""Pages of searches: trials, the best so far, schedules, the worth of axes.

======================  ========================================================
outcome                 test_outcome, test_no_trial, test_cpu
trials                  test_results: one page a study, commands from the file
======================  ========================================================
"""

import dataclasses
import json

import pytest

from hw.config import ConfigError, preset
from sim.dram import DramConfig
from sw.show.report import tuning
from sw.compile.plan import Plan
from sw.study.tune.results import ResultsFile, header_of
from sw.graph.load import GraphSource
from sw.device.target import Target
from sw.study.tune.runs import RunSetting
from tb.sw.show.report.shown import block, series


VM, EM, VWC = (Plan("bfs", schedule=name).text for name in ("vm", "em", "vwc"))


def _value(**changes):
    return {"study": {"algorithm": "bfs", "name": "karate", "unit": "cycles",
                      "config": dataclasses.asdict(preset("tiny"))},
            "trials": [{"plan": VM, "status": "done", "cycles": 3000, "supersteps": 4},
                       {"plan": EM, "status": "done", "cycles": 1500, "supersteps": 4},
                       {"plan": VWC, "status": "stopped", "cycles": 1500},
                       {"plan": "bfs schedule=weaver", "status": "failed", "error": "no luck"}],
            "best": EM, "command": f"./graphloom run --plan '{EM}' karate --preset tiny",
            "failed": 1, "refused": {"too large": 1200, "no bits": 3},
            "worth": [{"axis": "split", "value": "static", "other": "counter", "ratio": 1.1,
                       "bound": False, "alone": True},
                      {"axis": "schedule", "value": "em", "other": "vm", "ratio": 2.0,
                       "bound": True, "alone": False}]} | changes


def test_outcome():
    page = tuning.page(_value(), "tune.json")
    trials = block(page, "Trials")
    drawn = trials.variants[""]
    xs, ys = series(drawn, "x"), series(drawn, "y")
    assert xs == {"best so far": [1, 2, 4], "stopped: slower than the best": [3],
                  "ran to its end": [1, 2]}
    assert ys == {"best so far": [3000, 1500, 1500], "stopped: slower than the best": [1500],
                  "ran to its end": [3000, 1500]}
    assert drawn["data"][0]["line"]["shape"] == "hv"            # a step at each new best
    assert trials.finding == ("Trial 2 of 4 is the best with 1,500 cycles, 2.00x as fast as the "
                              "first plan.")
    done = drawn["points"][2]
    assert done[0].command == f"./graphloom run --plan '{VM}' karate --preset tiny"
    assert "2 warps x 4 lanes" in done[0].configuration
    best = block(page, "Best plan of each schedule").variants[""]["data"][0]
    assert (best["y"], best["x"]) == (["em", "vm"], [1500, 3000])
    worth = block(page, "Worth of each axis")
    assert worth.finding == ("Axis schedule matters most: without its best value the cost is over "
                             "2.00x as high.")
    drawn = worth.variants[""]
    assert drawn["data"][0]["x"] == [2.0, 1.1]
    assert [point.values for point in drawn["points"][0]] == [
        (("best value", "em"), ("next best", "vm"), ("cost with the next best", "over 2.00x"),
         ("compared", "with other changes")),
        (("best value", "static"), ("next best", "counter"), ("cost with the next best", "1.10x"),
         ("compared", "alone"))]
    assert [cells for cells, _ in worth.rows] == [
        ("schedule", "em", "vm", "over 2.00x", "with other changes"),
        ("split", "static", "counter", "1.10x", "")]
    assert drawn["layout"]["xaxis"]["range"] == pytest.approx([0.9, 2.1])
    assert dict(page.facts) == {"trials": "4", "stopped early": "1", "best, cycles": "1,500",
                                "speed over the first plan": "2.00x"}
    assert [cells for cells, _ in trials.rows][:3] == [
        ("1", "3,000", "done", VM), ("2", "1,500", "done", EM), ("3", "1,500", "stopped", VWC)]
    assert [cells for cells, _ in block(page, "Best plan of each schedule").rows] == [
        ("em", "1,500", "1.00x", EM), ("vm", "3,000", "2.00x", VM)]
    assert block(page, "Refused plans").rows[0][0] == ("too large", "1,200")
    assert page.notes == ("Trials that failed: 1.",)
    assert ("stopped early", "1") in page.facts
    first = tuning.page(_value(trials=_value()["trials"][:1]), "")
    assert block(first, "Trials").finding.endswith("no plan is faster than the first.")


def test_no_trial():
    page = tuning.page(_value(trials=[], command=None, best=None, worth=[]), "")
    assert [each.title for each in page.blocks] == ["Refused plans"]
    with pytest.raises(ConfigError, match="of another version"):
        tuning.page(_value(study=_value()["study"] | {"config": {}}), "")


def test_cpu():
    page = tuning.page({
        "program": "bfs", "graph": "karate", "unit": "ns", "base": 900,
        "trials": [{"schedules": [], "status": "done", "cycles": 900},
                   {"schedules": ["s0:s1=push"], "status": "done", "cycles": 450}],
        "best": ["s0:s1=push"], "command": "./graphloom run --plan bfs karate --vm cpu",
        "failed": 0, "refused": {}}, "")
    assert [each.title for each in page.blocks] == ["Trials"]
    assert block(page, "Trials").finding.startswith("Trial 2 of 2 is the best with 450 ns")


def test_results(tmp_path):
    path = str(tmp_path / "tuned.jsonl")
    config, dram = preset("tiny"), DramConfig(latency=7)
    file = ResultsFile(path)
    for parameters, words in (({}, {"arguments": ["karate", "--undirected"]}), ({"source": 3}, {})):
        setting = RunSetting(GraphSource("karate"), Target(config, dram, functional=True))
        study = file.begin(header_of("bfs", parameters, setting.graph(), setting) | words)
        for plan, cycles in ((VM, 30), (EM, 20)):
            file.keep(study, plan, {"status": "done", "cycles": cycles, "digest": "d", "by": "x"})
    first, second = tuning.pages_of_results(path)
    assert first.command == (f"./graphloom run --plan '{EM}' karate --undirected --preset tiny "
                             "--dram latency=7")
    assert second.command == ""                 # a file without the words of the graph
    assert json.dumps(first.facts) == json.dumps(second.facts)
    assert ("best, instructions", "20") in first.facts
