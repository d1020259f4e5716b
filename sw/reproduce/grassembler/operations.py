"""Barriers, atomics and shuffles of the schedules: table 4.1."""

import collections
import dataclasses

from hw.operations import CrossOp, MemOp, WarpOp
from sw.benchmarks.schedules import DIRECTIONS, plan
from sw.golden.machine import FunctionalMachine
from sw.kernels.disassembler import operands
from sw.runtime.device import Device

from ..outcome import Comparison, Outcome, Plot, Table, number
from ..paper import Figure
from ..space import Tried


__all__ = ["CountedRun", "OperationCounts", "kind_of"]


#: The kinds of instructions, and the operations of each. Votes are counted with the shuffles: both
#: carry a value from lane to lane.
_KINDS = {"barriers": (WarpOp.BAR,), "atomics": (MemOp.AMO,), "shuffles": tuple(CrossOp)}


def kind_of(word) -> str | None:
    """The kind of an instruction word; None if it is of none."""
    fields = operands(word)
    for name, wanted in _KINDS.items():
        if fields is not None and any(fields.row.op is op for op in wanted):
            return name
    return None


class _Counting(FunctionalMachine):
    """The instruction-set simulator, which counts the executed instructions of each word."""

    def __init__(self, config):
        super().__init__(config)
        self.executed = collections.Counter()

    def _committed(self, commit):
        self.executed[commit.pc] += 1

    def launch(self, entry, argument, *, max_cycles=None, progress=None):
        self.cores.start(entry, argument)
        while running := [each for each in self.cores.simulators if each.running]:
            for simulator in running:
                simulator.take_turn(self._committed)


@dataclasses.dataclass(frozen=True)
class CountedRun(Tried):
    """A run on the instruction-set simulator whose kernels' instructions are counted by kind.

    The record has ``in_program`` and ``executed``: numbers by kind, and of all as
    ``"instructions"``. Kernels of an apply stage, which no schedule makes, do not count.
    """
    simulates = False

    def device(self, config, dram):
        return Device(config, lambda: _Counting(config))

    def perform(self, device, graph):
        task = device.plan(self.plan, graph)
        device.run_task(task)
        program = task.program
        starts = sorted((address, name) for name, address in program.entries.items())
        ends = [address for address, _ in starts[1:]] + [program.size]
        counted = {pc for (start, name), end in zip(starts, ends) if not name.startswith("apply")
                   for pc in range(start, end, 4)}
        kinds = {pc: kind_of(program.words[pc // 4]) for pc in counted}
        executed = {pc: device.machine.executed[pc] for pc in counted}
        return {"in_program": self._numbers(kinds, dict.fromkeys(counted, 1)),
                "executed": self._numbers(kinds, executed)}

    @staticmethod
    def _numbers(kinds, weights):
        found = {name: sum(weights[pc] for pc, kind in kinds.items() if kind == name)
                 for name in _KINDS}
        return found | {"instructions": sum(weights.values())}


class OperationCounts(Figure):
    """Table 4.1."""
    name = "table4.1"
    title = "barriers, atomics and shuffles of each schedule"
    source = "table 4.1, section 4.2"
    method = ("PageRank, one iteration, pulling, with CSR, on the graph that is first: warp "
              "instructions of the kernels that go through the edges. They are counted in the "
              "program, and as the instruction-set simulator executes them, for 1,000 edges. Votes "
              "count as shuffles. The text of the paper does not have the entries of its table.")
    _schedules = ("vm", "vwc", "em", "wm", "cm", "twc", "twce", "etwc", "strict", "weaver")

    def _runs(self, setting):
        direction = DIRECTIONS["pagerank"][0]
        return {schedule: CountedRun(choice.graph, choice.undirected, plan(
            "pagerank", 1, schedule=schedule, direction=direction)) for choice in setting.tuned[:1]
            for schedule in self._schedules}

    def cases(self, setting):
        return list(self._runs(setting).values())

    def outcome(self, setting, results):
        names, rows, series, data = (*_KINDS, "instructions"), [], {}, {}
        for schedule, case in self._runs(setting).items():
            static, dynamic = (results.value(case, what) or {}
                               for what in ("in_program", "executed"))
            edges = results.value(case, "arcs")
            each = {name: None if name not in dynamic else 1000 * dynamic[name] / edges
                    for name in names}
            rows.append((schedule, *(number(static.get(name)) for name in names),
                         *(number(None) if value is None else f"{value:,.1f}"
                           for value in each.values())))
            for name in _KINDS:
                series.setdefault(name, []).append(each[name])
            data[schedule] = {"in_program": static, "for_1000_edges": each}
        return Outcome(
            tables=(Table("Warp instructions", ("schedule", *(f"{name} in the program"
                                                              for name in names),
                                                *(f"{name}, 1,000 edges" for name in names)),
                          tuple(rows)),),
            plots=(Plot("executed for 1,000 edges", "warp instructions", tuple(data),
                        {name: tuple(values) for name, values in series.items()}),),
            comparisons=(Comparison("schedules with barriers in the program", "-",
                                    ", ".join(schedule for schedule, found in data.items()
                                              if found["in_program"].get("barriers"))
                                    or (number(None) if not any(
                                        found["in_program"] for found in data.values())
                                        else "none")),),
            data=data)
