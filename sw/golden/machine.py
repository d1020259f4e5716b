"""The instruction-set simulator as a machine that :class:`sw.device.Device` can drive.

The machine runs kernels at the speed of the instruction-set simulator. Its only counters are
instructions and active lanes: others have no meaning without a pipeline.
"""

import numpy as np

from base.errors import RunError
from hw.config import ConfigError, HardwareConfig
from hw.registers import NO_CHECKS, Checks
from hw.scu.registers import ScuResult, error_text
from sim.memory import ArrayMemory
from sw.golden.cores import Cores
from sw.golden.scu import ScuModel


__all__ = ["FunctionalMachine"]


class FunctionalMachine(Cores, ArrayMemory):
    """A GPU whose cores are instruction-set simulators.

    Parameters
    ----------
    config : HardwareConfig
        The GPU's configuration.
    seed : int, optional
        Interleave cores and warps at random, differently for each seed.
    """

    #: Instructions after which a launch is given up, if the caller sets no limit.
    DEFAULT_LIMIT = 1 << 30

    def __init__(self, config: HardwareConfig, *, seed=None):
        super().__init__(config, seed=seed)
        self._compacts_first = seed is not None and seed % 2

    def power_on(self) -> None:
        """Nothing to do: earlier programs leave no trace."""

    def launch(self, entry: int, argument: int, *, checks: Checks = NO_CHECKS, max_cycles=None,
               progress=None) -> None:
        """Run a program from ``entry`` to its end; ``max_cycles`` counts instructions here.

        Raises
        ------
        RunError
            The core stopped with an error, or the limit was reached.
        """
        self.start(entry, argument, checks)
        limit = self.DEFAULT_LIMIT if max_cycles is None else max_cycles
        self.run(limit=limit, progress=progress)

    def compact(self, registers, *, max_cycles=None, progress=None) -> ScuResult:
        """Perform an operation of the SCU, which takes no instructions.

        Parameters
        ----------
        registers : dict of ScuRegister to int
            Values that the host writes. Missing registers are 0.

        Raises
        ------
        ConfigError
            The hardware has no SCU.
        RunError
            The operation ended with an error.
        """
        if not self.config.scu:
            raise ConfigError("HardwareConfig: scu = 0: there is no SCU to compact with; must be "
                              "1 or 4")
        outcome = ScuModel(self.memory, self.config.line_bytes).run(registers)
        if outcome.error:
            raise RunError(error_text(outcome.error, outcome.error_address), self.counters())
        return ScuResult(outcome.result, outcome.selected)

    def launch_beside(self, entry: int, argument: int, registers, *, max_cycles=None,
                      progress=None) -> ScuResult:
        """A launch and an operation of the SCU, one after the other; an odd seed has the operation
        first. Parameters and errors are those of :meth:`launch` and :meth:`compact`."""
        found = self.compact(registers) if self._compacts_first else None
        self.launch(entry, argument, max_cycles=max_cycles, progress=progress)
        return self.compact(registers) if found is None else found

    def flush(self, invalidate: bool = False) -> None:
        """Nothing to do: there are no caches."""

    def core_counters(self) -> list:
        """Warp instructions and active lanes of each core."""
        return [simulator.counters() for simulator in self.simulators]

    def phase_cycles(self) -> np.ndarray:
        """An empty array: there are no cycles."""
        return np.zeros((0, 0, 0), np.uint64)

    def close(self) -> None:
        """Nothing to do: the memory goes with the last reference to it."""
