"""Facts of programs; ``tb/sw/vm/test_adversary.py`` tries whether they hold.

==================  ===============================================================================
programs            test_programs: what a compiler needs of the package's programs, and of some of a
                    user's
near a fact         test_near, test_one_change: one change of a text takes a fact from it;
                    test_one_way
spellings           test_spellings: facts do not go by the text
parts               test_excludes, test_implies: predicates; test_effects: functions without their
                    variables; test_ranges, test_intervals_hold_every_word
readers             test_readers: there is no fact that nobody needs
==================  ===============================================================================
"""

import ast
import dataclasses
import itertools
import operator

import pytest

from base.installation import ROOT
from sw.lang import facts, graph_ir as ir
from sw.lang.effects import effects, stored
from sw.lang.facts import known
from sw.lang.passes import FACTS
from sw.lang.predicates import Knowledge, has_unknown, predicate
from sw.lang.reader import read_text
from sw.lang.show import shown
from sw.lang.types import WORD
from tb.sw.lang.fact_programs import TEXTS, read
from tb.sw.lang.spelled import analysed


def said(program, where):
    """The facts of an operator or of a loop as one line of text.

    ``where`` is the function of an operator, or ``loop N``.
    """
    nodes = list(ir.instructions(program.body))
    loops = [node for node in nodes if isinstance(node, ir.WhileLoop | ir.ForLoop)]
    node, = [loops[int(where.removeprefix("loop "))]] if where.startswith("loop") else [
        node for node in nodes if where in (getattr(node, "apply_f", None),
                                            getattr(node, "filter", None))][:1]
    if where.startswith("loop"):
        return " ".join(f"{key}={fact}" for key, fact in node.metadata.items()
                        if isinstance(fact, facts.Fact))
    alone = dataclasses.replace(program, vectors=(), functions=(), body=(node,))
    return " ".join(shown(alone).split())


@pytest.mark.parametrize("name, where, texts", [
    ("bfs", "visit", ["members=[(depth[v] == (level - 1));", "apart=", "settles=[(settle);",
                      "suffices=[(first);", "changes=[certain;", "closed=",
                      "drops=[by=source, ever=true;", "fails_for_ever=",
                      "sent=[value=src, form=sent;", "asked=[{empty, members};"]),
    ("no parents", "visit", ["settles=[();", "suffices=[(any);", "changes=[certain;", "closed=",
                             "drops=[by=any, ever=true;"]),
    ("closeness", "visit", ["members=[(depth[v] == (level - 1));", "settles=[();", "closed="]),
    ("tries", "visit", ["suffices=[(first, None);", "changes=[certain;", "closed="]),
    ("largest parent", "visit", ["settles=[(settle);", "changes=[atomic;",
                                 "drops=[by=largest value, ever=true;"]),
    ("paths", "visit", ["apart=", "changes=[addend;", "sent=[value=ways[src], form=sent;"]),
    ("sssp", "relax", ["early=[{distance};", "superset=", "changes=[atomic;",
                       "drops=[by=value, ever=true;", "fails_for_ever=",
                       "sent=[value=distance[src], form=sum;", "void=[itself=true,"]),
    ("counter", "relax", ["early=", "superset="]), ("guarded", "relax", ["early=", "superset="]),
    ("marked", "relax", ["early=", "superset="]), ("delta", "relax", ["early=", "superset="]),
    ("allowed", "relax", ["early=", "superset=", "target=((closed, 1))"]),
    ("touched", "relax", ["early=", "superset=[(distance[v] != infinity)"]),
    ("searches", "spread", ["early=", "superset="]),
    ("waves", "visit", ["changes=[by=atomic, fresh=true;"]),
    ("widest", "relax", ["early=", "superset=", "drops=[by=largest value, ever=true;"]),
    ("pagerank", "collect", ["members=[();", "sent=[value=share[src], form=sent;",
                             "source=((share, 0))"]),
    ("bc", "count", ["apart=", "settles=[(settle);", "changes=[addend;"]),
    ("bc", "give_back", ["members=[(depth[v] == level);", "apart="]),
    ("cc", "hook", ["asked=[{empty};", "suffices=[(None, any);", "void=[itself=true,"]),
    ("kcore", "remove", ["members=[(alive[v] == 1, ((lost[v] + k) + 1) > out_degree(v));"]),
    ("kcore", "lose", ["apart="]),
    ("mis", "compete", ["members=[(chosen[v] == 2);", "drops=[by=largest value, ever=false;"]),
    ("mis", "cover", ["apart=", "settles=[();", "suffices=[(any);", "drops=[by=any, ever=true;"]),
    ("colouring", "paint", ["members=[(colour[v] == infinity, rival[v] < (uint(v) + 1));"]),
    ("bfs", "loop 0", ["Stamp(vector='depth', never=4294967295, number='level', plus=1, first=1, "
                       "step=1)", "Line(name='level', start=0, step=1, place=0)"]),
    ("colouring", "loop 0", ["Stamp(vector='colour',"]),
    ("cc", "loop 0", ["order_free=OrderFree"])])
