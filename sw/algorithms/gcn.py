"""The operator of a graph convolutional network (SparseWeaver, 4.6.9).

The operator has two parts, and each is an algorithm with a graph of its own, which goes through any
schedule and format:

*SpMM* multiplies the features by the weight matrix. Its graph has an arc from feature f to vertex v
for each entry (v, f) of the features. The arc's weight is the entry's value.
*GraphSum* adds up the products of the vertices' in-neighbours, each times the coefficient of the
arc (:mod:`sw.algorithms.gcn_fixed_point`).

A vertex has as many words as the weight matrix has columns. A lane does the work of an edge for all
these words, at most :data:`_MOST_WORDS` in a launch. Further words take further launches. Where the
schedule gives neighbouring lanes words of their own, a lane does the work for its words only, and
the words of neighbouring lanes are neighbours in memory.

A lane that owns a row collects in registers. Else the sums are atomic, and a kernel *init* clears
them before.
"""

import operator

import numpy as np

from hw.isa import Csr
from sw.algorithms.algorithm import Algorithm
from sw.algorithms.gcn_fixed_point import COEFFICIENTS, ROOT, choose, draw_weight, scales
from sw.errors import UserError
from sw.golden.gcn import gcn
from sw.graph.features import random_features, read_features
from sw.graph.graph import Graph
from sw.kernels.kernel import ANY_LANE, Vertex, log2
from sw.kernels.vertices import each_vertex


__all__ = ["GraphConvolution"]


#: Most words of a vertex that a lane has in a launch: sums in registers leave room for the loop.
_MOST_WORDS = 16

#: Words whose loads are under way together.
_LOADED = 4

#: Edges of a warp, or of a group of its lanes, whose words are loaded together.
_TURN = 4

#: Largest number of columns of the weight matrix.
_MOST_DIMENSION = 64

#: Contents of sums before the kernels clear or store them.
_UNUSED = -1


