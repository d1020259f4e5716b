"""The result of a run."""

from __future__ import annotations

import dataclasses
import hashlib
import html
from typing import TYPE_CHECKING

import numpy as np

from base.errors import UserError
from base.printable import PIECE, printable
from hw.config import HardwareConfig
from hw.stalls import STALLS
from sw.compile.lowered import Lowered, summary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from sw.compile.plan import Hybrid, Plan


__all__ = ["STALL_LABELS", "Result", "checksum", "frame_of", "verdict"]


#: The causes for which a core issues nothing, by their counters, with the names for users.
STALL_LABELS = {**{f"stall_{name}": stall.label for name, stall in STALLS.items()},
                "stall_idle": "no warp left"}

#: Outputs whose words are vertices have this where there is none.
_NONE = (1 << 32) - 1


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


def frame_of(columns: Mapping[str, Any], index: Any, title: str, what: str) -> Any:
    """A pandas frame of columns, whose index has a title. Raises UserError, naming ``what`` needs
    it, if pandas is not installed."""
    try:
        import pandas                # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise UserError(f"{what} needs pandas, which is not installed: pip install pandas") \
            from None
    return pandas.DataFrame(columns, index=pandas.Index(index, name=title, tupleize_cols=False))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
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
    supersteps: int  #: Executions of operators of edges.
    launches: int  #: The kernels that were launched for all of the run.
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
    #: What became of the algorithm: its kernels, and what was chosen or refused, with the fact that
    #: is missing.
    lowered: Lowered
    #: The name of each vertex, as of the graph; None if vertices have numbers only.
    names: NDArray[Any] | None = None
    vertex_outputs: tuple[str, ...] = ()  #: The outputs whose words are vertices.

    algorithm = property(lambda self: self.plan.algorithm)  #: Its name.
    schedule = property(lambda self: self.plan.schedule)  #: As of the plan.
    format = property(lambda self: self.plan.format)  #: As of the plan.
    direction = property(lambda self: self.plan.direction)  #: As of the plan.
    split = property(lambda self: self.plan.split)  #: As of the plan.

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
    def labels(self) -> list[Any]:
        """The name of each vertex; its number if there are no names."""
        return list(range(self.vertices)) if self.names is None else self.names.tolist()

    @property
    def instructions(self) -> int:
        """Instructions of all warps."""
        return self.counters.get("instructions", 0)

    @property
    def active_lanes(self) -> float:
        """Lanes that an instruction has worked on, on average."""
        return self.counters.get("lanes", 0) / max(1, self.instructions)

    @property
    def stalls(self) -> dict[str, float]:
        """The share of all cycles of the cores in which they issued nothing, by the cause, the
        largest first. Empty without cycles."""
        slots = self.counters.get("cycles", 0) * self.config.cores
        found = {label: self.counters.get(name, 0) / slots
                 for name, label in STALL_LABELS.items()} if slots else {}
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def dram_bytes(self) -> int:
        """Bytes that DRAM has moved, either way."""
        return (self.counters.get("dram_bytes_read", 0)
                + self.counters.get("dram_bytes_written", 0))

    def named(self, output: str) -> NDArray[Any]:
        """An output, or a derived array, by vertex. Vertices in it are named: an array of objects,
        with None for none. Raises UserError if there is no such output."""
        found: Any = (self.outputs | self.derived).get(output)
        if found is None or np.ndim(found) == 0:
            known = ", ".join(name for name, array in (self.outputs | self.derived).items()
                              if np.ndim(array))
            raise UserError(f"{self.algorithm} has no output {output!r}; it has {known}")
        if output not in self.vertex_outputs:
            return found
        labels, words = self.labels, found.view(np.uint32).tolist()
        return np.fromiter((None if word == _NONE else labels[word] for word in words), object,
                           len(words))

    def by_name(self, output: str) -> dict[Any, Any]:
        """The value of each vertex, by its name: ``by_name("depth")["alice"]``; values and errors
        are those of :meth:`named`. Without names, numbers take their place."""
        return dict(zip(self.labels, self.named(output).tolist()))

    def frame(self) -> Any:
        """A pandas frame with a row for each vertex, by its name, and a column for each output and
        derived array; of an output with several words for a vertex, a column for each word.

        Raises UserError if pandas is not installed.
        """
        columns: dict[str, Any] = {}
        for name, array in (self.outputs | self.derived).items():
            if np.ndim(array) == 2:
                columns |= {f"{name}_{place}": column for place, column in enumerate(array.T)}
            elif np.ndim(array):
                columns[name] = self.named(name)
        return frame_of(columns, self.labels, "vertex", "frame()")

    def _facts(self) -> dict[str, str]:
        """What there is to say of the run in four lines, by titles."""
        size = f"{self.vertices:,} vertices, {self.edges:,} arcs"
        found = {"graph": f"{printable(self.graph, PIECE)}: {size}; hardware {self.config.name}"}
        cost = f"{self.instructions:,} instructions, {self.active_lanes:.1f} lanes active"
        if self.timed:
            stall, share = next(iter(self.stalls.items()))
            cost = (f"{self.total_cycles:,} cycles, {self.launch_cycles:,} of them for "
                    f"{self.orders:,} launches; {cost}; {100 * share:.0f} % {stall}")
        found["cost"] = cost
        if self.reached is not None:
            starts = ", ".join(f"{name} {printable(str(self.labels[vertex]), PIECE)}"
                               for name, vertex in self.starts.items())
            found["search"] = (f"{starts}{': ' * bool(starts)}{self.reached:,} of "
                               f"{self.vertices:,} vertices reached")
        found["result"] = f"{', '.join(self.outputs)}: {self.verdict}"
        return found

    def __repr__(self) -> str:
        return "\n".join([f"<{type(self).__name__} of {self.plan.text}",
                          *(f"  {text}" for text in self._facts().values())]) + ">"

    def _repr_html_(self) -> str:
        """The lines of ``repr`` as a table, for notebooks."""
        rows = "".join(f"<tr><th style='text-align:left'>{name}</th>"
                       f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
                       for name, text in {"plan": self.plan.text, **self._facts()}.items())
        return f"<table>{rows}</table>"

    @property
    def lowering(self) -> str:
        """A line on how the algorithm ran: kernels a superstep, launches, what was refused."""
        return summary(self.lowered, len(self.set_cycles), self.launches, self.supersteps)

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
                   if field.name not in ("outputs", "derived", "config", "names", "vertex_outputs",
                                         "lowered")}
        record["lowering"] = self.lowered.to_json() | {"summary": self.lowering}
        record["plan"] = self.plan.text
        record["total_cycles"] = self.total_cycles
        record["config"] = dataclasses.asdict(self.config)
        record["phases"] = self.phases.tolist()
        record["checksum"] = self.checksum
        if not self.timed:
            for name in _IN_CYCLES:
                del record[name]
        return record
