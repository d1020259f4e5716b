# amaranth: UnusedElaboratable=no
"""Tests of the address generator: the words that an operation reads, in order."""

import cocotb
import pytest

from hw.scu.address import AddressGenerator
from hw.scu.registers import ScuOperation
from tb import runner
from tb.clocking import reset, tick
from tb.hw.scu.block import BlockBench
from tb.hw.scu.streams import BeatSink, Transfers, hush
from tb.streams import StreamSource


COUNTED = (ScuOperation.REPLICATION, ScuOperation.ACCESS_EXPANSION)
INDEXED = (ScuOperation.ACCESS, ScuOperation.ACCESS_EXPANSION)
#: Bits of a word's number.
WORD = (1 << 30) - 1


class Bench(BlockBench):
    """The generator, the sources of its vectors, and the sink of its words."""

    def connect(self, dut):
        self.sources = {name: StreamSource(dut, name) for name in ("bits", "indexes", "counts")}
        self.sink = BeatSink(dut, "o", 30, self.width)
        self.times = Transfers(dut, "bits", "indexes", "counts", "o")

    def shake(self):
        """Set random speeds of all streams."""
        for source in self.sources.values():
            source.idle = self.rng.choice([0, 0, 0.5, 0.9])
        self.sink.stall = self.rng.choice([0, 0, 0.3, 0.9])

    def _send(self, name, values, bits):
        """Send values in beats. Lanes behind the last value hold random values."""
        values = values + [self.rng.getrandbits(bits) for _ in range(-len(values) % self.width)]
        self.sources[name].send(
            sum(value << bits * lane for lane, value in enumerate(values[first:first + self.width]))
            for first in range(0, len(values), self.width))

    async def begin(self, operation, length, *, mask=None, indexes=None, counts=None):
        """Begin an operation. Returns an iterator over the words that the operation reads."""
        await tick(self.dut)
        self.dut.operation.value, self.dut.length.value = int(operation), length
        self.dut.masked.value, self.dut.start.value = int(mask is not None), 1
        self.times.clear()
        await tick(self.dut)
        self.dut.start.value = 0
        for name, values, bits, used in (("bits", mask, 1, mask is not None),
                                         ("indexes", indexes, 32, operation in INDEXED),
                                         ("counts", counts, 32, operation in COUNTED)):
            if used:
                self._send(name, values, bits)
        return ((indexes[k] if operation in INDEXED else k)
                + n * (operation == ScuOperation.ACCESS_EXPANSION) & WORD
                for k in range(length) if mask is None or mask[k]
                for n in range(counts[k] if operation in COUNTED else 1))

    async def check(self, *operation, **vectors):
        """Perform an operation, and check that its vectors are used up."""
        words = await self.begin(*operation, **vectors)
        assert await self.sink.stream() == [*words], operation
        for name, source in self.sources.items():
            assert source.drained, f"{name} are left"
        await hush(self.dut, "o", 3)

    def any_vectors(self, length, longest):
        """Bits, indexes and counts, random; some counts are 0."""
        rng = self.rng
        density = rng.choice([0, 0.1, 0.5, 0.9, 1])
        most = rng.choice([1, longest])
        return {"mask": rng.choice([None, [int(rng.random() < density) for _ in range(length)]]),
                "indexes": [rng.getrandbits(32) for _ in range(length)],
                "counts": [rng.randint(0, most) for _ in range(length)]}


@cocotb.test()
@cocotb.parametrize(operation=[operation.name for operation in ScuOperation])
async def any_operation(dut, operation):
    """All lengths, masks and counts, with all speeds of vectors and sink."""
    bench = await Bench.start(dut)
    for length in [*range(2 * bench.width + 2), 30, 50]:
        bench.shake()
        await bench.check(ScuOperation[operation], length, **bench.any_vectors(length, 11))


@cocotb.test()
async def one_word_many_times(dut):
    """A count of thousands, between short counts; and rows that end at the last word number."""
    bench = await Bench.start(dut)
    await bench.check(ScuOperation.REPLICATION, 4, counts=[1, 5000, 0, 2])
    await bench.check(ScuOperation.ACCESS_EXPANSION, 3, indexes=[7, WORD - 2, 1 << 31],
                      counts=[1, 9, 5])
    # The largest possible count: the test does not wait for the end.
    words = await bench.begin(ScuOperation.ACCESS_EXPANSION, 2, indexes=[3, 3],
                              counts=[0xFFFF_FFFF, 1])
    for bits in await bench.sink.receive(500):
        assert bench.sink.unpack(bits).items == [next(words) for _ in range(bench.width)]
    await tick(dut)
    await reset(dut)
    bench.sink.withdraw()
    await bench.check(ScuOperation.DATA, 9)


@cocotb.test()
async def reset_in_an_operation(dut):
    """A reset leaves nothing of an operation that was under way."""
    bench = await Bench.start(dut)
    for _ in range(12):
        bench.shake()
        operation = bench.rng.choice(list(ScuOperation))
        await bench.begin(operation, 60, **bench.any_vectors(60, 9))
        await tick(dut, bench.rng.randrange(50))
        dut.rst.value = 1
        for source in bench.sources.values():
            source.clear()
        await reset(dut)
        bench.sink.withdraw()
        await bench.check(operation, 9, **bench.any_vectors(9, 9))


@cocotb.test()
async def a_beat_a_cycle(dut):
    """Beats of inputs and of elements come without gaps: whole beats, short rows, long rows."""
    bench = await Bench.start(dut)
    width, beats = bench.width, 30
    length = beats * width
    ones = [1] * length
    for operation, vectors in (
            (ScuOperation.DATA, {"mask": ones}),
            (ScuOperation.ACCESS, {"indexes": [*range(length)]}),
            (ScuOperation.REPLICATION, {"counts": ones}),
            (ScuOperation.ACCESS_EXPANSION, {"indexes": ones, "counts": ones})):
        await bench.check(operation, length, **vectors)
        for name in vectors:
            taken = getattr(bench.times, {"mask": "bits"}.get(name, name))
            assert taken == list(range(taken[0], taken[0] + beats)), (operation, name)
        # Through the packer, the expander and the packer.
        assert bench.times.o[0] - taken[0] == 3
        assert bench.times.o[-1] - bench.times.o[0] == beats - 1
    # A beat of rows whose length is no multiple of the width, or is one.
    for counts in ([3] * width, [width] * width, [8 * width + 1] * width):
        await bench.check(ScuOperation.ACCESS_EXPANSION, width, indexes=[5] * width, counts=counts)
        given = bench.times.o
        assert given[-1] - given[0] == len(given) - 1
    # Empty rows take no place in a beat.
    counts = ([0] * (width - 1) + [5]) * 40
    await bench.check(ScuOperation.REPLICATION, 40 * width, counts=counts)
    given = bench.times.o
    assert len(given) == 200 // width and given[-1] - given[0] == len(given) - 1
    # Half of the inputs are masked: inputs pass at full speed, elements come in full beats.
    await bench.check(ScuOperation.DATA, length, mask=[0, 1] * (length // 2))
    assert bench.times.bits[-1] - bench.times.bits[0] == beats - 1
    assert len(bench.times.o) <= -(-length // 2 // width) + 1



@pytest.mark.parametrize("width", [1, 4])
def test_address_generator(simulator, width):
    runner.run_bench(AddressGenerator(width), "address", __name__, simulator=simulator,
                     parameters={"scu": width})
