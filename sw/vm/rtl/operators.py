"""Edge operators as algorithms: one goes through its edges by any schedule and format.

The base vertex of an edge is its source when pushing, and its destination when pulling. A test of
the base selects base vertices; a test of the other end selects edges.
"""

import functools

from sw.graph.graph import Graph
from sw.kernels.algorithm import Algorithm
from sw.vm.rtl.emitter import Emitter
from sw.vm.rtl.kernels import INPUT, VertexKernels


__all__ = ["EdgeOperator", "turned"]


@functools.lru_cache(maxsize=8)
def turned(graph):
    """The graph with the ends of every arc exchanged."""
    return Graph(graph.num_vertices, graph.dst, graph.src, graph.weights,
                 f"{graph.name}, transposed")


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

    def selective(self, task):
        return True

    def accepts(self, k, data, into, counts=True):
        if counts:
            k.a.mv(into, data)
        else:
            k.a.xori(into, data, 1)

    # Kernels

    def prepare(self, k):
        self._words = self._parent.load_words(k, self._node.apply_f, self._node.to_filter)
        self._set = None if self._all else VertexKernels.load_slot(k, INPUT, "input_set")
        self._end = k.constant(k.address(self._parent.anchor) + 4 * self.graph.num_vertices, "end")

    def _emitter(self, k):
        return Emitter(k, self._parent.bits, self._words.__getitem__, self._parent.array,
                       self._copies)

    def begin(self, k, base):
        """A lane keeps nothing of its base vertex."""

    def gather(self, k, edges):
        """Whether each edge counts: its other end is a vertex, and passes its test."""
        a, push = k.a, k.task.direction == "push"
        found = []
        for i, edge in enumerate(edges):
            counts = a.reg(f"counts{i}")
            a.sltu(counts, edge.neighbor.reg, self._end)
            if self._tests_edges(k.task):
                other = a.reg(f"passes{i}")
                self._test(k, edge.neighbor, other, source=not push)
                a.and_(counts, counts, other)
            found.append(counts)
        return found

    def sum(self, k, edge, data, predicate):
        emitter = self._emitter(k)
        emitter.run(self._function, [*self._ends(k.task, edge), edge.weight],
                    self._parent.degrees)