class _Operator(Algorithm):
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
    #: Edges that :class:`_Together` has at once.
    turn: int

    def __init__(self, graph, words, together):
        super().__init__(graph)
        self.name, self.words, self._together = GraphConvolution.name, words, together
        self._most, self.turn = _MOST_WORDS, _TURN

    def shrink(self, divisor):
        self._most, self.turn = _MOST_WORDS // divisor, max(1, _TURN // divisor)

    def share(self, task):
        """``(lanes, words, launches)``: the neighbouring lanes that share a vertex's words, the
        words that each of them has in a launch, and the launches for all words."""
        lanes = task.schedule.lanes_of_words(task)
        if self.together(task):
            lanes = min(1 << (self.words - 1).bit_length(), task.config.threads)
        words = -(-self.words // lanes)
        most = self._most
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

    def frontier_reason(self, task):
        return "every vertex takes part"

    def base_array(self, task):
        return "end_in" if task.direction == "pull" else "end_out"

    def rows(self, task):
        """The arrays of rows at the base and at the neighbour of an edge."""
        ends = self.TARGET, self.SOURCE
        return ends if task.direction == "pull" else ends[::-1]

    def owns(self, task):
        """Whether a lane stores the sums of its vertices, which nothing has to clear before."""
        return self.collects(task) and task.owns_vertex

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
            self._words = a.regs(*(f"word{number}" for number in range(words)))
            self._begin(k)

    def _begin(self, k):
        """Registers for what a lane keeps of its vertex beside the words."""

    def _start(self, k, array, other):
        """``(places, distance)`` as of :meth:`~sw.kernels.kernel.Kernel.way`, where ``distance`` is
        a register that leads to the lane's first word, or None for no distance."""
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
        into = k.a.reg(name)
        k.shifted(into, vertex.reg, places)
        if start is not None:
            k.a.add(into, into if places else vertex.reg, start)
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
        a = k.a
        if k.task.direction == "pull":
            for word in self._words:
                a.mv(word, a.zero)
        else:
            self._load(k, self._row(k, base, self.SOURCE, "source_row"), range(len(self._words)),
                       self._words)

    def sum(self, k, edge, data, predicate):
        task, words = k.task, self.share(k.task)[1]
        target, source = edge.base, edge.neighbor
        if task.direction == "push":
            target, source = source, target
        if self.together(task):
            _Together(self, k, source, target, data).emit()
            return
        collects, keeps = self.collects(task), task.schedule.owns_base
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
                    k.a.add(self._words[number], self._words[number], term)
                else:
                    self.add(k, to, [number], [term])

    def collects(self, task):
        return task.schedule.owns_base and task.direction == "pull"

    def collects_words(self, task):
        return self.share(task)[1]

    def collected(self, k):
        return self._words

    def merge(self, k, other, number=0):
        k.a.add(self._words[number], self._words[number], other)

    def finish(self, k, base):
        a, task, numbers = k.a, k.task, range(len(self._words))
        if not self.collects(task):
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


class _Together:
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
        self._groups = k.task.config.threads // lanes
        self._rows = [self._row(source, operator_.SOURCE), self._row(target, operator_.TARGET)]

    def _row(self, vertex, array):
        """The vertex's row in a register that may change: others may need the vertex later."""
        into = self._k.a.reg(array)
        row = self._k.pointer(vertex, array, into)
        if row is not into:
            self._k.a.mv(into, row)
        return into

    def emit(self):
        """Emit the work. Lane 0 is active; afterwards all lanes are."""
        k, a, threads = self._k, self._k.a, self._k.task.config.threads
        there, whole = a.reg("there"), a.label("whole")
        a.vote_ballot(there, k.constant(1, "one"))
        k.widen()
        a.shfl_idx(there, there, a.zero)
        a.beq(there, k.constant((1 << threads) - 1, "all_lanes"), whole)
        self._lend(there)
        a.place(whole)
        self._turns(there, *self._rows, self._factor)

    def _lend(self, there):
        k, a = self._k, self._k.a
        mask, first = a.regs("mask", "first")
        a.csrr(mask, Csr.THREAD_ID)
        a.srl(mask, there, mask)
        a.andi(mask, mask, 1)
        a.neg(mask, mask)
        for row in self._rows:
            a.shfl_idx(first, row, a.zero)
            k.select(row, mask, row, first)
        a.and_(self._factor, self._factor, mask)

    def _turns(self, there, sources, targets, factors):
        k, a = self._k, self._k.a
        top, lane = a.label("edges_of_warp"), a.reg("whose")
        turn = max(1, min(self._operator.turn, 2 * _LOADED // self._words))
        count = min(turn, k.task.config.threads // self._groups)
        if self._groups > 1:
            a.csrr(lane, Csr.THREAD_ID)
            a.srli(lane, lane, log2(self._step // 4))
            a.add(lane, lane, k.constant(ANY_LANE, "any_lane"))
        else:
            a.mv(lane, k.constant(ANY_LANE, "any_lane"))
        sums = last = None
        if k.task.direction == "pull":
            sums, last = a.regs(*(f"sum{number}" for number in range(self._words))), a.reg("last")
            a.shfl_idx(last, targets, lane)
            for each in sums:
                a.mv(each, a.zero)
        a.place(top)
        self._turn(count, lane, sums, last, sources, targets, factors)
        taken = count * self._groups
        if taken < k.task.config.threads:
            a.srli(there, there, taken)
            a.bnez(there, top)
        if sums is not None:
            self._flush(sums, last)

    def _turn(self, count, lane, sums, last, sources, targets, factors):
        k, a = self._k, self._k.a
        edges = []
        for number in range(count):
            row, to, factor = a.regs("row", "to", "factor_of_edge")
            a.shfl_idx(row, sources, lane)
            if self._operator.offset is not None:
                a.add(row, row, self._operator.offset)
            words = a.regs(*(f"loaded{each}" for each in range(self._words)))
            for each, word in enumerate(words):
                a.lw(word, row, self._step * each)
            a.shfl_idx(factor, factors, lane)
            a.shfl_idx(to, targets, lane)
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


class _Spmm(_Operator):
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


class _GraphSum(_Operator):
    """The sum of products over the graph's arcs, each times the arc's coefficient, which comes from
    a word of either end: the scales, or the degrees.

    Parameters
    ----------
    graph, words, together
        As of the base.
    coefficients : str
        Of :data:`~sw.algorithms.gcn_fixed_point.COEFFICIENTS`.
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
        if edge.value is not None and k.task.direction == gathered:
            return edge.value
        word = k.a.reg("end")
        k.a.lw(word, vertex.reg)
        return word

    def multiply(self, k, into, word, factor):
        k.a.mulhsu(into, word, factor)


class GraphConvolution(Algorithm):
    """Features times weights, and the sum over each vertex's in-neighbours.

    Parameters
    ----------
    graph : Graph
    dimension : int, optional
        Columns of the weight matrix, 1 to 64; left out, those of the file's matrix, or 16.
    features : str, optional
        An ``.npz`` file (:mod:`sw.graph.features`), whose matrix has a row for each vertex. If the
        file has no weight matrix, one is drawn at random. Left out, the features are drawn too.
    columns : int, optional
        Number of features that are drawn; 64 if left out.
    density : float, optional
        Share of the features that a vertex has, if they are drawn; 0.1 if left out.
    matrix_seed : int
        Seed of all that is drawn.
    together : str, optional
        ``"yes"`` or ``"no"``: whether the lanes of a warp do the work of an edge together, where no
        lane owns the row; left out, if the algorithm pulls.
    coefficients : str
        ``"stored"``: the coefficient of an arc is the product of two words of a table.
        ``"computed"``: kernels compute it from the degrees of both ends.
    """
    name = "gcn"
    ARRAYS = ("end_in", "end_out", "weight", "product", "output")
    options = {"dimension": (int,), "features": (str,), "columns": (int,), "density": (float,),
               "matrix_seed": (int,), "together": (str,), "coefficients": (str,)}
    TRIES = {"together": (None, "yes", "no")}

    def __init__(self, graph, dimension=None, features=None, columns=None, density=None,
                 matrix_seed=0, together=None, coefficients=COEFFICIENTS[0]):
        super().__init__(graph)
        if together not in (None, "yes", "no"):
            raise UserError(f"gcn: together is {together!r}, must be yes or no")
        if coefficients not in COEFFICIENTS:
            raise UserError(f"gcn: coefficients is {coefficients!r}, must be "
                            f"{' or '.join(COEFFICIENTS)}")
        self._coefficients = coefficients
        self._path, self._seed = features, self._number("matrix_seed", matrix_seed, 0, 1 << 31)
        if dimension is not None:
            dimension = self._number("dimension", dimension, 1, _MOST_DIMENSION)
        if features is not None:
            for name, value in (("columns", columns), ("density", density)):
                if value is not None:
                    raise UserError(f"gcn: {name} is for features that are drawn, and features is "
                                    f"{features}")
            self._features = read_features(features)
            if self._features.num_vertices != graph.num_vertices:
                raise UserError(f"{features}: has {self._features.num_vertices} rows, must have "
                                f"{graph.num_vertices}, one for each vertex of {graph.name}")
        else:
            columns = self._number("columns", 64 if columns is None else columns, 1, 1 << 20)
            density = 0.1 if density is None else density
            if not 0 <= density <= 1:
                raise UserError(f"gcn: density is {density!r}, must be from 0 to 1")
            self._features = random_features(graph.num_vertices, columns, density, self._seed)
        self._weight = self._features.weight
        if self._weight is None:
            self._weight = draw_weight(self._features.num_columns, dimension or 16, self._seed)
        self._dimension = self._number("dimension", self._weight.shape[1], 1, _MOST_DIMENSION)
        if dimension not in (None, self._dimension):
            raise UserError(f"{features}: weight has {self._dimension} columns, and dimension is "
                            f"{dimension}")
        self.matrices = choose(graph, self._features, self._weight, coefficients)
        entries = Graph(max(graph.num_vertices, self._features.num_columns),
                        self._features.columns, self._features.rows,
                        self.matrices.values.view(np.uint32), f"features of {graph.name}")
        self._operators = {"spmm": _Spmm(entries, self._dimension, together),
                           "graphsum": _GraphSum(graph, self._dimension, together, coefficients)}

    @staticmethod
    def _number(name, value, low, high):
        if not low <= operator.index(value) <= high:
            raise UserError(f"gcn: {name} is {value}, must be from {low} to {high}")
        return operator.index(value)

    def operators(self):
        return self._operators

    # Memory

    @property
    def _row_words(self):
        """Words from a vertex's row to the next: a power of two."""
        return 1 << (self._dimension - 1).bit_length()

    def reserve(self, task):
        vertices = max(side.vertex_words for side in task.sides.values())
        for name in self.ARRAYS:
            task.buffers.reserve(name, vertices,
                                 4 if name.startswith("end") else 4 * self._row_words)

    def init_vertex_value(self, task):
        weight = np.zeros((self._features.num_columns, self._row_words), np.int32)
        weight[:, :self._dimension] = self.matrices.weight
        task.buffers.fill("weight", weight.reshape(-1))
        of_end = scales if self._coefficients == COEFFICIENTS[0] else np.uint32
        task.buffers.fill("end_in", of_end(self.graph.in_degrees))
        task.buffers.fill("end_out", of_end(self.graph.out_degrees))
        # Behind the last vertex there are zeros: an edge from the padding vertex adds nothing.
        unused = np.full(self.graph.num_vertices * self._row_words, _UNUSED, np.int32)
        for name in ("product", "output"):
            task.buffers.fill(name, unused)

    # Kernels

    def _shared_sums(self, task):
        """The arrays to which sums are added, and not stored."""
        return [each.TARGET for name, each in self._operators.items()
                if not each.owns(task.sides[name])]

    def kernels(self, task):
        kernels: dict[str, tuple] = {name: ("gather", None) for name in self._operators}
        return ({"init": ("apply", None)} if self._shared_sums(task) else {}) | kernels

    def apply(self, k):
        sums = self._shared_sums(k.task)
        with each_vertex(k, *sums, words=self._row_words) as pointers:
            for name in sums:
                k.a.sw(k.a.zero, pointers[name])

    # Host

    def drive(self, session):
        if self._shared_sums(session.task):
            session.launch("init")
        for name, each in self._operators.items():
            for number in range(each.share(session.task.sides[name])[2]):
                session.launch(name, number)
        return len(self._operators)

    def outputs(self, session):
        found = {}
        for name in ("product", "output"):
            words = session.read_vertices(name, np.int32)
            found[name] = np.ascontiguousarray(
                words.reshape(self.graph.num_vertices, -1)[:, :self._dimension])
        return found

    def derived(self, outputs):
        """``fraction_bits`` of products and outputs, and ``output_float``: the outputs as
        float64."""
        return {"fraction_bits": np.int64(self.matrices.fraction_bits),
                "output_float": self.matrices.to_float(outputs["output"])}

    def golden(self):
        product, output = gcn(self.graph, self._features, self.matrices.values,
                              self.matrices.weight, self._coefficients != COEFFICIENTS[0])
        return {"product": product, "output": output}

    def parameters(self):
        found = {"dimension": self._dimension, "features": self._path, "matrix_seed": self._seed,
                 "columns": self._features.num_columns, "entries": len(self._features.values),
                 "coefficients": self._coefficients,
                 "feature_bits": self.matrices.value_bits, "weight_bits": self.matrices.weight_bits}
        return found
