"""The space of a program's schedules, and their times on this computer.

The axes are the choices of the scheduling language (:mod:`sw.lang.schedule`) for each label, as far
as the GraphVM cpu honours them:

============================  ======================================================================
``LABEL:load_balance``        equally many vertices or edges for the threads
``LABEL:blocking_size``       EdgeBlocking, under ``edge_only``, of operators that take all edges
``LABEL:direction``           push, pull, or ``hybrid``
``LABEL:threshold``           under ``hybrid``: the share of the vertices from which it pulls
``LABEL:kernel_fusion``       whether a loop is one piece of C++
``LABEL:delta``               width of the steps of a loop's queue
============================  ======================================================================

A trial's cost is a wall time. The machine's speed changes while a search runs, so the runs of a
trial alternate with runs without any schedule, and only the ratio of the two counts. Whatever else
the machine does only adds time, so the least of several runs counts.
"""

import dataclasses
from typing import Any

import numpy as np

from base.errors import UserError
from sw.study.benchmarks.machines import Times, cpu_machine, in_turn
from sw.lang import graph_ir as ir
from sw.lang.choices import Criterion, LoadBalance, Traversal
from sw.lang.schedule import HybridSchedule, SimpleSchedule, applied, labelled
from sw.study.tune.candidates import Candidate
from sw.study.tune.points import Axis, PointSpace


__all__ = ["PairedTimes", "ProgramSchedules", "ScheduleSpace"]


#: The direction of a schedule that pushes small sets and pulls large ones.
_HYBRID = "hybrid"

#: Shares of the vertices from which a hybrid schedule pulls.
_THRESHOLDS = (0.01, 0.05, 0.15, 0.4)

_DELTAS = (None, 1, 4, 16, 64, 256, 1024, 4096)

#: Vertices of a block: their words take from 64 KiB to 4 MiB.
_SIZES = (1 << 14, 1 << 16, 1 << 18, 1 << 20)

#: A trial ends after two pairs if its ratio is this many times that of the best.
_HOPELESS = 2.0


@dataclasses.dataclass(frozen=True)
class ProgramSchedules:
    """The schedules of a program, as a plan of a search."""
    #: tuple of (str, SimpleSchedule or HybridSchedule). By label; labels without any choice are
    #: left out.
    schedules: tuple
    point: tuple = dataclasses.field(compare=False)  #: The point of the space.

    @property
    def texts(self) -> list[str]:
        """``LABEL=SCHEDULE`` of each label."""
        return [f"{label}={schedule}" for label, schedule in self.schedules]

    @property
    def text(self) -> str:
        """All schedules as one line."""
        return "; ".join(self.texts) or "default"


class ScheduleSpace(PointSpace):
    """All schedules of a program on a graph; ``only`` is that of
    :class:`~sw.study.tune.points.PointSpace`."""

    def __init__(self, program, graph, only=None):
        self._program, self._labels = program, labelled(program)
        super().__init__(self._axes(graph), only)
        if not self.axes:
            raise UserError(f"program {program.name!r} has no label, so it can have no schedule; "
                            "s0: Label before a loop or an operator of edges makes one")

    def _axes(self, graph):
        for label, node in self._labels.items():
            if not isinstance(node, ir.EdgeSetIterator):
                if isinstance(node, ir.WhileLoop):
                    yield Axis(f"{label}:kernel_fusion", (None, False), None)
                    if any(isinstance(each, ir.Dequeue) for each in ir.instructions(node.body)):
                        yield Axis(f"{label}:delta", _DELTAS, None)
                continue
            balances = (None, LoadBalance.VERTEX_BASED, LoadBalance.EDGE_ONLY)
            yield Axis(f"{label}:load_balance", balances, None)
            whole = node.input_vset == ir.ALL
            sizes = tuple(size for size in _SIZES if size < graph.num_vertices)
            if whole and node.to_filter is None and sizes:
                yield Axis(f"{label}:blocking_size", (None, *sizes), None,
                           (f"{label}:load_balance", LoadBalance.EDGE_ONLY))
            ways = (None, Traversal.PUSH, Traversal.PULL, *[_HYBRID] * (not whole))
            yield Axis(f"{label}:direction", ways, None)
            if not whole:
                yield Axis(f"{label}:threshold", _THRESHOLDS, _THRESHOLDS[1],
                           (f"{label}:direction", _HYBRID))

    def plan(self, point):
        values = dict(point)
        found = {}
        for label in self._labels:
            given: dict[str, Any] = {
                name.removeprefix(f"{label}:"): value for name, value in values.items()
                if name.rpartition(":")[0] == label and value is not None}
            threshold, size = given.pop("threshold", None), given.pop("blocking_size", None)
            balance = given.pop("load_balance", None)
            schedule: Any = SimpleSchedule(**given)
            if balance is not None:
                schedule = schedule.config_load_balance(balance, size is not None, size)
            if schedule.direction == _HYBRID:
                schedule = HybridSchedule(Criterion.INPUT_VERTEXSET_SIZE, threshold, *(
                    dataclasses.replace(schedule, direction=way)
                    for way in (Traversal.PUSH, Traversal.PULL)))
            if schedule != SimpleSchedule():
                found[label] = schedule
        return ProgramSchedules(tuple(found.items()), point)

    def point_of(self, plan):
        return plan.point

    def ask(self, plan) -> Candidate:
        """The candidate of schedules: refused if they do not fit the program."""
        try:
            applied(self._program, dict(plan.schedules))
        except UserError as error:
            return Candidate(plan, reason=str(error))
        return Candidate(plan, plan.text)


