"""Orderings under Tiled Partitioning: figure 6, section 7.2, and table 2."""

import dataclasses

import numpy as np

from sw.study.benchmarks.grid import Grid, by_point
from sw.graph import sage
from sw.graph.order import new_ids

from ..measure import BuildTime, OnHost
from ..outcome import (FAILED, Comparison, Outcome, Plot, bars, by_columns, by_rows, extremes,
                       number, percent, ratio, times)
from ..paper import Figure
from ..setting import where
from . import published
from .runs import ALGORITHMS, CORE, RESIDENT, CyclesByWay, run


__all__ = ["LinesByOrdering", "Orders", "ReorderingTime", "Rounds", "TileLines"]


#: Orderings by their names in tables.
_ORDERS = {"SAGE, 1": "csr", "RCM": "csr:reorder=rcm", "Louvain": "csr:reorder=louvain",
           "Gorder": "csr:reorder=gorder", "SAGE, 20": "csr:reorder=sage:rounds=19"}

#: The graph's order, five rounds one after another, and Gorder.
_STEPS = {"0 rounds": "csr", "1 round": "csr:reorder=sage:rounds=1",
          **{f"{rounds} rounds": f"csr:reorder=sage:rounds={rounds}" for rounds in range(2, 6)},
          "Gorder": "csr:reorder=gorder"}


@dataclasses.dataclass(frozen=True)
class TileLines(OnHost):
    """The distinct lines that tiles read, by ordering.

    The record has ``lines``: their number, divided by the edges of the tiles, for each ordering.
    """
    orders: tuple[str | int, ...]  #: Names of orderings; a number is the rounds of ``sage``.

    def measure(self, graph):
        lines = []
        for order in self.orders:
            name, rounds = ("sage", order) if isinstance(order, int) else (order, None)
            ids = new_ids(name, graph.src, graph.dst, graph.num_vertices, rounds=rounds)
            if ids is None:
                ids = np.arange(graph.num_vertices)
            lines.append(sage.lines(ids[graph.src], ids[graph.dst], graph.num_vertices))
        return {"lines": lines}


class Orders(Figure):
    """Figure 6."""
    name = "fig6"
    title = "orderings under resident tiles"
    source = "figure 6"
    method = ("Resident tiles on a graph in its own order, which is the first run of SAGE; ordered "
              "by other methods; and after 19 rounds of sampling-based reordering (99 in the "
              "paper). Louvain stands in for layered label propagation. The time of an ordering is "
              "not in the cycles.")

    def grid(self, setting):
        return Grid({"algorithm": ALGORITHMS, "graph": setting.wide, "order": _ORDERS},
                    lambda algorithm, choice, name: run(setting, choice, algorithm,
                                                        format=_ORDERS[name], **RESIDENT))

    def results(self, setting, found):
        every = [CyclesByWay(algorithm, cycles.split("order"), "SAGE, 1")
                 for algorithm, cycles in found.cycles.split("algorithm").items()]
        comparisons = []
        for each in every:
            most = max((value for values in each.speeds.values() for value in values.known),
                       default=None)
            comparisons.append(Comparison(
                f"{each.title}: largest gain of an ordering", percent(published.GAIN[each.title]),
                percent(None if most is None else most - 1)))
        return Outcome(tuple(each.table() for each in every), tuple(each.plot() for each in every),
                       tuple(comparisons), {each.title: each.data() for each in every},
                       (where(setting), CORE))


class Rounds(Figure):
    """Section 7.2, and what no paper shows: the rounds under units."""
    name = "rounds"
    title = "rounds of reordering, under resident tiles and under units"
    source = "section 7.2"
    method = ("BFS and PageRank after 0 to 5 rounds of sampling-based reordering, and with Gorder. "
              "The Weaver and GraphPEG run the same orders.")
    _systems = {"resident tiles": None, "weaver (stream)": "stream", "graphpeg": "graphpeg"}
    _algorithms = ("bfs", "pagerank")

    def grid(self, setting):
        return Grid({"algorithm": self._algorithms, "system": self._systems,
                     "graph": setting.wide, "order": _STEPS}, lambda algorithm, name, choice, order:
                    run(setting, choice, algorithm, unit=self._systems[name], format=_STEPS[order],
                        **RESIDENT if self._systems[name] is None else {}))

    def results(self, setting, found):
        tables, plots, comparisons, data = [], [], [], {}
        for algorithm in self._algorithms:
            means = {}
            for system in self._systems:
                its = CyclesByWay(f"{algorithm}, {system}", found.cycles.at(
                    algorithm=algorithm, system=system).split("order"), "0 rounds")
                means[system], data[its.title] = its.means, its.data()
                comparisons.append(Comparison(
                    f"{its.title}: speed after 5 rounds, of Gorder's",
                    percent(published.OF_GORDER) if (algorithm, system) == (
                        "bfs", "resident tiles") else "-",
                    percent(ratio(means[system]["5 rounds"], means[system]["Gorder"]))))
            tables.append(by_rows(f"{algorithm}: speed over the graph's order, mean",
                                  ("", *_STEPS), ((system, list(map(times, its.values())))
                                                  for system, its in means.items())))
            plots.append(Plot(algorithm, "speed over the graph's order", tuple(_STEPS), {
                system: tuple(its.values()) for system, its in means.items()}, reference=1.0))
        return Outcome(tables, plots, comparisons, data, (where(setting), CORE))


