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
import functools
from typing import Any

from sw.compile.algorithm import Operator
from sw.compile.compaction.lists import noted_bits
from sw.compile.lower.dependence import index_of, own_loads
from sw.compile.lower.emitter import Emitter, Tracked
from sw.compile.lower.finish import Finish
from sw.compile.lower.fuse import EDGES, WHERE, Member, Op
from sw.compile.lower.machine import first_words
from sw.compile.lower.places import place_of
from sw.compile.lower.relaxation import Relaxation, improves
from sw.compile.lower.sending import loops_around, sent_nodes, sent_word, sums_fit
from sw.graph.graph import Graph
from sw.compile.kernels.kernel import Vertex
from sw.compile.kernels.reductions import combine, reduce_word
from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known, suffices
from sw.lang.passes.chain import certain_loads, guarded, without_stores
from sw.lang.types import WORD, Type


__all__ = ["EdgeOperator", "turned"]


#: Comparisons, and those that are true where they are false.
_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@functools.lru_cache(maxsize=8)
def turned(graph):
    """The graph with the ends of every arc exchanged. Its vertices are ordered as in the graph, so
    that both can use the same vertex arrays."""
    return Graph(graph.num_vertices, graph.dst, graph.src, graph.weights,
                 f"{graph.name}, transposed", ordered_as=graph)


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


