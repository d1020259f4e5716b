"""The largest word that each named algorithm can give, and the first that it refuses.

=====================  ==========================================================================
limits                 test_limits: by algorithm, on each machine; test_lengths_on_the_rtl;
                       test_no_limits: the algorithms that have none
candidates             test_candidates: which of those that do not fit are errors, on each machine;
                       test_chaotic: in loops that read early, of several threads;
                       test_random_lengths: shortest paths near the limit, by whole numbers
weights, parameters    test_weights, test_numbers_of_the_host
queues                 test_far_threshold: a threshold that would pass 32 bits, on the device
=====================  ==========================================================================
"""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from hw.config import preset
from sw.graph import Graph
from sw.lang import programs
from sw.lang.faults import LostCandidate, can_fail
from sw.lang.reader import read_text
from sw.lang.types import LARGEST
from sw.device import Device
from sw.vm import cpu, cuda, reference
from tb.sw.graphs import random_graph
from tb.sw.lang.fact_programs import TEXTS
from tb.sw.vm.small_programs import program
from tb.sw.vm.test_cpu import check, outcome


def path(*weights):
    count = len(weights)
    return Graph(count + 1, range(count), range(1, count + 1), np.array(weights, np.uint32))


def paths(number):
    """A graph whose last vertex has so many shortest paths from vertex 0. A chain of pairs of arcs
    has 2**i paths to vertex i, and a path of single arcs leads from each bit to the end."""
    bits = number.bit_length()
    src, dst = [], []
    for vertex in range(bits - 1):
        src += [vertex, vertex]
        dst += [vertex + 1, vertex + 1]
    free, ends = bits, []
    for vertex in range(bits):
        if number >> vertex & 1:
            for _ in range(bits - vertex):
                src.append(vertex)
                dst.append(free)
                vertex, free = free, free + 1
            ends.append(vertex)
    src += ends
    dst += [free] * len(ends)
    return Graph(free + 1, src, dst)


def star(leaves):
    return Graph(leaves + 1, range(1, leaves + 1), [0] * leaves)


def hubs(*far):
    """Vertex 1 has the largest length but one, and 200 vertices behind it the largest, or one more
    if they are far."""
    count = 200
    weights = [2 if vertex in far else 1 for vertex in range(2, count)]
    return Graph(count, [0] + [1] * len(weights), [1, *range(2, count)],
                 np.array([LARGEST - 1, *weights], np.uint32))


#: {case: (algorithm, parameters, the graph with the largest, its vector, vertex and word,
#: parameters and graph of the first that is refused, a part of the message)}.
LIMITS = {
    "sssp, length": ("sssp", {}, path(LARGEST - 1, 1), "distance", 2, LARGEST, {},
                     path(LARGEST - 1, 2), r"sssp.py:\d+:\d+: distance\[2\] does not fit in 32 b"),
    # Machines keep lost candidates as bits of several words.
    "sssp, many": ("sssp", {}, hubs(), "distance", -1, LARGEST, {}, hubs(150, 190),
                   r"sssp.py:\d+:\d+: distance\[150\] does not fit in 32 bits"),
    "sssp, delta": ("sssp", {"delta": 3 << 30}, path(LARGEST - 1, 1), "distance", 2, LARGEST,
                    {"delta": 3 << 30}, path(LARGEST - 1, 5, 1),
                    r"sssp.py:\d+:\d+: distance\[2\] does not fit"),
    "sssp, weight": ("sssp", {}, path(LARGEST), "distance", 1, LARGEST, {}, path(LARGEST + 1),
                     "takes weights up to 4294967294, and the arc from 0 to 1"),
    "bc, paths": ("bc", {}, paths(LARGEST), "paths", -1, LARGEST, {}, paths(LARGEST + 1),
                  r"bc.py:\d+:\d+: paths\[\d+\] does not fit in 32 bits"),
    "mis, seed": ("mis", {"seed": LARGEST - 1}, Graph(1, [], []), "chosen", 0, 1,
                  {"seed": LARGEST}, Graph(1, [], []), "4294967295, must be from 0 to 4294967294"),
    "pagerank, damping": ("pagerank", {"damping": 0.9999999999}, star(1), "rank", 1, 0,
                          {"damping": 1}, star(1), "must be at least 0 and below 1"),
}


def by_device(name, graph, given):
    with Device.functional(preset("tiny")) as device:
        return device.run(name, graph, schedule="vm", verify=False, **given)


def by_cuda(name, graph, given):
    if cuda.available() is not None:
        pytest.skip(str(cuda.available()))
    return cuda.run(programs.find(name), graph, **given)


