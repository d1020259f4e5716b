"""Tables that answer late: the queue, and the cycles of each Weaver with late tables.

====================  ===========================================================================
DelayQueue            exact_latency, an_item_a_cycle, order_with_pauses, reset_in_flight,
                      test_init_wrong_latency
rows, fsm             rows_of_the_state_machine: L cycles a row, its entries then follow
rows, scan            rows_of_the_scan: an answer a cycle from the first row on
rows, stream          rows_without_rounds: works at the usual rate, and rows are asked for ahead
EIDs                  eids: L cycles later, of a DEC_LOC and a DEC; eids_are_pipelined
the configuration     tb/hw/test_config.py
====================  ===========================================================================

The random benches of all three Weavers also run with late tables (``test_late_tables``).
"""

import collections
import itertools
import random

import cocotb
import pytest

from hw.config import HardwareConfig
from hw.gather.delay import DelayQueue
from hw.gather.variants import component
from hw.operations import GatherOp
from tb import runner
from tb.clocking import integer, reset, start, tick
from tb.hw.gather import driver, stream_driver


DEC_ID, DEC_LOC, DEC = GatherOp.DEC_ID, GatherOp.DEC_LOC, GatherOp.DEC

#: Depth and latency of the queue.
DEPTH, LATENCY = 5, 7

#: Latency of the tables.
LATE = 20


# The queue


async def _cycle(dut, item=None, take=False):
    """A cycle in which an item comes, or the first leaves. Returns the first item, if ripe."""
    dut.w_en.value, dut.w_data.value = item is not None, item or 0
    ripe = integer(dut.r_data) if integer(dut.r_rdy) == 1 else None
    dut.r_en.value = take and ripe is not None
    await tick(dut)
    return ripe


@cocotb.test()
async def exact_latency(dut):
    """An item can leave LATENCY cycles after it came, and no sooner. It waits until it is taken."""
    await start(dut)
    assert await _cycle(dut, item=9) is None
    for _ in range(LATENCY - 1):
        assert await _cycle(dut) is None
    for _ in range(20):
        assert await _cycle(dut) == 9
    assert await _cycle(dut, take=True) == 9
    assert await _cycle(dut) is None


