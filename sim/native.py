"""The native machine: the Verilated GPU behind the interface that the host runtime drives.

Global memory is one numpy array, on which the DRAM model works directly. Nothing is copied between
Python and the simulation. A launch runs in slices of a fraction of a second, so that progress can
be shown and Ctrl-C works. The number of cycles does not depend on where the slices end.

A launch that was stopped half-way (limit, interrupt, request outside the memory, failed assertion)
is followed by a new GPU (:mod:`sim.machine`). A wave file ends with the GPU that it shows.
"""

import ctypes
import os
import pathlib
import time
from typing import Any

import numpy as np

from hw.config import ConfigError, HardwareConfig
from hw.isa import MemoryMap

from . import build, compiled
from .dram_device import DramDevice
from .errors import SimulationError
from .interface import (NO_REGION, ChannelCounts, DramTiming, PortReport, Report, SimulatorStatus,
                        load)
from .machine import RegisterMachine
from .memories import SimulatedDram, dram_of
from .memory import ArrayMemory


__all__ = ["NativeMachine", "wave_format"]


#: Wall-clock seconds that a slice should take, and the cycles that it may have.
_SLICE_SECONDS = 0.2
_SLICE_CYCLES = (1_000, 2_000_000)

#: Cycles for a GPU that stopped with an error to finish its accesses under way.
_DRAIN_CYCLES = 100_000

#: Lanes of all warps of a core from which on several threads evaluate the cores. The threads of
#: smaller cores would wait for each other longer than they save.
_LANES_A_THREAD = 128


def _threads(config):
    """The default number of threads that evaluate the cores."""
    if config.warps * config.threads < _LANES_A_THREAD:
        return 1
    try:
        processors = len(os.sched_getaffinity(0))
    except AttributeError:    # not on this platform
        processors = os.cpu_count() or 1
    return min(config.cores, processors)


def _models(dram, config):
    """The structures of a DRAM: how fast the two regions of the simple model are, and the device;
    None for what there is not."""
    if isinstance(dram, DramDevice):
        return NO_REGION, None, dram.parameters(config)
    fast = DramTiming(dram.bytes_per_cycle, dram.ratio, dram.latency_cycles, dram.queue)
    if not dram.has_slow:
        return fast, None, None
    return fast, DramTiming(dram.slow_bytes_per_cycle, dram.ratio, dram.slow_latency_cycles,
                            dram.slow_queue), None


def wave_format(path) -> str:
    """The format of a wave file by its name. Raises ConfigError if there is no such format."""
    suffix = pathlib.Path(path).suffix.lower().removeprefix(".")
    if suffix not in build.WAVE_FORMATS:
        raise ConfigError(f"wave file {str(path)!r}: its name must end in "
                          + " or ".join(f".{name}" for name in build.WAVE_FORMATS))
    return suffix


def _has_places(file):
    """Whether a file can be written at any position."""
    try:
        os.lseek(file.fileno(), 0, os.SEEK_CUR)
    except OSError:
        return False
    return True


