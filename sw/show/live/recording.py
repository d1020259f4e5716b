"""A recording of everything that the host does in a run, and of all that it reads.

Cycles are exact and repeatable. So the same writes, launches and reads on the same hardware give
the same cycles, wherever the hardware is simulated. The live page plays a recording on a simulator
of its own. It compares each word that it reads, and the cycles of each step, with the recording.

A recording is a dict that JSON can hold. Its ``steps`` are lists that begin with a word:

======================================  ============================================================
step                                    what the host does
======================================  ============================================================
``power``                               makes a new GPU; memory stays
``write``, address, words               writes registers of the GPU that follow one another
``read``, address, words                reads registers, and finds these words
``launch``, name                        goes on with a kernel or an operation of the SCU
``run``, cycles                         waits until the GPU is idle, which takes so many cycles
``clear``                               sets the counts of the memory's lines to 0
``memory``, address, words              writes memory
``fill``, address, count, word          writes a word of memory many times
``look``, address, words                reads memory, and finds these words
======================================  ============================================================

Words of memory are in base 64, as bytes with the low byte first.
"""

import base64
import hashlib

import numpy as np

from base.errors import UserError
from hw.isa import PHASES, MemoryMap
from hw.registers import (CORE_BASE, CORE_COUNTERS, CORE_STRIDE, GPU_BASE, GPU_COUNTERS,
                          WARP_COUNTS, WARP_OFFSET)
from hw.stalls import STALLS, WARP_STATES
from sim.dram import DramConfig
from sim.inside import SCU_MODULE, UNIT_MODULE
from sim.native import NativeMachine
from sw.graph.generators import size_of
from sw.device import Device


__all__ = ["MOST_CYCLES", "MOST_EDGES", "MOST_VERTICES", "RecordingMachine", "check_graph",
           "check_text", "record"]


#: The most vertices and arcs of a graph, and cycles of a run, that a page gets. A page simulates
#: some hundred thousand cycles a second.
MOST_VERTICES, MOST_EDGES, MOST_CYCLES = 200_000, 200_000, 20_000_000

#: The most vertices and arcs of a graph that is drawn.
_DRAWN_VERTICES, _DRAWN_EDGES = 1_100, 12_000


def check_graph(graph) -> None:
    """Refuse a graph that is too large for the page. Raises UserError."""
    for count, what, most in ((graph.num_edges, "arcs", MOST_EDGES),
                              (graph.num_vertices, "vertices", MOST_VERTICES)):
        if count > most:
            raise UserError(f"{graph.name}: {count:,} {what} are too many for the page; it takes "
                            f"at most {most:,}")


def check_text(text) -> None:
    """Refuse a generator's graph that is too large for the page, without making it. Some generators
    make fewer arcs than their parameters say; :func:`check_graph` looks at the graph itself. Raises
    UserError."""
    vertices, arcs = size_of(text)
    if vertices > MOST_VERTICES or arcs > 2 * MOST_EDGES:
        raise UserError(f"{text}: {vertices:,} vertices and up to {arcs:,} arcs are too many for "
                        f"the page; it takes at most {MOST_VERTICES:,} and {MOST_EDGES:,}")


def _text(words):
    return base64.b64encode(np.ascontiguousarray(words).astype("<u4").tobytes()).decode()


class RecordingMachine(NativeMachine):
    """A native machine that keeps the steps of its host.

    Parameters are those of :class:`sim.native.NativeMachine`. The memory is one without a slow
    region.

    Attributes
    ----------
    steps : list of list
        The steps so far.
    """

    def __init__(self, config, dram=None, **options):
        self.steps = []
        super().__init__(config, dram, **options)

    def _power_on(self):
        self.steps.append(["power"])
        super()._power_on()

    def _write(self, address, *words):
        self.steps.append(["write", int(address), list(map(int, words))])
        super()._write(address, *words)

    def _read(self, address, count=1):
        words = super()._read(address, count)
        self.steps.append(["read", int(address), words])
        return words

    def _run(self, limit, progress, launched=False):
        first = self._report().cycles
        ended = super()._run(limit, progress, launched)
        self.steps.append(["run", self._report().cycles - first])
        return ended

    def launched(self, kernel, words):
        """Keep the name of the kernel whose launch follows."""
        self.steps.append(["launch", kernel])

    def compact(self, registers, **limits):
        """An operation of the SCU (:meth:`sim.machine.RegisterMachine.compact`)."""
        self.steps.append(["launch", "operation of the SCU"])
        return super().compact(registers, **limits)

    def clear_counters(self):
        """Set the counters to 0."""
        super().clear_counters()
        self.steps.append(["clear"])

    def write_memory(self, address, words):
        """Write words; the caches do not notice."""
        self.steps.append(["memory", int(address), _text(words)])
        super().write_memory(address, words)

    def fill_memory(self, address, count, value):
        """Write a word ``count`` times."""
        self.steps.append(["fill", int(address), int(count), int(value) & 0xFFFF_FFFF])
        super().fill_memory(address, count, value)

    def read_memory(self, address, count):
        """A copy of ``count`` words, as they are in memory."""
        words = super().read_memory(address, count)
        self.steps.append(["look", int(address), _text(words)])
        return words


