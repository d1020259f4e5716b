"""Facts about operators of edges: which edges count, and what an operator leaves true.

A filter T of destinations is settled by its operator if what the operator stores makes T false, and
nothing in the loop makes it true again. That is decided by putting what is stored in place of the
word in T.
"""

import itertools

from sw.lang import graph_ir as ir
from sw.lang.effects import effects, replaced, stored
from sw.lang.facts import (SELF, Changes, Closed, Drops, Fails, Membership, OneWay, Settles,
                           Stamps, Suffices, known)
from sw.lang.flow import flow_of, keeps
from sw.lang.passes.early import is_improvement
from sw.lang.passes.operator_parts import OperatorParts, each_operator
from sw.lang.passes.rewrite import with_facts
from sw.lang.predicates import TURNED, has_unknown, names_in, vectors_in, with_vertex
from sw.lang.types import WORD, Type
from sw.lang.uses import assigned, written


__all__ = ["operators"]


def operators(program):
    """Mark operators of edges with :class:`~sw.lang.facts.Settles`,
    :class:`~sw.lang.facts.Suffices`, :class:`~sw.lang.facts.Changes`,
    :class:`~sw.lang.facts.Closed`, :class:`~sw.lang.facts.Drops` and
    :class:`~sw.lang.facts.Fails`."""
    flow = flow_of(program)
    found = {id(node): _Operator(flow, node, loop, block).facts()
             for node, loop, block in each_operator(program.body)}
    return with_facts(program, lambda node: found.get(id(node), ()))


