"""Skewness, memory, caches and late tables: figures 4.11 to 4.15."""

import dataclasses
import functools

from hw.config import LEGAL

from ..measure import WarpIterations
from ..outcome import Comparison, Outcome, Plot, Table, number, percent, ratio, times
from ..paper import Figure
from ..setting import mean, where
from . import published
from .runs import HARDWARE, PLAIN, WEAVERS, run


__all__ = ["CacheLevels", "CacheSizes", "Frequencies", "LateTables", "Skewness"]


#: The software of the paper's figures: vertex mapping (the paper's, and ours), and edge mapping.
_SOFTWARE = (PLAIN, "vm", "em")

#: The paper's Weaver.
_PAPERS, *_ = WEAVERS


class _Series(Figure):
    """PageRank by a few contenders at several points. Bars are speedups over the plain vertex
    mapping at the first point, or at each point."""
    _label: str
    _first = False
    _contenders: tuple = (*_SOFTWARE, *WEAVERS)

    def _points(self, setting) -> dict:
        """{name of a point: {graph: function from contender to case}}."""
        raise NotImplementedError

    def cases(self, setting):
        return [make(name) for graphs in self._points(setting).values()
                for make in graphs.values() for name in self._contenders]

    def outcome(self, setting, results):
        points = self._points(setting)
        cycles = {point: [{name: results.cycles(make(name)) for name in self._contenders}
                          for make in graphs.values()] for point, graphs in points.items()}
        graphs = {point: tuple(found) for point, found in points.items()}
        first = next(iter(points))
        base = {point: [found[PLAIN] for found in cycles[first if self._first else point]]
                for point in points}
        gains = {name: tuple(mean(graphs[point], [ratio(reference, found[name]) for reference, found
                                                  in zip(base[point], cycles[point])])
                             for point in points) for name in self._contenders}
        rows = [(f"{point}: {choice.label}", *map(number, found.values()))
                for point in points for choice, found in zip(graphs[point], cycles[point])]
        over = f"{PLAIN} at {first}" if self._first else PLAIN
        rows += [(f"{point}: speedup over {over}", *(times(gains[name][place])
                                                    for name in self._contenders))
                 for place, point in enumerate(points)]
        return Outcome(
            (Table("PageRank: cycles", (self._label, *self._contenders), tuple(rows)),),
            (Plot(str(self.title), f"speedup over {over}", tuple(points), gains, reference=1.0),),
            tuple(self._comparisons(setting, results, list(points), gains)),
            {point: {choice.label: found for choice, found in zip(graphs[point], cycles[point])}
             for point in points}, (where(setting), HARDWARE))

    def _comparisons(self, setting, results, points, gains):
        raise NotImplementedError

    def _shown(self, points, gains, name):
        """The speedups at the first and the last point, over the plain mapping there."""
        values = [ratio(gains[name][place], gains[PLAIN][place]) for place in (0, -1)]
        return " to ".join(map(times, values))


def _each(setting, graphs, **choices):
    """{graph: function from contender to case}."""
    return {choice: functools.partial(_case, setting, choice, tuple(choices.items()))
            for choice in graphs}


def _case(setting, choice, choices, name):
    return run(setting, choice, "pagerank", name, "pull", **dict(choices))


class Skewness(_Series):
    """Figure 4.11."""
    name = "fig4.11"
    title = "more vertices for the same arcs"
    source = "figure 4.11, section 4.6.2"
    method = ("PageRank, pulling, one iteration, on graphs of a power law with the same number of "
              "arcs and more and more vertices. The paper's graphs have 1.9 million edges (with "
              "--large here too) on 10,000 to 80,000 vertices; by default all numbers are a "
              "thirty-second part. `turns` are the warp iterations of vertex mapping over those "
              "of edge mapping.")
    _label = "vertices"

    def _turns(self, setting):
        return {choice: WarpIterations(choice.graph, choice.undirected, setting.config.threads)
                for choice in setting.skewed}

    def _points(self, setting):
        return {choice.label: _each(setting, (choice,)) for choice in setting.skewed}

    def cases(self, setting):
        return [*super().cases(setting), *self._turns(setting).values()]

    def _comparisons(self, setting, results, points, gains):
        found = [results.value(case, "iterations") for case in self._turns(setting).values()]
        turns = [None if each is None else ratio(each["vm"], each["em"]) for each in found]
        yield Comparison("turns of vm over em, fewest to most vertices", "rises",
                         f"{times(turns[0])} to {times(turns[-1])}")
        for name in self._contenders[1:]:
            theirs = "rises" if name in ("em", *WEAVERS) else "-"
            yield Comparison(f"{name} over {PLAIN}, fewest to most vertices", theirs,
                             self._shown(points, gains, name))


class Frequencies(_Series):
    """Figure 4.12."""
    name = "fig4.12"
    title = "a core that is faster than its memory"
    source = "figure 4.12, section 4.6.3"
    method = ("PageRank, pulling, one iteration, with the core's clock 1 to 6 times as fast as the "
              "memory's. Cycles are of the core. Means are geometric.")
    _label = "ratio"
    _first = True

    def _points(self, setting):
        return {str(factor): _each(setting, setting.brief,
                                   dram=dataclasses.replace(setting.dram, ratio=factor))
                for factor in range(1, 7)}

    def _comparisons(self, setting, results, points, gains):
        for name in self._contenders:
            yield Comparison(f"{name}: cycles at ratio 6, of those at 1", "rises",
                             times(ratio(gains[name][0], gains[name][-1])))
        for name in WEAVERS:
            yield Comparison(f"{name} over {PLAIN}, at ratio 1 and 6", "above 1x at all ratios",
                             self._shown(points, gains, name))


