"""The best of all candidates: figure 2.8, table 2.6, section 2.5.2."""

from sw.study.benchmarks.grid import Cube

from ..outcome import (FAILED, Comparison, Outcome, Plot, by_rows, extremes, number, percent, ratio,
                       times)
from ..setting import where
from ..space import OfSpace, distinct, half, within
from . import published


__all__ = ["BestPlans", "Overall", "Tuning"]


#: The spaces that figure 2.8 compares with, as in the paper, and the others of table 2.5.
_OTHERS = ("GSwitch", "GraphIt", "Gunrock", "SEP-Graph")

#: The whole space.
_ALL = "GRAssembler"

_METHOD = ("All schedules, formats and directions of table 2.5 with each other; of blocking, CTA "
           "size, frontier, deduplication and ordering, a candidate departs from the algorithm's "
           "own choice on one at most. PageRank makes one iteration; searches start at the vertex "
           "with the most arcs; weights, where a graph has none, are from 1 to 64 at random. Means "
           "are geometric.")


class _OfAll(OfSpace):
    """Base of the figures that run every candidate."""
    _spaces, _algorithms = published.SPACES, published.ALGORITHMS

    @staticmethod
    def _labels(setting):
        """The names of the searches."""
        return tuple(f"{short} {choice.label}" for short in published.ALGORITHMS.values()
                     for choice in setting.tuned)


class Overall(_OfAll):
    """Figure 2.8."""
    name = "fig2.8"
    title = "the best plan, over the best of other frameworks' spaces"
    source = "figure 2.8, section 2.5.1, table 2.5"
    method = (f"{_METHOD} The paper compares with the other frameworks' own programs. Here their "
              "spaces are parts of ours, by their rows of table 2.5, on the same kernels. So the "
              "speedup is the gain of the larger space alone.")

    _others = _OTHERS

    def results(self, setting, found):
        rows, data, gains = self._against(found, ": ", ("best", "speedup"))
        comparisons = []
        for name in ("GSwitch", "GraphIt"):
            for algorithm, theirs in published.OVER[name].items():
                ours = gains[name].mean("algorithm", "graph") if algorithm is None \
                    else gains[name].at(algorithm=algorithm).mean()
                words = "all four" if algorithm is None else published.ALGORITHMS[algorithm]
                comparisons.append(Comparison(f"{words}: over the space of {name}", times(theirs),
                                              times(ours)))
        return Outcome(
            tables=(by_rows("Cycles of the best candidate", ("", "all", "its plan", *(
                cell for name in _OTHERS for cell in (name, "speedup"))), rows),
                by_rows("Candidates in each space", (
                    "space", "the paper's options", ", ".join(self._labels(setting))), (
                    (name, number(published.SPACES[name].options), ", ".join(sizes))
                    for name, sizes in self._sizes(setting).items()))),
            plots=(Plot("the best of all candidates", "speedup over the best of a space",
                        self._labels(setting),
                        {name: tuple(values) for name, values in gains.items()}, reference=1.0,
                        paper={f"paper's mean over {name}": published.OVER[name][None]
                               for name in ("GSwitch", "GraphIt")}),),
            comparisons=comparisons, data=data, notes=(where(setting),))


class BestPlans(_OfAll):
    """Table 2.6."""
    name = "table2.6"
    title = "the best plan for each algorithm and graph"
    source = "table 2.6"
    method = f"{_METHOD} Kernels that change their direction are shown as auto."

    def results(self, setting, found):
        rows, best = [], found.best().at(space=_ALL)
        for (algorithm, choice), (plan, cycles) in best.items():
            cells = [number(cycles), *[""] * 5] if plan is None else [
                plan.format + ", blocks" * plan.blocked, plan.schedule, plan.direction,
                plan.frontier or "-",
                str(half(setting.config) if plan.halved else setting.config.warps), number(cycles)]
            rows.append((published.ALGORITHMS[algorithm], choice.label, cells))
        comparisons = []
        for algorithm, short in published.ALGORITHMS.items():
            theirs = {row[3] for row in published.BEST if row[0] == short}
            ours = {plan.schedule for plan, _ in best.at(algorithm=algorithm) if plan is not None}
            comparisons.append(Comparison(f"{short}: schedules of the best plans",
                                          ", ".join(sorted(theirs)).lower(),
                                          ", ".join(sorted(ours)) or FAILED))
        return Outcome(
            tables=(by_rows("The best plans", ("algorithm", "graph", "format", "schedule",
                                               "direction", "frontier", "warps", "cycles"), rows),
                    by_rows("The paper's table 2.6", (
                        "algorithm", "graphs", "format", "schedule", "direction", "frontier",
                        "threads"), published.BEST)),
            plots=(), comparisons=comparisons,
            data=best.map(lambda pair: pair[0] and pair[0].case.plan.text).nested(),
            notes=(where(setting),))


