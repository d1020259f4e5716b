"""Which programs are one loop from a frontier to the next, and what is known of the loop.

The loop: while a set has vertices, an operator goes through the edges that leave the set, and the
vertices that it changes are the next set. Beside the operator stand functions of the set's
vertices, and numbers of the host that grow by a constant in each round. Before the loop stands a
beginning. The set may be a queue, of which a round takes the vertices that are ready.

Nothing else is asked of the text. What follows is by facts (:mod:`sw.lang.facts`), in one of two
ways:

*stamps*
    The operator's filter is settled: it is false at the first set's vertices and true at all
    others; it becomes false at every vertex that the operator changes, and stays so. So each vertex
    is in one set at most, and the number of the superstep that added it, its *stamp*, tells whether
    the filter was true before a superstep, whatever other lanes do in it. So no read needs a copy:
    a word at a source does not change any more, and what changes at a destination is not read
    there. If a vector of the program has stamps, these are its words on the device.

*early*
    Reads may see words of the same superstep (:class:`~sw.lang.facts.Early`).
"""

import dataclasses
from typing import Any

from sw.compile.lower.loops.one_loop import at_parameter, only_loop
from sw.compile.lower.queues import takes_all
from sw.lang import graph_ir as ir
from sw.lang.effects import effects
from sw.lang.facts import (SELF, Affine, Changes, Closed, Drops, Early, Sent, Settles, Stamps,
                           Suffices, Superset, Void, known)
from sw.lang.flow import flow_of
from sw.lang.uses import written
from sw.lang.passes.accesses import IDENTITY
from sw.lang.passes.chain import chained, without_stores
from sw.lang.passes.early import is_improvement
from sw.lang.predicates import names_in, predicate, vectors_in, with_vertex
from sw.lang.types import Type


__all__ = ["FrontierForm", "Reduction", "Stamped", "Unproven", "find"]


class Unproven(Exception):
    """A program has not the form, or not a fact that it needs. The text says which."""


def need(holds, what):
    """Raise Unproven with a text if something does not hold."""
    if not holds:
        raise Unproven(what)


@dataclasses.dataclass(frozen=True)
class Reduction:
    """A reduction of the operator's function, at the destination."""
    operation: str
    vector: str
    value: Any
    suffices: str | None  #: Of :class:`~sw.lang.facts.Suffices`.
    fresh: bool  #: Whether a word is the reduction's identity where edges are accepted.


@dataclasses.dataclass(frozen=True)
class Stamped:
    """The stamps of a vector: in round k ``plus`` more than a number of the host at the beginning
    of the round."""
    vector: str
    number: str
    plus: int
    step: int  #: The difference of the stamps of two rounds.
    even: bool  #: Whether the first set has the stamp of a round before the first.


@dataclasses.dataclass(frozen=True)
class FrontierForm:
    """The parts of a program, and what is known of it.

    Values of the host in functions are in terms of the numbers at the beginning of the round.
    """
    function: ir.Function  #: Of the operator.
    entry: str  #: The set or queue of the loop.
    queue: ir.NewQueue | None
    lines: dict[str, int]  #: {number of the host: what a round adds}.
    #: The conditions under which an edge is accepted, but for stamps: of words that do not change.
    conditions: tuple[Any, ...]
    reductions: tuple[Reduction, ...]
    tracked: int  #: The place of the reduction whose changes make the next set.
    changes: str  #: Of :class:`~sw.lang.facts.Changes`.
    after: ir.Function | None  #: What is done at each vertex of a next set.
    #: Functions of the vertices of the first set that are performed before the first superstep.
    before: tuple[ir.Function, ...]
    early: bool  #: Whether reads see words of the same superstep, and there are no stamps.
    stamp: Stamped | None  #: The stamps that the program has itself.
    closed: bool  #: Whether edges of vertices of older sets are not accepted.
    #: The conditions under which edges of vertices outside of the set change nothing but what edges
    #: of the set do; None if there are none that words tell.
    superset: tuple[Any, ...] | None
    sends: bool  #: Whether all that an edge brings is the source's word, plus its weight if any.
    drops: bool  #: Whether an edge may be left out for another (:class:`~sw.lang.facts.Drops`).
    void: bool  #: Whether an edge of weight 0 from a vertex to itself changes nothing.

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
        return [*self.conditions, *(reduction.value for reduction in self.reductions)]

    def reads_source(self) -> bool:
        """Whether an expression reads words at the source."""
        source = self.function.parameters[0]
        return any(isinstance(part, ir.Local) and part.name == source
                   for node in ir.walk(*self.expressions())
                   if isinstance(node, ir.VectorLoad | ir.Degree) for part in ir.walk(node))

    def by_target(self, node) -> bool:
        """Whether an expression depends on the destination only."""
        return {part.name for part in ir.walk(node) if isinstance(part, ir.Local)} \
            <= {self.function.parameters[1]}