class EdgeOperator(Operator):
    """An EdgeSetIterator.

    Parameters
    ----------
    parent : ProgramAlgorithm
    number : int
        The operator's number.

    Attributes
    ----------
    number : int
        The operator's number.
    place : str
        Where it stands in the program (:func:`.places.place_of`).
    reads_set, makes_set, has_sets : bool
        Whether the kernel reads a set of the pool, makes one, or one of both.
    fields : Fields
        The fields of the launch's argument.
    splits : bool
        As of :class:`~.algorithm.ProgramAlgorithm`.
    known_by_words : bool
        Whether a vertex's words tell if it is in the set.
    """

    def __init__(self, parent, number):
        node = parent.edges[number]
        super().__init__(turned(parent.graph) if node.transposed else parent.graph)
        self.name, self.number, self._parent, self._node = parent.name, number, parent, node
        self._asked = None
        self._function = parent.program.function(node.apply_f)
        self.place = place_of(parent.program, node)
        self.weighted = any(
            isinstance(part, ir.Local) and part.name in self._function.parameters[2:]
            for part in ir.walk(*self._function.body))
        self._filter = None if node.to_filter is None else parent.program.function(node.to_filter)
        self._copies = {name: parent.copy_array(name) for name in parent.dependence.copies(node)}
        self.reads_set = node.input_vset != ir.ALL
        self.makes_set = parent.dependence.tells(node)
        self.has_sets = self.reads_set or self.makes_set
        self._relaxes = Relaxation.of(parent, node) if self.makes_set else None
        self._group = (Member(Op(EDGES, number, not self.reads_set), None),)
        self.fields = parent.fields(self._group)
        self.splits = parent.splits
        tests = parent.dependence.members(number)
        self.known_by_words = bool(tests)
        self._membership = _conjunction(tests, node.position) if tests else None
        self._reached = self._membership
        if tests and known(node, facts.Closed) is not None:
            self._reached = self._or_before(tests)

    def reads(self, task) -> bool:
        """Whether it asks for the members of its set, and does not go through a superset of their
        edges."""
        superset = known(self._node, facts.Superset)
        return self.reads_set and not (task.direction == "pull" and superset is not None
                                       and not superset.test)

    @functools.cached_property
    def _sent(self):
        """As of :func:`.sending.sent_nodes`, of a word that has one array."""
        node, dependence = self._node, self._parent.dependence
        swapped = set().union(*map(dependence.swapped, self._parent.groups.all))
        found = sent_nodes(node, self._function,
                           lambda vector: bool(dependence.stamp(node, vector)))
        return [] if found and known(node, facts.Sent).value.vector in swapped else found

    @functools.cached_property
    def sent(self):
        node, parent = self._node, self._parent
        loops, more = loops_around(parent.program, node), {}
        if self._sent:
            vector = known(node, facts.Sent).value.vector
            more["array"] = self._copies.get(vector, parent.array(vector))
            more["fits"] = not self.weighted or sums_fit(
                parent.program, node, self.graph, vector,
                lambda *names: first_words(parent.beginning, vector, *names))
        return sent_word(node, self._function, loops, bool(self._sent), **more)

    @property
    def sets_are_read(self) -> bool:
        """Whether a kernel of the program that has no edges goes through a set."""
        return any(group[0].op.kind != EDGES and not group[0].op.every
                   for group in self._parent.groups.all)

    def _or_before(self, tests):
        """The filter that is true for members of this superstep or an earlier one, whose edges are
        not accepted, if one stamp tells; else for members."""
        test, *others = tests
        if not others and isinstance(test, ir.Binary) and test.operation == "==" \
                and isinstance(test.left, ir.VectorLoad) \
                and self._parent.dependence.stamp(self._node, test.left.vector):
            tests = dataclasses.replace(test, operation="<="),
        return _conjunction(tests, self._node.position)

    def settle(self, kind, marks, sides):
        """The plan is known (:meth:`.algorithm.ProgramAlgorithm.settle`)."""
        self._parent.settle(kind, marks, sides)

    def settle_stamps(self, sides):
        """As of :class:`~.algorithm.ProgramAlgorithm`."""
        self._parent.settle_stamps(sides)

    def settle_count(self, asked):
        """The plan is known. ``asked`` tells whether a vertex that is added several times is to be
        counted once; None leaves it open. Returns why it is in any case if it is not to be, or
        None."""
        self._asked = asked
        self.counts_once = any(map(self._is_exact, self._parent.groups.of(self.number)))
        if asked is not False or not self.makes_set or not self.counts_once:
            return None
        if self._parent.pool.unit is not None:
            return "a list has room for each vertex once"
        if self._parent.pool.lists and not self._parent.pool.noted:
            return "its list is made of bits, and no vertex knows its entry"
        if self.pile is not None:
            return "the far pile has room for each vertex once"
        result = known(self._node, facts.Asked)
        if result is None or "size" in result.asked:
            return f"the size of {self._node.output_vset} is asked"
        again = {member.op.what for group in self._parent.groups.of(self.number)
                 if not self._repeatable(group) for member in group[1:]}
        return (f"{' and '.join(sorted(again))} would run each time a vertex is added, and gives "
                "the same only once")

    @property
    def pile(self):
        """The pile of the far vertices, beside the set that it makes, or None."""
        return self._parent.piles.get(self._node.output_vset)

    def owned(self, task) -> frozenset:
        """The vectors whose words a lane collects in registers from all edges of the vertex; none
        if functions of vertices cannot follow there."""
        if self._node.tracking is not None:
            return frozenset()
        return frozenset(vector for vector in self.private(task) if self._plain(task, vector))

    def adds_once(self, task, asked):
        return self._settles(task) or self._plain(task, self._node.tracking) or self._fresh

    @property
    def _fresh(self):
        """Whether the old word tells which reduction is the first to change a vertex."""
        changes = known(self._node, facts.Changes)
        return changes is not None and changes.fresh

    def claims(self, task) -> bool:
        """Whether the set tells which lane is the first to add a vertex, in any kernel, and not a
        pile beside it."""
        return self.makes_set and self.pile is None and any(
            self._claims(task, group) for group in self._parent.groups.of(self.number))

    def _claims(self, task, group):
        return (self._is_exact(group) and not self.adds_once(task, True)
                and self._added_stamp(group) is None)

    def _is_exact(self, group):
        """Whether a kernel counts each vertex once."""
        pool = self._parent.pool
        return (self._asked is True or self.pile is not None or (pool.lists and not pool.noted)
                or not self._repeatable(group))

    def base_array(self, task):
        return self._array_at(task.direction == "pull", task)

    def neighbor_array(self, task):
        return self._array_at(task.direction == "push", task)

    def _array_at(self, end, task):
        """The array in whose addresses kernels know the vertices at an end of edges: that of a word
        that the edges need there, unless vertices are in sets."""
        if self.has_sets:
            return self._parent.anchor
        wants = self._filter if end else None
        nodes = [node for node in ir.walk(*(wants.body if wants else ()))
                 if isinstance(node, ir.VectorLoad) and index_of(wants, node.index) == 0]
        nodes += [node for kind in (ir.VectorLoad, ir.Reduce)
                  for node in ir.walk(*self._function.body) if isinstance(node, kind)
                  and index_of(self._function, node.index) == end]
        names = [node.vector for node in nodes if node.vector not in self._copies]
        if end and task.direction == "pull":
            names = [*self._read_behind(), *names]
        return self._parent.array(names[0]) if names else self._parent.anchor

    def _read_behind(self):
        """The vectors whose words functions of vertices read behind the edges, in any kernel."""
        groups = self._parent.groups
        collected = self._parent.dependence.collected(self._node)
        return [load.vector for group in groups.of(self.number)
                if len(group) > 1 and (chain := groups.chain(group)) is not None
                for load in own_loads(chain, collected)]

    def padding(self, task) -> dict:
        """Words of a place without a vertex, by vector, with which its edges fail the test of their
        base, as far as they are known."""
        void = known(self._node, facts.Void)
        if task.direction == "pull":
            return dict(void.target or ()) if void and self._filter is not None else {}
        loads = ir.walk(*self._membership.body) if self._membership else ()
        return {load.vector: stamp.never for load in loads if isinstance(load, ir.VectorLoad)
                and (stamp := self._parent.dependence.stamp(self._node, load.vector))}

    # Tests

    def _ends(self, task, edge):
        """The source and the destination of an edge."""
        ends = edge.base, edge.neighbor
        return ends if task.direction == "push" else ends[::-1]

    def filters(self, task):
        return not task.queued and (
            self.reads(task) if task.direction == "push" else self._filter is not None)

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

    def reverses(self, task):
        return task.direction == "pull" and self._filter is not None

    def open_pending(self, k):
        group, turned = k.variant or (self._group, frozenset())
        self._array = self._parent.arrays(turned)
        self._words = self._parent.load_words(k, group)
        self._stamped, self._earlier = {}, {}
        self._end = self._vertices_end(k, self.base_array(k.task))

    def pending_data(self, k, base, into):
        self._test_data(k, self._filter, base, into)

    def pending(self, k, base, data, into):
        self._test(k, self._filter, base, data, into)
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
            result = emitter.run(function, [vertex], self._parent.degrees, into)
        if result is not into:
            k.a.mv(into, result)

    def member_data(self, k, vertex, into):
        """As of :class:`~sw.compile.frontiers.frontier.Input`, if words tell."""
        self._test_data(k, self._membership, vertex, into)

    def member(self, k, vertex, data, into):
        """As of :class:`~sw.compile.frontiers.frontier.Input`, if words tell."""
        self._test(k, self._membership, vertex, data, into)

    def _tests_edges(self, task):
        """Whether the other end of an edge is tested."""
        return self._filter is not None if task.direction == "push" else self.reads(task)

    def _has_voids(self, task):
        """Whether places come up that may not count as edges. An edge of the padding vertex to
        itself changes that vertex alone, unless words of a vertex say where a reduction lands. It
        may add the vertex to a set if every edge does, or once functions of vertices have run over
        the padding."""
        parameters = self._function.parameters
        if any(layout.voids for layout in task.layouts) and self.void_edge == "padding" \
                and not (task.direction == "pull" and self._neutral):
            return True
        adds = self.makes_set and (self._node.position in self._parent.dependence.marks
                                   or self._parent.groups.go_over)
        counts = adds or any(isinstance(node, ir.Reduce) and not (
            isinstance(node.index, ir.Local) and node.index.name in parameters)
            for node in ir.walk(*self._function.body))
        return (counts and any(layout.filled for layout in task.layouts)
                and not _differ(self._guarded[0], parameters))

    @functools.cached_property
    def _neutral(self):
        """Whether words behind the last vertex, which begin as 0, stay so, and an edge from there
        changes nothing: functions only store products with words that nobody changes."""
        void, program = known(self._node, facts.Void), self._parent.program
        if void is None or void.source is None or self.makes_set or any(
                word for _, word in void.source):
            return False
        nodes = [node for function in program.functions for node in ir.walk(*function.body)]
        written = {node.vector for node in nodes if isinstance(node, ir.VectorStore | ir.Reduce)}
        read = {name for name, _ in void.source}
        return read.isdisjoint(self._parent.addresses.vectors) and not any(
            node.vector in read and (isinstance(node, ir.Reduce) or (
                isinstance(node, ir.VectorStore) and not (
                    isinstance(node.value, ir.Binary) and node.value.operation == "*" and any(
                        isinstance(part, ir.VectorLoad) and part.vector not in written
                        for part in (node.value.left, node.value.right)))))
            for node in nodes if isinstance(node, ir.VectorStore | ir.Reduce))

    @property
    def void_edge(self):
        void = known(self._node, facts.Void)
        return "self" if void is not None and void.itself else "padding"

    def _tells(self, task):
        """Whether an edge may change the tracked word at once, and add a vertex."""
        return self.makes_set and self._node.tracking not in self.private(task)

    @functools.cached_property
    def _guarded(self):
        """``(condition, function)``: the condition under which the function does anything, or None;
        and what it does then, but for reductions that only mark the vertex."""
        condition, body = guarded(self._function) if self._filter is None \
            else (None, self._function.body)
        if self._node.position in self._parent.dependence.marks:
            body = tuple(node for node in body if not (
                isinstance(node, ir.Reduce) and node.vector == self._node.tracking))
        return condition, dataclasses.replace(self._function, body=tuple(body))

    def selective(self, task):
        return (self._tests_edges(task) or self._has_voids(task)
                or self._relaxation(task) is not None or self._guard(task) is not None
                or bool(noted_bits(task)))

    def _guard(self, task):
        """The condition by which edges are selected, or None; a relaxation has its own."""
        return None if self._relaxation(task) is not None else self._guarded[0]

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
        return data.words.expression(self._function, guard, data.values, self._parent.degrees, into)

    def _accepts(self, k, data, into, counts):
        """The test of the other end: ``into`` = 1 if it passes (or does not), else 0."""
        a = k.a
        if data.wants is not None:
            result = data.wants.run(self._filter if counts else _opposite(self._filter),
                                    [data.neighbor], self._parent.degrees, into)
            if result is not into:
                a.mv(into, result)
        elif k.input.by_words:
            test = self._reached if counts else _opposite(self._reached)
            self._test(k, test, data.neighbor, data.member, into)
        else:
            k.input.member(k, data.neighbor, data.member, into)
            if not counts:
                a.xori(into, into, 1)

    def _relaxation(self, task) -> Any:
        """The operator's :class:`~.relaxation.Relaxation`, if edges are accepted only where they
        improve a word in memory; else None."""
        late = task.schedule.has_lists and self._filter is not None
        if late or self.private(task) or (task.direction == "pull"
                                 and any(map(self._decides, task.layouts))):
            return None
        return self._relaxes

    # Sums in registers

    def private(self, task):
        # A lane that ends its row at the first edge that is accepted has nothing to collect.
        if task.direction != "pull" or self._settles(task) \
                or not (task.schedule.owns_base or task.owns_vertex) or (
                    task.schedule.ends_rows and all(map(self._decides, task.layouts))):
            return {}
        return {node.vector: node.operation for node in ir.walk(*self._guarded[1].body)
                if isinstance(node, ir.Reduce) and index_of(self._function, node.index) == 1}

    def _plain(self, task, vector):
        """Whether a lane has all reductions of a vector at its vertex, and no other lane any. A
        lane that has no vertex of a filtered queue may hold one of an earlier superstep. It has
        collected nothing, but must not store a word that another lane changes."""
        return (vector in self.private(task) and task.owns_vertex and self._alone(vector)
                and self._filter is None)

    def _alone(self, vector):
        """Whether all reductions of a vector are at the destination."""
        accesses = known(self._node, facts.AccessSet)
        return accesses is not None and vector in accesses.changed_at("dst")

    @functools.cached_property
    def identity(self):
        reduce, = self._guarded[1].body if len(self._guarded[1].body) == 1 else (None,)
        if not isinstance(reduce, ir.Reduce) or index_of(self._function, reduce.index) != 1 \
                or self._guarded[0] is not None or self._filter is not None or self.has_sets \
                or any(index_of(self._function, part) == 1 for part in ir.walk(reduce.value)):
            return None
        return known(reduce, facts.Identity).word

    def collect_at(self, k, data, address):
        reduce, = self._guarded[1].body
        reduce_word(k, reduce.operation, data.words.expression(
            self._function, reduce.value, data.values, self._parent.degrees), address)

    @property
    def sends_early(self):
        load, = self._sent if self._in_array(None) else (None,)
        if load is None or self._parent.dependence.stamp(self._node, load.vector):
            return False
        vector, addresses = load.vector, self._parent.addresses
        if vector in addresses.vectors:
            return addresses.follows({vector})
        known_range = known(self._parent.program.vector(vector), facts.Range)
        return vector not in self._function.writes() and (
            (known_range is not None and known_range.most < WORD - 2)
            or self._parent.largest(vector) < WORD - 2)

    def _in_array(self, task):
        """Whether the word that a source sends, without a weight, is in the array in whose
        addresses kernels know the source."""
        return (not self.weighted and len(self._sent) == 1 and self._sent[0].vector
                not in self._copies and self._array_at(0, task)
                == self._parent.array(self._sent[0].vector))

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

    def _stamps(self, group):
        """The stores and reductions of stamps of this superstep, of the members of a group: the
        node, the member's number, and whether each vertex that is added gets the word."""
        for number, member in enumerate(group):
            function, *_ = self._parent.dependence.functions(member.op)
            for node in ir.walk(*function.body):
                if isinstance(node, ir.VectorStore | ir.Reduce) \
                        and isinstance(node.value, ir.Uniform) \
                        and self._parent.dependence.stamp(self._node, node.vector):
                    yield node, number, member.on == 0 and any(node is part
                                                               for part in function.body)

    def _added_stamp(self, group):
        """A vector that the vertices that are added get a stamp in, or None. Then its word tells
        the lane that is the first to add a vertex."""
        return next((node.vector for node, _, added in self._stamps(group) if added), None)

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
                isinstance(node, ir.Reduce) and index_of(self._function, node.index) == 1
                and self._array(node.vector) == base.array
                for node in ir.walk(*self._guarded[1].body)):
            k.a.lw(k.a.zero, base.reg)

    def first_only(self, k):
        # If the vertex has other rows, edges of these are taken in, too. But a Weaver would skip
        # all of the vertex's rows.
        return (k.task.direction == "pull" and self._decides(k.layout)
                and (k.task.schedule.owns_base or not k.layout.virtual))

    def _decides(self, layout):
        """Whether the first edge of a row that is accepted decides the words of its vertex."""
        ways = ("any", "first") if layout.ascending else ("any",)
        return suffices(self._node, *ways) and self._takes_accepted

    def _settles(self, task):
        """Whether one lane has all edges of the vertex it pulls for, and stops at the first that is
        accepted."""
        return task.direction == "pull" and task.alone and self._decides(task.layouts[0])

    @functools.cached_property
    def _takes_accepted(self):
        """Whether the function reduces for every edge that is accepted."""
        return all(isinstance(node, ir.Reduce | ir.Let) for node in self._guarded[1].body)

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
        if relaxation is None:
            return found
        fits = k.task.direction == "push" and bool(self._sent) and self.sent.fits
        return [dataclasses.replace(
            data, brings=(relaxation.value(k, edge, data.values, data.words, fits), data.brings),
            passes=relaxation.passes(data.values, data.words))
            for edge, data in zip(edges, found)]

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
        if self._relaxation(k.task) is not None or not self._tells(k.task) or self._changes_surely:
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
        words = self._load(k, edge, self._guarded[1]) if data is None or data.words is None \
            else data.words
        certain, tracked = self._changes_surely, None
        if self._tells(k.task) and not certain:
            tracked = self._tracked(k, flag, later)
        source, target = self._ends(k.task, edge)
        plain = {self._node.tracking} if certain and self._settles(k.task) else ()
        words.run_tracked(self._guarded[1], [source, target, edge.weight], self._parent.degrees,
                          k.private.words, tracked, plain)
        if tracked is not None and tracked.changed is not flag:
            k.a.mv(flag, tracked.changed)

    def _found(self, k, edge, data, predicate, flag):
        """Add the destinations of the edges that change them."""
        a, certain = k.a, self._changes_surely
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

    def _tracked(self, k, flag, later=None):
        """The tracked vector; whether an edge has changed its word becomes known in ``flag`` if
        every call reduces it once, else in a new register."""
        nodes = [node for node in ir.walk(*self._function.body)
                 if isinstance(node, ir.Reduce) and node.vector == self._node.tracking]
        only = len(nodes) == 1 and any(node is nodes[0] for node in self._function.body)
        changed = flag if only else k.a.reg("changed")
        if not only:
            k.a.mv(changed, k.a.zero)
        return Tracked(self._node.tracking, changed, only, later, self._fresh)

    @property
    def _changes_surely(self):
        """Whether every edge whose ends pass their tests changes the tracked word of a vertex that
        no other edge has changed before."""
        changes = known(self._node, facts.Changes)
        return self._node.position in self._parent.dependence.marks or (
            changes is not None and changes.by == "certain" and self._takes_accepted)

    def token(self, k, base):
        """A push that needs only the number of the base vertex gets it by its number."""
        sent = known(self._node, facts.Sent)
        if k.task.direction == "pull" or not k.task.queued or k.task.new_ids is not None \
                or sent is None or not isinstance(sent.value, ir.Local):
            return base
        return Vertex(k.number(base, k.a.reg("source")), None)

    def _repeatable(self, group):
        """Whether a vertex may be added several times: its set is only asked whether it is empty,
        and the members store words that stay the same."""
        asked = known(self._node, facts.Asked)
        return (asked is not None and "size" not in asked.asked
                and all(member.op.kind != WHERE for member in group)
                and all(isinstance(node.value, ir.Literal | ir.Uniform)
                        for member in group[1:]
                        for function in self._parent.dependence.functions(member.op)
                        for node in ir.walk(*function.body) if isinstance(node, ir.VectorStore)))

    def _add(self, k, vertex, flag, only, word=None):
        """Add the active lanes' vertices to the result, and perform the members that go through it
        for those that are new; ``flag`` is a register, ``only`` as of :meth:`_narrowed`. ``word``
        is a register with the vertex's tracked word, or None."""
        a, chosen, stored, group = k.a, {}, set(), self._members(k)
        claimed = self.pile is not None or self._claims(k.task, group)
        first = claimed or (self._exact and not self.adds_once(k.task, True))
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
        result = emitter.run(function, [vertex], self._parent.degrees)
        if member.op.kind != WHERE:
            return
        chosen[number] = k.a.reg("chosen")
        k.a.mv(chosen[number], result)
        with k.a.if_(chosen[number]):
            k.frontier.made[number].add(vertex)


