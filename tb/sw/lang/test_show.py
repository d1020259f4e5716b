"""GraphIR as text.

======================  ===========================================================================
figure 4-1              test_bfs: a whole program, with a schedule
facts                   test_facts: in place of the metadata, each on a line that is not too long
parts                   test_parts: instructions and expressions, one by one
hybrid schedules        test_hybrid
numbers                 test_numbers
programs                test_programs_of_the_package: every program, after every pass
======================  ===========================================================================
"""

import dataclasses
import re

import pytest

from sw.lang import graph_ir as ir
from sw.lang import programs
from sw.lang.facts import Fact
from sw.lang.passes import FACTS, PASSES, analysed
from sw.lang.passes.rewrite import changed
from sw.lang.reader import read_text
from sw.lang.schedule import applied, read_schedules
from sw.lang.show import shown


BFS = """\
Program bfs(source: vertex = 0, {
    Vector depth: uint = infinity
    Vector parent: vertex = none
    Function unvisited(v, {
        Give(depth[v] == infinity)
    })
    Function visit(src, dst, {
        Reduce(min, parent[dst], src)
    })
    Function settle(v, {
        VectorStore(depth[v], level)
    })
    Function main({
        ElementStore(depth[source], 0)
        ElementStore(parent[source], source)
        NewVertexSet(frontier, source)
        Assign(level, 0)
        #s0# WhileLoop<can_fuse=true, needs_fusion=true>(VertexSetSize(frontier), {
            Assign(level, level + 1)
            #s1# EdgeSetIterator<
                    apply_deduplication=false,
                    can_reuse_frontier=true,
                    direction=PUSH,
                    is_all_edges=false,
                    is_edge_parallel=true,
                    load_balance=ETWC,
                    output_representation=SPARSE,
                    owner_copies=(),
                    requires_output=true,
                    start_copies=()>(edges, frontier, frontier, visit, unvisited, tracking=parent)
            VertexSetIterator<
                    is_all_vertices=false,
                    is_parallel=true,
                    start_copies=()>(frontier, settle)
        })
    })
}) -> depth, parent
"""


def test_bfs():
    """The program of figure 4-1 with the schedule of figure 3-2."""
    program = applied(programs.find("bfs"), read_schedules([
        "s0=fusion", "s0:s1=no_dedup,etwc,push,fused"]))

    def without_facts(node):
        plain = {key: value for key, value in getattr(node, "metadata", {}).items()
                 if not isinstance(value, Fact)}
        return dataclasses.replace(node, metadata=plain) if plain else node

    bare = changed(analysed(program), without_facts)
    functions = [function.with_parts(lambda node: dataclasses.replace(node, metadata={})
                                     if isinstance(node, ir.Reduce) else node)
                 for function in bare.functions]
    vectors = [dataclasses.replace(vector, metadata={}) for vector in bare.vectors]
    assert shown(dataclasses.replace(bare, functions=tuple(functions),
                                     vectors=tuple(vectors))) == BFS


def test_facts():
    text = shown(analysed(programs.find("bfs"), after=tuple(FACTS)[-1]))
    lines = [line.strip() for line in text.splitlines()]
    assert "members=[(depth[v] == (level - 1)); " in " ".join(lines)
    assert max(map(len, text.splitlines())) <= 100
    for fact in ("stamps", "settles", "suffices", "changes", "sent", "void"):
        assert any(line.startswith(f"{fact}=[") for line in lines), fact


def lines_of(body, head="edges: edgeset, source: vertex = 0, d: decimal = 0.1"):
    text = (f"@program\ndef p({head}):\n    x = vector(uint, 0)\n    z = vector(fixed, 0.5)\n"
            "    p = vector(vertex, lambda v: v)\n"
            + "".join(f"    {line}\n" for line in body.splitlines()) + "    return x, z\n")
    return shown(read_text(text))


