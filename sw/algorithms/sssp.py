"""Single-source shortest paths by relaxation of the frontier's edges (Bellman and Ford).

A superstep relaxes the edges of the vertices whose distance became smaller in the last superstep.
An edge from u to v makes v's distance at most u's distance plus the weight. The run ends when no
distance has changed. Distances are only ever replaced by smaller distances, by atomic minimum or by
the one lane that has the vertex for itself. Every value is the length of a path. If a vertex gets a
smaller distance after a lane has read the old distance, the vertex is in the next frontier. So the
result does not depend on the order of the lanes; only the number of supersteps does.

*Push.* A lane reads its source's distance when it begins with the source. An edge counts if it
would make its destination's distance smaller. The atomic minimum then tells whether it did.

*Pull.* Every vertex goes through all edges that enter it, whether or not their sources have
changed. If a lane has the row for itself, it takes the minimum in a register.

*Near and far* (Davidson et al., IPDPS 2014). With a ``delta``, only vertices whose distance is
below a threshold push, until none are left. Then the threshold moves on by ``delta``, and the
vertices that are now below it push. So most vertices push when their distance is final. Fewer edges
are relaxed, in more supersteps.
"""

import functools
import itertools
import operator

import numpy as np

from sw.kernels.algorithm import Algorithm
from sw.kernels.fusion import Loop
from sw.errors import UserError
from sw.golden.sssp import sssp


__all__ = ["UNREACHED", "Sssp"]


#: The distance of a vertex to which no path leads.
UNREACHED = 0xFFFF_FFFF

#: A delta is this many times the mean weight divided by the mean degree.
_DELTA_FACTOR = 32


