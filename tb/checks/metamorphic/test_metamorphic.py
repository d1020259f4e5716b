"""Equivalent texts: one normal form, and equal words.

====================  =========================================================================
the rules             test_rules: each finds a place; test_more, test_other, test_refused: what
                      must differ
one form              test_one_form: `normal` undoes 1 to 5 rules
words                 test_words: results, and the errors of runs that fail
the shape             test_shape: what is part of it
the programs          test_bases: their number
====================  =========================================================================
"""

import functools
import re

import numpy as np
import pytest

from base.errors import UserError
from checks.metamorphic.rules import RULES
from checks.metamorphic.shape import shape
from checks.metamorphic.variants import bases, variant, without_labels
from sw.graph import Graph
from sw.lang.passes import as_written
from sw.lang.passes.normal import normal
from sw.lang.reader import read_text
from sw.vm.host import perform
from sw.vm.reference import ReferenceMachine


SAME, MORE, OTHER = ([name for name, rule in RULES.items() if rule.kind == kind]
                     for kind in ("same", "more", "other"))
NAMES = list(bases())

#: Rules that find a place in few programs, and programs where they do.
RARE = {
    "alias": "bc", "copy_function": "kcore", "count_down": "label_propagation",
    "filter_for_guard": "closeness", "guard_for_filter": "mis", "length_of_set": "bc",
    "move": "bc", "nest_condition": "label_propagation", "number_for_flag": "cc",
    "queue_for_set": "lengths", "reorder_parts": "label_propagation", "reorder_results": "bfs",
    "reorder_start": "bfs", "rotate_counter": "bfs", "split_apply": "searches",
    "split_filter": "kcore", "while_for_for": "triangles"}


#: Rules whose variants have the shape of the base before `normal`, too.
ALIKE = ("rename", "reorder_declarations", "reorder_results", "transpose_twice")


@functools.cache
def text_of(name):
    return without_labels(bases()[name].read_text())


@functools.cache
def form_of(name):
    return shape(normal(read_text(text_of(name))))


def graphs(program):
    """Two graphs, which are as the program needs them; the second with weights of up to 32 bits."""
    for seed, (vertices, arcs, most) in enumerate([(9, 20, 10), (24, 50, (1 << 32) - 1)]):
        rng = np.random.default_rng(seed)
        src, dst = rng.integers(vertices, size=(2, arcs))
        graph = Graph(vertices, src, dst, rng.integers(1, most, size=arcs))
        yield graph.undirected().simplify() if program.needs else graph


def outcome(program, graph):
    """The words of the results, or the error without its place."""
    try:
        found = perform(program, graph, ReferenceMachine(program, graph), {})
    except UserError as error:
        return re.sub(r"^\S+: ", "", str(error))
    return found.fraction_bits, {name: words.tolist() for name, words in found.outputs.items()}


def outcomes(program):
    written = as_written(program)
    return [outcome(written, graph) for graph in graphs(program)]


def test_bases():
    """The programs of the package, and twenty of the tests' own."""
    assert len(NAMES) == 28


@pytest.mark.parametrize("rule", SAME)
def test_rules(rule):
    """A rule changes a text, and ``normal`` makes the same of it."""
    name = RARE.get(rule, "pagerank")
    found = variant(text_of(name), 1, 1, [rule])
    assert found.rules == (rule,) and found.text != text_of(name)
    alike = shape(read_text(found.text)) == shape(read_text(text_of(name)))
    assert alike == (rule in ALIKE)
    assert shape(normal(read_text(found.text))) == form_of(name)


@pytest.mark.sample(60)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", NAMES)
def test_one_form(name, seed):
    found = variant(text_of(name), seed, 1 + seed % 5, SAME)
    assert found.rules
    assert shape(normal(read_text(found.text))) == form_of(name), found.text


@pytest.mark.sample(40)
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("name", NAMES)
def test_words(name, seed):
    """By the interpreter, also of the normal form."""
    base, other = read_text(text_of(name)), read_text(
        variant(text_of(name), seed, 5, SAME).text)
    wanted = outcomes(base)
    assert outcomes(other) == wanted
    for program in (base, other):
        assert outcomes(normal(program)) == wanted
    assert wanted[0] != wanted[1]


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", NAMES)
def test_more(name):
    """More results, and those of the base are the same."""
    found = variant(text_of(name), 3, 1, MORE)
    program = read_text(found.text)
    assert shape(normal(program)) != form_of(name)
    for one, more in zip(outcomes(read_text(text_of(name))), outcomes(program)):
        if isinstance(one, str):
            assert more == one
        else:
            assert one[1].items() < more[1].items()


@pytest.mark.parametrize("name, rule", [
    ("bfs", "without_filter"), ("bfs", "count_twice"), ("bc", "without_filter"),
    ("kcore", "count_twice"), ("layers", "count_twice"), ("depths", "count_twice"),
    ("predecessors", "sum_for_least")])
def test_other(name, rule):
    """A text of another meaning has another form, and other words on some graph, or an error."""
    found = variant(text_of(name), 1, 1, [rule])
    program = read_text(found.text)
    assert found.rules and shape(normal(program)) != form_of(name)
    assert outcomes(program) != outcomes(read_text(text_of(name)))


def test_refused():
    """A queue has no sums, and vertices have none: no variant is of the language."""
    assert set(OTHER) == {"without_filter", "count_twice", "sum_for_least"}
    for name in ("bfs", "sssp"):
        assert not variant(text_of(name), 1, 1, ["sum_for_least"]).rules


@pytest.mark.parametrize("old, new", [
    ("depth[v] == infinity", "depth[v] == 3"), ("min(src)", "max(src)"), ("none)", "0)"),
    ("level += 1", "level += 2"), ("level = 0", "level = 1"), ("apply(settle)", "apply(other)"),
    ("(depth, parent)", "depth"), ("source: vertex=0", "source: vertex=1"),
    ("vertexset(source)", "vertexset(source, source)"), (".to(unvisited)", ""),
    ("edges.from_", "edges.transpose().from_")])
def test_shape(old, new):
    text = text_of("bfs").replace("    depth[source]", "    def other(v):\n        depth[v] = 7\n"
                                  "    depth[source]", 1)
    changed = text.replace(old, new)
    assert changed != text and shape(read_text(changed)) != shape(read_text(text))
