"""GraphIt's own syntax.

======================  ===========================================================================
figures of UGF          test_figure_2_1: the text as printed, its GraphIR and its result;
                        test_figure_3_1, test_figure_3_2: the schedules as printed; test_example
other programs          test_components, test_shortest_paths, test_pagerank_sums
vectors                 test_types_of_vectors
plain stores            test_a_store_is_a_reduction, test_no_store
parameters              test_arguments
statements              test_branches_and_loops, test_results_of_functions, test_constants
sets                    test_new_sets, test_deleted
comments, labels        test_comments, test_labels
errors                  test_refused, test_schedules_refused, test_no_text, test_endless_text
files                   test_files
======================  ===========================================================================
"""

import dataclasses

import numpy as np
import pytest

from base.errors import UserError
from base.installation import ROOT
from sw.lang import graph_ir as ir
from sw.lang import programs
from sw.lang.facts import deferring
from sw.lang.graphit import read_graphit, read_graphit_file
from sw.lang.passes import analysed
from sw.lang.schedule import HybridSchedule, SimpleSchedule, applied, read_schedule
from sw.lang.types import LanguageError, Position, Type
from sw.vm import reference
from tb.sw.graphs import random_graph


FIGURE_2_1 = """\
element Vertex end
element Edge end
const edges : edgeset{Edge}(Vertex,Vertex) = load(argv[1]);
const vertices : vertexset{Vertex} = edges.getVertices();
const parent : vector{Vertex}(int) = -1;

func toFilter(v : Vertex) -> output : bool
output = (parent[v] == -1);
end

func updateEdge(src : Vertex, dst : Vertex)
parent[dst] = src;
end

func main()
var frontier : vertexset{Vertex} = new vertexset{Vertex}(0);
var start_vertex : int = atoi(argv[2]);
frontier.addVertex(start_vertex);
parent[start_vertex] = start_vertex;
#s0# while (frontier.getVertexSetSize() != 0)
    #s1# var output : vertexset{Vertex} =
        edges.from(frontier).to(toFilter).
        applyModified(updateEdge, parent, true);
    delete frontier;
    frontier = output;
end
delete frontier;
end
"""

FIGURE_3_1 = """\
schedule:
    SimpleGPUSchedule s1;
    s1.configDeduplication(ENABLED);
    s1.configLoadBalance(ETWC);
    s1.configDirection(PUSH);
    s1.configFrontierCreation(UNFUSED_BITMAP);
    SimpleGPUSchedule s2 = s1;
    s2.configLoadBalance(VERTEX_BASED);
    s2.configDirection(PULL, BITMAP);
    s2.configDeduplication(DISABLED);
    HybridGPUSchedule h1 (INPUT_VERTEXSET_SIZE,
        "argv[3]", s1, s2);
    program->applyGPUSchedule("s0:s1", h1);
"""

FIGURE_3_2 = """\
schedule:
    SimpleGPUSchedule s1;
    s1.configDeduplication(DISABLED);
    s1.configLoadBalance(ETWC);
    s1.configDirection(PUSH);
    s1.configFrontierCreation(FUSED);
    program->applyGPUSchedule("s0:s1", s1);
    SimpleGPUSchedule s0;
    s0.configKernelFusion(ENABLED);
    program->applyGPUSchedule("s0", s0);
"""

HEAD = """\
element Vertex end
element Edge end
const edges : edgeset{Edge}(Vertex,Vertex) = load(argv[1]);
const vertices : vertexset{Vertex} = edges.getVertices();
const x : vector{Vertex}(int) = 0;
const p : vector{Vertex}(int) = -1;
const f : vector{Vertex}(float) = 0.5;
"""


def read(main="", functions="", constants=""):
    """A program with these lines in ``main``, before it, and among the constants."""
    return read_graphit(f"{HEAD}{constants}\n{functions}\nfunc main()\n{main}\nend\n", "p.gt")[0]


