"""Units against software at several bandwidths of memory, and the roofline above the best software.

What a unit gains depends on the bytes that memory moves for each lane. A bandwidth is in bytes a
cycle and lane: of the lanes of all cores, which issue an instruction a cycle.
"""

import dataclasses

from base.errors import UserError
from hw.gather.variants import VARIANTS
from sim.memories import SimulatedDram
from sw.compile.plan import as_plan
from sw.study.benchmarks.grid import Grid
from sw.study.benchmarks.schedules import DIRECTIONS, plan
from sw.study.benchmarks.system import System
from sw.study.benchmarks.units import ALGORITHMS, SCU, UnitRun, schedule_of, weaver


__all__ = ["ALGORITHMS", "BEST", "GRAPHS", "LANE_BYTES", "SOFTWARE", "Roof", "column",
           "grid", "memory_at", "roof"]


#: Bandwidths if the user names none: more than a data-centre GPU has (0.16), and about as much.
LANE_BYTES = (2.0, 0.5, 0.2)

GRAPHS = ("rmat:scale=10,degree=16,seed=1", "rmat:scale=11,degree=16,seed=1")

#: Rivals of the units: the schedules that are the best somewhere on a GPU.
SOFTWARE = ("em", "etwc", "strict", "cm", "twc")

#: The column of the fastest schedule in software.
BEST = "software"

#: Elements that the SCU of the comparison takes in a cycle, and its schedule.
_ELEMENTS, _SCU_SCHEDULE = 4, "scu-stream"


def memory_at(config, dram, lane_bytes) -> SimulatedDram:
    """The memory with about so many bytes a cycle and lane: another bus, or of a device other
    channels and another clock. Raises UserError for what the ports cannot move."""
    lanes = config.cores * config.threads
    most = config.line_bytes * config.memory_ports / lanes
    if lane_bytes > most:
        raise UserError(f"{lane_bytes:g} bytes a lane: {config.memory_ports} memory ports move at "
                        f"most {most:g} bytes a cycle for each of {lanes} lanes; "
                        "set memory_ports higher")
    return dram.with_peak(config, lane_bytes * lanes)


def grid(axes, bandwidths, units, system, iterations, weights) -> Grid:
    """The runs, by bandwidth, algorithm, column and graph. A column is :data:`BEST`, whose ways are
    the schedules of ``axes["schedule"]`` in their directions, or a unit, whose ways are directions.
    ``axes`` has ``graph`` and ``algorithm`` too, as of :func:`sw.study.benchmarks.units.grids`."""
    config = system.config
    columns = {BEST: (config, axes["schedule"])} | {column(unit): (
        config.replace(scu=_ELEMENTS, name=f"{config.name} {SCU}"), (_SCU_SCHEDULE,))
        if unit == SCU else (config.replace(gather=unit, name=f"{config.name} {unit}"),
                             (schedule_of(unit),)) for unit in units}
    memories = {each: memory_at(config, system.dram, each) for each in bandwidths}

    def make(lane_bytes, algorithm, name, graph):
        own, schedules = columns[name]
        at = System(own, memories[lane_bytes])
        return {(schedule, direction): UnitRun(graph[0], graph[1], as_plan(plan(
            algorithm, iterations, schedule=schedule), direction=direction), weights, system=at)
            for schedule in schedules for direction in DIRECTIONS[algorithm]}
    return Grid({"bandwidth": bandwidths, "algorithm": axes["algorithm"], "column": columns,
                 "graph": axes["graph"]}, make)


def column(unit) -> str:
    """The name of a unit in tables."""
    return weaver(unit) if unit in VARIANTS else unit


@dataclasses.dataclass(frozen=True)
class Roof:
    """How fast a run is, and how fast it could be: arcs of the graph a cycle."""
    arcs: float  #: What the run attains.
    memory: float  #: As fast as memory moves the bytes that the run moves.
    issue: float  #: As fast as the cores issue the instructions that the run issues.

    @property
    def binding(self) -> str:
        """The lower roof."""
        return "memory" if self.memory < self.issue else "issue"

    @property
    def attained(self) -> float:
        """The share of the lower roof that the run attains, at most 1."""
        return self.arcs / min(self.memory, self.issue)


def roof(records, case) -> Roof | None:
    """The roofs above a run; None if it failed."""
    record, system = records[case], case.system
    if "cycles" not in record:
        return None
    counters, arcs = record["counters"], record["arcs"]
    moved = counters["dram_bytes_read"] + counters["dram_bytes_written"]
    return Roof(arcs / record["cycles"],
                arcs * system.peak_bytes / max(1, moved),
                arcs * system.config.cores / max(1, counters["instructions"]))
