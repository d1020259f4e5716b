"""The GraphVM ``adversary``: an interpreter that uses every freedom which facts grant.

Where facts (:mod:`sw.lang.facts`) permit something, it is done or not, as a generator of random
numbers says: edges come in any order, and some not at all; words are read while they change, or are
those of an earlier round; members of a set wait, or vertices that are none are gone through; a set
that nobody reads has any members. What a fact says of words or numbers is compared with them. If
all facts hold, the words at the end are those of the interpreter (:mod:`sw.vm.reference`). A false
fact gives other words, or :class:`FalseFact`.

Runs of a device hardly notice a false fact: threads seldom meet in the order in which it matters.
"""

import operator
import random
from typing import Any

import numpy as np

from base.errors import UserError
from sw.lang import facts, graph_ir as ir
from sw.lang.effects import effects, given, replaced
from sw.lang.facts import SELF, known
from sw.lang.flow import called
from sw.lang.predicates import has_unknown, predicate
from sw.lang.types import INFINITY, WORD, Type
from sw.vm.evaluate import fixed_word
from sw.vm.host import perform
from sw.vm.reference import ReferenceMachine


__all__ = ["AdversaryMachine", "FalseFact", "differs"]


_LAST = WORD - 1

#: {reduction: its operation}.
_COMBINE: dict[str, Any] = {"min": min, "max": max, "+": operator.add, "or": operator.or_}

#: Rounds of a loop that are counted before, at most.
_MOST = 2000


class FalseFact(Exception):
    """A fact that words or numbers of a run contradict."""


class _Address(int):
    """A word that may only be used as a vertex."""


def differs(program, graph, given_values, seed) -> str | None:
    """How a run by the facts of a program differs from the interpreter's; None if it does not.

    Parameters
    ----------
    program : GraphProgram
        With facts.
    graph : Graph
    given_values : dict of str to number
        Parameters of the program.
    seed : int
    """
    right = perform(program, graph, ReferenceMachine(program, graph), given_values)
    try:
        found = perform(program, graph, AdversaryMachine(program, graph, seed), given_values,
                        right.fraction_bits)
    except (FalseFact, UserError) as fault:
        return str(fault)
    wrong = [name for name, words in right.outputs.items()
             if not np.array_equal(words, found.outputs[name])]
    return f"{', '.join(wrong)} differ" if wrong else None