def test_figure_2_1():
    program, schedules = read_graphit(FIGURE_2_1, "bfs.gt")
    assert schedules == {} and program.name == "bfs" and program.outputs == ("parent",)
    [argument] = program.arguments
    assert (argument.name, argument.type, argument.default) == ("start_vertex", Type.WHOLE, None)
    assert program.vector("parent").type is Type.VERTEX
    made, stored, loop = program.body
    assert isinstance(made, ir.NewVertexSet) and made.vertices[0].name == "start_vertex"
    assert isinstance(stored, ir.ElementStore)
    assert loop.label == "s0" and loop.condition == ir.SetSize(name="frontier",
                                                               position=loop.position)
    edges, moved = loop.body
    assert edges == ir.EdgeSetIterator(
        input_vset="frontier", apply_f="updateEdge", to_filter="toFilter", output_vset="output",
        tracking="parent", transposed=False, label="s1", position=edges.position,
        metadata={"apply_deduplication": True})
    assert edges.position == Position("bfs.gt", 22, 9)
    assert (moved.name, moved.value.name) == ("frontier", "output")
    # The memory of the input may be reused, as in figure 4-1.
    assert analysed(program).body[-1].body[0].metadata["can_reuse_frontier"] is True


@pytest.mark.parametrize("seed", range(4))
def test_result_of_figure_2_1(seed):
    """The parents are those of the package's own program."""
    graph = random_graph(60, 150, seed)
    program, _ = read_graphit(FIGURE_2_1)
    found = reference.run(analysed(program), graph, start_vertex=seed)
    wanted = reference.run(analysed(programs.find("bfs")), graph, source=seed)
    assert np.array_equal(found.outputs["parent"], wanted.outputs["parent"])


def test_figure_3_1():
    program, schedules = read_graphit(FIGURE_2_1 + FIGURE_3_1)
    push = (SimpleSchedule().config_deduplication(True).config_load_balance("etwc")
            .config_direction("push").config_frontier_creation("unfused_bitmap"))
    pull = (push.config_load_balance("vertex_based").config_direction("pull", "bitmap")
            .config_deduplication(False))
    assert schedules == {"s0:s1": HybridSchedule("input_vertexset_size", "argv[3]", push, pull)}
    node = applied(program, schedules).body[-1].body[0]
    criterion, threshold, first, second = node.metadata["hybrid"]
    assert (criterion, threshold) == ("input_vertexset_size", "argv[3]")
    assert first == {"apply_deduplication": True, "load_balance": "etwc", "direction": "push",
                     "is_edge_parallel": True, "output_representation": "bitmap"}
    assert second == {"apply_deduplication": False, "load_balance": "vertex_based",
                      "direction": "pull", "is_edge_parallel": False,
                      "pull_input_frontier": "bitmap", "output_representation": "bitmap"}


def test_figure_3_2():
    program, schedules = read_graphit(FIGURE_2_1 + FIGURE_3_2)
    assert schedules == {"s0:s1": read_schedule("etwc,push,fused,no_dedup"),
                         "s0": read_schedule("fusion")}
    loop = analysed(applied(program, schedules)).body[-1]
    assert loop.metadata["needs_fusion"] is True
    # The metadata of figure 4-1, and the deduplication of figure 3-2.
    assert loop.body[0].metadata.items() >= {
        "requires_output": True, "can_reuse_frontier": True, "direction": "push",
        "is_edge_parallel": True, "apply_deduplication": False}.items()


def test_example():
    program, schedules = programs.open_program(str(ROOT / "examples" / "lang" / "bfs.gt"))
    assert program.summary == "Breadth-first search."
    assert program == dataclasses.replace(read_graphit(FIGURE_2_1, "bfs.gt")[0],
                                          summary=program.summary)
    assert schedules == read_graphit(FIGURE_2_1 + FIGURE_3_2)[1]


def test_components():
    """A loop over all vertices at first, with ``min=``."""
    text = HEAD.replace("const x : vector{Vertex}(int) = 0;\n", "") + """
const IDs : vector{Vertex}(int) = 1;
func init(v : Vertex)
    IDs[v] = v;
end
func updateEdge(src : Vertex, dst : Vertex)
    IDs[dst] min= IDs[src];
end
func main()
    var n : int = edges.getVertices();
    var frontier : vertexset{Vertex} = new vertexset{Vertex}(n);
    vertices.apply(init);
    #s0# while (frontier.getVertexSetSize() > 0)
        frontier = edges.from(frontier).applyModified(updateEdge, IDs);
    end
end
"""
    graph = random_graph(80, 70, 3).undirected()
    program = analysed(read_graphit(text)[0])
    assert program.vector("IDs").type is Type.VERTEX
    assert deferring(program.body[-1]) is not None
    wanted = reference.run(analysed(programs.find("cc")), graph).outputs["label"]
    assert np.array_equal(reference.run(program, graph).outputs["IDs"], wanted)


