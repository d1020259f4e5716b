"""The walk along rows: a lane, a few lanes, or all lanes of a core or of a group of its warps
(:mod:`sw.compile.kernels.scope`) go through the edges of a row.

The lanes that share a row take consecutive edges. So loads of the row are coalesced. A lane keeps
values of the base vertex in registers, and collects there. At the end of the row the lanes that
share it merge what they have collected: the lanes of a warp by butterfly shuffles, the warps of a
scope by local memory. One lane then finishes the vertex. Where the first edge that counts ends a
search, a vote ends the search for all lanes of a warp that share the row.

A lane takes several edges in a turn, as long as its row has as many left. So their loads are under
way together, and they share the loop's overhead. The last edges take one turn each.

Lanes leave the loop over the edges by PRED as their rows end. All lanes come back together when the
last has left; nothing is pushed on the divergence stack. A lane that has left holds 0 in the loop's
predicate. Both the loop's branch and the narrowing to edges that count rely on this 0.
"""

from hw.isa import Csr
from sw.compile.kernels.kernel import Edge, Vertex, log2
from sw.compile.options import Integer


__all__ = ["UNROLL", "Walk"]


#: Rows are long if a lane has so many edges of a row, on average over all edges.
_LONG = 6

#: Edges per turn for long rows and for short rows: where every edge counts; where some edges count,
#: for a lane with a row of its own and for lanes that share a row; where the first edge that counts
#: ends the row, likewise.
_ALL = 4, 2
_SOME, _SOME_SHARED = (4, 1), (2, 1)
_FIRST, _FIRST_SHARED = (2, 2), (1, 1)

#: The place in local memory for it.
_SLOTS = "collected"

#: How many edges a lane works on in a turn.
UNROLL = Integer(1, 8, None, "edges of a lane in a turn; left out, 1 to 4 by the length of the "
                 "rows, by how many edges count, and by whether lanes share rows")


