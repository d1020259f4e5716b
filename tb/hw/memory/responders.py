"""Models behind a unit of the memory path in a bench. They answer late and out of order."""

import collections

from hw.memory.port import (LineOp, core_request_layout, core_response_layout,
                            memory_request_layout, memory_response_layout)
from tb.clocking import Beat
from tb.hw.core.models_memory import WORD, amo_result
from tb.hw.memory.packing import packed, sectors_with, spread
from tb.streams import StreamSink, StreamSource


__all__ = ["DramPort", "L2Model", "LineStore", "MemoryPort", "Responder", "first_content"]


def first_content(address):
    """Initial content of a byte of global memory.

    Every bit of the address counts: bytes differ if their addresses differ in one bit.
    """
    return (address * 0x9E37_79B1 & WORD) >> 24


class LineStore:
    """Lines by number. A line holds :func:`first_content` until it is written."""

    def __init__(self, line_bytes):
        self._line_bytes = line_bytes
        self._lines = {}

    def line(self, number):
        """The line as a bytearray, which may be changed."""
        if number not in self._lines:
            base = number * self._line_bytes
            self._lines[number] = bytearray(map(first_content,
                                                range(base, base + self._line_bytes)))
        return self._lines[number]

    def value(self, number):
        """The line as an integer."""
        return int.from_bytes(self.line(number), "little")

    def write(self, number, value, mask):
        """Write the bytes of an integer that the mask selects."""
        line = self.line(number)
        for place, byte in enumerate(value.to_bytes(self._line_bytes, "little")):
            if mask >> place & 1:
                line[place] = byte

    def numbers(self):
        """The numbers of all lines ever read or written."""
        return list(self._lines)


class Responder:
    """Takes requests, performs them in order, and answers with random latency in random order.

    Parameters
    ----------
    dut
        The top.
    request, response : str
        Names of the top's streams.
    rng : random.Random

    Attributes
    ----------
    latency : (int, int)
        Smallest and largest number of cycles until an answer is offered.
    stall : float
        Probability that a cycle accepts no request.
    in_order : bool
        Whether answers are offered in the order of the requests.
    blocks : bool
        Whether an answer that was not taken blocks all requests.
    requests : list
        All accepted requests.
    """

    def __init__(self, dut, config, request, request_layout, response, response_layout, rng):
        Beat.of(dut).add(self)          # before its streams, so an answer is offered at once
        self._cycle = 0
        self._rng, self._config = rng, config
        self._layout = response_layout(config)
        self.sink = StreamSink(dut, request, request_layout(config))
        self.source = StreamSource(dut, response)
        self.store = LineStore(config.line_bytes)
        self.latency = (1, 1)
        self.in_order = False
        self.blocks = False
        self.stall = 0.0
        self.requests = []
        self._due = []                       # (cycle, answer)
        self._offered = 0

    @property
    def waiting(self):
        """Number of answers that were not taken yet."""
        return len(self._due) + self._offered - self.source.sent

    def forget(self):
        """Drop all requests and answers, as for a reset."""
        self.source.clear()
        self._offered = self.source.sent
        self._due.clear()
        self.sink.items.clear()

    def perform(self, request):
        """Perform a request. Returns its answer or None."""
        raise NotImplementedError

    def drive(self):
        """At a falling edge."""
        self._cycle += 1
        while self.sink.items:
            request = self.sink.items.popleft()
            self.requests.append(request)
            answer = self.perform(request)
            if answer is not None:
                self._due.append((self._cycle + self._rng.randint(*self.latency) - 1, answer))
        if self._due and self._offered - self.source.sent < 2:
            ready = [one for one in (self._due[:1] if self.in_order else self._due)
                     if one[0] <= self._cycle]
            if ready:
                chosen = self._rng.choice(ready)
                self._due.remove(chosen)
                self.source.send([packed(self._layout, chosen[1])])
                self._offered += 1
        self.sink.stall = 1.0 if self.blocks and self.waiting else self.stall


class L2Model(Responder):
    """Acts as the L2 for a core."""

    def __init__(self, dut, config, rng):
        super().__init__(dut, config, "request", core_request_layout, "response",
                         core_response_layout, rng)

    def perform(self, request):
        old = self.store.value(request.line)
        # In sectors that are not asked for, an answer has any value.
        known = spread(sectors_with(self._config, request.mask))
        other = self._rng.getrandbits(8 * self._config.line_bytes)
        answer = {"tag": request.tag, "data": old & known | other & ~known}
        if request.op is LineOp.READ:
            return answer
        if request.op is LineOp.WRITE:
            self.store.write(request.line, request.data.as_bits(), request.mask)
            return None
        for word, operand in enumerate(request.data):
            bits = request.mask >> 4 * word & 0xF
            assert bits in (0, 0xF), "an atomic of a part of a word"
            new = amo_result(request.amo, old >> 32 * word & WORD, operand, request.data[word ^ 1])
            self.store.write(request.line, new << 32 * word, bits << 4 * word)
        return answer if request.wanted else None


class MemoryPort(Responder):
    """Acts as the memory for the L2, at the memory port whose streams have these names."""

    def __init__(self, dut, config, rng, name="memory"):
        super().__init__(dut, config, f"{name}_request", memory_request_layout,
                         f"{name}_response", memory_response_layout, rng)

    def perform(self, request):
        if request.write:
            self.store.write(request.line, request.data.as_bits(), request.mask)
            return None
        # Bytes that are not asked for have any value.
        other = self._rng.getrandbits(8 * len(self.store.line(request.line)))
        known = spread(request.mask)
        return {"tag": request.tag,
                "data": self.store.value(request.line) & known | other & ~known}


class DramPort(MemoryPort):
    """Acts as the DRAM for the L2, with the cycles of :mod:`sim.dram`.

    Parameters
    ----------
    dut, config, rng
        As for a :class:`Responder`.
    dram : sim.dram.DramConfig
    """

    def __init__(self, dut, config, rng, dram):
        super().__init__(dut, config, rng)
        self._occupancy = dram.occupancy(config.line_bytes)
        self._latency = max(dram.latency_cycles, self._occupancy)
        self._queue = dram.queue
        self._held = self._free = 0         # requests in the queue; cycle in which the bus is free
        self._reads = collections.deque()   # (first cycle of the answer, answer)
        self._writes = collections.deque()  # cycle in which each write ends
        self._shown = False

    def drive(self):
        """At a falling edge."""
        self._cycle += 1
        if self._shown and self.source.drained:
            self._shown = False
            self._held -= 1
        while self.sink.items:              # accepted in the cycle before
            self._accept(self.sink.items.popleft())
        while self._writes and self._writes[0] <= self._cycle:
            self._writes.popleft()
            self._held -= 1
        self.sink.stall = float(self._held >= self._queue)
        if not self._shown and self._reads and self._reads[0][0] <= self._cycle:
            self.source.send([packed(self._layout, self._reads.popleft()[1])])
            self._shown = True

    def _accept(self, request):
        self.requests.append(request)
        start = max(self._cycle, self._free)
        self._free = start + self._occupancy
        self._held += 1
        answer = self.perform(request)
        if answer is None:
            self._writes.append(start + self._occupancy)
        else:
            self._reads.append((start + self._latency, answer))
