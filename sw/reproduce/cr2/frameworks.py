"""Cycles of four algorithms under three frameworks: table 3.5; and under the Weaver."""

from ..outcome import Comparison, Outcome, Plot, Table, geometric_mean, number, ratio, times
from ..paper import Figure
from ..setting import mean, where
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

    def _choices(self, setting, choice, algorithm):
        """{framework: {(format, schedule, direction): case}}."""
        return {name: {(format, schedule, direction): case
                       for format, schedule, listed in ways
                       for direction, case in directed(choice, algorithm, schedule, format,
                                                       listed).items()}
                for name, ways in frameworks(setting).items()}

    def cases(self, setting):
        return [case for algorithm in ALGORITHMS for choice in setting.simulated
                for cases in self._choices(setting, choice, algorithm).values()
                for case in cases.values()]

    def outcome(self, setting, results):
        tables, plots, comparisons, data = [], [], [], {}
        every = {name: [] for name in (*_OTHERS, *_WEAVER)}
        graphs = setting.simulated * len(ALGORITHMS)
        for algorithm, short in ALGORITHMS.items():
            best = {choice.label: {
                name: results.best(cases)
                for name, cases in self._choices(setting, choice, algorithm).items()}
                for choice in setting.simulated}
            over = {other: {label: ratio(found[other][1], found["CR2"][1])
                            for label, found in best.items()} for other in _OTHERS}
            for other in _OTHERS:
                every[other] += over[other].values()
                comparisons.append(Comparison(
                    f"{short}: CR2 over {other}", times(published.speedup(other, algorithm)),
                    times(mean(setting.simulated, over[other].values()))))
            if algorithm in SEARCHES:
                comparisons.append(Comparison(
                    f"{short}: CR2 over {_UNLISTED}", "-",
                    times(mean(setting.simulated, [ratio(found[_UNLISTED][1], found["CR2"][1])
                                                   for found in best.values()]))))
            for name in _WEAVER:
                every[name] += [ratio(found["CR2"][1], found[name][1]) for found in best.values()]
            tables.append(self._table(setting, short, best, over))
            plots.append(self._plot(setting, algorithm, short, best))
            data[algorithm] = {
                label: {name: {"cycles": cycles, "way": way}
                        for name, (way, cycles) in found.items()}
                for label, found in best.items()}
        for other in _OTHERS:
            comparisons.append(Comparison(
                f"all four: CR2 over {other}",
                f"{times(published.SPEEDUPS[None][other])}, its table "
                f"{times(published.speedup(other))}", times(mean(graphs, every[other]))))
        comparisons += [Comparison(f"all four: {name} over CR2", "-",
                                   times(mean(graphs, every[name]))) for name in _WEAVER]
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data, (
            where(setting), "The paper states two sets of means. The means by algorithm here "
            "follow from its table 3.5. The other set has the means of all four algorithms that "
            "are given first."))

    @staticmethod
    def _table(setting, short, best, over):
        names = list(frameworks(setting))
        rows = []
        for label, found in best.items():
            cells = []
            for name in names:
                way, cycles = found[name]
                cells.append(number(cycles) if way is None else
                             f"{number(cycles)} {_spelled(name, way)}")
            rows.append((label, *cells, *(times(over[other][label]) for other in _OTHERS)))
        means = [mean(setting.simulated, [ratio(found["VWC-CSR"][1], found[name][1])
                                          for found in best.values()]) for name in names]
        rows.append(("mean speedup over VWC-CSR", *(times(mean) for mean in means),
                     *(times(mean(setting.simulated, over[other].values())) for other in _OTHERS)))
        return Table(f"{short}: cycles", (
            "graph", *names, *(f"CR2 over {other}" for other in _OTHERS)), tuple(rows))

    @staticmethod
    def _plot(setting, algorithm, short, best):
        series = {}
        for name in _DRAWN:
            speedups = [ratio(found["VWC-CSR"][1], found[name][1]) for found in best.values()]
            series[name] = (*speedups, mean(setting.simulated, speedups),
                            _paper(algorithm, name))
        return Plot(short, "speedup over VWC-CSR", (*best, "mean", "paper"), series,
                    reference=1.0)


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