MACHINES = {
    "reference": lambda name, graph, given: reference.run(programs.find(name), graph, **given),
    "cpu": lambda name, graph, given: cpu.run(programs.find(name), graph, **given),
    "functional": by_device, "cuda": by_cuda}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("case", LIMITS)
def test_limits(case, machine):
    name, given, graph, vector, vertex, word, wrong, other, message = LIMITS[case]
    run = MACHINES[machine]
    assert run(name, graph, given).outputs[vector][vertex] == word
    with pytest.raises(UserError, match=message):
        run(name, other, wrong)


def test_lengths_on_the_rtl():
    *_, wrong, other, message = LIMITS["sssp, length"]
    with Device.simulate(preset("tiny")) as device:
        found = device.run("sssp", path(LARGEST - 1, 1), schedule="vm", verify=False)
        assert found.outputs["distance"].tolist() == [0, LARGEST - 1, LARGEST]
        with pytest.raises(UserError, match=message):
            device.run("sssp", other, schedule="vm", verify=False, **wrong)


def test_no_limits():
    """Levels and labels are below the number of vertices. Fixed point has as many fraction bits as
    fit."""
    assert not any(map(can_fail, programs.find("bfs").functions))
    bits = [reference.run(programs.find("pagerank"), star(leaves), iterations=1).fraction_bits
            for leaves in (3, 5, 9)]
    assert bits == [30, 29, 28]
    for name, vector in (("kcore", "core"), ("label_propagation", "score")):
        graph = random_graph(30, 90, 1).undirected().simplify()
        assert reference.run(programs.find(name), graph).outputs[vector].max() > 0


# Candidates

@pytest.mark.parametrize("value, lines, lost", [
    ("b[src] + weight", ["b[0] = 0"], False),
    ("b[src] + weight", ["b[0] = 9"], True),
    ("b[src] * weight", ["b[0] = 2"], True),
    # the smaller of two, the one that is chosen, what is known to be infinity
    ("min(b[src] + weight, 8)", ["b[0] = 9"], False),
    ("max(b[src] + weight, 8)", ["b[0] = 9"], True),
    ("b[src] + weight if weight < 5 else 7", ["b[0] = 9"], False),
    ("b[src] + weight if weight > 5 else 7", ["b[0] = 9"], True),
    ("b[src] + weight", ["a[0] = 3"], False),
    # a vertex that has a number, and a loop that reads early
    ("b[src] + weight", ["b[0] = 9", "b[1] = 5"], False),
    ("b[src] + weight + 0", ["b[0] = 9", "some = vertexset(0)", "while some:",
                             "    some = edges.from_(some).apply_modified(f, b)"], True)])
def test_candidates(value, lines, lost):
    """A candidate that does not fit loses against a number, and is an error where there is none."""
    operator = [] if "while some:" in lines else ["edges.apply(f)"]
    tried = program("def f(src, dst, weight):", f"    b[dst].min({value})", *lines, *operator,
                    vectors=["b = vector(uint, infinity)"], output="b")
    found = check(tried, path(LARGEST - 5), optimize="-O0")
    assert (found[0] is LostCandidate) == lost
    if lost:
        assert "b[1] does not fit in 32 bits" in found[1]


@pytest.mark.parametrize("text", [None, TEXTS["marked"]])
def test_chaotic(text):
    """A vertex that is reached by a way that does not fit, and later by one that fits; also where
    the loop does more."""
    tried = programs.find("sssp") if text is None else read_text(text)
    heavy, count = LARGEST - 3, 40
    # Vertex v + 1 is reached from 0 by a heavy arc and another, and by a chain.
    src = [*range(count), *[0] * count, *range(1, count)]
    dst = [*range(1, count + 1), *range(1, count + 1), *range(2, count + 1)]
    weights = [1] * count + [heavy] * count + [heavy] * (count - 1)
    graph = Graph(count + 1, src, dst, np.array(weights, np.uint32))
    _, found = check(tried, graph, [(None, 1), (None, 4), ("push", 3)])
    assert found["distance"] == list(range(count + 1))
    weights[:count] = [heavy] * count
    graph = Graph(count + 1, src, dst, np.array(weights, np.uint32))
    found = check(tried, graph, [(None, 1), (None, 4), ("push", 3)])
    assert found[0] is LostCandidate or found[1]["distance"][1] == heavy
    # Some rounds later.
    graph = Graph(6, [0, 1, 0, 3, 4, 5], [1, 2, 3, 4, 5, 2], [LARGEST, 9, 1, 1, 1, 1])
    _, found = check(tried, graph, [(None, 1), ("push", 3)])
    assert found["distance"] == [0, LARGEST, 4, 1, 2, 3]


