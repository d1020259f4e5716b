"""What is true of the sets and the words of a program at each of its instructions.

The host's instructions are gone through in order, with what is known of each set (:class:`Held`),
of each vector, and of the host's numbers. For a loop, predicates that hold at the end of a round
are guessed to hold at its beginning, too; they stay if they hold when the loop begins, and a round
that begins with them ends with them.
"""

import copy
import dataclasses
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.effects import effects, replaced, stored
from sw.lang.facts import SELF, Stamps, known
from sw.lang.predicates import (TURNED, Knowledge, has_unknown, moved, names_in, predicate,
                                vectors_in, with_vertex)
from sw.lang.types import LARGEST, Type
from sw.lang.uses import assigned, written


__all__ = ["Flow", "Held", "State", "Words", "flow_of", "hand_on", "keeps"]


#: Where a program keeps its flow.
_KEY = "_flow"

#: Guesses about one loop, after which nothing is known of the sets that it assigns.
_TRIES = 5


@dataclasses.dataclass(frozen=True)
class Held:
    """What is known of a set."""
    token: object  #: Two sets with one token are of the same vertices.
    within: tuple[Any, ...] = ()  #: A predicate that is true at all members.
    #: A predicate that is true exactly at the members; None if none is known.
    exact: tuple[Any, ...] | None = None
    #: Whether ``exact`` is so now. Else it was once, and since then words have only changed so that
    #: it became false at more vertices: where it is true now, is a member.
    now: bool = True
    vertices: tuple[Any, ...] | None = None  #: Its vertices, by expressions of the host.


@dataclasses.dataclass(frozen=True)
class Words:
    """The words of a vector: one for all vertices but some, and those that the host has stored
    there. None is an unknown word."""
    default: int | None
    stored: tuple[tuple[Any, int | None], ...] = ()  #: (vertex, word); each vertex once.


@dataclasses.dataclass
class State:
    """What is known at one place."""
    numbers: dict[str, int]
    words: dict[str, Words]
    sets: dict[str, Held]
    written: set[str]  #: The vectors that operators have written so far in the round.

    def copy(self) -> "State":
        """A copy that can change."""
        return State(dict(self.numbers), dict(self.words), dict(self.sets), set(self.written))


def keeps(values, effect, test, owner) -> tuple[bool, bool]:
    """Whether an effect leaves a condition true where it is true, and false where it is false.

    Parameters
    ----------
    values : Knowledge
    effect : Effect
    test : Value
        A condition, of the vertex :data:`~sw.lang.facts.SELF`.
    owner : str or None
        The parameter that is the function's own vertex, if it is one of vertices.
    """
    if effect.vector not in vectors_in(test):
        return True, True
    match test:
        case ir.Binary(left=ir.VectorLoad(vector=vector, index=ir.Local(name=name)) as load,
                       right=right) if test.operation in TURNED and name == SELF \
                and vector == effect.vector and effect.vector not in vectors_in(right):
            pass
        case _:
            return False, False
    after = with_vertex(effect.value, owner)
    if effect.kind == "store":
        others = vectors_in(after)
    else:
        others = set()
        after = ir.Binary(operation=effect.kind if effect.kind != "or" else "|", left=load,
                          right=effect.value, type=load.type, position=test.position)
    truth = None if others else values.truth(dataclasses.replace(test, left=after))
    falls = effect.kind == "min"
    rises = effect.kind in ("max", "+", "or")
    if effect.kind == "store" and isinstance(effect.value, ir.Binary) \
            and effect.value.operation in ("min", "max") and owner:
        own = with_vertex(effect.value, owner)
        if load in (own.left, own.right):
            falls, rises = effect.value.operation == "min", effect.value.operation == "max"
    low, high = values.interval(load)
    least, most = values.interval(right)
    name = test.operation
    down = name in ("<", "<=") or (name == "==" and most <= low) or (name == "!=" and least >= high)
    up = name in (">", ">=") or (name == "==" and least >= high) or (name == "!=" and most <= low)
    return (truth is True or (falls and down) or (rises and up),
            truth is False or (falls and up) or (rises and down))


