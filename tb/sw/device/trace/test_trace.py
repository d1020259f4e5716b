"""Traces for people: a small program in which every cycle is known, and whole kernels.

================  =================================================================
text              test_text, test_text_of_lanes
timeline          test_timeline, test_schema, test_each_cycle_is_on_the_rows_once
recording         test_reconciles, test_window, test_first_launch, test_chunks
================  =================================================================
"""

import collections
import itertools
import json
import re

import numpy as np
import pytest

from base.errors import UserError
from hw.config import preset
from hw.isa import Csr
from hw.stalls import STALLS, WARP_STATES
from sim.native import NativeMachine
from sw.graph.load import load
from sw.compile.asm.assembler import Assembler
from sw.device import Device
from sw.device.trace import text, timeline
from sw.device.trace.recorder import CYCLES, Recorder, window


CONFIG = preset("tiny").replace(trace=True, name="tiny")


def _program():
    """A program with phases, a multiplication, a load that misses, and a branch; two warps of four
    lanes."""
    a = Assembler()
    lane, value, base = a.regs("lane", "value", "base")
    a.csrr(lane, Csr.THREAD_ID)
    a.li(base, 0x8000_0000)
    a.csrrwi(a.zero, Csr.PHASE, 3)
    a.mul(value, lane, lane)
    a.lw(value, base, 4)
    a.add(value, value, lane)
    a.sw(value, base, 8)
    a.csrrwi(a.zero, Csr.PHASE, 5)
    a.end_warp()
    return a.finish().words


@pytest.fixture(scope="module")
def program():
    """The recorder of the launch of that program."""
    recorder = Recorder(CONFIG)
    with NativeMachine(CONFIG, trace=recorder.tracer()) as machine:
        machine.memory[4:8] = 7, 0, 0, 1
        machine.load_program(_program())
        recorder.launched("small", _program())
        machine.launch(0, 0)
    return recorder


@pytest.fixture(scope="module")
def kernels():
    """A recorded run of BFS, and its result."""
    recorder = Recorder(preset("tiny"), (0, 100_000))
    with Device.simulate(preset("tiny"), recorder=recorder) as device:
        return recorder, device.run("bfs", load("karate"))


# Text

def test_text(program):
    lines = "".join(text.pieces(program)).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("launch 0 (small), core 0, "
                                                                      "warp 0: "))
    body = [re.sub(r"^( *\d+)  .{12}  ", r"\1  ", line) for line in lines[start + 1:]]
    body = body[:body.index("")]
    rows = [re.split(r"  +", line.strip()) for line in body]
    assert [row[1:5] for row in rows] == [
        ["init", "0x0000", "csrrs ra, thread_id, zero", "f"],
        ["init", "0x0004", "lui gp, 0x80000", "f"],
        ["init", "0x0008", "csrrwi zero, phase, 3", "f"],
        ["edge access", "0x000c", "mul sp, ra, ra", "f"],
        ["edge access", "0x0010", "lw sp, 4(gp)", "f"],
        ["edge access", "0x0014", "add sp, sp, ra", "f"],
        ["edge access", "0x0018", "sw sp, 8(gp)", "f"],
        ["edge access", "0x001c", "csrrwi zero, phase, 5", "f"],
        ["apply", "0x0020", "tmc zero", "f"]]
    results = [row[5:] for row in rows]
    assert results[0] == ["ra = 0 1 2 3 (+2)"] and results[1] == ["gp = 80000000 (all) (+2)"]
    assert results[2] == [] and results[3] == ["sp = 0 1 4 9 (+3)"]
    latency = int(re.fullmatch(r"sp = 1000007 \(all\) \(\+(\d+)\)", results[4][0])[1])
    assert latency > 100 and results[4][1] == "@ 80000004 (all)"
    assert results[5] == ["sp = 1000007 1000008 1000009 100000a (+2)"]
    assert results[6] == ["@ 80000008 (all)", "<- 1000007 1000008 1000009 100000a"]
    # The addition waits for the load: it issues in the cycle after the load's write-back.
    cycles = [int(row[0]) for row in rows]
    assert cycles == sorted(cycles) and cycles[5] == cycles[4] + latency + 1
    waits = {line.split()[0]: line[11:23].strip() for line in lines if re.match(r" +\d", line)}
    assert re.fullmatch(r"\d+ memory", waits[str(cycles[5])])
    assert all(re.fullmatch(rf"|\d+ ({'|'.join((*WARP_STATES, 'turn'))})", wait)
               for wait in waits.values())


