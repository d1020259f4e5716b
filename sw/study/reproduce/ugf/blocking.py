"""EdgeBlocking: table 6.7."""

from sw.study.benchmarks.grid import Grid, by_point

from ..outcome import Comparison, Outcome, bars, by_columns, by_rows, geometric_mean, number, times
from ..paper import Figure
from ..setting import where
from ..space import graph_of
from . import published
from .runs import (ITERATIONS, absence, best, device, least, not_run, program_times, seconds_text,
                   shown)


__all__ = ["EdgeBlocking"]


#: Parts that the vertices are divided into; the fastest counts.
_PARTS = (2, 4, 8, 16)

#: The directions of EDGE_ONLY.
_DIRECTIONS = ("push", "pull")


def _sizes(choice):
    """Vertices of a block."""
    vertices = graph_of(choice, False).num_vertices
    return sorted({max(1, -(-vertices // parts)) for parts in _PARTS})


def _times(setting, choice, vm):
    """The times of a machine, with and without blocks. A block is of destinations, so the CPU has
    it where sources push."""
    directions = _DIRECTIONS[:1] if vm == "cpu" else _DIRECTIONS
    return program_times(setting, choice, vm, "pagerank", {
        f"{balance} {direction}": (f"s0:s1={balance},{direction}",)
        for balance in ("edge_only", *(f"edge_only:blocked:{size}" for size in _sizes(choice)))
        for direction in directions})


def _blocked(text):
    return "blocked" in text


class EdgeBlocking(Figure):
    """Table 6.7."""
    name = "table6.7"
    title = "PageRank with and without EdgeBlocking"
    source = "table 6.7, section 6.4"
    method = ("Edge-only, as in the thesis: COO under em on the device, one iteration. The fastest "
              "of 2, 4, 8 and 16 blocks, pushing or pulling, beside the better direction without "
              "blocks. On the device the vertices' values are many times as large as the L1. The "
              "GraphVM cpu pushes; the GraphVM cuda is measured where a GPU answers, with the time "
              "in which the host cuts the graph into blocks.")

    def grid(self, setting):
        def make(choice, blocked):
            texts = [f"coo:block={size}" for size in _sizes(choice)] if blocked else ["coo"]
            return {f"{text} {direction}": device(
                choice, "pagerank", schedule="em", format=text, direction=direction)
                for text in texts for direction in _DIRECTIONS}
        return Grid({"graph": setting.wide, "blocked": (False, True)}, make)

    def further(self, setting):
        return {vm: Grid({"graph": setting.timed}, lambda choice, vm=vm: _times(
            setting, choice, vm)) for vm in ("cpu", *["cuda"] * (absence() is None))}

    def results(self, setting, found, **timed):
        found = found.by(best(setting.config))
        text, cycles, reads = (cube.split("blocked") for cube in (
            found.ways, found.cycles, found.value("counters", "dram_reads")))
        gains = cycles[False] / cycles[True]
        tables = [by_columns(
            "Cycles of an iteration on the device", ("graph", gains.labels()), *(
                column for blocked, names in ((False, ("without", "its way")),
                                              (True, ("with", "its blocks")))
                for column in ((names[0], cycles[blocked].cells(number)),
                               (names[1], text[blocked].cells(lambda way: way or "")))),
            ("speedup", gains.cells(times)),
            ("DRAM reads without, of those with", (reads[False] / reads[True]).cells(times)))]
        data = by_point({"without": cycles[False], "with": cycles[True], "blocks": text[True],
                         "DRAM reads": found.value("counters", "dram_reads").reduce(
                             list, "blocked")})
        theirs = {graph: without / with_ for graph, (without, with_, _)
                  in published.BLOCKING.items()}
        most = times(max(theirs.values()))
        comparisons = [Comparison("the device: speedup, at most", most,
                                  times(max(gains.known, default=None))),
                       Comparison("the device: speedup, mean",
                                  times(geometric_mean(theirs.values())), times(gains.mean()))]
        for vm, measured in timed.items():
            table, speedups, rounds, data[vm] = self._of_machine(measured, vm)
            tables.append(table)
            comparisons.append(Comparison(f"the GraphVM {vm}: speedup, at most", most,
                                          times(max(speedups.known, default=None))))
            if vm == "cuda":
                comparisons.append(Comparison(
                    "the GraphVM cuda: preprocessing, at most", "{:.1f} iterations".format(max(
                        build / its for _, its, build in published.BLOCKING.values())),
                    shown(max(rounds.known, default=None), 1) + " iterations"))
        tables.append(by_rows("The thesis, in milliseconds", (
            "graph", "without", "with", "speedup", "preprocessing"), (
                (graph, f"{without:.2f}", f"{with_:.2f}", times(theirs[graph]), f"{build:.2f}")
                for graph, (without, with_, build) in published.BLOCKING.items())))
        return Outcome(
            tables, (bars("EdgeBlocking", "speedup", {"device": gains}, None, reference=1.0,
                                 paper={"thesis, at most": max(theirs.values())}),),
            comparisons, data, (where(setting), *[not_run()] * (absence() is not None)))

    @staticmethod
    def _of_machine(found, vm):
        """The table of a machine, its speedups, the iterations in which blocks are made, and
        data."""
        plain = found.of(least, lambda text: not _blocked(text)).map(lambda pair: pair[1])
        way, blocked = (found.of(least, _blocked).map(lambda pair, place=place: pair[place])
                        for place in (0, 1))
        build = found.of(lambda records, case: (records.value(case, "preparation") or {}).get(
            least(records, case, _blocked)[0]))
        gains, rounds = plain / blocked, build / (blocked / ITERATIONS)
        columns = [("without", (plain / ITERATIONS).cells(seconds_text)),
                   ("with", (blocked / ITERATIONS).cells(seconds_text)),
                   ("its blocks", way.cells(lambda text: text or "")),
                   ("speedup", gains.cells(times)), ("preprocessing", build.cells(seconds_text))]
        return (by_columns(f"The GraphVM {vm}, milliseconds of an iteration",
                           ("graph", gains.labels()), *columns[:5 if vm == "cuda" else 4]),
                gains, rounds, by_point({"without": plain, "with": blocked, "way": way,
                                         "preparation": build}))
