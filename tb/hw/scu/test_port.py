# amaranth: UnusedElaboratable=no
"""Tests of the unit's port: requests in the order of each block, answers to the right block."""

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly

from hw.memory.port import LineOp
from hw.operations import AmoOp
from hw.scu.interface import SLOTS, line_request_layout, line_response_layout, read_layout
from hw.scu.port import Port, Reader
from hw.scu.store import store_request_layout
from tb import runner
from tb.clocking import integer, reset, tick
from tb.hw.memory.packing import packed
from tb.hw.memory.responders import L2Model, LineStore
from tb.hw.scu.block import BlockBench
from tb.hw.scu.configs import scu_config
from tb.hw.scu.reader import LATENCIES
from tb.hw.scu.streams import Transfers
from tb.streams import StreamSink, StreamSource


VECTORS = [reader.name.lower() for reader in Reader if reader != Reader.HASH]

#: Each block has lines of its own, so that the line of a request tells the block.
STORE, REGION = len(Reader), 1 << 20


class Bench(BlockBench):
    """The port, with models of all blocks and of the L2."""

    def connect(self, dut):
        self.l2 = L2Model(dut, self.config, self.rng)
        self.reads = {name: StreamSource(dut, f"read_{name}") for name in VECTORS}
        self.hash, self.store = StreamSource(dut, "hash"), StreamSource(dut, "store")
        self.answers = {reader: StreamSink(dut, f"response_{reader.name.lower()}",
                                           line_response_layout(self.config)) for reader in Reader}
        self.sent = {block: [] for block in range(STORE + 1)}  # requests to see at the L2
        self.counts = {"read": 0, "written": 0}
        self.once = dut.once.value = 1
        self.first = LineStore(self.config.line_bytes)
        cocotb.start_soon(self._watch())

    async def _watch(self):
        while True:
            await FallingEdge(self.dut.clk)
            await ReadOnly()
            for name in self.counts:
                self.counts[name] += integer(self.dut.rst) == 0 and integer(getattr(self.dut, name))

    def _line(self, block):
        return block * REGION + self.rng.randrange(REGION)

    def read(self, reader, slot):
        """A block requests a line."""
        line = self._line(reader)
        if reader == Reader.HASH:
            self.hash.send([packed(line_request_layout(self.config), {
                "line": line, "slot": slot, "mask": self.rng.getrandbits(16)})])
        else:
            self.reads[reader.name.lower()].send([packed(read_layout(self.config), {
                "line": line, "slot": slot})])
        self.sent[reader].append((LineOp.READ, line, slot))

    def write(self, block):
        """The hash table or the store writes a line, or a bit."""
        noise, config = self.rng.getrandbits, self.config
        fields = {"line": self._line(block), "data": noise(8 * config.line_bytes),
                  "mask": noise(config.line_bytes)}
        if block == Reader.HASH:
            self.hash.send([packed(line_request_layout(config), {**fields, "write": 1})])
            self.sent[block].append((LineOp.WRITE, *fields.values()))
            return
        bit, sets, word = noise(1), noise(1), self.rng.randrange(config.line_words)
        self.store.send([packed(store_request_layout(config), {
            **fields, "bit": bit, "sets": sets, "word": word})])
        self.sent[block].append(
            (LineOp.ATOMIC, fields["line"], fields["data"] & 0xFFFF_FFFF, 0xF << 4 * word,
             AmoOp.OR if sets else AmoOp.AND) if bit else (LineOp.WRITE, *fields.values()))

    def shake(self):
        """Set random speeds of all streams."""
        rng, l2 = self.rng, self.l2
        l2.latency = rng.choice(LATENCIES)
        l2.stall = l2.sink.stall = rng.choice([0, 0, 0.5, 0.9])
        l2.source.idle = rng.choice([0, 0, 0.5])
        for source in (*self.reads.values(), self.hash, self.store):
            source.idle = rng.choice([0, 0, 0.5, 0.9])
        self.answers[Reader.HASH].stall = rng.choice([0, 0, 0.5, 0.9])

    async def settle(self):
        """Wait for ``idle``, and check that all requests are sent and all answers are there."""
        while not all(source.drained for source in (*self.reads.values(), self.hash, self.store)):
            await FallingEdge(self.dut.clk)
        for _ in range(3000):
            await ReadOnly()
            if integer(self.dut.idle) == 1:
                break
            await FallingEdge(self.dut.clk)
        else:
            raise AssertionError("never idle")
        await FallingEdge(self.dut.clk)
        assert not self.l2.waiting

    def verify(self):
        """Compare the requests at the L2 and the answers at the blocks with the test."""
        seen = {block: [] for block in self.sent}
        for request in self.l2.requests:
            block = request.line // REGION
            data, mask = request.data.as_bits(), request.mask
            seen[block].append((request.op, request.line, *{
                LineOp.READ: (request.tag.mshr & SLOTS - 1,), LineOp.WRITE: (data, mask),
                LineOp.ATOMIC: (self._operand(request), mask, request.amo)}[request.op]))
            assert not request.wanted or request.op != LineOp.ATOMIC
            assert request.once == (self.once and block not in (Reader.COUNTS, Reader.HASH, STORE))
        assert seen == self.sent
        reads = [request for requests in self.sent.values() for request in requests
                 if request[0] == LineOp.READ]
        assert self.counts == {"read": len(reads),
                               "written": len(self.l2.requests) - len(reads)}
        for reader, sink in self.answers.items():
            got = sorted((answer.slot, answer.data.as_bits()) for answer in sink.items)
            # Some lines of the hash table have been written, before or after.
            right = sorted((request[2], self.first.value(request[1]))
                           for request in self.sent[reader] if request[0] == LineOp.READ)
            if reader == Reader.HASH:
                got, right = [slot for slot, _ in got], [slot for slot, _ in right]
            assert got == right, reader

    @staticmethod
    def _operand(request):
        """The operand of an atomic, which has the place of its word."""
        words = [word for i, word in enumerate(request.data) if request.mask >> 4 * i & 1]
        return words[0] if words else None

    def forget(self):
        """Forget everything, as after a reset or after a comparison."""
        self.once = self.dut.once.value = 1 - self.once
        for source in (*self.reads.values(), self.hash, self.store):
            source.clear()
        self.l2.forget()
        self.l2.requests.clear()
        self.sent = {block: [] for block in self.sent}
        self.counts = dict.fromkeys(self.counts, 0)
        for sink in self.answers.values():
            sink.withdraw()
        self.first = LineStore(self.config.line_bytes)
        self.l2.store = LineStore(self.config.line_bytes)


