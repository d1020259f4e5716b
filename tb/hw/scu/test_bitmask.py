# amaranth: UnusedElaboratable=no
"""Tests of the bitmask constructor: comparisons, and bits packed into words."""

import operator
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.scu.bitmask import BitPacker, Comparator
from hw.scu.registers import ScuCompare
from tb import runner
from tb.clocking import integer, reset, start, tick
from tb.hw.scu.block import BlockBench
from tb.hw.scu.streams import BeatSink, BeatSource, ScuBeat, Together, Transfers, cut


HOLDS = {ScuCompare.EQ: operator.eq, ScuCompare.NE: operator.ne, ScuCompare.LT: operator.lt,
         ScuCompare.GE: operator.ge, ScuCompare.LE: operator.le, ScuCompare.GT: operator.gt}

#: Words at which the results of comparisons change.
CORNERS = [0, 1, 2, 0x7FFF_FFFE, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF]


class Bench(BlockBench):
    """A packer between a source and a sink."""

    def connect(self, dut):
        self.source = BeatSource(dut, "packer__i", 1, self.width)
        self.sink = BeatSink(dut, "packer__o", 32, 1, packed=False)
        self.times = Transfers(dut, "packer__i", "packer__o")

    def shake(self):
        """Set random speeds of source and sink."""
        self.source.idle, self.sink.stall = (self.rng.choice([0, 0.3, 0.8]) for _ in range(2))

    def bits(self, count):
        return [self.rng.getrandbits(1) for _ in range(count)]

    def singly(self, bits):
        """Beats of one bit, then the end alone, as answers of the hash table come."""
        lanes = [[self.rng.getrandbits(1) for _ in range(self.width - 1)] for _ in bits]
        return [ScuBeat([bit, *rest], 1, False) for bit, rest in zip(bits, lanes)] \
            + [ScuBeat([1] * self.width, 0, True)]

    async def check(self, bits):
        """Check the words of the next stream: all bits, zeros behind them, no other word. Without
        bits there is only an end."""
        beats = await self.sink.beats()
        words = [item for beat in beats for item in beat.items]
        assert words == [sum(bit << k for k, bit in enumerate(bits[first:first + 32]))
                         for first in range(0, len(bits), 32)]
        assert all(beat.valid for beat in beats[:-1])


@cocotb.test()
async def comparisons(dut):
    """Every comparison, with corner cases and random words, at each lane."""
    width = runner.parameters()["scu"]
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    for reference in [*CORNERS, *(rng.getrandbits(32) for _ in range(4))]:
        words = [*CORNERS, reference - 1 & 0xFFFF_FFFF, reference, rng.getrandbits(32)]
        rng.shuffle(words)
        dut.comparator__reference.value = reference
        for compare, holds in HOLDS.items():
            for signed in range(2):
                dut.comparator__compare.value = int(compare)
                dut.comparator__signed.value = signed
                flip = signed << 31
                for first in range(0, len(words), width):
                    beat = words[first:first + width]
                    for k, word in enumerate(beat):
                        getattr(dut, f"comparator__elements__{k}").value = word
                    await ReadOnly()
                    got = integer(dut.comparator__holds)
                    for k, word in enumerate(beat):
                        assert got >> k & 1 == holds(word ^ flip, reference ^ flip), \
                            (word, compare, reference, signed)
                    await tick(dut)


@cocotb.test()
async def any_bits(dut):
    """All lengths, in full beats or one bit a beat, with streams back to back."""
    bench = await Bench.start(dut)
    streams = [bench.bits(length) for length in
               [*range(10), *range(28, 37), 60, 63, 64, 65, 96, 0, 130]]
    for bits in streams:
        singly = bench.rng.random() < 0.4
        bench.source.send(bench.singly(bits) if singly
                          else cut(bits, bench.width, bench.rng, element=1))
    for bits in streams:
        bench.shake()
        await bench.check(bits)


@cocotb.test()
async def reset_in_a_word(dut):
    """A reset drops the bits that were held."""
    bench = await Bench.start(dut)
    for _ in range(10):
        bench.shake()
        await tick(dut)
        bench.source.send(cut([1] * 100, bench.width, bench.rng, element=1)[:-1])
        await tick(dut, bench.rng.randrange(60))
        dut.rst.value = 1
        bench.source.clear()
        await reset(dut)
        bench.sink.withdraw()
        bits = bench.bits(bench.rng.randrange(40))
        bench.source.send(cut(bits, bench.width, bench.rng, element=1))
        await bench.check(bits)


@cocotb.test()
async def a_beat_a_cycle(dut):
    """A word comes in the cycle after its last bits; nothing waits."""
    bench = await Bench.start(dut)
    beats = 4 * 32 // bench.width
    bits = bench.bits(4 * 32)
    bench.source.send([ScuBeat(bits[first:first + bench.width], (1 << bench.width) - 1,
                             first + bench.width == len(bits))
                       for first in range(0, len(bits), bench.width)])
    await bench.check(bits)
    taken, given = bench.times.packer__i, bench.times.packer__o
    assert taken == list(range(taken[0], taken[0] + beats))
    assert given == [cycle + 1 for cycle in taken[beats // 4 - 1::beats // 4]]


@pytest.mark.parametrize("width", [1, 4])
def test_bitmask(simulator, width):
    runner.run_bench(Together(comparator=Comparator(width), packer=BitPacker(width)), "bitmask",
                     __name__, simulator=simulator, parameters={"scu": width})