def test_shortest_paths():
    text = HEAD.replace("(Vertex,Vertex)", "(Vertex,Vertex,int)") + """
const dist : vector{Vertex}(int) = 2147483647;
func updateEdge(src : Vertex, dst : Vertex, weight : int)
    dist[dst] min= dist[src] + weight;
end
func main()
    var start : int = atoi(argv[2]);
    dist[start] = 0;
    var frontier : vertexset{Vertex} = new vertexset{Vertex}(0);
    frontier.addVertex(start);
    while (frontier.getVertexSetSize() != 0)
        var output : vertexset{Vertex} = edges.from(frontier).applyModified(updateEdge, dist);
        frontier = output;
    end
end
"""
    graph = random_graph(50, 200, 5).weighted(20, 1)
    program = read_graphit(text)[0]
    assert program.weighted
    found = reference.run(analysed(program), graph, start=1).outputs["dist"]
    wanted = reference.run(analysed(programs.find("sssp")), graph, source=1).outputs["distance"]
    assert np.array_equal(found, np.minimum(wanted, 2147483647))


def test_pagerank_sums():
    """Vectors of float are of fixed point; ``getOutDegrees``, constants and ``for``."""
    program = read("""
    #s0# for i in 1:4
        vertices.apply(divide);
        edges.apply(collect);
        vertices.apply(renew);
    end
""", """
func divide(v : Vertex)
    contrib[v] = rank[v] / (degree[v] + 1);
end
func collect(src : Vertex, dst : Vertex)
    total[dst] += contrib[src];
end
func renew(v : Vertex)
    rank[v] = base + damp * total[v];
    total[v] = 0.0;
end
""", """
const damp : float = 0.5;
const base : float = (1.0 - damp) / 2;
const rank : vector{Vertex}(float) = 1;
const contrib : vector{Vertex}(float) = 0;
const total : vector{Vertex}(float) = 0.0;
const degree : vector{Vertex}(int) = edges.getOutDegrees();
""")
    graph = random_graph(30, 60, 2)
    found = reference.run(analysed(program), graph)
    rank = np.ones(30)
    for _ in range(3):
        total = np.zeros(30)
        np.add.at(total, graph.dst, (rank / (graph.out_degrees + 1))[graph.src])
        rank = 0.25 + 0.5 * total
    assert np.allclose(found.decimal("rank"), rank, atol=1e-6)
    assert np.array_equal(found.outputs["degree"], graph.out_degrees)


# Vectors and plain stores

@pytest.mark.parametrize("constant, function, kind", [
    ("q : vector{Vertex}(int) = 7", "", Type.UINT),
    ("q : vector{Vertex}(int) = -1", "", Type.VERTEX),
    ("q : vector{Vertex}(Vertex) = -1", "", Type.VERTEX),
    ("q : vector{Vertex}(bool) = false", "", Type.BOOL),
    ("q : vector{Vertex}(double) = 0.25", "", Type.FIXED),
    ("q : vector{Vertex}(int) = 0", "func g(v : Vertex) q[v] = v; end", Type.VERTEX),
    ("q : vector{Vertex}(int) = 0", "func g(a : Vertex, b : Vertex) q[b] max= a; end",
     Type.VERTEX),
    ("q : vector{Vertex}(int) = 0", "func g(v : Vertex) q[v] = p[v]; end", Type.VERTEX),
    ("q : vector{Vertex}(int) = 0", "func g(v : Vertex) x[q[v]] min= 3; end", Type.VERTEX),
    ("q : vector{Vertex}(int) = 0", "func g(v : Vertex) -> o : bool o = q[v] == -1; end",
     Type.VERTEX),
    ("q : vector{Vertex}(int) = 0", "func g(v : Vertex) q[v] = x[v]; end", Type.UINT)])
def test_types_of_vectors(constant, function, kind):
    assert read("", function, f"const {constant};").vector("q").type is kind


FILTER = "func unset(v : Vertex) -> o : bool o = (p[v] == -1); end\n"
STORE = "func g(src : Vertex, dst : Vertex) p[dst] = src; end\n"


