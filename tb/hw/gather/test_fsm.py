# amaranth: UnusedElaboratable=no
"""Directed tests of the Weaver: the paper's example, each instruction, timing, wrong parameters."""

import dataclasses
import itertools

import cocotb
import pytest

from hw.config import ConfigError, HardwareConfig
from hw.operations import GatherOp
from hw.gather.interface import request_layout, response_layout
from hw.gather.fsm.unit import Weaver
from tb import runner
from tb.clocking import reset, tick
from tb.hw.gather.driver import Core, NONE


DEC_ID, DEC_LOC, DEC = GatherOp.DEC_ID, GatherOp.DEC_LOC, GatherOp.DEC


@cocotb.test()
async def paper_example(dut):
    core = await Core.start(dut)
    core.reg(0, [(0, 2, 1), (2, 10, 2), (4, 30, 5)])
    assert await core.ask(DEC_ID, 1) == (0b1111, [0, 2, 2, 4])
    assert await core.ask(DEC_LOC, 1) == (0b1111, [2, 10, 11, 30])
    assert await core.ask(DEC_ID, 0) == (0b1111, [4] * 4)
    assert await core.ask(DEC_LOC, 0) == (0b1111, [31, 32, 33, 34])
    assert await core.ask(DEC_ID, 1) == (0b1111, [NONE] * 4)
    assert await core.ask(DEC_ID, 0) == (0b1111, [NONE] * 4)


@cocotb.test()
async def last_output_is_partial(dut):
    core = await Core.start(dut)
    core.reg(0, [(7, 0xFFFFFFFE, 6)])
    assert await core.ask(DEC_ID, 0) == (0b1111, [7] * 4)
    assert await core.ask(DEC_LOC, 0) == (0b1111, [0xFFFFFFFE, 0xFFFFFFFF, 0, 1])
    assert await core.ask(DEC_ID, 0) == (0b0011, [7, 7, NONE, NONE])
    core.dec_loc(0, mask=0b0011)
    assert (await core.response())[2:] == (0b0011, [2, 3, NONE, NONE])
    assert await core.ask(DEC_ID, 0) == (0b1111, [NONE] * 4)


@cocotb.test()
async def fused(dut):
    """DEC gives the VIDs and four times the EIDs; DEC_LOC gives the EIDs afterwards, too."""
    core = await Core.start(dut)
    core.reg(0, [(0, 2, 1), (2, 10, 2), (4, 0xBFFFFFFE, 5)])
    assert await core.ask(DEC, 1) == (0b1111, [0, 2, 2, 4, 8, 40, 44, 0xFFFFFFF8])
    assert await core.ask(DEC_LOC, 1) == (0b1111, [2, 10, 11, 0xBFFFFFFE])
    assert await core.ask(DEC, 0) == (0b1111, [4] * 4 + [0xFFFFFFFC, 0, 4, 8])
    core.reg(1, [(5, 50, 1), (NONE, 0x7FFFFFFF, 2)])
    assert await core.ask(DEC, 0) == (
        0b0111, [5, NONE, NONE, NONE, 200, 0xFFFFFFFC, 0, NONE])
    assert await core.ask(DEC, 1) == (0b1111, [NONE] * 8)
    assert await core.ask(DEC_ID, 1) == (0b1111, [NONE] * 4)


@cocotb.test()
async def fused_between_others(dut):
    """DEC_ID, DEC and DEC_LOC of other warps wait for each other's responses in all orders."""
    core = await Core.start(dut)
    for held in range(12):
        for first, second in itertools.permutations((core.dec_id, core.dec), 2):
            core.reg(0, [(1, 10, 50)] * 4)
            await core.ask(DEC, 2)
            core.sink.stall = 1.0
            first(0)
            second(1)
            await tick(dut, held)
            core.dec_loc(2)
            await tick(dut, 12)
            core.sink.stall = 0.0
            await core.settle()
            core.dec_loc(0)
            core.dec_loc(1)
            await core.settle()
            await core.launch()


