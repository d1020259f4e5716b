"""Texts of one loop, shipped and drawn, on the instruction-set simulator.

===========================  ==================================================================
changes of shipped programs  test_changed_programs
every plan                   test_random_relaxations, test_loose_relaxations, test_random_sweeps:
                             against the interpreter
values by hand               test_widest_paths, test_sums_in_registers, test_flags,
                             test_words_that_some_calls_read
places without edges         test_relaxation_of_padding, test_sweep_of_padding,
                             test_flags_of_padding
parameters                   test_parameters_that_change
functions of vertices as     test_chains: against the functions one after the other;
one                          test_stores_that_are_left_out
results that runs share      test_shared_results
refused                      test_a_sum_that_does_not_fit, test_vertices_in_a_new_order
===========================  ==================================================================
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from hw.config import preset
from hw.gather.variants import VARIANTS
from sw.compile import algorithms
from sw.graph import Graph, load
from sw.lang import programs
from sw.lang.passes.chain import chained, may_chain, certain_loads, without_stores
from sw.lang.reader import read_text
from sw.device import Device
from sw.vm import reference
from sw.vm.evaluate import Evaluator
from tb.sw.graphs import graphs


def text_of(name):
    return programs.path(name).read_text()


def run(text, tmp_path, on, **choices):
    """The outputs by the device, compared with those of the interpreter."""
    path = tmp_path / "drawn.py"
    path.write_text(text)
    changes = {"imem_bytes": 1 << 16, "local_bytes": 4096} | choices.pop("changes", {})
    with Device.functional(preset("tiny").replace(**changes)) as device:
        result = device.run(str(path), on, **choices)
    assert result.verified
    return result.outputs


@pytest.mark.parametrize("name, given", [
    ("bfs", {"source": 1}), ("sssp", {"source": 1}), ("cc", {}), ("pagerank", {"iterations": 2}),
    ("bc", {"source": 1})])
def test_shared_results(name, given):
    """Runs on one graph with equal parameters have the same results, which cannot be written. With
    other parameters, or on an equal graph, they have their own."""
    kind, on = algorithms.find(name), load("karate", weights=9)
    golden = kind(on, **given).golden()
    assert all(np.shares_memory(words, golden[vector])
               for vector, words in kind(on, **given).golden().items())
    others = [kind(load("karate", weights=9), **given)]
    others += [kind(on, **given | {parameter: value + 1}) for parameter, value in given.items()]
    for other in others:
        assert not any(np.shares_memory(words, golden[vector])
                       for vector, words in other.golden().items())
    for words in golden.values():
        with pytest.raises(ValueError, match="read-only"):
            words[0] = 1


#: {name: (program, (text, other text) ...)}: changes of shipped programs.
CHANGED = {
    "level-from-1": ("bfs", ("level = 0", "level = 1")),
    "level-by-2": ("bfs", ("level += 1", "level += 2")),
    "depth-below": ("bfs", ("depth[v] == infinity", "depth[v] > 3")),
    "largest-parent": ("bfs", ("parent[dst].min(src)", "parent[dst].max(src)"),
                       ("parent = vector(vertex, none)", "parent = vector(vertex, 0)")),
    "other-depth": ("bfs", ("depth = vector(uint, infinity)", "depth = vector(uint, 7)")),
    "depth-of-the-source": ("bfs", ("depth[source] = 0", "depth[source] = 3")),
    "more-parents": ("bfs", ("parent[source] = source",
                             "parent[source] = source\n    parent[0] = source")),
    "settles-another": ("bfs", ("depth[v] = level", "depth[v] = level + 1")),
    "two-reductions": ("sssp", ("        distance[dst].min(distance[src] + weight)",
                                "        distance[dst].min(distance[src] + weight)\n"
                                "        distance[src].min(distance[dst])")),
    "two-sources": ("sssp", ("source, delta=delta", "source, 0, delta=delta")),
    "hooks-the-smaller": ("cc", ("max(label[src], label[dst])", "min(label[src], label[dst])")),
    "no-shortcut": ("cc", ("label[label[label[v]]]", "label[v]")),
    "labels-by-hand": ("cc", ("changed = vertices", "label[0] = 1\n    changed = vertices")),
    "flags-are-kept": ("cc", ("        differs[v] = False\n", "")),
    "labels-that-change-before": ("cc", ("    changed = vertices", "    changed = vertices\n"
                                         "    vertices.apply(first)"),
                                  ("    def hook(", "    def first(v):\n        label[v] = min("
                                   "label[v], 1)\n\n    def hook(")),
    "flags-are-shown": ("cc", ("return label", "return label, differs")),
    "order-of-the-round": ("pagerank", ("share[v] = rank[v] * inverse[v]",
                                        "share[v] = rank[v] * inverse[v] * done"),
                           ("        done += 1\n", "        done += 1\n")),
}


@pytest.mark.parametrize("name", CHANGED)
def test_changed_programs(name, tmp_path):
    base, *changes = CHANGED[name]
    text = text_of(base)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    if name in ("hooks-the-smaller", "no-shortcut", "flags-are-kept"):
        return                          # loops that may not end
    graph = load("rmat:scale=5,degree=3,seed=2,weights=9")
    for direction in ("push", "pull"):
        run(text, tmp_path, graph, schedule="vm", direction=direction)


RELAXES = """
@program
def relaxes(edges: edgeset, source: vertex = 0, amount: uint = {amount}):
    x = vector(uint, {first})
    c = vector(uint, lambda v: uint(v) * 7 & 31)

    def relax(src, dst, weight):
        x[dst].{reduction}({value})

    x[source] = {start}
    {begin}
    while some:
        {step}
    return x
