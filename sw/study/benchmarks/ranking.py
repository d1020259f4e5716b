"""Every schedule in software in each direction, on a GPU: the ways whose ranking is compared with
the ranking on the RTL.

A way is measured by the GraphVM ``cuda``, whose text has the same schedules. Its record has

==================================  ================================================================
``device``, ``driver``, ``nvcc``    the GPU, its driver, and the compiler's release
``multiprocessors``, ``clock``      of the GPU; the clock is the fastest, in Hz
``date``, ``command``               when it was measured, and how
``graph``, ``vertices``, ``arcs``   the graph
``weights``                         largest random weight; None if the algorithm has no weights
``algorithm``, ``parameters``       the program and its parameters
``quantile``                        the source's number, of all vertices; None without a source
``schedule``, ``direction``         the way, by the RTL's names
``seconds``                         the times of the operators, with launches and waits, each run's
``operators``                       operators that a run performed
``kernels``, ``transfers``          kernels, and copies and clears, of a run
==================================  ================================================================

With Nsight Compute also, of all kernels of one run: ``instructions`` (of warps),
``lane_instructions``, ``dram_bytes``, ``l2_atomics`` (sectors of atomics and reductions at the L2)
and ``kernel_seconds``.
"""

import csv
import functools
import gc
import io
import json
import shutil
import subprocess
import sys
import typing

from base.errors import UserError
from sim.errors import ToolError
from sw.compile import algorithms
from sw.graph.load import load
from sw.lang import programs
from sw.lang.passes import CHOSEN, analysed
from sw.study.benchmarks import machines
from sw.study.benchmarks.programs import parameters
from sw.vm import cuda
from sw.vm.arguments import arguments
from sw.vm.cuda import nvcc
from sw.vm.host import perform


__all__ = ["ALGORITHMS", "BALANCES", "GRAPHS", "Way", "WAYS", "counted", "described", "measured"]


ALGORITHMS = ("bfs", "pagerank", "sssp", "cc")

#: Graphs, if the user names none.
GRAPHS = (*(f"rmat:scale=22,degree=16,seed={seed}" for seed in (1, 2, 3)),
          "road:side=2000,seed=1")

#: {schedule of the RTL: load balance of the GraphVM ``cuda``}.
BALANCES = {"vm": "vertex_based", "wm": "wm", "cm": "cm", "strict": "strict", "twc": "twc",
            "etwc": "etwc", "em": "edge_only"}


class Way(typing.NamedTuple):
    """A schedule and a direction."""
    schedule: str  #: By the RTL's name.
    direction: str

    def __str__(self):
        return f"{self.schedule} {self.direction}"


WAYS = tuple(Way(schedule, direction) for schedule in BALANCES for direction in ("push", "pull"))

_EVERY = [(BALANCES[way.schedule], way.direction) for way in WAYS]

#: {metric of Nsight Compute: name in a record}. Several metrics may add up to one number.
_METRICS = {"smsp__inst_executed.sum": "instructions",
            "smsp__thread_inst_executed.sum": "lane_instructions",
            "dram__bytes.sum": "dram_bytes",
            "lts__t_sectors_op_atom.sum": "l2_atomics",
            "lts__t_sectors_op_red.sum": "l2_atomics",
            "gpu__time_duration.sum": "kernel_seconds"}

#: {unit of Nsight Compute: its size}, where a number is not one of things.
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "nsecond": 1e-9, "usecond": 1e-6,
          "msecond": 1e-3, "second": 1.0}


def described() -> dict:
    """The fields of all records that describe the GPU. Raises UserError if no GPU answers."""
    absence = cuda.available()
    if absence is not None:
        raise UserError(absence)
    names = ("name", "driver_version", "clocks.max.sm")
    try:
        done = subprocess.run(
            ["nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits"],
            stdin=subprocess.DEVNULL, capture_output=True, check=True, text=True, timeout=60)
        device, driver, clock = (part.strip() for part in done.stdout.splitlines()[0].split(","))
        hertz = 10**6 * int(clock)
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        raise UserError("nvidia-smi does not describe the GPU: the record needs its name, its "
                        "driver and its clock") from None
    release = nvcc.nvcc().version
    return {"device": device, "driver": driver, "multiprocessors": nvcc.multiprocessors(),
            "clock": hertz,
            "nvcc": next((line.strip() for line in release.splitlines() if "release" in line),
                         release)}


@functools.lru_cache(maxsize=2)
def _loaded(spec, weights):
    return load(spec, weights=weights)


class _Asked:
    """A program and a graph, ready for every way."""

    def __init__(self, spec, algorithm, weights):
        program = programs.find(algorithm)
        self.kind: typing.Any = algorithms.find(algorithm)
        self.weights = weights if self.kind.weighted else None
        self.graph = _loaded(spec, self.weights)
        self.given = parameters(algorithm, self.graph)
        self.ready = analysed(program, after=CHOSEN)

    def machine(self, way):
        """The GPU with code for every way, which is to go this way."""
        return cuda.CudaMachine(self.ready, self.graph, BALANCES[way.schedule], way.direction,
                                _EVERY)


