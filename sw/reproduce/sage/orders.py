"""Orderings under Tiled Partitioning: figure 6, section 7.2, and table 2."""

import dataclasses

import numpy as np

from sw.graph import sage
from sw.graph.order import new_ids

from ..measure import BuildTime, OnHost
from ..outcome import Comparison, Outcome, Plot, Table, number, percent, ratio, times
from ..paper import Figure
from ..setting import mean, where
from . import published
from .compared import CyclesByWay, OfRuns
from .runs import ALGORITHMS, CORE, RESIDENT, run


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

    Parameters
    ----------
    orders : tuple of str or int
        Names of orderings; a number is the rounds of ``sage``.
    """
    orders: tuple

    def measure(self, graph):
        lines = []
        for order in self.orders:
            name, rounds = ("sage", order) if isinstance(order, int) else (order, None)
            ids = new_ids(name, graph.src, graph.dst, graph.num_vertices, rounds=rounds)
            if ids is None:
                ids = np.arange(graph.num_vertices)
            lines.append(sage.lines(ids[graph.src], ids[graph.dst], graph.num_vertices))
        return {"lines": lines}


class Orders(OfRuns):
    """Figure 6."""
    name = "fig6"
    title = "orderings under resident tiles"
    source = "figure 6"
    method = ("Resident tiles on a graph in its own order, which is the first run of SAGE; ordered "
              "by other methods; and after 19 rounds of sampling-based reordering (99 in the "
              "paper). Louvain stands in for layered label propagation. The time of an ordering is "
              "not in the cycles.")

    def runs(self, setting):
        return {(algorithm, choice, name): run(setting, choice, algorithm, format=text, **RESIDENT)
                for algorithm in ALGORITHMS for choice in setting.wide
                for name, text in _ORDERS.items()}

    def outcome(self, setting, results):
        runs, found, comparisons = self.runs(setting), [], []
        for algorithm in ALGORITHMS:
            found.append(CyclesByWay(algorithm, setting.wide, {
                (choice, name): results.cycles(runs[algorithm, choice, name])
                for choice in setting.wide for name in _ORDERS}, "SAGE, 1"))
            most = max((value for values in found[-1].speeds.values() for value in values
                        if value is not None), default=None)
            comparisons.append(Comparison(
                f"{algorithm}: largest gain of an ordering", percent(published.GAIN[algorithm]),
                percent(None if most is None else most - 1)))
        return Outcome(tuple(each.table() for each in found), tuple(each.plot() for each in found),
                       tuple(comparisons), {each.title: each.data() for each in found},
                       (where(setting), CORE))


class Rounds(OfRuns):
    """Section 7.2, and what no paper shows: the rounds under units."""
    name = "rounds"
    title = "rounds of reordering, under resident tiles and under units"
    source = "section 7.2"
    method = ("BFS and PageRank after 0 to 5 rounds of sampling-based reordering, and with Gorder. "
              "The Weaver and GraphPEG run the same orders.")
    _systems = {"resident tiles": None, "weaver (stream)": "stream", "graphpeg": "graphpeg"}
    _algorithms = ("bfs", "pagerank")

    def runs(self, setting):
        return {(algorithm, system, choice, order): run(
            setting, choice, algorithm, unit=unit, format=text, **RESIDENT if unit is None else {})
            for algorithm in self._algorithms for system, unit in self._systems.items()
            for choice in setting.wide for order, text in _STEPS.items()}

    def outcome(self, setting, results):
        runs = self.runs(setting)
        tables, plots, comparisons, data = [], [], [], {}
        for algorithm in self._algorithms:
            means = {}
            for system in self._systems:
                found = CyclesByWay(f"{algorithm}, {system}", setting.wide, {
                    (choice, order): results.cycles(runs[algorithm, system, choice, order])
                    for choice in setting.wide for order in _STEPS}, "0 rounds")
                means[system], data[found.title] = found.means, found.data()
                comparisons.append(Comparison(
                    f"{found.title}: speed after 5 rounds, of Gorder's",
                    percent(published.OF_GORDER) if (algorithm, system) == (
                        "bfs", "resident tiles") else "-",
                    percent(ratio(means[system]["5 rounds"], means[system]["Gorder"]))))
            tables.append(Table(f"{algorithm}: speed over the graph's order, mean",
                                ("", *_STEPS), tuple((system, *map(times, its.values()))
                                                     for system, its in means.items())))
            plots.append(Plot(algorithm, "speed over the graph's order", tuple(_STEPS), {
                system: tuple(its.values()) for system, its in means.items()}, reference=1.0))
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data,
                       (where(setting), CORE))


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

    def _case(self, choice):
        return TileLines(choice.graph, choice.undirected, tuple(self._orders.values()))

    def cases(self, setting):
        return [self._case(choice) for choice in setting.wide]

    def outcome(self, setting, results):
        shown, rows, gained = setting.wide, [], []
        found = {choice: results.value(self._case(choice), "lines") or [None] * len(self._orders)
                 for choice in shown}
        for choice, lines in found.items():
            rows.append((choice.label, *("failed" if value is None else f"{value:.3f}"
                                         for value in lines)))
            its = dict(zip(self._orders, lines))
            gained.append(None if its["none"] is None else ratio(
                its["none"] - its["5 rounds"], its["none"] - its["Gorder"]))
        plot = Plot("lines of a tile", "distinct lines an edge",
                    tuple(choice.label for choice in shown),
                    {name: tuple(lines[number] for lines in found.values())
                     for number, name in enumerate(self._orders)})
        known = [value for value in gained if value is not None]
        ours = f"{percent(min(known))} to {percent(max(known))}" if known else percent(None)
        return Outcome((Table("Distinct lines an edge", ("graph", *self._orders), tuple(rows)),),
                       (plot,), (Comparison("5 rounds: share of Gorder's gain", "-", ours),),
                       {choice.label: dict(zip(self._orders, lines))
                        for choice, lines in found.items()})


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

    def _case(self, setting, choice):
        return BuildTime(choice.graph, choice.undirected, ("csr", *self._orders.values()),
                         setting.repeat)

    def cases(self, setting):
        return [self._case(setting, choice) for choice in setting.wide]

    def outcome(self, setting, results):
        shown, rows, data = setting.wide, [], {}
        ours = {name: [] for name in self._orders}
        for choice in shown:
            found = results.value(self._case(setting, choice), "seconds") or {}
            plain = found.get("csr")
            least = None if plain is None else min(plain)
            spent = {name: None if least is None else max(min(found[text]) - least, 0.0) / (
                5 if name == "sage" else 1) for name, text in self._orders.items()}
            rows.append((choice.label, *(("failed" if value is None else f"{value:.3f} s")
                                         for value in spent.values())))
            for name, value in spent.items():
                ours[name].append(ratio(value, spent["sage"]))
            data[choice.label] = spent
        comparisons = []
        for name in ("rcm", "llp", "gorder"):
            theirs = [its[name] / its["sage"] for its in published.REORDERING.values()]
            comparisons.append(Comparison(
                f"{self._names[name]} over a round of SAGE: least and largest",
                f"{number(round(min(theirs)))} to {number(round(max(theirs)))}",
                times(mean(shown, ours[name])) + " on average"))
        return Outcome((Table("Seconds", ("graph", *self._names.values()), tuple(rows)),), (),
                       tuple(comparisons), data, (where(setting),))
