"""The machine at the other end of a serial line: a GPU on a board.

A broken board, or a device that is no board, may answer every request with wrong data. Registers
are therefore checked where they are read: STATUS has no undefined bits, and counters do not go
back. The time limit of the run bounds everything else.
"""

import math
import time

from base.errors import UserError
from hw.config import ConfigError, HardwareConfig
from hw.link.frames import MAX_WORDS
from hw.registers import Control, Register, Status, counter_address, cycles_of
from sim.errors import SimulationError
from sim.machine import RegisterMachine
from sw.device.link.cable import Cable
from sw.device.link.client import Client


__all__ = ["TIME_LIMIT", "SerialMachine", "check"]


#: Default for the seconds that a run may take.
TIME_LIMIT = 3600.0

#: Seconds between two polls of a busy GPU: the first interval, and the longest.
_POLL_SECONDS = (0.0005, 0.05)

#: Seconds for a GPU that stopped with an error to finish its accesses under way.
_DRAIN_SECONDS = 0.5

#: Seconds after which a flush, or getting ready after a reset, is given up. A GPU takes much less.
_IDLE_SECONDS = 60.0

#: Readings of a counter's two words. Two successive readings among them have the same upper word,
#: which changes once in 2**32 cycles.
_READINGS = 3

#: Number of frames from which on a transfer reports its progress.
_FRAMES_TOLD = 256

#: Fields in which a board may differ from the requested configuration.
_FREE = {"name", "trace"}


def check(board: HardwareConfig, asked: HardwareConfig, port) -> None:
    """Refuse a board without the requested configuration.

    Raises
    ------
    ConfigError
        If fields differ; the error names them.
    """
    fields = [name for name in board.__dataclass_fields__ if name not in _FREE
              and getattr(board, name) != getattr(asked, name)]
    if fields:
        raise ConfigError(
            f"{port}: the board has another GPU than the options ask for: "
            + ", ".join(f"{name} = {getattr(board, name)!r}, not {getattr(asked, name)!r}"
                        for name in fields))