class Tuning(_OfAll):
    """Section 2.5.2."""
    name = "sec2.5.2"
    title = "second best and worst candidates, and the cost of trying all"
    source = "section 2.5.2"
    method = (f"{_METHOD} Candidates with the same program count once. The cost is in simulated "
              "cycles: of all candidates, and of all where each stops at the best so far, in the "
              "order of the table's axes. The paper's cost is in minutes.")

    def results(self, setting, found):
        records, rows, data, other = found.records, [], {}, []
        costs: dict[str, list] = {_ALL: [], "GraphIt": []}
        ranks = Cube({"algorithm": tuple(published.ALGORITHMS), "graph": setting.tuned}, {
            (algorithm, choice): distinct(records, ways)
            for (algorithm, choice, _), ways in found.places.items()})
        best, second, worst = (ranks.map(lambda ranked, index=index: (
            ranked[index][0] if len(ranked) > index else None) if ranked else None)
            for index in (0, 1, -1))
        seconds, worsts = second / best, worst / best
        for (algorithm, choice), ranked in ranks.items():
            place = {"algorithm": algorithm, "graph": choice}
            answer = self._answer(setting, algorithm, choice)
            if len(ranked) > 1:
                other.append(_stored(ranked[0][1]) != _stored(ranked[1][1]))
            costs[_ALL].append(self._cost(records, answer.candidates))
            costs["GraphIt"].append(self._cost(
                records, within(published.SPACES["GraphIt"], answer.candidates)))
            full, stopped = costs[_ALL][-1]
            rows.append((f"{published.ALGORITHMS[algorithm]}: {choice.label}",
                         number(answer.asked), number(answer.refused),
                         number(len(answer.candidates)), number(len(ranked) or None),
                         number(best.at(**place)), times(seconds.at(**place)), _name(ranked, 1),
                         times(worsts.at(**place)), _name(ranked, -1), number(full),
                         percent(ratio(stopped, full))))
            data.setdefault(algorithm, {})[choice.label] = {
                "asked": answer.asked, "refused": answer.refused,
                "candidates": len(answer.candidates), "distinct": len(ranked),
                "best": best.at(**place), "second": seconds.at(**place),
                "worst": worsts.at(**place), "cycles": full, "stopped": stopped}
        share = ratio(sum(other), len(other)) if other else None
        gap = ratio(*(self._total(costs[name], 1) for name in (_ALL, "GraphIt")))
        comparisons = (
            Comparison("second best, of the best: mean", times(published.SECOND),
                       times(seconds.mean("algorithm", "graph"))),
            Comparison("second best, of the best: largest", times(published.SECOND_MOST),
                       times(max(seconds.known, default=None))),
            Comparison("second bests with another format", percent(published.SECOND_FORMAT),
                       percent(share)),
            Comparison("worst, of the best: mean", times(published.WORST),
                       times(worsts.mean("algorithm", "graph"))),
            Comparison("worst, of the best: range", extremes(published.WORST_RANGE, word="to"),
                       extremes(worsts, word="to")),
            Comparison("cost of the space, of the cost of GraphIt's, with stopping", times(ratio(
                published.TUNING_MINUTES["GRAssembler"], published.TUNING_MINUTES["GraphIt"])),
                times(gap)))
        return Outcome(
            tables=(by_rows("Candidates", (
                "", "asked", "refused", "candidates", "programs", "best, cycles", "second best",
                "its plan", "worst", "its plan", "cycles of all", "with stopping"), rows),),
            plots=(Plot("the worst candidate", "cycles, of the best", self._labels(setting),
                        {"worst": tuple(worsts)}, reference=1.0,
                        paper={"paper's mean": published.WORST}),),
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
