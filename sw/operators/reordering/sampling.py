"""Sampling-based reordering on a device (SAGE, section 6)::

    with Device.simulate(preset("default")) as device:
        reordering = Reordering(device, graph)
        for _ in range(5):
            print(reordering.round().cycles)
        result = device.run("pagerank", reordering.graph, schedule="tile")
        ranks = reordering.in_order(result.outputs["rank"])

The stages of a round are sweeps of one kernel, a variant of the kernel that gathers under schedule
``tile``: the lanes of a tile compare the numbers of their neighbours. The host chooses the new
order between two rounds, by :mod:`sw.graph.sage`. Tiles of more than a warp are sampled warp by
warp. A line of memory is a sector.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from sw.graph import sage
from sw.graph.graph import Graph
from sw.compile.algorithm import Algorithm

from sw.compile.options import Integer, settle
from sw.compile import planning
from sw.compile.plan import Plan

if TYPE_CHECKING:
    from sw.device.result import Result


__all__ = ["Reordering", "SamplingPlan", "TileSampling"]


_PARAMETERS = {
    "sample": Integer(1, 100, 100, "percentage of the vertices whose tiles a sweep samples"),
    "sector": Integer(1, 1 << 16, 16, "vertices of a sector", power=True),
    "lanes": Integer(2, 32, 16, "lanes of the widest tile", power=True)}


class TileSampling(Algorithm):
    """One round over a graph in its present order.

    A launch is a sweep, which counts as :func:`sw.graph.sage.count` does. Its argument is the
    number of the sweep, and the shift in the last five bits.

    Parameters
    ----------
    graph : Graph
    sample, sector, lanes : int
        As of :func:`sw.graph.sage.sage`.
    """
    name = "sampling"
    no_frontier = "a sweep goes through every vertex"
    ARRAYS = "wanted", "counts"
    directions = ("push",)
    _SHIFTS = 5                         # bits of the argument

    def __init__(self, graph, sample, sector, lanes):
        super().__init__(graph)
        self._sample, self._sector, self._lanes = sample, sector, lanes
        self._shift: Any = None
        self._mix: Any = None
        self._sweeps: list = []

    # Memory

    def init_vertex_value(self, task):
        for name in self.ARRAYS:
            task.buffers.fill(name)

    # Kernel

    def kernels(self, task):
        return {"sweep": ("gather", None)}

    def prepare(self, k):
        a = k.a
        self._shift = a.reg("shift")
        k.argument(self._shift)
        if self.filters(k.task):
            self._mix = a.reg("mix")
            k.shifted(self._mix, self._shift, -self._SHIFTS)
            a.mul(self._mix, self._mix, k.constant(sage.SWEEP, "sweep_factor"))
        a.andi(self._shift, self._shift, (1 << self._SHIFTS) - 1)
        a.addi(self._shift, self._shift, 2)         # numbers come as addresses of words

    def filters(self, task):
        return self._sample < 100

    def filter(self, k, base, data, into):
        a, number = k.a, k.a.reg("number")
        a.mul(into, k.number(base, number), k.constant(sage.VERTEX, "vertex_factor"))
        a.add(into, into, self._mix)
        a.srli(into, into, 25)
        k.times(into, into, 100)
        a.sltu(into, into, k.constant(self._sample * 128, "sampled"))

    def gather(self, k, edges):
        words = []
        for index, edge in enumerate(edges):
            words.append(k.a.reg(f"wanted{index}"))
            k.a.lw(words[-1], k.pointer(edge.neighbor, "wanted", words[-1]))
        return words

    def sum(self, k, edge, data, predicate):
        """Count the lanes of the tile whose neighbour has the wanted prefix. All of them are
        active."""
        a = k.a
        if k.tile is None:
            return                                  # a single edge
        prefix, other, count = a.regs("prefix", "other", "count")
        a.sub(prefix, edge.neighbor.reg, k.constant(k.address("wanted"), "first_vertex"))
        a.srl(prefix, prefix, self._shift)
        a.mv(count, a.zero)
        for apart in range(1, k.tile):
            k.partner(other, prefix, apart)
            a.xor(other, other, data)
            a.seqz(other, other)
            a.add(count, count, other)
        place = k.pointer(edge.neighbor, "counts", a.reg("place"))
        a.amoadd_w(a.zero, count, place)

    # Host

    def drive(self, session):
        count = self.graph.num_vertices
        self._sweeps = []

        def counted(shift, wanted):
            self._sweeps.append(shift)
            session.write("wanted", wanted)
            session.write("counts", np.zeros(count, np.uint32))
            session.launch("sweep", len(self._sweeps) << self._SHIFTS | shift)
            counts = session.read("counts", count).astype(np.int64)
            found.append(counts)
            return counts

        found: list = []
        self._order = sage.one_round(counted, count, self._sector)
        self._found = np.array(found, dtype=np.uint32).T
        return len(found)

    def outputs(self, session):
        return {"order": self._order.astype(np.uint32), "counts": self._found}

    def golden(self):
        tiles = sage.windows(self.graph.src, self.graph.dst, self.graph.num_vertices, self._lanes)
        found: list = []

        def counted(shift, wanted):
            found.append(sage.count(tiles, shift, wanted, len(found) + 1, self._sample))
            return found[-1]

        order = sage.one_round(counted, self.graph.num_vertices, self._sector)
        return {"order": order.astype(np.uint32), "counts": np.array(found, dtype=np.uint32).T}

    def parameters(self):
        return {"sample": self._sample, "sector": self._sector, "lanes": self._lanes}


@dataclasses.dataclass(frozen=True)
class SamplingPlan(Plan):
    """The plan of a round; its parameters are those of :class:`TileSampling`."""
    algorithm: str = TileSampling.name
    schedule: str = "tile:min_tile=2"
    direction: str | None = "push"

    def __post_init__(self):
        given = settle(_PARAMETERS, dict(self.parameters), "reordering")
        object.__setattr__(self, "parameters", tuple(given.items()))

    @property
    def text(self) -> str:
        """The parameters, as a plan has them."""
        given = ",".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.algorithm}({given}) schedule={self.schedule}"

    @property
    def kind(self) -> type[TileSampling]:
        """The class of the algorithm."""
        return TileSampling


class Reordering:
    """A graph whose order changes by rounds, which kernels of a device count.

    Parameters
    ----------
    device : Device
    graph : Graph
    sample : int
        Percentage of the vertices whose tiles a sweep samples, 1 to 100.

    Attributes
    ----------
    graph : Graph
        The graph in its present order.
    order : int64[num_vertices]
        The vertices of the graph that was given, in the present order.
    """

    def __init__(self, device: Any, graph: Graph, sample: int = 100) -> None:
        config = device.config
        parameters = {"sample": sample, "sector": config.line_bytes // 4, "lanes": config.threads}
        self._device = device
        self._plan = SamplingPlan(parameters=tuple(parameters.items()))
        self._given, self.graph = graph, graph
        self.order = np.arange(graph.num_vertices)

    @property
    def ids(self) -> Any:
        """The present number of each vertex of the graph that was given, as uint32."""
        ids = np.empty(len(self.order), dtype=np.uint32)
        ids[self.order] = np.arange(len(self.order), dtype=np.uint32)
        return ids

    def round(self, *, verify: bool = True, max_cycles: int | None = None) -> Result:
        """Run the three stages on the device, and take the new order.

        Parameters
        ----------
        verify : bool
            Whether to compare all counts with the golden model.
        max_cycles : int, optional
            Cycles after which the round is given up.

        Returns
        -------
        Result
            Its ``cycles`` are those of all sweeps; ``outputs["counts"]`` has a column a sweep.

        Raises
        ------
        UserError, RunError
            As of :meth:`sw.device.device.Device.run`. The order stays.
        """
        device = self._device
        result = device.run_task(
            planning.make(device.config, self._plan, self.graph, device.slow_edges),
            verify=verify, max_cycles=max_cycles)
        self.order = self.order[result.outputs["order"]]
        given = self._given
        self.graph = Graph(given.num_vertices, self.ids[given.src], self.ids[given.dst],
                           given.weights, name=given.name)
        return result

    def in_order(self, words: Any) -> Any:
        """An array with an item for each vertex, of a run in the present order, in the order of
        the graph that was given."""
        return words[self.ids]
