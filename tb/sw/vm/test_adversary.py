"""Facts against the adversary, which uses every freedom that they give.

======================  ===========================================================================
facts that were found   test_programs: of the package's programs, and of a user's; test_random,
                        test_near_searches: of random programs; test_lost: about lost candidates
words                   test_expressions: as the interpreter's
false facts             test_planted, test_planted_lost: one for each kind of fact, and more, which
                        must be noticed
======================  ===========================================================================
"""

import dataclasses
import functools
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from base.errors import UserError
from sw.graph.load import load
from sw.lang import facts, graph_ir as ir, programs
from sw.lang.faults import LostCandidate
from sw.lang.passes import FACTS, analysed
from sw.lang.passes.rewrite import with_facts
from sw.lang.reader import read_text
from sw.lang.types import WORD, Type
from sw.vm import host
from sw.vm.adversary import differs
from sw.vm.adversary.code import Code
from sw.vm.evaluate import Evaluator
from sw.vm.reference import ReferenceMachine
from tb.sw.lang.fact_programs import TEXTS, read
from tb.sw.vm.near_searches import near_search
from tb.sw.graphs import random_graph
from tb.sw.vm.random_programs import program_texts
from tb.sw.vm.small_programs import program


#: Graphs of a test, in so many parts.
GRAPHS, PARTS = 60, 4

#: Parameters that keep a run short.
_SHORT = {"pagerank": {"iterations": 3}, "label_propagation": {"iterations": 3}}


@functools.cache
def graph_of(seed, undirected=False):
    graph = load(f"rmat:scale=5,degree=4,seed={seed},weights=9")
    return graph.undirected().simplify() if undirected else graph


def seen(name, program, seed):
    """How a run of a program differs from the interpreter's."""
    graph = graph_of(seed, bool(program.needs))
    values = dict(_SHORT.get(name, {}))
    if any(argument.name == "source" for argument in program.arguments):
        values["source"] = graph.hub
    return differs(program, graph, values, seed)


#: Expressions of two vectors without a fault, whatever the words.
EXPRESSIONS = [
    "a[v] >> b[v] % 32", "a[v] << b[v] % 32", "a[v] // (b[v] % 99 + 1)", "b[v] % (a[v] % 99 + 1)",
    "min(a[v], b[v])", "max(a[v], b[v])", "a[v] & b[v]", "a[v] | b[v]", "a[v] ^ b[v]", "~a[v]",
    "(a[v] >> 1) + (b[v] >> 1)", "max(a[v], b[v]) - min(a[v], b[v])",
    "(a[v] & 65535) * (b[v] & 65535)", "(a[v] >> 1) * 0.7", "(a[v] >> 1) * (1 / (b[v] % 9 + 1))",
    "uint(a[v] == b[v])", "uint(a[v] != b[v])", "uint(not a[v] < b[v])", "uint(a[v] <= b[v])",
    "uint(a[v] > b[v])", "uint(a[v] >= b[v])", "uint(a[v] > b[v] and b[v] > 9)",
    "uint(a[v] > b[v] or b[v] > 9)", "a[v] if a[v] < b[v] else 7", "edges.out_degree(v)",
    "edges.in_degree(v)", "uint(vertex(a[v] % 20)) + b[vertex(a[v] % 20)] % 5"]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text):
    """The adversary's words of expressions are those of the interpreter."""
    tried, graph = program("def f(v):", f"    a[v] = {text}", "vertices.apply(f)",
                           vectors=["b = vector(uint, 0)"]), random_graph(64, 300, 1)
    node, draw = tried.function("f").body[0].value, np.random.default_rng(1)
    words = {name: np.where(draw.random(64) < 0.5, draw.integers(0, 40, 64),
                            draw.integers(0, WORD - 1, 64)).astype(np.uint64) for name in "ab"}
    words["b"][:20] = words["a"][:20]
    evaluator = Evaluator(tried, graph, 0, {}, lambda vector, at, own: words[vector][at])
    right = evaluator.value(node, {"v": np.arange(64, dtype=np.uint64)}, 64)
    code = Code(graph, lambda each: evaluator.value(each, {}, 1)[0], {}).compiled(node, ("v",))
    assert [int(code((v, v, v), lambda vector, at, index: int(words[vector][index])))
            for v in range(64)] == right.tolist()


@pytest.mark.sample(36)
@pytest.mark.parametrize("name, part", [(name, part) for name in (*programs.names(), *TEXTS)
                                        for part in range(PARTS)])
def test_programs(name, part):
    for seed in range(part, GRAPHS, PARTS):
        assert seen(name, read(name), seed) is None, seed


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(program_texts())
def test_random(text):
    program = analysed(read_text(text), after=tuple(FACTS)[-1])
    for seed in range(3):
        try:
            assert differs(program, graph_of(seed), {}, seed) is None
        except UserError:
            return              # the interpreter refuses it


