# amaranth: UnusedElaboratable=no
"""The link between a line and a GPU: frames from a host, registers and memory of models.

======================  ========================================================
each operation          opens, registers, memory, fills, resets
a frame twice           once: commands and resets are performed once and always
                        answered; reads and writes have the same effect again
.. one bit apart        numbers: each bit of a command's sequence number counts
bad frames              bad: garbled, of strangers, refused: nothing is done;
                        whole words only
half frames             half: the next frame is received
many at once            queued: as many as the queue holds, answered in order
random                  storm: requests of all kinds, changed and lost bytes,
                        slow memory, against a model of what was performed
======================  ========================================================
"""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.config import preset
from hw.link.frames import (FLAG, MAX_WORDS, ONCE, QUEUE_BYTES, WRITES, Answer, AnswerStatus,
                            BoardDescription, FrameReader, Operation, Request)
from hw.link.link import Link
from hw.link.share import WORD_REQUEST
from sim.noise import Noise
from tb import runner
from tb.clocking import Beat, integer, start, tick
from tb.hw.link.line import Line
from tb.streams import StreamSink, StreamSource


CONFIG = preset("tiny")
DIVISOR, CLOCK_HZ = 4, 48_000_000
SESSION = 0x7E7D_1234
BASE = 0x8000_0000