@cocotb.test()
async def out_of_order_registration(dut):
    core = await Core.start(dut)
    core.reg(1, [(4, 40, 1), (5, 50, 1), (6, 60, 0), (7, 70, 1)])
    core.reg(0, [(9, 9, 9), (1, 10, 1), (9, 9, 9), (3, 30, 1)], mask=0b1010)
    assert await core.ask(DEC_ID, 1) == (0b1111, [1, 3, 4, 5])
    assert await core.ask(DEC_LOC, 1) == (0b1111, [10, 30, 40, 50])
    assert await core.ask(DEC_ID, 0) == (0b0001, [7, NONE, NONE, NONE])


@cocotb.test()
async def nothing_registered(dut):
    core = await Core.start(dut)
    assert await core.ask(DEC_ID, 1) == (0b1111, [NONE] * 4)
    core.reg(0, [(1, 1, 0)] * 4)
    core.reg(0, [(1, 1, 5)] * 4, mask=0)
    assert await core.ask(DEC_ID, 0) == (0b1111, [NONE] * 4)
    assert await core.ask(DEC_ID, 1) == (0b1111, [NONE] * 4)


@cocotb.test()
async def registration_after_the_end(dut):
    core = await Core.start(dut)
    for base in (10, 20, 30):
        core.reg(0, [(base, base, 3)])
        core.reg(1, [(base + 1, 0, 2)])
        assert await core.ask(DEC_ID, 0) == (0b1111, [base] * 3 + [base + 1])
        assert await core.ask(DEC_ID, 1) == (0b0001, [base + 1] + [NONE] * 3)
        if base == 20:
            assert await core.ask(DEC_ID, 1) == (0b1111, [NONE] * 4)


@cocotb.test()
async def replaced_registrations(dut):
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 4), (2, 20, 4), (3, 30, 4), (4, 40, 4)])
    core.reg(0, [(1, 10, 4), (5, 50, 4)], mask=0b0010)
    assert await core.ask(DEC_ID, 0) == (0b1111, [1] * 4)
    core.reg(0, [(6, 60, 2), (9, 0, 0), (7, 70, 2)], mask=0b0101)   # the scan is on the row
    assert await core.ask(DEC_ID, 0) == (0b1111, [5] * 4)
    assert await core.ask(DEC_ID, 0) == (0b1111, [4] * 4)
    assert await core.ask(DEC_ID, 0) == (0b1111, [6, 6, 7, 7])
    core.reg(0, [(8, 80, 1)] * 4)
    core.reg(0, [(8, 80, 0)] * 4)
    core.reg(1, [(9, 90, 1)])
    assert await core.ask(DEC_ID, 0) == (0b0001, [9, NONE, NONE, NONE])


@cocotb.test()
async def skip(dut):
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 100), (2, 20, 100), (1, 10, 3)])
    assert await core.ask(DEC_ID, 0) == (0b1111, [1] * 4)
    core.skip(0, [1, 2, 3], mask=0b0110)                 # lane 0, which names the VID, is left out
    assert await core.ask(DEC_ID, 0) == (0b1111, [1] * 4)
    core.skip(1, [7, 1, 7])
    assert await core.ask(DEC_ID, 0) == (0b1111, [2] * 4)
    core.skip(1, [2, 2, 2, 2])
    assert await core.ask(DEC_ID, 0) == (0b0111, [1, 1, 1, NONE])
    core.skip(0, [1])
    assert await core.ask(DEC_ID, 0) == (0b1111, [NONE] * 4)


@cocotb.test()
async def skip_behind_a_decode(dut):
    """A SKIP comes 0 to 7 cycles after a DEC_ID, while another DEC_ID waits or not. DEC_IDs that
    wait may get work of the entry; DEC_IDs after the SKIP get none."""
    core = await Core.start(dut, golden=False)
    for gap in range(8):
        for waiting in ([1], [1, 0]):
            core.reg(0, [(1, 10, 100), (2, 20, 100)])
            assert await core.ask(DEC_ID, 0) == (0b1111, [1] * 4)
            for warp in waiting:
                core.dec_id(warp)
            if gap:
                await core.source.drain()
                await tick(dut, gap)
            core.skip(1, [1])
            for _ in waiting:
                assert (await core.response())[3] in ([1] * 4, [2] * 4)
            await core.source.drain()
            for warp in (0, 1):
                assert await core.ask(DEC_ID, warp) == (0b1111, [2] * 4), f"gap of {gap}"
            core.skip(0, [2])
            assert await core.ask(DEC_ID, 0) == (0b1111, [NONE] * 4)


