"""The file of results, and the nearest graph.

===================  =======================================================================
lines                test_kept_and_read_again, test_a_line_cut_off, test_a_done_trial_wins
studies              test_studies_apart, test_the_tuned_plan, test_nearest_graph
bad input            test_other_sources, test_damaged, test_other_version
features             test_features
===================  =======================================================================
"""

import dataclasses
import json

import pytest

from base.errors import UserError
from hw.config import preset
from sim.dram import DramConfig
from sw.graph.describe import describe
from sw.graph.load import load
from sw.study.tune import results as module
from sw.study.tune.features import FEATURES, nearest
from sw.compile.plan import Plan
from sw.study.tune.results import ResultsFile, TuningStudy, header_of, identity
from sw.graph.load import GraphSource
from sw.device.target import Target
from sw.study.tune.runs import RunSetting


TINY, DRAM = preset("tiny"), DramConfig()

FAST, SLOW = Plan("bfs", schedule="vm"), Plan("bfs", schedule="em")


def _header(algorithm="bfs", graph="karate", config=TINY, parameters=(), dram=DRAM):
    setting = RunSetting(GraphSource(graph), Target(config, dram, functional=True))
    return header_of(algorithm, dict(parameters), setting.graph(), setting)


def _record(cycles, status="done", by="random 1"):
    return {"status": status, "cycles": cycles, "digest": f"d{cycles}", "by": by}


def _filled(path, header=None):
    file = ResultsFile(path)
    study = file.begin(header or _header())
    file.keep(study, SLOW.text, _record(30))
    file.keep(study, FAST.text, _record(20))
    return file


def test_kept_and_read_again(tmp_path):
    path = tmp_path / "tuned.jsonl"
    _filled(path)
    before = path.read_bytes()
    again = ResultsFile(path)
    study = again.begin(_header())
    assert path.read_bytes() == before
    assert list(study.trials) == [SLOW.text, FAST.text]
    assert study.best() == [(20, FAST.text), (30, SLOW.text)] and study.best(1) == [(20, FAST.text)]
    assert study.by("random 1") == [SLOW, FAST] and study.by("random 2") == []
    assert study.header["features"]["vertices"] == 34
    again.keep(study, Plan("bfs", split="counter").text, {"status": "failed", "error": "broken",
                                                          "digest": "d", "by": "random 1"})
    assert len(ResultsFile(path).begin(_header()).trials) == 2      # a failure is tried again
    nowhere = ResultsFile(None)
    nowhere.keep(nowhere.begin(_header()), FAST.text, _record(1))


