"""Which programs are one loop from a frontier to the next, and what is known of the loop.

The loop: while a set has vertices, an operator goes through the edges that leave the set, and the
vertices that it changes are the next set. Beside the operator stand functions of the set's
vertices, and numbers of the host that grow by a constant in each round. Before the loop stands a
beginning. The set may be a queue, of which a round takes the vertices that are ready.

Nothing else is asked of the text. What follows is by what the functions read and write, in one of
two ways:

*stamps*
    A vector is *never* (a literal) at every vertex but those of the first set. Edges are accepted
    only where it is never. Every vertex that the operator changes loses this word in the same
    round, and no vertex gets it back. So each vertex is in one set at most. The number of the round
    in which it was, its *stamp*, tells whether it was changed before a superstep, whatever other
    lanes do in it. So no read needs a copy: a word at a source does not change any more, and what
    changes at a destination is not read there.

*early*
    The loop is the least solution of monotone functions: the vector that tells changes is reduced
    by ``min``, ``max`` or ``or`` of values that grow with its word at the source, and everything
    else that the loop does depends only on which vertices are ever in the set. Then reads may see
    words of the same superstep.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from sw.compile.lower.loops.one_loop import at_parameter, loads, only_loop
from sw.lang import graph_ir as ir
from sw.lang.faults import can_fail
from sw.lang.passes.chain import chained, without_stores
from sw.lang.passes.fixpoint import grows
from sw.lang.types import INFINITY, WORD, Type


__all__ = ["IDENTITY", "ROUND", "FrontierForm", "Reduction", "Unproven", "find"]


#: {reduction: the word that changes no word}.
IDENTITY = {"min": WORD - 1, "max": 0, "or": 0, "+": 0}

#: {reduction: operations that give the worst word if either operand is it, if both are, and if the
#: left operand is}.
_KEEPS = {"min": ({"+", "max"}, {"min"}, set()),
          "max": ({"min", "*"}, {"max", "+"}, {"-", ">>"}),
          "or": ({"&", "and"}, {"|", "or", "^"}, {"<<", ">>"})}

#: The name of the round's number, from 0, among the host's.
ROUND = ""


class Unproven(Exception):
    """A program has not the form, or a fact is not proved. The text says which."""


def need(holds, what):
    """Raise Unproven with a text if something does not hold."""
    if not holds:
        raise Unproven(what)


@dataclasses.dataclass(frozen=True)
class Reduction:
    """A reduction of the operator's function, at the destination."""
    node: ir.Reduce
    #: Which accepted edge of a destination decides the word there: ``"any"``, or the ``"first"`` of
    #: an ascending row. None if all do.
    suffices: str | None
    fresh: bool  #: Whether a word is the reduction's identity where edges are accepted.


@dataclasses.dataclass(frozen=True)
class FrontierForm:
    """The parts of a program, and what is known of it.

    Values of the host in functions are in terms of the numbers at the beginning of the round.
    """
    function: ir.Function  #: Of the operator.
    entry: str  #: The set or queue of the loop.
    starts: int | None  #: Vertices that are named as the first set; None for all vertices.
    queue: ir.NewQueue | None
    lines: dict[str, int]  #: {number of the host: what a round adds}.
    #: The conditions under which an edge is accepted, but for stamps: of words that do not change.
    conditions: tuple[ir.Node, ...]
    reductions: tuple[Reduction, ...]
    tracked: int  #: The place of the reduction whose changes make the next set.
    #: When an accepted edge changes the tracked word: ``"certain"``, or as the ``"addend"`` tells,
    #: which then is not 0, or as the ``"atomic"`` does.
    changes: str
    after: ir.Function | None  #: What is done at each vertex of a next set.
    #: Functions of the vertices of the first set that are performed before the first superstep.
    before: tuple[ir.Function, ...]
    never: int | None  #: The word of vertices that have no stamp, if there are stamps.
    stamp: str | None  #: The vector whose words are the stamps; None if none can be.
    stamped: Any  #: The value of the round's stamp, if a vector has them.
    superset: bool  #: Whether edges of vertices outside of the set change nothing.
    sends: bool  #: Whether the tracked value is the source's word, plus the weight if there is one.

    @property
    def early(self) -> bool:
        """Whether reads see words of the same superstep, and there are no stamps."""
        return self.never is None

    @property
    def track(self) -> Reduction:
        """The reduction whose changes make the next set."""
        return self.reductions[self.tracked]

    @property
    def further(self) -> tuple[Reduction, ...]:
        """The other reductions."""
        return self.reductions[:self.tracked] + self.reductions[self.tracked + 1:]

    def expressions(self) -> list:
        """All that is evaluated for an edge."""
        return [*self.conditions, *(reduction.node.value for reduction in self.reductions)]

    def of_source(self, node) -> bool:
        """Whether an expression reads words at the source."""
        return any(isinstance(part, ir.VectorLoad | ir.Degree) and _names(
            part.index if isinstance(part, ir.VectorLoad) else part.vertex)
            & {self.function.parameters[0]} for part in ir.walk(node))

    def by_target(self, node) -> bool:
        """Whether an expression depends on the destination only."""
        return not _names(node) - {self.function.parameters[1]}


