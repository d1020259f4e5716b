"""Programs of the language on the device.

===========================  ==================================================================
every program                test_programs: schedules, directions and formats; test_units,
                             test_filtered_queues, test_gathered_words; all on the
                             instruction-set simulator; test_on_the_rtl
cores, splits                test_cores
orderings                    test_orderings, also of a graph and its transpose
random programs              test_random_programs: against the interpreter, also in an ordering
operations                   test_operations: every operation and type, against the interpreter;
                             test_reciprocals: words at the edges; test_variables
sums                         test_long_sums
sets and queues              test_sets: sets that the host makes, moves and joins while it runs;
                             test_queues
copies                       test_reads_see_the_start
blocks that are filled up    test_edges_that_fill_up_a_block_do_nothing
no operators                 test_no_operators
refused                      test_refused, test_refused_beforehand, test_no_weights
===========================  ==================================================================
"""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from hw.config import preset
from hw.gather.variants import VARIANTS
from sw.compile import formats
from sw.graph import Graph, load
from sw.graph.order import ORDERS
from sw.lang import programs
from sw.lang.reader import read_text
from sw.device import Device
from sw.vm import reference
from tb.sw.graphs import graphs
from tb.sw.lang.fact_programs import components_text
from tb.sw.vm.random_programs import program_texts


FORMATS = {"block-coo": "block-coo:block=16", "cr2": "cr2:cluster_bits=4:warp_bits=3",
           "ell": "ell:width=2", "g-shards": "g-shards:shard=16", "tigr": "tigr:k=3"}

SCHEDULES = ["vm", "vwc", "em", "wm", "cm", "twc", "etwc", "strict", "tile", "weaver"]

#: Programs by the names that a plan has for them.
NAMES = {name: name if name in ("bc", "kcore", "label_propagation", "mis")
         else f"sw/lang/programs/{name}.py" for name in programs.names()}


@functools.cache
def graph(name="rmat"):
    spec = {"rmat": "rmat:scale=6,degree=4,seed=3,weights=20",
            "road": "road:side=6,seed=2"}[name]
    found = load(spec).undirected().simplify()
    return found if found.weights is not None else found.weighted(9, seed=1)


def run(name, schedule="vm", config="tiny", on=None, **choices):
    changes = choices.pop("changes", {})
    with Device.functional(preset(config).replace(**changes)) as device:
        return device.run(name, on or graph(), schedule=schedule, **choices)


def run_text(text, tmp_path, on=None, **choices):
    """The outputs of a program by the device, which compares them with the interpreter's."""
    path = tmp_path / "text.py"
    path.write_text(text)
    result = run(str(path), on=on, **choices)
    expected = reference.run(read_text(text), on or graph()).outputs
    assert result.verified and all(np.array_equal(result.outputs[name], words)
                                   for name, words in expected.items())
    return result.outputs


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(18)
def test_programs(name, schedule):
    kinds = [each for each in formats.image_names() if each != "g-shards"]
    turn = list(NAMES).index(name) + SCHEDULES.index(schedule)
    for direction in ("push", "pull"):
        run(NAMES[name], schedule, direction=direction)
        turn += 1
        kind = kinds[turn % len(kinds)]
        try:
            run(NAMES[name], schedule, "baseline", direction=direction,
                format=FORMATS.get(kind, kind))
        except UserError as error:
            # A program of several operators and a schedule of several passes is long.
            assert "imem_bytes is 16384" in str(error)


@pytest.mark.parametrize("unit", VARIANTS)
def test_units(unit):
    for name, direction in itertools.product(NAMES.values(), ("push", "pull")):
        run(name, "graphpeg" if unit == "graphpeg" else "weaver", direction=direction,
            changes={"gather": unit})


@pytest.mark.parametrize("schedule", ["twc", "etwc", "twce"])
def test_filtered_queues(schedule):
    """Queues of a schedule that are shorter in a later superstep."""
    for name in ("mis", "bc", "kcore"):
        run(name, schedule, "baseline", direction="pull", changes={"imem_bytes": 1 << 16})


def test_gathered_words():
    for name, direction in itertools.product(NAMES.values(), ("push", "pull")):
        run(name, "em", direction=direction, format=FORMATS["g-shards"])


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.sample(1)
def test_on_the_rtl(cores):
    with Device.simulate(preset("tiny").replace(cores=cores, gather="stream")) as device:
        for name, way in itertools.product(("kcore", "bc", NAMES["sssp"]), ("push", "pull")):
            assert device.run(name, graph(), schedule="weaver", direction=way).verified


