"""The host of a program: performs the program's instructions on a GraphVM.

The host has whole numbers and exact decimals, of up to a thousand bits. Everything along edges and
at vertices is done by the machine (:class:`Machine`).
"""

import abc
import dataclasses
import operator
from fractions import Fraction
from typing import Any

import numpy as np

from base.errors import UserError
from sw.lang import graph_ir as ir
from sw.lang.facts import deferring
from sw.lang.faults import DoesNotFitFixed
from sw.lang.needs import check_graph
from sw.lang.types import INFINITY, LARGEST, NONE, WORD, Named, Type
from sw.vm.arguments import arguments
from sw.vm.evaluate import Evaluator, fixed_word


__all__ = ["MOST_BITS", "MOST_FRACTION_BITS", "MOST_IDLE", "MOST_ROUNDS", "Machine",
           "ProgramResult", "WaitingQueue", "endless", "host_value", "perform", "value_of"]


#: Most fraction bits of fixed point: two bits of a word stay before the point.
MOST_FRACTION_BITS = 30

#: Rounds of the loops of a run, after which the run is given up: in all, and one after another in
#: which no operator is performed. A loop with so many has no end. The host takes half a minute for
#: the latter.
MOST_ROUNDS, MOST_IDLE = 100_000_000, 4_000_000


#: Most bits of a number of the host, and of a decimal's numerator and denominator. A number that a
#: loop squares would soon fill the memory.
MOST_BITS = 1000


def endless(position) -> UserError:
    """The error of a loop whose rounds are too many."""
    return UserError(f"{position}: this loop has no end, or too many rounds; the loops of a run "
                     f"may have {MOST_ROUNDS:,} rounds, and {MOST_IDLE:,} on end without an "
                     "operator")


class Machine(abc.ABC):
    """A GraphVM while it runs a program on a graph. Sets are values of the machine's own.

    Vertices are numbers from 0, words are numbers below 2**32, ``uniforms`` are the words of all
    :class:`~sw.lang.graph_ir.Uniform` nodes below a node.
    """

    @abc.abstractmethod
    def start(self, bits, arrays):
        """Begin a run with these fraction bits and uint32 arrays, by the names of the vectors."""

    @abc.abstractmethod
    def make_set(self, vertices) -> Any:
        """A set of some vertices; of all vertices if ``vertices`` is None."""

    @abc.abstractmethod
    def size(self, vset) -> int:
        """The number of vertices in a set."""

    @abc.abstractmethod
    def edges(self, node, vset, uniforms) -> Any:
        """Perform an EdgeSetIterator. Returns the set of the vertices that changed if it has a
        result, else None."""

    @abc.abstractmethod
    def vertices(self, node, vset, uniforms):
        """Perform a VertexSetIterator."""

    @abc.abstractmethod
    def where(self, node, vset, uniforms) -> Any:
        """The set of the vertices for which the filter of a VertexFilter is true."""

    @abc.abstractmethod
    def total(self, node, vset, uniforms) -> int:
        """The sum of the words that the function of a VertexSum gives."""

    def wait(self):  # noqa: B027
        """Wait for operators that have no result. Raises the error of the first that failed."""

    def attach(self, values, evaluate, word):  # noqa: B027
        """A run begins.

        Parameters
        ----------
        values : dict of str to value
            The host's variables, sets among them, which change as the run goes on.
        evaluate, word : callable
            The value of an expression of the host, and the word of a Uniform, by ``values``.
        """

    def loop(self, node, values, queues, evaluate, word) -> int | None:
        """Perform a loop as a whole. A machine may leave this to the host.

        Parameters
        ----------
        node : WhileLoop or ForLoop
        values : dict of str to value
            The host's variables, sets among them. The machine changes those that the loop assigns.
        queues : dict of str to WaitingQueue
            The machine changes their thresholds.
        evaluate, word : callable
            The value of an expression of the host, and the word of a Uniform, by ``values``.

        Returns
        -------
        int or None
            Operators that were performed; None if the host has to perform the loop.
        """
        return None

    def rounds(self, node, values, queues, evaluate, word) -> int | None:
        """Perform some rounds of a WhileLoop, whose condition is true.

        The parameters are those of :meth:`loop`. Returns the operators that were performed; None
        if the host has to perform the next round.
        """
        return None

    def settle(self, node):  # noqa: B027
        """The end of a loop that the host has performed. Raises UserError if an operator in it,
        which is :class:`~sw.lang.facts.Deferred`, has lost a candidate (:mod:`sw.lang.faults`). A
        machine does nothing if its runs are refused before they begin."""

    def state(self, values) -> Any:
        """All that decides what follows, with ``values`` of the host: something for :meth:`is_at`.
        None if that is not known, or not worth a comparison."""
        return None

    def is_at(self, state, values) -> bool:
        """Whether all that decides what follows is that of a :meth:`state`."""
        return False

    def make_queue(self, node, waiting, vertices) -> Any:
        """A queue that begins with some vertices: what :meth:`size`, :meth:`join` and
        :meth:`dequeue` take. A set, unless the machine keeps another order of its own.

        Parameters
        ----------
        node : NewQueue
        waiting : WaitingQueue
        vertices : list of int
        """
        return self.make_set(vertices)

    def dequeue(self, queue, waiting) -> tuple[Any, Any]:
        """The vertices of a queue that are ready, and the queue of the others. The threshold moves
        on if none is ready."""
        if waiting.delta is None or not self.size(queue):
            return queue, self.make_set([])
        ready, rest = self.split(queue, waiting.vector, waiting.threshold)
        if not self.size(ready):
            steps = (self.least(rest, waiting.vector) - waiting.threshold) // waiting.delta + 1
            # No word is larger than the largest threshold, whose vertices are all ready.
            waiting.threshold = min(waiting.threshold + steps * waiting.delta, WORD)
            ready, rest = self.split(rest, waiting.vector, waiting.threshold)
        return ready, rest

    @abc.abstractmethod
    def join(self, vset, other) -> Any:
        """The vertices of either set."""

    @abc.abstractmethod
    def split(self, vset, vector, threshold) -> tuple[Any, Any]:
        """The vertices whose word is below a threshold, and the others."""

    @abc.abstractmethod
    def least(self, vset, vector) -> int:
        """The smallest word of the vertices of a set that has vertices."""

    @abc.abstractmethod
    def store(self, vector, vertex, word):
        """Store an element."""

    @abc.abstractmethod
    def read(self, vector) -> np.ndarray:
        """The words of a vector, as uint32."""


