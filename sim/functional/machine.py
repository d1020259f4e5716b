"""The functional machine: a GPU without cycles behind the interface that the host runtime drives.

An instruction is executed as a whole before the next one of any warp. Cores and warps take turns, a
burst of instructions each, by default one instruction. There are no caches: every access sees all
earlier ones. The only counters are instructions and active lanes, in all and of each core.
"""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from hw.config import ConfigError, HardwareConfig
from hw.isa import Cause
from hw.registers import NO_CHECKS, Checks
from hw.scu.registers import ScuRegister, ScuResult, error_text
from sim.errors import Fault, SimulationError
from sim.memory import ArrayMemory

from . import build
from .decode import decoded
from .library import CoreReport, RunStatus, Shape, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    from numpy.typing import NDArray

    #: Told the instructions so far.
    Progress = Callable[[int], object]


__all__ = ["FunctionalSimulator"]


#: Instructions that are executed before progress is told and signals are heard.
_SLICE = 1_000_000

_CAUSES = frozenset(Cause)


class FunctionalSimulator(ArrayMemory):
    """A GPU whose instructions are executed without cycles.

    Parameters
    ----------
    config : HardwareConfig
        The GPU's configuration. Fields that only change the time have no effect.
    seed : int, optional
        Cores and warps take turns at random, differently for each seed, and registers hold
        arbitrary numbers at each launch. Left out, they take turns in the order of their numbers,
        and registers are 0 at power on, as on the RTL.
    burst : int
        Instructions of a warp before the next warp's turn, without a seed. More are faster. With
        one, the order is that of the instruction-set simulator.
    report : callable, optional
        Called with a line of text before the simulator is compiled.

    Attributes
    ----------
    memory : numpy.ndarray
        Global memory as bytes; byte 0 is address 0x8000_0000.
    loop_lanes, loop_seconds : int, float
        Thread instructions (active lanes, summed over instructions) that launches have executed,
        and the processor time they took.

    Raises
    ------
    sim.errors.BuildError
        The simulator cannot be compiled.
    """

    def __init__(self, config: HardwareConfig, *, seed: int | None = None, burst: int = 1,
                 report: Callable[[str], object] | None = None) -> None:
        self.config = config
        self.memory = np.zeros(config.memory_bytes, np.uint8)
        self.loop_lanes, self.loop_seconds = 0, 0.0
        self._library: Any = load(build.library(report))
        # Seed 0 of the library stands for turns in order.
        self._handle = self._library.fn_create(
            Shape.of(config), self.memory.ctypes.data, 0 if seed is None else 2 * seed + 1 &
            0xFFFF_FFFF_FFFF_FFFF, burst)
        self._compacts_first = seed is not None and seed % 2 == 1
        self._stopped = False       # whether the last launch did not end well
        self.load_program(())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def close(self) -> None:
        """Ends the simulation. :attr:`memory` stays."""
        if self._handle:
            self._library.fn_destroy(self._handle)
            self._handle = None

    def power_on(self) -> None:
        """Begins with a new GPU: registers and local memory are 0. Memory and program stay."""
        self._library.fn_power_on(self._handle)
        self._stopped = False
        self.clear_counters()

    def load_program(self, words: Iterable[int]) -> None:
        """Writes the instruction memory from its start; the rest of it is no instruction."""
        words = [int(word) for word in words]
        if 4 * len(words) > self.config.imem_bytes:
            raise ValueError(f"a program of {len(words)} words does not fit in the instruction "
                             f"memory ({self.config.imem_bytes // 4} words)")
        records = decoded(self.config, words)
        self._library.fn_program(self._handle, records.ctypes.data)

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
            Instructions of all warps after which the launch is stopped: there are no cycles.
        progress : callable or None
            Called now and then with the instructions since the launch. An exception that it raises
            stops the launch, as does Ctrl-C.
        watch : callable or None
            Called now and then. If it returns True, the launch is stopped.

        Returns
        -------
        bool
            Whether the launch ended by itself; False if `watch` stopped it.

        Raises
        ------
        SimulationError
            If the launch did not end within the limit, or ended with an error of the device.
        """
        self.start(entry, argument, checks)
        first = self._count("instructions")
        while True:
            done = self._count("instructions") - first
            left = _SLICE if max_cycles is None else min(_SLICE, max_cycles - done)
            status = self.advance(left)
            if status == RunStatus.DONE:
                self._stopped = False
                return True
            self._check(status)
            done = self._count("instructions") - first
            if done == max_cycles:
                raise SimulationError("limit", f"not finished after {max_cycles} instructions: the "
                                      "instruction limit was reached", self.counters())
            if progress is not None:
                progress(done)
            if watch is not None and watch():
                return False

    def start(self, entry: int, argument: int, checks: Checks = NO_CHECKS) -> None:
        """Starts every warp at `entry`; nothing is executed yet."""
        if self._stopped:
            self._library.fn_power_on(self._handle)
        self._stopped = True
        self._library.fn_start(self._handle, entry & 0xFFFF_FFFF, argument & 0xFFFF_FFFF,
                               checks.word)

    def advance(self, count: int) -> int:
        """Executes at most `count` instructions. Returns a
        :class:`~sim.functional.library.RunStatus`."""
        before, began = self._count("lanes"), time.thread_time()
        status = self._library.fn_run(self._handle, count)
        self.loop_seconds += time.thread_time() - began
        self.loop_lanes += self._count("lanes") - before
        return status

    def _check(self, status):
        """Raises the error of a status."""
        if status == RunStatus.FAILED:
            fault = next(_fault(each.failure) for each in self._reports() if each.failure.cause)
            raise SimulationError("device", fault.describe(), self.counters(), fault)
        if status == RunStatus.STUCK:
            raise SimulationError("device", "warps wait for work, and no warp is left to register "
                                  "any: the launch cannot end", self.counters())

    def compact(self, registers: Mapping[ScuRegister, int], *, max_cycles: int | None = None,
                progress: Progress | None = None) -> ScuResult:
        """Has the SCU perform an operation, which takes no instructions.

        Parameters
        ----------
        registers : dict of ScuRegister to int
            Values of the registers that the host writes; the other registers are 0.
        max_cycles, progress
            Without effect.

        Raises
        ------
        ConfigError
            If the hardware has no SCU.
        SimulationError
            If the operation ended with an error.
        """
        if not self.config.scu:
            raise ConfigError("HardwareConfig: scu = 0: there is no SCU to compact with; must be "
                              "1 or 4")
        words = (ctypes.c_uint32 * (max(ScuRegister) // 4 + 1))()
        for register, value in registers.items():
            words[register // 4] = value & 0xFFFF_FFFF
        outcome = (ctypes.c_uint32 * 4)()
        self._library.fn_compact(self._handle, words, outcome)
        result, selected, error, address = outcome
        if error:
            raise SimulationError("device", error_text(error, address), self.counters())
        return ScuResult(result, selected)

    def launch_beside(self, entry: int, argument: int, registers: Mapping[ScuRegister, int], *,
                      max_cycles: int | None = None, progress: Progress | None = None) -> ScuResult:
        """A launch and an operation of the SCU, one after the other; an odd seed has the operation
        first. Parameters and errors are those of :meth:`launch` and :meth:`compact`."""
        found = self.compact(registers) if self._compacts_first else None
        self.launch(entry, argument, max_cycles=max_cycles, progress=progress)
        return self.compact(registers) if found is None else found

    def flush(self, invalidate: bool = False) -> None:
        """Does nothing: there are no caches."""

    def write_back(self) -> None:
        """Does nothing: there are no caches."""

    def counters(self) -> dict[str, int]:
        """Warp instructions, and their active lanes, of all cores since the last clear."""
        return {name: self._count(name) for name in ("instructions", "lanes")}

    def core_counters(self) -> list[dict[str, int]]:
        """Warp instructions, and their active lanes, of each core."""
        return [{"instructions": each.instructions, "lanes": each.lanes}
                for each in self._reports()]

    def phase_cycles(self) -> NDArray[np.uint64]:
        """An empty array: there are no cycles."""
        return np.zeros((0, 0, 0), np.uint64)

    def clear_counters(self) -> None:
        """Sets the counters to 0. INSTRET goes on counting from the launch."""
        self._library.fn_clear_counters(self._handle)

    # For tests

    def registers(self, core: int, warp: int) -> NDArray[np.uint32]:
        """The registers of a warp, (32, threads), as they are in the simulator. Row 0 stays 0."""
        place = ctypes.POINTER(ctypes.c_uint32)()
        lanes = self._library.fn_registers(self._handle, core, warp, place)
        return np.ctypeslib.as_array(place, (33, lanes))[:32, :self.config.threads]

    def local(self, core: int) -> NDArray[np.uint8]:
        """The local memory of a core, as it is in the simulator."""
        place = ctypes.POINTER(ctypes.c_uint8)()
        self._library.fn_local(self._handle, core, place)
        return np.ctypeslib.as_array(place, (self.config.local_bytes,))

    def position(self, core: int, warp: int) -> tuple[int, int]:
        """The PC and the thread mask of a warp; mask 0 if the warp has ended."""
        pc, mask = ctypes.c_uint32(), ctypes.c_uint32()
        self._library.fn_position(self._handle, core, warp, pc, mask)
        return pc.value, mask.value

    def _reports(self):
        for core in range(self.config.cores):
            report = CoreReport()
            self._library.fn_report(self._handle, core, report)
            yield report

    def _count(self, name):
        return sum(getattr(each, name) for each in self._reports())


def _fault(failure):
    """The error of a core, as the RTL's error registers tell it."""
    where = failure.core << 16 | failure.lane << 8 | failure.warp
    assert failure.cause in _CAUSES
    return Fault.read(failure.cause, failure.pc, failure.address, where)