def test_text_of_lanes(kernels):
    """Only active lanes have values, and a mask names these lanes."""
    recorder, _ = kernels
    issue = recorder.records["issue"]
    partial = [i for i in range(len(issue)) if issue["mask"][i].bit_count() == 2
               and issue["rd"][i]]
    assert partial
    for index in partial:
        result = recorder.describe(index)["result"]
        assert re.fullmatch(r"\w+ = ([0-9a-f]+ [0-9a-f]+|[0-9a-f]+ \(all\))", result), result


# Timeline

def _schema(events, config):
    """Check the format's rules for events. Returns the events of each row."""
    rows = collections.defaultdict(list)
    named = {}
    for event in events:
        assert event["ph"] in "MX" and type(event["pid"]) is type(event["tid"]) is int
        assert type(event["name"]) is str and event["name"]
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name", "thread_sort_index")
            if event["name"] == "thread_name":
                named[event["pid"], event["tid"]] = event["args"]["name"]
            continue
        assert set(event) <= {"name", "cat", "ph", "ts", "dur", "pid", "tid", "cname", "args"}
        assert type(event["ts"]) is type(event["dur"]) is int
        assert event["ts"] >= 0 and event["dur"] > 0
        rows[event["pid"], event["tid"]].append(event)
    assert list(named.values()) == ["launches", "issue slots",
                                    *(f"warp {warp:02}" for warp in range(config.warps))]
    assert set(rows) <= set(named)
    for slices in rows.values():
        ends = []
        for event in sorted(slices, key=lambda event: (event["ts"], -event["dur"])):
            while ends and ends[-1] <= event["ts"]:
                ends.pop()
            assert not ends or event["ts"] + event["dur"] <= ends[-1], "slices do not nest"
            ends.append(event["ts"] + event["dur"])
    return rows


def test_schema(kernels):
    recorder, _ = kernels
    value = json.loads("".join(timeline.pieces(recorder)))
    assert value["otherData"]["configuration"] == "tiny"
    _schema(value["traceEvents"], recorder.config)


def test_timeline(program):
    rows = _schema(list(timeline.events(program)), CONFIG)
    warp = sorted(rows[0, 2], key=lambda event: event["ts"])
    assert [event["name"] for event in warp if event["cat"] == "phase"] == [
        "init", "edge access", "apply"]
    instructions = [event for event in warp if event["cat"] == "instruction"]
    assert [event["name"] for event in instructions] == [
        "csrrs", "lui", "csrrwi", "mul", "lw", "add", "sw", "csrrwi", "tmc"]
    assert instructions[3]["args"]["result"] == "sp = 0 1 4 9"
    wait, = (event for event in warp if event["cat"] == "wait"
             and event["ts"] + event["dur"] == instructions[5]["ts"])
    assert wait["name"] == "memory" and wait["dur"] > 50


def test_each_cycle_is_on_the_rows_once(kernels):
    """Every cycle of a launch has an issue or a stall. Every cycle of a warp has an issue or a
    wait."""
    recorder, result = kernels
    rows = _schema(list(timeline.events(recorder)), recorder.config)
    slots = sorted((event["ts"], event["dur"]) for event in rows[0, 1])
    assert slots[0][0] == 0
    assert all(a + b == c for (a, b), (c, _) in itertools.pairwise(slots))
    assert sum(slots[-1]) == result.cycles
    for warp in range(recorder.config.warps):
        events = list(rows[0, 2 + warp])
        phases = sum(event["dur"] for event in events if event["cat"] == "phase")
        rest = sum(event["dur"] for event in events if event["cat"] != "phase")
        assert phases == rest