@pytest.mark.parametrize("body, lines", [
    ("", ["Vector x: uint = 0", "Vector z: fixed = 0.5", "Vector p[v]: vertex = v",
          "Function main({})"]),
    ("x[source] = 3", ["        ElementStore(x[source], 3)"]),
    ("n = edges.num_vertices - 1 + len(vertices)",
     ["Assign(n, (num_vertices - 1) + VertexSetSize(vertices))"]),
    ("for i in range(3):\n    x[i] = i", ["ForLoop(i, 3, {", "    ElementStore(x[i], i)", "})"]),
    ("if 1 < 2:\n    x[0] = 1\nelse:\n    x[0] = 2",
     ["HostBranch(1 < 2, {", "    ElementStore(x[0], 1)", "}, {", "    ElementStore(x[0], 2)",
      "})"]),
    ("if 1 < 2:\n    x[0] = 1", ["HostBranch(1 < 2, {", "}, {})"]),
    ("if 1 < 2:\n    pass\nelse:\n    x[0] = 1", ["HostBranch(1 < 2, {}, {", "})"]),
    ("if 1 < 2:\n    pass", ["HostBranch(1 < 2, {}, {})"]),
    ("s = vertexset()", ["NewVertexSet(s)"]),
    ("q = PriorityQueue(x, source, 3, delta=2)\nn = q.dequeue()",
     ["NewQueue(q, x, source, 3, delta=2)", "Dequeue(q, n)"]),
    ("q = PriorityQueue(x)", ["NewQueue(q, x)"]),
    ("def f(v): return x[v] > 3\ns = vertices.where(f)\nn = vertices.sum(f)",
     ["VertexFilter(vertices, s, f)", "Assign(n, VertexSum(vertices, f))"]),
    ("def f(a, b, w):\n    x[b] += w\nedges.transpose().apply(f)",
     ["Function f(a, b, w, {", "Reduce(+, x[b], w)",
      "EdgeSetIterator(edges.transpose(), vertices, f)"]),
    ("def f(v):\n    t = ~x[p[v]] ^ uint(v)\n    if not x[v] == 1 or t < 3:\n"
     "        z[v] = z[v] * (1 / edges.out_degree(v)) + max(z[v], d)",
     ["Let(t, (~x[p[v]]) ^ uint(v))", "Branch((not (x[v] == 1)) or (t < 3), {",
      "VectorStore(z[v], (z[v] * (1 / out_degree(v))) + max(z[v], d))"]),
    ("def f(v):\n    x[v] = 1 if x[v] < edges.in_degree(v) else 2",
     ["VectorStore(x[v], 1 if (x[v] < in_degree(v)) else 2)"]),
    ("def f(v):\n    pass", ["Function f(v, {})"])])
def test_parts(body, lines):
    found = [line.strip() for line in lines_of(body).splitlines()]
    place = 0
    for line in lines:
        assert line.strip() in found[place:], found
        place = found.index(line.strip(), place)


def test_hybrid():
    program = applied(programs.find("bfs"), read_schedules([
        "s0:s1=push | pull:bitmap when input_vertexset_size>=0.15"]))
    text = shown(analysed(program, "direction"))
    assert """\
                    hybrid=(INPUT_VERTEXSET_SIZE, 0.15,
                        <direction=PUSH>,
                        <direction=PULL, pull_input_frontier=BITMAP>),
""" in text


def test_numbers():
    text = lines_of("def f(v): z[v] = 0.1\nb = True\nn = infinity\ns = vertexset(none)",
                    "edges: edgeset, n: int, b: bool = False, c: decimal = 0.1, "
                    "u: uint = infinity")
    assert "Program p(n: int, b: bool = false, c: decimal = 0.1, u: uint = infinity, {" in text
    for line in ("VectorStore(z[v], 0.1)", "Assign(b, true)", "Assign(n, infinity)",
                 "NewVertexSet(s, none)"):
        assert line in text


@pytest.mark.parametrize("name", programs.names())
def test_programs_of_the_package(name):
    program = programs.find(name)
    for step in PASSES:
        text = shown(analysed(program, step))
        assert text.count("(") == text.count(")") and text.count("{") == text.count("}")
        assert re.match(rf"Program {name}(<needs=\([a-z, ]+\)>)?\(", text)
        for function in program.functions:
            assert f"    Function {function.name}({', '.join(function.parameters)}, {{" in text
