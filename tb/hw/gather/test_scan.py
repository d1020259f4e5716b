# amaranth: UnusedElaboratable=no
"""Directed tests of the Weaver that scans a row a step: the instructions as for the state machine,
rows taken ahead, timing."""

import itertools

import cocotb
import pytest

from hw.config import ConfigError, HardwareConfig
from hw.gather.scan.unit import ScanWeaver
from hw.operations import GatherOp
from tb import runner
from tb.clocking import tick
from tb.hw.gather import test_fsm
from tb.hw.gather.driver import Core, NONE


DEC_ID, DEC_LOC, DEC = GatherOp.DEC_ID, GatherOp.DEC_LOC, GatherOp.DEC

# The benches of the state machine that hold for both.
paper_example = test_fsm.paper_example
last_output_is_partial = test_fsm.last_output_is_partial
fused = test_fsm.fused
fused_between_others = test_fsm.fused_between_others
out_of_order_registration = test_fsm.out_of_order_registration
nothing_registered = test_fsm.nothing_registered
registration_after_the_end = test_fsm.registration_after_the_end
skip = test_fsm.skip
skip_behind_a_decode = test_fsm.skip_behind_a_decode
first_come_first_served = test_fsm.first_come_first_served
others_pass_a_waiting_decode = test_fsm.others_pass_a_waiting_decode
decodes_do_not_starve = test_fsm.decodes_do_not_starve
fused_throughput = test_fsm.fused_throughput
accepts_a_registration_every_cycle = test_fsm.accepts_a_registration_every_cycle
launch_forgets_everything = test_fsm.launch_forgets_everything
reset_in_flight = test_fsm.reset_in_flight
beyond_the_table = test_fsm.beyond_the_table


@cocotb.test()
async def rows_are_taken_ahead(dut):
    """Two rows leave the table with the first DEC_ID. Later registrations of them come last."""
    core = await Core.start(dut)
    for row in range(3):
        core.reg(row, [(row, 10 * row, 2)] * 4)
    core.reg(3, [(3, 30, 4)])
    assert await core.ask(DEC_ID, 0) == (0b1111, [0] * 4)
    core.reg(0, [(8, 80, 4)])
    core.reg(1, [(7, 70, 4)])
    core.reg(3, [(6, 60, 4)])                    # still in the table: replaced
    for vid in (0, 1, 1, 8, 7, 2, 2, 6):
        assert await core.ask(DEC_ID, 1) == (0b1111, [vid] * 4)
    assert await core.ask(DEC_ID, 1) == (0b1111, [NONE] * 4)


@cocotb.test()
async def a_skip_cuts_what_is_ahead(dut):
    """A SKIP ends an entry in the current row; the row ahead moves on at once."""
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 6), (2, 20, 1)])
    core.reg(1, [(3, 30, 9)])
    assert await core.ask(DEC_ID, 0) == (0b1111, [1] * 4)
    core.skip(0, [2, 3])
    core.skip(0, [1])
    core.skip(0, [2, 2, 2, 2])                   # handed out by nobody yet
    assert await core.ask(DEC, 0) == (0b1111, [2, 3, 3, 3, 80, 120, 124, 128])
    core.skip(0, [3])
    assert await core.ask(DEC_ID, 0) == (0b1111, [NONE] * 4)


@cocotb.test()
async def eids_on_offer_stay(dut):
    """The answer to a DEC_LOC is on offer, and not taken, when the OD is filled."""
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 50), (2, 20, 50)])
    await core.ask(DEC_ID, 0)
    core.sink.stall = 1.0
    core.dec_loc(0)
    await core.source.drain()
    await tick(dut, 2)
    core.dec_id(1)
    await tick(dut, 5)
    assert core.source.drained                   # only another DEC_LOC would have to wait
    core.sink.stall = 0.0
    assert (await core.response())[:2] == (0, DEC_LOC)
    await core.settle()


@cocotb.test()
async def eids_asked_for_as_vids_are_taken(dut):
    """Late tables: a DEC_LOC comes in each cycle around the one in which a DEC's VIDs are taken."""
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 400)])
    await core.ask(DEC_ID, 1)
    for delay in range(6):
        core.dec(0)
        await core.source.drain()
        await tick(dut, delay)
        core.dec_loc(1)
        await core.settle()