class NativeMachine(ArrayMemory, RegisterMachine):
    """A GPU simulated cycle by cycle, with its memory.

    Parameters
    ----------
    config : HardwareConfig
        The hardware.
    dram : DramConfig, DramDevice or None
        The memory behind it; None for that of the configuration's preset.
    wave : base.output.Output or None
        The file for waves; see :meth:`open_wave`.
    assertions : bool
        Whether the assertions of the RTL are checked.
    verilog : tuple of str or None
        The Verilog to simulate instead of what `config` generates; see :func:`sim.build.library`.
    report : callable or None
        Called with a line of text before the simulator is built.
    trace : sim.trace.Tracer or None
        Receiver of the trace, which says what is recorded; see :meth:`start_trace`.
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
        If `trace` is given and `config` has no trace port.
    """

    def __init__(self, config: HardwareConfig, dram: SimulatedDram | None = None, *, wave=None,
                 assertions=True, verilog=None, report=None, trace=None, threads=None):
        super().__init__(config)
        self.dram = dram or dram_of({}, config)
        self.memory = np.zeros(config.memory_bytes, np.uint8)
        self.loop_cycles, self.loop_seconds = 0, 0.0
        self._verilog = verilog
        self._assertions = assertions
        self._notify = report
        self.threads = _threads(config) if threads is None else min(threads, config.cores)
        self._slice = 20_000
        self._slow_address: int | None = None
        self._library: Any = None       # the functions of the C interface, once it is loaded
        self._handle = None
        self._waves = self._wave = None
        self._tracer = trace
        if wave is None:
            self._power_on()
        else:
            self.open_wave(wave)

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    # The machine interface, where it differs here

    def counters(self) -> dict:
        """The counters of the hardware, and ``dram_bytes_read`` and ``dram_bytes_written``.

        With a slow region also ``slow_bytes_read`` and ``slow_bytes_written``, the parts of slow
        lines. Sectors count that have a byte of a request's mask, and whole lines if lines are not
        divided: this is what takes time on the bus. With several memory ports also, for each port,
        ``port_0_lines_read`` and so on: requests to read and to write lines; ``busy``, the cycles
        that their transfers take on the port's bus; and ``waits``, the cycles in which the port's
        memory refused a request. With a :class:`~sim.dram_device.DramDevice` also the sums over its
        channels of what :meth:`channel_counters` has, such as ``dram_activates``, and with several
        channels those of each, such as ``channel_0_activates``.
        After a failed assertion there are only these byte counters. After a launch that was
        stopped half-way the counters still run while they are read, for some 50 cycles.
        """
        values = {} if self._dead else super().counters()
        report = self._report()
        values["dram_bytes_read"] = report.bytes_read
        values["dram_bytes_written"] = report.bytes_written
        if self.dram.has_slow:
            values["slow_bytes_read"] = report.slow_bytes_read
            values["slow_bytes_written"] = report.slow_bytes_written
        channels = self.channel_counters()
        for number, channel in enumerate(channels):
            for name, value in channel.items():
                values[f"dram_{name}"] = values.get(f"dram_{name}", 0) + value
                if len(channels) > 1:
                    values[f"channel_{number}_{name}"] = value
        if self.config.memory_ports > 1:
            for port in range(self.config.memory_ports):
                counts = PortReport()
                self._library.gl_port_report(self._handle, port, counts)
                for name, *_ in PortReport._fields_:
                    values[f"port_{port}_{name}"] = getattr(counts, name)
        return values

    def channel_counters(self) -> list[dict[str, int]]:
        """What each channel of a :class:`~sim.dram_device.DramDevice` has done, those of the first
        memory port first: column commands (``column_reads``, ``column_writes``), ``row_hits`` of
        them, ``activates``, ``precharges``, ``refreshes``, and ``turn_rounds`` between reads and
        writes. Empty for the simple model."""
        if not isinstance(self.dram, DramDevice):
            return []
        counts = (ChannelCounts * (self.config.memory_ports * self.dram.channels))()
        self._library.gl_channels(self._handle, counts)
        return [{name: getattr(channel, name) for name, *_ in ChannelCounts._fields_}
                for channel in counts]

    def clear_counters(self) -> None:
        """Sets the counters to 0."""
        super().clear_counters()
        self._library.gl_clear_lines(self._handle)

    def place_slow(self, address: int | None) -> None:
        """All lines from `address` on are slow from now on; with None, no line is slow.

        Raises
        ------
        ConfigError
            If the DRAM has no slow region.
        ValueError
            If no line begins at `address`.
        """
        if not self.dram.has_slow:
            raise ConfigError("DramConfig: slow_bytes_per_cycle = 0: there is no slow region to "
                              "place; must be from 1 to 1024")
        if address is not None and address % self.config.line_bytes:
            raise ValueError(f"the slow region cannot begin at 0x{address:08x}: a line has "
                             f"{self.config.line_bytes} bytes")
        self._slow_address = address
        self._apply_slow()

    def _apply_slow(self):
        """Tell the library where the slow region begins."""
        behind = int(MemoryMap.GLOBAL) + self.memory.nbytes
        self._library.gl_place_slow(
            self._handle, behind if self._slow_address is None else self._slow_address)

    def close(self) -> None:
        """Ends the simulation and finishes the wave file. :attr:`memory` stays."""
        if self._handle:
            try:
                self.close_wave()
            finally:
                self._library.gl_destroy(self._handle)
                self._handle = None

    # Waves

    def open_wave(self, file) -> None:
        """Begins to write waves of everything, from now on.

        One cycle is 10 ns, and the clock rises at its end. If the simulator was built without waves
        of that format, a simulator with them is built. The GPU then starts anew and keeps memory
        and program.

        Parameters
        ----------
        file : base.output.Output
            Its name ends in ``.fst`` or ``.vcd``. The machine commits it when the wave ends, and
            discards it if the wave cannot begin or cannot be written.

        Raises
        ------
        ConfigError
            If the name ends otherwise, or if an FST file would go to a pipe. The header of an FST
            file is written last.
        """
        try:
            waves = wave_format(file.name)
            if waves == "fst" and not _has_places(file):
                raise ConfigError(f"wave file {file.name!r}: an FST file cannot be written to a "
                                  "pipe; name a file, or a pipe whose name ends in .vcd")
            if self._handle:
                self.close_wave()
                if self._waves != waves or self._stale:
                    self.flush()
                    self.close()
            self._waves = waves
            if not self._handle:
                self._power_on()
            self._check(self._library.gl_wave_open(self._handle, file.fileno()))
        except BaseException:
            file.discard()
            raise
        self._wave = file

    def close_wave(self) -> None:
        """Ends the wave file, if there is one.

        Raises
        ------
        SimulationError
            With the kind ``"wave"`` if the file could not be written. No part of the file is left.
        """
        file, self._wave = self._wave, None
        if file is None:
            return
        error = self._library.gl_wave_close(self._handle)
        if error:
            file.discard()
            raise SimulationError("wave", f"{file.name}: cannot be written: {os.strerror(error)}")
        file.commit()

    # Traces

    def start_trace(self, tracer) -> None:
        """Begins to record what a :class:`sim.trace.Tracer` asks for, or with None ends it.

        The number of cycles does not depend on tracing. After a failed launch the tracer has got
        all records up to the failure. Raises ConfigError if the hardware has no trace port.
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
        """Cycles since power on, including cycles for the host port."""
        return self._report().cycles

    # The GPU

    def _power_on(self):
        """A new GPU with the program, its library built and loaded if need be. Ends the wave."""
        if self._tracer is not None:
            self._check_trace()
        self.close_wave()
        if not self._handle:
            self._library = load(self._path())
            self._handle = self._library.gl_create(
                self.memory.ctypes.data, self.memory.nbytes, int(MemoryMap.GLOBAL),
                *_models(self.dram, self.config), self.threads)
            self._apply_slow()
        self._new()
        if self._tracer is not None:
            self._tracer.start(self._library, self._handle, self.config)
        self._check(self._library.gl_power_on(self._handle))
        self._written = 0           # its memories begin as zeros
        self._await_idle("power on")
        self._write_program()

    def _path(self):
        """The library, built if need be. Only Verilator writes waves and reads Verilog."""
        if self._waves is None and self._verilog is None and not compiled.verilator_is_wanted():
            return compiled.library(self.config, assertions=self._assertions, report=self._notify)
        return build.library(self._verilog or build.gpu_verilog(self.config), self.config,
                             waves=self._waves, assertions=self._assertions, report=self._notify)

    def _new(self):
        super()._new()
        self._dead = False

    def _write(self, address, *words):
        words = (ctypes.c_uint32 * len(words))(*words)
        self._check(self._library.gl_write(self._handle, address, words, len(words)))

    def _read(self, address, count=1):
        words = (ctypes.c_uint32 * count)()
        self._check(self._library.gl_read(self._handle, address, words, count))
        return list(words)

    def _report(self):
        report = Report()
        self._library.gl_report(self._handle, report)
        return report

    def _failed(self):
        return self._library.gl_error(self._handle)

    def _stopped(self):
        self._library.gl_wave_flush(self._handle)

    def _run(self, limit, progress, launched=False):
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
            if status == SimulatorStatus.IDLE:
                self._stale = False
                return True
            if now == last:
                return False
            if launched and self._library.gl_error(self._handle):
                status = self._advance(_DRAIN_CYCLES)
                self._check(status)
                self._stale = status != SimulatorStatus.IDLE
                return True
            if progress is not None:
                progress(now - first)
            low, high = _SLICE_CYCLES
            self._slice = min(max(int(size * _SLICE_SECONDS / max(seconds, 1e-6)), low), high)

    def _advance(self, cycles):
        """Runs at most `cycles` cycles, and passes their trace on."""
        if self._tracer is None:
            return self._library.gl_run(self._handle, cycles)
        last = self._report().cycles + cycles
        while True:
            # It also ends early, when the trace has to be taken.
            status = self._library.gl_run(self._handle, last - self._report().cycles)
            self._tracer.take()
            if status != SimulatorStatus.RUNNING or self._report().cycles == last:
                return status

    def _check(self, status):
        """Raises the error of a status."""
        if status == SimulatorStatus.WAVE:
            self._stale = True
            self.close_wave()
        if status == SimulatorStatus.MEMORY:
            self._stale = True
            report = self._report()
            base = int(MemoryMap.GLOBAL)
            raise SimulationError(
                "memory", f"the device asked to {'write' if report.fault_write else 'read'} the "
                f"line at 0x{report.fault_address:08x}, outside its memory (0x{base:08x} to "
                f"0x{base + self.memory.nbytes - 1:08x})", self.counters())
        if status == SimulatorStatus.BROKEN:
            self._stale = self._dead = True
            message = " ".join(self._library.gl_message(self._handle).decode().split())
            raise SimulationError("assertion", f"in cycle {self._report().cycles}: {message}",
                                  self.counters())
