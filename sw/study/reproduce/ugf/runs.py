"""Runs that the tables share: of plans on the device, and of programs on other machines."""

import dataclasses
import functools
import math
from typing import Any

from base.errors import UserError
from hw.control import launch_cycles
from sw.compile import algorithms
from sw.study.benchmarks import machines
from sw.study.benchmarks.programs import ITERATIONS, arcs_a_run, parameters
from sw.study.benchmarks.batch import total_cycles
from sw.study.benchmarks.grid import lowest
from sw.graph.load import load
from sw.lang import programs
from sw.lang.schedule import SimpleSchedule, applied, read_schedules
from sw.lang.types import LanguageError
from sw.vm import cuda

from ..measure import OnHost
from ..outcome import FAILED
from ..runs import on_graph
from ..space import Tried


__all__ = ["ITERATIONS", "ProgramTimes", "absence", "arcs_of", "balanced", "best", "cpu",
           "device", "directed", "is_road", "least", "millions", "not_run", "program_times",
           "seconds_text", "shown", "total"]


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
    most arcs. ``choices`` are those of :func:`sw.compile.plan.as_plan`."""
    return on_graph(choice, algorithm, Tried, **choices)


def directed(choice, algorithm, schedule, **choices):
    """{text: run} of a schedule in every direction of an algorithm."""
    kind = algorithms.find(algorithm)
    ways = [*kind.directions, *["auto"] * kind.switches]
    return {f"{schedule} {way}": device(choice, algorithm, schedule=schedule, direction=way,
                                        **choices) for way in ways}


def total(results, case, config):
    """The cycles of a run with those of the host for its launches, at the host port; None if the
    case failed."""
    if results.cycles(case) is None:
        return None
    return total_cycles(results[case], launch_cycles(config))


def best(config):
    """The function that gives the choice with the least :func:`total`, as
    :meth:`~sw.study.benchmarks.grid.CaseRecords.best_allowed`: some graphs have more shortest paths
    than BC can count."""
    return lambda results, choices: results.best_allowed(
        choices, lambda case: total(results, case, config))


@dataclasses.dataclass(frozen=True)
class ProgramTimes(OnHost):
    """Wall times of a program of the language on a GraphVM, its ways in turn.

    The record has ``seconds`` by way, a list; ``preparation`` by way, the seconds in which the
    graph was cut into blocks, on the GraphVM cuda; ``fraction_bits``; and ``refusals`` by way, the
    reasons of ways that the machine refuses.
    """
    vm: str  #: ``cpu`` or ``cuda``.
    algorithm: str
    #: (text, schedules, delta): schedules are texts ``LABEL=SCHEDULE``; delta is of SSSP, or None.
    ways: tuple[tuple, ...]
    repeat: int

    timed = True

    #: A graph may have more shortest paths than BC can count.
    REFUSED = "refused"

    def load(self):
        return load(self.graph, weights=_weights(self.algorithm), undirected=self.undirected)

    def measure(self, graph):
        program = programs.find(self.algorithm)
        ways, refusals = {}, {}
        for text, schedules, delta in self.ways:
            try:
                ways[text] = self._machine(applied(program, read_schedules(schedules)), graph,
                                           parameters(self.algorithm, graph, delta))
            except LanguageError as error:
                refusals[text] = str(error)
        if not ways:
            raise UserError("; ".join(refusals.values()))
        machines.in_turn(ways.values(), self.repeat)
        return {"seconds": {text: each.seconds for text, each in ways.items()},
                "preparation": {text: each.preparation for text, each in ways.items()},
                "fraction_bits": next(iter(ways.values())).result.fraction_bits,
                "refusals": refusals}

    def _machine(self, program, graph, given):
        if self.vm == "cpu":
            return machines.cpu_machine(program, graph, given)
        # All ways share one library.
        known = [schedule for _, schedules, _ in self.ways
                 for schedule in read_schedules(schedules).values()]
        return machines.cuda_machine(program, graph, given, sorted({
            (str(each.load_balance), str(each.direction)) for each in known
            if isinstance(each, SimpleSchedule) and each.load_balance and each.direction
            and not each.blocked}))


def _steps(algorithm):
    return _DELTAS if algorithm == "sssp" else (None,)


def program_times(setting, choice, vm, algorithm, ways):
    """The times of a program on a machine under the schedules of each way, for SSSP with each of
    several widths of steps."""
    return ProgramTimes(choice.graph, choice.undirected, vm, algorithm, tuple(
        (f"{text} delta={delta}" if delta else text, tuple(schedules), delta)
        for text, schedules in ways.items() for delta in _steps(algorithm)), setting.repeat)


def cpu(setting, choice, algorithm):
    """The times of a program on this computer, where the machine makes all choices."""
    return program_times(setting, choice, "cpu", algorithm, {"cpu": ()})


#: Labels of the operators of edges, by algorithm.
_OPERATORS = {"bc": ("s0:s1", "s2:s3")}


def balanced(algorithm, balances, directions=("push", "pull"), fused=False):
    """{text: schedules} of ways to balance the load of all operators of edges, in each direction;
    the first loop is fused or not."""
    return {f"{balance} {direction}{' fused' * fused}": (
        *["s0=fusion"] * fused,
        *(f"{label}={balance},{direction}" for label in _OPERATORS.get(algorithm, ("s0:s1",))))
        for balance in balances for direction in directions}


@functools.cache
def absence() -> str | None:
    """The reason why nothing runs on the GraphVM cuda here; None if it does."""
    return cuda.available()


def least(results, case, among=lambda text: True) -> tuple[Any, Any]:
    """The fastest way, among those whose text is so, and its seconds; None and None if there is
    none or the case failed."""
    seconds = {text: min(values) for text, values in (results.value(case, "seconds") or {}).items()
               if among(text)}
    return lowest(seconds)


def arcs_of(results, case, algorithm):
    """Arcs that count in a time: all, and of PageRank in each iteration; None if the case
    failed."""
    arcs = results.value(case, "arcs")
    return arcs and arcs_a_run(algorithm, arcs)


def not_run():
    """A sentence about the GraphVM cuda where it does not run, for figures that have it."""
    return f"The GraphVM cuda was not run here: {absence()}."


def seconds_text(value):
    """Milliseconds for a table."""
    return shown(value and value * 1e3, 3)


def millions(value):
    """Millions for a table."""
    return shown(value and value / 1e6, 1)


def shown(value, digits):
    """A number with so many digits behind the point for a table; NaN is a dash."""
    if value is None:
        return FAILED
    return "-" if math.isnan(value) else f"{value:,.{digits}f}"
