"""Common bench for tests of the SDRAM controller: a chip, and a memory for comparison."""

import collections
import random

import cocotb
import numpy as np

from hw.config import HardwareConfig
from hw.sdram.controller import SdramController
from hw.sdram.timing import BYTES, SLOWEST
from tb import runner
from tb.clocking import Beat, start, tick
from tb.hw.sdram.model import SdramModel, SdramOnPins
from tb.streams import StreamSink, StreamSource


__all__ = ["SHAPES", "TIMING", "ControllerBench", "controller"]


#: A chip with a short power-up.
TIMING = SLOWEST.replace(name="ready soon", power_up=1000)

#: Tested shapes: threads, which determine the size of a line, and arguments of the controller.
SHAPES = {
    "32 bytes, 50 MHz": {"threads": 8, "frequency": 50, "cas_latency": 2, "io_delay": 1},
    "32 bytes, 80 MHz": {"threads": 8, "frequency": 80, "cas_latency": 3, "io_delay": 2},
    "16 bytes, 40 MHz": {"threads": 4, "frequency": 40, "cas_latency": 2, "io_delay": 0},
    "128 bytes, 100 MHz": {"threads": 32, "frequency": 100, "cas_latency": 3, "io_delay": 3},
}

_TAG_BITS = 5


def _config(threads):
    return HardwareConfig(threads=threads, l2_bytes=0, memory_bytes=BYTES)


def controller(*, threads, timing=TIMING, **arguments):
    """The controller of a shape."""
    return SdramController(_config(threads), timing=timing, tag_bits=_TAG_BITS, **arguments)


class ControllerBench:
    """A controller, its chip, requests, and their expected answers.

    Attributes
    ----------
    source, sink : StreamSource, StreamSink
    chip : SdramOnPins
    memory : numpy.ndarray
        Contents of the chip; a row of the array is a line.
    rng : random.Random
    """
    @classmethod
    async def start(cls, dut, *, timing=TIMING):
        self = cls()
        shape = dict(runner.parameters())
        config = _config(shape.pop("threads"))
        self.dut, self.line_bytes = dut, config.line_bytes
        self.unit = controller(threads=config.threads, **shape)
        self.rng = random.Random(cocotb.RANDOM_SEED)
        await start(dut)
        self.model = SdramModel(timing, frequency=shape["frequency"], io_delay=shape["io_delay"])
        self.memory = self.model.memory.reshape(-1, self.line_bytes)
        self.lines_in_row = 1024 // self.line_bytes
        self.chip = SdramOnPins(dut, self.model)
        self.source = StreamSource(dut, "request", self.unit.request.payload.shape())
        self.sink = StreamSink(dut, "response", self.unit.response.payload.shape())
        self.forget()
        Beat.of(dut).add(self)
        return self

    def forget(self):
        """Drop everything under way. Memory keeps its contents."""
        self._right = {}                        # expected lines that are not zero
        self._expected = collections.deque()
        self._tag = self._compared = self.now = 0
        self.accepted, self.answered = [], []   # cycles of requests and of answers

    def place(self, row, bank, line):
        """The number of a line."""
        return (row * 4 + bank) * self.lines_in_row + line

    def _line(self, line):
        line %= len(self.memory)
        return self._right.get(line, np.zeros(self.line_bytes, np.uint8))

    def write(self, line, data=None, mask=None):
        """Send a write, by default with random bytes and a full mask."""
        data = self.rng.randbytes(self.line_bytes) if data is None else data
        mask = (1 << self.line_bytes) - 1 if mask is None else mask
        merged = np.where([mask >> byte & 1 for byte in range(self.line_bytes)],
                          np.frombuffer(data, np.uint8), self._line(line))
        self._right[line % len(self.memory)] = merged.astype(np.uint8)
        words = np.frombuffer(data, "<u4").tolist()
        self.source.send([{"write": 1, "line": line, "data": words, "mask": mask,
                           "tag": self.rng.getrandbits(_TAG_BITS)}])

    def read(self, line):
        """Send a read and note its expected answer."""
        self._tag = (self._tag + 1) % (1 << _TAG_BITS)
        self._expected.append((self._tag, self._line(line).tobytes()))
        self.source.send([{"write": 0, "line": line, "tag": self._tag,
                           "data": [self.rng.getrandbits(32)] * (self.line_bytes // 4),
                           "mask": self.rng.getrandbits(self.line_bytes)}])

    def sample(self):
        """When inputs have settled."""
        self.now += 1
        if self.source.sent > len(self.accepted):
            self.accepted.append(self.now)
        if len(self.sink.items) + self._compared > len(self.answered):
            self.answered.append(self.now)

    async def settle(self, *, timeout=20_000, still=None):
        """Wait until all requests are done, and ``still`` more cycles, and compare all answers."""
        for _ in range(timeout):
            await tick(self.dut)
            self.check()
            if self.source.drained and not self._expected:
                break
        else:
            raise AssertionError(f"{len(self._expected)} reads are not answered")
        # At most two writes are under way.
        await tick(self.dut, 4 * self.line_bytes + 50 if still is None else still)
        self.check()
        for line, right in self._right.items():
            assert self.memory[line].tobytes() == right.tobytes(), f"line {line}"

    def check(self):
        """Check that all answers so far are right, and that no rule of the chip is broken."""
        if self.chip.broken:
            raise self.chip.broken
        while self.sink.items:
            answer = self.sink.items.popleft()
            tag, data = self._expected.popleft()
            got = answer.data.as_bits().to_bytes(self.line_bytes, "little")
            assert (answer.tag, got) == (tag, data)
            self._compared += 1