def flow_of(program) -> "Flow":
    """The :class:`Flow` of a program, which is made once for all passes that only add facts."""
    values = program.__dict__
    if _KEY not in values:
        values[_KEY] = Flow(program)
    return values[_KEY]


def hand_on(program, other) -> None:
    """Give the flow of a program, if it has one, to the program with more facts, none of which the
    flow uses."""
    if _KEY in program.__dict__:
        other.__dict__[_KEY] = program.__dict__[_KEY].of(other)


class Flow:
    """The program gone through; :func:`flow_of` gives it.

    Parameters
    ----------
    program : GraphProgram
        With the facts that there are; :class:`~sw.lang.facts.Range` and
        :class:`~sw.lang.facts.Stamps` are used.

    Attributes
    ----------
    inputs : dict of int to Held
        By the ``id`` of an operator or a filter of the program: its input set, before it.
    entries : dict of int to State
        By the ``id`` of a loop: before it.
    before : dict of int to State
        By the ``id`` of an operator or a filter.
    values : Knowledge
    """

    def __init__(self, program):
        self.program, self.values = program, Knowledge(program)
        self.inputs: dict[int, Held] = {}
        self.entries: dict[int, State] = {}
        self.before: dict[int, State] = {}
        words = {vector.name: Words(_word(vector.initial)) for vector in program.vectors}
        state = State({}, words, {ir.ALL: Held(ir.ALL, (), ())}, set())
        self._loops: list[Any] = []
        self._block(program.body, state)

    def of(self, program) -> "Flow":
        """The same of a program that has more facts."""
        found, pairs = copy.copy(self), zip(
            ir.instructions(self.program.body), ir.instructions(program.body), strict=True)
        new = {id(one): id(other) for one, other in pairs}
        found.program = program
        for name in ("inputs", "entries", "before"):
            setattr(found, name, {new[key]: held for key, held in getattr(self, name).items()})
        return found

    # Instructions

    def _block(self, body, state):
        for node in body:
            self._instruction(node, state)

    def _instruction(self, node, state):
        if isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator | ir.VertexFilter):
            self.before[id(node)] = state.copy()
            self.inputs[id(node)] = _held(state, node.input_vset)
        self._perform(state, node)

    def _perform(self, state, node):
        match node:
            case ir.Assign(value=ir.HostName(name=other, type=Type.VERTEXSET)):
                state.sets[node.name] = _held(state, other)
            case ir.Assign():
                self._assign(state, node.name, node.value)
            case ir.ElementStore():
                self._element(state, node)
            case ir.NewVertexSet() | ir.NewQueue():
                state.sets[node.name] = Held(object(), vertices=node.vertices)
            case ir.Dequeue():
                state.sets[node.output_vset] = Held(object())
                state.sets[node.queue] = Held(object())
            case ir.EdgeSetIterator():
                self._edges(state, node)
            case ir.VertexSetIterator():
                self._vertices(state, node)
            case ir.VertexFilter():
                self._filter(state, node)
            case ir.WhileLoop() | ir.ForLoop():
                self._loop(state, node)
            case ir.HostBranch():
                one, other = state.copy(), state.copy()
                self._block(node.then, one)
                self._block(node.otherwise, other)
                _become(state, self._met(one, other))

    # Numbers of the host

    def _assign(self, state, name, value):
        by = self.values.step(name, value)
        number = self.values.constant(value, state.numbers)
        _count(state, name, by)
        if number is not None:
            state.numbers[name] = number

    def _element(self, state, node):
        self._written(state, {node.vector: None}, None)
        words = state.words.get(node.vector)
        whole = self.program.vector(node.vector).type in (Type.UINT, Type.VERTEX, Type.BOOL)
        word = self.values.constant(node.value, state.numbers)
        if not whole and word != 0:
            word = None         # of fixed point
        if words is not None:
            others = tuple(each for each in words.stored if each[0] != node.index)
            state.words[node.vector] = Words(words.default, (*others, (node.index, word)))

    # Operators

    def _written(self, state, done, owner):
        """Vectors are written: {vector: the effects, or None if they are not known}."""
        for name, held in state.sets.items():
            if not vectors_in(*held.within, *(held.exact or ())) & done.keys():
                continue
            within = tuple(test for test in held.within if self._stays(test, done, owner)[0])
            exact, now = held.exact, held.now
            if exact is not None and vectors_in(*exact) & done.keys():
                stays = [self._stays(test, done, owner) for test in exact]
                if not all(false for _, false in stays):
                    exact = None
                elif not all(true for true, _ in stays):
                    now = False
            state.sets[name] = dataclasses.replace(held, within=within, exact=exact, now=now)

    def _stays(self, test, done, owner):
        """Whether a condition stays true, and false, when vectors are written."""
        true = false = True
        for vector, found in done.items():
            if vector in vectors_in(test):
                if found is None:
                    return False, False
                for effect in found:
                    one, other = keeps(self.values, effect, test, owner)
                    true, false = true and one, false and other
        return true, false

    def _effects(self, state, function):
        done: dict[str, Any] = {}
        for effect in effects(function):
            done.setdefault(effect.vector, []).append(effect)
        for vector in done:
            state.words.pop(vector, None)
        return done

    def _edges(self, state, node):
        function = self.program.function(node.apply_f)
        result = Held(object())
        if node.to_filter is not None:
            result = Held(result.token, _usable(predicate(self.program.function(node.to_filter))))
        if node.output_vset is not None:
            # The filter's words are those of the start: what the operator writes comes after.
            state.sets[node.output_vset] = result
        done = self._effects(state, function)
        self._written(state, done, None)
        if node.tracking in self._stamped(node):
            result = state.sets[node.output_vset]
            test = self._equal(node.tracking, done[node.tracking][0].value)
            state.sets[node.output_vset] = dataclasses.replace(
                result, within=(*result.within, test), now=True,
                exact=None if node.tracking in state.written else (test,))
        state.written |= done.keys()

    def _stamped(self, node):
        """The vectors that are stamped in the innermost loop, if the node stands right in it."""
        if not self._loops:
            return set()
        loop = self._loops[-1]
        stamps = known(loop, Stamps)
        return {stamp.vector for stamp in stamps.stamps} if stamps else set()

    def _equal(self, vector, value):
        kind = self.program.vector(vector).type
        here = {"position": value.position}
        load = ir.VectorLoad(vector=vector, type=kind, **here, index=ir.Local(
            name=SELF, type=Type.VERTEX, **here))
        return ir.Binary(operation="==", left=load, right=value, type=Type.BOOL, **here)

    def _vertices(self, state, node):
        function = self.program.function(node.apply_f)
        own = function.parameters[0]
        held = _held(state, node.input_vset)
        before = dict(state.words)
        done = self._effects(state, function)
        self._written(state, done, own)
        for vector, (word, _) in stored(function).items():
            if vectors_in(word) or has_unknown(word):
                continue
            test = self._equal(vector, with_vertex(word, own))
            everywhere = held.token == ir.ALL
            fresh = self._fresh(state, before, vector, test, node)
            for name, other in state.sets.items():
                if not everywhere and other.token != held.token:
                    continue
                if fresh and not everywhere:
                    other = dataclasses.replace(other, exact=(test,), now=True)
                state.sets[name] = dataclasses.replace(other, within=(*other.within, test))
            if everywhere:
                state.words[vector] = Words(_word(word))
        state.written |= done.keys()

    def _fresh(self, state, before, vector, test, node):
        """Whether no vertex has a word before it is stored."""
        if vector in self._stamped(node):
            return vector not in state.written
        words = before.get(vector)
        return words is not None and all(
            word is not None and self.values.truth(dataclasses.replace(
                test, left=_literal(word, test.left))) is False
            for word in (words.default, *(word for _, word in words.stored)))

    def _filter(self, state, node):
        held = _held(state, node.input_vset)
        test = predicate(self.program.function(node.filter))
        within = (*held.within, *(part for part in _usable(test) if part not in held.within))
        exact = None
        if held.exact is not None and _usable(test) == test:
            rest = tuple(part for part in held.exact
                         if not self.values.implies(test, (part,)))
            if held.now or not rest:
                exact = (*rest, *test)
        state.sets[node.output_vset] = Held(object(), within, exact)

    # Loops, and joined ways

    def _loop(self, state, loop):
        self.entries[id(loop)] = state.copy()
        entry = state.copy()
        names = assigned(loop)
        counts = isinstance(loop, ir.ForLoop)
        if counts:
            _count(entry, loop.name, None)
            entry.numbers[loop.name] = 0
        head = entry.copy()
        for vector in written(self.program, loop):
            head.words.pop(vector, None)
        for name in names:
            head.numbers.pop(name, None)
        sets = {name for name in names if name in entry.sets}
        for name, held in entry.sets.items():
            for number in names:
                held = _renumbered(held, number, None)
            head.sets[name] = held
        for name in names:
            head.sets.pop(name, None)
        head.written = set()
        self._loops.append(loop)
        for attempt in range(_TRIES + 1):
            if attempt == _TRIES:
                # A last round with nothing known of any set but the one of all vertices.
                head.sets = {ir.ALL: Held(ir.ALL, (), ())}
            end = head.copy()
            self._block(loop.body, end)
            if attempt == _TRIES:
                break
            if counts:
                _count(end, loop.name, None if loop.name in assigned(*loop.body) else 1)
            following = {}
            for name in entry.sets:
                one, other = head.sets.get(name), end.sets.get(name)
                if other is None:
                    continue
                if name in sets and attempt == 0:
                    following[name] = self._guess(entry, entry.sets[name], other)
                elif one is not None:
                    following[name] = self._weaker(one, other)
            stable = attempt > 0 and all(
                _as_strong(head.sets.get(name), following.get(name)) for name in head.sets)
            if stable:
                break
            head.sets = following
        self._loops.pop()
        # Behind the loop: as at the beginning of a round.
        state.numbers, state.words, state.sets = head.numbers, head.words, head.sets
        if counts:
            _count(state, loop.name, None)

    def _guess(self, entry, begun, ended):
        """What may be true of a set at the beginning of each round: what is true of it at the end
        of one, and when the loop begins."""
        within = tuple(test for test in ended.within if self._are_words(entry, begun, test)
                       and self._true_at(entry, begun, test))
        guesses = [ended.exact if ended.now else None, within or None]
        exact = next((guess for guess in guesses if guess is not None
                      and all(self._are_words(entry, begun, test) for test in guess)
                      and self._exactly(entry, begun, guess)), None)
        return Held(object(), within, exact)

    def _are_words(self, state, held, test):
        """Whether the host's numbers in a condition are words: it was a condition in an earlier
        round, and there need not be any."""
        words = {part for each in (*held.within, *(held.exact or ())) for part in ir.walk(each)}
        for part in ir.walk(test):
            if isinstance(part, ir.Uniform) and part not in words \
                    and not isinstance(part.value, ir.Literal):
                number = self.values.constant(part.value, state.numbers)
                if number is None or not 0 <= number <= LARGEST:
                    return False
        return True

    def _true_at(self, state, held, test):
        """Whether a condition is true at all members."""
        if self.values.implies(held.within, (test,)):
            return True
        if held.exact is not None and held.now and held.exact \
                and self.values.implies(held.exact, (test,)):
            return True
        places = self.places(state, (test,))
        if places is None:
            return False
        default, others = places
        if held.vertices is not None:
            return all(others.get(vertex, default) for vertex in held.vertices)
        return default and all(others.values())

    def _exactly(self, state, held, test):
        """Whether a predicate is true exactly at the members."""
        if held.exact is not None and held.now and self.values.implies(held.exact, test) \
                and self.values.implies(test, held.exact) and (held.exact or test == ()):
            return True
        places = self.places(state, test)
        if places is None:
            return False
        default, others = places
        if held.exact == () and held.now:
            return default and all(others.values())
        return held.vertices is not None and not default \
            and {vertex for vertex, true in others.items() if true} == set(held.vertices) \
            and all(others.values())

    def places(self, state, tests):
        """Whether a predicate is true at the vertices where the host has stored no word, and
        {vertex: whether} for each of the others; None if that is not known."""
        vectors = vectors_in(*tests)
        found = {vector: state.words.get(vector) for vector in vectors}
        if None in found.values():
            return None
        vertices = {vertex for words in found.values() for vertex, _ in words.stored}
        if len(vertices) > 1 and any(words.stored and (
                len({word for _, word in words.stored}) > 1
                or {vertex for vertex, _ in words.stored} != vertices)
                for words in found.values()):
            return None         # two names may be of one vertex

        def holds(vertex):
            def change(part):
                match part:
                    case ir.VectorLoad(index=ir.Local(name=name)) if name == SELF:
                        words = found[part.vector]
                        word = dict(words.stored).get(vertex, words.default)
                        return part if word is None else _literal(word, part)
                    case ir.Uniform():
                        number = self.values.constant(part.value, state.numbers)
                        return None if number is None else _literal(number, part)
                return None

            truths = {self.values.truth(replaced(test, change)) for test in tests}
            return False if False in truths else None if None in truths else True

        default, others = holds(None), {vertex: holds(vertex) for vertex in vertices}
        return None if default is None or None in others.values() else (default, others)

    def _weaker(self, one, other):
        """What is known of a set that is one of two."""
        within = tuple(test for test in one.within
                       if self.values.implies(other.within, (test,)))
        exact = one.exact
        if exact is not None and (other.exact is None or not self._equal_tests(exact, other.exact)):
            exact = None
        return Held(one.token if one.token == other.token else object(), within, exact,
                    one.now and other.now,
                    one.vertices if one.vertices == other.vertices else None)

    def _equal_tests(self, one, other):
        if not one or not other:
            return one == other
        return self.values.implies(one, other) and self.values.implies(other, one)

    def _met(self, one, other):
        return State({name: number for name, number in one.numbers.items()
                      if other.numbers.get(name) == number},
                     {name: words for name, words in one.words.items()
                      if other.words.get(name) == words},
                     {name: self._weaker(held, other.sets[name])
                      for name, held in one.sets.items() if name in other.sets},
                     one.written | other.written)


