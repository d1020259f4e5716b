"""Many independent runs on several processor cores, with their figures in a file.

An interrupted batch can continue from its last finished run. A failed run loses no other run.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from base.errors import RunError, UserError
from sw.study.benchmarks.measurement import Measurement, inputs, on
from sw.study.benchmarks.records import RecordsFile

if TYPE_CHECKING:
    from sw.study.benchmarks.executors import Executor
    from sw.compile.plan import Hybrid, Plan


__all__ = ["Case", "Batch", "notes_of", "total_cycles"]


@dataclasses.dataclass(frozen=True)
class Case(Measurement):
    """One run: a plan on a graph."""
    graph: str  #: The graph's text for :func:`sw.graph.load.load`.
    undirected: bool  #: Whether the reverse of each arc is added.
    plan: Plan | Hybrid
    weights: int | None = None  #: Largest of the random weights that a graph without weights gets.

    simulates = True

    #: Name, in the record, of the reason for which the planner refuses the plan. A record with an
    #: ``"error"`` is a failure.
    REFUSED = "error"

    @property
    def reads(self) -> tuple[str, ...]:
        return inputs(self.plan, self.graph)

    def key(self, config, dram) -> str:
        return json.dumps([self.record(), dataclasses.asdict(self.hardware(config)),
                           dataclasses.asdict(self.memory(dram))], sort_keys=True)

    def record(self) -> dict:
        return self.plan.parts | {"graph": self.graph, "undirected": self.undirected,
                                  "plan": self.plan.text, "weights": self.weights}

    def describe(self) -> str:
        parts = self.record()
        return on([parts[name] for name in ("algorithm", "direction", "schedule", "format")
                   if parts.get(name)], self.graph)

    def device(self, config, dram):
        """The device that runs the case."""
        from sw.device import Device
        return Device.simulate(self.hardware(config), dram=self.memory(dram))

    def memory(self, dram):
        """The memory of the run, derived from the batch's memory."""
        return dram

    def load(self):
        """The graph. Raises UserError."""
        from sw.graph.load import load
        return load(self.graph, weights=self.weights, undirected=self.undirected)

    def run(self, config, dram) -> dict:
        record = {"case": self.record()}
        try:
            graph = self.load()
        except UserError as error:
            return record | {"error": str(error)}
        record |= {"vertices": graph.num_vertices, "arcs": graph.num_edges}
        try:
            with self.device(config, dram) as device:
                return record | self.perform(device, graph)
        except RunError as error:
            return record | {"error": str(error)}
        except UserError as error:
            return record | {self.REFUSED: str(error)}

    def perform(self, device, graph) -> dict:
        """Run the case on a device. Returns what its line keeps. Raises RunError, and UserError if
        the planner refuses the plan."""
        return self.measured(device.run(self.plan, graph))

    def measured(self, result) -> dict:
        """The part of the result that the case's line keeps."""
        return {"cycles": result.cycles, "orders": result.orders,
                "supersteps": result.supersteps,
                "checksum": result.checksum, "verified": result.verified,
                "reached": result.reached, "notes": result.notes,
                "counters": result.counters}


def notes_of(records) -> list:
    """The notes of some records (:attr:`sw.device.result.Result.notes`), each once. Records of
    failed and of stopped runs have none."""
    return list(dict.fromkeys(note for record in records for note in record.get("notes", ())))


def total_cycles(record, launch_cycles) -> int:
    """The cycles of a case's record (:meth:`Case.measured`) and of the host for its launches, of
    ``launch_cycles`` each."""
    return record["cycles"] + launch_cycles * record["orders"]


def _whole(record):
    """Whether a record is none of :meth:`Case.measured`, or has all its figures. Older files lack
    some."""
    return "counters" not in record or "orders" in record


def _run(case, config, dram):
    return case.run(config, dram)


class Batch:
    """A set of cases in the order in which they are started, their hardware and memory, and the
    file of their figures, if any.

    ``records`` has the records of the cases that have been run; in a failed case's record
    ``"error"`` is the reason. Lines of other cases in the file are kept, but do not count. Nor do
    lines made with other ``sources``, a digest (:mod:`sw.study.benchmarks.sources`); without one,
    only lines made without a digest count."""
    def __init__(self, cases, config, dram, path=None, sources=""):
        self.cases = list(cases)
        self.config, self.dram = config, dram
        self.records = {}
        self._file, self._sources = RecordsFile(path), sources
        wanted = {self._key(case): case for case in self.cases}
        for key, record in self._file.read():
            if key in wanted and "error" not in record and _whole(record):
                self.records[wanted[key]] = record

    def _key(self, case):
        key = case.key(self.config, self.dram)
        return f"{self._sources} {key}" if self._sources else key

    def run(self, executor: Executor, report, begun=lambda case: None):
        """Run the cases that have no line yet. ``report`` is called with (case, record, done,
        total) at the end of each run, and ``begun`` with the case at its beginning."""
        left = [case for case in self.cases if case not in self.records]
        simulated = [case for case in left if case.simulates] if executor.here else []
        for config in dict.fromkeys(case.hardware(self.config) for case in simulated):
            # The C++ of the hardware is made once, before several processes need it.
            from sim.compiled import sources
            sources(config)
        done = len(self.cases) - len(left)

        def ended(case, record):
            nonlocal done
            # A piece whose process died has no case in its record.
            self.records[case] = self._file.keep(self._key(case),
                                                 {"case": case.record()} | record)
            done += 1
            report(case, record, done, len(self.cases))

        executor.work(((case, (_run, (case, self.config, self.dram))) for case in left), ended,
                      begun)
