"""Edge operators as algorithms: one goes through its edges by any schedule and format.

The base vertex of an edge is its source when pushing, and its destination when pulling. A test of
the base selects base vertices; a test of the other end selects edges. A lane that owns its base
vertex loads the words of the base once. If it pulls, it collects the reductions of the destination
in registers.

The lane whose reduction changes the tracked word of a vertex adds the vertex to the result. The
stamps of the result tell which lane is the first, and this lane also performs the functions of
vertices that have joined the kernel (:mod:`.fuse`).
"""

import contextlib
import dataclasses
from typing import Any

from sw.compile.lower.emitter import Emitter, Tracked
from sw.compile.lower.finish import Finish
from sw.compile.lower.fuse import WHERE
from sw.compile.lower.operator_choices import OperatorChoices
from sw.compile.kernels.kernel import Vertex
from sw.compile.kernels.reductions import combine, improves, reduce_word
from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known
from sw.lang.passes.chain import certain_loads, without_stores
from sw.lang.types import Type


__all__ = ["EdgeOperator"]


#: Comparisons, and those that are true where they are false.
_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclasses.dataclass(frozen=True)
class _Data:
    """What is loaded of an edge."""
    neighbor: Vertex
    wants: Any  #: Emitter or None. It has the words of the filter, to test the neighbour.
    member: Any  #: Register or None. The word that tells if the neighbour is in the set.
    words: Any  #: Emitter or None. It has the words of both ends, unless they are loaded later.
    values: tuple  #: The source, the destination and the weight.
    #: Register or None. The neighbour's word in the vector by whose stamps vertices are added.
    racing: Any
    #: (word, word before) or None. Registers: what a relaxation brings, and what it improves.
    brings: Any = None
    passes: Any = ()  #: Registers that are 1 where an edge fulfils a further condition, else 0.


