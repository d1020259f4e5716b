"""One memory port for GPU and link.

======================  ========================================================
requests, answers       traffic: each answer is the right line or word, in any
                        order, at all speeds; reads see earlier writes
latency                 latency
reset of the GPU        hold: with anything under way, the GPU's answers are
                        dropped and its requests are not taken; the link goes on
======================  ========================================================
"""

import dataclasses
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.config import HardwareConfig, preset
from hw.link.share import (WORD_REQUEST, MemoryShare, shared_request_layout,
                           shared_response_layout)
from hw.memory.port import memory_request_layout, memory_response_layout, memory_tag_bits
from tb import runner
from tb.clocking import integer, start, tick
from tb.hw.memory.packing import packed
from tb.hw.memory.responders import LineStore, Responder
from tb.streams import StreamSink, StreamSource


class _Memory(Responder):
    """The memory behind the port."""

    def __init__(self, dut, config, rng):
        super().__init__(dut, config, "memory_request", shared_request_layout, "memory_response",
                         shared_response_layout, rng)

    def perform(self, request):
        if request.write:
            self.store.write(request.line, request.data.as_bits(), request.mask)
            return None
        return {"tag": request.tag, "data": self.store.value(request.line)}


class _Bench:
    """GPU, link and memory."""

    def __init__(self, dut):
        self.config = config = HardwareConfig(**runner.parameters())
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.memory = _Memory(dut, config, self.rng)
        self.gpu = StreamSource(dut, "gpu_request")
        self.gpu_answers = StreamSink(dut, "gpu_response", memory_response_layout(config))
        self.link = StreamSource(dut, "link_request", WORD_REQUEST)
        self.link_answers = StreamSink(dut, "link_response")
        # Each side has separate lines, so that it sees only its own writes.
        self.of_gpu, self.of_link = (LineStore(config.line_bytes) for _ in range(2))
        self.expected, self.asked = {}, 0
        self.order = []                         # tags of the GPU's requests; None for a write
        self.tags = set(range(1 << memory_tag_bits(config)))

    @classmethod
    async def start(cls, dut):
        await start(dut)
        return cls(dut)

    def gpu_asks(self):
        """A request of the GPU."""
        rng, config = self.rng, self.config
        line = rng.randrange(16)
        fields = {"line": line, "data": rng.getrandbits(8 * config.line_bytes),
                  "mask": rng.getrandbits(config.line_bytes), "write": rng.random() < 0.5, "tag": 0}
        if fields["write"]:
            self.of_gpu.write(line, fields["data"], fields["mask"])
        elif self.tags:
            fields["tag"] = self.tags.pop()
            self.expected[fields["tag"]] = self.of_gpu.value(line)
        else:
            return
        self.order.append(None if fields["write"] else fields["tag"])
        self.gpu.send([packed(memory_request_layout(config), fields)])

    def gpu_takes(self):
        """Check the answers to the GPU."""
        while self.gpu_answers.items:
            answer = self.gpu_answers.items.popleft()
            assert answer.data.as_bits() == self.expected.pop(answer.tag)
            self.tags.add(answer.tag)

    async def link_asks(self, dut):
        """Send a request of the link, and check its answer."""
        config, rng = self.config, self.rng
        word = rng.randrange(16 * config.line_words, 32 * config.line_words)
        line, place = divmod(word, config.line_words)
        data, write = rng.getrandbits(32), rng.random() < 0.5
        self.link.send([{"write": write, "word": word, "data": data}])
        if write:
            self.of_link.write(line, data << 32 * place, 0xF << 4 * place)
            await self.link.drain()
        else:
            got, = await self.link_answers.receive(1)
            assert got == self.of_link.value(line) >> 32 * place & 0xFFFF_FFFF
            self.asked += 1

    def shake(self):
        """Set random speeds."""
        rng = self.rng
        self.memory.latency = rng.choice([(1, 1), (1, 9), (20, 60)])
        self.memory.stall = rng.choice([0, 0.5, 0.9])
        self.memory.source.idle = rng.choice([0, 0.5])
        self.gpu.idle, self.gpu_answers.stall = rng.choice([0, 0.5]), rng.choice([0, 0.5, 0.9])
        self.link_answers.stall = rng.choice([0, 0.5])

    async def asking(self, dut, count):
        """Send ``count`` requests of the link."""
        for _ in range(count):
            await self.link_asks(dut)


@cocotb.test()
async def traffic(dut):
    bench = await _Bench.start(dut)
    for _ in range(8):
        bench.shake()
        task = cocotb.start_soon(bench.asking(dut, 25))
        while not task.done():
            bench.gpu_asks()
            await tick(dut, bench.rng.choice([1, 1, 5]))
            bench.gpu_takes()
        await task
    for _ in range(3000):
        await tick(dut)
        bench.gpu_takes()
        if not bench.expected:
            break
    await tick(dut, 5)
    assert not bench.expected and not bench.memory.waiting and bench.asked > 50


@cocotb.test()
async def latency(dut):
    """Requests take a cycle. Answers are combinational."""
    bench = await _Bench.start(dut)
    while bench.gpu.sent == 0:
        bench.gpu_asks()
        await tick(dut)
        await ReadOnly()
        if integer(dut.gpu_request__valid) == 1:
            assert integer(dut.memory_request__valid) == 0
            await tick(dut)
            await ReadOnly()
            assert integer(dut.memory_request__valid) == 1
            break
        await tick(dut)


@cocotb.test()
async def hold(dut):
    bench = await _Bench.start(dut)
    for _ in range(12):
        bench.shake()
        for _ in range(bench.rng.randrange(8)):
            bench.gpu_asks()
        await tick(dut, bench.rng.randrange(20))
        dut.hold.value = 1
        bench.gpu_takes()
        bench.gpu_answers.withdraw()
        bench.gpu_answers.stall = 1.0
        heard = bench.gpu.sent
        task = cocotb.start_soon(bench.asking(dut, 3))
        for _ in range(3000):
            await ReadOnly()
            if integer(dut.idle) == 1 and task.done():
                break
            await tick(dut)
        assert integer(dut.idle) == 1
        await tick(dut)
        assert not bench.gpu_answers.items and bench.gpu.sent == heard
        dut.hold.value = 0
        for tag in bench.order[:heard]:         # these get no answer
            if bench.expected.pop(tag, None) is not None:
                bench.tags.add(tag)
        bench.order[:heard] = [None] * heard
        bench.gpu_answers.stall = 0.0
    for _ in range(3000):
        await tick(dut)
        bench.gpu_takes()
        if bench.gpu.drained and not bench.expected:
            break
    assert bench.gpu.drained and not bench.expected


@pytest.mark.parametrize("name", ["tiny", "fpga"])
def test_share(simulator, name):
    config = preset(name)
    runner.run_bench(MemoryShare(config), "share", __name__, simulator=simulator,
                     parameters=dataclasses.asdict(config))
