"""The pass ``normal``: texts that mean the same have one form, and words, errors, places and labels
stay.

======================  ===========================================================================
texts of one form       test_alike: pairs of texts, one rewrite each
texts of two forms      test_not_alike: where a side condition does not hold
constants               test_constants, test_constants_that_stay: what fails is not computed
comparisons             test_comparisons_with_constants, also at 0 and infinity
words and errors        test_random_programs: the form against the text, by the interpreter
labels, places          test_labels, test_a_blocked_operator_keeps_its_condition, test_places,
                        test_error
loops                   test_sums_stay_in_each_round, test_a_limit_that_is_infinity
names                   test_merged_names, test_a_number_that_the_function_of_a_sum_reads
what nobody needs       test_vectors_that_nobody_needs, test_results_that_nobody_reads,
                        test_numbers_that_are_words
what must stay          test_fraction_bits_stay, test_a_queue_that_is_only_emptied,
                        test_operands_of_two_types_stay
programs                test_programs: the package's stay as they are; test_machine_words: their
                        kernels, too; test_once: a form is a form
a text's meaning        test_rule_5_does_not_hang_on_the_spelling
======================  ===========================================================================

``tb/checks/metamorphic`` makes texts by rules, and compares them likewise.
"""

import numpy as np
import pytest
from hypothesis import given, settings

from base.errors import UserError
from checks.metamorphic.shape import shape
from hw.config import preset
from sw.compile import algorithms
from sw.device import Device
from sw.graph import Graph
from sw.graph.load import load
from sw.lang import graph_ir as ir
from sw.lang import passes, programs
from sw.lang.passes import analysed, as_written
from sw.lang.passes.normal import normal
from sw.lang.reader import read_text
from sw.lang.schedule import applied, labelled, read_schedules
from sw.lang.types import Type
from sw.vm import reference
from sw.vm.host import perform
from sw.vm.reference import ReferenceMachine
from tb.sw.graphs import graphs
from tb.sw.vm.random_programs import program_texts


HEAD = """\
@program
def p(edges: edgeset, source: vertex = 0, n: int = 3, u: uint = 2):
    x = vector(uint, infinity)
    y = vector(uint, 0)
    z = vector(fixed, 0)
    q = vector(vertex, none)
    b = vector(bool, False)
"""

RETURN = "    return x, y, z, q\n"


def read(body, end=RETURN):
    return read_text(HEAD + "".join(f"    {line}\n" for line in body.splitlines()) + end, "p.py")


def form(body, **given):
    return shape(normal(read(body, **given)))


def of_edge(line):
    return f"def f(src, dst, weight):\n    {line}\nedges.apply(f)"


def of_vertex(*lines):
    return "def f(v):\n" + "".join(f"    {line}\n" for line in lines) + "vertices.apply(f)"


def loop(body, start="level = 0", condition="s"):
    """A search by levels whose loop has this body."""
    return ("def f(src, dst):\n    q[dst].min(src)\ndef g(v):\n    x[v] = level\n"
            "def h(v):\n    return x[v] == infinity\ns = vertexset(source)\n"
            f"{start}\nwhile {condition}:\n" + "".join(f"    {line}\n" for line in
                                                      body.splitlines()))


STEP = "s = edges.from_(s).to(h).apply_modified(f, q)\n"