"""

VALUES = {"min": ["x[src] + weight", "x[src]", "x[src] + c[src]", "max(x[src], weight)",
                  "x[src] + x[src] + c[dst]", "min(x[src] + weight, x[src] + c[dst])",
                  "x[src] + amount", "x[src] + edges.out_degree(src)"],
          "max": ["min(x[src], weight)", "x[src] >> 1", "x[src]", "min(x[src], amount & 63)",
                  "min(max(x[src], x[src] >> 2), c[dst] + 2)"]}

#: Values that a vertex which was not reached would send, and values that may be errors.
LOOSE = {"min": ["(x[src] + weight) // 2", "weight", "min(x[src] + weight, c[dst] + 9)",
                 "x[src] * c[src]"],
         "max": ["weight", "min(x[src] + c[dst], 40)", "max(x[src], c[dst])", "x[src] - weight",
                 "max(x[src], weight) - weight", "min(x[src] * c[dst], 40)"]}


@st.composite
def relaxations(draw, values=VALUES):
    reduction = draw(st.sampled_from(["min", "max"]))
    least = reduction == "min"
    queue = draw(st.booleans())
    delta = draw(st.sampled_from(["1", "6", "infinity"])) if least else "infinity"
    return RELAXES.format(
        reduction=reduction, value=draw(st.sampled_from(values[reduction])),
        amount=draw(st.sampled_from([0, 5, 4294967290])),
        first="infinity" if least else "0", start=draw(st.sampled_from(["0", "3", "4000"])),
        begin=f"some = PriorityQueue(x, source, delta={delta})" if queue and least
        else "some = vertexset(source)",
        step="now = some.dequeue()\n        edges.from_(now).apply_update_priority(relax, some)"
        if queue and least else "some = edges.from_(some).apply_modified(relax, x)")


SCHEDULES = st.sampled_from(["vm", "em", "weaver", "wm", "cm", "twc", "strict", "compact",
                             "scu-enhanced"])
FORMATS = st.sampled_from([None, "ell:width=2", "dia", "tigr:k=3", "cr2", "g-shards:shard=16",
                           "coo"])


def tries(text, directory, on, schedule, direction, layout, unit="fsm"):
    """Run by a plan that the program takes; refused plans do not count."""
    try:
        run(text, directory, on, schedule=schedule, direction=direction, format=layout,
            changes={"gather": unit, "scu": 4 if "scu" in schedule else 0})
    except UserError as error:
        assert "golden" not in str(error), error


@settings(max_examples=60)
@given(relaxations(), graphs(weighted=True), SCHEDULES, st.sampled_from(["push", "pull"]), FORMATS,
       st.sampled_from(sorted(VARIANTS)))
def test_random_relaxations(tmp_path_factory, text, on, schedule, direction, layout, unit):
    tries(text, tmp_path_factory.mktemp("drawn"), on, schedule, direction, layout, unit)


@settings(max_examples=20)
@given(relaxations(LOOSE), graphs(weighted=True), st.sampled_from(["push", "pull"]))
def test_loose_relaxations(tmp_path_factory, text, on, direction):
    """Values that are sent by vertices which were not reached, and values that may be faults."""
    tries(text, tmp_path_factory.mktemp("drawn"), on, "vm", direction, None)


SWEEPS = """
@program
def sweeps(edges: edgeset, rounds: uint = {rounds}):
    s = vector(uint, lambda v: uint(v) & 7)
    t = vector(uint, {identity})
    k = vector(uint, lambda v: uint(v) * 5 & 15)
    o = vector(uint, lambda v: edges.in_degree(v))

    def before(v):
        {before}

    def along(src, dst, weight):
        {along}

    def after(v):
        {after}

    done = 0
    while done < rounds:
        {order}
        done += 1
    return {outputs}
