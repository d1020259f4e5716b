"""Facts about what an edge brings: what its source sends, what its test reads, and edges that
change nothing."""

import dataclasses

from sw.lang import graph_ir as ir
from sw.lang.effects import UNKNOWN, replaced
from sw.lang.facts import SELF, Apart, Identity, Membership, Needs, Sent, Void, known
from sw.lang.passes.operator_parts import OperatorParts, each_operator
from sw.lang.passes.rewrite import with_facts
from sw.lang.predicates import Knowledge, vectors_in, with_vertex
from sw.lang.types import WORD, Type


__all__ = ["sends"]


def sends(program):
    """Mark operators of edges with :class:`~sw.lang.facts.Sent`, :class:`~sw.lang.facts.Needs` and
    :class:`~sw.lang.facts.Void`."""
    values = Knowledge(program)
    found = {id(node): _Edge(program, values, node).facts()
             for node, _, _ in each_operator(program.body)}
    return with_facts(program, lambda node: found.get(id(node), ()))


class _Edge(OperatorParts):
    """An edge of one operator."""

    def facts(self):
        """The facts, some of them None."""
        return self._sent(), self._needs(), self._void()

    def _sent(self):
        found: list = []

        def gather(node):
            read = self._read(node)
            if not read & {"src", "src word", "elsewhere"}:
                return True
            if read <= {"src", "src word"}:
                found.append(node)
                return True
            if isinstance(node, ir.Local | ir.VectorLoad | ir.Degree):
                return False
            return all(gather(part) for part in node.parts())

        for effect in self._effects:
            if not all(gather(node) for node in (effect.index, effect.value, *effect.conditions)):
                return None
        if any(node != found[0] for node in found):
            return None
        if not found:
            return Sent(value=None, form="other", why="nothing of the source is read")
        value = found[0]
        return Sent(value=value, form=self._form(value),
                    why="one expression of the source in all reductions and conditions")

    def _form(self, value):
        brings = [effect for effect in self._effects if effect.vector in vectors_in(value)
                  or not self._read(effect.value) <= {"dst", "dst word"}]
        if not brings:
            return "other"
        if all(effect.value == value for effect in brings):
            return "sent"
        if all(isinstance(effect.value, ir.Binary) and effect.value.operation == "+" and any(
                one == value and self._at(other, self._weight) for one, other in (
                    (effect.value.left, effect.value.right),
                    (effect.value.right, effect.value.left))) for effect in brings):
            return "sum"
        return "other"

    def _needs(self):
        test = set()
        for part in self._test:
            read = self._read(with_vertex(part, SELF, self._target))
            test |= read
        test |= self._read(*(each for effect in self._effects for each in effect.conditions))
        improvement = {"dst word"} | self._read(*(
            part for effect in self._effects if effect.kind != "+"
            for part in (effect.value,)))
        if all(effect.kind == "+" for effect in self._effects):
            improvement = set()
        return Needs(test=frozenset(test), improvement=frozenset(improvement),
                     why="the text of the filter and of the conditions")

    # Edges that change nothing

    def _void(self):
        itself = known(self._node, Apart) is not None or all(map(self._is_still, self._effects))
        source, target = self._void_source(), self._void_target()
        if not itself and source is None and target is None:
            return None
        return Void(itself=itself, source=source, target=target,
                    why="the function with both ends equal, and with these words")

    def _is_still(self, effect):
        """Whether an edge of weight 0 from a vertex to itself has no effect."""
        def loop(part):
            if self._at(part, self._source):
                return dataclasses.replace(part, name=self._target)
            if self._weight is not None and self._at(part, self._weight):
                return ir.Literal(value=0, type=part.type, position=part.position)
            return None

        conditions = [replaced(test, loop) for test in effect.conditions]
        if any(self._values.truth(test) is False for test in conditions):
            return True
        value, index = _plain(replaced(effect.value, loop)), replaced(effect.index, loop)
        if not self._at(index, self._target):
            return False
        if effect.kind == "+":
            return self._values.interval(value) == (0, 0)
        return isinstance(value, ir.VectorLoad) and value.vector == effect.vector \
            and self._at(value.index, self._target)

    def _void_source(self):
        """Words of a source with which an edge of weight 0 does nothing."""
        read = sorted({part.vector for effect in self._effects
                       for part in ir.walk(effect.value, *effect.conditions)
                       if isinstance(part, ir.VectorLoad) and self._at(part.index, self._source)})
        for vector in read:
            for word in self._words(vector):
                if all(self._does_nothing(effect, vector, word) for effect in self._effects):
                    return ((vector, word),)
        members = known(self._node, Membership)
        for vector in sorted(vectors_in(*members.test)) if members else ():
            for word in reversed(self._words(vector)):
                if self._is_false(members.test, vector, word):
                    return ((vector, word),)
        return None

    def _does_nothing(self, effect, vector, word):
        def change(part):
            if isinstance(part, ir.VectorLoad) and self._at(part.index, self._source):
                return _word_or_unknown(part, vector, word)
            if self._weight is not None and self._at(part, self._weight):
                return ir.Literal(value=0, type=part.type, position=part.position)
            return None

        if any(self._values.truth(replaced(test, change)) is False for test in effect.conditions):
            return True
        identity = known(effect.node, Identity).word
        return self._values.interval(_plain(replaced(effect.value, change))) == (identity, identity)

    def _void_target(self):
        """Words of a destination with which the filter is false."""
        return next((((vector, word),) for vector in sorted(vectors_in(*self._test))
                     for word in self._words(vector)
                     if self._is_false(self._test, vector, word)), None)

    def _words(self, vector):
        """The smallest and the largest word of a vector's type."""
        return 0, 1 if self._program.vector(vector).type is Type.BOOL else WORD - 1

    def _is_false(self, test, vector, word):
        def change(part):
            if not isinstance(part, ir.VectorLoad):
                return None
            return _word_or_unknown(part, vector if self._at(part.index, SELF) else None, word)

        return any(self._values.truth(replaced(part, change)) is False for part in test)


def _word_or_unknown(load, vector, word):
    """The word of a vertex that is not there, of which one vector's word is known."""
    if load.vector == vector:
        return ir.Literal(value=word, type=load.type, position=load.position)
    return ir.Local(name=UNKNOWN, type=load.type, position=load.position)


def _plain(node):
    """An expression without additions of 0, and without products with 0 of numbers."""
    match node:
        case ir.Binary(operation="+", left=left, right=ir.Literal(value=0)):
            return _plain(left)
        case ir.Binary(operation="+", left=ir.Literal(value=0), right=right):
            return _plain(right)
    return node