class _Caches(_Series):
    """Base of the figures that change the caches. Only the paper's Weaver runs."""
    _contenders = (*_SOFTWARE, _PAPERS)
    _first = True

    def _configs(self, config) -> dict:
        """{name: fields of the configuration}."""
        raise NotImplementedError

    def _points(self, setting):
        return {name: _each(setting, setting.brief, **fields)
                for name, fields in self._configs(setting.config).items()}


class CacheLevels(_Caches):
    """Figure 4.13."""
    name = "fig4.13"
    title = "a last cache, and a last cache of four times the size"
    source = "figure 4.13, section 4.6.5"
    method = ("PageRank, pulling, one iteration. The paper adds an L3 behind its L2. Here the last "
              "cache is the L2: none, that of the preset, and four times as large. Means are "
              "geometric.")
    _label = "caches"

    def _configs(self, config):
        size = config.l2_bytes or 1 << 17
        return {"L1": {"l2_bytes": 0, "l2_banks": 1}, "L1 and L2": {"l2_bytes": size},
                "L1 and L2 x 4": {"l2_bytes": min(4 * size, 1 << 23)}}

    def _comparisons(self, setting, results, points, gains):
        for name in self._contenders:
            yield Comparison(f"{name}: an L2, over none", "significant",
                             times(ratio(gains[name][1], gains[name][0])))
            yield Comparison(f"{name}: four times the L2, over the L2", "no noticeable gain",
                             times(ratio(gains[name][2], gains[name][1])))


class CacheSizes(_Caches):
    """Figure 4.14."""
    name = "fig4.14"
    title = "sizes of the caches"
    source = "figure 4.14, section 4.6.5"
    method = ("PageRank, pulling, one iteration. The paper has L1s of 16 to 64 KiB and L2s of 0.25 "
              "to 8 MiB, and its base are 16 KiB and 1 MiB. Here the base is that of the preset, "
              "the L1 grows twofold and fourfold, and the L2 is a quarter to eight times the "
              "preset's. Means are geometric.")
    _label = "L1, L2"

    def _configs(self, config):
        l2 = config.l2_bytes or 1 << 17
        pairs = [(config.l1_bytes, l2), *((factor * config.l1_bytes, l2) for factor in (2, 4)),
                 *((config.l1_bytes, l2 * factor // 4) for factor in (1, 2, 8, 16, 32))]
        return {f"{one >> 10}, {other >> 10} KiB": {"l1_bytes": one, "l2_bytes": other}
                for one, other in pairs if one <= 1 << 18 and other <= 1 << 23}

    def _comparisons(self, setting, results, points, gains):
        for name in self._contenders:
            known = [value for value in gains[name] if value is not None]
            yield Comparison(f"{name}: the best caches over the worst", "minimal", times(
                ratio(max(known), min(known)) if known else None))


class LateTables(_Series):
    """Figure 4.15."""
    name = "fig4.15"
    title = "tables of the Weaver that answer late"
    source = "figure 4.15, section 4.6.4"
    method = ("PageRank, pulling, one iteration, with `table_latency` of 0 and of the paper's 10 "
              "to 160 cycles. Rows of the sparse table and EIDs of the dense table come so many "
              "cycles later; reads are pipelined. The plain vertex mapping has no tables. The "
              "paper has eight cores of 32 warps of 32 lanes here. Means are geometric.")
    _label = "latency"
    _contenders = (PLAIN, *WEAVERS)
    _first = True

    def _points(self, setting):
        return {str(latency): {choice: functools.partial(self._run, setting, choice, latency)
                               for choice in setting.brief}
                for latency in LEGAL["table_latency"].values}

    @staticmethod
    def _run(setting, choice, latency, name):
        fields = {"table_latency": latency} if name in WEAVERS else {}
        return run(setting, choice, "pagerank", name, "pull", **fields)

    def outcome(self, setting, results):
        found = super().outcome(setting, results)
        return dataclasses.replace(found, tables=(*found.tables, self._waits(setting, results)))

    def _waits(self, setting, results):
        """Where the latency shows: parts of the cycles, over all graphs."""
        rows = []
        for latency, graphs in self._points(setting).items():
            for name in WEAVERS:
                counters = [results.value(make(name), "counters") for make in graphs.values()]
                shares = [None] * 3
                if None not in counters:
                    sums = {key: sum(each[key] for each in counters)
                            for key in ("cycles", "weaver_waits", "stall_weaver", "stall_barrier")}
                    shares = [sums[key] / sums["cycles"] / setting.config.cores
                              for key in ("weaver_waits", "stall_weaver", "stall_barrier")]
                rows.append((latency, name, *map(percent, shares)))
        return Table("Parts of the cycles", (
            self._label, "Weaver", "a request for work waits", "stalls: all wait for the Weaver",
            "stalls: all wait at a barrier"), tuple(rows))

    def _comparisons(self, setting, results, points, gains):
        for name in WEAVERS:
            for place in range(1, len(points)):
                yield Comparison(f"{name}: cycles at a latency of {points[place]}, of those at 0",
                                 published.LATE_TABLES,
                                 times(ratio(gains[name][0], gains[name][place])))
