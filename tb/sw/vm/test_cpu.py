"""The GraphVM cpu: the reference's words, errors and sets, for all threads and directions.

======================  ==========================================================================
programs                test_programs: each program on graphs of each kind; test_threads: on a graph
                        for which threads share the work; test_own_stores and
                        test_words_before_an_operator: which words a function reads
random programs         test_random_programs
directions              test_direction: the machine's own choice, and both that can be asked for;
                        test_run_chooses: its own if nobody asks
choices                 test_choices: results are the same for all that the machine honours;
                        test_refused: the others; test_hybrid, test_hybrid_at_its_threshold:
                        which schedule runs;
                        test_blocks, test_vertex_based
errors                  test_errors: class and text; test_words: of arithmetic; test_overflow: too
                        many paths;
                        test_after_an_error: the machine can be used again
loops                   test_fused_loops: which loops become C++, and test_loops: their numbers;
                        test_no_fusion; test_long_loop: Python sees signals
sets                    test_sets: the sets of a queue; test_all_vertices_again: in a loop
parameters              test_wrong_threads
======================  ==========================================================================
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from sw.graph import Graph
from sw.graph.generators import generate
from sw.lang import graph_ir as ir
from sw.lang import programs
from sw.lang.passes import CHOSEN, analysed
from sw.lang.passes.rewrite import changed, marked
from sw.lang.reader import read_text
from sw.lang.schedule import applied, read_schedule
from sw.lang.types import LARGEST
from sw.vm import cpu, reference
from sw.vm.cpu.kernels import CpuCode
from sw.vm.host import perform
from tb.sw.graphs import graphs, random_graph
from tb.sw.vm.random_programs import program_texts
from tb.sw.vm.small_programs import program
from tb.sw.vm.words import REFUSED, WORDS


#: (direction, threads). Parts of one arc or vertex have all threads work, however small the graph.
#: With the direction ``push`` the host performs all loops.
WAYS = [(None, 1), ("push", 3), ("pull", 3), ("pull", 1)]


def directed(tried, direction):
    """The program with a direction for all operators of edges; None leaves it to the machine."""
    return changed(tried, lambda node: marked(node, direction=direction)
                   if isinstance(node, ir.EdgeSetIterator) else node)


class Stepped(cpu.CpuMachine):
    """Leaves all loops to the host."""

    def loop(self, node, values, queues, evaluate, word):
        return None


def outcome(function):
    """The words of all results, or the class and the text of the error."""
    try:
        result = function()
    except UserError as error:
        return type(error), str(error)
    return result.fraction_bits, {name: words.tolist() for name, words in result.outputs.items()}


def check(tried, graph, ways=WAYS, optimize="-O2", grain=1, **given):
    """Compare the machine with the reference. Returns the outcome."""
    wanted = outcome(lambda: reference.run(tried, graph, **given))
    for direction, threads in ways:
        ready = directed(analysed(tried, after=CHOSEN), direction)
        kind = Stepped if direction == "push" else cpu.CpuMachine
        machine = kind(ready, graph, threads=threads, grain=grain, optimize=optimize)
        found = outcome(lambda: perform(ready, graph, machine, given))
        assert found == wanted, (direction, threads)
    return wanted


# Programs

def path(count):
    return Graph(count, range(count - 1), range(1, count), [7] * (count - 1))


GRAPHS = {
    "loops and parallel arcs": random_graph(20, 150, 1, True),
    "isolated vertices": Graph(90, [3, 4, 70], [4, 70, 3], [1, 1 << 31, 0]),
    "path": path(40),
    "no arcs": Graph(2, [], [], []),
    "undirected": random_graph(70, 200, 2, True).undirected().simplify(),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("name", programs.names())
def test_programs(name, graph):
    check(programs.find(name), graph)
    if name == "sssp":
        check(programs.find(name), graph, delta=3 << 29, source=1)
    if name == "pagerank":
        check(programs.find(name), graph, tolerance=0.01, iterations=30)


@pytest.mark.parametrize("name", programs.names())
def test_threads(name):
    graph = generate("rmat:scale=10,degree=12,seed=4").weighted(90).undirected().simplify()
    _, words = check(programs.find(name), graph, [(None, 1), (None, 4), ("push", 4)], grain=64)
    assert max(map(max, words.values())) > 0


@settings(max_examples=50)
@given(program_texts(), st.lists(graphs(weighted=True), min_size=1, max_size=3))
def test_random_programs(text, some):
    for graph in some:
        check(read_text(text), graph, optimize="-O0")


# Directions

class Watched(Stepped):
    """Notes which operators of edges pulled."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.directions = []

    def edges(self, node, vset, uniforms):
        found = super().edges(node, vset, uniforms)
        self.directions.append(self.pulled)
        return found