ALIKE = [
    # constants and operands
    (of_vertex("y[v] = 5"), of_vertex("y[v] = 2 + 3")),
    (of_vertex("y[v] = 5"), of_vertex("y[v] = 7 - 2 if 1 < 2 else 9")),
    (of_vertex("z[v] = z[v] * 0.85"), of_vertex("z[v] = z[v] * (1 - 0.15)")),
    (of_vertex("y[v] = y[v] + 0 * 3"), of_vertex("y[v] = y[v]")),
    (of_vertex("y[v] = uint(v) ^ u"), of_vertex("y[v] = u ^ uint(v)")),
    (of_vertex("y[v] = max(x[v], y[v])"), of_vertex("y[v] = max(y[v], x[v])")),
    (of_edge("x[dst].min(x[src] + weight)"), of_edge("x[dst].min(weight + x[src])")),
    # the host has computed its numbers before: only the other operand may fail
    (of_vertex("y[v] = max(y[v] // x[v], u - 1)"), of_vertex("y[v] = max(u - 1, y[v] // x[v])")),
    (of_vertex("b[v] = y[v] + x[v] == u - 1"), of_vertex("b[v] = u - 1 == y[v] + x[v]")),
    (of_vertex("b[v] = b[v] and u - 1 > u"), of_vertex("b[v] = u - 1 > u and b[v]")),
    # truth
    (of_vertex("if x[v] == infinity: y[v] = 1"), of_vertex("if infinity == x[v]: y[v] = 1")),
    (of_vertex("if x[v] != infinity: y[v] = 1"), of_vertex("if x[v] < infinity: y[v] = 1")),
    (of_vertex("if x[v] > 4: y[v] = 1"), of_vertex("if not x[v] < 5: y[v] = 1")),
    (of_vertex("if x[v] < y[v]: y[v] = 1"), of_vertex("if y[v] > x[v]: y[v] = 1")),
    (of_vertex("if x[v] > 0: y[v] = 1"), of_vertex("if x[v] != 0: y[v] = 1")),
    (of_vertex("if x[v] == 0: y[v] = 1"), of_vertex("if 1 > x[v]: y[v] = 1")),
    (of_vertex("if b[v]: y[v] = 1"), of_vertex("if b[v] == True: y[v] = 1")),
    (of_vertex("if not b[v]: y[v] = 1"), of_vertex("if b[v] == False: y[v] = 1")),
    (of_vertex("if b[v] and x[v] > 3: y[v] = 1"),
     of_vertex("if not (x[v] <= 3 or not b[v]): y[v] = 1")),
    (of_vertex("y[v] = 1 if x[v] == 3 else 2"), of_vertex("y[v] = 2 if x[v] != 3 else 1")),
    (of_vertex("y[v] = 1 if b[v] else 2"), of_vertex("y[v] = 2 if not b[v] else 1")),
    # statements
    (of_vertex("if b[v] and x[v] > 3: y[v] = 1"), of_vertex("if b[v]:", "    if x[v] > 3:",
                                                            "        y[v] = 1")),
    (of_vertex("if b[v]: y[v] = 1"), of_vertex("if not b[v]: pass", "else: y[v] = 1")),
    (of_vertex("y[v] = 1"), of_vertex("if b[v]: y[v] = 1", "else: y[v] = 1")),
    (of_vertex("y[v] = 1"), of_vertex("t = x[v]", "y[v] = 1")),
    (of_vertex("y[v] = x[v] & 7"), of_vertex("t = x[v]", "y[v] = t & 7")),
    (of_vertex("y[v] = x[v] + 7"), of_vertex("t = x[v] + 7", "y[v] = t")),
    # sets
    ("def f(v): return x[v] > 3 and y[v] < 5\ndef g(v): q[v] = v\ns = vertices.where(f)\n"
     "s.apply(g)\nn = len(s)\ny[source] = n",
     "def f(v): return x[v] > 3\ndef h(v): return y[v] < 5\ndef g(v): q[v] = v\n"
     "t = vertices.where(f)\ns = t.where(h)\ns.apply(g)\nn = len(s)\ny[source] = n"),
    (of_vertex("y[v] = 1", "x[v] = y[v]"),
     "def f(v): y[v] = 1\ndef g(v): x[v] = y[v]\nvertices.apply(f)\nvertices.apply(g)"),
    (of_vertex("if x[v] > 3: y[v] = 1"),
     "def f(v): y[v] = 1\ndef g(v): return x[v] > 3\ns = vertices.where(g)\ns.apply(f)"),
    ("def f(src, dst): y[dst] += 1\ndef g(v): return x[v] > 3\nedges.to(g).apply(f)",
     "def f(src, dst):\n    if x[dst] > 3: y[dst] += 1\nedges.apply(f)"),
    ("def f(src, dst): y[dst] += 1\nedges.apply(f)",
     "def f(src, dst): y[dst] += 1\ns = edges.apply_modified(f, y)"),
    ("def f(src, dst): b[dst] |= True\ns = vertices\nwhile s: s = edges.apply_modified(f, b)",
     "def f(src, dst): b[dst] |= True\ns = vertices\nwhile len(s) != 0:\n"
     "    t = edges.apply_modified(f, b)\n    s = t"),
    ("def f(src, dst, w): x[dst].min(x[src] + w)\ns = vertexset(source)\n"
     "while s: s = edges.from_(s).apply_modified(f, x)",
     "def f(src, dst, w): x[dst].min(x[src] + w)\ns = PriorityQueue(x, source)\nwhile s:\n"
     "    t = s.dequeue()\n    edges.from_(t).apply_update_priority(f, s)"),
    ("def f(src, dst, w): x[dst].min(x[src] + w)\nk = 0\ns = vertexset(source)\n"
     "while s:\n    k += 1\n    s = edges.from_(s).apply_modified(f, x)\ny[source] = k",
     "def f(src, dst, w): x[dst].min(x[src] + w)\nk = 0\ns = PriorityQueue(x, source)\nwhile s:\n"
     "    k += 1\n    t = s.dequeue()\n    edges.from_(t).apply_update_priority(f, s)\n"
     "y[source] = k"),
    # numbers of the host
    ("y[source] = n + 1", "m = n\nk = 2 + m - 1\ny[source] = k"),
    ("s = vertexset(0)\nt = vertexset(1)\nk = 0\nfor i in range(n):\n"
     "    k = k + len(s) + len(t)\n    y[source] = k",
     "s = vertexset(0)\nt = vertexset(1)\nk = 0\nfor i in range(n):\n"
     "    k = len(s) + (len(t) + k)\n    y[source] = k"),
    ("for i in range(n):\n    x[source] = 1",
     "i = n\nwhile i >= 1:\n    x[source] = 1\n    i -= 1"),
    ("for i in range(n):\n    x[source] = 1",
     "i = 5\nwhile n + 5 > i:\n    x[source] = 1\n    i += 1"),
    ("for i in range((n + 1) // 2):\n    x[source] = 1",
     "i = 0\nwhile i < n:\n    x[source] = 1\n    i += 2"),
    ("for i in range(n):\n    x[source] = i", "i = 0\nwhile i < n:\n    x[source] = i\n    i += 1"),
    ("for i in range(n - 2):\n    x[source] = 1",
     "i = 2\nwhile i < n:\n    x[source] = 1\n    i += 1"),
    ("k = 0\nfor i in range(n):\n    k = k + i\nfor i in range(9 - k):\n    x[source] = 1",
     "k = 0\nfor i in range(n):\n    k = k + i\ni = k\nwhile 9 > i:\n"
     "    x[source] = 1\n    i += 1"),
    ("def f(v): return x[v]\ns = vertices\nk = s.sum(f) + 1\nif s.sum(f) > k:\n    k = 3\n"
     "for i in range(s.sum(f)):\n    y[source] = k",
     "def f(v): return x[v]\ndef g(w): return x[w]\ndef h(v): return x[v]\ns = vertices\n"
     "k = s.sum(g) + 1\nif s.sum(h) > k:\n    k = 3\nfor i in range(s.sum(g)):\n    y[source] = k"),
    ("for i in range(n):\n    x[source] = i + 3",
     "k = 2\nfor i in range(n):\n    k += 1\n    x[source] = k"),
    (loop("level += 1\n" + STEP + "s.apply(g)"),
     loop(STEP + "s.apply(g)\nlevel += 1", "level = 1")),
    (loop("level += 1\n" + STEP + "s.apply(g)"), loop(STEP + "level += 1\ns.apply(g)")),
    (loop("level += 1\n" + STEP + "s.apply(g)", condition="len(s) > 0 and level < 4"),
     loop(STEP + "s.apply(g)\nlevel += 1", "level = 1", "0 < len(s) and level <= 4")),
    (loop("level += 1\n" + STEP + "s.apply(g)") + "y[source] = level",
     loop(STEP + "s.apply(g)\nlevel += 1", "level = 1") + "y[source] = level - 1"),
    (loop("level += 1\n" + STEP + "s.apply(g)"),
     loop("level += 1\nrounds += 1\nseen = len(s)\n" + STEP + "s.apply(g)",
          "rounds = 0\nlevel = 0")),
    (loop("level += 1\n" + STEP + "s.apply(g)"),
     loop("level += 1\nt = edges.from_(s).to(h).apply_modified(f, q)\nt.apply(g)\ns = t")),
    ("x[source] = 1", "if 1 < 2:\n    x[source] = 1\nelse:\n    x[source] = 2"),
    ("if n > 4294967294: y[source] = 1", "if n >= infinity: y[source] = 1"),
    ("if n < 4294967295: y[source] = 1", "if n + 1 <= infinity: y[source] = 1"),
    ("def f(v): return y[v]\nk = len(vertices) + vertices.sum(f)\ny[source] = k",
     "def f(v): return y[v]\nm = len(vertices)\nk = m + vertices.sum(f)\ny[source] = k"),
]


