"""The interface of a schedule (GRAssembler, table 2.2)."""

from sw.errors import UserError


__all__ = ["Schedule"]


class Schedule:
    """Base of the schedules.

    Attributes
    ----------
    name : str
        Its name for users.
    needs : str
        Access that it needs from the format: ``"rows"`` or ``"edges"`` (see
        :class:`~sw.formats.base.StorageFormat`).
    owns_base : bool
        Whether one lane works on all edges of a row, one after the other. Then the lane keeps the
        values of the base vertex in registers. Pulling needs no atomic for a vertex that has only
        this row.
    OPTIONS : dict
        Options by name (:mod:`sw.kernels.options`); written ``NAME:OPTION=VALUE``.
    options : dict
        The value of each.
    shares_base : bool
        Whether several lanes share an owned row. Each lane has some of the row's edges, and the
        lanes combine their results at the end.
    counts_edges : bool
        Whether the locations of consecutive edges differ by 1. If not, they differ by an edge's
        bytes.
    squeeze : int
        Divisor of the number of edges that a lane works on at once; above 1 if registers are
        scarce.
    lean : bool
        Whether registers are so scarce that constants are not kept in registers.
    needs_scu : bool
        Whether the hardware must have a Stream Compaction Unit.
    """
    name = None
    needs = "rows"
    OPTIONS = {}
    owns_base = shares_base = False
    counts_edges = False
    squeeze = 1
    lean = False
    needs_scu = False

    def __init__(self, **options):
        self.options = options

    @property
    def lanes_apart(self) -> int:
        """Distance, in edges, of the edges that a lane works on at once."""
        return 1

    def at_once(self, edges) -> int:
        """Edges that a lane can work on at once, given the number that the schedule prefers."""
        return max(1, edges // self.squeeze)

    def algorithm(self, kind):
        """The class that runs an algorithm under this schedule, given the algorithm's own class.
        Raises UserError if there is none."""
        return kind

    def directions(self, kind) -> tuple:
        """The directions in which the schedule can run an algorithm, given the algorithm's class;
        empty if the schedule cannot run the algorithm."""
        return kind.directions

    def layouts(self, task) -> list:
        """The layouts of the graph that the kernels go through."""
        return task.format.layouts(task)

    def check_config(self, config):
        """Raise UserError if the schedule cannot run on this hardware."""

    def check(self, task):
        """Raise UserError if the schedule cannot serve this task."""
        self.check_config(task.config)

    def edge_block(self, task) -> int:
        """Number of edges of a block, if the schedule needs ``"edges"``."""
        raise NotImplementedError

    def overread(self, task) -> int:
        """Words behind the last edge that may be read, though not used."""
        return 0

    def init_global(self, k):
        """Prologue of a gather kernel: set up the values that all lanes of the device share."""

    def init_shared(self, k):
        """Set up the memory that the warps of a core share."""

    def go_on(self, k):
        """Between two layouts of a gather kernel: all lanes of a warp are active."""

    def get_next_edge(self, k):
        """Emit the loops that bring every edge of the frontier to a lane, and for each edge call
        the format and the algorithm."""
        raise NotImplementedError

    @classmethod
    def refuse(cls, reason):
        """The error for a combination that cannot work."""
        return UserError(f"schedule {cls.name!r} {reason}")
