"""Edge operators as algorithms: one goes through its edges by any schedule and format.

The base vertex of an edge is its source when pushing, and its destination when pulling. A test of
the base selects base vertices; a test of the other end selects edges. A lane that owns its base
vertex loads the words of the base once. If it pulls, it collects the reductions of the destination
in registers.

The lane whose reduction changes the tracked word of a vertex adds the vertex to the result. The
stamps of the result tell which lane is the first, and this lane also performs the functions of
vertices that have joined the kernel (:mod:`.fuse`).
"""

import functools

from sw.compile.algorithm import Algorithm
from sw.compile.frontiers.sets import Made, MemberTest
from sw.compile.lower.dependence import index_of, suffices
from sw.compile.lower.emitter import Emitter, Tracked, combine, reduce_word
from sw.compile.lower.fuse import EDGES, WHERE, Member, Op
from sw.graph.graph import Graph
from sw.lang import graph_ir as ir
from sw.lang.passes.chain import certain_loads
from sw.lang.passes.races import shared


__all__ = ["EdgeOperator", "turned"]


@functools.lru_cache(maxsize=8)
def turned(graph):
    """The graph with the ends of every arc exchanged. Its vertices are ordered as in the graph, so
    that both can use the same vertex arrays."""
    return Graph(graph.num_vertices, graph.dst, graph.src, graph.weights,
                 f"{graph.name}, transposed", ordered_as=graph)


