"""The GraphVM ``cuda``: its text, what nvcc says to it, and its results on a GPU.

======================  ============================================================
text                    test_text_is_deterministic: the same in every process;
                        test_unknown_variants: errors name the legal ones
start copies            test_copies: only where an operator reads what it changes
gathered reductions     test_gathered: at the row's own vertex, and nowhere else
phases                  test_phases: what runs before rows; test_status: what begins
                        and ends a call; test_fused_text: that
                        loops are one kernel, and which phases are in it
compilation             test_compiles: every program with all schedules and both
                        directions; test_compiles_choices: with fusion, EdgeBlocking
                        and hybrid schedules; test_refused: nvcc's message
availability            test_available: a reason, or none;
                        test_run_without_gpu: a run raises this reason
results                 test_results: every program and feature as the reference,
                        on every schedule; test_fixed_point: with the same fraction bits;
                        test_filter_that_may_fail: by the words of the start
lanes without a GPU     test_a_missing_atomic
errors                  test_errors: as the reference raises them
sets                    test_delta: queues with thresholds; test_queues: two in one
                        loop, and what a run asks the GPU for; test_no_vertex;
                        test_what_a_call_asks_for
choices                 test_chosen: by the caller, the operator, or the size of
                        its input; test_scheduled: results are the same for all
                        choices of the scheduling language;
                        test_missing_choices: errors
blocks                  test_blocks: for sizes of 1 up to all vertices
fused loops             test_fused: every loop, with all schedules;
                        test_fused_errors, test_fused_numbers: as the host's loops;
                        test_late: a loop that returns now and then
random programs         test_random_programs, also fused
======================  ============================================================

Tests that compile need nvcc on PATH. Tests of results need it, too, and an NVIDIA GPU; where there
is none, a C++ compiler and :mod:`tb.sw.vm.lanes` do.
"""

import pathlib
import subprocess
import sys
import types

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from base.errors import UserError
from sim.errors import ToolError
from sw.graph import Graph
from sw.lang import graph_ir as ir
from sw.lang.passes import CHOSEN, analysed
from sw.lang.passes.rewrite import changed, marked
from sw.lang.programs import find, names
from sw.lang.reader import read_text
from sw.lang.schedule import read_schedule
from sw.vm import cuda, reference
from sw.vm.cuda import nvcc
from sw.vm.cuda.choices import check_program
from sw.vm.host import perform
from tb.sw.graphs import graphs as graphs_of_a_few, random_graph
from tb.sw.vm.cuda_programs import ERRORS, FEATURES, feature, with_error
from tb.sw.vm.lanes import without_gpu
from tb.sw.vm.random_programs import program_texts
from tb.sw.vm.small_programs import program as small_program


VARIANTS = [(schedule, direction) for schedule in cuda.SCHEDULES for direction in cuda.DIRECTIONS]

#: Programs that run on undirected graphs.
UNDIRECTED = ("kcore", "mis", "cc")


def compiler_absence():
    """The reason why nothing can be compiled, or None."""
    try:
        nvcc.nvcc()
    except ToolError as error:
        return str(error)
    return None


needs_nvcc = pytest.mark.skipif(compiler_absence() is not None, reason=str(compiler_absence()))
GPU = cuda.available() is None
on_gpu = pytest.mark.usefixtures("gpu")
variants = pytest.mark.parametrize("schedule, direction", [
    *VARIANTS, *((schedule, None) for schedule in cuda.SCHEDULES)])


@pytest.fixture
def gpu(monkeypatch):
    """A GPU. Where none answers, the lanes of its text take turns on this computer."""
    if not GPU:
        without_gpu(monkeypatch)


def text(program, *chosen):
    """The part of a program's text that is its own."""
    return cuda.generate(analysed(program, after=CHOSEN), chosen, *chosen[0]).text.rpartition(
        "INLINE word checked")[2]


def fused(program, wanted=True):
    """The program with fusion asked for where a loop can be fused, or with no fusion."""
    found = analysed(program, after=CHOSEN)
    return changed(found, lambda node: marked(
        node, needs_fusion=wanted and node.metadata["can_fuse"])
                   if isinstance(node, ir.WhileLoop | ir.ForLoop) else node)