@pytest.mark.parametrize("text", [FILTER, FILTER.replace("(p[v] == -1)", "-1 == p[v]")])
def test_a_store_is_a_reduction(text):
    program = read("edges.to(unset).apply(g);", STORE + text)
    [store] = program.function("g").body
    assert (store.operation, store.vector) == ("min", "p")


@pytest.mark.parametrize("main, functions", [
    ("edges.apply(g);", STORE),                                     # without a filter
    ("edges.to(unset).apply(g);\nedges.apply(g);", STORE + FILTER),  # not everywhere
    ("edges.to(unset).apply(g);", STORE + FILTER.replace("==", "!=")),
    ("edges.to(unset).apply(g);", STORE + FILTER.replace("p[v]", "p[p[v]]")),
    ("edges.to(unset).apply(g);", STORE + FILTER.replace("-1)", "-1) and (x[v] == 1)")),
    ("edges.to(unset).apply(g);", STORE.replace("p[dst] = src", "p[src] = dst") + FILTER),
    ("edges.to(unset).apply(g);", STORE.replace("p[dst] = src", "x[dst] = 3") + FILTER),
    ("", STORE)])
def test_no_store(main, functions):
    with pytest.raises(LanguageError, match="several edges may store .* use min=, max="):
        read(main, functions)


# Parameters, statements

def test_arguments():
    program = read("""
var start : int = atoi(argv[4]);
var share : float = atof(argv[3]);
x[atoi(argv[2])] = start;
x[0] = limit;
""", constants="const limit : int = atoi(argv[5]);")
    assert [(each.name, each.type) for each in program.arguments] == [
        ("argv2", Type.WHOLE), ("share", Type.DECIMAL), ("start", Type.WHOLE),
        ("limit", Type.WHOLE)]


def test_branches_and_loops():
    program = read("""
var n : int = -3;
if n < 0 and not (n == 2)
    n = 0 - n;
elif n == 0
    n += 1;
else
    n = min(n, 4) * 2;
end
for i in 0:n
    x[i] = i;
end
for j in 2:n
    x[j] = j;
end
""")
    first, branch, loop, shifted = program.body
    assert isinstance(branch.otherwise[0], ir.HostBranch) and branch.otherwise[0].otherwise
    assert loop.name == "i" and loop.count.name == "n" and len(loop.body) == 1
    assert shifted.body[0].name == "j" and shifted.count.operation == "-"
    found = reference.run(program, random_graph(5, 5, 1)).outputs["x"]
    assert found.tolist() == [0, 1, 2, 0, 0]
    # An empty block does nothing.
    assert read("if 1 < 2 end while 2 < 1 end").body[0].then == ()


def test_whole_quotients():
    """A quotient of ints is an int, which is cut towards 0; others have fractions."""
    program = read("""
var n : int = -7;
var m : int = n / 2;
if m == -3 and 7 / (0 - 2) == -3 and n / -2 == 3 and n / 2.0 == -3.5
    x[0] = 7 / 2;
end
x[1] = edges.size() / vertices.size();
vertices.apply(g);
""", """
func g(v : Vertex)
    var t : int = x[v] / 2;
    x[v] = t + (x[v] + 9) / 4;
end
""")
    found = reference.run(program, random_graph(3, 8, 1)).outputs["x"]
    assert found.tolist() == [1 + 3, 1 + 2, 0 + 2]


def test_variables_of_functions():
    """A variable of a function is not that of main with the same name."""
    program = read("""
var t : int = 5;
var o : int = 6;
vertices.apply(g);
var few : vertexset{Vertex} = vertices.filter(h);
x[0] = t + o;
few.apply(g);
""", """
func g(v : Vertex) var t : int = 2; t = t + 1; x[v] += t; end
func h(v : Vertex) -> o : bool o = false; if x[v] == 11 o = true; end end
""")
    assert reference.run(program, random_graph(3, 8, 1)).outputs["x"].tolist() == [11, 3, 3]


