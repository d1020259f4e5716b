"""The GraphVM ``cuda``: its text, what nvcc says to it, and its results on a GPU.

======================  ============================================================
text                    test_text_is_deterministic: the same in every process;
                        test_unknown_variants: errors name the legal ones
start copies            test_copies: only where an operator reads what it changes
gathered reductions     test_gathered: at the row's own vertex, and nowhere else
compilation             test_compiles: every program with all schedules and both
                        directions; test_refused: nvcc's message reaches the user
availability            test_available: a reason, or none;
                        test_run_without_gpu: a run raises this reason
results                 test_results: every program and feature as the reference,
                        on every schedule; test_fixed_point: with the same fraction bits
errors                  test_errors: as the reference raises them
sets                    test_delta: queues with thresholds; test_no_vertex
choices                 test_chosen: by the caller, the operator, or the size of
                        its input; test_scheduled: results are the same;
                        test_missing_choices: errors
random programs         test_random_programs
======================  ============================================================

Tests that compile need nvcc on PATH. Tests of results also need an NVIDIA GPU.
"""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings

from sim.errors import ToolError
from sw.errors import UserError
from sw.graph import Graph
from sw.lang import graph_ir as ir
from sw.lang.passes import analysed
from sw.lang.passes.rewrite import changed, marked
from sw.lang.programs import find, names
from sw.lang.reader import read_text
from sw.vm import cuda, reference
from sw.vm.cuda import nvcc
from tb.sw.graphs import graphs as graphs_of_a_few, random_graph
from tb.sw.vm.cuda_programs import ERRORS, FEATURES, feature, with_error
from tb.sw.vm.random_programs import program_texts


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
needs_gpu = pytest.mark.skipif(cuda.available() is not None, reason=str(cuda.available()))
variants = pytest.mark.parametrize("schedule, direction", [
    *VARIANTS, *((schedule, None) for schedule in cuda.SCHEDULES)])


def text(program, *chosen):
    """The part of a program's text that is its own."""
    return cuda.generate(analysed(program), chosen).text.rpartition("INLINE word checked")[2]


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
    """Compare a run with that of the reference."""
    got = cuda.run(program, graph, schedule, direction, **given)
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
              "    print(cuda.generate(analysed(find(name)), [('etwc', 'push')]).text)\n")
    first, second = (subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path), "PYTHONHASHSEED": seed},
    ).stdout for seed in "12")
    assert first == second and first.count("extern") > 20


@pytest.mark.parametrize("schedule, direction, message", [
    ("twc", "push", "schedule 'twc' must be one of vertex_based, wm, etwc, edge_only"),
    ("wm", "both", "direction 'both' must be one of push, pull")])
def test_unknown_variants(schedule, direction, message):
    with pytest.raises(UserError, match=message):
        cuda.generate(analysed(find("bfs")), [(schedule, direction)])


def test_copies():
    """Connected components read labels that they change; breadth-first search does not, and the
    shortest paths are those of a fixpoint loop."""
    assert "keep(*call, 0);" in text(find("cc"), ("etwc", "push"))
    assert "keep(" not in text(find("bfs"), ("etwc", "push"))
    assert "keep(" not in text(find("sssp"), ("etwc", "push"))


def test_gathered():
    assert "gather_min(local.v1" in text(find("bfs"), ("wm", "pull"))
    assert "gather_" not in text(find("bfs"), ("wm", "push"))
    # Labels are reduced at the source and elsewhere too.
    assert "gather_" not in text(find("cc"), ("wm", "pull"))
    # In `both_ways` the source has a reduction of its own.
    assert "gather_min(local.v2" in text(feature("both_ways"), ("wm", "push"))


def test_first_edge():
    """A row ends with its first edge where this edge decides the result."""
    assert "local.done = true" in text(find("bfs"), ("etwc", "pull"))       # the least parent
    assert "local.done = true" in text(find("mis"), ("etwc", "pull"))       # covered by any
    for name in ("sssp", "cc", "pagerank"):
        assert "local.done = true" not in text(find(name), ("etwc", "pull"))


# Compilation

@needs_nvcc
@pytest.mark.parametrize("name", [*names(), *FEATURES])
def test_compiles(name):
    outcome = cuda.compile_check(named(name), ("sm_80", "sm_90") if name == "bfs" else ("sm_80",))
    assert outcome.library.stat().st_size > 10_000
    for schedule, direction in VARIANTS:
        for number in outcome.generated.edges.values():
            assert f"int edges_{number}_{schedule}_{direction}(" in outcome.generated.text


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

@needs_gpu
@variants
@pytest.mark.parametrize("name", [*names(), *FEATURES])
def test_results(name, schedule, direction):
    program = named(name)
    for graph in graphs(program):
        if name == "label_propagation" and graph.num_vertices == 1:
            continue
        same(program, graph, schedule, direction)


@needs_gpu
@variants
def test_fixed_point(schedule, direction):
    """A hub whose rank needs fewer fraction bits than the most."""
    spokes = np.arange(1, 60)
    graph = Graph(60, spokes, np.zeros(59, np.int64))
    same(find("pagerank"), graph, schedule, direction, iterations=3)
    same(find("pagerank"), graph, schedule, direction, iterations=9, tolerance=0.01)


