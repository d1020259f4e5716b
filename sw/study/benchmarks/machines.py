"""Wall times of programs of the language on the GraphVMs ``cpu`` and ``cuda``.

The runs of several ways take turns in one process, so the times can be compared with each other.
"""

import math
import time
from typing import Any

from base.errors import UserError
from sw.lang.passes import CHOSEN, analysed
from sw.vm import cuda
from sw.vm.cpu import CpuMachine
from sw.vm.host import perform


__all__ = ["TimedCpu", "Times", "cpu_machine", "cuda_machine", "in_turn"]


#: Seconds between two runs. Threads that wait for work look for it for a tenth of a millisecond.
_QUIET = 1e-3


class TimedCpu(CpuMachine):
    """A machine that measures its runs: ``seconds`` is the wall time of the last run, from the end
    of the vectors' first words, which NumPy computes, to the first result that is read."""

    seconds = math.nan
    _began: float | None = None

    def start(self, bits, arrays):
        super().start(bits, arrays)
        self._began = time.perf_counter()

    def read(self, vector):
        if self._began is not None:
            self.seconds, self._began = time.perf_counter() - self._began, None
        return super().read(vector)


class Times:
    """A program on a machine, ready to run again and again.

    The constructor runs the program (GraphProgram) on its machine (TimedCpu or CudaMachine) with
    these parameters once. This gives ``result``, a ProgramResult with the fraction bits, and is not
    measured. Of further runs, ``seconds`` has the times as the machine measures them, and ``whole``
    the wall times, with the words that the host computes before. Raises UserError as
    :func:`~sw.vm.host.perform`."""

    def __init__(self, program, graph, machine, given):
        self._program, self._graph, self._given = program, graph, given
        self._machine: Any = machine
        self.result = perform(program, graph, machine, given)
        self.seconds: list[float] = []
        self.whole: list[float] = []

    @property
    def preparation(self) -> float:
        """Seconds in which the GraphVM cuda cut the graph into blocks."""
        return getattr(self._machine, "preparation", 0.0)

    def run(self):
        """Run once more, when the threads of other machines have gone to sleep."""
        time.sleep(_QUIET)
        begin = time.perf_counter()
        perform(self._program, self._graph, self._machine, self._given,
                self.result.fraction_bits)
        self.whole.append(time.perf_counter() - begin)
        self.seconds.append(self._machine.seconds)


def cpu_machine(program, graph, given, threads=None) -> Times:
    """A program, with the schedules that were applied to it, on the threads of this computer."""
    ready = analysed(program, after=CHOSEN)
    return Times(ready, graph, TimedCpu(ready, graph, threads=threads), given)


def cuda_machine(program, graph, given, variants=()) -> Times:
    """A program, with the schedules that were applied to it, on the GPU.

    ``variants`` are those of :class:`~sw.vm.cuda.CudaMachine`. Raises UserError if no GPU answers.
    """
    reason = cuda.available()
    if reason is not None:
        raise UserError(f"the GraphVM cuda cannot run here: {reason}")
    ready = analysed(program, after=CHOSEN)
    return Times(ready, graph, cuda.CudaMachine(ready, graph, variants=variants), given)


def in_turn(ways, repeat):
    """Run each of several :class:`Times` a number of times, one after the other in each round, in
    one order and the other by turns."""
    ways = list(ways)
    for number in range(repeat):
        for each in ways[::-1] if number % 2 else ways:
            each.run()