def test_cores():
    for name, split in itertools.product(NAMES.values(), ("static", "counter")):
        run(name, "em", split=split, changes={"cores": 3})


FOLLOWS = """
@program
def follows(edges: edgeset):
    x = vector(uint, 0)
    y = vector(uint, 0)

    def add(src, dst):
        x[dst] += 1

    def half(v):
        y[v] = x[vertex(uint(v) >> 1)]

    edges.apply(add)
    vertices.apply(half)
    return y
"""


@pytest.mark.parametrize("order", [order for order in ORDERS if order != "none"])
def test_orderings(order, tmp_path):
    """Programs whose operators go through a graph and through its transpose use the same order.
    Sets that the host makes, elements that it stores, and the graph's numbers of vertices are those
    of the graph."""
    turns = itertools.cycle(itertools.product(("vm", "tile", "weaver"), ("push", "pull"), (1, 2)))
    on = load("powerlaw:vertices=90,edges=400,exponent=2.1,seed=2,weights=9")
    for name in NAMES.values():
        for each, (schedule, direction, cores) in zip((graph(), on), turns):
            if name in ("kcore", "mis") and each is on:
                continue                # of undirected graphs
            run(name, schedule, on=each, direction=direction, format=f"csr:reorder={order}",
                changes={"imem_bytes": 1 << 16, "cores": cores})
    run_text(SETS, tmp_path, on=on, format=f"csr:reorder={order}")
    with pytest.raises(UserError, match="orders the vertices anew, and .* takes a vertex from a "):
        run_text(FOLLOWS, tmp_path, format=f"csr:reorder={order}")
    with pytest.raises(UserError, match="orders the vertices anew, and .* takes a vertex from a "):
        run_text(components_text(
            vectors="size = vector(uint, 0)\ndef count(v): size[label[v]] += 1",
            behind="vertices.apply(count)", returns="label, size"), tmp_path,
            format=f"csr:reorder={order}")


@settings(max_examples=25)
@given(program_texts(), graphs(weighted=True), st.sampled_from(["vm", "em", "weaver"]),
       st.sampled_from(["push", "pull"]), st.sampled_from(["none", "gorder"]))
def test_random_programs(tmp_path_factory, text, on, schedule, direction, order):
    try:
        reference.run(read_text(text), on)
    except UserError:
        return              # the device is not asked to find the same faults
    path = tmp_path_factory.mktemp("drawn") / "drawn.py"
    path.write_text(text)
    try:
        run(str(path), schedule, on=on, direction=direction, format=f"csr:reorder={order}",
            changes={"imem_bytes": 1 << 16, "local_bytes": 4096})
    except UserError as error:
        assert order != "none" and "orders the vertices anew" in str(error)


OPERATIONS = """
@program
def operations(edges: edgeset, shift: int = 27, part: decimal = 0.3):
    x = vector(uint, lambda v: (uint(v) & 15) * 123456789)
    y = vector(uint, lambda v: 2147483647 - uint(v) * 77)
    h = vector(uint, infinity)
    r = vector(uint, 0)
    f = vector(fixed, 0.25)
    g = vector(fraction, lambda v: 1 / (uint(v) & 7))
    b = vector(bool, False)
    d = vector(bool, True)
    w = vector(vertex, none)
    m = vector(uint, 5)
    far = vector(vertex, lambda v: vertex(uint(v) * 8388608))

    def mix(v):
        a = x[v] + y[v]
        s = y[v] - x[v]
        p = (x[v] & 4194303) * (uint(v) + 1)
        q = y[v] // (uint(v) & 3 | 1)
        t = y[v] % (uint(v) & 3 | 1)
        bits = (x[v] & 4095 | a ^ s) ^ ~p
        bits = bits ^ (x[v] << shift) ^ (y[v] >> (uint(v) & 31)) & 2147483647
        if a > s and not p == q or t >= 2:
            bits = (bits >> 1) + 3
            w[v] = vertex(uint(v) // 2)
        else:
            if bits <= 1000000 or s != p:
                bits = max(bits, 17) - 17
        r[v] = min(bits, max(a, 12345)) if v < vertex(uint(v) | 1) else edges.out_degree(v)
        f[v] = (f[v] * 3 + 1) * g[v] + f[v] / 2 + f[v] * part - f[v] * 0.125
        g[v] = g[v] * g[v]
        b[v] = x[v] < y[v] and h[v] + a == h[v] * (t + 1)
        y[v] = r[v] + edges.in_degree(v) * edges.num_vertices

    def along(src, dst, weight):
        total = x[src] // 65536 // 65536 + weight
        if w[src] != none and x[w[src]] > x[dst]:
            m[w[src]] += total
        else:
            m[dst] += 1
        d[dst] |= b[src]
        if uint(far[src]) < edges.num_vertices and x[far[src]] <= infinity:
            m[dst] += x[far[dst]] // 65536 if uint(far[dst]) == 0 else 3

    vertices.apply(mix)
    edges.apply(along)
    return r, f, g, b, d, w, m, y
"""


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_operations(tmp_path, direction):
    for schedule in ("vm", "em", "weaver"):
        run_text(OPERATIONS, tmp_path, schedule=schedule, direction=direction)


