"""The adversary's machine: loops, sets and functions of vertices."""

import random
from typing import Any

import numpy as np

from sw.lang import facts, graph_ir as ir
from sw.lang.effects import effects
from sw.lang.facts import SELF, known
from sw.lang.predicates import has_unknown
from sw.lang.types import Type
from sw.vm.adversary.code import Code, FalseFact
from sw.vm.adversary.edges import EdgeTrial
from sw.vm.evaluate import fixed_word, literal_word
from sw.vm.reference import ReferenceMachine


__all__ = ["AdversaryMachine", "LoopTrial", "Round"]


class AdversaryMachine(ReferenceMachine):
    """A machine for one run.

    Parameters
    ----------
    program : GraphProgram
        With facts.
    graph : Graph
    seed : int
    most : int
        Operators, after which the run is given up.
    """

    def __init__(self, program, graph, seed, most):
        super().__init__(program, graph)
        self._left = most
        self._rng = random.Random(seed)
        self._vectors = {vector.name: vector for vector in program.vectors}
        self._parents = {}
        self._find_parents(program.body, None)
        self._codes: dict[int, Any] = {}
        self._values: Any = None
        self._evaluate: Any = None
        #: {id of a loop: what is remembered of its run}.
        self._runs: dict[int, LoopTrial] = {}

    def _find_parents(self, body, loop):
        for place, node in enumerate(body):
            self._parents[id(node)] = loop, place if loop is not None and any(
                node is each for each in loop.body) else None
            match node:
                case ir.WhileLoop() | ir.ForLoop():
                    self._find_parents(node.body, node)
                case ir.HostBranch():
                    self._find_parents(node.then, loop)
                    self._find_parents(node.otherwise, loop)

    def _maybe(self, chance=.5):
        return self._rng.random() < chance

    def state(self, values):
        return None             # rounds are not left out: they may differ

    # Loops

    def loop(self, node, values, queues, evaluate, word):
        self._values, self._evaluate = values, evaluate
        self._runs[id(node)] = LoopTrial(
            {name: value for name, value in values.items() if isinstance(value, int)})

    def _any_set(self):
        size = self._graph.num_vertices
        return np.flatnonzero([self._maybe() for _ in range(size)])

    def _round(self, node) -> "Round":
        """What is known about the round in which an operator is performed."""
        self._left -= 1
        if self._left < 0:
            raise FalseFact("the run has no end")
        loop, place = self._parents[id(node)]
        run = None if loop is None else self._runs.get(id(loop))
        if run is None:
            return Round(None, None, {}, {})
        number = None
        if place is not None:
            number = run.done.get(id(node), 0)
            run.done[id(node)] = number + 1
        affine, stamps = known(loop, facts.Affine), known(loop, facts.Stamps)
        begun = {}
        for line in affine.lines if affine else ():
            start = run.numbers.get(line.name) if line.start is None else line.start
            start = 0 if line.place < 0 else start
            if number is None or start is None:
                continue
            now = start + line.step * (number + (0 <= line.place < place))
            if now != self._values.get(line.name):
                raise FalseFact(f"affine: {line.name} is {self._values.get(line.name)}, not {now}")
            begun[line.name] = start + line.step * number
        found = {}
        for stamp in stamps.stamps if stamps else ():
            if stamp.number in begun:
                found[stamp.vector] = stamp, begun[stamp.number] + stamp.plus
        return Round(loop, run, begun, found)

    # Predicates of facts

    def _holds(self, test) -> Any:
        """A function of vertices that says whether a predicate is true; None if it cannot be
        evaluated here."""
        if any(has_unknown(part) for part in test):
            return None
        uniforms = {}
        for part in ir.walk(*test):
            if isinstance(part, ir.Uniform):
                if self._evaluate is None and not isinstance(part.value, ir.Literal):
                    return None
                uniforms[part] = self._word_of(part)
        code = Code(self._graph, self._literal, uniforms)
        parts = [code.compiled(part, (SELF,)) for part in test]
        words = self._lists()
        return lambda vertex: all(part((vertex, vertex, vertex), lambda vector, at, index:
                                       words[vector][index]) for part in parts)

    def _word_of(self, node):
        value = node.value.value if isinstance(node.value, ir.Literal) \
            else self._evaluate(node.value)
        if node.type is Type.FIXED:
            return fixed_word(value, self._bits)
        return int(value)

    def _literal(self, node):
        return literal_word(node, self._bits)

    def _lists(self):
        return {name: words.tolist() for name, words in self._arrays.items()}

    def _satisfying(self, test):
        holds = self._holds(test)
        if holds is None:
            return None
        return np.array([vertex for vertex in range(self._graph.num_vertices) if holds(vertex)],
                        dtype=np.int64)

    def _input(self, node, vset):
        """The input set, or the vertices that its predicate gives."""
        fact = known(node, facts.Membership)
        if fact is not None and self._maybe(.7):
            found = self._satisfying(fact.test)
            return vset if found is None else found
        return vset

    def _end(self, node, result, round, before):
        """Behind an operator: facts are checked, and sets that nobody reads get any members."""
        for name, vector in self._vectors.items():
            fact, words = known(vector, facts.Range), self._arrays[name]
            if fact is not None and words.size and not (
                    fact.least <= int(words.min()) and int(words.max()) <= fact.most):
                raise FalseFact(f"range of {name}")
        for name, (stamp, number) in round.stamps.items():
            changed = before[name] != self._arrays[name]
            if np.any(changed & ((before[name] != stamp.never) | (self._arrays[name] != number))):
                raise FalseFact(f"stamps of {name}")
        ways = None if round.loop is None else known(round.loop, facts.OneWay)
        if ways is not None:
            for name, words in before.items():
                if (name in ways.falls and np.any(words < self._arrays[name])) or (
                        name in ways.rises and np.any(words > self._arrays[name])):
                    raise FalseFact(f"one way of {name}")
        fact = known(node, facts.Asked)
        if fact is None or "members" in fact.asked or result is None:
            return result
        if "size" in fact.asked:
            size = self._graph.num_vertices
            return np.array(sorted(self._rng.sample(range(size), len(result))), dtype=np.int64)
        if "empty" in fact.asked:
            return result if not len(result) else np.array([self._rng.randrange(
                self._graph.num_vertices)])
        return self._any_set()

    # Operators of vertices

    def vertices(self, node, vset, uniforms):
        round, chosen = self._round(node), self._input(node, vset)
        function = self._program.function(node.apply_f)
        before = {name: words.copy() for name, words in self._arrays.items()}
        for part in self._parts(round.loop, function, chosen):
            super().vertices(node, part, uniforms)
        self._end(node, None, round, before)

    def _parts(self, loop, function, vset):
        """The vertices in parts, each of which sees what those before it have changed, if the order
        of calls is free."""
        free = None if loop is None else known(loop, facts.OrderFree)
        if free is None or free.vector not in function.reads():
            return [vset]
        order = self._rng.sample(vset.tolist(), len(vset))
        step = self._rng.randint(1, max(1, len(order)))
        return [np.array(sorted(order[at:at + step]), dtype=np.int64)
                for at in range(0, len(order), step)]

    def where(self, node, vset, uniforms):
        round = self._round(node)
        result = super().where(node, self._input(node, vset), uniforms)
        return self._end(node, result, round, self._arrays)

    # Operators of edges

    def edges(self, node, vset, uniforms):
        function = self._program.function(node.apply_f)
        if any(has_unknown(part) for effect in effects(function)
               for part in (effect.index, effect.value, *effect.conditions)):
            return super().edges(node, vset, uniforms)
        round = self._round(node)
        before = {name: words.copy() for name, words in self._arrays.items()}
        work = EdgeTrial(self, node, round, uniforms)
        result = work.perform(vset)
        for name in function.writes():
            self._arrays[name][:] = np.array(work.now[name][:self._graph.num_vertices], np.uint64)
            self.largest[name] = max(self.largest[name], int(self._arrays[name].max(initial=0)))
        if known(node, facts.Deferred) is None:
            self.settle(node)
        return self._end(node, result, round, before)


class LoopTrial:
    """What is remembered of one run of a loop."""

    def __init__(self, numbers):
        self.numbers = numbers  #: Numbers of the host when it began.
        self.done: dict[int, int] = {}  #: {id of an operator: times that it was performed}.
        self.older: list[dict] = []  #: Words at the beginning of earlier operators.
        self.taken: dict[tuple, Any] = {}  #: {(operator, destination): least key of an edge}.
        self.settled: dict[int, set] = {}  #: {operator: destinations with a filter that is false}.
        self.waiting: dict[int, set] = {}  #: Those that will be so when functions have run.


class Round:
    """Where an operator stands."""

    def __init__(self, loop, run, begun, stamps):
        self.loop, self.run, self.begun, self.stamps = loop, run, begun, stamps
