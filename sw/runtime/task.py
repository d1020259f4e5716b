"""The task: joins a schedule, a storage format and an algorithm into a program.

The three are independent of each other. The schedule's loops call the format, which finds the
edges, and the algorithm, which works on them (GRAssembler, algorithm 2.1). A :class:`Task` is one
such choice for one graph and one configuration. It first settles the layout of memory, and then the
program, in which addresses are constants.
"""

import dataclasses
import functools
import typing

import numpy as np

from hw.config import HardwareConfig
from sw import schedules
from sw.kernels.algorithm import Algorithm
from sw.errors import UserError
from sw.formats.storage_format import StorageFormat
from sw.formats.compressed import addresses
from sw.kernels import frontiers, fusion
from sw.kernels.assembler import OutOfReach, OutOfRegisters
from sw.kernels.frontiers.frontier import Frontier, Input
from sw.kernels.kernel import OLD_IDS, Kernel
from sw.kernels.program import Program
from sw.kernels.split import passed, reserve
from sw.kernels.virtual import VirtualAssembler
from sw.runtime.buffers import Buffers
from sw.schedules.schedule import Choices, Schedule


__all__ = ["Task"]


#: Rounds of all lanes that a kernel may run over the last vertex: the last round's unused lanes,
#: and the rounds whose rows and queue entries are loaded ahead.
_ROUNDS_OVER = 4

#: Divisors of the number of edges that a schedule works on at once, to be tried in this order until
#: the program fits.
_DIVISORS = (1, 2, 4, 8)

#: The place in local memory of registers that have no number.
_SLOTS = "registers"


class TaskStep(typing.NamedTuple):
    """A kernel of a task, or work of a unit.

    Parameters
    ----------
    name : str
        Its entry point.
    emit : callable or None
        ``emit(assembler)`` emits the kernel, except the end of the warp.
    once : bool
        As of :class:`~sw.kernels.passes.Pass`.
    operate : callable, optional
        ``operate(session, argument)`` is the host's work if there is no kernel.
    in_turn : bool
        As of :class:`~sw.kernels.passes.Pass`.
    """
    name: str
    emit: typing.Callable[[VirtualAssembler], None] | None
    once: bool = False
    operate: typing.Callable[[typing.Any, int], None] | None = None
    in_turn: bool = True


