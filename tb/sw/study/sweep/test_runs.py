"""Sweeps that run: a stopped one goes on, and what is in the way is refused.

======================  ========================================================
goes on                 test_resumed: nothing is run twice
folders                 test_refused_folders
Python                  test_function: of a script without a guard
======================  ========================================================
"""

import json
import os
import subprocess
import sys

import pytest

from base.errors import UserError
from base.installation import ROOT
from hw.config import preset
from sw.study.sweep import runs
from sw.study.sweep.runs import SweepRun, sweep
from sw.study.sweep.spec import SweepSpec
from tb.executors import InThisProcess

_RECORD = {"graphs": ["karate"], "algorithms": ["bfs"], "schedules": ["vm", "em", "compact"],
           "plan": {"direction": ["push", "pull"]}, "hardware": {"preset": "tiny"}}


def test_resumed(tmp_path):
    folder, ran = tmp_path / "some" / "sweep", []

    def ended(case, record):
        ran.append(case)
        if len(ran) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SweepRun(SweepSpec(_RECORD), folder).run(InThisProcess(), ended)
    again = SweepRun(SweepSpec(_RECORD), folder)
    assert len(again.batch.records) == 2
    result = again.run(InThisProcess(), ended)
    assert len(ran) == len(set(ran)) == 5 and result.summary == "5 runs, 1 refused"
    assert [row["status"] for row in result.rows] == 5 * ["done"] + ["refused"]
    assert (folder / "runs.csv").read_text().count("\n") == 7
    last = SweepRun(SweepSpec(_RECORD), folder).run(InThisProcess(), ended)
    assert len(ran) == 5 and last.rows == result.rows


def test_refused_folders(tmp_path, monkeypatch):
    folder = tmp_path / "sweep"
    record = _RECORD | {"schedules": ["vm"], "plan": {}}
    SweepRun(SweepSpec(record), folder).run(InThisProcess())
    before = (folder / "runs.jsonl").read_bytes()

    def refused(record, place, message):
        with pytest.raises(UserError, match=message):
            SweepRun(SweepSpec(record), place)

    refused(record | {"repeats": 2}, folder, "has another sweep: its repeats are 1, not 2; name")
    refused(record | {"dram": {"latency": 9}}, folder, "its dram are None, not {'latency': 9}")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("Nothing.")
    refused(record, tmp_path / "other", "has files that are of no sweep, such as notes.txt")
    refused(record, tmp_path / "other" / "notes.txt", "is no folder")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "runs.jsonl").write_text(json.dumps({"key": "study x", "version": 2}) + "\n")
    refused(record, foreign, "has no sweep of this version")
    monkeypatch.setattr(runs, "sources", lambda: "others")
    refused(record, folder, "has runs of other sources of Graphloom")
    assert (folder / "runs.jsonl").read_bytes() == before


def test_function(tmp_path):
    """Configurations are presets, records or tables. A script may call it without a guard."""
    result = sweep("karate", ["bfs"], ["vm"], [preset("tiny"), {"preset": "tiny", "l1_ways": 1}],
                   workers=InThisProcess(), dram={"latency": 50})
    assert len({row["total_cycles"] for row in result.rows}) == 2
    script = tmp_path / "script.py"
    script.write_text("from sw.study.sweep import sweep\n"
                      "print(sweep('karate', 'bfs', 'vm', 'tiny', workers=1).summary)\n")
    done = subprocess.run([sys.executable, str(script)], env=os.environ | {"PYTHONPATH": str(ROOT)},
                          cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "1 runs\n", done.stderr