class AdversaryMachine(ReferenceMachine):
    """A machine for one run.

    Parameters
    ----------
    program : GraphProgram
        With facts.
    graph : Graph
    seed : int
    """

    def __init__(self, program, graph, seed):
        super().__init__(program, graph)
        self._rng = random.Random(seed)
        self._vectors = {vector.name: vector for vector in program.vectors}
        self._parents = {}
        self._find_parents(program.body, None)
        self._codes: dict[int, Any] = {}
        self._values: Any = None
        self._evaluate: Any = None
        #: {id of a loop: what is remembered of its run}.
        self._runs: dict[int, _LoopRun] = {}

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

    def state(self):
        return None             # rounds are not left out: they may differ

    # Loops

    def loop(self, node, values, queues, evaluate, word):
        self._values, self._evaluate = values, evaluate
        self._check_count(node)
        run = self._runs[id(node)] = _LoopRun(
            {name: value for name, value in values.items() if isinstance(value, int)})
        fact = known(node, facts.Counted)
        if fact is not None and not any(evaluate(test) for test in fact.unless):
            run.rounds = self._count(node)

    def _check_count(self, node):
        """The number of rounds of a loop's last run is what it should have been."""
        run = self._runs.pop(id(node), None)
        if run is not None and run.rounds is not None and run.done:
            if any(count != run.rounds for count in run.done.values()):
                raise FalseFact(f"counted: {run.done} for {run.rounds}")

    def _count(self, node):
        """The rounds of a loop, without the device: sets have no vertices, or all."""
        before = dict(self._values)
        for name, value in before.items():
            if isinstance(value, np.ndarray) and name != ir.ALL:
                self._values[name] = self._any_set()
        rounds = 0
        if isinstance(node, ir.ForLoop):
            rounds = self._evaluate(node.count)
        else:
            while rounds < _MOST and self._evaluate(node.condition):
                self._numbers_only(node.body)
                rounds += 1
        self._values.clear()
        self._values.update(before)
        return rounds

    def _numbers_only(self, body):
        for node in body:
            match node:
                case ir.Assign():
                    self._values[node.name] = self._evaluate(node.value)
                case ir.HostBranch():
                    self._numbers_only(node.then if self._evaluate(node.condition)
                                       else node.otherwise)
                case ir.EdgeSetIterator() | ir.VertexFilter() if node.output_vset is not None:
                    self._values[node.output_vset] = self._any_set()
                case ir.ForLoop():
                    for number in range(self._evaluate(node.count)):
                        self._values[node.name] = number
                        self._numbers_only(node.body)

    def read(self, vector):
        for loop, _ in self._parents.values():
            if loop is not None:
                self._check_count(loop)
        return super().read(vector)

    def _any_set(self):
        size = self._graph.num_vertices
        return np.flatnonzero([self._maybe() for _ in range(size)])

    def _round(self, node) -> "_Round":
        """What is known about the round in which an operator is performed."""
        loop, place = self._parents[id(node)]
        run = None if loop is None else self._runs.get(id(loop))
        if run is None:
            return _Round(None, None, {}, {})
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
        return _Round(loop, run, begun, found)

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
        code = _Code(self, uniforms)
        parts = [code.compiled(part, (SELF,)) for part in test]
        words = self._lists()
        return lambda vertex: all(part((vertex,), lambda vector, at, index: words[vector][index])
                                  for part in parts)

    def _word_of(self, node):
        value = node.value.value if isinstance(node.value, ir.Literal) \
            else self._evaluate(node.value)
        if node.type is Type.FIXED:
            return fixed_word(value, self._bits)
        return int(value)

    def _literal(self, node):
        if node.type is Type.FIXED:
            return fixed_word(node.value, self._bits)
        if node.type is Type.FRACTION:
            return min(round(node.value * WORD), WORD - 1)
        return node.value

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
        fact = known(node, facts.Members)
        if fact is not None and self._maybe(.7):
            found = self._satisfying(fact.test)
            return vset if found is None else found
        return vset

    def _end(self, node, vset, result, round, before):
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
        if known(node, facts.Dead) is not None and self._values is not None:
            for name, value in list(self._values.items()):
                if value is vset and name != ir.ALL:
                    self._values[name] = self._any_set()
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
        covered = None if round.loop is None else known(round.loop, facts.Covered)
        before = {name: words.copy() for name, words in self._arrays.items()}
        for vector, name in covered.writers if covered else ():
            if vector in covered.sure and name == node.apply_f \
                    and vector not in function.reads():
                self._arrays[vector][:] = [self._rng.randrange(3) for _ in before[vector]]
        super().vertices(node, chosen, uniforms)
        self._end(node, vset, None, round, before)
        if round.run is not None:
            round.run.performed.add(node.apply_f)

    def where(self, name, vset, uniforms):
        nodes = [node for node in ir.instructions(self._program.body)
                 if isinstance(node, ir.VertexFilter) and node.filter == name]
        if len(nodes) != 1:
            return super().where(name, vset, uniforms)
        node, = nodes
        round = self._round(node)
        result = super().where(name, self._input(node, vset), uniforms)
        return self._end(node, vset, self._made(node, result), round, self._arrays)

    def _made(self, node, result):
        fact = known(node, facts.Result)
        if fact is not None and self._maybe():
            found = self._satisfying(fact.test)
            return result if found is None else found
        return result

    # Operators of edges

    def edges(self, node, vset, uniforms):
        function = self._program.function(node.apply_f)
        if any(has_unknown(part) for effect in effects(function)
               for part in (effect.index, effect.value, *effect.conditions)):
            return super().edges(node, vset, uniforms)
        round = self._round(node)
        before = {name: words.copy() for name, words in self._arrays.items()}
        work = _Edges(self, node, round, uniforms)
        result = work.perform(vset)
        for name in function.writes():
            self._arrays[name][:] = np.array(work.now[name][:self._graph.num_vertices], np.uint64)
            self.largest[name] = max(self.largest[name], int(self._arrays[name].max(initial=0)))
        if result is not None and node.tracking is not None and node.output_vset is not None:
            result = self._made(node, result)
        return self._end(node, vset, result, round, before)