# Recording

def _cycles_waiting(recorder, cause):
    """The cycles without an issue in which some warp waits for the cause."""
    total = 0
    for launch, _, end in recorder.launches():
        waiting, issuing = np.zeros(end, bool), np.zeros(end, bool)
        for first, last, state in recorder.states(launch, 0, end):
            issuing[first:last] = state == "ready"
        for warp in range(recorder.config.warps):
            for first, last, state in recorder.states(launch, 0, end, warp):
                waiting[first:last] |= state == cause
        total += int((waiting & ~issuing).sum())
    return total


def test_reconciles(kernels):
    """The trace agrees with the counters."""
    recorder, result = kernels
    assert len(recorder.records["issue"]) == result.counters["instructions"]
    assert sum((mask).bit_count() for mask in recorder.records["issue"]["mask"]) == \
        result.counters["lanes"]
    assert recorder.launches()[-1][2] == result.cycles
    stalls = collections.Counter()
    for launch, _, end in recorder.launches():
        for first, last, cause in recorder.states(launch, 0, end):
            stalls[cause] += last - first
    for cause in STALLS:
        assert stalls[cause] == result.counters[f"stall_{cause}"], cause
    assert stalls["ready"] == result.counters["instructions"]
    # A warp of this kernel never waits for the Weaver and for memory at once.
    assert _cycles_waiting(recorder, "weaver") == result.counters["weaver_stalls"] > \
        result.counters["stall_weaver"]
    assert stalls["ended"] == result.counters["stall_idle"]
    # Every result belongs to an instruction.
    assert sorted(recorder.writes[recorder.writes >= 0]) == list(
        range(len(recorder.records["write"])))


@pytest.mark.parametrize("first, last", [(0, 1), (777, 778), (500, 3000), (8000, 100_000)])
def test_window(kernels, first, last):
    """A window holds exactly the events of these cycles in the whole trace."""
    whole, result = kernels
    recorder = Recorder(preset("tiny"), (first, last))
    with Device.simulate(preset("tiny"), recorder=recorder) as device:
        assert device.run("bfs", load("karate")).cycles == result.cycles
    for stream in ("issue", "access", "write"):
        records = whole.records[stream]
        inside = (records["cycle"] >= first) & (records["cycle"] < last)
        assert (recorder.records[stream] == records[inside]).all()
        assert len(recorder.records[stream]) == inside.sum()
    for launch, begin, end in recorder.launches():
        assert first <= begin < end <= last
        for warp in (0, 1, None):
            cut = [(max(a, first), min(b, last), cause) for a, b, cause in
                   whole.states(launch, 0, {n: e for n, _, e in whole.launches()}[launch],
                                warp) if a < last and b > first]
            assert recorder.states(launch, 0, end, warp) == cut


def test_first_launch():
    """Without a window the first launch is kept."""
    recorder = Recorder(preset("tiny"))
    with Device.simulate(preset("tiny"), recorder=recorder) as device:
        result = device.run("bfs", load("karate"))
    (launch, first, end), = recorder.launches()
    assert (launch, first) == (0, 0) and end < min(result.cycles, CYCLES)


def test_chunks(kernels):
    """A trace taken in small pieces is the same."""
    whole, result = kernels
    recorder = Recorder(preset("tiny"), (0, 100_000))
    tracer = recorder.tracer()
    tracer.chunk_bytes = 1000
    config = preset("tiny").replace(trace=True)
    device = Device(config, lambda: NativeMachine(config, trace=tracer), recorder=recorder)
    with device:
        assert device.run("bfs", load("karate")).cycles == result.cycles
    assert len(recorder._chunks) > 5 * len(whole._chunks)
    for stream, records in whole.records.items():
        assert (recorder.records[stream] == records).all()


@pytest.mark.parametrize("text", ["", "5", "5:", ":5", "a:b", "5:5", "6:5", "-1:5", "0:1000000"])
def test_bad_window(text):
    with pytest.raises(UserError, match="cycles '"):
        window(text)
