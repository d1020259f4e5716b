"""Loops that relax the edges of a frontier until no word changes (Bellman and Ford).

The form: a fixpoint loop (:mod:`sw.lang.passes.fixpoint`) that begins at one vertex, whose function
is one reduction of one vector at the destination, by ``min`` or ``max``. All other vertices begin
with the worst word, from which only the worst word arrives. So it does not matter whether edges of
vertices that were not reached are relaxed. Words are only ever replaced by better words, by an
atomic or by the one lane that has the vertex for itself. If a vertex gets a better word after a
lane has read the old one, the vertex is in the next frontier. So the result does not depend on the
order of the lanes; only the number of supersteps does.

*Push.* A lane reads its source's word when it begins with the source. An edge counts if it would
make its destination's word better. The atomic then tells whether it did.

*Pull.* Every vertex goes through all edges that enter it, whether or not their sources have
changed. If a lane has the row for itself, it takes the best word in a register.

*Near and far* (Davidson et al., IPDPS 2014). With a queue that has a ``delta``, only vertices whose
word is below a threshold push, until none are left. Then the threshold moves on by ``delta``.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from typing import Any

import numpy as np

from base.errors import UserError
from sw.compile.kernels.fusion import Loop
from sw.compile.lowered import LoweredKernel, LoweringDecision
from sw.lang import graph_ir as ir
from sw.lang.types import WORD, Type
from sw.compile.lower.loops.one_loop import LoopRun, at_parameter, loads, only_loop, start_of
from sw.compile.lower.places import place_of


__all__ = ["Relaxation"]


#: {reduction: the word that every other word is better than}.
_WORST = {"min": WORD - 1, "max": 0}

#: A delta is this many times the mean weight divided by the mean degree.
_DELTA_FACTOR = 32


@dataclasses.dataclass(frozen=True)
class _Form:
    """The parts of a program."""
    function: ir.Function
    reduce: ir.Reduce  #: Its only statement.
    start: str  #: The set or queue of the loop.
    queue: ir.NewQueue | None
    #: Whether the value is the source's word, plus the weight if the program takes weights.
    sends: bool

    @property
    def delta_argument(self):
        """The parameter that is the queue's delta, or None."""
        delta = None if self.queue is None else self.queue.delta
        return delta.name if isinstance(delta, ir.HostName) else None