def find(program) -> FrontierForm:
    """The parts of a program, after all passes. Raises Unproven."""
    reader = _Reader(program)
    return reader.early() if known(reader.edges, Early) is not None else reader.stamped()


class _Reader:
    """Reads a program.

    Parameters
    ----------
    program : GraphProgram

    Attributes
    ----------
    edges : EdgeSetIterator
        The loop's operator.
    """

    def __init__(self, program):
        self._program, flow = program, flow_of(program)
        self._values = flow.values
        loop = only_loop(program)
        if loop is None or not isinstance(loop.condition, ir.SetSize):
            raise Unproven("the program is one loop, while a set has vertices, behind a beginning")
        self._loop, self._entry = loop, loop.condition.name
        self._queue = next((node for node in program.body if isinstance(node, ir.NewQueue)), None)
        self.edges = self._operator()
        self._place = next(at for at, node in enumerate(loop.body) if node is self.edges)
        affine = known(loop, Affine)
        self._lines: dict[str, Any] = {line.name: line for line in affine.lines} if affine else {}
        need(all(node.name in self._lines for node in loop.body if isinstance(node, ir.Assign)),
             "numbers of the host grow by a constant in each round")
        begun = flow.entries[id(loop)]
        first = begun.sets.get(self._entry)
        need(first is not None and (first.token == ir.ALL or first.vertices),
             "the vertices of the first set are named")
        self._starts: Any = first and first.vertices    # None for all vertices
        self._begun = begun.words
        self._stores = [node for node in program.body if isinstance(node, ir.ElementStore)]
        self._written = written(program, loop)
        self._after, self._before = self._chains()

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
             and not edges.transposed and edges.tracking in self._program.function(
                 edges.apply_f).writes(),
             "the operator goes from the loop's set to the loop's set")
        need(all(node is edges or node in ready or isinstance(node, ir.Assign) or (
            isinstance(node, ir.VertexSetIterator) and node.input_vset in taken)
            for node in self._loop.body),
            "a round has functions of the set, and numbers of the host")
        return edges

    def _at(self, node, place, later=0):
        """An expression or a statement at a place of the loop's body, in terms of the numbers at
        the beginning of the round, or of the round before if ``later`` is 1."""
        def change(part):
            if not (isinstance(part, ir.HostName) and part.name in self._lines):
                return None
            line = self._lines[part.name]
            rounds = later + (line.place < place)
            return _plus(part, rounds * line.step) if rounds else None

        return _mapped(node, change)

    def _chains(self):
        """What is done at a vertex that is added, as a function, and at the first set's. A function
        that stands before the operator is performed when its vertex is added."""
        ends, begins, before = [], [], []
        for at, node in enumerate(self._loop.body):
            if isinstance(node, ir.VertexSetIterator):
                function = self._program.function(node.apply_f)
                need(not any(isinstance(part, ir.Reduce) for part in ir.walk(*function.body)),
                     "functions of the set's vertices only store")
                if at > self._place and self._queue is None:
                    ends.append(self._at(function, at))
                else:
                    before.append(self._at(function, at))
                    begins.append(self._at(function, at, later=1))
        functions = ends + begins
        return (chained(functions, "added") if functions else None), tuple(before)

    # What both ways need

    def _form(self, conditions, values, after, **facts):
        """The form, with the conditions and the values of the reductions as they are emitted."""
        function, edges = self._program.function(self.edges.apply_f), self.edges
        found = effects(function)
        need(all(at_parameter(function, effect.index, 1) for effect in found)
             and len({effect.vector for effect in found}) == len(found),
             "the edges' function reduces each vector once, at the destination")
        suffices = known(edges, Suffices)
        suffices = suffices.edges if suffices else [None] * len(found)
        reductions = tuple(Reduction(
            effect.kind, effect.vector, value, "any" if known(edges, Early) is None
            and effect.kind != "+" and not _locals(value) - {function.parameters[1]} else each,
            facts["changes"] == "certain" and self._begins(effect.vector) == IDENTITY[effect.kind])
            for effect, value, each in zip(found, values, suffices, strict=True))
        tracked = next(at for at, one in enumerate(reductions) if one.vector == edges.tracking)
        drops = known(edges, Drops)
        form = FrontierForm(
            function=function, entry=self._entry, queue=self._queue,
            lines={name: line.step for name, line in self._lines.items()},
            conditions=tuple(conditions), reductions=reductions, tracked=tracked,
            before=self._before, after=self._live(after, conditions, values),
            drops=drops is not None and drops.ever and drops.by in (
                ("value",) if facts["early"] else ("source", "any")), **facts)
        need(all(map(self._constant, form.conditions)),
             "the conditions of edges read words that do not change")
        parts = [(node, function) for node in form.expressions()]
        parts += [(node, form.after) for node in (form.after.body if form.after else ())]
        need(all(_at_own(part, one.parameters) for node, one in parts for part in ir.walk(node)),
             "words and degrees are read at the ends of the edge, or at the vertex")
        return dataclasses.replace(form, drops=form.drops and all(
            map(form.by_target, form.conditions)))

    def _conditions(self):
        """The conditions under which an edge is accepted."""
        function = self._program.function(self.edges.apply_f)
        first, *others = (effect.conditions for effect in effects(function))
        need(all(other == first for other in others), "all reductions stand under one condition")
        tests = () if self.edges.to_filter is None else [
            with_vertex(node, SELF, function.parameters[1])
            for node in predicate(self._program.function(self.edges.to_filter))]
        return [self._at(node, self._place) for node in (*tests, *first)]

    def _changes(self):
        """When an accepted edge changes the tracked word."""
        changes = known(self.edges, Changes)
        need(changes is not None, "whether an edge changes a word is known")
        return changes.by

    def _constant(self, node):
        """Whether an expression reads nothing that changes in the loop."""
        return not names_in(node) & self._lines.keys() and not vectors_in(node) & self._written

    def _live(self, function, *others):
        """The function of added vertices without stores that nobody reads, and that are no stamps.
        """
        if function is None:
            return None
        live = set(self._program.outputs) | vectors_in(*function.body, *(
            node for nodes in others for node in nodes))
        function = without_stores(function, {vector.name for vector in self._program.vectors
                                             if vector.name not in live})
        if not function.body:
            return None
        need(not vectors_in(*function.body) & self._written,
             "functions of the set's vertices read words that do not change")
        return function

    def _begins(self, vector):
        """The word with which a vector begins at all vertices but those of the first set; None if
        that is not known."""
        words = self._begun.get(vector)
        own = set(self._starts or ())
        return words.default if words and {vertex for vertex, _ in words.stored} <= own else None

    # Stamps

    def stamped(self) -> FrontierForm:
        """The form of a loop with stamps. Raises Unproven."""
        edges, function = self.edges, self._program.function(self.edges.apply_f)
        conditions, changes = self._conditions(), self._changes()
        implied = self._implied()
        if implied is not None:
            conditions, changes = [implied], "certain"
        need(implied is not None or known(edges, Settles) is not None,
             "an operator settles its filter, or its reads may be early")
        need(self._queue is None and self._starts is not None, "the first set of a search is named")
        tests = [node for node in conditions if not self._constant(node)]
        found = _equality(tests[0]) if len(tests) == 1 else None
        need(found is not None and at_parameter(function, found[0].index, 1),
             "one word at the destination tells the vertices that were in no set")
        assert found is not None
        vector, never = found[0].vector, found[1]
        need(self._begins(vector) == never and self._differs(vector, never),
             f"{vector} tells the first set from all other vertices")
        need(vector not in function.writes() or vector == edges.tracking
             or changes == "certain", f"{vector} changes only where {edges.tracking} does")
        stamp, after = self._stamp(vector), self._after
        if after is not None and stamp is not None:
            after = without_stores(after, {vector})
        begun = {vector: never}
        if changes == "certain":
            begun |= {name: word for name in function.writes()
                      if (word := self._begins(name)) is not None}
        values = [_number(effect.value, 0) if stamp is not None and effect.vector == vector
                  else self._read(self._at(effect.value, self._place), begun, stamp)
                  for effect in effects(function)]
        form = self._form(
            [node for node in conditions if node is not tests[0]], values, after, changes=changes,
            early=False,
            stamp=stamp, closed=known(edges, Closed) is not None, superset=None, sends=False,
            void=True)
        need(all(self._linear(part.value) and part.type is Type.UINT for part in ir.walk(
            *form.expressions(), *(form.after.body if form.after else ()))
            if isinstance(part, ir.Uniform) and names_in(part) & self._lines.keys()),
            "numbers of the host that functions read grow by a constant")
        return form

    def _implied(self):
        """The condition that an operator has without a filter, whose only effect is to give a
        vertex its stamp: there is none yet. Otherwise None."""
        function, stamps = self._program.function(self.edges.apply_f), known(self._loop, Stamps)
        effect, *others = effects(function)
        stamp = stamps and stamps.stamp(effect.vector)
        if not stamp or others or effect.conditions or self.edges.to_filter is not None:
            return None
        load = ir.VectorLoad(vector=effect.vector, index=effect.index, type=Type.UINT,
                             position=effect.node.position)
        return ir.Binary(operation="==", left=load, type=Type.BOOL, position=load.position,
                         right=ir.Literal(value=stamp.never, type=Type.UINT,
                                          position=load.position))

    def _differs(self, vector, never):
        """Whether the vertices of the first set surely have another word before the first round's
        edges."""
        kind = self._program.vector(vector).type
        stored = [node for function in self._before for node in ir.walk(*function.body)
                  if isinstance(node, ir.VectorStore) and node.vector == vector]
        if any(node in function.body for node in stored for function in self._before):
            values = [node.value for node in stored]
        else:
            stores = [node for node in self._stores if node.vector == vector]
            if not {vertex for vertex, _ in self._begun[vector].stored} >= set(self._starts):
                return False
            values = [ir.Uniform(value=node.value, type=kind, position=node.position)
                      for node in (*stores, *stored)]
        spans = map(self._values.interval, values)
        return all(not low <= never <= high for low, high in spans)

    def _stamp(self, vector):
        """The stamps that the program itself has in a vector, or None. What is stored before the
        operator is stored in the round after the one that added the vertex."""
        stamps = known(self._loop, Stamps)
        found = stamps and stamps.stamp(vector)
        if not found:
            return None
        later = all(at < self._place for at, node in enumerate(self._loop.body)
                    if vector in written(self._program, node))
        first = found.first
        words = [node.value for node in self._stores if node.vector == vector]
        before = found.first is not None and all(
            isinstance(word, ir.Literal) and word.value == first - found.step for word in words)
        return Stamped(vector, found.number, found.plus + later * found.step, found.step,
                       later or before)

    def _read(self, node, begun, stamp):
        """An expression, with what is known in place of words that change in the loop. ``begun``
        has the words that vectors have where edges are accepted."""
        function = self._program.function(self.edges.apply_f)

        def change(part):
            if not isinstance(part, ir.VectorLoad) or part.vector not in self._written:
                return None
            if at_parameter(function, part.index, 0):
                # Words of a source do not change any more, and only stamps have other words.
                if stamp is None or part.vector != stamp.vector:
                    return None
                need(stamp.even, f"the {part.vector} of the first set are those of a round before")
                number = ir.HostName(name=stamp.number, type=Type.WHOLE, position=part.position)
                return ir.Uniform(value=_plus(number, stamp.plus - stamp.step), type=Type.UINT,
                                  position=part.position)
            need(at_parameter(function, part.index, 1) and part.vector in begun,
                 f"{part.vector} changes where it is read")
            return ir.Literal(value=begun[part.vector], type=part.type, position=part.position)

        return _mapped(node, change)

    def _linear(self, node):
        """Whether a value of the host is a sum of its numbers, times constants."""
        match node:
            case ir.HostName():
                return True
            case ir.Binary(operation="+" | "-"):
                return self._linear(node.left) and self._linear(node.right)
            case ir.Binary(operation="*"):
                return all(map(self._linear, (node.left, node.right))) and not all(
                    names_in(part) & self._lines.keys() for part in (node.left, node.right))
        return not names_in(node) & self._lines.keys()

    # Early reads

    def early(self) -> FrontierForm:
        """The form of a loop whose reads may be early. Raises Unproven."""
        edges, function = self.edges, self._program.function(self.edges.apply_f)
        found, void = effects(function), known(edges, Void)
        tracked = next(effect for effect in found if effect.vector == edges.tracking)
        conditions = [node for node in self._conditions() if not is_improvement(node, tracked)]
        superset = known(edges, Superset)
        need(self._queue is None or self._queue.delta is None or (
            tracked.kind == "min" and takes_all(self._program, self._queue)),
            "a queue with delta has the words that are reduced by min")
        return self._form(
            conditions, [effect.value for effect in found], self._after, early=True,
            changes=self._changes(), stamp=None, closed=False,
            superset=superset and tuple(with_vertex(test, SELF, function.parameters[0])
                                        for test in superset.test),
            sends=self._sends(tracked), void=void is not None and void.itself)

    def _sends(self, effect):
        """Whether all that an edge brings is the source's word, plus the weight if there are
        weights."""
        function, sent = self._program.function(self.edges.apply_f), known(self.edges, Sent)
        load = sent and sent.value
        if not (isinstance(load, ir.VectorLoad) and load.vector == effect.vector
                and at_parameter(function, load.index, 0)):
            return False
        return sent.form == ("sum" if self._program.weighted else "sent")


