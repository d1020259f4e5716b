"""A program of the language as an algorithm of the device.

Operators that follow one another become one kernel where they may (:mod:`.fuse`). A kernel with an
operator of edges goes through the graph by the plan's schedule and format (:mod:`.operators`). All
others have a lane a vertex (:mod:`.kernels`):

=========================  ==============================================================
a group                    functions of vertices, filters and sums over one set
``copy``                   copies vectors whose words at the start an operator reads
``changed``                makes the set of the vertices whose word has changed
``split``, ``least``       for queues
``advance``                for queues with a pile of the far vertices (:mod:`.pile`)
``renumber``               makes room for the numbers of launches
``include``, ``join``      for sets
``store``                  stores an element
``slot``                   stores the launch's argument as a word for later kernels
=========================  ==============================================================

Sets are in a pool (:mod:`sw.compile.frontiers.pool`). Which block of the pool a set has is known
only when the program runs, so it is a field of the launch's argument, beside a number of the host
(:mod:`.host_numbers`).
"""

from __future__ import annotations

import collections
import contextlib
import functools
from typing import Any

from base.errors import UserError
from sw.compile.algorithm import VertexName
from sw.compile.frontiers.frontier import LISTS, QUEUE
from sw.compile.frontiers.maps import FORMS
from sw.compile.frontiers.pile import PILE_KERNELS, Pile
from sw.compile.frontiers.pool import Fields, Pool
from sw.compile.lower import described
from sw.compile.lower.addresses import Addresses
from sw.compile.lower.chained import chained
from sw.compile.lower.dependence import Dependence, behind_beginning, keeps_copy
from sw.compile.lower.emitter import Emitter
from sw.compile.lower.flags import numbered
from sw.compile.lower.fuse import EDGES, Groups
from sw.compile.lower.host_code import HostCode
from sw.compile.lower.host_kernel import DeviceProgram
from sw.compile.lower.host_numbers import SLOTS, HostNumbers, slots
from sw.compile.lower.kernels import VertexKernels
from sw.compile.lower.machine import Begun, RtlMachine
from sw.compile.lower.operators import EdgeOperator
from sw.compile.lower.queues import (
    added_once, delta_argument, has_pile, without_infinite_deltas)
from sw.compile.lower.run import ProgramRun, of_graph
from sw.compile.lower.specialised import specialised
from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known
from sw.lang.passes import analysed, as_written
from sw.lang.schedule import labelled
from sw.lang.types import WORD, Type
from sw.lang.uses import calls
from sw.vm.host import perform, value_of


__all__ = ["ProgramAlgorithm", "algorithm_of"]


#: Types of parameters: as of :attr:`~sw.compile.algorithm.Algorithm.options`.
_OPTIONS = {Type.UINT: (int,), Type.WHOLE: (int,), Type.BOOL: (int,), Type.DECIMAL: (float,),
            Type.VERTEX: (VertexName, "hub")}

#: Values of a queue's delta that the tuner tries.
_DELTAS = None, "auto", 4, 16, 64, 256, 1024


#: Storages beside those of sets with a name: for all vertices, for none, and between the steps of a
#: queue and of a kernel that is held back.
_STORAGES = 6

#: Most sets that a kernel reads and makes.
_MOST_SETS = 3


def algorithm_of(program: ir.GraphProgram, check: Any = None) -> type[ProgramAlgorithm]:
    """The algorithm of a program: a class, whose instances are runs.

    Parameters
    ----------
    program : GraphProgram
    check : sw.golden.results.ResultCheck, optional
        The check of its results, if the program is a known algorithm.
    """
    text, program = as_written(program), numbered(analysed(program))
    options: dict[str, tuple] = {argument.name: _OPTIONS[argument.type]
                                 for argument in program.arguments}
    delta, found = delta_argument(program), {}
    if delta is not None:
        options[delta] = int, "auto"
        found = {"delta_argument": delta, "TRIES": {delta: _DELTAS}}
    return type(program.name, (ProgramAlgorithm,), {
        "__doc__": program.summary, "name": program.name, "text": text, "program": program,
        "check": check, "MODEL": "the interpreter of its text" + (
            "" if check else ", which is its only check"),
        "weighted": program.weighted, "options": options, **_operators(program),
        "vertex_outputs": tuple(name for name in program.outputs
                                if program.vector(name).type is Type.VERTEX), **found})


