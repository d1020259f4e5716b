"""The result of a run."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import TYPE_CHECKING

import numpy as np

from hw.config import HardwareConfig

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from sw.compile.plan import Hybrid, Plan


__all__ = ["Result", "checksum", "verdict"]


#: Entries of a result's JSON that have no meaning without cycles.
_IN_CYCLES = ("cycles", "launch_cycles", "total_cycles", "set_cycles", "phases")


def checksum(outputs: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 over the arrays in the order of their names: name, type, length, contents."""
    digest = hashlib.sha256()
    for name, array in sorted(outputs.items()):
        array = np.ascontiguousarray(array)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name} {array.dtype.str} {len(array)}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def verdict(equal: str, checked: str | None) -> str:
    """The sentence about a result: what it is equal to, and the check that shares no text with the
    program (:attr:`Result.checked`)."""
    return f"{equal}; {checked}: right" if checked else equal


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """One run of an algorithm on a device."""
    plan: Plan | Hybrid  #: The plan, with every choice that it left to the algorithm.
    #: How many edges, or works, a lane worked on at once, by the option of the schedule
    #: (``unroll``, ``works``, ``windows``); whether the user or the schedule chose the number.
    used: dict[str, int | str]
    frontier: str | None  #: Name of the algorithm's frontier, if it had one.
    deduplicated: bool | None  #: Whether a vertex was in the frontier, and counted, only once.
    graph: str  #: Name of the graph.
    vertices: int  #: Its size.
    edges: int  #: Its size.
    config: HardwareConfig  #: The hardware.
    parameters: dict[str, Any]  #: Parameters of the algorithm, those included that it chose itself.
    supersteps: int  #: Supersteps, and the kernels launched for them.
    launches: int  #: Supersteps, and the kernels launched for them.
    orders: int  #: Launches, and operations of the SCU: all that the host has started.
    #: Cycles of all launches and of all operations of the SCU; 0 on the functional simulator.
    cycles: int
    #: Cycles of the host for all ``orders``, which ``cycles`` does not have: their number times the
    #: cost that the device was given.
    launch_cycles: int
    #: Totals over all launches of a kernel or an SCU operation, by its name: ``unit``, which is
    #: ``"cores"`` or ``"scu"``; ``launches``; and the counters.
    steps: dict[str, dict[str, Any]]
    #: list of (str, int). The sets of kernels that the host launched, in their order: the name of a
    #: set, and its cycles with those of the SCU's operations in it. A search launches a set in each
    #: superstep. Empty if one launch ran all supersteps.
    set_cycles: list[tuple[str, int]]
    #: The performance counters of each launch in ``set_cycles``, without those that are 0.
    set_counters: list[dict[str, int]]
    counters: dict[str, int]  #: The performance counters of all launches together, of all cores.
    core_counters: list[dict[str, int]]  #: The performance counters of each core.
    #: array of (cores, warps, phases + 1), uint64. Cycles of each warp in each phase
    #: (:data:`hw.isa.PHASES`). The last column has all cycles of the warp. The array has length 0
    #: if the machine does not count phases.
    phases: NDArray[np.uint64]
    outputs: dict[str, NDArray[Any]]  #: The results: ``"rank"``, or ``"depth"`` and ``"parent"``.
    #: dict of str to array. Values that make the outputs readable alone: for PageRank
    #: ``fraction_bits`` and ``rank_float``.
    derived: dict[str, Any]
    #: Whether the outputs were compared with the golden model. Outputs that differ raise an error,
    #: so they give no result.
    verified: bool
    model: str  #: The name of the golden model: for a program, the interpreter of its text.
    #: By what else the outputs were found right, which shares no text with the program; None if
    #: there is no such check, as of a program from a user's file.
    checked: str | None
    starts: dict[str, int]  #: The parameters that are vertices: where a search starts.
    reached: int | None  #: The vertices that a search has reached; None of what is no search.
    #: Lines that belong to the figures: where a search starts if nothing was given, and that it
    #: reaches little of the graph.
    notes: list[str]
    memory_bytes: int  #: Device memory that the graph and the algorithm took.

    algorithm = property(lambda self: self.plan.algorithm)
    schedule = property(lambda self: self.plan.schedule)
    format = property(lambda self: self.plan.format)
    direction = property(lambda self: self.plan.direction)
    split = property(lambda self: self.plan.split)

    @property
    def timed(self) -> bool:
        """Whether there are cycles: the functional simulator has none."""
        return "cycles" in self.counters

    @property
    def total_cycles(self) -> int:
        """``cycles`` and ``launch_cycles`` together."""
        return self.cycles + self.launch_cycles

    @property
    def all_phases(self) -> bool:
        """Whether the kernels marked all phases. If not, the whole work on an edge is edge
        access."""
        return self.plan.phases

    @property
    def checksum(self) -> str:
        """SHA-256 of the outputs."""
        return checksum(self.outputs)

    @property
    def verdict(self) -> str:
        """How the outputs were judged, in words."""
        if not self.verified:
            return "not compared"
        return verdict(f"bit-identical to {self.model}", self.checked)

    def to_json(self) -> dict[str, Any]:
        """Everything but the arrays of results, as JSON can hold it; the same for the same run.
        Figures in cycles are left out if there are none."""
        record: dict[str, Any] = self.plan.parts | {"all_phases": self.all_phases}
        record |= {field.name: getattr(self, field.name) for field in dataclasses.fields(self)
                   if field.name not in ("outputs", "derived", "config")}
        record["plan"] = self.plan.text
        record["total_cycles"] = self.total_cycles
        record["config"] = dataclasses.asdict(self.config)
        record["phases"] = self.phases.tolist()
        record["checksum"] = self.checksum
        if not self.timed:
            for name in _IN_CYCLES:
                del record[name]
        return record