"""


@st.composite
def sweeps(draw):
    def pick(*choices):
        return draw(st.sampled_from(choices))

    reduction = pick("+", "max", "min", "or")
    value = pick("s[src]", "s[src]", "s[src] + k[dst] & 63", "s[src] & 31 | weight & 3",
                 "s[src] * k[src] & 127")
    statement = {"+": f"t[dst] += {value}", "or": f"t[dst] |= {value}"}.get(
        reduction, f"t[dst].{reduction}({value})")
    if pick(True, False):
        guard = pick("k[src] < k[dst]", "s[src] != s[dst]", "weight > 3")
        statement = f"if {guard}:\n            {statement}"
    identity = "infinity" if reduction == "min" else "0"
    clear = f"t[v] = {pick(identity, identity, identity, '1')}"
    before = ["s[v] = o[v] * 3 + k[v] & 255", clear]
    if pick(True, False):
        before.append("if k[v] > 6:\n            s[v] = s[v] & 15")
    after = [pick("o[v] = t[v] & 1023", "o[v] = (t[v] & 255) + o[v] & 1023",
                  "x = t[v] & 63\n        if o[v] > x:\n            x = x + 1\n        o[v] = x")]
    if pick(True, False, False):
        after.append("k[v] = o[v] & 15")
    steps = ["vertices.apply(before)", "edges.apply(along)", "vertices.apply(after)"]
    return SWEEPS.format(
        rounds=pick(0, 1, 2, 5), identity=identity, along=statement,
        before="\n        ".join(before), after="\n        ".join(after),
        order="\n        ".join(steps[pick(0, 0, 0, 1):]),
        outputs=pick("o", "o", "s, o", "t, o", "k, o"))


@settings(max_examples=120)
@given(sweeps(), graphs(weighted=True), SCHEDULES, st.sampled_from(["push", "pull"]), FORMATS,
       st.sampled_from(sorted(VARIANTS)))
def test_random_sweeps(tmp_path_factory, text, on, schedule, direction, layout, unit):
    try:
        reference.run(read_text(text), on)
    except UserError:
        return                          # a sum that does not fit
    tries(text, tmp_path_factory.mktemp("drawn"), on, schedule, direction, layout, unit)


def test_widest_paths(tmp_path):
    graph = Graph(5, [0, 0, 1, 2, 3], [1, 2, 3, 3, 4], np.array([4, 9, 7, 6, 5], np.uint32))
    text = RELAXES.format(amount=0, first="0", reduction="max", start="infinity",
                          value="min(x[src], weight)", begin="some = vertexset(source)",
                          step="some = edges.from_(some).apply_modified(relax, x)")
    for schedule in ("vm", "em", "weaver"):
        for direction in ("push", "pull"):
            found = run(text, tmp_path, graph, schedule=schedule, direction=direction)
            assert found["x"].tolist() == [(1 << 32) - 1, 4, 9, 6, 5]


def test_sums_in_registers(tmp_path):
    """One kernel does a round, and the words change between two arrays: walks of 12 arcs. Along
    the chain a lane that read a new word would be a round ahead."""
    graph = Graph(4, [0, 0, 1, 2, 2], [1, 2, 3, 3, 0], np.ones(5, np.uint32))
    text = """
