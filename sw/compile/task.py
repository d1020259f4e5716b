"""The task: joins a schedule, a storage format and an algorithm.

The three are independent of each other. The schedule's loops call the format, which finds the
edges, and the algorithm, which works on them (GRAssembler, algorithm 2.1). A :class:`Task` is one
such choice for one graph and one configuration, settled by :mod:`.planning`. Its layout of memory
is settled first (:mod:`.memory`), and then the program, in which addresses are constants
(:mod:`.programs`).
"""

import dataclasses
import functools
import typing

import numpy as np

from hw.config import HardwareConfig
from sw.compile import schedules
from sw.compile.formats.compressed import addresses
from sw.compile.formats.storage_format import StorageFormat
from sw.compile.frontiers.frontier import Input
from sw.compile.frontiers.superstep import Superstep
from sw.compile.kernels.scope import Scope
from sw.compile.asm.program import Program
from sw.compile import memory, programs
from sw.compile.buffers import Buffers
from sw.compile.schedules.schedule import Choices, Schedule


__all__ = ["Task"]


#: Rounds of all lanes that a kernel may run over the last vertex: the last round's unused lanes,
#: and the rounds whose rows and queue entries are loaded ahead.
_ROUNDS_OVER = 4


@dataclasses.dataclass(frozen=True)
class VertexPlaces:
    """Where a device has the graph's vertices."""
    buffers: Buffers
    count: int  #: Number of vertices.
    #: uint32[count] or None. The device's number of each of the graph's vertices, if they are
    #: reordered.
    new_ids: typing.Any

    def number(self, vertex) -> int:
        """The device's number of one of the graph's vertices."""
        return int(vertex if self.new_ids is None else self.new_ids[vertex])

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

    def addresses(self, array, vertices):
        """Addresses of vertices in one of the vertex arrays, and the padding vertex's."""
        start, width = self.buffers.address(array), self.buffers.width(array)
        return addresses(start, vertices, width), start + width * self.count


