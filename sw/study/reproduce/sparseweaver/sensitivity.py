"""Skewness, memory, caches and late tables: figures 4.11 to 4.15."""

import dataclasses

from hw.config import LEGAL
from sw.study.benchmarks.grid import Grid

from ..measure import WarpIterations
from ..outcome import Comparison, Outcome, Plot, by_rows, number, percent, ratio, times
from ..paper import Figure
from ..setting import where
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

    #: Whose runs a point changes.
    _changed: tuple = (*_SOFTWARE, *WEAVERS)

    def _points(self, setting) -> dict:
        """{name of a point: the options of :func:`.runs.run` that it changes}."""
        raise NotImplementedError

    def grid(self, setting):
        points = self._points(setting)
        return Grid({"point": points, "graph": setting.brief, "contender": self._contenders},
                    lambda point, choice, name: run(
                        setting, choice, "pagerank", name, "pull",
                        **points[point] if name in self._changed else {}))

    def results(self, setting, found):
        cycles, points = found.cycles, list(found.places.axes["point"])
        base = cycles.at(contender=PLAIN)
        gains = ((base.at(point=points[0]) if self._first else base) / cycles).mean()
        by_name = {name: list(each) for name, each in gains.split("contender").items()}
        over = f"{PLAIN} at {points[0]}" if self._first else PLAIN
        rows = [(f"{point}: {choice.label}", cycles.at(point=point, graph=choice).cells(number))
                for (point, choice), _ in base.items()]
        rows += [(f"{point}: speedup over {over}", each.cells(times))
                 for point, each in gains.split("point").items()]
        return Outcome(
            (by_rows("PageRank: cycles", (self._label, *self._contenders), rows),),
            (Plot(str(self.title), f"speedup over {over}", tuple(points), {
                name: tuple(each) for name, each in by_name.items()}, reference=1.0),),
            tuple(self._comparisons(points, by_name)), cycles.nested(),
            (where(setting), HARDWARE))

    def _comparisons(self, points, gains):
        raise NotImplementedError

    @staticmethod
    def _shown(gains, name):
        """The speedups at the first and the last point, over the plain mapping there."""
        values = [ratio(gains[name][place], gains[PLAIN][place]) for place in (0, -1)]
        return " to ".join(map(times, values))


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

    def further(self, setting):
        return {"turns": Grid({"graph": setting.skewed}, lambda choice: WarpIterations(
            choice.graph, choice.undirected, setting.config.threads))}

    def grid(self, setting):
        return Grid({"point": [choice.label for choice in setting.skewed], "graph": setting.skewed,
                     "contender": self._contenders}, lambda point, choice, name: run(
                         setting, choice, "pagerank", name, "pull")
                    if choice.label == point else None)

    def results(self, setting, found, turns):
        outcome = super().results(setting, found)
        shares = list(turns.value("iterations", "vm") / turns.value("iterations", "em"))
        return dataclasses.replace(outcome, comparisons=(Comparison(
            "turns of vm over em, fewest to most vertices", "rises",
            f"{times(shares[0])} to {times(shares[-1])}"), *outcome.comparisons))

    def _comparisons(self, points, gains):
        for name in self._contenders[1:]:
            theirs = "rises" if name in ("em", *WEAVERS) else "-"
            yield Comparison(f"{name} over {PLAIN}, fewest to most vertices", theirs,
                             self._shown(gains, name))


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
        return {str(factor): {"dram": dataclasses.replace(setting.dram, ratio=factor)}
                for factor in range(1, 7)}

    def _comparisons(self, points, gains):
        for name, its in gains.items():
            yield Comparison(f"{name}: cycles at ratio 6, of those at 1", "rises",
                             times(ratio(its[0], its[-1])))
        for name in WEAVERS:
            yield Comparison(f"{name} over {PLAIN}, at ratio 1 and 6", "above 1x at all ratios",
                             self._shown(gains, name))


class _Caches(_Series):
    """Base of the figures that change the caches. Only the paper's Weaver runs."""
    _contenders = (*_SOFTWARE, _PAPERS)
    _first = True


class CacheLevels(_Caches):
    """Figure 4.13."""
    name = "fig4.13"
    title = "a last cache, and a last cache of four times the size"
    source = "figure 4.13, section 4.6.5"
    method = ("PageRank, pulling, one iteration. The paper adds an L3 behind its L2. Here the last "
              "cache is the L2: none, that of the preset, and four times as large. Means are "
              "geometric.")
    _label = "caches"

    def _points(self, setting):
        size = setting.config.l2_bytes or 1 << 17
        return {"L1": {"l2_bytes": 0, "l2_banks": 1}, "L1 and L2": {"l2_bytes": size},
                "L1 and L2 x 4": {"l2_bytes": min(4 * size, 1 << 23)}}

    def _comparisons(self, points, gains):
        for name, (none, one, four) in gains.items():
            yield Comparison(f"{name}: an L2, over none", "significant", times(ratio(one, none)))
            yield Comparison(f"{name}: four times the L2, over the L2", "no noticeable gain",
                             times(ratio(four, one)))


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

    def _points(self, setting):
        config = setting.config
        l2 = config.l2_bytes or 1 << 17
        pairs = [(config.l1_bytes, l2), *((factor * config.l1_bytes, l2) for factor in (2, 4)),
                 *((config.l1_bytes, l2 * factor // 4) for factor in (1, 2, 8, 16, 32))]
        return {f"{one >> 10}, {other >> 10} KiB": {"l1_bytes": one, "l2_bytes": other}
                for one, other in pairs if one <= 1 << 18 and other <= 1 << 23}

    def _comparisons(self, points, gains):
        for name, its in gains.items():
            known = [value for value in its if value is not None]
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

    _changed = tuple(WEAVERS)

    def _points(self, setting):
        return {str(latency): {"table_latency": latency}
                for latency in LEGAL["table_latency"].values}

    def results(self, setting, found):
        outcome = super().results(setting, found)
        return dataclasses.replace(outcome, tables=(
            *outcome.tables, self._waits(found.value("counters"), setting.config.cores)))

    def _waits(self, counters, cores):
        """Where the latency shows: parts of the cycles, over all graphs."""
        names, rows = ("weaver_waits", "stall_weaver", "stall_barrier"), []
        for latency in counters.axes["point"]:
            for name in WEAVERS:
                every = list(counters.at(point=latency, contender=name))
                cycles = None if None in every else sum(each["cycles"] for each in every)
                rows.append((latency, name, [percent(
                    None if cycles is None else sum(each[key] for each in every) / cycles / cores)
                    for key in names]))
        return by_rows("Parts of the cycles", (
            self._label, "Weaver", "a request for work waits", "stalls: all wait for the Weaver",
            "stalls: all wait at a barrier"), rows)

    def _comparisons(self, points, gains):
        for name in WEAVERS:
            for place in range(1, len(points)):
                yield Comparison(f"{name}: cycles at a latency of {points[place]}, of those at 0",
                                 published.LATE_TABLES,
                                 times(ratio(gains[name][0], gains[name][place])))
