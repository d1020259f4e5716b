"""The Weaver against the schedules in software: figure 4.10 and table 4.5."""

from ..outcome import Comparison, Outcome, Plot, Table, number, ratio, times
from ..paper import Figure
from ..setting import mean, where, with_mean
from . import published
from .runs import HARDWARE, PLAIN, SOFTWARE, WEAVERS, contenders


__all__ = ["ByGraph", "Speedups"]


#: The rivals that figure 4.10 compares with: the paper's vertex mapping in its plain loop, ours,
#: edge mapping, and at each place the best of all schedules in software.
_BEST = "best"
_RIVALS = {PLAIN: "vm", "vm": "vm", "em": "em", _BEST: None}


class _Against(Figure):
    """Base of both: every contender, in the better of its directions."""
    _algorithms = tuple(published.ALGORITHMS)

    def _runs(self, setting, choice, algorithm):
        return contenders(setting, choice, algorithm, (*SOFTWARE, *WEAVERS))

    def cases(self, setting):
        return [case for algorithm in self._algorithms for choice in setting.brief
                for ways in self._runs(setting, choice, algorithm).values()
                for case in ways.values()]

    def _cycles(self, setting, results, algorithm):
        """For each graph, cycles by contender, and of the best schedule in software."""
        found = []
        for choice in setting.brief:
            cycles = {name: results.best(ways)[1]
                      for name, ways in self._runs(setting, choice, algorithm).items()}
            known = [cycles[name] for name in SOFTWARE if cycles[name] is not None]
            found.append(cycles | {_BEST: min(known, default=None)})
        return found


class Speedups(_Against):
    """Figure 4.10."""
    name = "fig4.10"
    title = "the Weaver over the schedules in software"
    source = "figure 4.10, section 4.6.1"
    method = (f"Each contender in the better of its directions. `{PLAIN}` is vertex mapping in the "
              "paper's plain loop; `vm` and the other schedules in software are as fast as they "
              "are here. `best` is the fastest of them for each graph. The paper has seven graphs. "
              "PageRank makes one iteration. Means are geometric.")

    def outcome(self, setting, results):
        tables, plots, comparisons, data = [], [], [], {}
        every = {(name, rival): [] for name in WEAVERS for rival in _RIVALS}
        shown = (*SOFTWARE, *WEAVERS)
        for algorithm, short in published.ALGORITHMS.items():
            cycles = self._cycles(setting, results, algorithm)
            rows = [(choice.label, *(number(found[name]) for name in shown))
                    for choice, found in zip(setting.brief, cycles)]
            for rival in (PLAIN, _BEST):
                rows.append((f"mean speedup over {rival}", *(times(mean(setting.brief, [
                    ratio(found[rival], found[name]) for found in cycles])) for name in shown)))
            tables.append(Table(f"{short}: cycles", ("graph", *shown), tuple(rows)))
            bars = {name: [ratio(found[PLAIN], found[name]) for found in cycles]
                    for name in ("em", "wm", "cm", *WEAVERS)}
            plots.append(Plot(short, f"speedup over {PLAIN}", with_mean(setting.brief), {
                name: (*values, mean(setting.brief, values)) for name, values in bars.items()},
                reference=1.0,
                paper={"paper's Weaver": published.SPEEDUPS["vm", algorithm]}))
            for (name, rival), values in every.items():
                mine = [ratio(found[rival], found[name]) for found in cycles]
                values += mine
                comparisons.append(self._compared(short, name, rival, (_RIVALS[rival], algorithm),
                                                  mean(setting.brief, mine)))
            data[algorithm] = {choice.label: found for choice, found in zip(setting.brief, cycles)}
        graphs = setting.brief * len(published.ALGORITHMS)
        comparisons += [self._compared("all four", name, rival, (_RIVALS[rival], None),
                                       mean(graphs, values))
                        for (name, rival), values in every.items()]
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data,
                       (where(setting), HARDWARE))

    @staticmethod
    def _compared(what, name, rival, key, ours):
        theirs = published.SPEEDUPS.get(key)
        return Comparison(f"{what}: {name} over {rival}",
                          "-" if theirs is None else times(theirs), times(ours))


class ByGraph(_Against):
    """Table 4.5."""
    name = "table4.5"
    title = "PageRank by graph: the best schedule in software, and the Weaver, over vm"
    source = "table 4.5, section 4.6.10"
    method = (f"One iteration; `vm` is `{PLAIN}`, the paper's plain loop. The paper takes its best "
              "schedules from an A30, and the Weaver's times from a simulator of eight cores. Here "
              "both run on the same core, memory and graphs.")
    _algorithms = ("pagerank",)

    def outcome(self, setting, results):
        [algorithm] = self._algorithms
        rows, series, data = [], {name: [] for name in (_BEST, *WEAVERS)}, {}
        for choice, found in zip(setting.brief, self._cycles(setting, results, algorithm)):
            gains = {name: ratio(found[PLAIN], found[name]) for name in series}
            for name, value in gains.items():
                series[name].append(value)
            rows.append((choice.label, number(found[PLAIN]), *(
                cell for name in series for cell in (number(found[name]), times(gains[name])))))
            data[choice.label] = gains
        theirs = tuple((name, *map(times, pair)) for name, pair in published.BY_GRAPH.items())
        columns = ("graph", PLAIN, *(cell for name in series for cell in (name, "speedup")))
        low, high = (extreme(weaver for _, weaver in published.BY_GRAPH.values())
                     for extreme in (min, max))
        comparisons = []
        for name in WEAVERS:
            known = [value for value in series[name] if value is not None]
            comparisons.append(Comparison(
                f"{name} over {PLAIN}: least and most", f"{times(low)} and {times(high)}",
                f"{times(min(known))} and {times(max(known))}" if known else number(None)))
        return Outcome(
            (Table("PageRank", columns, tuple(rows)),
             Table("The paper: over VM", ("graph", "GRAssembler on an A30", "SparseWeaver"),
                   theirs)),
            (Plot("PageRank", f"speedup over {PLAIN}", with_mean(setting.brief), {
                name: (*values, mean(setting.brief, values)) for name, values in series.items()},
                reference=1.0),), tuple(comparisons), data, (where(setting), HARDWARE))
