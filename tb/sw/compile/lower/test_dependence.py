"""Programs for each rule about which operators share a kernel, and which words need memory.

==================  ===============================================================================
rules               test_words: each text has wrong words, or none, if one condition of a rule is
                    left out (checks/campaign/mutants/curated/lowering.toml)
==================  ===============================================================================

``Device.run`` compares every result with the interpreter's.
"""

import functools
import textwrap

import pytest

from hw.config import preset
from sw.compile.schedules import equip
from sw.device import Device
from sw.graph import load


#: Vectors and functions of all texts.
_COMMON = """
one = vector(uint, lambda v: uint(v) % 5 + 1)
first = vector(uint, 0)
back = vector(uint, 0)
near = vector(vertex, lambda v: vertex(uint(v) // 2))
other = vector(uint, 0)
third = vector(uint, 0)

def odd(v):
    return uint(v) % 2 == 1

def clear(v):
    first[v] = 0
"""


def text(functions, body, returns="one, other", before="", rounds=3):
    """A program that performs ``body`` in each of a few rounds."""
    lines = [*_COMMON.split("\n"), *functions.split("\n"), "", *before.split("\n"),
             f"for i in range({rounds}):", *textwrap.indent(body, "    ").split("\n"),
             f"return {returns}"]
    return "@program\ndef text(edges: edgeset):\n" + textwrap.indent("\n".join(lines), "    ")


def _function(name, parameters, body):
    return f"def {name}({parameters}):\n{textwrap.indent(body, '    ')}\n"


def sums(keep="one[v] = 1 + first[v] % 7", collect="first[dst] += one[src]", more="", behind="",
         between="", **given):
    """Words of sources are collected, and functions of vertices follow."""
    functions = _function("collect", "src, dst", collect) + _function("keep", "v", keep) + more
    return text(functions, f"vertices.apply(clear)\n{between}edges.apply(collect)\n"
                           f"vertices.apply(keep)\n{behind}", **given)


def marks(hit, note="other[v] = other[v] + 1", more="", behind="", **given):
    """Words that only mark the vertices of a set."""
    functions = _function("reset", "v", "third[v] = 0") + _function("hit", "src, dst", hit) \
        + _function("note", "v", note) + more
    return text(functions, "vertices.apply(reset)\ns = edges.from_(s).apply_modified(hit, third)\n"
                           f"s.apply(note)\n{behind}", before="s = vertexset(0, 5)", **given)


def members(push, operator, behind="", test="first[v] == 1"):
    """A set that words tell."""
    functions = _function("begin", "v", "first[v] = uint(v) % 3") + _function(
        "some", "v", f"return {test}") + _function("push", "src, dst", push) + _function(
        "leave", "v", "first[v] = 2")
    return text(functions, f"s = vertices.where(some)\n{operator}\n{behind}", "first, other",
                "vertices.apply(begin)", 2)


def ahead(turn, step, body, bound=""):
    """A loop whose first operator rides on the kernel that makes its set."""
    return f"""@program
def text(edges: edgeset):
    left = vector(uint, lambda v: uint(v) & 15)
    last = vector(uint, 0)

    def more(v):
        return left[v] > bound

    def step(v):
        left[v] = left[v] - 1
        last[v] = last[v] * 3 + {step}

    turn = 5
    bound = 6
    some = vertices.where(more)
    while some:
        {turn}
        some.apply(step)
        some = some.where(more)
{textwrap.indent(body, "    ")}
    return left, last
"""


_JUMP = _function("jump", "v", "one[v] = one[near[v]] + 1")
_MIX = _function("mix", "src, dst", "one[{}].min({})")
_NOTE = _function("more", "v", "other[v] = other[v] + 1")
_BACK = _function("mix", "src, dst", "back[src] += first[dst]")
_QUEUE = """queue = PriorityQueue(one, 0, 1, 2, 3, 5, 9, delta=3)
while queue:
    turn += 1
    now = queue.dequeue()
    now.apply(late)"""
_LATE = _function("late", "v", "other[v] = other[v] * 3 + turn")

