"""Runs that the tables share: of plans on the device, and of programs on other machines."""

import dataclasses
import functools
from typing import Any

from sw import algorithms
from sw.benchmarks.schedules import plan
from sw.graph.load import load
from sw.lang import programs

from ..measure import OnHost
from ..space import Tried


__all__ = ["ITERATIONS", "SWITCHED", "ProgramTimes", "absence", "arcs_of", "cpu", "cuda",
           "directed", "device", "is_road", "least"]


#: Iterations of PageRank where wall time is measured; on the device there is one.
ITERATIONS = 10

#: Algorithms that may change their direction during a run.
SWITCHED = "auto"

#: Largest random weight for a graph without weights.
_WEIGHTS = 64

#: Widths of the steps of SSSP's queue, of which the fastest counts; None is one step for all.
_DELTAS = (None, 64, 512)


def is_road(choice) -> bool:
    """Whether a graph counts among the roads, which it says by its name."""
    return choice.label.startswith("road")


def _weights(algorithm):
    return _WEIGHTS if algorithms.find(algorithm).weighted else None


def device(choice, algorithm, **choices):
    """A run of a plan on the device: PageRank one iteration, searches from the vertex with the
    most arcs. ``choices`` are those of :func:`sw.runtime.plan.as_plan`."""
    return Tried(choice.graph, choice.undirected, plan(algorithm, 1, **choices),
                 _weights(algorithm))


def directed(choice, algorithm, schedule, **choices):
    """{text: run} of a schedule in every direction of an algorithm."""
    kind = algorithms.find(algorithm)
    ways = [*kind.directions, *[SWITCHED] * kind.switches]
    return {f"{schedule} {way}": device(choice, algorithm, schedule=schedule, direction=way,
                                        **choices) for way in ways}


@dataclasses.dataclass(frozen=True)
class ProgramTimes(OnHost):
    """Wall times of a program of the language on a GraphVM, its ways in turn.

    The record has ``seconds`` by way: a list; ``fraction_bits``.

    Parameters
    ----------
    vm : str
        ``cpu`` or ``cuda``.
    algorithm : str
    ways : tuple of tuple
        (text, schedule, direction, delta). Schedule and direction are of the GraphVM cuda, or
        None; delta is of SSSP, or None.
    repeat : int
    """
    vm: str
    algorithm: str
    ways: tuple
    repeat: int

    timed = True

    #: A graph may have more shortest paths than BC can count.
    REFUSED = "refused"

    def load(self):
        return load(self.graph, weights=_weights(self.algorithm), undirected=self.undirected)

    def measure(self, graph):
        from sw.benchmarks import machines
        program = programs.find(self.algorithm)
        known = {"source": graph.hub, "iterations": ITERATIONS}
        base = {argument.name: known[argument.name] for argument in program.arguments
                if argument.name in known}
        ways = {}
        for text, schedule, direction, delta in self.ways:
            given = base if delta is None else base | {"delta": delta}
            ways[text] = machines.cpu_machine(program, graph, given) if self.vm == "cpu" else \
                machines.cuda_machine(program, graph, given, schedule, direction)
        machines.in_turn(ways.values(), self.repeat)
        return {"seconds": {text: each.seconds for text, each in ways.items()},
                "fraction_bits": next(iter(ways.values())).result.fraction_bits}


def _deltas(algorithm):
    return _DELTAS if algorithm == "sssp" else (None,)


def _named(name, delta):
    return f"{name} delta={delta}".strip() if delta else name


def cpu(setting, choice, algorithm):
    """The times of a program on this computer."""
    return ProgramTimes(choice.graph, choice.undirected, "cpu", algorithm, tuple(
        (_named("cpu", delta), None, None, delta) for delta in _deltas(algorithm)),
        setting.repeat)


def cuda(setting, choice, algorithm, schedules, directions=("push", "pull")):
    """The times of a program on the GPU, under each of some schedules in each direction."""
    return ProgramTimes(choice.graph, choice.undirected, "cuda", algorithm, tuple(
        (_named(f"{schedule} {direction}", delta), schedule, direction, delta)
        for schedule in schedules for direction in directions for delta in _deltas(algorithm)),
        setting.repeat)


@functools.cache
def absence() -> str | None:
    """The reason why nothing runs on the GraphVM cuda here; None if it does."""
    from sw.vm import cuda as machine
    return machine.available()


def least(results, case, start="") -> tuple[Any, Any]:
    """The fastest way whose text begins so, and its seconds; None and None if the case failed."""
    seconds = {text: min(values) for text, values in (results.value(case, "seconds") or {}).items()
               if text.startswith(start)}
    if not seconds:
        return None, None
    way = min(seconds, key=seconds.__getitem__)
    return way, seconds[way]


def arcs_of(results, case, algorithm):
    """Arcs that count in a time: all, and of PageRank in each iteration; None if the case failed.
    Records of failed cases have no arcs either."""
    arcs = results.value(case, "arcs")
    rounds = ITERATIONS if algorithm == "pagerank" else 1
    return None if arcs is None else arcs * rounds
