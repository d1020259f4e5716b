"""Facts about operators of edges: which edges count, what an edge brings, and what it leaves true.

A filter T of destinations is settled by its operator if what the operator stores makes T false, and
nothing in the loop makes it true again. That is decided by putting what is stored in place of the
word in T.
"""

import dataclasses

from sw.lang import graph_ir as ir
from sw.lang.effects import UNKNOWN, effects, replaced, stored
from sw.lang.facts import (SELF, Apart, Changes, Closed, Drops, Fails, Identity, Members, Needs,
                           OneWay, Sent, Settles, Stamps, Suffices, Void, known)
from sw.lang.flow import Flow, keeps, written
from sw.lang.passes.early import is_improvement
from sw.lang.passes.kernel_fusion import assigned
from sw.lang.passes.rewrite import with_facts
from sw.lang.predicates import (TURNED, has_unknown, names_in, predicate, vectors_in,
                                with_vertex)
from sw.lang.types import WORD, Type


__all__ = ["operators"]


def operators(program):
    """Mark operators of edges with :class:`~sw.lang.facts.Settles`,
    :class:`~sw.lang.facts.Suffices`, :class:`~sw.lang.facts.Changes`,
    :class:`~sw.lang.facts.Closed`, :class:`~sw.lang.facts.Drops`, :class:`~sw.lang.facts.Fails`,
    :class:`~sw.lang.facts.Sent`, :class:`~sw.lang.facts.Needs` and :class:`~sw.lang.facts.Void`.
    """
    flow = Flow(program)
    found = {id(node): _Operator(flow, node, loop, block).facts()
             for node, loop, block in _operators(program.body, None)}
    return with_facts(program, lambda node: found.get(id(node), ()))


def _operators(body, loop):
    """(operator, loop, block) of all operators of edges."""
    for node in body:
        match node:
            case ir.EdgeSetIterator():
                yield node, loop, body
            case ir.WhileLoop() | ir.ForLoop():
                yield from _operators(node.body, node)
            case ir.HostBranch():
                yield from _operators(node.then, loop)
                yield from _operators(node.otherwise, loop)


class _Operator:
    """One operator while its facts are found."""

    def __init__(self, flow, node, loop, block):
        self._flow, self._values, self._program = flow, flow.values, flow.program
        self._node, self._loop, self._block = node, loop, block
        self._function = self._program.function(node.apply_f)
        self._source, self._target, *weight = self._function.parameters
        self._weight = weight[0] if weight else None
        self._effects = effects(self._function)
        self._test = () if node.to_filter is None else predicate(
            self._program.function(node.to_filter))
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
                self._drops(settles, suffices, changes), self._fails(), self._sent(),
                self._needs(), self._void())

    # Parts of the function

    def _at(self, index, name):
        return isinstance(index, ir.Local) and index.name == name

    @property
    def _conditions(self):
        """The conditions under which all effects happen; None if they differ."""
        first, *others = (effect.conditions for effect in self._effects) if self._effects else ((),)
        same = all(len(first) == len(each) and all(a is b for a, b in zip(first, each))
                   for each in others)
        return first if same else None

    def _read(self, *nodes):
        """What expressions read: the names that :class:`~sw.lang.facts.Needs` has."""
        found = set()
        for node in nodes:
            match node:
                case ir.VectorLoad() | ir.Degree():
                    vertex = node.index if isinstance(node, ir.VectorLoad) else node.vertex
                    end = next((end for end, name in (("src", self._source),
                                                      ("dst", self._target))
                                if self._at(vertex, name)), None)
                    if end is None:
                        found |= {"elsewhere"} | self._read(vertex)
                    else:
                        found.add(f"{end} word")
                case ir.Local(name=name):
                    found.add({self._source: "src", self._target: "dst",
                               self._weight: "weight"}.get(name, "elsewhere"))
                case ir.Uniform():
                    pass
                case _:
                    found |= self._read(*node.parts())
        return found

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
        if name is None or self._node.tracking is None or self._block is None:
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

        return any(vectors_in(test) == {vector}
                   and self._values.truth(replaced(test, change)) is False for test in self._test)

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
        if kind == "+":
            whole = self._program.vector(tracking).type is Type.UINT
            if together and low > 0 and whole and self._values.ranges.get(
                    tracking, (0, WORD - 1))[1] < WORD - 1:
                return Changes(by="certain", why="a number above 0 is added")
            if together and len(own) == 1:
                return Changes(by="addend", why="a sum changes by all that is not 0")
            return None
        never = high < WORD - 1 if kind == "min" else low > 0
        if together and never and settles is not None and self._is_fresh(tracking, kind):
            return Changes(by="certain", why=f"{tracking} is {WORD - 1 if kind == 'min' else 0} "
                           f"where {self._node.to_filter} is true, and no edge brings that")
        return Changes(by="atomic", why=f"{kind} moves one way")

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
                  and not isinstance(node, ir.WhileLoop | ir.ForLoop | ir.HostBranch)]
        return places is not None and not places[0] and not any(places[1].values()) and not others

    def _closed(self, settles, changes):
        members = known(self._node, Members)
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
        first = self._effects[0]
        if first.kind not in ("min", "max") or self._conditions is None \
                or has_unknown(first.value) or any(
                    (effect.kind, effect.value) != (first.kind, first.value)
                    for effect in self._effects):
            return None
        if not all(is_improvement(test, first) or not self._read(test) & {
                "dst word", "elsewhere"} for test in first.conditions):
            return None
        way = self._falls if first.kind == "min" else self._rises
        return Drops(by="value" if first.kind == "min" else "largest value",
                     ever=all(effect.vector in way for effect in self._effects),
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

    # What an edge brings

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
        if all(effect.value == value for effect in self._effects):
            return "sent"
        if all(isinstance(effect.value, ir.Binary) and effect.value.operation == "+" and any(
                one == value and self._at(other, self._weight) for one, other in (
                    (effect.value.left, effect.value.right),
                    (effect.value.right, effect.value.left))) for effect in self._effects):
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
        members = known(self._node, Members)
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


def _sizes(*nodes):
    return {part.name for part in ir.walk(*nodes) if isinstance(part, ir.SetSize)}


def _made(node):
    """The names to which an instruction, or one in it, gives a set."""
    return {getattr(each, "output_vset", None) for each in ir.instructions((node,))} | {
        each.name for each in ir.instructions((node,))
        if isinstance(each, ir.Assign | ir.NewVertexSet | ir.NewQueue)}
