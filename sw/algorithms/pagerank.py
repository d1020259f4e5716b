"""PageRank in fixed point: each vertex sends its rank along its edges in equal shares.

A superstep has two parts. *Gather* adds the shares of the sources of a vertex's edges to its sum.
*Apply* computes the rank from the sum, and the share for the next superstep from the rank. If one
lane has all edges of the vertex that collects, the sum stays in a register, and one kernel does
both parts. Other lanes may then still need the shares of the last superstep, so two arrays of
shares change roles.

The rank is needed only at the end, so only the last superstep stores it, in place of shares. With a
tolerance, every superstep stores the ranks, because the host compares them.
"""

import math
import operator

import numpy as np

from sw.kernels.algorithm import Algorithm
from sw.kernels.fusion import Loop
from sw.algorithms.fixed_point import FixedPoint, choose_fixed_point, inverse_degrees
from sw.errors import UserError
from sw.golden.pagerank import pagerank
from sw.kernels.vertices import each_vertex


__all__ = ["PageRank"]


#: The number of a superstep must fit in a word, which kernels get.
_MOST_ITERATIONS = (1 << 32) - 1


class PageRank(Algorithm):
    """``iterations`` supersteps, or until the ranks change by less than ``tolerance`` in all.

    Parameters
    ----------
    graph : Graph
    iterations : int
        Largest number of supersteps.
    damping : float
        Part of a vertex's rank that goes along its edges.
    tolerance : float, optional
        Stop once the sum of all ranks' absolute changes is less than this.
    """
    name = "pagerank"
    directions = ("pull", "push")
    options = {"iterations": (int,), "damping": (float,), "tolerance": (float,)}
    void_edge = "padding"
    sends = sends_early = True
    identity = 0

    def __init__(self, graph, iterations=10, damping=0.85, tolerance=None):
        super().__init__(graph)
        if not 1 <= operator.index(iterations) <= _MOST_ITERATIONS:
            raise UserError(f"pagerank: iterations is {iterations}, must be from 1 to "
                            f"{_MOST_ITERATIONS}")
        if not 0 <= damping < 1:
            raise UserError(f"pagerank: damping is {damping!r}, must be at least 0 and below 1")
        if tolerance is not None and not 0 < tolerance < math.inf:
            raise UserError(f"pagerank: tolerance is {tolerance!r}, must be a number above 0")
        self._iterations, self._damping = operator.index(iterations), float(damping)
        self._tolerance = tolerance
        self._fixed = None
        self._done = 0

    @property
    def fixed(self) -> FixedPoint:
        """The fixed-point format, chosen for this graph and number of supersteps."""
        if self._fixed is None:
            self._fixed = choose_fixed_point(self.graph, self._iterations, self._damping)
        return self._fixed

    @staticmethod
    def _fused(task):
        return task.owns_vertex and task.direction == "pull"

    @staticmethod
    def _sums_parts(task):
        """Whether a lane sums over a part of its vertex's edges in a register."""
        return task.schedule.owns_base and not task.schedule.whole_rows \
            and task.direction == "pull"

    # Memory

    def reserve(self, task):
        names = ["share", "inverse", "rank"]
        names.append("other_share" if self._fused(task) else "sum")
        for name in names:
            task.buffers.reserve(name, task.vertex_words)

    def init_vertex_value(self, task):
        inverse = inverse_degrees(self.graph)
        share = inverse.astype(np.uint64) * np.uint64(self.fixed.one) >> np.uint64(32)
        task.buffers.fill("inverse", task.to_device(inverse))
        task.buffers.fill("share", task.to_device(share.astype(np.uint32)))
        task.buffers.fill("rank", rest=self.fixed.one)

    def neighbor_array(self, task):
        return "share" if task.direction == "pull" else "sum"

    def base_array(self, task):
        if self._fused(task):
            return "inverse"
        return "sum" if task.direction == "pull" else "share"

    def frontier_reason(self, task):
        return "every vertex takes part in every superstep"

    # Kernels. A variant names the array that a superstep reads, the array that it writes, and the
    # stored values: "share", "rank" or both.

    def kernels(self, task):
        stores = {"": ("share",) if self._tolerance is None else ("share", "rank"),
                  "_last": ("rank",)}
        if self._fused(task):
            ways = {"gather": ("share", "other_share"), "gather_back": ("other_share", "share")}
            return {name + suffix: ("gather", (*way, stored)) for name, way in ways.items()
                    for suffix, stored in stores.items()}
        kernels: dict[str, tuple] = {"gather": ("gather", ("share", None, ()))}
        for suffix, stored in stores.items():
            kernels["apply" + suffix] = ("apply", ("share", "share", stored))
        return kernels

    def prepare(self, k):
        task = k.task
        source, target, stored = k.variant
        if self._fused(task):
            self._sum, self._inverse = k.a.regs("sum", "inverse")
            self._need_rank(k)
        elif self._sums_parts(task):
            self._sum = k.a.reg("sum")
        elif task.schedule.owns_base:
            self._share = k.a.reg("share")

    def _need_rank(self, k):
        self._damping_word = k.constant(self.fixed.damping, "damping")
        self._base_word = k.constant(self.fixed.base, "base_rank")

    def expect(self, k, base):
        if k.task.direction == "pull":
            k.a.lw(k.a.zero, base.reg)

    def begin(self, k, base):
        if self._fused(k.task):
            k.a.mv(self._sum, k.a.zero)
            if k.variant[2] != ("rank",):
                k.a.lw(self._inverse, base.reg)
        elif self._sums_parts(k.task):
            k.a.mv(self._sum, k.a.zero)
        else:
            k.a.lw(self._share, base.reg)

    def gather(self, k, edges):
        a, task = k.a, k.task
        if task.direction == "push" and task.schedule.owns_base:
            return [self._share for _ in edges]
        return [self.source_word(k, edge, k.variant[0], lambda i=i: a.reg(f"share{i}"))
                for i, edge in enumerate(edges)]

    def sum(self, k, edge, data, predicate):
        if self.collects(k.task):
            k.a.add(self._sum, self._sum, data)
            return
        target = edge.base if k.task.direction == "pull" else edge.neighbor
        k.a.amoadd_w(k.a.zero, data, target.reg)

    def collects(self, task):
        return self._fused(task) or self._sums_parts(task)

    def collected(self, k):
        return [self._sum]

    def merge(self, k, other, number=0):
        k.a.add(self._sum, self._sum, other)

    def collect_at(self, k, data, address):
        k.a.amoadd_w(k.a.zero, data, address)

    def finish(self, k, base):
        if self._sums_parts(k.task):
            k.a.amoadd_w(k.a.zero, self._sum, base.reg)
            return
        if not self._fused(k.task):
            return
        a = k.a
        k.phase(5)
        pointer = a.reg("pointer")
        self._rank(k, self._sum, self._inverse, lambda word, array: a.sw(
            word, k.pointer(base, array, pointer)))
        k.phase(3)

    def _rank(self, k, word, inverse, store):
        """Compute rank and share from the sum in ``word``, and store those of the variant."""
        _, target, stored = k.variant
        k.a.mulhu(word, word, self._damping_word)
        k.a.add(word, word, self._base_word)
        if "rank" in stored:
            store(word, "rank")
        if "share" in stored:
            k.a.mulhu(word, word, inverse)
            store(word, target)

    def apply(self, k):
        a = k.a
        _, target, stored = k.variant
        last = "share" not in stored
        self._need_rank(k)
        with each_vertex(k, "sum", *(["rank"] if "rank" in stored else []),
                         *([] if last else ["inverse", target])) as pointers:
            word, factor = a.regs("word", "factor")
            a.lw(word, pointers["sum"])
            if not last:
                a.lw(factor, pointers["inverse"])
                a.sw(a.zero, pointers["sum"])
                pointers.advance("inverse")
            pointers.advance("sum")
            self._rank(k, word, factor, lambda value, array: a.sw(value, pointers[array]))

    # Host

    def loop(self, task):
        if self._tolerance is not None and task.fused:
            raise UserError("pagerank: fusion=yes cannot have a tolerance: the host compares the "
                            "ranks of two supersteps")
        turns = (("gather",), ("gather_back",)) if self._fused(task) else (("gather", "apply"),)
        *before, final = turns[(self._iterations - 1) % len(turns)]
        return Loop(turns, count=self._iterations, last=(*before, f"{final}_last"))

    def drive(self, session):
        if self._tolerance is None:
            self._done = super().drive(session)
            return self._done
        before = session.read_vertices("rank")
        for superstep in range(self._iterations):
            for kernel in session.task.loop.kernels(superstep):
                session.launch(kernel, superstep)
            self._done = superstep + 1
            after = session.read_vertices("rank")
            if self.settled(before, after):
                break
            before = after
        return self._done

    def settled(self, before, after) -> bool:
        """Whether the ranks of two supersteps differ by less than the tolerance."""
        assert self._tolerance is not None
        change = np.abs(after.astype(np.int64) - before.astype(np.int64)).sum()
        return change < self._tolerance * self.fixed.one * self.graph.num_vertices

    def outputs(self, session):
        return {"rank": session.read_vertices("rank")}

    def derived(self, outputs):
        """``fraction_bits`` of ``rank``, and ``rank_float``: the ranks as float64, which add up to
        at most 1."""
        return {"fraction_bits": np.int64(self.fixed.fraction_bits),
                "rank_float": self.fixed.to_rank(outputs["rank"])}

    def golden(self):
        return {"rank": pagerank(self.graph, self._done, self.fixed)}

    def parameters(self):
        return {"iterations": self._iterations, "damping": self._damping,
                "tolerance": self._tolerance, "fraction_bits": self.fixed.fraction_bits}
