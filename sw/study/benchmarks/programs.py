"""Programs of the language beside a library: on this computer SciPy, on a GPU CuPy.

Every way gives a result, which is compared: words of all GraphVMs must be the same, and those of a
library the same or, with decimals, near enough.
"""

import gc
from typing import Any

from sw.compile import algorithms
from sw.study.benchmarks import libraries, machines
from sw.lang import programs
from sw.lang.passes import CHOSEN, analysed
from sw.vm import cuda, reach
from sw.vm.arguments import arguments


__all__ = ["ALGORITHMS", "GRAPHS", "ITERATIONS", "arcs_a_run", "on_cpu", "on_gpu", "parameters"]


ALGORITHMS = ("pagerank", "bfs", "sssp", "cc", "bc")

#: {GraphVM: the graphs, if the user names none, each with whether arcs get their reverse}.
GRAPHS = {"cpu": [("rmat:scale=16,degree=16,seed=1", True), ("road:side=512,seed=1", False)],
          "cuda": [("rmat:scale=20,degree=16,seed=1", False),
                   ("rmat:scale=22,degree=16,seed=1", False), ("road:side=2000,seed=1", False)]}

#: Iterations of PageRank.
ITERATIONS = 10


def parameters(algorithm, graph, delta=None) -> dict:
    """The parameters of a run. Searches begin at the vertex with the most arcs; ``delta`` is that
    of SSSP."""
    known = {"source": graph.hub, "iterations": ITERATIONS}
    if algorithm == "sssp" and delta is not None:
        known["delta"] = delta
    return {argument.name: known[argument.name] for argument in programs.find(algorithm).arguments
            if argument.name in known}


def arcs_a_run(algorithm, arcs) -> int:
    """Arcs that count in a time: all, and of PageRank in each iteration."""
    return arcs * (ITERATIONS if algorithm == "pagerank" else 1)


def on_cpu(algorithm, graph, given, repeat) -> dict:
    """Run a program on the GraphVM cpu and SciPy's call by turns, each ``repeat`` times.

    Returns, by ``"cpu"`` and, if SciPy has a call, ``"scipy"``, a dict with ``seconds``, the wall
    times of whole runs, and ``same``: whether the result is that of the GraphVM cpu, or of this
    one, whether it is right by the algorithm's own check. ``"cpu"`` also has ``notes``, as of
    :class:`~sw.device.result.Result`. Raises UserError as :func:`~sw.vm.host.perform`."""
    ours = machines.cpu_machine(programs.find(algorithm), graph, given)
    name, make = libraries.LIBRARIES["cpu"]
    theirs = make(algorithm, graph, given)
    machines.in_turn([ours] if theirs is None else [ours, theirs], repeat)
    found = {"cpu": {"seconds": ours.whole} | _judged(algorithm, graph, given, ours.result)}
    if theirs is not None:
        found[name] = {"seconds": theirs.seconds, "same": theirs.agrees(ours.result)}
    return found


def on_gpu(algorithm, graph, given, repeat, ended=lambda way: None) -> dict:
    """Run a program on the GraphVM cuda under each load balance in each direction and in its own
    choices, on the GraphVM cpu, and as CuPy's products, if CuPy is installed.

    Times of the GraphVM cuda are those of the operators, with launches and waits, and without the
    words that the host computes before. ``ended`` is called with the name of each way that has
    ended. Returns and raises as :func:`on_cpu`; also raises ToolError if nvcc or the GPU fails.
    """
    ready = analysed(programs.find(algorithm), after=CHOSEN)
    cpu = machines.cpu_machine(programs.find(algorithm), graph, given)
    machines.in_turn([cpu], repeat)
    found = {"cpu": {"seconds": cpu.whole} | _judged(algorithm, graph, given, cpu.result)}
    ended("cpu")
    every = [(balance, direction) for balance in cuda.SCHEDULES for direction in cuda.DIRECTIONS]
    for balance, direction in [*every, (None, None)]:
        # With all variants there is one library for all ways.
        way = machines.Times(ready, graph, cuda.CudaMachine(ready, graph, balance, direction,
                                                            every), given)
        machines.in_turn([way], repeat)
        text = f"{balance} {direction}" if balance else "own"
        found[text] = {"seconds": way.seconds, "same": _same_words(way.result, cpu.result)}
        ended(text)
        del way
        gc.collect()                                # gives the GPU's memory back
    name, make = libraries.LIBRARIES["cuda"]
    theirs = make(algorithm, graph, given)
    if theirs is not None:
        machines.in_turn([theirs], repeat)
        found[name] = {"seconds": theirs.seconds, "same": theirs.agrees(cpu.result)}
        ended(name)
    return found


def _judged(algorithm, graph, given, result):
    """Whether a result is right, and what belongs to its times."""
    kind: Any = algorithms.find(algorithm)
    bits = result.fraction_bits or 0
    values = arguments(kind.program, given, graph)
    reached = reach.reached(kind.program, result.outputs, bits)
    return {"same": kind.fault_of(graph, values, result.outputs, bits) is None,
            "notes": reach.notes(kind.program, values, reached, graph)}


def _same_words(result, other):
    return result.fraction_bits == other.fraction_bits and all(
        (words == other.outputs[name]).all() for name, words in result.outputs.items())
