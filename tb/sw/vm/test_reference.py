"""The reference GraphVM: its programs against other implementations, its words against the rules.

======================  ==========================================================================
programs                test_bfs, test_sssp: searches by other means; test_cc, test_pagerank: the
                        golden models;
                        test_pagerank_float, test_label_propagation, test_bc: floating point, with
                        the bound of the error; test_kcore: networkx; test_mis: the definition
words                   test_words: sums, differences, products, shifts, quotients;
                        test_lazy: parts that are not evaluated cannot fail
reads                   test_start, test_own_words: which reads see an operator's changes
errors                  test_errors: class and text; test_fewer_bits: a smaller number of fraction
                        bits, if that is what fits
host                    test_parameters, test_queue, test_sum, test_states_that_come_again
======================  ==========================================================================
"""

import dataclasses

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from sw.golden.results.components import components
from sw.golden.results.pagerank import pagerank, pagerank_float
from sw.graph import Graph
from sw.lang import programs
from sw.lang.reader import read_text
from sw.lang.types import INFINITY
from sw.vm.reference import run
from tb.sw.graphs import graphs, random_graph
from tb.sw.searches import bfs, sssp
from tb.sw.vm.small_programs import program
from tb.sw.vm.words import REFUSED, WORDS


# Programs

def unsigned(words):
    """Depths and parents as words, of which -1 has all bits."""
    return words.astype(np.uint32)


@given(graphs(), st.data())
@settings(max_examples=40)
def test_bfs(graph, data):
    source = data.draw(st.integers(0, graph.num_vertices - 1))
    found = run(programs.find("bfs"), graph, source=source).outputs
    depth, parent = bfs(graph, source)
    assert np.array_equal(found["depth"], unsigned(depth))
    assert np.array_equal(found["parent"], unsigned(parent))


@given(graphs(weighted=True), st.sampled_from([None, 1, 3, 20, 1 << 31]))
@settings(max_examples=40)
def test_sssp(graph, delta):
    graph = dataclasses.replace(graph, weights=graph.weights % 999)
    options = {} if delta is None else {"delta": delta}
    found = run(programs.find("sssp"), graph, source=0, **options).outputs["distance"].tolist()
    assert found == [INFINITY if length is None else length for length in sssp(graph, 0)]


@given(graphs())
@settings(max_examples=40)
def test_cc(graph):
    assert np.array_equal(run(programs.find("cc"), graph).outputs["label"], components(graph))


def test_pagerank():
    """Bit for bit the golden model in fixed point."""
    graph = random_graph(60, 400, 3)
    found = run(programs.find("pagerank"), graph, iterations=7)
    assert np.array_equal(found.outputs["rank"], pagerank(graph, 7, found.fraction_bits))


def test_pagerank_float():
    """The sum of all errors shrinks by the damping in a sweep, and grows by what the sweep loses:
    for each arc a unit and the rest of a reciprocal, for each vertex two units and the rest of the
    damping. A rest is below 2**-32 of a rank."""
    graph = random_graph(60, 400, 3)
    found = run(programs.find("pagerank"), graph, iterations=30)
    assert 0.9 < found.decimal("rank").sum() <= 1
    rank = found.decimal("rank") * graph.num_vertices
    wanted = pagerank_float(graph, 30) * graph.num_vertices
    unit, rest = 2.0**-found.fraction_bits, rank.max() * 2.0**-32
    lost = graph.num_edges * (unit + rest) + graph.num_vertices * (2 * unit + rest)
    bound = lost / (1 - 0.85)
    assert np.abs(rank - wanted).max() <= bound < 1e-4
    early = run(programs.find("pagerank"), graph, iterations=30, tolerance=0.01)
    assert early.operators < found.operators


def test_label_propagation():
    """A sweep loses a unit of each mean, and the rest of the reciprocal of a degree."""
    graph = random_graph(50, 300, 5)
    found = run(programs.find("label_propagation"), graph, positive=3, negative=9, iterations=12)
    score = np.full(50, 0.5)
    score[3], score[9] = 1, 0
    degrees = graph.in_degrees
    free = (degrees > 0) & ~np.isin(np.arange(50), [3, 9])
    for _ in range(12):
        total = np.bincount(graph.dst, score[graph.src], 50)
        score = np.where(free, total / np.maximum(degrees, 1), score)
    bound = 12 * (2.0**-found.fraction_bits + degrees.max() * 2.0**-32)
    assert np.abs(found.decimal("score") - score).max() <= bound