@dataclasses.dataclass
class WaitingQueue:
    """The order in which vertices leave a queue; the set of its vertices is a variable of the host.
    """
    vector: str
    delta: int | None
    threshold: int  #: Ready are the vertices whose word is below.


@dataclasses.dataclass(frozen=True, eq=False)
class ProgramResult:
    """The result of a run."""
    outputs: dict[str, np.ndarray]  #: dict of str to uint32 array. By the names of the vectors.
    fraction_bits: int | None  #: Fraction bits of fixed point; None if the program has none.
    operators: int  #: Operators that were performed.
    shares: frozenset[str] = frozenset()  #: As of :class:`~sw.lang.graph_ir.GraphProgram`.

    def decimal(self, name) -> np.ndarray:
        """A vector of fixed point as float64."""
        words = self.outputs[name]
        if name in self.shares:
            words = words / len(words)
        return words / float(1 << (self.fraction_bits or 0))


def value_of(node, values, graph, bits) -> int:
    """The word of a Uniform that depends only on the parameters of a run and on the graph.

    Parameters
    ----------
    node : Uniform
    values : dict of str to number
        As of :func:`~sw.vm.arguments.arguments`.
    graph : Graph
    bits : int
        Fraction bits of fixed point.
    """
    return _Numbers(graph, values, bits).word(node)


def host_value(node, values, graph) -> Any:
    """The value of an expression of the host that depends only on these values, and on the graph.
    """
    return _Numbers(graph, values, 0).value(node)


