"""Frames in hardware, against the frames that the host computes.

======================  ========================================================
receiver                receives: frames, half frames, noise; contents of the buffer
.. lengths              lengths: only whole words are good
.. back-pressure        receives: bytes with gaps, ends that are taken late
.. throughput           receiver_throughput
transmitter             transmits: frames of random words, with gaps
.. throughput           transmitter_throughput
======================  ========================================================
"""

import random

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly

from hw.link.frames import ESCAPE, FLAG, MAX_WORDS, Answer, Request, frame
from hw.link.framing import (BUFFER_WORDS, FrameReceiver, FrameTransmitter, end_layout,
                             word_layout)
from tb import runner
from tb.clocking import integer, start, tick
from tb.streams import StreamSink, StreamSource


def _payload(rng, words):
    """Words with many bytes that need an escape."""
    return bytes(rng.choice([FLAG, ESCAPE, 0, rng.randrange(256)]) for _ in range(4 * words))


def _request(rng, words):
    return Request(rng.getrandbits(16), rng.getrandbits(8), rng.getrandbits(8),
                   rng.getrandbits(32), rng.getrandbits(32), _payload(rng, words))


class _Buffer:
    """The words that the receiver has written when a frame ends."""

    def __init__(self, dut):
        self.dut, self.words, self.frames = dut, [0] * BUFFER_WORDS, []
        cocotb.start_soon(self._watch())

    async def _watch(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            await ReadOnly()
            if integer(dut.o__valid) == 1 and integer(dut.o__ready) == 1:
                end = integer(dut.o__payload)
                count = end >> 1 & BUFFER_WORDS - 1
                self.frames.append(b"".join(word.to_bytes(4, "little")
                                            for word in self.words[:count]) if end & 1 else None)
            if integer(dut.write) == 1:
                assert integer(dut.o__valid) == 0
                self.words[integer(dut.address)] = integer(dut.word)


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.7], stall=[0.0, 0.9])
async def receives(dut, idle, stall):
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    buffer = _Buffer(dut)
    source = StreamSource(dut, "i", idle=idle)
    sink = StreamSink(dut, "o", end_layout, stall=stall)
    expected = []
    for turn in range(runner.turns(60)):
        request = _request(rng, rng.choice([0, 1, 2, 5, 17, MAX_WORDS]))
        line = request.encode()
        content = Request.HEADER.pack(*request[:5]) + request.payload
        kind = rng.choice(["whole", "whole", "half", "noise", "long", "damaged"])
        if kind == "whole":
            expected.append(content)
        elif kind == "half":                    # the next frame's flag ends it
            line = line[:rng.randrange(2, len(line) - 2)]
            expected.append(None)
        elif kind == "noise":
            line = bytes((FLAG, *(rng.choice(b"abc") for _ in range(rng.randrange(1, 30)))))
            expected.append(None)
        elif kind == "long":                    # longer than the buffer, with the right CRC
            line = _request(rng, rng.choice([BUFFER_WORDS, 2 * BUFFER_WORDS])).encode()
            expected.append(None)
        else:
            place = rng.randrange(1, len(line) - 2)
            change = line[place] ^ 1 << rng.randrange(8)
            while change in (FLAG, ESCAPE) or line[place] in (FLAG, ESCAPE):
                place = rng.randrange(1, len(line) - 2)
                change = line[place] ^ 1 << rng.randrange(8)
            line = line[:place] + bytes((change,)) + line[place + 1:]
            expected.append(None)
        source.send(line + bytes((FLAG,)) * rng.choice([0, 0, 3]) if kind != "half" else line)
        if kind == "noise":
            source.send([FLAG])
    source.send([FLAG])
    await sink.receive(len(expected))
    assert buffer.frames == expected


@cocotb.test()
async def lengths(dut):
    """Frames of every length, all with the right CRC."""
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    sizes = [*range(24), *range(4 * MAX_WORDS - 3, 4 * MAX_WORDS + 1)]
    buffer = _Buffer(dut)
    source, sink = StreamSource(dut, "i"), StreamSink(dut, "o", end_layout)
    contents = [rng.randbytes(size) for size in sizes]
    for content in contents:
        source.send(frame(content))
    await sink.receive(len(sizes))
    assert buffer.frames == [None if size % 4 else content
                             for size, content in zip(sizes, contents)]


@cocotb.test()
async def receiver_throughput(dut):
    """A byte a cycle. The end comes two cycles after its flag."""
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    source, sink = StreamSource(dut, "i"), StreamSink(dut, "o", end_layout)
    line = _request(rng, MAX_WORDS).encode()[:-1]
    source.send(line)
    await tick(dut, len(line) + 3)
    assert not sink.items
    await tick(dut)
    assert len(sink.items) == 1 and sink.items[0].good


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.7], stall=[0.0, 0.9])
async def transmits(dut, idle, stall):
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    source = StreamSource(dut, "i", word_layout, idle=idle)
    sink = StreamSink(dut, "o", stall=stall)
    line = b""
    for turn in range(runner.turns(30)):
        answer = Answer(rng.getrandbits(16), rng.getrandbits(8), rng.getrandbits(8),
                        rng.getrandbits(32), _payload(rng, rng.choice([0, 1, 2, 5, 17])))
        line += answer.encode()
        content = Answer.HEADER.pack(*answer[:4]) + answer.payload
        words = [int.from_bytes(content[place:place + 4], "little")
                 for place in range(0, len(content), 4)]
        source.send([{"word": word, "last": place == len(words) - 1}
                     for place, word in enumerate(words)])
    assert bytes(await sink.receive(len(line))) == line


@cocotb.test()
async def transmitter_throughput(dut):
    await start(dut)
    source, sink = StreamSource(dut, "i", word_layout), StreamSink(dut, "o")
    source.send([{"word": 0x01020304, "last": 0} for _ in range(20)])
    await tick(dut, 2 + 5 * 20)
    await ReadOnly()
    assert len(sink.items) >= 4 * 20 - 1
    await FallingEdge(dut.clk)


def test_receiver(simulator):
    runner.run_bench(FrameReceiver(), "frame_receiver", __name__, simulator=simulator,
                     tests=["receives", "lengths", "receiver_throughput"])


def test_transmitter(simulator):
    runner.run_bench(FrameTransmitter(), "frame_transmitter", __name__, simulator=simulator,
                     tests=["transmits", "transmitter_throughput"])
