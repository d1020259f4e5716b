"""The space of UGF beside those of other frameworks: tables 6.2, 6.3 and A.1."""

import math
from typing import Any

from sw.study.benchmarks.grid import Grid
from sw.compile.plan import as_plan

from ..outcome import (FAILED, Comparison, Outcome, Plot, by_rows, geometric_mean, number, times)
from ..setting import where
from ..space import OfSpace, Tried, graph_of
from . import published
from .runs import best, is_road, total


__all__ = ["BestSchedules", "OnPascal", "OnVolta"]


_OTHERS = tuple(name for name in published.SPACES if name != "UGF")

_METHOD = ("The thesis runs the frameworks' own programs. Here a framework is the part of UGF's "
           "schedules that its row of table 6.10 has, on the same kernels. So a factor is the gain "
           "of the larger choice alone. All ways to balance the load, formats and directions with "
           "each other; of EdgeBlocking, creation of sets, deduplication, near before far and "
           "kernel fusion, a candidate departs from the algorithm's own choice on one at most. "
           "PageRank makes one iteration; searches start at the vertex with the most arcs; "
           "weights, where a graph has none, are from 1 to 64 at random. Cycles are those of "
           "kernels and, for each launch, those that the host port takes.")


class _OfAll(OfSpace):
    """Base of all: every candidate of UGF's space."""
    _spaces, _algorithms = published.SPACES, published.ALGORITHMS

    def _by_total(self, setting, found):
        """What was measured, with launches in the cycles."""
        return found.by(best(self._config(setting.config)))


class _Compared(_OfAll):
    """Base of tables 6.2 and 6.3."""
    name: Any = None
    _gpu: str

    _others = _OTHERS

    def results(self, setting, found):
        rows, data, series = self._against(self._by_total(setting, found), " ",
                                           ("cycles", "factor"))
        labels = [row[0] for row in rows]
        leads = [min(gains) for gains in zip(*series.values())
                 if None not in gains and all(map(math.isfinite, gains))]
        claimed, factor = published.CLAIMS[self.name]
        counted, theirs, most = published.fastest(self.name)
        return Outcome(
            tables=(by_rows("Cycles of the best schedule", ("", "UGF", "its schedule", *(
                        cell for name in _OTHERS for cell in (name, "over UGF's"))), rows),
                    by_rows("Candidates in each space", (
                        "space", "schedules of a direction, table 6.10", *labels), (
                        (name, number(published.SPACES[name].options), sizes)
                        for name, sizes in self._sizes(setting).items())), self._published()),
            plots=(Plot("the best schedule of UGF's space", "speedup over the best of a space",
                        tuple(labels), {name: tuple(values) for name, values in series.items()},
                        reference=1.0),),
            comparisons=(
                Comparison("experiments in which UGF is faster than all others",
                           f"{claimed} of 45 ({theirs} of {counted} in the table that we have)",
                           f"{sum(lead > 1 for lead in leads)} of {len(leads)}" if leads
                           else FAILED),
                Comparison("UGF over the next fastest, at most",
                           f"{factor}x (by the table {times(most)})",
                           times(max(leads, default=None))),
                *(Comparison(f"UGF over {name}, mean", times(geometric_mean(
                    its.get(name, math.nan) for its in self._theirs().values())),
                    times(values.mean("algorithm", "graph"))) for name, values in series.items())),
            data=data, notes=(where(setting), self._gpu))

    def _theirs(self):
        """{(algorithm, graph): factors of the frameworks} of the thesis."""
        return {place: published.factors(self.name, *place)
                for place in published.TIMES[self.name]}

    def _published(self):
        """The thesis' times as factors over UGF's, which our factors stand beside."""
        return by_rows("The thesis: milliseconds of UGF, and the others' over UGF's",
                       ("", "UGF", *_OTHERS), (
            (f"{published.ALGORITHMS[algorithm]} {graph}",
             f"{published.TIMES[self.name][algorithm, graph]['UGF']:.2f}",
             [times(its.get(name, math.nan)) for name in _OTHERS])
            for (algorithm, graph), its in self._theirs().items()))


