# amaranth: UnusedElaboratable=no
"""Tests of the output: words, operands and places become elements to store."""

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly

from hw.isa import MemoryMap
from hw.scu.checks import fault_layout, register_layout
from hw.scu.filter_banks import answer_layout, candidate_layout
from hw.scu.serializer import numbered_layout
from hw.scu.output import OutputStage
from hw.scu.registers import ScuCommand, ScuCompare, ScuError, ScuOperation, ScuOutput
from hw.scu.store import placed_layout
from tb import runner
from tb.clocking import integer, reset, tick
from tb.hw.memory.packing import packed
from tb.hw.memories import memory_of
from tb.hw.scu.block import BlockBench
from tb.hw.scu.configs import scu_config
from tb.hw.scu.streams import BeatSink, BeatSource, Transfers, cut, hush
from tb.hw.scu.test_bitmask import HOLDS
from tb.streams import StreamSource


BASE, WORD = int(MemoryMap.GLOBAL), 0xFFFF_FFFF


class Bench(BlockBench):
    """The output between words and store, with its vectors and a hash unit of random answers.

    Attributes
    ----------
    seen : list
        Requests to the hash unit, (value, cost, shown).
    answered : list
        Decisions of the hash unit, or places of GROUP as (index, value).
    """
    def connect(self, dut):
        self.end = BASE + self.config.memory_bytes
        self.source = BeatSource(dut, "i", 32, self.width)
        self.vectors = {name: StreamSource(dut, name) for name in ("operands", "order")}
        self.lookups = BeatSink(dut, "lookups", candidate_layout(), self.width)
        self.answers = BeatSource(dut, "answers", answer_layout(), self.width)
        self.places = StreamSource(dut, "places", numbered_layout())
        self.sink = BeatSink(dut, "o", placed_layout(), self.width, packed=False)
        self.times = Transfers(dut, "i", "o", "lookups")
        self.grouped = False
        self._clear()
        cocotb.start_soon(self._watch())

    def _clear(self):
        self.seen, self.answered, self.stored, self.ones = [], [], 0, 0

    def shake(self):
        """Set random speeds of all streams."""
        for source in (self.source, self.answers, self.places, *self.vectors.values()):
            source.idle = self.rng.choice([0, 0, 0.5, 0.8])
        for sink in (self.sink, self.lookups):
            sink.stall = self.rng.choice([0, 0, 0.5, 0.8])

    def _answer(self, beat):
        """Answer a beat: filters in order, GROUP at the end with its places in any order."""
        rng, shape = self.rng, candidate_layout()
        elements = [shape.from_bits(item) for item in beat.elements]
        self.seen += [(element.value, element.cost, element.shown)
                      for element in elements[:beat.valid.bit_count()]]
        if not self.grouped:
            kept = [rng.getrandbits(1) for _ in elements]
            self.answered += kept[:beat.valid.bit_count()]
            self.answers.send([beat._replace(elements=[packed(answer_layout(), {
                "kept": one, "element": {"value": element.value, "cost": element.cost}})
                for one, element in zip(kept, elements)])])
        elif beat.end:
            kept = sum(shown for *_, shown in self.seen)
            self.answered = [(k, rng.getrandbits(20)) for k in rng.sample(range(kept), kept)]
            self.places.send({"index": index, "value": value, "end": 0}
                             for index, value in self.answered)
            self.places.send([{"index": rng.getrandbits(32), "value": 1, "end": 1}])

    async def _watch(self):
        while True:
            await FallingEdge(self.dut.clk)
            while self.lookups.items:
                self._answer(self.lookups.unpack(self.lookups.items.popleft()))
            await ReadOnly()
            if integer(self.dut.rst) == 0:
                self.stored += integer(self.dut.stored)
                self.ones += integer(self.dut.ones)

    async def begin(self, command, words, *, operands=None, order=None, **registers):
        """Reset, as before each operation, and begin it."""
        await tick(self.dut)
        self.dut.rst.value = 1
        for source in (self.source, self.answers, self.places, *self.vectors.values()):
            source.clear()
        await reset(self.dut)
        self.sink.withdraw()
        self.lookups.withdraw()
        self.grouped = (command & ScuCommand.OUTPUT) >> 4 == ScuOutput.GROUP
        self.dut.registers.value = packed(register_layout(), {
            "command": command, "operand": int(operands is not None) << 4,
            "order": int(order is not None) << 4, **registers})
        self.dut.start.value = 1
        await tick(self.dut)
        self.dut.start.value = 0
        self._clear()
        self.times.clear()
        self.source.send(cut(words, self.width, self.rng))
        for name, values in (("operands", operands), ("order", order)):
            values = [*(values or ())]
            values += [self.rng.getrandbits(32) for _ in range(-len(values) % self.width)]
            self.vectors[name].send(
                sum(value << 32 * k for k, value in enumerate(values[first:first + self.width]))
                for first in range(0, len(values), self.width))

    async def elements(self):
        """The elements for the store: (place, bit, value)."""
        shape = placed_layout()
        return [tuple(shape.from_bits(item)[name] for name in ("place", "bit", "value"))
                for item in await self.sink.stream()]

    async def over(self, *, stored, ones, fault=(0, 0)):
        """Check that nothing else comes, and that counts and fault are right."""
        await hush(self.dut, "o", 4)
        got = fault_layout().from_bits(integer(self.dut.fault))
        assert (got.error, got.address) == fault
        assert (self.stored, self.ones) == (stored, ones)

    def words(self, count, near=None):
        """Random words, many of them near a reference."""
        rng = self.rng
        return [near + rng.randint(-1, 1) & WORD if near is not None and rng.random() < 0.5
                else rng.getrandbits(32) for _ in range(count)]