@needs_gpu
@settings(max_examples=12)
@given(text=program_texts(), graph=graphs_of_a_few(weighted=True))
def test_random_programs(text, graph):
    """The machine's own choice and another, for words, fraction bits, and errors."""
    program = read_text(text)
    wanted = outcome(lambda: reference.run(program, graph))
    for schedule, direction in ((None, None), ("wm", "pull"), ("edge_only", "push")):
        found = outcome(lambda schedule=schedule, direction=direction: cuda.run(
            program, graph, schedule, direction))
        assert found == wanted, (schedule, direction)


def outcome(function):
    """The words of all results, or the class and the text of the error."""
    try:
        result = function()
    except UserError as error:
        return type(error), str(error)
    return result.fraction_bits, {name: words.tolist() for name, words in result.outputs.items()}


@needs_gpu
@variants
@pytest.mark.parametrize("name", ERRORS)
def test_errors(name, schedule, direction):
    program, graph = with_error(name), random_graph(60, 300, 1)
    with pytest.raises(UserError) as wanted:
        reference.run(program, graph)
    with pytest.raises(UserError) as got:
        cuda.run(program, graph, schedule, direction)
    assert type(got.value) is type(wanted.value) and str(got.value) == str(wanted.value)


@needs_gpu
@variants
@pytest.mark.parametrize("delta", [1, 500, 4000])
def test_delta(delta, schedule, direction):
    graph = random_graph(400, 2000, 9).weighted(900, 2)
    same(find("sssp"), graph, schedule, direction, delta=delta)


def operator(program):
    """The first operator of edges of a program."""
    return next(node for node in ir.instructions(program.body)
                if isinstance(node, ir.EdgeSetIterator))


@needs_gpu
def test_chosen():
    """Inputs of many arcs are pulled, others pushed, unless the operator or the caller decides."""
    # A star whose leaves have an arc each to the next.
    leaves = np.arange(1, 640)
    graph = Graph(640, [*np.zeros(639, int), *leaves], [*leaves, *np.roll(leaves, 1)])
    program = analysed(find("bfs"), after="races")
    machine = cuda.CudaMachine(program, graph)
    node, every = operator(program), machine.make_set(None)
    assert machine.chosen(node, every) == ("etwc", "pull")
    machine.start(0, {"depth": np.full(640, 5, np.uint32), "parent": np.zeros(640, np.uint32)})
    machine.store("depth", 0, 2**32 - 1)
    hub = machine.where("unvisited", every, {})
    assert (hub.count, hub.arcs, machine.chosen(node, hub)) == (1, 639, ("etwc", "pull"))
    machine.store("depth", 0, 5)
    machine.store("depth", 9, 2**32 - 1)
    leaf = machine.where("unvisited", every, {})
    assert (leaf.count, leaf.arcs, machine.chosen(node, leaf)) == (1, 1, ("etwc", "push"))
    # The arcs of other sets are not known.
    assert machine.chosen(node, machine.make_set(range(41))) == ("etwc", "pull")
    assert machine.chosen(node, machine.make_set(range(40))) == ("etwc", "push")
    own = marked(node, direction="push", load_balance="wm")
    assert machine.chosen(own, every) == ("wm", "push")
    both = marked(node, hybrid=("input_vertexset_size", 0.5, {"direction": "push"},
                                {"direction": "pull", "load_balance": "edge_only"}))
    assert machine.chosen(both, machine.make_set(range(319))) == ("etwc", "push")
    assert machine.chosen(both, machine.make_set(range(320))) == ("edge_only", "pull")
    asked = cuda.CudaMachine(program, graph, "vertex_based", "push")
    assert asked.chosen(both, every) == ("vertex_based", "push")


@needs_gpu
def test_scheduled():
    """Every operator has the schedule of its metadata."""
    graph = random_graph(600, 5000, 3)
    for metadata in ({"direction": "pull"}, {"load_balance": "edge_only"},
                     {"hybrid": ("input_vertexset_size", 0.2, {"load_balance": "wm"},
                                 {"direction": "pull"})}):
        program = changed(find("bfs"), lambda node, metadata=metadata: marked(node, **metadata)
                          if isinstance(node, ir.EdgeSetIterator) else node)
        same(program, graph, None, None)


@pytest.mark.parametrize("metadata, message", [
    ({"load_balance": "twc"}, "schedule 'twc' must be one of"),
    ({"edge_blocking": True}, r"bfs.py:\d+:\d+: the GraphVM cuda has no EdgeBlocking")])
def test_missing_choices(metadata, message):
    program = changed(analysed(find("bfs")), lambda node: marked(node, **metadata)
                      if isinstance(node, ir.EdgeSetIterator) else node)
    with pytest.raises(UserError, match=message):
        cuda.CudaMachine(program, random_graph(5, 9, 1))


@needs_gpu
def test_no_vertex():
    graph = random_graph(10, 20, 1)
    machine = cuda.CudaMachine(analysed(find("bfs")), graph)
    with pytest.raises(UserError, match="there is no such vertex; the graph has 10"):
        machine.make_set([3, 10])
