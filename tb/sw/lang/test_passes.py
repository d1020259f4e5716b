"""The passes over GraphIR that give metadata; :mod:`tb.sw.lang.test_normal` has the other.

======================  ===========================================================================
kinds                   test_kinds
liveness                test_reuse, test_no_reuse
deferred                test_deferred, test_not_deferred, test_order_does_not_matter
races                   test_start_copies, test_copies_of_the_programs, test_changed_at
direction               test_directions, also of both parts of a hybrid schedule
edge blocking           test_blocking_size, test_no_blocking, test_no_blocking_in_a_hybrid
kernel fusion           test_fused, test_obstacles, test_fusion_is_asked_for,
                        test_fusion_in_fusion, test_assigned
all                     test_after: up to a pass; test_text_and_arguments_stay
======================  ===========================================================================
"""

import dataclasses

import numpy as np
import pytest

from sw.graph.graph import Graph
from sw.lang import graph_ir as ir
from sw.lang import programs
from sw.lang.choices import SetForm, Traversal
from sw.lang.facts import Early, deferring, known
from sw.lang.uses import assigned
from sw.lang.passes import PASSES
from sw.lang.passes.rewrite import changed, marked
from sw.lang.reader import read_text
from sw.lang.types import LanguageError
from tb.sw.lang.spelled import analysed


HEAD = """\
@program
def p(edges: edgeset, source: vertex = 0):
    x = vector(uint, infinity)
    y = vector(uint, 0)
    z = vector(fixed, 0)
    p = vector(vertex, none)
"""


def read(body, **changes):
    for name, text in changes.items():
        body = body.replace(name, text)
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return read_text(f"{HEAD}{lines}    return x\n", "p.py")


def metadata(body, kind=ir.EdgeSetIterator, **changes):
    """The metadata of the only instruction of a kind, after all passes."""
    [node] = [node for node in ir.instructions(analysed(read(body, **changes)).body)
              if isinstance(node, kind)]
    return node.metadata


# Kinds

@pytest.mark.parametrize("call, every, output", [
    ("edges.apply(f)", True, False), ("edges.transpose().apply(f)", True, False),
    ("edges.from_(vertices).apply(f)", True, False), ("edges.from_(s).apply(f)", False, False),
    ("edges.to(g).apply(f)", False, False), ("s = edges.apply_modified(f, x)", True, True)])
def test_kinds(call, every, output):
    found = metadata("def f(s, t): x[t].min(1)\ndef g(v): return x[v] > 1\ns = vertexset(source)\n"
                     + call)
    assert (found["is_all_edges"], found["requires_output"]) == (every, output)


def test_kinds_of_vertices():
    for name, every in (("vertices", True), ("s", False)):
        found = metadata(f"def f(v): x[v] = 1\ns = vertexset(source)\n{name}.apply(f)",
                         ir.VertexSetIterator)
        assert found["is_all_vertices"] is every and found["is_parallel"] is True


# Liveness

STEP = "s = vertexset(source)\nBEFORE\nwhile s:\n    BODY\nBEHIND"
MOVE = "t = edges.from_(s).apply_modified(f, x)"
FUNCTIONS = "def f(a, b): x[b].min(x[a])\ndef g(v): y[v] = 1\ndef h(v): return y[v] > 1\n"


def reuse(body, before="pass", behind="pass"):
    body = "\n    ".join(body.splitlines())
    return metadata(FUNCTIONS + STEP, BODY=body, BEFORE=before,
                    BEHIND=behind)["can_reuse_frontier"]


@pytest.mark.parametrize("body, before, behind", [
    (f"{MOVE}\ns = t", "pass", "pass"), (MOVE.replace("t", "s", 1), "pass", "pass"),
    (f"{MOVE}\ns = t\ns.apply(g)", "pass", "pass"),
    (f"s.apply(g)\n{MOVE}\ns = t", "n = len(s)", "n = len(s)"),
    # another name, whose set is not read again
    (MOVE.replace("t", "s", 1), "old = s\nold.apply(g)", "pass"),
    # the memory of all vertices, which nobody reads again
    (MOVE.replace("t", "s", 1), "s = vertices", "pass")])
def test_reuse(body, before, behind):
    assert reuse(body, before, behind) is True


