"""A simulated board: its gateware, with a pseudo-terminal in place of the cable.

The host sees an ordinary serial port, which the same program opens that drives a real board. The
line can be made bad on purpose, the board can be reset, and the cable can be unplugged.
"""

import ctypes
import os
import select
import threading
import tty

import numpy as np

from hw.config import ConfigError, HardwareConfig
from hw.isa import MemoryMap
from hw.link.frames import check_divisor

from . import build
from .dram import DramConfig
from .dram_device import DramDevice
from .errors import SimulationError
from .interface import NO_REGION, DeviceParameters, DramTiming
from .memories import SimulatedDram
from .noise import Noise


__all__ = ["BoardSimulator"]


#: Cycles per second that the board reports: those of a board with an FPGA.
CLOCK_HZ = 50_000_000

#: Cycles that are simulated between two reads of the terminal. The terminal is read only if fewer
#: than so many bytes are still waiting for the line.
_SLICE_CYCLES, _AHEAD_BYTES = 5_000, 256

#: Seconds between two polls for requests while the board is idle.
_IDLE_SECONDS = 0.02

#: Return values of bd_run: the board is quiet and may be left alone; the board is broken.
_QUIET, _BROKEN = 1, 2


class BoardSimulator:
    """A simulated board at a pseudo-terminal.

    Parameters
    ----------
    config : HardwareConfig
        Configuration of its GPU.
    divisor : int
        Cycles of a bit on the line. The host's baud rate does not matter.
    sdram : bool
        Whether it has an SDRAM with its controller, like the board with an FPGA, or a memory port
        with the DRAM model behind it.
    dram : DramConfig, DramDevice or None
        The DRAM model; None for the default. A board has no slow region.
    corrupt, lose, repeat, seed
        Faults of both directions of the line; see :class:`sim.noise.Noise`.
    report : callable or None
        Called with a line of text before the simulator is built.

    Attributes
    ----------
    port : str
        The path of the terminal that a host opens.
    problem : sim.errors.SimulationError or None
        Why the simulation stopped, if it did: a bug of the hardware.

    Raises
    ------
    sim.errors.BuildError
        If the simulator cannot be built.
    ConfigError
        If `divisor` or the noise is not legal, or if `dram` has a slow region.
    """

    def __init__(self, config: HardwareConfig, *, divisor=4, sdram=True,
                 dram: SimulatedDram | None = None, corrupt=0.0, lose=0.0, repeat=0.0, seed=1,
                 report=None):
        noise = {"corrupt": corrupt, "lose": lose, "repeat": repeat}
        self.to_board, self.to_host = Noise(seed=seed, **noise), Noise(seed=~seed, **noise)
        try:
            check_divisor(divisor)
        except ValueError as error:
            raise ConfigError(f"the board's line: {error}") from None
        if isinstance(dram, DramConfig) and dram.has_slow:
            raise ConfigError(f"DramConfig: slow_bytes_per_cycle = {dram.slow_bytes_per_cycle}: a "
                              "board has no slow region; must be 0")
        verilog = build.board_verilog(config, divisor, CLOCK_HZ, sdram=sdram)
        self._library = _load(build.board_library(verilog, config, divisor, sdram=sdram,
                                                  report=report))
        self.memory = np.zeros(config.memory_bytes, np.uint8)
        self.problem: SimulationError | None = None
        parameters = _sdram() if sdram else _dram(dram or DramConfig(), config)
        self._board = self._library.bd_create(self.memory.ctypes.data, self.memory.nbytes,
                                              ctypes.byref(parameters))
        self._check(self._library.bd_power_on(self._board))
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.port = os.ttyname(self._slave)
        self._orders, self._thread, self._stopping = [], None, False
        self._lock = threading.Lock()

    def __enter__(self):
        """In a thread of its own, until the end of the context."""
        self._thread = threading.Thread(target=self.run, name="board", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self.close()

    @property
    def cycles(self) -> int:
        """Cycles since power on."""
        return self._library.bd_cycles(self._board)

    def run(self) -> None:
        """Simulates until the cable is unplugged or the simulation cannot go on. Time stands still
        between requests of the host."""
        try:
            self._run()
        finally:
            os.close(self._master)
            os.close(self._slave)

    def _run(self):
        leaving, status = b"", 0
        while not self._stopping:
            with self._lock:
                orders, self._orders = self._orders, []
            for order in orders:
                order()
                status = 0
            ahead = self._library.bd_waiting(self._board) < _AHEAD_BYTES
            readable, writable, _ = select.select(
                [self._master] if ahead else [], [self._master] if leaving else [], [],
                _IDLE_SECONDS if status == _QUIET and not leaving else 0)
            if readable:
                data = self.to_board(os.read(self._master, 4096))
                self._library.bd_send(self._board, data, len(data))
            elif status == _QUIET and not leaving:
                continue
            if writable:
                leaving = leaving[os.write(self._master, leaving):]
            status = self._library.bd_run(self._board, _SLICE_CYCLES)
            if status == _BROKEN:
                self._fail()
                return
            leaving += self.to_host(self._take())

    def reset(self) -> None:
        """Presses the board's reset button. Memory stays, as in a chip."""
        self._order(lambda: self._check(self._library.bd_power_on(self._board)))

    def unplug(self) -> None:
        """Pulls out the cable."""
        def stop():
            self._stopping = True
        self._order(stop)

    def close(self) -> None:
        """Ends the simulation."""
        self._stopping = True
        if self._thread is not None:
            self._thread.join()
        if self._board is not None:
            self._library.bd_destroy(self._board)
            self._board = None

    def _order(self, order):
        with self._lock:
            self._orders.append(order)

    def _take(self):
        buffer = ctypes.create_string_buffer(4096)
        count = self._library.bd_take(self._board, buffer, len(buffer))
        return buffer.raw[:count]

    def _check(self, status):
        if status == _BROKEN:
            raise self._fail()

    def _fail(self):
        message = " ".join(self._library.bd_message(self._board).decode().split())
        self.problem = SimulationError("assertion", f"in cycle {self.cycles}: {message}")
        return self.problem


class _DramParameters(ctypes.Structure):
    """``MemoryParameters`` of the harness, without an SDRAM."""
    _fields_ = [("base", ctypes.c_uint64), ("timing", DramTiming),
                ("device", ctypes.POINTER(DeviceParameters))]


def _dram(dram, config):
    parameters = _DramParameters(int(MemoryMap.GLOBAL))
    if isinstance(dram, DramDevice):
        parameters.timing = NO_REGION
        parameters.device = ctypes.pointer(dram.parameters(config))
    else:
        parameters.timing = DramTiming(dram.bytes_per_cycle, dram.ratio, dram.latency_cycles,
                                       dram.queue)
    return parameters


def _sdram():
    from hw.sdram.timing import SLOWEST

    from .sdram import sdram_parameters
    return sdram_parameters(SLOWEST, frequency=CLOCK_HZ / 1e6)


def _load(path):
    """The C functions of a built library, with their types."""
    library = ctypes.CDLL(str(path))
    board, u32, u64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
    for name, result, *arguments in (
            ("bd_create", board, ctypes.c_void_p, u64, ctypes.c_void_p),
            ("bd_destroy", None, board),
            ("bd_power_on", ctypes.c_int, board),
            ("bd_send", None, board, ctypes.c_char_p, u32),
            ("bd_waiting", u32, board),
            ("bd_take", u32, board, ctypes.c_char_p, u32),
            ("bd_run", ctypes.c_int, board, u64),
            ("bd_cycles", u64, board),
            ("bd_message", ctypes.c_char_p, board)):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
