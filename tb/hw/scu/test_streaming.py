# amaranth: UnusedElaboratable=no
"""Tests of the blocks of STREAM: rows, the fork, the costs, and the places of elements and costs.
"""

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly

from hw.scu.costs import StreamCosts
from hw.scu.fork import Fork
from hw.scu.pairs import PairPlaces, pair_layout
from hw.scu.rows import RowLookup
from hw.scu.store import placed_layout
from tb import runner
from tb.clocking import integer, tick
from tb.hw.memories import memory_of
from tb.hw.scu.block import BlockBench
from tb.hw.scu.configs import scu_config
from tb.hw.scu.reader import ReadPort
from tb.hw.scu.streams import BeatSink, BeatSource, Together, Transfers, cut, scatter
from tb.streams import StreamSink, StreamSource


WORD = 0xFFFF_FFFF

#: Cycles from the line with an input's words to its row, without costs and with costs.
LATENCY = (6, 7)


class ForkBench(BlockBench):
    """The fork between a source and three sinks."""
    def connect(self, dut):
        dut.fork__enable.value = 7
        self.source = StreamSource(dut, "fork__i")
        self.sinks = [StreamSink(dut, f"fork__o_{k}") for k in range(3)]


@cocotb.test()
async def fork(dut):
    """Each enabled branch gets every payload once, whatever the speeds; the others get nothing."""
    bench = await ForkBench.start(dut)
    for enable in (7, 1, 5, 2, 7):
        bench.source.idle = bench.rng.choice([0, 0.5])
        for sink in bench.sinks:
            sink.stall = bench.rng.choice([0, 0.3, 0.8])
        dut.fork__enable.value = enable
        items = [bench.rng.getrandbits(8) for _ in range(100)]
        bench.source.send(items)
        for k, sink in enumerate(bench.sinks):
            if enable >> k & 1:
                assert await sink.receive(100) == items
        await tick(dut, 20)
        assert bench.source.drained and not any(sink.items for sink in bench.sinks)


class PairsBench(BlockBench):
    """The places, between pairs and two stores."""
    def connect(self, dut):
        self.source = BeatSource(dut, "pairs__i", pair_layout(), self.width)
        self.sinks = [BeatSink(dut, f"pairs__{name}", placed_layout(), self.width, packed=False)
                      for name in ("o", "o_costs")]
        self.passed = 0
        cocotb.start_soon(self._watch())

    async def _watch(self):
        while True:
            await FallingEdge(self.dut.clk)
            await ReadOnly()
            if integer(self.dut.rst) == 0:
                self.passed += integer(self.dut.pairs__passing)


@cocotb.test()
async def pairs(dut):
    """Elements and costs get consecutive places, whatever the gaps and the speeds."""
    bench = await PairsBench.start(dut)
    rng, shape = bench.rng, placed_layout()
    for length in [*range(3 * bench.width + 2), 70]:
        bench.source.idle = rng.choice([0, 0.5])
        for sink in bench.sinks:
            sink.stall = rng.choice([0, 0.3, 0.8])
        firsts = [rng.getrandbits(30), rng.getrandbits(30)]
        items = [(rng.getrandbits(32), rng.getrandbits(32)) for _ in range(length)]
        await tick(dut)
        dut.pairs__values.value, dut.pairs__costs.value = firsts
        dut.pairs__start.value = 1
        await tick(dut)
        dut.pairs__start.value = 0
        bench.passed = 0
        bench.source.send(scatter([value | cost << 32 for value, cost in items], bench.width, rng,
                                  element=64, density=rng.choice([0.1, 0.5, 1])))
        for which, sink in enumerate(bench.sinks):
            got = [shape.from_bits(item) for item in await sink.stream()]
            assert [(item.place, item.value) for item in got] == [
                (firsts[which] + k & (1 << 30) - 1, item[which]) for k, item in enumerate(items)]
        await tick(dut)
        assert bench.passed == length