class _Operator(OperatorParts):
    """One operator while its facts are found."""

    def __init__(self, flow, node, loop, block):
        super().__init__(flow.program, flow.values, node)
        self._flow, self._loop, self._block = flow, loop, block
        one_way = None if loop is None else known(loop, OneWay)
        self._changing = set() if loop is None else written(self._program, loop)
        self._falls = one_way.falls if one_way else frozenset()
        self._rises = one_way.rises if one_way else frozenset()

    def facts(self):
        """The facts, some of them None."""
        settles = self._settles()
        suffices = self._suffices()
        changes = self._changes(settles)
        return (settles, suffices, changes, self._closed(settles, changes),
                self._drops(settles, suffices, changes), self._fails())

    def _after(self, effect, load):
        """The word behind an effect, of the word before it."""
        if effect.kind == "store":
            return effect.value
        return ir.Binary(operation="|" if effect.kind == "or" else effect.kind, left=load,
                         right=effect.value, type=load.type, position=load.position)

    # Settled filters

    def _settles(self):
        if not self._test or self._loop is None or any(map(has_unknown, self._test)) \
                or not self._stays_false():
            return None
        def why(vector, by):
            return (f"{self._node.to_filter} is false where {by} writes {vector}, and nothing in "
                    "the loop makes it true")

        conditions = self._conditions
        if conditions is not None:
            for effect in self._effects:
                if self._at(effect.index, self._target) and self._makes_false(
                        effect.vector, lambda load, effect=effect: self._after(effect, load)):
                    return Settles(functions=(), why=why(effect.vector, self._node.apply_f))
        name = self._node.output_vset
        if name is None:
            return None
        # What stands before the operator is performed in the next round, before it begins again.
        place = next(i for i, node in enumerate(self._block) if node is self._node)
        again = self._block[:place] if self._block is self._loop.body else ()
        for node in (*self._block[place + 1:], *again):
            if isinstance(node, ir.VertexSetIterator) and node.input_vset == name:
                function = self._program.function(node.apply_f)
                for vector, (word, sure) in stored(function).items():
                    word = with_vertex(word, function.parameters[0])
                    if sure and not vectors_in(word) and not has_unknown(word) \
                            and self._makes_false(vector, lambda load, word=word: word):
                        return Settles(functions=(node.apply_f,),
                                       why=why(vector, node.apply_f))
            if name in _made(node):
                return None
        return None

    def _makes_false(self, vector, after):
        """Whether the filter is false once a vector has a word."""
        def change(part):
            return after(part) if isinstance(part, ir.VectorLoad) and part.vector == vector \
                and self._at(part.index, SELF) else None

        return any(self._values.truth(replaced(test, change)) is False for test in self._test)

    def _stays_false(self):
        """Whether nothing in the loop makes the filter true where it is false."""
        if names_in(*self._test) & (assigned(self._loop) | _sizes(*self._test)):
            return False
        vectors = vectors_in(*self._test)
        for node in ir.instructions(self._loop.body):
            if isinstance(node, ir.ElementStore) and node.vector in vectors:
                return False
            if isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator):
                function = self._program.function(node.apply_f)
                owner = None if function.of_edge else function.parameters[0]
                if not all(keeps(self._values, effect, test, owner)[1]
                           for effect in effects(function) for test in self._test):
                    return False
        return True

    # Edges that count

    def _suffices(self):
        if self._conditions is None:
            return None
        found = tuple(self._enough(effect) for effect in self._effects)
        return None if not any(found) else Suffices(
            edges=found, why="the value is the same for all edges, or is the source's number")

    def _enough(self, effect):
        if effect.kind == "+" or not self._at(effect.index, self._target):
            return None
        if self._read(effect.value) <= {"dst", "dst word"}:
            return "any"
        value = effect.value
        if isinstance(value, ir.Unary) and value.operation == "uint":
            value = value.operand
        return "first" if effect.kind == "min" and self._at(value, self._source) else None

    def _changes(self, settles):
        tracking = self._node.tracking
        if tracking is None:
            return None
        own = [effect for effect in self._effects if effect.vector == tracking]
        kind = own[0].kind
        together = self._conditions is not None and all(
            self._at(effect.index, self._target) for effect in own)
        low, high = self._values.interval(own[0].value)
        fresh = self._begins_fresh(tracking, WORD - 1 if kind == "min" else 0)
        if kind == "+":
            whole = self._program.vector(tracking).type is Type.UINT
            if together and low > 0 and whole and self._values.ranges.get(
                    tracking, (0, WORD - 1))[1] < WORD - 1:
                return Changes(by="certain", fresh=fresh, why="a number above 0 is added")
            if together and len(own) == 1:
                return Changes(by="addend", fresh=fresh, why="a sum changes by all that is not 0")
            return None
        never = high < WORD - 1 if kind == "min" else low > 0
        if together and never and settles is not None and self._is_fresh(tracking, kind):
            return Changes(by="certain", why=f"{tracking} is {WORD - 1 if kind == 'min' else 0} "
                           f"where {self._node.to_filter} is true, and no edge brings that")
        return Changes(by="atomic", fresh=fresh, why=f"{kind} moves one way" + fresh * (
            ", from the identity"))

    def _begins_fresh(self, vector, word):
        """Whether a vector has a word at every vertex, whenever the operator begins: it begins so,
        and nothing before the operator writes it; or the word is stored again at the vertices that
        the operator changes."""
        def restores(node):
            return isinstance(node, ir.VertexSetIterator) and all(
                effect.kind == "store" and isinstance(effect.value, ir.Literal)
                and effect.value.value == word
                for effect in effects(self._program.function(node.apply_f))
                if effect.vector == vector)

        first = self._program.vector(vector).initial
        if not (isinstance(first, ir.Literal) and first.value == word):
            return False
        if self._loop is None and not any(
                vector in written(self._program, node) for node in itertools.takewhile(
                    lambda node: node is not self._node, ir.instructions(self._program.body))):
            return True
        if not all(
                node is self._node or vector not in written(self._program, node) or restores(node)
                or isinstance(node, ir.WhileLoop | ir.ForLoop | ir.HostBranch)
                for node in ir.instructions(self._program.body)):
            return False
        place = next(at for at, node in enumerate(self._block) if node is self._node)
        for node in self._block[place + 1:]:
            if isinstance(node, ir.VertexSetIterator) and restores(node) \
                    and node.input_vset in (ir.ALL, self._node.output_vset) \
                    and stored(self._program.function(node.apply_f)).get(vector, (0, False))[1]:
                return True
            if self._node.output_vset in assigned(node):
                return False
        return False

    def _is_fresh(self, vector, kind):
        """Whether a vector has the identity of a reduction wherever the filter is true, whenever
        the operator begins."""
        word = WORD - 1 if kind == "min" else 0
        here = {"position": self._node.position}
        kinds = self._program.vector(vector).type
        load = ir.VectorLoad(vector=vector, type=kinds, **here, index=ir.Local(
            name=SELF, type=Type.VERTEX, **here))
        other = ir.Binary(operation="!=", left=load, type=Type.BOOL, **here,
                          right=ir.Literal(value=word, type=kinds, **here))
        if self._values.excludes(self._test, (other,)):
            return True
        places = self._flow.places(self._flow.entries[id(self._loop)], (*self._test, other))
        others = [node for node in ir.instructions(self._loop.body) if node is not self._node
                  and vector in written(self._program, node)
                  and not isinstance(node, ir.HostBranch)]
        return places is not None and not places[0] and not any(places[1].values()) and not others

    def _closed(self, settles, changes):
        members = known(self._node, Membership)
        stamps = None if self._loop is None else known(self._loop, Stamps)
        if settles is None or changes is None or changes.by != "certain" or members is None \
                or stamps is None or self._conditions != () or self._loop is None \
                or not any(node is self._node for node in self._loop.body):
            return None
        match members.test:
            case (ir.Binary(operation="==", left=ir.VectorLoad(vector=vector)),) \
                    if stamps.stamp(vector) is not None:
                words = self._flow.entries[id(self._loop)].words[vector]
                if len({word for _, word in words.stored}) <= 1:
                    return Closed(why=f"each edge of a member changed its end for sure, and so "
                                  f"settled {self._node.to_filter}")
        return None

    def _drops(self, settles, suffices, changes):
        if not self._effects or not all(self._at(effect.index, self._target)
                                        for effect in self._effects):
            return None
        if suffices is not None and all(suffices.edges):
            # An accepted edge of an earlier round has left the filter false.
            ever = settles is not None and (not settles.functions or (
                changes is not None and changes.by == "certain"))
            key = "source" if "first" in suffices.edges else "any"
            return Drops(by=key, ever=ever, why="such an edge suffices")
        # A number that is the same for all edges, and in all rounds, is brought by either edge.
        first, *others = sorted(self._effects, key=_is_constant)
        if first.kind not in ("min", "max") or self._conditions is None \
                or has_unknown(first.value) or any(
                    (effect.kind, effect.value) != (first.kind, first.value)
                    and not _is_constant(effect) for effect in others):
            return None
        if not all(is_improvement(test, first) or not self._read(test) & {
                "dst word", "elsewhere"} for test in first.conditions):
            return None
        return Drops(by="value" if first.kind == "min" else "largest value",
                     ever=all(effect.vector in (self._falls if effect.kind == "min"
                                                else self._rises) for effect in self._effects),
                     why=f"{first.kind} of one value")

    def _fails(self):
        if self._loop is None or (self._test and (any(map(has_unknown, self._test))
                                                  or not self._stays_false())):
            return None
        for effect in self._effects:
            if not self._at(effect.index, self._target):
                return None
            way = {"min": self._falls, "max": self._rises, "or": self._rises}.get(effect.kind)
            if way is not None and effect.vector not in way:
                return None
            if not all(is_improvement(test, effect) or self._refuses_later(test)
                       for test in effect.conditions):
                return None
        return Fails(why="what the tests read at the destination moves one way in the loop")

    def _refuses_later(self, test):
        """Whether a condition that is false by older words at the destination is false by those of
        now."""
        changing = self._changing

        def stays(node):
            return not {part.vector for part in ir.walk(node) if isinstance(part, ir.VectorLoad)
                        and not self._at(part.index, self._source)} & changing

        if stays(test):
            return True
        if not isinstance(test, ir.Binary) or test.operation not in TURNED:
            return False
        for load, other, name in ((test.left, test.right, test.operation),
                                  (test.right, test.left, TURNED[test.operation])):
            if isinstance(load, ir.VectorLoad) and self._at(load.index, self._target) \
                    and stays(other):
                return load.vector in {">": self._falls, ">=": self._falls, "<": self._rises,
                                       "<=": self._rises}.get(name, ())
        return False


def _is_constant(effect):
    return effect.kind in ("min", "max", "or") and isinstance(effect.value, ir.Literal)


def _sizes(*nodes):
    return {part.name for part in ir.walk(*nodes) if isinstance(part, ir.SetSize)}


def _made(node):
    """The names to which an instruction, or one in it, gives a set."""
    return {getattr(each, "output_vset", None) for each in ir.instructions((node,))} | {
        each.name for each in ir.instructions((node,))
        if isinstance(each, ir.Assign | ir.NewVertexSet | ir.NewQueue)}