def test_programs(name, where, texts):
    text = said(read(name), where)
    for each in texts:
        assert each in text, each


@pytest.mark.parametrize("name, where, none", [
    ("largest parent", "visit", "closed="),
    ("largest parent", "visit", "suffices="), ("tries", "visit", "drops="),
    ("no filter", "visit", "closed="), ("arrivals", "visit", "drops="),
    ("halves", "visit", "settles="), ("spent", "give", "apart="),
    ("paths", "visit", "suffices="), ("times", "relax", "early="),
    ("predecessor", "relax", "early="), ("predecessor", "relax", "drops="),
    ("mis", "compete", "settles="),
    ("kcore", "lose", "settles="), ("kcore", "lose", "members="), ("bc", "give_back", "sent="),
    ("pagerank", "collect", "void=[itself=true"),
    ("hops", "relax", "void=[itself=true"), ("triangles", "join", "sent=")])
def test_near(name, where, none):
    assert none not in said(read(name), where)


@pytest.mark.parametrize("name, old, new, where, none", [
    ("no parents", "depth[dst].min(level)", "depth[dst].min(level + uint(src))", "loop 0",
     "stamps="),
    ("no parents", "level += 1", "level += 1\n        level += 1", "loop 0", "stamps="),
    ("no parents", "level = 0", "level = 0\n    depth[0] = 1", "visit", "members="),
    ("harmless", "found[v] = 1", "found[v] = 1\n        parent[v] = none", "visit",
     "drops=[by=source, ever=true"),
    ("late parent", "    frontier = vertexset", "    parent[0] = source\n    frontier = vertexset",
     "visit", "changes=[certain"),
    # an edge may bring the word that the vertex has; or another writes it in the same round
    ("bfs", "parent[dst].min(src)", "parent[dst].min(parent[src])", "visit", "changes=[certain"),
    ("bfs", "        frontier = edges", "        if level < 3:\n            parent[0] = source\n"
     "        frontier = edges", "visit", "changes=[certain"),
    ("bfs", "depth[v] = level", "depth[v] = infinity", "visit", "settles="),
    ("bfs", "frontier.apply(settle)", "vertices.apply(settle)", "visit", "members="),
    ("counter", "return distance", "distance[rounds] = 0\n    return distance", "relax", "early="),
    ("counter", "rounds = 0", "rounds = 0\n    distance[1] = 5", "relax", "superset="),
    ("touched", "    distance[source] = 0\n", "", "relax", "superset="),
    ("delta", "    moved = 0", "    first = queue.dequeue()\n    moved = 0", "relax", "superset="),
    ("touched", "vector(uint, infinity)", "vector(uint, 5)", "relax", "superset="),
    ("counter", "distance[src] + weight", "distance[dst] + weight", "relax", "early="),
    ("no parents", "depth[dst].min(level)", "if depth[dst] > 9 or depth[src] > 3:\n"
     "            depth[dst].min(level)", "visit", "fails_for_ever="),
    ("closeness", "vertices.apply(reset)",
     "some = vertices.where(unvisited)\n        some.apply(reset)", "visit", "members="),
    ("turns", "seen[dst].max(1)", "if uint(src) > 4:\n            seen[dst].max(1)", "visit",
     "settles="),
    ("turns", "range(3):", "range(3):\n        seen[0] = 0", "visit", "settles="),
    ("turns", "times[dst] += 1", "if uint(src) > 4:\n            times[dst] += 1", "visit",
     "changes=[certain"),
    ("turns", "times[dst] += 1", "times[dst] += uint(src)", "visit", "changes=[certain"),
    ("waves", "arriving[v] = 0", "if seen[v] > 3:\n            arriving[v] = 0", "visit", "fresh="),
    ("waves", "arriving = vector(uint, 0)", "arriving = vector(uint, 1)", "visit", "fresh="),
    ("waves", "    frontier = vertices", "    arriving[3] = 1\n    frontier = vertices", "visit",
     "fresh="),
    ("waves", "frontier.apply(settle)", "some = frontier.where(starts)\n        some.apply(settle)",
     "visit", "fresh="),
    ("colouring", "colour[v] = turn", "colour[v] = 7 - turn", "loop 0", "stamps=")])