@pytest.mark.parametrize("one, other", ALIKE)
def test_alike(one, other):
    assert form(one) == form(other)
    assert shape(read(one)) != shape(read(other))


@pytest.mark.parametrize("one, other", [
    # A sum that does not fit is an error, but no error of a candidate.
    (of_edge("x[dst].min(x[src] + weight)"), "def f(src, dst, weight):\n"
     "    t = x[src] + weight\n    x[dst].min(t)\nedges.apply(f)"),
    # What may fail is left out only where it was left out.
    (of_vertex("y[v] = 1"), of_vertex("t = y[v] + 1", "y[v] = 1")),
    (of_vertex("y[v] = 1"), of_vertex("if y[v] + 1 > 3: y[v] = 1", "else: y[v] = 1")),
    (of_vertex("y[v] = 1"), of_vertex("y[v] = 1", "if 9 // x[v] > 3: t = 1")),
    (of_vertex("if b[v] and 9 // x[v] > 3: y[v] = 1"),
     of_vertex("if 9 // x[v] > 3 and b[v]: y[v] = 1")),
    (of_vertex("if b[v]: y[v] = 9 // x[v]"), of_vertex("t = 9 // x[v]", "if b[v]: y[v] = t")),
    ("n = n + 1", "m = 5 // n"),
    # A function's own stores are read back.
    (of_vertex("y[v] = x[v]", "x[v] = 0"), of_vertex("x[v] = 0", "y[v] = x[v]")),
    (of_vertex("t = x[v]", "x[v] = 0", "y[v] = t"), of_vertex("x[v] = 0", "y[v] = x[v]")),
    # Words of other vertices are those of the start.
    ("def f(v): y[v] = 1\ndef g(v): x[v] = y[q[v]]\nvertices.apply(f)\nvertices.apply(g)",
     of_vertex("y[v] = 1", "x[v] = y[q[v]]")),
    ("def f(v): y[q[v]].max(1)\ndef g(v): x[v] = y[v]\nvertices.apply(f)\nvertices.apply(g)",
     of_vertex("y[q[v]].max(1)", "x[v] = y[v]")),
    # A filter is evaluated for all vertices.
    ("def f(src, dst): y[dst] += 1\ndef g(v): return 9 // x[v] > 3\nedges.to(g).apply(f)",
     "def f(src, dst):\n    if 9 // x[dst] > 3: y[dst] += 1\nedges.apply(f)"),
    # A set that is needed stays.
    ("def f(v): return x[v] > 3\ndef g(v): return y[v] > 3\ns = vertices.where(f)\n"
     "t = s.where(g)\ny[source] = len(t)",
     "def f(v): return x[v] > 3\ndef g(v): return y[v] > 3\ns = vertices.where(f)\n"
     "t = s.where(g)\ny[source] = len(s)"),
    ("def f(src, dst, w): x[dst].min(x[src] + w)\ns = PriorityQueue(x, source)\nwhile s:\n"
     "    t = s.dequeue()\n    edges.from_(t).apply_update_priority(f, s)",
     "def f(src, dst, w): x[dst].min(x[src] + w)\ns = PriorityQueue(x, source, delta=n)\nwhile s:\n"
     "    t = s.dequeue()\n    edges.from_(t).apply_update_priority(f, s)"),
    ("def f(src, dst, w): x[dst].min(x[src] + w)\ns = PriorityQueue(x, source)\nwhile s:\n"
     "    x[source] = 0\n    t = s.dequeue()\n    edges.from_(t).apply_update_priority(f, s)",
     "def f(src, dst, w): x[dst].min(x[src] + w)\ns = PriorityQueue(x, source)\nwhile s:\n"
     "    t = s.dequeue()\n    x[source] = 0\n    edges.from_(t).apply_update_priority(f, s)"),
    # A vector without a use is computed where its index may be wrong.
    ("pass", of_edge("b[dst] |= y[vertex(weight)] > 3")),
    # Counters
    (loop("level += 1\n" + STEP + "s.apply(g)\ns.apply(g)"),
     loop(STEP + "s.apply(g)\nlevel += 1\ns.apply(g)", "level = 1")),
    (loop("level += 1\n" + STEP + "s.apply(g)"), loop("level += 2\n" + STEP + "s.apply(g)")),
    (loop("level += 1\n" + STEP + "s.apply(g)"), loop(STEP + "s.apply(g)\nlevel += 1")),
    (loop("level += 1\n" + STEP + "s.apply(g)") + "y[source] = level",
     loop(STEP + "s.apply(g)\nlevel += 1", "level = 1") + "y[source] = level"),
    ("for i in range(n):\n    x[source] = 1",
     "i = 0\nwhile i < n:\n    x[source] = 1\n    i += 1\n    n = n - 1"),
    ("for i in range(n):\n    x[source] = 1",
     "i = 0\nwhile i < n:\n    x[source] = 1\n    i += 1\ny[source] = i"),
    ("y[source] = u", "y[source] = u - 1 + 1"),     # fails for infinity
    ("y[source] = n", "y[source] = n + n"),
    ("y[source] = 0", "k = 7 // n\ny[source] = k - k"),
    ("k = 0\nif n <= infinity:\n    k = 3\ny[source] = k", "k = 0\nif n < infinity:\n    k = 3\n"
     "y[source] = k"),
    ("y[source] = min(u, n)", "y[source] = min(u, n) - 1 + 1"),
    ("y[source] = min(u, len(vertices))", "y[source] = min(u, len(vertices)) - 1 + 1"),
    ("y[source] = max(n, u)", "y[source] = max(n, u) - 1 + 1"),
    ("y[source] = u if n > 1 else n", "y[source] = (u if n > 1 else n) - 1 + 1"),
    ("y[source] = n if n > 1 else u", "y[source] = (n if n > 1 else u) - 1 + 1"),
    ("k = 0\nif u <= infinity:\n    k = 3\ny[source] = k", "k = 0\nif u < infinity:\n    k = 3\n"
     "y[source] = k"),
    # Results
    ("pass", of_vertex("z[v] = 3")),
])
def test_not_alike(one, other):
    assert form(one) != form(other)


