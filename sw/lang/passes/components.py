"""Loops that find the least vertex of each component, in every order of calls.

Such a loop lowers a vector of vertices, the *labels*, which begin as each vertex itself (Shiloach
and Vishkin, 1982, and what came after). What is proved of it, for any functions:

*connected*
    What is written into a label is a vertex that edges lead to and fro: an end of the edge, its
    label, the label of a label, or the smaller or larger of two of these. So the label of the
    component's smallest vertex m stays m.
*falls*
    Edges reduce labels by ``min``, and functions of vertices store no more than the label of their
    own label, or of a longer chain. No label of x is larger than x, so a chain of labels falls.
*asks*
    The loop goes on while one operator of all edges has marked a vertex. An edge whose ends have
    different labels marks one, surely; one whose ends have equal labels does not. An edge that
    changes a label of the operator marks a vertex, too. So an operator that marks none has changed
    no label, has seen the same labels everywhere, and found equal ones at the ends of every edge:
    each is m, and nothing in the loop changes that.
*goes on*
    If labels a < b stand at the ends of an edge that marks a vertex, a label falls in this round:
    that of the end with b, which is reduced to a; or that of the vertex b is reduced to a, and
    every vertex then takes the label of its label, or of a longer chain. As words only fall, the
    loop ends.

Where each edge has one back, it is enough if this holds for one of the two. Whatever else the
operators of the loop change must not depend on what the loop changes, and be the same if it is done
twice; then reads may see changes of the same operator.
"""

import types
from collections.abc import Mapping
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.effects import effects
from sw.lang.facts import OrderFree
from sw.lang.faults import kinds_of
from sw.lang.passes.early import asks_for_vertices, read_elsewhere
from sw.lang.passes.rewrite import with_facts
from sw.lang.predicates import names_in, vectors_in
from sw.lang.types import Type
from sw.lang.uses import assigned, called, written


__all__ = ["components"]


#: What a loop may do in a round.
_PARTS = ir.Assign | ir.EdgeSetIterator | ir.VertexSetIterator | ir.VertexFilter

