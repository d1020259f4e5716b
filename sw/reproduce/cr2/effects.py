"""Cycles of one choice against another: figures 2.9 and 3.9, section 3.5.5."""

from ..measure import Stored
from ..outcome import (Comparison, Outcome, Plot, Table, geometric_mean, number, percent, ratio,
                       times)
from ..paper import Figure
from ..setting import mean, where
from . import published
from .runs import ALGORITHMS, cluster_text, directed, run


__all__ = ["Blocking", "Directions", "ExpandList"]


class ExpandList(Figure):
    """Figure 3.9."""
    name = "fig3.9"
    title = "BFS with CR2, with and without the expand list"
    source = "figure 3.9, section 3.5.3"
    method = ("BFS from the vertex with the most arcs, the better of push and pull. Without the "
              "list every level visits all records. The speedup is of the best schedule with the "
              "list over the best schedule without it. The Weaver, which no paper shows, is "
              "beside them. Means are geometric, without karate.")
    _schedules = ("em", "vm")
    _beside = ("weaver",)

    def _best(self, setting, choice, results, schedules, expand):
        return results.best({
            (schedule, direction): case for schedule in schedules
            for direction, case in directed(choice, "bfs", schedule,
                                            cluster_text(setting, expand)).items()})

    def cases(self, setting):
        return [case for choice in setting.simulated
                for schedule in (*self._schedules, *self._beside) for expand in (True, False)
                for case in directed(choice, "bfs", schedule,
                                     cluster_text(setting, expand)).values()]

    def outcome(self, setting, results):
        groups = {"em or vm": self._schedules, "weaver": self._beside}
        gains, rows, data = {name: [] for name in groups}, [], {}
        for choice in setting.simulated:
            cells, data[choice.label] = [], {}
            for name, schedules in groups.items():
                found = {expand: self._best(setting, choice, results, schedules, expand)
                         for expand in (False, True)}
                gains[name].append(ratio(found[False][1], found[True][1]))
                for (way, cycles) in found.values():
                    cells.append(number(cycles) if way is None
                                 else f"{number(cycles)} ({', '.join(way[::-1])})")
                cells.append(times(gains[name][-1]))
                data[choice.label][name] = {"without": found[False], "with": found[True]}
            rows.append((choice.label, *cells))
        means = {name: mean(setting.simulated, values) for name, values in gains.items()}
        rows.append(("geometric mean", *(cell for name in groups
                                         for cell in ("", "", times(means[name])))))
        labels = tuple(choice.label for choice in setting.simulated)
        return Outcome(
            tables=(Table("BFS: cycles", ("graph", *(
                f"{name}: {what}" for name in groups
                for what in ("without", "with", "speedup"))), tuple(rows)),),
            plots=(Plot("speedup of BFS by the expand list", "speedup", (*labels, "mean"),
                        {name: (*values, means[name]) for name, values in gains.items()},
                        reference=1.0, paper={"paper's mean": published.EXPAND_SPEEDUP}),),
            comparisons=(Comparison("speedup by the expand list",
                                    times(published.EXPAND_SPEEDUP), times(means["em or vm"])),),
            data={"graphs": data, "means": means}, notes=(where(setting),))


