"""The Weaver against the schedules in software: figure 4.10 and table 4.5."""

from sw.study.benchmarks.grid import Cube, Grid, by_point

from ..outcome import Comparison, Outcome, bars, by_columns, by_rows, extremes, number, times
from ..paper import Figure
from ..setting import mean, where
from . import published
from .runs import HARDWARE, PLAIN, SOFTWARE, WEAVERS, ways


__all__ = ["ByGraph", "Speedups"]


#: The rivals that figure 4.10 compares with: the paper's vertex mapping in its plain loop, ours,
#: edge mapping, and at each place the best of all schedules in software.
_BEST = "best"
_RIVALS = {PLAIN: "vm", "vm": "vm", "em": "em", _BEST: None}


class _Against(Figure):
    """Base of both: every contender, in the better of its directions."""
    _algorithms = tuple(published.ALGORITHMS)

    def grid(self, setting):
        return Grid({"algorithm": self._algorithms, "graph": setting.brief,
                     "contender": (*SOFTWARE, *WEAVERS)},
                    lambda algorithm, choice, name: ways(setting, choice, algorithm, name))

    @staticmethod
    def _cycles(found, algorithm):
        """Cycles on each graph by contender, and of the best schedule in software."""
        cycles = found.cycles.at(algorithm=algorithm).split("contender")
        software = zip(*(cycles[name] for name in SOFTWARE))
        labels = cycles[PLAIN].axes["graph"]
        return cycles | {_BEST: Cube({"graph": labels}, {
            (choice,): min((value for value in values if value is not None), default=None)
            for choice, values in zip(labels, software)})}


class Speedups(_Against):
    """Figure 4.10."""
    name = "fig4.10"
    title = "the Weaver over the schedules in software"
    source = "figure 4.10, section 4.6.1"
    method = (f"Each contender in the better of its directions. `{PLAIN}` is vertex mapping in the "
              "paper's plain loop; `vm` and the other schedules in software are as fast as they "
              "are here. `best` is the fastest of them for each graph. The paper has seven graphs. "
              "PageRank makes one iteration. Means are geometric.")

    def results(self, setting, found):
        tables, plots, comparisons, data = [], [], [], {}
        every = {(name, rival): [] for name in WEAVERS for rival in _RIVALS}
        shown = (*SOFTWARE, *WEAVERS)
        for algorithm, short in published.ALGORITHMS.items():
            cycles = self._cycles(found, algorithm)
            tables.append(by_columns(
                f"{short}: cycles", ("graph", (*cycles[PLAIN].labels(), *(
                    f"mean speedup over {rival}" for rival in (PLAIN, _BEST)))),
                *((name, cycles[name].cells(number, *(times((cycles[rival] / cycles[name]).mean())
                                                      for rival in (PLAIN, _BEST))))
                  for name in shown)))
            plots.append(bars(short, f"speedup over {PLAIN}", {
                name: cycles[PLAIN] / cycles[name] for name in ("em", "wm", "cm", *WEAVERS)},
                reference=1.0, paper={"paper's Weaver": published.SPEEDUPS["vm", algorithm]}))
            for (name, rival), values in every.items():
                mine = cycles[rival] / cycles[name]
                values += mine
                comparisons.append(self._compared(short, name, rival, algorithm, mine.mean()))
            data[algorithm] = by_point(cycles)
        graphs = setting.brief * len(published.ALGORITHMS)
        comparisons += [self._compared("all four", name, rival, None, mean(graphs, values))
                        for (name, rival), values in every.items()]
        return Outcome(tables, plots, comparisons, data, (where(setting), HARDWARE))

    @staticmethod
    def _compared(what, name, rival, algorithm, ours):
        theirs = published.SPEEDUPS.get((_RIVALS[rival], algorithm))
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

    def results(self, setting, found):
        cycles = self._cycles(found, *self._algorithms)
        gains = {name: cycles[PLAIN] / cycles[name] for name in (_BEST, *WEAVERS)}
        theirs = [weaver for _, weaver in published.BY_GRAPH.values()]
        return Outcome(
            (by_columns("PageRank", ("graph", cycles[PLAIN].labels()),
                        (PLAIN, cycles[PLAIN].cells(number)), *(
                            column for name, each in gains.items() for column in (
                                (name, cycles[name].cells(number)),
                                ("speedup", each.cells(times))))),
             by_rows("The paper: over VM", ("graph", "GRAssembler on an A30", "SparseWeaver"), (
                 (name, *map(times, pair)) for name, pair in published.BY_GRAPH.items()))),
            (bars("PageRank", f"speedup over {PLAIN}", gains, reference=1.0),),
            tuple(Comparison(f"{name} over {PLAIN}: least and most", extremes(theirs),
                             extremes(gains[name])) for name in WEAVERS),
            by_point(gains), (where(setting), HARDWARE))