def _lengths(bench):
    return [*range(bench.width + 2), 9, 31, 33, 50]


@cocotb.test()
async def data(dut):
    """Words with and without operands and places. The first place outside the memory ends the
    stream."""
    bench = await Bench.start(dut)
    rng, width = bench.rng, bench.width
    faults = 0
    for length in _lengths(bench):
        for kind in ("plain", "operands", "order", "both", "outside"):
            bench.shake()
            destination = rng.randrange(BASE, bench.end, 4)
            words = bench.words(length)
            operands = bench.words(length) if kind in ("operands", "both") else None
            order, places = None, [(destination >> 2) + k for k in range(length)]
            good = length
            if kind in ("order", "both", "outside"):
                places = [rng.randrange(BASE >> 2, bench.end >> 2) for _ in range(length)]
                if kind == "outside" and length:
                    good = rng.randrange(length)
                    for k in range(good, length):
                        if k == good or rng.random() < 0.3:
                            places[k] = rng.choice([(BASE >> 2) - 1, (bench.end & WORD) >> 2, 0])
                order = [place - (destination >> 2) & (1 << 30) - 1 | rng.getrandbits(2) << 30
                         for place in places]
            operation = rng.choice([each for each in ScuOperation if each not in (
                ScuOperation.BITMASK, ScuOperation.STREAM)])
            await bench.begin(ScuCommand.of(operation), words, operands=operands, order=order,
                              destination=destination)
            values = [word + (operands[k] if operands else 0) & WORD
                      for k, word in enumerate(words)]
            got = await bench.elements()
            assert [(place, value) for place, _, value in got] \
                == [*zip(places, values)][:good], (length, kind)
            fault = (ScuError.UNMAPPED, places[good] << 2) if good < length else (0, 0)
            await bench.over(stored=good, ones=0, fault=fault)
            faults += good < length
            assert good < length or all(source.drained for source in bench.vectors.values())
    assert faults > 2 * width


