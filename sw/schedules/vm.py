"""Vertex mapping: a lane a vertex, whatever its edges.

The lane goes through its vertex's edges one after the other. Values of the vertex stay in
registers. One lane writes a vertex that collects, so pulling needs no atomics. But a warp takes as
many turns as the largest of its vertices has edges.

Lanes leave the loop over the edges by PRED as their rows end. All lanes come back together when the
last has left; nothing is pushed on the divergence stack. A lane that has left holds 0 in the loop's
predicate. Both the loop's branch and the narrowing to edges that count rely on this 0.
"""

from sw.kernels.kernel import Edge, Vertex
from sw.kernels.options import Integer
from sw.kernels.rows import Rows
from sw.schedules.base import Schedule


__all__ = ["VertexMapping"]


#: Edges per turn where every edge counts, for vertices with many edges and with few.
_UNROLL_MANY, _UNROLL_FEW = 4, 2
_MANY = 6

#: Edges per turn where only some edges count, and where the first edge that counts ends the row.
_UNROLL_SELECTIVE = 2
_UNROLL_FIRST = 2


#: How many edges a lane works on in a turn.
UNROLL = Integer(1, 8, None, "edges of a lane in a turn; left out, 4 where every edge counts and "
                 "vertices have 6 edges or more on average, else 2")


