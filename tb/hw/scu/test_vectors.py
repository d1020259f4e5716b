# amaranth: UnusedElaboratable=no
"""Tests of the readers of vectors: words and bits in order, from any place, at any speed."""

import cocotb
import pytest

from hw.scu.vectors import BIT_LINES, BitVector, WordVector, vector_lines
from tb import runner
from tb.clocking import reset, tick
from tb.hw.scu.block import BlockBench
from tb.hw.scu.configs import scu_config
from tb.hw.scu.reader import ReadPort
from tb.hw.scu.streams import Together, Transfers, hush
from tb.streams import StreamSink


SHAPES = [{"scu": width, "line_bytes": line} for width in (1, 4) for line in (16, 64)]


class Bench(BlockBench):
    """One of the two readers, and the memory that it reads.

    Parameters
    ----------
    kind : str
        ``"words"`` or ``"bits"``.
    """
    def connect(self, dut, kind):
        self.kind = kind
        self.memory = ReadPort(dut, self.config, self.rng, f"{kind}__")
        self.sink = StreamSink(dut, f"{kind}__o")
        self.times = Transfers(dut, f"{kind}__o", f"{kind}__read")

    def shake(self):
        """Set random speeds of all streams."""
        self.memory.shake()
        self.sink.stall = self.rng.choice([0, 0, 0.3, 0.9])

    async def begin(self, address, length):
        """Begin a vector. Returns in the cycle after the start. This cycle is called cycle 0."""
        await tick(self.dut)
        for port, value in (("start", 1), ("address", address), ("length", length)):
            getattr(self.dut, f"{self.kind}__{port}").value = value
        self.times.clear()
        self.zero = self.times.cycle + 1
        await tick(self.dut)
        getattr(self.dut, f"{self.kind}__start").value = 0
        self.sink.withdraw()
        self.memory.sink.withdraw()

    def vector(self, address, length):
        """The contents of the vector."""
        word = self.memory.word
        if self.kind == "words":
            return [word(address // 4 + k) for k in range(length)]
        return [word(address // 4 + k // 32) >> k % 32 & 1 for k in range(length)]

    def elements(self, beats):
        """The elements of beats."""
        bits = 32 if self.kind == "words" else 1
        return [beat >> bits * k & (1 << bits) - 1 for beat in beats for k in range(self.width)]

    def lines(self, address, length):
        """The lines that the vector lies in."""
        if not length:
            return []
        bits = self.config.line_bits
        bytes_ = 4 * length if self.kind == "words" else 4 * -(-length // 32)
        return list(range(address >> bits, (address + bytes_ - 1 >> bits) + 1))

    async def check(self, address, length):
        """Read a vector, and check that each element and each line comes once, and nothing else."""
        self.memory.requests.clear()
        await self.begin(address, length)
        if self.kind == "bits" and self.rng.random() < 0.7:
            length = -(-length // 32) * 32          # the rest of the last word comes as well
        got = self.elements(await self.sink.receive(-(-length // self.width)))
        assert got[:length] == self.vector(address, length), (address, length)
        asked = [request.line for request in self.memory.requests]
        assert asked == self.lines(address, length), (address, length)
        if self.kind == "words" or length % 32 == 0:
            await hush(self.dut, f"{self.kind}__o", 3)


@cocotb.test()
@cocotb.parametrize(kind=["words", "bits"])
async def any_vector(dut, kind):
    """Any place and length (0 included), with all speeds of memory and sink."""
    bench = await Bench.start(dut, kind)
    for length in [*range(2 * bench.width + 2), 31, 32, 33, 64, 90, 140]:
        bench.shake()
        await bench.check(4 * bench.rng.randrange(1 << 20, 1 << 21), length)
    for skew in range(bench.config.line_words):
        await bench.check(0x8000_0000 + 4 * skew, bench.rng.randint(1, 40))
    await bench.check(0xFFFF_FFFC, 1)


@cocotb.test()
@cocotb.parametrize(kind=["words", "bits"])
async def one_that_is_left(dut, kind):
    """A vector is left half-way, once the lines requested have arrived; or a reset comes."""
    bench = await Bench.start(dut, kind)
    for turn in range(8):
        bench.shake()
        bench.sink.stall = 0.9
        await bench.begin(4 * bench.rng.randrange(1 << 20), 2000)
        await tick(dut, bench.rng.randrange(60))
        bench.memory.stall = bench.memory.sink.stall = 1.0
        await tick(dut, 2)
        if turn % 4 == 3:
            dut.rst.value = 1
            bench.memory.forget()
            await reset(dut)
            bench.memory.forget()
        while bench.memory.waiting:
            await tick(dut)
        await tick(dut, 2)
        await bench.begin(0x4000, 0)
        bench.shake()
        await bench.check(4 * bench.rng.randrange(1 << 20), 50)


def _lines(bench, kind):
    """Lines that the buffer holds."""
    return vector_lines(bench.config) if kind == "words" else BIT_LINES


@cocotb.test()
@cocotb.parametrize(kind=["words", "bits"])
async def a_beat_a_cycle(dut, kind):
    """Lines are requested from the second cycle on, ahead of use. Then a beat comes each cycle."""
    bench = await Bench.start(dut, kind)
    for skew in range(bench.width):
        for latency in (1, 12):
            bench.memory.latency, bench.memory.in_order = (latency, latency), True
            address, length = 0x8000_0000 + 4 * skew, 32 * bench.width
            await bench.check(address, length)
            given = getattr(bench.times, f"{kind}__o")
            asked = getattr(bench.times, f"{kind}__read")
            ahead = asked[:_lines(bench, kind)]
            assert ahead == list(range(bench.zero + 2, bench.zero + 2 + len(ahead)))
            assert given == list(range(given[0], given[0] + 32)), (skew, latency)


@cocotb.test()
@cocotb.parametrize(kind=["words", "bits"])
async def as_far_as_there_is_room(dut, kind):
    """If no beat is taken, exactly the lines that the buffer holds are requested."""
    bench = await Bench.start(dut, kind)
    bench.sink.stall = 1.0
    await bench.begin(0x8000_0000, 1 << 20)
    await tick(dut, 200)
    lines = _lines(bench, kind)
    per_line = bench.config.line_words // (bench.width if kind == "words" else 1)
    # One beat has left the buffer, and is in the register behind it.
    assert len(bench.memory.requests) == lines + (per_line == 1)



@pytest.mark.parametrize("fields", SHAPES, ids="{0[scu]}-{0[line_bytes]}".format)
@pytest.mark.sample(2)
def test_vectors(simulator, fields):
    config = scu_config(**fields)
    runner.run_bench(Together(words=WordVector(config, config.scu),
                              bits=BitVector(config, config.scu)),
                     "vectors", __name__, simulator=simulator, parameters=fields)


def test_vector_lines():
    config = scu_config()
    assert vector_lines(config) == 32           # 5 KiB in four buffers of 16-byte lines
    assert vector_lines(scu_config(line_bytes=64)) == 16