def test_run_chooses(monkeypatch):
    """``run`` leaves the direction to the machine, which pulls where most arcs leave the input."""
    seen = []
    monkeypatch.setattr("sw.vm.cpu.machine.perform", lambda program, *others: seen.append(program))
    cpu.run(programs.find("bfs"), path(3))
    assert all("direction" not in node.metadata for node in ir.instructions(seen[0].body)
               if isinstance(node, ir.EdgeSetIterator))


def directions(tried, graph, direction=None):
    ready = directed(analysed(tried, after=CHOSEN), direction)
    machine = Watched(ready, graph)
    perform(ready, graph, machine, {})
    return machine.directions


def test_direction():
    """A search pulls while its frontier has many arcs. An operator of all arcs pulls if that needs
    no atomics."""
    graph = generate("rmat:scale=10,degree=12,seed=4").undirected().simplify()
    search = programs.find("bfs")
    found = directions(search, graph)
    assert True in found[1:-1] and not found[0] and not found[-1]
    assert not any(directions(search, graph, "push"))
    assert all(directions(search, graph, "pull"))
    assert all(directions(programs.find("pagerank"), graph))
    assert not any(directions(programs.find("cc"), graph))


# Choices

def scheduled(name, schedule, label="s0:s1"):
    return applied(programs.find(name), {label: read_schedule(schedule)})


@pytest.mark.parametrize("schedule", [
    "vertex_based", "edge_only,push", "vertex_based,pull", "pull:bitmap", "fused,dedup",
    "dedup:bitmap", "push | pull when input_vertexset_size>=0.2",
    "vertex_based,push | edge_only,pull when input_vertexset_size>=0.01"])
@pytest.mark.parametrize("name", ["bfs", "sssp", "cc", "bc"])
def test_choices(name, schedule):
    if name == "cc" and "|" in schedule:
        pytest.skip("its operator goes through all edges")
    for graph in GRAPHS.values():
        check(scheduled(name, schedule), graph, [(None, 1), (None, 3)])
    wide = generate("rmat:scale=10,degree=12,seed=4").weighted(90)
    check(scheduled(name, schedule), wide, [(None, 3)], grain=64)


@pytest.mark.parametrize("schedule, words", [
    ("etwc", "the GraphVM cpu has no load balance etwc; it has vertex_based, edge_only"),
    ("pull:boolmap", "no form of the input set of pull boolmap; it has bitmap"),
    ("unfused_bitmap", "no frontier creation unfused_bitmap; it has fused"),
    ("no_dedup", "no deduplication no_dedup; it has dedup"),
    ("dedup:boolmap", "no deduplication dedup:boolmap; it has dedup:bitmap"),
    ("push | wm when input_vertexset_size>=0.2", "no load balance wm"),
    ("push | pull when input_vertexset_size>=argv[3]", "takes its threshold from argv.3.; give a")])
def test_refused(schedule, words):
    with pytest.raises(UserError, match=rf"bfs.py:\d+:\d+: .*{words}"):
        cpu.run(scheduled("bfs", schedule), path(3))


def test_refused_blocks():
    with pytest.raises(UserError, match=r"pagerank.py:\d+:\d+: .* EdgeBlocking for push only"):
        cpu.run(scheduled("pagerank", "edge_only:blocked,pull"), path(3))


