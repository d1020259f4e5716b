"""The front end of the algorithm language.

======================  ===========================================================================
places of errors        test_refused: every message for a user, with line and column;
                        test_remedies: what some of them name;
                        test_columns_count_characters; test_source_of_a_test
texts and files         test_no_python, test_files, test_several_programs, test_deep_nesting
programs                test_bfs: the whole GraphIR; test_same: two texts of one; test_forms:
                        accepted forms, one by one; test_programs_of_the_package
parameters              test_parameters
never executed          test_nothing_is_executed; test_no_module_executes_texts: the sources
                        neither evaluate nor import programs
======================  ===========================================================================
"""

import ast
import pathlib
import sys
from fractions import Fraction

import pytest

from base.errors import UserError
from base.installation import ROOT
from sw.graph import Graph
from sw.lang import graph_ir as ir
from sw.lang import programs, reader
from sw.lang.names import Label, edgeset, none, program, vector, vertex, vertexset
from sw.lang.types import LanguageError, Position, Type
from sw.vm import reference


HEAD = """\
@program
def p(edges: edgeset, source: vertex = 0, k: int = 1, d: decimal = 0.5):
    x = vector(uint, 0)
    y = vector(vertex, none)
    z = vector(fixed, 0)
    b = vector(bool, False)
"""


def text_of(body, last="return x"):
    """A program with these lines between its vectors and its return."""
    return HEAD + "".join(f"    {line}\n" for line in [*body.splitlines(), last])


def read(body):
    return reader.read_text(text_of(body), "p.py")


def function(*lines, of="src, dst"):
    """A function of one name, which an operator uses."""
    call = "edges.apply(f)" if "," in of else "vertices.apply(f)"
    return "\n".join([f"def f({of}):", *(f"    {line}" for line in lines), call])


def vertex_function(*lines):
    return function(*lines, of="v")


