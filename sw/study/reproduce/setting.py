"""The hardware and the graphs that all figures of one call share."""

import dataclasses
import math

from hw.config import HardwareConfig
from sim.memories import SimulatedDram

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


def _rmat(scale, degree):
    return GraphChoice("rmat", f"rmat:scale={scale},degree={degree},seed=1")


def _directed(scale, degree):
    return dataclasses.replace(_rmat(scale, degree), undirected=False, symmetric=False)


def _community(label, vertices, edges, communities, mixing):
    return GraphChoice(label, f"community:vertices={vertices},edges={edges},"
                       f"communities={communities},mixing={mixing},seed=1")


def _uniform(vertices, edges):
    return GraphChoice("uniform", f"uniform:vertices={vertices},edges={edges},seed=1")


def _road(side):
    return GraphChoice("road", f"road:side={side},seed=1", undirected=False)


def _skewed(share):
    """Graphs of as many arcs on more and more vertices: a share of those of SparseWeaver's figure
    4.11, with 1.9 million edges."""
    return tuple(
        GraphChoice(f"{vertices // share:,}", f"powerlaw:vertices={vertices // share},"
                    f"edges={950_000 // share},seed=1")
        for vertices in (10_000, 12_000, 16_000, 20_000, 40_000, 80_000))


_KARATE = GraphChoice("karate", "karate", undirected=False, counts=False)

#: The generated graphs of each field of :class:`Setting`, and the larger ones.
_GENERATED = {
    # Graphs so small that a run takes seconds. Most have twice the vertex values that the L1 of
    # preset `baseline` holds: a skewed graph, communities that contain most or half of the edges,
    # few large communities, a graph without structure, a road, and the smallest of all.
    "simulated": (
        (_rmat(13, 8), _community("community", 8192, 65536, 64, 0.1),
         _community("mixed", 8192, 65536, 64, 0.5), _community("dense", 4096, 65536, 16, 0.1),
         _uniform(8192, 65536), _road(64), _KARATE),
        (_rmat(16, 16), _community("community", 65536, 1048576, 512, 0.1),
         _community("mixed", 65536, 1048576, 512, 0.5),
         _community("dense", 16384, 1048576, 64, 0.1), _uniform(65536, 1048576), _road(256))),
    # Graphs whose vertex values are many times as large as a core's L1.
    "wide": (
        (_rmat(15, 4), _community("community", 32768, 131072, 128, 0.1), _uniform(32768, 131072)),
        (_rmat(18, 4), _community("community", 262144, 1048576, 1024, 0.1),
         _uniform(262144, 1048576))),
    # Graphs for many runs of each, with a third of the arcs. Three lists with a word for each arc
    # are still more than an L2 of 512 KiB holds.
    "brief": (
        (_rmat(12, 6), _community("community", 4096, 24576, 32, 0.1),
         _community("dense", 2048, 24576, 8, 0.1), _road(64)),
        (_rmat(15, 12), _community("community", 32768, 393216, 256, 0.1),
         _community("dense", 8192, 393216, 32, 0.1), _road(128))),
    # Graphs for hundreds of plans of each algorithm, of 4,000 and 2,000 arcs.
    "tuned": (
        (_rmat(8, 8), _road(24)),
        (_rmat(12, 16), _community("community", 4096, 32768, 32, 0.1), _uniform(4096, 32768),
         _road(64))),
    "skewed": (_skewed(32), _skewed(1)),
    # Graphs that run on several machines, the device among them: degrees by a power law, and a
    # road.
    "crossed": ((_rmat(12, 6), _road(64)), (_rmat(15, 12), _road(128))),
    # Graphs whose runs are compared with a GPU's on larger graphs of the same kind. The cost of
    # launches dominates on a road.
    "ranked": tuple((_directed(scale, 16), dataclasses.replace(_road(side), counts=False))
                    for scale, side in ((12, 64), (14, 128))),
    # Graphs for wall times of programs.
    "timed": ((_rmat(17, 8), _road(400)), (_rmat(20, 16), _road(2000))),
    # Graphs for measurements on the host alone. The vertices are several clusters of 2^16.
    "stored": (
        (_rmat(17, 8), _community("community S", 50000, 500000, 250, 0.1),
         _community("community M", 200000, 2000000, 1000, 0.1),
         _community("mixed M", 200000, 2000000, 1000, 0.5),
         _community("dense M", 100000, 2000000, 100, 0.1), _uniform(131072, 1048576), _road(400),
         _KARATE),
        (_rmat(20, 8), _community("community M", 200000, 2000000, 1000, 0.1),
         _community("community L", 1000000, 10000000, 5000, 0.1),
         _community("mixed L", 1000000, 10000000, 5000, 0.5),
         _community("dense L", 500000, 10000000, 100, 0.1), _uniform(1048576, 8388608),
         _road(1000))),
}


def choices(large, simulated=(), stored=()):
    """The graphs of a setting, by the fields of :class:`Setting`: generated graphs, larger ones if
    ``large`` (hours in place of minutes), and behind them real graphs
    (:class:`~sw.study.benchmarks.folder.Listed`), ``simulated`` for runs, and ``stored`` for
    measurements on the host alone."""
    found = {}
    for name, generated in _GENERATED.items():
        real = {"skewed": (), "timed": stored, "stored": stored}.get(name, simulated)
        found[name] = generated[bool(large)] + tuple(
            GraphChoice(each.name, each.path, undirected=each.undirected,
                        symmetric=each.undirected) for each in real)
    return found


def mean(graphs, values):
    """The geometric mean of values, one per graph, over the graphs that count. None if all of them
    failed, NaN if there is none."""
    return geometric_mean(value for graph, value in zip(graphs, values, strict=True)
                          if graph.counts)


@dataclasses.dataclass(frozen=True)
class Setting:
    """The common setting of the figures of one call."""
    config: HardwareConfig
    dram: SimulatedDram
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
    ranked: tuple[GraphChoice, ...] = ()  #: Graphs for runs that are compared with a GPU's.
    seeds: range = range(1, 41)  #: Of which each counterpart of a GPU's graph has one.
    gpu: str | None = None  #: The file of a GPU's records; None for the project's own.

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
