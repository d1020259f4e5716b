"""Cycles of four algorithms under three frameworks: table 3.5; and under the Weaver."""

from sw.study.benchmarks.grid import Grid

from ..outcome import Comparison, Outcome, Plot, by_columns, geometric_mean, number, times
from ..paper import Figure
from ..setting import where
from . import published
from .runs import ALGORITHMS, SEARCHES, cluster_text, directed


__all__ = ["Frameworks", "frameworks"]


#: The widest virtual warp of VWC, whatever the warp.
_WIDEST = 32

#: VWC-CSR without a list of the frontier.
_UNLISTED = "VWC-CSR, no list"


def frameworks(setting):
    """The candidates of each framework, as (format, schedule, whether searches have a list of the
    frontier). The best candidate stands for the framework.

    The first three frameworks are the paper's. VWC-CSR has virtual warps of 2 lanes to all lanes of
    a warp. Tigr maps a lane to a virtual vertex. CR2's kernels map a lane to an edge (algorithm
    3.4). Where a frontier is small, CR2's expand list leads to the records of the frontier's
    vertices, one record a lane. The other frameworks are in no paper. One is VWC-CSR whose searches
    look at all vertices in every superstep: the paper's VWC-CSR may be of this kind, and a format
    without a list is compared with this one.
    """
    widths = [1 << bits for bits in range(1, setting.warp_bits + 1) if 1 << bits <= _WIDEST]
    cr2 = cluster_text(setting)
    return {
        "VWC-CSR": [("csr", f"vwc:width={width}", True) for width in widths],
        "Tigr": [("tigr:k=8", "vm", True)],
        "CR2": [(cr2, "em", True), (cr2, "vm", True)],
        "CR2 em": [(cr2, "em", True)],
        "CR2 vm": [(cr2, "vm", True)],
        _UNLISTED: [("csr", f"vwc:width={width}", False) for width in widths],
        "CR2, Weaver": [(cr2, "weaver", True)],
        "CSR, Weaver": [("csr", "weaver", True)],
    }


#: The frameworks that the paper compares CR2 with, those with the Weaver, and those in the plots.
_OTHERS = ("VWC-CSR", "Tigr")
_WEAVER = ("CR2, Weaver", "CSR, Weaver")
_DRAWN = ("VWC-CSR", "Tigr", "CR2", "CR2, Weaver", "CSR, Weaver")


class Frameworks(Figure):
    """Table 3.5."""
    name = "table3.5"
    title = "PR, BFS, CC and SSSP by framework"
    source = "table 3.5, section 3.5.1"
    method = ("Each framework runs with the better of push and pull, as in the paper; VWC-CSR "
              "also with the best width of a virtual warp, CR2 with the better of em (algorithm "
              "3.4) and vm. Tigr with K = 8, CR2 with clusters of 2^8 vertices and degrees up to "
              "a warp's lanes. PageRank: one iteration; searches from the vertex with the most "
              "arcs, to their end; weights, where a graph has none, from 1 to 64 at random. Means "
              "are geometric, without karate. The columns with the Weaver, and VWC-CSR whose "
              "searches have no list of the frontier and look at all vertices, are in no paper.")

    def grid(self, setting):
        known = frameworks(setting)
        return Grid({"algorithm": ALGORITHMS, "graph": setting.simulated, "framework": known},
                    lambda algorithm, choice, name: {
                        (format, schedule, direction): case
                        for format, schedule, listed in known[name]
                        for direction, case in directed(choice, algorithm, schedule, format,
                                                        listed).items()})

    def results(self, setting, found):
        tables, plots, comparisons = [], [], []
        over = found.cycles / found.cycles.at(framework="CR2")       # the time of each, of CR2's
        for algorithm, short in ALGORITHMS.items():
            here = over.at(algorithm=algorithm)
            comparisons += [Comparison(
                f"{short}: CR2 over {other}", times(published.speedup(other, algorithm)),
                times(here.at(framework=other).mean())) for other in _OTHERS]
            if algorithm in SEARCHES:
                comparisons.append(Comparison(
                    f"{short}: CR2 over {_UNLISTED}", "-",
                    times(here.at(framework=_UNLISTED).mean())))
            cycles = found.cycles.at(algorithm=algorithm).split("framework")
            speedups = {name: cycles["VWC-CSR"] / its for name, its in cycles.items()}
            own = found.best().at(algorithm=algorithm)
            tables.append(by_columns(
                f"{short}: cycles", ("graph", (*here.labels(), "mean speedup over VWC-CSR")),
                *((name, [*(number(its) + (f" {_spelled(name, way)}" if way else "")
                            for way, its in own.at(framework=name)), times(each.mean())])
                  for name, each in speedups.items()),
                *((f"CR2 over {other}", here.at(framework=other).cells(
                    times, times(here.at(framework=other).mean()))) for other in _OTHERS)))
            plots.append(Plot(short, "speedup over VWC-CSR", (*here.labels(), "mean", "paper"), {
                name: (*speedups[name], speedups[name].mean(), _paper(algorithm, name))
                for name in _DRAWN}, reference=1.0))
        comparisons += [Comparison(
            f"all four: CR2 over {other}", f"{times(published.SPEEDUPS[None][other])}, its table "
            f"{times(published.speedup(other))}",
            times(over.at(framework=other).mean("algorithm", "graph"))) for other in _OTHERS]
        comparisons += [Comparison(
            f"all four: {name} over CR2", "-",
            times((1 / over).at(framework=name).mean("algorithm", "graph"))) for name in _WEAVER]
        return Outcome(tables, plots, comparisons, found.best().map(
            lambda best: dict(zip(("way", "cycles"), best))).nested(), (
            where(setting), "The paper states two sets of means. The means by algorithm here "
            "follow from its table 3.5. The other set has the means of all four algorithms that "
            "are given first."))


def _spelled(name, way):
    """The best candidate of a framework, in a word or two."""
    _, schedule, direction = way
    if name in ("VWC-CSR", _UNLISTED):
        return f"({direction}, {schedule.partition('=')[2]})"
    return f"({direction}, {schedule})" if name == "CR2" else f"({direction})"


def _paper(algorithm, name):
    """The paper's mean speedup of a framework over VWC-CSR; NaN if it has none."""
    if name not in published.FRAMEWORKS:
        return float("nan")
    column = published.FRAMEWORKS.index(name)
    return geometric_mean(graph[0] / graph[column]
                          for graph in published.TIMES[algorithm].values()
                          if graph[column] is not None)