def _operators(program):
    """The attributes of an algorithm about the operators of edges."""
    nodes = [node for node in ir.instructions(program.body)
             if isinstance(node, ir.EdgeSetIterator)]
    names = {node.position: f"{EDGES}{number}" for number, node in enumerate(nodes)}
    labels = {label: tuple(names[part.position] for part in ir.instructions((node,))
                           if part.position in names and isinstance(part, ir.EdgeSetIterator))
              for label, node in labelled(program).items()}
    collects = bool(nodes) and all(_collects(program, node) for node in nodes)
    return {"operator_names": tuple(names.values()),
            "switches": any(node.input_vset != ir.ALL for node in nodes),
            **({"directions": ("pull", "push")} if collects else {}),
            "labels": {label: found for label, found in labels.items() if found}}


def _collects(program, node):
    """Whether an operator of edges only brings words of all edges to their destinations. A program
    of such operators pulls by its own choice."""
    function = program.function(node.apply_f)
    return node.input_vset == ir.ALL and node.to_filter is None and node.tracking is None and all(
        isinstance(part, ir.Let) or (isinstance(part, ir.Reduce)
                                     and function.parameter(part.index) == 1)
        for part in function.body)


class _Shared:
    """A program for some parameters, with what follows from it alone; and its kernels by what they
    depend on (:meth:`ProgramAlgorithm._group_operators`). All runs share it, whatever their graphs
    and plans.
    """

    def __init__(self, program):
        self.program = program
        self.groups: dict[Any, tuple] = {}
        nodes = self.nodes = list(ir.instructions(program.body))
        operators = [node for node in nodes if isinstance(node, ir.EdgeSetIterator)]
        self.numbers = {node.position: number for number, node in enumerate(operators)}
        self.edges = dict(enumerate(operators))
        self.addresses = Addresses(program, ProgramRun.array)
        self.anchor = self.addresses.array or ProgramRun.array(_most_used(program))
        self.slots = slots(program, Dependence(program, self.edges, _MOST_SETS, _MOST_SETS))
        names = {getattr(node, field) for node in nodes for field in ("name", "output_vset")
                 if isinstance(node, ir.NewVertexSet | ir.NewQueue | ir.Dequeue | ir.VertexFilter
                               | ir.EdgeSetIterator | ir.Assign) and hasattr(node, field)}
        self.storages = len(names - {None}) + _STORAGES
        self.split = [node for node in nodes if isinstance(node, ir.NewQueue) and not (
            node.delta is None and added_once(program, node))]
        self.stored = list(dict.fromkeys(
            node.vector for node in ir.instructions(behind_beginning(program))
            if isinstance(node, ir.ElementStore)))


@ir.once
def _shared_by_runs(program):
    """What runs of a program share, by what is left of it for their parameters."""
    return {}


