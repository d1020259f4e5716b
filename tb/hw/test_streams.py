"""Assertions for the stream contract (``hw.streams.check_stream``), and registers for streams.

====================  ==========================================================
kept offers           keeps: held, taken, back to back, with a reset in between
broken offers         drops, changes: the simulator stops
registers             passes_on, keeps_pace
====================  ==========================================================
"""

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

from hw.streams import StreamBuffer, StreamRegister, check_stream
from tb import runner
from tb.clocking import integer, reset, start, tick
from tb.streams import StreamSink, StreamSource


class Checked(wiring.Component):
    """A component with only the check of a stream."""
    i: In(stream.Signature(8))
    ready: In(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.i.ready.eq(self.ready)
        check_stream(m, self.i, name="checked")
        return m


async def offer(dut, valid, payload, ready):
    """Drive one cycle."""
    dut.i__valid.value, dut.i__payload.value, dut.ready.value = valid, payload, ready
    await tick(dut)


@cocotb.test()
async def keeps(dut):
    await start(dut)
    for cycle in [(0, 1, 0), (0, 2, 0), (1, 3, 0), (1, 3, 0), (1, 3, 1), (1, 4, 1), (0, 5, 0),
                  (1, 6, 0)]:
        await offer(dut, *cycle)
    dut.i__valid.value = 0                      # a reset ends the offer
    await reset(dut)
    await offer(dut, 1, 7, 1)
    await offer(dut, 0, 8, 1)


@cocotb.test()
async def drops(dut):
    await start(dut)
    for cycle in [(1, 3, 0), (0, 3, 0), (0, 3, 0)]:
        await offer(dut, *cycle)


@cocotb.test()
async def changes(dut):
    await start(dut)
    for cycle in [(1, 3, 0), (1, 2, 1), (0, 2, 1)]:
        await offer(dut, *cycle)


def run(simulator, test):
    runner.run_bench(Checked(), "checked", __name__, simulator=simulator, tests=[test])


def test_kept(simulator):
    run(simulator, "keeps")


@pytest.mark.parametrize("test, why", [("drops", "valid fell before the payload was taken"),
                                       ("changes", "the payload changed before it was taken")])
def test_not_kept(simulator, test, why):
    with pytest.raises(runner.BenchFailed, match=f"(?s)assertion of the design.*checked: {why}"):
        run(simulator, test)


@cocotb.test()
async def passes_on(dut):
    """All payloads arrive in order at random speeds of both sides."""
    await start(dut)
    source, sink = StreamSource(dut, "i"), StreamSink(dut, "o")
    for idle in (0.0, 0.5, 0.9):
        for stall in (0.0, 0.5, 0.9):
            source.idle, sink.stall = idle, stall
            source.send(range(60))
            assert await sink.receive(60) == list(range(60))


@cocotb.test()
async def keeps_pace(dut):
    """Latency is one cycle. The next payload enters in the same cycle, or once the first left."""
    await start(dut)
    dut.o__ready.value = 1
    for number in range(10):
        dut.i__valid.value, dut.i__payload.value = 1, number
        assert integer(dut.i__ready) == 1
        await tick(dut)
        assert integer(dut.o__valid) == 1 and integer(dut.o__payload) == number
        for _ in range(runner.parameters()["cycles"] - 1):
            assert integer(dut.i__ready) == 0
            await tick(dut)
            assert integer(dut.o__valid) == 0


@pytest.mark.parametrize("stage, cycles", [
    pytest.param(StreamRegister(8), 1, id="register"),
    pytest.param(StreamRegister(8, cuts_ready=True), 2, id="register that cuts ready"),
    pytest.param(StreamBuffer(8), 1, id="buffer"),
])
def test_stage(simulator, stage, cycles):
    runner.run_bench(stage, "stage", __name__, simulator=simulator,
                     parameters={"cycles": cycles}, tests=["passes_on", "keeps_pace"])