def perform(program, graph, machine, given, bits=None) -> ProgramResult:
    """Run a program on a machine.

    If the program has values of fixed point, the run has the most fraction bits, but at most
    :data:`MOST_FRACTION_BITS`, with which all values fit.

    Parameters
    ----------
    program : GraphProgram
    graph : Graph
    machine : Machine
        A machine for the program and the graph.
    given : dict of str to number
        Parameters of the program.
    bits : int, optional
        The fraction bits, if they are known.

    Raises
    ------
    UserError
        If a parameter is wrong, a value does not fit, or the graph is not what the program needs.
    """
    check_graph(program, graph)
    values = arguments(program, given, graph)
    fixed = any(getattr(node, "type", None) is Type.FIXED for node in ir.walk(program))
    tries = [bits] if bits is not None else range(MOST_FRACTION_BITS if fixed else 0, -1, -1)
    for number in tries:
        try:
            run = _Run(program, graph, machine, values, number)
            return ProgramResult({name: machine.read(name) for name in program.outputs},
                                 number if fixed else None, run.operators, program.shares)
        except DoesNotFitFixed:
            if number == tries[-1]:
                raise
    raise AssertionError("no number of fraction bits was tried")


class _Numbers:
    """The values of the host, and their words."""

    def __init__(self, graph, values, bits):
        self._graph, self._values, self._bits = graph, dict(values), bits

    def value(self, node) -> Any:
        """The value of an expression of the host."""
        return self._host(node)

    def word(self, node):
        """The word of a Uniform."""
        return self._as_word(node, self._host(node.value), node.type)

    def _as_word(self, node, value, kind):
        """A number of the host as a word. Raises UserError if it does not fit."""
        if kind is Type.FIXED:
            word = fixed_word(value, self._bits)
            if value >= 0 and word >= WORD:
                raise DoesNotFitFixed(f"{node.position}: {float(value):g} does not fit in a word "
                                      f"with {self._bits} fraction bits")
        elif kind is Type.FRACTION:
            word = round(value * WORD)
            if value < 1:
                word = min(word, WORD - 1)
        else:
            word = int(value)
        most = {Type.UINT: LARGEST, Type.VERTEX: self._graph.num_vertices - 1}.get(kind, WORD - 1)
        name = {Type.UINT: INFINITY.name, Type.VERTEX: NONE.name}.get(kind)
        named = isinstance(value, Named)
        if not 0 <= word <= most or named:
            if named and value.name == name:
                return word
            right = {Type.FRACTION: "at least 0 and below 1", Type.FIXED: "at least 0",
                     Type.VERTEX: f"a vertex, from 0 to {most}"}
            raise UserError(f"{node.position}: this is {_shown(value)}, must be "
                            f"{right.get(kind, f'from 0 to {most}')}")
        return word

    def _host(self, node) -> Any:
        """The value of an expression of the host."""
        match node:
            case ir.Literal():
                return node.value
            case ir.HostName():
                return self._values[node.name]
            case ir.GraphSize():
                return getattr(self._graph, node.count)
            case ir.Unary():
                return not self._host(node.operand)
            case ir.Select():
                return self._host(node.then if self._host(node.condition) else node.otherwise)
            case ir.Binary(operation="and"):
                return self._host(node.left) and self._host(node.right)
            case ir.Binary(operation="or"):
                return self._host(node.left) or self._host(node.right)
        return self._operation(node, self._host(node.left), self._host(node.right))

    @staticmethod
    def _operation(node, left, right):
        name = node.operation
        if name in _ARITHMETIC and (isinstance(left, Named) or isinstance(right, Named)):
            raise UserError(f"{node.position}: {name} takes numbers, and infinity is none")
        if name in ("/", "//", "%") and right == 0:
            raise UserError(f"{node.position}: division by 0")
        if name in ("<<", ">>") and not 0 <= right < 64:
            raise UserError(f"{node.position}: a shift by {right}, must be from 0 to 63")
        found = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": Fraction,
                 "//": operator.floordiv, "%": operator.mod, "&": operator.and_,
                 "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
                 ">>": operator.rshift, "min": min, "max": max, "==": operator.eq,
                 "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
                 ">=": operator.ge}[name](left, right)
        if name in _ARITHMETIC and max(found.numerator.bit_length(),
                                       found.denominator.bit_length()) > MOST_BITS:
            raise UserError(f"{node.position}: a number of the host has more than {MOST_BITS} bits "
                            "(a decimal, above or below its fraction bar)")
        return found


#: Operations of the host's numbers, but for comparisons, minimum and maximum.
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"})


