"""The hardware and the graphs that all figures of one call share."""

import dataclasses
import math

from hw.config import HardwareConfig
from sim.dram import DramConfig

from .outcome import geometric_mean


__all__ = ["GraphChoice", "Setting", "choices", "mean", "where", "with_mean"]


@dataclasses.dataclass(frozen=True)
class GraphChoice:
    """A graph for figures."""
    label: str  #: Its name in tables and plots.
    graph: str  #: The graph's text for :func:`sw.graph.load.load`.
    undirected: bool = True  #: Whether the reverse of each arc is added.
    symmetric: bool = True  #: Whether the loaded graph has the reverse of each arc.
    #: Whether the graph is part of means. It is not if it is so small that the cost of a launch or
    #: a call dominates the measurement.
    counts: bool = True


def _community(label, vertices, edges, communities, mixing):
    return GraphChoice(label, f"community:vertices={vertices},edges={edges},"
                       f"communities={communities},mixing={mixing},seed=1")


#: Graphs so small that a run takes seconds. Most have twice the vertex values that the L1 of preset
#: `default` holds: a skewed graph, communities that contain most or half of the edges, few large
#: communities, a graph without structure, a road, and the smallest of all.
_SIMULATED = (
    GraphChoice("rmat", "rmat:scale=13,degree=8,seed=1"),
    _community("community", 8192, 65536, 64, 0.1),
    _community("mixed", 8192, 65536, 64, 0.5),
    _community("dense", 4096, 65536, 16, 0.1),
    GraphChoice("uniform", "uniform:vertices=8192,edges=65536,seed=1"),
    GraphChoice("road", "road:side=64,seed=1", undirected=False),
    GraphChoice("karate", "karate", undirected=False, counts=False),
)
_SIMULATED_LARGE = (
    GraphChoice("rmat", "rmat:scale=16,degree=16,seed=1"),
    _community("community", 65536, 1048576, 512, 0.1),
    _community("mixed", 65536, 1048576, 512, 0.5),
    _community("dense", 16384, 1048576, 64, 0.1),
    GraphChoice("uniform", "uniform:vertices=65536,edges=1048576,seed=1"),
    GraphChoice("road", "road:side=256,seed=1", undirected=False),
)

#: Graphs whose vertex values are many times as large as a core's L1.
_WIDE = (
    GraphChoice("rmat", "rmat:scale=15,degree=4,seed=1"),
    _community("community", 32768, 131072, 128, 0.1),
    GraphChoice("uniform", "uniform:vertices=32768,edges=131072,seed=1"),
)
_WIDE_LARGE = (
    GraphChoice("rmat", "rmat:scale=18,degree=4,seed=1"),
    _community("community", 262144, 1048576, 1024, 0.1),
    GraphChoice("uniform", "uniform:vertices=262144,edges=1048576,seed=1"),
)

#: Graphs for many runs of each, with a third of the arcs. Three lists with a word for each arc are
#: still more than an L2 of 512 KiB holds.
_BRIEF = (
    GraphChoice("rmat", "rmat:scale=12,degree=6,seed=1"),
    _community("community", 4096, 24576, 32, 0.1),
    _community("dense", 2048, 24576, 8, 0.1),
    GraphChoice("road", "road:side=64,seed=1", undirected=False),
)
_BRIEF_LARGE = (
    GraphChoice("rmat", "rmat:scale=15,degree=12,seed=1"),
    _community("community", 32768, 393216, 256, 0.1),
    _community("dense", 8192, 393216, 32, 0.1),
    GraphChoice("road", "road:side=128,seed=1", undirected=False),
)

#: Graphs for hundreds of plans of each algorithm, of 4,000 and 2,000 arcs.
_TUNED = (
    GraphChoice("rmat", "rmat:scale=8,degree=8,seed=1"),
    GraphChoice("road", "road:side=24,seed=1", undirected=False),
)
_TUNED_LARGE = (
    GraphChoice("rmat", "rmat:scale=12,degree=16,seed=1"),
    _community("community", 4096, 32768, 32, 0.1),
    GraphChoice("uniform", "uniform:vertices=4096,edges=32768,seed=1"),
    GraphChoice("road", "road:side=64,seed=1", undirected=False),
)


#: Graphs that run on several machines, the device among them: degrees by a power law, and a road.
_CROSSED = (
    GraphChoice("rmat", "rmat:scale=12,degree=6,seed=1"),
    GraphChoice("road", "road:side=64,seed=1", undirected=False),
)
_CROSSED_LARGE = (
    GraphChoice("rmat", "rmat:scale=15,degree=12,seed=1"),
    GraphChoice("road", "road:side=128,seed=1", undirected=False),
)

#: Graphs for wall times of programs.
_TIMED = (
    GraphChoice("rmat", "rmat:scale=17,degree=8,seed=1"),
    GraphChoice("road", "road:side=400,seed=1", undirected=False),
)
_TIMED_LARGE = (
    GraphChoice("rmat", "rmat:scale=20,degree=16,seed=1"),
    GraphChoice("road", "road:side=2000,seed=1", undirected=False),
)


