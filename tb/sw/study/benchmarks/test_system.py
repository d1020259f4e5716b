"""Runs on systems of their own: their hardware and memory count, not the batch's."""

import dataclasses

from checks.campaign.machines import SCUS
from hw.config import preset
from sim.dram import DramConfig
from sw.study.benchmarks.batch import Batch, Case
from sw.study.benchmarks.executors import Processes
from sw.study.benchmarks.system import System, SystemRun
from sw.device import Plan
from hw.registers import cycles_of


_TINY, _DRAM = preset("tiny"), DramConfig()
_SLOW = DramConfig(latency=300)


def _run(dram=_DRAM):
    system = System(SCUS["narrow"].replace(name="own"), dram)
    return SystemRun("karate", False, Plan("bfs", schedule="scu", direction="push"), system=system)


def test_peak():
    config = preset("baseline")
    peaks = [System(config, DramConfig(bytes_per_cycle=each)).peak_bytes
             for each in (8, 32, 64, 128)]
    assert peaks == [8, 32, 64, 64]                 # at most a line of 64 bytes a cycle


def test_keys():
    """The system of a run distinguishes records; the batch's hardware does not."""
    case = _run()
    assert case.key(_TINY, _DRAM) == case.key(preset("baseline"), _SLOW)
    assert case.key(_TINY, _DRAM) != _run(_SLOW).key(_TINY, _DRAM)
    assert case.hardware(_TINY) == case.system.config and case.hardware(_TINY).scu == 1
    assert Case("karate", False, Plan("bfs", schedule="vm")).hardware(_TINY) is _TINY
    assert case.describe() == "bfs push scu csr on karate (own)"
    assert hash(case) == hash(dataclasses.replace(case))


def test_a_batch_runs_them_on_their_own(tmp_path):
    """The batch's hardware has no SCU, so the last schedule is refused."""
    cases = [_run(), _run(_SLOW), Case("karate", False, Plan("bfs", schedule="scu"))]
    batch = Batch(cases, _TINY, _DRAM, tmp_path / "runs.jsonl")
    batch.run(Processes(1), lambda *_: None)
    fast, slow, refused = (batch.records[case] for case in cases)
    assert "needs a Stream Compaction Unit" in refused["error"]
    assert fast["verified"] and slow["cycles"] > fast["cycles"] > 0
    assert fast["cycles"] == sum(map(cycles_of, fast["steps"].values()))
    assert fast["steps"]["expand edges"]["scu_elements"] == 156      # karate has 156 arcs
    again = Batch(cases[:2], preset("baseline"), _SLOW, tmp_path / "runs.jsonl")
    assert again.records == {case: batch.records[case] for case in cases[:2]}
