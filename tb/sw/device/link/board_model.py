"""A board in Python: the link as documented, and the instruction-set simulator behind the link.

:class:`HostilePeer` is the opposite: a peer at the end of the line that may answer anything. A host
that talks to such a peer runs on a :class:`Clock` of its own, so that an hour passes in a moment.
"""

import contextlib
import random
import time
from unittest import mock

import serial

from base.errors import UserError
from hw.isa import MemoryMap
from hw.link.frames import (FILL_WORDS, MAX_WORDS, ONCE, WRITES, Answer, AnswerStatus, FrameReader,
                            Operation, Request, description)
from hw.registers import GPU_BASE, IMEM_BASE, Control, Register, Status, counter_address
from hw.scu.registers import SCU_BASE, SCU_REGISTERS, ScuRegister, ScuStatus
from sim.noise import Noise
from sw.golden.cores import Cores
from sw.golden.simulator import CoreError
from sw.device.link import client, machine


__all__ = ["MOODS", "BoardModel", "Clock", "HostilePeer", "ModelCable", "NoisyBoard"]


CLOCK_HZ = 50_000_000

#: Instructions that a launch executes between two looks at its status.
_SLICE = 2000


class BoardModel:
    """A model of the board.

    Attributes
    ----------
    requests : list of Request
        All requests that were performed.
    """

    #: Content of instruction memory after power on. A reset does not change it.
    UNKNOWN = 0x0000_0013

    def __init__(self, config):
        self.config = config
        self.cores = Cores(config)
        self.requests = []
        self._imem = [self.UNKNOWN] * (config.imem_bytes // 4)
        self.reset()

    def reset(self):
        """Reset the board as at power on, except for its memories."""
        self._reader = FrameReader()
        self._session, self._last = 0, None
        self._registers = {}
        self._busy, self._error = False, None

    def receive(self, data) -> bytes:
        """Receive bytes from the line. Returns the bytes to send back."""
        return b"".join(self._answer(content).encode() for content in self._reader.feed(data))

    def _answer(self, content):
        request = content and Request.decode(content)
        if not request:
            return Answer(0, AnswerStatus.GARBLED, 0, self._session)
        status, payload = self._perform(request)
        return Answer(request.sequence, status, len(payload) // 4, self._session, payload)

    def _perform(self, request):
        sequence, operation, count, session, address, payload = request
        if operation == Operation.OPEN:
            self._session, self._last = session, None
            return AnswerStatus.DONE, _bytes(description(self.config, CLOCK_HZ))
        if session != self._session:
            return AnswerStatus.STRANGER, b""
        right = 4 * count if operation in WRITES else 0
        if operation not in list(Operation) or (operation != Operation.RESET and (
                not 0 < count <= MAX_WORDS or len(payload) != right
                or (operation == Operation.FILL_MEMORY and count != FILL_WORDS))):
            return AnswerStatus.REFUSED, b""
        if operation in ONCE:
            if self._last == sequence:
                return AnswerStatus.DONE, b""
            self._last = sequence
        self.requests.append(request)
        places = range(address, address + 4 * count, 4)
        words = [int.from_bytes(payload[i:i + 4], "little") for i in range(0, len(payload), 4)]
        start = address - MemoryMap.GLOBAL
        memory = self.cores.memory
        if operation == Operation.READ_MEMORY:
            return AnswerStatus.DONE, memory[start:start + 4 * count].tobytes()
        if operation == Operation.READ_REGISTERS:
            return AnswerStatus.DONE, _bytes(map(self._read, places))
        if operation == Operation.WRITE_MEMORY:
            memory[start:start + 4 * count] = bytearray(payload)
        elif operation == Operation.FILL_MEMORY:
            memory[start:start + 4 * words[0]] = bytearray(_bytes(words[1:]) * words[0])
        elif operation == Operation.RESET:
            self._registers, self._busy, self._error = {}, False, None
            self.cores.clear_counters()
        else:
            for place, word in zip(places, words):
                self._write(place, word)
        return AnswerStatus.DONE, b""

    def _write(self, address, word):
        if address >= IMEM_BASE:
            self._imem[address - IMEM_BASE >> 2] = word
        elif address != Register.CONTROL:
            self._registers[address] = word
        elif not self._busy:
            if word & Control.CLEAR:
                self.cores.clear_counters()
            if word & Control.LAUNCH:
                self._busy, self._error = True, None
                self.cores.load_program(self._imem)
                self.cores.start(self._registers[Register.ENTRY],
                                 self._registers[Register.ARGUMENT])

    def _read(self, address):
        if address == Register.STATUS:
            self._run()
            return self._busy * Status.BUSY | (self._error is not None) * Status.ERROR
        error = self._error
        if error is not None and address in range(Register.ERROR_CAUSE, Register.ERROR_WARP + 4):
            return {Register.ERROR_CAUSE: error.cause, Register.ERROR_PC: error.pc,
                    Register.ERROR_ADDRESS: error.address,
                    Register.ERROR_WARP: error.core << 16 | error.lane << 8 | error.warp}[address]
        for name, counter in (("instructions", "instructions"), ("lanes", "lanes"),
                              ("cycles", "instructions")):
            if address == counter_address(name):
                return self.cores.counters()[counter]
        return self._registers.get(address, 0)

    def _run(self):
        """Continue the launch."""
        if not self._busy:
            return
        try:
            self.cores.run(limit=_SLICE)
            self._busy = False
        except CoreError as error:
            self._busy, self._error = False, error
        except UserError:
            pass    # the launch has not finished yet


class NoisyBoard(BoardModel):
    """A board some of whose parts read as noise. The board runs no program: a launch ends at once.

    Parameters
    ----------
    config : HardwareConfig
    noisy : set of str
        ``"memory"``, ``"status"``, ``"counters"``, ``"scu"``.
    seed : int
    """

    def __init__(self, config, noisy, seed):
        self._noisy, self._rng, self._now = noisy, random.Random(seed), 0
        super().__init__(config)

    def noise(self):
        """A random word, often a small number, which is easily believed."""
        rng = self._rng
        return rng.choice((0, 1, 2, 3, 0xFFFF_FFFF, rng.randrange(256), rng.getrandbits(32)))

    def _perform(self, request):
        status, payload = super()._perform(request)
        if request.operation == Operation.READ_MEMORY and "memory" in self._noisy:
            payload = _bytes(self.noise() for _ in range(request.count))
        return status, payload

    def _run(self):
        self._busy = False

    def _read(self, address):
        if address == Register.STATUS:
            return self._status(super()._read(address))
        if SCU_BASE <= address < SCU_BASE + SCU_REGISTERS:
            return self._scu(address - SCU_BASE)
        if GPU_BASE <= address < IMEM_BASE:
            if "counters" in self._noisy:
                return self.noise()
            self._now += 1
            return 0 if address & 4 else self._now
        return super()._read(address)

    def _status(self, right):
        if "status" not in self._noisy:
            return right
        return self._rng.choice((right, right, 0, 1, 2, 3, self.noise()))

    def _scu(self, register):
        if register == ScuRegister.STATUS and "scu" not in self._noisy:
            return ScuStatus.DONE
        return self.noise()


def _bytes(words):
    return b"".join(int(word).to_bytes(4, "little") for word in words)


class ModelCable:
    """A cable with a board's model at its end, and with faults that a test can plant.

    Parameters
    ----------
    board : BoardModel
    **noise
        Options of :class:`sim.noise.Noise`, for both directions.

    Attributes
    ----------
    unplugged : bool
        The port is gone.
    cut : bool
        The wires are broken.
    after : dict of int to callable
        A function is called when its number of bytes has been written.
    """

    port = "model"

    def __init__(self, board, **noise):
        self.board = board
        self.unplugged = self.cut = False
        self.after = {}
        self.written = 0
        seed = noise.pop("seed", 1)
        self._there, self._back = Noise(seed=seed, **noise), Noise(seed=seed + 1, **noise)
        self._waiting = b""

    def write(self, data):
        self._check()
        for start in range(0, len(data), 16):
            piece = data[start:start + 16]
            self.written += len(piece)
            for limit in [limit for limit in self.after if limit <= self.written]:
                self.after.pop(limit)()
            if not self.cut:
                self._waiting += self._back(self.board.receive(self._there(piece)))

    def read(self, timeout):
        self._check()
        if not self._waiting:
            time.sleep(timeout)
        self._waiting, received = self._waiting[100:], self._waiting[:100]
        return received

    def close(self):
        pass

    def _check(self):
        if self.unplugged:
            raise UserError("model: the board is gone") from serial.SerialException()


class Clock:
    """The time of a host and of the cable that the host reads.

    Parameters
    ----------
    limit : int
        Readings of the cable after which a test fails, because the host may never end.
    """

    def __init__(self, limit=200_000):
        self._now, self._left = 0.0, limit

    def monotonic(self):
        """The time in seconds."""
        return self._now

    def sleep(self, seconds):
        """Let time pass."""
        self._now += seconds

    def step(self, seconds):
        """Let time pass for a reading of the cable."""
        self._left -= 1
        assert self._left > 0, f"the host is still at work after {self._now:g} s"
        self.sleep(seconds)

    @contextlib.contextmanager
    def kept(self):
        """A context in which the host's end of the link goes by this clock."""
        with mock.patch.object(client, "time", self), mock.patch.object(machine, "time", self):
            yield self


class _Moods:
    """Bytes that a hostile peer sends in place of an honest answer to a request."""

    def honest(self, request, answer):
        return answer.encode()

    def silent(self, request, answer):
        return b""

    def empty(self, request, answer):
        return _framed(answer, b"")

    def short(self, request, answer):
        return _framed(answer, answer.payload[:-4])

    def long(self, request, answer):
        return _framed(answer, answer.payload + self.rng.randbytes(4))

    def odd(self, request, answer):
        return _framed(answer, answer.payload + self.rng.randbytes(self.rng.randrange(1, 4)))

    def endless(self, request, answer):
        return _framed(answer, self.rng.randbytes(1 << 16))

    def miscounted(self, request, answer):
        return _framed(answer, answer.payload, self.rng.randrange(256))

    def previous(self, request, answer):
        return self.before

    def behind(self, request, answer):
        return answer._replace(sequence=answer.sequence - 1 & 0xFFFF).encode()

    def renumbered(self, request, answer):
        return answer._replace(sequence=self.rng.randrange(1 << 16)).encode()

    def stranger(self, request, answer):
        return answer._replace(session=self.rng.getrandbits(32)).encode()

    def refusing(self, request, answer):
        return answer._replace(status=self.rng.randrange(256)).encode()

    def deaf(self, request, answer):
        return Answer(answer.sequence, AnswerStatus.GARBLED, 0, answer.session).encode()

    def half(self, request, answer):
        frame = answer.encode()
        return frame[:self.rng.randrange(2, len(frame) - 2)]

    def twice(self, request, answer):
        return 2 * answer.encode()

    def echoing(self, request, answer):
        return request.encode()

    def chattering(self, request, answer):
        self.chatters = True
        return b""

    def leaving(self, request, answer):
        self.gone = True
        return b""

    def lying(self, request, answer):
        """Wrong words, in the right number."""
        def word():
            return self.rng.choice((0, 1, 2, 3, 0xFFFF_FFFF, self.rng.randrange(256),
                                     self.rng.getrandbits(32))).to_bytes(4, "little")
        return _framed(answer, b"".join(word() for _ in range(len(answer.payload) // 4)))


#: Moods that a :class:`HostilePeer` may have.
MOODS = [name for name in vars(_Moods) if not name.startswith("_")]


def _framed(answer, payload, count=None):
    words = len(payload) // 4 if count is None else count
    return answer._replace(payload=payload, count=words & 0xFF).encode()


class HostilePeer(_Moods):
    """A cable with a peer at its end that answers requests rightly or wrongly.

    Parameters
    ----------
    clock : Clock
    board : callable
        Turns received bytes into the answer of an honest board: :meth:`BoardModel.receive`.
    moods : iterable of (str, int)
        Names of :data:`MOODS`, and the number of requests that the peer answers in each. The
        peer stays in the last mood.
    seed : int
    seconds : float
        Time that a reading of the cable takes if there are bytes to read.
    """

    port = "model"

    def __init__(self, clock, board, moods, seed, seconds=0.005):
        self._seconds = seconds
        self._clock, self._board, self.rng = clock, board, random.Random(seed)
        self._moods = iter([mood for mood, count in moods for _ in range(count)])
        self._mood = "honest"
        self._reader, self._waiting, self.before = FrameReader(), b"", b""
        self.gone = self.chatters = False

    def write(self, data):
        self._check()
        for content in self._reader.feed(bytes(data)):
            request = Request.decode(content)
            honest = self._board(request.encode())
            answers = list(map(Answer.decode, FrameReader().feed(honest)))
            self._mood = next(self._moods, self._mood)
            for answer in answers:
                self._waiting += getattr(self, self._mood)(request, answer)
            self.before = honest

    def read(self, timeout):
        self._check()
        if self.chatters and not self._waiting:
            self._waiting = self.rng.randbytes(50)
        self._clock.step(self._seconds if self._waiting else max(timeout, self._seconds))
        count = self.rng.randrange(1, 400)
        self._waiting, received = self._waiting[count:], self._waiting[:count]
        return received

    def close(self):
        pass

    def _check(self):
        if self.gone:
            raise UserError("model: the board is gone")
