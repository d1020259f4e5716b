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
from sw.formats.compressed import addresses
from sw.kernels.assembler import Assembler, OutOfRegisters
from sw.kernels.kernel import Kernel
from sw.kernels.program import Program
from sw.kernels.split import SPLITS, reserve
from sw.runtime.buffers import Buffers
from sw.schedules.base import Schedule


__all__ = ["Task"]


#: Rounds of all lanes that a kernel may run over the last vertex: the last round's unused lanes,
#: and the rounds whose rows and queue entries are loaded ahead.
_ROUNDS_OVER = 4

#: How many times fewer edges than it would like to a schedule may have to work on at once, and
#: whether constants are not kept in registers.
_SQUEEZES = ((1, False), (2, False), (4, False), (4, True))


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
    layouts : list of sw.formats.base.Layout
        What gather kernels go through: those that have edges, but at least one.
    """
    config: HardwareConfig
    algorithm: Algorithm
    schedule: Schedule
    format: StorageFormat
    direction: str
    split: str
    phases: bool
    buffers: Buffers
    layouts: list = dataclasses.field(default_factory=list)

    @classmethod
    def plan(cls, config, algorithm, schedule, format="csr", direction=None,
             split="static", phases=False):
        """Settle a task. ``schedule``, ``format`` and ``split`` are names.

        Raises
        ------
        UserError
            There is no such schedule, format, direction or split, they cannot work together, or the
            graph does not fit in the device's memory. Nothing has been built then.
        """
        direction = direction or algorithm.directions[0]
        if direction not in algorithm.directions:
            raise UserError(f"algorithm {algorithm.name!r} has no direction {direction!r}; it has "
                            f"{', '.join(algorithm.directions)}")
        if split not in SPLITS:
            raise UserError(f"no split {split!r}; there are {', '.join(SPLITS)}")
        kind = formats.find(format)
        task = cls(config, algorithm, schedules.make(schedule),
                   kind(formats.image_of(algorithm.graph, format, direction)),
                   direction, split, phases, Buffers(config))
        task.schedule.check(task)
        task.format.check(task)
        task._settle_layouts()
        algorithm.reserve(task)
        task.format.reserve(task)
        task.reserve_layouts()
        task.buffers.check(f"{task.graph.name} ({task.graph.num_vertices} vertices, "
                           f"{task.graph.num_edges} edges)")
        return task

    def _settle_layouts(self):
        layouts = self.format.layouts(self)
        self.layouts[:] = [layout for layout in layouts if layout.edges] or layouts[:1]
        for index, layout in enumerate(self.layouts):
            layout.index = index

    def reserve_layouts(self):
        """Reserve the buffers of all layouts, and those by which their work is split."""
        for layout in self.layouts:
            layout.reserve()
        reserve(self)

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
        """Whether all edges of a base vertex are worked on by one lane, one after the other, or by
        those that share it."""
        return (self.schedule.owns_base and len(self.layouts) == 1
                and not self.layouts[0].virtual)

    @property
    def alone(self) -> bool:
        """Whether it is one lane only."""
        return self.owns_vertex and not self.schedule.shares_base

    @property
    def finds_rows(self) -> bool:
        """Whether the rows of a vertex can be found from it: what a queue as frontier needs."""
        return self.format.finds_rows(self)

    @property
    def gathers(self) -> bool:
        """Whether the words of the edges' sources are gathered before each superstep."""
        return any(layout.gathers for layout in self.layouts)

    def vertex_addresses(self, array, vertices):
        """Addresses of vertices in one of the vertex arrays, and the padding vertex's."""
        start = self.buffers.address(array)
        return addresses(start, vertices), start + 4 * self.graph.num_vertices

    @staticmethod
    def round_up(value, unit) -> int:
        """``value`` or the next multiple of ``unit``."""
        return -(-value // unit) * unit

    def build(self):
        """Give the buffers their contents."""
        self.algorithm.init_vertex_value(self)
        self.format.build(self)
        for layout in self.layouts:
            layout.build()

    @functools.cached_property
    def program(self) -> Program:
        """The program: a kernel for each that the algorithm asks for.

        The schedule works on as many edges at once as there are registers and room for.

        Raises UserError if it does not fit in instruction memory.
        """
        program = None
        for self.schedule.squeeze, self.schedule.lean in _SQUEEZES:
            try:
                program = self._assemble()
            except OutOfRegisters:
                if self.schedule.lean:
                    raise
                continue
            if program.size <= self.config.imem_bytes:
                return program
        raise UserError(f"the program of {self.algorithm.name} with schedule "
                        f"{self.schedule.name} and format {self.format.name} takes {program.size} "
                        f"bytes, imem_bytes is {self.config.imem_bytes}")

    def _assemble(self):
        assembler = Assembler()
        for name, (kind, variant) in self.algorithm.kernels(self).items():
            if kind == "gather":
                self.gather(assembler, name, variant, self.layouts)
            else:
                with assembler.scope():
                    self.algorithm.apply(Kernel(assembler, self, name, variant))
            assembler.end_warp()
        self.format.init_topology(assembler, self)
        return assembler.finish()

    def gather(self, assembler, name, variant, layouts):
        """Emit a kernel that brings every edge of some layouts to a lane, but its end."""
        for layout in layouts:
            with assembler.scope():
                k = Kernel(assembler, self, name, variant, layout, entry=layout is layouts[0])
                self.algorithm.prepare(k)
                layout.prepare(k)
                self.schedule.init_global(k)
                k.seal()
                self.schedule.init_shared(k)
                self.schedule.get_next_edge(k)
                if layout is not layouts[-1]:
                    self.schedule.go_on(k)