def scheduled(program, schedule):
    """The program with the metadata of a schedule at all operators of edges that can have it."""
    plan = read_schedule(schedule)
    found = program

    def change(node):
        if not isinstance(node, ir.EdgeSetIterator):
            return node
        every = node.input_vset == ir.ALL
        if hasattr(plan, "first"):
            return node if every else marked(node, hybrid=(
                plan.criterion, plan.threshold, plan.first.metadata, plan.second.metadata))
        if plan.blocked and (not every or node.to_filter is not None):
            return node
        return marked(node, **plan.metadata)

    return changed(found, change)


def named(name):
    """The program or the feature of that name."""
    return feature(name) if name in FEATURES else find(name)


def graphs(program):
    """Graphs with hubs, of one vertex, without arcs, and of more vertices than a CTA has threads.
    """
    rng = np.random.default_rng(7)
    hub = np.concatenate([np.zeros(700, np.int64), rng.integers(300, size=500)])
    spokes = np.concatenate([rng.integers(300, size=700), np.full(500, 5)])
    found = [random_graph(1, 3, 1), random_graph(40, 0, 2), random_graph(600, 5000, 3),
             Graph(300, hub, spokes)]
    for graph in found:
        graph = graph.weighted(3000, 5)
        yield graph.undirected().simplify() if program.name in UNDIRECTED else graph


def same(program, graph, schedule, direction, **given):
    """Compare a run with that of the reference. On a GPU all variants share a library."""
    shared = VARIANTS if GPU else ()
    got = cuda.run(program, graph, schedule, direction, variants=shared, **given)
    wanted = reference.run(program, graph, **given)
    assert got.fraction_bits == wanted.fraction_bits
    assert got.outputs.keys() == wanted.outputs.keys()
    for name, words in wanted.outputs.items():
        np.testing.assert_array_equal(got.outputs[name], words, err_msg=f"{graph}: {name}")


# Text

def test_text_is_deterministic():
    script = ("from sw.lang.passes import analysed\nfrom sw.lang.programs import find, names\n"
              "from sw.vm import cuda\n"
              "for name in names():\n"
              "    print(cuda.generate(analysed(find(name)), [('twc', 'push')]).text)\n")
    first, second = (subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path), "PYTHONHASHSEED": seed},
    ).stdout for seed in "12")
    assert first == second and first.count("extern") > 20


@pytest.mark.parametrize("schedule, direction, message", [
    ("vm", "push", "schedule 'vm' must be one of vertex_based, wm, cm, strict, twc, etwc, "
     "edge_only"),
    ("wm", "both", "direction 'both' must be one of push, pull")])
def test_unknown_variants(schedule, direction, message):
    with pytest.raises(UserError, match=message):
        cuda.generate(analysed(find("bfs")), [(schedule, direction)])


def test_copies():
    """A sum is read at the source and changed; the programs of the package need no copies, some by
    facts: labels in any order, words that are early, and sources that are no destinations."""
    assert "launch<keep<1, false>>" in text(feature("counted"), ("etwc", "push"))
    for name in ("bfs", "sssp", "cc", "bc", "mis"):
        assert "keep<" not in text(find(name), ("etwc", "push"))


def test_gathered():
    assert "gather_min(local.v1" in text(find("bfs"), ("wm", "pull"))
    assert "gather_" not in text(find("bfs"), ("wm", "push"))
    # Labels are reduced anywhere; only the flags are those of the row's own vertex.
    cc = text(find("cc"), ("wm", "pull"))
    assert "gather_min" not in cc and "gather_or(local.v1" in cc
    # In `both_ways` the source has a reduction of its own.
    assert "gather_min(local.v2" in text(feature("both_ways"), ("wm", "push"))


def test_first_edge():
    """A row ends with its first edge where this edge decides the result."""
    assert "local.done = true" in text(find("bfs"), ("etwc", "pull"))       # the least parent
    assert "local.done = true" in text(find("mis"), ("etwc", "pull"))       # covered by any
    for name in ("sssp", "cc", "pagerank"):
        assert "local.done = true" not in text(find(name), ("etwc", "pull"))


