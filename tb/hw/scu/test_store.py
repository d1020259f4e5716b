# amaranth: UnusedElaboratable=no
"""Tests of the data store: the memory after a stream, and the number of writes."""

import itertools

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly

from hw.scu.store import DataStore, placed_layout, store_request_layout
from tb import runner
from tb.clocking import integer, reset
from tb.hw.memory.packing import packed
from tb.hw.scu.block import BlockBench
from tb.hw.scu.configs import scu_config
from tb.hw.scu.streams import BeatSource, ScuBeat, Transfers, cut, scatter
from tb.streams import StreamSink


SHAPES = [{"scu": width, "line_bytes": line} for width in (1, 4) for line in (16, 64)]


class Bench(BlockBench):
    """The store, and the words it has written.

    Attributes
    ----------
    words : dict
        The words that were written, by number.
    writes : list
        The requests.
    """
    def connect(self, dut):
        self.line_words = self.config.line_words
        self.source = BeatSource(dut, "i", placed_layout(), self.width)
        self.sink = StreamSink(dut, "request", store_request_layout(self.config))
        self.times = Transfers(dut, "i", "request")

    def shake(self):
        """Set random speeds of source and sink."""
        self.source.idle, self.sink.stall = (self.rng.choice([0, 0, 0.5, 0.9]) for _ in range(2))

    async def restart(self, bits):
        """Reset, as before every operation."""
        self.dut.rst.value = 1
        self.source.clear()
        self.dut.bits.value = bits
        await reset(self.dut)
        self.sink.withdraw()
        self.times.clear()

    def elements(self, items, bits=0):
        """Elements of a stream, from (place, value) for words or (place, bit, value) for bits."""
        noise = self.rng.getrandbits
        return [packed(placed_layout(), {
            "place": item[0], "bit": item[1] if bits else noise(5),
            "value": item[-1] | bits * noise(31) << 1}) for item in items]

    async def over(self, limit=5000):
        """Wait for ``done``, and check that no request follows. Returns the requests."""
        for _ in range(limit):
            await FallingEdge(self.dut.clk)
            await ReadOnly()
            if integer(self.dut.done) == 1:
                break
        else:
            raise AssertionError("the store does not end")
        requests = list(self.sink.items)
        for _ in range(5):
            await FallingEdge(self.dut.clk)
            await ReadOnly()
            assert integer(self.dut.done) == 1 and integer(self.dut.request__valid) == 0
        await FallingEdge(self.dut.clk)
        return requests

    def written(self, requests):
        """The words that requests write."""
        words = {}
        for request in requests:
            assert not request.bit and request.mask, "nothing is written"
            for word in range(self.line_words):
                mask = request.mask >> 4 * word & 0xF
                assert mask in (0, 0xF)
                if mask:
                    words[request.line * self.line_words + word] = request.data[word]
        return words


def _stream(rng, line_words, length):
    """Elements in the patterns of operations: in a row, anywhere, in few places again and again."""
    items = []
    while len(items) < length:
        place, count = rng.randrange(1 << 30), rng.choice([1, 3, 10, 40])
        kind = rng.randrange(4)
        places = {0: [place + k for k in range(count)],
                  1: [rng.randrange(1 << 30) for _ in range(count)],
                  2: [place ^ rng.randrange(4 * line_words) for _ in range(count)],
                  3: [place ^ rng.randrange(2) * line_words for _ in range(count)]}[kind]
        items += [(place & (1 << 30) - 1, rng.getrandbits(32)) for place in places]
    return items[:length]


@cocotb.test()
async def words(dut):
    """Words at any places, in beats with gaps. If several have one place, the last stays."""
    bench = await Bench.start(dut)
    for length in [*range(2 * bench.width + 2), 30, 60, 100, 100]:
        bench.shake()
        await bench.restart(bits=0)
        items = _stream(bench.rng, bench.line_words, length)
        elements = bench.elements(items)
        bench.source.send(scatter(elements, bench.width, bench.rng, element=67,
                                  density=bench.rng.choice([0.2, 0.7, 1]))
                          if bench.rng.random() < 0.6
                          else cut(elements, bench.width, bench.rng, element=67))
        requests = await bench.over()
        assert bench.written(requests) == dict(items)
        lines = [place // bench.line_words for place, _ in items]
        assert len(requests) <= len(set(lines)) + sum(a != b for a, b in itertools.pairwise(lines))
        if lines == sorted(lines):
            assert len(requests) == len(set(lines))


@cocotb.test()
async def one_place(dut):
    """Beats whose elements are all in one place, in all lanes and in some."""
    bench = await Bench.start(dut)
    for valid in range(1, 1 << bench.width):
        await bench.restart(bits=0)
        values = [bench.rng.getrandbits(32) for _ in range(3 * bench.width)]
        elements = bench.elements([(21, value) for value in values])
        bench.source.send([
            ScuBeat(elements[first:first + bench.width], valid, first > bench.width)
            for first in range(0, len(values), bench.width)])
        requests = await bench.over()
        assert len(requests) == 1
        assert bench.written(requests) == {21: values[2 * bench.width + valid.bit_length() - 1]}


@cocotb.test()
async def bits(dut):
    """Single bits: each bit is one request, in order, and changes no other bit."""
    bench = await Bench.start(dut)
    for length in [*range(bench.width + 2), 40, 80]:
        bench.shake()
        await bench.restart(bits=1)
        items = [(place, bench.rng.randrange(32), value & 1)
                 for place, value in _stream(bench.rng, bench.line_words, length)]
        elements = bench.elements(items, bits=1)
        bench.source.send(scatter(elements, bench.width, bench.rng, element=67)
                          if bench.rng.random() < 0.6
                          else cut(elements, bench.width, bench.rng, element=67))
        requests = await bench.over()
        assert len(requests) == length
        for request, (place, bit, value) in zip(requests, items):
            assert request.bit and request.sets == value
            assert request.line * bench.line_words + request.word == place
            assert request.data[0] == (1 << bit if value else 0xFFFF_FFFF ^ 1 << bit)


@cocotb.test()
async def speed(dut):
    """A beat a cycle into a row, wherever it begins; a line a cycle anywhere; a bit a cycle."""
    bench = await Bench.start(dut)
    width, words_ = bench.width, bench.line_words
    bench.source.idle = bench.sink.stall = 0
    for first in range(words_):
        await bench.restart(bits=0)
        bench.source.send(cut(bench.elements([(first + k, k) for k in range(20 * width)]), width,
                              bench.rng, element=67))
        requests = await bench.over()
        assert bench.times.i[19] - bench.times.i[0] == 19
        assert len(requests) == (first + 20 * width - 1) // words_ + 1
    await bench.restart(bits=0)
    bench.source.send(cut(bench.elements([(words_ * (3 * k + 1), k) for k in range(20 * width)]),
                          width, bench.rng, element=67))
    assert len(await bench.over()) == 20 * width
    sent = bench.times.request
    assert sent[-2] - sent[0] == 20 * width - 2         # the last line goes with the end
    await bench.restart(bits=1)
    bench.source.send(cut(bench.elements([(7, k % 32, 1) for k in range(20 * width)], bits=1),
                          width, bench.rng, element=67))
    await bench.over()
    assert bench.times.request[-1] - bench.times.request[0] == 20 * width - 1


@pytest.mark.parametrize("fields", SHAPES, ids="{0[scu]}-{0[line_bytes]}".format)
@pytest.mark.sample(2)
def test_store(simulator, fields):
    config = scu_config(**fields)
    runner.run_bench(DataStore(config, config.scu), "store", __name__, simulator=simulator,
                     parameters=fields)
