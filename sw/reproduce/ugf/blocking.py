"""EdgeBlocking: table 6.7."""

from ..measure import BuildTime
from ..outcome import Comparison, Outcome, Plot, Table, geometric_mean, number, ratio, times
from ..paper import Figure
from ..setting import mean, where
from ..space import graph_of
from . import published
from .runs import device


__all__ = ["EdgeBlocking"]


#: Parts that the vertices are divided into; the fastest counts.
_PARTS = (2, 4, 8, 16)


class EdgeBlocking(Figure):
    """Table 6.7."""
    name = "table6.7"
    title = "PageRank with and without EdgeBlocking"
    source = "table 6.7, section 6.4"
    method = ("One iteration under em with COO, pushing or pulling, the fastest of 2, 4, 8 and 16 "
              "blocks beside the better direction without blocks. The vertices' values are many "
              "times as large as the L1. Preprocessing is the build of COO in 4 blocks beside the "
              "build of COO, on larger graphs; the thesis has it in milliseconds.")

    @staticmethod
    def _texts(choice):
        vertices = graph_of(choice, False).num_vertices
        return [f"coo:block={max(1, -(-vertices // parts))}" for parts in _PARTS]

    def _runs(self, choice):
        """{whether there are blocks: {text: case}}."""
        return {blocked: {f"{text} {direction}": device(
            choice, "pagerank", schedule="em", format=text, direction=direction)
            for text in (self._texts(choice) if blocked else ["coo"])
            for direction in ("push", "pull")} for blocked in (False, True)}

    def _build(self, setting, choice):
        return BuildTime(choice.graph, choice.undirected, ("coo", self._texts(choice)[1]),
                         setting.repeat)

    def cases(self, setting):
        return [case for choice in setting.wide for ways in self._runs(choice).values()
                for case in ways.values()] + [self._build(setting, choice)
                                              for choice in setting.timed]

    def outcome(self, setting, results):
        rows, data, gains = [], {}, []
        for choice in setting.wide:
            runs = self._runs(choice)
            (_, without), (text, with_) = (results.best(runs[blocked]) for blocked in (False, True))
            gains.append(ratio(without, with_))
            lines = [self._counter(results, ways, "dram_reads") for ways in runs.values()]
            rows.append((choice.label, number(without), number(with_), text or "",
                         times(gains[-1]), times(ratio(*lines))))
            data[choice.label] = {"without": without, "with": with_, "blocks": text,
                                  "lines": lines}
        builds = []
        for choice in setting.timed:
            found = results.value(self._build(setting, choice), "seconds") or {}
            plain, blocked = (found.get(text) for text in ("coo", self._texts(choice)[1]))
            builds.append(ratio(blocked, plain))
        theirs = {graph: without / with_ for graph, (without, with_, _)
                  in published.BLOCKING.items()}
        known = [value for value in gains if value is not None]
        rounds = [build / with_ for _, with_, build in published.BLOCKING.values()]
        return Outcome(
            tables=(Table("Cycles of an iteration", (
                "graph", "without", "with", "blocks and direction", "speedup",
                "DRAM reads without over with"), tuple(rows)),
                Table("The thesis, in milliseconds", (
                    "graph", "without", "with", "speedup", "preprocessing"), tuple(
                        (graph, f"{without:.2f}", f"{with_:.2f}", times(theirs[graph]),
                         f"{build:.2f}")
                        for graph, (without, with_, build) in published.BLOCKING.items()))),
            plots=(Plot("EdgeBlocking", "speedup", tuple(choice.label for choice in setting.wide),
                        {"speedup": tuple(gains)}, reference=1.0, paper={
                            "thesis, at most": max(theirs.values())}),),
            comparisons=(
                Comparison("speedup by EdgeBlocking, at most", times(max(theirs.values())),
                           times(max(known, default=None))),
                Comparison("speedup, mean", times(geometric_mean(theirs.values())),
                           times(mean(setting.wide, gains))),
                Comparison("preprocessing, at most",
                           f"{max(rounds):.1f} iterations",
                           f"{times(max((value for value in builds if value is not None), default=None))}"
                           " of the build without blocks")),
            data=data, notes=(where(setting),))

    @staticmethod
    def _counter(results, ways, name):
        text, _ = results.best(ways)
        return None if text is None else (results.value(ways[text], "counters") or {}).get(name)