@pytest.mark.parametrize("name, chosen, phases", [
    ("bfs", ("etwc", "push"), ["etwc<Edges0push>"]),
    ("bfs", ("etwc", "pull"), ["clear_members", "set_members", "etwc<Edges0pull>"]),
    ("bfs", ("edge_only", "push"), ["clear_members", "set_members", "edge_only<Edges0push>"]),
    ("bfs", ("strict", "push"), ["sum_chunks<Edges0push>", "strict<Edges0push>"]),
    ("bfs", ("strict", "pull"), ["clear_members", "set_members", "strict<Edges0pull>"]),
    ("bfs", ("twc", "pull"), ["clear_members", "both<set_members, classify<Edges0pull>>",
                              "twc<Edges0pull>"]),
    ("counted", ("twc", "push"), ["keep<1, false>", "classify<Edges0push>", "twc<Edges0push>"])])
def test_phases(name, chosen, phases):
    schedule, direction = chosen
    program = feature(name) if name in FEATURES else find(name)
    lines = text(program, chosen).partition(f"edges_0_{schedule}_{direction}(")[2]
    lines = lines.partition("}")[0].splitlines()
    found = [line.strip().removeprefix("launch<").rpartition(">(")[0] for line in lines
             if "launch<" in line]
    assert found == phases


@pytest.mark.parametrize("name, schedule, clears, waits", [
    ("mis", "etwc", False, False), ("mis", "twc", True, False), ("bfs", "twc", False, True),
    ("pagerank", "etwc", False, False)])
def test_status(name, schedule, clears, waits):
    """The host waits only for a result, with which the status is cleared; without one the buckets
    are, and a fault stays."""
    lines = text(find(name), (schedule, "push")).partition(f"edges_0_{schedule}_push(")[2]
    lines = lines.partition("}")[0]
    assert ("clear_buckets(*call);" in lines, "end(*call, status);" in lines) == (clears, waits)
    assert ("return go_on(status);" in lines) != waits


def test_fused_text():
    found = text(fused(find("bfs")), ("cm", "push"))
    [kernel] = found.split("kernel_loop_0(")[1:2]
    runs = [line.strip() for line in kernel.splitlines() if "grid.run<" in line]
    assert runs == ["grid.run<cm<Edges0push>>();", "grid.run<each<Vertices0>>();"]
    assert found.count("__global__") == 1
    # Both directions where nobody chose, and no kernel where nobody asked.
    found = cuda.generate(fused(find("bfs")), ()).text
    assert "if (grid.pulls(16))" in found and "grid.run<collect>()" in found
    assert "large()) return" not in found
    # Only short rounds where nobody asked, and none where somebody chose.
    plain = analysed(find("bfs"), after=CHOSEN)
    assert "large()) return" in cuda.generate(plain, ()).text
    assert "kernel_loop" not in cuda.generate(plain, (), "wm").text


# Compilation

@needs_nvcc
@pytest.mark.parametrize("name", [*names(), *FEATURES])
@pytest.mark.sample(3)
def test_compiles(name):
    outcome = cuda.compile_check(named(name), ("sm_80", "sm_90") if name == "bfs" else ("sm_80",))
    assert outcome.library.stat().st_size > 10_000
    for schedule, direction in VARIANTS:
        for number in outcome.generated.edges.values():
            assert f"int edges_{number}_{schedule}_{direction}(" in outcome.generated.text