@pytest.mark.parametrize("value, before", [
    ("3", "7 + t - 7"), ("21", "7 * t"), ("2", "7 // t"), ("1", "7 % t"), ("3", "7 & t"),
    ("15", "12 | t"), ("15", "12 ^ t"), ("56", "7 << t"), ("2147483648", "t << 31"),
    ("6", "(t << 31) >> 30 | 4"), ("5", "43 >> t"), ("3", "min(7, t)"), ("7", "max(7, t)"),
    ("3", "infinity & t"), ("infinity", "infinity | t"),
    ("3", "max(infinity, t) & t"), ("3", "min(infinity, t)"),
    ("0", "t - 3"), ("4294967294", "t + 4294967291"),
])
def test_constants(value, before):
    """An operation of two words is computed: shifts lose what is above 32 bits."""
    assert form(of_vertex(f"y[v] = {value}")) == form(of_vertex("t = 3", f"y[v] = {before}"))


@pytest.mark.parametrize("operation, after", [
    ("+", "t + 4294967292"), ("+", "infinity + t"),
    ("+", "t + infinity"), ("-", "t - 4"), ("*", "t * 1431655765"),
    ("//", "t // 0"), ("%", "t % 0"), ("<<", "t << 32"), (">>", "t >> 32")])
def test_constants_that_stay(operation, after):
    """What fails in a run is not computed: a sum beyond 32 bits or equal to infinity, or below 0,
    division by 0, and shifts by a word's width."""
    nodes = ir.walk(*normal(read(of_vertex("t = 3", f"y[v] = {after}"))).functions)
    assert any(isinstance(node, ir.Binary) and node.operation == operation for node in nodes)