def find(program) -> FrontierForm:
    """The parts of a program, after all passes. Raises Unproven."""
    reader = _Reader(program)
    try:
        return reader.stamped()
    except Unproven as first:
        try:
            return reader.early()
        except Unproven as second:
            raise Unproven(f"{first}; {second}") from None


# Expressions

def _names(node):
    """The local names in an expression."""
    return {part.name for part in ir.walk(node) if isinstance(part, ir.Local)}


def _mapped(node, change: Callable):
    """A node in which ``change`` has replaced the nodes for which it does not give None."""
    found = change(node)
    if found is not None:
        return found
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, ir.Node):
            changes[field.name] = _mapped(value, change)
        elif isinstance(value, tuple) and any(isinstance(part, ir.Node) for part in value):
            changes[field.name] = tuple(_mapped(part, change) for part in value)
    return dataclasses.replace(node, **changes) if changes else node


def _conjuncts(node):
    """The parts of a condition that must all be true."""
    if isinstance(node, ir.Binary) and node.operation == "and":
        return [*_conjuncts(node.left), *_conjuncts(node.right)]
    return [node]


def _literal(node):
    """The word of a literal of a whole number or a truth value, else None."""
    if isinstance(node, ir.Literal) and node.type in (Type.UINT, Type.VERTEX, Type.BOOL,
                                                      Type.WHOLE):
        return int(node.value)
    return None


def _equality(node):
    """(load, word) if a condition compares a loaded word with a literal for equality."""
    match node:
        case ir.VectorLoad(type=Type.BOOL):
            return node, 1
        case ir.Unary(operation="not", operand=ir.VectorLoad() as load):
            return load, 0
        case ir.Binary(operation="=="):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                word = _literal(other)
                if isinstance(one, ir.VectorLoad) and word is not None:
                    return one, word
    return None


def _improves(node, reduce):
    """Whether a condition only says that a reduction changes the word: ``value < x[dst]``."""
    if not isinstance(node, ir.Binary):
        return False
    load = ir.VectorLoad(vector=reduce.vector, index=reduce.index, type=reduce.value.type,
                         position=node.position)
    less = (reduce.value, load) if reduce.operation == "min" else (load, reduce.value)
    return reduce.operation in ("min", "max") and (
        node.operation in ("<", "<=") and (node.left, node.right) == less
        or node.operation in (">", ">=") and (node.right, node.left) == less)


# Statements

def _reductions_of(function):
    """The conditions under which a function of edges reduces, and its reductions, without local
    variables."""
    known: dict[str, ir.Node] = {}

    def put(node):
        return _mapped(node, lambda part: known.get(part.name)
                       if isinstance(part, ir.Local) else None)

    conditions: list[ir.Node] = []
    body, found = function.body, []
    while body:
        node, *rest = body
        match node:
            case ir.Let():
                need(node.name not in known and node.name not in function.parameters,
                     "a variable of the edges' function gets one value")
                known[node.name] = put(node.value)
            case ir.Reduce():
                need(at_parameter(function, node.index, 1),
                     "the edges' function reduces at the destination")
                found.append(put(node))
            case ir.Branch() if not (rest or found or node.otherwise):
                conditions += _conjuncts(put(node.condition))
                rest = node.then
            case _:
                raise Unproven("all reductions stand under one condition")
        body = rest
    need(found and len({node.vector for node in found}) == len(found),
         "the edges' function reduces each vector once")
    return conditions, found