class Directions(Figure):
    """Section 3.5.5."""
    name = "sec3.5.5"
    title = "PageRank with CR2: push against pull"
    source = "section 3.5.5"
    method = ("One iteration, on graphs that have the reverse of each arc: cycles of push over "
              "cycles of pull, each schedule by itself. The paper explains the faster direction by "
              "the share of edges inside clusters. Means are geometric, without karate.")
    _schedules = ("em", "vm", "weaver")

    #: Share of edges inside clusters that the paper counts as high.
    _clustered = 0.7

    @staticmethod
    def _stored(setting, choice):
        return Stored(choice.graph, choice.undirected, cluster_text(setting))

    @staticmethod
    def _symmetric(setting):
        return [choice for choice in setting.simulated if choice.symmetric]

    def _runs(self, setting, choice, schedule):
        return {direction: run(choice, "pagerank", direction, schedule, cluster_text(setting))
                for direction in ("push", "pull")}

    def cases(self, setting):
        return [case for choice in self._symmetric(setting)
                for case in (self._stored(setting, choice),
                             *(case for schedule in self._schedules
                               for case in self._runs(setting, choice, schedule).values()))]

    def outcome(self, setting, results):
        chosen = self._symmetric(setting)
        parts, rows, shares = {schedule: [] for schedule in self._schedules}, [], []
        for choice in chosen:
            shares.append(results.value(self._stored(setting, choice), "intra_share"))
            cells = []
            for schedule in self._schedules:
                cycles = {direction: results.cycles(case) for direction, case in
                          self._runs(setting, choice, schedule).items()}
                parts[schedule].append(ratio(cycles["push"], cycles["pull"]))
                cells += [number(cycles["push"]), number(cycles["pull"]),
                          percent(parts[schedule][-1])]
            rows.append((choice.label, percent(shares[-1]), *cells))
        # The paper's kernels give each lane an edge.
        means = {clustered: geometric_mean(
            value for choice, value, share in zip(chosen, parts["em"], shares)
            if choice.counts and (share is None or (share >= self._clustered) == clustered))
            for clustered in (True, False)}
        theirs = tuple((name, percent(published.GRAPHS[name]), percent(value))
                       for name, value in published.PUSH_TO_PULL.items())
        return Outcome(
            tables=(Table("PR: cycles of an iteration", ("graph", "inside clusters", *(
                        f"{schedule}: {what}" for schedule in self._schedules
                        for what in ("push", "pull", "push of pull"))), tuple(rows)),
                    Table("The paper's, times", ("graph", "inside clusters", "push of pull"),
                          theirs)),
            plots=(Plot("PageRank: push, of pull", "cycles of push, of pull's",
                        tuple(choice.label for choice in chosen),
                        {schedule: tuple(values) for schedule, values in parts.items()},
                        reference=1.0, paper={
                            f"paper's mean, {words} in clusters": published.intra_split(clustered)
                            for clustered, words in ((True, "70 % or more"), (False, "less"))}),),
            comparisons=tuple(Comparison(
                f"push of pull under em, {words} of the edges inside clusters",
                percent(published.intra_split(clustered)), percent(means[clustered]))
                for clustered, words in ((True, "70 % or more"), (False, "less"))),
            data={schedule: {choice.label: {"push_of_pull": value, "intra_share": share}
                             for choice, value, share in zip(chosen, values, shares)}
                  for schedule, values in parts.items()}, notes=(where(setting),))


class Blocking(Figure):
    """Figure 2.9."""
    name = "fig2.9"
    title = "Block-COO and G-Shards against COO"
    source = "figure 2.9, section 2.5.5"
    method = ("Pushing under em, as in the paper's figure 2.9a, on graphs whose vertex values are "
              "many times the L1; blocks and shards of 4096 vertices, whose values are 16 KiB, or "
              "of 1024: the better is taken. Its figure 2.9b has G-Shards against CuSha's own "
              "program, which does not run on this hardware; here they are against COO. PageRank "
              "one iteration, components to the end. Means are geometric.")
    _formats = {
        "COO": ("coo",),
        "Block-COO": ("block-coo:block=1024", "block-coo:block=4096"),
        "G-Shards": ("g-shards:shard=1024", "g-shards:shard=4096"),
    }
    _algorithms = ("pagerank", "cc")

    def _runs(self, choice, algorithm, name):
        return {text: run(choice, algorithm, "push", "em", text) for text in self._formats[name]}

    def cases(self, setting):
        return [case for algorithm in self._algorithms for choice in setting.wide
                for name in self._formats for case in self._runs(choice, algorithm, name).values()]

    def outcome(self, setting, results):
        tables, plots, comparisons, data, largest = [], [], [], {}, []
        for algorithm in self._algorithms:
            rows, gains, data[algorithm] = [], {name: [] for name in self._formats}, {}
            for choice in setting.wide:
                best = {name: results.best(self._runs(choice, algorithm, name))
                        for name in self._formats}
                for name, (_, cycles) in best.items():
                    gains[name].append(ratio(best["COO"][1], cycles))
                rows.append((choice.label, *(
                    number(cycles) if "=" not in (text or "")
                    else f"{number(cycles)} ({text.partition('=')[2]})"
                    for text, cycles in best.values()),
                    *(times(gains[name][-1]) for name in self._formats if name != "COO")))
                data[algorithm][choice.label] = {name: {"format": text, "cycles": cycles}
                                                 for name, (text, cycles) in best.items()}
            means = {name: mean(setting.wide, values) for name, values in gains.items()}
            largest += [value for value in gains["Block-COO"] if value is not None]
            short = ALGORITHMS[algorithm]
            rows.append(("geometric mean", "", "", "", times(means["Block-COO"]),
                         times(means["G-Shards"])))
            tables.append(Table(f"{short}: cycles", (
                "graph", *self._formats, "Block-COO over COO", "G-Shards over COO"), tuple(rows)))
            plots.append(Plot(short, "speedup over COO",
                              (*(choice.label for choice in setting.wide), "mean"),
                              {name: (*values, means[name]) for name, values in gains.items()
                               if name != "COO"}, reference=1.0,
                              paper={"paper's largest of Block-COO": published.BLOCK_COO}))
        comparisons.append(Comparison("the largest speedup of Block-COO over COO",
                                      times(published.BLOCK_COO),
                                      times(max(largest) if largest else None)))
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data, (where(setting),))
