"""A sum over the arcs of a graph, word by word: the common base of SpMM and GraphSum.

A vertex has as many words as the weight matrix has columns. A lane does the work of an edge for all
these words, at most :data:`_MOST_WORDS` in a launch. Further words take further launches. Where the
schedule gives neighbouring lanes words of their own, a lane does the work for its words only, and
the words of neighbouring lanes are neighbours in memory.

A lane that owns a row collects in registers. Else the sums are atomic.
"""

from hw.isa import Csr
from sw.compile.algorithm import Operator

from .together import Together


__all__ = ["WordSum"]


#: Most words of a vertex that a lane has in a launch: sums in registers leave room for the loop.
_MOST_WORDS = 16

#: Words whose loads are under way together.
_LOADED = 4


class WordSum(Operator):
    """target[v] += source[u] * factor over the arcs (u, v) of a graph, word by word.

    Parameters
    ----------
    graph : Graph
    words : int
        Words of a vertex.
    """
    void_edge = "padding"
    #: The arrays of rows from which and to which an edge leads.
    SOURCE: str
    TARGET: str

    def __init__(self, graph, words, together):
        super().__init__(graph)
        self.name, self.words, self._together = "gcn", words, together

    def share(self, task):
        """``(lanes, words, launches)``: the neighbouring lanes that share a vertex's words, the
        words that each of them has in a launch, and the launches for all words."""
        lanes = task.schedule.lanes_of_words(task)
        if self.together(task):
            lanes = min(1 << (self.words - 1).bit_length(), task.config.threads)
        words = -(-self.words // lanes)
        most = _MOST_WORDS // task.choices.divisor
        if self.together(task):             # the words of an edge are loaded beside the sums
            most = max(1, most // 2)
        launches = -(-words // most)
        return lanes, -(-words // launches), launches

    def together(self, task):
        """Whether the lanes of a warp do the work of an edge together."""
        together = task.direction == "pull" if self._together is None else self._together == "yes"
        return together and self.words > 1 and not task.schedule.owns_base

    def edges_at_once(self, task):
        words = self.share(task)[1]
        if self.together(task):
            return 1
        return None if words == 1 else 2 if words < 4 else 1

    def base_array(self, task):
        return "end_in" if task.direction == "pull" else "end_out"

    def rows(self, task):
        """The arrays of rows at the base and at the neighbour of an edge."""
        ends = self.TARGET, self.SOURCE
        return ends if task.direction == "pull" else ends[::-1]

    def owns(self, task):
        """Whether a lane stores the sums of its vertices, which nothing has to clear before."""
        return bool(self.private(task)) and task.owns_vertex

    # Kernels

    def _step(self, task):
        """Bytes from a lane's word to its next."""
        return 4 * self.share(task)[0]

    def prepare(self, k):
        a, task = k.a, k.task
        lanes, words, launches = self.share(task)
        self.offset = None
        if lanes > 1 or launches > 1:
            self.offset = a.reg("own_words")
            a.mv(self.offset, a.zero)
        if launches > 1:
            k.superstep(self.offset)
            k.times(self.offset, self.offset, 4 * words * lanes)
        if lanes > 1:
            lane = a.reg("lane")
            a.csrr(lane, Csr.THREAD_ID)
            a.andi(lane, lane, lanes - 1)
            a.slli(lane, lane, 2)
            a.add(self.offset, self.offset, lane)
        self._starts = {}
        base, neighbor = self.rows(task)
        for array, other in ((self.base_array(task), base), (base, base),
                             (self.neighbor_array(task), neighbor)):
            self._start(k, array, other)
        if task.schedule.owns_base:
            self._words = list(k.private.words.values()) or a.regs(
                *(f"word{number}" for number in range(words)))
            self._begin(k)

    def _begin(self, k):
        """Registers for what a lane keeps of its vertex beside the words."""

    def _start(self, k, array, other):
        """``(places, distance)`` as of :meth:`~sw.compile.kernels.kernel.Kernel.way`, where
        ``distance`` is a register that leads to the lane's first word, or None for no distance."""
        if (array, other) not in self._starts:
            places, distance = (0, 0) if array == other else k.way(array, other)
            start = k.constant(distance, other) if distance else self.offset
            if distance and self.offset is not None:
                start = k.a.reg(f"{other}_start")
                k.a.li(start, distance)
                k.a.add(start, start, self.offset)
            self._starts[array, other] = places, start
        return self._starts[array, other]

    def _row(self, k, vertex, array, name):
        """A register with the address of the lane's first word of a vertex."""
        places, start = self._start(k, vertex.array, array)
        if not places and start is None:
            return vertex.reg
        into, row = k.a.reg(name), vertex.reg
        if places:
            k.shifted(into, row, places)
            row = into
        if start is not None:
            k.a.add(into, row, start)
        return into

    def _load(self, k, row, numbers, into=None):
        """Load words of a row; gives their registers."""
        step = self._step(k.task)
        into = into or k.a.regs(*(f"source{number}" for number in numbers))
        for number, word in zip(numbers, into):
            k.a.lw(word, row, step * number)
        return into

    def add(self, k, row, numbers, words):
        """Add words to a row, by atomics."""
        step = self._step(k.task)
        for number, word in zip(numbers, words):
            place = row
            if number:
                place = k.a.reg("place")
                k.a.addi(place, row, step * number)
            k.a.amoadd_w(k.a.zero, word, place)

    def multiply(self, k, into, word, factor):
        """``into`` = the term of a word of the source."""
        raise NotImplementedError

    def begin(self, k, base):
        k.private.clear()
        if k.direction == "push":
            self._load(k, self._row(k, base, self.SOURCE, "source_row"), range(len(self._words)),
                       self._words)

    def sum(self, k, edge, data, predicate):
        task, words = k.task, self.share(k.task)[1]
        target, source = edge.base, edge.neighbor
        if task.direction == "push":
            target, source = source, target
        if self.together(task):
            Together(self, k, source, target, data).emit()
            return
        collects, keeps = k.private.words, task.schedule.owns_base
        to = None if collects else self._row(k, target, self.TARGET, "target_row")
        row = None if keeps and not collects else self._row(k, source, self.SOURCE, "source_row")
        for first in range(0, words, _LOADED):
            numbers = range(first, min(first + _LOADED, words))
            if row is None:
                loaded = [self._words[number] for number in numbers]
                terms = k.a.regs(*(f"term{number}" for number in numbers))
            else:
                loaded = terms = self._load(k, row, numbers)
            for number, word, term in zip(numbers, loaded, terms):
                self.multiply(k, term, word, data)
                if collects:
                    k.private.take(f"word{number}", term)
                else:
                    self.add(k, to, [number], [term])

    def private(self, task):
        if task.direction == "push" or not task.schedule.owns_base:
            return {}
        return {f"word{number}": "+" for number in range(self.share(task)[1])}

    def finish(self, k, base):
        a, task, numbers = k.a, k.task, range(len(self._words))
        if not k.private.words:
            return
        k.phase(5)
        if task.owns_vertex:
            row = self._row(k, base, self.TARGET, "target_row")
            for number in numbers:
                a.sw(self._words[number], row, self._step(task) * number)
        else:
            some = a.reg("some_sum")        # most rows of a part of the graph may be empty
            a.mv(some, self._words[0])
            for word in self._words[1:]:
                a.or_(some, some, word)
            a.snez(some, some)
            with k.only(some, "no_sum"):
                self.add(k, self._row(k, base, self.TARGET, "target_row"), numbers, self._words)
        k.phase(3)
