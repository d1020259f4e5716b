"""The work of an edge by all lanes of a warp together."""

from hw.isa import Csr
from sw.compile.kernels.kernel import ANY_LANE, log2


__all__ = ["Together"]


#: Words that a lane loads together, at most.
_LOADED = 8

#: Edges of a warp, or of a group of its lanes, whose words are loaded together, at most.
_TURN = 4


class Together:
    """The work on the edges that the lanes of a warp have found, an edge each, by all lanes
    together: neighbouring lanes have neighbouring words, so an edge's words are one access.

    The edges come up one after the other, or as many at once as the warp has groups of lanes. Their
    rows and their factors come by shuffles. Where a vertex pulls, the terms of consecutive edges of
    the same vertex add up in registers before they are added to memory. Lanes without an edge lend
    the edge of lane 0, with a factor of 0.
    """

    def __init__(self, operator_, k, source, target, factor):
        self._operator, self._k, self._factor = operator_, k, factor
        lanes, self._words, _ = operator_.share(k.task)
        self._step = 4 * lanes
        self._groups = k.config.threads // lanes
        self._source = self._row(source, operator_.SOURCE)
        self._target = self._row(target, operator_.TARGET)

    def _row(self, vertex, array):
        """The vertex's row in a register that may change: others may need the vertex later."""
        into = self._k.a.reg(array)
        row = self._k.pointer(vertex, array, into)
        if row is not into:
            self._k.a.mv(into, row)
        return into

    def emit(self):
        """Emit the work. Lane 0 is active; afterwards all lanes are."""
        k, a, threads = self._k, self._k.a, self._k.config.threads
        there, whole = a.reg("there"), a.label("whole")
        a.vote_ballot(there, k.constant(1, "one"))
        k.widen()
        a.shfl_idx(there, there, a.zero)
        a.beq(there, k.constant((1 << threads) - 1, "all_lanes"), whole)
        self._lend(there)
        a.place(whole)
        self._turns(there)

    def _lend(self, there):
        k, a = self._k, self._k.a
        mask, first = a.regs("mask", "first")
        a.csrr(mask, Csr.THREAD_ID)
        a.srl(mask, there, mask)
        a.andi(mask, mask, 1)
        a.neg(mask, mask)
        for row in (self._source, self._target):
            a.shfl_idx(first, row, a.zero)
            k.select(row, mask, row, first)
        a.and_(self._factor, self._factor, mask)

    def _turns(self, there):
        k, a = self._k, self._k.a
        top, lane = a.label("edges_of_warp"), a.reg("whose")
        turn = max(1, min(_TURN // k.task.choices.divisor, _LOADED // self._words))
        count = min(turn, k.config.threads // self._groups)
        if self._groups > 1:
            a.csrr(lane, Csr.THREAD_ID)
            a.srli(lane, lane, log2(self._step // 4))
            a.add(lane, lane, k.constant(ANY_LANE, "any_lane"))
        else:
            a.mv(lane, k.constant(ANY_LANE, "any_lane"))
        sums = last = None
        if k.direction == "pull":
            sums, last = a.regs(*(f"sum{number}" for number in range(self._words))), a.reg("last")
            a.shfl_idx(last, self._target, lane)
            for each in sums:
                a.mv(each, a.zero)
        a.place(top)
        self._turn(count, lane, sums, last)
        taken = count * self._groups
        if taken < k.config.threads:
            a.srli(there, there, taken)
            a.bnez(there, top)
        if sums is not None:
            self._flush(sums, last)

    def _turn(self, count, lane, sums, last):
        k, a = self._k, self._k.a
        edges = []
        for number in range(count):
            row, to, factor = a.regs("row", "to", "factor_of_edge")
            a.shfl_idx(row, self._source, lane)
            if self._operator.offset is not None:
                a.add(row, row, self._operator.offset)
            words = a.regs(*(f"loaded{each}" for each in range(self._words)))
            for each, word in enumerate(words):
                a.lw(word, row, self._step * each)
            a.shfl_idx(factor, self._factor, lane)
            a.shfl_idx(to, self._target, lane)
            a.addi(lane, lane, self._groups)
            edges.append((words, factor, to))
        for words, factor, to in edges:
            if sums is None:
                for word in words:
                    self._operator.multiply(k, word, word, factor)
                self._flush(words, to)
                continue
            same = a.label("same_target")
            if self._groups > 1:
                other = a.reg("other")
                a.xor(other, to, last)
                a.snez(other, other)
                a.vote_any(other, other)
                a.beqz(other, same)
            else:
                a.beq(to, last, same)
            self._flush(sums, last)
            for each in sums:
                a.mv(each, a.zero)
            a.mv(last, to)
            a.place(same)
            for each, word in zip(sums, words):
                self._operator.multiply(k, word, word, factor)
                a.add(each, each, word)

    def _flush(self, words, row):
        """Add words to the row of a target."""
        k, a = self._k, self._k.a
        place = row
        if self._operator.offset is not None:
            place = a.reg("place")
            a.add(place, row, self._operator.offset)
        self._operator.add(k, place, range(len(words)), words)
