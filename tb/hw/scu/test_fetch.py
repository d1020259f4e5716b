# amaranth: UnusedElaboratable=no
"""Tests of the data fetch and of its coalescing unit."""

import collections

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly

from hw.scu.coalescer import WINDOW, CoalescingUnit, place_layout
from hw.scu.fetch import DataFetch
from hw.scu.interface import SLOTS, read_layout
from tb import runner
from tb.clocking import integer, reset, tick
from tb.hw.scu.block import BlockBench
from tb.hw.scu.configs import scu_config
from tb.hw.scu.reader import ReadPort
from tb.hw.scu.streams import BeatSink, BeatSource, Together, Transfers, cut
from tb.streams import StreamSink


SHAPES = [{"scu": width, "line_bytes": line} for width in (1, 4) for line in (16, 64)]

#: Number of beats between coalescing unit and sink of the bench, by the width of beats. This
#: number is large enough for all slots, and small enough that beat numbers wrap often.
BEATS = {1: 40, 4: 12}


def _addresses(rng, config, count):
    """Numbers of words, in the patterns of operations: rows, jumps, one word again and again."""
    items = []
    while len(items) < count:
        first, length = rng.randrange(1 << 30), rng.choice([1, 2, 5, 20, 60])
        kind = rng.randrange(4)
        if kind == 0:       # a row
            items += [first + k for k in range(length)]
        elif kind == 1:     # one word
            items += [first] * length
        elif kind == 2:     # few lines, in and out of the window
            lines = [rng.randrange(1 << 30) for _ in range(rng.randint(2, WINDOW + 2))]
            items += [rng.choice(lines) ^ rng.randrange(config.line_words) for _ in range(length)]
        else:               # anywhere
            items += [rng.randrange(1 << 30) for _ in range(length)]
    return [item & (1 << 30) - 1 for item in items[:count]]