@cocotb.test()
async def everybody_at_once(dut):
    """Random requests of all blocks at all speeds, with resets in between."""
    bench = await Bench.start(dut)
    for turn in range(5):
        bench.shake()
        for _ in range(12):
            for reader in Reader:
                if bench.rng.random() < 0.8:
                    bench.read(reader, bench.rng.randrange(SLOTS))
            for block in (Reader.HASH, STORE):
                bench.write(block)
        if turn % 2:
            await tick(dut, bench.rng.randrange(60))
            dut.rst.value = 1
            bench.forget()
            await reset(dut)
            bench.forget()
            continue
        await bench.settle()
        bench.verify()
        bench.forget()


@cocotb.test()
async def stop(dut):
    """``stop`` holds back only the blocks that only read. ``idle`` waits for accepted requests."""
    bench = await Bench.start(dut)
    bench.l2.latency = (30, 60)
    for slot in range(6):
        for reader in Reader:
            bench.read(reader, slot)
    await tick(dut, 12)
    dut.stop.value = 1
    await tick(dut, 8)
    heard = len(bench.l2.requests)
    assert 0 < heard < 6 * len(Reader) - 1
    bench.write(STORE)
    await bench.store.drain()
    assert bench.hash.drained
    assert integer(dut.idle) == 0
    for _ in range(300):
        await tick(dut)
        if integer(dut.idle) == 1:
            break
    assert not bench.l2.waiting and bench.counts["read"] == heard
    assert bench.counts["written"] == 1
    await tick(dut, 20)
    assert len(bench.l2.requests) == heard + 1
    dut.stop.value = 0
    await bench.settle()
    bench.verify()


@cocotb.test()
async def promises_of_time(dut):
    """Latencies; a request a cycle; round-robin, so that no block waits for ever."""
    bench = await Bench.start(dut)
    times = Transfers(dut, "request", "response", "read_order", "hash", "store", "response_order")
    await tick(dut)
    for name, send, latency in (("read_order", lambda: bench.read(Reader.ORDER, 3), 2),
                                ("hash", lambda: bench.read(Reader.HASH, 4), 1),
                                ("store", lambda: bench.write(STORE), 1)):
        times.clear()
        send()
        await bench.settle()
        assert times.request == [getattr(times, name)[0] + latency]
        if name == "read_order":
            assert times.response_order == [times.response[0] + 1]
    times.clear()
    for slot in range(10):
        for reader in Reader:
            bench.read(reader, slot)
        bench.write(STORE)
    await bench.settle()
    assert times.request == list(range(times.request[0], times.request[0] + 90))
    # The three kinds take turns, and the readers among themselves.
    assert times.store[-1] - times.store[0] <= 3 * 10
    bench.verify()


@pytest.mark.parametrize("line_bytes", [16, 64])
def test_port(simulator, line_bytes):
    fields = {"scu": 4, "line_bytes": line_bytes}
    runner.run_bench(Port(scu_config(**fields)), "port", __name__, simulator=simulator,
                     parameters=fields)
