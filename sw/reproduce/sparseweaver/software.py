"""The schedules in software: figures 4.2a, 4.3 and 4.4."""

import math

from hw.stalls import STALLS

from ..measure import WarpIterations
from ..outcome import Comparison, Outcome, Plot, Table, number, percent, ratio, times
from ..paper import Figure
from ..setting import mean, where, with_mean
from . import published
from .runs import HARDWARE, PLAIN, SOFTWARE, contenders


__all__ = ["BestSoftware", "Iterations", "Stalls"]


class Iterations(Figure):
    """Figure 4.2a."""
    name = "fig4.2a"
    title = "turns of warps by vertex, warp and edge mapping"
    source = "figure 4.2a, section 4.2"
    method = ("Counted from the in-degrees, for warps of 32 lanes, as in the paper. The paper has "
              "two skewed graphs.")
    _lanes = 32

    def _cases(self, setting):
        return {choice: WarpIterations(choice.graph, choice.undirected, self._lanes)
                for choice in setting.stored}

    def cases(self, setting):
        return list(self._cases(setting).values())

    def outcome(self, setting, results):
        rows, data = [], {}
        gains: dict[str, list] = {"wm": [], "em": []}
        for choice, case in self._cases(setting).items():
            found = results.value(case, "iterations") or {}
            turns = {name: found.get(name) for name in ("vm", *gains)}
            for name, values in gains.items():
                values.append(ratio(turns["vm"], turns[name]))
            rows.append((choice.label, *map(number, turns.values()),
                         *(times(values[-1]) for values in gains.values())))
            data[choice.label] = turns
        known = [value for value in gains["em"] if value is not None]
        low, high = published.ITERATIONS.values()
        return Outcome(
            tables=(Table("Turns of all warps", ("graph", "vm", "wm", "em", "vm over wm",
                                                 "vm over em"), tuple(rows)),),
            plots=(Plot("turns of vertex mapping", "over the turns of the others", tuple(data), {
                f"over {name}": tuple(values) for name, values in gains.items()}, reference=1.0,
                paper={f"paper, {name}": value for name, value in published.ITERATIONS.items()}),),
            comparisons=(Comparison(
                "vm over em: least and most of the graphs", f"{times(low)} and {times(high)}",
                f"{times(min(known))} and {times(max(known))}" if known else number(None)),),
            data=data)


class _OfSoftware(Figure):
    """Base of the figures that run PageRank by every schedule in software."""

    def _runs(self, setting, choice):
        return contenders(setting, choice, "pagerank", SOFTWARE)

    def cases(self, setting):
        return [case for choice in setting.brief for ways in self._runs(setting, choice).values()
                for case in ways.values()]


class BestSoftware(_OfSoftware):
    """Figure 4.3."""
    name = "fig4.3"
    title = "the best schedule in software over vertex mapping"
    source = "figure 4.3, section 4.2"
    method = (f"PageRank, one iteration, the better of push and pull for each schedule. `{PLAIN}` "
              "is vertex mapping in the paper's plain loop, `vm` the fastest vertex mapping here. "
              "The paper has two graphs on two GPUs of Nvidia. Means are geometric.")

    def outcome(self, setting, results):
        cycles = [{name: results.best(ways)[1] for name, ways in
                   self._runs(setting, choice).items()} for choice in setting.brief]
        rows, gains, bests = [], {PLAIN: [], "vm": []}, []
        for choice, found in zip(setting.brief, cycles):
            known = {name: value for name, value in found.items() if value is not None}
            best = min(known, key=known.__getitem__, default=None)
            bests.append(best)
            for over, values in gains.items():
                values.append(ratio(found[over], None if best is None else known[best]))
            rows.append((choice.label, *map(number, found.values()), best or number(None),
                         *(times(values[-1]) for values in gains.values())))
        rows.append(("mean", *[""] * (len(SOFTWARE) + 1), *(
            times(mean(setting.brief, values)) for values in gains.values())))
        most = {over: max((value for value in values if value is not None), default=None)
                for over, values in gains.items()}
        return Outcome(
            tables=(Table("PageRank: cycles", ("graph", *SOFTWARE, "best", *(
                f"best over {over}" for over in gains)), tuple(rows)),),
            plots=(Plot("the best schedule in software", "speedup", with_mean(setting.brief), {
                f"over {over}": (*values, mean(setting.brief, values))
                for over, values in gains.items()}, reference=1.0,
                paper={"paper, at most": published.BEST_SOFTWARE}),),
            comparisons=tuple(Comparison(
                f"the best schedule in software over {over}, at most",
                times(published.BEST_SOFTWARE), times(most[over])) for over in gains),
            data={choice.label: {"cycles": found, "best": best}
                  for choice, found, best in zip(setting.brief, cycles, bests)},
            notes=(where(setting), HARDWARE))


class Stalls(_OfSoftware):
    """Figure 4.4."""
    name = "fig4.4"
    title = "cycles without an instruction, by cause and schedule"
    source = "figure 4.4, section 4.2"
    method = ("PageRank as in figure 4.3, all graphs together. A cycle counts for the first cause "
              "in the order of the table that holds for any warp. The paper has an A30's counters "
              "and no numbers in its text.")

    def outcome(self, setting, results):
        table, data = {}, {}
        for name in SOFTWARE:
            best = [results.best(self._runs(setting, choice)[name]) for choice in setting.brief]
            counters = [results.value(self._runs(setting, choice)[name][way], "counters")
                        for choice, (way, _) in zip(setting.brief, best) if way is not None]
            all_ran = len(counters) == len(best)
            data[name] = total = {
                key: sum(each[f"stall_{key}" if key in STALLS else key] for each in counters)
                if all_ran else None for key in ("cycles", "instructions", *STALLS)}
            table[name] = {STALLS[key].label: ratio(total[key], total["cycles"]) for key in STALLS}
            table[name]["cycles an instruction"] = ratio(total["cycles"], total["instructions"])
        labels = [stall.label for stall in STALLS.values()]
        share = {name: _sum(found[label] for label in labels) for name, found in table.items()}
        return Outcome(
            tables=(Table("Cycles without an instruction, of all cycles", (
                "schedule", *labels, "all", "cycles an instruction"), tuple(
                    (name, *(percent(found[label]) for label in labels), percent(share[name]),
                     _decimal(found["cycles an instruction"]))
                    for name, found in table.items())),),
            plots=(Plot("cycles without an instruction", "of all cycles", SOFTWARE, {
                label: tuple(found[label] for found in table.values()) for label in labels},
                stacked=True),),
            comparisons=tuple(Comparison(f"{name}: cycles without an instruction", "-",
                                         percent(share[name])) for name in SOFTWARE),
            data=data, notes=(where(setting), HARDWARE))


def _sum(values):
    values = list(values)
    return None if None in values else math.fsum(values)


def _decimal(value):
    return times(value).removesuffix("x")