def test_one_change(name, old, new, where, none):
    text = TEXTS[name] if name in TEXTS else TEXTS["late parent"].replace(
        "frontier = vertexset", "parent[source] = source\n    frontier = vertexset")
    assert old in text
    changed = text.replace(old, new)
    before, after = (analysed(read_text(each), after=tuple(FACTS)[-1]) for each in (text, changed))
    assert none in said(before, where)
    assert none not in said(after, where)


@pytest.mark.parametrize("first, members", [
    ("pass", True), ("edges.from_(frontier).apply(mark)", False),
    ("near = edges.from_(frontier).apply_modified(mark, parent)\n        near.apply(away)", False),
    ("near = vertices.where(far)\n        near.apply(settle)", False),
    ("frontier.apply(reach)", False),
    ("edges.from_(frontier).apply(mark)\n        for i in range(2):\n            edges.apply(look)",
     False)])
def test_stamps_of_two_operators(first, members):
    """The stamp tells the members of a set only if nothing else in the round stores it."""
    text = f"""@program
def p(edges: edgeset, source: vertex = 0):
    depth = vector(uint, infinity)
    seen = vector(uint, 0)
    parent = vector(vertex, none)
    ends = vector(vertex, lambda v: v)

    def look(src, dst): seen[dst].max(1)
    def far(v): return depth[v] == infinity
    def away(v): parent[v] = none
    def reach(v): depth[ends[v]].min(level)
    def settle(v):
        if uint(v) % 3 == 0:
            depth[v] = level
    def mark(src, dst):
        depth[dst].min(level)
        parent[dst].min(src)
    def visit(src, dst): depth[dst].min(level)

    depth[source] = 0
    frontier = vertexset(source)
    level = 0
    while frontier:
        edges.from_(frontier).apply(look)
        level += 1
        {first}
        frontier = edges.from_(frontier).apply_modified(visit, depth)
    return depth, parent, seen
"""
    program = analysed(read_text(text), after=tuple(FACTS)[-1])
    assert ("members=[(depth[v] == level);" in said(program, "look")) is members


@pytest.mark.parametrize("step, members", [
    *[(step, "x[v] > 2, x[v] < 9") for step in (
        "edges.apply(others)", "vertices.apply(mark)", "s.apply(mark)", "s.apply(grow)",
        "w[source] = 1\n    s.apply(note)",
        "s.apply(copy)", "s.apply(some)", "s.apply(large)", "vertices.apply(note)",
        "t = s.where(odd)\n    t.apply(note)", "if n > 1:\n        edges.apply(others)",
        "for i in range(n):\n        edges.apply(others)",
        "while n > i:\n        i += 1\n        s = vertices.where(between)")],
    ("s.apply(note)", "w[v] == 1"), ("w[source] = 2\n    s.apply(note)", "w[v] == 1"),
    ("t = s\n    t.apply(note)", "w[v] == 1"),
    ("s = vertices.where(odd)", "y[v] == 5"), ("s = s.where(odd)", "x[v] > 2, x[v] < 9, y[v] == 5"),
    *[(step, None) for step in (
        "edges.apply(add)", "edges.from_(s).apply(add)", "x[source] = 3", "vertices.apply(lower)",
        "s = vertices.where(odd)\n    edges.apply(fall)",
        "s.apply(lower)", "if n > 1:\n        s = vertices.where(odd)",
        "if n > 1:\n        edges.apply(add)", "for i in range(n):\n        edges.apply(add)",
        "while n > i:\n        i += 1\n        s = vertices.where(odd)")]])
def test_members(step, members):
    """What tells the members of a set, behind an instruction."""
    found = said(of_step(step), "look")
    assert (f"members=[({members});" in found) if members else ("members=" not in found)