def test_results_of_functions():
    """A result that is assigned once at the end, and one that is assigned in branches."""
    program = read("", """
func once(v : Vertex) -> o : bool
    var t : int = x[v] + 1;
    o = t > 3;
end
func twice(v : Vertex) -> o : bool
    o = false;
    if x[v] > 3
        o = true;
    end
end
""")
    assert [type(node) for node in program.function("once").body] == [ir.Let, ir.Give]
    assert [type(node) for node in program.function("twice").body] == [ir.Let, ir.Branch, ir.Give]
    assert program.function("twice").gives is Type.BOOL


def test_reductions():
    program = read("edges.apply(g);", """
func g(a : Vertex, b : Vertex)
    x[b] min= 1; y[b] max= 2; z[b] += 3; w[b] |= 4;
end
""", "".join(f"const {name} : vector{{Vertex}}(int) = 0;" for name in "yzw"))
    assert [node.operation for node in program.function("g").body] == ["min", "max", "+", "or"]


def test_constants():
    program = read("x[0] = double_size;\nx[1] = edges.size();", constants="""
const size : int = vertices.size();
const double_size : int = 2 * size;
""")
    found = reference.run(program, random_graph(5, 9, 1)).outputs["x"]
    assert found.tolist() == [10, 9, 0, 0, 0]


# Sets

def test_new_sets():
    program = read("""
var a : vertexset{Vertex} = new vertexset{Vertex}(0);
var n : int = 1;
a.addVertex(0);
a.addVertex(n);
var b : vertexset{Vertex} = new vertexset{Vertex}(vertices.size());
var c : vertexset{Vertex} = b.filter(g);
c.apply(h);
x[0] = a.getVertexSetSize();
""", "func g(v : Vertex) -> o : bool o = x[v] == 0; end func h(v : Vertex) x[v] = 1; end")
    number, made, every, few, run, _ = program.body
    assert isinstance(number, ir.Assign) and len(made.vertices) == 2
    assert every.value.name == ir.ALL and isinstance(few, ir.VertexFilter)
    assert isinstance(run, ir.VertexSetIterator)
    assert reference.run(program, random_graph(4, 4, 1)).outputs["x"].tolist() == [2, 1, 1, 1]


def test_another_name_of_all_vertices():
    text = HEAD.replace("const vertices", "const nodes") + """
func h(v : Vertex) x[v] = 1; end
func main() nodes.apply(h); end"""
    [node] = read_graphit(text)[0].body
    assert node.input_vset == ir.ALL


def test_deleted():
    program = read("""
var a : vertexset{Vertex} = new vertexset{Vertex}(0);
delete a;
a = new vertexset{Vertex}(0);
a.addVertex(0);
delete a;
""")
    assert [type(node) for node in program.body] == [ir.NewVertexSet] * 2


def test_comments():
    text = "%{ a block\n of two lines %}\n% Two words.\n" + HEAD + "func main() % nothing\nend"
    assert read_graphit(text)[0].body == ()
    assert read_graphit("% Two words.\n" + text)[0].summary == "Two words."


def test_labels():
    program = read("# s0 # while 2 < 1 #s1# vertices.apply(h); end",
                   "func h(v : Vertex) x[v] = 1; end")
    assert (program.body[0].label, program.body[0].body[0].label) == ("s0", "s1")


# Errors

