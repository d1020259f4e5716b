"""The best of all candidates: figure 2.8, table 2.6, section 2.5.2."""

import math

from ..outcome import Comparison, Outcome, Plot, Table, number, percent, ratio, times
from ..paper import Figure
from ..setting import mean, where
from . import published
from ..space import candidates, distinct, half, within


__all__ = ["BestPlans", "Overall", "Tuning"]


#: The spaces that figure 2.8 compares with, as in the paper, and the others of table 2.5.
_OTHERS = ("GSwitch", "GraphIt", "Gunrock", "SEP-Graph")

_METHOD = ("All schedules, formats and directions of table 2.5 with each other; of blocking, CTA "
           "size, frontier, deduplication and ordering, a candidate departs from the algorithm's "
           "own choice on one at most. PageRank makes one iteration; searches start at the vertex "
           "with the most arcs; weights, where a graph has none, are from 1 to 64 at random. Means "
           "are geometric.")


def _candidates(setting, choice, algorithm):
    return candidates(setting.config, choice, algorithm, published.SPACES["GRAssembler"])


class _OfAll(Figure):
    """Base of the figures that run every candidate."""

    def cases(self, setting):
        return [each.case for algorithm in published.ALGORITHMS for choice in setting.tuned
                for each in _candidates(setting, choice, algorithm).candidates]

    @staticmethod
    def _each(setting):
        """(algorithm, graph, the planner's answer) of every search."""
        for algorithm in published.ALGORITHMS:
            for choice in setting.tuned:
                yield algorithm, choice, _candidates(setting, choice, algorithm)

    @staticmethod
    def _best(results, those):
        """(candidate, cycles) of the fastest; (None, None) if none ran, NaN for no cycles if there
        was none."""
        if not those:
            return None, math.nan
        return results.best({each: each.case for each in those})


class Overall(_OfAll):
    """Figure 2.8."""
    name = "fig2.8"
    title = "the best plan, over the best of other frameworks' spaces"
    source = "figure 2.8, section 2.5.1, table 2.5"
    method = (f"{_METHOD} The paper compares with the other frameworks' own programs. Here their "
              "spaces are parts of ours, by their rows of table 2.5, on the same kernels. So the "
              "speedup is the gain of the larger space alone.")

    def outcome(self, setting, results):
        rows, data = [], {}
        gains = {name: {} for name in _OTHERS}
        for algorithm, choice, found in self._each(setting):
            short = published.ALGORITHMS[algorithm]
            best, cycles = self._best(results, found.candidates)
            cells = [number(cycles), str(best or "")]
            entry = {"best": cycles, "plan": best and best.case.plan.text}
            for name in _OTHERS:
                part = within(published.SPACES[name], found.candidates)
                its, its_cycles = self._best(results, part)
                gain = ratio(its_cycles, cycles)
                gains[name].setdefault(algorithm, []).append(gain)
                cells += [number(its_cycles) if its is None
                          else f"{number(its_cycles)} ({its})", times(gain)]
                entry[name] = {"candidates": len(part), "cycles": its_cycles,
                               "plan": its and its.case.plan.text, "speedup": gain}
            rows.append((f"{short}: {choice.label}", *cells))
            data.setdefault(algorithm, {})[choice.label] = entry
        comparisons = []
        for name in ("GSwitch", "GraphIt"):
            for algorithm, theirs in published.OVER[name].items():
                values = ([value for each in gains[name].values() for value in each]
                          if algorithm is None else gains[name][algorithm])
                graphs = setting.tuned * (len(gains[name]) if algorithm is None else 1)
                label = "all four" if algorithm is None else published.ALGORITHMS[algorithm]
                comparisons.append(Comparison(f"{label}: over the space of {name}", times(theirs),
                                              times(mean(graphs, values))))
        labels = tuple(f"{published.ALGORITHMS[algorithm]} {choice.label}"
                       for algorithm, choice, _ in self._each(setting))
        return Outcome(
            tables=(Table("Cycles of the best candidate", (
                        "", "all", "its plan", *(
                            cell for name in _OTHERS for cell in (name, "speedup"))), tuple(rows)),
                    self._spaces(setting)),
            plots=(Plot("the best of all candidates", "speedup over the best of a space", labels,
                        {name: tuple(value for each in values.values() for value in each)
                         for name, values in gains.items()}, reference=1.0,
                        paper={f"paper's mean over {name}": published.OVER[name][None]
                               for name in ("GSwitch", "GraphIt")}),),
            comparisons=tuple(comparisons), data=data, notes=(where(setting),))

    def _spaces(self, setting):
        rows = []
        for name, space in published.SPACES.items():
            sizes = [str(len(within(space, found.candidates)))
                     for _, _, found in self._each(setting)]
            rows.append((name, number(space.options), ", ".join(sizes)))
        return Table("Candidates in each space", ("space", "the paper's options", ", ".join(
            f"{published.ALGORITHMS[algorithm]} {choice.label}"
            for algorithm, choice, _ in self._each(setting))), tuple(rows))