@cocotb.test()
async def first_come_first_served(dut):
    core = await Core.start(dut)
    core.reg(0, [(vid, 10 * vid, 2) for vid in range(4)])
    core.dec_id(1)
    core.dec_id(0)
    assert (await core.response())[0] == 1
    assert (await core.response())[0] == 0
    core.dec_loc(0)
    core.dec_loc(1)
    await core.settle()


@cocotb.test()
async def others_pass_a_waiting_decode(dut):
    """Requests are accepted while the answer to a DEC_ID is not taken."""
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 100)])
    await core.ask(DEC_ID, 1)
    core.sink.stall = 1.0
    core.dec_id(0)
    await tick(dut, 8)                                   # now the answer is on offer
    count = len(core.requests)
    for _ in range(5):
        core.reg(1, [(2, 20, 1)] * 4)
        core.skip(1, [9])
    core.dec_loc(1)
    await tick(dut, 12)
    assert len(core.requests) == count + 11
    core.sink.stall = 0.0
    await core.settle()


@cocotb.test()
async def decodes_do_not_starve(dut):
    """A warp that repeats DEC_LOC delays a DEC_ID by no more than a cycle."""
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 100)])
    await core.ask(DEC_ID, 1)
    await core.ask(DEC_ID, 0)
    core.dec_id(0)
    for _ in range(20):
        core.dec_loc(1)
        while 1 in core.expected:
            await core.response()
    await core.settle()
    asked = [event.cycle for event in core.requests if event.op is DEC_ID][-1]
    answered = [event.cycle for event in core.responses if event.op is DEC_ID][-1]
    assert answered - asked <= 4


@cocotb.test()
async def latency(dut):
    """The latencies that the docstring of the Weaver promises."""
    core = await Core.start(dut)
    measure = core.latency
    core.reg(0, [(1, 10, 1), (2, 20, 1), (3, 30, 1), (4, 40, 9)])
    core.reg(1, [(5, 50, 1)])
    await core.source.drain()
    assert await measure(DEC_ID) == 3 + 3 * 4 - 2        # the first one
    assert await measure(DEC_ID) == 3                    # out of the current entry
    assert await measure(DEC_LOC) == 1
    assert await measure(DEC_ID) == 3
    assert await measure(DEC_ID) == 3 + 3 + 1            # one entry, and then none is left
    assert await measure(DEC_ID) == 2                    # none is left
    assert await measure(DEC) == 2 + 1                   # the EIDs come a cycle later
    core.reg(0, [(1, 10, 12)])
    await core.source.drain()
    assert await measure(DEC) == 3 + 3 - 2 + 1
    assert await measure(DEC) == 3 + 1


@cocotb.test()
async def throughput(dut):
    """Cycles from one answer to the next while a DEC_ID always waits."""
    core = await Core.start(dut)

    async def measure(count):
        first = len(core.responses)
        core.dec_id(0)
        core.dec_id(1)
        for _ in range(count - 2):
            warp, *_ = await core.response()
            core.dec_id(warp)
        await core.settle()
        cycles = [event.cycle for event in core.responses[first:]]
        return [after - before for before, after in itertools.pairwise(cycles)]

    core.reg(0, [(1, 10, 80)])
    assert set(await measure(20)) == {2}
    for warp in (0, 1):
        core.reg(warp, [(vid, 0, 1) for vid in range(4)])
    assert await measure(2) == [2 + 3 * 4]
    core.reg(0, [(1, 10, 4), (2, 20, 4), (3, 30, 4)])
    assert await measure(3) == [2 + 3] * 2
    await core.ask(DEC_ID, 0)
    assert await measure(6) == [2] * 5


@cocotb.test()
async def fused_throughput(dut):
    """While a DEC always waits, VIDs and EIDs come in turn, in every cycle."""
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 200)])
    for warp in range(4):
        core.dec(warp)
    for _ in range(30):
        warp, *_ = await core.response()
        core.dec(warp)
    await core.settle()
    cycles = [event.cycle for event in core.responses]
    assert {after - before for before, after in itertools.pairwise(cycles)} == {1}