@pytest.mark.sample(8)
@pytest.mark.parametrize("part", range(40))
def test_near_searches(part, monkeypatch):
    # Most of those that have no end are seen soon.
    monkeypatch.setattr(host, "MOST_ROUNDS", 60)
    tried = 0
    for number in range(10 * part, 10 * part + 10):
        rng = random.Random(number)
        text = near_search(rng)
        try:
            program = analysed(read_text(text), after=tuple(FACTS)[-1])
            for seed in range(3):
                assert differs(program, graph_of(seed), {}, number + seed) is None, text
        except UserError:
            continue            # the interpreter refuses it
        tried += 1
    assert tried


def seen_lost(name, program, seed):
    """As :func:`seen`, with weights such that sums of few of them do not fit, and whether the
    interpreter says so."""
    rng, graph = random.Random(seed), load(f"rmat:scale=4,degree=2,seed={seed},weights=9")
    weights = [rng.choice([1, 1 << 31, (1 << 32) - 2]) for _ in range(graph.num_edges)]
    graph = dataclasses.replace(graph, weights=np.array(weights, np.uint32))
    values = {"source": graph.hub}
    try:
        host.perform(program, graph, ReferenceMachine(program, graph), values)
    except LostCandidate:
        return differs(program, graph, values, seed), True
    return differs(program, graph, values, seed), False


