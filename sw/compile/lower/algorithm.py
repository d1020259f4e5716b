"""A program of the language as an algorithm of the device.

Operators that follow one another become one kernel where they may (:mod:`.fuse`). A kernel with an
operator of edges goes through the graph by the plan's schedule and format (:mod:`.operators`). All
others have a lane a vertex (:mod:`.kernels`):

=========================  ==============================================================
a group                    functions of vertices, filters and sums over one set
``copy``                   copies vectors whose words at the start an operator reads
``changed``                makes the set of the vertices whose word has changed
``split``, ``least``       for queues
``include``, ``join``      for sets
``store``                  stores an element
``slot``                   stores the launch's argument as a word for later kernels
=========================  ==============================================================

Sets are in a pool (:mod:`sw.compile.frontiers.sets`). Which block of the pool a set has is known
only when the program runs, so it is a field of the launch's argument. So is one number of the host
that changes during a run, and all numbers that differ from it by a constant; others are in slots of
memory. Values that do not change are constants of the kernels.
"""

from __future__ import annotations

import contextlib


from base.errors import UserError
from sw.compile.asm.assembler import Condition
from sw.compile.frontiers.sets import Fields, Pool
from sw.compile.lower.dependence import Dependence, index_of
from sw.compile.lower.emitter import Emitter
from sw.compile.lower.fuse import EDGES, Groups, group_name
from sw.compile.lower.kernels import LARGE, SLOTS, VertexKernels
from sw.compile.lower.machine import Begun, RtlMachine
from sw.compile.lower.operators import EdgeOperator
from sw.compile.lower.run import ProgramRun
from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known
from sw.lang.passes.chain import certain_loads
from sw.lang.types import Type
from sw.vm.host import Machine, perform, value_of


__all__ = ["ProgramAlgorithm"]


#: Storages beside those of sets with a name: for all vertices, for none, and between the steps of a
#: queue and of a kernel that is held back.
_STORAGES = 6

#: Most sets that a kernel reads and makes.
_MOST_SETS = 3