@pytest.mark.parametrize("body, before, behind", [
    (f"{MOVE}\ns.apply(g)\ns = t", "pass", "pass"),             # read behind the operator
    (f"{MOVE}", "pass", "pass"),                                # read by the next round
    (f"{MOVE}\nn = len(s)\ns = t", "pass", "pass"),             # its size is read
    (f"{MOVE}\nu = s.where(h)\ns = t", "pass", "pass"),
    (f"{MOVE}\nif len(t) > 3:\n    s.apply(g)\ns = t", "pass", "pass"),
    (f"{MOVE}\nif len(t) > 3:\n    s = t", "pass", "pass"),     # not moved in each case
    (f"{MOVE}\nn = s.sum(k)\ns = t", "def k(v): return y[v]", "pass"),
    # another name of the same set
    (f"old = s\n{MOVE}\ns = t\nold.apply(g)", "pass", "pass"),
    (MOVE.replace("t", "s", 1), "old = s", "old.apply(g)"),
    (MOVE.replace("t", "s", 1), "s = vertices", "vertices.apply(g)"),
    # all vertices
    (MOVE.replace("from_(s).", ""), "pass", "pass")])
def test_no_reuse(body, before, behind):
    assert reuse(body, before, behind) is False


def test_no_output_has_nothing_to_reuse():
    assert "can_reuse_frontier" not in metadata("def f(s, t): x[t].min(1)\nedges.apply(f)")


# Loops whose end decides about lost candidates

LOOP = "while s:\n    s = edges.from_(s).apply_modified(f, x)"
QUEUE = "while s:\n    near = s.dequeue()\n    edges.from_(near).apply_update_priority(f, s)"


def is_deferred(reduction, loop=LOOP, functions="", parameters="a, b", behind=""):
    made = "PriorityQueue(x, source, delta=3)" if "dequeue" in loop else "vertexset(source)"
    program = analysed(read(
        f"unset = vector(uint, infinity)\n{functions}\ndef f({parameters}):\n    REDUCTION\n"
        f"s = {made}\n{loop}\n{behind}", REDUCTION="\n    ".join(reduction.splitlines())))
    [while_] = [node for node in program.body if isinstance(node, ir.WhileLoop)]
    found = deferring(while_)
    if found is not None:
        assert not found.metadata["start_copies"] and known(found, Early) is not None
    return found is not None


@pytest.mark.parametrize("reduction", [
    "x[b].min(x[a])", "x[b].min(x[a] + 1)", "x[b].min(x[a] * 2)", "x[b].min(1)",
    "x[b].min(max(x[a], y[b]))", "x[b].max(min(x[a], y[a]))", "x[b].max(x[a] >> 1)",
    "x[b].min(x[a] * 3 + y[b])", "x[b] |= x[a]", "x[b] |= x[a] & y[b]", "x[b] |= x[a] << 3",
    "x[b].min(x[a])\nx[a].min(3)", "x[b].min(x[a] + edges.out_degree(b))",
    "x[b].min(x[a] + edges.num_vertices)",
    # the same in other words, or more
    "if y[b] > 1:\n    x[b].min(x[a])", "t = x[a]\nx[b].min(t)", "x[b].min(x[a])\ny[b].max(3)",
    "if x[a] < x[b]:\n    x[b].min(x[a])", "x[b].min(x[a] + 1)\nunset[b].min(x[a] * 2)",
    "x[b].min(x[a] + 1)\nunset[a].min(x[a])"])
def test_deferred(reduction):
    assert is_deferred(reduction)
    # The priorities of a queue are lowered.
    assert is_deferred(reduction, QUEUE) if ".min(" in reduction else True


def test_deferred_with_weights():
    assert is_deferred("x[b].min(x[a] + w)", QUEUE, parameters="a, b, w")
    assert is_deferred("x[b].max(min(x[a], w))", parameters="a, b, w")