#: {comparison: whether it holds, by the sign of left - right}.
_HOLDS = {"==": {0}, "!=": {-1, 1}, "<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {0, 1}}


def components(program):
    """Mark loops with :class:`~sw.lang.facts.OrderFree`."""
    def facts(node):
        if isinstance(node, ir.WhileLoop):
            for vector in program.vectors:
                if _begins_as_itself(vector) and _Proof(program, node, vector.name).holds():
                    yield OrderFree(vector=vector.name, why=(
                        "labels that begin as the vertices only fall within their component, until "
                        "they are equal at the ends of every edge"))

    return with_facts(program, facts)


def _begins_as_itself(vector):
    return isinstance(vector.initial, ir.Local) and vector.initial.name == vector.variable


class _Proof:
    """What is known of a loop and its labels.

    Parameters
    ----------
    program : GraphProgram
    loop : WhileLoop
    labels : str
        The vector.
    """

    def __init__(self, program, loop, labels):
        self._program, self._loop, self._labels = program, loop, labels
        self._changing = written(program, loop)
        self._asked: Any = self._operator()

    def holds(self) -> bool:
        """Whether the labels end as the least vertex of each component, whatever the order."""
        loop, program = self._loop, self._program
        numbers = {node.name for node in loop.body if isinstance(node, ir.Assign)
                   and node.value.type is not Type.VERTEXSET}
        if self._asked is None or not all(isinstance(node, _PARTS) for node in loop.body) \
                or read_elsewhere(program, loop, numbers):
            return False
        operators = [node for node in loop.body if called(node)[0] is not None]
        return (self._unchanged_outside() and self._unmarked()
                and all(map(self._cannot_fail, operators))
                and all(map(self._may_race, operators)) and self._once_each(operators)
                and self._asks() and self._goes_on())

    def _operator(self):
        """The operator of all edges that the loop's condition asks, or None."""
        sets: dict[Any, Any] = {}
        for node in self._loop.body:
            match node:
                case ir.Assign(value=ir.HostName(name=other, type=Type.VERTEXSET)):
                    sets[node.name] = sets.get(other)
                case ir.EdgeSetIterator() | ir.VertexFilter():
                    sets[node.output_vset] = node
        found = sets.get(asks_for_vertices(self._loop.condition))
        if isinstance(found, ir.EdgeSetIterator) and found.input_vset == ir.ALL \
                and found.to_filter is None and found.tracking not in (None, self._labels):
            return found
        return None

    def _function(self, node):
        return self._program.function(called(node)[0])

    def _unchanged_outside(self):
        """Whether nothing outside of the loop changes labels or marks, and marks begin as 0."""
        inside = {id(node) for node in ir.instructions((self._loop,))}
        outside = [node for node in ir.instructions(self._program.body) if id(node) not in inside]
        stored = {node.vector for node in outside if isinstance(node, ir.ElementStore)}
        for node in outside:
            if isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator):
                stored |= self._function(node).writes()
        first = self._program.vector(self._asked.tracking).initial
        return isinstance(first, ir.Literal) and first.value == 0 and stored.isdisjoint(
            {self._labels, self._asked.tracking})

    def _unmarked(self):
        """Whether each round takes all marks away, and only the operator that is asked sets any."""
        marks = self._asked.tracking
        clearing = [node for node in self._loop.body if node is not self._asked
                    and called(node)[0] is not None and marks in self._function(node).writes()]
        return len(clearing) == 1 and isinstance(clearing[0], ir.VertexSetIterator) \
            and clearing[0].input_vset == ir.ALL and all(
                isinstance(effect.value, ir.Literal) and effect.value.value == 0
                and not effect.conditions for effect in effects(self._function(clearing[0]))
                if effect.vector == marks)

    def _cannot_fail(self, node):
        """Whether no call fails that may read what the loop changes: it takes vertices from labels
        only."""
        for name in filter(None, called(node)):
            function = self._program.function(name)
            if not function.reads() & self._changing:
                continue
            lets: dict[str, list] = {}
            for part in ir.walk(*function.body):
                if isinstance(part, ir.Let):
                    lets.setdefault(part.name, []).append(part.value)
            for part in ir.walk(*function.body):
                faults = set(kinds_of(part, function.parameters))
                index = getattr(part, "vertex" if isinstance(part, ir.Degree) else "index", None)
                if "index" in faults and self._is_connected(function, index, lets):
                    faults.discard("index")
                if faults:
                    return False
        return True

    def _is_connected(self, function, node, lets: Mapping = types.MappingProxyType({})):
        """Whether a value surely is a vertex of the component of the call. ``lets`` has the values
        of local variables."""
        match node:
            case ir.Local(name=name) if name in lets:
                return all(self._is_connected(function, value, lets) for value in lets[name])
            case ir.Local(name=name):
                return name in function.parameters[:1 + function.of_edge]
            case ir.VectorLoad(vector=vector, index=index):
                return vector == self._labels and self._is_connected(function, index, lets)
            case ir.Binary(operation="min" | "max", left=left, right=right):
                return self._is_connected(function, left, lets) \
                    and self._is_connected(function, right, lets)
            case ir.Select(then=left, otherwise=right):
                return self._is_connected(function, left, lets) \
                    and self._is_connected(function, right, lets)
        return False

    # Changes

    def _stays(self, *values):
        """Whether values are the same in every round."""
        return not vectors_in(*values) & self._changing and not names_in(*values) & (
            assigned(self._loop))

    def _may_race(self, node):
        """Whether all that an operator changes is right in every order."""
        return all(self._falls(self._function(node), effect) if effect.vector == self._labels
                   else self._marks(node, effect) if effect.vector == self._asked.tracking
                   else self._is_same(node, effect) for effect in (
                       effects(self._function(node)) if not isinstance(node, ir.VertexFilter)
                       else ()))

    def _falls(self, function, effect):
        """Whether a label only becomes smaller, within its component."""
        if not self._is_connected(function, effect.value):
            return False
        if function.of_edge:
            return effect.kind == "min" and self._is_connected(function, effect.index)
        return effect.kind == "store" and self._depth(function, effect.value) > 0

    def _marks(self, node, effect):
        """Whether a mark is taken away, or set by the operator that is asked."""
        if node is not self._asked:
            return True                                         # see _unmarked
        return (effect.kind in ("or", "max") and isinstance(effect.value, ir.Literal)
                and effect.value.value > 0 and self._end(effect.index) is not None)

    def _is_same(self, node, effect):
        """Whether an effect is the same in every round, and done twice without harm."""
        filters = [self._program.function(name).body for name in called(node)[1:] if name]
        return (effect.kind in ("store", "min", "max", "or") and node.input_vset == ir.ALL
                and self._stays(effect.index, effect.value, *effect.conditions, *sum(filters, ())))

    def _once_each(self, operators):
        """Whether each vector but the labels and marks is changed by one operator, in one way."""
        ways: dict[str, set] = {}
        for node in operators:
            for effect in effects(self._function(node)):
                if effect.vector not in (self._labels, self._asked.tracking):
                    ways.setdefault(effect.vector, set()).add((id(node), effect.kind))
        return all(len(found) == 1 for found in ways.values())

    def _depth(self, function, node):
        """The length of a chain of labels from the own vertex that a value does not exceed."""
        match node:
            case ir.VectorLoad(vector=self._labels, index=index):
                inner = index
                depth = 1
                while isinstance(inner, ir.VectorLoad) and inner.vector == self._labels:
                    inner, depth = inner.index, depth + 1
                own = isinstance(inner, ir.Local) and inner.name == function.parameters[0]
                return depth if own else 0
            case ir.Binary(operation="min", left=left, right=right):
                return max(self._depth(function, left), self._depth(function, right))
        return 0

    # The operator that is asked

    def _end(self, node):
        """0 for the source of the operator that is asked, 1 for the destination, or None."""
        parameters = self._function(self._asked).parameters[:2]
        return parameters.index(node.name) if isinstance(node, ir.Local) \
            and node.name in parameters else None

    def _rank(self, node, order) -> Any:
        """Where labels of the ends are in this order: 0 if a value is the smaller one, 1 if it is
        the larger one, None if it is neither."""
        match node:
            case ir.VectorLoad(vector=self._labels, index=index):
                end = self._end(index)
                return None if end is None else int(order > 0) if end == 0 else int(order < 0)
            case ir.Binary(operation="min" | "max" as name, left=left, right=right):
                ranks = self._rank(left, order), self._rank(right, order)
                return None if None in ranks else min(ranks) if name == "min" else max(ranks)
        return None

    def _is_true(self, node, order):
        """Whether a condition is true where labels of the ends are in this order; None if that is
        not certain."""
        match node:
            case ir.Unary(operation="not", operand=operand):
                found = self._is_true(operand, order)
                return None if found is None else not found
            case ir.Binary(operation="and" | "or" as name, left=left, right=right):
                decides = name == "or"
                found = self._is_true(left, order), self._is_true(right, order)
                return decides if decides in found else None if None in found else not decides
            case ir.Binary() if node.operation in _HOLDS:
                ranks = self._rank(node.left, order), self._rank(node.right, order)
                if None not in ranks:
                    sign = (ranks[0] > ranks[1]) - (ranks[0] < ranks[1])
                    return sign in _HOLDS[node.operation]
        return None

    def _happens(self, effect, order):
        """As :meth:`_is_true`, for all conditions of an effect."""
        found = [self._is_true(test, order) for test in effect.conditions]
        return False if False in found else None if None in found else True

    def _asks(self):
        """Whether marks tell that labels differ at the ends of an edge."""
        found = effects(self._function(self._asked))
        marks = [effect for effect in found if effect.vector == self._asked.tracking]
        changes = [effect for effect in found if effect.vector == self._labels]
        surely = [any(self._happens(mark, order) for mark in marks) for order in (-1, 1)]
        enough = any if "symmetric" in self._program.needs else all
        return (enough(surely) and all(self._happens(mark, 0) is False for mark in marks)
                and all(any(_implies(change, mark) for mark in marks) for change in changes))

    def _goes_on(self):
        """Whether a label falls in each round in which an edge marks a vertex."""
        found = effects(self._function(self._asked))
        marks = [effect for effect in found if effect.vector == self._asked.tracking]
        changes = [effect for effect in found if effect.vector == self._labels]
        follows = any(map(self._shortens, self._loop.body))

        def lowers(change, order):
            if self._rank(change.value, order) != 0:
                return False
            end = self._end(change.index)
            if end is not None:
                return end == int(order < 0)
            return follows and self._rank(change.index, order) == 1

        return all(any(_implies(mark, change) and lowers(change, order) for change in changes)
                   for order in (-1, 1) for mark in marks
                   if self._happens(mark, order) is not False)

    def _shortens(self, node):
        """Whether every vertex takes the label of its label, or of a longer chain."""
        if not isinstance(node, ir.VertexSetIterator) or node.input_vset != ir.ALL:
            return False
        function = self._function(node)
        for effect in effects(function):
            if effect.vector == self._labels and self._depth(function, effect.value) > 1 \
                    and all(self._is_shorter(function, test) for test in effect.conditions):
                return True
        return False

    def _is_shorter(self, function, test):
        """Whether a condition is true where such a chain ends with a smaller label than the own."""
        match test:
            case ir.Binary(operation="!=" | "<" | ">" as name, left=left, right=right):
                depths = [self._depth(function, node) for node in (left, right)]
                own = [isinstance(node, ir.VectorLoad) and depth == 1
                       for node, depth in zip((left, right), depths)]
                return (name != ">" and depths[0] > 1 and own[1]) \
                    or (name != "<" and depths[1] > 1 and own[0])
        return False


def _implies(one, other):
    """Whether a call that has one effect has the other: its conditions, as they were evaluated,
    stand around the one, too."""
    return len(other.conditions) <= len(one.conditions) and all(
        mine is its for mine, its in zip(one.conditions, other.conditions))