def _only_load(function):
    """The load of a filter, if it reads one word of its vertex and no other; else None."""
    loads = list(dict.fromkeys(node for node in ir.walk(*function.body)
                               if isinstance(node, ir.VectorLoad)))
    return loads[0] if len(loads) == 1 and index_of(function, loads[0].index) == 0 else None


def _differ(condition, parameters):
    """Whether a condition is false where both ends of an edge are one vertex, whatever its words:
    that one expression differs at the ends."""
    def same(one, other):
        if isinstance(one, ir.Local) and isinstance(other, ir.Local) \
                and {one.name, other.name} <= set(parameters[:2]):
            return True
        if isinstance(one, ir.VectorLoad) and isinstance(other, ir.VectorLoad):
            return one.vector == other.vector and same(one.index, other.index)
        return one == other

    return (isinstance(condition, ir.Binary) and condition.operation in ("!=", "<", ">")
            and same(condition.left, condition.right))


def _opposite(function):
    """The filter that is true where another one is false."""
    *before, give = function.body
    value = give.value
    if isinstance(value, ir.Binary) and value.operation in _OPPOSITES:
        value = dataclasses.replace(value, operation=_OPPOSITES[value.operation])
    else:
        value = ir.Unary(operation="not", operand=value, type=Type.BOOL, position=give.position)
    return dataclasses.replace(function, body=(*before, dataclasses.replace(give, value=value)))


def _conjunction(tests, position):
    """A filter that is true where all expressions of a vertex are."""
    value, *others = tests
    for other in others:
        value = ir.Binary(operation="and", left=value, right=other, type=Type.BOOL,
                          position=position)
    return ir.Function(name="member", parameters=(facts.SELF,), position=position,
                       body=(ir.Give(value=value, position=position),))
