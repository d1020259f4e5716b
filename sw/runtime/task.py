"""The task: joins a schedule, a storage format and an algorithm into a program.

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
from sw.kernels.assembler import OutOfRegisters
from sw.kernels.frontiers.base import Frontier
from sw.kernels.kernel import OLD_IDS, Kernel
from sw.kernels.program import Program
from sw.kernels.split import SPLITS, passed, reserve
from sw.kernels.virtual import VirtualAssembler
from sw.runtime.buffers import Buffers
from sw.schedules.base import Schedule


__all__ = ["Task"]


#: Rounds of all lanes that a kernel may run over the last vertex: the last round's unused lanes,
#: and the rounds whose rows and queue entries are loaded ahead.
_ROUNDS_OVER = 4

#: Divisors of the number of edges that a schedule works on at once, to be tried in this order until
#: the program fits in instruction memory.
_DIVISORS = (1, 2, 4, 8)

#: The place in local memory of registers that have no number.
_SLOTS = "registers"


class Step(typing.NamedTuple):
    """A kernel of a task, or work of a unit.

    Parameters
    ----------
    name : str
        Its entry point.
    emit : callable or None
        ``emit(assembler)`` emits the kernel, except the end of the warp.
    when : callable, optional
        As of :class:`~sw.kernels.passes.Pass`.
    operate : callable, optional
        ``operate(session, argument)`` is the host's work if there is no kernel.
    """
    name: str
    emit: typing.Callable[[VirtualAssembler], None] | None
    when: typing.Callable[[typing.Any], bool] | None = None
    operate: typing.Callable[[typing.Any, int], None] | None = None


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
        strategy = schedules.make(schedule)
        direction = direction or strategy.directions(type(algorithm))[0]
        strategy.check_direction(type(algorithm), direction)
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
            side.schedule.reserve(side)
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
    def local(self):
        """The places in local memory (:class:`~sw.runtime.local.LocalMemory`)."""
        return self.buffers.local

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
        the task's schedule if that goes through rows in one pass, else vertex mapping."""
        if self.schedule.needs == "rows" and len(self.schedule.passes(self)) == 1:
            return copy.copy(self.schedule)
        return schedules.make("vm")

    @property
    def new_ids(self) -> typing.Any:
        """The device's number of each of the graph's vertices, if the format numbers vertices anew;
        else None."""
        return self.format.image.host.get("new_ids")

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
            side.schedule.build(side)
            for layout in side.layouts:
                layout.build()

    @functools.cached_property
    def program(self) -> Program:
        """The program, with all kernels that the algorithm needs.

        Where the user does not say how many edges a lane works on at once, the schedule takes its
        own number, or half of it and so on if the program would not fit in instruction memory.

        Raises UserError if the program does not fit, or if registers and local memory do not
        suffice.
        """
        size = 0
        for divisor in _DIVISORS:
            for side in (self, *self.sides.values()):
                side.schedule.shrink(divisor)
            program = self._assemble()
            size = program.size
            if size <= self.config.imem_bytes:
                return program
        raise UserError(f"the program of {self._title} takes {size} bytes, imem_bytes is "
                        f"{self.config.imem_bytes}")

    @property
    def _title(self):
        return (f"{self.algorithm.name} with schedule {self.schedule_text} and format "
                f"{self.format_text}")

    @property
    def used(self) -> dict:
        """How many edges, or works, a lane works on at once, by the name of the schedule's option.
        Known once there is the :attr:`program`."""
        used = {}
        for side in (self, *self.sides.values()):
            used |= side.schedule.used
        return used

    @functools.cached_property
    def kernel_sets(self) -> dict:
        """The kernels that the host launches for each of the algorithm's kernels, by its name: a
        list of :class:`Step`."""
        sets = {}
        for name, (kind, variant) in self.algorithm.kernels(self).items():
            if kind == "gather":
                side = self.sides.get(name, self)
                others = [other for other in self.sides.values() if other is not side]
                sets[name] = side.gather_steps(name, variant, others, f"_{name}" * bool(self.sides))
            else:
                def apply(assembler, name=name, variant=variant):
                    self.algorithm.apply(Kernel(assembler, self, name, variant))
                sets[name] = [Step(name, apply)]
        return sets

    def gather_steps(self, name, variant, others=(), suffix="") -> list:
        """The steps that bring every edge of the layouts to the algorithm: those of the format,
        whose names end in ``suffix``, and those of the schedule. ``others`` are the task's other
        sides."""
        steps = []
        for item in self.format.passes(self):
            entry = f"{item.name}{suffix}"
            steps.append(Step(entry, lambda assembler, entry=entry, item=item: item.emit(
                Kernel(assembler, self, entry, None, self.layouts[0])), item.when))
        passes = self.schedule.passes(self)
        # A single kernel goes through one layout after another.
        groups = [self.layouts] if len(passes) == 1 else [[layout] for layout in self.layouts]
        for number, layouts in enumerate(groups):
            for item in passes:
                entry = "_".join([name, *[str(number)] * bool(number), *[item.name] * bool(item.name)])
                if item.operate is not None:
                    steps.append(Step(entry, None, item.when, lambda session, argument, item=item,
                                      layout=layouts[0]: item.operate(session, argument, layout)))
                    continue

                def gather(assembler, entry=entry, item=item, layouts=layouts,
                           passing=others if not number and item is passes[0] else ()):
                    self.gather(assembler, entry, variant, layouts, item, passing)
                steps.append(Step(entry, gather, item.when))
        return steps

    def _assemble(self):
        assembler = VirtualAssembler(self._reserve_slots, self.config.threads)
        steps = {step.name: step for steps in self.kernel_sets.values() for step in steps}
        for step in steps.values():
            if step.emit is not None:
                step.emit(assembler)
                assembler.end_warp()
        try:
            return assembler.finish()
        except OutOfRegisters as error:
            raise UserError(f"{self._title}: {error}") from None

    def _reserve_slots(self, words):
        """Local memory for registers that have no number, as VirtualAssembler asks for it."""
        if _SLOTS in self.local:
            self.local.release(_SLOTS)
        return self.local.reserve(_SLOTS, words, "warp"), 4 * words

    def gather(self, assembler, name, variant, layouts, item, others=(), first=True):
        """Emit a pass of the schedule for some layouts, one after the other, except its end.
        ``others`` are the task's other sides; with ``first``, a kernel begins."""
        for layout in layouts:
            k = Kernel(assembler, self, name, variant, layout, item.name,
                       first=first and layout is layouts[0], leads=item.leads, gathers=item.gathers)
            done = assembler.label("layout_done")
            if item.enter is not None:
                item.enter(k, done)
            layout.enter(k, done)
            self.algorithm.prepare(k)
            if layout is layouts[0]:
                for other in others:
                    passed(k, other)
                    other.format.passed(k)
            layout.prepare(k)
            item.emit(k)
            if self.frontier is not None and item.gathers:
                self.frontier.finish(k)
            if layout is not layouts[-1]:
                self.schedule.go_on(k)
            assembler.place(done)
