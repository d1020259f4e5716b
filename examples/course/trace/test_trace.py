"""The check of the exercise docs/course/trace.md: answers.json, against the records of a run.

The right answers come from the records of the trace port, not from the text of the trace.
"""

import json
import pathlib

import numpy as np
import pytest

from checks.course.answers import judge
from hw.config import preset
from sw.graph.load import load
from sw.device import Device
from sw.device.trace.recorder import Recorder


ANSWERS = pathlib.Path(__file__).parent / "answers.json"

#: The questions, each with a hint.
QUESTIONS = {
    "instructions": "Count the lines of each warp in all launches.",
    "memory_wait": "Add up the waits of a warp that have most of their cycles for memory.",
    "longest_wait": "Its cycle is the one in which the instruction is issued, at the wait's end.",
    "parts": "Look for the last line of warp 0 with all lanes before the first one with fewer.",
    "reunites": "Look for the next line of warp 0 with all lanes.",
    "lanes": "Add up the lanes of all lines; the line of `run` with the mean active lanes helps.",
}


@pytest.fixture(scope="module")
def run():
    """The recorder and the result of the run of the page."""
    config = preset("tiny").replace(trace=True)
    recorder = Recorder(config, (0, 20_000))
    with Device.simulate(config, recorder=recorder) as device:
        return recorder, device.run("bfs", load("karate"), schedule="vm")


def waits(recorder, warp):
    """For each instruction of a warp (cycle of issue, cycles waited, most frequent cause)."""
    found = []
    for launch, first, end in recorder.launches():
        states = recorder.states(launch, 0, end, warp)
        free = first
        for index in recorder.instructions(launch, 0, warp):
            cycle = int(recorder.records["issue"]["cycle"][index])
            spent = {}
            for begin, after, state in states:
                share = min(after, cycle) - max(begin, free)
                if share > 0:
                    spent[state] = spent.get(state, 0) + share
            found.append((cycle, cycle - free, max(spent, key=spent.get) if spent else ""))
            free = cycle + 1
    return found


def right(question, recorder):
    """All right answers to a question; there may be several longest waits."""
    issue = recorder.records["issue"]
    if question == "instructions":
        return [np.bincount(issue["warp"], minlength=2).tolist()]
    if question == "memory_wait":
        return [[sum(cycles for _, cycles, cause in waits(recorder, warp) if cause == "memory")
                 for warp in (0, 1)]]
    if question == "longest_wait":
        every = [(cycles, warp, cycle, cause) for warp in (0, 1)
                 for cycle, cycles, cause in waits(recorder, warp)]
        return [{"warp": warp, "cycle": cycle, "cycles": cycles, "cause": cause}
                for cycles, warp, cycle, cause in every if cycles == max(every)[0]]
    if question == "lanes":
        return [sum(int(mask).bit_count() for mask in issue["mask"])]
    own = issue[(issue["launch"] == 0) & (issue["warp"] == 0)]
    full = own["mask"] == (1 << recorder.config.threads) - 1
    parts = int(np.flatnonzero(~full)[0]) - 1
    place = parts if question == "parts" else parts + int(np.flatnonzero(full[parts + 1:])[0])
    return [{"cycle": int(own["cycle"][place]), "pc": f"0x{int(own['pc'][place]):04x}"}]


@pytest.mark.parametrize("question", QUESTIONS)
def test_answer(question, run):
    judge(question, json.loads(ANSWERS.read_text()), right(question, run[0]), QUESTIONS[question])


def test_the_trace_agrees_with_the_counters(run):
    """Instructions and lanes of the trace are those that the hardware counted."""
    recorder, result = run
    assert sum(right("instructions", recorder)[0]) == result.counters["instructions"]
    assert right("lanes", recorder)[0] == result.counters["lanes"]