class EdgeOperator(Algorithm):
    """An EdgeSetIterator.

    Parameters
    ----------
    parent : ProgramAlgorithm
    number : int
        The operator's number.

    Attributes
    ----------
    reads_set, makes_set, has_sets : bool
        Whether the kernel reads a set of the pool, makes one, or one of both.
    fields : Fields
        The fields of the launch's argument.
    """
    void_edge = "padding"
    listable = False

    def __init__(self, parent, number):
        node = parent.edges[number]
        super().__init__(turned(parent.graph) if node.transposed else parent.graph)
        self.name, self._parent, self._node = parent.name, parent, node
        self._function = parent.program.function(node.apply_f)
        self.weighted = self._function.weighted
        self._filter = None if node.to_filter is None else parent.program.function(node.to_filter)
        self._copies = {name: parent.copy_array(name) for name in parent.dependence.copies(node)}
        self.reads_set = node.input_vset != ir.ALL
        self.makes_set = parent.dependence.tells(node)
        self.has_sets = self.reads_set or self.makes_set
        self._group = (Member(Op(EDGES, number, not self.reads_set), None),)
        self.fields = parent.fields(self._group)

    def adds_once(self, task, asked):
        return self._plain(task, self._node.tracking)

    def base_array(self, task):
        return self._parent.anchor

    def neighbor_array(self, task):
        return self._parent.anchor

    # Tests

    def _ends(self, task, edge):
        """The source and the destination of an edge."""
        ends = edge.base, edge.neighbor
        return ends if task.direction == "push" else ends[::-1]

    def filters(self, task):
        if task.direction == "push":
            return self.reads_set and isinstance(task.input, MemberTest)
        return self._filter is not None

    def filter_data(self, k, base, into):
        if k.task.direction == "push":
            k.input.member_data(k, base, into)
        else:
            self._wants(k, base, into)

    def filter(self, k, base, data, into):
        if k.task.direction == "push":
            k.input.member(k, base, data, into)
        elif into is not data:
            k.a.mv(into, data)

    def _wants(self, k, vertex, into):
        """``into`` = 1 if the filter of destinations is true, else 0. Returns the register with the
        word of now of the vector by whose stamps vertices are added, if it was read."""
        emitter = self._emitter(k)
        k.a.mv(into, emitter.run(self._filter, [vertex], self._parent.degrees))
        return emitter.racing.get(self._stamp)

    def _tests_edges(self, task):
        """Whether the other end of an edge is tested."""
        return self._filter is not None if task.direction == "push" else self.reads_set

    @staticmethod
    def _has_voids(task):
        return any(layout.voids for layout in task.layouts)

    def _tells(self, task):
        """Whether an edge may change the tracked word at once, and add a vertex."""
        return self.makes_set and self._node.tracking not in self._owned(task)

    def selective(self, task):
        return self._tests_edges(task) or self._has_voids(task) or self._tells(task)

    def accepts(self, k, data, into, counts=True):
        passes, *_ = data
        if passes is None:
            k.a.li(into, int(counts))
        elif counts:
            k.a.mv(into, passes)
        else:
            k.a.xori(into, passes, 1)

    # Sums in registers

    def _owned(self, task):
        """The reductions whose words a lane that owns the base vertex collects in registers, by
        vector."""
        if task.direction != "pull" or not task.schedule.owns_base:
            return {}
        return {node.vector: node for node in ir.walk(*self._function.body)
                if isinstance(node, ir.Reduce) and index_of(self._function, node.index) == 1}

    def _plain(self, task, vector):
        """Whether a lane has all reductions of a vector at its vertex, and no other lane any. A
        lane that has no vertex of a filtered queue may hold one of an earlier superstep. It has
        collected nothing, but must not store a word that another lane changes."""
        return (vector in self._owned(task) and task.owns_vertex and self._alone(vector)
                and not self.filters(task))

    def _alone(self, vector):
        """Whether all reductions of a vector are at the destination."""
        return not shared(self._function, next(
            node for node in ir.walk(*self._function.body)
            if isinstance(node, ir.Reduce) and node.vector == vector), 1)

    def collects(self, task):
        return bool(self._owned(task))

    def collects_words(self, task):
        return len(self._owned(task))

    def collected(self, k):
        return list(self._sums.values())

    def merge(self, k, other, number=0):
        node = list(self._owned(k.task).values())[number]
        combine(k, node.operation, self._sums[node.vector], other)

    def finish(self, k, base):
        a, changed = k.a, None
        for vector, node in self._owned(k.task).items():
            word, pointer = self._sums[vector], a.reg("pointer")
            pointer = k.pointer(base, self._parent.array(vector), pointer)
            tracks = self.makes_set and vector == self._node.tracking
            if tracks:
                changed = a.reg("changed")
            if self._plain(k.task, vector):
                before = a.reg("before")
                a.lw(before, pointer)
                if tracks:
                    a.mv(changed, before)
                combine(k, node.operation, before, word)
                a.sw(before, pointer)
                if tracks:
                    a.xor(changed, changed, before)
                    a.snez(changed, changed)
            else:
                reduce_word(k, node.operation, word, pointer, changed if tracks else None)
        if changed is not None:
            with k.only(changed, "same") as same:
                self._add(k, base, changed, same)

    # Kernels

    def prepare(self, k):
        k.open_frontier()
        group = self._members(k)
        self._words = self._parent.load_words(k, group)
        self._end = k.constant(k.address(self._parent.anchor) + 4 * self.graph.num_vertices, "end")
        self._sums = {vector: k.a.reg(f"{vector}_sum") for vector in self._owned(k.task)}
        self._of_base = {}
        if k.task.schedule.owns_base:
            end = self._function.parameters[k.task.direction == "pull"]
            self._of_base = {load: k.a.reg(load.vector) for load in certain_loads(self._function)
                             if load.index.name == end}
        self._stamped = self._stamps(group)
        self._stamp = self._added_stamp(group)
        index = int(self.reads_set) + 1
        self._made = {}
        fields = self._parent.fields(group)
        for number, member in enumerate(group):
            if member.op.kind == WHERE:
                self._made[number] = Made(k, fields, index)
                index += 1

    def _members(self, k):
        """The group of a kernel; the operator alone in a pass that belongs to several."""
        return k.variant or self._group

    def _stamps(self, group):
        """The registers with the stamps of this superstep, by the vectors whose words at the start
        are known by them."""
        return {node.vector: words[node.value] for node, words, _ in self._writes(group)
                if isinstance(node.value, ir.Uniform)
                and self._parent.dependence.stamp(self._node, node.vector)}

    def _writes(self, group):
        """The stores and reductions of the members of a group, with the registers of the member's
        values of the host, and whether each vertex that is added gets the word."""
        for words, member in zip(self._words, group):
            function, *_ = self._parent.functions(member.op)
            for node in ir.walk(*function.body):
                if isinstance(node, ir.VectorStore | ir.Reduce):
                    yield node, words, member.on == 0 and any(node is part
                                                              for part in function.body)

    def _added_stamp(self, group):
        """A vector that the vertices that are added get a stamp in, or None. Then its word tells
        the lane that is the first to add a vertex."""
        return next((node.vector for node, _, added in self._writes(group)
                     if added and node.vector in self._stamped), None)

    def _emitter(self, k, known=None, sums=None, tracked=None):
        return Emitter(k, self._parent.bits, self._words[0].__getitem__, self._parent.array,
                       self._copies, known, sums, tracked=tracked, stamped=self._stamped)

    def begin(self, k, base):
        """A lane of its own base vertex loads the words of the base, and clears its sums."""
        emitter = self._emitter(k)
        for load, word in self._of_base.items():
            emitter.load(load, base, word)
        for vector, node in self._owned(k.task).items():
            k.a.mv(self._sums[vector], k.full if node.operation == "min" else k.a.zero)

    def first_only(self, k):
        # If the vertex has other rows, edges of these are taken in, too. But a Weaver would skip
        # all of the vertex's rows.
        if k.task.direction != "pull" or not (k.task.schedule.owns_base or not k.layout.virtual):
            return False
        ways = ("any", "first") if k.layout.ascending else ("any",)
        return suffices(self._node, *ways) and self._guards_nothing

    @functools.cached_property
    def _guards_nothing(self):
        """Whether each edge whose ends pass their tests is accepted."""
        return all(isinstance(node, ir.Reduce | ir.Let) for node in self._function.body)

    def gather(self, k, edges):
        """Whether each edge counts: its other end is a vertex, and passes its test. And the words
        of its ends, for all edges before the work on the first."""
        a, push = k.a, k.task.direction == "push"
        passes, racing = [None for _ in edges], [None for _ in edges]
        for i, edge in enumerate(edges):
            if self._has_voids(k.task):
                passes[i] = a.reg(f"counts{i}")
                a.sltu(passes[i], edge.neighbor.reg, self._end)
            if self._tests_edges(k.task):
                other = a.reg(f"passes{i}")
                if push:
                    racing[i] = self._wants(k, edge.neighbor, other)
                else:
                    k.input.member_data(k, edge.neighbor, other)
                    k.input.member(k, edge.neighbor, other, other)
                if passes[i] is not None:
                    a.and_(other, other, passes[i])
                passes[i] = other
        words = [{} if self.first_only(k) else self._load(k, edge) for edge in edges]
        return list(zip(passes, words, racing))

    def _load(self, k, edge):
        """The words of an edge's ends, by their loads."""
        ends = dict(zip(self._function.parameters, self._ends(k.task, edge)))
        known, emitter = dict(self._of_base), self._emitter(k)
        for load in certain_loads(self._function):
            if load not in known:
                known[load] = k.a.reg(load.vector)
                emitter.load(load, ends[load.index.name], known[load])
        return known

    def sum(self, k, edge, data, predicate):
        a, tracked = k.a, None
        known = self._load(k, edge) if data is None or self.first_only(k) else data[1]
        if self._tells(k.task):
            tracked = Tracked(self._node.tracking, a.reg("changed"))
            a.mv(tracked.changed, a.zero)
        source, target = self._ends(k.task, edge)
        self._emitter(k, known, self._sums, tracked).run(
            self._function, [source, target, edge.weight], self._parent.degrees)
        if tracked is None:
            return
        same = a.label("same")
        a.mv(predicate, tracked.changed)
        if data is not None and data[2] is not None:
            # A lane that sees the vertex found by another lane does not add it.
            found = a.reg("found")
            a.addi(found, data[2], 1)
            a.seqz(found, found)
            a.and_(predicate, predicate, found)
        k.narrow(predicate, same)
        self._add(k, target, predicate, same)
        a.place(same)

    def _add(self, k, vertex, predicate, same):
        """Add the active lanes' vertices to the result, and perform the members that go through it
        for those that are new."""
        a, chosen = k.a, {}
        if self._stamp is None:
            k.frontier.add(k, vertex, predicate, same)
        else:
            pointer = k.pointer(vertex, self._parent.array(self._stamp), a.reg("pointer"))
            a.amominu_w(predicate, self._stamped[self._stamp], pointer)
            a.addi(predicate, predicate, 1)
            a.seqz(predicate, predicate)
            k.narrow(predicate, same)
            k.frontier.add_new(vertex)
        group = self._members(k)
        for number, (member, words) in enumerate(zip(group, self._words)):
            if not number:
                continue
            function, = self._parent.functions(member.op)
            emitter = self._parent.emitter(k, words, function)
            if not member.on:
                self._perform(k, number, member, emitter, function, vertex, chosen)
                continue
            with a.if_(chosen[member.on]):
                self._perform(k, number, member, emitter, function, vertex, chosen)

    def _perform(self, k, number, member, emitter, function, vertex, chosen):
        result = emitter.run(function, [vertex], self._parent.degrees)
        if member.op.kind != WHERE:
            return
        chosen[number] = k.a.reg("chosen")
        k.a.mv(chosen[number], result)
        with k.a.if_(chosen[number]):
            self._made[number].mark(vertex.reg)
            self._made[number].append(vertex.reg)