class Sssp(Algorithm):
    """From ``source``, along the arcs.

    Parameters
    ----------
    graph : Graph
        With weights.
    source : int or "hub"
        The vertex at distance 0 (:meth:`source_vertex`).
    delta : int or "auto", optional
        The step of the threshold between near and far vertices. ``"auto"`` for the value of
        :meth:`choose_delta`; left out, near and far vertices are not told apart.
    """
    name = "sssp"
    ARRAYS = ("distance",)
    directions = ("push", "pull")
    options = {"source": (int, "hub"), "delta": (int, "auto")}
    TRIES = {"delta": (None, "auto", 4, 16, 64, 256, 1024)}
    weighted = sends = least_wins = True
    identity = UNREACHED

    def __init__(self, graph, source=0, delta=None):
        super().__init__(graph)
        self._source = self.source_vertex(source)
        if graph.weights is None:
            raise UserError(f"sssp: the arcs of {graph.name} have no weights; --weights N gives "
                            "them random ones from 1 to N")
        self._delta = self.choose_delta(graph) if delta == "auto" else delta
        if self._delta is not None and not 0 < operator.index(self._delta) <= UNREACHED:
            raise UserError(f"sssp: delta is {delta}, must be from 1 to {UNREACHED}, or auto")
        # A path whose length is a distance leaves no vertex twice. The vertices on it got their
        # distances one after the other, and a vertex gets a smaller distance only later.
        heaviest = np.zeros(graph.num_vertices, np.uint64)
        np.maximum.at(heaviest, graph.src, graph.weights)
        self._may_pass = int(heaviest.sum()) >= UNREACHED
        if self._may_pass:
            _ = self._distances             # refuses distances that do not fit

    @property
    def sums_fit(self):
        return not self._may_pass

    @staticmethod
    def choose_delta(graph) -> int:
        """A delta for a graph with weights: 32 times the mean weight divided by the mean degree.
        This is Davidson et al.'s rule, in which the factor is the number of lanes of a warp."""
        if not graph.num_edges:
            return 1
        mean = float(graph.weights.mean(dtype=np.float64))
        degree = graph.num_edges / graph.num_vertices
        return int(min(max(1, round(_DELTA_FACTOR * mean / degree)), UNREACHED))

    def frontiers(self, task):
        if self._delta is not None:
            return ("queue",)
        return ("queue", "counter", "bitmap", "bytemap") \
            if task.direction == "push" and not task.gathers else ("counter",)

    def frontier_reason(self, task):
        if task.gathers:
            return "a superstep visits all edges, as the distances of their sources were gathered"
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
        """Whether a lane takes the minimum over all edges of its vertex in a register."""
        return task.direction == "pull" and task.owns_vertex

    def selective(self, task):
        return not self._own(task)

    def filters(self, task):
        # If the sources' distances have been gathered, looking at all edges costs less.
        return task.direction == "push" and not task.gathers

    # Memory

    def init_vertex_value(self, task):
        distance = np.full(self.graph.num_vertices, UNREACHED, dtype=np.uint32)
        distance[task.vertex(self._source)] = 0
        task.buffers.fill("distance", distance, UNREACHED)
        task.frontier.init(task, task.vertex(self._source))

    # Kernels

    def kernels(self, task):
        kernels = {"gather": ("gather", None)}
        if self._delta is not None:
            kernels["advance"] = ("apply", None)
        return kernels

    def prepare(self, k):
        k.open_frontier()
        owns = k.task.schedule.owns_base or self._own(k.task)
        self._base = k.a.reg("base_distance") if owns else None

    def filter_data(self, k, base, into):
        k.input.member_data(k, base, into)

    def filter(self, k, base, data, into):
        k.input.member(k, base, data, into)

    def begin(self, k, base):
        k.a.lw(self._base, base.reg)

    def gather(self, k, edges):
        """The length of the path over each edge. If edges are selected, also the distance that the
        length would replace."""
        a, task = k.a, k.task
        pull = task.direction == "pull"
        lengths, replaced = [], []
        for i, edge in enumerate(edges):
            target = edge.base if pull else edge.neighbor
            length = self._base
            if length is None or pull:
                length = self.source_word(k, edge, "distance",
                                          lambda i=i: a.reg(f"source_distance{i}"))
            lengths.append(length)
            replaced.append(None)
            if self.selective(task):
                replaced[i] = a.reg(f"target_distance{i}")
                a.lw(replaced[i], target.reg)
        for i, edge in enumerate(edges):
            if edge.weight is not None:
                # A length that overflows 32 bits becomes UNREACHED: no path.
                self.along(k, lengths[i], edge.weight,
                           fits=self.sums_fit and self.filters(task))
                lengths[i] = edge.weight
        return list(zip(lengths, replaced))

    def accepts(self, k, data, into, counts=True):
        k.a.sltu(into, *data)

    def sum(self, k, edge, data, predicate):
        a = k.a
        length, _ = data
        if self._own(k.task):
            k.minimum(self._base, length, self._base)
            return
        target = edge.base if k.task.direction == "pull" else edge.neighbor
        known = a.label("known")
        before = a.reg("before")
        a.amominu_w(before, length, target.reg)
        a.sltu(predicate, length, before)
        k.narrow(predicate, known)
        k.frontier.add(k, target, predicate, known, key=length)
        a.place(known)

    def collects(self, task):
        return self._own(task)

    def collected(self, k):
        return [self._base]

    def merge(self, k, other, number=0):
        k.minimum(self._base, other, self._base)

    def collect_at(self, k, data, address):
        length, _ = data
        k.a.amominu_w(k.a.zero, length, address)

    def finish(self, k, base):
        if not self._own(k.task):
            return
        a, before = k.a, k.a.reg("before")
        a.lw(before, base.reg)
        a.sltu(before, self._base, before)
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
        # Beyond 32 bits the threshold is the largest number, which no distance exceeds.
        a.sltu(passed, into, old)
        a.neg(passed, passed)
        a.or_(into, into, passed)

    # Host

    def loop(self, task):
        if self._delta is not None:
            raise UserError("sssp: fusion=yes cannot have delta: the host moves the threshold "
                            "between near and far vertices")
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

    def outputs(self, session):
        return {"distance": session.read_vertices("distance")}

    @functools.cached_property
    def _distances(self):
        return sssp(self.graph, self._source)

    def golden(self):
        return {"distance": self._distances}

    def parameters(self):
        return {"source": self._source, "delta": self._delta}
