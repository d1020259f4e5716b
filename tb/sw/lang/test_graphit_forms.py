"""Forms of GraphIt's syntax that stand for others, each beside a model in NumPy.

======================  ===========================================================================
left out                test_prints_and_timers: and the notes on them; test_labels_of_nothing
numbers                 test_numbers: hexadecimal, xor, fabs, min= of a variable, while (1)
functions               test_functors, test_calls, test_types_of_calls, test_procedures
vectors                 test_marked_numbers;
                        test_local_vectors: in a loop, they begin anew; test_vectors_assigned
edges                   test_sources: from(f), srcFilter, dstFilter; test_turned;
                        test_stores_that_improve, test_found_by_edges: sets of apply
sets                    test_filters_that_change
main                    test_sums: of a vector, and of loops that add; test_breaks
queues                  test_queue
entries                 test_exported, test_several_exported; test_graph_of_any_argument
schedules               test_cpu_schedules
machines                test_machines: all of it on the GraphVM cpu
errors                  test_refused
======================  ===========================================================================
"""

import numpy as np
import pytest

from base.errors import UserError
from sw.lang import programs
from sw.lang.graphit import ScheduleOnly, read_graphit
from sw.lang.passes import analysed
from sw.lang.schedule import applied
from sw.lang.types import LanguageError, Type
from sw.vm import cpu, reference
from tb.sw.graphs import random_graph


HEAD = """\
element Vertex end
element Edge end
const edges : edgeset{Edge}(Vertex,Vertex) = load(argv[1]);
const vertices : vertexset{Vertex} = edges.getVertices();
"""
X = "const x : vector{Vertex}(int) = 0;\n"

GRAPH = random_graph(40, 120, 7).simplify()
COUNT = GRAPH.num_vertices


def read(main, before=X, head=HEAD):
    return read_graphit(f"{head}{before}func main()\n{main}\nend\n", "p.gt")[0]


def words(main, before=X, graph=GRAPH, head=HEAD, **given):
    """The results of a program, which the interpreter performs."""
    return reference.run(read(main, before, head), graph, **given).outputs


def added(count, values=1):
    """A vector with ``values`` added at each place of ``count``."""
    found = np.zeros(COUNT, np.int64)
    np.add.at(found, count, values)
    return found


# Left out

def test_prints_and_timers():
    program = read("""
startTimer();
for i in 0:3
    vertices.apply(up);
    vertices.apply(show);
    if x_sum > 3 print "large"; else print x_sum, 2; end
end
var t : float = stopTimer();
print "seconds"; print t;
println "done";
""", X + """const x_sum : int = 2;
func up(v : Vertex) x[v] += 1; print x[v]; end
func show(v : Vertex) print x[v]; end
""")
    assert [function.name for function in program.functions] == ["up"]
    assert program.notes == ("print is left out, as the results of a program are its vectors: lines"
                             " 7, 8, 15, 18, 19",)
    assert set(reference.run(program, GRAPH).outputs["x"]) == {3}


def test_labels_of_nothing():
    program = read("#s1# print 3; #s2# x[0] = 1; #s3# vertices.apply(up);",
                   X + "func up(v : Vertex) x[v] += 1; end ")
    assert program.body[-1].label == "s3"


# Numbers

def test_numbers():
    found = words("""
var n : int = 3;
n min= 2;
var yes : bool = true;
while (1)
    if yes xor (n == 2) x[1] = 7; end
    if (n == 2) xor (n == 3) x[2] = fabs(n - 9); end
    x[0] = 0x1F + 0XA0;
    vertices.apply(f);
    break;
end
""", X + "const y : vector{Vertex}(int) = 0; func f(v : Vertex) y[v] = fabs(x[v] - 9); end ")
    assert found["x"].tolist() == [0xBF, 0, 7] + [0] * (COUNT - 3)
    assert found["y"][:4].tolist() == [0xBF - 9, 9, 2, 9]


# Functions

