"""All cores of a GPU as the instructions see them: simulators that share global memory."""

import random

import numpy as np

from hw.config import HardwareConfig
from hw.registers import NO_CHECKS, Checks
from sw.golden.simulator import InstructionLimit, Simulator


__all__ = ["Cores"]


class Cores:
    """The instruction-set simulators of all cores, with the interface of a single simulator.

    The cores take turns, in the order of their numbers or, with a seed, at random.

    Parameters
    ----------
    config : HardwareConfig
        Sizes.
    seed : int, optional
        Interleave cores and warps at random.

    Attributes
    ----------
    memory : numpy array of uint8
        Global memory.
    simulators : list of Simulator
    """

    def __init__(self, config: HardwareConfig, *, seed=None):
        self.config = config
        self.memory = np.zeros(config.memory_bytes, np.uint8)
        self.simulators = [
            Simulator(config, core=core, memory=self.memory,
                      seed=None if seed is None else seed + core)
            for core in range(config.cores)]
        self._order = None if seed is None else random.Random(seed)

    def load_program(self, words) -> None:
        """Put instruction words at address 0 of every core's instruction memory."""
        for simulator in self.simulators:
            simulator.load_program(words)

    def start(self, entry: int, argument: int = 0, checks: Checks = NO_CHECKS) -> None:
        """Start every warp at ``entry`` with all lanes; nothing is executed yet."""
        for simulator in self.simulators:
            simulator.start(entry, argument, checks)

    def run(self, *, limit=None, progress=None) -> None:
        """Execute the started launch to its end.

        Parameters
        ----------
        limit : int, optional
            Instructions of all cores after which to give up. Less than a turn of every warp is
            executed beyond the limit.
        progress : callable, optional
            Called from time to time with the number of instructions executed in this launch.

        Raises
        ------
        CoreError
            An instruction failed; the first one to fail stops all cores.
        InstructionLimit
            The limit was reached.
        """
        first = report = self._instructions()
        while running := [simulator for simulator in self.simulators if simulator.running]:
            done = self._instructions()
            if limit is not None and done - first >= limit:
                raise InstructionLimit(f"not finished after {limit} instructions",
                                       self.counters())
            if progress is not None and done >= report:
                progress(done - first)
                report = done + (1 << 16)
            if self._order is not None:
                running = [self._order.choice(running)]
            for simulator in running:
                simulator.take_turn()

    def counters(self) -> dict[str, int]:
        """Instructions and active lanes of all cores."""
        each = [simulator.counters() for simulator in self.simulators]
        return {name: sum(counters[name] for counters in each) for name in each[0]}

    def clear_counters(self) -> None:
        """Zero the counters."""
        for simulator in self.simulators:
            simulator.clear_counters()

    def _instructions(self):
        return sum(simulator.instructions for simulator in self.simulators)