#: Lines behind HEAD, the place (line from the first of them, column), words of the message.
REFUSED = [
    # races
    (function("x[dst] = 1"), "2:9", ["several calls may store to x[dst]", "x[dst].min(…)"]),
    (function("x[src] = 1"), "2:9", ["x[src]", "order would decide"]),
    (vertex_function("x[y[v]] = 1"), "2:9", ["x[y[v]]"]),
    (function("x[dst].min(1)", "x[src].max(1)"), "3:9", ["'x'", "by min and by max"]),
    (vertex_function("x[v] = 1", "x[y[v]].min(1)"), "3:9", ["by = and by min"]),
    # names of the host
    ("t = 0\n" + function("t += 1"), "3:9", ["'t' is a name of the host", "SET.sum(function)"]),
    ("t = 0\n" + function("t = 1", of="v"), "3:9", ["'t' is a name of the host"]),
    (function("t = 1") + "\nt = 0", "2:9", ["'t' is a name of the host"]),
    (function("k += 1"), "2:9", ["'k' is a name of the host"]),
    (function("source = dst"), "2:9", ["'source' is a name of the host"]),
    ("s = vertexset(source)\n" + function("s = src"), "3:9", ["'s' is a name of the host"]),
    ("for i in range(3):\n    x[0] = i\n" + function("i = 1"), "4:9", ["'i' is a name of the"]),
    ("if k > 1:\n    while k > 2:\n        n = 1\n" + function("if src == dst:\n        n = 1"),
     "6:13", ["'n' is a name of the host"]),
    (function("edges = 1"), "2:9", ["'edges' is a name of the host"]),
    (function("f = 1"), "2:9", ["'f' is a name of the host"]),
    (function("x = 1"), "2:9", ["'x' is a vector"]),
    # words that are names
    (vertex_function("x[v] = 4294967295"), "2:16", ["to 4294967294, or infinity"]),
    (vertex_function("y[v] = vertex(4294967295)"), "2:23", ["to 4294967294, or none"]),
    (vertex_function("z[v] = infinity"), "2:16", ["infinity is a uint"]),
    # types
    (vertex_function("x[v] = 0.5"), "2:16", ["0.5", "whole number from 0 to 4294967294"]),
    (vertex_function("x[v] = z[v]"), "2:16", ["fixed", "must be uint"]),
    (vertex_function("x[v] = v"), "2:16", ["vertex", "must be uint", "uint(…)"]),
    (vertex_function("y[v] = x[v]"), "2:16", ["must be vertex", "vertex(…)"]),
    (vertex_function("x[v] = x[v] == 1"), "2:16", ["bool", "must be uint"]),
    (vertex_function("b[v] = x[v]"), "2:16", ["uint", "must be bool", "compare it"]),
    (vertex_function("z[v] = 4294967296"), "2:16", ["4294967296", "fixed"]),
    (vertex_function("x[v] = z[v] * z[v]"), "2:16", ["no product of fixed and fixed"]),
    (vertex_function("x[v] = x[v] / 2"), "2:16",
     ["is of type fraction, must be uint", "by // a uint"]),
    (vertex_function("x[v] = z[v] // 2"), "2:16", ["// takes values of type uint, not fixed"]),
    (vertex_function("x[v] = v + v"), "2:16", ["+ takes values of type uint and fixed",
                                               "not vertex"]),
    (vertex_function("x[v] = uint(z[v])"), "2:16", ["uint(…)", "not a fixed"]),
    (vertex_function("y[v] = vertex(b[v])"), "2:16", ["vertex(…)", "not a bool"]),
    (vertex_function("b[v] = b[v] < b[v]"), "2:16", ["bools have no <"]),
    (vertex_function("t = d"), "2:9", ["'t'", "fixed or a fraction"]),
    (vertex_function("x[v] = x[3]"), "2:18", ["an index must be a vertex", "int"]),
    (function("b[dst] += 1"), "2:9", ["'b' is of type bool", "uint or fixed"]),
    (function("z[dst] |= 1"), "2:9", ["fixed", "uint or bool"]),
    # names
    (vertex_function("x[v] = w[v]"), "2:16", ["no vector 'w'", "b, x, y, z"]),
    (vertex_function("w[v] = 1"), "2:9", ["no vector 'w'"]),
    (vertex_function("x[v] = u"), "2:16", ["there is no 'u' here", "b, d, k"]),
    (vertex_function("x[v] = x"), "2:16", ["'x' is a vector", "x[…]"]),
    (vertex_function("if b[v]:", "    t = 1", "x[v] = t"), "4:16", ["no 't' here"]),
    (vertex_function("v = 1"), "2:9", ["'v' is a parameter"]),
    (vertex_function("x = 1"), "2:9", ["'x' is a vector"]),
    (vertex_function("none = 1"), "2:9", ["'none' has a meaning of its own"]),
    (function("pass", of="infinity"), "1:11", ["'infinity'", "cannot be a parameter"]),
    # statements of functions
    (vertex_function("f(v)"), "2:9", ["cannot call 'f'", "nor themselves"]),
    (vertex_function("x[v] = f(v)"), "2:16", ["f(v)", "no expression", "call no functions"]),
    (vertex_function("while b[v]: pass"), "2:9", ["no statement of a function"]),
    (function("x[dst] -= 1"), "2:9", ["several calls may store to x[dst]", "min(…), .max(…)"]),
    (vertex_function("import os"), "2:9", ["no statement of a function"]),
    (vertex_function("if b[v]:", "    return 1"), "3:13", ["return must be the last",
                                                                    "a if c else b"]),
    (vertex_function("return b[v]", "x[v] = 1"), "2:9", ["return must be the last"]),
    (vertex_function("return"), "2:9", ["return needs a value"]),
    (vertex_function("x[v] = vertices.sum(g)"), "2:16", ["only the host can sum"]),
    (vertex_function("x[v] = -1"), "2:16", ["'-1' is no expression", "no sign"]),
    (vertex_function("x[v] = 1e999"), "2:16", ["no expression"]),
    (vertex_function("x[v] = uint(v in vertices)"), "2:21", ["no expression", "SET.where(filter)"]),
    (vertex_function("x[v] = vertices"), "2:16", ["'vertices' is a vertexset"]),
    (vertex_function("z[v] = z[v] / len(vertices)"), "2:23", ["no expression", "n = len(s)"]),
    (vertex_function("z[v] = z[v] / d"), "2:23", ["divided by a uint only", "x * (1 / d)"]),
    (vertex_function("z[v] = z[v] / 2.5"), "2:23", ["divided by a uint only", "x * (1 / d)"]),
    (vertex_function("z[v] = z[v] / z[v]"), "2:23", ["divided by a uint only"]),
    (vertex_function("z[v] = fixed(x[v])"), "2:16", ["no fixed(…)", "one[v] * n"]),
    (vertex_function("z[v] = x[v]"), "2:16", ["must be fixed", "one[v] * n"]),
    (vertex_function("z[v] = z[v] * z[v]"), "2:16", ["no product", "a fraction"]),
    # parameters of functions
    (function("pass", of="a, b, c, d"), "1:5", ["'f'", "(src, dst, weight)"]),
    (function("pass", of="v, *w"), "1:5", ["'f'", "(v) of a vertex"]),
    *((function("pass", of=of), "1:5", ["'f'", "(v) of a vertex"])
      for of in ("v=1", "v, **w", "v, *, w", "v, /", "")),
    ("def f(v): pass\nedges.apply(f)", "2:17", ["(src, dst) or (src, dst, weight)",
                                                "'f' has (v)"]),
    ("def f(s, t): pass\nvertices.apply(f)", "2:20", ["(v) of a vertex", "'f' has (s, t)"]),
    # functions that operators take
    ("edges.apply(g)", "1:17", ["no function 'g'", "there are none"]),
    ("edges.apply(3)", "1:17", ["apply takes the name of a function"]),
    ("def f(v): return x[v]\nvertices.apply(f)", "2:20", ["returns nothing", "returns uint"]),
    ("def f(v): return x[v]\ns = vertices.where(f)", "2:24", ["returns a bool",
                                                              "returns uint"]),
    ("def f(v): pass\ns = vertices.where(f)", "2:24", ["returns nothing"]),
    ("def f(v): return y[v]\nt = vertices.sum(f)", "2:22", ["a number", "returns vertex"]),
    ("def f(v):\n    x[v] = 1\n    return b[v]\ns = vertices.where(f)", "4:24",
     ["changes no vector", "changes x"]),
    ("def f(s, t): x[t].min(1)\nc = edges.apply_modified(f, z)", "2:9",
     ["'f' does not change 'z'"]),
    ("def f(v): x[v] = n\nif k > 0:\n    n = 1\n    vertices.apply(f)\nvertices.apply(f)", "5:20",
     ["'f' reads 'n'", "no value of type int here"]),
    # operators
    ("def f(s, t): x[t].min(1)\nc = edges.apply(f)", "2:9", ["an operator of edges ends with"]),
    ("def f(s, t): x[t].min(1)\nedges.apply_modified(f, x)", "2:5", ["apply_modified"]),
    ("edges.among(vertices).apply(f)", "1:5", ["'among' is no step", "from_(set)"]),
    ("edges.from_(vertices).from_(vertices).apply(f)", "1:5", ["'from_' is given twice"]),
    ("edges.from_(x).apply(f)", "1:17", ["'x' is no set", "vertices"]),
    ("edges.from_(vertices=x).apply(f)", "1:5", ["from_ takes no keywords"]),
    ("edges.from_(vertices.where(f)).apply(f)", "1:17", ["needs a name"]),
    ("w.apply(f)", "1:5", ["'w' is no set of vertices", "vertices"]),
    ("vertices.map(f)", "1:5", ["vertices.apply(function)", "vertices.where(filter)"]),
    ("print(x)", "1:5", ["print(x)", "no operator"]),
    ("def f(s, t): x[t].min(1)\nedges.apply_update_priority(f, q)", "2:5", ["ends with"]),
    ("q = PriorityQueue(y)", "1:9", ["'y'", "uint"]),
    ("q = PriorityQueue(delta=3)", "1:9", ["PriorityQueue(vector, vertices…, delta=…)"]),
    ("q = PriorityQueue(x, delta=0.5)", "1:32", ["whole number", "decimal"]),
    ("w = vector(uint, 0)\nq = PriorityQueue(x)\nq = PriorityQueue(w)", "3:9",
     ["'q' is by 'x' elsewhere"]),
    ("def f(s, t): x[t].max(1)\nq = PriorityQueue(x)\nedges.apply_update_priority(f, q)", "3:5",
     ["must lower the priorities", "x[…].min(…)"]),
    # instructions
    ("while vertices + k:\n    pass", "1:11", ["'vertices' is a vertexset", "len(vertices)"]),
    ("while k:\n    pass", "1:11", ["a condition must be a bool", "not int"]),
    ("while k > 1:\n    pass\nelse:\n    pass", "1:5", ["no instruction"]),
    ("for i in x:\n    pass", "1:5", ["no instruction", "for … in range(…)"]),
    ("for i in range(d):\n    pass", "1:20", ["whole number", "not decimal"]),
    ("for i in range(1, k):\n    pass", "1:14", ["range takes one number", "from 0"]),
    ("for x in range(3):\n    pass", "1:5", ["'x' is a vector"]),
    ("s = vertexset()\nfor s in range(3):\n    pass", "2:5", ["vertexset", "cannot become int"]),
    ("def f(v): pass\nif k > 0:\n    def g(v): pass", "3:9", ["at the top of the program"]),
    ("if k > 0:\n    w = vector(uint, 0)", "2:13", ["a vector must be made at the top"]),
    ("w = vector(uint)", "1:9", ["vector(type, initial value)"]),
    ("w = vector(float, 0)", "1:16", ["'float'", "uint, bool, vertex, fraction, fixed"]),
    ("w = vector(uint, lambda: 0)", "1:22", ["lambda v"]),
    ("w = vector(uint, lambda v: v)", "1:32", ["must be uint"]),
    ("w = vector(uint, lambda v: x[v])", "1:32", ["no vector 'x'"]),
    ("x = 3", "1:5", ["'x' is a vector"]),
    ("edges = 3", "1:5", ["the graph", "cannot be assigned"]),
    ("x = vector(uint, 1)", "1:5", ["'x' is there already"]),
    ("infinity = 3", "1:5", ["'infinity' has a meaning of its own"]),
    ("n = 1\nn = 0.5", "2:5", ["'n' is a whole number"]),
    ("n = 0.5\nn = vertexset()", "2:5", ["decimal", "cannot become vertexset"]),
    ("n = source\nn = 3", "2:5", ["vertex", "cannot become int"]),
    ("n = m", "1:9", ["there is no 'm' here", "d, k, source"]),
    ("n = source + 1", "1:9", ["+ takes numbers, not a vertex"]),
    ("n = d % 2", "1:9", ["% takes whole numbers"]),
    ("n = x[source]", "1:9", ["no expression", "SET.sum(function)"]),
    ("n = source < 0.5", "1:18", ["0.5 must be a vertex, from 0 to 4294967294, or none here"]),
    ("w[source] = 1", "1:5", ["no vector 'w'", "x, y, z, b"]),
    ("x[source] = d", "1:17", ["decimal", "must be uint"]),
    ("x[0.5] = 1", "1:7", ["0.5 must be a vertex, from 0 to 4294967294, or none here"]),
    ("s = vertexset(d)", "1:19", ["must be vertex"]),
    ("n = edges.sum(f, f)", "1:9", ["SET.sum(function of a vertex)"]),
    ("del x", "1:5", ["'del x' is no instruction"]),
    # labels
    ("s0: Label\nn = 1", "1:5", ["label 's0' must stand before a loop or an operator"]),
    ("s0: Label\ns1: Label\nwhile k > 1:\n    pass", "1:5", ["label 's0' must stand before"]),
    ("while k > 1:\n    s0: Label\nwhile k > 1:\n    pass", "2:9", ["label 's0' must stand"]),
    ("s0: Label", "1:5", ["label 's0' must stand"]),
    ("s0: Label\nwhile k > 1:\n    pass\ns0: Label\nwhile k > 1:\n    pass", "4:5",
     ["label 's0' is there already"]),
    # results
    ("return", "1:5", ["return must be the last statement of a program"]),
]