@pytest.mark.parametrize("one, other", [
    ("x[v] >= 6", "x[v] > 5"), ("x[v] <= 4", "x[v] < 5"), ("x[v] >= 1", "x[v] > 0"),
    ("x[v] < 1", "x[v] == 0"), ("x[v] <= 0", "x[v] == 0"), ("x[v] != 0", "0 < x[v]"),
    ("x[v] > 4294967294", "x[v] == infinity"), ("x[v] < infinity", "x[v] != infinity"),
    ("x[v] <= 4294967294", "not x[v] == infinity"), ("x[v] >= infinity", "infinity == x[v]"),
    ("y[v] <= x[v]", "x[v] >= y[v]"), ("y[v] > x[v]", "x[v] < y[v]"),
    ("b[v] != False", "b[v]"), ("b[v] != True", "not b[v]")])
def test_comparisons_with_constants(one, other):
    """Comparisons that hold for the same words are one, and no others."""
    forms = [form(of_vertex(f"if {test}: y[v] = 1")) for test in (
        one, other, f"not ({one})", "x[v] < 6", "x[v] > 6", "x[v] > 4", "x[v] != 1", "x[v] == 1")]
    assert forms[0] == forms[1] and forms[0] not in forms[2:]


def test_fraction_bits_stay():
    """A run that has fixed point says with how many bits, though no result has."""
    for end, kept in (("    return x\n", True), ("    return x, z\n", True)):
        program = normal(read(of_vertex("y[v] = 1"), end=end))
        assert ("z" in {vector.name for vector in program.vectors}) == kept
        assert "y" not in {vector.name for vector in program.vectors}
        assert not program.functions


