"""The interface of an algorithm (GRAssembler, table 2.4)."""

from typing import Any

from sw.errors import UserError


__all__ = ["Algorithm"]


class Algorithm:
    """Base of the algorithms. An instance is one run: a graph and its parameters.

    The methods that emit code work on batches: they are given all edges that a lane works on at
    once, so that their loads can be under way together.

    Attributes
    ----------
    name : str
        Its name for users.
    directions : tuple of str
        Directions that it supports, its own choice first. In ``"pull"`` a vertex collects over the
        edges that enter it; in ``"push"`` a vertex sends over the edges that leave it.
    options : tuple of str
        Names of its parameters.
    weighted : bool
        Whether it uses the weights of the edges.
    switches : bool
        Whether it can choose between pull and push before each superstep (``"auto"``): it has
        :meth:`check_direction`, and its kernels are then named by their directions.
    void_edge : str
        An edge that changes nothing, which stands where a format has places without edges:
        ``"self"``: from a vertex to itself, with weight 0; ``"padding"``: from a vertex to the
        padding vertex, the one behind the last.
    """
    name: Any = None
    directions = ("pull", "push")
    options = ()
    weighted = False
    void_edge = "self"
    switches = False

    def __init__(self, graph):
        self.graph = graph

    @classmethod
    def check_has(cls, direction):
        """Raise UserError if the algorithm cannot take this direction."""
        if direction == "auto" and not cls.switches:
            raise UserError(f"algorithm {cls.name!r} cannot change its direction (auto): it has "
                            "no rule for the choice (checkDirection); it has "
                            f"{', '.join(cls.directions)}")
        if direction not in (*cls.directions, "auto"):
            raise UserError(f"algorithm {cls.name!r} has no direction {direction!r}; it has "
                            f"{', '.join(cls.directions)}" + ", auto" * cls.switches)

    # Memory

    def reserve(self, task):
        """Reserve its buffers, among them the vertex arrays of ``task.vertex_words`` words each."""
        raise NotImplementedError

    def init_vertex_value(self, task):
        """Fill the reserved buffers."""
        raise NotImplementedError

    def neighbor_array(self, task) -> str:
        """The vertex array in whose addresses the neighbours are stored."""
        raise NotImplementedError

    def base_array(self, task) -> str:
        """The vertex array in whose addresses base vertices are handed around."""
        raise NotImplementedError

    # The frontier. Where it is a list, its vertices are worked on; else every vertex is offered to
    # `filter`, and by schedules that need "edges" every edge's base vertex.

    def frontiers(self, task) -> tuple:
        """Names of the frontiers it can take (:data:`sw.kernels.frontiers.FRONTIERS`), its own
        choice first; none if it has no frontier."""
        return ()

    def frontier_reason(self, task) -> str:
        """Why it can take no others."""
        raise NotImplementedError

    def tested(self, task) -> bool:
        """Whether a vertex's own values do not tell if it is in the frontier."""
        return False

    def adds_once(self, task, asked) -> bool:
        """Whether it adds no vertex twice in a superstep; if ``asked`` to, where it can."""
        return False

    def first_threshold(self, task) -> int | None:
        """The threshold of the first supersteps, if those vertices are to be worked on first
        whose word in the base array is below it."""
        return None

    def new_threshold(self, k, old, into):
        """``into`` = the threshold that follows ``old`` (getNewGlobalThreshold)."""
        raise NotImplementedError

    def first_only(self, k) -> bool:
        """Whether the first edge of a row that counts settles the row."""
        return False

    def selective(self, task) -> bool:
        """Whether only the edges count that :meth:`accepts` accepts."""
        return False

    # Code of the kernels

    def kernels(self, task) -> dict:
        """The program's kernels, by name: ``("gather" | "apply", variant)``."""
        raise NotImplementedError

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
        """The base vertex comes up in the next round: begin to bring what :meth:`sum` will write
        to the shared level."""

    def token(self, k, base):
        """The form in which a schedule is to hand out base vertices: ``base`` itself, or a vertex
        in a new register."""
        return base

    def begin(self, k, base):
        """A lane starts on a base vertex of its own (only if the schedule owns it)."""

    @staticmethod
    def source_word(k, edge, array, into):
        """A register with the word of an edge's source in an array, which is the one that the
        source's end is in: where it was gathered before, else loaded into ``into()``."""
        if edge.value is not None:
            return edge.value
        source = edge.neighbor if k.task.direction == "pull" else edge.base
        into = into()
        k.a.lw(into, k.pointer(source, array, into))
        return into

    def gather(self, k, edges):
        """Load what is collected over the edges. Returns one register an edge."""
        raise NotImplementedError

    def accepts(self, k, data, into, counts=True):
        """``into`` = 1 if an edge with this data counts (or does not), else 0."""
        raise NotImplementedError

    def sum(self, k, edge, data, predicate):
        """Take the edge's data into its destination.

        Only lanes whose edge counts are active. They may be narrowed, by ``predicate`` only; the
        schedule sets them again. ``data`` is None if the first edge that counts settles its base
        vertex and the schedule owns that.
        """
        raise NotImplementedError

    def collects(self, task) -> bool:
        """Whether something is collected in registers for a vertex that is owned: what
        :meth:`finish` is for."""
        return False

    def combine(self, k, distance):
        """Lanes that share a vertex: take in what the lane whose number differs by ``distance``, a
        power of two, has collected. All lanes are active."""
        raise NotImplementedError

    def finish(self, k, base):
        """A lane has done all edges of its base vertex (only if the schedule owns it)."""

    def apply(self, k):
        """Emit the loop over vertices of an apply kernel."""
        raise NotImplementedError

    # Work of the host

    def check_direction(self, direction, vertices) -> str:
        """The direction of the next superstep, by that of the last and the number of vertices in
        the frontier."""
        raise NotImplementedError

    def drive(self, session) -> int:
        """Launch the supersteps. Returns their number."""
        raise NotImplementedError

    def outputs(self, session) -> dict:
        """The result arrays, by name."""
        raise NotImplementedError

    def derived(self, outputs) -> dict:
        """Further arrays by name, which make the result arrays readable alone."""
        return {}

    def golden(self) -> dict:
        """The outputs that :meth:`outputs` must give, by the reference model."""
        raise NotImplementedError

    def parameters(self) -> dict:
        """The parameters of the run, for the record."""
        raise NotImplementedError