class _Reader:
    """Reads a program.

    Parameters
    ----------
    program : GraphProgram
    """

    def __init__(self, program):
        self._program = program
        loop: Any = only_loop(program)
        need(loop is not None and isinstance(loop.condition, ir.SetSize),
             "the program is one loop, while a set has vertices, behind a beginning")
        self._loop, self._entry = loop, loop.condition.name
        self._edges = self._operator()
        self._queue = next((node for node in program.body if isinstance(node, ir.NewQueue)), None)
        self._starts = self._first_set()
        self._lines, self._places = self._numbers()
        self._stores = [node for node in program.body if isinstance(node, ir.ElementStore)]
        place = loop.body.index(self._edges)
        self._function = self._at(program.function(self._edges.apply_f), place)
        conditions, self._reduces = _reductions_of(self._function)
        self._conditions = self._filter(place) + conditions
        self._after, self._before = self._chains(place)
        self._written = {node.vector for node in self._reduces} | (
            self._after.writes() if self._after else set())
        self._tracked = next((at for at, node in enumerate(self._reduces)
                              if node.vector == self._edges.tracking), -1)
        need(self._tracked >= 0, "the operator reduces the vector of its changes")

    # The text

    def _operator(self):
        """The loop's operator of edges, after a check of the instructions."""
        found = [node for node in self._loop.body if isinstance(node, ir.EdgeSetIterator)]
        need(len(found) == 1, "a round has one operator of edges")
        edges, = found
        taken = {self._entry}
        ready = [node for node in self._loop.body if isinstance(node, ir.Dequeue)]
        if ready:
            need(len(ready) == 1 and self._loop.body[0] is ready[0]
                 and ready[0].queue == self._entry, "a round begins by what is ready in the queue")
            taken = {ready[0].output_vset}
        need(edges.input_vset in taken and edges.output_vset == self._entry
             and not edges.transposed and edges.tracking is not None,
             "the operator goes from the loop's set to the loop's set")
        for node in self._loop.body:
            need(node is edges or isinstance(node, ir.Dequeue) or (
                isinstance(node, ir.Assign) and node.value.type is Type.WHOLE)
                or (isinstance(node, ir.VertexSetIterator) and node.input_vset in taken),
                "a round has functions of the set, and numbers of the host")
        return edges

    def _first_set(self):
        """The vertices of the first set, as expressions; None for all."""
        named = [node for node in self._program.body
                 if isinstance(node, ir.NewVertexSet | ir.NewQueue) and node.name == self._entry]
        moved = [node for node in self._program.body
                 if isinstance(node, ir.Assign) and node.name == self._entry]
        if not named and len(moved) == 1 and isinstance(moved[0].value, ir.HostName) \
                and moved[0].value.name == ir.ALL:
            return None
        need(len(named) == 1 and not moved, "the first set is named once")
        assigned = [node.name for node in self._program.body if isinstance(node, ir.Assign)]
        once = {part.name for node in named for part in ir.walk(*node.vertices)
                if isinstance(part, ir.HostName)}
        arguments = {argument.name for argument in self._program.arguments}
        need(all(assigned.count(name) <= (name not in arguments) for name in once),
             "the names of the first set's vertices stay")
        return named[0].vertices

    def _numbers(self):
        """What a round adds to each number of the host, and the places where."""
        lines, places = {ROUND: 1}, {}
        for at, node in enumerate(self._loop.body):
            if not isinstance(node, ir.Assign):
                continue
            match node.value:
                case ir.Binary(operation="+", left=ir.HostName(name=node.name), right=step) \
                        | ir.Binary(operation="+", left=step, right=ir.HostName(name=node.name)):
                    sign = 1
                case ir.Binary(operation="-", left=ir.HostName(name=node.name), right=step):
                    sign = -1
                case _:
                    raise Unproven("numbers of the host grow by a constant in each round")
            word = _literal(step)
            need(word is not None and node.name not in lines,
                 "numbers of the host grow by a constant in each round")
            assert word is not None
            lines[node.name], places[node.name] = sign * word, at
        return lines, places

    def _at(self, node, place, later=0):
        """A function at a place of the loop's body, in terms of the numbers at the beginning of the
        round, or of the round before if ``later`` is 1."""
        def change(part):
            if not (isinstance(part, ir.HostName) and part.name in self._places):
                return None
            rounds = later + (self._places[part.name] < place)
            step = ir.Literal(value=rounds * self._lines[part.name], type=Type.WHOLE,
                              position=part.position)
            return part if not rounds else ir.Binary(
                operation="+", left=part, right=step, type=Type.WHOLE, position=part.position)

        return _mapped(node, change)

    def _filter(self, place):
        """The conditions of the filter of destinations."""
        if self._edges.to_filter is None:
            return []
        wants = self._program.function(self._edges.to_filter)
        need(len(wants.body) == 1, "the filter of destinations is an expression")
        index = ir.Local(name=self._function.parameters[1], type=Type.VERTEX,
                         position=wants.position)
        value = _mapped(self._at(wants.body[0], place).value, lambda part: index
                        if isinstance(part, ir.Local) else None)
        return _conjuncts(value)

    def _chains(self, place):
        """What is done at a vertex that is added, as a function, and at the first set's."""
        ends, begins, before = [], [], []
        for at, node in enumerate(self._loop.body):
            if isinstance(node, ir.VertexSetIterator):
                function = self._program.function(node.apply_f)
                need(not any(isinstance(part, ir.Reduce) for part in ir.walk(*function.body)),
                     "functions of the set's vertices only store")
                if at > place and self._queue is None:
                    ends.append(self._at(function, at))
                else:
                    before.append(self._at(function, at))
                    begins.append(self._at(function, at, later=1))
        functions = ends + begins
        return (chained(functions, "added") if functions else None), tuple(before)

    # What is known of both

    def _elsewhere(self, node):
        """Whether an expression reads words elsewhere than at the ends of the edge, or at the
        vertex."""
        return any(not isinstance(load.index, ir.Local) for load in loads(node))

    def _changing(self, node):
        """Whether an expression has a number of the host that changes in the loop."""
        return any(isinstance(part, ir.HostName) and part.name in self._lines
                   for part in ir.walk(node))

    def _constant(self, node):
        """Whether an expression reads nothing that changes in the loop."""
        return not self._changing(node) and not any(
            load.vector in self._written for load in loads(node))

    def _linear(self, node):
        """Whether a value of the host is a sum of its numbers, times constants."""
        match node:
            case ir.Binary(operation="+" | "-"):
                return self._linear(node.left) and self._linear(node.right)
            case ir.Binary(operation="*"):
                return all(map(self._linear, (node.left, node.right))) and not all(
                    map(self._changing, (node.left, node.right)))
        return isinstance(node, ir.HostName | ir.Literal | ir.GraphSize) or (
            not self._changing(node) and not any(isinstance(part, ir.VertexSum | ir.SetSize)
                                                 for part in ir.walk(node)))

    def _uniforms_fit(self, node):
        """Whether all changing values of the host can be computed from the round's number."""
        return all(self._linear(part.value) and part.type is Type.UINT for part in ir.walk(node)
                   if isinstance(part, ir.Uniform) and self._changing(part))

    def _initial(self, vector):
        """The literal with which a vector begins at all vertices but those of the first set; None
        if that is not known."""
        word = _literal(self._program.vector(vector).initial)
        own = self._starts or ()
        if any(node.vector == vector and node.index not in own for node in self._stores):
            return None
        return word

    def _least(self, node):
        """A number that a value of the host is never below, if the value is surely a number."""
        match node:
            case ir.Literal() if node.value < INFINITY:
                return node.value
            case ir.HostName(name=name) if name == ROUND:
                return 0
            case ir.HostName() if self._lines.get(node.name, -1) >= 0:
                first = [part.value for part in self._program.body
                         if isinstance(part, ir.Assign) and part.name == node.name]
                return self._least(first[0]) if len(first) == 1 else None
            case ir.Binary(operation="+" | "*"):
                left, right = self._least(node.left), self._least(node.right)
                if left is None or right is None or min(left, right) < 0:
                    return None
                return left + right if node.operation == "+" else left * right
        return None

    def _step(self, node):
        """What a linear value of the host grows by in each round."""
        match node:
            case ir.HostName():
                return self._lines.get(node.name, 0)
            case ir.Binary(operation="+"):
                return self._step(node.left) + self._step(node.right)
            case ir.Binary(operation="*", right=ir.Literal(value=factor)):
                return self._step(node.left) * factor
        return 0

    def _differs(self, node, word, parameters=()):
        """Whether a value is surely another word than a word of the beginning. ``parameters`` are
        the names of vertices."""
        match node:
            case ir.Literal():
                return _literal(node) not in (None, word)
            case ir.Local(type=Type.VERTEX):
                return word == WORD - 1 and node.name in parameters
            case ir.HostName(type=Type.VERTEX):     # of a store of the host
                return word == WORD - 1 and node.name in {
                    argument.name for argument in self._program.arguments}
            case ir.Uniform(type=Type.UINT):
                least = self._least(node.value)
                return least is not None and (word == WORD - 1 or least > word)
        return False

    def _live(self, function, dead=frozenset()):
        """The function of added vertices without stores that nobody reads."""
        if function is None:
            return None
        read = {load.vector for node in (*self._conditions, *self._reduces)
                for load in loads(node)}
        read |= {load.vector for node in function.body for load in loads(node)}
        read |= set(self._program.outputs)
        function = without_stores(function, {vector.name for vector in self._program.vectors
                                             if vector.name not in read} | dead)
        return function if function.body else None

    # Stamps

    def stamped(self) -> FrontierForm:
        """The form of a loop with stamps. Raises Unproven."""
        need(self._queue is None and self._starts is not None, "the first set of a search is named")
        reasons = ["edges are accepted only where a word is that of the beginning"]
        for condition in self._tests():
            try:
                return self._by_stamps(condition)
            except Unproven as reason:
                reasons.append(str(reason))
        raise Unproven(reasons[-1])

    def _tests(self):
        """The conditions that may say that a vertex has been in no set yet. A reduction to the
        number of the round says so by itself: None."""
        for node in self._conditions:
            found = _equality(node)
            if found is not None and at_parameter(self._function, found[0].index, 1):
                yield node
        reduce, *others = self._reduces
        if not self._conditions and not others and reduce.operation == "min" \
                and self._initial(reduce.vector) == WORD - 1 and self._changing(reduce.value):
            yield None

    def _by_stamps(self, condition):
        vector, never = self._reduces[0].vector, WORD - 1
        if condition is not None:
            load, never = _equality(condition) or (None, 0)
            assert load is not None
            vector = load.vector
        begun = self._begun(vector)
        need(self._initial(vector) == never and begun and all(
            self._differs(value, never) for value in begun),
            f"{vector} tells the first set from all other vertices")
        conditions = tuple(node for node in self._conditions if node is not condition)
        need(all(self._constant(node) and not self._elsewhere(node) for node in conditions),
             "the other conditions read words that do not change")
        changes = self._changes(vector, never)
        stored = self._settled(vector, never, changes)
        stamp, stamped = self._stamp(vector, never, stored)
        self._begin_words = {node.vector: self._initial(node.vector) for node in self._reduces
                             if changes == "certain"} | {vector: never}
        nodes = [dataclasses.replace(node, value=stamped if node.vector == stamp
                                     else self._read(node.value, stamp, stamped))
                 for node in self._reduces]
        reductions = tuple(Reduction(
            node, self._suffices(node),
            self._begin_words.get(node.vector) == IDENTITY[node.operation]) for node in nodes)
        after = self._live(self._after, frozenset({stamp} - {None}))
        if after is not None:
            need(not {load.vector for node in after.body for load in loads(node)} & self._written,
                 "functions of the set's vertices read words that do not change")
        form = FrontierForm(
            function=self._function, entry=self._entry, starts=len(self._starts), queue=None,
            lines=self._lines, conditions=conditions, reductions=reductions,
            tracked=self._tracked, changes=changes, after=after, before=self._before, never=never,
            stamp=stamp, stamped=stamped, superset=False, sends=False)
        need(all(self._uniforms_fit(node) for node in (
            *form.expressions(), *(after.body if after else ()))),
            "numbers of the host that functions read grow by a constant")
        return form

    def _begun(self, vector):
        """The values that a vector gets at the vertices of the first set before the first round's
        edges; empty if it may get none."""
        stored = [node.value for function in self._before for node in function.body
                  if isinstance(node, ir.VectorStore) and node.vector == vector]
        if stored:
            return [node.value for function in self._before for node in ir.walk(*function.body)
                    if isinstance(node, ir.VectorStore) and node.vector == vector]
        stores = [node for node in self._stores if node.vector == vector]
        return [node.value for node in stores] if all(
            any(node.index == start for node in stores) for start in self._starts) else []

    def _changes(self, vector, never):
        """When an accepted edge changes the tracked word."""
        reduce = self._reduces[self._tracked]
        begun = never if reduce.vector == vector else self._initial(reduce.vector)
        value = self._value(reduce.value, vector) if reduce.vector == vector else reduce.value
        if begun == IDENTITY[reduce.operation] and self._differs(
                value, begun, self._function.parameters[:2]):
            return "certain"
        return "addend" if reduce.operation == "+" else "atomic"

    def _settled(self, vector, never, changes):
        """The values that the vector of the test gets at each vertex that is changed. They must be
        words with which the test is false."""
        reduced = [node for node in self._reduces if node.vector == vector]
        after = self._after.body if self._after else ()
        stored = [node for node in ir.walk(*after)
                  if isinstance(node, ir.VectorStore) and node.vector == vector]
        need(reduced or any(node in after for node in stored),
             f"every changed vertex gets another {vector}")
        for node in reduced:
            need(changes == "certain" and never == IDENTITY[node.operation],
                 f"every accepted edge changes {vector}")
        values = [node.value for node in stored] + [
            self._value(node.value, vector) for node in reduced]
        names = (*self._function.parameters[:2],)
        need(all(self._differs(value, never, names) for value in values),
             f"{vector} gets no word of the beginning")
        return values

    def _value(self, node, vector):
        """A value, in which the word at the source is that of its own round."""
        if not (isinstance(node, ir.Binary) and node.operation == "+"):
            return node
        pair = (node.left, node.right)
        load = next((part for part in pair if isinstance(part, ir.VectorLoad)
                     and part.vector == vector and at_parameter(self._function, part.index, 0)),
                    None)
        more = next((part for part in pair if isinstance(part, ir.Literal)), None)
        begun = {_literal(value) for value in self._begun(vector)}
        if load is None or more is None or len(begun) != 1 or None in begun:
            return node
        first, = begun
        rounds = _host("*", ir.HostName(name=ROUND, type=Type.WHOLE, position=node.position),
                       more.value)
        return ir.Uniform(value=_host("+", rounds, first + more.value), type=Type.UINT,
                          position=node.position)

    def _stamp(self, vector, never, stored):
        """The vector whose words are the stamps, and the value of the round's stamp; None if words
        do not tell the round."""
        value = stored[0]
        if never == WORD - 1 and all(other == value for other in stored) \
                and isinstance(value, ir.Uniform) and self._changing(value):
            return vector, value
        return None, None

    def _read(self, node, stamp, stamped):
        """An expression, with what is known in place of words that change in the loop."""
        def change(part):
            if not isinstance(part, ir.VectorLoad) or part.vector not in self._written:
                return None
            if at_parameter(self._function, part.index, 0):
                # Words of a source do not change any more, and only stamps have other words.
                return None if part.vector != stamp else self._last(part, stamped)
            need(at_parameter(self._function, part.index, 1)
                 and self._begin_words.get(part.vector) is not None,
                 f"{part.vector} changes where it is read")
            return ir.Literal(value=self._begin_words[part.vector], type=part.type,
                              position=part.position)

        return _mapped(node, change)

    def _last(self, load, stamped):
        """The stamp of the round before, in place of a word at a source."""
        step, begun = self._step(stamped.value), self._begun(load.vector)
        first = self._least(stamped.value)
        need(first is not None and all(_literal(value) == first - step or (
            isinstance(value, ir.Uniform) and self._least(value.value) == first - step)
            for value in begun), f"the {load.vector} of the first set are those of a round before")
        return dataclasses.replace(stamped, value=_host("+", stamped.value, -step))

    def _suffices(self, node):
        """As :attr:`Reduction.suffices`."""
        if node.operation == "+":
            return None
        if not _names(node.value) - {self._function.parameters[1]}:
            return "any"
        first = node.operation == "min" and at_parameter(self._function, node.value, 0)
        return "first" if first else None

    # Early reads

    def early(self) -> FrontierForm:
        """The form of a loop whose reads may see words of the same superstep. Raises Unproven."""
        reduce = self._reduces[self._tracked]
        further = [node for node in self._reduces if node is not reduce]
        conditions = tuple(node for node in self._conditions if not _improves(node, reduce))
        need(not further or len(conditions) == len(self._conditions),
             "what an improvement decides depends on the order of improvements")
        need(all(self._constant(node) and not self._elsewhere(node) for node in conditions),
             "the conditions read words that do not change")
        body = (*map(self._tested, conditions), *self._reduces)
        need(not can_fail(dataclasses.replace(self._function, body=body)),
             "the edges' function has no faults")
        need(reduce.operation in ("min", "max", "or") and self._grows(reduce, reduce),
             f"{reduce.vector} is reduced by values that grow with its word at the source")
        for node in further:
            need(node.operation != "+" and (self._constant(node.value) or (
                node.operation == reduce.operation and self._grows(node, reduce))),
                f"{node.vector} depends on the order of the edges")
        after = self._live(self._after)
        if after is not None:
            need(all(self._constant(part) for part in after.body)
                 and not after.writes() & {node.vector for node in self._reduces},
                 "functions of the set's vertices read words that do not change")
        superset = self._starts is None or all(
            self._initial(node.vector) == IDENTITY[node.operation]
            and self._stays_worst(node.value, reduce.vector, node.operation)
            for node in self._reduces)
        if self._queue is not None and self._queue.delta is not None:
            need(reduce.operation == "min" and self._queue.vector == reduce.vector and superset,
                 "a queue with delta has the words that are reduced by min")
        found = tuple(Reduction(node, None, False) for node in self._reduces)
        form = FrontierForm(
            function=self._function, entry=self._entry, queue=self._queue, lines={},
            starts=None if self._starts is None else len(self._starts),
            conditions=conditions, reductions=found, tracked=self._tracked, changes="atomic",
            after=after, before=self._before, never=None, stamp=None, stamped=None,
            superset=superset, sends=False)
        sends = self._sends(reduce) and not any(
            form.of_source(node) or not form.by_target(node)
            for node in (*conditions, *(node.value for node in further)))
        return dataclasses.replace(form, sends=sends)

    @staticmethod
    def _tested(condition):
        return ir.Branch(condition=condition, then=(), otherwise=(), position=condition.position)

    def _grows(self, node, reduce):
        """Whether the value of a reduction grows with the tracked word at the source, and with no
        other word that changes."""
        source = self._function.parameters[0]
        return grows(node.value, reduce.vector, source, node.operation) and not self._changing(
            node.value) and all(isinstance(load.index, ir.Local) and (
                load.vector not in self._written or load.vector == reduce.vector)
                for load in loads(node.value))

    def _stays_worst(self, node, vector, operation):
        """Whether a value is the worst word if the vector's word at the source is."""
        if isinstance(node, ir.VectorLoad):
            return node.vector == vector and at_parameter(self._function, node.index, 0)
        if not isinstance(node, ir.Binary):
            return False
        left, right = (self._stays_worst(part, vector, operation)
                       for part in (node.left, node.right))
        either, both, first = _KEEPS[operation]
        return ((node.operation in either and (left or right))
                or (node.operation in both and left and right)
                or (node.operation in first and left))

    def _sends(self, reduce):
        """Whether the value is the source's word, plus the weight if there are weights."""
        def is_word(node):
            return (isinstance(node, ir.VectorLoad) and node.vector == reduce.vector
                    and at_parameter(self._function, node.index, 0))

        value = reduce.value
        if not self._program.weighted:
            return is_word(value)
        if not (isinstance(value, ir.Binary) and value.operation == "+"
                and value.type is Type.UINT):
            return False
        return any(is_word(one) and at_parameter(self._function, other, 2)
                   for one, other in ((value.left, value.right), (value.right, value.left)))


def _host(operation, left, right):
    """An operation of a value of the host and of a number."""
    return ir.Binary(operation=operation, left=left, type=Type.WHOLE, position=left.position,
                     right=ir.Literal(value=right, type=Type.WHOLE, position=left.position))
