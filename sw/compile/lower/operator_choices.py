"""Edge operators under a plan: which sets, arrays and tests their kernels have, by facts.

What is said here is known before code is emitted (:mod:`.operators`). Most of it is asked for a
task, which has the direction, the schedule and the layouts of the graph.
"""

import dataclasses
import functools
import math
from typing import Any

from sw.compile.algorithm import Operator
from sw.compile.compaction.lists import noted_bits
from sw.compile.lower.dependence import may_tell, own_loads
from sw.compile.lower.fuse import EDGES, WHERE, Member, Op
from sw.compile.lower.machine import first_words
from sw.compile.lower.neighbor_tests import neighbor_test
from sw.compile.lower.places import place_of
from sw.compile.lower.relaxation import Relaxation, overwritten
from sw.compile.lower.sending import loops_around, sent_nodes, sent_word, sums_fit
from sw.graph.graph import Graph
from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known, suffices
from sw.lang.passes.chain import guarded, unconditional
from sw.lang.types import WORD, Type


__all__ = ["OperatorChoices", "turned"]


#: Lanes that hide each other's loads when a kernel goes over all vertices; more of them wait for
#: the memory. In the time of an answer, a half of them goes on by a vertex.
_LANES = 128


@functools.lru_cache(maxsize=8)
def turned(graph):
    """The graph with the ends of every arc exchanged. Its vertices are ordered as in the graph, so
    that both can use the same vertex arrays."""
    return Graph(graph.num_vertices, graph.dst, graph.src, graph.weights,
                 f"{graph.name}, transposed", ordered_as=graph)