def test_variables(tmp_path):
    """A variable keeps its word when the variable it was copied from gets another."""
    found = run_text("""
@program
def variables(edges: edgeset):
    a = vector(uint, lambda v: uint(v))
    b = vector(uint, 0)

    def copy(v):
        x = a[v]
        y = x
        if x > 3:
            x = 1
        b[v] = y * 8 + x

    vertices.apply(copy)
    return b
""", tmp_path)["b"]
    assert found.tolist() == [8 * v + (v if v <= 3 else 1) for v in range(len(found))]


def test_reciprocals(tmp_path):
    words = [0, 1, 2, 3, 4, 5, 7, 8, 65535, 65536, 1 << 31, (1 << 31) + 1, (1 << 32) - 2]
    stores = "\n".join(f"    n[{i}] = {word}" for i, word in enumerate(words))
    found = run_text(f"""
@program
def reciprocals(edges: edgeset):
    n = vector(uint, 9)
    g = vector(fraction, 0)
    h = vector(fraction, 0)

    def divide(v):
        g[v] = 1 / n[v]
        h[v] = min(n[v], 3) / n[v]

{stores}
    vertices.apply(divide)
    return g, h
""", tmp_path)
    last = (1 << 32) - 1
    parts = [0 if word == 0 else min((1 << 32) // word, last) for word in words]
    assert found["g"][:len(words)].tolist() == parts
    assert found["h"][:len(words)].tolist() == [min(min(word, 3) * part, last)
                                                for word, part in zip(words, parts)]


SETS = """
@program
def sets(edges: edgeset):
    turn = vector(uint, 0)
    hit = vector(uint, 0)

    def reach(src, dst):
        hit[dst].max(i + 1)

    def note(v):
        turn[v] = turn[v] + i + 1

    def some(v):
        return hit[v] > 0 and uint(v) % 3 == 0

    def number(v):
        return hit[v]

    old = vertexset()
    most = 0
    for i in range(4):
        start = vertexset(i, 2 * i + 1, i)
        start.apply(note)
        found = edges.from_(start).apply_modified(reach, hit)
        other = found
        other.apply(note)
        few = other.where(some)
        if len(few) > len(old):
            old = few
        else:
            old = vertices
        most = max(most, old.sum(number))
        turn[i] = most
        old.apply(note)
        found = vertexset()
        if found:
            hit[0] = 999
    return turn, hit
"""


def test_sets(tmp_path):
    """Sets that begin while the program runs, move to other names, are emptied, and grow."""
    found = run_text(SETS, tmp_path)
    assert found["turn"].any() and found["hit"].max() == 4


def test_no_operators(tmp_path):
    """All that the program does is in the first contents of memory."""
    found = run_text("""
@program
def nothing(edges: edgeset, source: vertex = 0):
    x = vector(uint, 3)
    x[source] = 7
    return x
""", tmp_path)["x"]
    assert found.tolist() == [7, *[3] * (graph().num_vertices - 1)]


def test_refused_beforehand(tmp_path, monkeypatch):
    """A sum that does not fit is found before the device begins, and without comparing too."""
    path = tmp_path / "grows.py"
    path.write_text("""
@program
def grows(edges: edgeset):
    x = vector(uint, 1)

    def add(src, dst):
        x[dst] += 3000000000

    edges.apply(add)
    return x
""")
    monkeypatch.setattr("sw.compile.lower.algorithm.ProgramAlgorithm.drive", None)
    with pytest.raises(UserError, match=r"grows\.py:7:9: x\[0\] does not fit in 32 bits"):
        run(str(path), verify=False)


def test_queues():
    far = {}
    for delta in (1, 3, 1000, (1 << 32) - 1):
        result = run(NAMES["sssp"], "em", on=graph("road"), delta=delta)
        far[delta] = result.outputs["distance"]
        assert result.parameters["delta"] == (delta if delta < (1 << 32) - 1 else None)
    assert all(np.array_equal(words, far[1]) for words in far.values())


def test_long_sums(tmp_path):
    """A sum of 64 bits, in lanes and over all of them."""
    found = run_text("""
@program
def sums(edges: edgeset):
    x = vector(uint, lambda v: 4294967294 - uint(v))
    y = vector(uint, 0)

    def number(v):
        return x[v]

    for i in range(3):
        y[i] = vertices.sum(number) // 4096 + i
    return y
""", tmp_path)["y"]
    total = sum((1 << 32) - 2 - v for v in range(graph().num_vertices))
    assert found[:3].tolist() == [total // 4096 + i for i in range(3)]


def test_reads_see_the_start(tmp_path):
    """A chain, along which words move by one vertex a round, though lanes could see further."""
    chain = Graph(40, np.arange(39), np.arange(1, 40), np.ones(39, np.uint32))
    found = run_text("""
@program
def chain(edges: edgeset):
    x = vector(uint, 0)
    y = vector(vertex, lambda v: v)

    def step(src, dst):
        x[dst].max(x[src])

    def jump(v):
        y[v] = y[y[v]] if y[v] == v else vertex(max(uint(y[v]), 1) - 1)
        if uint(v) > 0:
            y[v] = y[vertex(uint(v) - 1)]

    x[0] = 7
    x[7] = 7
    x[15] = 7
    x[31] = 7
    for i in range(3):
        edges.apply(step)
        vertices.apply(jump)
    return x, y
""", tmp_path, on=chain)
    assert np.flatnonzero(found["x"]).tolist() == [
        first + step for first in (0, 7, 15, 31) for step in range(4)]
    assert found["y"].tolist() == [0, 0, 0, *range(37)]


@pytest.mark.parametrize("name, choices, message", [
    ("kcore", {"source": 1}, "'kcore' has no parameter 'source'; it has no parameters"),
    ("bc", {"source": 99}, "program 'bc': source is 99, must be from 0 to 63"),
    ("mis", {"seed": -1}, "program 'mis': seed is -1, must be from 0 to 4294967295"),
    ("mis", {"schedule": "compact", "direction": "pull"},
     "schedule 'compact' cannot have direction pull: it lists the edges that leave vertices"),
    ("nosuch", {}, "there is no algorithm 'nosuch'; there are bc, bfs, cc"),
    ("nosuch.py", {}, "nosuch.py: cannot be read: "),
    (f"{NAMES['bfs']}:dfs", {}, "there is no program 'dfs'; there is bfs"),
    (NAMES["sssp"], {"delta": 0}, "delta is 0, must be from 1 to 4294967295"),
])
def test_refused(name, choices, message):
    with pytest.raises(UserError) as error:
        run(name, **choices)
    assert message in str(error.value)


def test_no_weights():
    bare = load("rmat:scale=5,degree=3,seed=1")
    with pytest.raises(UserError, match="sssp.*weights"):
        run(NAMES["sssp"], on=bare)


#: An index that is a word, and a flag under a condition: both true of the padding vertex's words.
ELSEWHERE = """
@program
def elsewhere(edges: edgeset):
    own = vector(vertex, lambda v: v)
    total = vector(uint, 0)

    def count(src, dst):
        total[own[dst]] += 1

    edges.apply(count)
    return total
"""
FLAGGED = """
@program
def flagged(edges: edgeset):
    word = vector(uint, lambda v: uint(v) + 1)
    best = vector(uint, 0)
    flag = vector(bool, False)

    def clear(v):
        flag[v] = False
        best[v] = best[v] + 1

    def take(src, dst):
        if word[src] == 0:
            best[dst].max(word[src])
            flag[dst] |= True

    changed = vertices
    while changed:
        vertices.apply(clear)
        changed = edges.apply_modified(take, flag)
    return best
"""


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("text", [ELSEWHERE, FLAGGED], ids=["elsewhere", "flagged"])
def test_edges_that_fill_up_a_block_do_nothing(text, direction, tmp_path):
    """A schedule of edges fills its last block up with edges of the padding vertex."""
    path = tmp_path / "own.py"
    path.write_text(text)
    graph = Graph(7, [0, 1, 2, 3, 4], [1, 2, 3, 4, 5], None)
    with Device.functional(preset("baseline"), max_cycles=200_000) as device:
        assert device.run(str(path), graph, schedule="em", direction=direction).verified