@cocotb.test()
async def against_a_list(dut):
    """Items come and leave at random: in order, each no sooner than it may."""
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    queue, left = collections.deque(), 0
    for cycle in range(3000):
        pace = (1.0, 0.5, 0.1)[cycle // 100 % 3], (1.0, 0.2, 0.6, 0.9)[cycle // 70 % 4]
        assert integer(dut.w_rdy) == (len(queue) < DEPTH)
        item = rng.randrange(1, 256) if len(queue) < DEPTH and rng.random() < pace[0] else None
        take = rng.random() < pace[1]
        ripe = queue[0][1] if queue and queue[0][0] <= cycle else None
        assert await _cycle(dut, item, take) == ripe
        if take and ripe is not None:
            queue.popleft()
            left += 1
        if item is not None:
            queue.append((cycle + LATENCY, item))
    assert left > 500


@cocotb.test()
async def reset_in_flight(dut):
    """A reset forgets the items, also those in the delay line."""
    await start(dut)
    for delay in range(LATENCY + 2):
        await _cycle(dut, item=1)
        for _ in range(delay):
            await _cycle(dut)
        await reset(dut, 1)
        for _ in range(LATENCY + 1):
            assert await _cycle(dut) is None


# The Weavers


def _cycles(events):
    return [event.cycle for event in events]


def _gaps(events):
    return [after - before for before, after in itertools.pairwise(_cycles(events))]


@cocotb.test()
async def rows_of_the_state_machine(dut):
    """A row costs the latency once. Its entries follow each other."""
    core = await driver.Core.start(dut)
    core.reg(0, [(1, 10, 1), (2, 20, 1), (3, 30, 1), (4, 40, 9)])
    core.reg(1, [(5, 50, 1)])
    await core.source.drain()
    assert await core.latency(DEC_ID) == 3 + 3 * 4 - 2 + LATE    # the first one
    assert await core.latency(DEC_ID) == 3                       # out of the current entry
    assert await core.latency(DEC_ID) == 3
    assert await core.latency(DEC_ID) == 3 + 3 + 1 + LATE        # a row of one entry, the last
    assert await core.latency(DEC_ID) == 2                       # none is left


@cocotb.test()
async def a_row_that_is_replaced_while_it_is_read(dut):
    """Lanes that are registered while the row is under way are dropped from it."""
    core = await driver.Core.start(dut, golden=False)
    core.reg(0, [(1, 10, 4), (2, 20, 4), (3, 30, 4)])
    core.dec_id(0)
    await core.source.drain()
    await tick(dut, LATE // 2)
    core.reg(0, [(9, 90, 4), (8, 80, 4)])
    assert (await core.response())[3] == [3] * 4
    for vid in (9, 8):
        assert (await core.ask(DEC_ID, 1))[1] == [vid] * 4


@cocotb.test()
async def rows_of_the_scan(dut):
    """Rows are read ahead: once the first is there, there is an answer a cycle."""
    core = await driver.Core.start(dut)
    for _ in range(2):
        first = len(core.responses)
        for row in range(core.warps):
            core.reg(row, [(4 * row + lane, 0, 1) for lane in range(core.threads)])
        await core.source.drain()
        for warp in range(core.warps):
            core.dec_id(warp)
        await core.settle()
        begin = core.requests[-core.warps].cycle
        assert core.responses[first].cycle - begin == 3 + LATE
        assert set(_gaps(core.responses[first:])) == {1}
        assert await core.latency(DEC_ID) == 2                   # none is left


@cocotb.test()
async def rows_without_rounds(dut):
    """Rows are read ahead: a warp is asked for its next row while the first is under way, and
    works come as without a latency: a cycle for each entry and one for each row."""
    core = await stream_driver.Core.start(dut)
    for warp in range(4):
        core.reg(warp, [(warp, 0, 4)])
    await core.source.drain()
    begin = core.requests[0].cycle
    assert (await core.answer(DEC_ID, 0))[1] == [stream_driver.REGISTER] * 4
    assert core.responses[-1].cycle - begin < LATE
    first = len(core.responses)
    for warp in range(4, 8):
        core.ask(DEC_ID, warp)
    for vid in range(4):
        assert (await core.response())[3] == [vid] * 4
    assert core.responses[first].cycle - begin == 4 + LATE
    assert _gaps(core.responses[first:]) == [2] * 3
    for warp in range(4):
        core.close(warp)
    assert (await core.answer(DEC_ID, 1))[1] == [stream_driver.NONE] * 4


@cocotb.test()
async def eids(dut):
    """EIDs come later by the latency, of a DEC_LOC and of a DEC."""
    core = await driver.Core.start(dut)
    core.reg(0, [(1, 10, 60)])
    fresh = 3 if core.config.gather == "fsm" else 2
    await core.ask(DEC_ID, 0)
    assert await core.latency(DEC_LOC) == 1 + LATE
    assert await core.latency(DEC) == fresh + 1 + LATE
    assert await core.latency(DEC_ID) == fresh


@cocotb.test()
async def eids_are_pipelined(dut):
    """The look-ups of all warps are under way together, and VIDs pass them."""
    core = await driver.Core.start(dut)
    core.reg(0, [(1, 10, 400)])
    for warp in range(core.warps):
        core.dec_id(warp)
    await core.settle()
    first = len(core.responses)
    for warp in range(core.warps):
        core.dec_loc(warp)
    await core.settle()
    assert set(_gaps(core.responses[first:])) == {1}
    first = len(core.responses)
    for warp in range(core.warps):
        core.dec(warp)
    await core.settle()
    events = core.responses[first:]
    vids, places = events[:core.warps], events[core.warps:]      # all VIDs come before all EIDs
    assert [event.warp for event in vids] == [event.warp for event in places]
    assert {b.cycle - a.cycle for a, b in zip(vids, places)} == {1 + LATE}


QUEUE = ["exact_latency", "against_a_list", "reset_in_flight"]
EIDS = ["eids", "eids_are_pipelined"]
ROWS = {"fsm": ["rows_of_the_state_machine", "a_row_that_is_replaced_while_it_is_read"],
        "scan": ["rows_of_the_scan"], "stream": ["rows_without_rounds"]}


def test_queue(simulator):
    runner.run_bench(DelayQueue(8, depth=DEPTH, latency=LATENCY), "delay_queue", __name__,
                     simulator=simulator, tests=QUEUE)


@pytest.mark.parametrize("unit, tests, fields", [
    ("fsm", ROWS["fsm"], {"warps": 2, "threads": 4}), ("fsm", EIDS, {"warps": 8, "threads": 4}),
    ("scan", [*ROWS["scan"], *EIDS], {"warps": 8, "threads": 4}),
    ("stream", ROWS["stream"], {"warps": 8, "threads": 4})],
    ids=["fsm_rows", "fsm_eids", "scan", "stream"])
@pytest.mark.sample(2)
def test_late_tables(simulator, unit, tests, fields):
    fields = {"gather": unit, "table_latency": LATE, **fields}
    runner.run_bench(component(HardwareConfig(**fields)), unit, __name__,
                     simulator=simulator, parameters={"config": fields}, tests=tests)


def test_every_bench_is_run():
    benches = {name for name, value in globals().items() if isinstance(value, type(eids))}
    assert benches == {*QUEUE, *EIDS, *itertools.chain(*ROWS.values())}


def test_init_wrong_latency():
    with pytest.raises(ValueError, match="a latency of 0 cycles: must be at least 1"):
        DelayQueue(8, depth=2, latency=0)
