"""A program of the language as an algorithm of the device.

Each operator of edges is a part that goes through the graph by the plan's schedule and format
(:class:`~sw.compile.lower.operators.EdgeOperator`). Everything else is a kernel with a lane a
vertex (:mod:`sw.compile.lower.kernels`):

=========================  ==============================================================
``copy``                   copies vectors whose words at the start an operator reads
``changed``                makes the set of the vertices whose word has changed
``vertices``               performs a function of vertices
``where``, ``total``       a filter, a sum
``split``, ``least``       for queues
``fill``, ``include``,     for sets
``join``
``store``                  stores an element
``slot``, ``output``       store the launch's argument as a word for later kernels
=========================  ==============================================================

A set is an array of words, 1 for its vertices, and its count before them. Which array a set has is
known only when the program runs, so kernels get its place in a slot. Slots also hold the values of
the host that change during a run; values that do not are constants of the kernels.
"""

from __future__ import annotations

import contextlib

import numpy as np

from base.errors import UserError
from sw.lang import graph_ir as ir
from sw.vm.host import Machine, perform, value_of
from sw.compile.lower.kernels import OTHER, OUTPUT, SLOTS, VertexKernels
from sw.compile.lower import described
from sw.compile.lower.machine import Begun, RtlMachine
from sw.compile.lower.operators import EdgeOperator
from sw.compile.lower.run import ProgramRun


__all__ = ["ProgramAlgorithm"]


#: Sets beside those with a name: of all vertices, and those between the steps of a queue.
_SETS = 6