class _Bench:
    """Both sides of a link."""

    def __init__(self, dut):
        self.dut, self.rng = dut, random.Random(cocotb.RANDOM_SEED)
        self.line = Line(dut, cycles=DIVISOR, divisor=DIVISOR)
        self.reader, self.number = FrameReader(), 0
        self.registers, self.written, self.memory = {}, [], {}
        self.requests = StreamSink(dut, "request", WORD_REQUEST)
        self.responses = StreamSource(dut, "response")
        self.latency, self._due = (0, 3), []
        self.performed = 0                      # requests of words of memory
        self.resets = 0
        self._reset, self._value = False, None
        Beat.of(dut).add(self)

    @classmethod
    async def start(cls, dut, opened=True):
        await start(dut)
        bench = cls(dut)
        await tick(dut, 50)                     # the line was low in the reset
        bench.line.received.clear()
        bench.line.send([FLAG])
        await tick(dut, 200)
        for _ in bench.reader.feed(bytes(bench.line.received)):
            pass
        bench.line.received.clear()
        if opened:
            await bench.ask(Operation.OPEN)
        return bench

    def drive(self):
        """The host port and the memory: at a falling edge."""
        value = self.rng.getrandbits(32) if self._value is None else self._value
        self.dut.read_data.value, self._value = value, None
        self._due = [(wait - 1, word) for wait, word in self._due]
        while self.requests.items:
            request = self.requests.items.popleft()
            self.performed += 1
            if request.write:
                self.memory[4 * request.word] = request.data
            else:
                assert not self._due and self.responses.drained
                self._due.append((self.rng.randint(*self.latency),
                                  self.memory.get(4 * request.word, 0)))
        if self._due and self._due[0][0] <= 0:
            self.responses.send([self._due.pop()[1]])

    def sample(self):
        """When inputs have settled."""
        dut = self.dut
        address = integer(dut.address)
        assert not (integer(dut.read) == 1 and integer(dut.write) == 1)
        if integer(dut.write) == 1:
            self.registers[address] = integer(dut.write_data)
            self.written.append(address)
        if integer(dut.read) == 1:
            self._value = self.registers.get(address, 0)
        self.resets += integer(dut.reset) == 1 and not self._reset
        self._reset = integer(dut.reset) == 1

    def request(self, operation, address=0, words=(), count=None, *, session=SESSION,
                sequence=None):
        """A request with the next sequence number."""
        self.number += 1
        return Request(self.number if sequence is None else sequence, operation,
                       len(words) if count is None else count, session, address,
                       b"".join(word.to_bytes(4, "little") for word in words))

    async def answers(self, count, cycles=200_000):
        """Wait for the next answers."""
        found = []
        for _ in range(cycles // 20):
            await tick(self.dut, 20)
            received, self.line.received = bytes(self.line.received), []
            found += map(Answer.decode, self.reader.feed(received))
            if len(found) >= count:
                assert len(found) == count
                return found
        raise AssertionError(f"{len(found)} of {count} answers")

    async def ask(self, *arguments, **options):
        """Send a request and return the words of the answer's payload."""
        request = self.request(*arguments, **options)
        self.line.send(request.encode())
        answer, = await self.answers(1)
        assert answer[:4] == (request.sequence, AnswerStatus.DONE, len(answer.payload) // 4,
                              SESSION)
        return [int.from_bytes(answer.payload[i:i + 4], "little")
                for i in range(0, len(answer.payload), 4)]

    def words(self, count):
        """Random words."""
        return [self.rng.choice([0, 0x7E7E_7E7E, self.rng.getrandbits(32)]) for _ in range(count)]


@cocotb.test()
async def opens(dut):
    bench = await _Bench.start(dut, opened=False)
    assert integer(dut.session) == 0
    words = await bench.ask(Operation.OPEN)
    assert BoardDescription.parse(words) == (CONFIG, CLOCK_HZ)
    assert integer(dut.session) == SESSION
    assert await bench.ask(Operation.OPEN) == words


@cocotb.test()
async def registers(dut):
    bench = await _Bench.start(dut)
    for count in (1, 17) if runner.brief() else (1, 17, MAX_WORDS):
        words = bench.words(count)
        await bench.ask(Operation.WRITE_REGISTERS, 0x8000, words)
        assert bench.registers == {0x8000 + 4 * i: word for i, word in enumerate(words)}
        assert bench.written == list(bench.registers)
        assert await bench.ask(Operation.READ_REGISTERS, 0x8000, count=count) == words
        bench.registers.clear()
        bench.written.clear()
    assert not bench.performed and not bench.resets


@cocotb.test()
async def memory(dut):
    bench = await _Bench.start(dut)
    most = 17 if runner.brief() else MAX_WORDS
    for count, stall, latency in ((1, 0, (0, 0)), (5, 0.9, (0, 0)), (most, 0.5, (5, 60))):
        bench.requests.stall, bench.latency = stall, latency
        address = BASE + 4 * bench.rng.randrange(1000)
        words = bench.words(count)
        bench.memory.clear()
        await bench.ask(Operation.WRITE_MEMORY, address, words)
        assert bench.memory == {address + 4 * i: word for i, word in enumerate(words)}
        assert await bench.ask(Operation.READ_MEMORY, address, count=count) == words
    assert not bench.written


@cocotb.test()
async def fills(dut):
    bench = await _Bench.start(dut)
    for count in (1, 2, 300, 0):
        bench.memory.clear()
        await bench.ask(Operation.FILL_MEMORY, BASE + 8, [count, 0xFFFF_FFFF])
        assert bench.memory == {BASE + 8 + 4 * i: 0xFFFF_FFFF for i in range(count)}


@cocotb.test()
async def resets(dut):
    bench = await _Bench.start(dut)
    bench.line.send(bench.request(Operation.RESET).encode())
    while integer(dut.reset) == 0:
        await tick(dut)
    for _ in range(100):                        # reads are under way
        await tick(dut)
        assert integer(dut.reset) == 1
    assert set(bench.line.received) <= {FLAG}   # the last of the answer before
    dut.drained.value = 1
    await tick(dut, 2)
    assert integer(dut.reset) == 0
    assert (await bench.answers(1))[0].status == AnswerStatus.DONE
    assert integer(dut.session) == SESSION
    bench.line.send(bench.request(Operation.RESET).encode())
    while integer(dut.reset) == 0:
        await tick(dut)
    for _ in range(15):
        await tick(dut)
        assert integer(dut.reset) == 1
    await tick(dut, 2)
    assert integer(dut.reset) == 0
    await bench.answers(1)


@cocotb.test()
async def once(dut):
    bench = await _Bench.start(dut)
    dut.drained.value = 1
    command = bench.request(Operation.COMMAND, 0, [1])
    for _ in range(3):
        bench.line.send(command.encode())
    answers = await bench.answers(3)
    assert {answer[:3] for answer in answers} == {(command.sequence, AnswerStatus.DONE, 0)}
    assert bench.written == [0]
    reset = bench.request(Operation.RESET)
    for frame in (reset, reset, command):       # the command is no longer the last
        bench.line.send(frame.encode())
    await bench.answers(3)
    assert bench.resets == 1 and bench.written == [0, 0]
    # A new session remembers nothing of the last session.
    await bench.ask(Operation.OPEN)
    bench.line.send(command.encode())
    await bench.answers(1)
    assert bench.written == [0, 0, 0]
    write = bench.request(Operation.WRITE_REGISTERS, 4, [5])
    for _ in range(2):
        bench.line.send(write.encode())
    await bench.answers(2)
    assert bench.written == [0, 0, 0, 4, 4]


@cocotb.test()
async def numbers(dut):
    """A change of any one bit of the sequence number makes a different command."""
    bench = await _Bench.start(dut)
    sequence = bench.rng.getrandbits(16)
    places = range(0, 4 * 17, 4)
    for bit, place in enumerate(places):
        bench.line.send(bench.request(Operation.COMMAND, place, [1], sequence=sequence).encode())
        sequence ^= 1 << bit
    answers = await bench.answers(len(places))
    assert {answer.status for answer in answers} == {AnswerStatus.DONE}
    assert bench.written == [*places]


@cocotb.test()
async def bad(dut):
    bench = await _Bench.start(dut)
    words = bench.words(3)
    frame = bench.request(Operation.WRITE_REGISTERS, 0, words).encode()
    for damaged, status in (
            (frame[:5] + bytes((frame[5] ^ 4,)) + frame[6:], AnswerStatus.GARBLED),
            (frame[:9] + frame[10:], AnswerStatus.GARBLED),
            *((_uneven(words, extra), AnswerStatus.GARBLED) for extra in (1, 2, 3)),
            (Answer(1, 2, 3, 4).encode(), AnswerStatus.GARBLED),      # no whole header
            (b"\x01\x7e", AnswerStatus.GARBLED),
            (bench.request(Operation.COMMAND, 0, words, session=SESSION ^ 1).encode(),
             AnswerStatus.STRANGER),
            (bench.request(Operation.RESET, session=0).encode(), AnswerStatus.STRANGER),
            (bench.request(0, 0, words).encode(), AnswerStatus.REFUSED),
            (bench.request(99, 0, words).encode(), AnswerStatus.REFUSED),
            (bench.request(Operation.COMMAND, 0, words, count=2).encode(), AnswerStatus.REFUSED),
            (bench.request(Operation.COMMAND, 0, words, count=4).encode(), AnswerStatus.REFUSED),
            (bench.request(Operation.WRITE_MEMORY, 0, []).encode(), AnswerStatus.REFUSED),
            (bench.request(Operation.WRITE_MEMORY, 0, [0] * (MAX_WORDS + 1)).encode(),
             AnswerStatus.REFUSED),
            (bench.request(Operation.FILL_MEMORY, 0, [1]).encode(), AnswerStatus.REFUSED),
            (bench.request(Operation.FILL_MEMORY, 0, words).encode(), AnswerStatus.REFUSED),
            (bench.request(Operation.READ_MEMORY, 0, count=0).encode(), AnswerStatus.REFUSED),
            (bench.request(Operation.READ_REGISTERS, 0, count=255).encode(), AnswerStatus.REFUSED)):
        bench.line.send(damaged)
        answer, = await bench.answers(1)
        assert answer[1:] == (status, 0, SESSION, b""), (answer, status)
    await ReadOnly()
    assert not bench.written and not bench.performed and not bench.resets
    await tick(dut)
    await bench.ask(Operation.COMMAND, 0, [1])
    assert bench.written == [0]


def _uneven(words, extra):
    """A request to write words, with some extra bytes and the right CRC."""
    payload = b"".join(word.to_bytes(4, "little") for word in words) + bytes(extra)
    return Request(1, Operation.WRITE_REGISTERS, len(words), SESSION, 0, payload).encode()


@cocotb.test()
async def half(dut):
    """A sender that stops in the middle of a frame, and a sender whose last flag is lost."""
    bench = await _Bench.start(dut)
    frame = bench.request(Operation.COMMAND, 0, [1]).encode()
    whole = bench.request(Operation.COMMAND, 4, [2])
    bench.line.send(frame[:11])
    await tick(dut, 3000)
    assert set(bench.line.received) <= {FLAG}   # the last of the answer before
    bench.line.send(whole.encode())
    answers = await bench.answers(2)
    assert [answer.status for answer in answers] == [AnswerStatus.GARBLED, AnswerStatus.DONE]
    assert bench.written == [4]
    bench.line.send(frame[:-2] + frame)
    answers = await bench.answers(2)
    assert [answer.status for answer in answers] == [AnswerStatus.DONE, AnswerStatus.DONE]
    assert bench.written == [4, 0]


@cocotb.test()
async def queued(dut):
    """Requests that are shorter than their answers, so that more and more requests wait."""
    bench = await _Bench.start(dut)
    address, words = BASE + 0x100, bench.words(8)
    await bench.ask(Operation.WRITE_MEMORY, address, words)
    requests = [bench.request(Operation.READ_MEMORY, address, count=8)
                for _ in range(QUEUE_BYTES // 2 // 19)]
    for request in requests:
        bench.line.send(request.encode())
    answers = await bench.answers(len(requests), cycles=1_000_000)
    assert [answer.sequence for answer in answers] == [request.sequence for request in requests]
    assert {answer.payload for answer in answers} == {
        b"".join(word.to_bytes(4, "little") for word in words)}


@cocotb.test()
async def storm(dut):
    bench = await _Bench.start(dut)
    rng = bench.rng
    dut.drained.value = 1
    noise = Noise(corrupt=0.006, lose=0.006, repeat=0.006, seed=cocotb.RANDOM_SEED)
    reader, memory, registers, last = FrameReader(), {}, {}, None
    for turn in range(30):
        if turn % 10 == 0:
            bench.requests.stall = rng.choice([0, 0.5, 0.9])
            bench.latency = rng.choice([(0, 0), (0, 8), (30, 60)])
        operation = rng.choice([*Operation][1:])
        words = bench.words(rng.choice([1, 3, 8])) if operation in WRITES else []
        if operation == Operation.FILL_MEMORY:
            words = [rng.randrange(1, 40), words[0]]
        of_memory = "MEMORY" in operation.name
        address = (BASE if of_memory else 0x8000) + 4 * rng.randrange(16)
        request = bench.request(operation, address, words,
                                None if words else rng.choice([1, 3, 8]))
        if rng.random() < 0.2:
            bench.number -= 1                   # the next request has the same number
        line = noise(request.encode())
        contents = list(reader.feed(line + bytes((FLAG,))))
        bench.line.send(line + bytes((FLAG,)))
        for content, answer in zip(contents, await bench.answers(len(contents))):
            got = content and Request.decode(content)
            if not got:
                assert answer.status == AnswerStatus.GARBLED
                continue
            assert got == request and answer[:2] == (got.sequence, AnswerStatus.DONE)
            space = memory if of_memory else registers
            places = range(address, address + 4 * request.count, 4)
            if operation == Operation.FILL_MEMORY:
                space.update((address + 4 * i, words[1]) for i in range(words[0]))
            elif operation in WRITES and not (operation in ONCE and last == got.sequence):
                space.update(zip(places, words))
            elif operation in (Operation.READ_MEMORY, Operation.READ_REGISTERS):
                right = b"".join(space.get(place, 0).to_bytes(4, "little") for place in places)
                assert answer.payload == right
            if operation in ONCE:
                last = got.sequence
        assert bench.memory == memory and bench.registers == registers
    assert noise.lost and noise.corrupted and noise.repeated


#: The tests that a usual run does on Icarus Verilog. They use all parts of the link; long tests of
#: single claims are left out.
_SHORT = ["opens", "registers", "memory", "fills", "resets", "once", "storm"]


@pytest.mark.sample(1)
def test_link(simulator):
    tests = _SHORT if simulator == "icarus" and not runner.whole else None
    runner.run_bench(Link(CONFIG, DIVISOR, CLOCK_HZ), "link", __name__, simulator=simulator,
                     tests=tests)