@pytest.mark.parametrize("value, kept", [
    ("x[src]", False), ("min(x[src], y[dst])", False), ("max(x[src], 7)", False),
    ("x[src] + weight", True), ("x[src] * 2", True), ("min(x[src] + weight, y[dst])", True)])
def test_vectors_that_nobody_needs(value, kept):
    """A candidate that may be lost is an error of the run, so its vector stays."""
    program = normal(read(of_edge(f"x[dst].min({value})"), end="    return z\n"))
    assert ("x" in {vector.name for vector in program.vectors}) is kept


@pytest.mark.parametrize("start, after, kept", [
    ("0", "k + 1", False), ("0", "k + 31", False), ("0", "k + 32", True), ("0", "n + 1", True),
    ("n", "k + 1", True), ("len(s)", "k + 1", True), ("0", "k - 1", True),
    ("1073741823", "k + 1", False), ("1073741824", "k + 1", True), ("infinity", "k + 1", True)])
def test_numbers_that_are_words(start, after, kept):
    """A store that nobody needs goes if its number surely is a word, however long the run is."""
    program = normal(read(f"def f(v): y[v] = k\ns = vertexset(source)\nk = {start}\n"
                          f"while s:\n    k = {after}\n    s.apply(f)", end="    return x\n"))
    assert ("y" in {vector.name for vector in program.vectors}) is kept


@pytest.mark.parametrize("schedule, kept", [
    ("etwc,pull", False), ("unfused_bitmap", True), ("dedup", True),
    ("etwc | twc when input_vertexset_size>=0.5", True)])
def test_results_that_nobody_reads(schedule, kept):
    """A schedule keeps a result only if it says how to make it."""
    text = ("def f(src, dst): y[dst] += 1\nt = vertexset(source)\ns1: Label\n"
            "s = edges.from_(t).apply_modified(f, y)")
    node = labelled(normal(applied(read(text), read_schedules([f"s1={schedule}"]))))["s1"]
    assert (node.output_vset is not None) is kept