def _shown(value):
    """A number of the host for a message."""
    if isinstance(value, Named):
        return value.name
    exact = str(int(value)) if value == int(value) else f"{float(value):g}"
    return exact if len(exact) < 40 else f"{len(exact)} digits long"


class _Run(_Numbers):
    """One run with given fraction bits."""

    def __init__(self, program, graph, machine, values, bits):
        super().__init__(graph, values, bits)
        self._program, self._machine = program, machine
        self._queues: dict[str, WaitingQueue] = {}
        self._uniforms = {function.name: [
            node for node in ir.walk(*function.body) if isinstance(node, ir.Uniform)]
            for function in program.functions}
        self.operators = self._rounds = self._idle = self._performed = 0
        machine.attach(self._values, self._host, self.word)
        machine.start(bits, {vector.name: self._initial(vector) for vector in program.vectors})
        self._values[ir.ALL] = machine.make_set(None)
        try:
            self._block(program.body)
        except UserError:
            machine.wait()
            raise

    def _initial(self, vector):
        uniforms = {node: self.word(node) for node in ir.walk(vector.initial)
                    if isinstance(node, ir.Uniform)}
        evaluator = Evaluator(self._program, self._graph, self._bits, uniforms)
        return evaluator.initial(vector).astype(np.uint32)

    def _host(self, node) -> Any:
        match node:
            case ir.SetSize():
                return self._machine.size(self._values[node.name])
            case ir.VertexSum():
                total = self._machine.total(node, self._values[node.input_vset],
                                            self._words(node.function))
                fixed = node.type is Type.DECIMAL
                return Fraction(total, 1 << self._bits) if fixed else total
        return super()._host(node)

    def _words(self, *names):
        """The words of all uniforms of these functions."""
        return {node: self.word(node) for name in names if name is not None
                for node in self._uniforms[name]}

    # Instructions

    def _block(self, body):
        for node in body:
            self._instruction(node)

    def _instruction(self, node):
        machine, values = self._machine, self._values
        match node:
            case ir.Assign():
                values[node.name] = self._host(node.value)
            case ir.ElementStore():
                kind = self._program.vector(node.vector).type
                vertex = self._vertex(node, node.index, f"{node.vector}[none]")
                machine.store(node.vector, vertex,
                              self._as_word(node, self._host(node.value), kind))
            case ir.NewVertexSet():
                values[node.name] = machine.make_set(self._vertices(node))
            case ir.NewQueue():
                self._new_queue(node)
            case ir.Dequeue():
                values[node.output_vset], values[node.queue] = machine.dequeue(
                    values[node.queue], self._queues[node.queue])
            case ir.EdgeSetIterator():
                self._edges(node)
            case ir.VertexSetIterator():
                self.operators += 1
                machine.vertices(node, values[node.input_vset], self._words(node.apply_f))
            case ir.VertexFilter():
                self.operators += 1
                values[node.output_vset] = machine.where(
                    node, values[node.input_vset], self._words(node.filter))
            case ir.WhileLoop():
                done = machine.loop(node, values, self._queues, self._host, self.word)
                self.operators += done or 0
                if done is None:
                    self._while(node)
                    if (edges := deferring(node)) is not None:
                        machine.settle(edges)
            case ir.ForLoop():
                done = machine.loop(node, values, self._queues, self._host, self.word)
                self.operators += done or 0
                for number in range(self._host(node.count) if done is None else 0):
                    self._round(node)
                    values[node.name] = number
                    self._block(node.body)
            case ir.HostBranch():
                self._block(node.then if self._host(node.condition) else node.otherwise)

    def _round(self, node):
        """Count a round of a loop."""
        self._rounds += 1
        if self._performed != self.operators:
            self._performed, self._idle = self.operators, 0
        self._idle += 1
        if self._rounds > MOST_ROUNDS or self._idle > MOST_IDLE:
            raise endless(node.position)

    def _while(self, node):
        """Perform a loop. If a state comes again, the loop has no end; if it counts rounds, whole
        periods of the states are left out.

        The state is compared with the state of an earlier round, whose number is the last power of
        two (Brent's algorithm).
        """
        counter, earlier, number, done = _counter(self._program, node), None, 0, 0
        while self._host(node.condition):
            performed = self._machine.rounds(node, self._values, self._queues, self._host,
                                             self.word)
            self.operators += performed or 0
            if performed is not None:
                continue
            self._round(node)
            self._block(node.body)
            done += 1
            if earlier is not None and self._machine.is_at(earlier, self._deciding(counter)):
                if counter is None:
                    raise UserError(f"{node.position}: this loop has no end: all words, sets and "
                                    f"numbers of round {number} come again in round {done}")
                left = self._host(node.condition.right) - self._values[counter]
                self._values[counter] += max(left, 0) // (done - number) * (done - number)
                earlier = None
            elif done & (done - 1) == 0:
                earlier, number = self._machine.state(self._deciding(counter)), done

    def _deciding(self, counter):
        """The host's variables but one, and the thresholds of queues; it keeps their sets alive."""
        return {name: value for name, value in self._values.items() if name != counter} | {
            (name,): queue.threshold for name, queue in self._queues.items()}

    def _vertices(self, node):
        """The vertices that a new set begins with."""
        return [self._vertex(vertex, vertex, "a set of none") for vertex in node.vertices]

    def _vertex(self, node, value, what):
        """A vertex of the host, which is not none."""
        vertex = self._as_word(node, self._host(value), Type.VERTEX)
        if vertex == NONE:
            raise UserError(f"{node.position}: {what}: none is no vertex")
        return vertex

    def _edges(self, node):
        self.operators += 1
        changed = self._machine.edges(node, self._values[node.input_vset],
                                      self._words(node.apply_f, node.to_filter))
        name = node.output_vset
        if name in self._queues:
            changed = self._machine.join(self._values[name], changed)
        if name is not None:
            self._values[name] = changed

    def _new_queue(self, node):
        delta = None if node.delta is None else self._host(node.delta)
        if delta is not None and not 1 <= delta < WORD:
            raise UserError(f"{node.position}: delta is {delta}, must be from 1 to {WORD - 1}")
        waiting = self._queues[node.name] = WaitingQueue(
            node.vector, delta, WORD - 1 if delta is None else delta)
        self._values[node.name] = self._machine.make_queue(node, waiting, self._vertices(node))