@pytest.mark.parametrize("step, apart", [
    ("s.apply(note)", True), ("vertices.apply(note)", True), ("t = s\n    s.apply(note)", True),
    ("vertices.apply(note)\n    vertices.apply(copy)", False), ("s.apply(some)", False),
    ("t = vertices.where(odd)\n    t.apply(note)", False),
    ("t = s.where(odd)\n    t.apply(note)", False), ("i = 1", False)])
def test_words_of_members(step, apart):
    """What is stored at all members of a set, or at all vertices, excludes a filter."""
    assert ("apart=" in said(of_step(step), "ask")) is apart


@pytest.mark.parametrize("kind, word, asked, same", [
    ("uint", "3", "3", True), ("uint", "3", "4", False), ("uint", "u", "3", False),
    ("vertex", "none", "none", True), ("vertex", "v", "none", False),
    ("fixed", "0", "0", True), ("fixed", "0.5", "0", False), ("fixed", "0.5", "0.5", False)])
def test_a_word_of_all_vertices(kind, word, asked, same):
    """A set that has all vertices at first, and later those with a word, has those with the word
    if all have it at first."""
    program = analysed(read_text(f"""@program
def p(edges: edgeset, n: int = 3, u: uint = 3):
    x = vector({kind}, 0)
    y = vector(uint, 0)
    def begin(v): x[v] = {word}
    def has(v): return x[v] == {asked}
    def look(v): y[v] = 1
    vertices.apply(begin)
    s = vertices
    for i in range(n):
        s.apply(look)
        s = vertices.where(has)
    return x, y
"""), after=tuple(FACTS)[-1])
    assert ("members=" in said(program, "look")) is same


def of_step(step):
    """A program with a set, an instruction, and operators of the set."""
    grown = "\n        ".join(["a = a ^ a << 3"] * 9)
    return analysed(read_text(f"""@program
def p(edges: edgeset, source: vertex = 0, n: int = 3):
    x = vector(uint, lambda v: uint(v))
    y = vector(uint, lambda v: uint(v) % 8)
    z = vector(uint, 0)
    w = vector(uint, 0)

    def between(v): return x[v] > 2 and x[v] < 9
    def odd(v): return y[v] == 5
    def add(src, dst): x[dst] += 1
    def lower(v): x[v] = max(x[v], 1) - 1
    def others(src, dst): y[dst].max(7)
    def fall(src, dst): y[dst].min(4)
    def mark(v): y[v] = 1
    def note(v): w[v] = 1
    def grow(v): w[v] = w[v] + 1
    def copy(v): w[v] = y[v] & 3
    def some(v):
        if y[v] > 2:
            w[v] = 1
    def large(v):
        a = uint(v) ^ y[v]
        {grown}
        w[v] = a | 1
    def new(v): return w[v] == 0
    def ask(src, dst): z[dst].max(2)
    def look(v): z[v] = 1

    i = 0
    s = vertices.where(between)
    {step}
    s.apply(look)
    edges.from_(s).to(new).apply(ask)
    return x, y, z, w
"""), after=tuple(FACTS)[-1])


@pytest.mark.parametrize("first, apart", [("4294967294", True), ("infinity", False)])
def test_numbers_that_are_words(first, apart):
    """A condition of an earlier round says something only if its number was a word."""
    text = TEXTS["late parent"].replace("level = 0", f"level = {first}").replace(
        "depth[source] = 0", f"depth[source] = {first}").replace("level += 1", "level -= 1")
    assert ("apart=" in said(analysed(read_text(text), after=tuple(FACTS)[-1]), "visit")) is apart


def test_settled_in_the_next_round():
    """A function of the set may stand before the operator, where the next round begins."""
    text = TEXTS["harmless"].replace("        frontier.apply(settle)\n", "").replace(
        "        frontier = edges", "        frontier.apply(settle)\n        frontier = edges")
    assert "settles=[(settle);" in said(analysed(read_text(text), after=tuple(FACTS)[-1]), "visit")


def test_a_stamp_of_a_loop_before():
    """Behind the loop it tells nothing."""
    text = TEXTS["no parents"].replace("\n    return depth\n", """
    def look(v): parent[v] = v
    more = edges.apply_modified(visit, depth)
    more.apply(look)
    return depth, parent
""")
    assert "members=" not in said(analysed(read_text(text), after=tuple(FACTS)[-1]), "look")


