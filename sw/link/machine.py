"""The machine at the other end of a serial line: a GPU on a board."""

import time

from hw.config import ConfigError, HardwareConfig
from hw.link.frames import MAX_WORDS
from hw.registers import Control, Register, Status, counter_address
from sim.errors import SimulationError
from sim.machine import RegisterMachine
from sw.link.cable import Cable
from sw.link.client import Client


__all__ = ["SerialMachine", "check"]


#: Seconds between two looks at whether the GPU is still busy: the first, and the longest.
_POLL_SECONDS = (0.0005, 0.05)

#: Seconds that a GPU which stopped with an error is given to finish what it has under way.
_DRAIN_SECONDS = 0.5

#: Seconds after which what takes a GPU much less is given up: a flush, getting ready after a reset.
_IDLE_SECONDS = 60.0

#: Frames of a transfer from which on it is told how far it is.
_FRAMES_TOLD = 256

#: Fields in which a board may differ from what was asked: what things are called.
_FREE = {"name", "trace"}


def check(board: HardwareConfig, asked: HardwareConfig, port) -> None:
    """Refuse a board that is not what was asked for.

    Raises
    ------
    ConfigError
        Naming the fields that differ.
    """
    fields = [name for name in board.__dataclass_fields__ if name not in _FREE
              and getattr(board, name) != getattr(asked, name)]
    if fields:
        raise ConfigError(
            f"{port}: the board is another GPU than was asked for: "
            + ", ".join(f"{name} = {getattr(board, name)!r}, not {getattr(asked, name)!r}"
                        for name in fields))


class SerialMachine(RegisterMachine):
    """A GPU on a board, which answers on a serial port.

    It has no copy of the board's memory: what is written goes there, and what is read comes from
    there. A limit of cycles stops a launch when it is noticed, some milliseconds late.

    Parameters
    ----------
    cable : sw.link.cable.Cable
        Or what has its methods; :meth:`open` makes one.
    config : HardwareConfig or None
        What the board must be; None: whatever it is.
    report : callable or None
        Called with a line of text while much is written or read.
    silence, patience
        As of :class:`sw.link.client.Client`.

    Attributes
    ----------
    config : HardwareConfig
        What the board is.
    clock_hz : int
        Its cycles in a second.

    Raises
    ------
    UserError
        The board does not answer, or anywhere later: it was reset, or is gone.
    ConfigError
        It is not what it must be.
    """

    def __init__(self, cable, config: HardwareConfig | None = None, *, report=None, **times):
        self._report = report or (lambda text: None)
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
        """The one at a serial port."""
        cable = Cable(port, baud)
        try:
            return cls(cable, config, **options)
        except BaseException:
            cable.close()
            raise

    # The machine interface, as far as it is another here

    def write_memory(self, address, words) -> None:
        """Write words; the caches do not notice."""
        self._client.write_memory(address, words, self._telling("writing", len(words)))

    def fill_memory(self, address, count, value) -> None:
        """Write a word ``count`` times."""
        self._client.fill_memory(address, count, value)

    def read_memory(self, address, count):
        """A copy of ``count`` words, as they are in memory."""
        return self._client.read_memory(address, count, self._telling("reading", count))

    def flush(self, invalidate=False) -> None:
        """As of every machine; nothing is asked of the board if the GPU has done nothing since."""
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
            self._status = status = self._read(Register.STATUS)[0]
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
        """The GPU's cycles so far; of hardware without counters, those of so many seconds."""
        if not self.config.counters:
            return int(seconds * self.clock_hz)
        names = ["cycles"] + ["scu_cycles"] * (self.config.scu > 0)
        return sum(self._count(counter_address(name)) for name in names)

    def _count(self, address):
        """A counter of 64 bits that may count on from its lower word's reading to its upper's."""
        upper, before = None, -1
        while upper != before:
            before = upper
            lower, upper = self._read(address, 2)
        return lower | upper << 32

    def _telling(self, what, words):
        """What is to be called with the frames that are done, if there are many."""
        frames = -(-words // MAX_WORDS)
        if frames < _FRAMES_TOLD:
            return None
        return lambda done: self._report(f"{what} {4 * words:,} bytes: {100 * done // frames} %")
