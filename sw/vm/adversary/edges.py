"""One operator of edges, with the freedoms that its facts give."""

import operator
from typing import Any

import numpy as np

from sw.lang import facts, graph_ir as ir
from sw.lang.effects import effects, given, replaced
from sw.lang.facts import SELF, known
from sw.lang.faults import may_lose
from sw.lang.passes.accesses import IDENTITY
from sw.lang.predicates import with_vertex
from sw.lang.types import WORD, Type
from sw.vm.adversary.code import NOTHING, Address, Code, FalseFact


__all__ = ["EdgeTrial"]


#: {reduction: its operation}.
_COMBINE: dict[str, Any] = {"min": min, "max": max, "+": operator.add, "or": operator.or_}


class EdgeTrial:
    """One operator of edges while it is performed.

    Attributes
    ----------
    now : dict of str to list
        The words of all vectors, and behind them those of a vertex that is not there.
    """

    def __init__(self, machine, node, round, uniforms):
        self._machine, self._node, self._round = machine, node, round
        self._rng, self._maybe = machine._rng, machine._maybe
        program = machine._program
        self._function = program.function(node.apply_f)
        self._parameters = self._function.parameters
        self._effects = effects(self._function)
        self._writes = self._function.writes()
        self._fact = {kind: known(node, kind) for kind in (
            facts.Apart, facts.Early, facts.Deferred, facts.Superset, facts.Settles,
            facts.Suffices, facts.Changes, facts.Closed, facts.Drops, facts.Fails, facts.Sent,
            facts.Needs, facts.Void, facts.Membership)}
        code = self._code = Code(machine._graph, machine._literal, uniforms)
        names = (*(*self._parameters, "no weight")[:3], "sent value")
        self._sent = self._fact[facts.Sent]

        def compiled(part):
            return code.compiled(self._replaced(part), names)

        self._parts = [(effect, compiled(effect.index), compiled(self._value(effect)),
                        [compiled(test) for test in effect.conditions])
                       for effect in self._effects]
        self._conditions = [code.compiled(test, names) for test in self._common()]
        self._source = None if self._sent is None or self._sent.value is None \
            else code.compiled(self._sent.value, names)
        self._test = None
        if node.to_filter is not None:
            function = program.function(node.to_filter)
            self._test = code.compiled(with_vertex(
                given(function), function.parameters[0], self._parameters[1]), names)
        fact = known(node, facts.AccessSet)
        self._touched = fact.function | fact.filter
        for effect in self._effects:
            at = dict(zip(self._parameters, ("src", "dst"))).get(
                getattr(effect.index, "name", None), "elsewhere")
            if facts.Access(effect.vector, effect.kind, at) not in self._touched:
                raise FalseFact(f"accesses: {effect.vector} is reduced")
        pad = machine._graph.num_vertices
        self.now = {name: [*words, 0] for name, words in machine._lists().items()}
        self._pad = pad
        self._taken: dict[int, int] = {}  #: {destination: least key of an edge}.
        self._start = {name: list(words) for name, words in self.now.items()}
        self._addresses = {name for name, vector in machine._vectors.items()
                           if known(vector, facts.Addressable) is not None}
        changes = self._fact[facts.Changes]
        if changes is not None and changes.fresh:
            kind = next(each.kind for each in self._effects if each.vector == node.tracking)
            if any(word != IDENTITY[kind] for word in machine._arrays[node.tracking].tolist()):
                raise FalseFact(f"changes: {node.tracking} is not the identity of {kind}")
        free = None if round.loop is None else known(round.loop, facts.OrderFree)
        self._free = None if free is None else free.vector

    def _common(self):
        """The conditions of all reductions; none if they differ."""
        first, *others = [effect.conditions for effect in self._effects] or [()]
        alike = all(len(each) == len(first) and all(a is b for a, b in zip(each, first))
                    for each in others)
        return first if alike else ()

    def _replaced(self, part):
        """An expression with a name in place of what the source sends."""
        if self._sent is None or self._sent.value is None:
            return part
        return replaced(part, lambda inner: ir.Local(
            name="sent value", type=inner.type, position=inner.position)
            if inner == self._sent.value else None)

    def _value(self, effect):
        """The value of a reduction, by the form in which it is sent."""
        if self._sent is None or self._sent.value is None or self._sent.form == "other":
            return effect.value
        value = self._sent.value
        source, _, *weights = self._parameters
        if not any(isinstance(part, ir.Local) and part.name in (source, *weights)
                   for part in ir.walk(effect.value)):
            return effect.value
        if self._sent.form == "sent":
            return value
        weight = ir.Local(name=self._parameters[-1], type=Type.UINT, position=value.position)
        return ir.Binary(operation="+", left=value, right=weight, type=value.type,
                         position=value.position)

    # Words

    def _load(self, vector, at, index):
        """A word, as the facts permit to read it."""
        # An edge reads each word once.
        if facts.Access(vector, "load", at) not in self._touched:
            raise FalseFact(f"accesses: {vector} is read at {at}")
        key = vector, at, index
        word = self._read.get(key)
        if word is None:
            word = self._read[key] = self._word(vector, at, index)
        return Address(word) if vector in self._addresses else word

    def _word(self, vector, at, index):
        if index > self._pad:
            raise FalseFact(f"{vector}[{index}]: there is no such vertex")
        now, start = self.now[vector][index], self._start[vector][index]
        if vector not in self._writes or now == start:
            return start
        if vector in self._round.stamps:
            stamp, number = self._round.stamps[vector]
            return now if now < number else stamp.never
        early = self._fact[facts.Early]
        if (early is not None and at == "src" and vector in early.vectors) or vector == self._free \
                or (at == "src" and self._fact[facts.Apart] is not None and all(
                    effect.vector != vector or effect.index == ir.Local(
                        name=self._parameters[1], type=Type.VERTEX, position=effect.index.position)
                    for effect in self._effects)):
            return now if self._maybe(.8) else start
        return start

    def _sent_only(self, vector, at, index):
        """A word that is no word of the source."""
        if at != "dst":
            raise FalseFact("sent: another word of the source is read")
        return self._load(vector, at, index)

    def _accept_only(self, vector, at, index):
        needs = self._fact[facts.Needs]
        name = at if at == "elsewhere" else f"{at} word"
        if name not in needs.test:
            raise FalseFact(f"accept needs: a {name} is read")
        return self._load(vector, at, index)

    # Edges

    def perform(self, vset) -> Any:
        """Perform the operator. Returns its result, or None."""
        machine, node, run = self._machine, self._node, self._round.run
        members, later = self._sources(vset)
        todo = self._edges_of(members)
        self._rng.shuffle(todo)
        self._read: dict[tuple, int] = {}
        # An edge that is left out because of another one must not be the one that suffices.
        dropping = self._maybe()
        kept = {} if dropping else self._kept(todo)
        older = self._rng.choice(run.older) if run is not None and run.older else None
        if run is not None:
            run.older.append(self._start)
        private = [{} for _ in self._parts] if self._maybe(.3) else None
        changed, accepted = set(), set()
        for number, (source, target, weight) in enumerate(todo):
            self._read.clear()
            if not self._accepts(source, target, weight, self._load):
                continue
            self._note_lost(source, target, weight)
            if older is not None and self._fact[facts.Fails] is not None and self._maybe() \
                    and self._fails(source, target, weight, older):
                continue
            if dropping and self._dropped(source, target, weight):
                continue
            accepted.add(target)
            self._reduce(number, (source, target, weight), kept, private, changed)
        if private is not None:
            self._merge(private, changed)
        by = self._fact[facts.Changes]
        if by is not None and by.by == "certain":
            changed = accepted
        elif by is None and node.tracking is not None:
            changed = {vertex for vertex, pair in enumerate(zip(
                self._start[node.tracking], self.now[node.tracking])) if pair[0] != pair[1]}
        self._remember(accepted, changed)
        if machine._graph.num_vertices in changed | accepted:
            raise FalseFact("void: an edge to a vertex that is not there is accepted")
        if node.tracking is None:
            return None
        return np.array(sorted(changed | later), dtype=np.int64)

    def _sources(self, vset):
        """The vertices whose edges are gone through, and those that wait for a later round."""
        machine, stamps = self._machine, self._round.stamps
        members, later = set(machine._input(self._node, vset).tolist()), set()
        if self._fact[facts.Closed] is not None and self._maybe(.8):
            for name, (_, number) in stamps.items():
                members |= {vertex for vertex in range(self._pad)
                            if self._start[name][vertex] < number}
        superset = self._fact[facts.Superset]
        if superset is not None:
            holds = machine._holds(superset.test) or (lambda _: False)
            members |= {vertex for vertex in range(self._pad) if self._maybe() and holds(vertex)}
        elif self._fact[facts.Early] is not None and self._node.output_vset is not None \
                and len(members) > 1 and not any(isinstance(node, ir.VertexSetIterator)
                                                 for node in self._round.loop.body):
            later = {vertex for vertex in sorted(members) if self._maybe(.2)}
            members -= later
        return members, later

    def _edges_of(self, members):
        graph, void = self._machine._graph, self._fact[facts.Void]
        weights = [0] * graph.num_edges if graph.weights is None else graph.weights.tolist()
        ends = zip(graph.src.tolist(), graph.dst.tolist(), weights, strict=True)
        if self._node.transposed:
            ends = ((dst, src, weight) for src, dst, weight in ends)
        found = [edge for edge in ends if edge[0] in members]
        if self._round.run is not None:
            gone = self._round.run.settled.get(id(self._node), ())
            found = [edge for edge in found if edge[1] not in gone]
        if void is not None and self._maybe():
            found += self._voids(void, sorted(members))
        return found

    def _voids(self, void, members):
        found = []
        if void.itself:
            found += [(vertex, vertex, 0) for vertex in members if self._maybe(.3)]
        source = void.source is not None and (void.target is None or self._maybe())
        for vector, word in (void.source if source else void.target) or ():
            self.now[vector][self._pad] = self._start[vector][self._pad] = word
        if source:
            test = self._fact[facts.Membership]
            if test is None or self._true_at_pad(test.test) is not False:
                found += [(self._pad, self._rng.randrange(self._pad), 0) for _ in range(3)]
        elif void.target is not None and members:
            found += [(self._rng.choice(members), self._pad, 0)]
        return found

    def _true_at_pad(self, test):
        """Whether the vertex that is not there is a member; None if that cannot be told."""
        if any(isinstance(part, ir.Degree) for part in ir.walk(*test)):
            return None
        uniforms = {}
        for part in ir.walk(*test):
            if isinstance(part, ir.Uniform):
                if self._machine._evaluate is None:
                    return None
                uniforms[part] = self._machine._word_of(part)
        code = Code(self._machine._graph, self._machine._literal, uniforms)
        return all(code.compiled(part, (SELF,))((self._pad,) * 3, lambda vector, at, index:
                                                self._start[vector][index]) for part in test)

    def _accepts(self, source, target, weight, load):
        """Whether an edge is accepted."""
        needs = self._fact[facts.Needs]
        ends: Any = source, target, weight, NOTHING, source, target
        if needs is not None:
            load = self._accept_only if load == self._load else load
            ends = (*(word if name in needs.test else NOTHING for name, word in zip(
                ("src", "dst", "weight"), ends)), *ends[3:])
        if self._test is not None and not self._test(ends, load):
            return False
        return all(test(ends, load) for test in self._conditions)

    def _with_sent(self, source, target, weight):
        ends = source, target, weight, NOTHING, source, target
        if self._source is None:
            return ends
        return (*ends[:3], self._source(ends, self._load), *ends[4:])

    def _kept(self, todo):
        """{reduction: the edges that it needs}, by the facts about edges that suffice."""
        suffices = self._fact[facts.Suffices]
        if suffices is None:
            return {}
        rows: dict[int, list[int]] = {}
        for number, (source, target, weight) in enumerate(todo):
            self._read.clear()
            if self._accepts(source, target, weight, self._load):
                rows.setdefault(target, []).append(number)
        found = {}
        for place, way in enumerate(suffices.edges):
            if way is not None:
                found[place] = {self._rng.choice(row) if way == "any" else
                                min(row, key=lambda number: todo[number][0])
                                for row in rows.values()}
        return found

    def _fails(self, source, target, weight, older):
        """Whether an edge is refused by older words of its destination."""
        def load(vector, at, index):
            return older[vector][index] if at == "dst" else self._load(vector, at, index)

        if not self._accepts(source, target, weight, load):
            return True
        ends = self._with_sent(source, target, weight)
        for effect, index, value, tests in self._parts:
            if not all(test(ends, load) for test in tests):
                continue
            if effect.kind == "+":
                return False
            old = older[effect.vector][index(ends, load)]
            if _COMBINE[effect.kind](old, value(ends, load)) != old:
                return False
        return True

    def _note_lost(self, *ends):
        """Remember the vertices at which an edge loses a candidate; no fact leaves that out."""
        code, name = self._code, self._function.name
        # Of an operator that reads early, only this fact says anything about errors.
        told = self._fact[facts.Early] is None or self._fact[facts.Deferred] is not None
        for effect, index, value, tests in self._parts:
            if told and may_lose(effect.node):
                code.large = False
                all_ends = self._with_sent(*ends)
                if value(all_ends, self._load) == WORD - 1 and code.large \
                        and all(test(all_ends, self._load) for test in tests):
                    marks = self._machine._lost.setdefault(
                        (name, effect.vector), np.zeros(self._pad, bool))
                    marks[index(all_ends, self._load)] = True

    def _dropped(self, source, target, weight):
        """Whether an edge is left out, because another one was taken in."""
        drops, run = self._fact[facts.Drops], self._round.run
        if drops is None or not self._parts:
            return False
        _, _, value, _ = self._parts[0]
        ends = self._with_sent(source, target, weight)
        key = {"any": 0, "source": source}.get(drops.by)
        if key is None:
            key = int(value(ends, self._load)) * (1 if drops.by == "value" else -1)
        ever = run.taken if drops.ever and run is not None else {}
        best = min((taken for taken in (self._taken.get(target),
                                        ever.get((id(self._node), target)))
                    if taken is not None), default=None)
        if best is not None and best <= key and self._maybe(.7):
            return True
        self._taken[target] = key if best is None else min(best, key)
        if run is not None:
            last = run.taken.get((id(self._node), target), key)
            run.taken[id(self._node), target] = min(last, key)
        return False

    def _reduce(self, number, ends, kept, private, changed):
        ends = self._with_sent(*ends)
        load = self._load
        if self._sent is not None:
            # Neither words nor the number of the source are read but by what it sends.
            load, ends = self._sent_only, (NOTHING, *ends[1:])
        by = self._fact[facts.Changes]
        # All values are of the words before the edge's own reductions.
        done = [(place, effect, index(ends, load), int(value(ends, load)))
                for place, (effect, index, value, tests) in enumerate(self._parts)
                if all(test(ends, load) for test in tests)]
        for place, effect, vertex, word in done:
            if vertex > self._pad:
                raise FalseFact(f"{effect.vector}[{vertex}]: there is no such vertex")
            if place in kept and number not in kept[place] and self._maybe():
                continue
            times = 2 if effect.kind != "+" and self._maybe(.3) else 1
            for _ in range(times):
                if private is not None and known(effect.node, facts.Identity) is not None:
                    part = private[place]
                    old = part.get(vertex, known(effect.node, facts.Identity).word)
                    part[vertex] = _COMBINE[effect.kind](old, word)
                    new = old
                else:
                    old = self.now[effect.vector][vertex]
                    new = self.now[effect.vector][vertex] = _COMBINE[effect.kind](old, word)
                if effect.vector == self._node.tracking and by is not None and (
                        (by.by == "atomic" and old != new) or (by.by == "addend" and word != 0)):
                    changed.add(vertex)

    def _merge(self, private, changed):
        by = self._fact[facts.Changes]
        for (effect, *_), part in zip(self._parts, private, strict=True):
            for vertex, word in part.items():
                old = self.now[effect.vector][vertex]
                new = self.now[effect.vector][vertex] = _COMBINE[effect.kind](old, word)
                if effect.vector == self._node.tracking and by is not None \
                        and by.by == "atomic" and old != new:
                    changed.add(vertex)

    def _remember(self, accepted, changed):
        """Destinations whose filter is false from now on."""
        settles, run = self._fact[facts.Settles], self._round.run
        if settles is None or run is None:
            return
        key = id(self._node)
        gone = run.settled.setdefault(key, set())
        gone |= run.waiting.pop(key, set())
        for vertex in range(self._pad):
            if self._test is not None and not self._test(
                    (vertex, vertex, 0, NOTHING, vertex, vertex),
                    lambda vector, at, index: self._start[vector][index]):
                gone.add(vertex)
        if settles.functions:
            run.waiting[key] = set(changed)
        else:
            gone |= accepted
