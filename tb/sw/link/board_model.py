"""A board in Python: the link as it is documented, and behind it the instruction-set simulator."""

import time

import serial

from hw.isa import MemoryMap
from hw.link.frames import (FILL_WORDS, MAX_WORDS, ONCE, WRITES, Answer, FrameReader, Operation,
                            Request, Status, description)
from hw.registers import IMEM_BASE, Control, Register, counter_address
from hw.registers import Status as GpuStatus
from sim.noise import Noise
from sw.errors import UserError
from sw.golden.cores import Cores
from sw.golden.simulator import CoreError


__all__ = ["BoardModel", "ModelCable"]


CLOCK_HZ = 50_000_000

#: Instructions that a launch executes between two looks at its status.
_SLICE = 2000


class BoardModel:
    """A board.

    Attributes
    ----------
    requests : list of Request
        All that were performed.
    """

    def __init__(self, config):
        self.config = config
        self.cores = Cores(config)
        self.requests = []
        self.reset()

    def reset(self):
        """As after power on, but for memory."""
        self._reader = FrameReader()
        self._session, self._last = 0, None
        self._registers, self._imem = {}, [0] * (self.config.imem_bytes // 4)
        self._busy, self._error = False, None

    def receive(self, data) -> bytes:
        """Bytes come from the line; returns those that are sent back."""
        return b"".join(self._answer(content).encode() for content in self._reader.feed(data))

    def _answer(self, content):
        request = content and Request.decode(content)
        if not request:
            return Answer(0, Status.GARBLED, 0, self._session)
        status, payload = self._perform(request)
        return Answer(request.sequence, status, len(payload) // 4, self._session, payload)

    def _perform(self, request):
        sequence, operation, count, session, address, payload = request
        if operation == Operation.OPEN:
            self._session, self._last = session, None
            return Status.DONE, _bytes(description(self.config, CLOCK_HZ))
        if session != self._session:
            return Status.STRANGER, b""
        right = 4 * count if operation in WRITES else 0
        if operation not in list(Operation) or operation != Operation.RESET and (
                not 0 < count <= MAX_WORDS or len(payload) != right
                or operation == Operation.FILL_MEMORY and count != FILL_WORDS):
            return Status.REFUSED, b""
        if operation in ONCE:
            if self._last == sequence:
                return Status.DONE, b""
            self._last = sequence
        self.requests.append(request)
        places = range(address, address + 4 * count, 4)
        words = [int.from_bytes(payload[i:i + 4], "little") for i in range(0, len(payload), 4)]
        start = address - MemoryMap.GLOBAL
        memory = self.cores.memory
        if operation == Operation.READ_MEMORY:
            return Status.DONE, memory[start:start + 4 * count].tobytes()
        if operation == Operation.READ_REGISTERS:
            return Status.DONE, _bytes(map(self._read, places))
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
        return Status.DONE, b""

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
            return self._busy * GpuStatus.BUSY | (self._error is not None) * GpuStatus.ERROR
        error = self._error
        if error is not None and address in range(Register.ERROR_CAUSE, Register.ERROR_WARP + 4):
            return {Register.ERROR_CAUSE: error.cause, Register.ERROR_PC: error.pc,
                    Register.ERROR_ADDRESS: error.address,
                    Register.ERROR_WARP: error.core << 16 | error.warp}[address]
        for name, counter in (("instructions", "instructions"), ("lanes", "lanes"),
                              ("cycles", "instructions")):
            if address == counter_address(name):
                return self.cores.counters()[counter]
        return self._registers.get(address, 0)

    def _run(self):
        """The launch goes on."""
        if not self._busy:
            return
        try:
            self.cores.run(limit=_SLICE)
            self._busy = False
        except CoreError as error:
            self._busy, self._error = False, error
        except UserError:
            pass    # not yet finished


def _bytes(words):
    return b"".join(int(word).to_bytes(4, "little") for word in words)


class ModelCable:
    """A cable with a board's model at its end, and what can happen to it.

    Parameters
    ----------
    board : BoardModel
    **noise
        As of :class:`sim.noise.Noise`, for both directions.

    Attributes
    ----------
    unplugged, cut : bool
        The port is gone; the wires are broken.
    after : dict of int to callable
        What happens when so many bytes have been written.
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