def _power_law(vertices, edges):
    return GraphChoice(f"{vertices:,}", f"powerlaw:vertices={vertices},edges={edges},seed=1")


#: Graphs of as many arcs on more and more vertices: those of SparseWeaver's figure 4.11, and a
#: thirty-second part of them.
_VERTICES, _EDGES = (10_000, 12_000, 16_000, 20_000, 40_000, 80_000), 1_900_000
_SKEWED = tuple(_power_law(vertices // 32, _EDGES // 64) for vertices in _VERTICES)
_SKEWED_LARGE = tuple(_power_law(vertices, _EDGES // 2) for vertices in _VERTICES)

#: Graphs for measurements on the host alone. The vertices are several clusters of 2^16.
_STORED = (
    GraphChoice("rmat", "rmat:scale=17,degree=8,seed=1"),
    _community("community S", 50000, 500000, 250, 0.1),
    _community("community M", 200000, 2000000, 1000, 0.1),
    _community("mixed M", 200000, 2000000, 1000, 0.5),
    _community("dense M", 100000, 2000000, 100, 0.1),
    GraphChoice("uniform", "uniform:vertices=131072,edges=1048576,seed=1"),
    GraphChoice("road", "road:side=400,seed=1", undirected=False),
    GraphChoice("karate", "karate", undirected=False, counts=False),
)
_STORED_LARGE = (
    GraphChoice("rmat", "rmat:scale=20,degree=8,seed=1"),
    _community("community M", 200000, 2000000, 1000, 0.1),
    _community("community L", 1000000, 10000000, 5000, 0.1),
    _community("mixed L", 1000000, 10000000, 5000, 0.5),
    _community("dense L", 500000, 10000000, 100, 0.1),
    GraphChoice("uniform", "uniform:vertices=1048576,edges=8388608,seed=1"),
    GraphChoice("road", "road:side=1000,seed=1", undirected=False),
)


def choices(large, simulated=(), stored=()):
    """The graphs of a setting: generated graphs, and behind them real graphs.

    Parameters
    ----------
    large : bool
        Whether to take larger graphs: hours in place of minutes.
    simulated, stored : sequence of sw.benchmarks.folder.Listed
        Real graphs for runs, and for measurements on the host alone.

    Returns
    -------
    dict
        ``simulated``, ``wide``, ``brief``, ``tuned``, ``skewed``, ``crossed``, ``timed`` and
        ``stored`` of :class:`Setting`.
    """
    def real(graphs):
        return tuple(GraphChoice(each.name, each.path, undirected=each.undirected,
                                 symmetric=each.undirected) for each in graphs)

    return {"simulated": (_SIMULATED_LARGE if large else _SIMULATED) + real(simulated),
            "wide": (_WIDE_LARGE if large else _WIDE) + real(simulated),
            "brief": (_BRIEF_LARGE if large else _BRIEF) + real(simulated),
            "tuned": (_TUNED_LARGE if large else _TUNED) + real(simulated),
            "skewed": _SKEWED_LARGE if large else _SKEWED,
            "crossed": (_CROSSED_LARGE if large else _CROSSED) + real(simulated),
            "timed": (_TIMED_LARGE if large else _TIMED) + real(stored),
            "stored": (_STORED_LARGE if large else _STORED) + real(stored)}


def mean(graphs, values):
    """The geometric mean of values, one per graph, over the graphs that count. None if all of them
    failed, NaN if there is none."""
    return geometric_mean(value for graph, value in zip(graphs, values, strict=True)
                          if graph.counts)


@dataclasses.dataclass(frozen=True)
class Setting:
    """The common setting of the figures of one call."""
    config: HardwareConfig
    dram: DramConfig
    #: Graphs for runs; for runs that depend on the places of vertex values; and for measurements on
    #: the host alone.
    simulated: tuple[GraphChoice, ...]
    wide: tuple[GraphChoice, ...]  #: See `simulated`.
    stored: tuple[GraphChoice, ...]  #: See `simulated`.
    repeat: int = 5  #: Number of repetitions of a measurement of wall time.
    brief: tuple[GraphChoice, ...] = ()  #: Graphs for many runs of each.
    tuned: tuple[GraphChoice, ...] = ()  #: Graphs for hundreds of plans of each algorithm.
    skewed: tuple[GraphChoice, ...] = ()  #: Graphs of as many arcs on more and more vertices.
    #: Graphs for runs on the device and on other machines, and for wall times of programs.
    crossed: tuple[GraphChoice, ...] = ()
    timed: tuple[GraphChoice, ...] = ()  #: See `crossed`.

    @property
    def warp_bits(self) -> int:
        """The logarithm of the lanes of a warp."""
        return int(math.log2(self.config.threads))


def with_mean(graphs) -> tuple:
    """The names of graphs, then the name of their mean."""
    return (*(choice.label for choice in graphs), "mean")


def where(setting) -> str:
    """A sentence on the common part of a setting's runs."""
    config = setting.config
    return (f"Cycles on `{config.name}`: {config.cores} core(s) of {config.warps} warps of "
            f"{config.threads} lanes; every result is that of the golden model, bit by bit.")