def test_functors():
    found = words("""
var n : int = 5;
vertices.apply(add[x, n]);
n = 2;
vertices.apply(add[y, n]);
vertices.apply(add[x, 1]);
edges.to(above[y, 1]).apply(count[x]);
var few : vertexset{Vertex} = vertices.filter(above[x, 10]);
few.apply(add[y, 100]);
""", X + """const y : vector{Vertex}(int) = 0;
func add[a : vector{Vertex}(int), by : int](v : Vertex) a[v] += by; end
func above[a : vector{Vertex}(int), n : int](v : Vertex) -> o : bool o = a[v] > n; end
func count[a : vector{Vertex}(int)](src : Vertex, dst : Vertex) a[dst] += 1; end
""")
    x = 6 + np.bincount(GRAPH.dst, minlength=COUNT)
    assert found["x"].tolist() == x.tolist()
    assert found["y"].tolist() == np.where(x > 10, 102, 2).tolist()


def test_calls():
    found = words("x[0] = twice(square(3) + 1, 1); vertices.apply(f);", X + """
func square(a : int) -> r : int r = a * a; end
func twice(a : int, b : int) -> r : int var s : int = square(a) + b; r = s + s; end
func f(v : Vertex) x[v] += square(edges.getOutDegree(v)); end
""")
    wanted = GRAPH.out_degrees.astype(int) ** 2
    wanted[0] += 202
    assert found["x"].tolist() == wanted.tolist()


def test_types_of_calls():
    """An argument has its parameter's type: the quotient of ints is cut, that of floats not."""
    found = words("if half(7) > 3.4 x[0] = 1; end if whole(7) == 3 x[1] = 1; end", X + """
func half(a : float) -> r : float r = a / 2; end
func whole(a : int) -> r : int r = a / 2; end
""")
    assert found["x"][:3].tolist() == [1, 1, 0]


def test_procedures():
    found = words("var n : int = 4; up(n); up(2);", X + """
func add[a : int](v : Vertex) x[v] += a; end
func up(a : int) x[a] = x_of(a); vertices.apply(one); end
func one(v : Vertex) x[v] += 1; end
func x_of(a : int) -> r : int r = 10 * a; end
""")
    wanted = np.full(COUNT, 2)
    wanted[4], wanted[2] = 42, 21
    assert found["x"].tolist() == wanted.tolist()


# Vectors

def test_local_vectors():
    """A vector that is declared in a loop begins anew in each round."""
    program = read("""
var start : vector{Vertex}(int) = 1;
for i in 0:3
    var seen : vector{Vertex}(int) = i;
    vertices.apply(add[seen, start]);
    var mark : vector{Vertex}(bool) = new vector{Vertex}(bool)();
    mark[i] = true;
    vertices.apply(take[seen, mark]);
    delete seen;
end
""", X + """
func add[a : vector{Vertex}(int), b : vector{Vertex}(int)](v : Vertex) a[v] += b[v]; end
func take[a : vector{Vertex}(int), m : vector{Vertex}(bool)](v : Vertex)
    x[v] += a[v];
    if m[v] x[v] += 100; end
end
""")
    assert program.outputs == ("x",)
    wanted = np.full(COUNT, 1 + 2 + 3)
    wanted[:3] += 100
    assert reference.run(program, GRAPH).outputs["x"].tolist() == wanted.tolist()


def test_vectors_assigned():
    """What main assigns as a whole is filled where it is assigned, also behind an operator that
    main does not name it in."""
    found = words("""
degree = edges.getOutDegrees();
vertices.apply(set);
y = new vector{Vertex}(int)();
vertices.apply(copy);
""", X + """const y : vector{Vertex}(int); const degree : vector{Vertex}(int);
func set(v : Vertex) y[v] = 9; end
func copy(v : Vertex) x[v] = y[v] + degree[v]; end
""")
    assert found["x"].tolist() == GRAPH.out_degrees.tolist()


DEPTHS = """const depth : vector{Vertex}(int) = -1; const other : vector{Vertex}(int) = -1;
func unset(v : Vertex) -> o : bool o = depth[v] == -1; end
func step(src : Vertex, dst : Vertex) depth[dst] = depth[src] + 1; end
func copy(v : Vertex) if depth[v] != -1 other[v] = depth[v]; end end
func double(v : Vertex) depth[v] = depth[v] * 2; end
"""
SEARCH_DEPTHS = """
depth[2] = 0;
var now : vertexset{Vertex} = new vertexset{Vertex}(0);
now.addVertex(2);
while (now.getVertexSetSize() > 0)
    now = edges.from(now).to(unset).applyModified(step, depth, true);
end
vertices.apply(copy);
"""