@needs_nvcc
@pytest.mark.parametrize("name", [*names(), *FEATURES])
@pytest.mark.sample(1)
def test_compiles_choices(name):
    """Fused loops under a hybrid schedule, and blocks where operators go through all edges."""
    plans = ["strict,push,dedup:bitmap | cm,pull,unfused_bitmap when input_vertexset_size>=0.1"]
    if any(node.metadata["is_all_edges"] for node in ir.instructions(analysed(named(name)).body)
           if isinstance(node, ir.EdgeSetIterator)):
        plans.append("twc:blocked:64")
    for schedule in plans:
        outcome = cuda.compile_check(fused(scheduled(named(name), schedule)), ("sm_80",))
        assert ("int edges_0_twc_push_blocks0(" in outcome.generated.text) == bool(
            outcome.generated.blocks) == ("blocked" in schedule)
        assert len(outcome.generated.loops) == sum(
            isinstance(node, ir.WhileLoop | ir.ForLoop) and node.metadata["can_fuse"]
            for node in ir.instructions(analysed(named(name)).body))


@needs_nvcc
def test_refused():
    with pytest.raises(UserError, match=r"nvcc refuses the CUDA of a test: .*undefined"):
        nvcc.library("int main() { return unknown; }", ("sm_80",), "a test")


# Availability

def test_available():
    absence = cuda.available()
    assert absence is None or "no GPU answers" in absence or "nvcc" in absence


@pytest.mark.skipif(nvcc.gpu_absence() is None, reason="a GPU answers")
def test_run_without_gpu():
    with pytest.raises(UserError, match="no GPU answers"):
        cuda.run(find("bfs"), random_graph(5, 9, 1))


# Results

@on_gpu
@variants
@pytest.mark.parametrize("name", [*names(), *FEATURES])
@pytest.mark.sample(6)
def test_results(name, schedule, direction):
    program = named(name)
    for graph in graphs(program):
        if name == "label_propagation" and graph.num_vertices == 1:
            continue
        same(program, graph, schedule, direction)


@on_gpu
@variants
@pytest.mark.sample(2)
def test_fixed_point(schedule, direction):
    """A hub whose rank needs fewer fraction bits than the most."""
    spokes = np.arange(1, 60)
    graph = Graph(60, spokes, np.zeros(59, np.int64))
    same(find("pagerank"), graph, schedule, direction, iterations=3)
    same(find("pagerank"), graph, schedule, direction, iterations=9, tolerance=0.01)


@on_gpu
@settings(max_examples=4, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=program_texts(), graph=graphs_of_a_few(weighted=True))
def test_random_programs(text, graph):
    """The machine's own choice and others, for words, fraction bits, and errors."""
    program = read_text(text)
    wanted = outcome(lambda: reference.run(program, graph))
    for each, schedule, direction in ((program, None, None), (program, "cm", "pull"),
                                      (fused(program), "strict", "push"),
                                      (fused(program), None, None)):
        found = outcome(lambda each=each, schedule=schedule, direction=direction: cuda.run(
            each, graph, schedule, direction))
        assert found == wanted, (schedule, direction)


@on_gpu
@pytest.mark.parametrize("direction", cuda.DIRECTIONS)
def test_filter_that_may_fail(direction):
    """It is evaluated before the operator: here it would divide by the 0 that an edge brings."""
    program = small_program(
        "b = vector(uint, 1)", "def few(v):", "    return 7 // b[v] > 0", "def take(src, dst):",
        "    b[dst].min(0)", "s = vertexset(source)", "edges.from_(s).to(few).apply(take)",
        output="b")
    for schedule in ("vertex_based", "twc"):
        same(program, Graph(6, [1] * 10, [2, 3, 4, 5, 1] * 2), schedule, direction, source=1)


def outcome(function):
    """The words of all results, or the class and the text of the error."""
    try:
        result = function()
    except UserError as error:
        return type(error), str(error)
    return result.fraction_bits, {name: words.tolist() for name, words in result.outputs.items()}


@on_gpu
@variants
@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.sample(6)
def test_errors(name, schedule, direction):
    program, graph = with_error(name), random_graph(60, 300, 1)
    with pytest.raises(UserError) as wanted:
        reference.run(program, graph)
    with pytest.raises(UserError) as got:
        cuda.run(program, graph, schedule, direction)
    assert type(got.value) is type(wanted.value) and str(got.value) == str(wanted.value)