class ProgramAlgorithm(ProgramRun):
    """One run of any program.

    Attributes
    ----------
    anchor : str
        The vertex array in whose addresses kernels know vertices.
    slots : dict of Uniform to int
        The values of the host that change during a run, with the numbers of their slots.
    numbers : dict of Position to int
        The numbers of the edge operators.
    edges : dict of int to EdgeSetIterator
        The edge operators by their numbers.
    dependence : Dependence
    groups : Groups
        The kernels of operators.
    dropped : frozenset of Position
        The filters that need no kernel, as nobody reads their sets.
    pool : Pool
        The memory of the sets.
    """

    @classmethod
    def form_of(cls, program):
        """Any program has this form."""
        return ()

    def __init__(self, graph, **given):
        super().__init__(graph, **given)
        program = self.program
        self._kernels = VertexKernels(self)
        nodes = self._nodes = list(ir.instructions(program.body))
        operators = [node for node in nodes if isinstance(node, ir.EdgeSetIterator)]
        self.numbers = {node.position: number for number, node in enumerate(operators)}
        self.edges = dict(enumerate(operators))
        self.dependence = Dependence(program, self.edges, _MOST_SETS)
        self.groups = Groups(program, self.numbers, self.dependence)
        self.dropped = frozenset()
        self.anchor = self.array(program.vectors[0].name)
        self._changing = _assigned(nodes)
        parts = [node for function in program.functions for node in function.body]
        parts += [node for number in self.edges for node in self.dependence.members(number)]
        uniforms = [node for node in ir.walk(*parts)
                    if isinstance(node, ir.Uniform) and self.changes(node)]
        self.slots = {node: number for number, node in enumerate(dict.fromkeys(uniforms))}
        names = {getattr(node, field) for node in nodes for field in ("name", "output_vset")
                 if isinstance(node, ir.NewVertexSet | ir.NewQueue | ir.Dequeue | ir.VertexFilter
                               | ir.EdgeSetIterator | ir.Assign) and hasattr(node, field)}
        self.pool = Pool(len(names - {None}) + _STORAGES, self.anchor)
        self._queues = list(dict.fromkeys(node.vector for node in nodes
                                          if isinstance(node, ir.NewQueue)))
        self._stored = list(dict.fromkeys(node.vector for node in nodes
                                          if isinstance(node, ir.ElementStore)))

    def settle(self, lists, marks):
        """The plan is known.

        Parameters
        ----------
        lists, marks : bool
            Whether operators of edges read sets as lists, and by stamps.
        """
        pool = self.pool
        pool.marks = marks
        pool.lists = lists or bool(self._queues) or any(
            group[0].op.kind != EDGES and not group[0].op.every for group in self.groups.all)
        if pool.lists or marks:
            return
        # Words tell which vertices are in each set, so a set is only made to be counted.
        self.dropped = frozenset(
            node.position for node in self._nodes if isinstance(node, ir.VertexFilter)
            and (asked := known(node, facts.Asked)) is not None and asked.asked <= {"members"})
        self.groups = Groups(self.program, self.numbers, self.dependence, self.dropped)

    def changes(self, node):
        """Whether a value of the host may change during a run."""
        return any((isinstance(part, ir.HostName) and part.name in self._changing)
                   or isinstance(part, ir.SetSize | ir.VertexSum) for part in ir.walk(node.value))

    def base_array(self, task):
        return self.anchor

    def neighbor_array(self, task):
        return self.anchor

    def operators(self):
        return {f"{EDGES}{number}": EdgeOperator(self, number) for number in self.edges}

    def side_of(self, kernel):
        return next((f"{EDGES}{group[0].op.what}" for group in self.groups.all
                     if group[0].op.kind == EDGES and group_name(group) == kernel), None)

    # Kernels of groups

    def functions(self, op) -> list:
        """The functions of an operator."""
        if op.kind != EDGES:
            return [self.program.function(op.what)]
        node = self.edges[op.what]
        return [self.program.function(name) for name in (node.apply_f, node.to_filter)
                if name is not None]

    def uniforms(self, op) -> list:
        """The values of the host that a kernel uses for an operator, each once."""
        parts = [node for function in self.functions(op) for node in function.body]
        if op.kind == EDGES:
            parts += self.dependence.members(op.what)
        return list(dict.fromkeys(node for node in ir.walk(*parts)
                                  if isinstance(node, ir.Uniform)))

    def fields(self, group) -> Fields:
        """The fields of a group's argument: its input, unless that is all vertices, and the sets
        that its members make."""
        return Fields(self.pool, self.dependence.sets(*group))

    def base_number(self, group):
        """The number of the host that is in the argument of a group: an expression, or None."""
        bases = [_affine(node)[0] for node in self._changing_of(group)
                 if node.type is Type.UINT]
        return max(bases, key=bases.count, default=None)

    def offset(self, node, base):
        """By how much a changing value of the host differs from a number of the host, as a
        constant; None if that is not known."""
        if base is None or node.type is not Type.UINT:
            return None
        own, offset = _affine(node)
        return offset if own == base else None

    def earlier(self, group, stamps) -> dict:
        """The values of the host that are surely smaller than some others, if these are equal, and
        by how much."""
        base = self.base_number(group)
        offsets = {self.offset(node, base) for node in stamps}
        if None in offsets or len(offsets) != 1:
            return {}
        offset, = offsets
        found = {node: self.offset(node, base) for node in self._changing_of(group)}
        return {node: offset - own for node, own in found.items()
                if own is not None and own < offset}

    def _changing_of(self, group):
        return [node for member in group for node in self.uniforms(member.op)
                if node in self.slots]

    # Arrays

    @staticmethod
    def copy_array(vector) -> str:
        """The name of the array of a vector's words at the start of an operator."""
        return f"start_{vector}"

    def copied(self, op) -> list:
        """The vectors that are copied before an operator."""
        if op.kind == EDGES:
            node = self.edges[op.what]
            copies = self.dependence.copies(node)
            if node.tracking is not None and not self.dependence.tells(node):
                copies.add(node.tracking)
            return sorted(copies)
        return sorted({vector for node in self._nodes if isinstance(node, ir.VertexSetIterator)
                       and node.apply_f == op.what for vector in node.metadata["start_copies"]})

    def _check_order(self, task):
        """Refuse an ordering if a function takes a vertex from a word: words of the device are the
        graph's numbers of vertices, and places in its arrays are the ordering's."""
        if task.new_ids is None:
            return
        for function in self.program.functions:
            for node in ir.walk(*function.body):
                index = getattr(node, "vertex" if isinstance(node, ir.Degree) else "index", None)
                if index is not None and index_of(function, index) is None:
                    raise UserError(f"format {task.plan.format} orders the vertices anew, and "
                                    f"{function.name} of {self.name} takes a vertex from a word")

    def reserve(self, task):
        self._check_order(task)
        words = max(side.vertex_words for side in task.sides.values() or [task])
        for vector in self.program.vectors:
            task.buffers.reserve(self.array(vector.name), words)
        copies = {name for group in self.groups.all for member in group
                  for name in self.copied(member.op)}
        for name in sorted(copies):
            task.buffers.reserve(self.copy_array(name), words)
        for name in self.used_degrees:
            task.buffers.reserve(name, words)
        self.pool.reserve(task, words)
        task.buffers.reserve("slots", SLOTS + len(self.slots))
        task.buffers.reserve("results", 2)
        task.buffers.reserve("least", 1)

    def init_vertex_value(self, task):
        self.check_words()
        machine = RtlMachine(self)
        with contextlib.suppress(Begun):
            self._perform(machine)
        self.fill_arrays(task, machine.arrays)
        self.pool.fill(task, machine.sets)

    # Kernels

    def kernels(self, task):
        kernels: dict[str, tuple] = {}

        def add(name, kind, what=None):
            kernels.setdefault(name, ("apply", (kind, what)))

        for group in self.groups.all:
            head = group[0].op
            if self.copied(head):
                add(f"copy_{head.name}", "copy", self.copied(head))
            if head.kind != EDGES:
                add(group_name(group), "group", group)
                continue
            kernels[group_name(group)] = ("gather", group)
            node = self.edges[head.what]
            if node.tracking is not None and not self.dependence.tells(node):
                add(f"changed{head.what}", "changed", node.tracking)
        for vector in self._queues:
            add(f"split_{vector}", "split", vector)
            add(f"least_{vector}", "least", vector)
        if self._queues:
            add("join", "join")
            add("infinite", "infinite")
        for vector in self._stored:
            add(f"store_{vector}", "store", self.array(vector))
        if any(isinstance(node, ir.NewVertexSet | ir.NewQueue | ir.Dequeue)
               for node in ir.walk(*self.program.body)):
            add("include", "include")
        for slot in range(SLOTS + len(self.slots)):
            add(f"slot{slot}", "slot", slot)
        return kernels

    def apply(self, k):
        self._kernels.emit(k, *k.variant)

    def emitter(self, k, words, function, known=None, copies=()) -> Emitter:
        """An Emitter for a function of vertices. ``words`` has the registers of its values of the
        host, ``known`` those with words of its own vertex, by vector."""
        loads = {load: known[load.vector] for load in certain_loads(function)
                 if known and load.vector in known}
        return Emitter(k, self.bits, words.__getitem__, self.array,
                       {name: self.copy_array(name) for name in copies}, loads)

    def load_words(self, k, group) -> list:
        """For each member of a group, the registers with the values of the host that its functions
        use, by their nodes."""
        base, number, found = self.base_number(group), None, []
        for member in group:
            words = {}
            for node in self.uniforms(member.op):
                offset = self.offset(node, base) if node in self.slots else None
                if offset is not None:
                    number = number or self._load_number(k, group)
                    words[node] = self._offset(k, number, offset - _affine(
                        self._number_node(group))[1])
                elif node in self.slots:
                    words[node] = VertexKernels.load_slot(k, SLOTS + self.slots[node], "value")
                else:
                    words[node] = k.constant(self._constant(node), "value")
            found.append(words)
        return found

    @staticmethod
    def _offset(k, number, offset):
        """A register with a number and a constant."""
        if not offset:
            return number
        into = k.a.reg("value")
        k.step(into, offset, number)
        return into

    def _number_node(self, group):
        """The value of the host that is in the argument: the first of those that differ from
        :meth:`base_number` by a constant."""
        base = self.base_number(group)
        return next(node for node in self._changing_of(group)
                    if self.offset(node, base) is not None)

    def number_word(self, group, words) -> int | None:
        """The word of the host for the argument of a group, whose members' values of the host are
        ``words``; None if its argument has none."""
        return None if self.base_number(group) is None else words[self._number_node(group)]

    def _load_number(self, k, group):
        a, fields, number = k.a, self.fields(group), k.a.reg("number")
        fields.number(k, number)
        with a.if_uniform(_equal(k, number, fields.most), "large"):
            place = a.reg("slots")
            a.li(place, k.address("slots"))
            a.lw(number, place, 4 * LARGE)
        return number

    def _constant(self, node):
        return value_of(node, self._values, self.graph, self.bits)

    # Host

    def _perform(self, machine: Machine):
        return perform(self.program, self.graph, machine, self._values, self.bits)

    def drive(self, session):
        self._result = self._perform(RtlMachine(self, session))
        return self._result.operators

    def outputs(self, session):
        return self._result.outputs


def _assigned(nodes):
    """The variables of the host that get a value more than once, or while a program runs in a
    loop; all others keep their value."""
    return {node.name for node in nodes if isinstance(node, ir.Assign | ir.ForLoop)}


def _affine(node):
    """``(number, offset)``: a value of the host is the number and a constant."""
    value, offset = node.value if isinstance(node, ir.Uniform) else node, 0
    while isinstance(value, ir.Binary) and value.operation in ("+", "-") \
            and isinstance(value.right, ir.Literal) and value.right.type is Type.WHOLE:
        offset += value.right.value * (1 if value.operation == "+" else -1)
        value = value.left
    return value, offset


def _equal(k, register, value):
    """The condition that a register, the same in all lanes, has a value."""
    return Condition("eq", register, k.constant(value, "large"))