def test_marked_numbers():
    """-1 marks vertices without a number; there is no arithmetic with it."""
    found = words(SEARCH_DEPTHS, DEPTHS)
    wanted = reference.run(programs.find("bfs"), GRAPH, source=2).outputs["depth"]
    assert found["depth"].tolist() == found["other"].tolist() == wanted.tolist()
    lonely = random_graph(9, 0, 1)
    program = read(SEARCH_DEPTHS + "vertices.apply(double);", DEPTHS)
    messages = set()
    for run in (reference.run, cpu.run):
        with pytest.raises(UserError) as caught:
            run(program, lonely)
        messages.add(str(caught.value))
    [message] = messages
    assert message.startswith("p.gt:9:36: at vertex 0, a difference of infinity")


# Edges and sets

def test_sources():
    found = words("""
vertices.apply(number);
edges.from(even).dstFilter(small).apply(count[x]);
var big : vertexset{Vertex} = vertices.where(large);
edges.from(big).srcFilter(even).apply(count[y]);
""", X + """const y : vector{Vertex}(int) = 0; const n : vector{Vertex}(int) = 0;
func number(v : Vertex) n[v] = edges.getOutDegree(v); end
func even(v : Vertex) -> o : bool o = (n[v] / 2) * 2 == n[v]; end
func small(v : Vertex) -> o : bool o = n[v] < 3; end
func large(v : Vertex) -> o : bool o = n[v] > 2; end
func count[a : vector{Vertex}(int)](src : Vertex, dst : Vertex) a[dst] += 1; end
""")
    degree = GRAPH.out_degrees.astype(int)
    src, dst = degree[GRAPH.src], degree[GRAPH.dst]
    assert found["x"].tolist() == added(GRAPH.dst[(src % 2 == 0) & (dst < 3)]).tolist()
    assert found["y"].tolist() == added(GRAPH.dst[(src % 2 == 0) & (src > 2)]).tolist()


def test_turned():
    found = words("""
var back : edgeset{Edge}(Vertex,Vertex) = edges.transpose();
back.apply(count);
atomic(3);
""", X + """
func count(src : Vertex, dst : Vertex) x[dst] = x[dst] + 1; end
func atomic(n : int) vertices.apply(add); end
func add(v : Vertex) atomicAdd(x, v, 2); end
""")
    assert found["x"].tolist() == (added(GRAPH.src) + 2).tolist()


RELAX = """const dist : vector{Vertex}(int) = 1000;
func relax(src : Vertex, dst : Vertex, w : int) -> better : bool
    if %s
        dist[dst] = dist[src] + w;
        better = true;
    else
        better = false;
    end
end
"""
SEARCH = """
dist[2] = 0;
var now : vertexset{Vertex} = new vertexset{Vertex}(0);
now.addVertex(2);
while (now.getVertexSetSize() > 0)
    #s1# var next : vertexset{Vertex} = edges.from(now).apply(relax);
    delete now;
    now = next;
end
"""
WEIGHTED = GRAPH.weighted(9, 3)


@pytest.mark.parametrize("test", ["dist[dst] > dist[src] + w", "dist[src] + w < dist[dst]",
                                  "(w > 0) and (dist[src] + w < dist[dst])"])
def test_stores_that_improve(test):
    """A store of what is less is a minimum, and ``apply`` gives the vertices that got a true."""
    found = words(SEARCH, RELAX % test, WEIGHTED, HEAD.replace("Vertex)", "Vertex,int)", 1))
    wanted = reference.run(programs.find("sssp"), WEIGHTED, source=2).outputs["distance"]
    assert found["dist"].tolist() == np.minimum(wanted, 1000).tolist()


@pytest.mark.parametrize("test", ["dist[dst] < dist[src] + w", "dist[dst] > dist[src] + 1"])
def test_no_improvement(test):
    text = RELAX % test
    if "<" in test:
        assert words(SEARCH.replace("while", "if"), text.replace("1000", "1"), WEIGHTED,
                     HEAD.replace("Vertex)", "Vertex,int)", 1))["dist"].max() > 1
        return
    with pytest.raises(LanguageError, match="several edges may store"):
        read(SEARCH, text, HEAD.replace("Vertex)", "Vertex,int)", 1))