@on_gpu
@pytest.mark.parametrize("last", [
    ["    vertices.apply(add)"], ["    few = vertices.where(large)"],
    ["    vertices.apply(add)", "    vertices.apply(add)", "    left = left - 5",
     "    few = vertices.where(large)"]])
def test_later_errors(last):
    """The host goes on behind an operator without a result, and hears of its fault later: before
    those of operators that come later, whatever their place in the program, and before an error of
    its own."""
    program = small_program(
        "b = vector(uint, 1)", "def add(v):", "    a[v] = a[v] + 1431655765", "def take(v):",
        "    b[v] = 9 - b[v] * 7", "def large(v):", "    return a[v] > left", "left = 2",
        "while left > 0 - 9:", "    vertices.apply(take)", "    vertices.apply(add)",
        "    left = left - 1", *last, "    vertices.apply(add)", output="a, b")
    graph = random_graph(40, 90, 1)
    wanted = outcome(lambda: reference.run(program, graph))
    assert isinstance(wanted[0], type), wanted
    assert outcome(lambda: cuda.run(program, graph)) == wanted


@on_gpu
@variants
@pytest.mark.parametrize("delta", [1, 500, 4000])
@pytest.mark.sample(3)
def test_delta(delta, schedule, direction):
    graph = random_graph(400, 2000, 9).weighted(900, 2)
    same(find("sssp"), graph, schedule, direction, delta=delta)


#: Two queues that take turns, each with a width of its own.
QUEUES = small_program(
    "far = vector(uint, infinity)", "hops = vector(uint, infinity)",
    "def relax(src, dst, weight):", "    far[dst].min(far[src] + weight)",
    "def hop(src, dst):", "    hops[dst].min(hops[src] + 3)", "far[source] = 0", "hops[source] = 5",
    "long = PriorityQueue(far, source, delta=900)", "short = PriorityQueue(hops, source, delta=4)",
    "while long:", "    near = long.dequeue()",
    "    edges.from_(near).apply_update_priority(relax, long)", "    few = short.dequeue()",
    "    edges.from_(few).apply_update_priority(hop, short)", output="far, hops")


@on_gpu
def test_queues(monkeypatch):
    """Each queue has its own threshold and width. A run asks the GPU for the same kernels, copies
    and clears whether it is the machine's first or not: a fused loop for one kernel."""
    monkeypatch.setattr("sw.vm.cuda.text._RUNTIME", Runtime("LATE = 1", "LATE = 1000"))
    graph = random_graph(300, 1500, 3).weighted(3000, 5)
    wanted, asked = reference.run(QUEUES, graph), []
    for program in (fused(QUEUES, False), fused(QUEUES), QUEUES):
        program = analysed(program, after=CHOSEN)
        machine = cuda.CudaMachine(program, graph)
        for _ in range(2):
            found = perform(program, graph, machine, {})
            for name, words in wanted.outputs.items():
                np.testing.assert_array_equal(found.outputs[name], words, err_msg=name)
            asked.append((machine.kernels, machine.transfers))
    assert asked == [(308, 0)] * 2 + [(1, 1)] * 4


def test_what_a_call_asks_for():
    """Kernels and transfers of a machine are those of its own calls."""
    class Library:
        kernels, transfers = 5, 7

        def busy(self):
            return True

        def asked(self):
            return types.SimpleNamespace(kernels=self.kernels, transfers=self.transfers)

        def call(self, name, *arguments):
            self.kernels, self.transfers = self.kernels + 2, self.transfers + 3

    machine = cuda.CudaMachine.__new__(cuda.CudaMachine)
    machine._library, machine.seconds, machine.kernels, machine.transfers = Library(), 0.0, 0, 0
    machine._call = types.SimpleNamespace(order=0)
    for times in (1, 2):
        machine._timed("operator")
        assert (machine.kernels, machine.transfers) == (2 * times, 3 * times)
    assert machine.seconds > 0


def operator(program):
    """The first operator of edges of a program."""
    return next(node for node in ir.instructions(program.body)
                if isinstance(node, ir.EdgeSetIterator))


