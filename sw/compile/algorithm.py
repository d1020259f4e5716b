"""The interface of an algorithm (GRAssembler, table 2.4)."""

import dataclasses
from typing import Any

from base.errors import UserError
from sw.compile.lowered import LoweredKernel, LoweringDecision


__all__ = ["Algorithm", "Operator", "SentWord", "VertexName"]


class VertexName:
    """The type of a parameter that is a vertex, given by its number or its name
    (:meth:`sw.graph.graph.Graph.vertex`): in a plan an int or a str."""


@dataclasses.dataclass(frozen=True)
class SentWord:
    """What comes from the source of an edge that pushes, where an edge is known by its destination
    and one word beside it. What is not said does not hold."""
    #: Whether the word is the source's word in ``array``, plus the weight of the edge if there are
    #: weights. :meth:`Operator.gather` and :meth:`Operator.sum` then need no base of an edge that
    #: has its ``value``. If not, the word is the source.
    value: bool = False
    array: str | None = None  #: A vertex array; None for the base array.
    fits: bool = False  #: Whether no such sum passes 32 bits.
    #: Whether :meth:`Operator.gather` of edges that are selected does not read their bases.
    late: bool = False
    #: Whether an edge may be dropped if another edge with the same destination has been taken in,
    #: in this superstep or before, whose word is not larger.
    drops: bool = False
    forgets: bool = False  #: Whether it may only be dropped for an edge of this superstep.
    work: str = "the work on an edge"  #: What needs the word, for messages.

    def array_of(self, task) -> str:
        """The vertex array of the source's word."""
        return self.array or task.algorithm.base_array(task)


