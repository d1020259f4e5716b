# amaranth: UnusedElaboratable=no
"""Tests of the ways to and from the banks of a filter.

====================================  ==============================================================
Dispatch: order in each bank, ends    dispatch
Dispatch: throughput                  dispatch_rates
Collect: decisions, order, last beat  collect
Collect: latency, throughput          collect_rates
====================================  ==============================================================
"""

import cocotb
import pytest

from hw.scu.collect import Collect, judged_layout
from hw.scu.dispatch import Dispatch, addressed_layout, dispatched_layout
from tb import runner
from tb.clocking import tick
from tb.hw.memory.packing import packed
from tb.hw.scu.block import BlockBench
from tb.hw.scu.streams import BeatSink, BeatSource, Together, Transfers, cut, scatter
from tb.streams import StreamSink, StreamSource


#: Bits of an element.
BITS = 16


class WaysBench(BlockBench):
    """Both ways, with a source of beats, and a sink or a source for each bank."""
    def connect(self, dut):
        self.shape = addressed_layout(BITS, self.width)
        banks = range(self.width)
        self.out = BeatSource(dut, "dispatch__i", self.shape, self.width)
        self.banks = [StreamSink(dut, f"dispatch__o_{k}", dispatched_layout(BITS)) for k in banks]
        self.back = BeatSource(dut, "collect__i", self.shape, self.width)
        self.decisions = [StreamSource(dut, f"collect__decisions_{k}") for k in banks]
        self.sink = BeatSink(dut, "collect__o", judged_layout(BITS), self.width, packed=False)
        self.times = Transfers(dut, "dispatch__i", "collect__decisions_0", "collect__o")
        dut.dispatch__enable.value = (1 << self.width) - 1
        dut.collect__ended.value = 1

    def shake(self):
        """Set random speeds of all streams."""
        rng = self.rng
        for source in (self.out, self.back, *self.decisions):
            source.idle = rng.choice([0, 0, 0.5, 0.8])
        for sink in (*self.banks, self.sink):
            sink.stall = rng.choice([0, 0, 0.3, 0.8])

    def element(self, bank, value):
        return packed(self.shape, {"bank": bank, "element": value})

    def beats(self, elements):
        """Beats of elements (bank, value), with or without gaps."""
        make = self.rng.choice([cut, scatter])
        return make([self.element(*each) for each in elements], self.width, self.rng,
                    element=self.shape.size)


@cocotb.test()
async def dispatch(dut):
    """Each bank gets its elements in order, and then an end; other banks get nothing."""
    bench = await WaysBench.start(dut)
    rng, width = bench.rng, bench.width
    for length in (0, 1, width, 30, 80):
        for some in ([0], [width - 1], list(range(width)), list(range(width))):
            bench.shake()
            await tick(dut)
            dut.dispatch__enable.value = sum(1 << bank for bank in some)
            elements = [(rng.choice(some), rng.getrandbits(BITS)) for _ in range(length)]
            bench.out.send(bench.beats(elements))
            for bank in some:
                right = [value for at, value in elements if at == bank]
                got = await bench.banks[bank].receive(len(right) + 1, timeout_cycles=5000)
                assert [item.end for item in got] == [0] * len(right) + [1]
                assert [item.element for item in got[:-1]] == right
            await tick(dut, 5)
            assert bench.out.drained and not any(sink.items for sink in bench.banks)


@cocotb.test()
async def dispatch_rates(dut):
    """A beat a cycle if its elements have different banks; an element a cycle in one bank."""
    bench = await WaysBench.start(dut)
    width = bench.width
    for one, cycles in ((False, 39), (True, 40 * width)):
        elements = [(0 if one else number % width, number) for number in range(40 * width)]
        bench.times.clear()
        bench.out.send(cut([bench.element(*each) for each in elements], width, bench.rng,
                           element=bench.shape.size))
        for bank in range(1 if one else width):
            got = await bench.banks[bank].receive(len(elements) // (1 if one else width) + 1,
                                                  timeout_cycles=5000)
            assert got[-1].end
        for bank in range(1, width if one else 1):
            await bench.banks[bank].receive(1)
        taken = bench.times.dispatch__i[:40]
        assert taken[-1] - taken[0] <= cycles


async def _collect(bench, elements):
    """Send elements (bank, value, kept), and then the decisions on them to the banks."""
    bench.back.send(bench.beats([each[:2] for each in elements]))
    while not bench.back.drained:
        await tick(bench.dut)
    for bank, source in enumerate(bench.decisions):
        source.send([kept for at, _, kept in elements if at == bank])


@cocotb.test()
async def collect(dut):
    """Beats leave in order with the decisions of the banks. The last beat waits for the banks."""
    bench = await WaysBench.start(dut)
    rng, width = bench.rng, bench.width
    shape = judged_layout(BITS)
    for length in (0, 1, width, 30, 80):
        for _ in range(3):
            bench.shake()
            elements = [(rng.randrange(width), rng.getrandbits(BITS), rng.getrandbits(1))
                        for _ in range(length)]
            await tick(dut)
            dut.collect__ended.value = 0
            await _collect(bench, elements)
            await tick(dut, rng.randrange(100))
            assert not any(bench.sink.unpack(bits).end for bits in bench.sink.items)
            dut.collect__ended.value = 1
            got = [shape.from_bits(item)
                   for item in await bench.sink.stream(timeout_cycles=5000)]
            assert [(item.element, item.kept) for item in got] == [each[1:] for each in elements]
            assert all(source.drained for source in bench.decisions)


@cocotb.test()
async def collect_rates(dut):
    """A beat leaves two cycles after its last decision; a beat a cycle if the decisions come as
    fast."""
    bench = await WaysBench.start(dut)
    width = bench.width
    await _collect(bench, [(number % width, number, 1) for number in range(30 * width)])
    await bench.sink.stream()
    taken, decided = bench.times.collect__o[:30], bench.times.collect__decisions_0
    assert taken == [cycle + 2 for cycle in decided]
    assert taken[-1] - taken[0] == 29


@pytest.mark.parametrize("width", [1, 4])
def test_ways(simulator, width):
    fields = {"scu": width, "line_bytes": 16}
    runner.run_bench(
        Together(dispatch=Dispatch(BITS, width, width, window=min(width, 2)),
                 collect=Collect(BITS, width, width, depth=100, decisions=16)),
        "scu_ways", __name__, simulator=simulator, parameters=fields)