class CostsBench(BlockBench):
    """The costs, with the vectors of the inputs and a memory of weights."""
    def connect(self, dut):
        self.memory = ReadPort(dut, self.config, self.rng, "costs__")
        self.vectors = {name: StreamSource(dut, f"costs__{name}")
                        for name in ("bits", "counts", "given")}
        self.elements = BeatSource(dut, "costs__elements", 30, self.width)
        self.sink = StreamSink(dut, "costs__o")

    def send(self, name, values, bits=32):
        """Send values in beats. Lanes behind the last value hold random values."""
        values = values + [self.rng.getrandbits(bits) for _ in range(-len(values) % self.width)]
        self.vectors[name].send(
            sum(value << bits * lane for lane, value in enumerate(values[first:first + self.width]))
            for first in range(0, len(values), self.width))


@cocotb.test()
async def costs(dut):
    """The word of the input, once for each element, with the element's weight if there are any."""
    bench = await CostsBench.start(dut)
    rng, width = bench.rng, bench.width
    for length in [*range(2 * width + 2), 20, 40]:
        for weighted, masked in ((0, 0), (0, 1), (1, 0), (1, 1)):
            bench.memory.shake()
            for source in (*bench.vectors.values(), bench.elements):
                source.idle = rng.choice([0, 0, 0.5, 0.9])
            bench.sink.stall = rng.choice([0, 0, 0.3, 0.9])
            mask = [rng.getrandbits(1) if masked else 1 for _ in range(length)]
            counts = [rng.randint(0, 9) for _ in range(length)]
            given = [rng.getrandbits(32) for _ in range(length)]
            distance = rng.getrandbits(30)
            await tick(dut)
            for name, value in (("length", length), ("masked", masked), ("weighted", weighted),
                                ("distance", distance), ("start", 1)):
                getattr(dut, f"costs__{name}").value = value
            await tick(dut)
            dut.costs__start.value = 0
            bench.send("counts", counts)
            bench.send("given", given)
            if masked:
                bench.send("bits", mask, 1)
            right = [word for word, one, count in zip(given, mask, counts)
                     for _ in range(one * count)]
            if weighted:
                first = rng.getrandbits(30)
                words = [first + 3 * k // 2 & (1 << 30) - 1 for k in range(len(right))]
                bench.elements.send(cut(words, width, rng, element=30))
                right = [cost + bench.memory.word(word + distance & (1 << 30) - 1) & WORD
                         for cost, word in zip(right, words)]
            beats = await bench.sink.receive(-(-len(right) // width), timeout_cycles=20_000)
            got = [beat >> 32 * lane & WORD for beat in beats for lane in range(width)]
            assert got[:len(right)] == right, (length, weighted, masked)
            await tick(dut, 20)
            assert not bench.sink.items and bench.elements.drained
            assert all(vector.drained for vector in bench.vectors.values())


class RowsBench(BlockBench):
    """The look-up of rows, with the vector of keys and a memory."""
    def connect(self, dut):
        self.memory = ReadPort(dut, self.config, self.rng, "rows__")
        self.keys = StreamSource(dut, "rows__keys")
        self.sinks = {name: StreamSink(dut, f"rows__{name}")
                      for name in ("indexes", "counts", "given")}

    async def run(self, keys, rows, costs, looks):
        """The lists of first words, counts and costs of some inputs."""
        dut, rng, width = self.dut, self.rng, self.width
        self.memory.shake()
        self.keys.idle = rng.choice([0, 0.5])
        for sink in self.sinks.values():
            sink.stall = rng.choice([0, 0.3, 0.8])
        await tick(dut)
        for name, value in (("length", len(keys)), ("to_row", rows), ("to_cost", costs),
                            ("looks", looks), ("start", 1)):
            getattr(dut, f"rows__{name}").value = value
        await tick(dut)
        dut.rows__start.value = 0
        beats = -(-len(keys) // width)
        keys = keys + [rng.getrandbits(32) for _ in range(-len(keys) % width)]
        self.keys.send(sum(key << 32 * lane for lane, key in enumerate(keys[first:first + width]))
                       for first in range(0, len(keys), width))
        found = {}
        for name, sink in self.sinks.items():
            some = await sink.receive(beats if looks or name != "given" else 0)
            found[name] = [beat >> 32 * lane & WORD for beat in some for lane in range(width)]
        await tick(dut, 20)
        assert self.keys.drained and not any(sink.items for sink in self.sinks.values())
        return found


@cocotb.test()
async def rows(dut):
    """Words at the right places, in any order of the keys; none of an input that comes after one
    outside the memory."""
    bench = await RowsBench.start(dut)
    rng, memory = bench.rng, bench.memory
    base = 0x8000_0000
    top = base + bench.config.memory_bytes
    cases = [(length, rng.choice(["", "", "row", "cost"]))
             for length in (*range(2 * bench.width + 2), 30, 60, 60)]
    for length, wrong in [*cases, (9, ""), (9, "row"), (9, "cost"), (60, "cost")]:
        # From a row to its cost. A cost outside the memory does not count if none is looked up.
        apart = 4 * rng.randrange(1, 9)
        looks = wrong == "cost" or rng.random() < 0.5
        rows = rng.getrandbits(32)
        costs = rows + apart & WORD if looks else rng.getrandbits(32)
        first = rng.randrange(base, top - 4096, 4)
        places = [first + rng.choice([4 * k, rng.randrange(4000)]) for k in range(length)]
        fault, end = (0, 0), length
        if wrong and length:
            end = rng.randrange(length)
            places[end] = (top - max(apart, 8) if wrong == "cost" else
                           rng.choice([top - 4, top, base - 4, 0x7000_0000]))
            if wrong == "cost" and apart < 8:
                costs = rows + 8 & WORD
            fault = (4, (top if wrong == "cost" or places[end] == top - 4 else places[end]) & WORD)
        keys = [place - rows & WORD for place in places]
        found = await bench.run(keys, rows, costs, looks)
        words = [place // 4 for place in places[:end]]
        begins = [memory.word(word) for word in words]
        assert found["indexes"][:end] == begins
        assert found["counts"][:length] == [
            memory.word(word + 1) - begin & WORD for word, begin in zip(words, begins)
        ] + [0] * (length - end)
        if looks:
            assert found["given"][:end] == [
                memory.word((key + costs & WORD) // 4) for key in keys[:end]]
        assert (integer(dut.rows__fault) & 7, integer(dut.rows__fault) >> 3) == fault


@cocotb.test()
async def rows_rate(dut):
    """With a memory that is always ready: the cycles of a beat of rows, without and with costs, and
    the cycles from a line to its row."""
    bench = await RowsBench.start(dut)
    bench.memory.shake = lambda: None
    width, beats, base = bench.width, 60, 0x8000_0000
    for looks in (0, 1):
        seen = Transfers(dut, "rows__counts", "rows__response")
        keys = [base + 4 * k for k in range(width * beats)]
        bench.rng.choice = lambda values: values[0]         # sources and sinks without a pause
        await bench.run(keys, 0, 4, looks)
        cycles = seen.rows__counts
        assert len(cycles) == beats
        # After the first beats, which wait for the memory.
        rate = (cycles[-1] - cycles[10]) / (beats - 11)
        assert rate <= (2 + looks) * 1.05, rate
        await bench.run([base], 0, 4, looks)
        assert seen.rows__counts[-1] - seen.rows__response[-1] == LATENCY[looks]


@pytest.mark.parametrize("width", [1, 4])
def test_streaming(simulator, width):
    fields = {"scu": width, "line_bytes": 16, **memory_of(simulator)}
    config = scu_config(**fields)
    runner.run_bench(Together(fork=Fork(8, 3), pairs=PairPlaces(width),
                              costs=StreamCosts(config, width), rows=RowLookup(config, width)),
                     "scu_streaming", __name__, simulator=simulator, parameters=fields)
