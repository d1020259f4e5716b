"""Loops whose rounds go through all edges, and apply functions to all vertices.

The form: a loop of functions of all vertices and of one operator of all edges, whose function is
one reduction, maybe under a condition. Two vectors are known: the *sum*, into which the operator
reduces, and the *word*, which it reads at the source.

A round begins with its edges. The functions of vertices before the operator are performed by the
host for the first round, and behind the functions after it for every later one. All these functions
are one kernel, which passes words on in registers (:mod:`sw.lang.passes.chain`). The last round
leaves out the functions before the operator, and only the last stores vectors that nobody reads
before.

*Collecting lanes.* If one lane has all edges of the vertex that collects, the sum stays in a
register, and one kernel does the whole round. Other lanes may then still need the words of the last
round, so two arrays of words change roles.

*Flags.* If the loop goes on while the operator has set a flag, the flags are a count in the
frontier, and not in memory. A loop of :mod:`sw.lang.passes.components` may read labels that the
same operator has just changed, and its labels are the addresses of labels.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools

import numpy as np

from base.errors import UserError
from sw.compile.algorithm import SentWord
from sw.compile.kernels.fusion import Loop
from sw.compile.kernels.kernel import Vertex
from sw.compile.kernels.reductions import reduce_word
from sw.compile.kernels.vertices import each_vertex
from sw.compile.lowered import LoweredKernel, LoweringDecision
from sw.lang import graph_ir as ir
from sw.lang.passes.accesses import IDENTITY
from sw.lang.passes.chain import (chained, certain_loads, reads_elsewhere, stored_for_sure,
                                  without_stores)
from sw.lang.types import WORD, Type
from sw.vm.host import host_value, perform, value_of
from sw.compile.lower.emitter import Emitter
from sw.compile.lower.loops.one_loop import at_parameter
from sw.compile.lower.loops.sweep_form import form_of, loads_of, outside_loads
from sw.compile.lower.loops.sweep_host import MOST_ROUNDS, RoundCounter, SweepMachine
from sw.compile.lower.machine import Begun
from sw.compile.lower.places import place_of
from sw.compile.lower.run import ProgramRun, frozen, of_graph


__all__ = ["Sweep"]


class Sweep(ProgramRun):
    """One run.

    Attributes
    ----------
    asks : bool
        Whether the host sums words after each round.
    shown : set of str
        The vectors that the host reads after each round, for a sum.
    """

    way = "as a sweep over all edges"

    @classmethod
    def form_of(cls, program):
        return form_of(program)

    @classmethod
    def attributes(cls, program, form, options):
        collects = form.component is None and form.guard is None and form.flags is None
        return {"sent": SentWord(value=form.sends),
                "directions": ("push", "pull") if form.component else ("pull", "push"),
                "identity": IDENTITY[form.reduce.operation] if collects else None,
                "void_edge": "self" if _differ(form.guard) else "padding"}

    def __init__(self, graph, **given):
        super().__init__(graph, **given)
        form, function = self.form, self.program.function
        sums = [node for node in form.totals if self._asked(node)]
        written = {vector for name in form.after for vector in function(name).writes()}
        written.add(form.reduce.vector)
        self.shown = set() if not sums else written & {
            vector for name in (*(node.function for node in sums), *form.before)
            for vector in function(name).reads()}
        self.asks = bool(sums)
        _ = self._beginning             # refuses values that do not fit

    def _asked(self, total):
        """Whether the host may ask for a sum, by the values of the parameters."""
        def may(node):
            """Whether evaluating a condition comes to the sum."""
            if isinstance(node, ir.Binary) and node.operation in ("and", "or"):
                known = self._known(node.left)
                stops = known is not None and bool(known) == (node.operation == "or")
                return may(node.left) or (not stops and may(node.right))
            return any(part is total for part in ir.walk(node))

        return any(may(node.condition) if isinstance(node, ir.HostBranch) else
                   any(part is total for part in ir.walk(node))
                   for node in ir.instructions(self.program.body)
                   if isinstance(node, ir.HostBranch | ir.Assign))

    def _known(self, node):
        """The value of an expression of the host that only depends on parameters, else None."""
        if any((isinstance(part, ir.HostName) and part.name not in self._values)
               or isinstance(part, ir.VertexSum | ir.SetSize) for part in ir.walk(node)):
            return None
        return host_value(node, self._values, self.graph)

    # Memory

    @of_graph
    def _beginning(self):
        """The words before the first round's edges, by vector."""
        machine = SweepMachine(self)
        with contextlib.suppress(Begun):
            self._perform(machine)
        return frozen({vector.name: machine.words(vector.name)
                       for vector in self.program.vectors})

    @classmethod
    def _functions(cls, names):
        return [cls.program.function(name) for name in names]

    def _switched(self):
        """The vectors that a round both reads at sources and stores."""
        stored = {vector for function in self._functions((*self.form.after, *self.form.before))
                  for vector in function.writes()}
        return {self.form.word} & stored

    @functools.cached_property
    def _may_fuse(self):
        """Whether a lane that has all edges of a vertex can do the vertex's whole round."""
        form, total = self.form, self.form.reduce.vector
        if form.component or form.flags or not form.after or total in self.program.outputs \
                or total in self.shown:
            return False
        cleared = stored_for_sure(chained(self._functions(form.before))) if form.before else {}
        clear = cleared.get(total)
        if not (isinstance(clear, ir.Literal) and clear.value == self._identity_value):
            return False
        stores = [node for function in self._functions((*form.after, *form.before))
                  for node in ir.walk(*function.body)
                  if isinstance(node, ir.VectorStore) and node.vector == total]
        chain = self._chain(True, True)
        read = {load.vector for load in loads_of(chain)}
        return (len(stores) == 1 and total not in {load.vector for load in form.loads}
                and all(vector in stored_for_sure(chain) and vector not in read
                        and vector not in self.program.outputs and vector not in self.shown
                        for vector in self._switched()))

    @property
    def _identity_value(self):
        return IDENTITY[self.form.reduce.operation]

    def _chain(self, more, fused):
        """The functions of vertices that end a round, as one, or None; ``more`` tells whether
        another round follows, ``fused`` whether the sum is in a register."""
        return self._chain_of(more, fused, frozenset(self.shown), self.asks)

    @classmethod
    @functools.lru_cache(1000)          # plans ask again and again for the few chains of a program
    def _chain_of(cls, more, fused, shown, asks):
        form = cls.form
        names = (*form.after, *(form.before if more else ()))
        if not names:
            return None
        chain = chained(cls._functions(names))
        last = stored_for_sure(chained(cls._functions(form.after))) if form.after else {}
        live = shown | set(cls.program.outputs)
        if more:
            if not asks:
                live -= set(last)
            live |= {load.vector for load in (*form.loads, *loads_of(chain))}
            live |= {form.reduce.vector}
        live -= {form.flags, form.reduce.vector if fused else None}
        chain = without_stores(chain, {vector.name for vector in cls.program.vectors} - live)
        return chain if chain.body else None

    def _fused(self, task):
        """Whether a lane that has all edges of a vertex does the vertex's whole round."""
        return task.direction == "pull" and task.owns_vertex and self._may_fuse

    def _vectors(self, fused):
        """The vectors in memory."""
        used = set(self.program.outputs) | {load.vector for load in self.form.loads}
        for more in (True, False):
            chain = self._chain(more, fused)
            if chain is not None:
                used |= chain.writes() | chain.reads()
        if fused:
            used.discard(self.form.reduce.vector)
        else:
            used.add(self.form.reduce.vector)
        return [vector.name for vector in self.program.vectors if vector.name in used]

    def reserve(self, task):
        if task.new_ids is not None and self.form.component is None and any(
                vector.type is Type.VERTEX for vector in self.program.vectors):
            raise UserError(f"format {task.plan.format} orders the vertices anew, and the words of "
                            f"{self.name} are vertices")
        fused = self._fused(task)
        names = [self.array(name) for name in self._vectors(fused)]
        if fused:
            names += [f"other_{self.array(name)}" for name in self._switched()]
        self.reserve_arrays(task, names)

    @property
    def may_fail(self):
        return self.form.component is None

    def init_vertex_value(self, task):
        self.check_words()
        self.fill_arrays(task, {name: self._beginning[name]
                                for name in self._vectors(self._fused(task))
                                if name != self.form.component})
        if self.form.component is not None:
            # Kernels run over the last vertex, whose label must be an address, too.
            address = task.buffers.address(self._sum_array)
            task.buffers.fill(self._sum_array,
                              address + 4 * np.arange(task.vertex_words, dtype=np.uint32))
        if task.frontier is not None:
            task.frontier.init(task, None)

    # The plan

    def frontiers(self, task):
        return ("counter",) if self.form.flags else ()

    def frontier_reason(self, task):
        if self.form.flags:
            return ("every vertex takes part in every superstep, and the algorithm asks only "
                    "whether a flag was set")
        return "every vertex takes part in every superstep"

    @property
    def sends_early(self):
        """Whether words may be read early: none is all ones, or one less."""
        if self.form.component:
            return self.form.sends
        return self.form.sends and self.largest(self.form.word) < WORD - 2

    @property
    def _word_array(self):
        return self.array(self.form.word)

    @property
    def _sum_array(self):
        return self.array(self.form.component or self.form.reduce.vector)

    def neighbor_array(self, task):
        return self._word_array if task.direction == "pull" else self._sum_array

    def base_array(self, task):
        if task.direction == "push":
            return self._word_array
        if not self._fused(task):
            return self._sum_array
        chain = self._chain(True, True)
        own = [load.vector for load in certain_loads(chain)
               if load.vector != self.form.reduce.vector]
        return self.array(own[0]) if own else self._word_array

    def _tests_voids(self, task):
        """Whether an edge may lead to no vertex, and count: by its word when pulling, by its flag
        in both directions. A flag of the padding vertex counts, too."""
        flags = self.form.flags is not None
        counts = flags or (task.direction == "pull" and not self._neutral)
        return (self.void_edge == "padding" and counts
                and any(layout.voids or (flags and layout.filled) for layout in task.layouts))

    @functools.cached_property
    def _neutral(self):
        """Whether the word of a vertex behind the last changes no sum."""
        form = self.form
        if form.guard is not None or not isinstance(form.reduce.value, ir.VectorLoad) \
                or form.reduce.operation not in ("+", "or", "max"):
            return False
        stores = [value for function in self._functions((*form.before, *form.after))
                  for node in ir.walk(*function.body)
                  if isinstance(node, ir.VectorStore) and node.vector == form.word
                  for value in [node.value]]
        stored = {vector for function in self._functions((*form.before, *form.after))
                  for vector in function.writes()} | {form.reduce.vector}
        return all(isinstance(value, ir.Binary) and value.operation == "*" and any(
            isinstance(part, ir.VectorLoad) and part.vector not in stored
            for part in (value.left, value.right)) for value in stores)

    def selective(self, task):
        return self.form.guard is not None or self._tests_voids(task)

    # Kernels. A variant is the arrays that the words are read from and stored into, if they change
    # roles, and the chain of functions.

    def kernels(self, task):
        chains = {"": self._chain(True, self._fused(task)),
                  "_last": self._chain(False, self._fused(task))}
        word = self._word_array
        if self._fused(task):
            other = f"other_{word}" if self._switched() else word
            return {name + suffix: ("gather", (*way, chain))
                    for name, way in (("gather", (word, other)), ("gather_back", (other, word)))
                    for suffix, chain in chains.items()}
        return {"gather": ("gather", (word, word, None))} | {
            f"apply{suffix}": ("apply", (word, word, chain)) for suffix, chain in chains.items()
            if chain is not None}

    def lowered(self, task):
        found, ended = [], self.form.after
        for name, (kind, (*_, chain)) in self.kernels(task).items():
            members = []
            if kind == "gather":
                members.append(("edge", self.form.function.name))
            if chain is not None:
                names = ended if name.endswith("_last") else (*ended, *self.form.before)
                members += [("finish" if kind == "gather" else "vertex", each) for each in names]
            counter = task.frontier and task.frontier.name if kind == "gather" else None
            found.append(LoweredKernel(name, tuple(members), None, counter))
        return found

    def decisions(self, task):
        where = place_of(self.program, self.form.edges)
        found = []
        if self.form.before or self.form.after:
            lacks = self._lacks_one_kernel(task)
            fact = lacks or "a lane has its vertex; covered: all is stored before it is read"
            found.append(LoweringDecision("one kernel a round", lacks is None, fact, where))
        if task.direction == "pull":
            own = bool(self.private(task))
            fact = "a lane has the edges of a row" if own else \
                "a lane that has the edges of a row, and no labels"
            found.append(LoweringDecision("reductions in registers", own, fact, where))
        if self.asks:
            found.append(LoweringDecision("rounds without the host", False, "sums on the device",
                                          where))
        return found

    def _lacks_one_kernel(self, task):
        """The fact that is missing to do a round by one kernel, or None."""
        if task.direction == "push":
            return "flow: pushed sums are final only behind a barrier"
        if not task.owns_vertex:
            return "a lane, or a core, that has all edges of its vertex"
        return None if self._may_fuse else \
            "covered: a function needs words of other vertices, or of a round that has ended"

    def prepare(self, k):
        task, function = k.task, self.form.function
        if self.form.flags:
            k.open_frontier()
        if self._tests_voids(task):
            neighbors = self.neighbor_array(task)
            self._end = k.constant(k.address(neighbors) + 4 * self.graph.num_vertices, "end")
        self._of_base, self._own = {}, {}
        if task.schedule.owns_base or self._fused(task):
            end = int(task.direction == "pull")
            self._of_base = {load: k.a.reg(load.vector) for load in self.form.loads
                             if at_parameter(function, load.index, end)}
        if self._fused(task):
            self._own = {load: k.a.reg(load.vector) for load in certain_loads(k.variant[2])
                         if load.vector != self.form.reduce.vector}

    def _word_of(self, node):
        return value_of(node, self._values, self.graph, self.bits)

    def _emitter(self, k, known, places=None, stores=None):
        """An Emitter for a function, with the words that are known."""
        addresses = self._sum_array if self.form.component else None
        stores = stores or {}
        return Emitter(k, self.bits, lambda node: k.constant(self._word_of(node)),
                       lambda vector: stores.get(vector, self.array(vector)), {}, known,
                       places=places, addresses=addresses)

    def expect(self, k, base):
        if k.task.direction == "pull" and self.form.component is None:
            k.a.lw(k.a.zero, base.reg)

    def begin(self, k, base):
        a = k.a
        k.private.clear()
        for load, word in (self._of_base | self._own).items():
            a.lw(word, k.pointer(base, self.array(load.vector), word))

    def gather(self, k, edges):
        """The words of the ends of each edge, and whether there is an edge if that is in question.
        """
        found = []
        for i, edge in enumerate(edges):
            ends = edge.base, edge.neighbor
            if k.task.direction == "pull":
                ends = ends[::-1]
            ends = dict(zip(self.form.function.parameters, ends))
            known = {}
            for load in self.form.loads:
                at_source = at_parameter(self.form.function, load.index, 0)
                if at_source and edge.value is not None:
                    known[load] = edge.value
                elif load in self._of_base:
                    known[load] = self._of_base[load]
                elif at_source:
                    known[load] = self.source_word(k, edge, k.variant[0],
                                                   lambda i=i: k.a.reg(f"word{i}"))
                else:
                    word = known[load] = k.a.reg(f"{load.vector}{i}")
                    k.a.lw(word, k.pointer(ends[load.index.name], self.array(load.vector), word))
            real = None
            if self._tests_voids(k.task):
                real = k.a.reg(f"real{i}")
                k.a.sltu(real, edge.neighbor.reg, self._end)
            found.append((known, real, ends, edge.weight))
        return found

    def _value(self, k, node, data, into=None):
        """The register with an expression of the operator's function."""
        known, _, ends, weight = data
        emitter = self._emitter(k, known)
        return emitter.expression(self.form.function, node, [*ends.values(), weight],
                                  self.degrees, into)

    def accepts(self, k, data, into, counts=True):
        real = data[1]
        if self.form.guard is None:
            k.a.mv(into, real)
            return
        found = self._value(k, self.form.guard, data, into)
        if real is not None:
            k.a.and_(into, found, real)
        elif found is not into:
            k.a.mv(into, found)

    def sum(self, k, edge, data, predicate):
        a, reduce = k.a, self.form.reduce
        if k.private.words:
            k.private.take("sum", self._value(k, reduce.value, data))
        else:
            known, _, ends, weight = data
            emitter = self._emitter(k, known)
            emitter.reduction(self.form.function, reduce, [*ends.values(), weight], self.degrees)
        if self.form.flags:
            after = a.label("flagged")
            k.frontier.add(k, edge.neighbor, predicate, after)
            a.place(after)

    def private(self, task):
        collects = (task.direction == "pull" and self.form.component is None
                    and (task.owns_vertex or task.schedule.owns_base))
        return {"sum": self.form.reduce.operation} if collects else {}

    def collect_at(self, k, data, address):
        reduce = self.form.reduce
        reduce_word(k, reduce.operation, self._value(k, reduce.value, data), address)

    def finish(self, k, base):
        if not k.private.words:
            return
        total = k.private.words["sum"]
        if not self._fused(k.task):
            pointer = k.pointer(base, self._sum_array, k.a.reg("pointer"))
            reduce_word(k, self.form.reduce.operation, total, pointer)
            return
        k.phase(5)
        _, other, chain = k.variant
        vector = self.form.reduce.vector
        known = self._own | {load: total for load in loads_of(chain) if load.vector == vector}
        self._emitter(k, known, stores={self.form.word: other}).run(chain, [base], self.degrees)
        k.phase(3)

    def apply(self, k):
        a, chain = k.a, k.variant[2]
        own = certain_loads(chain)
        arrays = [self.array(name) for name in dict.fromkeys(
            [load.vector for load in own] + [
                node.vector for node in ir.walk(*chain.body)
                if isinstance(node, ir.VectorStore)])]
        early, late = _early_stores(chain)
        with each_vertex(k, *arrays) as pointers:
            places = {name: pointers[name] for name in arrays}
            known = {load: a.reg(load.vector) for load in own}
            for load, word in known.items():
                a.lw(word, places[self.array(load.vector)])
            # While the words come: stores that need none, and pointers that are not needed again.
            emitter = self._emitter(k, known, places)
            vertex = Vertex(places[arrays[0]], arrays[0])
            emitter.run(early, [vertex], self.degrees)
            if not _needs_vertex(late):
                stored = {self.array(vector) for vector in late.writes()}
                for name in arrays:
                    if name not in stored:
                        pointers.advance(name)
            emitter.run(late, [vertex], self.degrees)

    # Host

    def _perform(self, machine):
        return perform(self.program, self.graph, machine, self._values, self.bits)

    def begin_round(self, session, number):
        """Launch a round's edges, unless one kernel does the whole round. Returns the number of
        flags that were set, if there are flags."""
        task = session.task
        if self._fused(task):
            return None
        frontier = task.frontier
        session.launch("gather", number if frontier is None else frontier.argument(task, number))
        return None if frontier is None else frontier.added(session, number)

    def end_round(self, session, number, more):
        """Launch the rest of a round; ``more`` tells whether another round follows."""
        last = "" if more else "_last"
        if self._fused(session.task):
            session.launch(("gather_back" if number % 2 else "gather") + last, number)
        elif self._chain(more, False) is not None:
            session.launch("apply" + last)

    def loop(self, task):
        fused = self._fused(task)
        after = {more: self._chain(more, fused) is not None for more in (True, False)}
        if self.asks:
            raise UserError(f"{self.name}: fusion=yes cannot have the sum of the host between two "
                            "supersteps")
        if self.form.flags:
            if self.form.after:
                raise UserError(f"{self.name}: fusion=yes cannot have {self.form.after[0]} behind "
                                "the operator that sets the flags")
            return Loop((("gather",),), then=("apply",) if after[True] else ())
        if fused:
            turns: tuple = ("gather",), ("gather_back",)
        else:
            turns = (("gather", *(["apply"] if after[True] else [])),)
        rounds = self._count_rounds()
        last = ("gather", *(["apply_last"] if after[False] else []))
        if fused:
            last = (f"{turns[(rounds - 1) % 2][0]}_last",)
        return Loop(turns, count=rounds, last=last)

    def _count_rounds(self):
        """The number of rounds, which no word of the device decides."""
        machine = RoundCounter(self.graph.num_vertices)
        with contextlib.suppress(Begun):
            self._perform(machine)
        if not 0 < machine.rounds <= MOST_ROUNDS:
            raise UserError(f"{self.name}: fusion=yes takes 1 to {MOST_ROUNDS} supersteps")
        return machine.rounds

    def drive(self, session):
        if session.task.fused:
            return super().drive(session)
        machine = SweepMachine(self, session)
        self._perform(machine)
        return machine.rounds

    def outputs(self, session):
        found = super().outputs(session)
        if self.form.component is None:
            return found
        return {name: self._labels(session, words) for name, words in found.items()}

    def _labels(self, session, words):
        """The vertices whose labels' addresses are these words. If vertices are numbered anew, a
        label names its component by a new number, and the component's smallest vertex by the
        graph's numbers replaces the label. A label that names no vertex stays, so that the
        comparison with the reference finds it."""
        label = (words - np.uint32(session.task.buffers.address(self._sum_array))) >> np.uint32(2)
        if session.task.new_ids is not None:
            own = np.arange(len(label), dtype=np.uint32)
            smallest = np.full_like(own, len(own))
            known = label < len(own)
            np.minimum.at(smallest, label[known], own[known])
            label[known] = smallest[label[known]]
        return label