@pytest.mark.parametrize("body, place, words", REFUSED, ids=range(len(REFUSED)))
def test_refused(body, place, words):
    with pytest.raises(LanguageError) as caught:
        read(body)
    line, column = map(int, place.split(":"))
    first = HEAD.count("\n")
    assert caught.value.position == Position("p.py", first + line, column), caught.value
    assert str(caught.value).startswith(f"p.py:{first + line}:{column}: ")
    for word in words:
        assert word in str(caught.value)


def test_remedies():
    """What the messages on quotients and fixed point name is of the language."""
    tried = reader.read_text("""
@program
def p(edges: edgeset, d: decimal = 4):
    one = vector(fixed, 1)
    x = vector(fixed, 0)
    def f(v):
        x[v] = one[v] * edges.out_degree(v)
    def g(v):
        x[v] = x[v] * (1 / d) + x[v] / n + 1 / edges.num_vertices
    n = len(vertices)
    vertices.apply(f)
    vertices.apply(g)
    return x
""")
    found = reference.run(tried, Graph(4, [0, 0, 1], [1, 2, 3])).decimal("x")
    assert found.tolist() == [2 / 4 + 2 / 4 + 1 / 4, 1 / 4 + 1 / 4 + 1 / 4, 1 / 4, 1 / 4]