@pytest.mark.parametrize("name", ["sssp", "marked", "touched", "delta", "tolls"])
def test_lost(name):
    """Errors hang on no order, where a fact says so. Of some graphs, some have one."""
    program, found = read(name), set()
    for seed in range(GRAPHS // 2):
        try:
            found.add(seen_lost(name, program, seed))
        except LostCandidate:
            continue            # nothing is said about it
    told = any(facts.known(node, facts.Deferred) for node in ir.instructions(program.body)
               if isinstance(node, ir.EdgeSetIterator))
    assert found == {(None, False), (None, True)} if told else {(None, False)}


def test_planted_lost():
    """With a toll that is infinite, a candidate is none in the end that was lost before."""
    program = planted(read("tolls"), "relax", fact(facts.Deferred))
    assert any(seen_lost("tolls", program, seed)[0] is not None for seed in range(GRAPHS))


def planted(program, where, fact):
    """The program with a fact in place of the true one.

    ``where`` is the function of an operator, ``loop N``, ``vector NAME``, or ``reduce FUNCTION``.
    """
    kind, _, name = where.rpartition(" ")
    loops = [id(node) for node in ir.instructions(program.body)
             if isinstance(node, ir.WhileLoop | ir.ForLoop)]
    reduced = {id(node) for function in program.functions if function.name == name
               for node in ir.walk(*function.body)}
    count = 0

    def here(node):
        match kind:
            case "loop":
                return id(node) in loops and loops.index(id(node)) == int(name)
            case "vector":
                return isinstance(node, ir.Vector) and node.name == name
            case "reduce":
                return id(node) in reduced and isinstance(node, ir.Reduce)
        return name in (getattr(node, "apply_f", None), getattr(node, "filter", None))

    def found(node):
        nonlocal count
        if not here(node):
            return ()
        count += 1
        return (fact,)

    changed = with_facts(program, found)
    assert count == 1, where
    return changed


HERE = {"position": None}


def word(vector, kind=Type.UINT):
    return ir.VectorLoad(vector=vector, type=kind, **HERE, index=ir.Local(
        name=facts.SELF, type=Type.VERTEX, **HERE))


def condition(operation, vector, value):
    """A condition for a predicate; ``value`` is a number or the name of one of the host."""
    right = ir.Literal(value=value, type=Type.UINT, **HERE) if isinstance(value, int) else \
        ir.Uniform(value=ir.HostName(name=value, type=Type.WHOLE, **HERE), type=Type.UINT, **HERE)
    return ir.Binary(operation=operation, left=word(vector), right=right, type=Type.BOOL, **HERE)


def at_source(vector, kind=Type.UINT):
    return ir.VectorLoad(vector=vector, type=kind, **HERE, index=ir.Local(
        name="src", type=Type.VERTEX, **HERE))


def fact(kind, **said):
    return kind(why="planted", **said)


F = frozenset

#: (program, node, a fact that does not hold there).
FALSE = [
    ("bfs", "reduce visit", fact(facts.Identity, word=3)),
    ("paths", "reduce visit", fact(facts.Identity, word=1)),
    ("bfs", "visit", fact(facts.AccessSet, function=F({facts.Access("parent", "min", "dst")}))),
    ("paths", "visit", fact(facts.AccessSet, filter=F({facts.Access("depth", "load", "dst")}),
                            function=F({facts.Access("ways", "+", "dst")}))),
    ("bfs", "visit", fact(facts.Membership, test=(condition("==", "depth", "level"),))),
    ("predecessor", "relax", fact(facts.Membership, test=(condition("!=", "distance", WORD - 1),
                                                       condition("<", "distance", 3)))),
    ("kcore", "lose", fact(facts.Membership, test=(condition("==", "alive", 1),))),
    ("mis", "choose", fact(facts.Membership, test=(condition("==", "chosen", 2),))),
    ("bfs", "visit", fact(facts.Asked, asked=F({"empty"}))),
    ("times", "relax", fact(facts.Asked, asked=F({"empty", "size"}))),
    ("kcore", "lives", fact(facts.Asked, asked=F())),
    ("predecessor", "relax", fact(facts.Early, vectors=F({"distance"}))),
    ("times", "relax", fact(facts.Early, vectors=F({"distance"}))),
    ("visits", "relax", fact(facts.Early, vectors=F({"distance"}))),
    ("bits", "relax", fact(facts.Early, vectors=F({"distance"}))),
    ("touched", "relax", fact(facts.Superset)),
    ("bfs", "visit", fact(facts.Superset)),
    ("times", "relax", fact(facts.Apart)),
    ("kcore", "lose", fact(facts.Settles, functions=())),
    ("mis", "compete", fact(facts.Settles, functions=())),
    ("bfs", "visit", fact(facts.Suffices, edges=("any",))),
    ("tries", "visit", fact(facts.Suffices, edges=("first", "any"))),
    ("largest parent", "visit", fact(facts.Suffices, edges=("first",))),
    ("sssp", "relax", fact(facts.Suffices, edges=("first",))),
    ("largest parent", "visit", fact(facts.Changes, by="certain")),
    ("sssp", "relax", fact(facts.Changes, by="certain")),
    ("bfs", "visit", fact(facts.Changes, by="addend")),
    ("largest parent", "visit", fact(facts.Changes, by="atomic", fresh=True)),
    ("arrivals", "visit", fact(facts.Closed)),
    ("bfs", "visit", fact(facts.Drops, by="any", ever=False)),
    ("tries", "visit", fact(facts.Drops, by="source", ever=False)),
    ("largest parent", "visit", fact(facts.Drops, by="source", ever=True)),
    ("mis", "compete", fact(facts.Drops, by="largest value", ever=True)),
    ("predecessor", "relax", fact(facts.Drops, by="value", ever=True)),
    ("mis", "compete", fact(facts.Fails)),
    ("sssp", "relax", fact(facts.Sent, value=None, form="other")),
    ("sssp", "relax", fact(facts.Sent, value=at_source("distance"), form="sent")),
    ("predecessor", "relax", fact(facts.Sent, value=at_source("distance"), form="other")),
    ("bfs", "visit", fact(facts.Needs, test=F(), improvement=F())),
    ("guarded", "relax", fact(facts.Needs, test=F({"dst word", "src word"}), improvement=F())),
    ("guarded", "relax", fact(facts.Needs, test=F({"dst word", "weight"}), improvement=F())),
    ("pagerank", "collect", fact(facts.Void, itself=True, source=None, target=None)),
    ("hops", "relax", fact(facts.Void, itself=False, source=(("distance", 0),), target=None)),
    ("bfs", "visit", fact(facts.Void, itself=False, source=None, target=(("depth", WORD - 1),))),
    ("bfs", "visit", fact(facts.Void, itself=False, source=(("depth", WORD - 1),),
                          target=(("depth", WORD - 1),))),
    ("bfs", "loop 0", fact(facts.Affine, lines=(facts.Line("level", 1, 1, 0),))),
    ("bc", "loop 1", fact(facts.Affine, lines=(facts.Line("level", None, 1, 0),))),
    ("harmless", "loop 0", fact(facts.Stamps, stamps=(
        facts.Stamp("found", WORD - 1, "level", 1, 1, 1),))),
    ("no parents", "loop 0", fact(facts.Stamps, stamps=(
        facts.Stamp("depth", WORD - 1, "level", 0, 0, 1),))),
    ("mis", "loop 0", fact(facts.OneWay, falls=F({"rival"}), rises=F())),
    ("sums", "loop 0", fact(facts.OneWay, falls=F(), rises=F({"first"}))),
    ("predecessor", "loop 0", fact(facts.OrderFree, vector="distance")),
    ("mis", "vector chosen", fact(facts.Range, least=1, most=2)),
    ("kcore", "vector lost", fact(facts.Range, least=0, most=3)),
    ("counted hooks", "loop 0", fact(facts.OrderFree, vector="label")),
    ("numbers", "vector next", fact(facts.Addressable, group=F({"next"}))),
]


@pytest.mark.parametrize("name, where, false", FALSE, ids=[
    f"{name}-{where}-{false.key}" for name, where, false in FALSE])
def test_planted(name, where, false):
    """A false fact is noticed on one of the graphs at least."""
    program = planted(read(name), where, false)
    assert any(seen(name, program, seed) is not None for seed in range(GRAPHS))


def test_each_kind_of_fact_is_planted():
    def kinds(kind):
        return {kind}.union(*map(kinds, kind.__subclasses__()))
    tried = {type(false) for *_, false in FALSE} | {facts.Deferred}     # test_planted_lost
    assert tried == kinds(facts.Fact) - {facts.Fact}