def test_changes_in_a_branch():
    text = TEXTS["harmless"].replace("        frontier", "            frontier").replace(
        "        level += 1\n", "        level += 1\n        if level > 0:\n")
    assert "changes=[certain" in said(analysed(read_text(text), after=tuple(FACTS)[-1]), "visit")


@pytest.mark.parametrize("body, way", [
    ("x[v] = min(x[v], y[v])", "falls=x"), ("x[v] = max(y[v], x[v])", "rises=x"),
    ("x[v] = min(x[p[v]], y[v])", None), ("x[v] = x[v] + 1", None), ("x[v] = 3", None),
    ("y[p[v]].min(x[v])", "falls=y"), ("y[p[v]] += 1", "rises=y"), ("y[p[v]] |= 1", "rises=y"),
    ("y[p[v]].min(3)\n        x[v] = 2", "falls=y"),
    ("y[p[v]].min(3)\n    y[0] = 7", None)])
def test_one_way(body, way):
    """A store by the host, or of a word that is not the vertex's own, goes no way."""
    function, _, host = body.partition("\n    y[0]")
    store = f"y[0]{host}" if host else "n = 1"
    program = analysed(read_text(f"""@program
def p(edges: edgeset):
    x = vector(uint, lambda v: uint(v))
    y = vector(uint, lambda v: uint(v))
    p = vector(vertex, 0)

    def f(v):
        {function}

    for i in range(3):
        vertices.apply(f)
        {store}
    return x, y
"""), after="one_way")
    fact = known(program.body[-1], facts.OneWay)
    found = [] if fact is None else [*(f"falls={name}" for name in sorted(fact.falls)),
                                     *(f"rises={name}" for name in sorted(fact.rises))]
    assert found == [way] if way else not found


@pytest.mark.parametrize("old, new", [
    ("depth[v] == infinity", "infinity == depth[v]"),
    ("depth[v] == infinity", "not depth[v] != infinity"),
    ("depth[v] == infinity", "not (depth[v] != infinity or False)"),
    ("        return depth[v] == infinity", "        d = depth[v]\n        return infinity == d"),
    ("parent[dst].min(src)", "s = src\n        parent[dst].min(s)"),
    ("while frontier:", "while len(frontier) > 0:"), ("level += 1", "level = 1 + level"),
    ("depth[v] = level", "now = level\n        depth[v] = now")])
def test_spellings(old, new):
    """A text that says the same has the same facts."""
    text = TEXTS["harmless"]
    assert old in text
    found = [analysed(read_text(each), after=tuple(FACTS)[-1])
             for each in (text, text.replace(old, new))]
    kinds = (facts.Apart, facts.Settles, facts.Suffices, facts.Changes, facts.Closed, facts.Drops,
             facts.Fails, facts.Sent, facts.Asked, facts.Needs)
    one, other = ([known(node, kind) for node in ir.instructions(program.body)
                   if isinstance(node, ir.EdgeSetIterator) for kind in kinds] for program in found)
    assert one == other and None not in one


def filters(*tests):
    """The predicates of some conditions, and what is known in their program."""
    lines = "".join(f"    def f{i}(v):\n        return {test}\n" for i, test in enumerate(tests))
    used = "".join(f"    s = vertices.where(f{i})\n" for i in range(len(tests)))
    text = ("@program\ndef p(edges: edgeset):\n    x = vector(uint, 0)\n    y = vector(uint, 0)\n"
            f"    b = vector(bool, False)\n{lines}    n = 0\n    while len(vertices) > n:\n"
            "        n += 1\n" + used.replace("    s", "        s") + "    return x\n")
    program = read_text(text)
    return Knowledge(program), [predicate(function) for function in program.functions]


@pytest.mark.parametrize("one, other, right", [
    ("x[v] == 1", "x[v] == 2", True), ("x[v] == 1", "x[v] == 1", False),
    ("x[v] == n", "x[v] == n - 1", True), ("x[v] == n - 1", "n == x[v] + 0", False),
    ("x[v] == n", "x[v] == infinity", True), ("x[v] < n", "x[v] > n", True),
    ("x[v] <= n", "x[v] >= n", False), ("x[v] < n", "x[v] == n + 1", True),
    ("x[v] == 1", "y[v] == 2", False), ("b[v]", "not b[v]", True),
    ("x[v] == 1 and y[v] == 3", "y[v] != 3", True), ("x[v] < 3", "x[v] > 2 and x[v] < 9", False),
    ("x[v] == n", "x[v] == 3", False), ("x[v] < y[v]", "not (x[v] < y[v])", True)])