def test_a_queue_that_is_only_emptied():
    """A set cannot be emptied, so it stays a queue."""
    program = normal(read("def g(v): y[v] = 1\ns = PriorityQueue(x, source)\nt = s.dequeue()\n"
                          "t.apply(g)"))
    assert [type(node) for node in program.body[:2]] == [ir.NewQueue, ir.Dequeue]


def test_operands_of_two_types_stay():
    """The reader puts fixed point first."""
    program = normal(read(of_vertex("z[v] = (z[v] + z[v]) * y[v]")))
    products = [node for node in ir.walk(*program.functions) if isinstance(node, ir.Binary)
                and node.operation == "*"]
    assert [node.left.type for node in products] == [Type.FIXED]


def outcome(program, graph):
    machine = ReferenceMachine(program, graph)
    try:
        found = perform(program, graph, machine, {})
    except UserError as error:
        return str(error)
    return found.fraction_bits, {name: words.tolist() for name, words in found.outputs.items()}


@given(program_texts(), graphs(weighted=True))
@settings(max_examples=40)
def test_random_programs(text, graph):
    """Words, fraction bits, and errors with their places."""
    program = read_text(text)
    assert outcome(as_written(program), graph) == outcome(as_written(normal(program)), graph)


@pytest.mark.parametrize("name", programs.names())
def test_once(name):
    program = normal(programs.find(name))
    assert normal(program) == program and normal(analysed(program)) == analysed(program)


@pytest.mark.parametrize("name", programs.names())
def test_programs(name):
    """Their texts are in the one form, but for the order of functions and where k-core counts."""
    program, found = programs.find(name), normal(programs.find(name))
    if name != "kcore":
        assert shape(found) == shape(program)
    assert found.vectors == program.vectors and found.outputs == program.outputs
    assert {each.name: each for each in found.functions} == {
        each.name: each for each in program.functions}


@pytest.mark.parametrize("name", programs.names())
def test_machine_words(name, monkeypatch):
    """Kernels are those of the text."""
    graph = load("rmat:scale=5,degree=4,seed=1,weights=9").undirected().simplify()
    words = []
    for steps in (passes.PASSES, {key: step for key, step in passes.PASSES.items()
                                  if key != "normal"}):
        monkeypatch.setattr(passes, "PASSES", steps)
        algorithms._named.cache_clear()
        words += [[list(Device.functional(preset("baseline")).plan(
            name, graph, schedule=schedule, direction=direction).program.words)
            for schedule, direction in (("vm", "push"), ("weaver", "pull"))]]
    algorithms._named.cache_clear()
    assert words[0] == words[1]


def test_labels():
    """Each label stays, with the schedule that it has."""
    for name in programs.names():
        program = programs.find(name)
        assert labelled(normal(program)).keys() == labelled(program).keys()
    program = applied(programs.find("bfs"), read_schedules(["s0:s1=etwc,pull"]))
    assert labelled(analysed(program))["s0:s1"].metadata["load_balance"].value == "etwc"
    program = normal(read("def f(v): y[v] = 1\ndef g(v): x[v] = 1\ns0: Label\nvertices.apply(f)\n"
                          "s1: Label\nvertices.apply(g)"))
    assert labelled(program).keys() == {"s0", "s1"}
    program = normal(read("def f(v): y[v] = 1\ndef g(v): x[v] = 1\nvertices.apply(f)\n"
                          "s1: Label\nvertices.apply(g)\ns0: Label\nfor i in range(n): pass"))
    assert labelled(program).keys() == {"s0", "s1"} and len(program.body) == 2


def test_a_blocked_operator_keeps_its_condition():
    """EdgeBlocking takes no filter."""
    text = "def f(src, dst):\n    if x[dst] > 3: y[dst] += 1\ns1: Label\nedges.apply(f)"
    assert labelled(normal(read(text)))["s1"].to_filter is not None
    program = applied(read(text), read_schedules(["s1=edge_only:blocked,push"]))
    assert labelled(normal(program))["s1"].to_filter is None
    assert analysed(program)


