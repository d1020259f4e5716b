"""What the facts of an operator permit to its code, for all machines that write C.

An operator of edges goes through *rows*: in ``push`` the arcs that leave the sources, in ``pull``
the arcs that enter the destinations.
"""

import dataclasses

from sw.lang import graph_ir as ir
from sw.lang.facts import AccessSet, Apart, known, suffices
from sw.lang.faults import can_fail


__all__ = ["OperatorFacts", "leaves_early", "of_edges", "of_vertices"]


@dataclasses.dataclass(frozen=True)
class OperatorFacts:
    """How the code of an operator reaches vectors."""
    copied: tuple[str, ...] = ()  #: Words of the start are read in a copy.
    #: Of those of ``copied``: only words at sources are read, so no others need a copy.
    at_sources: tuple[str, ...] = ()
    racing: frozenset[str] = frozenset()  #: They are read while other threads change them.
    #: {vector: operation}: they are reduced at the row's own vertex only, so a thread may combine
    #: its values before it reduces the word. Nobody else does if it has all arcs of the row: then
    #: it needs no atomics.
    gathered: dict[str, str] = dataclasses.field(default_factory=dict)
    owned: bool = False  #: Whether no other vectors are changed.
    equal: frozenset[str] = frozenset()  #: All calls reduce an element by one word.
    exits: bool = False  #: Whether a row may be left behind the first edge that is accepted.
    tracking: str | None = None  #: The vector whose changed vertices are the result.
    stamped: dict[str, ir.Uniform] = dataclasses.field(default_factory=dict)  #: As of ``races``.


def of_vertices(node) -> OperatorFacts:
    """Those of a VertexSetIterator."""
    return OperatorFacts(node.metadata["start_copies"], racing=frozenset(
        access.vector for access in known(node, AccessSet).function
        if access.kind == "load" and access.at == "elsewhere"))


def of_edges(program, node, pull, owners=False) -> OperatorFacts:
    """Those of an EdgeSetIterator.

    Parameters
    ----------
    program : GraphProgram
        After the passes.
    node : EdgeSetIterator
    pull : bool
        The direction.
    owners : bool
        Whether in ``pull`` one thread has all arcs of a row, and changes its words behind them.
    """
    function, touched, owners = program.function(node.apply_f), known(node, AccessSet), \
        owners and pull
    reductions = [part for part in ir.walk(*function.body) if isinstance(part, ir.Reduce)]
    vectors = [part.vector for part in reductions]
    at_row = touched.changed_at("dst" if pull else "src")
    copied = node.metadata["owner_copies" if owners else "start_copies"]
    still = {"src"} if known(node, Apart) else set()
    return OperatorFacts(
        copied, tuple(vector for vector in copied if _at_sources(program, node, vector)),
        _racing(touched, copied, still | {"dst"} if owners else still),
        {part.vector: part.operation for part in reductions if part.vector in at_row},
        at_row >= touched.writes,
        frozenset(vector for vector in vectors if vectors.count(vector) == 1)
        if suffices(node, "any") else frozenset(),
        pull and leaves_early(program, node), node.tracking, node.metadata.get("stamped", {}))


def leaves_early(program, node) -> bool:
    """Whether a worker that has all edges of a destination, in the order of their sources, may
    leave them behind the first that is accepted: it decides the words, and the others have no
    faults of their own."""
    function = program.function(node.apply_f)
    return suffices(node, "any", "first") and (not can_fail(function) or all(
        isinstance(part, ir.Reduce) for part in function.body))


def _racing(touched, copies, still):
    """The vectors that are read while other threads change them: those without a copy, but for
    words at ends where only those at destinations change, and not these words at that time."""
    loads = {access for access in touched.function | touched.filter if access.kind == "load"}
    quiet = touched.changed_at("dst") - {load.vector for load in loads if load.at not in still}
    return touched.writes - quiet - set(copies)


def _at_sources(program, node, vector):
    """Whether an operator reads a vector only at the sources of its edges, which are not all."""
    if node.input_vset == ir.ALL:
        return False
    if node.to_filter is not None and vector in program.function(node.to_filter).reads():
        return False
    function = program.function(node.apply_f)
    return all(function.parameter(part.index) == 0 for part in ir.walk(*function.body)
               if isinstance(part, ir.VectorLoad) and part.vector == vector)