class ProgramAlgorithm(ProgramRun):
    """One run of any program.

    Attributes
    ----------
    addresses : Addresses
    anchor : str
        The vertex array in whose addresses kernels know vertices.
    host : HostNumbers
        The values of the host.
    numbers : dict of Position to int
        The numbers of the edge operators.
    edges : dict of int to EdgeSetIterator
        The edge operators by their numbers.
    dependence : Dependence
    groups : Groups
        The kernels of operators.
    splits : bool
        Whether a queue's vertices are split into those that are ready, and the others.
    dropped : frozenset of Position
        The filters that need no kernel, as nobody reads their sets.
    pool : Pool
        The memory of the sets.
    sides : list of Task
        Those of the operators of edges, when the plan is settled.
    claimed : set of int
        The operators of edges whose launches have numbers, which are stamps.
    piles : dict of str to Pile
        The piles of the far vertices, by the names of the queues that have one.
    """
    no_frontier = "it has no operator of edges"
    stays = ("a plan is chosen by the size of a set, and its operators of edges go out from all "
             "vertices, not `from_` a set")

    def __init__(self, graph, **given):
        super().__init__(graph, **given)
        shared = self._shared
        self.program, self._nodes, self._known_groups = shared.program, shared.nodes, shared.groups
        self._kernels = VertexKernels(self)
        self.numbers, self.edges, self._stored = shared.numbers, shared.edges, shared.stored
        self.has_sets = bool(self.edges)
        self.dropped = frozenset()
        self._group_operators({})
        self._reserved: list[str] = []
        self.addresses, self.anchor = shared.addresses, shared.anchor
        self.host = HostNumbers(shared.slots, self.dependence, lambda node: value_of(
            node, self._values, self.graph, self.bits))
        self.pool = Pool(shared.storages, self.anchor)
        self._split = shared.split
        self.splits, self.piles, self.claimed = bool(self._split), {}, set()
        self._chain: ir.EdgeSetIterator | None = None

    def settle(self, kind, marks, sides):
        """The plan is known.

        Parameters
        ----------
        kind : str
            The frontier that each set is.
        marks : bool
            Whether operators of edges read sets by stamps.
        sides : list of Task
            Those of the operators of edges.
        """
        owned: dict[int, frozenset] = {}
        for side in sides:
            number, vectors = side.algorithm.number, side.algorithm.owned(side)
            owned[number] = owned.get(number, vectors) & vectors
        owned = {number: vectors for number, vectors in owned.items() if vectors}
        by_unit = kind == LISTS
        given = owned, 1 if by_unit else _MOST_SETS, frozenset(self.edges) - {
            side.algorithm.number for side in sides if not side.algorithm.compares(side)}
        self._group_operators(*given)
        for side in sides:
            side.algorithm.settle_result()
        form = kind if kind in FORMS else None
        lists = by_unit or kind == QUEUE or (form is None and (bool(self._split) or any(
            group[0].op.kind != EDGES and not group[0].op.every for group in self.groups.all)))
        several = (any(side.plan.deduplicate is False for side in sides)
                   and not any(side.schedule.notes for side in sides))
        self.pool.keep(lists, marks, form, several and not by_unit, by_unit)
        if lists and not sides[0].fused:
            self.piles = {queue.name: pile for queue in self._split
                          if (pile := _pile_of(self, queue)) is not None}
            self._split = [queue for queue in self._split if queue.name not in self.piles]
        if lists or marks or form or sides[0].switches:
            return
        # Words tell which vertices are in each set, so a set is only made to be counted.
        self.dropped = frozenset(
            node.position for node in self._nodes if isinstance(node, ir.VertexFilter)
            and (asked := known(node, facts.Asked)) is not None and asked.asked <= {"members"})
        self._group_operators(*given)

    def settle_stamps(self, sides):
        """It is known what the operators of edges, those of the tasks ``sides``, count once."""
        pool, self.sides = self.pool, sides
        pool.counted = not pool.lists and not sides[0].fused
        claimed = {side.algorithm.number for side in sides if side.algorithm.claims(side)}
        claims = bool(claimed) or (pool.lists and bool(self._split))
        pool.stamped = pool.marks or (claims and not pool.claims_bits)
        chain = None
        if pool.marks and not self._split and not self.piles and all(
                side.algorithm.may_chain(side) for side in sides):
            chain = chained(self.program, self.edges.values())
        if chain is not None:
            claimed, self._chain = {self.numbers[chain.position]}, chain
        numbered = len(claimed) == 1 if sides[0].fused else not any(
            self.host.number(group) for number in claimed for group in self.groups.of(number))
        pool.by_launch = pool.stamped and numbered and not self._split and (
            not pool.marks or chain is not None)
        pool.stamped &= not pool.by_launch
        pool.chained = pool.by_launch and pool.marks
        self.claimed = claimed if pool.by_launch else set()

    def base_array(self, task):
        return self.anchor

    def operators(self):
        return {f"{EDGES}{number}": EdgeOperator(self, number) for number in self.edges}

    def side_of(self, task, kernel):
        way, group = self.groups.kernel(kernel, task.plan.ways)
        side = f"{EDGES}{group[0].op.what}" if group and group[0].op.kind == EDGES else None
        return f"{way}_{side}" if way else side

    # Kernels of groups

    @of_graph
    def _shared(self):
        program, shared = self.program, _shared_by_runs(self.program)
        left = without_infinite_deltas(
            specialised(program, self._values, self.graph), self._values, self.graph)
        key = tuple((node.position, getattr(node, "condition", None), getattr(node, "delta", None))
                    for node in ir.instructions(left.body))
        if key not in shared:
            shared[key] = _Shared(left)
        return shared[key]

    def _group_operators(self, owned, most_made=_MOST_SETS, compared=frozenset()):
        """Find the kernels of operators; the parameters are as of Dependence."""
        key = frozenset(owned.items()), most_made, compared, self.dropped
        if key not in self._known_groups:
            dependence = Dependence(self.program, self.edges, _MOST_SETS, most_made, owned,
                                    compared)
            self._known_groups[key] = dependence, Groups(
                self.program, self.numbers, dependence, self.dropped)
        self.dependence, self.groups = self._known_groups[key]

    def load_words(self, k, group) -> list:
        """For each member of a group, the registers with the values of the host that it uses, by
        their nodes."""
        return self.host.load(k, group, self.fields(group))

    def fields(self, group) -> Fields:
        """The fields of a group's argument: its input, unless that is all vertices, and the sets
        that its members make."""
        return Fields(self.pool, self.dependence.sets(*group))

    # Arrays

    def arrays(self, turned):
        """``arrays(turned)(vector)``: the name of a vector's array, if the vectors ``turned`` have
        their words in their other array."""
        return lambda vector: f"other_{self.array(vector)}" if vector in turned \
            else self.array(vector)

    @staticmethod
    def copy_array(vector) -> str:
        """The name of the array of a vector's words at the start of an operator."""
        return f"start_{vector}"

    def reserve(self, task):
        _check_order(self, task)
        words = max(side.vertex_words for side in task.sides.values() or [task])
        known_by = {self.anchor} | {name for side in task.sides.values() for name in (
            side.algorithm.base_array(side), side.algorithm.neighbor_array(side))}
        self._reserved = [vector.name for vector in self.program.vectors
                          if vector.name in self.groups.used or self.array(vector.name) in known_by]
        for name in self._reserved:
            task.buffers.reserve(self.array(name), words)
        for name in sorted({name for group in self.groups.all
                            for name in self.dependence.swapped(group)}):
            task.buffers.reserve(self.arrays({name})(name), words)
        copies = {name for group in self.groups.all for member in group
                  for name in self.dependence.copied(member.op)} | self._kept
        for name in sorted(copies):
            task.buffers.reserve(self.copy_array(name), words)
        for name in self.used_degrees:
            task.buffers.reserve(name, words)
        self.pool.reserve(task, words)
        for pile in self.piles.values():
            pile.reserve(task, words)
        if not task.fused:
            task.buffers.reserve(SLOTS, self.host.words)
        task.buffers.reserve("results", 2)
        task.buffers.reserve("least", 1)

    def init_vertex_value(self, task):
        self.check_words()
        arrays = {name: self.beginning.arrays[name] for name in self._reserved}
        rest = {}
        for side in task.sides.values():
            rest = side.algorithm.padding(side) | rest
        self.fill_arrays(task, {name: words for name, words in arrays.items()
                                if name not in self.addresses.vectors}, rest)
        for name in self.addresses.vectors & arrays.keys():
            self.addresses.fill(task, self.array(name), arrays[name])
        for name in self._kept & self.addresses.vectors:
            self.addresses.fill(task, self.copy_array(name), arrays[name])
        for name in self._kept - self.addresses.vectors:
            task.buffers.fill(self.copy_array(name), task.vertices.to_device(arrays[name]))
        sets = dict(self.beginning.sets)
        for name, pile in self.piles.items():
            block = self.beginning.values[name].block
            near = pile.fill(task, sets.get(block, []),
                             self.beginning.arrays[self.beginning.queues[name].vector])
            if block in sets:
                sets[block] = near
        first, values, chain = [], self.beginning.values, self._chain
        if chain is not None:       # what a queue gave the first round, or is to give
            first = [values[name].block for name in (chain.input_vset, chain.output_vset)
                     if name in values]
        self.pool.fill(task, sets, *first[:1])

    @property
    def _kept(self) -> set:
        """The vectors whose copy a kernel keeps that finds what edges have changed."""
        return {node.tracking for node in self.edges.values()
                if self.dependence.is_compared(node) and keeps_copy(self.program, node)}

    @functools.cached_property
    def beginning(self) -> RtlMachine:
        """The machine that has performed what stands before the first operator."""
        machine = RtlMachine(self)
        with contextlib.suppress(Begun):
            perform(self.program, self.graph, machine, self._values, self.bits)
        return machine

    # Kernels

    def kernels(self, task):
        kernels: dict[str, tuple] = {}

        def add(name, kind, what=None):
            kernels.setdefault(name, ("apply", (kind, what)))

        for name, (group, turned) in self.groups.kernels.items():
            head = group[0].op
            if self.dependence.copied(head):
                add(f"copy_{head.name}", "copy", self.dependence.copied(head))
            if head.kind != EDGES:
                add(name, "group", (group, turned))
                continue
            for way in task.plan.ways:
                kernels["_".join(filter(None, (way, name)))] = ("gather", (group, turned))
            node = self.edges[head.what]
            if self.dependence.is_compared(node):
                add(f"changed{head.what}", "changed", node)
        for name in self.piles:
            for kind in PILE_KERNELS:
                add(f"{kind}_{name}", kind, name)
        for vector in dict.fromkeys(queue.vector for queue in self._split):
            add(f"split_{vector}", "split", vector)
            add(f"least_{vector}", "least", vector)
        if self.claimed:
            add("renumber", "renumber")
        if self._split:
            add("join", "join")
            add("infinite", "infinite")
        for vector in self._stored:
            add(f"store_{vector}", "store", self.array(vector))
        if any(isinstance(node, ir.NewVertexSet | ir.NewQueue)
               for node in ir.walk(*self.program.body)):
            add("include", "include")
        for slot in range(self.host.words):
            add(f"slot{slot}", "slot", slot)
        return kernels

    def lowered(self, task):
        found = described.kernels(self, task)
        return [each for each in found if each.name in task.loop.names] if task.fused else found

    def decisions(self, task):
        return described.decisions(self, task)

    def apply(self, k):
        self._kernels.emit(k, *k.variant)

    def emitter(self, k, words, copies=(), turned=frozenset(), known=None, places=None) -> Emitter:
        """An Emitter for a function of vertices. ``words`` has the registers of its values of the
        host, ``known`` those of words of its own vertex, by loads."""
        return Emitter(k, self.bits, words.__getitem__, self.arrays(turned),
                       {name: self.copy_array(name) for name in copies}, known, places=places,
                       addresses=self.addresses.array)

    # Host

    def loop(self, task):
        return DeviceProgram(self, HostCode(self, self._values, task.config.cores))

    def drive(self, session):
        if session.task.fused:
            return session.task.loop.drive(session)
        machine = RtlMachine(self, session)
        self._result = perform(self.program, self.graph, machine, self._values, self.bits)
        self.ways = machine.ways
        return machine.supersteps

    def outputs(self, session):
        if not session.task.fused:
            return self._result.outputs
        arrays = self.arrays(session.task.loop.turned)
        return {name: self.addresses.read(session, name, arrays(name))
                for name in self.program.outputs}