@pytest.mark.parametrize("reduction", [
    "x[b] += x[a]",                                     # each call counts
    "x[b].max(x[a] * 2)", "x[b].max(x[a] - y[a])",      # may fail
    "x[b].max(x[a] // (y[b] + 1))", "x[b].max(x[a] // 2)", "x[b].min(x[a] * y[b])",
    "x[p[b]].min(x[a])", "x[b].max(x[a] >> y[b])", "x[b].min(x[a] + 1 >> 1)",
    "if x[a] + 1 < x[b]:\n    x[b].min(x[a] + 1)", "if y[p[b]] > 1:\n    x[b].min(x[a])",
    "x[b].max(y[a] - x[a])", "x[b].min(~x[a])",         # falls as the word grows
    "x[b].max(1 if x[a] > 3 else 2)", "x[b].max(x[a] % 3)", "x[b].max(x[a] ^ 1)",
    "x[b].max(x[a] << 1)",                              # wraps
    "x[b].max(x[a] | 1)", "x[b].max(x[a] & 6)",         # no order of numbers
    "x[b] |= x[a] + 1", "x[b] |= max(x[a], y[b])",      # no order of bits
    "x[b].max(x[b] + 1)",                               # not the source
    "x[b].max(x[p[a]])", "x[vertex(x[a])].min(3)",
    "x[b].min(x[a])\ny[b] += 1", "x[b].min(x[a])\ny[b].max(x[a])",
    "if x[a] > 2:\n    x[b].min(x[a])",
    "x[b].min(x[a])\nif x[a] > 2:\n    unset[b].min(x[a])",
    "if y[a] < x[a]:\n    x[b].min(y[a])",             # another word than the one that it lowers
    "x[b].min(x[a] + y[b])\ny[b].max(1)",              # a part changes
    # A candidate that is too large becomes infinity, and then is none.
    "x[b].min(max(x[a] + 1, unset[b]))", "x[b].min(x[a] + unset[a])", "x[b].min((x[a] + 1) * n)"])
def test_not_deferred(reduction):
    assert not is_deferred(reduction, functions="n = infinity")


@pytest.mark.parametrize("loop", [
    LOOP.replace("from_(s).", ""), LOOP.replace("while s", "while len(s) > 3"),
    LOOP.replace("s = e", "t = e"), LOOP + "\n    y[source] = 1", QUEUE.replace("near)", "t)"),
    LOOP.replace("from_(s)", "from_(s).to(late)"), LOOP + "\n    s.apply(count)",
    LOOP + "\n    s.apply(reach)", LOOP + "\n    s.apply(move)",
    # another error, as soon as a vertex is reached, or after so many rounds
    LOOP.replace("from_(s)", "from_(s).to(fails)"), LOOP + "\n    s.apply(divide)",
    LOOP + "\n    s.apply(lose)", LOOP + "\n    n = vertices.sum(word)", LOOP + "\n    n = 7 // n",
    LOOP + "\n    n = 7 // n + 1",
    LOOP + "\n    n = n + n"])
def test_not_deferred_by_its_loop(loop):
    functions = """def late(v): return x[v] > 1
def count(v): y[vertex(uint(v) % 3)] += 1
def reach(v): y[vertex(x[v] % 3)].max(1)
def move(v): x[v] = 1
def fails(v): return 7 // y[v] > 1
def divide(v): unset[v] = 7 // y[v]
def lose(v): unset[p[v]].min(y[v] + 1)
def word(v): return x[v]
n = 1
t = vertexset(source)"""
    assert not is_deferred("x[b].min(x[a])", loop, functions)


@pytest.mark.parametrize("loop", [
    LOOP.replace("from_(s)", "from_(s).to(g)"), LOOP + "\n    s.apply(h)", LOOP + "\n    n += 1",
    QUEUE.replace("from_(near)", "from_(near).to(g)"), QUEUE + "\n    near.apply(h)",
    "while len(s) > 0:\n    t = edges.from_(s).apply_modified(f, x)\n    s = t"])
def test_deferred_with_more_in_the_loop(loop):
    functions = "n = 0\ndef g(v): return y[v] > 1\ndef h(v): unset[v] = 1"
    assert is_deferred("x[b].min(x[a])", loop, functions)


def test_the_last_round_is_not_certain():
    """So nobody may read its set."""
    loop, functions = QUEUE.replace("near", "t"), """def h(v): y[v] = 1
def k(v): return y[v]
t = vertexset(source)"""
    assert is_deferred("x[b].min(x[a])", loop, functions)
    for behind in ("t.apply(h)", "n = t.sum(k)", "n = len(t)"):
        assert not is_deferred("x[b].min(x[a])", loop, functions, behind=behind)


def test_not_deferred_of_fixed_point():
    loop = LOOP.replace("x)", "z)")
    assert not is_deferred("z[b].max(z[a] * 0.5 + 1)", loop)
    assert is_deferred("z[b].max(z[a])", loop)