def test_found_by_edges():
    found = words("""
for i in 0:2
    var met : vertexset{Vertex} = edges.from(first).apply(meets);
    met.apply(up);
end
edges.apply(meets);
""", X + """
func first(v : Vertex) -> o : bool o = v < 6; end
func meets(src : Vertex, dst : Vertex) -> o : bool o = dst != 3; end
func up(v : Vertex) x[v] += 1; end
""")
    wanted = np.zeros(COUNT, int)
    wanted[GRAPH.dst[GRAPH.src < 6]] = 2
    wanted[3] = 0
    assert found["x"].tolist() == wanted.tolist()


def test_filters_that_change():
    """A filter of a vertex may change its words; its result is that of its own stores."""
    program = read("""
var some : vertexset{Vertex} = new vertexset{Vertex}(edges.getVertices());
for i in 0:4
    var next : vertexset{Vertex};
    if i < 2
        next = some.filter(halve);
    else
        next = vertices.where(halve);
    end
    some = next;
end
""", X.replace("= 0", "= 1") + """const rest : vector{Vertex}(int) = edges.getOutDegrees();
func halve(v : Vertex) -> go_on : bool
    rest[v] = rest[v] / 2;
    go_on = false;
    if rest[v] > 0
        x[v] += 1;
        go_on = true;
    end
end
""")
    assert program.outputs == ("x", "rest")
    rest, x, some = GRAPH.out_degrees.astype(int), np.ones(COUNT, int), np.full(COUNT, True)
    for turn in range(4):
        now = some if turn < 2 else np.full(COUNT, True)
        rest = np.where(now, rest // 2, rest)
        x += now & (rest > 0)
        some = now & (rest > 0)
    found = reference.run(program, GRAPH).outputs
    assert found["x"].tolist() == x.tolist() and found["rest"].tolist() == rest.tolist()


# Main

def test_sums():
    found = words("""
var n : int = vertices.size();
var all : int = degree.sum();
var some : int = 1;
var many : int = 0;
for i in 0:n
    if degree[i] > 2
        some += degree[i] * 2;
        if i != 0 many += 1; end
    end
end
var part : double = 0;
for i in 0:edges.getVertices()
    part += f[i];
end
x[0] = all; x[1] = some; x[2] = many;
if part == 0.25 * n x[3] = 1; end
""", X + """const degree : vector{Vertex}(int) = edges.getOutDegrees();
const f : vector{Vertex}(double) = 0.25;
""")
    degree = GRAPH.out_degrees.astype(int)
    assert found["x"][:4].tolist() == [
        degree.sum(), 1 + 2 * degree[degree > 2].sum(), (degree[1:] > 2).sum(), 1]


def test_breaks():
    found = words("""
var n : int = 0;
while n < 10
    n += 1;
    if n == 4
        vertices.apply(up);
        break;
    elif n == 3
        vertices.apply(up);
    end
    x[n] = 1;
end
for i in 0:9
    for j in 0:9
        if j == 2 break; end
        vertices.apply(up);
    end
    if i > 1
        if n == 4 break; end
        x[8] = 1;
    else
        n = 4;
    end
    x[9] = 100 * i;
end
""", X + "func up(v : Vertex) x[v] += 1000; end ")
    wanted = np.full(COUNT, 2000 + 3 * 2000)
    wanted[1:4] = [1 + 2000 + 6000, 1 + 2000 + 6000, 1 + 1000 + 6000]
    wanted[9] = 100 + 2000
    assert found["x"].tolist() == wanted.tolist()


# Queues

@pytest.mark.parametrize("condition", ["pq.finished() == false", "not pq.finished()",
                                       "pq.finished() != true", "pq.finishedNode(4) == false",
                                       "false == false"])
def test_queue(condition):
    program = read(f"""
var start : int = atoi(argv[2]);
dist[start] = 0;
pq = new priority_queue{{Vertex}}(int)(false, false, dist, 1, 2, false, start);
while ({condition})
    if pq.finished() break; end
    var now : vertexset{{Vertex}} = pq.dequeue_ready_set();
    #s1# edges.from(now).applyUpdatePriority(relax);
    delete now;
end
delete pq;
""", """const dist : vector{Vertex}(int) = 2147483647; const pq : priority_queue{Vertex}(int);
func relax(src : Vertex, dst : Vertex, w : int)
    var next : int = dist[src] + w;
    pq.updatePriorityMin(dst, dist[dst], next);
end
""", HEAD.replace("Vertex)", "Vertex,int)", 1))
    assert [note[:7] for note in program.notes] == ["line 15"] * ("Node" in condition)
    found = reference.run(program, WEIGHTED, start=1).outputs["dist"]
    wanted = reference.run(programs.find("sssp"), WEIGHTED, source=1).outputs["distance"]
    assert found.tolist() == np.minimum(wanted, 2147483647).tolist()


# Entries

EXPORTED = """
const edges : edgeset{Edge}(Vertex,Vertex);
const vertices : vertexset{Vertex};
const x : vector{Vertex}(int); const y : vector{Vertex}(int);
const base : int; const damp : double = 0.5;
func set(v : Vertex) x[v] = base; end
func count(src : Vertex, dst : Vertex) y[dst] += x[src]; end
"""


def test_exported():
    program = read_graphit("element Vertex end element Edge end" + EXPORTED + """
export func run(graph : edgeset{Edge}(Vertex,Vertex), from_here : int, much : double) -> out :
        vector{Vertex}(int)
    edges = graph;
    vertices = edges.getVertices();
    x = new vector{Vertex}(int)();
    y = new vector{Vertex}(int)();
    base = from_here + 1;
    if much > damp base = base + 1; end
    vertices.apply(set);
    graph.apply(count);
    out = y;
end
""", "p.gt")[0]
    assert [(each.name, each.type) for each in program.arguments] == [
        ("from_here", Type.WHOLE), ("much", Type.DECIMAL)]
    assert program.outputs == ("y",)
    found = reference.run(program, GRAPH, from_here=4, much=0.75).outputs["y"]
    assert found.tolist() == (6 * added(GRAPH.dst)).tolist()


def test_several_exported():
    program = read_graphit("element Vertex end element Edge end" + EXPORTED + """
export func begin(graph : edgeset{Edge}(Vertex,Vertex))
    edges = graph; vertices = edges.getVertices(); base = 3; vertices.apply(set);
end
export func go(times : int) for i in 0:times edges.apply(count); end end
""", "p.gt")[0]
    assert "begin, then go" in program.notes[0] and program.outputs == ("x", "y")
    found = reference.run(program, GRAPH, times=2).outputs
    assert found["y"].tolist() == (6 * added(GRAPH.dst)).tolist()


def test_graph_of_any_argument():
    program = read("var a : int = atoi(argv[1]); var b : int = argv[3]; a = a + 1; x[b] = a;",
                   head=HEAD.replace("argv[1]", "argv[2]"))
    assert [argument.name for argument in program.arguments] == ["argv1", "b"]
    assert reference.run(program, GRAPH, argv1=4, b=2).outputs["x"][:4].tolist() == [0, 0, 5, 0]
    program = read("x[1] = vertices.size();", head="element Vertex end const vertices : "
                   "vertexset{Vertex} = new vertexset{Vertex}(5);\n")
    assert program.notes == ("the vertices are those of the run's graph",)
    assert reference.run(program, GRAPH).outputs["x"][1] == COUNT
    program = read("edges = load(argv[1]);", head=HEAD.replace("argv[1]", '"a file.el"'))
    assert program.notes == ('the graph is that of the run, and not "a file.el"',)


# Schedules

def test_cpu_schedules():
    text = HEAD + """const p : vector{Vertex}(int) = -1;
func unset(v : Vertex) -> o : bool o = p[v] == -1; end
func set(src : Vertex, dst : Vertex) p[dst] = src; end
func main()
    p[3] = 3;
    var now : vertexset{Vertex} = new vertexset{Vertex}(0);
    now.addVertex(3);
    #s0# while now.size() > 0
        #s1# now = edges.from(now).to(unset).applyModified(set, p);
    end
    #s2# edges.to(unset).apply(set);
    #s3# edges.to(unset).apply(set);
end
schedule:
    program->configApplyDirection("s0:s1", "SparsePush-DensePull")
        ->configApplyParallelization("s0:s1", "edge-aware-dynamic-vertex-parallel", 64);
    program->configApplyDenseVertexSet("s0:s1", "bitvector", "src-vertexset", "DensePull");
    program->configApplyDirection("s2", "DensePush-SparsePush")->configApplyNUMA("s2", "parallel");
    program->configApplyDirection("s3", "SparsePush-DensePull");
    program->configApplyParallelization("s9", "serial");
    program->fuseFields({"p", "q"});
"""
    program, schedules = read_graphit(text, "p.gt")
    assert {label: str(schedule) for label, schedule in schedules.items()} == {
        "s0:s1": "edge_only,push | edge_only,pull:bitmap when input_vertexset_size>=0.05",
        "s2": "push", "s3": "pull"}
    assert len(program.notes) == 1
    for part in ('configApplyNUMA(s2, parallel)', 'configApplyParallelization(s9, serial)',
                 "fuseFields(p, q)", "label s9, which no operator"):
        assert part in program.notes[0]
    applied(program, schedules)
    queue = read_graphit(text.replace(text[text.index("schedule:"):], "") + """schedule:
program->configApplyPriorityUpdateDelta("s1", "argv[3]");""", "p.gt")
    assert "configApplyPriorityUpdateDelta(s1, argv[3])" in queue[0].notes[0]


# Machines

def test_machines():
    """Statements that stand for one have places of their own, so machines tell them apart."""
    program = read("""
for turn in 0:3
    var seen : vector{Vertex}(int) = turn;
    var met : vertexset{Vertex} = edges.from(first).apply(meets);
    met.apply(up[seen]);
    var next : vertexset{Vertex} = met.filter(halve);
    if next.size() == 0 break; end
    next.apply(up[seen]);
    var all : int = x.sum();
    for i in 0:vertices.size() all += rest[i]; end
    x[turn] = all;
end
""", X + """const rest : vector{Vertex}(int) = edges.getOutDegrees();
func first(v : Vertex) -> o : bool o = v < 6; end
func meets(src : Vertex, dst : Vertex) -> o : bool o = dst != 3; end
func up[a : vector{Vertex}(int)](v : Vertex) a[v] += 1; x[v] += a[v]; end
func halve(v : Vertex) -> o : bool rest[v] = rest[v] / 2; o = rest[v] > 0; end
""")
    found, wanted = cpu.run(program, GRAPH).outputs, reference.run(analysed(program), GRAPH).outputs
    assert {name: each.tolist() for name, each in found.items()} == {
        name: each.tolist() for name, each in wanted.items()}


# Errors

#: Lines of main, what stands before it; line and column; words.
REFUSED = [
    ("", "extern func f(a : int) -> b : int;", "5:1", "function of C\\+\\+"),
    ("", "const a : vector[4](int);", "5:11", "no arrays of a fixed size.*vertices.filter"),
    ("", "const a : vector{Vertex}(vector[2](int)) = 0;", "5:26", "one word"),
    ("", "const a : vector{Vertex}(vector{Vertex}(int)) = 0;", "5:26", "one word"),
    ("var l : list{vertexset{Vertex}} = new list{vertexset{Vertex}}();", X, "7:9",
     "no lists.*vertices.filter"),
    ("", "const x : vector{Vertex}(float) = -1;", "5:35", "no negative numbers"),
    ("", "const x : vector{Vertex}(uint_64) = 0;", "5:26", "elements of a vector are of type"),
    ("x[0] = x.max();", X, "7:10", "sum\\(\\) only.*vertices.filter"),
    ("x = y;", X + "const y : vector{Vertex}(int) = 0;", "8:1", "for each vertex.*x\\[v\\] = y"),
    ("edges = edges.relabel();", X, "7:1", "graph is that of the run"),
    ("var other : edgeset{Edge}(Vertex,Vertex) = load(argv[3]);", X, "7:1", "edges.transpose"),
    ("var t : float = stopTimer(); if t > 3 x[0] = 1; end", X, "7:33", "'t' is a time"),
    ("var n : int = 0.5;", X, "7:15", "rest would be lost"),
    ("var n : int = 7 / 2.0;", X, "7:15", "rest would be lost"),
    ("var n : int = 0; n = atof(argv[2]);", X, "7:22", "rest would be lost"),
    ("x[0] = half(0.5);", X + "func half(a : int) -> r : int r = a / 2; end", "8:13",
     "rest would be lost"),
    ("x[0] = f(1);", X + "func f(a : int) -> r : int r = f(a); end", "6:32", "calls itself"),
    ("x[0] = f(1, 2);", X + "func f(a : int) -> r : int r = a; end", "8:8", "takes 1 arguments"),
    ("vertices.apply(g);", X + "const t : int = 3; func f(a : int) -> r : int r = t + a; end "
     "func g(v : Vertex) var t : int = 5; x[v] = f(t); end", "6:105", "another name"),
    ("vertices.apply(f);", X + "func f[a : int](v : Vertex) x[v] = a; end", "8:16",
     "takes \\[a\\]"),
    ("vertices.apply(f[1, 2]);", X + "func f[a : int](v : Vertex) x[v] = a; end", "8:16",
     "takes \\[a\\]"),
    ("vertices.apply(f[1]);", X + "func f(v : Vertex) x[v] = 1; end", "8:16", "no parameters in"),
    ("var b : int = 2; vertices.apply(f[b]);",
     X + "func f[a : int](v : Vertex) var b : int = a; x[v] = b; end", "8:35", "another name"),
    ("edges.apply(f);", X + "func f(a : Vertex, b : Vertex) x[b] = x[a] + 1; end", "6:32",
     "several edges may store"),
    ("", "const x : vector{Vertex}(int) = -1; func f(a : Vertex, b : Vertex) x[b] += x[a] + 1; end",
     "5:68", "nothing is added"),
    ("", X + "func f(v : Vertex) break; end", "6:20", "break ends a loop of main"),
    ("break;", X, "7:1", "break ends a loop of main"),
    ("", X + "func f(a : Vertex, b : Vertex) x[b] += intersectNeighbor(edges, a, b); end", "6:40",
     "no neighbours"),
    ("pq = new priority_queue{Vertex}(int)(false, false, x, 0, 0, false, 1);",
     X + "const pq : priority_queue{Vertex}(int);", "8:55", "must be 1"),
    ("pq = new priority_queue{Vertex}(int)(false, false, x, 1, 0, true, -1);",
     X + "const pq : priority_queue{Vertex}(int);", "8:67", "begins with one vertex"),
    ("while pq.finishedNode() == false end", X + "const pq : priority_queue{Vertex}(int);", "8:7",
     "dequeue_ready_set"),
    ("edges.applyUpdatePriority(f);", X + "const pq : priority_queue{Vertex}(int); func f(a : "
     "Vertex, b : Vertex) pq.updatePrioritySum(b, -1, 1); end", "6:75", "updatePriorityMin"),
    ("var __x : int = 3;", X, "7:5", "begins with __"),
    ("print 1 +;", X, "7:10", "cannot stand here"),
]


@pytest.mark.parametrize("main, before, place, match", REFUSED, ids=range(len(REFUSED)))
def test_refused(main, before, place, match):
    with pytest.raises(LanguageError, match=match) as caught:
        read(main, before.rstrip("\n") + "\n")
    assert str(caught.value).startswith(f"p.gt:{place}: "), caught.value


@pytest.mark.parametrize("text, place, match", [
    ('schedule:\nprogram->configApplyDirection("s1", "DensePull");', "1:1", "without a program"),
    ('schedule:\nprogram->configApplyColour("s1", "red");', "2:10", "no 'configApplyColour'"),
    ('schedule:\nprogram->configApplyDirection("s1");', "2:10", "at least 2 arguments"),
    ('schedule:\nprogram->configApplyDirection("s1", "Sideways");', "2:8", "no direction"),
    ('schedule:\nprogram->configApplyPriorityUpdateDelta("s1", 0);', "2:8", "delta is 0"),
    (HEAD + "func main() end", "5:1", "no vectors"),
    (HEAD + X + "export func f() end export func main() end", "", ""),
    (HEAD + X + "export func f(a : edgeset{Edge}(Vertex,Vertex), b : vector{Vertex}(int)) end",
     "6:49", "begins with an expression"),
    (HEAD + X + "export func f() -> r : int r = 3; end", "6:20", "results of a program are"),
    (HEAD + X + "export func f() -> r : vector{Vertex}(int) vertices.size(); end", "6:20",
     "r = vector")])
def test_refused_texts(text, place, match):
    if not match:
        assert read_graphit(text)[0].outputs == ("x",)
        return
    with pytest.raises(LanguageError, match=match) as caught:
        read_graphit(text, "p.gt")
    assert str(caught.value).startswith(f"p.gt:{place}: "), caught.value
    assert isinstance(caught.value, ScheduleOnly) == ("without" in match)
