"""The generator: joins a schedule, a storage format and an algorithm into a program.

None of the three knows another: the schedule's loops call the format for where edges are and the
algorithm for what to do with them (GRAssembler, algorithm 2.1). A :class:`Task` is one such choice
for one graph and one configuration; it first settles what lies where in memory, then the program,
in which addresses are constants.
"""

import dataclasses
import functools

from hw.config import HardwareConfig
from sw import formats, schedules
from sw.algorithms.base import Algorithm
from sw.errors import UserError
from sw.formats.base import StorageFormat
from sw.kernels import frontiers
from sw.kernels.assembler import Assembler, OutOfRegisters
from sw.kernels.frontiers.base import Frontier
from sw.kernels.kernel import Kernel
from sw.kernels.program import Program
from sw.kernels.split import SPLITS, reserve
from sw.runtime.buffers import Buffers
from sw.schedules.base import Schedule


__all__ = ["Task"]


#: Rounds of all lanes that a kernel may run over the last vertex: the last round's unused lanes,
#: and the rounds whose rows and queue entries are loaded ahead.
_ROUNDS_OVER = 4

#: How many times fewer edges than it would like to a schedule may have to work on at once.
_SQUEEZES = (1, 2, 4)


@dataclasses.dataclass(frozen=True)
class Task:
    """One graph algorithm on one configuration, by one schedule, format and direction.

    Make it with :meth:`plan`.

    Parameters
    ----------
    config : HardwareConfig
    algorithm : Algorithm
        Holds the graph.
    schedule : Schedule
    format : StorageFormat
    direction : str
        ``"pull"`` or ``"push"``.
    split : str
        How the work is split between warps and cores, one of :data:`sw.kernels.split.SPLITS`.
    phases : bool
        Whether the kernels mark all phases, which costs instructions.
    buffers : Buffers
        Where everything lies; filled by :meth:`build`.
    frontier : Frontier or None
        What a superstep leaves to the next, if the algorithm has any.
    """
    config: HardwareConfig
    algorithm: Algorithm
    schedule: Schedule
    format: StorageFormat
    direction: str
    split: str
    phases: bool
    buffers: Buffers
    frontier: Frontier | None = None

    @classmethod
    def plan(cls, config, algorithm, schedule, format="csr", direction=None,
             split="static", phases=False, frontier=None, deduplicate=None):
        """Settle a task. ``schedule``, ``format``, ``split`` and ``frontier`` are names; ``None``
        leaves a choice to the algorithm.

        Raises
        ------
        UserError
            There is no such schedule, format, direction, split or frontier, they cannot work
            together, or the graph does not fit in the device's memory. Nothing has been built then.
        """
        direction = direction or algorithm.directions[0]
        if direction not in algorithm.directions:
            raise UserError(f"algorithm {algorithm.name!r} has no direction {direction!r}; it has "
                            f"{', '.join(algorithm.directions)}")
        if split not in SPLITS:
            raise UserError(f"no split {split!r}; there are {', '.join(SPLITS)}")
        kind = formats.find(format)
        task = cls(config, algorithm, schedules.find(schedule)(),
                   kind(formats.image_of(algorithm.graph, format, direction)),
                   direction, split, phases, Buffers(config))
        task.schedule.check(task)
        task.format.check(task)
        task = dataclasses.replace(task, frontier=frontiers.choose(task, frontier, deduplicate))
        algorithm.reserve(task)
        task.format.reserve(task)
        reserve(task)
        task.buffers.check(f"{task.graph.name} ({task.graph.num_vertices} vertices, "
                           f"{task.graph.num_edges} edges)")
        return task

    @property
    def graph(self):
        """The algorithm's graph."""
        return self.algorithm.graph

    @property
    def lanes(self) -> int:
        """Lanes of the whole device."""
        return self.config.cores * self.config.warps * self.config.threads

    @property
    def rows_over(self) -> int:
        """Vertices, or rows, behind the last that kernels may run over."""
        return _ROUNDS_OVER * self.lanes

    @property
    def vertex_words(self) -> int:
        """Words of a vertex array: the vertices, and those that kernels may run over."""
        return self.graph.num_vertices + self.rows_over

    @property
    def owns_vertex(self) -> bool:
        """Whether all edges of a base vertex are worked on by one lane, one after the other."""
        return self.schedule.owns_base and not self.format.virtual

    @property
    def finds_rows(self) -> bool:
        """Whether the rows of a vertex can be found from it: what a queue as frontier needs."""
        return self.schedule.needs == "rows" and not self.format.virtual

    @property
    def queued(self) -> bool:
        """Whether the vertices to be worked on come from a queue."""
        return self.frontier is not None and self.frontier.listed

    @staticmethod
    def round_up(value, unit) -> int:
        """``value`` or the next multiple of ``unit``."""
        return -(-value // unit) * unit

    def build(self):
        """Give the buffers their contents."""
        self.algorithm.init_vertex_value(self)
        self.format.build(self)

    @functools.cached_property
    def program(self) -> Program:
        """The program: a kernel for each that the algorithm asks for.

        The schedule works on as many edges at once as there are registers for.

        Raises UserError if it does not fit in instruction memory.
        """
        for self.schedule.squeeze in _SQUEEZES:
            try:
                return self._assemble()
            except OutOfRegisters:
                if self.schedule.squeeze == _SQUEEZES[-1]:
                    raise

    def _assemble(self):
        assembler = Assembler()
        for name, (kind, variant) in self.algorithm.kernels(self).items():
            with assembler.scope():
                k = Kernel(assembler, self, name, variant)
                if kind == "gather":
                    self._gather(k)
                else:
                    self.algorithm.apply(k)
                assembler.end_warp()
        program = assembler.finish()
        if program.size > self.config.imem_bytes:
            raise UserError(f"the program of {self.algorithm.name} with schedule "
                            f"{self.schedule.name} takes {program.size} bytes, imem_bytes is "
                            f"{self.config.imem_bytes}")
        return program

    def _gather(self, k):
        self.algorithm.prepare(k)
        self.format.prepare(k)
        self.schedule.init_global(k)
        k.seal()
        self.schedule.init_shared(k)
        self.schedule.get_next_edge(k)
        if self.frontier is not None:
            self.frontier.finish(k)
