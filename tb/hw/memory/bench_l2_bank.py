"""A bench for a bank of the L2: it acts as cores and memory and compares with a model."""

import collections
import random

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly

from hw.config import HardwareConfig
from hw.isa import MemoryMap
from hw.operations import AmoOp
from hw.memory.port import (LineOp, core_request_layout, core_response_layout, core_tag_layout)
from tb import runner
from tb.clocking import integer, start
from tb.hw.core.models_memory import WORD, amo_result
from tb.hw.memory.packing import packed, sectors_with, spread
from tb.hw.memory.responders import LineStore, MemoryPort
from tb.streams import StreamSink, StreamSource


__all__ = ["Bench", "Client", "EVENTS"]


#: One-cycle events of the L2.
EVENTS = ("access", "hit", "memory_read", "memory_write")


class Client:
    """A core's side of the L2.

    A request is performed on a model when it is queued. Requests for a line are performed in order.
    So each answer has exactly one right content, as long as no other client writes the line. Tags
    distinguish the answers.

    Parameters
    ----------
    dut
    config : HardwareConfig
    rng : random.Random
    request, response : str
        Names of the streams.
    core : int
        The core's number, which answers must carry. The number in requests does not matter.

    Attributes
    ----------
    model : LineStore
        Lines after all requests queued so far.
    """

    def __init__(self, dut, config, rng, request="request", response="response", core=0):
        self.dut, self.config, self.rng, self._core = dut, config, rng, core
        self.source = StreamSource(dut, request)
        self.sink = StreamSink(dut, response, core_response_layout(config))
        self.model = LineStore(config.line_bytes)
        self._tags = {name: 1 << field.width for name, field in core_tag_layout(config)
                      if name != "core"}
        self._any_core = 1 << core_tag_layout(config)["core"].width
        self._expected = {}                  # tag -> (line, bytes that were asked for)
        self._queued = 0

    @property
    def under_way(self):
        """Whether a request is not accepted yet, or an answer is missing."""
        return self.source.sent < self._queued or bool(self._expected)

    def line(self, number):
        """The number of a line of global memory."""
        return (MemoryMap.GLOBAL >> self.config.line_bits) + number

    def _tag(self):
        while True:
            tag = {name: self.rng.randrange(size) for name, size in self._tags.items()}
            if tuple(tag.values()) not in self._expected:
                return tag

    async def _send(self, line, *, answer, mask, **fields):
        while self._queued - self.source.sent > 3 or len(self._expected) > 12:
            await FallingEdge(self.dut.clk)
        tag = self._tag()
        if answer:
            self._expected[tuple(tag.values())] = self.model.value(line), mask
        self.source.send([packed(core_request_layout(self.config),
                                 {"tag": {"core": self.rng.randrange(self._any_core), **tag},
                                  "line": line, "mask": mask, **fields})])
        self._queued += 1

    async def read(self, number, mask=None):
        """Queue a READ of the line, or of the sectors that have a byte in ``mask``. Its answer will
        be checked."""
        mask = self._all if mask is None else mask
        await self._send(self.line(number), answer=True, op=LineOp.READ, wanted=1, mask=mask)

    @property
    def _all(self):
        return (1 << self.config.line_bytes) - 1

    async def write(self, number, value=None, mask=None):
        """Queue a WRITE of the whole line, or of the bytes in ``mask``."""
        size = self.config.line_bytes
        value = self.rng.getrandbits(8 * size) if value is None else value
        mask = self._all if mask is None else mask
        await self._send(self.line(number), answer=False, op=LineOp.WRITE, mask=mask,
                         data=value)
        self.model.write(self.line(number), value, mask)

    async def atomic(self, number, word, amo, operand, wanted=1, compare=0):
        """Queue an ATOMIC on one word."""
        data = [self.rng.getrandbits(32) for _ in range(self.config.line_words)]
        data[word], data[word ^ 1] = operand, compare
        await self.atomics(number, [word], amo, data, wanted)

    async def atomics(self, number, words, amo, data, wanted=1):
        """Queue an ATOMIC on some words of a line. ``data`` has a value for each of its words."""
        line = self.line(number)
        await self._send(line, answer=bool(wanted), op=LineOp.ATOMIC, amo=amo, wanted=wanted,
                         data=data, mask=sum(0xF << 4 * word for word in words))
        for word in words:
            old = self.model.value(line) >> 32 * word & WORD
            self.model.write(line, amo_result(amo, old, data[word], data[word ^ 1]) << 32 * word,
                             0xF << 4 * word)

    async def anything(self, lines):
        """Queue a random request for one of the first ``lines`` lines."""
        rng, config = self.rng, self.config
        number = rng.randrange(lines)
        match rng.randrange(5):
            case 0 | 1:
                await self.read(number, mask=self._some_bytes())
            case 2:
                await self.write(number)
            case 3:
                await self.write(number, mask=rng.choice(
                    [rng.getrandbits(config.line_bytes), sectors_with(config, self._some_bytes())]))
            case 4:
                operand = rng.choice([rng.getrandbits(32), rng.randrange(4), WORD])
                word = rng.randrange(config.line_words)
                old = self.model.value(self.line(number)) >> 32 * word & WORD
                amo, wanted = rng.choice(list(AmoOp)), rng.randrange(2)
                if config.line_atomics and amo is not AmoOp.CAS:
                    words = [i for i in range(config.line_words) if i == word or rng.random() < 0.5]
                    data = [rng.getrandbits(32) for _ in range(config.line_words)]
                    data[word] = operand
                    await self.atomics(number, words, amo, data, wanted)
                else:
                    await self.atomic(number, word, amo, operand, wanted,
                                      compare=rng.choice([old, old ^ 1, operand]))

    def _some_bytes(self):
        """A random mask of one byte, or of several."""
        size = self.config.line_bytes
        return 1 << self.rng.randrange(size) | self.rng.choice([0, 0, self.rng.getrandbits(size)])

    async def check(self):
        """Compare all answers as they come. Never ends."""
        while True:
            await FallingEdge(self.dut.clk)
            while self.sink.items:
                item = self.sink.items.popleft()
                assert item.tag.core == self._core
                tag = tuple(item.tag[name] for name in self._tags)
                assert tag in self._expected, f"an answer with tag {tag} that nobody waits for"
                right, mask = self._expected.pop(tag)
                known = spread(sectors_with(self.config, mask))
                self.compare(tag, item.data.as_bits() & known, right & known)

    @staticmethod
    def compare(tag, got, right):
        """Whether an answer is right."""
        assert got == right, f"answer to {tag}: {got:#x}, not {right:#x}"

    def forget(self, store):
        """Reset the model: nothing is under way, and only the contents of memory remain."""
        self.source.clear()
        self.sink.items.clear()
        self._expected.clear()
        self._queued = self.source.sent
        self.model = LineStore(self.config.line_bytes)
        for number in store.numbers():
            self.model.line(number)[:] = store.line(number)


