"""One trial: a plan, run within a limit, in a process of its own."""

import dataclasses
import functools
import hashlib

import numpy as np

from base.errors import LimitError, RunError, UserError
from sw.study.benchmarks.sources import digest
from sw.graph.load import GraphSource
from sw.device.target import Target


__all__ = ["RunSetting", "graph_digest", "measure", "sources"]


#: Sources that the cycles of a plan depend on.
_SOURCES = ("hw", "sim", "sw/graph", "sw/lang", "sw/vm", "sw/compile", "sw/device")


@functools.cache
def sources() -> str:
    """Digest of the sources that the cycles of a plan depend on."""
    return digest(*_SOURCES)


def graph_digest(graph) -> str:
    """SHA-256 of a graph: its vertices, and its arcs and weights in their order."""
    found = hashlib.sha256(f"{graph.num_vertices} {graph.num_edges}\n".encode())
    for array in (graph.src, graph.dst, graph.weights):
        if array is not None:
            found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


@dataclasses.dataclass(frozen=True)
class RunSetting:
    """The part of a run that no plan changes."""
    source: GraphSource
    target: Target  #: A simulator. The functional one counts instructions, not cycles.

    def __post_init__(self):
        if self.target.functional and self.target.launch_cycles:
            raise UserError(f"--launch-cycles {self.target.launch_cycles}: the functional "
                            "simulator (--functional) counts instructions, to which no cycles can "
                            "be added")

    def graph(self, note=lambda text: None):
        """The graph; ``note`` is told of input that looks odd. Raises UserError."""
        return self.source.load(note)


@functools.lru_cache(maxsize=1)
def _graph(setting):
    return setting.graph()


def measure(setting, plan, limit=None) -> dict:
    """Run a plan, given as text, and check its result.

    With a ``limit`` the run is stopped after so many cycles. A run of exactly so many cycles is not
    stopped. A run that takes more only with its launches counts as stopped.

    Returns a dict with ``status``: ``"done"``, with ``cycles``, which are those of kernels and
    launches together, ``launch_cycles``, ``supersteps``, ``checksum``, ``reached`` and ``notes``,
    as of :class:`~sw.device.result.Result`; ``"stopped"``, with the limit as ``cycles``; or
    ``"failed"``, with the reason as ``error``."""
    try:
        with setting.target.device() as device:
            result = device.run(plan, _graph(setting), max_cycles=limit)
    except LimitError:
        return {"status": "stopped", "cycles": limit}
    except (RunError, UserError) as error:
        return {"status": "failed", "error": str(error)}
    cycles = result.counters["instructions"] if setting.target.functional else result.total_cycles
    if limit is not None and cycles > limit:        # with its launches
        return {"status": "stopped", "cycles": limit}
    return {"status": "done", "cycles": cycles, "launch_cycles": result.launch_cycles,
            "supersteps": result.supersteps, "checksum": result.checksum,
            "reached": result.reached, "notes": result.notes}
