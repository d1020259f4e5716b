"""Breadth-first search: depth and parent of every vertex.

Superstep L finds the vertices of depth L + 1. These are the vertices, not found before, to which an
edge leads from a vertex of depth L. A vertex's parent is the smallest such source.

Why every order of the lanes gives the same result
--------------------------------------------------
Depths of L and less were written before the launch, and no word of ``depth`` changes in superstep L
but from -1 to L + 1. So a lane that reads a depth greater than L, as an unsigned number, has a
vertex that was not found before this superstep. Another lane may have found the vertex by now. Only
such vertices get a parent.

*Push.* For every edge from the frontier to such a vertex, an atomic minimum puts the edge's source
into ``parent``, from an initial 2**32 - 1. So the minimum over all these sources stays. The one
lane that reads the initial value back is the first, and it alone adds the vertex to the next
frontier.

*Pull.* Kernels go only through rows of vertices that were not found before. If a source's depth is
at most L, then the depth is L: had it been less, the vertex would have been found before. Rows
ascend, so the first source that counts is the smallest. A lane that has the row for itself stops
there. The Weaver hands out a row's edges in their order. When a lane tells the Weaver to skip the
rest of the row, all edges up to that lane's edge have been handed out. Each edge that counts puts
its source into ``parent`` by atomic minimum. So skipping prevents only larger sources, whenever it
takes effect.
"""

import itertools

import numpy as np

from sw.kernels.algorithm import Algorithm
from sw.kernels.fusion import Loop
from sw.golden.bfs import bfs
from sw.kernels.kernel import Vertex


__all__ = ["Bfs"]