#: Lines of main, functions; place; words.
REFUSED = [
    ("x[0] = ;", "", "9:8", ["';' cannot stand here", "a name", "a number"]),
    ("x[0] = 1", "", "10:1", ["'end' cannot stand here", ";"]),
    ("x[0] = $;", "", "9:8", ["'$' cannot stand here"]),
    ("x[0] = \"one\";", "", "9:8", ["a text stands only in print"]),
    ("y[0] = 1;", "", "9:1", ["no vector 'y'", "x, p, f"]),
    ("x[0] = y;", "", "9:8", ["there is no 'y' here"]),
    ("x[0] = atoi(argv[1]);", "", "9:8", ["argv[N], with N from 2"]),
    ("x[0] = atoi(3);", "", "9:8", ["atoi takes argv[N]"]),
    ("x[0] = sine(3);", "", "9:8", ["there is no 'sine' here", "min, max"]),
    ("x[0] = sqrt(3);", "", "9:8", ["there is no 'sqrt' here", "atof(argv[2])"]),
    ("x[0] = g(3);", "func g(v : Vertex) x[v] = 1; end", "9:8", ["cannot stand in place"]),
    ("var a : int; x[0] = a;", "", "9:21", ["there is no 'a' here"]),
    ("", "func g(v : Vertex) var a : int; x[v] = 1; end", "8:20", ["'a' needs a value"]),
    ("var a : char = 3;", "", "9:9", ["no type 'char'", "int, uint, float"]),
    ("var x : int = 3;", "", "9:1", ["'x' is a vector"]),
    ("var edges : int = 3;", "", "9:5", ["'edges' is a constant"]),
    ("vertices = vertices;", "", "9:1", ["'vertices' is a constant"]),
    ("edges.size() = 3;", "", "9:1", ["a variable or an element"]),
    ("var a : vertexset{Vertex} = new vertexset{Vertex}(3);", "", "9:51", ["0 vertices, or all"]),
    ("var a : vertexset{Vertex} = vertices; a.addVertex(0);", "", "9:39",
     ["addVertex must follow"]),
    ("var a : vertexset{Vertex} = new vertexset{Vertex}(0); x[0] = a.size(); a.addVertex(0);", "",
     "9:72", ["addVertex must follow", "before the set is used"]),
    ("var a : vertexset{Vertex} = new vertexset{Vertex}(0); a.addVertex();", "", "9:55",
     ["set.addVertex(vertex)"]),
    ("var a : vertexset{Vertex} = vertices; delete a; a.apply(g);", "", "9:49",
     ["'a' was deleted in line 10"]),
    ("var a : vertexset{Vertex} = vertices; delete a; delete a;", "", "9:56",
     ["'a' was deleted in line 10"]),
    ("delete vertices;", "", "9:8", ["'vertices' is a constant"]),
    ("edges.srcFilter(g).apply(g);", "", "9:7", ["srcFilter takes a function"]),
    ("edges.sortBy(x);", "", "9:7", ["no 'sortBy'", "applyModified"]),
    ("(1 + 2).apply(g);", "", "9:2", ["begins with the graph or a set"]),
    ("edges.apply(g);", "", "9:13", ["no function 'g'"]),
    ("var c : vertexset{Vertex} = edges.applyModified(g, x, 1);",
     "func g(a : Vertex, b : Vertex) x[b] min= 1; end", "9:55", ["true or false"]),
    ("#s0# while 1 < 2 end #s0# while 1 < 2 end", "", "9:22", ["'s0' is there already"]),
    ("while frontier end", "", "9:7", ["there is no 'frontier'"]),
    ("while x[0] == 1 end", "", "9:7", ["main reads no single elements", "x.sum()"]),
    ("", "func g(v : int) x[v] = 1; end", "8:8", ["(v : Vertex)", "weight : int"]),
    ("", "func g(v : vector{Vertex}(int)) x[v] = 1; end", "8:8", ["(v : Vertex)"]),
    ("", "func g(a : Vertex, b : Vertex, c : Vertex) x[a] min= 1; end", "8:32", ["weight : int"]),
    ("", "func g(v : Vertex) x[v] = -1 + 2; end", "8:27", ["no negative numbers"]),
    ("", "func g(v : Vertex) x[v] = 0.5; end", "8:27", ["0.5 must be a whole number"]),
    ("", "func g(v : Vertex) p[v] = p[v] + 1; p[v] = v; end", "8:27",
     ["the elements of 'p' are vertices", "no +", "2147483647"]),
    # numbers without a sign
    ("", "func g(v : Vertex) x[v] = x[v] - -1; end", "8:34", ["no negative numbers"]),
    ("", "func g(a : Vertex, b : Vertex) x[b] += -1; end", "8:40", ["count with another vector"]),
    ("", "const y : vector{Vertex}(int) = -2;", "8:33", ["no negative numbers"]),
    ("", "const y : vector{Vertex}(float) = -1.0;", "8:35", ["no negative numbers"]),
    ("", "func g(v : Vertex) -> o : bool o = (x[v] - 3) < 0; end", "8:36", ["compare a < b"]),
    ("", "func g(v : Vertex) -> o : bool o = 0 <= x[v]; end", "8:36", ["no number of a function"]),
    ("", "func g(v : Vertex) -> o : bool o = f[v] < 0.0; end", "8:36", ["no number of a function"]),
    ("", "func g(v : Vertex) -> o : bool o = p[v] > -1; end", "8:36", ["use == or !="]),
    ("", "func g(v : Vertex) -> o : bool o = p[v] >= 0; end", "8:36", ["'p' has -1", "!="]),
    ("", "func g(a : Vertex, b : Vertex) p[b] min= a; end", "8:32",
     ["'p' has -1", "min= of GraphIt"]),
    ("", "const n : int = -3; func g(v : Vertex) x[v] = n; end", "8:17", ["no negative numbers"]),
    # variables of main
    ("var t : int = 0; edges.apply(g);", "func g(a : Vertex, b : Vertex) t += 1; end", "8:32",
     ["'t' is no variable of this function", "var t : int"]),
    ("var t : int = 0; edges.apply(g);", "func g(a : Vertex, b : Vertex) t = 1; end", "8:32",
     ["'t' is no variable of this function"]),
    ("", "func g(a : Vertex, b : Vertex) x = 1; end", "8:32", ["'x' is no variable"]),
    ("", "func g(v : Vertex) vertices.apply(g); end", "8:20", ["no statement of a function"]),
    ("", "func g(v : Vertex) delete v; end", "8:20", ["a function deletes no sets"]),
    ("", "func g(v : Vertex) x[v] = 1; end func g(v : Vertex) x[v] = 1; end", "8:34",
     ["'g' is there already"]),
    ("", "func g(a : Vertex, b : Vertex) x[b] min= 1; x[b] += 1; end", "8:45",
     ["by min and by +"]),
    ("", "const x : int = 3;", "8:7", ["'x' is there already"]),
    ("", "const y : int;", "8:1", ["'y' needs a value"]),
    ("", "const y : vector{Vertex}(string) = 3;", "8:26", ["elements of a vector", "float"]),
    ("", "const g : edgeset{Edge}(Vertex,Vertex) = load(argv[1]);", "8:1",
     ["one graph, and it is 'edges'"]),
    ("", "const s : vertexset{Vertex} = edges.size();", "8:31", ["edges.getVertices()"]),
    ("x[0] = a;", "const a : int = b; const b : int = a;", "8:36", ["made of itself"]),
]