class Lines:
    """A model of the coalescing unit: the lines it requests, and the places of elements."""

    def __init__(self, line_words):
        self._line_words, self._next = line_words, 0
        self.window = collections.deque(maxlen=WINDOW)      # (line, slot), the newest first
        self.asked = []

    def places(self, beat):
        """The (line, slot, word) of each element of a beat."""
        lines = [item // self._line_words for item in beat.items]
        slots = {line: slot for line, slot in self.window if line in lines}
        for line in lines:
            if line not in slots:
                slots[line] = self._next % SLOTS
                self._next += 1
                self.window.appendleft((line, slots[line]))
                self.asked.append((line, slots[line]))
        return [(item // self._line_words, slots[item // self._line_words],
                 item % self._line_words) for item in beat.items]


class CoalescerBench(BlockBench):
    """The coalescing unit, with a queue behind it that takes beats at random.

    Attributes
    ----------
    takes : float
        Probability that a cycle takes the oldest beat.
    """
    def connect(self, dut):
        self.source = BeatSource(dut, "coalescer__i", 30, self.width)
        self.sink = BeatSink(dut, "coalescer__o", place_layout(self.config), self.width)
        self.reads = StreamSink(dut, "coalescer__read", read_layout(self.config))
        self.times = Transfers(dut, "coalescer__i", "coalescer__o", "coalescer__read")
        self.takes, self.stall = 1.0, 0.0
        self.forget()
        cocotb.start_soon(self._run())

    def forget(self):
        """Forget everything, as after a reset."""
        self.model = Lines(self.config.line_words)
        self.expected = collections.deque()     # beats that were sent and have not come out
        self.waiting = collections.deque()      # places in beats that were not taken
        self.held = {}                          # slot: line
        self.reads.items.clear()

    def shake(self):
        """Set random speeds of all streams."""
        self.source.idle, self.reads.stall = (self.rng.choice([0, 0, 0.5]) for _ in range(2))
        self.stall = self.rng.choice([0, 0, 0.5])
        self.takes = self.rng.choice([0.1, 0.5, 1, 1])

    def send(self, items):
        """Send a stream."""
        for beat in cut(items, self.width, self.rng, element=30):
            self.expected.append((beat, self.model.places(beat)))
            self.source.send([beat])

    async def over(self, timeout=4000):
        """Wait until all beats have been taken."""
        for _ in range(timeout):
            await FallingEdge(self.dut.clk)
            if not self.expected and not self.waiting:
                break
        assert not self.expected and not self.waiting, "the coalescing unit stands still"
        asked = self.model.asked
        assert len(self.reads.items) == 0 and not asked, "not all lines were asked for"

    def _follow(self):
        """Compare the output with the model."""
        shape, bits = place_layout(self.config), place_layout(self.config).size
        while self.reads.items:
            read = self.reads.items.popleft()
            assert (read.line, read.slot) == self.model.asked.pop(0)
            old = self.held.get(read.slot)
            old = self.held.get(read.slot), read.slot
            assert not any(place[:2] == old for places in self.waiting for place in places), \
                "a slot is used again while it is needed"
            self.held[read.slot] = read.line
        while self.sink.items:
            beat = self.sink.unpack(self.sink.items.popleft())
            sent, places = self.expected.popleft()
            assert (beat.valid, beat.end) == (sent.valid, sent.end)
            found = [shape.from_bits(item & (1 << bits) - 1) for item in beat.items]
            assert [(place.slot, place.word) for place in found] == [p[1:] for p in places]
            for line, slot, _ in places:
                assert self.held[slot] == line, "a slot holds another line"
            self.waiting.append(places)

    async def _run(self):
        taken = False
        while True:
            await FallingEdge(self.dut.clk)
            if integer(self.dut.rst) == 1:
                continue
            self._follow()
            taken = bool(self.waiting) and self.rng.random() < self.takes
            if taken:
                self.waiting.popleft()
            self.dut.coalescer__taken.value = int(taken)
            # One request may be on its way through the port.
            self.sink.stall = 1.0 if len(self.waiting) >= BEATS[self.width] - 1 else self.stall


@cocotb.test()
async def places(dut):
    """Lines are requested once, as the window says, in slots that no beat needs any more."""
    bench = await CoalescerBench.start(dut)
    for _ in range(8):
        bench.shake()
        for length in (0, 1, bench.rng.randrange(50), 60):
            bench.send(_addresses(bench.rng, bench.config, length))
        await bench.over()
        if bench.rng.random() < 0.3:
            bench.send(_addresses(bench.rng, bench.config, 80))
            await tick(dut, bench.rng.randrange(40))
            dut.rst.value = 1
            bench.source.clear()
            bench.dut.coalescer__taken.value = 0
            await reset(dut)
            bench.sink.withdraw()
            bench.reads.withdraw()
            bench.forget()


@cocotb.test()
async def numbers_wrap(dut):
    """Beat numbers wrap while many beats read one line, and while many slots wait to leave."""
    bench = await CoalescerBench.start(dut)
    words, width = bench.config.line_words, bench.width

    def apart(count):
        """This number of elements, each in a random line."""
        return [words * bench.rng.randrange(1 << 20) for _ in range(count)]
    for first, beats in [(first, beats) for first in (8, 40) for beats in (20, 60, 130)]:
        bench.takes = 0.0
        bench.send(apart(first * width))    # slots wait for the first beats ...
        await tick(dut, 40)
        bench.takes = 1.0
        bench.send([5 << 10] * beats * width)      # ... and are not used for some time ...
        bench.send(apart(20 * width))       # ... until all of them are.
        await bench.over()


@cocotb.test()
async def a_line_a_cycle(dut):
    """A beat a cycle, or a line a cycle. A beat leaves one cycle after its last request."""
    bench = await CoalescerBench.start(dut)
    times, width, words = bench.times, bench.width, bench.config.line_words
    for skew in range(words):
        times.clear()
        bench.send([(1 << 20) * skew + skew + k for k in range(20 * width)])
        await bench.over()
        given = times.coalescer__o
        lines_of_first = 1 + (skew % words + width > words)
        assert given[0] - times.coalescer__i[0] == 1
        assert given[0] == times.coalescer__read[lines_of_first - 1] + 1
        assert given[19] - given[0] == 19, skew
    times.clear()
    bench.send([words * (7 * k + 3) for k in range(20 * width)])
    await bench.over()
    asked = times.coalescer__read
    assert asked == list(range(asked[0], asked[0] + 20 * width))
    assert times.coalescer__o[:20] == [cycle + 1 for cycle in asked[width - 1::width]]


class FetchBench(BlockBench):
    """The data fetch, and the memory that it reads."""

    def connect(self, dut):
        self.source = BeatSource(dut, "fetch__i", 30, self.width)
        self.sink = BeatSink(dut, "fetch__o", 32, self.width)
        self.memory = ReadPort(dut, self.config, self.rng, "fetch__")
        self.times = Transfers(dut, "fetch__i", "fetch__o", "fetch__read", "fetch__response")

    def shake(self):
        """Set random speeds of all streams."""
        self.memory.shake()
        self.source.idle = self.rng.choice([0, 0, 0.5])
        self.sink.stall = self.rng.choice([0, 0, 0.3, 0.9])

    async def check(self, items):
        """Read a stream. The beats that leave are the beats that came in."""
        beats = cut(items, self.width, self.rng, element=30)
        self.source.send(beats)
        got = await self.sink.beats()
        assert [beat.items for beat in got] == [[self.memory.word(item) for item in beat.items]
                                                  for beat in beats]
        assert [beat.end for beat in got] == [beat.end for beat in beats]


@cocotb.test()
async def any_words(dut):
    """Words from anywhere, with all speeds and orders of answers, and with resets in between."""
    bench = await FetchBench.start(dut)
    for _ in range(8):
        bench.shake()
        for length in (0, 1, bench.rng.randrange(40), 80):
            await bench.check(_addresses(bench.rng, bench.config, length))
        if bench.rng.random() < 0.3:
            await tick(dut)
            bench.source.send(cut(_addresses(bench.rng, bench.config, 100), bench.width, bench.rng,
                                  element=30))
            await tick(dut, bench.rng.randrange(60))
            dut.rst.value = 1
            bench.source.clear()
            bench.memory.forget()
            await reset(dut)
            bench.memory.forget()
            bench.sink.withdraw()
    assert {request.slot for request in bench.memory.requests} == set(range(SLOTS))


@cocotb.test()
async def one_word_for_thousands(dut):
    """More beats than there are numbers read one word, between others; answers slow and fast."""
    bench = await FetchBench.start(dut)
    bench.memory.latency = (100, 200)
    before, behind = (_addresses(bench.rng, bench.config, 50) for _ in range(2))
    await bench.check(before + [77] * 4200 * bench.width + behind)
    assert sum(request.line == 77 // bench.config.line_words
               for request in bench.memory.requests) == 1


@cocotb.test()
async def promises_of_time(dut):
    """Latency; a beat a cycle for consecutive words; one line under way for each slot."""
    bench = await FetchBench.start(dut)
    times, width, words = bench.times, bench.width, bench.config.line_words
    await bench.check([1000])
    [asked], [answered] = times.fetch__read, times.fetch__response
    taken, given = times.fetch__i[0], times.fetch__o[0]
    assert taken == asked and given == max(answered + 2, taken + 4)
    for skew in range(words):
        bench.memory.latency, bench.memory.in_order = (10, 10), True
        times.clear()
        await bench.check([(skew << 16) + skew + k for k in range(30 * width)])
        assert times.fetch__o[29] - times.fetch__o[0] == 29, skew
        lines = times.fetch__read
        assert len(lines) == (skew + 30 * width - 1) // words + 1      # each line once
    bench.memory.latency = (150, 150)
    times.clear()
    await tick(dut)
    bench.source.send(cut([words * 3 * k for k in range(3 * SLOTS)], width, bench.rng, element=30))
    await tick(dut, 100)
    await ReadOnly()
    assert len(times.fetch__read) == SLOTS
    assert times.fetch__read == list(range(times.fetch__read[0], times.fetch__read[0] + SLOTS))
    await bench.sink.beats()


@pytest.mark.parametrize("fields", SHAPES, ids="{0[scu]}-{0[line_bytes]}".format)
@pytest.mark.sample(2)
def test_fetch(simulator, fields):
    config = scu_config(**fields)
    runner.run_bench(Together(coalescer=CoalescingUnit(config, config.scu, BEATS[config.scu]),
                              fetch=DataFetch(config, config.scu)),
                     "fetch", __name__, simulator=simulator, parameters=fields)