@program
def walks(edges: edgeset):
    s = vector(uint, 0)
    t = vector(uint, 0)
    o = vector(uint, 1)

    def before(v):
        s[v] = o[v]
        t[v] = 0

    def along(src, dst):
        t[dst] += s[src]

    def after(v):
        o[v] = t[v]

    for i in range(12):
        vertices.apply(before)
        edges.apply(along)
        vertices.apply(after)
    return o
"""
    chain = Graph(60, np.arange(59), np.arange(1, 60))
    for on in (graph, chain):
        matrix = np.zeros((on.num_vertices, on.num_vertices), int)
        np.add.at(matrix, (on.dst, on.src), 1)
        wanted = np.linalg.matrix_power(matrix, 12) @ np.ones(on.num_vertices, int)
        assert run(text, tmp_path, on, schedule="vm", direction="pull")["o"].tolist() \
            == wanted.tolist()


FLAGGED = """
@program
def flagged(edges: edgeset):
    t = vector(uint, lambda v: uint(v))
    f = vector(bool, False)

    def clear(v):
        f[v] = False

    def along(src, dst):
        if {guard}:
            t[dst].min(uint(0))
            f[dst] |= True

    changed = vertices
    while changed:
        vertices.apply(clear)
        changed = edges.apply_modified(along, f)
    return t
"""


COUNTED = """
@program
def counted(edges: edgeset):
    s = vector(uint, lambda v: uint(v) % 5)
    t = vector(uint, 0)
    f = vector(bool, False)

    def step(v):
        s[v] = max(s[v], 1) - 1
        f[v] = False

    def along(src, dst):
        if s[src] > 0:
            t[dst] += 1
            f[dst] |= True

    changed = vertices
    while changed:
        vertices.apply(step)
        changed = edges.apply_modified(along, f)
    return t
"""


def test_flags(tmp_path):
    """A loop that goes on while an edge has set a flag, and one whose flags are never cleared."""
    text = FLAGGED.format(guard="edges.in_degree(src) < edges.in_degree(dst) and t[dst] > 0")
    text = COUNTED
    graph = load("rmat:scale=5,degree=3,seed=2")
    for schedule in ("vm", "em", "weaver", "wm", "twc", "compact"):
        for direction in ("push", "pull")[:1 if schedule == "compact" else 2]:
            found = run(text, tmp_path, graph, schedule=schedule, direction=direction)["t"]
            rounds = np.maximum(np.arange(graph.num_vertices) % 5 - 1, 0)
            wanted = np.zeros(graph.num_vertices, int)
            np.add.at(wanted, graph.dst, rounds[graph.src])
            assert found.tolist() == wanted.tolist()
    kept = text.replace("        f[v] = False\n", "")
    assert kept != text
    run(kept, tmp_path, graph, schedule="vm", direction="push")
    # Flags that begin set, and are cleared after the edges only, do not change at first.
    late = text.replace("        vertices.apply(step)\n", "").replace(
        "(along, f)\n", "(along, f)\n        vertices.apply(step)\n")
    assert late != text
    for set_before in (late.replace("vector(bool, False)", "vector(bool, True)"),
                       late.replace("    changed = v", "    f[1] = True\n    changed = v")):
        assert set_before != late
        run(set_before, tmp_path, graph, schedule="vm", direction="push")


CHOSEN = """
@program
def chosen(edges: edgeset):
    x = vector(uint, 0)
    odd = vector(bool, lambda v: uint(v) % 2 == 1)
    y = vector(uint, 9)

    def add(src, dst):
        x[dst] += 1

    def choose(v):
        y[v] = x[v] if odd[v] else 3

    edges.apply(add)
    vertices.apply(choose)
    return y