#: {name: text} of programs that pull.
PULLED = {
    # Two arrays change their roles, and others use one of them.
    "an element is stored": sums(behind="one[5] = 2 * i + 1"),
    "a copy": sums(more=_JUMP, behind="vertices.apply(jump)"),
    "a copy for edges": sums(more=_MIX.format("dst", "one[src]"), behind="edges.apply(mix)"),
    "words tell": sums(more=_function("big", "v", "return one[v] > 4") + _function(
        "mix", "src, dst", "other[dst] += 1"),
        behind="s = vertices.where(big)\nedges.from_(s).apply(mix)"),
    "tracked elsewhere": sums(more=_MIX.format("near[dst]", "i") + _NOTE,
                              behind="s = edges.apply_modified(mix, one)\ns.apply(more)"),
    "a queue": sums(more=_LATE, before="turn = 0").replace(
        "    return one", textwrap.indent(_QUEUE, "    ") + "\n    return one"),
    "loaded behind": sums(
        "if first[v] % 3 == 1:\n    one[v] = 9\nother[v] = other[v] + one[v]"),
    # Words behind the edges of a vertex are not final, or read at other vertices.
    "sums of others": sums("other[v] = other[v] + first[near[v]]"),
    "sums at sources": sums("one[v] = 1 + (first[v] + back[v]) % 7",
                            "first[dst] += one[src]\nback[src] += 1"),
    "stores over sums": sums("back[v] = first[v]", "first[dst] += one[src]\nback[src] += 1",
                             returns="one, back"),
    "sums that go elsewhere": sums("one[near[v]] += first[v] % 3 + 1"),
    "vertices of the input": text(
        _function("collect", "src, dst", "first[dst] += one[src]")
        + _function("keep", "v", "other[v] = other[v] + first[v] + 1"),
        "vertices.apply(clear)\nedges.from_(s).apply(collect)\ns.apply(keep)",
        before="s = vertices.where(odd)"),
    # Words that are in registers only.
    "collected, and read": sums(collect="first[dst] += first[src] + one[src]", more=_BACK,
                                behind="edges.apply(mix)", returns="one, first, back"),
    "words of a set": sums(more=_function("put", "v", "first[v] = 2"), between="s.apply(put)\n",
                           before="s = vertices.where(odd)"),
    "cleared by some": text(
        _function("collect", "src, dst", "first[dst] += one[src]")
        + _function("keep", "v", "other[v] = other[v] + first[v]"),
        "s.apply(clear)\nedges.apply(collect)\nvertices.apply(keep)",
        before="s = vertices.where(odd)"),
    "words of some rounds": text(
        _function("collect", "src, dst", "first[dst] += one[src]")
        + _function("keep", "v", "other[v] = other[v] + first[v]"),
        "edges.apply(collect)\nvertices.apply(keep)\nif i % 2 == 1:\n    vertices.apply(clear)"),
    "not to be stored": sums(
        "one[v] = 1 + first[v] % 7\nthird[v] = third[v] + first[v]",
        more=_function("start", "v", "back[v] = one[v] + 3") + _function(
            "end", "v", "other[v] = third[near[v]] + one[near[v]] + back[v]"),
        before="vertices.apply(start)").replace("    return one, other",
                                                "    vertices.apply(end)\n    return other"),
    "a queue reads": text(
        _function("count", "src, dst", "third[dst] += back[src]") + _function(
            "start", "v", "one[v] = uint(v) * (i + 3) % 31\nback[v] = back[v] + i") + _LATE,
        "edges.apply(count)\nvertices.apply(start)\n" + _QUEUE, "other", "turn = 0"),
    "stored by some": text(
        _function("fill", "v", "third[v] = uint(v) + i") + _function("put", "v", "third[v] = i")
        + _function("end", "v", "other[v] = other[v] + third[near[v]]"),
        "vertices.apply(fill)\ns.apply(put)\nvertices.apply(end)", "other",
        "s = vertices.where(odd)"),
    # Marks that nobody reads.
    "marks": marks("third[dst].max(1)"),
    "marks that are read": marks("third[dst].max(1)", "other[v] = other[v] + third[v] + 1"),
    "marks of some edges": marks(
        "if one[src] < one[dst]:\n    third[dst].max(1)\nback[dst] += 1", returns="other, back"),
    "marks of sources": marks("third[src].max(1)\nback[dst] += 1", returns="other, back"),
    "marks of another": marks(
        "third[dst].max(1)", more=_function("again", "src, dst", "third[dst].max(1)"),
        behind="t = edges.from_(s).apply_modified(again, third)\nt.apply(note)"),
    # Numbers of the host.
    "a number for two": text(
        _function("f", "v", "one[v] = one[v] * 2 + n") + _function(
            "g", "v", "other[v] = other[v] * 3 + n"),
        "vertices.apply(f)\nn = n + 5\nvertices.apply(g)", before="n = 1"),
    "another loop": ahead("turn += 1", "turn", "bound = 2\nsome = vertices.where(more)\n"
                          "while some:\n    turn += 4\n    some.apply(step)\n"
                          "    some = some.where(more)"),
    "numbers in between": ahead("bound += 1", "bound", ""),
}

#: {name: text} of programs whose sets have no memory.
COUNTED = {
    "members change": members("first[dst].max(2)\nother[dst] += 1", "edges.from_(s).apply(push)"),
    "members leave": members("other[dst] += 1", "s = edges.from_(s).apply_modified(push, other)",
                             "s.apply(leave)"),
}

#: {name: text} of programs that push.
PUSHED = {"marks without a word": marks("third[dst].max(1)")}

#: {name: text} of programs that pull in one launch of several cores.
FUSED = {
    "stores of others": sums(
        "other[v] = other[v] + first[v]", more=_function("look", "v", "third[v] = other[near[v]]"),
        behind="vertices.apply(look)", returns="other, third"),
}


@functools.cache
def graph():
    return load("rmat:scale=5,degree=4,seed=3,weights=9")


#: (texts, schedule, cores, choices).
PLANS = [(PULLED, "vm", 1, {"direction": "pull"}), (PUSHED, "vm", 1, {"direction": "push"}),
         (COUNTED, "em", 2, {"direction": "push", "frontier": "counter"}),
         (FUSED, "vm", 2, {"direction": "pull", "fusion": True})]


@pytest.mark.parametrize("text, schedule, cores, choices", [
    pytest.param(text, *plan, id=name) for texts, *plan in PLANS for name, text in texts.items()])
def test_words(text, schedule, cores, choices, tmp_path):
    path = tmp_path / "text.py"
    path.write_text(text)
    config = equip(preset("tiny").replace(imem_bytes=1 << 16, cores=cores), [schedule])
    with Device.functional(config) as device:
        assert device.run(str(path), graph(), schedule=schedule, max_cycles=400_000,
                          **choices).verified