def _counter(program, loop):
    """The variable of the host that counts the rounds of a loop up to a limit, if no other variable
    changes in the loop, and no function reads this one; else None. In a condition the variable may
    become the limit."""
    match loop.condition:
        case ir.Binary(operation="<", left=ir.HostName(name=name), right=limit):
            pass
        case _:
            return None
    here = {"position": loop.position}
    count = ir.HostName(name=name, type=Type.WHOLE, **here)
    step = ir.Assign(name=name, value=ir.Binary(
        operation="+", left=count, right=ir.Literal(value=1, type=Type.WHOLE, **here),
        type=Type.WHOLE, **here), **here)
    nodes = list(ir.instructions(loop.body))
    assigned = [node for node in nodes if isinstance(node, ir.Assign | ir.ForLoop)]
    conditions = [node.condition for node in nodes if isinstance(node, ir.HostBranch)]
    called = [getattr(node, field) for node in nodes for field in ("apply_f", "to_filter")
              if getattr(node, field, None) is not None]
    called += [part.function for part in ir.walk(*conditions) if isinstance(part, ir.VertexSum)]
    used = {part.name for function in called
            for part in ir.walk(*conditions, *_uniform_values(program.function(function)))
            if isinstance(part, ir.HostName)}
    right = (step in loop.body and assigned.count(step) == 1 and name not in used
             and all(node == step or node == ir.Assign(name=name, value=limit, **here)
                     for node in assigned)
             and all(isinstance(node, ir.Assign | ir.HostBranch | ir.EdgeSetIterator
                                | ir.VertexSetIterator) for node in nodes)
             and all(getattr(node, "output_vset", None) is None for node in nodes)
             and not any(isinstance(part, ir.HostName) and part.name == name
                         for part in ir.walk(limit)))
    return name if right else None


def _uniform_values(function):
    """The expressions of the host whose values a function reads."""
    return [node.value for node in ir.walk(*function.body) if isinstance(node, ir.Uniform)]