"""


def test_words_that_some_calls_read(tmp_path):
    """Such a word is loaded late, so the vertex is still needed when others have come."""
    graph = load("rmat:scale=5,degree=3,seed=2")
    wanted = np.where(np.arange(graph.num_vertices) % 2, graph.in_degrees, 3)
    found = run(CHOSEN, tmp_path, graph, schedule="vm", direction="push")["y"]
    assert found.tolist() == wanted.tolist()


def test_flags_of_padding(tmp_path):
    """Places of a format that have no edge set no flag. Vertices 3 to 5 have words above 0, and no
    edges."""
    lonely = Graph(6, [0, 1, 1, 2], [1, 2, 3, 0], name="lonely")
    path = tmp_path / "counted.py"
    path.write_text(COUNTED)
    for direction in ("push", "pull"):
        for layout in (None, "ell:width=2", "dia", "tigr:k=3"):
            with Device.functional(preset("tiny")) as device:
                result = device.run(str(path), lonely, schedule="vm", direction=direction,
                                    format=layout)
            assert result.verified and result.supersteps == 2


def test_parameters_that_change(tmp_path):
    """A function reads a parameter that the host has changed, before the loop or in it."""
    for change, inside in (("amount = amount + 1", "pass"), ("pass", "amount = amount + 1")):
        text = f"""
@program
def changed(edges: edgeset, amount: uint = 1):
    s = vector(uint, 1)
    t = vector(uint, 0)

    def along(src, dst):
        t[dst] += s[src]

    def after(v):
        s[v] = t[v] % 7 + amount
        t[v] = 0

    {change}
    for i in range(3):
        edges.apply(along)
        vertices.apply(after)
        {inside}
    return s
"""
        run(text, tmp_path, load("karate"), schedule="vm", direction="pull")


CHAIN = """
@program
def chain(edges: edgeset):
    a = vector(uint, lambda v: uint(v) * 3)
    b = vector(uint, lambda v: uint(v) & 3)
    c = vector(uint, 5)

    def first(v):
        x = a[v] + 1
        y = x
        if b[v] > 1:
            x = 9
            c[v] = x
        a[v] = x + y

    def second(v):
        x = a[v] * c[v]
        b[v] = x
        if a[v] > 6:
            a[v] = b[v] + 2
        c[v] = a[v]

    def third(v):
        a[v] = a[v] + b[v] + c[v]
        b[v] = 4

    def elsewhere(v):
        c[v] = a[vertex(0)]

    vertices.apply(first)
    return a, b, c