@on_gpu
def test_chosen():
    """Inputs of many arcs are pulled, others pushed, unless the operator or the caller decides."""
    # A star whose leaves have an arc each to the next.
    leaves = np.arange(1, 640)
    graph = Graph(640, [*np.zeros(639, int), *leaves], [*leaves, *np.roll(leaves, 1)])
    program = analysed(find("bfs"), after=CHOSEN)
    machine = cuda.CudaMachine(program, graph)
    node, every = operator(program), machine.make_set(None)
    unvisited = ir.VertexFilter(output_vset="found", input_vset=ir.ALL, filter="unvisited",
                                position=node.position)

    def chosen(vset, asked=machine):
        choice, direction = asked.chosen(node, vset)
        return choice.schedule(direction), direction

    assert chosen(every) == ("etwc", "pull")
    machine.start(0, {"depth": np.full(640, 5, np.uint32), "parent": np.zeros(640, np.uint32)})
    machine.store("depth", 0, 2**32 - 1)
    hub = machine.where(unvisited, every, {})
    assert (hub.count, hub.arcs, *chosen(hub)) == (1, 639, "etwc", "pull")
    machine.store("depth", 0, 5)
    machine.store("depth", 9, 2**32 - 1)
    leaf = machine.where(unvisited, every, {})
    assert (leaf.count, leaf.arcs, *chosen(leaf)) == (1, 1, "strict", "push")
    # More than one of 16 arcs, if an edge may end its row.
    assert chosen(machine.make_set(range(1, 81))) == ("etwc", "pull")
    assert chosen(machine.make_set(range(1, 80))) == ("strict", "push")
    program = analysed(scheduled(find("bfs"), "wm,push"), after=CHOSEN)
    assert chosen(every, cuda.CudaMachine(program, graph)) == ("wm", "push")
    program = analysed(scheduled(find("bfs"), "push | pull,edge_only when "
                                 "input_vertexset_size>=0.5"), after=CHOSEN)
    both, node = cuda.CudaMachine(program, graph), operator(program)
    assert chosen(machine.make_set(range(319)), both) == ("strict", "push")
    assert chosen(machine.make_set(range(320)), both) == ("edge_only", "pull")
    asked = cuda.CudaMachine(program, graph, "vertex_based", "push")
    assert chosen(every, asked) == ("vertex_based", "push")


#: Texts of the scheduling language.
SCHEDULED = ["pull", "pull:boolmap", "pull:bitmap,unfused_bitmap", "push,unfused_bitmap",
             "push,unfused_boolmap", "pull,fused", "push,dedup:bitmap", "push,dedup:boolmap",
             "pull,fused,dedup:bitmap", "push,dedup:monotonic_counters", "unfused_bitmap,no_dedup",
             "wm | pull when input_vertexset_size>=0.2",
             "twc,push | strict,pull:bitmap,unfused_bitmap when input_vertexset_size>=0.01"]


@on_gpu
@pytest.mark.parametrize("schedule", SCHEDULED)
@pytest.mark.parametrize("name", ["bfs", "sssp", "cc", "bc", "both_ways", "leaders"])
@pytest.mark.sample(6)
def test_scheduled(name, schedule):
    """Results do not depend on choices, with fused loops or without."""
    program = scheduled(named(name), schedule)
    for graph in graphs(program):
        same(program, graph, None, None)
        same(fused(program), graph, None, None)


@on_gpu
def test_no_deduplication():
    """Where an element changes at most once, a list needs no marks."""
    program = read_text("@program\ndef p(edges: edgeset, source: vertex = 0):\n"
                        "    seen = vector(uint, 0)\n    s = vertexset(source)\n"
                        "    def mark(a, b): seen[b].max(3)\n    while s:\n"
                        "        s = edges.from_(s).apply_modified(mark, seen)\n    return seen\n")
    for graph in graphs(program):
        for schedule in ("push,fused,no_dedup", "pull,fused,no_dedup"):
            same(scheduled(program, schedule), graph, None, None)