def test_hybrid():
    """The second schedule runs for sets of the share and more."""
    graph = generate("rmat:scale=10,degree=12,seed=4").undirected().simplify()
    ready = analysed(scheduled("bfs", "push | pull when input_vertexset_size>=0.125"),
                     after=CHOSEN)
    machine = Sized(ready, graph)
    perform(ready, graph, machine, {})
    assert {pulled for _, pulled in machine.seen} == {True, False}
    assert all(pulled == (size >= 128) for size, pulled in machine.seen)


@pytest.mark.parametrize("threshold, pulls", [("0.07", True), ("0.0700001", False), ("1", False)])
def test_hybrid_at_its_threshold(threshold, pulls):
    """7 of 100 vertices are a share of 0.07, though 0.07 * 100 is above 7 in floating point."""
    graph = Graph(100, [0] * 7 + list(range(1, 8)), [*range(1, 8), *range(8, 15)])
    ready = analysed(scheduled("bfs", f"push | pull when input_vertexset_size>={threshold}"),
                     after=CHOSEN)
    machine = Sized(ready, graph)
    perform(ready, graph, machine, {})
    assert machine.seen[:2] == [(1, False), (7, pulls)]


class Sized(Stepped):
    """Notes the sizes of inputs, and which operators of edges pulled."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.seen = []

    def edges(self, node, vset, uniforms):
        size, found = self.size(vset), super().edges(node, vset, uniforms)
        self.seen.append((size, self.pulled))
        return found


@pytest.mark.parametrize("size", [1, 7, 64, 4096])
@pytest.mark.parametrize("name", ["pagerank", "cc", "label_propagation"])
def test_blocks(name, size):
    """Blocks that threads own, and blocks that they share."""
    for graph in GRAPHS.values():
        for balance in ("edge_only", "vertex_based"):
            check(scheduled(name, f"{balance}:blocked:{size}"), graph, [(None, 1), (None, 3)])
    wide = generate("rmat:scale=10,degree=12,seed=4").weighted(90).undirected().simplify()
    check(scheduled(name, f"edge_only:blocked:{size}"), wide, [(None, 4)], grain=16)


def test_vertex_based():
    """Parts of equally many vertices, whatever their arcs."""
    spokes = np.arange(1, 300)
    graph = Graph(300, [*np.zeros(299, int), *spokes], [*spokes, *np.roll(spokes, 3)])
    for direction in ("push", "pull"):
        check(scheduled("bfs", f"vertex_based,{direction}"), graph, [(None, 4)], grain=2)


# Errors

PAIR = Graph(2, [0], [1])


@pytest.mark.parametrize("lines", [
    ["def f(v):", "    a[v] = a[p[v]]", "vertices.apply(f)"],
    ["def f(src, dst):", "    a[p[src]].min(1)", "edges.apply(f)"],
    ["def f(v):", "    a[v] = edges.in_degree(p[v])", "vertices.apply(f)"],
    ["def f(v):", "    return a[p[v]] > 1", "def g(src, dst):", "    a[dst] += 1",
     "edges.to(f).apply(g)"],
    ["def f(v):", "    return a[p[v]]", "total = vertices.sum(f)"],
    ["def f(v):", "    x[v] = x[v] / a[v]", "vertices.apply(f)"],
    ["def f(v):", "    x[v] = x[v] - 1", "vertices.apply(f)"],
    ["def f(src, dst):", "    a[dst] += infinity", "edges.apply(f)"],
    ["def f(src, dst):", "    a[src] += infinity", "    a[src] += 1", "edges.apply(f)"],
    ["def f(src, dst):", "    a[p[src]].min(1)", "    x[dst] += x[src] - 1", "edges.apply(f)"],
    ["def f(v):", "    x[v] = (x[v] + 4294967295.0) * 2", "vertices.apply(f)"],
    ["def f(src, dst):", "    x[dst] += 4294967295.0", "    x[dst] += 4294967295.0",
     "edges.apply(f)"],
    ["a[none] = 1"]])
def test_errors(lines):
    kind, message = check(program(*lines), PAIR, optimize="-O0")
    assert issubclass(kind, UserError) and message.startswith("<text>:")


@pytest.mark.parametrize("parameters, change", [("v", "a[v] = "), ("v, w", "a[w] += ")],
                         ids=["vertices", "edges"])
def test_words(parameters, change):
    """The words and the errors of arithmetic."""
    every = [*WORDS, *REFUSED]
    lines = [line for i, expression in enumerate(every)
             for line in (f"    if amount == {i}:", f"        {change}{expression}")]
    tried = program(f"def f({parameters}):", *lines, "some = vertexset(source)",
                    "some.apply(f)" if parameters == "v" else "edges.apply(f)")
    for i, expression in enumerate(every):
        found = check(tried, PAIR, [(None, 1), ("push", 2), ("pull", 1)], optimize="-O0", amount=i)
        large = parameters != "v" and WORDS.get(expression, 0) >= LARGEST
        assert isinstance(found[0], type) == (large or expression in REFUSED), expression


def test_overflow():
    """A chain of diamonds has twice as many shortest paths after each."""
    starts, ends = [], []
    for first in range(0, 34 * 3, 3):
        starts += [first, first, first + 1, first + 2]
        ends += [first + 1, first + 2, first + 3, first + 3]
    kind, message = check(programs.find("bc"), Graph(max(ends) + 1, starts, ends))
    assert kind is UserError and "paths[96] does not fit in 32 bits" in message


def test_after_an_error():
    tried = analysed(program("def f(src, dst):", "    a[dst] += amount",
                             "some = edges.apply_modified(f, a)"))
    machine = cpu.CpuMachine(tried, PAIR, threads=2, grain=1)
    for _ in range(2):
        with pytest.raises(UserError, match=r"a\[1\] does not fit"):
            perform(tried, PAIR, machine, {"amount": (1 << 32) - 1})
        assert perform(tried, PAIR, machine, {"amount": 4}).outputs["a"].tolist() == [0, 5]


# Loops

def test_fused_loops():
    def found(name):
        tried = analysed(programs.find(name), after=CHOSEN)
        return len(CpuCode(tried).loops), sum(isinstance(node, ir.WhileLoop | ir.ForLoop)
                                              for node in ir.instructions(tried.body))
    assert {name: found(name) for name in programs.names()} == {
        "bc": (2, 2), "bfs": (1, 1), "cc": (1, 1), "kcore": (2, 2), "label_propagation": (1, 1),
        "mis": (1, 1), "pagerank": (0, 1), "sssp": (1, 1)}


@pytest.mark.parametrize("lines, fails", [
    (["while turn < 5 or not done:", "    done = turn > 7 - len(some)",
      "    turn = max(turn + 2, 3) if turn != 4 else turn + 1", "    some = vertices.where(many)",
      "    if len(some) > 0:", "        vertices.apply(add)", "    else:",
      "        vertices.apply(twice)"], False),
    (["while turn < 5:", "    turn = turn + far", "    vertices.apply(add)"], True),
    (["turn = far * 8", "while turn > far:", "    turn = turn - far", "    some = vertices.where("
      "never)"], False),
    (["while turn < 5:", "    turn = turn - 1", "    vertices.apply(add)"], True),
    (["while turn < 5:", "    turn = turn + 1", "    vertices.apply(divide)"], True),
    (["for turn in range(4):", "    old = some", "    some = vertices.where(many)",
      "    old.apply(add)", "    while done:", "        done = turn > 4", "        turn = 9"],
     False),
    (["while turn < 9:", "    turn = turn + 1", "    total = some.sum(value)",
      "    if total > 2:", "        some = vertices", "        turn = turn + 3",
      "    some.apply(add)", "    other = some.where(many)"], False),
    (["while turn < 9:", "    turn = turn + 1", "    total = vertices.sum(follow)"], True),
    (["for again in range(2):", "    if amount > 7:", "        x[source] = 2",
      "    for turn in range(amount):", "        vertices.apply(add)"], False)])
def test_loops(lines, fails):
    """Words are the same, and so are errors of numbers that are no words."""
    tried = program(
        "def many(v):", "    return a[v] > turn", "def never(v):", "    return a[v] > 9",
        "def add(v):", "    a[v] = a[v] + turn", "def twice(v):", "    a[v] = a[v] + turn // 2",
        "def divide(v):", "    x[v] = x[v] / (turn // 4)", "def value(v):", "    return a[v]",
        "def follow(v):", "    return a[p[v]]",
        "turn = 0", "far = 4294967296", "done = turn > 0", "some = vertices", *lines)
    found = check(tried, PAIR, [(None, 1)], optimize="-O0")
    assert isinstance(found[0], type) == fails


def test_all_vertices_again():
    """A set that had a list of its own is the set of all vertices in the next round."""
    tried = read_text("""