def measured(spec, algorithm, weights, repeat, wanted=WAYS):
    """Measure ways on a graph.

    Yields the pairs of a :class:`Way` and its record, without the fields that are equal for all
    records. Every result is compared with the first way's, and the first by the algorithm's own
    check.

    Raises
    ------
    UserError
        If the graph cannot be loaded or the program refuses it.
    RuntimeError
        If a result is wrong.
    """
    asked, first = _Asked(spec, algorithm, weights), None
    graph, source = asked.graph, asked.given.get("source")
    common = {"graph": spec, "vertices": graph.num_vertices, "arcs": graph.num_edges,
              "weights": asked.weights, "algorithm": algorithm, "parameters": asked.given,
              "quantile": None if source is None else source / graph.num_vertices}
    for way in wanted:
        machine: typing.Any = asked.machine(way)
        times = machines.Times(asked.ready, graph, machine, asked.given)
        fault = _fault(asked, times.result) if first is None else _difference(times.result, first)
        if fault is not None:
            raise RuntimeError(f"{algorithm} on {spec}, {way}: {fault}")
        first = first or times.result
        machines.in_turn([times], repeat)
        yield way, common | {
            "schedule": way.schedule, "direction": way.direction, "seconds": times.seconds,
            "operators": times.result.operators, "kernels": machine.kernels,
            "transfers": machine.transfers}
        del machine, times
        gc.collect()                                # gives the GPU's memory back


def _fault(asked, result):
    bits = result.fraction_bits or 0
    return asked.kind.fault_of(asked.graph, arguments(asked.kind.program, asked.given, asked.graph),
                               result.outputs, bits)


def _difference(result, other):
    for name, words in result.outputs.items():
        if not (words == other.outputs[name]).all():
            return f"vector {name!r} differs from that of {WAYS[0]}"
    return None


def counted(spec, weights, wanted):
    """The counters of one run of each way, by Nsight Compute.

    ``wanted`` has the ways of each algorithm. Returns {algorithm: {:class:`Way`: fields of a
    record}}.

    Raises
    ------
    ToolError
        If there is no ``ncu``, or it cannot read the GPU's counters.
    """
    ncu = shutil.which("ncu")
    if ncu is None:
        raise ToolError("there is no ncu on PATH: install NVIDIA's Nsight Compute")
    given = json.dumps([spec, weights, wanted])
    done = subprocess.run(
        [ncu, "--csv", "--page", "raw", "--metrics", ",".join(_METRICS), "--clock-control", "none",
         "--cache-control", "none", "--target-processes", "all", "--print-units", "base",
         sys.executable, "-m", __name__], input=given, capture_output=True, check=False, text=True)
    marks, rows = _parts(done.stdout)
    pairs = [(algorithm, way) for algorithm, ways in wanted.items() for way in ways]
    if done.returncode or not rows or len(marks) != len(pairs):
        raise ToolError("ncu cannot read the counters of this GPU: "
                        f"{(done.stdout + done.stderr).strip()[-500:]}")
    found: dict = {algorithm: {} for algorithm in wanted}
    begin = 0
    for (algorithm, way), (kernels, last) in zip(pairs, marks, strict=True):
        begin += kernels
        found[algorithm][way] = _summed(rows[begin - last:begin])
    if begin != len(rows):
        raise ToolError(f"ncu has counted {len(rows)} kernels; the runs asked for {begin}")
    return found


#: Begins the line by which a profiled process says how many kernels a way had: all, and those of
#: the last run. Before it a program of fixed point may try whether its values fit.
_MARK = "kernels of a way: "


def _parts(text):
    """The numbers of kernels, and the kernels of the table that ncu prints: {metric: number}."""
    lines = text.splitlines()
    marks = [tuple(map(int, line.removeprefix(_MARK).split()))
             for line in lines if line.startswith(_MARK)]
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    table = list(csv.reader(io.StringIO("\n".join(lines[begin:]))))
    if len(table) < 2:
        return marks, []
    names, units, *rows = table
    places = {names.index(metric): metric for metric in _METRICS if metric in names}
    return marks, [{metric: float(row[place].replace(",", "")) * _UNITS.get(units[place], 1)
                    for place, metric in places.items()} for row in rows if row]


def _summed(kernels):
    """The fields of a record, of some kernels."""
    found: dict = {}
    for numbers in kernels:
        for metric, number in numbers.items():
            name = _METRICS[metric]
            found[name] = found.get(name, 0) + (number if name == "kernel_seconds"
                                                else int(number))
    return found


def _profiled():
    """Run each way once; a child of :func:`counted`, under Nsight Compute."""
    spec, weights, wanted = json.load(sys.stdin)
    for algorithm, ways in wanted.items():
        asked = _Asked(spec, algorithm, weights)
        for each in ways:
            machine: typing.Any = asked.machine(Way(*each))
            before = machine.asked
            perform(asked.ready, asked.graph, machine, asked.given)
            print(f"{_MARK}{machine.asked - before} {machine.kernels}", flush=True)
            del machine
            gc.collect()


if __name__ == "__main__":
    _profiled()
