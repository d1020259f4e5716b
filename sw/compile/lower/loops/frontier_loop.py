"""Loops from a frontier to the next: searches, and relaxations until no word changes.

:mod:`.frontier_form` says which programs have such a loop, and what is known of it. The loop's
operator, its filters, and the functions of the vertices that it changes are one kernel.

Why every order of the lanes gives the same result
--------------------------------------------------
*With stamps.* Stamps of L and less were written before the launch, and no stamp changes in
superstep L but from never to L + 1. So a lane that reads a stamp greater than L has a vertex that
was in no frontier before this superstep, and reads as good as at the superstep's start. Another
lane may have found the vertex by now. Only such vertices are changed; only their lanes add them.

- *Push.* An edge from the frontier to such a vertex counts. Its reductions are atomics. The lane
  that reads *never* back as it puts the stamp is the first, and it alone adds the vertex.
- *Pull.* Kernels go only through rows of vertices that were not found before. A source of the
  frontier has the stamp L. If every edge that counts changes its destination, no vertex has a
  neighbour that was found long before: it would have been found itself. Then each source with a
  stamp of L at most counts. If an edge *suffices* for all reductions, a lane that has the row for
  itself stops there. Where it must be the one of the smallest source, rows ascend. The Weaver hands
  out a row's edges in their order. When a lane tells the Weaver to skip the rest of the row, all
  edges up to that lane's edge have been handed out. So skipping prevents only edges that are not
  needed, whenever it takes effect.

*Early.* Words are only ever replaced by better words, by an atomic or by the one lane that has the
vertex for itself. If a vertex gets a better word after a lane has read the old one, the vertex is
in the next frontier. So the result does not depend on the order of the lanes; only the number of
supersteps does.

- *Push.* A lane reads its source's word when it begins with the source. An edge counts if it would
  make a word of its destination better, of any vector that edges reduce. The atomic then tells
  whether it did.
- *Pull.* Every vertex goes through all edges that enter it. If edges of sources that have not
  changed may change something, it asks of each source whether it is in the frontier. If a lane has
  the row for itself, it takes the best words in registers.
- *Near and far* (Davidson et al., IPDPS 2014). With a queue that has a ``delta``, only vertices
  whose word is below a threshold push, until none are left. Then the threshold moves on by
  ``delta``.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from base.errors import UserError
from sw.compile.algorithm import SentWord
from sw.compile.kernels.fusion import Loop
from sw.compile.kernels.kernel import Vertex
from sw.compile.kernels.reductions import reduce_word
from sw.compile.lower.emitter import Emitter
from sw.compile.lower.loops.frontier_form import FrontierForm, Unproven, find
from sw.compile.lower.loops.one_loop import LoopRun, loads
from sw.compile.lower.relaxation import improves
from sw.compile.lower.run import frozen, of_graph
from sw.compile.lowered import LoweredKernel, LoweringDecision
from sw.lang import graph_ir as ir
from sw.lang.faults import can_fail, may_lose
from sw.lang.passes.accesses import IDENTITY
from sw.lang.types import LARGEST, WORD, Type
from sw.vm.evaluate import Evaluator
from sw.vm.host import host_value


__all__ = ["FrontierLoop"]


#: The word of a vertex that has no stamp.
_NEVER = WORD - 1

#: The array of stamps, if no vector has them.
_STAMPS = "superstep_of"

class FrontierLoop(LoopRun):
    """One run. In a search, words of the vector of stamps and of vertices are int32, and -1 where a
    vertex was not found."""
    form: FrontierForm
    way = "as a loop from a frontier to the next"

    @classmethod
    def form_of(cls, program):
        try:
            return find(program)
        except Unproven:
            return None

    @classmethod
    def attributes(cls, program, form, options):
        """Facts of the form as attributes of the algorithm."""
        found: dict[str, Any] = {"void_edge": "self" if form.void else "padding"}
        if not form.early:
            return found | {"switches": True}
        found["identity"] = None if form.further else IDENTITY[form.track.operation]
        return found | super().attributes(program, form, options)

    def __init__(self, graph, **given):
        super().__init__(graph, **given)
        form = self.form
        self._directions, self._delta = None, None
        if form.queue is not None:
            delta = self.beginning.queues[form.entry].delta
            self._delta = None if delta == WORD - 1 else delta
        vector = form.track.vector if form.early else self._stamp
        self._word = _STAMPS if vector is None else self.array(vector)
        self._operation = form.track.operation

    # Values

    @property
    def _stamp(self):
        """The vector of the program whose words are stamps, or None."""
        return self.form.stamp and self.form.stamp.vector

    @functools.cached_property
    def _first_set(self):
        """The vertices of the first set, as an array; None for all."""
        found = self.beginning.values[self.form.entry]
        return None if found is None else np.unique(np.array(found, np.int64))

    @of_graph
    def _words(self):
        """The words of the vectors when the first superstep begins."""
        arrays = {name: words.copy() for name, words in self.beginning.arrays.items()}
        first = np.arange(self.graph.num_vertices) if self._first_set is None else self._first_set

        def load(vector, vertices, own):
            return arrays[vector][vertices.astype(np.int64)].astype(np.uint64)

        def store(vector, vertices, words):
            arrays[vector][vertices.astype(np.int64)] = words

        for function in self.form.before:
            uniforms = {node: self._at_round(node, 0) for node in ir.walk(*function.body)
                        if isinstance(node, ir.Uniform)}
            Evaluator(self.program, self.graph, self.bits, uniforms, load).run(
                function, [first.astype(np.uint64)], store)
        return frozen(arrays)

    def _at_round(self, node, number) -> int:
        """The word of a Uniform in a round, if that fits in a word."""
        lines, values = self.form.lines, self.beginning.values
        if not any(isinstance(part, ir.HostName) and part.name in lines
                   for part in ir.walk(node)):
            return self.beginning.word(node)
        moved = {name: values[name] + step * number for name, step in lines.items()}
        return int(host_value(node.value, values | moved, self.graph))

    @functools.cached_property
    def _numbers_fit(self):
        """Whether all numbers of the host that functions read fit in words. There are no more
        rounds than vertices, and one."""
        nodes = [*self.form.expressions(), *(self.form.after.body if self.form.after else ()),
                 *(part for function in self.form.before for part in function.body)]
        return all(0 <= self._at_round(part, number) <= LARGEST
                   for part in ir.walk(*nodes) if isinstance(part, ir.Uniform)
                   and part.type is Type.UINT
                   for number in (0, self.graph.num_vertices + 1))

    @property
    def sent(self):
        form = self.form
        if form.early:
            return SentWord(value=form.sends, fits=self._sums_fit, drops=form.sends and form.drops)
        return SentWord(late=all(map(form.by_target, form.conditions)), drops=form.drops)

    @functools.cached_property
    def _sums_fit(self):
        form = self.form
        words = self._words[form.track.vector]
        # A path on which a word came leaves no vertex twice.
        largest = int(words[words != WORD - 1].max(initial=0))
        if form.sends and self.weighted:
            heaviest = np.zeros(self.graph.num_vertices, np.uint64)
            np.maximum.at(heaviest, self.graph.src, self.graph.weights)
            largest += int(heaviest.sum())
        return largest < WORD - 1

    @property
    def may_fail(self):
        form, program = self.form, self.program
        others = [form.after] if form.after else []
        others += form.before
        others += [program.function(node.to_filter) for node in ir.instructions(program.body)
                   if isinstance(node, ir.EdgeSetIterator) and node.to_filter is not None]
        if any(map(can_fail, (*others, form.function))):
            return True
        if form.early:
            return not (form.sends and not form.further and self._sums_fit)
        return not self._numbers_fit or any(
            may_lose(node) for node in ir.walk(*form.function.body) if isinstance(node, ir.Reduce))

    # Memory

    @functools.cached_property
    def vectors(self):
        form = self.form
        nodes = [*form.expressions(), *(form.after.body if form.after else ())]
        used = {load.vector for node in nodes for load in loads(node)} | set(self.program.outputs)
        used |= {reduction.vector for reduction in form.reductions}
        used |= form.after.writes() if form.after else set()
        if form.queue is not None:
            used.add(form.queue.vector)
        return [vector.name for vector in self.program.vectors if vector.name in used]

    def reserve(self, task):
        hidden = [self._word] if self._word == _STAMPS else []
        self.reserve_arrays(task, [*map(self.array, self.vectors), *hidden])

    def init_vertex_value(self, task):
        self.check_words()
        form, words = self.form, dict(self._words)
        rest = {reduction.vector: IDENTITY[reduction.operation]
                for reduction in form.reductions}
        if not form.early:
            stamps = np.full(self.graph.num_vertices, _NEVER, np.uint32)
            stamps[self._first_set] = 0
            # A padding vertex must never be in a frontier, and must never count as not yet found.
            padding = -1 if task.direction == "push" else 0
            if self._stamp is None:
                task.buffers.fill(_STAMPS, task.vertices.to_device(stamps), padding)
            else:
                words[self._stamp], rest[self._stamp] = stamps, padding
        self.fill_arrays(task, {name: words[name] for name in self.vectors},
                         {name: -1 if word == WORD - 1 else word for name, word in rest.items()})
        first = self._first_set
        keys = None if form.queue is None or first is None else words[form.queue.vector][first]
        if first is not None and task.new_ids is not None:
            first = task.new_ids[first]
        task.frontier.init(task, first, keys)

    def outputs(self, session):
        found = {}
        for name in self.program.outputs:
            words = session.read_vertices(self.array(name), np.uint32)
            if name == self._stamp:
                words = self._unstamped(words)
            found[name] = self._shown(name, words)
        return found

    def _unstamped(self, stamps):
        """The words of the program for stamps of the device, which are supersteps."""
        stamp: Any = self.form.stamp
        first = self.beginning.values[stamp.number] + stamp.plus
        words = first + stamp.step * (stamps.astype(np.int64) - 1)
        words = np.where(stamps == _NEVER, _NEVER, words).astype(np.uint32)
        return np.where(stamps == 0, self._words[stamp.vector], words)

    def _shown(self, name, words):
        """Words of a result: int32 for levels, and for vertices of a search."""
        form = self.form
        signed = not form.early and (name == self._stamp
                                     or self.program.vector(name).type is Type.VERTEX)
        return words.view(np.int32) if signed else words

    def golden(self):
        return {name: self._shown(name, words) for name, words in super().golden().items()}

    # The frontier

    def base_array(self, task):
        return self._word

    def frontiers(self, task):
        if self._delta is not None:
            return ("queue",)
        return ("queue", "counter", "bitmap", "bytemap") \
            if task.switches or (task.direction == "push" and not task.gathers) else ("counter",)

    def frontier_reason(self, task):
        if not self.form.early:
            if task.gathers:
                return "the levels gathered for all edges tell which sources are in the frontier"
            return ("a superstep visits all vertices that are not found yet, and levels tell which "
                    "of their neighbours are in the frontier")
        if task.gathers:
            return "a superstep visits all edges, as the words of their sources were gathered"
        if self._delta is not None:
            return "near vertices are added to a queue, and far ones to a pile (delta)"
        return "pulling visits all edges, whether or not their sources have changed"

    def reverses(self, task):
        return not self.form.early and task.direction == "pull"

    def pending_data(self, k, base, into):
        k.a.lw(into, base.reg)

    def pending(self, k, base, data, into):
        k.a.addi(into, data, 1)
        k.a.seqz(into, into)

    def tested(self, task):
        return self.form.early and (self.filters(task) or self.form.superset is None)

    def adds_once(self, task, asked):
        return self._own(task) if self.form.early else asked or self._settles(task)

    def first_threshold(self, task):
        return self._delta

    def new_threshold(self, k, old, into):
        a = k.a
        passed = a.reg("passed")
        a.li(into, self._delta)
        a.add(into, into, old)
        # Beyond 32 bits the threshold is the largest number, which no word exceeds.
        a.sltu(passed, into, old)
        a.neg(passed, passed)
        a.or_(into, into, passed)

    # Which edges count

    def _own(self, task):
        """Whether a lane takes the best word over all edges of its vertex in a register."""
        return self.form.early and task.direction == "pull" and task.owns_vertex

    def _suffices(self, ascending):
        """Whether an edge that counts decides all words of its destination, the first of a row."""
        return self.form.changes == "certain" and all(
            reduction.suffices == "any" or (reduction.suffices == "first" and ascending)
            for reduction in self.form.reductions)

    def _settles(self, task):
        """Whether a lane has all edges of the vertex it pulls for, and stops at the first that
        counts."""
        return (not self.form.early and task.direction == "pull" and task.alone
                and self._suffices(task.layouts[0].ascending))

    def first_only(self, k):
        # The first source of an ascending row is the row's smallest. If the vertex has other rows,
        # the word is that of the smallest of their sources. But a Weaver would skip all of the
        # vertex's rows.
        return (not self.form.early and k.task.direction == "pull"
                and self._suffices(k.layout.ascending)
                and (k.task.schedule.owns_base or not k.layout.virtual))

    def _tests_voids(self, task):
        """Whether an edge may lead to no vertex, and have a word that would count."""
        return self.void_edge == "padding" and any(layout.voids for layout in task.layouts)

    def _asks_source(self, task):
        """Whether each edge asks of its source if it is in the frontier, or if its word tells that
        the edge may be gone through."""
        return self.form.early and not self.filters(task) and self.form.superset != ()

    def selective(self, task):
        return (not self._own(task) or self._tests_voids(task) or bool(self.form.conditions)
                or self._asks_source(task))

    def filters(self, task):
        if not self.form.early:
            return True
        # If the sources' words have been gathered, looking at all edges costs less.
        return task.direction == "push" and not (task.gathers and self.form.superset == ())

    # Kernels

    def kernels(self, task):
        kernels: dict[str, tuple] = dict.fromkeys(task.sides or ["gather"], ("gather", None))
        if self._delta is not None:
            kernels["advance"] = ("apply", None)
        return kernels

    def lowered(self, task):
        form, found = self.form, []
        for name, (kind, _) in self.kernels(task).items():
            side = task.sides.get(name, task)
            if kind != "gather":
                found.append(LoweredKernel(name, (("vertex", "the next threshold"),),
                                           task.frontier.name, task.frontier.name))
                continue
            before = [function.name for function in form.before]
            members = [("vertex", function) for function in before]
            test = "begin" if side.direction == "pull" else "edge"
            members += [(test, node.to_filter) for node in ir.instructions(self.program.body)
                        if isinstance(node, ir.EdgeSetIterator) and node.to_filter is not None]
            members.append(("edge", form.function.name))
            members += [("added", node.apply_f) for node in ir.instructions(self.program.body)
                        if isinstance(node, ir.VertexSetIterator) and node.apply_f not in before]
            found.append(LoweredKernel(name, tuple(members), side.input.name, side.frontier.name))
        return found

    def decisions(self, task):
        form = self.form
        found = [LoweringDecision("start words without a copy", True,
                                  "early" if form.early else "stamps")]
        for side in task.sides.values() or [task]:
            if side.direction == "pull" and form.early:
                own = self._own(side)
                found.append(LoweringDecision(
                    "reductions in registers", own, "a lane has its vertex" if own else
                    "a lane, or a core, that has all edges of its vertex"))
            elif side.direction == "pull":
                lacks = self._lacks_early_exit(side)
                found.append(LoweringDecision("early exit", lacks is None, lacks or "suffices"))
        return found

    def _lacks_early_exit(self, task):
        """The fact that is missing to end a row at its first edge that counts, or None."""
        if not task.schedule.ends_rows:
            return f"rows: schedule {task.schedule.name!r} hands out all edges of a row"
        if not task.schedule.owns_base and any(layout.virtual for layout in task.layouts):
            return "one row a vertex: a unit or a warp would skip all rows of the vertex"
        if not all(self._suffices(layout.ascending) for layout in task.layouts):
            return "suffices: the first edge of a row in its order"
        return None

    def prepare(self, k):
        k.open_frontier()
        if not self.form.early:
            self._number, self._following = k.frontier.number, None
            if not k.frontier.listed:
                self._following = k.frontier.following
            elif k.task.direction == "pull" or not k.task.queued:
                self._following = k.a.reg("following")
                k.a.addi(self._following, self._number, 1)
            return
        self._base = k.private.words.get("base_word")
        if self._base is None and k.task.schedule.owns_base:
            self._base = k.a.reg("base_word")
        if self._tests_voids(k.task):
            self._end = k.constant(k.address(self._word) + 4 * self.graph.num_vertices, "end")

    def _asks(self, k):
        """Whether the frontier, and not a stamp, tells if a vertex is in the frontier."""
        return self.form.early or (
            k.task.direction == "push" and k.input.keeps and not k.input.listed)

    def filter_data(self, k, base, into):
        if self._asks(k):
            k.input.member_data(k, base, into)
        else:
            k.a.lw(into, base.reg)

    def filter(self, k, base, data, into):
        if self._asks(k):
            k.input.member(k, base, data, into)
        elif k.task.direction == "pull":
            k.a.sltu(into, self._number, data)
        else:
            k.a.sub(into, data, self._number)
            k.a.seqz(into, into)

    def token(self, k, base):
        """A push by stamps needs the base vertex only by its number, if its words are not read."""
        form, source = self.form, self.form.function.parameters[0]
        if form.early or not k.task.queued or k.task.direction == "pull" \
                or k.task.new_ids is not None or form.reads_source() \
                or not any(isinstance(part, ir.Local) and part.name == source
                           for node in form.expressions() for part in ir.walk(node)):
            return base
        return Vertex(k.number(base, k.a.reg("source")), None)

    def begin(self, k, base):
        if self.form.early:
            k.a.lw(self._base, base.reg)
        if self._own(k.task):
            for reduction, word in self._collected(k):
                k.a.lw(word, self._place(k, base, reduction))

    def _collected(self, k):
        """The reductions but the tracked one, and the registers in which a lane that has all edges
        of its vertex collects them."""
        return [(reduction, k.private.words[_best(reduction)]) for reduction in self.form.further]

    def _place(self, k, vertex, reduction):
        """The register with the address of a vertex's word that is reduced."""
        return k.pointer(vertex, self.array(reduction.vector), k.a.reg("pointer"))

    def gather(self, k, edges):
        """What tells whether each edge counts: with stamps, that of the neighbour; else the words
        that arrive, each with the word that it would replace, that of the tracked vector first. And
        the other conditions, as registers."""
        words = [None] * len(edges)
        data = self._arriving(k, edges, words) if self.form.early else self._stamps_of(k, edges)
        return list(zip(data, map(functools.partial(self._passes, k), edges, words)))

    def _stamps_of(self, k, edges):
        """The stamps of the neighbours."""
        if k.task.direction == "pull":
            return [self.source_word(k, edge, self._word, lambda i=i: k.a.reg(f"level{i}"))
                    for i, edge in enumerate(edges)]
        stamps = k.a.regs(*(f"level{i}" for i in range(len(edges))))
        for edge, stamp in zip(edges, stamps):
            k.a.lw(stamp, edge.neighbor.reg)
        return stamps

    def _arriving(self, k, edges, sources):
        """The words that arrive over each edge, and the words that they would replace. The list
        ``sources`` gets the registers with the tracked words of the sources."""
        a, task = k.a, k.task
        replaced, others = [], []
        for i, edge in enumerate(edges):
            _, target = self._ends(k, edge)
            sources[i] = self._base
            if self._base is None or task.direction == "pull":
                sources[i] = self.source_word(k, edge, self._word,
                                              lambda i=i: a.reg(f"source_word{i}"))
            replaced.append(self._base if self._own(task) else None)
            if replaced[i] is None:
                replaced[i] = a.reg(f"target_word{i}")
                a.lw(replaced[i], target.reg)
            others.append(self._replaced(k, target))
        words = list(sources)
        for i, edge in enumerate(edges):
            if not self.form.sends:
                reduce = self.form.track
                known = {load: words[i] for load in loads(reduce.value)
                         if load.vector == reduce.vector}
                words[i] = self._value(k, edge, reduce.value, known)
            elif edge.weight is not None:
                # A sum that passes 32 bits becomes the largest word.
                k.add_word(edge.weight, words[i], fits=self._sums_fit and self.filters(task))
                words[i] = edge.weight
        return [[(word, before), *((self._value(k, edge, reduction.value), other)
                                   for reduction, other in zip(self.form.further, more))]
                for edge, word, before, more in zip(edges, words, replaced, others)]

    def _replaced(self, k, target):
        """The words at a destination that are not tracked, in registers; None in place of each if
        its lane collects them."""
        words: list[Any] = [None] * len(self.form.further)
        for place, reduction in enumerate(() if self._own(k.task) else self.form.further):
            words[place] = k.a.reg("before")
            k.a.lw(words[place], self._place(k, target, reduction))
        return words

    def _passes(self, k, edge, word):
        """A register that is 1 if an edge fulfils the conditions beside those of stamps and of
        improvements, else 0; None if there are none. ``word`` is the register with the tracked word
        of its source, without stamps."""
        a, found, form = k.a, [], self.form
        if form.early and self._tests_voids(k.task):
            found.append(a.reg("real"))
            a.sltu(found[0], edge.neighbor.reg, self._end)
        if self._asks_source(k.task):
            found += [self._value(k, edge, test, dict.fromkeys(loads(test), word))
                      for test in form.superset or ()]
            if form.superset is None:
                found.append(a.reg("member"))
                k.input.member_data(k, edge.neighbor, found[-1])
                k.input.member(k, edge.neighbor, found[-1], found[-1])
        found += [self._value(k, edge, node) for node in self.form.conditions]
        if len(found) < 2:
            return found[0] if found else None
        passes = a.reg("passes")
        a.and_(passes, *found[:2])
        for other in found[2:]:
            a.and_(passes, passes, other)
        return passes

    def accepts(self, k, data, into, counts=True):
        word, passes = data
        pull = k.task.direction == "pull"
        sense = counts or passes is not None
        if self.form.early and self.form.further and self._own(k.task):
            k.a.li(into, 1)
        elif self.form.early:
            (better, other), *others = word
            improves(k, self._operation, better, other, into)
            for reduction, (better, other) in zip(self.form.further, others):
                more = k.a.reg("more")
                improves(k, reduction.operation, better, other, more)
                k.a.or_(into, into, more)
        elif pull and not self.form.closed:
            k.a.sub(into, word, self._number)
            (k.a.seqz if sense else k.a.snez)(into, into)
        elif sense == pull:
            # In a pull the neighbour is the source, and its stamp is L or less if it was found
            # before. In a push it is the destination, which was found before if its stamp is L or
            # less.
            k.a.sltu(into, word, self._following)
        else:
            k.a.sltu(into, self._number, word)
        if passes is not None:
            k.a.and_(into, into, passes)
            if not counts:
                k.a.xori(into, into, 1)

    def _atomic(self, k, before, word, address):
        """The tracked word at an address is combined with a word; ``before`` = the old word."""
        a = k.a
        {"min": a.amominu_w, "max": a.amomaxu_w, "or": a.amoor_w}[self._operation](
            before, word, address)

    def sum(self, k, edge, data, predicate):
        if self.form.early:
            self._relax(k, edge, data, predicate)
        else:
            self._find(k, edge, data, predicate)

    def _relax(self, k, edge, data, predicate):
        """The work on an edge that counts, without stamps."""
        a = k.a
        [(word, _), *others], _ = data
        _, target = self._ends(k, edge)
        if self._own(k.task):
            k.private.take("base_word", word)
            for reduction, (value, _) in zip(self.form.further, others):
                k.private.take(_best(reduction), value)
            return
        for reduction, (value, _) in zip(self.form.further, others):
            reduce_word(k, reduction.operation, value, self._place(k, target, reduction))
        known = a.label("known")
        before = a.reg("before")
        self._atomic(k, before, word, target.reg)
        improves(k, self._operation, word, before, predicate)
        k.narrow(predicate, known)
        self._added(k, target)
        k.frontier.add(k, target, predicate, known, key=word)
        a.place(known)

    def _find(self, k, edge, data, predicate):
        """The work on an edge that counts, with stamps."""
        a, form = k.a, self.form
        _, target = self._ends(k, edge)
        known = a.label("known")
        tells = None
        for reduction in form.reductions:
            if reduction.vector == self._stamp:
                continue                    # the stamp is put below
            tracked = reduction is form.track
            pointer = a.reg("pointer")
            value = self._value(k, edge, reduction.value)
            pointer = k.pointer(target, self.array(reduction.vector), pointer)
            if self._settles(k.task) and reduction.fresh:
                a.sw(value, pointer)
            elif tracked and form.changes == "atomic":
                tells = a.reg("before")
                self._atomic(k, tells, value, pointer)
                improves(k, self._operation, value, tells, tells)
            else:
                reduce_word(k, reduction.operation, value, pointer)
            if tracked and form.changes == "addend":
                tells = value
        if tells is not None:
            a.snez(predicate, tells)
            k.narrow(predicate, known)
        self._put_stamp(k, target, data, predicate, known)
        self._added(k, target)
        k.frontier.add(k, target, predicate, known)
        a.place(known)

    def _put_stamp(self, k, target, data, predicate, known):
        """Give a vertex its stamp, and continue with the lanes that add it to the frontier."""
        a, task = k.a, k.task
        # A lane with all edges of its vertex is the only one to find the vertex.
        first = task.frontier.deduplicate and not self.adds_once(task, False)
        if task.direction == "push" and (first or task.frontier.keeps):
            # A lane that sees the vertex found by another lane does not add it.
            a.addi(predicate, data[0], 1)
            a.seqz(predicate, predicate)
            k.narrow(predicate, known)
        stamp = predicate
        if self._following is None:
            a.addi(stamp, self._number, 1)
        else:
            stamp = self._following
        if not first:
            a.sw(stamp, target.reg)
            return
        a.amominu_w(predicate, stamp, target.reg)
        a.addi(predicate, predicate, 1)
        a.seqz(predicate, predicate)
        k.frontier.narrow(k, predicate, known)

    def _added(self, k, vertex):
        """The functions of a vertex that is added."""
        if self.form.after is not None:
            self.emitter(k).run(self.form.after, [vertex], self.degrees)

    def _ends(self, k, edge):
        """The source and the destination of an edge."""
        ends = edge.base, edge.neighbor
        return ends[::-1] if k.task.direction == "pull" else ends

    def _value(self, k, edge, node, known=None):
        """The register with a value of the operator's function."""
        return self.emitter(k, known).expression(
            self.form.function, node, [*self._ends(k, edge), edge.weight], self.degrees)

    def emitter(self, k, known=None):
        return Emitter(k, self.bits, lambda node: self._number_of(k, node), self.array, {}, known)

    def _number_of(self, k, node):
        """The register with the word of a Uniform."""
        first, second = (self._at_round(node, number) for number in (0, 1))
        if first == second:
            return k.constant(first)
        word = k.a.reg("number")
        k.times(word, self._number, second - first & WORD - 1)
        k.step(word, first)
        return word

    # Collecting lanes

    def private(self, task):
        if not self._own(task):
            return {}
        return {"base_word": self._operation} | {
            _best(reduction): reduction.operation for reduction in self.form.further}

    def collect_at(self, k, data, address):
        [(word, _)], _ = data
        reduce_word(k, self._operation, word, address)

    def finish(self, k, base):
        if not self._own(k.task):
            return
        a, before = k.a, k.a.reg("before")
        for reduction, word in self._collected(k):
            a.sw(word, self._place(k, base, reduction))
        a.lw(before, base.reg)
        improves(k, self._operation, self._base, before, before)
        with k.only(before, "same") as same:
            a.sw(self._base, base.reg)
            self._added(k, base)
            k.frontier.add(k, base, before, same)

    def apply(self, k):
        k.task.frontier.advance(k, lambda old, into: self.new_threshold(k, old, into))

    # Host

    def loop(self, task):
        if self._delta is not None:
            raise UserError(f"{self.name}: fusion=yes cannot have delta: the host moves the "
                            "threshold between near and far vertices")
        return Loop((("gather",),))

    def drive(self, session):
        if self._delta is not None:
            return self._drive_near(session)
        task, frontier = session.task, session.task.frontier
        if not task.sides:
            return super().drive(session)
        name = next(iter(task.sides))
        self._directions = names = []
        for superstep in itertools.count():
            names.append(name)
            session.launch(name, frontier.argument(task, superstep))
            added = frontier.added(session, superstep)
            if not added:
                return superstep + 1
            name = task.next_side(added)

    def _drive_near(self, session):
        """The supersteps, and the moves of the threshold between them."""
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
        if self._directions is not None:
            found["directions"] = self._directions
        return found


def _best(reduction):
    """The name of the register in which a reduction is collected."""
    return f"best_{reduction.vector}"
