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
        Whether all edges of a row are worked on by one lane, one after the other. Then what belongs
        to the base vertex is kept in registers and, when pulling a vertex that has only this row,
        no atomic is needed.
    OPTIONS : dict
        Options by name (:mod:`sw.kernels.options`); written ``NAME:OPTION=VALUE``.
    options : dict
        The value of each.
    shares_base : bool
        Whether several lanes share a row that is owned: each has some of its edges, and what they
        collect is brought together at the end.
    counts_edges : bool
        Whether the locations of consecutive edges differ by 1, else by their bytes.
    squeeze : int
        How many times fewer edges a lane is to work on at once than the schedule would like to, for
        want of registers.
    lean : bool
        Whether, for the same reason, constants are not to be kept in registers.
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
        """Edges that a lane can work on at once, of as many as it would like to."""
        return max(1, edges // self.squeeze)

    def algorithm(self, kind):
        """The class that runs an algorithm under this schedule, given the algorithm's own. Raises
        UserError if there is none."""
        return kind

    def directions(self, kind) -> tuple:
        """The directions in which it can run an algorithm, given the algorithm's class; none if it
        has no way to run it."""
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
        """Edges that are worked on together, if the schedule needs ``"edges"``."""
        raise NotImplementedError

    def overread(self, task) -> int:
        """Words behind the last edge that may be read, though not used."""
        return 0

    def init_global(self, k):
        """Prologue of a gather kernel: what all lanes of the device share."""

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