def _usable(tests):
    """The conditions of a predicate about which something is known."""
    return tuple(test for test in tests if not has_unknown(test))


def _word(node):
    """The word of a literal whose word does not depend on the run, or None."""
    if isinstance(node, ir.Literal) and (
            node.type in (Type.UINT, Type.VERTEX, Type.BOOL) or node.value == 0):
        return int(node.value)
    return None


def _literal(word, like):
    return ir.Literal(value=word, type=like.type, position=like.position)


def _become(state, other):
    state.numbers, state.words = other.numbers, other.words
    state.sets, state.written = other.sets, other.written


def _held(state, name):
    return state.sets.get(name) or Held(object())


def _renumbered(held, name, by):
    """What is known of a set after ``by`` was added to a number; None is an unknown change."""
    vertices = held.vertices
    if vertices is not None and name in names_in(*vertices):
        vertices = None
    if by is None:
        lost = held.exact is not None and name in names_in(*held.exact)
        return dataclasses.replace(
            held, vertices=vertices, exact=None if lost else held.exact,
            within=tuple(test for test in held.within if name not in names_in(test)))
    return dataclasses.replace(
        held, vertices=vertices, within=tuple(moved(test, name, by) for test in held.within),
        exact=None if held.exact is None else tuple(
            moved(test, name, by) for test in held.exact))


def _as_strong(one, other):
    return one is None or (other is not None and one.within == other.within
                           and one.exact == other.exact and one.now == other.now
                           and one.vertices == other.vertices)


def _count(state, name, by):
    """A number of the host has changed by ``by``, or in an unknown way (None)."""
    state.numbers.pop(name, None)
    for each, held in state.sets.items():
        state.sets[each] = _renumbered(held, name, by)
    for vector, words in state.words.items():
        state.words[vector] = Words(words.default, tuple(
            (object() if not isinstance(vertex, ir.Node) or name in names_in(vertex)
             else vertex, word) for vertex, word in words.stored))