@pytest.mark.parametrize("head, place, words", [
    ("()", "2:1", ["(edges: edgeset, …)"]),
    ("(edges)", "2:7", ["edges: edgeset"]),
    ("(edges: edgeset, *rest)", "2:1", ["(edges: edgeset, …)"]),
    ("(edges: edgeset, n)", "2:23", ["'n' is of 'no type'", "uint, vertex, int, decimal, bool"]),
    ("(edges: edgeset, n: float)", "2:23", ["'float'", "decimal"]),
    ("(edges: edgeset, vertices: int)", "2:23", ["'vertices' has a meaning"]),
    ("(edges: edgeset, n: uint = 0.5)", "2:33", ["0.5 must be a number of type uint"]),
    ("(edges: edgeset, n: int = True)", "2:32", ["True must be a number of type int"]),
    ("(edges: edgeset, n: decimal = 1e999)", "2:36", ["number of type decimal"]),
    ("(edges: edgeset, n: uint = 4294967296)", "2:33", ["number of type uint"]),
    ("(edges: edgeset, n: vertex = -1)", "2:35", ["-1 must be a number of type vertex"])])
def test_parameters_refused(head, place, words):
    text = f"@program\ndef p{head}:\n    x = vector(uint, 0)\n    return x\n"
    with pytest.raises(LanguageError) as caught:
        reader.read_text(text, "p.py")
    for word in words:
        assert word in str(caught.value)
    assert str(caught.value).startswith(f"p.py:{place}: ")