@pytest.mark.parametrize("main, functions, place, words", REFUSED, ids=range(len(REFUSED)))
def test_refused(main, functions, place, words):
    text = f"{HEAD}{functions}\nfunc main()\n{main}\nend\n".replace("\n\nfunc main()\n",
                                                                   "\nfunc main()\n")
    if not functions:
        text = text.replace("func main()\n", "\nfunc main()\n")
    with pytest.raises(LanguageError) as caught:
        read_graphit(text, "p.gt")
    message = str(caught.value)
    line, column = map(int, place.split(":"))
    assert message.startswith(f"p.gt:{line + (line > 8)}:{column}: "), message
    for word in words:
        assert word in message


@pytest.mark.parametrize("text, place, words", [
    ("", "1:1", "there is no graph"), (HEAD, "7:1", "no func main"),
    (HEAD + "func main(v : Vertex) end", "8:1", "main has no parameters"),
    (HEAD + "func main()", "8:12", "the text ends here"),
    (HEAD.replace("load(argv[1])", "new vertexset{Vertex}(0)"), "3:46", "load\\(argv\\[1\\]\\)"),
    (HEAD + "func main() " + "if 1 < 2 " * 2000 + "end " * 2001, "1:1", "nested too deeply"),
    (HEAD + "func main() x[0] = " + "(" * 3000 + "1" + ")" * 3000 + "; end", "1:1", "")])
def test_no_text(text, place, words):
    if not words:
        assert read_graphit(text)[0].body
        return
    with pytest.raises(LanguageError, match=words) as caught:
        read_graphit(text, "p.gt")
    assert str(caught.value).startswith(f"p.gt:{place}: ")