@program
def components(edges: edgeset):
    label = vector(vertex, lambda v: v)
    def init(v):
        label[v] = v
    def lower(src, dst):
        label[dst].min(label[src])
    for turn in range(3):
        some = vertices
        vertices.apply(init)
        while some:
            some = edges.from_(some).apply_modified(lower, label)
    return label
""")
    check(tried, random_graph(70, 200, 2, True).undirected(), [(None, 1), (None, 3)])


def test_own_stores():
    """A function of a vertex sees what it has stored, and of other vertices the words before."""
    found = check(program(
        "def name(v):", "    p[v] = source", "def follow(v):", "    a[v] = a[p[v]] + 10",
        "    b[v] = a[v]", "vertices.apply(name)", "vertices.apply(follow)",
        vectors=("b = vector(uint, 0)",), output="a, b"), path(5), source=3)
    assert found[1] == {"a": [13] * 5, "b": [13] * 5}


def test_words_before_an_operator():
    """An operator that changes a vector reads the words before it, at both ends of its edges."""
    found = check(program(
        "def near(src, dst):", "    a[dst].min(a[src] + a[dst])", "s = vertexset(source)",
        "edges.from_(s).apply(near)"), path(9), source=1)
    assert found[1] == {"a": list(range(9))}


def test_no_fusion():
    def loops(schedule):
        plan = applied(programs.find("bfs"), {"s0": read_schedule(schedule)})
        return len(CpuCode(analysed(plan)).loops)
    assert (loops("default"), loops("fusion"), loops("no_fusion")) == (1, 1, 0)
    check(applied(programs.find("bfs"), {"s0": read_schedule("no_fusion")}), path(9), [(None, 1)])


def test_long_loop():
    tried = analysed(program("turn = 0", "while turn < amount:", "    turn += 1",
                             "a[source] = turn"))
    assert cpu.run(tried, PAIR, amount=20_000_000).outputs["a"][0] == 20_000_000


# Sets

def test_sets():
    tried = analysed(program("a[source] = amount", output="a, p, x"))
    graph = Graph(300, [], [])
    words = np.random.default_rng(2).integers(50, size=300).astype(np.uint32)
    machines = [cpu.CpuMachine(tried, graph), reference.ReferenceMachine(tried, graph)]

    def sets(machine):
        machine.start(None, {"a": words, "p": words, "x": words})
        one, other = machine.make_set([7, 3, 250, 3]), machine.make_set([251, 7])
        every, none = machine.make_set(None), machine.make_set([])
        both = machine.join(one, other)
        found = [one, other, none, both, machine.join(none, one), machine.join(one, none),
                 machine.join(every, one)]
        for vset in (one, both, every):
            found += machine.split(vset, "a", 20)
        return [machine.least(vset, "a") for vset in (one, every)], [
            (machine.size(vset), sorted(range(300) if vset is None else vset.tolist()))
            for vset in found]
    assert sets(machines[0]) == sets(machines[1])


@pytest.mark.parametrize("threads", [0, 1025])
def test_wrong_threads(threads):
    with pytest.raises(UserError, match=f"threads is {threads}, must be from 1 to 1024"):
        cpu.run(programs.find("cc"), PAIR, threads=threads)
