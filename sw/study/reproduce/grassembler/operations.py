"""Barriers, atomics and shuffles of the schedules: table 4.1."""

import collections
import dataclasses

from hw.operations import CrossOp, MemOp, WarpOp
from sw.study.benchmarks.grid import Grid
from sw.study.benchmarks.schedules import DIRECTIONS, plan
from sw.golden.machine import FunctionalMachine
from hw.disassembler import operands
from sw.device.device import Device

from ..outcome import FAILED, Comparison, Outcome, Plot, by_columns, number
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
        self.start(entry, argument)
        while running := [each for each in self.simulators if each.running]:
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

    def grid(self, setting):
        return Grid({"graph": setting.tuned[:1], "schedule": self._schedules},
                    lambda choice, schedule: CountedRun(choice.graph, choice.undirected, plan(
                        "pagerank", 1, schedule=schedule, direction=DIRECTIONS["pagerank"][0])))

    def results(self, setting, found):
        names, data = (*_KINDS, "instructions"), {}
        static, dynamic = ({name: found.value(what, name) for name in names}
                           for what in ("in_program", "executed"))
        each = {name: its.map(lambda value: value and 1000 * value) / found.value("arcs")
                for name, its in dynamic.items()}
        schedules = each["instructions"].axes["schedule"]
        for (_, schedule), program in found.value("in_program").items():
            data[schedule] = {"in_program": program or {}, "for_1000_edges": {
                name: its.at(graph=setting.tuned[0], schedule=schedule)
                for name, its in each.items()}}
        with_barriers = [schedule for schedule, its in data.items()
                         if its["in_program"].get("barriers")]
        none = "none" if any(its["in_program"] for its in data.values()) else FAILED
        return Outcome(
            tables=(by_columns(
                "Warp instructions", ("schedule", schedules),
                *((f"{name} in the program", its.cells(number)) for name, its in static.items()),
                *((f"{name}, 1,000 edges", its.cells(
                    lambda value: FAILED if value is None else f"{value:,.1f}"))
                  for name, its in each.items())),),
            plots=(Plot("executed for 1,000 edges", "warp instructions", schedules,
                        {name: tuple(each[name]) for name in _KINDS}),),
            comparisons=(Comparison("schedules with barriers in the program", "-",
                                    ", ".join(with_barriers) or none),),
            data=data)
