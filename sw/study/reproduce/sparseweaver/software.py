"""The schedules in software: figures 4.2a, 4.3 and 4.4."""

import math

from hw.stalls import STALLS
from sw.study.benchmarks.grid import Grid, by_point

from ..measure import WarpIterations
from ..outcome import (FAILED, Comparison, Outcome, Plot, bars, by_columns, by_rows, decimal,
                       extremes, number, percent, ratio, times)
from ..paper import Figure
from ..setting import where, with_mean
from . import published
from .runs import HARDWARE, PLAIN, SOFTWARE, ways


__all__ = ["BestSoftware", "Iterations", "Stalls"]


class Iterations(Figure):
    """Figure 4.2a."""
    name = "fig4.2a"
    title = "turns of warps by vertex, warp and edge mapping"
    source = "figure 4.2a, section 4.2"
    method = ("Counted from the in-degrees, for warps of 32 lanes, as in the paper. The paper has "
              "two skewed graphs.")
    _lanes = 32

    def grid(self, setting):
        return Grid({"graph": setting.stored}, lambda choice: WarpIterations(
            choice.graph, choice.undirected, self._lanes))

    def results(self, setting, found):
        turns = {name: found.value("iterations", name) for name in ("vm", "wm", "em")}
        gains = {f"over {name}": turns["vm"] / turns[name] for name in ("wm", "em")}
        return Outcome(
            tables=(by_columns(
                "Turns of all warps", ("graph", turns["vm"].labels()),
                *((name, each.cells(number)) for name, each in turns.items()),
                *((f"vm {over}", each.cells(times)) for over, each in gains.items())),),
            plots=(bars("turns of vertex mapping", "over the turns of the others", gains, None,
                        reference=1.0, paper={f"paper, {name}": value for name, value
                                              in published.ITERATIONS.items()}),),
            comparisons=(Comparison(
                "vm over em: least and most of the graphs",
                extremes(published.ITERATIONS.values()), extremes(gains["over em"])),),
            data=by_point(turns))


class _OfSoftware(Figure):
    """Base of the figures that run PageRank by every schedule in software."""

    def grid(self, setting):
        return Grid({"graph": setting.brief, "schedule": SOFTWARE},
                    lambda choice, name: ways(setting, choice, "pagerank", name))


class BestSoftware(_OfSoftware):
    """Figure 4.3."""
    name = "fig4.3"
    title = "the best schedule in software over vertex mapping"
    source = "figure 4.3, section 4.2"
    method = (f"PageRank, one iteration, the better of push and pull for each schedule. `{PLAIN}` "
              "is vertex mapping in the paper's plain loop, `vm` the fastest vertex mapping here. "
              "The paper has two graphs on two GPUs of Nvidia. Means are geometric.")

    def results(self, setting, found):
        cycles = found.cycles.split("schedule")
        names, best = found.cycles.least("schedule")
        gains = {f"over {over}": cycles[over] / best for over in (PLAIN, "vm")}
        return Outcome(
            tables=(by_columns(
                "PageRank: cycles", ("graph", with_mean(setting.brief)),
                *((name, each.cells(number, "")) for name, each in cycles.items()),
                ("best", names.cells(lambda name: name or FAILED, "")),
                *((f"best {over}", each.cells(times, times(each.mean())))
                  for over, each in gains.items())),),
            plots=(bars("the best schedule in software", "speedup", gains, reference=1.0,
                        paper={"paper, at most": published.BEST_SOFTWARE}),),
            comparisons=tuple(Comparison(
                f"the best schedule in software {over}, at most", times(published.BEST_SOFTWARE),
                times(max(each.known, default=None))) for over, each in gains.items()),
            data=by_point({"cycles": found.cycles.reduce(lambda values: dict(
                zip(SOFTWARE, values)), "schedule"), "best": names}),
            notes=(where(setting), HARDWARE))


class Stalls(_OfSoftware):
    """Figure 4.4."""
    name = "fig4.4"
    title = "cycles without an instruction, by cause and schedule"
    source = "figure 4.4, section 4.2"
    method = ("PageRank as in figure 4.3, all graphs together. A cycle counts for the first cause "
              "in the order of the table that holds for any warp. The paper has an A30's counters "
              "and no numbers in its text.")

    def results(self, setting, found):
        data = {name: self._total(list(its))
                for name, its in found.value("counters").split("schedule").items()}
        stalls = {name: [ratio(total[key], total["cycles"]) for key in STALLS]
                  for name, total in data.items()}
        share = {name: _sum(parts) for name, parts in stalls.items()}
        labels = [stall.label for stall in STALLS.values()]
        return Outcome(
            tables=(by_rows("Cycles without an instruction, of all cycles",
                            ("schedule", *labels, "all", "cycles an instruction"), (
                (name, list(map(percent, parts)), percent(share[name]),
                 decimal(ratio(data[name]["cycles"], data[name]["instructions"])))
                for name, parts in stalls.items())),),
            plots=(Plot("cycles without an instruction", "of all cycles", SOFTWARE,
                        dict(zip(labels, zip(*stalls.values()))), stacked=True),),
            comparisons=tuple(Comparison(f"{name}: cycles without an instruction", "-",
                                         percent(value)) for name, value in share.items()),
            data=data, notes=(where(setting), HARDWARE))

    @staticmethod
    def _total(counters):
        """The counters of all graphs; None where a run failed."""
        return {key: None if None in counters else sum(
            each[f"stall_{key}" if key in STALLS else key] for each in counters)
            for key in ("cycles", "instructions", *STALLS)}


def _sum(values):
    values = list(values)
    return None if None in values else math.fsum(values)

