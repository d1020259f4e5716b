"""The choices of an operator of edges, as the kernels of ``runtime.cuh`` take them."""

import dataclasses

from base.errors import UserError
from sw.lang import graph_ir as ir
from sw.lang.choices import DeduplicationForm, SetForm
from sw.lang.passes.deduplication import changes_once
from sw.lang.types import LanguageError
from sw.vm.choices import check_choices, parts
from sw.vm.operator_facts import of_edges


__all__ = ["DIRECTIONS", "SCHEDULES", "CudaChoice", "check_program", "check_variant", "choices"]


#: {schedule: what a thread gets}. Each is the name of a phase of runtime.cuh.
SCHEDULES = {"vertex_based": "a thread a vertex",
             "wm": "a warp shares the edges of its threads' vertices",
             "cm": "a CTA shares the edges of its threads' vertices",
             "strict": "the same number of edges for all threads",
             "twc": "a thread, a warp or a CTA a vertex, by its edges",
             "etwc": "threads, warps and CTAs for parts of a vertex's edges",
             "edge_only": "a thread an edge"}

DIRECTIONS = ("push", "pull")

#: Names of runtime.cuh.
_CREATIONS = {SetForm.SPARSE: "FUSED", SetForm.BITMAP: "BITMAP", SetForm.BOOLMAP: "BOOLMAP"}
_DEDUPLICATIONS = {DeduplicationForm.MONOTONIC_COUNTERS: "COUNTERS",
                   DeduplicationForm.BITMAP: "BITS", DeduplicationForm.BOOLMAP: "BYTES"}


@dataclasses.dataclass(frozen=True)
class CudaChoice:
    """How an operator of edges runs."""
    given_schedule: str | None  #: One of :data:`SCHEDULES`; None: as the direction has it.
    direction: str | None  #: One of :data:`DIRECTIONS`; None: by the arcs of the input.
    #: ``FUSED``, ``BITMAP`` or ``BOOLMAP``; None: as the direction has it.
    given_creation: str | None
    deduplication: str  #: ``COUNTERS``, ``BITS``, ``BYTES`` or ``NOTHING``.
    members_shift: int  #: How the input of pull is marked: 3 for bits, 0 for bytes.
    size: int | None  #: Vertices of a block; None without EdgeBlocking.
    owned: bool  #: Whether pull changes only words of the row's own vertex.

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions that may be taken."""
        return DIRECTIONS if self.direction is None else (self.direction,)

    def schedule(self, direction: str, fused: bool = False, even: bool = False) -> str:
        """One of :data:`SCHEDULES`, or in a fused loop ``spread``. If nobody chose, all threads of
        push have equally many edges, so that one vertex with many is no trouble. So they have in
        pull, unless one thread reduces the words of a row at its end, or no row of the graph is
        long (``even``)."""
        if self.given_schedule is not None or self.size is not None:
            return self.given_schedule or "etwc"
        if direction == "pull":
            return "etwc" if self.owned or even else "strict"
        return "spread" if fused else "strict"

    @property
    def own(self) -> bool:
        """Whether nobody chose a load balance or a direction."""
        return self.given_schedule is None and self.direction is None

    def creation(self, direction: str) -> str:
        """How the result is made: if nobody chose, push appends to a queue while it goes through
        edges, and pull marks vertices."""
        return self.given_creation or {"push": "FUSED", "pull": "BOOLMAP"}[direction]


def check_variant(schedule: str, direction: str) -> None:
    """Raise UserError if this GraphVM has no such schedule or direction."""
    if schedule not in SCHEDULES:
        raise UserError(f"schedule {schedule!r} must be one of {', '.join(SCHEDULES)}")
    if direction not in DIRECTIONS:
        raise UserError(f"direction {direction!r} must be one of {', '.join(DIRECTIONS)}")


def choices(program, node, schedule=None, direction=None) -> list[CudaChoice]:
    """The choices of an EdgeSetIterator: two for a hybrid schedule, of which the second is for
    large inputs.

    Parameters
    ----------
    program : GraphProgram
        After the passes up to :data:`sw.lang.passes.CHOSEN`.
    node : EdgeSetIterator
    schedule, direction : str, optional
        In place of the operator's own.
    """
    found, owned = [], of_edges(program, node, pull=True).owned
    for metadata in parts(node):
        form, balance = metadata.get("output_representation"), metadata.get("load_balance")
        strategy = metadata.get("deduplication_strategy") or DeduplicationForm.MONOTONIC_COUNTERS
        found.append(CudaChoice(
            schedule or (balance and str(balance)),
            direction or metadata.get("direction"), form and _CREATIONS[form],
            _DEDUPLICATIONS[strategy] if metadata.get("apply_deduplication", True) else "NOTHING",
            0 if metadata.get("pull_input_frontier") is SetForm.BOOLMAP else 3,
            metadata["blocking_size"] if metadata.get("edge_blocking") else None, owned))
    return found


def check_program(program, schedule=None, direction=None) -> None:
    """Refuse what this GraphVM cannot do.

    Raises
    ------
    UserError
        If a schedule or a direction is unknown, or a result would hold a vertex twice.
    """
    check_choices(program, "cuda", {"load_balance": tuple(SCHEDULES), "direction": DIRECTIONS})
    check_variant(schedule or "etwc", direction or "push")
    for node in ir.instructions(program.body):
        if not (isinstance(node, ir.EdgeSetIterator) and node.tracking is not None):
            continue
        once = changes_once(program.function(node.apply_f), node.tracking)
        for choice in choices(program, node, schedule, direction):
            if choice.deduplication == "NOTHING" and not once and any(
                    choice.creation(each) == "FUSED" for each in choice.directions):
                raise LanguageError(
                    node.position, f"no_dedup: several edges may change {node.tracking} of one "
                    "vertex, so the list would hold the vertex twice; use dedup, unfused_bitmap or "
                    "unfused_boolmap")