@cocotb.test()
async def accepts_a_registration_every_cycle(dut):
    core = await Core.start(dut)
    for _ in range(10):
        core.reg(0, [(1, 2, 3)] * 4)
    await core.source.drain()
    cycles = [event.cycle for event in core.requests]
    assert cycles[-1] - cycles[0] == 9


@cocotb.test()
async def launch_forgets_everything(dut):
    core = await Core.start(dut)
    core.reg(0, [(1, 10, 100)] * 4)
    core.reg(1, [(2, 10, 100)] * 4)
    await core.ask(DEC_ID, 0)
    core.dec_id(1)
    await core.source.drain()
    await core.launch()
    assert await core.ask(DEC_ID, 1) == (0b1111, [NONE] * 4)
    core.reg(0, [(3, 30, 1)], mask=0b0001)               # the other lanes held something before
    assert await core.ask(DEC_ID, 0) == (0b0001, [3] + [NONE] * 3)


@cocotb.test()
async def reset_in_flight(dut):
    """A reset in each of the states, with the response held up."""
    core = await Core.start(dut)
    for delay in range(16):
        core.sink.stall = 1.0
        core.reg(0, [(1, 10, 1), (2, 20, 1), (3, 30, 1), (4, 40, 9)])
        core.dec_id(1)
        await core.source.drain()
        await tick(dut, 1 + delay)
        core.forget()
        await reset(dut, 1)
        core.forget()
        core.sink.stall = 0.0
        assert await core.ask(DEC_ID, 0) == (0b1111, [NONE] * 4)
        core.reg(0, [(5, 50, 2)])
        assert await core.ask(DEC_ID, 1) == (0b0011, [5, 5, NONE, NONE])


@cocotb.test()
async def beyond_the_table(dut):
    """A table of one row ignores the registrations of the second warp."""
    core = await Core.start(dut)
    core.reg(1, [(1, 10, 1)] * 4)
    core.reg(0, [(2, 20, 3)])
    core.reg(1, [(1, 10, 1)] * 4)
    assert await core.ask(DEC_ID, 1) == (0b0111, [2, 2, 2, NONE])
    assert await core.ask(DEC_LOC, 1) == (0b1111, [20, 21, 22, NONE])


SMALL_TABLE = ["beyond_the_table"]
MORE_WARPS = ["fused_between_others", "fused_throughput"]
TESTS = ["paper_example", "last_output_is_partial", "fused", "out_of_order_registration",
         "nothing_registered", "registration_after_the_end", "replaced_registrations", "skip",
         "skip_behind_a_decode", "first_come_first_served", "others_pass_a_waiting_decode",
         "decodes_do_not_starve", "latency", "throughput", "accepts_a_registration_every_cycle",
         "launch_forgets_everything", "reset_in_flight"]


@pytest.mark.parametrize("tests, fields", [
    (TESTS, {"warps": 2, "threads": 4}),
    (SMALL_TABLE, {"warps": 2, "threads": 4, "weaver_entries": 4}),
    (MORE_WARPS, {"warps": 4, "threads": 4})], ids=["full", "small_table", "more_warps"])
def test_weaver(simulator, tests, fields):
    runner.run_bench(Weaver(HardwareConfig(**fields)), "weaver", __name__, simulator=simulator,
                     parameters={"config": fields}, tests=tests)


def test_every_bench_is_run():
    benches = {name for name, value in globals().items() if isinstance(value, type(skip))}
    assert benches == {*TESTS, *SMALL_TABLE, *MORE_WARPS}


def test_init():
    config = HardwareConfig(warps=4, threads=8)
    weaver = Weaver(config)
    assert weaver.request.payload.shape() == request_layout(config)
    assert weaver.response.payload.shape() == response_layout(config)


@pytest.mark.parametrize("warps, width", [(1, 1), (2, 1), (8, 3), (32, 5)])
def test_warp_is_at_least_one_bit(warps, width):
    layout = request_layout(HardwareConfig(warps=warps))
    assert layout["warp"].width == width


def test_init_wrong_weaver():
    with pytest.raises(ConfigError, match="gather = 'none': must be 'fsm'"):
        Weaver(HardwareConfig(gather="none"))


def test_init_wrong_config():
    with pytest.raises((TypeError, AttributeError)):
        Weaver(dataclasses.asdict(HardwareConfig()))