@pytest.mark.parametrize("reduction, initial, same", [
    ("x[b].min(x[a] + 1)", [0, 9, 9, 9], True), ("x[b] |= x[a] << 1", [1, 0, 0, 0], True),
    # By numbers it grows. Its bits depend on how much of the source was seen.
    ("x[b] |= x[a] + 1", [1, 0, 0, 0], False)])
def test_order_does_not_matter(reduction, initial, same):
    """The words of such a loop and of a near miss, with edges one by one in many orders."""
    graph = Graph(4, [0, 0, 2, 1], [1, 2, 1, 3])
    program = read(f"def f(a, b):\n    REDUCTION\ns = vertexset(source)\n{LOOP}",
                   REDUCTION=reduction)
    step = program.function("f").body[0].value
    results = set()
    for seed in range(40):
        words, rng = list(initial), np.random.default_rng(seed)
        active = {0}
        while active:
            source = int(rng.choice(sorted(active)))
            active.discard(source)
            for target in graph.dst[graph.src == source].tolist():
                value = {"+": words[source] + 1, "<<": words[source] << 1}[step.operation]
                new = min(words[target], value) if ".min" in reduction else words[target] | value
                if new != words[target]:
                    words[target] = new
                    active.add(target)
        results.add(tuple(words))
    assert (len(results) == 1) is same is is_deferred(reduction)


# Races

#: The levels of a search; of each vertex, the largest level among the vertices that reach it.
LEVELS = """\
def g(v): return x[v] == infinity
def f(a, b):
    x[b].min(n)
    y[b].max(x[b] ^ x[a])
x[source] = 0
s = vertexset(source)
n = 0
while s:
    n += 1
    s = edges.from_(s).to(g).apply_modified(f, x)"""


@pytest.mark.parametrize("text, copies", [
    ("def f(a, b): x[b].min(y[a])\nedges.apply(f)", ()),
    ("def f(a, b): x[b].min(x[a])\nedges.apply(f)", ("x",)),
    ("def f(a, b):\n    y[b] += x[a]\n    x[a].min(y[b])\nedges.apply(f)", ("x", "y")),
    ("def f(a, b): x[b].min(1)\ndef g(v): return x[v] > 1\nedges.to(g).apply(f)", ()),
    ("def f(a, b): x[b].min(y[a])\ndef g(v): return x[v] > 1\nedges.to(g).apply(f)", ("x",)),
    ("def f(a, b):\n    x[b].min(1)\n    y[a].min(2)\n"
     "def g(v): return x[v] > 1 and y[v] > 3\nedges.to(g).apply(f)", ("x", "y")),
    (LEVELS, ()), (LEVELS.replace("n += 1", "n += len(s)"), ("x",)),
    (f"def f(a, b): x[b].min(x[a])\ns = vertexset(source)\n{LOOP}", ()),
    (f"def f(a, b): x[b].max(x[a])\ns = vertexset(source)\n{LOOP}\n    s = vertices", ("x",))])
def test_start_copies(text, copies):
    assert metadata(text)["start_copies"] == copies


@pytest.mark.parametrize("statement, copies", [
    ("x[v] = x[v] + 1", ()), ("x[v] = y[v] + y[p[v]]", ()), ("x[v] = x[p[v]]", ("x",)),
    ("x[p[v]].min(x[v])", ("x",)), ("p[v] = p[p[v]]", ("p",)), ("x[p[v]].min(y[v])", ())])
def test_start_copies_of_vertices(statement, copies):
    found = metadata(f"def f(v): {statement}\nvertices.apply(f)", ir.VertexSetIterator)
    assert found["start_copies"] == copies


def test_copies_of_the_programs():
    """No operator of the package needs a copy."""
    found = {(name, node.apply_f, *node.metadata["start_copies"]) for name in programs.names()
             for node in ir.instructions(analysed(programs.find(name)).body)
             if isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator)
             and node.metadata["start_copies"]}
    assert not found


@pytest.mark.parametrize("index, place, only", [
    ("b", "src", False), ("b", "dst", True), ("a", "src", True), ("p[b]", "dst", False)])
def test_changed_at(index, place, only):
    touched = metadata(f"def f(a, b): x[{index}].min(1)\nedges.apply(f)")["accesses"]
    assert touched.writes == {"x"} and touched.changed_at(place) == ({"x"} if only else set())


# EdgeBlocking

