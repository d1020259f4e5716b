# amaranth: UnusedElaboratable=no
"""The memory of block RAM against a list of lines, at all speeds; latency and throughput."""

import random

import cocotb
import pytest

from hw.config import preset
from hw.memory.block import BlockMemory
from hw.memory.port import memory_request_layout, memory_response_layout
from tb import runner
from tb.clocking import start, tick
from tb.streams import StreamSink, StreamSource


CONFIG = preset("tiny")
LINES = 16
REQUEST, RESPONSE = memory_request_layout(CONFIG), memory_response_layout(CONFIG)


class Bench:
    """The memory, and a model of its contents."""
    @classmethod
    async def start(cls, dut):
        self = cls()
        await start(dut)
        self.dut, self.rng = dut, random.Random(cocotb.RANDOM_SEED)
        self.source = StreamSource(dut, "request", REQUEST)
        self.sink = StreamSink(dut, "response", RESPONSE)
        self.lines, self.right = [[0] * CONFIG.line_bytes for _ in range(LINES)], []
        return self

    def write(self, line, mask=None):
        data = self.rng.randbytes(CONFIG.line_bytes)
        mask = self.rng.getrandbits(CONFIG.line_bytes) if mask is None else mask
        self.lines[line % LINES] = [new if mask >> byte & 1 else old for byte, (new, old)
                                    in enumerate(zip(data, self.lines[line % LINES]))]
        self._send(write=1, line=line, mask=mask,
                   data=[int.from_bytes(data[at:at + 4], "little")
                         for at in range(0, len(data), 4)])

    def read(self, line):
        tag = self.rng.getrandbits(2)
        self.right.append((tag, bytes(self.lines[line % LINES])))
        self._send(line=line, tag=tag)

    def _send(self, **fields):
        self.source.send([fields])

    async def verify(self):
        answers = await self.sink.receive(len(self.right))
        got = [(answer.tag, answer.data.as_bits().to_bytes(CONFIG.line_bytes, "little"))
               for answer in answers]
        assert got == self.right
        self.right.clear()


@cocotb.test()
async def random_traffic(dut):
    bench = await Bench.start(dut)
    for _ in range(10):
        bench.source.idle = bench.rng.choice([0, 0.5, 0.9])
        bench.sink.stall = bench.rng.choice([0, 0.5, 0.9])
        for _ in range(60):
            # The GPU's addresses begin above the memory's size.
            line = bench.rng.randrange(LINES) + 0x0800_0000
            bench.rng.choice([bench.read, bench.write])(line)
        await bench.verify()


@cocotb.test()
async def promises_of_time(dut):
    bench = await Bench.start(dut)
    for line in range(LINES):
        bench.write(line, mask=(1 << CONFIG.line_bytes) - 1)
    bench.read(0)
    await bench.source.drain()
    assert not bench.sink.items
    await tick(dut)
    assert not bench.sink.items
    await tick(dut, 2)
    assert len(bench.sink.items) == 1
    for request, cycles in ((bench.write, 1), (bench.read, 3)):
        for line in range(20):
            request(line % LINES)
        await tick(dut, 3)
        before = bench.source.sent
        await tick(dut, 5 * cycles)
        assert bench.source.sent - before == 5
        await bench.source.drain()
        await bench.verify()


def test_block(simulator):
    runner.run_bench(BlockMemory(REQUEST, RESPONSE, LINES), "block", __name__,
                     simulator=simulator, seed=1)


@pytest.mark.parametrize("lines", [0, 3])
def test_wrong_lines(lines):
    with pytest.raises(ValueError, match=f"lines is {lines}, must be a power of two"):
        BlockMemory(REQUEST, RESPONSE, lines)