class Bench(Client):
    """A bank under test, with one core.

    Attributes
    ----------
    port : MemoryPort
    events : collections.Counter
        Number of occurrences of each event.
    accepted, answered, asked, came : list of int
        Cycles in which a request was accepted; an answer was offered; a request to memory was
        offered; memory's answer was offered.
    busy : int
        Cycles in which the bank was busy.
    """

    def __init__(self, dut):
        super().__init__(dut, HardwareConfig(**runner.parameters()["config"]),
                         random.Random(cocotb.RANDOM_SEED))
        self.port = MemoryPort(dut, self.config, self.rng)
        self.events = collections.Counter()
        self.accepted, self.answered, self.asked, self.came = [], [], [], []
        self.busy = 0
        self._cycle = 0

    @classmethod
    async def start(cls, dut):
        """Reset the design, wait until it is initialised, and begin."""
        await start(dut)
        bench = cls(dut)
        cocotb.start_soon(bench._watch())
        cocotb.start_soon(bench.check())
        await bench.settle()
        await bench.flush(invalidate=True)   # an earlier bench in the same simulation left lines
        return bench

    async def settle(self):
        """Wait until nothing is under way."""
        quiet = 0
        for _ in range(100_000):
            await FallingEdge(self.dut.clk)
            under_way = self.under_way or self.port.waiting
            quiet = 0 if under_way or integer(self.dut.busy) == 1 else quiet + 1
            if quiet == 3:
                return
        raise AssertionError(f"after {self.source.sent} of {self._queued} requests nothing ends; "
                             f"{len(self._expected)} answers are missing")

    async def flush(self, *, invalidate=False):
        """Flush and wait for the end."""
        dut = self.dut
        dut.invalidate.value = int(invalidate)
        dut.flush.value = 1
        await FallingEdge(dut.clk)
        dut.flush.value = 0
        await ReadOnly()
        assert integer(dut.busy) == 1
        await FallingEdge(dut.clk)
        await self.settle()

    async def flush_cycles(self, *, invalidate):
        """Flush while nothing is under way. The cycles in which the bank is busy."""
        before = self.busy
        await self.flush(invalidate=invalidate)
        return self.busy - before

    async def verify(self):
        """Check that after a flush memory equals the model, and the events match the traffic."""
        await self.settle()
        await self.flush()
        self.compare_memory()
        writes = sum(request.write for request in self.port.requests)
        assert self.events["access"] == len(self.accepted)
        assert (self.events["memory_write"], self.events["memory_read"]) \
            == (writes, len(self.port.requests) - writes)

    def compare_memory(self):
        """Check that memory equals the model."""
        for number in self.model.numbers():
            assert self.port.store.value(number) == self.model.value(number), f"line {number:#x}"

    def forget(self):
        """Reset the model, the memory port and the counts."""
        super().forget(self.port.store)
        self.port.forget()
        self.clear()

    def clear(self):
        """Clear the counts."""
        for counted in (self.events, self.accepted, self.answered, self.asked, self.came,
                        self.port.requests):
            counted.clear()

    async def _watch(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            await ReadOnly()
            self._cycle += 1
            if integer(dut.rst) == 1:
                continue
            for name in EVENTS:
                if integer(getattr(dut, name)) == 1:
                    self.events[name] += 1
            self.busy += integer(dut.busy) == 1
            if integer(dut.request__valid) == 1 and integer(dut.request__ready) == 1:
                self.accepted.append(self._cycle)
            for log, valid in ((self.answered, dut.response__valid),
                               (self.asked, dut.memory_request__valid),
                               (self.came, dut.memory_response__valid)):
                if integer(valid) == 1:
                    log.append(self._cycle)
