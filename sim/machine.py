"""The common part of machines that drive a GPU through its host registers (:mod:`hw.registers`).

A launch that was stopped half-way leaves a GPU that is still busy. Its counters can be read as long
as nothing else is asked of it. The next launch or program begins with a new GPU, as after power on,
and keeps memory. Data that the stopped GPU's caches had not written back is lost.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from typing import TYPE_CHECKING

import numpy as np

from hw.config import ConfigError, HardwareConfig
from hw.registers import (CORE_BASE, CORE_COUNTERS, CORE_STRIDE, GPU_BASE,
                          GPU_COUNTERS, IMEM_BASE, WARP_COUNTS, WARP_OFFSET,
                          NO_CHECKS, Checks, Control, Register)
from hw.scu.registers import (SCU_BASE, SCU_REGISTER_DOCS, ScuRegister, ScuResult, ScuStatus,
                              error_text)

from .errors import Fault, SimulationError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from typing import Self

    from numpy.typing import NDArray

    #: Told the cycles so far.
    Progress = Callable[[int], object]


__all__ = ["WATCH_CYCLES", "RegisterMachine"]


#: The SCU's registers that keep a written value.
_SCU_KEPT = [register for register, (access, _) in SCU_REGISTER_DOCS.items() if access == "rw"]

#: Cycles between two looks at the memory of a busy GPU.
WATCH_CYCLES = 100_000

#: Cycles after which a flush, or the work of a GPU after power on, is given up.
_IDLE_CYCLES = 1_000_000_000


def _offset(progress: Progress, before: int, cycles: int) -> None:
    """Tell of cycles that come after others."""
    progress(before + cycles)


class RegisterMachine:
    """The machine interface on a GPU whose registers can be read and written.

    A subclass implements access to the GPU: ``_write``, ``_command``, ``_read``, ``_run``,
    ``_failed`` and ``_power_on``, and access to its memory (see :class:`sim.memory.ArrayMemory`).

    Parameters
    ----------
    config : HardwareConfig
        The hardware.
    """

    def __init__(self, config: HardwareConfig) -> None:
        self.config = config
        self._program: list[int] = []
        #: Words of instruction memory that may be other than 0; at first, nothing is known of it.
        self._written = config.imem_bytes // 4
        self._new()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the machine."""
        raise NotImplementedError

    # The machine interface

    def power_on(self) -> None:
        """Begins with a new GPU, so that later launches do not depend on earlier ones.

        Memory stays, counters are zero. Does nothing before the first launch.
        """
        if self._used:
            self._power_on()

    def load_program(self, words: Iterable[int]) -> None:
        """Writes the instruction memory from its start; the rest of it is no instruction."""
        words = [int(word) for word in words]
        if 4 * len(words) > self.config.imem_bytes:
            raise ValueError(f"a program of {len(words)} words does not fit in the instruction "
                             f"memory ({self.config.imem_bytes // 4} words)")
        self._program = words
        self._ensure_idle()
        self._write_program()

    def launch(self, entry: int, argument: int, *, checks: Checks = NO_CHECKS,
               max_cycles: int | None = None, progress: Progress | None = None,
               watch: Callable[[], bool] | None = None) -> bool:
        """Starts every warp at `entry` and runs until the last has ended.

        Parameters
        ----------
        entry, argument : int
            The PC, and the value of ``mscratch``.
        checks : hw.registers.Checks
            Checks of the launch, beside the errors that always stop it.
        max_cycles : int or None
            Cycles after which the launch is stopped.
        progress : callable or None
            Called several times a second with the cycles since the launch. An exception that it
            raises stops the launch, as does Ctrl-C.
        watch : callable or None
            Called every :data:`WATCH_CYCLES` cycles. Before the call, memory gets what the GPU has
            written, if it was quiet for a moment. If it returns True, the launch is stopped.

        Returns
        -------
        bool
            Whether the launch ended by itself; False if `watch` stopped it.

        Raises
        ------
        SimulationError
            If the launch did not end within the limit, or ended with an error of the device.
        """
        self._ensure_idle()
        self._set_checks(checks)
        self._write(Register.ENTRY, entry, argument)
        with self._under_way():
            self._command(Register.CONTROL, Control.LAUNCH)
            if not self._run_all(max_cycles, progress, launched=True, watch=watch):
                self._stopped()
                return False
            self._check_launch()
        return True

    def compact(self, registers: Mapping[ScuRegister, int], *, max_cycles: int | None = None,
                progress: Progress | None = None) -> ScuResult:
        """Has the SCU perform an operation and waits for its end.

        The SCU sees the writes of earlier kernels, and later kernels see the writes of the SCU.

        Parameters
        ----------
        registers : dict of ScuRegister to int
            Values of the registers that the host writes; the other registers are 0.
        max_cycles, progress
            See :meth:`launch`.

        Raises
        ------
        ConfigError
            If the hardware has no SCU.
        SimulationError
            If the operation did not end by itself, or ended with an error.
        """
        self._ensure_idle()
        self._set_scu(registers)
        with self._under_way():
            self._command(SCU_BASE + ScuRegister.COMMAND, registers.get(ScuRegister.COMMAND, 0))
            self._run_all(max_cycles, progress)
            return self._compacted()

    def launch_beside(self, entry: int, argument: int, registers: Mapping[ScuRegister, int], *,
                      max_cycles: int | None = None, progress: Progress | None = None) -> ScuResult:
        """A launch, and an operation of the SCU at the same time. Waits for the end of both.

        If one of them writes a word, the other may read the old or the new value. Parameters and
        errors are those of :meth:`launch` and :meth:`compact`.
        """
        self._ensure_idle()
        self._set_scu(registers)
        self._set_checks(NO_CHECKS)
        self._write(Register.ENTRY, entry, argument)
        with self._under_way():
            self._command(Register.CONTROL, Control.LAUNCH)
            self._command(SCU_BASE + ScuRegister.COMMAND, registers.get(ScuRegister.COMMAND, 0))
            self._run_all(max_cycles, progress, launched=True)
            self._check_launch()
            return self._compacted()

    def flush(self, invalidate: bool = False) -> None:
        """Brings everything the device wrote into its memory.

        With `invalidate` the device's caches also forget every line. Does nothing after a launch
        that was stopped half-way.
        """
        if self._stale:
            return
        self._stale = True
        self._command(Register.CONTROL,
                      Control.FLUSH | (Control.INVALIDATE if invalidate else 0))
        self._await_idle("a flush")

    def write_back(self) -> None:
        """Brings the writes of a launch that was stopped half-way into memory.

        The GPU goes on for :data:`WATCH_CYCLES` cycles. Nothing is written if the GPU is not quiet
        for a moment in these cycles.
        """
        self._command(Register.CONTROL, Control.FLUSH)
        self._run(WATCH_CYCLES, None)

    def counters(self) -> dict[str, int]:
        """The counters of the hardware. Those of the cores are added up, but for ``cycles``, which
        all cores count alike. After a launch that was stopped half-way they still run while they
        are read."""
        cores = self.core_counters()
        values = {name: sum(core[name] for core in cores) for name in CORE_COUNTERS}
        values["cycles"] = cores[0]["cycles"]
        values.update(zip(GPU_COUNTERS, self._read_counts(GPU_BASE, len(GPU_COUNTERS))))
        return values

    def core_counters(self) -> list[dict[str, int]]:
        """The counters of each core."""
        return [dict(zip(CORE_COUNTERS, self._read_counts(CORE_BASE + CORE_STRIDE * core,
                                                          len(CORE_COUNTERS))))
                for core in range(self.config.cores)]

    def phase_cycles(self) -> NDArray[np.uint64]:
        """Cycles by core, warp and phase, and last all cycles of the warp, as uint64."""
        shape = self.config.warps, WARP_COUNTS
        blocks = (CORE_BASE + CORE_STRIDE * core + WARP_OFFSET
                  for core in range(self.config.cores))
        return np.array([self._read_counts(block, shape[0] * shape[1]) for block in blocks],
                        np.uint64).reshape(-1, *shape)

    def clear_counters(self) -> None:
        """Sets the counters to 0."""
        self._ensure_idle()
        self._command(Register.CONTROL, Control.CLEAR)

    # The GPU

    def _write(self, address: int, *words: int) -> None:
        """Writes registers that follow one another."""
        raise NotImplementedError

    def _command(self, address: int, value: int) -> None:
        """Writes a register in which that is an order."""
        self._write(address, value)

    def _read(self, address: int, count: int = 1) -> list[int]:
        """The words of registers that follow one another."""
        raise NotImplementedError

    def _run(self, limit: int | None, progress: Progress | None, launched: bool = False) -> bool:
        """Waits until the GPU is idle, or a core that was `launched` failed; False if it was not
        within `limit` cycles. Then :attr:`_stale` is whether it is still busy."""
        raise NotImplementedError

    def _failed(self) -> bool:
        """Whether the last launch ended with an error."""
        raise NotImplementedError

    def _power_on(self) -> None:
        """Makes a new GPU with the program."""
        raise NotImplementedError

    def _stopped(self) -> None:
        """Called when a launch or an operation of the SCU has not ended well."""

    def _new(self) -> None:
        """The GPU is as after power on: nothing of it is stale, or has been used or set."""
        self._stale = self._used = False
        self._scu_registers: Mapping[ScuRegister, int] = {}     # as they were last written
        self._checks = NO_CHECKS

    def _ensure_idle(self) -> None:
        if self._stale:
            self._power_on()

    def _write_program(self) -> None:
        """Writes the program, and zeros over what an earlier one has left behind its end."""
        if self._program:
            rest = [0] * (self._written - len(self._program))
            self._write(IMEM_BASE, *self._program, *rest)
            self._written = len(self._program)

    @contextlib.contextmanager
    def _under_way(self) -> Generator[None]:
        """The GPU works, until it is seen to be idle; if that does not end well, it is stopped."""
        self._stale = self._used = True
        try:
            yield
        except BaseException:
            self._stopped()
            raise

    def _check_launch(self) -> None:
        """Raises SimulationError if the launch that has ended did so with an error."""
        if self._failed():
            fault = self._fault()
            raise SimulationError("device", fault.describe(), self.counters(), fault)

    def _compacted(self) -> ScuResult:
        """The result of the operation that has ended, or SimulationError."""
        status, *found, error, address = self._read(SCU_BASE + ScuRegister.STATUS, 5)
        if not status & ScuStatus.DONE:
            raise SimulationError("device", error_text(error, address), self.counters())
        return ScuResult(*found)

    def _set_scu(self, registers: Mapping[ScuRegister, int]) -> None:
        """Writes the SCU's registers but COMMAND, as far as they have other values; those that
        follow one another together. Raises ConfigError if there is no SCU."""
        if not self.config.scu:
            raise ConfigError("HardwareConfig: scu = 0: there is no SCU to compact with; must be "
                              "1 or 4")
        values = {register: registers.get(register, 0) & 0xFFFF_FFFF for register in _SCU_KEPT}
        changed = [register for register in sorted(values)
                   if self._scu_registers.get(register, 0) != values[register]]
        while changed:
            together = list(itertools.takewhile(
                lambda register: register == changed[0] + 4 * changed.index(register), changed))
            self._write(SCU_BASE + together[0], *(values[register] for register in together))
            del changed[:len(together)]
        self._scu_registers = values

    def _set_checks(self, checks: Checks) -> None:
        """Writes what launches check, if it was something else."""
        if checks != self._checks:
            self._write(Register.CHECKS, checks.word)
            self._checks = checks

    def _read_counts(self, address: int, count: int) -> list[int]:
        """Counters of 64 bits."""
        words = self._read(address, 2 * count)
        return [low | high << 32 for low, high in zip(words[::2], words[1::2])]

    def _run_all(self, limit: int | None, progress: Progress | None, launched: bool = False,
                 watch: Callable[[], bool] | None = None) -> bool:
        """Runs until the GPU is idle, or until `watch` says to stop: False. Raises SimulationError
        if neither was within `limit` cycles."""
        done = 0
        while True:
            left = None if limit is None else limit - done
            piece = left if watch is None else min(WATCH_CYCLES, left or WATCH_CYCLES)
            if self._run(piece, progress and functools.partial(_offset, progress, done), launched):
                return True
            # Only a run with a limit ends before the GPU does.
            assert piece is not None
            done += piece
            if done == limit:
                raise SimulationError("limit", f"not finished after {limit} cycles: the cycle "
                                      "limit was reached", self.counters())
            if watch is not None and watch():
                self.write_back()
                return False
            self._command(Register.CONTROL, Control.FLUSH)

    def _await_idle(self, what: str) -> None:
        """Runs until the GPU is idle; that it is not in the end is a bug of the hardware."""
        if not self._run(_IDLE_CYCLES, None):
            raise SimulationError("assertion", f"{what} did not end in {_IDLE_CYCLES} cycles")

    def _fault(self) -> Fault:
        """The contents of the error registers, as a fault."""
        return Fault.read(*(self._read(register)[0] for register in (
            Register.ERROR_CAUSE, Register.ERROR_PC, Register.ERROR_ADDRESS,
            Register.ERROR_WARP)))