class OnPascal(_Compared):
    """Table 6.2."""
    name = "table6.2"
    title = "the best schedule, over the best of other frameworks' spaces"
    source = "table 6.2, section 6.1"
    method = _METHOD
    _gpu = "The thesis has a Titan Xp."


class OnVolta(_Compared):
    """Table 6.3."""
    name = "table6.3"
    title = "as table 6.2, on a GPU with more cores and larger caches"
    source = "table 6.3, section 6.2"
    method = (f"{_METHOD} The V100 has 2.7 times the cores of the Titan Xp, twice the L2 and 2.7 "
              "times the L1. Here the hardware has twice the cores, L2 and L1 of table 6.2, and no "
              "candidate departs from the algorithm's own choice but in balance, format and "
              "direction.")
    _gpu = "This hardware has twice the cores, L2 and L1."

    def _wanted(self, each):
        return not each.departs

    def _config(self, config):
        return config.replace(name=f"{config.name} x2", cores=2 * config.cores,
                              l1_bytes=2 * config.l1_bytes, l2_bytes=2 * config.l2_bytes)

    def _case(self, case):
        return LargerRun(case.graph, case.undirected, case.plan, case.weights)


class LargerRun(Tried):
    """A run of a candidate on the hardware of table 6.3."""

    def hardware(self, config):
        return OnVolta()._config(config)


class BestSchedules(_OfAll):
    """Table A.1."""
    name = "tableA.1"
    title = "the best schedules for graphs with a power law and for roads"
    source = "table A.1"
    method = (f"{_METHOD} The thesis' schedule is the plan that comes nearest, with a quarter of "
              "the vertices in a block; delta and the threshold, which it leaves open, are our own "
              "choice.")

    def further(self, setting):
        """The runs of the thesis' schedules."""
        def make(algorithm, choice):
            weighted = algorithm == "sssp"
            block = max(1, -(-graph_of(choice, weighted).num_vertices // 4))
            plan = as_plan(published.BEST[algorithm, _kind(choice)].replace("{block}", str(block)))
            return Tried(choice.graph, choice.undirected, plan, 64 if weighted else None)
        return {"theirs": Grid({"algorithm": published.ALGORITHMS, "graph": setting.tuned}, make)}

    def results(self, setting, found, theirs):
        rows, data = [], {}
        fastest = self._by_total(setting, found).best().at(space="UGF")
        its = theirs.of(lambda records, case: math.nan if records.value(case, "refused")
                        else total(records, case, setting.config))
        values = its / fastest.map(lambda pair: pair[1])
        for (algorithm, choice), (plan, cycles) in fastest.items():
            place = {"algorithm": algorithm, "graph": choice}
            schedule = "; ".join(f"{label}={text}" for label, text in
                                 published.SCHEDULES[algorithm, _kind(choice)].items())
            rows.append((f"{published.ALGORITHMS[algorithm]} {choice.label}", str(plan or ""),
                         number(cycles), schedule, number(its.at(**place)),
                         times(values.at(**place))))
            data.setdefault(algorithm, {})[choice.label] = {
                "plan": plan and plan.case.plan.text, "cycles": cycles,
                "thesis": theirs.places.at(**place).plan.text,
                "its cycles": its.at(**place)}
        return Outcome(
            tables=(by_rows("The best schedules", (
                "", "best here", "cycles", "the thesis' best", "its cycles here", "over the best"),
                rows),),
            plots=(Plot("the thesis' schedule", "cycles, of the best here's",
                        tuple(row[0] for row in rows), {"thesis": tuple(values)}, reference=1.0),),
            comparisons=(Comparison("the thesis' schedules over the best here, mean", "1.00x",
                                    times(values.mean("algorithm", "graph"))),),
            data=data, notes=(where(setting),))


def _kind(choice):
    return "road" if is_road(choice) else "power law"
