"""The generator: joins a schedule, a storage format and an algorithm into a program.

The three are independent of each other. The schedule's loops call the format, which finds the
edges, and the algorithm, which works on them (GRAssembler, algorithm 2.1). A :class:`Task` is one
such choice for one graph and one configuration. It first settles the layout of memory, and then the
program, in which addresses are constants.
"""

import copy
import dataclasses
import functools
import typing

import numpy as np

from hw.config import HardwareConfig
from sw import formats, schedules
from sw.algorithms.base import Algorithm
from sw.errors import UserError
from sw.formats.base import StorageFormat
from sw.formats.compressed import addresses
from sw.kernels import frontiers
from sw.kernels.assembler import Assembler, OutOfRegisters
from sw.kernels.buffers import Buffers
from sw.kernels.frontiers.base import Frontier
from sw.kernels.kernel import OLD_IDS, Kernel
from sw.kernels.program import Program
from sw.kernels.split import SPLITS, passed, reserve
from sw.schedules.base import Schedule


__all__ = ["Task"]


#: Rounds of all lanes that a kernel may run over the last vertex: the last round's unused lanes,
#: and the rounds whose rows and queue entries are loaded ahead.
_ROUNDS_OVER = 4

#: Ways to save registers, from none on: the divisor of the number of edges that a schedule works on
#: at once, and whether constants are not kept in registers.
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
        ``"pull"`` or ``"push"``; or ``"auto"``: then it has two sides.
    split : str
        How the work is split between warps and cores, one of :data:`sw.kernels.split.SPLITS`.
    phases : bool
        Whether the kernels mark all phases, which costs instructions.
    buffers : Buffers
        All arrays in the device's memory; :meth:`build` fills them.
    frontier : Frontier or None
        The frontier that a superstep leaves to the next, if the algorithm has one.
    layouts : list of sw.formats.base.Layout
        Layouts that gather kernels go through: all layouts with edges, and at least one layout.
    sides : dict of str to Task
        The task of each direction, by the direction, which also names its kernels. Sides share the
        algorithm, the frontier and the buffers.
    switches : bool
        Whether this task is a side.
    schedule_text, format_text : str
        The texts that asked for schedule and format, with the given options.
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
    layouts: list = dataclasses.field(default_factory=list)
    sides: dict = dataclasses.field(default_factory=dict)
    switches: bool = False
    schedule_text: str = ""
    format_text: str = ""

    @classmethod
    def plan(cls, config, algorithm, schedule, format="csr", direction=None,
             split="static", phases=False, frontier=None, deduplicate=None):
        """Settle a task. ``schedule``, ``format``, ``split`` and ``frontier`` are names; ``None``
        leaves a choice to the algorithm.

        Raises
        ------
        UserError
            There is no such schedule, format, direction, split or frontier, they cannot work
            together, or the graph does not fit in the device's memory. Nothing has been built.
        """
        direction = direction or algorithm.directions[0]
        algorithm.check_has(direction)
        if split not in SPLITS:
            raise UserError(f"there is no split {split!r}; there are {', '.join(SPLITS)}")
        buffers = Buffers(config)
        wanted = ("push", "pull") if direction == "auto" else (direction,)
        sides = {way: cls._side(config, algorithm, schedule, format, way, split, phases, buffers,
                                len(wanted) > 1) for way in wanted}
        chosen = frontiers.choose(sides[wanted[0]], frontier, deduplicate)
        first = 0
        for way, side in sides.items():
            sides[way] = dataclasses.replace(side, frontier=chosen, layouts=[])
            sides[way]._settle_layouts(first)
            first += len(sides[way].layouts) + 1        # and one layout of its format
        task = sides[wanted[0]]
        if len(sides) > 1:
            task = dataclasses.replace(task, direction=direction, layouts=[], sides=sides)
            push, pull = (side.new_ids for side in sides.values())
            if not np.array_equal(push, pull):
                raise UserError(f"format {format} numbers the vertices in another way for pushing "
                                "than for pulling, so the direction cannot change")
        algorithm.reserve(task)
        if task.new_ids is not None:
            buffers.reserve(OLD_IDS, task.vertex_words)
        for side in sides.values():
            side.format.reserve(side)
            side.reserve_layouts()
        task.buffers.check(f"{task.graph.name} ({task.graph.num_vertices} vertices, "
                           f"{task.graph.num_edges} edges)")
        return task

    @classmethod
    def _side(cls, config, algorithm, schedule, format, direction, split, phases, buffers,
              switches):
        """The task of one direction, without a frontier yet."""
        kind = formats.find(format)
        task = cls(config, algorithm, schedules.make(schedule),
                   kind(formats.image_of(algorithm.graph, format, direction)),
                   direction, split, phases, buffers, switches=switches,
                   schedule_text=schedule, format_text=format)
        task.schedule.check(task)
        task.format.check(task)
        task._settle_layouts()
        return task

    def _settle_layouts(self, first=0):
        """Find the layouts; ``first`` is the number of the first one."""
        layouts = self.schedule.layouts(self)
        self.layouts[:] = [layout for layout in layouts if layout.edges] or layouts[:1]
        for index, layout in enumerate(self.layouts):
            layout.index = first + index

    def reserve_layouts(self):
        """Reserve the buffers of all layouts, and the buffers that split their work."""
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
        """Number of vertices, or rows, behind the last over which kernels may run."""
        return _ROUNDS_OVER * self.lanes

    @property
    def vertex_words(self) -> int:
        """Words of a vertex array: the vertices, and the vertices over which kernels may run."""
        return self.graph.num_vertices + self.rows_over

    @property
    def owns_vertex(self) -> bool:
        """Whether one lane, or the lanes that share the base vertex, work on all edges of a base
        vertex."""
        return (self.schedule.owns_base and len(self.layouts) == 1
                and not self.layouts[0].virtual)

    @property
    def alone(self) -> bool:
        """Whether a single lane works on all edges of a base vertex."""
        return self.owns_vertex and not self.schedule.shares_base

    @property
    def gathers(self) -> bool:
        """Whether the words of the edges' sources are gathered before each superstep."""
        return any(layout.gathers for layout in self.layouts)

    def row_schedule(self):
        """A schedule that goes through rows, for a kernel beside the task's own kernels: a copy of
        the task's schedule if that goes through rows, else vertex mapping."""
        return copy.copy(self.schedule) if self.schedule.needs == "rows" else schedules.make("vm")

    @property
    def new_ids(self) -> typing.Any:
        """The device's number of each of the graph's vertices, if they are reordered; else None."""
        return self.format.image.new_ids

    def vertex(self, number) -> int:
        """The device's number of one of the graph's vertices."""
        return int(number if self.new_ids is None else self.new_ids[number])

    def to_device(self, values):
        """An array by vertex, from the graph's order to the device's."""
        if self.new_ids is None:
            return values
        ordered = np.empty_like(values)
        ordered[self.new_ids] = values
        return ordered

    def to_graph(self, values):
        """An array by vertex, from the device's order to the graph's."""
        return values if self.new_ids is None else values[self.new_ids]

    def vertex_addresses(self, array, vertices):
        """Addresses of vertices in one of the vertex arrays, and the padding vertex's."""
        start = self.buffers.address(array)
        return addresses(start, vertices), start + 4 * self.graph.num_vertices

    @property
    def queued(self) -> bool:
        """Whether the vertices to be worked on come from a queue."""
        return (self.frontier is not None and self.frontier.listed
                and self.direction == "push")

    @staticmethod
    def round_up(value, unit) -> int:
        """``value`` or the next multiple of ``unit``."""
        return -(-value // unit) * unit

    def build(self):
        """Give the buffers their contents."""
        self.algorithm.init_vertex_value(self)
        if self.new_ids is not None:
            self.buffers.fill(OLD_IDS, self.to_device(np.arange(len(self.new_ids),
                                                                dtype=np.uint32)))
        for side in self.sides.values() or [self]:
            side.format.build(side)
            for layout in side.layouts:
                layout.build()

    @functools.cached_property
    def program(self) -> Program:
        """The program, with all kernels that the algorithm needs.

        The schedule works on as many edges at once as there are registers and room for.

        Raises UserError if it does not fit in instruction memory.
        """
        size = 0
        for squeeze, lean in _SQUEEZES:
            for side in (self, *self.sides.values()):
                side.schedule.squeeze, side.schedule.lean = squeeze, lean
            try:
                program = self._assemble()
            except OutOfRegisters:
                if lean:
                    raise
                continue
            size = program.size
            if size <= self.config.imem_bytes:
                return program
        raise UserError(f"the program of {self.algorithm.name} with schedule "
                        f"{self.schedule.name} and format {self.format.name} takes {size} "
                        f"bytes, imem_bytes is {self.config.imem_bytes}")

    def _assemble(self):
        assembler = Assembler()
        for name, (kind, variant) in self.algorithm.kernels(self).items():
            if kind == "gather":
                side = self.sides.get(name, self)
                others = [other for other in self.sides.values() if other is not side]
                side.gather(assembler, name, variant, side.layouts, others)
            else:
                with assembler.scope():
                    self.algorithm.apply(Kernel(assembler, self, name, variant))
            assembler.end_warp()
        for name, side in self.sides.items() or [("", self)]:
            side.format.init_topology(assembler, side, f"init_topology{name and f'_{name}'}")
        return assembler.finish()

    def init_kernel(self, kernel) -> str | None:
        """The kernel that must be launched before ``kernel``, a kernel that goes through the graph;
        None if there is none."""
        name = f"init_topology_{kernel}" if self.sides else "init_topology"
        return name if name in self.program.entries else None

    def gather(self, assembler, name, variant, layouts, others=()):
        """Emit a kernel that brings every edge of some layouts to a lane, except its end.
        ``others`` are the task's other sides."""
        for layout in layouts:
            with assembler.scope():
                k = Kernel(assembler, self, name, variant, layout, first=layout is layouts[0])
                done = assembler.label("layout_done")
                layout.enter(k, done)
                self.algorithm.prepare(k)
                if k.first:
                    for other in others:
                        passed(k, other)
                        other.format.passed(k)
                layout.prepare(k)
                self.schedule.init_global(k)
                k.seal()
                self.schedule.init_shared(k)
                self.schedule.get_next_edge(k)
                if self.frontier is not None:
                    self.frontier.finish(k)
                if layout is not layouts[-1]:
                    self.schedule.go_on(k)
                assembler.place(done)