@pytest.mark.parametrize("last, words", [
    ("return x / edges.num_vertices", "only fixed point is divided by num_vertices in a result"),
    ("return source / edges.num_vertices", "a program returns vectors: x, y, z, b"),
    ("return x / 2", "a program returns vectors: x, y, z, b"),
    ("return source", "a program returns vectors: x, y, z, b"),
    ("return", "a program returns vectors"), ("return x, 3", "a program returns vectors"),
    ("pass", "'p' must end with return and the vectors")])
def test_results(last, words):
    with pytest.raises(LanguageError, match=words):
        reader.read_text(text_of("", last))


def test_a_program_without_vectors():
    with pytest.raises(LanguageError, match="it has none"):
        reader.read_text("@program\ndef p(edges: edgeset):\n    return x\n")


def test_parameters():
    found = reader.read_text("""\
@program
def p(graph: edgeset, a: uint, b: uint = infinity, c: decimal = 0.1, d: bool = True,
      e: int = 7, f: vertex = 2):
    x = vector(uint, 0)
    return x
""")
    assert [(each.name, each.type, each.default) for each in found.arguments] == [
        ("a", Type.UINT, None), ("b", Type.UINT, 2**32 - 1),
        ("c", Type.DECIMAL, Fraction(1, 10)), ("d", Type.BOOL, 1), ("e", Type.WHOLE, 7),
        ("f", Type.VERTEX, 2)]


