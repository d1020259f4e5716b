"""Directed tests of the Weaver without rounds: answers, timing, wrong parameters."""

import itertools

import cocotb
import pytest

from hw.config import ConfigError, HardwareConfig
from hw.gather.stream.unit import StreamWeaver
from hw.operations import GatherOp
from tb import runner
from tb.clocking import tick
from tb.hw.gather.stream_driver import Core, NONE, REGISTER


DEC_ID, DEC_LOC, DEC = GatherOp.DEC_ID, GatherOp.DEC_LOC, GatherOp.DEC


async def _settle(core):
    """Wait until the unit has come to rest."""
    await core.source.drain()
    await tick(core.dut, 20)


async def _latency(core, op, warp):
    """Cycles from a request to its last answer, and the answer's first value."""
    _, values = await core.answer(op, warp)
    return core.responses[-1].cycle - core.requests[-1].cycle, values[0]


def _gaps(events):
    cycles = [event.cycle for event in events]
    return [after - before for before, after in itertools.pairwise(cycles)]


@cocotb.test()
async def works_cross_rows(dut):
    """Rows of two warps fill works together; the last work, after the end, is not full."""
    core = await Core.start(dut)
    core.reg(0, [(0, 2, 1), (2, 10, 2), (4, 30, 2)])
    core.reg(1, [(5, 50, 1), (6, 60, 3)])
    assert await core.answer(DEC_ID, 2) == (0b1111, [0, 2, 2, 4])
    assert await core.answer(DEC_LOC, 2, 0b0110) == (0b0110, [2, 10, 11, 30])
    assert await core.answer(DEC, 3) == (0b1111, [4, 5, 6, 6, 124, 200, 240, 244])
    core.close(0)
    core.close(1)
    assert await core.answer(DEC, 2) == (0b0001, [6, NONE, NONE, NONE, 248, NONE, NONE, NONE])
    for warp in range(core.warps):
        assert await core.answer(DEC_ID, warp) == (0b1111, [NONE] * 4)


@cocotb.test()
async def asks_for_the_next_row(dut):
    """An open warp whose row was taken has to register; its edges are handed out meanwhile."""
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 4)])
    await _settle(core)
    assert await core.answer(DEC_ID, 0) == (0b1111, [REGISTER] * 4)
    assert await core.answer(DEC, 0) == (0b1111, [REGISTER] * 4 + [NONE] * 4)
    assert await core.answer(DEC_ID, 1) == (0b1111, [1] * 4)
    core.ask(DEC_ID, 1)
    await _settle(core)
    assert core.asked                                    # warp 0 may register more, so 1 waits
    core.reg(0, [(2, 20, 4)])
    assert (await core.response())[3] == [2] * 4
    # Only a lane in the mask can close the warp.
    core.skip(0, [NONE, 9, NONE, NONE], 0b0010)
    await _settle(core)
    assert await core.answer(DEC_ID, 0) == (0b1111, [REGISTER] * 4)
    core.close(0)
    assert await core.answer(DEC_ID, 0) == (0b1111, [NONE] * 4)


@cocotb.test()
async def latency(dut):
    """The latencies that the docstring of the unit promises."""
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 12)])
    await _settle(core)
    assert await _latency(core, DEC_ID, 1) == (2, 1)              # the output is full
    assert await _latency(core, DEC, 1) == (2 + 1, 1)
    assert await _latency(core, DEC_LOC, 1) == (1, 14)
    assert await _latency(core, DEC_ID, 0) == (2, REGISTER)
    assert await _latency(core, DEC, 0) == (2 + 1, REGISTER)
    assert await _latency(core, DEC_ID, 1) == (2, 1)
    core.ask(DEC_ID, 1)
    await _settle(core)
    core.reg(0, [(2, 20, 4)])
    await core.response()
    assert core.responses[-1].cycle - core.requests[-1].cycle == 4   # from the REG
    core.ask(DEC_ID, 1)
    await _settle(core)
    core.reg(0, [(lane, 20, 1) for lane in range(4)])
    await core.response()
    assert core.responses[-1].cycle - core.requests[-1].cycle == 4 + 3    # a cycle an entry
    core.close(0)
    await _settle(core)
    assert await _latency(core, DEC_ID, 1) == (3, NONE)
    assert await _latency(core, DEC, 1) == (3 + 1, NONE)


async def _ask_again(core, op, count):
    """Answers while the requests of all warps wait. Returns the cycles between the answers."""
    first = len(core.responses)
    for warp in range(1, core.warps):
        core.ask(op, warp)
    for answered in range(count):
        warp, *_ = await core.response()
        if answered < count - (core.warps - 1):
            core.ask(op, warp)
    return _gaps(core.responses[first:])


