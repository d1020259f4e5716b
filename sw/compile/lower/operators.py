"""Edge operators as algorithms: one goes through its edges by any schedule and format.

The base vertex of an edge is its source when pushing, and its destination when pulling. A test of
the base selects base vertices; a test of the other end selects edges. A lane that owns its base
vertex loads the words of the base once. If it pulls, it collects the reductions of the destination
in registers.
"""

import functools

from sw.graph.graph import Graph
from sw.compile.algorithm import Algorithm
from sw.lang import graph_ir as ir
from sw.lang.passes.chain import certain_loads
from sw.lang.passes.races import shared
from sw.compile.lower.emitter import Emitter, combine, reduce_word
from sw.compile.lower.kernels import INPUT, VertexKernels


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
    node : EdgeSetIterator
    """
    void_edge = "padding"
    listable = False

    def __init__(self, parent, node):
        super().__init__(turned(parent.graph) if node.transposed else parent.graph)
        self.name, self._parent, self._node = parent.name, parent, node
        self._function = parent.program.function(node.apply_f)
        self.weighted = self._function.weighted
        self._filter = None if node.to_filter is None else parent.program.function(node.to_filter)
        self._all = node.input_vset == parent.ALL
        self._copies = {name: parent.copy_array(name) for name in node.metadata["start_copies"]}

    def frontier_reason(self, task):
        return "the sets of a program's vertices are words of a vertex array"

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
        return not self._all if task.direction == "push" else self._filter is not None

    def filter_data(self, k, base, into):
        self._test(k, base, into, source=k.task.direction == "push")

    def filter(self, k, base, data, into):
        if into is not data:
            k.a.mv(into, data)

    def _test(self, k, vertex, into, source):
        """``into`` = 1 if a vertex is in the set of sources, or if the filter of destinations is
        true, else 0."""
        a = k.a
        if source:
            pointer = a.reg("member")
            a.add(pointer, vertex.reg, self._set)
            a.lw(into, pointer)
            return
        emitter = self._emitter(k)
        a.mv(into, emitter.run(self._filter, [vertex], self._parent.degrees))

    def _tests_edges(self, task):
        """Whether the other end of an edge is tested."""
        return self._filter is not None if task.direction == "push" else not self._all

    def _has_voids(self, task):
        """Whether places come up that may not count as edges. An edge of the padding vertex to
        itself changes that vertex alone, unless words of a vertex say where a reduction lands."""
        parameters = self._function.parameters
        elsewhere = any(isinstance(node, ir.Reduce) and not (
            isinstance(node.index, ir.Local) and node.index.name in parameters)
            for node in ir.walk(*self._function.body))
        return any(layout.voids or (elsewhere and layout.filled) for layout in task.layouts)

    def selective(self, task):
        return self._tests_edges(task) or self._has_voids(task)

    def accepts(self, k, data, into, counts=True):
        passes, _ = data
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
        target, found = self._function.parameters[1], {}
        for node in ir.walk(*self._function.body):
            if isinstance(node, ir.Reduce) and isinstance(node.index, ir.Local) \
                    and node.index.name == target:
                found[node.vector] = node
        return found

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
        a = k.a
        for vector, node in self._owned(k.task).items():
            word, pointer = self._sums[vector], a.reg("pointer")
            pointer = k.pointer(base, self._parent.array(vector), pointer)
            # A lane that has no vertex of a filtered queue may hold one of an earlier superstep. It
            # has collected nothing, but must not store a word that another lane changes.
            if k.task.owns_vertex and self._alone(vector) and not self.filters(k.task):
                before = a.reg("before")
                a.lw(before, pointer)
                combine(k, node.operation, before, word)
                a.sw(before, pointer)
            else:
                reduce_word(k, node.operation, word, pointer)

    # Kernels

    def prepare(self, k):
        self._words = self._parent.load_words(k, self._node.apply_f, self._node.to_filter)
        self._set = None if self._all else VertexKernels.load_slot(k, INPUT, "input_set")
        self._end = k.constant(k.address(self._parent.anchor) + 4 * self.graph.num_vertices, "end")
        self._sums = {vector: k.a.reg(f"{vector}_sum") for vector in self._owned(k.task)}
        self._of_base = {}
        if k.task.schedule.owns_base:
            end = self._function.parameters[k.task.direction == "pull"]
            self._of_base = {load: k.a.reg(load.vector) for load in certain_loads(self._function)
                             if load.index.name == end}

    def _emitter(self, k, known=None, sums=None):
        return Emitter(k, self._parent.bits, self._words.__getitem__, self._parent.array,
                       self._copies, known, sums)

    def _load(self, k, load, vertex, into):
        array = self._copies.get(load.vector, self._parent.array(load.vector))
        k.a.lw(into, k.pointer(vertex, array, k.a.reg("pointer")))

    def begin(self, k, base):
        """A lane of its own base vertex loads the words of the base, and clears its sums."""
        for load, word in self._of_base.items():
            self._load(k, load, base, word)
        for vector, node in self._owned(k.task).items():
            k.a.mv(self._sums[vector], k.full if node.operation == "min" else k.a.zero)

    def gather(self, k, edges):
        """Whether each edge counts: its other end is a vertex, and passes its test. And the words
        of its ends, for all edges before the work on the first."""
        a, push = k.a, k.task.direction == "push"
        passes = [None for _ in edges]
        for i, edge in enumerate(edges):
            if self._has_voids(k.task):
                passes[i] = a.reg(f"counts{i}")
                a.sltu(passes[i], edge.neighbor.reg, self._end)
            if self._tests_edges(k.task):
                other = a.reg(f"passes{i}")
                self._test(k, edge.neighbor, other, source=not push)
                if passes[i] is not None:
                    a.and_(other, other, passes[i])
                passes[i] = other
        words = []
        for edge in edges:
            ends = dict(zip(self._function.parameters, self._ends(k.task, edge)))
            known = dict(self._of_base)
            for load in certain_loads(self._function):
                if load not in known:
                    known[load] = a.reg(load.vector)
                    self._load(k, load, ends[load.index.name], known[load])
            words.append(known)
        return list(zip(passes, words))

    def sum(self, k, edge, data, predicate):
        _, known = data
        self._emitter(k, known, self._sums).run(
            self._function, [*self._ends(k.task, edge), edge.weight], self._parent.degrees)