@cocotb.test()
async def latency(dut):
    """The latencies that the docstring promises."""
    core = await Core.start(dut)
    measure = core.latency
    core.reg(0, [(1, 10, 1), (2, 20, 1), (3, 30, 1), (4, 40, 9)])
    core.reg(1, [(5, 50, 1)])
    await core.source.drain()
    assert await measure(DEC_ID) == 3                    # the first one
    assert await measure(DEC_ID) == 2
    assert await measure(DEC_LOC) == 1
    assert await measure(DEC_ID) == 2
    assert await measure(DEC_ID) == 2                    # two edges, and then none is left
    assert await measure(DEC_ID) == 2                    # none is left
    assert await measure(DEC) == 2 + 1                   # the EIDs come a cycle later
    core.reg(0, [(1, 10, 12)])
    await core.source.drain()
    assert await measure(DEC) == 3 + 1
    assert await measure(DEC) == 2 + 1


@cocotb.test()
async def an_answer_a_cycle(dut):
    """While DEC_IDs wait: for any degrees, if each lane of each row has an edge."""
    core = await Core.start(dut)
    rng = core.rng
    for most in (1, 1, 2, 3, 5, 2 * core.threads, 9 * core.threads):
        for row in range(core.warps):
            core.reg(row, [(vid, rng.getrandbits(32), rng.randint(1, most))
                           for vid in range(core.threads)])
        await core.source.drain()
        edges = sum(sum(entry[2]) for entry in core.model._table.transpose(1, 0, 2).tolist())
        first = len(core.responses)
        for warp in range(core.warps):
            core.dec_id(warp)
        while True:
            warp, _, _, vids = await core.response()
            if vids[0] == NONE:
                break
            core.dec_id(warp)
        await core.settle()
        cycles = [event.cycle for event in core.responses[first:]]
        answers = -(-edges // core.threads)
        assert len(cycles) >= answers
        assert {after - before for before, after in itertools.pairwise(cycles[:answers])} <= {1}


@cocotb.test()
async def sparse_rows(dut):
    """Rows with few entries: the OD is filled from several, one more a cycle."""
    core = await Core.start(dut)
    for warp in range(core.warps):
        core.reg(warp, [(0, 0, 0)] * (core.threads - 1) + [(warp, 10 * warp, 1)])
    await core.source.drain()
    await tick(dut)
    assert await core.latency(DEC_ID) == 2 + core.threads
    assert await core.latency(DEC_ID) <= core.threads


SMALL_TABLE = ["beyond_the_table"]
MORE_WARPS = ["fused_between_others", "fused_throughput", "rows_are_taken_ahead"]
MANY_WARPS = ["an_answer_a_cycle", "sparse_rows"]
LATE = ["eids_asked_for_as_vids_are_taken"]
TESTS = ["paper_example", "last_output_is_partial", "fused", "out_of_order_registration",
         "nothing_registered", "registration_after_the_end", "skip", "skip_behind_a_decode",
         "first_come_first_served", "others_pass_a_waiting_decode", "decodes_do_not_starve",
         "latency", "eids_on_offer_stay", "a_skip_cuts_what_is_ahead",
         "accepts_a_registration_every_cycle", "launch_forgets_everything", "reset_in_flight"]


@pytest.mark.parametrize("tests, fields", [
    (TESTS, {"warps": 2, "threads": 4}),
    (SMALL_TABLE, {"warps": 2, "threads": 4, "weaver_entries": 4}),
    (MORE_WARPS, {"warps": 4, "threads": 4}),
    (MANY_WARPS, {"warps": 8, "threads": 4}),
    (["an_answer_a_cycle"], {"warps": 8, "threads": 1}),
    (["an_answer_a_cycle"], {"warps": 4, "threads": 16})],
    ids=["full", "small_table", "more_warps", "many_warps", "one_lane", "wide"])
@pytest.mark.sample(2)
def test_scan(simulator, tests, fields):
    _run(simulator, tests, fields)


def test_late_tables(simulator):
    _run(simulator, LATE, {"warps": 2, "threads": 4, "table_latency": 10})


def _run(simulator, tests, fields):
    fields = {"gather": "scan", **fields}
    runner.run_bench(ScanWeaver(HardwareConfig(**fields)), "scan", __name__, simulator=simulator,
                     parameters={"config": fields}, tests=tests)


def test_every_bench_is_run():
    benches = {name for name, value in globals().items() if isinstance(value, type(skip))}
    assert benches == {*TESTS, *SMALL_TABLE, *MORE_WARPS, *MANY_WARPS, *LATE}


def test_wrong_configuration():
    with pytest.raises(ConfigError, match="gather = 'fsm': must be 'scan'"):
        ScanWeaver(HardwareConfig())