@cocotb.test()
async def throughput(dut):
    """A DEC_ID a cycle; a DEC every second cycle, in two parts; at most a cycle more for each row
    that ends."""
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 4 * 40)])
    await _settle(core)
    assert set(await _ask_again(core, DEC_ID, 40)) == {1}
    core.reg(0, [(1, 10, 4 * 40)])
    await _settle(core)
    assert set(await _ask_again(core, DEC, 40)) == {1}            # VIDs and EIDs in turn
    for warp in range(3):
        core.reg(warp, [(10 * warp + lane, 0, 4) for lane in range(4)])
    await _settle(core)
    gaps = await _ask_again(core, DEC_ID, 12)
    assert set(gaps) <= {1, 2} and gaps.count(2) <= 2


@cocotb.test()
async def throughput_of_low_degrees(dut):
    """A work takes a cycle for each of its entries, and one more for each row that ends. The next
    work's entries are at work while the addresses of a DEC are answered."""
    core = await Core.start(dut)
    for op in (DEC_ID, DEC):
        for warp in range(3):
            core.reg(warp, [(10 * warp + lane, 0, 1) for lane in range(4)])
            core.close(warp)
        await _settle(core)
        gaps = await _ask_again(core, op, core.warps - 1)
        firsts = [sum(gaps[index:index + 2]) for index in (1, 3)] if op is DEC else gaps[:2]
        assert firsts == [4, 4 + 1]                               # a cycle an entry
        await _settle(core)
        await core.launch()


@cocotb.test()
async def a_skip_shifts_the_output(dut):
    """A SKIP removes the vertex's edges from an output that is not on offer, a cycle for each."""
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 7), (2, 20, 40)])
    await _settle(core)
    assert await core.answer(DEC_ID, 1) == (0b1111, [1] * 4)
    await _settle(core)
    core.skip(0, [1])                                             # three edges are in the output
    await core.source.drain()
    core.ask(DEC_ID, 1)
    assert (await core.response())[3] == [2] * 4
    assert core.responses[-1].cycle - core.requests[-1].cycle <= 2 + 3 + 1


@cocotb.test()
async def a_skip_during_the_shift_changes_nothing(dut):
    """A second SKIP of the vertex, while the output is shifted, finds nothing left."""
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 5), (2, 20, 1), (3, 30, 2), (4, 40, 4)])
    await _settle(core)
    assert await core.answer(DEC_ID, 1) == (0b1111, [1] * 4)
    await _settle(core)
    for _ in range(3):
        core.skip(0, [1])                                         # one edge is in the output
    assert await core.answer(DEC, 1) == (0b1111, [2, 3, 3, 4, 80, 120, 124, 160])


@cocotb.test()
async def rows_of_one_warp(dut):
    """A warp is told to register when none of its rows is left in the table."""
    core = await Core.start(dut)
    for vid, distance in ((1, 0), (4, 3), (2, 1), (3, 2)):
        core.reg(0, [(vid, 10, 4)], distance=distance)
    core.reg(2, [(9, 90, 4)], distance=2)                         # beyond the table
    await _settle(core)                                           # row 2 is left
    assert await core.answer(DEC_ID, 0) == (0b1111, [1] * 4)
    await _settle(core)
    assert await core.answer(DEC_ID, 0) == (0b1111, [REGISTER] * 4)
    core.close(0)
    for vid in (4, 2, 3, NONE):
        assert await core.answer(DEC_ID, vid % 4) == (0b1111, [vid] * 4)


@cocotb.test()
async def accepts_at_once(dut):
    """A REG a cycle, except in a cycle in which a row is taken; nothing else delays a request."""
    core = await Core.start(dut)
    core.reg(0, [(1, 2, 3)] * 4)
    core.reg(0, [(1, 2, 3)] * 4)
    await _settle(core)                                           # the next row is taken as well
    first = len(core.requests)
    for _ in range(10):
        core.reg(0, [(1, 2, 3)] * 4)
    await core.source.drain()
    assert set(_gaps(core.requests[first:])) == {1}


TESTS = ["works_cross_rows", "asks_for_the_next_row", "latency", "a_skip_shifts_the_output",
         "a_skip_during_the_shift_changes_nothing", "rows_of_one_warp", "accepts_at_once"]
MORE_WARPS = ["throughput", "throughput_of_low_degrees"]


@pytest.mark.parametrize("tests, fields", [
    (TESTS, {"warps": 4, "threads": 4}), (MORE_WARPS, {"warps": 8, "threads": 4})],
    ids=["full", "more_warps"])
def test_stream(simulator, tests, fields):
    config = {"gather": "stream", **fields}
    runner.run_bench(StreamWeaver(HardwareConfig(**config)), "stream_weaver", __name__,
                     simulator=simulator, parameters={"config": config}, tests=tests)


def test_every_bench_is_run():
    benches = {name for name, value in globals().items() if isinstance(value, type(latency))}
    assert benches == {*TESTS, *MORE_WARPS}


def test_init_wrong_weaver():
    with pytest.raises(ConfigError, match="gather = 'fsm': must be 'stream'"):
        StreamWeaver(HardwareConfig(gather="fsm"))
