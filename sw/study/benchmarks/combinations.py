"""Every combination that works, run: on each of the graphs, compared with the golden model.

A program that does not fit is refused, which is no failure.
"""

import dataclasses
import functools
import random
import shlex

from base.errors import RunError, UserError
from base.installation import PROGRAM
from sw.study.benchmarks.batch import Batch, Case
from sw.study.benchmarks.schedules import plan
from sw.study.benchmarks.sources import digest
from sw.study.combinations import GRAPHS, HARDWARE, equipped, made


__all__ = ["OWN", "CombinationCase", "batch", "draw", "trials"]


#: The text for a value that leaves the choice to the algorithm.
OWN = "own"

#: Sweeps of PageRank.
_ITERATIONS = 3

#: Cycles after which a run is given up; instructions on the functional simulator. No run takes
#: a tenth of the limit.
_LIMIT = 5_000_000

#: Sources that a result depends on.
_SOURCES = ("base", "hw", "sim", "sw/graph", "sw/lang", "sw/golden", "sw/vm", "sw/compile",
            "sw/device", "sw/study/benchmarks")


@dataclasses.dataclass(frozen=True)
class CombinationCase(Case):
    """A combination on one of the graphs."""
    functional: bool = False  #: Whether it runs on the functional simulator, not on the RTL.
    ground: str = ""  #: Name of its graph in :data:`~sw.study.combinations.GRAPHS`.
    choice: tuple = ()  #: tuple of (str, str or None). The combination.

    REFUSED = "refused"

    def load(self):
        return GRAPHS[self.ground].load(self.plan.algorithm)

    def perform(self, device, graph):
        """As of :class:`Case`. Only what is refused before the run counts as refused."""
        task = device.plan(self.plan, graph)
        _ = task.program                # it may not fit
        try:
            return self.measured(device.run_task(task))
        except RunError:
            raise
        except UserError as error:
            raise RunError(f"refused while it ran: {error}") from error

    def record(self):
        return super().record() | {"functional": self.functional, "ground": self.ground,
                                   "choice": dict(self.choice)}

    @property
    def simulates(self):
        """Whether the trial needs the simulator of the RTL."""
        return not self.functional

    def hardware(self, config):
        return equipped(config, dict(self.choice))

    def device(self, config, dram):
        """The device that runs the case."""
        from sw.device import Device
        config = self.hardware(config)
        if self.functional:
            return Device.functional(config, max_cycles=_LIMIT)
        return Device.simulate(config, dram=dram, max_cycles=_LIMIT)

    def describe(self) -> str:
        """The combination in a few words."""
        return " ".join([*(value or OWN for _, value in self.choice), "on", self.ground])

    def command(self, hardware=()) -> str:
        """The command line that repeats it, with these options of the command line for the
        hardware."""
        if self.functional:
            words = ["list", "combinations", "--run", "--functional"]
            for axis, value in self.choice:
                words += ["--only", f"{axis}={value or OWN}"]
        else:
            words = ["run", self.graph, "--plan", self.plan.text,
                     *(f"--{method}" for method in made(self.plan.algorithm))]
            hardware = [*hardware, *(word for axis, value in self.choice if axis in HARDWARE
                                     for word in ("--set", f"{axis}={value}"))]
        return shlex.join([PROGRAM, *words, *hardware])


def trials(combinations, functional=False) -> list:
    """The runs of the combinations that work, each on every graph; with ``functional`` on the
    functional simulator."""
    found = []
    for combination in combinations:
        if combination.works:
            for name, ground in GRAPHS.items():
                found.append(CombinationCase(
                    ground.graph, False, plan(iterations=_ITERATIONS,
                                              **ground.asked(combination.choice)),
                    functional=functional, ground=name, choice=tuple(combination.choice.items())))
    return found


def draw(combinations, number, seed) -> list:
    """``number`` of the combinations that work, each at most once, in their order.

    Raises UserError if there are fewer.
    """
    working = [each for each in combinations if each.works]
    if number > len(working):
        raise UserError(f"--sample {number}: only {len(working)} combinations work here")
    return [working[index]
            for index in sorted(random.Random(seed).sample(range(len(working)), number))]


def batch(cases, config, dram, path=None) -> Batch:
    """The batch that runs trials and keeps their records in a file. The records count only while
    the sources are the same."""
    return Batch(cases, config, dram, path, _digest())


@functools.cache
def _digest():
    return digest(*_SOURCES)
