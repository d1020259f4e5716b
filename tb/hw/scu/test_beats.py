# amaranth: UnusedElaboratable=no
"""Tests of the packer: streams of beats with gaps come out in full beats."""

import random

import cocotb
import pytest

from hw.scu.beats import Packer
from tb import runner
from tb.clocking import reset, tick
from tb.hw.scu.block import BlockBench
from tb.hw.scu.streams import BeatSink, BeatSource, ScuBeat, cut, hush, scatter


BITS = 9


class Bench(BlockBench):
    """A packer between a source and a sink."""

    def connect(self, dut):
        self.source = BeatSource(dut, "i", BITS, self.width)
        self.sink = BeatSink(dut, "o", BITS, self.width)

    def items(self, count):
        return [self.rng.getrandbits(BITS) for _ in range(count)]

    def shake(self):
        """Set random speeds of source and sink."""
        self.source.idle, self.sink.stall = (self.rng.choice([0, 0.3, 0.8]) for _ in range(2))


@cocotb.test()
async def any_gaps(dut):
    """Streams of all lengths, back to back, with any gaps."""
    bench = await Bench.start(dut)
    for length in [*range(3 * bench.width + 2), 40, 0, 0, 90]:
        bench.shake()
        items = bench.items(length)
        density = bench.rng.choice([0.1, 0.5, 1])
        bench.source.send(scatter(items, bench.width, bench.rng, element=BITS, density=density))
        assert await bench.sink.stream() == items
    await hush(dut, "o")


@cocotb.test()
async def every_mask_behind_every_other(dut):
    """All pairs of masks, each held with any number of elements before it."""
    bench = await Bench.start(dut)
    masks = range(1 << bench.width)
    streams = [[ScuBeat(bench.items(bench.width), valid, number == 2)
                for number, valid in enumerate(((1 << held) - 1, first, second))]
               for held in range(bench.width) for first in masks for second in masks]
    streams = bench.rng.sample(streams, min(len(streams), 300))
    for beats in streams:
        bench.source.send(beats)
    for beats in streams:
        assert await bench.sink.stream() == [item for beat in beats for item in beat.items]


@cocotb.test()
async def reset_in_a_stream(dut):
    """A reset drops the elements that are held."""
    bench = await Bench.start(dut)
    for _ in range(10):
        bench.shake()
        bench.source.send(scatter(bench.items(50), bench.width, bench.rng, element=BITS)[:-1])
        await tick(dut, bench.rng.randrange(4, 30))
        bench.source.clear()
        await reset(dut)
        bench.sink.items.clear()
        items = bench.items(bench.rng.randrange(10))
        bench.source.send(scatter(items, bench.width, bench.rng, element=BITS))
        assert await bench.sink.stream() == items


@cocotb.test()
async def a_beat_a_cycle(dut):
    """Latency is one cycle; throughput is a beat a cycle; the last beat may take two."""
    bench = await Bench.start(dut)
    width = bench.width
    items = bench.items(20 * width)
    bench.source.send([ScuBeat(items[first:first + width], (1 << width) - 1, False)
                       for first in range(0, len(items), width)])
    await tick(dut, 21 + 1)                  # the first beat is offered in the first cycle
    assert len(bench.sink.items) == 20
    bench.sink.items.clear()
    # One element is held and the last beat is full: the end takes two beats. The next stream
    # follows at once.
    streams = [bench.items(width + 1) for _ in range(10)]
    for items in streams:
        bench.source.send([ScuBeat(items[:1] * width, 1, False),
                           ScuBeat(items[1:], (1 << width) - 1, True)])
    beats = 2 * len(streams) if width == 1 else 3 * len(streams) - 1
    await tick(dut, beats + 1 + 1)
    for items in streams:
        assert await bench.sink.stream(timeout_cycles=1) == items


TESTS = ["any_gaps", "every_mask_behind_every_other", "reset_in_a_stream", "a_beat_a_cycle"]


@pytest.mark.parametrize("width", [1, 4])
def test_packer(simulator, width):
    runner.run_bench(Packer(BITS, width), "packer", __name__, simulator=simulator,
                     parameters={"scu": width}, tests=TESTS)


def test_every_bench_is_run():
    benches = {name for name, value in globals().items() if isinstance(value, type(any_gaps))}
    assert benches == {*TESTS}


def test_cut_and_scatter():
    rng = random.Random(1)
    for length in range(20):
        items = [rng.getrandbits(BITS) for _ in range(length)]
        for beats in (cut(items, 4, rng, element=BITS), scatter(items, 4, rng, element=BITS)):
            assert [item for beat in beats for item in beat.items] == items
            assert [beat.end for beat in beats] == [False] * (len(beats) - 1) + [True]