class PairedTimes:
    """Measures schedules of a program with ``given`` parameters beside the program without any, in
    so many ``rounds``, pairs of runs of a trial. ``base`` is the nanoseconds of the program without
    any schedule: the least of some runs at the start."""

    unit = "ns"

    def __init__(self, program, graph, given, rounds, threads=None):
        self._program, self._graph, self._given = program, graph, given
        self._rounds, self._threads = rounds, threads
        self._plain = self._machine(program)
        in_turn([self._plain], rounds)
        self.base = max(1, round(min(self._plain.seconds) * 1e9))

    @property
    def result(self):
        """The :class:`~sw.vm.host.ProgramResult` of the program without any schedule."""
        return self._plain.result

    def _machine(self, program) -> Times:
        return cpu_machine(program, self._graph, self._given, self._threads)

    def measure(self, trial) -> dict:
        """Run a trial (:class:`~sw.study.tune.search.Trial`). Returns a dict with ``status``:
        ``"done"`` with ``cycles``, the nanoseconds: ``base`` times the ratio of the least times of
        the pairs; ``"stopped"``, with the limit, if two pairs leave no hope; or ``"failed"`` with
        ``error``: the words differ, or a run ended with an error."""
        try:
            machine = self._machine(applied(self._program, dict(trial.candidate.plan.schedules)))
        except UserError as error:
            return {"status": "failed", "error": str(error)}
        for name, words in self._plain.result.outputs.items():
            if not np.array_equal(words, machine.result.outputs[name]):
                return {"status": "failed", "error": f"{name} differs from the program's result "
                                                     "without schedules"}
        cost = 0
        for number in range(self._rounds):
            self.pair(machine)
            cost = max(1, round(self._ratio(machine, number + 1) * self.base))
            if number == 1 and trial.limit is not None and cost > _HOPELESS * trial.limit:
                return {"status": "stopped", "cycles": trial.limit}
        return {"status": "done", "cycles": cost}

    def pair(self, machine) -> float:
        """Run the program without schedules and a machine: the ratio of their times."""
        in_turn([self._plain, machine][::1 if len(machine.seconds) % 2 else -1], 1)
        return machine.seconds[-1] / self._plain.seconds[-1]

    def _ratio(self, machine, pairs):
        """The ratio of the least times of the last pairs."""
        return min(machine.seconds[-pairs:]) / min(self._plain.seconds[-pairs:])

    def compare(self, plan, pairs) -> tuple[float, list[float]]:
        """Compare schedules with the program without any, in so many new pairs: the ratio of the
        least times, and the ratios of the pairs, ascending."""
        machine = self._machine(applied(self._program, dict(plan.schedules)))
        each = sorted(self.pair(machine) for _ in range(pairs))
        return self._ratio(machine, pairs), each