def dependencies(graph, source, unit):
    """Brandes' dependencies of a source and the numbers of paths in float64, and how far the
    program's may be off. An arc loses less than a unit, and its quotient of paths less than
    2**-32 for each path to its start."""
    depth, _ = bfs(graph, source)
    order = np.argsort(depth, kind="stable")
    arcs = [[] for _ in range(graph.num_vertices)]
    for start, end in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
        if depth[start] >= 0 and depth[end] == depth[start] + 1:
            arcs[start].append(end)
    paths, dependency, off = np.zeros((3, graph.num_vertices))
    paths[source] = 1
    for vertex in order.tolist():
        for end in arcs[vertex]:
            paths[end] += paths[vertex]
    for vertex in reversed(order.tolist()):
        for end in arcs[vertex]:
            share, more = paths[vertex] / paths[end], 1 + dependency[end]
            dependency[vertex] += share * more
            off[vertex] += unit + share * off[end] + paths[vertex] * 2.0**-32 * more
    # The source is no vertex between two others.
    dependency[source] = 0
    return dependency, paths, off


def layers(width, number):
    """A vertex, and layers of vertices with an arc from each vertex to each of the next layer."""
    starts = [np.zeros(width, int)]
    ends = [np.arange(1, width + 1)]
    for layer in range(number - 1):
        first = 1 + layer * width
        starts.append(np.repeat(np.arange(first, first + width), width))
        ends.append(np.tile(np.arange(first + width, first + 2 * width), width))
    return Graph(1 + width * number, np.concatenate(starts), np.concatenate(ends))


@pytest.mark.parametrize("graph, source, largest", [
    *((random_graph(60, 240, seed), 1, 1e-5) for seed in range(3)),
    # 10**7 and 2**31 paths
    (layers(10, 8), 0, 0.05), (layers(2, 32), 0, 5.0)])
def test_bc(graph, source, largest):
    found = run(programs.find("bc"), graph, source=source)
    dependency, paths, off = dependencies(graph, source, 2.0**-found.fraction_bits)
    assert np.array_equal(found.outputs["paths"], paths)
    assert dependency.max() > 3 and off.max() < largest
    lost = dependency - found.decimal("dependency")
    assert np.all(lost >= 0) and np.all(lost <= off)


def test_bc_of_many_paths():
    """The result is beside real numbers though the numbers of paths take all bits of a word."""
    found = run(programs.find("bc"), layers(2, 32))
    wanted = np.repeat(np.arange(31.0, -1, -1), 2)
    assert np.abs(found.decimal("dependency")[1:] - wanted).max() < 1e-5
    with pytest.raises(UserError, match=r"bc.py:\d+:\d+: paths\[\d+\] does not fit in 32 bits"):
        run(programs.find("bc"), layers(2, 33))


def undirected(seed):
    return random_graph(70, 300, seed).undirected().simplify()


