"""EdgeBlocking: table 6.7."""

from ..outcome import Comparison, Outcome, Plot, Table, geometric_mean, number, ratio, times
from ..paper import Figure
from ..setting import mean, where
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


def _runs(choice):
    """{whether there are blocks: {text: case}}."""
    texts = {False: ["coo"], True: [f"coo:block={size}" for size in _sizes(choice)]}
    return {blocked: {f"{text} {direction}": device(
        choice, "pagerank", schedule="em", format=text, direction=direction)
        for text in texts[blocked] for direction in _DIRECTIONS} for blocked in texts}


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

    @staticmethod
    def _machines():
        return ("cpu", *["cuda"] * (absence() is None))

    def cases(self, setting):
        return [case for choice in setting.wide for ways in _runs(choice).values()
                for case in ways.values()] + [_times(setting, choice, vm)
                                              for vm in self._machines()
                                              for choice in setting.timed]

    def outcome(self, setting, results):
        rows, data, gains = [], {}, []
        for choice in setting.wide:
            runs = _runs(choice)
            (plain, without), (text, with_) = (best(results, runs[blocked], setting.config)
                                               for blocked in (False, True))
            gains.append(ratio(without, with_))
            reads = [(results.value(ways[name], "counters") or {}).get("dram_reads")
                     if name else None for ways, name in zip(runs.values(), (plain, text))]
            rows.append((choice.label, number(without), plain or "", number(with_), text or "",
                         times(gains[-1]), times(ratio(*reads))))
            data[choice.label] = {"without": without, "with": with_, "blocks": text,
                                  "DRAM reads": reads}
        tables = [Table("Cycles of an iteration on the device", (
            "graph", "without", "its way", "with", "its blocks", "speedup",
            "DRAM reads without, of those with"), tuple(rows))]
        comparisons, theirs = [], {graph: without / with_ for graph, (without, with_, _)
                                   in published.BLOCKING.items()}
        for vm in self._machines():
            table, speedups, rounds, data[vm] = self._of_machine(setting, results, vm)
            tables.append(table)
            comparisons.append(Comparison(f"the GraphVM {vm}: speedup, at most",
                                          times(max(theirs.values())), times(speedups)))
            if vm == "cuda":
                comparisons.append(Comparison(
                    "the GraphVM cuda: preprocessing, at most", "{:.1f} iterations".format(max(
                        build / its for _, its, build in published.BLOCKING.values())),
                    shown(rounds, 1) + " iterations"))
        tables.append(Table("The thesis, in milliseconds", (
            "graph", "without", "with", "speedup", "preprocessing"), tuple(
                (graph, f"{without:.2f}", f"{with_:.2f}", times(theirs[graph]), f"{build:.2f}")
                for graph, (without, with_, build) in published.BLOCKING.items())))
        known = [value for value in gains if value is not None]
        return Outcome(
            tuple(tables),
            (Plot("EdgeBlocking", "speedup", tuple(choice.label for choice in setting.wide),
                  {"device": tuple(gains)}, reference=1.0,
                  paper={"thesis, at most": max(theirs.values())}),),
            (Comparison("the device: speedup, at most", times(max(theirs.values())),
                        times(max(known, default=None))),
             Comparison("the device: speedup, mean", times(geometric_mean(theirs.values())),
                        times(mean(setting.wide, gains))), *comparisons),
            data, (where(setting), *[not_run()] * (absence() is not None)))

    @staticmethod
    def _of_machine(setting, results, vm):
        """The table of a machine, its largest speedup, the most iterations in which blocks are
        made, and data."""
        rows, data, gains, rounds = [], {}, [], []
        for choice in setting.timed:
            case = _times(setting, choice, vm)
            _, without = least(results, case, lambda text: not _blocked(text))
            way, with_ = least(results, case, _blocked)
            build = (results.value(case, "preparation") or {}).get(way)
            gains.append(ratio(without, with_))
            rounds.append(ratio(build, with_ and with_ / ITERATIONS))
            rows.append((choice.label, *(seconds_text(value and value / ITERATIONS)
                                         for value in (without, with_)), way or "",
                         times(gains[-1]), *[seconds_text(build)] * (vm == "cuda")))
            data[choice.label] = {"without": without, "with": with_, "way": way,
                                  "preparation": build}
        columns = ("graph", "without", "with", "its blocks", "speedup",
                   *["preprocessing"] * (vm == "cuda"))
        return (Table(f"The GraphVM {vm}, milliseconds of an iteration", columns, tuple(rows)),
                *(max((value for value in values if value is not None), default=None)
                  for values in (gains, rounds)), data)