def test_a_line_cut_off(tmp_path):
    path = tmp_path / "tuned.jsonl"
    _filled(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    file = ResultsFile(path)
    study = file.begin(_header())
    assert list(study.trials) == [SLOW.text]
    file.keep(study, FAST.text, _record(20))
    assert path.read_bytes() == whole


def test_a_done_trial_wins(tmp_path):
    """A later run to the end replaces an early stop, and nothing replaces a run to the end."""
    file = _filled(tmp_path / "tuned.jsonl")
    study = file.begin(_header())
    plan = Plan("bfs", format="coo").text
    for record in (_record(9, "stopped"), _record(50), _record(9, "stopped")):
        file.keep(study, plan, record)
    assert ResultsFile(tmp_path / "tuned.jsonl").begin(_header()).trials[plan]["cycles"] == 50


def test_studies_apart(tmp_path):
    headers = [_header(), _header("cc"), _header(graph="rmat:scale=4,degree=2,seed=1"),
               _header(config=TINY.replace(warps=1)), _header(parameters={"source": 3}),
               _header(dram=DramConfig(latency=50))]
    file = _filled(tmp_path / "tuned.jsonl")
    for header in headers:
        file.begin(header)
    assert len(file.studies) == len(headers) == len(ResultsFile(tmp_path / "tuned.jsonl").studies)
    assert [len(study.trials) for study in file.studies.values()] == [2, 0, 0, 0, 0, 0]
    # The name of a configuration is no part of it, and a graph is its arcs, not its text.
    same = _header(config=dataclasses.replace(TINY, name="mine")) | {"name": "another"}
    assert identity(same) == identity(_header())


def test_the_tuned_plan(tmp_path):
    path = tmp_path / "tuned.jsonl"
    file = _filled(path)
    other = file.begin(_header(parameters={"source": 3}))
    file.keep(other, Plan("bfs", split="counter").text, _record(5))
    found = ResultsFile(path)
    assert found.tuned(_header()).best(1) == [(20, FAST.text)]
    assert found.tuned(_header(parameters={"source": 3})).best(1)[0][0] == 5
    assert found.tuned(_header(parameters={"source": 4})) in found.studies.values()
    assert found.tuned(_header() | {"sources": "new"}).best(1) == [(20, FAST.text)]
    file.begin(_header("cc"))
    for header, message in (
            (_header("sssp"), "has no tuned plan for sssp"),
            (_header("cc"), "has no tuned plan for cc"),
            (_header(graph="rmat:scale=4,degree=2,seed=1"),
             "has no tuned plan for bfs on rmat:scale=4,degree=2,seed=1"),
            (_header(config=preset("default")), r"has no tuned plan for this hardware \(default")):
        with pytest.raises(UserError, match=message):
            ResultsFile(path).tuned(header)


def test_nearest_graph(tmp_path):
    file = ResultsFile(tmp_path / "tuned.jsonl")
    for number, graph in enumerate(("road:side=8,seed=1", "rmat:scale=6,degree=8,seed=1")):
        study = file.begin(_header(graph=graph))
        file.keep(study, FAST.text, _record(number + 1))
    file.begin(_header(graph="road:side=9,seed=1"))                 # without a trial
    file.keep(file.begin(_header("cc", "road:side=9,seed=2")), Plan("cc").text, _record(1))
    for graph, name in (("road:side=10,seed=1", "road"), ("rmat:scale=7,degree=7,seed=2", "rmat")):
        found = file.nearest(_header(graph=graph))
        assert [study.header["name"].partition(":")[0] for study in found] \
            == [name, "rmat" if name == "road" else "road"]


def test_other_sources(tmp_path, monkeypatch):
    path = tmp_path / "tuned.jsonl"
    _filled(path)
    before = path.read_bytes()
    monkeypatch.setattr(module, "sources", lambda: "changed")
    with pytest.raises(UserError, match=f"{path}: was measured with other sources of Graphloom"):
        ResultsFile(path).begin(_header())
    assert path.read_bytes() == before
    assert ResultsFile(path).nearest(_header())         # as first plans they still serve


def test_other_version(tmp_path):
    path = tmp_path / "tuned.jsonl"
    _filled(path, _header() | {"version": module.VERSION})
    path.write_text(path.read_text().replace('"version": 2', '"version": 7'))
    with pytest.raises(UserError, match="has version 7 of the results, this program reads 2"):
        ResultsFile(path)


@pytest.mark.parametrize("damage, number", [
    (lambda lines: ["{}"], None), (lambda lines: ["hello"], None),
    (lambda lines: lines[1:], 1),                                   # a trial without its study
    (lambda lines: [lines[0].replace('"bfs"', '"cc"'), *lines[1:]], 1),
    (lambda lines: [lines[0].replace('"unit": "instructions"', '"unit": 5'), *lines[1:]], 1),
    (lambda lines: [*lines[:2], lines[2].replace(': 20', ': "20"')], 3),
    (lambda lines: [*lines[:2], lines[2].replace(': 20', ': 0')], 3),
    (lambda lines: [*lines[:2], lines[2].replace('"digest"', '"ingest"')], 3),
    (lambda lines: [*lines[:2], lines[2].replace('"status"', '"state"')], 3),
    (lambda lines: [*lines[:2], lines[2].replace("schedule=vm", "schedule=nothing")], 3),
    (lambda lines: [*lines, json.dumps({"key": "no study", "status": "done"})], 4),
    (lambda lines: [*lines, json.dumps({"key": "", "cycles": 3})], 4)])
def test_damaged(tmp_path, damage, number):
    path = tmp_path / "tuned.jsonl"
    _filled(path)
    text = "\n".join(damage(path.read_text().splitlines())) + "\n"
    path.write_text(text)
    message = "line 1 is not a record of a run" if number is None else \
        f"record {number} is not of graphloom tune, or damaged"
    with pytest.raises(UserError, match=message):
        ResultsFile(path)
    assert path.read_text() == text


def test_features():
    facts = {name: describe(load(name)) for name in (
        "rmat:scale=6,degree=8,seed=1", "rmat:scale=8,degree=8,seed=1", "road:side=8,seed=1",
        "uniform:vertices=64,edges=512,seed=1")}
    for name, own in facts.items():
        order = nearest(own, list(facts.values()))
        first, distance = order[0]
        assert list(facts)[first] == name and distance == 0
        assert [each for _, each in order] == sorted(each for _, each in order)
        assert 0 < order[-1][1] <= len(FEATURES) ** 0.5
    # No feature counts more than another: the unit of a feature does not matter.
    def order_of(scale):
        graphs = [dict(each, degree_gini=scale * each["degree_gini"]) for each in facts.values()]
        return [number for number, _ in nearest(graphs[0], graphs)]
    assert order_of(1) == order_of(1000)
    assert nearest(facts["road:side=8,seed=1"], []) == []


def test_a_study_without_trials():
    assert TuningStudy({}).best() == []