@pytest.mark.parametrize("lines", [
    "t = s.sum(m)\n    k = t if k > 2 else 0",
    "if s.sum(m) > 3 and k < 4:\n        k += 1",
    "if k < 4:\n        if s.sum(m) > 3:\n            k += 1"])
def test_sums_stay_in_each_round(lines):
    """A loop can be one kernel if it adds up in each round; ``normal`` takes no such loop away."""
    body = ("def m(v): return y[v]\ndef f(src, dst, w): x[dst].min(x[src] + w)\n"
            "s = vertexset(source)\nk = 0\nwhile s:\n"
            f"    {lines}\n    s = edges.from_(s).apply_modified(f, x)\nx[source] = k")
    loop = next(node for node in analysed(read(body)).body if isinstance(node, ir.WhileLoop))
    assert loop.metadata["can_fuse"]


def test_merged_names():
    """Variables of functions that become one keep apart."""
    program = read("def f(v):\n    t = x[v] & y[v]\n    q[v] = vertex(t)\n    y[v] = t\n"
                   "def g(v):\n    t = x[v] & 7\n    t_ = x[v] & 3\n    x[v] = t ^ t_ ^ t & t_\n"
                   "vertices.apply(f)\nvertices.apply(g)")
    found = normal(program)
    assert len(found.functions) == 1
    graph = Graph(5, [0, 1], [1, 2], [1, 1])
    assert outcome(as_written(program), graph) == outcome(as_written(found), graph)


def test_a_number_that_the_function_of_a_sum_reads():
    """It is not computed where the sum is: the function would not find it."""
    program = read("def f(v): return y[v] + k\nk = len(vertices)\nm = k + vertices.sum(f)\n"
                   "y[source] = m")
    graph = Graph(5, [0, 1], [1, 2], [1, 1])
    assert outcome(as_written(program), graph) == outcome(as_written(normal(program)), graph)


def test_a_limit_that_is_infinity():
    """It is compared, and not computed with."""
    for start, changes in (("0", True), ("1", False)):
        body = f"i = {start}\nwhile i < u:\n    x[source] = 1\n    i += 1"
        assert isinstance(normal(read(body)).body[-1], ir.ForLoop) == changes
    assert isinstance(normal(read("i = 0\nwhile i > u:\n    i -= 1")).body[-1], ir.WhileLoop)


def test_places():
    """Each operator has a place of its own, and it is one of the text."""
    for name in programs.names():
        program = programs.find(name)
        known = {node.position for node in ir.walk(program)}
        found = [node.position for node in ir.instructions(normal(program).body)
                 if isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator | ir.VertexFilter)]
        assert len(found) == len(set(found)) and set(found) <= known


def test_error():
    """An error has the place of the text, and the interpreter and the form agree on it."""
    graph = Graph(3, [0, 1], [1, 2], [1, 1])
    text = of_vertex("t = x[v] & 3", "if 2 == t - 0: y[v] = 1", "y[v] = 7 // (x[v] - t)")
    program = read(text)
    assert outcome(as_written(program), graph) == outcome(as_written(normal(program)), graph)
    assert "p.py:11:22: at vertex 0, a difference of infinity" in outcome(normal(program), graph)


def test_rule_5_does_not_hang_on_the_spelling():
    """Paths of 2**32 and more lose to a shorter one. A loop that also counts its rounds is a
    loop of rule 5 all the same, so no machine refuses such a run."""
    body = ("def f(src, dst, w): x[dst].min(x[src] + w)\nx[source] = 0\ns = vertexset(source)\n"
            "rounds = 0\nwhile s:\n    s = edges.from_(s).apply_modified(f, x)\n    rounds += 1")
    most = (1 << 32) - 2
    graph = Graph(4, [0, 1, 0, 3, 2], [1, 3, 2, 2, 3], [most, 9, 5, 1, 1])
    found = reference.run(read(body), graph, source=0).outputs["x"]
    assert np.array_equal(found, [0, most, 5, 6])