@cocotb.test()
async def bitmask(dut):
    """Bits of every comparison, packed into words. Or each bit has a place of its own, up to the
    first place outside the memory."""
    bench = await Bench.start(dut)
    rng, faults = bench.rng, 0
    for number, length in enumerate(_lengths(bench) * 2):
        bench.shake()
        compare, signed = list(ScuCompare)[number % 6], rng.getrandbits(1)
        # A place is a word, so it reaches 512 MiB from here.
        destination = rng.randrange(bench.end - (1 << 16), bench.end, 4)
        reference = rng.getrandbits(32)
        words = bench.words(length, near=reference)
        operands = [rng.choice([0, 0, rng.getrandbits(32)]) for _ in words]
        ordered = rng.random() < 0.7
        room = bench.end - destination << 3
        order = [rng.randrange(room) for _ in words] if ordered else None
        good, fault = length, (0, 0)
        if ordered and length and rng.random() < 0.5:
            good = rng.randrange(length)
            for k in range(good, length):
                if k == good or rng.random() < 0.3:
                    order[k] = rng.choice([room, room + 31, room + 32 * k])
            fault = ScuError.UNMAPPED, destination + (order[good] >> 5 << 2) & WORD
            faults += 1
        await bench.begin(ScuCommand.of(ScuOperation.BITMASK, compare=compare, signed=signed),
                          words, operands=operands, order=order, destination=destination,
                          reference=reference)
        flip = signed << 31
        bits = [int(HOLDS[compare]((word + operand & WORD) ^ flip, reference ^ flip))
                for word, operand in zip(words, operands)]
        got = await bench.elements()
        assert integer(dut.bits) == ordered
        if ordered:
            assert [(place, bit, value & 1) for place, bit, value in got] \
                == [((destination >> 2) + (at >> 5), at & 31, bit)
                    for at, bit in zip(order, bits)][:good]
        else:
            assert [(place, value) for place, _, value in got] \
                == [((destination >> 2) + k, sum(bit << n for n, bit in enumerate(
                    bits[32 * k:32 * k + 32]))) for k in range(-(-length // 32))]
        await bench.over(stored=good, ones=sum(bits[:good]), fault=fault)
    assert faults > 2


@cocotb.test()
async def hashed(dut):
    """Elements go to the hash unit. The unit's bits, or places, go to the store."""
    bench = await Bench.start(dut)
    rng = bench.rng
    for number, length in enumerate(_lengths(bench) * 2):
        bench.shake()
        output = list(ScuOutput)[1 + number % 3]
        operation = rng.choice([ScuOperation.BITMASK, ScuOperation.BITMASK, ScuOperation.ACCESS])
        destination, reference = rng.randrange(BASE, bench.end, 4), rng.getrandbits(32)
        words = bench.words(length, near=reference)
        costs = bench.words(length) if output == ScuOutput.FILTER_BEST else None
        await bench.begin(ScuCommand.of(operation, output, ScuCompare.LE), words, operands=costs,
                          destination=destination, reference=reference)
        got = [(place, value) for place, _, value in await bench.elements()]
        shown = [int(operation != ScuOperation.BITMASK or word <= reference) for word in words]
        assert bench.seen == [*zip(words, costs or [0] * length, shown)]
        first = destination >> 2
        if output == ScuOutput.GROUP:
            assert len(bench.answered) == sum(shown)
            assert got == [(first + index & (1 << 30) - 1, value)
                           for index, value in bench.answered]
            await bench.over(stored=sum(shown), ones=0)
        else:
            bits = bench.answered
            assert len(bits) == length
            assert got == [(first + k, sum(bit << n for n, bit in enumerate(
                bits[32 * k:32 * k + 32]))) for k in range(-(-length // 32))]
            await bench.over(stored=length, ones=sum(bits))
        assert integer(dut.bits) == 0


@cocotb.test()
async def promises_of_time(dut):
    """A beat a cycle, also to the hash unit."""
    bench = await Bench.start(dut)
    length = 30 * bench.width
    words = [*range(length)]
    for operation in (ScuOperation.DATA, ScuOperation.BITMASK):
        for ordered in (False, True):
            await bench.begin(ScuCommand.of(operation), words, operands=words,
                              order=words if ordered else None, destination=BASE)
            await bench.elements()
            taken = bench.times.i
            assert taken[29] - taken[0] == 29
            if operation == ScuOperation.DATA or ordered:
                assert bench.times.o[:30] == [cycle + 2 for cycle in taken[:30]]
    await bench.begin(ScuCommand.of(ScuOperation.DATA, ScuOutput.FILTER_UNIQUE), words,
                      destination=BASE)
    await bench.elements()
    asked = bench.times.lookups
    assert asked[:30] == list(range(asked[0], asked[0] + 30))


@pytest.mark.parametrize("width", [1, 4])
def test_output(simulator, width):
    fields = {"scu": width, "line_bytes": 16, **memory_of(simulator)}
    config = scu_config(**fields)
    runner.run_bench(OutputStage(config, width), "scu_output", __name__, simulator=simulator,
                     parameters=fields)