def test_excludes(one, other, right):
    """``right`` is whether it is known that no vertex satisfies both; that there is no number
    between 2 and 3 is not known."""
    knowledge, (first, second) = filters(one, other)
    assert knowledge.excludes(first, second) is knowledge.excludes(second, first) is right


@pytest.mark.parametrize("one, other, right", [
    ("x[v] == 1", "x[v] < 2", True), ("x[v] == 1 and y[v] == 2", "y[v] == 2", True),
    ("x[v] == n", "x[v] != infinity", True), ("x[v] <= n", "x[v] < n + 1", True),
    ("x[v] < 2", "x[v] == 1", False), ("y[v] == 1", "x[v] == 1", False)])
def test_implies(one, other, right):
    knowledge, (first, second) = filters(one, other)
    assert knowledge.implies(first, second) is right


def function(*lines, parameters="v"):
    body = "".join(f"        {line}\n" for line in lines)
    used = "vertices.apply(f)" if parameters == "v" else "edges.apply(f)"
    return read_text("@program\ndef p(edges: edgeset):\n    x = vector(uint, 0)\n"
                     f"    y = vector(uint, 0)\n    def f({parameters}):\n{body}    {used}\n"
                     "    return x, y\n").functions[0]


def test_effects():
    """Variables and own words have their values put in; a large value is not known."""
    found = stored(function("t = x[v] + 1", "x[v] = t", "y[v] = x[v] + t"))
    assert [sure for _, sure in found.values()] == [True, True]
    assert found["x"][0] == effects(function("x[v] = x[v] + 1"))[0].value
    assert found["y"][0] == effects(function("y[v] = (x[v] + 1) + (x[v] + 1)"))[0].value
    found = stored(function("if y[v] > 2:", "    x[v] = 1", "else:", "    y[v] = 3"))
    assert [sure for _, sure in found.values()] == [False, False]
    one, = effects(function("if x[src] < 3 and not (x[dst] > 2 or y[dst] == 1):",
                            "    y[dst] += 1", parameters="src, dst"))
    assert [test.operation for test in one.conditions] == ["<", "<=", "!="]
    grown = ["t = x[v]", *["t = t ^ t << 3"] * 9, "x[v] = t"]
    assert has_unknown(stored(function(*grown))["x"][0])


def test_ranges():
    program = analysed(read_text("""
@program
def p(edges: edgeset, most: uint = 9):
    a = vector(uint, 2)
    b = vector(uint, 0)
    c = vector(uint, infinity)
    d = vector(uint, 0)
    e = vector(fixed, 0)
    i = vector(uint, 4)
    j = vector(uint, 2)
    k = vector(uint, 5)
    m = vector(uint, 5)
    n = vector(uint, 0)

    def f(src, dst):
        a[dst].min(1)
        e[dst].max(e[src])
        i[dst] |= 3
        j[dst] |= 5
        b[dst].max(a[src] * 3)
        c[dst].min(7)
        d[dst] += 1

    def g(v):
        a[v] = max(a[v], 1) - 1
        k[v] = edges.out_degree(v)
        m[v] = 7 if i[v] == 4 else 6
        n[v] = limit

    limit = edges.num_vertices
    if edges.num_edges > 9:
        limit = infinity
    edges.apply(f)
    vertices.apply(g)
    return a, b, c, d, e, i, j, k, m, n
"""), after="ranges")
    found = {vector.name: known(vector, facts.Range) for vector in program.vectors}
    assert {name: fact and (fact.least, fact.most) for name, fact in found.items()} == {
        "a": (0, 2), "b": (0, 6), "c": (7, WORD - 1), "d": (0, WORD - 2), "e": (0, 0), "i": (4, 7),
        "j": (2, 7), "k": (0, WORD - 2), "m": (5, 7), "n": None}


#: What operations of numbers give, without the largest words.
MEANINGS = {"min": min, "max": max, "+": operator.add, "*": operator.mul,
            "-": lambda left, right: max(left - right, 0), "//": operator.floordiv,
            "%": operator.mod, ">>": operator.rshift, "<<": operator.lshift,
            "&": operator.and_, "|": operator.or_, "^": operator.xor}


