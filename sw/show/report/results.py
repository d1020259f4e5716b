"""The runs of a file of ``run`` or ``compare``, each with its hardware and its command line."""

import dataclasses

from hw.registers import cycles_of
from sw.graph.load import GraphSource
from sw.device.target import Board, Target

from .command import hardware_of, hardware_text, memory_of, run_command
from .plots import PlotPoint


__all__ = ["ReportedRun", "runs_of", "steps_of"]


@dataclasses.dataclass(frozen=True)
class ReportedRun:
    """A result of a file, with its hardware."""
    name: str  #: A name that no other run of the file has.
    record: dict  #: The result, as ``Result.to_json`` makes it.
    config: object  #: A :class:`~hw.config.HardwareConfig`.
    dram: object  #: A :class:`~sim.dram.DramConfig`; None for a board.
    graph: dict  #: The graph and its options.
    command: str

    @property
    def counters(self) -> dict:
        """The counters of all launches together."""
        return self.record["counters"]

    @property
    def total(self) -> int:
        """Cycles, and the host's cycles of the launches."""
        return self.record["total_cycles"]

    @property
    def work(self) -> tuple:
        """The work of the run: algorithm, parameters and graph. Runs of the same work compare."""
        graph = tuple(sorted((name, str(value)) for name, value in self.graph.items()))
        parameters = tuple(sorted((name, str(value))
                                  for name, value in self.record["parameters"].items()))
        return self.record["algorithm"], parameters, graph

    def point(self, label="", *values) -> PlotPoint:
        """A point of this run."""
        return PlotPoint(f"{self.name}{label and ', '}{label}", values, self.command,
                         hardware_text(self.config))


def runs_of(value) -> list:
    """The runs of a file of ``run`` or ``compare``.

    Raises
    ------
    ConfigError
        A configuration of another version.
    """
    board = Board(**value["board"]) if value.get("board") else None
    dram = None if board else memory_of(value["dram"])
    source = GraphSource.of(value["graph"])
    taken, found = {}, []
    configs = [hardware_of(value["configuration"] | record.get("configuration", {}))
               for record in value["results"]]
    several = {record["schedule"] for record, config in zip(value["results"], configs)
               if any(record["plan"] == other["plan"] and config.gather != its.gather
                      for other, its in zip(value["results"], configs))}
    for record, config in zip(value["results"], configs):
        cost = record["launch_cycles"] / record["orders"] if record["orders"] else None
        command = run_command(record["plan"], source,
                              Target(config, dram, board, launch_cycles=cost))
        name = record["schedule"]
        if name in several:
            name += f" ({config.gather})"
        taken[name] = taken.get(name, 0) + 1
        if taken[name] > 1:
            name += f" ({taken[name]})"
        found.append(ReportedRun(name, record, config, dram, value["graph"], command))
    return found


def steps_of(run):
    """The kernels and operations of a run by cycles, most first."""
    return sorted(run.record["steps"].items(), key=lambda pair: -cycles_of(pair[1]))