def blocked(call, **more):
    found = read("def f(s, t): x[t].min(1)\ndef g(v): return x[v] > 1\ns = vertexset(source)\n"
                 + call)
    return changed(found, lambda node: marked(node, edge_blocking=True, **more)
                   if isinstance(node, ir.EdgeSetIterator) else node)


@pytest.mark.parametrize("given, size", [({}, 0x42000), ({"blocking_size": None}, 0x42000),
                                         ({"blocking_size": 7}, 7)])
def test_blocking_size(given, size):
    *_, node = analysed(blocked("edges.apply(f)", **given)).body
    assert node.metadata["blocking_size"] == size
    assert "blocking_size" not in metadata("def f(s, t): x[t].min(1)\nedges.apply(f)")


@pytest.mark.parametrize("call, why", [("edges.from_(s).apply(f)", "a set"),
                                       ("edges.to(g).apply(f)", "a filter")])
def test_no_blocking(call, why):
    with pytest.raises(LanguageError, match=f"p.py:10:5: EdgeBlocking needs .* operator has {why}"):
        analysed(blocked(call))


def test_no_blocking_in_a_hybrid():
    """Either part of a hybrid schedule may ask for blocks."""
    for place in (0, 1):
        parts: list = [{}, {}]
        parts[place] = {"edge_blocking": True}
        tried = changed(read("def f(s, t): x[t].min(1)\ns = vertexset(source)\n"
                             "edges.from_(s).apply(f)"),
                        lambda node, parts=parts: marked(
                            node, hybrid=("input_vertexset_size", 0.5, *parts))
                        if isinstance(node, ir.EdgeSetIterator) else node)
        with pytest.raises(LanguageError, match="EdgeBlocking needs .* operator has a set"):
            analysed(tried)


# Directions

PUSHED, PULLED = {"direction": Traversal.PUSH}, {"direction": Traversal.PULL}


@pytest.mark.parametrize("given, found", [
    ({}, PUSHED), (PUSHED, PUSHED), (PULLED, PULLED | {"pull_input_frontier": SetForm.BOOLMAP}),
    *[(PULLED | {"pull_input_frontier": SetForm.BITMAP},) * 2]])
def test_directions(given, found):
    """A direction that is given stays, and only a pull has a form of its input."""
    tried = read("def f(s, t): x[t].min(1)\ns = vertexset(source)\nedges.from_(s).apply(f)")

    def with_metadata(**more):
        [*_, node] = analysed(changed(tried, lambda node: marked(node, **more) if isinstance(
            node, ir.EdgeSetIterator) else node), "direction").body
        return node.metadata

    names = ("direction", "pull_input_frontier")
    whole = with_metadata(**given)
    assert {name: whole[name] for name in names if name in whole} == found
    hybrid = with_metadata(hybrid=("input_vertexset_size", 0.5, given, PULLED))
    assert hybrid["hybrid"] == ("input_vertexset_size", 0.5, found, PULLED | {
        "pull_input_frontier": SetForm.BOOLMAP})
    assert "direction" not in hybrid


# Kernel fusion

#: Names that a loop of these tests may use.
MAKINGS = """\
def f(a, b): x[b].min(x[a] + n)
def g(v): y[v] = n
def h(v): return y[v] > n
def k(v): return y[v]
def m(v): return z[v]
def i(v): z[v] = n
n = 0
done = n > 1
s = vertexset(source)
q = PriorityQueue(x, source, delta=3)
"""


def looped(body, head="while s:", needs=None):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    found = read(f"{MAKINGS}{head}\n{lines}")
    if needs is None:
        return found
    return changed(found, lambda node: marked(node, needs_fusion=needs)
                   if isinstance(node, ir.WhileLoop | ir.ForLoop) else node)


@pytest.mark.parametrize("body, head", [
    ("s = edges.from_(s).apply_modified(f, x)", "while s:"),
    ("n += 1\ns.apply(g)\ns = s.where(h)", "while len(s) > 3 and not done:"),
    ("near = q.dequeue()\nedges.from_(near).apply_update_priority(f, q)", "while q:"),
    ("t = s\ns = vertices\nn = len(t)", "while s:"),
    ("n = n - 1 if len(s) > n else max(n, 4)\ndone = n > 3 or done", "while not done:"),
    ("if len(s) > 3:\n    s.apply(g)\nelse:\n    n = vertices.sum(k)", "while n < 9:"),
    ("while s:\n    s = s.where(h)\nn += 1", "for r in range(4):"),
    # what stays may be anything
    ("n = n + edges.num_vertices * edges.num_edges", "while n < 9:"),
    ("s.apply(g)", "for r in range(3 * edges.num_vertices):")])