def lengths(graph):
    """Lengths of shortest paths from vertex 0 as whole numbers; None where there is no path."""
    arcs = [[] for _ in range(graph.num_vertices)]
    for start, end, weight in zip(graph.src.tolist(), graph.dst.tolist(), graph.weights.tolist(),
                                  strict=True):
        arcs[start].append((end, weight))
    found, waiting = [None] * graph.num_vertices, [(0, 0)]
    while waiting:
        length, vertex = heapq.heappop(waiting)
        if found[vertex] is None:
            found[vertex] = length
            for end, weight in arcs[vertex]:
                heapq.heappush(waiting, (length + weight, end))
    return found


@settings(max_examples=60)
@given(st.data())
def test_random_lengths(data):
    """A graph is refused exactly if a vertex is further away than the limit; the first such vertex
    is named."""
    count = data.draw(st.integers(2, 7))
    vertex, base = st.integers(0, count - 1), LARGEST // data.draw(st.integers(1, 3))
    weight = st.integers(base - 2, base + 2) | st.integers(0, 3)
    arcs = data.draw(st.lists(st.tuples(vertex, vertex, weight), max_size=14))
    graph = Graph(count, [arc[0] for arc in arcs], [arc[1] for arc in arcs],
                  np.array([min(arc[2], LARGEST) for arc in arcs], np.uint32))
    wanted = lengths(graph)
    far = [i for i, length in enumerate(wanted) if length is not None and length > LARGEST]
    given = {"source": 0, "delta": data.draw(st.sampled_from([1 << 30, LARGEST, LARGEST + 1]))}
    for run in (reference.run, cpu.run):
        found = outcome(lambda run=run: run(programs.find("sssp"), graph, **given))
        if far:
            assert f"distance[{far[0]}] does not fit" in found[1]
        else:
            assert found[1]["distance"] == [LARGEST + 1 if each is None else each
                                            for each in wanted]


# Numbers that become words

def test_weights():
    """The weight that would be infinity is refused before anything runs."""
    graph = path(3, LARGEST + 1)
    for run in MACHINES["reference"], MACHINES["cpu"], MACHINES["functional"]:
        with pytest.raises(UserError, match="the arc from 1 to 2 of .* has the weight 4294967295"):
            run("sssp", graph, {})


@pytest.mark.parametrize("lines, message", [
    (["a[source] = 65535 * 65537"], "this is 4294967295, must be from 0 to 4294967294"),
    (["n = 4294967200", "while n < 4294967295:", "    n = n + 1", "b = vertices.where(more)"],
     "this is 4294967295, must be"),
    (["a[source] = infinity - 1"], "- takes numbers, and infinity is none"),
    (["n = infinity if amount > 2 else 5", "a[source] = n + 1"], r"\+ takes numbers, and infinity"),
    (["n = 0 - amount", "b = vertices.where(more)"], "this is -3, must be from 0"),
    (["p[source] = 4294967295"], "must be a vertex, from 0 to 4294967294, or none"),
    (["b = vertexset(none)"], "a set of none: none is no vertex"),
    (["total = vertices.sum(each)"], "at vertex 1, a sum over a set has infinity in it")])
def test_numbers_of_the_host(lines, message):
    def tried():
        return program("def more(v):", "    return a[v] > n", "def each(v):",
                       "    return infinity if v == 1 else a[v]", "n = 7", *lines)
    with pytest.raises(UserError, match=message):
        reference.run(tried(), path(1))
    with pytest.raises(UserError, match=message):
        cpu.run(tried(), path(1))


def test_infinity_of_the_host():
    """A number that is named infinity stays one in variables and choices."""
    tried = program("n = infinity", "m = min(n, amount)", "n = n if m == 3 else m", "a[source] = n",
                    "a[1] = m if n == infinity else 8")
    for run in (reference.run, cpu.run):
        assert run(tried, path(1)).outputs["a"].tolist() == [LARGEST + 1, 3]


# Queues

def test_far_threshold():
    """The third threshold would pass 32 bits. If it wraps, far vertices are never near."""
    graph = path(2_000_000_000, 2_000_000_000, 294_967_294)
    for schedule, most in (("vm", 100_000), ("compact", 400_000)):
        with Device.functional(preset("tiny"), max_cycles=most) as device:
            found = device.run("sssp", graph, schedule=schedule, direction="push", delta=3 << 29)
        assert found.verified and found.outputs["distance"][-1] == LARGEST