"""


def _after(program, functions, count=12):
    """The vectors after functions of vertices, one after the other."""
    graph = Graph(count, [0], [1])
    arrays = {name: words.astype(np.uint64) for name, words in reference.run(
        program, graph).outputs.items()}

    for function in functions:
        before = {name: words.copy() for name, words in arrays.items()}

        def load(vector, vertices, own, before=before):
            return (arrays if own else before)[vector][vertices.astype(np.int64)]

        def store(vector, vertices, words):
            arrays[vector][vertices.astype(np.int64)] = words

        Evaluator(program, graph, 0, {}, load).run(
            function, [np.arange(count, dtype=np.uint64)], store)
    return {name: words.tolist() for name, words in arrays.items()}


def test_chains():
    program = read_text(CHAIN)
    for names in (["first", "second", "third"], ["second", "first"], ["third", "third", "second"],
                  ["first", "first"]):
        functions = [program.function(name) for name in names]
        assert may_chain(functions)
        assert _after(program, [chained(functions)]) == _after(program, functions)
    assert not may_chain([program.function("first"), program.function("elsewhere")])
    loaded = {load.vector for load in certain_loads(chained([program.function("third")] * 2))}
    assert loaded == {"a", "b", "c"}


def test_stores_that_are_left_out():
    program = read_text(CHAIN)
    chain = chained([program.function(name) for name in ("first", "second", "third")])
    # Later functions load a and c, which are stored in branches, from memory.
    short = without_stores(chain, {"b"})
    assert short.writes() == {"a", "c"} and len(short.body) < len(chain.body)
    kept, whole = _after(program, [short]), _after(program, [chain])
    assert all(kept[name] == whole[name] for name in ("a", "c")) and kept["b"] != whole["b"]
    assert without_stores(chain, {"a", "b", "c"}).body == ()


def test_relaxation_of_padding(tmp_path):
    """Places of a format that have no edge send nothing, whatever the weight that is read there."""
    graph = load("rmat:scale=4,degree=3,seed=1,weights=9")
    text = RELAXES.format(amount=0, first="infinity", reduction="min", start="0",
                          value="min(x[src] + weight, x[src] + c[dst])",
                          begin="some = vertexset(source)",
                          step="some = edges.from_(some).apply_modified(relax, x)")
    for direction in ("push", "pull"):
        for layout in ("ell:width=2", "dia"):
            run(text, tmp_path, graph, schedule="vm", direction=direction, format=layout)
    lonely = load("rmat:scale=5,degree=3,seed=1,weights=9")
    assert lonely.out_degrees[0] == 0
    with Device.functional(preset("tiny")) as device:
        for layout in ("ell:width=2", "dia"):
            assert device.run(str(tmp_path / "drawn.py"), lonely, schedule="vm", direction="push",
                              source=0, format=layout).supersteps == 1


def test_sweep_of_padding(tmp_path):
    graph = load("rmat:scale=4,degree=3,seed=1,weights=9")
    text = SWEEPS.format(rounds=2, identity="0", before="s[v] = o[v] + 1\n        t[v] = 0",
                         order="vertices.apply(before)\n        edges.apply(along)\n"
                         "        vertices.apply(after)", along="t[dst] += s[src] & 7 | 1",
                         after="o[v] = t[v]", outputs="o")
    for direction in ("push", "pull"):
        for layout in ("ell:width=2", "dia"):
            run(text, tmp_path, graph, schedule="vm", direction=direction, format=layout)


def test_a_sum_that_does_not_fit(tmp_path):
    text = SWEEPS.format(rounds=3, identity="0", before="s[v] = 3000000000", order="edges.apply("
                         "along)", along="t[dst] += s[src]", after="o[v] = t[v]", outputs="t")
    text = text.replace("lambda v: uint(v) & 7", "3000000000")
    graph = load("rmat:scale=4,degree=3,seed=1,weights=3")
    with pytest.raises(UserError, match=r"t\[\d+\] does not fit in 32 bits"):
        run(text, tmp_path, graph, verify=False)


def test_vertices_in_a_new_order(tmp_path):
    """Components have a smallest vertex in every order; other words are vertices of the graph."""
    graph = load("rmat:scale=5,degree=2,seed=2").undirected().simplify()
    for name in ("cc", "bfs"):
        run(text_of(name), tmp_path, graph, schedule="em", direction="push",
            format="csr:reorder=rcm")