class Operator:
    """Base of what goes through the edges of a graph. Schedules, formats and frontiers know of an
    algorithm what is in this class.

    =====================================  ======================================================
    :meth:`prepare`                        the prologue of a kernel
    :meth:`filter`                         which base vertices take part
    :meth:`gather`                         the loads of a few edges
    :meth:`accepts`                        which of these edges count
    :meth:`sum`                            the work on an edge
    :meth:`begin`, :meth:`finish`          the work at a vertex that a lane owns, around its edges
    :meth:`private`                        what such a lane collects in registers
    :attr:`words`                          the width: words of a vertex on which an edge works
    =====================================  ======================================================

    The methods that emit code work on batches. They get all edges that a lane works on at once, so
    that the loads of these edges can be under way together.

    Attributes
    ----------
    name : str
        Its name for users.
    weighted : bool
        Whether it uses the weights of the edges.
    has_sets : bool
        Whether its operators of edges have sets of their own (:mod:`sw.compile.frontiers.pool`).
    no_frontier : str
        Why there is no choice of a frontier, where there is none.
    sent : SentWord
        What comes from an edge's source, for schedules that make lists of edges.
    sends_early : bool
        Whether the word that a vertex sends may be read long before its edges are worked on, at no
        cost in supersteps. Then no word is all ones, or one less.
    identity : int or None
        The word that changes nothing where words are collected, if a vertex that pulls may collect
        by :meth:`collect_at`: if it collects one word, and the work on an edge does nothing else.
    words : int or None
        Words of a vertex on which an edge's work is done. A lane works on all of them, or
        neighbouring lanes share them
        (:meth:`~sw.compile.schedules.schedule.Schedule.lanes_of_words`). It may have fewer at once
        (:attr:`~sw.compile.schedules.schedule.Choices.divisor`). None if the algorithm
        knows vertices of one word only.
    void_edge : str
        The edge that changes nothing, for a format's places without edges. ``"self"`` is an edge
        from a vertex to itself, with weight 0. ``"padding"`` is an edge from a vertex to the
        padding vertex, which follows the last vertex.
    """
    name: Any = None
    weighted = False
    void_edge = "self"
    has_sets = False
    no_frontier = "every vertex takes part"
    sent: Any = SentWord()
    sends_early = False
    identity: int | None = None
    words: Any = None

    def __init__(self, graph):
        self.graph = graph

    def edges_at_once(self, task) -> int | None:
        """Most edges that a lane works on at once, if the user does not say; None for any
        number."""
        return None

    def neighbor_array(self, task) -> str:
        """The vertex array in whose addresses the neighbours are stored."""
        return self.base_array(task)

    def base_array(self, task) -> str:
        """The vertex array whose addresses stand for base vertices in kernels."""
        raise NotImplementedError

    # Which edges count. If the frontier is a list, kernels work on its vertices. Otherwise `filter`
    # gets every vertex, or with schedules that need "edges" the base vertex of every edge.

    def first_only(self, k) -> bool:
        """Whether the first edge of a row that counts settles the row."""
        return False

    def selective(self, task) -> bool:
        """Whether only the edges count that :meth:`accepts` accepts."""
        return False

    # Code of the kernels

    def neighbor_settings(self, k) -> dict:
        """The settings by which a unit drops edges that cannot count, by a word of the neighbour
        (:class:`~hw.operations.EdgeTest`): a number or a register each; empty if there is no such
        test. Behind :meth:`prepare`."""
        return {}

    def prepare(self, k):
        """Prologue: ask for the constants, read the state of the superstep."""

    def filters(self, task) -> bool:
        """Whether base vertices are filtered."""
        return False

    def filter_data(self, k, base, into):
        """Load the word by which a base vertex is filtered."""

    def filter(self, k, base, data, into):
        """``into`` = 1 if the base vertex takes part in this superstep, else 0."""

    def expect(self, k, base):
        """The base vertex comes up in the next round: prefetch into the shared level the line that
        :meth:`sum` will write."""

    def token(self, k, base):
        """The form in which a schedule hands out base vertices: ``base`` itself, or a vertex in a
        new register."""
        return base

    def begin(self, k, base):
        """A lane starts on a base vertex of its own (only if the schedule owns it)."""

    def gather(self, k, edges):
        """Load the data to collect over the edges. Returns one register for each edge. Active lanes
        have all the edges, but for the places of a list or of an active layout behind its end:
        elsewhere an operator may begin its work, for edges that it does not accept too."""
        raise NotImplementedError

    def accepts(self, k, data, into, counts=True):
        """``into`` = 1 if an edge with this data counts (or does not), else 0."""
        raise NotImplementedError

    def counts(self, k, data, into, left=None, place=0):
        """``into`` = 1 if an edge with this data counts, else 0. With ``left``, the number of bytes
        to the end of a list, an edge ``place`` bytes on or more does not count."""
        if self.selective(k.task):
            self.accepts(k, data, into)
        else:
            k.a.li(into, 1)
        if left is not None:
            behind = k.a.reg("behind")
            k.a.slti(behind, left, place + 1)
            k.a.sltu(into, behind, into)

    def sum(self, k, edge, data, predicate):
        """Combine the edge's data into its destination.

        Only lanes whose edge counts are active. The code may narrow the lanes, by ``predicate``
        only; the schedule sets them again. ``predicate`` is None if all edges count, so an
        algorithm that adds to a frontier is :meth:`selective`. ``data`` is None if the first edge
        that counts settles its base vertex and the schedule owns the vertex.
        """
        raise NotImplementedError

    def sums(self, k, edges, data):
        """As :meth:`sum`, for edges of a lane that all count."""
        for edge, each in zip(edges, data):
            self.sum(k, edge, each, None)

    def take(self, k, edge, predicate, otherwise):
        """The work on one edge of each active lane. Where no edge counts, go to ``otherwise`` with
        all lanes; ``predicate`` is as of :meth:`~sw.compile.kernels.kernel.Kernel.narrow`."""
        data, = self.gather(k, [edge])
        if self.selective(k.task):
            self.accepts(k, data, predicate)
            k.narrow(predicate, otherwise)
        self.sum(k, edge, data, predicate)

    def private(self, task) -> dict[str, str]:
        """The reductions by which a lane that owns a vertex collects in registers, by name; empty
        if it does not. :meth:`begin` sets the registers (``k.private``, a
        :class:`~sw.compile.kernels.reductions.Private`), :meth:`sum` collects, lanes that share a
        vertex merge, and :meth:`finish` stores."""
        return {}

    def collect_at(self, k, data, address):
        """Merge an edge's data into the word at ``address`` in local memory, by a local atomic. In
        the end :meth:`begin`, :meth:`~sw.compile.kernels.reductions.Private.take` of this word and
        :meth:`finish` follow each other."""
        raise NotImplementedError

    def finish(self, k, base):
        """A lane has done all edges of its base vertex (only if the schedule owns it)."""

    def end(self, k):
        """All lanes have done all edges."""