class EdgeOperator(OperatorChoices):
    """An EdgeSetIterator. The parameters and attributes are those of its choices."""

    # Tests

    def neighbor_settings(self, k):
        test = self.unit_test(k.task)
        return {} if test is None else test.settings(
            k, lambda vector: self._copies.get(vector, self._array(vector)),
            {vector: stamp for vector, stamp in self._stamped.items()
             if vector not in self._copies}, self._emitter(k).value)

    def _ends(self, task, edge):
        """The source and the destination of an edge."""
        ends = edge.base, edge.neighbor
        return ends if task.direction == "push" else ends[::-1]

    def filter_data(self, k, base, into):
        if k.task.direction == "push":
            k.input.member_data(k, base, into)
        else:
            self._test_data(k, self._filter, base, into)

    def filter(self, k, base, data, into):
        if k.task.direction == "push":
            k.input.member(k, base, data, into)
        else:
            self._test(k, self._filter, base, data, into)

    # A reverse queue

    def open_pending(self, k):
        """In the prologue of the pass that lists the vertices that are :meth:`pending`."""
        group, turned = k.variant or (self._group, frozenset())
        self._array = self._parent.arrays(turned)
        # The filter alone decides, so other values of the host are not loaded.
        asked = any(isinstance(node, ir.Uniform) for node in ir.walk(
            *(self._filter.body if self._filter else ())))
        self._words = self._parent.load_words(k, group) if asked else [{} for _ in group]
        self._stamped, self._earlier = {}, {}
        self._end = self._vertices_end(k, self.base_array(k.task))

    def pending_data(self, k, base, into):
        """Load the words by which :meth:`pending` tells."""
        self._test_data(k, self._filter, base, into)

    def pending(self, k, base, data, into):
        """``into`` = 1 if a pull still has to visit the vertex, else 0; ``data`` may be ``into``. A
        vertex behind the last, which may come up, is never pending."""
        self._test(k, self._filter, base, data, into)
        load = _only_load(self._filter)
        if load is not None and load.vector in self.padding(k.task) \
                and _stays_padded(self._parent, load.vector):
            return                      # places behind the last vertex do not pass
        inside = k.a.reg("inside")
        k.a.sltu(inside, base.reg, self._end)
        k.a.and_(into, into, inside)

    def _vertices_end(self, k, array):
        """A register with the address behind the last vertex in an array."""
        return k.constant(k.address(array) + 4 * self.graph.num_vertices, "end")

    def _test_data(self, k, function, vertex, into):
        """Load the word by which a filter tells; ``into`` becomes its result if it needs several.
        """
        load = _only_load(function)
        if load is not None:
            self._emitter(k).load(load, vertex, into)
        else:
            self._test(k, function, vertex, None, into)

    def _test(self, k, function, vertex, data, into):
        """``into`` = 1 if a filter is true at a vertex, else 0, by what :meth:`_test_data` has
        loaded, or by its words of now if ``data`` is None."""
        load, result = _only_load(function), data
        if data is None or load is not None:
            emitter = self._emitter(k)
            if data is not None:
                emitter.know_now(load, data)
            result = emitter.run(function, [vertex], into)
        if result is not into:
            k.a.mv(into, result)

    def member_data(self, k, vertex, into):
        """As of :class:`~sw.compile.frontiers.frontier.Input`, if words tell."""
        self._test_data(k, self._membership, vertex, into)

    def member(self, k, vertex, data, into):
        """As of :class:`~sw.compile.frontiers.frontier.Input`, if words tell."""
        self._test(k, self._membership, vertex, data, into)

    def accepts(self, k, data, into, counts=True):
        a, others, guard = k.a, list(data.passes), self._guard(k.task)
        if self._has_voids(k.task):
            others.append(a.reg("real"))
            a.sltu(others[-1], data.neighbor.reg, self._end)
        tests = data.wants is not None or data.member is not None
        if guard is not None and tests:
            others.append(self._guard_value(k, data, guard))
        sense = counts or bool(others) or guard is not None or (tests and data.brings is not None)
        if data.brings is not None:
            self._relaxation(k.task).improves(k, *data.brings, into)
            if tests:
                others.insert(0, a.reg("accepted"))
                self._accepts(k, data, others[0], True)
            elif not sense:
                a.xori(into, into, 1)
        elif tests:
            self._accepts(k, data, into, sense)
        elif guard is not None:
            result = self._guard_value(k, data, guard, into)
            if result is not into:
                a.mv(into, result)
        else:
            a.li(into, int(sense))
        for other in others:
            a.and_(into, into, other)
        if sense and not counts:
            a.xori(into, into, 1)

    def _guard_value(self, k, data, guard, into=None):
        return data.words.expression(self._function, guard, data.values, into)

    def _accepts(self, k, data, into, counts):
        """The test of the other end: ``into`` = 1 if it passes (or does not), else 0."""
        a = k.a
        if data.wants is not None:
            result = data.wants.run(self._filter if counts else _opposite(self._filter),
                                    [data.neighbor], into)
            if result is not into:
                a.mv(into, result)
        elif k.input.by_words:
            # With several words or none, data has the test's result, and there is nothing to turn.
            turned = not counts and _only_load(self._reached) is not None
            self._test(k, _opposite(self._reached) if turned else self._reached, data.neighbor,
                       data.member, into)
            if not counts and not turned:
                a.xori(into, into, 1)
        else:
            k.input.member(k, data.neighbor, data.member, into)
            if not counts:
                a.xori(into, into, 1)

    # Sums in registers

    def collect_at(self, k, data, address):
        reduce, = self._guarded[1].body
        value = data.words.expression(self._function, reduce.value, data.values)
        reduce_word(k, reduce.operation, value, address)

    def _has_value(self, k):
        """Whether an edge that has a value has the word that its source sends."""
        return not k.layout.gathers or self._in_array(k.task)

    def finish(self, k, base):
        a, changed, better, finish = k.a, None, None, self._finish
        defined = self._parent.dependence.defined[self._node.position]
        for vector, operation in self.private(k.task).items():
            word, pointer = k.private.words[vector], a.reg("pointer")
            if vector in defined and not finish.stores(vector):
                continue
            pointer = k.pointer(base, self._array(vector), pointer)
            if vector in defined:
                a.sw(word, pointer)
                continue
            tracks = self.makes_set and vector == self._node.tracking
            if tracks:
                changed = a.reg("changed")
            if self._plain(k.task, vector):
                before = a.reg("before")
                a.lw(before, pointer)
                if tracks and operation != "+":
                    improves(k, operation, word, before, changed)
                    if operation == "or":
                        a.or_(word, word, before)
                    better = word, pointer
                    continue
                if tracks:
                    a.mv(changed, before)
                if finish.chain is not None and not tracks:
                    combine(k, operation, word, before)
                    if finish.stores(vector):
                        a.sw(word, pointer)
                    continue
                combine(k, operation, before, word)
                a.sw(before, pointer)
                if tracks:
                    a.xor(changed, changed, before)
                    a.snez(changed, changed)
            else:
                reduce_word(k, operation, word, pointer, changed if tracks else None,
                            fresh=tracks and self._fresh)
        if changed is not None:
            with k.only(changed, "same") as same:
                if better is not None:
                    a.sw(*better)
                self._add(k, base, changed, lambda flag: k.narrow(flag, same), better and better[0])
        finish.run(k, base, k.private.words)

    def end(self, k):
        self._finish.end(k)

    # Kernels

    def prepare(self, k):
        k.open_frontier()
        group, turned = k.variant or (self._group, frozenset())
        self._array = self._parent.arrays(turned)
        if not k.gathers and not self.filters(k.task):
            return                          # it only looks up rows of a list, or of all vertices
        self._words = self._parent.load_words(k, group)
        self._end = self._vertices_end(k, self.neighbor_array(k.task))
        self._of_base = {}
        if k.task.schedule.owns_base:
            end = self._function.parameters[k.task.direction == "pull"]
            self._of_base = {load: k.a.reg(load.vector) for load in certain_loads(self._function)
                             if load.index.name == end}
        self._stamped = {node.vector: self._words[number][node.value]
                         for node, number, _ in self._stamps(group)}
        self._stamp: Any = self._added_stamp(group)
        self._earlier = self._parent.host.earlier(group, [
            node.value for node, *_ in self._stamps(group)])
        self._exact = self._is_exact(group)
        self._finish = Finish(k, self._parent, group, turned, self._words)

    def makers(self, k):
        """The fields of a kernel's argument, and the indexes there of the sets that members of its
        group make, by the members' numbers."""
        group = self._members(k)
        makers = [number for number, member in enumerate(group)
                  if self._parent.dependence.makes_set(member)]
        return self._parent.fields(group), {
            number: index for index, number in enumerate(makers, int(self.reads_set))}

    def _members(self, k):
        """The group of a kernel; the operator alone in a pass that belongs to several."""
        return k.variant[0] if k.variant else self._group

    def _emitter(self, k, words=None):
        return Emitter(k, self._parent.bits, self._words[0].__getitem__, self._array,
                       self._copies, words, stamped=self._stamped, earlier=self._earlier,
                       addresses=self._parent.addresses.array)

    def begin(self, k, base):
        """A lane of its own base vertex loads the words of the base, and clears its sums."""
        emitter = self._emitter(k)
        for load, word in self._of_base.items():
            emitter.load(load, base, word)
        k.private.clear()
        self._finish.begin(k, base)

    def expect(self, k, base):
        if k.task.direction == "pull" and any(
                isinstance(node, ir.Reduce) and self._function.parameter(node.index) == 1
                and self._array(node.vector) == base.array
                for node in ir.walk(*self._guarded[1].body)):
            k.a.lw(k.a.zero, base.reg)

    def first_only(self, k):
        # If the vertex has other rows, edges of these are taken in, too. But a Weaver would skip
        # all of the vertex's rows.
        return (k.task.direction == "pull" and self._decides(k.layout)
                and (k.task.schedule.owns_base or not k.layout.virtual))

    def gather(self, k, edges):
        """The words of both ends of each edge, for all edges before the work on the first."""
        found, relaxation = [], self._relaxation(k.task)
        for edge in edges:
            wants = member = racing = brings = None
            if self._tests_edges(k.task) and k.task.direction == "push":
                wants = self._emitter(k)
                for load in certain_loads(self._filter):
                    word = wants.ahead(load, edge.neighbor)
                    if load.vector == self._stamp:
                        racing = word
            elif self._tests_edges(k.task):
                member = k.a.reg("member")
                k.input.member_data(k, edge.neighbor, member)
            late = k.task.schedule.has_lists and wants is not None      # a list's word comes late
            late |= self.first_only(k) and self._guarded[0] is None
            words = None if late else self._load(k, edge, self._function)
            values = (*self._ends(k.task, edge), edge.weight)
            if relaxation is not None:
                brings = relaxation.load(k, values, words)
            found.append(_Data(edge.neighbor, wants, member, words, values, racing, brings))
        if relaxation is not None:
            fits = (k.task.direction == "push" and bool(self._sent) and self.sent.fits
                    and not (k.input is not None and k.input.fresh))
            found = [dataclasses.replace(
                data, brings=(relaxation.value(k, edge, data.values, data.words, fits),
                              data.brings),
                passes=relaxation.passes(data.values, data.words))
                for edge, data in zip(edges, found)]
        for data in found:
            for node in self._work(k.task)[0]:
                data.words.reduction(self._function, node, data.values, k.private.words,
                                     self._overwritten)
        return found

    def _load(self, k, edge, function):
        """An Emitter that has the words of an edge's ends that a function reads."""
        ends = dict(zip(self._function.parameters, self._ends(k.task, edge)))
        emitter, given = self._emitter(k, self._of_base), ()
        if edge.base is None or (edge.value is not None and self._has_value(k)):
            given = self._sent
            for node in given:
                emitter.know_now(node, edge.value)
        for load in certain_loads(function):
            if load not in self._of_base and load not in given and ends[load.index.name]:
                emitter.ahead(load, ends[load.index.name])
        return emitter

    def sum(self, k, edge, data, predicate):
        a = k.a
        if not self.selective(k.task):
            predicate = None                # the schedule does not set the lanes again
        if data is not None and data.brings is not None:
            _, target = self._ends(k.task, edge)
            self._relaxation(k.task).reduce(k, data.brings[0], target, predicate)
            with self._narrowed(k, predicate, predicate) as only:
                self._add(k, target, predicate, only, data.brings[0])
            return
        flag = a.reg("changed") if predicate is None else predicate
        self._reduce(k, edge, data, flag)
        self._found(k, edge, data, predicate, flag)

    def sums(self, k, edges, data):
        """As of Operator: all atomics are under way before the first answer is awaited."""
        if self._relaxation(k.task) is not None or not self._tells(k.task) \
                or self._changes_surely(k.task):
            super().sums(k, edges, data)
            return
        flags, later = k.a.regs(*["changed"] * len(edges)), []
        for edge, each, flag in zip(edges, data, flags):
            self._reduce(k, edge, each, flag, later)
        for compare in later:
            compare()
        for edge, each, flag in zip(edges, data, flags):
            self._found(k, edge, each, None, flag)

    def _reduce(self, k, edge, data, flag, later=None):
        """The function of an edge; ``flag`` becomes 0 unless the edge adds its destination, if that
        is not known before. ``later`` is as of :func:`.emitter.reduce_word`."""
        *_, function = self._work(k.task)
        words = self._load(k, edge, function) if data is None or data.words is None \
            else data.words
        certain, tracked = self._changes_surely(k.task), None
        if self._tells(k.task) and not certain:
            tracked = self._tracked(k, function, flag, later)
        source, target = self._ends(k.task, edge)
        plain = self._overwritten | ({self._node.tracking} if certain and self._settles(k.task)
                                     else set())
        words.run_tracked(function, [source, target, edge.weight], k.private.words, tracked, plain)
        if tracked is not None and tracked.changed is not flag:
            k.a.mv(flag, tracked.changed)

    def _found(self, k, edge, data, predicate, flag):
        """Add the destinations of the edges that change them."""
        a, certain = k.a, self._changes_surely(k.task)
        if not self._tells(k.task):
            return
        _, target = self._ends(k.task, edge)
        asks = not certain
        if (self._exact or self._parent.pool.noted) and data is not None \
                and data.racing is not None \
                and not self._settles(k.task):
            # A lane that sees the vertex found by another lane does not add it.
            found = flag if certain else a.reg("found")
            a.addi(found, data.racing, 1)
            a.seqz(found, found)
            if not certain:
                a.snez(flag, flag)
                a.and_(flag, flag, found)
            asks = True
        with self._narrowed(k, predicate, flag if asks else None) as only:
            self._add(k, target, flag, only)

    @staticmethod
    @contextlib.contextmanager
    def _narrowed(k, predicate, flag):
        """The part for the lanes in which ``flag`` is 1, if it is a register. Gives a function of
        a register, to go on with the lanes in which it is 1. Where the schedule sets the lanes
        again behind an edge, ``predicate`` is the register that narrows them; without it the lanes
        diverge, and join at the end."""
        same = k.a.label("same")
        with contextlib.ExitStack() as inside:
            only = (lambda each: inside.enter_context(k.a.if_(each))) if predicate is None \
                else (lambda each: k.narrow(each, same))
            if flag is not None:
                only(flag)
            yield only
        k.a.place(same)

    def _tracked(self, k, function, flag, later=None):
        """The tracked vector; whether an edge has changed its word becomes known in ``flag`` if
        every call reduces it once, else in a new register."""
        nodes = [node for node in ir.walk(*function.body)
                 if isinstance(node, ir.Reduce) and node.vector == self._node.tracking]
        only = len(nodes) == 1 and any(node is nodes[0] for node in function.body)
        changed = flag if only else k.a.reg("changed")
        if not only:
            k.a.mv(changed, k.a.zero)
        return Tracked(self._node.tracking, changed, only, later, self._fresh, self._marks)

    def token(self, k, base):
        """A push that needs only the number of the base vertex gets it by its number."""
        sent = known(self._node, facts.Sent)
        if k.task.direction == "pull" or not k.task.queued or k.task.new_ids is not None \
                or sent is None or not isinstance(sent.value, ir.Local):
            return base
        return Vertex(k.number(base, k.a.reg("source")), None)

    def _add(self, k, vertex, flag, only, word=None):
        """Add the active lanes' vertices to the result, and perform the members that go through it
        for those that are new; ``flag`` is a register, ``only`` as of :meth:`_narrowed`. ``word``
        is a register with the vertex's tracked word, or None."""
        a, chosen, stored, group = k.a, {}, set(), self._members(k)
        claimed = self.pile is not None or self._claims(k.task, group)
        first = claimed or (self._exact and not self._adds_once(k.task))
        if first:
            if claimed:
                k.frontier.claim(vertex, flag, word)
            else:
                stored = {self._stamp}
                pointer = k.pointer(vertex, self._array(self._stamp), a.reg("pointer"))
                a.amominu_w(flag, self._stamp_word(k, flag), pointer)
                a.addi(flag, flag, 1)
                a.seqz(flag, flag)
        functions = [without_stores(self._parent.dependence.functions(member.op)[0], stored)
                     for member in group[1:]]
        if first and not (
                k.frontier.only_notes(claimed) and not any(each.body for each in functions)):
            only(flag)
        for number, (member, words, function) in enumerate(
                zip(group[1:], self._words[1:], functions), 1):
            emitter = self._parent.emitter(k, words)
            if not member.on:
                self._perform(k, number, member, emitter, function, vertex, chosen)
                continue
            with a.if_(chosen[member.on]):
                self._perform(k, number, member, emitter, function, vertex, chosen)
        k.frontier.add_new(vertex, claimed, flag)

    def _stamp_word(self, k, into):
        """A register with the stamp of the vertices that are added. If a number that edges are
        tested by is smaller by a constant, it is kept alone, and the stamp is made ``into``."""
        for node, less in self._earlier.items():
            if node in self._words[0]:
                k.a.addi(into, self._words[0][node], less)
                return into
        return self._stamped[self._stamp]

    def _perform(self, k, number, member, emitter, function, vertex, chosen):
        result = emitter.run(function, [vertex])
        if member.op.kind != WHERE:
            return
        chosen[number] = k.a.reg("chosen")
        k.a.mv(chosen[number], result)
        with k.a.if_(chosen[number]):
            k.frontier.made[number].add(vertex)


def _stays_padded(parent, vector):
    """Whether the words of a vector behind the last vertex are those that each operator of edges
    that asks for any wants there, and stay so."""
    words = {found[vector] for side in parent.sides
             if vector in (found := side.algorithm.padding(side))}
    return len(words) == 1 and not parent.groups.go_over


def _only_load(function):
    """The load of a filter, if it reads one word of its vertex and no other; else None."""
    loads = list(dict.fromkeys(node for node in ir.walk(*function.body)
                               if isinstance(node, ir.VectorLoad)))
    return loads[0] if len(loads) == 1 and function.parameter(loads[0].index) == 0 else None


def _opposite(function):
    """The filter that is true where another one is false."""
    *before, give = function.body
    value = give.value
    if isinstance(value, ir.Binary) and value.operation in _OPPOSITES:
        value = dataclasses.replace(value, operation=_OPPOSITES[value.operation])
    else:
        value = ir.Unary(operation="not", operand=value, type=Type.BOOL, position=give.position)
    return dataclasses.replace(function, body=(*before, dataclasses.replace(give, value=value)))