@pytest.mark.parametrize("schedule, message", [
    ("push,no_dedup", "no_dedup: several edges may change parent of one vertex, so the list"),
    ("no_dedup", "use dedup, unfused_bitmap or unfused_boolmap"),
    ("pull | push,no_dedup when input_vertexset_size>=0.1", "no_dedup"),
    ("push | pull when input_vertexset_size>=argv[3]", "takes its threshold from argv.3.; give")])
def test_missing_choices(schedule, message):
    program = analysed(scheduled(find("bfs"), schedule), after=CHOSEN)
    with pytest.raises(UserError, match=rf"bfs.py:\d+:\d+: .*{message}"):
        cuda.CudaMachine(program, random_graph(5, 9, 1))


def test_marks_need_no_deduplication():
    for schedule in ("unfused_bitmap,no_dedup", "pull,no_dedup"):
        check_program(analysed(scheduled(find("bfs"), schedule), after=CHOSEN))


# Blocks

@on_gpu
@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("schedule", cuda.SCHEDULES)
@pytest.mark.parametrize("name", ["pagerank", "cc", "label_propagation", "kinds", "counted"])
@pytest.mark.sample(4)
def test_blocks(name, schedule, direction):
    program = named(name)
    for graph in graphs(program):
        if name == "label_propagation" and graph.num_vertices == 1:
            continue
        for size in (1, 37, 4096) if graph.num_vertices < 100 else (37, 4096):
            plan = scheduled(program, f"{schedule}:blocked:{size},{direction}")
            same(plan if size > 1 else fused(plan), graph, None, None)


# Fused loops

@on_gpu
@pytest.mark.parametrize("schedule, direction", [
    *VARIANTS, (None, None), ("etwc", None), ("twc", None)])
@pytest.mark.parametrize("name", [*names(), *FEATURES])
@pytest.mark.sample(4)
def test_fused(name, schedule, direction):
    program = fused(named(name))
    for graph in graphs(program):
        if name == "label_propagation" and graph.num_vertices == 1:
            continue
        same(program, graph, schedule, direction)
        if name == "sssp":
            for delta in (1, 500, 4000):
                same(program, graph, schedule, direction, delta=delta)


#: Loops with numbers, sums and moved sets. Some fail.
LOOPS = [
    ["while turn < 5 or not done:", "    done = turn > 7 - len(some)",
     "    turn = max(turn + 2, 3) if turn != 4 else turn + 1", "    some = vertices.where(many)",
     "    if len(some) > 0:", "        vertices.apply(add)", "    else:",
     "        vertices.apply(twice)"],
    ["while turn < 5:", "    turn = turn + far", "    vertices.apply(add)"],
    ["turn = far * 8", "while turn > far:", "    turn = turn - far",
     "    some = vertices.where(never)"],
    ["while turn < 5:", "    turn = turn - 1", "    vertices.apply(add)"],
    ["while turn < 5:", "    turn = turn + 1", "    vertices.apply(divide)"],
    ["for turn in range(4):", "    old = some", "    some = vertices.where(many)",
     "    old.apply(add)", "    while done:", "        done = turn > 4", "        turn = 9"],
    ["while turn < 9:", "    turn = turn + 1", "    total = some.sum(value)",
     "    if total > 12:", "        some = vertices", "        turn = turn + 3",
     "    some.apply(add)", "    other = some.where(many)"],
    ["for again in range(2):", "    for turn in range(amount):", "        vertices.apply(add)"]]


def looped(lines):
    return small_program(
        "def many(v):", "    return a[v] > turn", "def never(v):", "    return a[v] > 9",
        "def add(v):", "    a[v] = a[v] + turn", "def twice(v):", "    a[v] = a[v] + turn // 2",
        "def divide(v):", "    x[v] = x[v] / (turn // 4)", "def value(v):", "    return a[v]",
        "turn = 0", "far = 4294967296", "done = turn > 0", "some = vertices", *lines)


@on_gpu
@pytest.mark.parametrize("lines", LOOPS)
def test_fused_numbers(lines):
    """Words are the same, and so are errors of numbers that are no words."""
    program, graph = looped(lines), random_graph(40, 90, 1)
    wanted = outcome(lambda: reference.run(program, graph))
    assert outcome(lambda: cuda.run(fused(program), graph)) == wanted


