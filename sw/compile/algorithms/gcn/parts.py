"""The two parts of GCN, each with a graph of its own."""

from sw.compile.kernels.kernel import Vertex, log2

from .fixed_point import COEFFICIENTS, ROOT
from .operator import WordSum


__all__ = ["GraphSum", "Spmm"]


class Spmm(WordSum):
    """The product of features and weights; the graph leads from features to vertices."""
    SOURCE, TARGET = "weight", "product"
    weighted = True

    def neighbor_array(self, task):
        return self.rows(task)[1]

    def token(self, k, base):
        """The row of the base, unless a lane keeps what it needs of the base."""
        if k.task.schedule.owns_base:
            return base
        row = self.rows(k.task)[0]
        return Vertex(k.pointer(base, row, k.a.reg("row_token")), row)

    def gather(self, k, edges):
        return [edge.weight for edge in edges]

    def multiply(self, k, into, word, factor):
        k.a.mul(into, word, factor)


class GraphSum(WordSum):
    """The sum of products over the graph's arcs, each times the arc's coefficient, which comes from
    a word of either end: the scales, or the degrees.

    Parameters
    ----------
    graph, words, together
        As of the base.
    coefficients : str
        One of :data:`~sw.compile.algorithms.gcn.fixed_point.COEFFICIENTS`.
    """
    SOURCE, TARGET = "product", "output"

    def __init__(self, graph, words, together, coefficients):
        super().__init__(graph, words, together)
        self._stored = coefficients == COEFFICIENTS[0]

    def neighbor_array(self, task):
        return "end_out" if task.direction == "pull" else "end_in"

    def _begin(self, k):
        self._base_end = k.a.reg("base_end")

    def begin(self, k, base):
        k.a.lw(self._base_end, base.reg)
        super().begin(k, base)

    def gather(self, k, edges):
        """The coefficient of each edge."""
        ends = [(self._end_of(k, edge, "pull", edge.neighbor),
                 self._base_end if k.task.schedule.owns_base else
                 self._end_of(k, edge, "push", edge.base)) for edge in edges]
        factors = k.a.regs(*(f"factor{number}" for number, _ in enumerate(edges)))
        for factor, words in zip(factors, ends):
            if self._stored:
                k.a.mulhu(factor, *words)
            else:
                k.a.mul(factor, *words)
                self._invert_root(k, factor)
        return factors

    @staticmethod
    def _invert_root(k, word):
        """``word`` = 2**32 / sqrt(word)."""
        a = k.a
        shift, places, guess = a.regs("shift", "places", "guess")
        for number, most in enumerate(ROOT.shifts):
            small = places if number else shift
            a.sltu(small, word, k.constant(1 << 32 - most, f"below_{most}"))
            a.slli(small, small, log2(most))
            a.sll(word, word, small)
            if number:
                a.add(shift, shift, small)
        a.mulhu(guess, word, k.constant(ROOT.slope, "slope"))
        a.sub(guess, k.constant(ROOT.first, "first_guess"), guess)
        for _ in range(ROOT.rounds):
            a.mulhu(places, guess, guess)
            a.mulhu(places, places, word)
            a.sub(places, k.constant(3 << 28, "three"), places)
            a.mulhu(guess, guess, places)
            a.slli(guess, guess, 3)
        a.srli(shift, shift, 1)
        a.sub(shift, k.constant(15, "fifteen"), shift)
        a.slli(guess, guess, 1)
        a.srl(word, guess, shift)

    @staticmethod
    def _end_of(k, edge, gathered, vertex):
        """The word of an end, which has been gathered in one of the directions."""
        if edge.value is not None and k.direction == gathered:
            return edge.value
        word = k.a.reg("end")
        k.a.lw(word, vertex.reg)
        return word

    def multiply(self, k, into, word, factor):
        k.a.mulhsu(into, word, factor)