# Expressions

def _at_own(node, parameters):
    """Whether a node reads no word and no degree of a vertex other than these."""
    if not isinstance(node, ir.VectorLoad | ir.Degree):
        return True
    vertex = node.index if isinstance(node, ir.VectorLoad) else node.vertex
    return isinstance(vertex, ir.Local) and vertex.name in parameters


def _locals(node):
    return {part.name for part in ir.walk(node) if isinstance(part, ir.Local)}


def _mapped(node, change):
    """A node in which ``change`` has replaced the nodes for which it does not give None."""
    found = change(node)
    if found is not None:
        return found
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, ir.Node):
            changes[field.name] = _mapped(value, change)
        elif isinstance(value, tuple):
            changes[field.name] = tuple(_mapped(part, change) if isinstance(part, ir.Node)
                                        else part for part in value)
    return dataclasses.replace(node, **changes)


def _number(node, value):
    """A number in place of a node."""
    return ir.Literal(value=value, type=Type.WHOLE, position=node.position)


def _plus(node, number):
    """A value of the host plus a number."""
    return ir.Binary(operation="+", left=node, right=_number(node, number), type=Type.WHOLE,
                     position=node.position)


def _equality(node):
    """(load, word) if a condition compares a loaded word with a literal for equality."""
    match node:
        case ir.VectorLoad(type=Type.BOOL):
            return node, 1
        case ir.Unary(operation="not", operand=ir.VectorLoad() as load):
            return load, 0
        case ir.Binary(operation="==", left=ir.VectorLoad() as load, right=ir.Literal() as word) \
                if word.type in (Type.UINT, Type.VERTEX, Type.BOOL):
            return load, int(word.value)
    return None