class Bfs(Algorithm):
    """From ``source``, along the arcs.

    Parameters
    ----------
    graph : Graph
    source : int or "hub"
        The vertex of depth 0 (:meth:`source_vertex`).
    """
    name = "bfs"
    ARRAYS = "depth", "parent"
    directions = ("push", "pull")
    switches = least_wins = True
    options = {"source": (int, "hub")}

    def __init__(self, graph, source=0):
        super().__init__(graph)
        self._source, self._directions = self.source_vertex(source), None

    def frontiers(self, task):
        return ("queue", "counter", "bitmap", "bytemap") \
            if task.switches or (task.direction == "push" and not task.gathers) else ("counter",)

    def frontier_reason(self, task):
        if task.gathers:
            return "the depths gathered for all edges tell which sources are in the frontier"
        return ("a superstep visits all vertices that are not found yet, and depths tell which of "
                "their neighbours are in the frontier")

    def reverses(self, task):
        return task.direction == "pull"

    def pending_data(self, k, base, into):
        k.a.lw(into, base.reg)

    def pending(self, k, data, into):
        k.a.addi(into, data, 1)
        k.a.seqz(into, into)

    def adds_once(self, task, asked):
        return asked or self._settles(task)

    @staticmethod
    def _settles(task):
        """Whether a lane has all edges of the vertex it pulls for, and stops at the first that
        counts."""
        return task.direction == "pull" and task.alone and task.layouts[0].ascending

    def first_only(self, k):
        # The first source of an ascending row is the row's smallest. If the vertex has other rows,
        # the parent is the smallest of their sources. But a Weaver would skip all of the vertex's
        # rows.
        return (k.task.direction == "pull" and k.layout.ascending
                and (k.task.schedule.owns_base or not k.layout.virtual))

    def selective(self, task):
        return True

    def filters(self, task):
        return True

    # Memory

    def init_vertex_value(self, task):
        depth = np.full(self.graph.num_vertices, -1, dtype=np.int32)
        parent = depth.copy()
        source = task.vertex(self._source)
        depth[source], parent[source] = 0, self._source
        # A padding vertex must never be in a frontier, and must never count as not yet found.
        task.buffers.fill("depth", depth, rest=-1 if task.direction == "push" else 0)
        task.buffers.fill("parent", parent, rest=-1)
        task.frontier.init(task, source)

    # Kernels

    def kernels(self, task):
        return dict.fromkeys(task.sides or ["gather"], ("gather", None))

    def prepare(self, k):
        k.open_frontier()
        self._level, self._following = k.frontier.number, None
        if not k.frontier.listed:
            self._following = k.frontier.following
        elif k.task.direction == "pull" or not k.task.queued:
            self._following = k.a.reg("following")
            k.a.addi(self._following, self._level, 1)

    @staticmethod
    def _asks(k):
        """Whether the frontier, and not the depth, tells if a vertex is in the frontier."""
        return k.task.direction == "push" and k.input.keeps and not k.input.listed

    def filter_data(self, k, base, into):
        if self._asks(k):
            k.input.member_data(k, base, into)
        else:
            k.a.lw(into, base.reg)

    def filter(self, k, base, data, into):
        if self._asks(k):
            k.input.member(k, base, data, into)
        elif k.task.direction == "pull":
            k.a.sltu(into, self._level, data)
        else:
            k.a.sub(into, data, self._level)
            k.a.seqz(into, into)

    def token(self, k, base):
        """A push needs the base vertex only as a parent, by its number."""
        if not k.task.queued or k.task.direction == "pull" or k.task.new_ids is not None:
            return base
        return Vertex(k.number(base, k.a.reg("source")), None)

    def gather(self, k, edges):
        """The depths of the neighbours."""
        if k.task.direction == "pull":
            return [self.source_word(k, edge, "depth", lambda i=i: k.a.reg(f"depth{i}"))
                    for i, edge in enumerate(edges)]
        depths = k.a.regs(*(f"depth{i}" for i in range(len(edges))))
        for edge, depth in zip(edges, depths):
            k.a.lw(depth, edge.neighbor.reg)
        return depths

    def accepts(self, k, data, into, counts=True):
        # In a pull the neighbour is the source, and its depth is L or less if it was found before.
        # In a push it is the destination, which was found before if its depth is L or less.
        if counts == (k.task.direction == "pull"):
            k.a.sltu(into, data, self._following)
        else:
            k.a.sltu(into, self._level, data)

    def sum(self, k, edge, data, predicate):
        a, task = k.a, k.task
        pull = task.direction == "pull"
        source, target = (edge.neighbor, edge.base) if pull else (edge.base, edge.neighbor)
        known = a.label("known")
        pointer = a.reg("pointer")
        number = k.original(source)
        pointer = k.pointer(target, "parent", pointer)
        if self._settles(task):
            a.sw(number, pointer)
        else:
            a.amominu_w(a.zero, number, pointer)
        self._find(k, target, data, predicate, known)
        k.frontier.add(k, target, predicate, known)
        a.place(known)

    def _find(self, k, target, data, predicate, known):
        """Give a vertex its depth, and continue with the lanes that add it to the frontier."""
        a, task = k.a, k.task
        # A lane with all edges of its vertex is the only one to find the vertex.
        first = task.frontier.deduplicate and not self.adds_once(task, False)
        if task.direction == "push" and (first or task.frontier.keeps):
            # A lane that sees the vertex found by another lane does not add it.
            a.addi(predicate, data, 1)
            a.seqz(predicate, predicate)
            k.narrow(predicate, known)
        depth = predicate
        if self._following is None:
            a.addi(depth, self._level, 1)
        else:
            depth = self._following
        if not first:
            a.sw(depth, target.reg)
            return
        a.amominu_w(predicate, depth, target.reg)
        a.addi(predicate, predicate, 1)
        a.seqz(predicate, predicate)
        k.frontier.narrow(k, predicate, known)

    # Host

    def loop(self, task):
        return Loop((("gather",),))

    def drive(self, session):
        task, frontier = session.task, session.task.frontier
        if not task.sides:
            return super().drive(session)
        name = next(iter(task.sides))
        self._directions = names = []
        for level in itertools.count():
            names.append(name)
            session.launch(name, frontier.argument(task, level))
            added = frontier.added(session, level)
            if not added:
                return level + 1
            name = task.next_side(added)

    def outputs(self, session):
        return {name: session.read_vertices(name, np.int32)
                for name in self.ARRAYS}

    def golden(self):
        depth, parent = bfs(self.graph, self._source)
        return {"depth": depth, "parent": parent}

    def parameters(self):
        found: dict[str, object] = {"source": self._source}
        if self._directions is not None:
            found["directions"] = self._directions
        return found