# Texts and files

@pytest.mark.parametrize("text, place", [
    ("def p(:\n", "1:7"), ("x = '\n", "1:5"), ("\0", "1:1")])
def test_no_python(text, place):
    with pytest.raises(LanguageError, match=f"^t:{place}: this is not Python: "):
        reader.read_text(text, "t")


def test_the_step_from():
    with pytest.raises(LanguageError, match=r"not Python: .*; .* from_\(set\)"):
        reader.read_text("s = edges.from(s).apply(f)\n", "t")


def test_files(tmp_path):
    with pytest.raises(UserError, match="missing.py: cannot be read"):
        reader.read_file(tmp_path / "missing.py")
    (tmp_path / "latin.py").write_bytes(b"# caf\xe9\n")
    with pytest.raises(UserError, match="latin.py: is no text in UTF-8"):
        reader.read_file(tmp_path / "latin.py")
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(UserError, match="empty.py: there is no program"):
        reader.read_file(tmp_path / "empty.py")
    (tmp_path / "one.py").write_text(text_of("pass"))
    found = reader.read_file(tmp_path / "one.py")
    assert found.name == "p" and found.position == Position(str(tmp_path / "one.py"), 2, 1)


def test_several_programs():
    text = text_of("pass") + text_of("pass").replace("def p(", "def q(")
    with pytest.raises(UserError, match=r"several programs \(p, q\); name one"):
        reader.read_text(text)
    assert reader.read_text(text, name="q").name == "q"
    with pytest.raises(UserError, match="no program 'r'; there is p, q"):
        reader.read_text(text, name="r")


@pytest.mark.parametrize("body", [
    "n = " + "1 + " * 5000 + "1", "n = " + "(" * 5000 + "1" + ")" * 5000,
    "".join("    " * i + "if k > 1:\n" for i in range(101)) + "    " * 101 + "pass"])
def test_deep_nesting(body):
    with pytest.raises(LanguageError, match="nested|too many|indent"):
        read(body)


def test_columns_count_characters():
    with pytest.raises(LanguageError) as caught:
        read("n = äöü + 1 + w")
    assert caught.value.position.column == 9 and "'äöü'" in str(caught.value)
    with pytest.raises(LanguageError) as caught:
        read("äöü = 1; n = w")
    assert caught.value.position.column == 18


def test_source_of_a_test():
    """A program inside a function is read at its place in the file."""
    @program
    def inner(edges: edgeset, source: vertex = 0):
        parent = vector(vertex, none)
        frontier = vertexset(source)
        s0: Label                                                               # noqa: F842
        while frontier:
            frontier = vertexset(wrong)                                         # noqa: F821
        return parent
    with pytest.raises(LanguageError, match="no 'wrong' here") as caught:
        _ = inner.program
    at = caught.value.position
    line = pathlib.Path(__file__).read_text().splitlines()[at.line - 1]
    assert at.file == __file__ and line[at.column - 1:].startswith("wrong")


def test_nothing_is_executed(tmp_path, monkeypatch):
    """Neither a program nor the rest of its file is executed, nor imported."""
    mark = tmp_path / "mark"
    path = tmp_path / "executed.py"
    path.write_text(f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n"
                    + text_of("pass") + "raise SystemExit\n")
    monkeypatch.setattr("builtins.exec", None)
    monkeypatch.setattr("builtins.eval", None)
    monkeypatch.setattr("builtins.compile", lambda *args, real=compile, **others: (
        real(*args, **others) if args[-1] & ast.PyCF_ONLY_AST else pytest.fail("compiled")))
    assert reader.read_file(path).name == "p"
    for name in programs.names():
        programs.find(name)
    assert not mark.exists()
    assert not [name for name in sys.modules if name.startswith("sw.lang.programs.")]