class OperatorChoices(Operator):
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

    no_frontier = ("its operators of edges go through all vertices, and none has a result (`from_` "
                   "and `apply_modified` are about sets)")

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
        self.reads_set, self.splits = node.input_vset != ir.ALL, parent.splits
        self._relaxes = Relaxation.of(parent, node) if may_tell(parent.program, node) else None
        if self._relaxes is not None and not self._relaxes.always:
            self._function = self._relaxes.function
        self._group = (Member(Op(EDGES, number, not self.reads_set), None),)
        self.settle_result()
        tests = parent.dependence.members(number)
        self.known_by_words = bool(tests)
        self._membership = _conjunction(tests, node.position) if tests else None
        self._reached = self._membership
        if tests and known(node, facts.Closed) is not None:
            self._reached = self._or_before(tests)

    def settle_result(self):
        """What follows from whether edges themselves tell which vertices they change."""
        self.makes_set = self._parent.dependence.tells(self._node)
        self.has_sets = self.reads_set or self.makes_set
        self.fields = self._parent.fields(self._group)

    # What it brings

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

    @functools.cached_property
    def identity(self):
        reduce, = self._guarded[1].body if len(self._guarded[1].body) == 1 else (None,)
        if not isinstance(reduce, ir.Reduce) or self._function.parameter(reduce.index) != 1 \
                or self._guarded[0] is not None or self._filter is not None or self.has_sets \
                or any(self._function.parameter(part) == 1 for part in ir.walk(reduce.value)):
            return None
        return known(reduce, facts.Identity).word

    @property
    def void_edge(self):
        void = known(self._node, facts.Void)
        return "self" if void is not None and void.itself else "padding"

    @functools.cached_property
    def _guarded(self):
        """``(condition, function)``: the condition under which the function does anything, or None;
        and what it does then, but for reductions that only mark the vertex."""
        condition, body = guarded(self._function) if self._filter is None \
            else (None, self._function.body)
        return condition, self._with(body)

    def _with(self, body):
        """The function with another body, but for reductions that only mark the vertex."""
        if self._marks:
            body = (node for node in body if not (
                isinstance(node, ir.Reduce) and node.vector == self._node.tracking))
        return dataclasses.replace(self._function, body=tuple(body))

    @property
    def _marks(self):
        """Whether each edge whose ends pass their tests and the condition adds its destination,
        and the tracked vector has no words in memory."""
        return self._node.position in self._parent.dependence.marks

    @functools.cached_property
    def _overwritten(self):
        return overwritten(self._parent.program, self._function, self._node.tracking)

    @functools.cached_property
    def _beside(self):
        """``(always, condition, function)``: the reductions that the function performs at each
        edge, and the rest as of :attr:`_guarded`; None unless there are both."""
        always, rest = unconditional(self._function, self._node.tracking)
        condition, body = guarded(rest)
        if not always or condition is None:
            return None
        return always, condition, self._with(body)

    def _work(self, task) -> tuple:
        """``(always, condition, function)``: what is performed at each edge before edges are
        selected, by which condition, and what those do that are."""
        relaxation = self._relaxation(task)
        if relaxation is not None:
            return relaxation.always, None, self._guarded[1]
        if self._beside is not None and self._takes_all(task):
            return self._beside
        return (), *self._guarded

    @functools.cached_property
    def _takes_accepted(self):
        """Whether the function reduces for every edge that is accepted."""
        return all(isinstance(node, ir.Reduce | ir.Let) for node in self._guarded[1].body)

    def _changes_surely(self, task):
        """Whether every edge that is accepted changes the tracked word of a vertex that no other
        edge has changed before."""
        if self._marks:
            return self._beside is None or self._takes_all(task)
        changes = known(self._node, facts.Changes)
        if changes is None or changes.by != "certain" or not self._takes_accepted:
            return False
        # The old word tells the first lane, where one has to be told.
        return not changes.fresh or not any(map(self._is_exact,
                                                self._parent.groups.of(self.number)))

    def compares(self, task) -> bool:
        """Whether a kernel behind the edges finds what they have changed, so that no edge has to
        wait for an answer."""
        program, node, plan = self._parent.program, self._node, task.plan
        return (may_tell(program, node) and not self._marks and self._filter is None
                and not self.splits and plan.deduplicate is None and plan.atomics == "reduce"
                and _waits_long(task, bool(loops_around(program, node))))

    # What the plan decides

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

    def owned(self, task) -> frozenset:
        """The vectors whose words a lane collects in registers from all edges of the vertex; none
        if functions of vertices cannot follow there."""
        if self._node.tracking is not None:
            return frozenset()
        return frozenset(vector for vector in self.private(task) if self._plain(task, vector))

    def _adds_once(self, task):
        """Whether no two lanes add the same vertex."""
        return self._settles(task) or self._plain(task, self._node.tracking) or self._fresh

    def claims(self, task) -> bool:
        """Whether the set tells which lane is the first to add a vertex, in any kernel, and not a
        pile beside it."""
        return self.makes_set and self.pile is None and any(
            self._claims(task, group) for group in self._parent.groups.of(self.number))

    @property
    def pile(self):
        """The pile of the far vertices, beside the set that it makes, or None."""
        return self._parent.piles.get(self._node.output_vset)

    @property
    def sets_are_read(self) -> bool:
        """Whether a kernel of the program that has no edges goes through a set."""
        return any(group[0].op.kind != EDGES and not group[0].op.every
                   for group in self._parent.groups.all)

    # Which vertices and edges are tested

    def reads(self, task) -> bool:
        """Whether it asks for the members of its set, and does not go through a superset of their
        edges."""
        superset = known(self._node, facts.Superset)
        return self.reads_set and not (task.direction == "pull" and superset is not None
                                       and not superset.test)

    def may_chain(self, task) -> bool:
        """Whether a vertex that is added may leave the set that is read for the next, if members
        may wait. Where edges are tested one by one, all edges of vertices that have been added must
        count as well, lest a vertex leave amidst its edges, which would be gone through in vain."""
        superset = known(self._node, facts.Superset)
        return self.makes_set and (not self.reads(task) or (task.direction == "push" and (
            task.schedule.needs == "rows" or (superset is not None and not superset.test))))

    def _or_before(self, tests):
        """The filter that is true for members of this superstep or an earlier one, whose edges are
        not accepted, if one stamp tells; else for members."""
        test, *others = tests
        if not others and isinstance(test, ir.Binary) and test.operation == "==" \
                and isinstance(test.left, ir.VectorLoad) \
                and self._parent.dependence.stamp(self._node, test.left.vector):
            tests = dataclasses.replace(test, operation="<="),
        return _conjunction(tests, self._node.position)

    def filters(self, task):
        return not task.queued and (
            self.reads(task) if task.direction == "push" else self._filter is not None)

    def reverses(self, task) -> bool:
        """Whether a superstep may go through a list of the vertices that its filter lets through.
        """
        return task.direction == "pull" and self._filter is not None

    def selective(self, task):
        return (self._tests_edges(task) or self._has_voids(task)
                or self._relaxation(task) is not None or self._guard(task) is not None
                or bool(noted_bits(task)))

    def _tests_edges(self, task):
        """Whether the other end of an edge is tested."""
        return self._filter is not None if task.direction == "push" else self.reads(task)

    def _guard(self, task):
        """The condition by which edges are selected, or None; a relaxation has its own."""
        return self._work(task)[1]

    def _relaxation(self, task) -> Any:
        """The operator's :class:`~.relaxation.Relaxation`, if edges are accepted only where they
        improve a word in memory; else None."""
        late = task.schedule.has_lists and self._filter is not None
        if not self.makes_set or late or self.private(task) or (
                task.direction == "pull" and any(map(self._decides, task.layouts))):
            return None
        if self._relaxes is not None and self._relaxes.always and (
                task.schedule.owns_base or task.schedule.shares_rows or not self._takes_all(task)):
            return None         # lanes that find their edges in rows gain less than it costs
        return self._relaxes

    def _takes_all(self, task):
        """Whether all edges that come up are edges of the operator, so that reductions may be
        performed at each before edges are selected."""
        return not (self._filter is not None or self._tests_edges(task) or self._has_voids(task)
                    or any(layout.active for layout in task.layouts))

    def unit_test(self, task) -> Any:
        """The :class:`~.neighbor_tests.NeighborTest` by which a unit may drop edges, or None:
        what is done at each edge needs each."""
        relaxation, guard, conditions = self._relaxation(task), self._guard(task), []
        if self._work(task)[0]:
            return None
        if self._filter is not None and task.direction == "push" and len(self._filter.body) == 1:
            conditions.append((self._filter, self._filter.body[0].value))
        if guard is not None:
            conditions.append((self._function, guard))
        found = neighbor_test(conditions, relaxation and relaxation.effect, self._node,
                              self._function, task.direction == "pull")
        if found is None:
            return None
        stamped = any(vector not in self._copies and self._parent.dependence.stamp(
            self._node, vector) for vector in found.vectors)
        return None if stamped and not found.asks_never else found

    def _has_voids(self, task):
        """Whether places come up that may not count as edges. An edge of the padding vertex to
        itself changes that vertex alone, unless words of a vertex say where a reduction lands. It
        may add the vertex to a set if every edge does, or once functions of vertices have run over
        the padding."""
        parameters = self._function.parameters
        if any(layout.voids for layout in task.layouts) and self.void_edge == "padding" \
                and not (task.direction == "pull" and self._neutral):
            return True
        adds = self.makes_set and (self._marks or self._parent.groups.go_over)
        counts = adds or any(isinstance(node, ir.Reduce) and not (
            isinstance(node.index, ir.Local) and node.index.name in parameters)
            for node in ir.walk(*self._function.body))
        condition = self._beside[1] if self._beside else self._guarded[0]
        return (counts and any(layout.filled for layout in task.layouts)
                and not _differ(condition, parameters))

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

    # Who has all edges of a vertex

    def private(self, task):
        # A lane that ends its row at the first edge that is accepted has nothing to collect.
        if task.direction != "pull" or self._settles(task) \
                or not (task.schedule.owns_base or task.owns_vertex) or (
                    task.schedule.ends_rows and all(map(self._decides, task.layouts))):
            return {}
        return self._collected

    @functools.cached_property
    def _collected(self):
        """The reductions at the destination, by their vectors."""
        return {node.vector: node.operation for node in ir.walk(*self._guarded[1].body)
                if isinstance(node, ir.Reduce) and self._function.parameter(node.index) == 1
                and not (self._marks and node.vector == self._node.tracking)}

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

    def _decides(self, layout):
        """Whether the first edge of a row that is accepted decides the words of its vertex."""
        ways = ("any", "first") if layout.ascending else ("any",)
        return suffices(self._node, *ways) and self._takes_accepted

    def lacks_early_exit(self, task) -> str | None:
        """The fact that is missing to end a row at its first edge that is accepted, or None."""
        if not task.schedule.ends_rows:
            return f"rows: schedule {task.schedule.name!r} hands out all edges of a row"
        if not task.schedule.owns_base and any(layout.virtual for layout in task.layouts):
            return "one row a vertex: a unit or a warp would skip all rows of the vertex"
        if not all(map(self._decides, task.layouts)):
            return "suffices: the first edge of a row in its order"
        return None

    def _settles(self, task):
        """Whether one lane has all edges of the vertex it pulls for, and stops at the first that is
        accepted."""
        return task.direction == "pull" and task.alone and self._decides(task.layouts[0])

    def _tells(self, task):
        """Whether an edge may change the tracked word at once, and add a vertex."""
        return self.makes_set and self._node.tracking not in self.private(task)

    # Vertices that are added

    def _claims(self, task, group):
        return (self._is_exact(group) and not self._adds_once(task)
                and self._added_stamp(group) is None)

    def _is_exact(self, group):
        """Whether a kernel counts each vertex once."""
        pool = self._parent.pool
        return (self._asked is True or self.pile is not None or (pool.lists and not pool.noted)
                or not self._repeatable(group))

    @property
    def _fresh(self):
        """Whether the old word tells which reduction is the first to change a vertex."""
        changes = known(self._node, facts.Changes)
        return changes is not None and changes.fresh

    def _repeatable(self, group):
        """Whether a vertex may be added several times: its set is only asked whether it is empty,
        and the members store words that stay the same, and that none of them reads."""
        asked = known(self._node, facts.Asked)
        functions = self._followers(group)
        stored = frozenset().union(*(function.touched().stores for function in functions))
        return (asked is not None and "size" not in asked.asked
                and all(member.op.kind != WHERE for member in group)
                and all(isinstance(node.value, ir.Literal | ir.Uniform)
                        for function in functions
                        for node in ir.walk(*function.body) if isinstance(node, ir.VectorStore))
                and not any(function.touched().own & stored for function in functions))

    def _followers(self, group):
        """The functions of the members of a group behind the edges."""
        return [function for member in group[1:]
                for function in self._parent.dependence.functions(member.op)]

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
        the lane that is the first to add a vertex, which must not read the word from before."""
        read = frozenset().union(*(function.touched().own for function in self._followers(group)))
        return next((node.vector for node, _, added in self._stamps(group)
                     if added and node.vector not in read), None)

    # Arrays

    def base_array(self, task):
        return self._array_at(task.direction == "pull", task)

    def neighbor_array(self, task):
        return self._array_at(task.direction == "push", task)

    def _array_at(self, end, task):
        """The array in whose addresses kernels know the vertices at an end of edges: that of a word
        that the edges need there, unless vertices are in sets."""
        if self.has_sets:
            return self._parent.anchor
        wants = (self._filter,) if end and self._filter is not None else ()
        nodes = [node for function in wants for node in ir.walk(*function.body)
                 if isinstance(node, ir.VectorLoad) and function.parameter(node.index) == 0]
        nodes += [node for kind in (ir.VectorLoad, ir.Reduce)
                  for node in ir.walk(*self._function.body) if isinstance(node, kind)
                  and self._function.parameter(node.index) == end]
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


def _waits_long(task, again) -> bool:
    """Whether answers of atomics would cost more than a kernel that goes over all vertices behind
    the edges; ``again`` tells whether a loop repeats both.

    Where a lane has all edges of its vertex, all others wait for that of the vertex with the most
    edges, and it waits for an answer at each of them. A kernel behind the edges costs as much in
    each superstep as the vertices of a lane.
    """
    graph = task.graph
    if task.direction != "push" or not graph.num_edges or not task.alone:
        return False
    # Where degrees differ much, ways are short.
    supersteps = 1 if not again else \
        2 + math.log(graph.num_vertices, max(2, graph.num_edges / graph.num_vertices))
    return (int(graph.out_degrees.max()) * min(task.lanes, _LANES) // 2
            > supersteps * (graph.num_vertices + task.lanes))


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


def _conjunction(tests, position):
    """A filter that is true where all expressions of a vertex are."""
    value, *others = tests
    for other in others:
        value = ir.Binary(operation="and", left=value, right=other, type=Type.BOOL,
                          position=position)
    return ir.Function(name="member", parameters=(facts.SELF,), position=position,
                       body=(ir.Give(value=value, position=position),))