def _of_two_vectors(value):
    return analysed(read_text(f"""
@program
def p(edges: edgeset):
    a = vector(uint, 0)
    b = vector(uint, 0)

    def f(v):
        a[v] = {value}

    vertices.apply(f)
    return a
"""))


@pytest.mark.parametrize("operation", MEANINGS)
def test_intervals_hold_every_word(operation):
    program = _of_two_vectors("a[v] + b[v]")
    store, = program.function("f").body
    node = dataclasses.replace(store.value, operation=operation)
    divides = operation in ("//", "%")
    for left, right in itertools.product(((0, 0), (1, 3), (2, 2), (5, 9)), repeat=2):
        low, high = Knowledge(program, {"a": left, "b": right}).interval(node)
        for one, other in itertools.product(range(left[0], left[1] + 1),
                                            range(right[0], right[1] + 1)):
            if other or not divides:
                assert low <= MEANINGS[operation](one, other) <= high, (left, right)


def test_truth():
    """What is certain of a condition: a side may decide alone, and both sides may together."""
    program = _of_two_vectors("1 if a[v] > 2 and b[v] > 2 else 0")
    node = next(part for part in ir.walk(*program.function("f").body)
                if isinstance(part, ir.Binary) and part.operation == "and")
    sides = {True: (3, 5), False: (0, 2), None: (1, 4)}
    for (left, a), (right, b) in itertools.product(sides.items(), repeat=2):
        values = Knowledge(program, {"a": a, "b": b})
        assert values.truth(node) == (
            False if False in (left, right) else None if None in (left, right) else True)
        assert values.truth(dataclasses.replace(node, operation="or")) == (
            True if True in (left, right) else None if None in (left, right) else False)


def test_readers():
    """Each fact is looked up by a compiler, or by a later pass; the adversary does not count. The
    pass that finds Settles finds others by it."""
    calls = [node for path in (ROOT / "sw").rglob("*.py") if "adversary" not in path.parts
             for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    read = {ast.unparse(node.args[-1]).removeprefix("facts.") for node in calls
            if ast.unparse(node.func) == "known" and node.args}
    kinds = {kind.__name__ for kind in facts.Fact.__subclasses__()}
    assert kinds and kinds - read == {"Settles"}


@pytest.mark.parametrize("first, before, fresh", [
    ("0", "", True), ("0.5", "", False), ("0", "x[3] = 1", False), ("0", "edges.apply(f)", False)])
def test_fresh_outside_of_loops(first, before, fresh):
    """An operator that is performed once finds the words of the beginning."""
    program = analysed(read_text(f"""@program
def p(edges: edgeset):
    x = vector(fixed, {first})
    def f(src, dst): x[dst].max(0.75)
    def g(v): x[v] = 0
    {before}
    s = edges.apply_modified(f, x)
    s.apply(g)
    return x
"""), after=tuple(FACTS)[-1])
    node = next(node for node in program.body if getattr(node, "tracking", None))
    assert known(node, facts.Changes).fresh is fresh


@pytest.mark.parametrize("value, addresses", [
    ("p[p[v]]", {"p", "q"}), ("min(q[v], p[v])", {"p", "q"}),
    ("p[v] if p[v] != q[v] else v", {"p", "q"}), ("p[v] if edges.out_degree(p[v]) > 3 else v",
                                                  {"p", "q"}),
    ("p[v] if uint(p[v]) > 3 else v", {"q"}), ("p[v] if uint(q[v]) > 3 else v", {"p"}),
    ("p[v] if uint(p[v] if x[v] > 1 else v) > 3 else v", {"q"}),
    ("p[p[v] if uint(min(p[v], q[v])) > 3 else v]", set())])
def test_addresses(value, addresses):
    """Words that are only followed, compared and stored may be addresses; words that become
    numbers, wherever in an expression, may not. Vectors that meet are alike."""
    program = analysed(read_text(f"""
@program
def p(edges: edgeset):
    p = vector(vertex, lambda v: v)
    q = vector(vertex, none)
    x = vector(uint, lambda v: uint(v) % 3)

    def f(v):
        p[v] = {value}

    def g(v):
        x[v] = 1 if q[v] == none else 2

    vertices.apply(f)
    vertices.apply(g)
    return p, q, x
"""))
    assert {vector.name for vector in program.vectors
            if known(vector, facts.Addressable)} == addresses