def test_no_module_executes_texts():
    """No module of the language or of its tests evaluates a text, or imports a program."""
    for folder in ("sw/lang", "sw/vm", "tb/sw/lang"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                match node:
                    case ast.Call(func=ast.Name(id=name)):
                        assert name not in ("exec", "eval", "compile", "__import__"), path
                    case ast.Import(names=names):
                        assert {each.name for each in names}.isdisjoint({"importlib", "runpy"}), \
                            path
                    case ast.ImportFrom(module=str(module), names=names):
                        assert not module.startswith(("importlib", "sw.lang.programs.")), path
                        assert module != "sw.lang.programs" or {
                            each.name for each in names}.isdisjoint(programs.names()), path


# Accepted

def test_bfs():
    found = programs.find("bfs")
    assert (found.name, found.outputs, found.weighted) == ("bfs", ("depth", "parent"), False)
    assert found.summary.startswith("Depth of every vertex")
    [source] = found.arguments
    assert (source.name, source.type, source.default) == ("source", Type.VERTEX, 0)
    depth, parent = found.vectors
    assert (depth.type, parent.type) == (Type.UINT, Type.VERTEX)
    assert depth.initial.value == parent.initial.value == 2**32 - 1
    at = found.position
    visit = found.function("visit")
    assert visit == ir.Function(name="visit", parameters=("src", "dst"), position=at, body=(
        ir.Reduce(operation="min", vector="parent", position=at,
                  index=ir.Local(name="dst", type=Type.VERTEX, position=at),
                  value=ir.Local(name="src", type=Type.VERTEX, position=at)),))
    assert found.function("unvisited").gives is Type.BOOL
    assert found.function("settle").writes() == {"depth"}
    *_, loop = found.body
    level = ir.HostName(name="level", type=Type.WHOLE, position=at)
    assert loop == ir.WhileLoop(
        condition=ir.SetSize(name="frontier", position=at), label="s0", position=at, body=(
            ir.Assign(name="level", position=at, value=ir.Binary(
                operation="+", left=level, position=at, type=Type.WHOLE,
                right=ir.Literal(value=1, type=Type.WHOLE, position=at))),
            ir.EdgeSetIterator(
                input_vset="frontier", apply_f="visit", to_filter="unvisited", position=at,
                output_vset="frontier", tracking="parent", transposed=False, label="s1"),
            ir.VertexSetIterator(input_vset="frontier", apply_f="settle", label=None,
                                 position=at)))


@pytest.mark.parametrize("one, other", [
    (vertex_function("x[v] -= 1", "x[v] *= 2"),
     vertex_function("x[v] = x[v] - 1", "x[v] = x[v] * 2")),
    (vertex_function("b[v] = 1 < x[v] <= k != 3"),
     vertex_function("b[v] = 1 < x[v] and x[v] <= k and k != 3")),
    ("s = vertexset(source)\nwhile not s or s and k > 1:\n    k = k - 1",
     "s = vertexset(source)\nwhile not len(s) > 0 or len(s) > 0 and k > 1:\n    k = k - 1")])
def test_same(one, other):
    assert read(one).body == read(other).body and read(one).functions == read(other).functions


@pytest.mark.parametrize("name", programs.names())
def test_programs_of_the_package(name):
    found = programs.find(name)
    assert found.name == name and found.summary and found.outputs
    assert all(pathlib.Path(node.position.file).name == f"{name}.py" for node in ir.walk(found))


def test_find_names_the_programs():
    with pytest.raises(UserError, match="no program 'sort'; there are bc, bfs, cc"):
        programs.find("sort")


@pytest.mark.parametrize("body, check", [
    # a number takes the type of its place
    (vertex_function("z[v] = 0.5"),
     lambda p: p.function("f").body[0].value.value == Fraction(1, 2)),
    (vertex_function("z[v] = z[v] * d"),
     lambda p: p.function("f").body[0].value.right.type is Type.FRACTION),
    (vertex_function("x[v] = k"), lambda p: isinstance(p.function("f").body[0].value, ir.Uniform)),
    (vertex_function("x[v] = 2 * k - 1"),
     lambda p: isinstance(p.function("f").body[0].value, ir.Uniform)),
    (vertex_function("z[v] = (1 - d) / edges.num_vertices"),
     lambda p: isinstance(p.function("f").body[0].value, ir.Uniform)),
    (vertex_function("z[v] = 1 - 0.25 * 2"),
     lambda p: isinstance(p.function("f").body[0].value, ir.Uniform)),
    (vertex_function("z[v] = z[v] * (1 / edges.out_degree(v))"),
     lambda p: p.function("f").body[0].value.right.operation == "recip"),
    (vertex_function("z[v] = z[v] * (x[v] / k)"),
     lambda p: p.function("f").body[0].value.right.operation == "times"),
    (vertex_function("x[v] = edges.in_degree(source)"),
     lambda p: isinstance(p.function("f").body[0].value.vertex, ir.Uniform)),
    (vertex_function("x[v] = edges.num_vertices"),
     lambda p: p.function("f").body[0].value.value.count == "num_vertices"),
    (vertex_function("y[v] = vertex(uint(v) ^ 1)"),
     lambda p: p.function("f").body[0].value.type is Type.VERTEX),
    # a vertex's own element is stored, that of another is reduced
    (vertex_function("x[v] += 1"), lambda p: isinstance(p.function("f").body[0], ir.VectorStore)),
    (vertex_function("b[v] |= x[v] > 1"),
     lambda p: p.function("f").body[0].value.operation == "or"),
    (vertex_function("x[y[v]] += 1"), lambda p: p.function("f").body[0].operation == "+"),
    (function("x[dst].max(weight)", of="src, dst, weight"),
     lambda p: p.weighted and p.function("f").weighted),
    # branches, local variables
    (vertex_function("if b[v]:", "    t = 1", "elif x[v] > 3:", "    t = 2", "else:", "    t = 3",
                     "t += 1", "x[v] = t"),
     lambda p: isinstance(p.function("f").body[0].otherwise[0], ir.Branch)),
    (vertex_function("x[v] = min(x[v], 3) if not b[v] else ~x[v]"),
     lambda p: isinstance(p.function("f").body[0].value, ir.Select)),
    # operators
    (function("x[dst].min(x[src])").replace("edges.apply(f)", "c = edges.apply_modified(f, x)"),
     lambda p: (p.body[-1].input_vset, p.body[-1].tracking) == (ir.ALL, "x")),
    (function("x[dst].min(1)").replace("edges.", "edges.transpose()."),
     lambda p: p.body[-1].transposed),
    (function("x[dst].min(1)").replace("edges.", "edges.transpose().transpose()."),
     lambda p: not p.body[-1].transposed),
    ("q = PriorityQueue(x, source, delta=k)\nwhile q:\n    near = q.dequeue()",
     lambda p: (p.body[0].vector, p.body[1].body[0].output_vset) == ("x", "near")),
    ("n = 0.5\nn = 1", lambda p: len(p.body) == 2),
    ("s = vertices\nt = s\nn = len(t) + edges.num_edges",
     lambda p: p.body[2].value.left == ir.SetSize(name="t", position=p.position)),
    ("def f(v): return z[v]\nt = vertices.sum(f) * 2",
     lambda p: p.body[0].value.left.type is Type.DECIMAL),
    ("def f(v): return b[v]\nt = vertices.sum(f)", lambda p: p.body[0].value.type is Type.WHOLE),
    ("for i in range(k + 1):\n    x[i] = i", lambda p: p.body[0].body[0].index.name == "i"),
    ("y[source] = none\nx[0] = infinity", lambda p: p.body[0].value.value == 2**32 - 1),
    ("s0: Label\nfor i in range(3):\n    s1: Label\n    while k > 1:\n        pass",
     lambda p: (p.body[0].label, p.body[0].body[0].label) == ("s0", "s1")),
])
def test_forms(body, check):
    assert check(read(body))
