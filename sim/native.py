"""The native machine: the Verilated GPU behind the interface the host runtime drives.

Global memory is one numpy array, on which the DRAM model works directly: nothing is copied between
Python and the simulation. A launch runs in slices of a fraction of a second, so that progress can
be shown and Ctrl-C is heard; the number of cycles does not depend on where the slices end.

A launch that was stopped half-way (limit, interrupt, request outside the memory, failed assertion)
leaves a GPU that is still busy. Its counters can be read as long as nothing else is asked of it;
the next launch or program begins with a new GPU, as after power on, with memory as it stands. What
the stopped GPU's caches had not written back is lost, and its wave file has ended.
"""

import ctypes
import os
import pathlib
import time

import numpy as np

from hw.config import ConfigError, HardwareConfig
from hw.isa import MemoryMap
from hw.registers import (CORE_BASE, CORE_COUNTERS, CORE_STRIDE, IMEM_BASE, SHARED_BASE,
                          SHARED_COUNTERS, WARP_COUNTS, WARP_OFFSET, Control, Register)
from hw.scu.registers import (SCU_BASE, SCU_REGISTER_DOCS, ScuRegister, ScuResult, ScuStatus,
                              error_text)

from . import build
from .dram import DramConfig
from .errors import SimulationError, device_error
from .interface import Report, Status, load


__all__ = ["NativeMachine", "wave_format"]


#: Wall-clock seconds a slice should take, and the cycles it may have.
_SLICE_SECONDS = 0.2
_SLICE_CYCLES = (1_000, 2_000_000)

#: Cycles a GPU that stopped with an error is given to finish what it has under way.
_DRAIN_CYCLES = 100_000

#: Lanes of all warps of a core from which on cores are evaluated by several threads: those of
#: smaller cores would wait for each other longer than they save.
_LANES_A_THREAD = 128

#: The SCU's registers that keep what is written to them.
_SCU_KEPT = [register for register, (access, _) in SCU_REGISTER_DOCS.items() if access == "rw"]

#: Cycles after which a flush is given up.
_FLUSH_CYCLES = 1_000_000_000


def _threads(config):
    """How many threads evaluate the cores, unless somebody says so."""
    if config.warps * config.threads < _LANES_A_THREAD:
        return 1
    try:
        processors = len(os.sched_getaffinity(0))
    except AttributeError:    # not on this platform
        processors = os.cpu_count() or 1
    return min(config.cores, processors)


def wave_format(path) -> str:
    """The format of a wave file by its name. Raises ConfigError if there is none such."""
    suffix = pathlib.Path(path).suffix.lower().removeprefix(".")
    if suffix not in build.WAVE_FORMATS:
        raise ConfigError(f"wave file {str(path)!r}: its name must end in "
                          + " or ".join(f".{name}" for name in build.WAVE_FORMATS))
    return suffix