def test_fused(body, head):
    [*_, loop] = analysed(looped(body, head, needs=True)).body
    assert loop.metadata["can_fuse"] is True
    [*_, loop] = analysed(looped(body, head)).body
    assert loop.metadata["can_fuse"] is True and "needs_fusion" not in loop.metadata


@pytest.mark.parametrize("body, place, why", [
    ("x[source] = 1", "18:9", "the host stores an element here"),
    ("s = vertexset(source)", "18:9", "the host makes a set of vertices here"),
    ("r = PriorityQueue(x, source)", "18:9", "the host makes a queue here"),
    ("n = n * 2", "18:13", r"only the host can compute \* of a number that changes in the loop"),
    ("n = 1 + n // 2", "18:17", "only the host can compute // of a number"),
    ("n = n + n", "18:13", "this adds numbers that change in the loop"),
    ("t = 1\nn = n - t", "19:13", "this adds numbers that change in the loop"),
    ("if n > 3 and vertices.sum(k) > 2:\n    n += 1", "18:22", "the host computes this sum"),
    ("n = 1 if n > 4 else vertices.sum(k)", "18:29", "the host computes this sum in some rounds"),
    ("share = 0.5", "18:17", "this is computed with decimals"),
    ("n = n + vertices.sum(k)", "18:13", "this adds numbers that change in the loop"),
    ("n = 1 if vertices.sum(m) > 2 else 3", "18:18", "this is computed with decimals"),
    ("n += 1\ns.apply(i)", "12:22", "the host computes this number of fixed point in each round"),
    ("n = len(s)\nif n % 2 == 0:\n    s.apply(g)", "19:12", "only the host can compute % of a")])
def test_obstacles(body, place, why):
    [*_, loop] = analysed(looped(body)).body
    assert loop.metadata["can_fuse"] is False
    with pytest.raises(LanguageError, match=f"^p.py:{place}: {why}.*, so the loop of line 17 "
                                            "cannot be one kernel; use no_fusion$"):
        analysed(looped(body, needs=True))


def test_fusion_is_asked_for():
    """A loop that cannot be fused is no error where nobody asks for it."""
    [*_, loop] = analysed(looped("n = n * 2", needs=False)).body
    assert loop.metadata == {"needs_fusion": False, "can_fuse": False}


def test_fusion_in_fusion():
    """A loop has the obstacles of the loops in it."""
    body = "while n < 3:\n    n = n * 2\ns = s.where(h)"
    [*_, loop] = analysed(looped(body)).body
    assert not loop.metadata["can_fuse"] and not loop.body[0].metadata["can_fuse"]
    # A number that the outer loop changes stays in the inner one.
    [*_, loop] = analysed(looped("n += 1\nwhile s:\n    s = s.where(h)\n    t = n * 3")).body
    assert not loop.metadata["can_fuse"] and loop.body[1].metadata["can_fuse"]


def test_assigned():
    body = ("n += 1\nnear = q.dequeue()\nedges.from_(near).apply_update_priority(f, q)\n"
            "for r in range(n):\n    t = s.where(h)\n    u = t\nedges.apply(f)")
    [*_, loop] = looped(body).body
    assert assigned(loop) == {"n", "near", "q", "r", "t", "u"}


# All passes

def test_after():
    program = programs.find("sssp")
    *_, loop = analysed(program, "kinds").body
    assert loop.metadata == {} and loop.body[-1].metadata.keys() == {"is_all_edges",
                                                                      "requires_output"}
    *_, loop = analysed(program, "early").body
    assert deferring(loop) is loop.body[-1] and "start_copies" not in loop.body[-1].metadata
    assert analysed(program, list(PASSES)[-1]) == analysed(program)


@pytest.mark.parametrize("name", programs.names())
def test_text_and_arguments_stay(name):
    """Passes change nothing but metadata."""
    def bare(node):
        changes = {field.name: tuple(map(bare, value))
                   for field in dataclasses.fields(node)
                   if isinstance(value := getattr(node, field.name), tuple)
                   and value and isinstance(value[0], ir.Node)}
        if hasattr(node, "metadata"):
            changes["metadata"] = {}
        return dataclasses.replace(node, **changes)

    program = programs.find(name)
    assert bare(analysed(program)) == bare(program) == program