class Relaxation(LoopRun):
    """One run."""
    way = "as a relaxation"

    @classmethod
    def form_of(cls, program):
        loop = only_loop(program)
        if loop is None or not loop.metadata["is_fixpoint"]:
            return None
        edges: Any = loop.body[-1]
        function = program.function(edges.apply_f)
        if len(function.body) != 1 or edges.transposed \
                or start_of(program, loop.condition.name) is None:
            return None
        reduce, = function.body
        if not isinstance(reduce, ir.Reduce) or reduce.operation not in ("min", "max") \
                or not at_parameter(function, reduce.index, 1) \
                or not all(isinstance(load.index, ir.Local) for load in loads(reduce.value)):
            return None
        worst = ir.Literal(value=_WORST[reduce.operation], type=Type.UINT, position=loop.position)
        if program.vector(reduce.vector).initial != worst \
                or not _stays_worst(function, reduce.value, reduce):
            return None
        queue = next((node for node in program.body if isinstance(node, ir.NewQueue)), None)
        if queue is not None and queue.delta is not None and (
                reduce.operation == "max" or queue.vector != reduce.vector):
            return None
        return _Form(function, reduce, loop.condition.name, queue,
                     _sends(function, reduce, program.weighted))

    @classmethod
    def attributes(cls, program, form, options):
        least = form.reduce.operation == "min"
        found = {"sends": form.sends, "listable": form.sends,
                 "least_wins": least and form.sends, "identity": _WORST[form.reduce.operation],
                 "void_edge": "self" if form.sends else "padding"}
        if form.delta_argument is not None:
            found["TRIES"] = {form.delta_argument: (None, "auto", 4, 16, 64, 256, 1024)}
            found["options"] = options | {form.delta_argument: (int, "auto")}
        return found

    def __init__(self, graph, **given):
        super().__init__(graph, **given)
        form = self.form
        self._vector = self.array(form.reduce.vector)
        self._least = form.reduce.operation == "min"
        self._start, = self.beginning.values[form.start]
        self._delta = None
        if form.queue is not None:
            delta = self.beginning.queues[form.start].delta
            self._delta = None if delta == WORD - 1 else delta
        # A path on which a word came leaves no vertex twice.
        words = self.beginning.arrays[form.reduce.vector]
        largest = int(words[words != WORD - 1].max(initial=0))
        if form.sends and self.weighted:
            heaviest = np.zeros(graph.num_vertices, np.uint64)
            np.maximum.at(heaviest, graph.src, graph.weights)
            largest += int(heaviest.sum())
        self._fits = largest < WORD - 1

    @classmethod
    def numbers_of(cls, graph, given):
        """As of :class:`ProgramRun`; ``"auto"`` for a delta is :meth:`choose_delta`, and None is
        infinity. Raises UserError if a delta is out of range."""
        found, name = super().numbers_of(graph, given), cls.form.delta_argument
        if name in found:
            value: Any = {"auto": cls.choose_delta(graph), None: WORD - 1}.get(
                found[name], found[name])
            if not 0 < operator.index(value) < WORD:
                raise UserError(f"{cls.name}: {name} is {value}, must be from 1 to {WORD - 1}, or "
                                "auto")
            found[name] = value
        return found

    @property
    def sums_fit(self):
        return self._fits

    @staticmethod
    def choose_delta(graph) -> int:
        """A delta for a graph with weights: 32 times the mean weight divided by the mean degree.
        This is Davidson et al.'s rule, in which the factor is the number of lanes of a warp."""
        if not graph.num_edges or graph.weights is None:
            return 1
        mean = float(graph.weights.mean(dtype=np.float64))
        degree = graph.num_edges / graph.num_vertices
        return int(min(max(1, round(_DELTA_FACTOR * mean / degree)), WORD - 1))

    def base_array(self, task):
        return self._vector

    neighbor_array = base_array

    def frontiers(self, task):
        if self._delta is not None:
            return ("queue",)
        return ("queue", "counter", "bitmap", "bytemap") \
            if task.direction == "push" and not task.gathers else ("counter",)

    def frontier_reason(self, task):
        if task.gathers:
            return "a superstep visits all edges, as the words of their sources were gathered"
        if self._delta is not None:
            return "near vertices are added to a queue, and far ones to a pile (delta)"
        return "pulling visits all edges, whether or not their sources have changed"

    def tested(self, task):
        return self.filters(task)

    def adds_once(self, task, asked):
        return self._own(task)

    def first_threshold(self, task):
        return self._delta

    @staticmethod
    def _own(task):
        """Whether a lane takes the best word over all edges of its vertex in a register."""
        return task.direction == "pull" and task.owns_vertex

    def _tests_voids(self, task):
        """Whether an edge may lead to no vertex, and have a word that would count."""
        return not self.form.sends and any(layout.voids for layout in task.layouts)

    def selective(self, task):
        return not self._own(task) or self._tests_voids(task)

    def filters(self, task):
        # If the sources' words have been gathered, looking at all edges costs less.
        return task.direction == "push" and not task.gathers

    # Memory

    @property
    def may_fail(self):
        return not (self.form.sends and self._fits)

    def init_vertex_value(self, task):
        self.check_words()
        self.fill(task, {self.form.reduce.vector: self.identity})
        task.frontier.init(task, task.vertices.number(self._start))

    # Kernels

    def kernels(self, task):
        kernels = {"gather": ("gather", None)}
        if self._delta is not None:
            kernels["advance"] = ("apply", None)
        return kernels

    def lowered(self, task):
        kernels = [LoweredKernel("gather", (("edge", self.form.function.name),),
                                 task.input.name, task.frontier.name)]
        if self._delta is not None:
            kernels.append(LoweredKernel("advance", (("vertex", "the next threshold"),),
                                         task.frontier.name, task.frontier.name))
        return kernels

    def decisions(self, task):
        loop: Any = only_loop(self.program)
        where = place_of(self.program, loop.body[-1])
        found = [LoweringDecision("start words without a copy", True,
                          "early: the loop is a fixpoint", where)]
        if task.direction == "pull":
            own = self._own(task)
            fact = "a lane has its vertex" if own else \
                "a lane, or a core, that has all edges of its vertex"
            found.append(LoweringDecision("reductions in registers", own, fact, where))
        if not self.form.sends:
            fact = "sent: the value is more than the source's word and the weight"
            found.append(LoweringDecision("lists of edges", False, fact, where))
        return found

    def prepare(self, k):
        k.open_frontier()
        owns = k.task.schedule.owns_base or self._own(k.task)
        self._base = k.a.reg("base_word") if owns else None
        if self._tests_voids(k.task):
            self._end = k.constant(k.address(self._vector) + 4 * self.graph.num_vertices, "end")

    def filter_data(self, k, base, into):
        k.input.member_data(k, base, into)

    def filter(self, k, base, data, into):
        k.input.member(k, base, data, into)

    def begin(self, k, base):
        k.a.lw(self._base, base.reg)

    def gather(self, k, edges):
        """The word that arrives over each edge. If edges are selected, also the word that it would
        replace, and whether there is an edge if that is in question."""
        a, task = k.a, k.task
        pull = task.direction == "pull"
        words, replaced, real = [], [], [None for _ in edges]
        for i, edge in enumerate(edges):
            target = edge.base if pull else edge.neighbor
            word = self._base
            if word is None or pull:
                word = self.source_word(k, edge, self._vector,
                                        lambda i=i: a.reg(f"source_word{i}"))
            words.append(word)
            replaced.append(self._base if self._own(task) else None)
            if replaced[i] is None:
                replaced[i] = a.reg(f"target_word{i}")
                a.lw(replaced[i], target.reg)
            if self._tests_voids(task):
                real[i] = a.reg(f"real{i}")
                a.sltu(real[i], edge.neighbor.reg, self._end)
        for i, edge in enumerate(edges):
            if not self.form.sends:
                words[i] = self._value(k, edge, words[i])
            elif edge.weight is not None:
                # A sum that passes 32 bits becomes the largest word.
                self.along(k, words[i], edge.weight, fits=self.sums_fit and self.filters(task))
                words[i] = edge.weight
        return list(zip(words, replaced, real))

    def _value(self, k, edge, word):
        """The value of the reduction for an edge whose source has this word."""
        ends = edge.base, edge.neighbor
        if k.task.direction == "pull":
            ends = ends[::-1]
        known = {load: word for load in loads(self.form.reduce.value)
                 if load.vector == self.form.reduce.vector}
        return self.emitter(k, known).expression(
            self.form.function, self.form.reduce.value, [*ends, edge.weight], self.degrees)

    def accepts(self, k, data, into, counts=True):
        word, replaced, real = data
        pair = (word, replaced) if self._least else (replaced, word)
        k.a.sltu(into, *pair)
        if real is not None:
            k.a.and_(into, into, real)

    def _better(self, k, into, word, other):
        """``into`` = the better of two words."""
        if self._least:
            k.minimum(into, word, other)
        else:
            k.maximum(into, word, other)

    def sum(self, k, edge, data, predicate):
        a = k.a
        word = data[0]
        if self._own(k.task):
            self._better(k, self._base, word, self._base)
            return
        target = edge.base if k.task.direction == "pull" else edge.neighbor
        known = a.label("known")
        before = a.reg("before")
        if self._least:
            a.amominu_w(before, word, target.reg)
            a.sltu(predicate, word, before)
        else:
            a.amomaxu_w(before, word, target.reg)
            a.sltu(predicate, before, word)
        k.narrow(predicate, known)
        k.frontier.add(k, target, predicate, known, key=word)
        a.place(known)

    def collects(self, task):
        return self._own(task)

    def collected(self, k):
        return [self._base]

    def merge(self, k, other, number=0):
        self._better(k, self._base, other, self._base)

    def collect_at(self, k, data, address):
        (k.a.amominu_w if self._least else k.a.amomaxu_w)(k.a.zero, data[0], address)

    def finish(self, k, base):
        if not self._own(k.task):
            return
        a, before = k.a, k.a.reg("before")
        a.lw(before, base.reg)
        if self._least:
            a.sltu(before, self._base, before)
        else:
            a.sltu(before, before, self._base)
        with k.only(before, "same") as same:
            a.sw(self._base, base.reg)
            k.frontier.add(k, base, before, same)

    def apply(self, k):
        k.task.frontier.advance(k, lambda old, into: self.new_threshold(k, old, into))

    def new_threshold(self, k, old, into):
        a = k.a
        passed = a.reg("passed")
        a.li(into, self._delta)
        a.add(into, into, old)
        # Beyond 32 bits the threshold is the largest number, which no word exceeds.
        a.sltu(passed, into, old)
        a.neg(passed, passed)
        a.or_(into, into, passed)

    # Host

    def loop(self, task):
        if self._delta is not None:
            raise UserError(f"{self.name}: fusion=yes cannot have delta: the host moves the "
                            "threshold between near and far vertices")
        return Loop((("gather",),))

    def drive(self, session):
        if self._delta is None:
            return super().drive(session)
        frontier = session.task.frontier
        for superstep in itertools.count():
            session.launch("gather", frontier.argument(session.task, superstep))
            if not frontier.added(session, superstep) and not self._advance(session, superstep):
                return superstep + 1

    @staticmethod
    def _advance(session, superstep):
        """Move the threshold until the superstep after this one has work. Returns whether it has.
        """
        frontier = session.task.frontier
        while frontier.far(session):
            session.launch("advance", frontier.argument(session.task, superstep + 1))
            frontier.moved()
            if frontier.added(session, superstep):
                return True
        return False

    def parameters(self):
        found: dict[str, object] = dict(super().parameters())
        if self.form.delta_argument is not None:
            found[self.form.delta_argument] = self._delta
        return found


def _stays_worst(function, node, reduce):
    """Whether a value is the worst word if the vector's word at the source is."""
    if isinstance(node, ir.VectorLoad):
        return node.vector == reduce.vector and at_parameter(function, node.index, 0)
    if not isinstance(node, ir.Binary):
        return False
    left, right = (_stays_worst(function, part, reduce) for part in (node.left, node.right))
    either, both, first = {"min": ({"+", "max"}, {"min"}, set()),
                           "max": ({"min", "*"}, {"max", "+"}, {"-", ">>"})}[reduce.operation]
    operation = node.operation
    return ((operation in either and (left or right)) or (operation in both and left and right)
            or (operation in first and left))


def _sends(function, reduce, weighted):
    """Whether the value is the source's word, plus the weight if there are weights."""
    def is_word(node):
        return (isinstance(node, ir.VectorLoad) and node.vector == reduce.vector
                and at_parameter(function, node.index, 0))

    value = reduce.value
    if not weighted:
        return is_word(value)
    if not (isinstance(value, ir.Binary) and value.operation == "+" and value.type is Type.UINT
            and function.weighted):
        return False
    return any(is_word(one) and at_parameter(function, other, 2)
               for one, other in ((value.left, value.right), (value.right, value.left)))