def test_kcore():
    graph = undirected(1)
    other = networkx.Graph(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
    core = np.zeros(graph.num_vertices, np.uint32)
    for vertex, number in networkx.core_number(other).items():
        core[vertex] = number
    assert core.max() > 3
    assert np.array_equal(run(programs.find("kcore"), graph).outputs["core"], core)


@pytest.mark.parametrize("seed", [1, 2])
def test_mis(seed):
    graph = undirected(seed)
    chosen = run(programs.find("mis"), graph, seed=seed).outputs["chosen"].astype(bool)
    assert not np.any(chosen[graph.src] & chosen[graph.dst])
    covered = chosen.copy()
    covered[graph.dst[chosen[graph.src]]] = True
    assert covered.all()


# Words

PAIR = Graph(2, [0], [1])


def stored(expression):
    """The program that stores an expression."""
    return program("def f(v):", f"    a[v] = {expression}", "some = vertexset(source)",
                   "some.apply(f)")


@pytest.mark.parametrize("expression", WORDS)
def test_words(expression):
    assert run(stored(expression), PAIR).outputs["a"][0] == WORDS[expression]


@pytest.mark.parametrize("expression", REFUSED)
def test_refused_words(expression):
    with pytest.raises(UserError) as caught:
        run(stored(expression), PAIR)
    place, _, message = str(caught.value).partition(": ")
    assert place.startswith("<text>:7:") and message.startswith(
        f"at vertex 0, {REFUSED[expression]}")


def test_lazy():
    tried = program(
        "def f(v):",
        "    safe = a[p[v]] if p[v] != none else 4",
        "    if p[v] != none and a[p[v]] == 1 or x[v] > 1 and x[v] / a[v] > 1:",
        "        safe = a[p[v]]",
        "    a[v] = safe",
        "def large(v):",
        "    return v == none and x[v] > 100.0",
        "vertices.apply(f)",
        "some = vertices.where(large)")
    found = run(tried, PAIR)
    assert found.outputs["a"].tolist() == [4, 4] and found.fraction_bits == 30


# Reads

def test_start():
    """A path shifts by one vertex, whatever the order of arcs."""
    tried = program("def f(src, dst):", "    a[dst].max(a[src])", "edges.apply(f)")
    path = Graph(4, [2, 0, 1], [3, 1, 2])
    shifted = program("def f(src, dst):", "    a[src].max(a[dst])",
                      "def g(v):", "    a[v] = 9 - a[v]", "vertices.apply(g)",
                      "edges.apply(f)", "edges.transpose().apply(f)")
    assert run(tried, path).outputs["a"].tolist() == [0, 1, 2, 3]
    assert run(shifted, path).outputs["a"].tolist() == [9, 9, 8, 7]


def test_own_words():
    """A stored word of the vertex itself is read again; a word that others reduce is not."""
    tried = program(
        "def f(v):", "    a[v] = a[v] + 1", "    b[v] = a[v]", "    other = v",
        "    c[v] = a[other]", "    d[p[v]].min(0)", "    e[v] = d[v]",
        "p[0] = 1", "p[1] = 0", "vertices.apply(f)",
        vectors=[f"{name} = vector(uint, 7)" for name in "bcde"], output="a, b, c, d, e")
    assert {name: words.tolist() for name, words in run(tried, PAIR).outputs.items()} == {
        "a": [1, 2], "b": [1, 2], "c": [0, 1], "d": [0, 0], "e": [7, 7]}


# Errors

@pytest.mark.parametrize("lines, message", [
    (["def f(v):", "    a[v] = a[p[v]]", "vertices.apply(f)"],
     r"<text>:7:16: a\[4294967295\]: there is no such vertex; the graph has 2"),
    (["def f(src, dst):", "    a[p[src]].min(1)", "edges.apply(f)"],
     r"<text>:7:9: a\[4294967295\]: there is no such vertex"),
    (["def f(src, dst):", "    a[vertex(uint(dst) + 4)].min(1)", "edges.apply(f)"],
     r"<text>:7:9: a\[5\]: there is no such vertex"),
    (["def f(v):", "    a[v] = edges.in_degree(p[v])", "vertices.apply(f)"],
     r"<text>:7:16: the degree of\[4294967295\]: there is no such vertex"),
    (["def f(v):", "    x[v] = x[v] / a[v]", "vertices.apply(f)"],
     "<text>:7:16: at vertex 0, this is a division by 0"),
    (["def f(v):", "    x[v] = x[v] - 1", "vertices.apply(f)"],
     "<text>:7:16: at vertex 0, a difference is below 0"),
    (["def f(src, dst):", "    a[dst] += infinity", "edges.apply(f)"],
     r"<text>:7:9: a\[1\] does not fit in 32 bits"),
    (["def f(v):", "    x[v] = (x[v] + 4294967295.0) * 2", "vertices.apply(f)"],
     "<text>:7:16: a value of fixed point does not fit in a word with 0 fraction bits"),
    (["a[none] = 1"], r"<text>:6:5: a\[none\]: none is no vertex")])
def test_errors(lines, message):
    with pytest.raises(UserError, match=message):
        run(program(*lines), PAIR)


def test_fewer_bits():
    """The sum of 3 and 3 and so on fits with fewer bits; so does a literal."""
    summed = program("def f(src, dst):", "    x[dst] += 3", "edges.apply(f)", output="x")
    found = run(summed, Graph(2, [0] * 100, [1] * 100))
    assert found.fraction_bits == 23
    assert found.decimal("x").tolist() == [0, 300]
    stored = program("def f(v):", "    x[v] = 5.5", "vertices.apply(f)", output="x")
    assert run(stored, PAIR).fraction_bits == 29
    with pytest.raises(UserError, match="does not fit in a word with 30 fraction bits"):
        run(stored, PAIR, bits=30)


# Host

def test_parameters():
    tried = program("a[source] = amount")
    assert run(tried, PAIR, source=1, amount=9).outputs["a"].tolist() == [0, 9]
    for wrong, message in (({"source": 2}, "must be from 0 to 1"), ({"other": 1}, "no parameter"),
                           ({"amount": 1.5}, "amount is 1.5"), ({"amount": -1}, "must be from")):
        with pytest.raises(UserError, match=message):
            run(tried, PAIR, **wrong)
    with pytest.raises(UserError, match="takes the weights of edges"):
        run(programs.find("sssp"), PAIR)


@pytest.mark.parametrize("value, found", [
    ("7 // 2 + 7 % 4", 6), ("n - 5 + (9 - n)", 4), ("(6 & 3) + (n | 3) * 10 + (6 ^ n) * 100", 72),
    ("min(n, 9) * 10 + max(4, n)", 66), ("1 if n < 6 or n > 7 else 2", 2),
    ("1 if n <= 6 and n >= 6 else 2", 1), ("1 if not n == 6 else 2", 2),
    ("1 if n != 6 else 2", 2), ("1 << 31", 1 << 31), ("1 << 63 >> 63 << 0", 1),
    ("1 << 53 << 63 >> 63 >> 53", 1), ("4294967294", (1 << 32) - 2),
    ("infinity", (1 << 32) - 1), ("4294967294 + 1", "must be from 0 to 4294967294"),
    ("5 - n", "this is -1, must be from 0"), ("1 << 64", "a shift by 64, must be from 0 to 63"),
    ("1 >> n - 7", "a shift by -1"), ("7 // (n - 6)", "division by 0"),
    ("7 % (n - 6)", "division by 0"), ("infinity + 1", "\\+ takes numbers, and infinity")])
def test_numbers_of_the_host(value, found):
    tried = program("n = 6", f"a[0] = {value}")
    if isinstance(found, int):
        assert run(tried, PAIR).outputs["a"].tolist() == [found, 1]
    else:
        with pytest.raises(UserError, match=f"^<text>:7:.*{found}"):
            run(tried, PAIR)


@pytest.mark.parametrize("bits, fits", [(1000, True), (1001, False)])
def test_most_bits_of_a_number(bits, fits):
    """Also below the fraction bar."""
    for last in ("a[0] = m // m", "n = 1 / m"):
        tried = program("m = 1", "for i in range(15):", "    m = m << 63", f"m = m << {bits - 946}",
                        last)
        if fits:
            run(tried, PAIR)
        else:
            with pytest.raises(UserError, match="more than 1000 bits"):
                run(tried, PAIR)


@pytest.mark.parametrize("delta, message", [
    (1, None), ((1 << 32) - 1, None), (0, "delta is 0, must be from 1 to 4294967295"),
    (1 << 32, "delta is 4294967296, must")])
def test_delta(delta, message):
    tried = program("a[0] = 0", f"queue = PriorityQueue(a, source, delta={delta})")
    if message is None:
        run(tried, PAIR)
    else:
        with pytest.raises(UserError, match=message):
            run(tried, PAIR)


def test_queue():
    """Vertices leave a queue by the multiples of delta; empty steps are skipped."""
    tried = program(
        "def f(src, dst, weight):", "    b[dst].min(b[src] + weight)",
        "def count(v):", "    c[v] = turn",
        "turn = 0", "b[source] = 0", "queue = PriorityQueue(b, source, delta=10)",
        "while queue:", "    turn += 1", "    near = queue.dequeue()", "    near.apply(count)",
        "    edges.from_(near).apply_update_priority(f, queue)",
        vectors=["b = vector(uint, infinity)", "c = vector(uint, 0)"], output="b, c")
    graph = Graph(5, [0, 0, 1, 2, 3], [1, 2, 3, 3, 4], [2, 25, 3, 1, 1 << 31])
    found = run(tried, graph).outputs
    assert found["b"].tolist() == [0, 2, 25, 5, 5 + (1 << 31)]
    assert found["c"].tolist() == [1, 2, 4, 3, 5]


def test_sum():
    tried = program(
        "def f(v):", "    return a[v]", "def g(v):", "    return x[v] + 0.5",
        "def h(v):", "    a[v] = total", "def odd(v):", "    return a[v] % 2 == 1",
        "total = vertices.sum(f)", "half = vertices.sum(g)",
        "if half == 2.5:", "    vertices.apply(h)", "some = vertices.where(odd)",
        "a[source] = len(some)")
    assert run(tried, Graph(5, [], [])).outputs["a"].tolist() == [0, 10, 10, 10, 10]


PERIODIC = """
@program
def periodic(edges: edgeset, limit: uint):
    x = vector(uint, 0)
    y = vector(uint, 0)

    def turn(v):
        x[v] = 5 - x[v]

    def note(v):
        {note}

    done = 0
    while done < limit:
        vertices.apply(turn)
        vertices.apply(note)
        done += 1
        {last}
    return x, y
"""


def test_states_that_come_again():
    """Whole periods of a loop's states are left out, unless the host or a function counts."""
    graph = random_graph(12, 30, 1)

    def words(limit, note="y[v] = x[v]", last="if limit == 0:\n            done = limit"):
        result = run(read_text(PERIODIC.format(note=note, last=last)), graph, limit=limit)
        return result.outputs["x"][0], result.outputs["y"][0], result.operators

    x, y, operators = words((1 << 32) - 1)
    assert (x, y) == (5, 5) and operators < 40
    assert words(8)[:2] == (0, 0) and words(9)[:2] == (5, 5)
    assert words(101, note="y[v] = done")[1] == 100
    assert words(101, last="if done == 77:\n            done = limit")[2] == 2 * 77