class VertexMapping(Schedule):
    """Rounds of one vertex a lane.

    A lane works on several edges of its vertex in a turn, as long as the vertex has as many left.
    So their loads are under way together, and they share the loop's overhead. The last edges take
    one turn each.
    """
    name = "vm"
    owns_base = True
    OPTIONS = {"unroll": UNROLL}

    def init_global(self, k):
        self._rows = Rows(k, sharing=self.lanes_apart)
        self._rows.start()
        a = k.a
        self._next, self._end, self._base, self._going = a.regs("edge", "edge_end", "base", "going")
        if k.task.algorithm.first_only(k):
            self._one = k.constant(1, "one")

    def get_next_edge(self, k):
        a, rows, algorithm = k.a, self._rows, k.task.algorithm
        k.phase(3)
        top = a.label("round")
        a.place(top)
        k.edge_phase(2)
        bottom = a.label("round_end")
        some = a.reg("some") if rows.filtered and self.shares_base else None
        base = self._take(k, rows, some)
        algorithm.begin(k, base)
        rows.advance()
        if some is not None:
            a.beqz(some, bottom)        # no lane has a vertex of the frontier
        if algorithm.first_only(k):
            self._first(k, base)
        elif algorithm.selective(k.task):
            self._selected(k, base)
        else:
            self._all(k, base)
        self._finish(k, base)
        a.place(bottom)
        a.branch(rows.more(), top)

    @staticmethod
    def _finish(k, base):
        k.task.algorithm.finish(k, base)

    def _take(self, k, rows, some=None):
        """Copy this round's row into other registers; an empty row if the vertex is not in the
        frontier. ``some``, if given, becomes whether any lane's vertex is in the frontier."""
        a = k.a
        a.mv(self._next, rows.begin)
        if rows.conditional:
            a.sub(self._end, rows.end, rows.begin)
            present = a.reg("present")
            rows.test(present)
            if some is not None:
                a.vote_any(some, present)
            a.mul(self._end, self._end, present)
            a.add(self._end, self._end, rows.begin)
        else:
            a.mv(self._end, rows.end)
        token = k.task.algorithm.token(k, rows.vertex)
        a.mv(self._base, token.reg)
        return Vertex(self._base, token.array)

    def _turns(self, k, edges, turn, only=None):
        """Repeat ``turn(go_on)`` in each lane that has at least ``len(edges)`` edges left. The
        registers of ``edges`` then hold the next edges.

        ``turn`` calls ``go_on`` where the loop's predicate for the next turn is best computed.
        Lanes in which ``only``, if given, is 0 take no turn.
        """
        a, count, step = k.a, len(edges), k.layout.step * self.lanes_apart
        top, end = a.label(f"edges_by_{count}"), a.label(f"edges_by_{count}_end")
        limit = self._end
        if count > 1:
            limit = a.reg("limit")
            a.addi(limit, self._end, -step * (count - 1))

        def go_on():
            a.sltu(self._going, self._next, limit)

        go_on()
        if only is not None:
            a.and_(self._going, self._going, only)
        k.narrow(self._going, end)
        a.place(top)
        k.edge_phase(3)
        k.layout.get_edge(k, self._next, edges)
        a.addi(self._next, self._next, step * count)
        k.edge_phase(4)
        turn(go_on)
        a.pred(self._going, k.full)
        a.bnez(self._going, top)
        a.place(end)

    def _all(self, k, base):
        """Every edge counts."""
        algorithm = k.task.algorithm
        many = self._edges_of_lane(k.task) >= _MANY
        for count in dict.fromkeys([self.at_once(_UNROLL_MANY if many else _UNROLL_FEW), 1]):
            edges = [k.edge(base, index) for index in range(count)]

            def turn(go_on):
                words = algorithm.gather(k, edges)
                go_on()
                for edge, word in zip(edges, words):
                    algorithm.sum(k, edge, word, None)
            self._turns(k, edges, turn)

    def _edges_of_lane(self, task):
        """Edges that a lane has of a vertex, on average."""
        return task.graph.num_edges / task.graph.num_vertices

    def _selected(self, k, base):
        """Some edges count; a row may have many of them.

        A turn in which some edge counted ends with all lanes active, because PRED at the bottom
        computes the mask anew from the rows' ends.
        """
        a, algorithm = k.a, k.task.algorithm

        def one(edges, words, bottom):
            algorithm.accepts(k, words[0], self._going)
            k.narrow(self._going, bottom)
            algorithm.sum(k, edges[0], words[0], self._going)
            k.widen()

        def several(edges, words, bottom):
            for predicate, word in zip(counting, words):
                algorithm.accepts(k, word, predicate)
            a.or_(self._going, counting[0], counting[1])
            for predicate in counting[2:]:
                a.or_(self._going, self._going, predicate)
            k.narrow(self._going, bottom)
            for edge, word, predicate in zip(edges, words, counting):
                after = a.label("edge_next")
                k.narrow(predicate, after)
                algorithm.sum(k, edge, word, predicate)
                k.widen()
                a.place(after)
            clear()

        def clear():
            # In all lanes: one that has left the loop must hold 0 here too.
            for predicate in counting:
                a.mv(predicate, a.zero)

        def loop(count, body):
            edges = [k.edge(base, index) for index in range(count)]

            def turn(go_on):
                bottom = a.label("edges_next")
                body(edges, algorithm.gather(k, edges), bottom)
                a.place(bottom)
                go_on()
            self._turns(k, edges, turn)

        unroll = self.at_once(_UNROLL_SELECTIVE)
        if unroll > 1:
            counting = a.regs(*(f"counts{i}" for i in range(unroll)))
            clear()
            loop(unroll, several)
        loop(1, one)

    def _first(self, k, base):
        """The first edge that counts ends the row: its lane leaves the loop.

        In a turn of several edges, the work on the edges behind that edge is wasted.
        """
        a, algorithm = k.a, k.task.algorithm
        after, found = a.label("vertex_next"), self._going
        first, nothing = a.regs("first", "nothing")
        a.mv(nothing, self._one)
        unroll = self.at_once(_UNROLL_FIRST)
        if unroll > 1:
            self._first_of_several(k, [k.edge(base, index) for index in range(unroll)],
                                   first, nothing)
        edge = Edge(base, Vertex(first, algorithm.neighbor_array(k.task)))

        def turn(go_on):
            data, = algorithm.gather(k, [edge])
            algorithm.accepts(k, data, nothing, counts=False)
            go_on()
            self._stop(k, nothing)

        self._turns(k, [edge], turn, nothing)
        a.seqz(found, nothing)
        k.narrow(found, after)
        algorithm.sum(k, edge, None, found)
        k.widen()
        a.place(after)

    def _stop(self, k, miss):
        """Make the lanes in which an edge counts leave the loop."""
        k.a.and_(self._going, self._going, miss)

    def _first_of_several(self, k, edges, first, nothing):
        """Turns of several edges. In lanes where an edge counts, ``first`` becomes the neighbour of
        the first such edge, and ``nothing`` changes from 1 to 0."""
        a, algorithm = k.a, k.task.algorithm
        neighbors = [edge.neighbor.reg for edge in edges]
        misses = a.regs(*(f"miss{i}" for i in range(len(edges))))
        for miss in misses:
            a.mv(miss, self._one)

        def turn(go_on):
            for miss, data in zip(misses, algorithm.gather(k, edges)):
                algorithm.accepts(k, data, miss, counts=False)
            go_on()
            a.and_(nothing, misses[0], misses[1])
            for miss in misses[2:]:
                a.and_(nothing, nothing, miss)
            self._stop(k, nothing)

        self._turns(k, edges, turn)
        # From the last turn's last neighbour to its first: each replaces `first` unless it is a
        # miss.
        a.mv(first, neighbors[-1])
        for neighbor, miss in reversed(list(zip(neighbors, misses))[:-1]):
            a.neg(miss, miss)
            a.xor(first, first, neighbor)
            a.and_(first, first, miss)
            a.xor(first, first, neighbor)
