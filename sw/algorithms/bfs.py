"""Breadth-first search: depth and parent of every vertex.

Superstep L finds the vertices of depth L + 1: those not found before to which an edge leads from a
vertex of depth L. A vertex's parent is the smallest such source.

Why every order of the lanes gives the same result
--------------------------------------------------
Depths of L and less were written before the launch, and no word of ``depth`` changes in superstep L
but from -1 to L + 1. So a lane that reads a depth greater than L, as an unsigned number, has a
vertex that was not found before this superstep, whether or not another lane has found it by now;
and only such vertices get a parent.

*Push.* Every edge from the frontier to such a vertex takes its source into ``parent`` by atomic
minimum, from an initial 2**32 - 1: the minimum over all of them stays. The one lane that reads that
initial value back is the first and the only one to add the vertex to the next frontier.

*Pull.* Only rows of vertices that were not found before are gone through. If a source's depth is at
most L then it is L: had it been less, the vertex would have been found before. Rows ascend, so the
first source that counts is the smallest: a lane that has the row for itself stops there. The Weaver
hands out a row's edges in their order, and when a lane tells it to skip the rest of the row, all
edges up to that lane's have been handed out; each that counts takes its source into ``parent`` by
atomic minimum, so what skipping prevents are larger sources only, whenever it takes effect.
"""

import itertools
import operator

import numpy as np

from sw.algorithms.base import Algorithm
from sw.errors import UserError
from sw.golden.bfs import bfs
from sw.kernels.frontier import Flag, Queue
from sw.kernels.kernel import Vertex


__all__ = ["Bfs"]


class Bfs(Algorithm):
    """From ``source``, along the arcs.

    Parameters
    ----------
    graph : Graph
    source : int
        The vertex of depth 0.
    """
    name = "bfs"
    directions = ("push", "pull")
    options = ("source",)

    def __init__(self, graph, source=0):
        super().__init__(graph)
        self._source = operator.index(source)
        if not 0 <= self._source < graph.num_vertices:
            raise UserError(f"bfs: source {source} is not a vertex of {graph.name}, must be from 0 "
                            f"to {graph.num_vertices - 1}")

    def frontier(self, task):
        return "queue" if task.direction == "push" and task.finds_rows else "all"

    def first_only(self, k):
        # Of a row that ascends the first source is the smallest; if the vertex has other rows, the
        # parent is the smallest of theirs. But a Weaver would skip all of the vertex's rows.
        return (k.task.direction == "pull" and k.layout.ascending
                and (k.task.schedule.owns_base or not k.layout.virtual))

    def selective(self, task):
        return True

    def filters(self, task):
        return True

    # Memory

    def reserve(self, task):
        self._frontier = (Queue if self.frontier(task) == "queue" else Flag)()
        for name in ("depth", "parent"):
            task.buffers.reserve(name, task.vertex_words)
        self._frontier.reserve(task)

    def init_vertex_value(self, task):
        depth = np.full(self.graph.num_vertices, -1, dtype=np.int32)
        parent = depth.copy()
        depth[self._source], parent[self._source] = 0, self._source
        # Padding vertices must neither be in a frontier nor wait to be found.
        task.buffers.fill("depth", depth, rest=0 if task.direction == "pull" else -1)
        task.buffers.fill("parent", parent, rest=-1)
        self._frontier.init(task, self._source)

    def neighbor_array(self, task):
        return "depth"

    def base_array(self, task):
        return "depth"

    # Kernels

    def kernels(self, task):
        return {"gather": ("gather", None)}

    def prepare_frontier(self, k):
        k.frontier = self._frontier
        self._frontier.prepare(k)

    def prepare(self, k):
        self.prepare_frontier(k)
        self._level = self._frontier.number
        k.need("depth", "parent", None)

    def filter_data(self, k, base, into):
        k.a.lw(into, base.reg)

    def filter(self, k, data, into):
        if k.task.direction == "pull":
            k.a.sltu(into, self._level, data)
        else:
            k.a.sub(into, data, self._level)
            k.a.seqz(into, into)

    def token(self, k, base):
        """Pushing, the base vertex is only needed as a parent: by its number."""
        if self.frontier(k.task) != "queue":
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
        # Pulling, the neighbour is the source, of depth L or less if found before; pushing, it is
        # the destination, found before if of depth L or less.
        if counts == (k.task.direction == "pull"):
            k.a.sltu(into, data, self._frontier.following)
        else:
            k.a.sltu(into, self._level, data)

    def sum(self, k, edge, data, predicate):
        a, task = k.a, k.task
        pull = task.direction == "pull"
        source, target = (edge.neighbor, edge.base) if pull else (edge.base, edge.neighbor)
        known, queued = a.label("known"), self.frontier(task) == "queue"
        with a.scope("pointer") as (pointer,):
            number = k.number(source)
            pointer = k.pointer(target, "parent", pointer)
            if pull and task.alone:
                a.sw(number, pointer)
            else:
                a.amominu_w(a.zero, number, pointer)
        if queued:
            a.addi(predicate, data, 1)
            a.seqz(predicate, predicate)
            k.narrow(predicate, known)
            a.addi(predicate, self._level, 1)
            a.amominu_w(predicate, predicate, target.reg)
            a.addi(predicate, predicate, 1)
            a.seqz(predicate, predicate)
            k.narrow(predicate, known)
        else:
            a.sw(self._frontier.following, target.reg)
        self._frontier.add(k, target)
        a.place(known)

    # Host

    def drive(self, session):
        for level in itertools.count():
            session.launch("gather", self._frontier.argument(session.task, level))
            if not self._frontier.filled(session, level):
                return level + 1

    def outputs(self, session):
        return {name: session.read(name, self.graph.num_vertices, np.int32)
                for name in ("depth", "parent")}

    def golden(self):
        depth, parent = bfs(self.graph, self._source)
        return {"depth": depth, "parent": parent}

    def parameters(self):
        return {"source": self._source}
