"""Orderings under Tiled Partitioning: figure 6, section 7.2, and table 2."""

from ..measure import BuildTime
from ..outcome import Comparison, Outcome, Plot, Table, number, percent, ratio, times
from ..paper import Figure
from ..setting import mean, where, with_mean
from . import published
from .runs import ALGORITHMS, CORE, RESIDENT, run


__all__ = ["Orders", "ReorderingTime", "Rounds"]


#: Orderings by their names in tables.
_ORDERS = {"SAGE, 1": "csr", "RCM": "csr:reorder=rcm", "Louvain": "csr:reorder=louvain",
           "Gorder": "csr:reorder=gorder", "SAGE, 20": "csr:reorder=sage:rounds=19"}

#: Rounds of reordering.
_ROUNDS = (0, 1, 2, 3, 4, 5)


def _sage(rounds):
    """The format after some rounds."""
    return f"csr:reorder=sage:rounds={rounds}" if rounds else "csr"


class Orders(Figure):
    """Figure 6."""
    name = "fig6"
    title = "orderings under resident tiles"
    source = "figure 6"
    method = ("Resident tiles on a graph in its own order, which is the first run of SAGE; ordered "
              "by other methods; and after 19 rounds of sampling-based reordering (99 in the "
              "paper). Louvain stands in for layered label propagation. The time of an ordering is "
              "not in the cycles.")

    def _runs(self, setting):
        return {(algorithm, choice, name): run(setting, choice, algorithm, format=text, **RESIDENT)
                for algorithm in ALGORITHMS for choice in setting.wide
                for name, text in _ORDERS.items()}

    def cases(self, setting):
        return list(self._runs(setting).values())

    def outcome(self, setting, results):
        runs, shown = self._runs(setting), setting.wide
        tables, plots, comparisons, data = [], [], [], {}
        for algorithm in ALGORITHMS:
            cycles = {(choice, name): results.cycles(runs[algorithm, choice, name])
                      for choice in shown for name in _ORDERS}
            gains = {name: [ratio(cycles[choice, "SAGE, 1"], cycles[choice, name])
                            for choice in shown] for name in _ORDERS}
            rows = [(choice.label, *(number(cycles[choice, name]) for name in _ORDERS))
                    for choice in shown]
            rows.append(("mean speed over the first", *(times(mean(shown, values))
                                                        for values in gains.values())))
            tables.append(Table(f"{algorithm}: cycles", ("graph", *_ORDERS), tuple(rows)))
            plots.append(Plot(algorithm, "speed over the graph's order", with_mean(shown), {
                name: (*values, mean(shown, values)) for name, values in gains.items()},
                reference=1.0))
            most = max((value for values in gains.values() for value in values
                        if value is not None), default=None)
            comparisons.append(Comparison(
                f"{algorithm}: largest gain of an ordering", percent(published.GAIN[algorithm]),
                percent(None if most is None else most - 1)))
            data[algorithm] = {choice.label: {name: cycles[choice, name] for name in _ORDERS}
                               for choice in shown}
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data,
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

    def _runs(self, setting):
        texts = {f"{rounds} rounds": _sage(rounds) for rounds in _ROUNDS} | {
            "Gorder": "csr:reorder=gorder"}
        return {(algorithm, system, choice, order): run(
            setting, choice, algorithm, unit=unit, format=text, **RESIDENT if unit is None else {})
            for algorithm in self._algorithms for system, unit in self._systems.items()
            for choice in setting.wide for order, text in texts.items()}

    def cases(self, setting):
        return list(self._runs(setting).values())

    def outcome(self, setting, results):
        runs, shown = self._runs(setting), setting.wide
        orders = list(dict.fromkeys(order for *_, order in runs))
        tables, plots, comparisons, data = [], [], [], {}
        for algorithm in self._algorithms:
            rows, lines = [], {}
            for system in self._systems:
                cycles = {key: results.cycles(runs[algorithm, system, *key])
                          for key in ((choice, order) for choice in shown for order in orders)}
                speeds = [mean(shown, [ratio(cycles[choice, orders[0]], cycles[choice, order])
                                       for choice in shown]) for order in orders]
                rows.append((system, *map(times, speeds)))
                lines[system] = tuple(speeds)
                data[f"{algorithm}: {system}"] = {
                    choice.label: [cycles[choice, order] for order in orders] for choice in shown}
                comparisons.append(Comparison(
                    f"{algorithm}, {system}: speed after 5 rounds, of Gorder's",
                    percent(published.OF_GORDER) if (algorithm, system) == (
                        "bfs", "resident tiles") else "-", percent(ratio(speeds[5], speeds[6]))))
            tables.append(Table(f"{algorithm}: speed over the graph's order, mean",
                                ("", *orders), tuple(rows)))
            plots.append(Plot(algorithm, "speed over the graph's order", tuple(orders), lines,
                              reference=1.0))
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data,
                       (where(setting), CORE))


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