class _LoopRun:
    """What is remembered of one run of a loop."""

    def __init__(self, numbers):
        self.numbers = numbers  #: Numbers of the host when it began.
        self.rounds: int | None = None  #: Rounds, if they are counted before.
        self.done: dict[int, int] = {}  #: {id of an operator: times that it was performed}.
        self.older: list[dict] = []  #: Words at the beginning of earlier operators.
        self.taken: dict[tuple, Any] = {}  #: {(operator, destination): least key of an edge}.
        self.settled: dict[int, set] = {}  #: {operator: destinations with a filter that is false}.
        self.waiting: dict[int, set] = {}  #: Those that will be so when functions have run.
        self.performed: set[str] = set()  #: Functions of vertices that were performed.


class _Round:
    """Where an operator stands."""

    def __init__(self, loop, run, begun, stamps):
        self.loop, self.run, self.begun, self.stamps = loop, run, begun, stamps


class _Code:
    """Expressions as functions ``f(ends, load)``, by text that Python compiles."""

    def __init__(self, machine, uniforms):
        self._machine, self._uniforms = machine, uniforms
        graph = machine._graph
        self._names = {"reciprocal": _reciprocal, "part": _part, "number": _number, "LAST": _LAST,
                       "out_degree": [*graph.out_degrees.tolist(), 0], "least": _least,
                       "in_degree": [*graph.in_degrees.tolist(), 0], "words": []}

    def compiled(self, node, parameters) -> Any:
        """The function of an expression; ``ends`` are the words of the parameters."""
        self._parameters = parameters
        text = self._text(node)
        return eval(f"lambda ends, load: {text}", self._names)  # noqa: S307

    def _constant(self, word):
        self._names["words"].append(word)
        return f"words[{len(self._names['words']) - 1}]"

    def _text(self, node):
        match node:
            case ir.Literal():
                return repr(int(self._machine._literal(node)))
            case ir.Uniform():
                return self._constant(self._uniforms[node])
            case ir.Local():
                return f"ends[{self._parameters.index(node.name)}]"
            case ir.VectorLoad():
                return f"load({node.vector!r}, {self._at(node.index)}, {self._text(node.index)})"
            case ir.Degree():
                name = "out_degree" if node.leaving else "in_degree"
                return f"{name}[{self._text(node.vertex)}]"
            case ir.Select():
                return (f"({self._text(node.then)} if {self._text(node.condition)} else "
                        f"{self._text(node.otherwise)})")
            case ir.Unary():
                inside = self._text(node.operand)
                return {"not": f"(1 - {inside})", "~": f"({inside} ^ LAST)",
                        "recip": f"reciprocal({inside})",
                        "uint": f"number({inside})"}.get(node.operation, inside)
            case ir.Binary(operation="times"):
                return (f"least({self._text(node.left)} * reciprocal("
                        f"{self._text(node.right.operand)}), LAST)")
        left, right, name = self._text(node.left), self._text(node.right), node.operation
        match name:
            case "and" | "or" | "&" | "|" | "^" | "==" | "!=" | "<" | "<=" | ">" | ">=":
                return f"int({left} {name} {right})"
            case "min" | "max":
                return f"{name}({left}, {right})"
            case "+":
                return f"least({left} + {right}, LAST)"
            case "-":
                return f"max({left} - {right}, 0)"
            case "*" if Type.FRACTION in (node.left.type, node.right.type):
                return f"({left} * {right} >> 32)"
            case "*":
                return f"least({left} * {right}, LAST)"
            case "<<":
                return f"({left} << ({right} & 31) & LAST)"
            case ">>":
                return f"({left} >> ({right} & 31))"
        return f"part({left}, {right}, {name == '%'})"

    def _at(self, index):
        if isinstance(index, ir.Local) and index.name in self._parameters[:2]:
            return repr(("src", "dst")[self._parameters.index(index.name)])
        return "'elsewhere'"


