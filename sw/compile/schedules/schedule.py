"""The interface of a schedule (GRAssembler, table 2.2)."""

import dataclasses
from typing import TYPE_CHECKING

from base.errors import UserError
from sw.compile.options import parse
from sw.compile.kernels.passes import Pass

if TYPE_CHECKING:
    from hw.config import HardwareConfig


__all__ = ["LONG", "Choices", "Schedule"]


#: Rows are long from this mean length on (Task.row_length).
LONG = 6


@dataclasses.dataclass
class Choices:
    """What the kernels of a task take where the user leaves it open. Plainly mutable."""
    most: int | None = None  #: Most edges that a lane works on at once.
    #: By how much less a lane works on at once, so that the program fits in instruction memory.
    divisor: int = 1
    #: The values of the options that are chosen for each graph, by name, that the last program was
    #: made with.
    used: dict[str, int | str] = dataclasses.field(default_factory=dict)


class Schedule:
    """Base of the schedules: a record of the options. What a kernel needs between two steps is in
    objects that its :meth:`emit` makes.

    Attributes
    ----------
    name : str
        Its name for users.
    needs : str
        Access that it needs from the format: ``"rows"`` or ``"edges"`` (see
        :class:`~sw.compile.formats.storage_format.StorageFormat`).
    owns_base : bool
        Whether one lane works on all edges of a row, one after the other. Then the lane keeps the
        values of the base vertex in registers. Pulling needs no atomic for a vertex that has only
        this row.
    OPTIONS : dict
        Options by name (:mod:`sw.compile.options`); written ``NAME:OPTION=VALUE``.
    options : dict
        The value of each.
    shares_base : bool
        Whether several lanes share an owned row. Each lane has some of the row's edges, and the
        lanes combine their results at the end.
    shares_rows : bool
        Whether the lanes of a warp take consecutive edges, of whatever rows.
    whole_rows : bool
        Whether the lanes that own a row have all its edges. If not, others may have parts of it.
    counts_edges : bool
        Whether the locations of consecutive edges differ by 1. If not, they differ by an edge's
        bytes.
    AT_ONCE : str
        The option that says how many edges, or works, a lane works on at once.
    ends_rows : bool
        Whether a row ends at its first edge that counts, where that edge settles the row
        (:meth:`~sw.compile.algorithm.Operator.first_only`). If not, all its edges come up.
    notes : bool
        Whether additions to a list of vertices leave bits, of which a later pass makes the list.
    has_lists : bool
        Whether it keeps lists of edges, for which a task has room once.
    counts_entries : bool
        Whether the Stream Compaction Unit adds to lists of vertices. It counts what it has added.
    needs_scu : bool
        Whether the hardware must have a Stream Compaction Unit.
    needs_unit : str or None
        The value of ``HardwareConfig.gather`` that the hardware must have; None if the schedule
        runs with several of them.
    reads_lists : bool
        Whether it goes through lists of vertices that a unit keeps
        (:mod:`sw.compile.frontiers.unit_lists`).
    drops_edges : bool
        Whether a unit drops edges by a word of their neighbour before a warp has them, where the
        hardware can (:meth:`~sw.compile.algorithm.Operator.neighbor_settings`).
    compared : bool
        Whether a comparison has the schedule if nobody names schedules: on some graphs it is the
        fastest of its kind (docs/benchmarks.md).
    """
    name = None
    needs = "rows"
    OPTIONS = {}
    owns_base = shares_base = shares_rows = False
    whole_rows = ends_rows = True
    counts_edges = False
    AT_ONCE = "unroll"
    notes = has_lists = counts_entries = needs_scu = reads_lists = drops_edges = False
    needs_unit: str | None = None
    compared = False

    def __init__(self, **options):
        self.options = options

    def neighbor_shift(self, task) -> int:
        """Bits by which stored neighbours are shifted to the right."""
        return 0

    def lanes_of_words(self, task) -> int:
        """Neighbouring lanes that go through a row together, each for words of its own of the
        vertices: a power of two. Each of them takes all edges of the row."""
        return 1

    def at_once(self, task, preferred) -> int:
        """Edges, or work items, that a lane works on at once: as many as the user asks for, else
        ``preferred`` as the task's :class:`Choices` limit it."""
        choices = task.choices
        preferred = min(preferred, choices.most or preferred)
        count = self.options[self.AT_ONCE] or max(1, preferred // choices.divisor)
        choices.used[self.AT_ONCE] = count
        return count

    def shrinks(self, task) -> bool:
        """Whether a divisor makes a difference to the kernels emitted so far."""
        return self.AT_ONCE in task.choices.used and not self.options[self.AT_ONCE]

    def directions(self, kind) -> tuple:
        """The directions in which the schedule can run an algorithm, given the algorithm's class,
        its own choice first."""
        return kind.directions

    def check_direction(self, kind, direction):
        """Raise UserError if the schedule cannot run an algorithm, given its class, in this
        direction."""
        kind.check_has(direction)

    def layouts(self, task) -> list:
        """The layouts of the graph that the kernels go through."""
        return task.format.layouts(task)

    def check_config(self, config: "HardwareConfig") -> None:
        """Raise UserError if the schedule cannot run on this hardware."""

    def check(self, task):
        """Raise UserError if the schedule cannot serve this task."""
        self.check_config(task.config)

    def check_plain(self, task, when=""):
        """Raise UserError if a layout does not keep the rows of vertices for a unit that reads them
        by their offsets. ``when`` says in the message when the schedule needs them."""
        if not all(layout.plain for layout in self.layouts(task)):
            raise self.refuse(f"{when}reads rows of vertices by their offsets, which format "
                              f"{task.plan.format!r} does not keep here; format 'csr' without "
                              "blocks does")

    def idle(self, task) -> dict[str, str]:
        """The options whose value changes nothing in this task, by name: the reason. The task has
        its frontier. A user who gives such an option is refused (:meth:`check_options`)."""
        return {}

    def check_options(self, task):
        """Raise UserError if the user gives an option that changes nothing in this task, which has
        its frontier."""
        _, given = parse(task.plan.schedule)
        for option, reason in self.idle(task).items():
            if option in given:
                raise self.refuse(f"cannot follow {option}={given[option]} here: {reason}")

    def collects_locally(self, task) -> bool:
        """Whether the vertices of a core collect in local memory, whichever lane has their edges.
        """
        return False

    def edge_block(self, task) -> int:
        """Number of edges of a block, if the schedule needs ``"edges"``."""
        raise NotImplementedError

    def overread(self, task) -> int:
        """Words behind the last edge that may be read, though not used."""
        return 0

    def reserve(self, task):
        """Reserve buffers and local memory."""

    def build(self, task):
        """Fill the buffers."""

    def passed(self, k, task):
        """In the prologue of a kernel of the other side of a hybrid: make ready what ``task``, the
        side of this schedule, finds in the next superstep."""

    def passes(self, task) -> list:
        """The kernels that bring the edges to the lanes, in the order of their launch; a list of
        :class:`~sw.compile.kernels.passes.Pass` (GRAssembler, algorithm 2.1, lines 4 and 5). If
        there are several, each layout has its own."""
        return [Pass("", self.emit)]

    def emit(self, k):
        """Emit the only pass: a prologue, and the loops that bring every edge of the frontier to a
        lane and call the format and the algorithm for each edge."""
        raise NotImplementedError

    def go_on(self, k):
        """Between two layouts of a gather kernel: all lanes of a warp are active."""

    @classmethod
    def refuse(cls, reason):
        """The error for a combination that cannot work."""
        return UserError(f"schedule {cls.name!r} {reason}")