@pytest.mark.parametrize("commands, place, words", [
    ("s1.configDelta(3);", "2:1", "no schedule 's1'; there are none"),
    ("SimpleGPUSchedule s1;\nSimpleGPUSchedule s1;", "3:19", "'s1' is there already"),
    ("SimpleGPUSchedule s1 = s2;", "2:24", "no schedule 's2'"),
    ("SimpleGPUSchedule s1;\ns1.configColour(RED);", "3:4", "no 'configColour'.*configDelta"),
    ("SimpleGPUSchedule s1;\ns1.configLoadBalance(LUCKY);", "3:1", "'LUCKY'.*edge_only, etwc"),
    ("SimpleGPUSchedule s1;\ns1.configDirection(PUSH, BITMAP);", "3:1", "only pull has a form"),
    ("SimpleGPUSchedule s1;\ns1.configDeduplication(MAYBE);", "3:1", "ENABLED or DISABLED"),
    ("SimpleGPUSchedule s1;\ns1.configDelta(0);", "3:1", "delta is 0"),
    ("SimpleGPUSchedule s1;\ns1.configDelta(FOUR);", "3:1", "FOUR must be a whole number"),
    ("SimpleGPUSchedule s1;\ns1.configDelta(1, 2);", "3:4", "takes 1 argument, not 2"),
    ("SimpleGPUSchedule s1;\ns1.configFrontierCreation(FUSED, 2);", "3:4", "takes 1 argument, not"),
    ("SimpleGPUSchedule s1;\ns1.configKernelFusion(ENABLED, 2);", "3:4", "takes 1 argument, not"),
    ("SimpleGPUSchedule s1;\ns1.configDirection(PULL, BITMAP, 1);", "3:4", "1 or 2 arguments"),
    ("SimpleGPUSchedule s1;\ns1.configDeduplication(ENABLED, BOOLMAP, 1);", "3:4",
     "1 or 2 arguments"),
    ("SimpleGPUSchedule s1;\ns1.configLoadBalance(ETWC, BLOCKED, 2, 3);", "3:4",
     "1 or 2 or 3 arguments, not 4"),
    ("SimpleGPUSchedule s;\nHybridGPUSchedule h (MOON, 0.5, s, s);", "3:1", "no criterion"),
    ("SimpleGPUSchedule s;\nHybridGPUSchedule h (INPUT_VERTEXSET_SIZE, 1.5, s, s);", "3:1",
     "from 0 to 1"),
    ("SimpleGPUSchedule s;\nHybridGPUSchedule h (INPUT_VERTEXSET_SIZE, \"no\", s, s);", "3:1",
     "argv"),
    ("SimpleGPUSchedule s;\nHybridGPUSchedule h (INPUT_VERTEXSET_SIZE, \"1.2.3\", s, s);", "3:1",
     "threshold 1.2.3"),
    ("SimpleGPUSchedule s;\nHybridGPUSchedule h (INPUT_VERTEXSET_SIZE, 0.5, s, s);\n"
     "h.configDelta(3);", "4:1", "'h' is a hybrid schedule"),
    ("SimpleGPUSchedule s;\nprogram->applyGPUSchedule(\"s0\", s);\n"
     "program->applyGPUSchedule(\"s0\", s);", "4:27", "has a schedule already")])
def test_schedules_refused(commands, place, words):
    text = FIGURE_2_1 + f"schedule:\n{commands}\n"
    with pytest.raises(LanguageError, match=words) as caught:
        read_graphit(text, "p.gt")
    line, column = map(int, place.split(":"))
    first = FIGURE_2_1.count("\n")
    assert str(caught.value).startswith(f"p.gt:{first + line}:{column}: "), caught.value


def test_choices_of_schedules():
    schedules = read_graphit(FIGURE_2_1 + """schedule:
SimpleGPUSchedule a;
a.configLoadBalance(EDGE_ONLY, BLOCKED, 4096);
a.configDeduplication(ENABLED, MONOTONIC_COUNTERS);
SimpleGPUSchedule b(a);
b.configDelta(8);
b.configLoadBalance(TWC, DISABLED);
program->applyGPUSchedule("one", a);
program->applyGPUSchedule("two", b);
""")[1]
    assert {label: str(each) for label, each in schedules.items()} == {
        "one": "edge_only:blocked:4096,dedup:monotonic_counters",
        "two": "twc,dedup:monotonic_counters,delta:8"}


def test_files(tmp_path):
    path = tmp_path / "two words.gt"
    path.write_text(FIGURE_2_1)
    assert read_graphit_file(path)[0].name == "two_words"
    with pytest.raises(UserError, match="missing.gt: cannot be read"):
        read_graphit_file(tmp_path / "missing.gt")
    path.write_bytes(b"\xff")
    with pytest.raises(UserError, match="cannot be read"):
        read_graphit_file(path)
