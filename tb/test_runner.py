"""The test runner and the stream helpers, on a correct queue and on broken queues."""

import importlib
import itertools
import os
import pathlib
import random
import sys
import textwrap

import cocotb
import pytest
from amaranth.hdl import Assert, Format, Module, Signal, signed, unsigned
from amaranth.lib import data, enum, fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from cocotb.triggers import Event, ReadOnly

from tb import build, runner
from tb.children import assert_ends_with_parent
from tb.clocking import integer, reset, start, tick
from tb.streams import StreamSink, StreamSource, pack, unpack


class Kind(enum.Enum, shape=2):
    ADD = 0
    TAKE = 2


class Item(data.Struct):
    number: unsigned(8)
    offset: signed(5)
    kind: Kind


class Queue(wiring.Component):
    """A queue of four items. ``fault`` names one of several faults."""
    i: In(stream.Signature(Item))
    o: Out(stream.Signature(Item))

    def __init__(self, fault=None):
        super().__init__()
        self._fault = fault

    def elaborate(self, platform):
        m = Module()
        width = Item.as_shape().size
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=width, depth=4)
        m.d.comb += [
            queue.w_data.eq(self.i.payload),
            queue.w_en.eq(self.i.valid),
            self.i.ready.eq(queue.w_rdy),
            self.o.payload.eq(queue.r_data),
            self.o.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.o.ready),
        ]
        count = Signal(8)
        m.d.sync += count.eq(count + 1)
        match self._fault:
            case "payload":
                m.d.comb += self.o.payload.number.eq(queue.r_data[:8] ^ count)
            case "valid":
                m.d.comb += self.o.valid.eq(queue.r_rdy & ~count[1])
            case "clocked assert":
                m.d.sync += Assert(count != 20, Format("count is {}", count))
            case "assert":
                m.d.comb += Assert(count != 20, Format("count is {}", count))
        return m


@cocotb.test()
async def keeps_order_and_values(dut):
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    sent = [(rng.randrange(256), rng.randrange(-16, 16), rng.choice(list(Kind)))
            for _ in range(runner.parameters()["items"])]
    source = StreamSource(dut, "i", Item, idle=0.3)
    sink = StreamSink(dut, "o", Item, stall=0.5)
    source.send({"number": n, "offset": o, "kind": k} for n, o, k in sent)
    got = await sink.receive(len(sent))
    assert [(item.number, item.offset, item.kind) for item in got] == sent
    await source.drain()
    assert source.sent == len(sent) and not sink.items


@cocotb.test()
async def reset_in_flight(dut):
    await start(dut)
    source = StreamSource(dut, "i", Item)
    sink = StreamSink(dut, "o", Item, stall=1.0)
    source.send({"number": n} for n in range(4))
    await source.drain()
    await tick(dut)
    await reset(dut)
    sink.stall = 0.0
    source.send({"number": n} for n in (7, 8))
    assert [item.number for item in await sink.receive(2)] == [7, 8]


@cocotb.test()
async def fails(dut):
    await start(dut)
    await tick(dut)
    assert runner.parameters().get("items") is None, "meant to fail"


@cocotb.test()
async def waits(dut):
    await start(dut)
    await tick(dut, 50)


@cocotb.test()
async def registers_settle_before_the_falling_edge(dut):
    """A transfer offered at a falling edge has happened at the next falling edge."""
    await start(dut)
    dut.i__valid.value = 1
    await tick(dut)
    dut.i__valid.value = 0
    await ReadOnly()
    assert integer(dut.o__valid) == 0
    await tick(dut)
    await ReadOnly()
    assert integer(dut.o__valid) == 1


@cocotb.test()
async def hangs(dut):
    await start(dut)
    file = runner.parameters().get("pid")
    if file is not None:
        pathlib.Path(file).write_text(str(os.getpid()))
    await Event().wait()


GOOD = ["keeps_order_and_values", "reset_in_flight", "registers_settle_before_the_falling_edge"]


@pytest.mark.parametrize("seed", [1, 2])
def test_streams(simulator, seed):
    runner.run_bench(Queue(), "queue", __name__, simulator=simulator, parameters={"items": 200},
                     seed=seed, tests=GOOD)


@pytest.mark.parametrize("fault, why", [
    ("payload", "payload changed"), ("valid", "valid fell"),
    ("assert", "(?s)assertion of the design.*count is *20"),
    ("clocked assert", "(?s)assertion of the design.*count is *20")])
def test_faults_are_found(simulator, fault, why):
    test = "waits" if "assert" in fault else "keeps_order_and_values"
    with pytest.raises(runner.BenchFailed, match=why):
        runner.run_bench(Queue(fault), "queue", __name__, simulator=simulator,
                         parameters={"items": 50}, tests=[test])


def test_failing_test_is_named(simulator):
    with pytest.raises(runner.BenchFailed, match="failed: .*fails"):
        runner.run_bench(Queue(), "queue", __name__, simulator=simulator,
                         parameters={"items": 1}, tests=["fails", "waits"])


def test_hanging_bench_ends(simulator):
    with pytest.raises(runner.BenchFailed, match=r"(?s)tb.test_runner on queue, .*: failed: .*hangs"
                                                 r".*has not ended after 2,000 cycles"):
        runner.run_bench(Queue(), "queue", __name__, simulator=simulator, parameters={},
                         tests=["hangs"], cycles=2000)


def test_simulation_ends_with_its_parent(simulator, tmp_path):
    code = ("import sys; from tb import runner, test_runner; "
            "runner.run_bench(test_runner.Queue(), 'queue', 'tb.test_runner', "
            "simulator=sys.argv[1], parameters={'pid': sys.argv[2]}, tests=['hangs'], "
            "cycles=1 << 40)")
    file = tmp_path / "pid"
    assert_ends_with_parent([sys.executable, "-c", code, simulator, str(file)], file)


def test_example(simulator, tmp_path, monkeypatch):
    """The example bench in the runner's documentation passes."""
    lines = runner.__doc__.partition("::\n\n")[2].splitlines()
    shown = itertools.takewhile(lambda line: not line or line.startswith(" "), lines)
    (tmp_path / "example_bench.py").write_text(textwrap.dedent("\n".join(shown)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("example_bench").test_register(simulator)


def test_no_test_is_no_pass(simulator):
    with pytest.raises(runner.BenchFailed, match="0 tests"):
        runner.run_bench(Queue(), "queue", __name__, simulator=simulator, tests=["nothing"])


def test_verilog_that_does_not_build(simulator):
    with pytest.raises(build.BuildError, match="nonsense"):
        runner.run_bench("module top(clk);\n  input clk;\n  nonsense x(clk);\nendmodule\n",
                         "top", __name__, simulator=simulator)


@pytest.mark.parametrize("shape, value, bits", [
    (None, 5, 5), (8, 200, 200), (signed(4), -3, 13), (range(10), 9, 9), (Kind, Kind.TAKE, 2),
    (Item, {"number": 3, "offset": -1, "kind": Kind.TAKE}, 3 | 31 << 8 | 2 << 13),
    (data.ArrayLayout(4, 3), [1, 2, 3], 0x321)])
def test_pack(shape, value, bits):
    assert pack(shape, value) == bits
    back = unpack(shape, bits)
    assert pack(shape, back) == bits


def test_pack_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="does not fit"):
        pack(unsigned(4), 16)