class Algorithm(Operator):
    """Base of the algorithms. An instance is one run: a graph and its parameters. It goes through
    the graph itself, or has :meth:`operators` that do.

    Attributes
    ----------
    ARRAYS : tuple of str
        Its vertex arrays, the one in whose addresses kernels know vertices first.
    ITEM : tuple of (str, str)
        The name of an entry of its results, and the plural.
    MODEL : str
        The name of the model by which :meth:`golden` has its outputs.
    directions : tuple of str
        Directions that it supports, its own choice first. In ``"pull"`` a vertex collects over the
        edges that enter it; in ``"push"`` a vertex sends over the edges that leave it.
    options : dict of str to tuple
        Its parameters, by name: the type of the value, and the words that may stand for one.
    TRIES : dict of str to tuple
        Parameters that change only the cost of a run, each with the values that the tuner tries,
        the default first.
    switches : bool
        Whether each superstep can go by another plan (:class:`sw.compile.plan.Hybrid`). Such an
        algorithm names its kernels by the task's sides.
    stays : str
        Why not, if it :attr:`switches` not.
    operator_names : tuple of str
        The names of its operators of edges (:meth:`operators`), if it is a program.
    labels : dict of str to tuple of str
        Those of a program's operators that have a label, or are in the loop that has it, by scoped
        labels.
    check : sw.golden.results.ResultCheck or None
        The check of its results that shares no text with it, if there is one.
    vertex_outputs : tuple of str
        The outputs whose words are vertices, and -1 or all ones for none.
    """
    ARRAYS: tuple[str, ...] = ()
    ITEM = "vertex", "vertices"
    MODEL = "the golden model"
    directions = ("pull", "push")
    options: dict[str, tuple] = {}
    TRIES: dict[str, tuple] = {}
    switches = False
    stays = "all vertices take part in each superstep"
    operator_names: tuple[str, ...] = ()
    labels: dict[str, tuple[str, ...]] = {}
    check: Any = None
    vertex_outputs: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The graph and its size, for messages."""
        graph = self.graph
        return f"{graph.name} ({graph.num_vertices} vertices, {graph.num_edges} edges)"

    @classmethod
    def check_has(cls, direction):
        """Raise UserError if the algorithm cannot take this direction."""
        if direction == "auto" and not cls.switches:
            raise UserError(f"algorithm {cls.name!r} cannot change its direction (auto) or its "
                            f"plan between supersteps: {cls.stays}; it has the directions "
                            f"{', '.join(cls.directions)}")
        if direction not in (*cls.directions, "auto"):
            raise UserError(f"algorithm {cls.name!r} has no direction {direction!r}; it has "
                            f"{', '.join(cls.directions)}" + ", auto" * cls.switches)

    def operators(self) -> dict:
        """The operators that go through graphs as parts of this algorithm, by the names of its
        kernels; empty if it goes through its graph itself."""
        return {}

    def side_of(self, task, kernel) -> str | None:
        """The name of the side of a task (:attr:`~sw.compile.task.Task.sides`) by which a kernel
        goes through edges; None if it is a kernel of the task itself."""
        return kernel

    def base_array(self, task):
        return self.ARRAYS[0]

    # Memory

    def reserve(self, task):
        """Reserve the vertex arrays, of ``task.vertex_words`` words each."""
        for name in self.ARRAYS:
            task.buffers.reserve(name, task.vertex_words)

    def init_vertex_value(self, task):
        """Fill the reserved buffers."""
        raise NotImplementedError

    # Kernels

    def kernels(self, task) -> dict:
        """The program's kernels, by name: ``("gather" | "apply", variant)``."""
        raise NotImplementedError

    def lowered(self, task) -> list[LoweredKernel]:
        """What each kernel of :meth:`kernels` does, for whoever looks at a plan; the launches are
        left out."""
        return [_described(task.sides.get(name, task), name, kind)
                for name, (kind, _) in self.kernels(task).items()]

    def decisions(self, task) -> list[LoweringDecision]:
        """The choices of the algorithm between a fast way and a slow one."""
        return []

    def apply(self, k):
        """Emit the loop over vertices of an apply kernel."""
        raise NotImplementedError

    # Work of the host

    def loop(self, task) -> Any:
        """The supersteps as one kernel (:mod:`sw.compile.kernels.fusion`), a
        :class:`~sw.compile.lower.host_kernel.DeviceProgram`. Raises UserError, with the reason, if
        the host has work between supersteps."""
        raise UserError(f"{self.name}: fusion=yes needs an algorithm whose supersteps are a loop "
                        "of the same kernels, without work of the host")

    def drive(self, session) -> int:
        """Run the supersteps. Returns their number."""
        raise NotImplementedError

    def outputs(self, session) -> dict:
        """The result arrays, by name."""
        raise NotImplementedError

    def derived(self, outputs) -> dict:
        """Further arrays by name, with which the result arrays are readable alone."""
        return {}

    def golden(self) -> dict:
        """The outputs that :meth:`outputs` must give, by the reference model."""
        raise NotImplementedError

    def fault(self, outputs) -> str | None:
        """The first fault of outputs by :attr:`check`, as a text; None if there is none, or no
        check."""
        return None

    def starts(self) -> dict[str, int]:
        """The parameters that are vertices, by name."""
        return {}

    def reached(self, outputs) -> int | None:
        """The number of vertices that a search has reached; None of what is no search."""
        return None

    def notes(self, reached) -> list[str]:
        """Lines about a run that has :meth:`reached` so many vertices: what whoever reads its
        figures must know."""
        return []

    def parameters(self) -> dict:
        """The parameters of the run, for the record."""
        raise NotImplementedError


def _described(task, name, kind):
    """A kernel of which no more is known than whether it gathers."""
    if kind != "gather":
        return LoweredKernel(name, (("vertex", name),))
    read, added = task.input, task.frontier
    return LoweredKernel(name, (("edge", name),), read and read.name, added and added.name)