@dataclasses.dataclass(frozen=True)
class Task:
    """A plan for one graph and one configuration.

    Make it with :meth:`make`.

    Parameters
    ----------
    config : HardwareConfig
    algorithm : Algorithm
        Holds the graph.
    schedule : Schedule
    format : StorageFormat
    plan : Plan or Hybrid
        The plan, with every choice of the algorithm's own made: direction, frontier and
        deduplication. A hybrid's task has two sides.
    buffers : Buffers
        All arrays in the device's memory; :meth:`build` fills them.
    frontier : Frontier or None
        The frontier that a superstep leaves to the next, if the algorithm has one.
    input : Input or None
        The input that a superstep reads: the frontier itself, or what a pass makes.
    layouts : list of sw.formats.storage_format.Layout
        Layouts that gather kernels go through: all layouts with edges, and at least one layout.
    sides : dict of str to Task
        The tasks of a hybrid's plans, by the names of their kernels. Sides share the algorithm, the
        frontier and the buffers. Or the tasks of the algorithm's operators
        (:meth:`~sw.kernels.algorithm.Algorithm.operators`), likewise: they share the plan and
        the buffers, and each has a graph of its own.
    switches : bool
        Whether this task is a side of a hybrid.
    """
    config: HardwareConfig
    algorithm: Algorithm
    schedule: Schedule
    format: StorageFormat
    plan: typing.Any
    buffers: Buffers
    frontier: Frontier | None = None
    layouts: list = dataclasses.field(default_factory=list)
    sides: dict = dataclasses.field(default_factory=dict)
    switches: bool = False
    input: Input | None = None
    choices: Choices = dataclasses.field(default_factory=Choices)

    @classmethod
    def make(cls, config, plan, graph, slow_edges=False):
        """Settle the task of a plan on a graph. With ``slow_edges``, edges lie in slow memory
        (:class:`~sw.runtime.buffers.Buffers`).

        Raises
        ------
        UserError
            The parts of the plan cannot work together, or the graph does not fit in the device's
            memory. Nothing has been built.
        """
        plan.check(config)
        plans = plan.sides
        one = next(iter(plans.values()))
        algorithm = one.kind(graph, **dict(one.parameters))
        buffers = Buffers(config, max(one.warps or config.warps for one in plans.values()),
                          slow_edges)
        sides = {name: cls._side(config, operator, one, buffers)
                 for name, operator in algorithm.operators().items()} or \
            {name: cls._side(config, algorithm, each, buffers, len(plans) > 1)
             for name, each in plans.items()}
        frontier, inputs = frontiers.choose(list(sides.values()))
        first = 0
        for (name, side), read in zip(sides.items(), inputs):
            sides[name] = side._with(frontier, read)
            sides[name]._settle_layouts(first)
            sides[name].schedule.check_options(sides[name])
            first += len(sides[name].layouts) + 1       # and one layout of its format
        task, *others = sides.values()
        if task.algorithm is not algorithm:
            task = dataclasses.replace(task, algorithm=algorithm, layouts=[], sides=sides)
            task._check_operators()
        elif others:
            settled = dataclasses.replace(plan, **{name: side.plan for name, side in
                                                   zip(("first", "second"), sides.values())})
            task = dataclasses.replace(task, plan=settled, layouts=[], sides=sides)
            task._check_sides()
        algorithm.reserve(task)
        if task.new_ids is not None:
            buffers.reserve(OLD_IDS, task.vertex_words)
        for side in task.made_inputs:
            side.input.reserve(side)
        for side in sides.values():
            side.format.reserve(side)
            side.reserve_layouts()
            side.schedule.reserve(side)
        if task.fused:
            fusion.check(task)
            fusion.reserve(task)
        task.buffers.place_edges()
        task.buffers.check(algorithm.subject)
        return task

    @classmethod
    def _side(cls, config, algorithm, plan, buffers, switches=False):
        """The task of one plan, without a frontier yet."""
        plan = dataclasses.replace(plan, direction=plan.way)
        task = cls(config, algorithm, schedules.make(plan.schedule),
                   plan.stored(algorithm.graph), plan, buffers, switches=switches)
        task.choices.most = algorithm.edges_at_once(task)
        task.schedule.check(task)
        task.format.check(task)
        task._settle_layouts()
        return task

    def _with(self, frontier, read):
        """This task with its frontier and its input, and without layouts."""
        plan = self.plan
        if frontier is not None:
            plan = dataclasses.replace(plan, deduplicate=frontier.deduplicate,
                                       frontier=f"{read.name}/{frontier.name}")
        return dataclasses.replace(self, frontier=frontier, input=read, plan=plan, layouts=[])

    @property
    def made_inputs(self) -> list:
        """A side for each input that is not the frontier itself; sides may share an input."""
        sides = {id(side.input): side for side in self.sides.values() or [self]
                 if side.input is not side.frontier}
        return list(sides.values())

    def _check_operators(self):
        """Refuse what the operators of an algorithm cannot share."""
        graphs = [side.algorithm.graph for side in self.sides.values()]
        if self.new_ids is not None and len({id(graph.ordered_as or graph)
                                             for graph in graphs}) > 1:
            raise UserError(f"format {self.plan.format} orders the vertices of each graph in its "
                            f"own way, and {self.algorithm.name} has {len(self.sides)} graphs with "
                            "the same vertices")

    def _check_sides(self):
        """Refuse sides that cannot use the same arrays."""
        one, other = self.sides.values()
        if not np.array_equal(one.new_ids, other.new_ids):
            raise UserError(f"format {one.plan.format} and format {other.plan.format} order the "
                            "vertices in different ways, so the plan cannot change")
        if one.schedule.has_lists and other.schedule.has_lists:
            raise UserError("both plans list the edges of the frontier, by schedules "
                            f"{one.plan.schedule} and {other.plan.schedule}, and there is room for "
                            "one")
        if one.format.has_lists and other.format.has_lists:
            raise UserError(f"both plans make lists of the frontier's records, by formats "
                            f"{one.plan.format} and {other.plan.format}, and there is room for "
                            "one")

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
        """The places in local memory (:class:`~sw.runtime.local.LocalAllocator`)."""
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
    def phases(self) -> bool:
        """Whether the kernels mark all phases."""
        return self.plan.phases

    @property
    def fused(self) -> bool:
        """Whether one kernel runs all supersteps."""
        return self.plan.fusion

    @functools.cached_property
    def loop(self) -> fusion.Loop:
        """The algorithm's loop of supersteps (:meth:`~sw.kernels.algorithm.Algorithm.loop`)."""
        return self.algorithm.loop(self)

    @property
    def warps(self) -> int:
        """Warps of each core that take part, from warp 0 on."""
        return self.plan.warps or self.config.warps

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

    @property
    def gathers(self) -> bool:
        """Whether the words of the edges' sources are gathered before each superstep."""
        return any(layout.gathers for layout in self.layouts)

    def beside(self, algorithm):
        """A task without layouts for a kernel beside the task's own kernels. It goes through rows:
        by the task's schedule if that goes through rows in one pass, else by vertex mapping."""
        schedule, choices = schedules.make("vm"), Choices()
        if self.schedule.needs == "rows" and len(self.schedule.passes(self)) == 1:
            schedule = self.schedule
            choices = dataclasses.replace(self.choices, used=dict(self.choices.used))
        return dataclasses.replace(self, algorithm=algorithm, schedule=schedule, choices=choices,
                                   layouts=[])

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
        start, width = self.buffers.address(array), self.buffers.width(array)
        return addresses(start, vertices, width), start + width * self.graph.num_vertices

    @property
    def queued(self) -> bool:
        """Whether the vertices to be worked on come from a list."""
        return self.input is not None and self.input.listed

    def next_side(self, vertices) -> str:
        """The name of the side that runs a superstep with this many vertices in its frontier."""
        first, second = self.sides
        return second if self.plan.second_follows(vertices, self.graph.num_vertices) else first

    @staticmethod
    def round_up(value, unit) -> int:
        """``value`` or the next multiple of ``unit``."""
        return -(-value // unit) * unit

    def build(self):
        """Give the buffers their contents."""
        self.algorithm.init_vertex_value(self)
        if self.fused:
            fusion.fill(self)
        if self.new_ids is not None:
            self.buffers.fill(OLD_IDS, self.to_device(np.arange(len(self.new_ids),
                                                                dtype=np.uint32)))
        for side in self.made_inputs:
            side.input.fill(side)
        for side in self.sides.values() or [self]:
            side.format.build(side)
            side.schedule.build(side)
            for layout in side.layouts:
                layout.build()

    @functools.cached_property
    def program(self) -> Program:
        """The program, with all kernels that the algorithm needs.

        Where the user does not say how many edges a lane works on at once, the schedule takes its
        own number, or half of it and so on if the program would not fit in instruction memory, or
        its registers not in local memory.

        Raises UserError if the program does not fit, or if registers and local memory do not
        suffice.
        """
        for divisor in _DIVISORS[:-1]:
            try:
                return self._program(divisor)
            except UserError:
                if not any(side.schedule.shrinks(side) or side.algorithm.shrinks
                           for side in (self, *self.sides.values())):
                    raise           # the next program would be the same
        return self._program(_DIVISORS[-1])

    def _program(self, divisor):
        """The program with a part of what the schedules work on at once. Raises UserError."""
        for side in (self, *self.sides.values()):
            side.choices.divisor = divisor
            side.algorithm.shrink(divisor)
        program = self._assemble()
        if program.size > self.config.imem_bytes:
            raise UserError(f"the program of {self.plan.text} takes {program.size} bytes, "
                            f"imem_bytes is {self.config.imem_bytes}")
        return program

    @property
    def used(self) -> dict:
        """How many edges, or works, a lane works on at once, by the name of the schedule's option.
        Known once there is the :attr:`program`."""
        used = {}
        for side in (self, *self.sides.values()):
            used |= side.choices.used
        return used

    @functools.cached_property
    def kernel_sets(self) -> dict:
        """The kernels that the host launches for each of the algorithm's kernels, by its name: a
        list of :class:`TaskStep`."""
        sets = {}
        for name, (kind, variant) in self.algorithm.kernels(self).items():
            if kind == "gather":
                side = self.sides.get(name, self)
                others = [other for other in self.sides.values()
                          if other is not side and side.switches]
                sets[name] = side.gather_steps(name, variant, others, f"_{name}" * bool(self.sides))
            else:
                def apply(assembler, name=name, variant=variant):
                    self.algorithm.apply(Kernel(assembler, self, name, variant))
                sets[name] = [TaskStep(name, apply)]
        return sets

    def gather_steps(self, name, variant, others=(), suffix="") -> list:
        """The steps that bring every edge of the layouts to the algorithm: those of the input and
        of the format, whose names end in ``suffix``, and those of the schedule. ``others`` are the
        task's other sides."""
        steps = []
        made = [] if self.input is None else self.input.passes(self)
        for item in [*made, *self.format.passes(self)]:
            entry = f"{item.name}{suffix}"
            steps.append(TaskStep(entry, lambda assembler, entry=entry, item=item: item.emit(
                Kernel(assembler, self, entry, None, self.layouts[0])), item.once))
        passes = self.schedule.passes(self)
        # A single kernel goes through one layout after another.
        groups = [self.layouts] if len(passes) == 1 else [[layout] for layout in self.layouts]
        for number, layouts in enumerate(groups):
            entries = {item.name: "_".join(part for part in (name, str(number or ""), item.name)
                                           if part) for item in passes}
            for item in passes:
                entry = entries[item.name]
                if item.operate is not None:
                    steps.append(TaskStep(
                        entry, None, item.once,
                        lambda session, argument, item=item, layout=layouts[0], entries=entries:
                        item.operate(session, argument, layout, entries)))
                    continue

                def gather(assembler, entry=entry, item=item, layouts=layouts,
                           passing=others if item is passes[0] else ()):
                    self.gather(assembler, entry, variant, layouts, item, passing)
                steps.append(TaskStep(entry, gather, item.once, in_turn=item.in_turn))
        return steps

    def _assemble(self):
        self._release_slots()
        assembler = VirtualAssembler(self._reserve_slots, self.config.threads)
        steps = {step.name: step for steps in self.kernel_sets.values() for step in steps}
        if self.fused:
            fusion.emit(self, assembler)
            steps = {}
        for step in steps.values():
            if step.emit is not None:
                step.emit(assembler)
                assembler.end_warp()
        try:
            return assembler.finish()
        except OutOfRegisters as error:
            raise UserError(f"{self.plan.text}: {error}") from None
        except OutOfReach as error:
            raise UserError(f"the program of {self.plan.text} is too long for its branches: "
                            f"{error}") from None

    def _reserve_slots(self, words):
        """Local memory for registers that have no number, as VirtualAssembler asks for it."""
        self._release_slots()
        return self.local.reserve(_SLOTS, words, "warp"), 4 * words

    def _release_slots(self):
        if _SLOTS in self.local:
            self.local.release(_SLOTS)

    def gather(self, assembler, name, variant, layouts, item, others=(), first=True):
        """Emit a pass of the schedule for some layouts, one after the other, except its end.
        ``others`` are the task's other sides; with ``first``, a kernel begins."""
        for layout in layouts:
            k = Kernel(assembler, self, name, variant, layout, item.name,
                       first=first and layout is layouts[0], leads=item.leads, gathers=item.gathers)
            done = assembler.label("layout_done")
            entered = () if item.enter is None else (item.enter(k, done),)
            layout.enter(k, done)
            self.algorithm.prepare(k)
            for other in others:            # in each layout, as any but one may have no work
                passed(k, other)
                other.format.passed(k)
                other.schedule.passed(k, other)
            layout.prepare(k)
            item.emit(k, *entered)
            if self.frontier is not None and item.gathers:
                self.frontier.finish(k)
            if layout is not layouts[-1]:
                self.schedule.go_on(k)
            assembler.place(done)