@dataclasses.dataclass(frozen=True)
class Task:
    """A plan for one graph and one configuration.

    Make it with :func:`sw.compile.planning.make`. It does not change; what becomes known later is
    in ``buffers`` and ``choices``.
    """
    config: HardwareConfig
    #: Operator. Goes through edges, and holds the graph. It is an Algorithm too, unless the task is
    #: a side of one.
    algorithm: typing.Any
    schedule: Schedule
    format: StorageFormat
    #: Plan or Hybrid. The plan, with every choice of the algorithm's own made: direction, frontier
    #: and deduplication. A hybrid's task has two sides.
    plan: typing.Any
    buffers: Buffers  #: All arrays in the device's memory; :meth:`build` fills them.
    #: What a superstep leaves to later ones, if it has a set.
    frontier: Superstep | None = None
    #: dict of str to Task. The tasks of the algorithm's operators
    #: (:meth:`~sw.compile.algorithm.Algorithm.operators`), one for each of a hybrid's plans. They
    #: share the buffers, and each may have a graph of its own.
    sides: dict = dataclasses.field(default_factory=dict)
    switches: bool = False  #: Whether this task is a side of a hybrid.
    #: What a superstep reads: a set, or what a pass makes of it.
    input: Input | None = None
    #: What the kernels take where the user leaves it open.
    choices: Choices = dataclasses.field(default_factory=Choices)
    first_layout: int = 0  #: The number of its first layout.
    #: ``make_layouts(task)`` gives the layouts; left out, the schedule's.
    make_layouts: typing.Callable | None = None

    @functools.cached_property
    def layouts(self) -> list:
        """Layouts that gather kernels go through: all layouts with edges, and at least one layout.
        None of a task with sides, which have their own."""
        if self.sides:
            return []
        layouts = (self.make_layouts or self.schedule.layouts)(self)
        layouts = [layout for layout in layouts if layout.edges] or layouts[:1]
        for index, layout in enumerate(layouts, self.first_layout):
            layout.index = index
        return layouts

    @property
    def local(self):
        """The places in local memory (:class:`~sw.compile.local.LocalAllocator`)."""
        return self.buffers.local

    @property
    def graph(self):
        """The algorithm's graph."""
        return self.algorithm.graph

    @property
    def direction(self) -> str | None:
        """``"pull"`` or ``"push"``; ``"auto"`` for a hybrid of both."""
        return self.plan.direction

    @property
    def split(self) -> str:
        """How the work is split between warps and cores."""
        return self.plan.split

    @property
    def fused(self) -> bool:
        """Whether one kernel runs all supersteps."""
        return self.plan.fusion

    @functools.cached_property
    def loop(self) -> typing.Any:
        """The supersteps as one kernel (:meth:`~sw.compile.algorithm.Algorithm.loop`)."""
        return self.algorithm.loop(self)

    @property
    def warps(self) -> int:
        """Warps of each core that take part, from warp 0 on."""
        return self.plan.warps or self.config.warps

    @functools.cached_property
    def scope(self) -> Scope:
        """The warps of a core that share work."""
        return Scope.of(self.schedule, self.config, self.warps)

    @property
    def lanes(self) -> int:
        """Lanes of the whole device that take part."""
        return self.config.cores * self.warps * self.config.threads

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
        vertex; or lanes of one core, if vertices collect in local memory."""
        return (len(self.layouts) == 1 and not self.layouts[0].virtual
                and ((self.schedule.owns_base and self.schedule.whole_rows)
                     or self.schedule.collects_locally(self)))

    @property
    def row_length(self) -> float:
        """Number of edges of the row in which an edge is, on average over all edges: for skewed
        graphs much more than the mean degree."""
        graph = self.graph
        degrees = graph.in_degrees if self.direction == "pull" else graph.out_degrees
        return float((degrees.astype(np.float64) ** 2).sum() / max(1, graph.num_edges))

    @property
    def alone(self) -> bool:
        """Whether a single lane works on all edges of a base vertex."""
        return self.owns_vertex and self.schedule.owns_base and not self.schedule.shares_base

    def beside(self, algorithm, make_layouts):
        """A task for a kernel beside the task's own kernels, with layouts of its own. It goes
        through rows: by the task's schedule if that goes through rows in one pass, else by vertex
        mapping."""
        schedule, choices = schedules.make("vm"), Choices()
        if self.schedule.needs == "rows" and len(self.schedule.passes(self)) == 1:
            schedule = self.schedule
            choices = dataclasses.replace(self.choices, used=dict(self.choices.used))
        return dataclasses.replace(self, algorithm=algorithm, schedule=schedule, choices=choices,
                                   make_layouts=make_layouts,
                                   first_layout=self.layouts[-1].index + 1)

    @property
    def new_ids(self) -> typing.Any:
        """The device's number of each of the graph's vertices, if they are reordered; else None."""
        return self.format.image.new_ids

    @functools.cached_property
    def vertices(self) -> VertexPlaces:
        """Where the device has the vertices."""
        return VertexPlaces(self.buffers, self.graph.num_vertices, self.new_ids)

    @property
    def queued(self) -> bool:
        """Whether the vertices to be worked on come from a list."""
        return self.input is not None and self.input.listed

    def next_side(self, vertices) -> str:
        """The way of a hybrid for a superstep with this many vertices in its frontier: the name of
        a side, or the first part of its name if each operator has a side for each way."""
        first, second = self.plan.sides
        return second if self.plan.second_follows(vertices, self.graph.num_vertices) else first

    def build(self):
        """Give the buffers their contents."""
        memory.build(self)

    @functools.cached_property
    def program(self) -> Program:
        """The program. Raises UserError (:func:`sw.compile.programs.make`)."""
        return programs.make(self)

    @functools.cached_property
    def kernel_sets(self) -> dict:
        """The kernels that the host launches for each of the algorithm's kernels, by its name: a
        list of :class:`~sw.compile.programs.TaskStep`."""
        return programs.kernel_sets(self)

    @property
    def used(self) -> dict:
        """The values of options that were chosen for this graph, such as how many edges a lane
        works on at once, by name. Known once there is the :attr:`program`."""
        used = {}
        for side in (self, *self.sides.values()):
            used |= side.choices.used
        return used