def _early_stores(chain):
    """The stores of a chain that need no word, and the rest of the chain: two functions. Such a
    store may come first if the vector is not stored before it, and if every call loads the vector's
    word before the chain begins."""
    early = [node for node in chain.body
             if isinstance(node, ir.VectorStore) and isinstance(node.value, ir.Literal)
             and sum(isinstance(part, ir.VectorStore) and part.vector == node.vector
                     for part in ir.walk(*chain.body)) == 1
             and {load for load in loads_of(chain) if load.vector == node.vector}
             <= set(certain_loads(chain))]
    late = [node for node in chain.body if not any(node is other for other in early)]
    return (dataclasses.replace(chain, body=tuple(early)),
            dataclasses.replace(chain, body=tuple(late)))


def _needs_vertex(function):
    """Whether a function of vertices, whose own words are known, needs its vertex for more than
    stores that every call makes."""
    plain = all(isinstance(node, ir.Let | ir.VectorStore) for node in function.body)
    return not plain or bool(reads_elsewhere(function)) or any(
        at_parameter(function, part, 0) for node in function.body
        for part in outside_loads(node.value))


def _differ(guard):
    """Whether a condition holds for no edge from a vertex to itself: that two words of a vector at
    the two ends differ."""
    return (isinstance(guard, ir.Binary) and guard.operation == "!="
            and isinstance(guard.left, ir.VectorLoad) and isinstance(guard.right, ir.VectorLoad)
            and guard.left.vector == guard.right.vector)