class LinesByOrdering(Figure):
    """The aim of the reordering (section 6)."""
    name = "lines"
    title = "distinct lines that tiles read, by ordering"
    source = "section 6"
    method = ("Counted on the host: the distinct lines of 16 vertices in which the neighbours of "
              "a tile lie, over all tiles of a sweep that pushes, divided by the edges of the "
              "tiles. 1 is a line for each edge, and 1/16 is best.")
    _orders = {"none": "none", "RCM": "rcm", "Louvain": "louvain", "Gorder": "gorder",
               "1 round": 1, **{f"{rounds} rounds": rounds for rounds in (2, 5, 20)}}

    def grid(self, setting):
        return Grid({"graph": setting.wide}, lambda choice: TileLines(
            choice.graph, choice.undirected, tuple(self._orders.values())))

    def results(self, setting, found):
        lines = found.value("lines").map(lambda its: its or [None] * len(self._orders))
        its = {name: lines.map(lambda values, place=place: values[place])
               for place, name in enumerate(self._orders)}
        gained = [None if none is None else ratio(none - five, none - gorder)
                  for none, five, gorder in zip(its["none"], its["5 rounds"], its["Gorder"])]
        return Outcome(
            (by_columns("Distinct lines an edge", ("graph", lines.labels()), *(
                (name, each.cells(lambda value: FAILED if value is None else f"{value:.3f}"))
                for name, each in its.items())),),
            (bars("lines of a tile", "distinct lines an edge", its, None),),
            (Comparison("5 rounds: share of Gorder's gain", "-",
                        extremes(gained, percent, "to")),), by_point(its))


class ReorderingTime(Figure):
    """Table 2."""
    name = "table2"
    title = "the time of an ordering"
    source = "table 2"
    method = ("Seconds of the host to build CSR with an ordering, less those to build it without. "
              "A round of SAGE is a fifth of five rounds. All are functions of numpy and scipy on "
              "one processor; the paper's rounds run on the GPU. Only ratios have a meaning.")
    _orders = {"rcm": "csr:reorder=rcm", "llp": "csr:reorder=louvain",
               "gorder": "csr:reorder=gorder", "sage": "csr:reorder=sage:rounds=5"}
    _names = {"rcm": "RCM", "llp": "Louvain for LLP", "gorder": "Gorder", "sage": "SAGE, a round"}

    def grid(self, setting):
        return Grid({"graph": setting.wide}, lambda choice: BuildTime(
            choice.graph, choice.undirected, ("csr", *self._orders.values()), setting.repeat))

    def results(self, setting, found):
        def spent(seconds, name):
            if not seconds:
                return None
            least = min(seconds[self._orders[name]]) - min(seconds["csr"])
            return max(least, 0.0) / (5 if name == "sage" else 1)
        ours = {name: found.value("seconds").map(lambda seconds, name=name: spent(seconds, name))
                for name in self._orders}
        comparisons = []
        for name in ("rcm", "llp", "gorder"):
            theirs = [its[name] / its["sage"] for its in published.REORDERING.values()]
            comparisons.append(Comparison(
                f"{self._names[name]} over a round of SAGE: least and largest",
                extremes(theirs, lambda value: number(round(value)), "to"),
                times((ours[name] / ours["sage"]).mean()) + " on average"))
        return Outcome((by_columns("Seconds", ("graph", ours["sage"].labels()), *(
            (self._names[name], its.cells(
                lambda value: FAILED if value is None else f"{value:.3f} s"))
            for name, its in ours.items())),), (), tuple(comparisons), by_point(ours),
            (where(setting),))