class Walk:
    """Rounds of one row for each group of lanes.

    Parameters
    ----------
    k : Kernel
        In the prologue, with all lanes.
    width : int
        Lanes of a warp that share a row, a power of two.
    warps : int
        Warps that share a row: 1, or with all lanes of each those of the task's scope.
    edges : float, optional
        Edges of the row of an edge, on average; ``task.row_length`` if not given.
    beside : bool
        Whether the kernel has other walks too. Then the lane's place is computed for each row and
        not kept in a register, and ``width`` is 1 or the lanes of a warp.
    """

    def __init__(self, k, width=1, warps=1, edges=None, beside=False):
        self._k, self._width, self._warps = k, width, warps
        task, algorithm, schedule = k.task, k.algorithm, k.task.schedule
        shared = width * warps > 1
        if algorithm.first_only(k):
            preferred = _FIRST_SHARED if shared else _FIRST
        elif algorithm.selective(task):
            preferred = _SOME_SHARED if shared else _SOME
        else:
            preferred = _ALL
        if edges is None:
            edges = task.row_length
        self._unroll = schedule.at_once(task, preferred[edges / width / warps < _LONG])
        self._one = k.constant(1, "one")
        self._lane = self._leads = self._group = None
        if width * warps > 1 and not beside:
            self._lane, self._leads = self._share()
        if algorithm.first_only(k) and width > 1 and not beside:
            self._find_group()
        if warps > 1 and k.private.words and schedule.whole_rows:
            self._set = k.a.reg("slots_of_row")
            k.a.mv(self._set, k.a.zero)
        self._next, self._end, self._base, self._going = k.a.regs("edge", "edge_end", "base",
                                                                  "going")

    @staticmethod
    def reserve(task):
        """Reserve the local memory in which the warps of a scope merge what they have collected."""
        words = len(task.algorithm.private(task))
        task.scope.reserve(task.local, _SLOTS, 2 * task.scope.warps * words)

    def _share(self):
        """The lane's place among the lanes that share a row, as the distance of locations, and
        whether the lane is the first of those of its warp, in new registers."""
        k, a, width = self._k, self._k.a, self._width
        lane, leads = a.regs("lane", "leads")
        a.csrr(lane, Csr.THREAD_ID)
        a.andi(lane, lane, width - 1)
        a.seqz(leads, lane)
        if self._warps > 1:
            warp = a.reg("warp")
            k.task.scope.warp(k, warp)
            k.times(warp, warp, self._unroll * width)
            a.add(lane, lane, warp)
        k.shifted(lane, lane, log2(k.layout.step))
        return lane, leads

    def _find_group(self):
        """The mask of the lanes of the warp that share a row."""
        a, width = self._k.a, self._width
        self._group = a.reg("group")
        first = a.reg("first")
        a.csrr(first, Csr.THREAD_ID)
        a.andi(first, first, -width)
        a.li(self._group, (1 << width) - 1)
        a.sll(self._group, self._group, first)

    def rounds(self, rows):
        """The loop over the rounds.

        Parameters
        ----------
        rows : sw.compile.kernels.rows.Rows or sw.compile.kernels.bins.BinRows
            The rows, after their ``start``. There is at least one round.
        """
        k, a, algorithm = self._k, self._k.a, self._k.algorithm
        k.phase(3)
        top = a.label("round")
        a.place(top)
        k.edge_phase(2)
        bottom = a.label("round_end")
        some = a.reg("some") if rows.filtered and self._width > 1 else None
        base = self._take(rows, some)
        algorithm.begin(k, base)
        rows.advance()
        if some is not None:
            a.beqz(some, bottom)        # no lane has a vertex of the frontier
        self.row(base)
        a.place(bottom)
        a.branch(rows.more(), top)

    def _take(self, rows, some=None):
        """Copy this round's row into other registers; an empty row if the vertex is not in the
        frontier. ``some``, if given, becomes whether any lane's vertex is in the frontier."""
        k, a = self._k, self._k.a
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
        token = k.algorithm.token(k, rows.vertex)
        a.mv(self._base, token.reg)
        if self._width * self._warps > 1:
            a.add(self._next, self._next, self._lane)
        return Vertex(self._base, token.array)

    def take(self, vertex, begin, end):
        """Take a row, given its vertex and the locations of its first edge and behind its last.
        Returns the base for :meth:`row`."""
        k, a = self._k, self._k.a
        token = k.algorithm.token(k, vertex)
        a.mv(self._base, token.reg)
        a.mv(self._end, end)
        if self._width * self._warps > 1:
            a.add(self._next, begin, self._lane or self._share()[0])
        else:
            a.mv(self._next, begin)
        base = Vertex(self._base, token.array)
        k.algorithm.begin(k, base)
        return base

    def row(self, base):
        """Go through the edges of a row that has been taken, and finish it."""
        k, algorithm = self._k, self._k.algorithm
        k.lanes_apart = self._width
        if algorithm.first_only(k):
            self._first(base)
        elif algorithm.selective(k.task):
            self._selected(base)
        else:
            self._all(base)
        self._finish(base)

    def _finish(self, base):
        k, a, algorithm = self._k, self._k.a, self._k.algorithm
        if self._width * self._warps == 1:
            algorithm.finish(k, base)
            return
        if not k.private.words:
            return
        if not k.task.schedule.whole_rows:
            algorithm.finish(k, base)       # by an atomic, which merges the lanes' words
            return
        self._merge(self._width)
        after = a.label("vertex_finished")
        if self._warps > 1:
            self._merge_warps(after)
        leads = self._leads
        if leads is None:
            leads = a.reg("leads")
            a.csrr(leads, Csr.THREAD_ID)
            a.seqz(leads, leads)
        with k.only(leads):
            algorithm.finish(k, base)
        a.place(after)

    def _merge(self, lanes):
        """Merge what neighbouring lanes have collected; all of them get the result."""
        k = self._k
        while lanes > 1:
            lanes //= 2
            for name, own in k.private.words.items():
                other = k.a.reg("other")
                k.partner(other, own, lanes)
                k.private.take(name, other)

    def _merge_warps(self, others):
        """Merge what the warps of a scope have collected, in its first warp; the others go to
        ``others``. Two sets of slots change roles, so one barrier a row is enough."""
        k, a, words = self._k, self._k.a, self._k.private.words
        slots, warp, own = a.regs("slots", "warp", "own_slot")
        a.add(slots, self._set, k.constant(k.task.local.address(_SLOTS), "slots"))
        k.task.scope.move(k, slots, 2 * self._warps * len(words))
        k.task.scope.warp(k, warp)
        k.times(own, warp, 4 * len(words))
        a.add(own, own, slots)
        for number, word in enumerate(words.values()):
            a.sw(word, own, 4 * number)
        a.sub(self._set, k.constant(4 * self._warps * len(words), "set_of_slots"), self._set)
        k.task.scope.barrier(k)
        a.bnez(warp, others)
        for other in range(1, self._warps):
            for number, name in enumerate(words):
                word = a.reg("other")
                a.lw(word, slots, 4 * (other * len(words) + number))
                k.private.take(name, word)

    def _turns(self, edges, turn, only=None):
        """Repeat ``turn(go_on)`` in each lane that has at least ``len(edges)`` edges left. The
        registers of ``edges`` then hold the next edges.

        ``turn`` calls ``go_on`` where the loop's predicate for the next turn is best computed.
        Lanes in which ``only``, if given, is 0 take no turn.

        The warps of a scope take blocks of the edges of a full turn. Turns of fewer edges then stay
        within the last block of the row.
        """
        k, a, count = self._k, self._k.a, len(edges)
        step = k.layout.step * self._width
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
        k.step(self._next, step * count * (self._warps if count == self._unroll else 1))
        k.edge_phase(4)
        turn(go_on)
        a.pred(self._going, k.full)
        a.bnez(self._going, top)
        a.place(end)

    def _all(self, base):
        """Every edge counts."""
        k, algorithm = self._k, self._k.algorithm
        for count in dict.fromkeys([self._unroll, 1]):
            edges = [k.edge(base, index) for index in range(count)]

            def turn(go_on):
                words = algorithm.gather(k, edges)
                go_on()
                algorithm.sums(k, edges, words)
            self._turns(edges, turn)

    def _selected(self, base):
        """Some edges count; a row may have many of them.

        A turn in which some edge counted ends with all lanes active, because PRED at the bottom
        computes the mask anew from the rows' ends.
        """
        k, a, algorithm = self._k, self._k.a, self._k.algorithm

        def loop(count, predicates):
            edges = [k.edge(base, index) for index in range(count)]

            def turn(go_on):
                bottom = a.label("edges_next")
                words = algorithm.gather(k, edges)
                for predicate, word in zip(predicates, words):
                    algorithm.accepts(k, word, predicate)
                if count > 1:
                    k.narrow(k.any_of(predicates, self._going), bottom)
                for edge, word, predicate in zip(edges, words, predicates):
                    with k.only(predicate, "edge_next"):
                        algorithm.sum(k, edge, word, predicate)
                clear()
                a.place(bottom)
                go_on()
            self._turns(edges, turn)

        def clear():
            # In all lanes: one that has left the loop must hold 0 here too.
            for predicate in counting:
                a.mv(predicate, a.zero)

        counting = []
        if self._unroll > 1:
            counting = a.regs(*(f"counts{i}" for i in range(self._unroll)))
            clear()
            loop(self._unroll, counting)
            counting = []
        loop(1, [self._going])

    def _first(self, base):
        """The first edge that counts ends the row: its lane leaves the loop.

        In a turn of several edges, the work on the edges behind that edge is wasted.
        """
        k, a, algorithm = self._k, self._k.a, self._k.algorithm
        found = self._going
        first, nothing = a.regs("first", "nothing")
        a.mv(nothing, self._one)
        weight = a.reg("first_weight") if algorithm.weighted else None
        if self._unroll > 1:
            self._first_of_several([k.edge(base, index) for index in range(self._unroll)],
                                   (first, weight), nothing)
        edge = Edge(base, Vertex(first, algorithm.neighbor_array(k.task)), weight)

        def turn(go_on):
            data, = algorithm.gather(k, [edge])
            algorithm.accepts(k, data, nothing, counts=False)
            go_on()
            self._stop(nothing)

        self._turns([edge], turn, nothing)
        a.seqz(found, nothing)
        with k.only(found, "vertex_next"):
            algorithm.sum(k, edge, None, found)

    def _stop(self, miss):
        """Make the lanes in which an edge counts leave the loop, and all lanes of the warp that
        share their rows."""
        a = self._k.a
        if self._width == 1:
            a.and_(self._going, self._going, miss)
            return
        found = a.reg("found")
        a.xori(found, miss, 1)
        a.vote_ballot(found, found)
        if self._group is not None:
            a.and_(found, found, self._group)
        a.seqz(found, found)
        a.and_(self._going, self._going, found)

    def _first_of_several(self, edges, first, nothing):
        """Turns of several edges. In lanes where an edge counts, ``first``, two registers, becomes
        the neighbour and the weight of the first such edge, and ``nothing`` changes from 1 to 0.
        Without weights the second is None."""
        k, a, algorithm = self._k, self._k.a, self._k.algorithm
        found = [(into, [part(edge) for edge in edges]) for into, part in zip(first, (
            lambda edge: edge.neighbor.reg, lambda edge: edge.weight)) if into is not None]
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
            self._stop(nothing)

        self._turns(edges, turn)
        # From the last turn's last edge to its first: each replaces `first` unless it is a miss.
        for into, parts in found:
            a.mv(into, parts[-1])
        for number in reversed(range(len(edges) - 1)):
            a.neg(misses[number], misses[number])
            for into, parts in found:
                k.select(into, misses[number], into, parts[number])