class ProgramAlgorithm(ProgramRun):
    """One run of any program.

    Attributes
    ----------
    anchor : str
        The vertex array in whose addresses kernels know vertices.
    slots : dict of Uniform to int
        The values of the host that change during a run, with the numbers of their slots.
    numbers : dict of Position to int
        The numbers of the operators.
    num_sets : int
        Arrays for sets; the first is the set of all vertices.
    """
    ALL = ir.ALL
    way = "operator by operator"

    @classmethod
    def form_of(cls, program):
        """Any program has this form."""
        return ()

    def __init__(self, graph, **given):
        super().__init__(graph, **given)
        program = self.program
        self._kernels = VertexKernels(self)
        nodes = list(ir.instructions(program.body))
        operators = [node for node in nodes
                     if isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator)]
        self.numbers = {node.position: number for number, node in enumerate(operators)}
        self._nodes = operators
        self._edges = {f"edges{self.numbers[node.position]}": node for node in operators
                       if isinstance(node, ir.EdgeSetIterator)}
        self.anchor = self.array(program.vectors[0].name)
        self._changing = _assigned(nodes)
        uniforms = [node for function in program.functions for node in ir.walk(*function.body)
                    if isinstance(node, ir.Uniform) and self._changes(node)]
        self.slots = {node: number for number, node in enumerate(dict.fromkeys(uniforms))}
        names = {getattr(node, field) for node in nodes for field in ("name", "output_vset")
                 if isinstance(node, ir.NewVertexSet | ir.NewQueue | ir.Dequeue | ir.VertexFilter
                               | ir.EdgeSetIterator | ir.Assign) and hasattr(node, field)}
        self.num_sets = len(names - {None}) + _SETS
        self._queues = list(dict.fromkeys(node.vector for node in nodes
                                          if isinstance(node, ir.NewQueue)))
        self._stored = list(dict.fromkeys(node.vector for node in nodes
                                          if isinstance(node, ir.ElementStore)))

    def _changes(self, node):
        """Whether a value of the host may change during a run."""
        return any((isinstance(part, ir.HostName) and part.name in self._changing)
                   or isinstance(part, ir.SetSize | ir.VertexSum) for part in ir.walk(node.value))

    def base_array(self, task):
        return self.anchor

    def neighbor_array(self, task):
        return self.anchor

    def operators(self):
        return {name: EdgeOperator(self, node) for name, node in self._edges.items()}

    # Arrays

    @staticmethod
    def copy_array(vector) -> str:
        """The name of the array of a vector's words at the start of an operator."""
        return f"start_{vector}"

    def copied(self, node) -> list:
        """The vectors that are copied before an operator."""
        copies = set(node.metadata["start_copies"])
        if isinstance(node, ir.EdgeSetIterator) and node.tracking is not None:
            copies.add(node.tracking)
        return sorted(copies)

    def distance(self, number) -> int:
        """The distance from the anchor to a set, as a word."""
        return (self._buffers.address(f"set{number}") + 4
                - self._buffers.address(self.anchor)) % (1 << 32)

    def _check_order(self, task):
        """Refuse an ordering if a function takes a vertex from a word: words of the device are the
        graph's numbers of vertices, and places in its arrays are the ordering's."""
        if task.new_ids is None:
            return
        for function in self.program.functions:
            for node in ir.walk(*function.body):
                index = getattr(node, "vertex" if isinstance(node, ir.Degree) else "index", None)
                if index is not None and not (isinstance(index, ir.Local)
                                              and index.name in function.parameters):
                    raise UserError(f"format {task.plan.format} orders the vertices anew, and "
                                    f"{function.name} of {self.name} takes a vertex from a word")

    def reserve(self, task):
        self._check_order(task)
        words = max(side.vertex_words for side in task.sides.values() or [task])
        self._buffers = task.buffers
        for vector in self.program.vectors:
            task.buffers.reserve(self.array(vector.name), words)
        for name in sorted({name for node in self._nodes for name in self.copied(node)}):
            task.buffers.reserve(self.copy_array(name), words)
        for name in self.used_degrees:
            task.buffers.reserve(name, words)
        for number in range(self.num_sets):
            task.buffers.reserve(f"set{number}", words + 1)
        task.buffers.reserve("slots", SLOTS + len(self.slots))
        task.buffers.reserve("results", 2)
        task.buffers.reserve("least", 1)

    def init_vertex_value(self, task):
        self.check_words()
        machine, count = RtlMachine(self), self.graph.num_vertices
        with contextlib.suppress(Begun):
            self._perform(machine)
        self.fill_arrays(task, machine.arrays)
        task.buffers.fill("set0", np.append(np.uint32(count), np.ones(count, np.uint32)))
        for number, vertices in machine.sets.items():
            members = np.zeros(count, np.uint32)
            members[vertices] = 1
            task.buffers.fill(f"set{number}", np.append(np.uint32(len(vertices)),
                                                        task.vertices.to_device(members)))

    # Kernels

    def kernels(self, task):
        kernels: dict[str, tuple] = {}

        def add(name, kind, what=None):
            kernels.setdefault(name, ("apply", (kind, what)))

        for node in self._nodes:
            number = self.numbers[node.position]
            if self.copied(node):
                add(f"copy{number}", "copy", self.copied(node))
            if isinstance(node, ir.VertexSetIterator):
                add(f"vertices{number}", "vertices", node)
                continue
            kernels[f"edges{number}"] = ("gather", None)
            if node.tracking is not None:
                add(f"changed{number}", "changed", node.tracking)
        for node in ir.walk(*self.program.body):
            match node:
                case ir.VertexFilter():
                    add(f"where_{node.filter}", "where", node.filter)
                case ir.VertexSum():
                    add(f"total_{node.function}", "total", node.function)
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
            add("fill", "fill")
            add("include", "include")
        for slot in range(SLOTS + len(self.slots)):
            add(f"slot{slot}", "slot", slot)
        for slot in (OUTPUT, OTHER):
            add(f"output{slot}", "output", slot)
        return kernels

    def lowered(self, task):
        return described.kernels(self, task)

    def decisions(self, task):
        return described.decisions(self)

    def apply(self, k):
        self._kernels.emit(k, *k.variant)

    def load_words(self, k, *functions):
        """The registers with the values of the host that functions use, by their nodes."""
        nodes = dict.fromkeys(
            node for name in functions if name is not None
            for node in ir.walk(*self.program.function(name).body) if isinstance(node, ir.Uniform))
        return {node: VertexKernels.load_slot(k, SLOTS + self.slots[node], "value")
                if node in self.slots else k.constant(self._constant(node), "value")
                for node in nodes}

    def _constant(self, node):
        return value_of(node, self._values, self.graph, self.bits)

    # Host

    def _perform(self, machine: Machine):
        return perform(self.program, self.graph, machine, self._values, self.bits)

    def drive(self, session):
        machine = RtlMachine(self, session)
        self._result = self._perform(machine)
        return machine.supersteps

    def outputs(self, session):
        return self._result.outputs


def _assigned(nodes):
    """The variables of the host that get a value more than once, or while a program runs in a
    loop; all others keep their value."""
    return {node.name for node in nodes if isinstance(node, ir.Assign | ir.ForLoop)}