def _least(left, right):
    return left if left < right else right


def _reciprocal(word):
    return min(WORD // max(word, 1), _LAST) if word else 0


def _part(left, right, rest):
    if right == 0:
        return 0
    return left % right if rest else left // right


def _number(word):
    if isinstance(word, _Address):
        raise FalseFact("addressable: the number of a vertex is read")
    return word


class _Nothing:
    """A value that nobody may use."""

    def _used(self, *others):
        raise FalseFact("a value is read that the facts leave out")

    __add__ = __radd__ = __lt__ = __gt__ = __le__ = __ge__ = __eq__ = __ne__ = __index__ = _used
    __sub__ = __rsub__ = __mul__ = __rmul__ = __and__ = __rand__ = __or__ = __ror__ = _used
    __xor__ = __rxor__ = __int__ = __bool__ = __hash__ = __floordiv__ = __mod__ = _used
    __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = _used


_NOTHING = _Nothing()


class _Edges:
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
            facts.Apart, facts.Early, facts.Superset, facts.Settles, facts.Suffices, facts.Changes,
            facts.Closed, facts.Drops, facts.Fails, facts.Sent, facts.Needs, facts.Void,
            facts.Members)}
        code = _Code(machine, uniforms)
        names = (*self._parameters, *("weight",) * (2 - len(self._parameters) + 1))[:3]
        self._sent = self._fact[facts.Sent]
        if self._sent is not None:
            names = (*names, "sent value")
        self._names = names

        def compiled(part):
            return code.compiled(self._replaced(part), names)

        self._parts = [(effect, compiled(effect.index), compiled(self._value(effect)),
                        [compiled(test) for test in effect.conditions])
                       for effect in self._effects]
        self._source = None if self._sent is None or self._sent.value is None \
            else code.compiled(self._sent.value, names)
        test = () if node.to_filter is None else predicate(
            program.function(node.to_filter), self._parameters[1])
        tested = given(program.function(node.to_filter)) if node.to_filter is not None else None
        self._test = None
        if tested is not None:
            del test
            own = program.function(node.to_filter).parameters[0]
            self._test = code.compiled(replaced(
                tested, lambda part: ir.Local(name=self._parameters[1], type=part.type,
                                              position=part.position)
                if isinstance(part, ir.Local) and part.name == own else None), names)
        pad = machine._graph.num_vertices
        self.now = {name: [*words, 0] for name, words in machine._lists().items()}
        self._pad = pad
        self._start = {name: list(words) for name, words in self.now.items()}
        self._addresses = {name for name, vector in machine._vectors.items()
                           if known(vector, facts.Addressable) is not None}
        free = None if round.loop is None else known(round.loop, facts.OrderFree)
        self._free = None if free is None else free.vector

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
        if self._sent.form == "sent":
            return value
        weight = ir.Local(name=self._parameters[-1], type=Type.UINT, position=value.position)
        return ir.Binary(operation="+", left=value, right=weight, type=value.type,
                         position=value.position)

    # Words

    def _load(self, vector, at, index):
        """A word, as the facts permit to read it."""
        # An edge reads each word once.
        key = vector, at, index
        word = self._read.get(key)
        if word is None:
            word = self._read[key] = self._word(vector, at, index)
        return _Address(word) if vector in self._addresses else word

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
        if self._fact[facts.Superset] is not None:
            members |= {vertex for vertex in range(self._pad) if self._maybe()}
        elif self._fact[facts.Early] is not None and self._node.output_vset is not None \
                and len(members) > 1:
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
            test = self._fact[facts.Members]
            if test is None or self._true_at_pad(test.test) is not False:
                found += [(self._pad, self._rng.randrange(self._pad), 0) for _ in range(3)]
        elif void.target is not None and members:
            found += [(self._rng.choice(members), self._pad, 0)]
        return found

    def _true_at_pad(self, test):
        """Whether the vertex that is not there is a member; None if that cannot be told."""
        if any(isinstance(part, ir.Degree) for part in ir.walk(*test)):
            return None
        code, uniforms = None, {}
        for part in ir.walk(*test):
            if isinstance(part, ir.Uniform):
                if self._machine._evaluate is None:
                    return None
                uniforms[part] = self._machine._word_of(part)
        code = _Code(self._machine, uniforms)
        return all(code.compiled(part, (SELF,))((self._pad,), lambda vector, at, index:
                                                self._start[vector][index]) for part in test)

    def _accepts(self, source, target, weight, load):
        """Whether an edge is accepted."""
        needs = self._fact[facts.Needs]
        ends: Any = (source, target, weight)
        if needs is not None:
            # The vertices are still indices of the words that may be read.
            load = self._accept_only if load == self._load else load
        ends = self._with_sent(ends)
        if self._test is not None and not self._test(self._seen(ends, needs), load):
            return False
        return all(test(self._seen(ends, needs), load)
                   for _, _, _, tests in self._parts[:1] for test in tests) \
            if self._alike() else True

    def _seen(self, ends, needs):
        """The ends of an edge as a test may see them."""
        return ends

    def _alike(self):
        """Whether all reductions have the same conditions."""
        first, *others = self._effects if self._effects else (None,)
        return first is not None and all(
            len(effect.conditions) == len(first.conditions)
            and all(a is b for a, b in zip(effect.conditions, first.conditions))
            for effect in others)

    def _with_sent(self, ends):
        if self._sent is None:
            return ends
        value = _NOTHING if self._source is None else self._source(
            (*ends, _NOTHING), self._load)
        return (*ends, value)

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
        ends = self._with_sent((source, target, weight))
        for effect, index, value, tests in self._parts:
            if not all(test(ends, load) for test in tests):
                continue
            if effect.kind == "+":
                return False
            old = older[effect.vector][index(ends, load)]
            if _COMBINE[effect.kind](old, value(ends, load)) != old:
                return False
        return True

    def _dropped(self, source, target, weight):
        """Whether an edge is left out, because another one was taken in."""
        drops, run = self._fact[facts.Drops], self._round.run
        if drops is None or not self._parts:
            return False
        if not hasattr(self, "_taken"):
            self._taken = {}
        _, _, value, _ = self._parts[0]
        ends = self._with_sent((source, target, weight))
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
        ends = self._with_sent(ends)
        load = self._load
        if self._sent is not None:
            # Neither words nor the number of the source are read but by what it sends.
            load, ends = self._sent_only, (_NOTHING, *ends[1:])
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
            times = 2 if known(effect.node, facts.Repeatable) is not None and self._maybe(.3) else 1
            for _ in range(times):
                if private is not None and known(effect.node, facts.Identity) is not None:
                    part = private[place]
                    old = part.get(vertex, known(effect.node, facts.Identity).word)
                    part[vertex] = _COMBINE[effect.kind](old, word)
                    new = old
                else:
                    old = self.now[effect.vector][vertex]
                    new = self.now[effect.vector][vertex] = _COMBINE[effect.kind](old, word)
                if effect.vector == self._node.tracking and by is not None:
                    if (by.by == "atomic" and old != new) or (by.by == "addend" and word != 0):
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
                    (vertex, vertex, 0, _NOTHING),
                    lambda vector, at, index: self._start[vector][index]):
                gone.add(vertex)
        if settles.functions:
            run.waiting[key] = set(changed)
        else:
            gone |= accepted