@on_gpu
@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.sample(3)
def test_fused_errors(name):
    """An operator that fails ends its loop, and the next run is not disturbed."""
    plain = with_error(name)
    line = next(node.position.line for node in plain.body if not isinstance(node, ir.Assign))
    lines = ("@program" + ERRORS[name]).splitlines()
    inner = [f"    {text}" for text in lines[line - 1:-1]]
    program = read_text("\n".join([*lines[:line - 1], "    for turn in range(3):", *inner,
                                   lines[-1], ""]), "<text>", name)
    graph = random_graph(60, 300, 1)
    wanted = outcome(lambda: reference.run(program, graph))
    assert isinstance(wanted[0], type)
    for direction in ("push", "pull"):
        assert outcome(lambda direction=direction: cuda.run(
            fused(program), graph, "etwc", direction)) == wanted


@on_gpu
@pytest.mark.parametrize("name", ["bfs", "sssp", "bc"])
def test_short_rounds(name):
    """A kernel takes up rounds of small sets, and the host performs the others."""
    # A path to a star and away from it.
    hub = np.arange(60, 260)
    program, graph = find(name), Graph(
        320, [*range(59), *np.full(200, 59), *hub, *range(260, 319)],
        [*range(1, 60), *hub, *np.full(200, 260), *range(261, 320)]).weighted(3, 1)
    ready = analysed(program, after=CHOSEN)
    machine, parts = cuda.CudaMachine(ready, graph), []
    machine._call.most = 80
    rounds, edges = machine.rounds, machine.edges
    machine.rounds = lambda *given: parts.append(rounds(*given)) or parts[-1]
    machine.edges = lambda *given: parts.append("host") or edges(*given)
    found, wanted = perform(ready, graph, machine, {}), reference.run(program, graph)
    assert found.operators == wanted.operators
    for vector, words in wanted.outputs.items():
        np.testing.assert_array_equal(found.outputs[vector], words, err_msg=vector)
    assert "host" in parts and any(isinstance(each, int) for each in parts), parts


@on_gpu
def test_late(monkeypatch):
    """A loop that returns after each round, and one that counts without an operator."""
    monkeypatch.setattr("sw.vm.cuda.text._RUNTIME", Runtime("LATE = 1000000000", "LATE = 0"))
    for name in ("bfs", "sssp", "kcore", "label_propagation"):
        program = fused(find(name))
        for graph in graphs(program):
            if graph.num_vertices > 1:
                same(program, graph, None, None)
    program = fused(small_program("turn = 0", "while turn < amount:", "    turn += 1",
                                  "a[source] = turn"))
    same(program, random_graph(5, 9, 1), None, None, amount=300)


class Runtime:
    """The runtime with a change."""

    def __init__(self, old, new):
        self._old, self._new = old, new

    def read_text(self, encoding):
        text = (pathlib.Path(cuda.__file__).parent / "runtime.cuh").read_text(encoding)
        assert self._old in text
        return text.replace(self._old, self._new)


@pytest.mark.skipif(GPU, reason="a GPU answers")
def test_a_missing_atomic(monkeypatch, gpu):
    """Lanes that take turns notice it."""
    graph = Graph(600, np.arange(300), np.arange(300) % 2 + 300).weighted(90, 2)
    program = small_program("def least(src, dst, weight):", "    a[dst].min(weight)",
                            "edges.apply(least)")
    same(program, graph, "edge_only", "push")
    monkeypatch.setattr("sw.vm.cuda.text._RUNTIME", Runtime(
        "old = atomic(&words[vertex], value);  ", "words[vertex] = result;  "))
    with pytest.raises(AssertionError, match="a"):
        same(program, graph, "edge_only", "push")


@on_gpu
def test_no_vertex():
    graph = random_graph(10, 20, 1)
    machine = cuda.CudaMachine(analysed(find("bfs"), after=CHOSEN), graph)
    with pytest.raises(UserError, match="there is no such vertex; the graph has 10"):
        machine.make_set([3, 10])