class BestPlans(_OfAll):
    """Table 2.6."""
    name = "table2.6"
    title = "the best plan for each algorithm and graph"
    source = "table 2.6"
    method = f"{_METHOD} Kernels that change their direction are shown as auto."

    def outcome(self, setting, results):
        rows, data, shown = [], {}, {}
        for algorithm, choice, found in self._each(setting):
            best, cycles = self._best(results, found.candidates)
            short = published.ALGORITHMS[algorithm]
            if best is None:
                cells = [number(cycles), *[""] * 5]
            else:
                cells = [best.format + (", blocks" if best.blocked else ""), best.schedule,
                         best.direction, best.frontier or "-",
                         str(half(setting.config) if best.halved else setting.config.warps),
                         number(cycles)]
            rows.append((short, choice.label, *cells))
            data.setdefault(algorithm, {})[choice.label] = best and best.case.plan.text
            shown.setdefault(algorithm, []).append(best)
        comparisons = []
        for algorithm, short in published.ALGORITHMS.items():
            theirs = {row[3] for row in published.BEST if row[0] == short}
            ours = {each.schedule for each in shown[algorithm] if each is not None}
            comparisons.append(Comparison(f"{short}: schedules of the best plans",
                                          ", ".join(sorted(theirs)).lower(),
                                          ", ".join(sorted(ours)) or number(None)))
        return Outcome(
            tables=(Table("The best plans", ("algorithm", "graph", "format", "schedule",
                                             "direction", "frontier", "warps", "cycles"),
                          tuple(rows)),
                    Table("The paper's table 2.6", (
                        "algorithm", "graphs", "format", "schedule", "direction", "frontier",
                        "threads"), published.BEST)),
            plots=(), comparisons=tuple(comparisons), data=data, notes=(where(setting),))


class Tuning(_OfAll):
    """Section 2.5.2."""
    name = "sec2.5.2"
    title = "second best and worst candidates, and the cost of trying all"
    source = "section 2.5.2"
    method = (f"{_METHOD} Candidates with the same program count once. The cost is in simulated "
              "cycles: of all candidates, and of all where each stops at the best so far, in the "
              "order of the table's axes. The paper's cost is in minutes.")

    def outcome(self, setting, results):
        rows, data, graphs = [], {}, []
        seconds, worsts, other, costs = [], [], [], {"all": [], "GraphIt": []}
        for algorithm, choice, found in self._each(setting):
            ranked = distinct(results, found.candidates)
            best, second, worst = (ranked[index][0] if len(ranked) > index else None
                                   for index in (0, 1, -1)) if ranked else (None, None, None)
            seconds.append(ratio(second, best))
            worsts.append(ratio(worst, best))
            graphs.append(choice)
            if second is not None:
                other.append(_stored(ranked[0][1]) != _stored(ranked[1][1]))
            costs["all"].append(self._cost(results, found.candidates))
            costs["GraphIt"].append(self._cost(
                results, within(published.SPACES["GraphIt"], found.candidates)))
            full, stopped = costs["all"][-1]
            rows.append((f"{published.ALGORITHMS[algorithm]}: {choice.label}",
                         number(found.asked), number(found.refused),
                         number(len(found.candidates)), number(len(ranked) or None), number(best),
                         times(seconds[-1]), _name(ranked, 1), times(worsts[-1]),
                         _name(ranked, -1), number(full), percent(ratio(stopped, full))))
            data.setdefault(algorithm, {})[choice.label] = {
                "asked": found.asked, "refused": found.refused,
                "candidates": len(found.candidates), "distinct": len(ranked), "best": best,
                "second": seconds[-1], "worst": worsts[-1], "cycles": full, "stopped": stopped}
        good = [value for value in worsts if value is not None]
        most = [value for value in seconds if value is not None]
        share = ratio(sum(other), len(other)) if other else None
        low, high = published.WORST_RANGE
        gap = ratio(*(self._total(costs[name], 1) for name in ("all", "GraphIt")))
        comparisons = (
            Comparison("second best, of the best: mean", times(published.SECOND),
                       times(mean(graphs, seconds))),
            Comparison("second best, of the best: largest", times(published.SECOND_MOST),
                       times(max(most, default=None))),
            Comparison("second bests with another format", percent(published.SECOND_FORMAT),
                       percent(share)),
            Comparison("worst, of the best: mean", times(published.WORST),
                       times(mean(graphs, worsts))),
            Comparison("worst, of the best: range", f"{times(low)} to {times(high)}",
                       f"{times(min(good))} to {times(max(good))}" if good else times(None)),
            Comparison("cost of the space, of the cost of GraphIt's, with stopping", times(ratio(
                published.TUNING_MINUTES["GRAssembler"], published.TUNING_MINUTES["GraphIt"])),
                times(gap)))
        return Outcome(
            tables=(Table("Candidates", (
                "", "asked", "refused", "candidates", "programs", "best, cycles", "second best",
                "its plan", "worst", "its plan", "cycles of all", "with stopping"), tuple(rows)),),
            plots=(Plot("the worst candidate", "cycles, of the best", tuple(
                f"{published.ALGORITHMS[algorithm]} {choice.label}"
                for algorithm, choice, _ in self._each(setting)), {"worst": tuple(worsts)},
                reference=1.0, paper={"paper's mean": published.WORST}),),
            comparisons=comparisons, data=data, notes=(where(setting),))

    @staticmethod
    def _cost(results, those):
        """Cycles of all candidates, and with each stopped at the best so far; None if none ran."""
        best, full, stopped = None, 0, 0
        for each in those:
            cycles = results.cycles(each.case)
            if cycles is not None:
                full += cycles
                best = cycles if best is None else min(best, cycles)
                stopped += min(cycles, best)
        return (None, None) if best is None else (full, stopped)

    @staticmethod
    def _total(costs, index):
        known = [each[index] for each in costs if each[index] is not None]
        return sum(known) if known else None


def _stored(candidate):
    """The format of a candidate; with blocks a format is another format, as in the paper."""
    return candidate.format, candidate.blocked


def _name(ranked, index):
    return str(ranked[index][1]) if len(ranked) > 1 else ""