def _check_order(run, task):
    """Refuse an ordering if a function takes a vertex from a word: words of the device are the
    graph's numbers of vertices, and places in its arrays are the ordering's."""
    if task.new_ids is None or run.addresses.any_order:
        return
    for function in run.program.functions:
        for node in ir.walk(*function.body):
            index = getattr(node, "vertex" if isinstance(node, ir.Degree) else "index", None)
            if index is not None and function.parameter(index) is None:
                raise UserError(f"format {task.plan.format} orders the vertices anew, and "
                                f"{function.name} of {run.name} takes a vertex from a word")


def _most_used(program):
    """The vector that functions use in most places, and first of these: its vertices need no
    address of their own there. The order of declarations does not matter."""
    used = collections.Counter(
        node.vector for part in ir.instructions(program.body) for name in calls(part)
        for node in ir.walk(*program.function(name).body)
        if isinstance(node, ir.VectorLoad | ir.VectorStore | ir.Reduce))
    return used.most_common(1)[0][0] if used else program.vectors[0].name


def _pile_of(program, queue):
    """The pile of a queue of a program, or None. The argument of a launch has room for one number,
    which is the superstep's then."""
    begun = program.beginning
    if not has_pile(program.program, queue) or any(
            program.host.number(group) for group in program.groups.all if group[0].op.kind == EDGES
            and program.edges[group[0].op.what].output_vset == queue.name):
        return None
    first = begun.sets.get(begun.values[queue.name].block, [])
    if (begun.arrays[queue.vector][first] == WORD - 1).any():
        return None
    return Pile(queue.name, program.anchor, program.array(queue.vector),
                begun.queues[queue.name].delta)