class NativeMachine:
    """A GPU simulated cycle by cycle, with its memory.

    Parameters
    ----------
    config : HardwareConfig
        The hardware.
    dram : DramConfig or None
        The memory behind it; None for the default.
    wave : path or None
        Where to write waves, ``.fst`` or ``.vcd``; see :meth:`open_wave`.
    assertions : bool
        Whether the assertions of the RTL are checked.
    verilog : tuple of str or None
        The Verilog to simulate instead of what `config` generates; see :func:`sim.build.library`.
    report : callable or None
        Called with a line of text before the simulator is built.
    trace : sim.trace.Tracer or None
        What is recorded and who takes it; see :meth:`start_trace`.
    threads : int or None
        Threads that evaluate the cores; None for as many as there are cores and processors, if the
        cores are large enough for it to pay. No result depends on it.

    Attributes
    ----------
    memory : numpy.ndarray
        Global memory as bytes; byte 0 is address 0x8000_0000.
    threads : int
        Threads that evaluate the cores.
    loop_cycles, loop_seconds : int, float
        Cycles simulated by launches, flushes and operations of the SCU, and the wall-clock time
        they took.

    Raises
    ------
    sim.errors.BuildError
        If the simulator cannot be built.
    ConfigError
        If `config` has no trace port and there is something to trace.
    """

    def __init__(self, config: HardwareConfig, dram: DramConfig | None = None, *, wave=None,
                 assertions=True, verilog=None, report=None, trace=None, threads=None):
        self.config = config
        self.dram = dram or DramConfig()
        self.memory = np.zeros(config.memory_bytes, np.uint8)
        self.loop_cycles, self.loop_seconds = 0, 0.0
        self._verilog = build.gpu_verilog(config) if verilog is None else verilog
        self._assertions = assertions
        self._notify = report
        self.threads = _threads(config) if threads is None else min(threads, config.cores)
        self._program = []
        self._slice = 20_000
        self._library = self._handle = None
        self._waves = None
        self._tracer = None
        if trace is not None:
            self._check_trace()
            self._tracer = trace
        if wave is None:
            self._power_on()
        else:
            self.open_wave(wave)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    # The machine interface

    def power_on(self) -> None:
        """Begins with a new GPU, so that what follows does not depend on what ran before.

        Memory stays, counters are zero. Does nothing before the first launch; after it, ends the
        wave file.
        """
        if self._used:
            self._power_on()

    def load_program(self, words) -> None:
        """Writes the instruction memory from its start."""
        words = [int(word) for word in words]
        if 4 * len(words) > self.config.imem_bytes:
            raise ValueError(f"a program of {len(words)} words does not fit in the instruction "
                             f"memory ({self.config.imem_bytes // 4} words)")
        self._program = words
        self._ensure_idle()
        self._write_program()

    def launch(self, entry, argument, *, max_cycles=None, progress=None) -> None:
        """Starts every warp at `entry` and runs until the last has ended.

        Parameters
        ----------
        entry, argument : int
            The PC, and what ``mscratch`` reads.
        max_cycles : int or None
            Cycles after which the launch is stopped.
        progress : callable or None
            Called several times a second with the cycles since the launch. What it raises stops
            the launch, as does Ctrl-C.

        Raises
        ------
        SimulationError
            If the launch did not end by itself, or ended with an error of the device.
        """
        self._ensure_idle()
        self._write(Register.ENTRY, entry)
        self._write(Register.ARGUMENT, argument)
        self._used = True
        try:
            self._stale = True    # until it is seen to be idle
            self._write(Register.CONTROL, Control.LAUNCH)
            self._run_all(max_cycles, progress, launched=True)
            if self._library.gl_error(self._handle):
                raise SimulationError("device", self._device_error(), self.counters())
        except BaseException:
            self._library.gl_wave_flush(self._handle)
            raise

    def compact(self, registers, *, max_cycles=None, progress=None) -> ScuResult:
        """Has the SCU perform an operation and waits for its end.

        What kernels wrote before it sees, and those launched later see what it wrote.

        Parameters
        ----------
        registers : dict of ScuRegister to int
            What the host writes; the rest is 0.
        max_cycles, progress
            As of :meth:`launch`.

        Raises
        ------
        ConfigError
            If the hardware has no SCU.
        SimulationError
            If the operation did not end by itself, or ended with an error.
        """
        if not self.config.scu:
            raise ConfigError("HardwareConfig: scu = 0: there is no SCU to compact with; must be "
                              "1 or 4")
        self._ensure_idle()
        self._used = True
        try:
            self._stale = True    # until it is seen to be idle
            for register in _SCU_KEPT:
                value = registers.get(register, 0) & 0xFFFF_FFFF
                if self._scu_registers.get(register, 0) != value:
                    self._write(SCU_BASE + register, value)
                    self._scu_registers[register] = value
            self._write(SCU_BASE + ScuRegister.COMMAND, registers.get(ScuRegister.COMMAND, 0))
            self._run_all(max_cycles, progress)
            status, *found, error, address = self._read(SCU_BASE + ScuRegister.STATUS, 5)
            if not status & ScuStatus.DONE:
                raise SimulationError("device", error_text(error, address), self.counters())
            return ScuResult(*found)
        except BaseException:
            self._library.gl_wave_flush(self._handle)
            raise

    def flush(self, invalidate=False) -> None:
        """Brings everything the device wrote into :attr:`memory`.

        With `invalidate` its caches also forget every line. Does nothing after a launch that was
        stopped half-way.
        """
        if self._stale:
            return
        self._stale = True
        self._write(Register.CONTROL,
                    Control.FLUSH | (Control.INVALIDATE if invalidate else 0))
        if not self._run(_FLUSH_CYCLES, None):
            raise SimulationError("assertion", f"a flush did not end in {_FLUSH_CYCLES} cycles")

    def counters(self) -> dict:
        """The counters of the hardware, and ``dram_bytes_read`` and ``dram_bytes_written``.

        Those of the cores are added up, but for ``cycles``, which all cores count alike. A masked
        write counts as a whole line, for that is what it takes of the bus. After a failed
        assertion there are only the last two. After a launch that was stopped half-way the
        counters still run while they are read, for some 50 cycles.
        """
        values = {}
        if not self._dead:
            cores = self.core_counters()
            values = {name: sum(core[name] for core in cores) for name in CORE_COUNTERS}
            values["cycles"] = cores[0]["cycles"]
            values.update(zip(SHARED_COUNTERS, self._read_counts(SHARED_BASE,
                                                                 len(SHARED_COUNTERS))))
        report = self._report()
        values["dram_bytes_read"] = report.lines_read * self.config.line_bytes
        values["dram_bytes_written"] = report.lines_written * self.config.line_bytes
        return values

    def core_counters(self) -> list:
        """The counters of each core."""
        return [dict(zip(CORE_COUNTERS, self._read_counts(CORE_BASE + CORE_STRIDE * core,
                                                          len(CORE_COUNTERS))))
                for core in range(self.config.cores)]

    def phase_cycles(self) -> np.ndarray:
        """Cycles by core, warp and phase, and last all cycles of the warp, as uint64."""
        shape = self.config.warps, WARP_COUNTS
        blocks = (CORE_BASE + CORE_STRIDE * core + WARP_OFFSET
                  for core in range(self.config.cores))
        return np.array([self._read_counts(block, shape[0] * shape[1]) for block in blocks],
                        np.uint64).reshape(-1, *shape)

    def clear_counters(self) -> None:
        """Zeroes them."""
        self._ensure_idle()
        self._write(Register.CONTROL, Control.CLEAR)
        self._library.gl_clear_lines(self._handle)

    def close(self) -> None:
        """Ends the simulation and finishes the wave file. :attr:`memory` stays."""
        if self._handle:
            self._library.gl_destroy(self._handle)
            self._handle = None

    # Waves

    def open_wave(self, path) -> None:
        """Begins to write waves of everything, from now on, to a ``.fst`` or ``.vcd`` file.

        One cycle is 10 ns, the clock rises at its end. If the simulator was built without waves of
        that format, another is, and the GPU starts anew with memory and program as they are.

        Raises
        ------
        ConfigError
            If the name ends otherwise.
        OSError
            If the file cannot be written.
        """
        waves = wave_format(path)
        with open(path, "wb"):
            pass
        if self._handle and (self._waves != waves or self._stale):
            self.flush()
            self.close()
        self._waves = waves
        if not self._handle:
            self._power_on()
        self._check(self._library.gl_wave_open(self._handle, os.fsencode(path)))

    def close_wave(self) -> None:
        """Ends the wave file."""
        self._library.gl_wave_close(self._handle)

    # Traces

    def start_trace(self, tracer) -> None:
        """Begins to record what a :class:`sim.trace.Tracer` asks for, or with None ends it.

        The number of cycles does not depend on it. After a failed launch the tracer has been given
        what was recorded up to then. Raises ConfigError if the hardware has no trace port.
        """
        if tracer is not None:
            self._check_trace()
            tracer.start(self._library, self._handle, self.config)
        elif self._tracer is not None:
            self._tracer.stop()
        self._tracer = tracer

    def _check_trace(self):
        if not self.config.trace:
            raise ConfigError("HardwareConfig: trace = False: a trace needs hardware with a trace "
                              "port; must be True")

    @property
    def cycles(self) -> int:
        """Cycles since power on, those of the host port included."""
        return self._report().cycles

    # The GPU

    def _power_on(self):
        """A new GPU with the program, its library built and loaded if need be."""
        if not self._handle:
            line_bytes = self.config.line_bytes
            self._library = load(build.library(
                self._verilog, self.config, waves=self._waves, assertions=self._assertions,
                report=self._notify))
            self._handle = self._library.gl_create(
                self.memory.ctypes.data, self.memory.nbytes, int(MemoryMap.GLOBAL),
                self.dram.occupancy(line_bytes), self.dram.latency_cycles, self.dram.queue,
                self.threads)
        self._dead = self._stale = self._used = False
        self._scu_registers = {}    # as they were last written
        if self._tracer is not None:
            self._tracer.start(self._library, self._handle, self.config)
        self._check(self._library.gl_power_on(self._handle))
        self._run(_FLUSH_CYCLES, None)
        self._write_program()

    def _ensure_idle(self):
        if self._stale:
            self._power_on()

    def _write_program(self):
        words = self._program
        if words:
            self._check(self._library.gl_write(self._handle, IMEM_BASE,
                                               (ctypes.c_uint32 * len(words))(*words), len(words)))

    def _write(self, address, value):
        self._check(self._library.gl_write(self._handle, address, ctypes.c_uint32(value), 1))

    def _read(self, address, count=1):
        words = (ctypes.c_uint32 * count)()
        self._check(self._library.gl_read(self._handle, address, words, count))
        return list(words)

    def _read_counts(self, address, count):
        """Counters of 64 bits."""
        words = self._read(address, 2 * count)
        return [low | high << 32 for low, high in zip(words[::2], words[1::2])]

    def _report(self):
        report = Report()
        self._library.gl_report(self._handle, report)
        return report

    def _run_all(self, limit, progress, launched=False):
        """Runs until the GPU is idle. Raises SimulationError if it was not within `limit` cycles.
        """
        if not self._run(limit, progress, launched):
            raise SimulationError("limit", f"not finished after {limit} cycles: the cycle limit "
                                  "was reached", self.counters())

    def _run(self, limit, progress, launched=False):
        """Runs until the GPU is idle, or a core that was `launched` failed; False if it was not
        within `limit` cycles."""
        first = self._report().cycles
        last = None if limit is None else first + limit
        while True:
            begin, before = time.perf_counter(), self._report().cycles
            size = self._slice if last is None else min(self._slice, last - before)
            status = self._advance(size)
            seconds, now = time.perf_counter() - begin, self._report().cycles
            self.loop_cycles += now - before
            self.loop_seconds += seconds
            self._check(status)
            if status == Status.IDLE:
                self._stale = False
                return True
            if now == last:
                return False
            if launched and self._library.gl_error(self._handle):
                status = self._advance(_DRAIN_CYCLES)
                self._check(status)
                self._stale = status != Status.IDLE
                return True
            if progress is not None:
                progress(now - first)
            low, high = _SLICE_CYCLES
            self._slice = min(max(int(size * _SLICE_SECONDS / max(seconds, 1e-6)), low), high)

    def _advance(self, cycles):
        """Runs so many cycles at most, and hands on what was traced in them."""
        if self._tracer is None:
            return self._library.gl_run(self._handle, cycles)
        last = self._report().cycles + cycles
        while True:
            # It also ends early, when the trace has to be taken.
            status = self._library.gl_run(self._handle, last - self._report().cycles)
            self._tracer.take()
            if status != Status.RUNNING or self._report().cycles == last:
                return status

    def _check(self, status):
        """Raises what a status stands for."""
        if status == Status.MEMORY:
            self._stale = True
            report = self._report()
            base = int(MemoryMap.GLOBAL)
            raise SimulationError(
                "memory", f"the device asked to {'write' if report.fault_write else 'read'} the "
                f"line at 0x{report.fault_address:08x}, outside its memory (0x{base:08x} to "
                f"0x{base + self.memory.nbytes - 1:08x})", self.counters())
        if status == Status.BROKEN:
            self._stale = self._dead = True
            message = " ".join(self._library.gl_message(self._handle).decode().split())
            raise SimulationError("assertion", f"in cycle {self._report().cycles}: {message}",
                                  self.counters())

    def _device_error(self):
        """What the error registers say, as one line."""
        return device_error(*(self._read(register)[0] for register in (
            Register.ERROR_CAUSE, Register.ERROR_PC, Register.ERROR_ADDRESS,
            Register.ERROR_WARP)))