class SerialMachine(RegisterMachine):
    """A GPU on a board, which answers on a serial port.

    It has no copy of the board's memory: each write goes to the board, and each read comes from the
    board. A limit of cycles stops a launch some milliseconds late.

    Parameters
    ----------
    cable : sw.device.link.cable.Cable
        The cable, or an object with the same methods; :meth:`open` makes a cable.
    config : HardwareConfig or None
        The configuration that the board must have; None for any.
    report : callable or None
        Called with a line of text while much is written or read.
    time_limit : float or None
        Seconds that may pass between :meth:`power_on`, with which a run begins, and its last
        request; None for no limit.
    silence, patience
        See :class:`sw.device.link.client.Client`.

    Attributes
    ----------
    config : HardwareConfig
        The board's configuration.
    clock_hz : int
        The board's cycles per second.

    Raises
    ------
    UserError
        The board does not answer. In any later call: the board was reset, is gone, or its answers
        or registers are not those of a board.
    RunError
        In any later call: the time limit was reached.
    ConfigError
        The board has another configuration than `config`.
    """

    def __init__(self, cable, config: HardwareConfig | None = None, *, report=None,
                 time_limit=TIME_LIMIT, **times):
        if time_limit is not None and not 0 < time_limit < math.inf:
            raise UserError(f"the time limit is {time_limit} s, must be above 0 and finite")
        self._report, self._time_limit = report or (lambda text: None), time_limit
        self._client = Client(cable, **times)
        try:
            board = self._client.board
            if config is not None:
                check(board.config, config, cable.port)
            self.clock_hz = board.clock_hz
            self._port = cable.port
            super().__init__(config or board.config)
            self._power_on()
        except BaseException:
            self._client.close()
            raise

    @classmethod
    def open(cls, port, baud, config=None, **options):
        """The machine at a serial port."""
        cable = Cable(port, baud)
        try:
            return cls(cable, config, **options)
        except BaseException:
            cable.close()
            raise

    # The machine interface, where it differs here

    def power_on(self) -> None:
        """As for every machine; the time limit begins anew."""
        self._client.limit(self._time_limit)
        super().power_on()

    def write_memory(self, address, words) -> None:
        """Write words; the caches do not notice."""
        self._client.write_memory(address, words, self._telling("writing", len(words)))

    def fill_memory(self, address, count, value) -> None:
        """Write a word ``count`` times."""
        self._client.fill_memory(address, count, value)

    def read_memory(self, address, count):
        """A copy of ``count`` words of memory."""
        return self._client.read_memory(address, count, self._telling("reading", count))

    def flush(self, invalidate=False) -> None:
        """As for every machine. Sends no request if the GPU has done nothing since the last flush.
        """
        if self._dirty or invalidate:
            super().flush(invalidate)
            self._dirty = self._stale

    def counters(self) -> dict:
        """The counters of the hardware, and ``dram_bytes_read`` and ``dram_bytes_written``: whole
        lines, also of masked writes."""
        values = super().counters()
        for way, lines in (("read", "dram_reads"), ("written", "dram_writes")):
            values[f"dram_bytes_{way}"] = values[lines] * self.config.line_bytes
        return values

    def clear_counters(self) -> None:
        """Set the counters to 0."""
        super().clear_counters()
        self._counts = {}

    def close(self) -> None:
        """Give the serial port back. The board stays as it is."""
        self._client.close()

    # The GPU

    def _write(self, address, *words):
        self._client.write_registers(address, [int(word) & 0xFFFF_FFFF for word in words])

    def _command(self, address, value):
        self._dirty |= value & Control.LAUNCH != 0 or address != Register.CONTROL
        self._client.command(address, int(value) & 0xFFFF_FFFF)

    def _read(self, address, count=1):
        return self._client.read_registers(address, count)

    def _failed(self):
        return bool(self._status & Status.ERROR)

    def _new(self):
        super()._new()
        self._dirty = False
        self._status = 0            # as it was last read
        self._counts = {}           # counters as they were last read, by address

    def _power_on(self):
        self._client.reset()
        self._new()
        self._await_idle("a reset")
        self._write_program()

    def _await_idle(self, what):
        end = time.monotonic() + _IDLE_SECONDS
        if not self._run(None, None, end=end):
            raise SimulationError("assertion", f"{self._port}: {what} did not end in "
                                  f"{_IDLE_SECONDS:g} s: load the board's bitstream anew")

    def _run(self, limit, progress, launched=False, end=None):
        shortest, longest = _POLL_SECONDS
        pause, failed = shortest, None
        first = self._cycles() if limit is not None or progress is not None else 0
        began = time.monotonic()
        while True:
            status = self._read_status()
            if not status & Status.BUSY:
                self._stale = False
                return True
            now = time.monotonic()
            if launched and status & Status.ERROR:
                failed = failed or now
                if now - failed > _DRAIN_SECONDS:
                    return True
            elif limit is not None or progress is not None:
                cycles = self._cycles(now - began) - first
                if limit is not None and cycles >= limit:
                    return False
                if progress is not None:
                    progress(cycles)
            if end is not None and now > end:
                return False
            time.sleep(pause)
            pause = min(2 * pause, longest)

    def _cycles(self, seconds=0.0):
        """The GPU's cycles so far; for hardware without counters, the cycles of ``seconds``."""
        if not self.config.counters:
            return int(seconds * self.clock_hz)
        names = ["cycles", *(["scu_cycles", "scu_beside"] if self.config.scu else [])]
        return cycles_of({name: self._count(counter_address(name)) for name in names})

    def _count(self, address):
        """A counter of 64 bits, which may count on between the readings of its two words."""
        before = None
        for _ in range(_READINGS):
            lower, upper = self._read(address, 2)
            if upper == before:
                return self._checked(address, lower | upper << 32)
            before = upper
        raise self._noise(f"the upper word of the counter at 0x{address:04x} changes with each "
                          "reading")

    def _read_counts(self, address, count):
        values = super()._read_counts(address, count)
        if self._stale:     # they run: a lower word may be of before a carry, its upper of after
            return values
        return [self._checked(address + 8 * place, value) for place, value in enumerate(values)]

    def _checked(self, address, value):
        """The value of a counter, checked to be at least its last value."""
        before = self._counts.get(address, 0)
        if value < before:
            raise self._noise(f"the counter at 0x{address:04x} went back from {before} to {value}")
        self._counts[address] = value
        return value

    def _read_status(self):
        """STATUS, kept in ``_status``."""
        status = self._read(Register.STATUS)[0]
        if status & ~int(Status.BUSY | Status.ERROR):
            raise self._noise(f"STATUS is 0x{status:08x}, and only its bits 1:0 are defined")
        self._status = status
        return status

    def _noise(self, what):
        return UserError(f"{self._port}: the registers do not read as those of a GPU: {what} (load "
                         "the board's bitstream anew, or build it for a slower clock)")

    def _telling(self, what, words):
        """The function to call with the number of finished frames, if there are many frames."""
        frames = -(-words // MAX_WORDS)
        if frames < _FRAMES_TOLD:
            return None
        return lambda done: self._report(f"{what} {4 * words:,} bytes: {100 * done // frames} %")