def record(config, plan, graph, *, report=None, progress=None) -> dict:
    """Run a plan on the native simulator and record it.

    Parameters
    ----------
    config : HardwareConfig
        Hardware with one core.
    plan : Plan or Hybrid
    graph : Graph
    report, progress : callable, optional
        As in :meth:`sw.device.Device.simulate`.

    Returns
    -------
    dict
        The recording: ``steps``; ``hardware``, ``memory`` and ``registers``, which say how to build
        and read the machine; ``graph``, ``lists``, ``buffers`` and ``program``, which say what
        addresses mean; ``result`` of the run.

    Raises
    ------
    UserError
        The graph or the run is too large for the page, or the plan cannot work.
    RunError
        As in :meth:`sw.device.Device.run`.
    """
    check_graph(graph)
    machines = []

    class Launches:
        """Passes the names of launches to the machine."""

        def launched(self, kernel, words):
            machines[0].launched(kernel, words)

    def make():
        machines.append(RecordingMachine(config, dram, report=report))
        return machines[0]

    dram = DramConfig()
    with Device(config, make, progress=progress, recorder=Launches()) as device:
        task = device.plan(plan, graph)
        result = device.run_task(task, max_cycles=MOST_CYCLES)
        machine = device.machine
    return {
        "hardware": {
            "name": config.name, "warps": config.warps, "lanes": config.threads,
            "unit": config.gather, "scu": config.scu, "line_bytes": config.line_bytes,
            "units": _units(config, result.counters),
            "states": list(WARP_STATES), "phases": list(PHASES),
            "state_labels": ["ended", "issues", *(stall.label for stall in STALLS.values())]},
        "memory": {"base": int(MemoryMap.GLOBAL), "bytes": config.memory_bytes,
                   # DramTiming of sim/interface.py.
                   "timing": [dram.bytes_per_cycle, dram.ratio, dram.latency_cycles,
                              dram.queue]},
        "registers": {
            "core": list(CORE_COUNTERS), "core_base": CORE_BASE, "core_stride": CORE_STRIDE,
            "gpu": list(GPU_COUNTERS), "gpu_base": GPU_BASE, "warp_base": CORE_BASE + WARP_OFFSET,
            "warp_counts": WARP_COUNTS},
        **_shown(task),
        "program": {"lines": list(task.program.lines), "entries": dict(task.program.entries)},
        "steps": machine.steps,
        "result": {
            "plan": result.plan.text, "cycles": result.cycles, "counters": result.counters,
            "launches": result.launches, "supersteps": result.supersteps,
            "checksum": result.checksum,
            "outputs": [_output(name, result, machine.steps) for name in sorted(result.outputs)]},
    }


def _units(config, counters):
    """The units beside the cores' pipelines: the module of their signals (:mod:`sim.inside`), and
    whether the run used them."""
    units = []
    if config.unit is not None:
        units.append({"title": config.unit.title, "module": UNIT_MODULE,
                      "used": counters["weaver_decodes"] > 0})
    if config.scu:
        units.append({"title": "Stream Compaction Unit", "module": SCU_MODULE,
                      "used": counters["scu_operations"] > 0})
    return units


def _output(name, result, steps):
    """An output: its type, the bits of its fraction, and the step that read it last, if the output
    is what was read."""
    array = result.outputs[name]
    fixed = f"{name}_float" in result.derived
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    text = base64.b64encode(array.tobytes()).decode()
    step = next((number for number in reversed(range(len(steps)))
                 if steps[number][0] == "look" and steps[number][2] == text), None)
    return {"name": name, "dtype": array.dtype.str, "length": len(array), "step": step,
            "fraction_bits": int(result.derived["fraction_bits"]) if fixed else 0,
            "sha256": hashlib.sha256(array.tobytes()).hexdigest()}


def _shown(task):
    """The values with which a page draws the graph, and finds the vertex or edge of an address.

    ``lists`` has the base and the neighbour of each edge in the order of the device, for each part
    of the plan whose format is CSR and whose vertices have the graph's numbers. Each of ``buffers``
    is an array of the device's memory: ``of`` is ``"vertex"``, ``"edge"`` or None, and ``list`` the
    list of its edges.
    """
    graph, lists, edges = task.graph, [], {}
    small = graph.num_vertices <= _DRAWN_VERTICES and graph.num_edges <= _DRAWN_EDGES
    for side in list(task.sides.values()) or [task]:
        image = side.format.image
        if not small or side.graph is not graph or image.format != "csr" \
                or image.row_bases is not None or side.new_ids is not None:
            continue
        bases, neighbors, _ = image.rows()
        for layout in side.layouts:
            edges |= {layout.array(name): len(lists)
                      for name in ("neighbors", "weights", "bases")}
        lists.append({"pull": image.direction == "pull", "bases": bases.tolist(),
                      "neighbors": neighbors.tolist()})
    buffers = []
    for name in task.buffers.names:
        words, width = task.buffers.words(name), task.buffers.width(name)
        of_vertex = name.startswith("offsets") or 4 * words == width * task.vertex_words
        buffers.append({"name": name, "address": int(task.buffers.address(name)), "words": words,
                        "width": width, "list": edges.get(name),
                        "of": "edge" if name in edges else "vertex" if of_vertex else None})
    return {"graph": {"name": graph.name, "vertices": graph.num_vertices,
                      "arcs": graph.num_edges}, "lists": lists, "buffers": buffers}
